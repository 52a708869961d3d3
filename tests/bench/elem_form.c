/* elem_form.c -- one compiled form of templates/cpu/lib/elem.h: compiled once for each FORM (a name), LANES, DTYPE and set of
 * flags. */
#include "elem_form.h"

enum { ACT_NONE, ACT_RELU, ACT_GELU, ACT_GELU_TANH, ACT_SILU, ACT_TANH };
#define ACT_AT_RUN_TIME
#define DTYPE_F32 0
#define DTYPE_F16 1
#define DTYPE_BF16 2

#include "templates/cpu/lib/vec.h"

#include "templates/cpu/lib/elem.h"

#include "templates/cpu/lib/act.h"

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)

static void widen(const uint16_t *x, float *y, int n) {
  int i = 0;
  for (; i + LANES <= n; i += LANES) vf_store(y + i, ve_load(x + i));
  vf_store_part(y + i, ve_load_part(x + i, n - i), n - i);
}

static void set1(const uint16_t *x, float *y, int n) {
  for (int i = 0; i < n; i++) {
    vf v = ve_set1(x + i);
    y[i] = v[i % LANES];
  }
}

static void narrow(const float *x, uint16_t *y, int n) {
  int i = 0;
  for (; i + LANES <= n; i += LANES) ve_store(y + i, vf_load(x + i));
  ve_store_part(y + i, vf_load_part(x + i, n - i), n - i);
}

static void act(int which, const uint16_t *z, uint16_t *y, int n) {
  int i = 0;
  for (; i + LANES <= n; i += LANES) ve_store(y + i, act_select(which, ve_load(z + i)));
  ve_store_part(y + i, act_select(which, ve_load_part(z + i, n - i)), n - i);
}

extern const elem_form PASTE(elem_form_, FORM);
const elem_form PASTE(elem_form_, FORM) = {
    .name = TEXT(FORM), .dtype = (rgt_dtype)DTYPE, .lanes = LANES, .widen = widen, .set1 = set1, .narrow = narrow, .act = act};
