/* elem_form.h -- templates/cpu/lib/elem.h with the activations, in every compiled form. */
#ifndef RGT_TESTS_ELEM_FORM_H
#define RGT_TESTS_ELEM_FORM_H

#include <stdint.h>

#include "runtime/ragtune.h"

typedef struct elem_form {
  const char *name;
  rgt_dtype dtype; /* RGT_F16 or RGT_BF16 */
  int lanes;
  /* All take any n, in whole vectors and then a part. set1 makes every y from one x, by ve_set1. */
  void (*widen)(const uint16_t *x, float *y, int n);
  void (*set1)(const uint16_t *x, float *y, int n);
  void (*narrow)(const float *x, uint16_t *y, int n);
  void (*act)(int act, const uint16_t *z, uint16_t *y, int n);
} elem_form;

/* elem_forms -- those that this processor can run; *n of them. */
const elem_form *const *elem_forms(int *n);

#endif
