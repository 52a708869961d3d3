/* elem_forms.c -- the compiled forms that this processor can run. */
#include "elem_form.h"

#define BOTH(X, form) X(f16_##form) X(bf16_##form)
#define PLAIN_FORMS(X) BOTH(X, plain4) BOTH(X, plain8) BOTH(X, plain16)
#define AVX2_FORMS(X) BOTH(X, avx2_4) BOTH(X, avx2_8) BOTH(X, avx2_16)
#define AVX512_FORMS(X) BOTH(X, avx512_4) BOTH(X, avx512_8) BOTH(X, avx512_16)

#define DECLARE(form) extern const elem_form elem_form_##form;
#define ADD(form) forms[count++] = &elem_form_##form;

PLAIN_FORMS(DECLARE)
#if defined __x86_64__
AVX2_FORMS(DECLARE)
AVX512_FORMS(DECLARE)
#endif

const elem_form *const *elem_forms(int *n) {
  static const elem_form *forms[18];
  int count = 0;
  PLAIN_FORMS(ADD)
#if defined __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    AVX2_FORMS(ADD)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq")) {
      AVX512_FORMS(ADD)
    }
  }
#endif
  *n = count;
  return forms;
}
