/* activation_form.c -- one compiled form of the activations: templates/cpu/lib/act.h, or the CUDA text as plain C.
 *
 * Compiled once for each set of flags with FORM (the name), LANES, and FORM_CUDA where it is the CUDA text. */
#include <math.h>
#include <string.h>

#include "activation_check.h"

enum { ACT_NONE, ACT_RELU, ACT_GELU, ACT_GELU_TANH, ACT_SILU, ACT_TANH };

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define RUN PASTE(activation_form_, FORM)

void RUN(int act, const float *z, float *y, int n);

#ifdef FORM_CUDA

/* What nvcc builds in, in C's words. Contraction is off, so * + - / round once each, as their _rn forms do. */
#define DEV static inline
static inline float __fmaf_rn(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
static inline float __fmul_rn(float a, float b) {
  return a * b;
}
static inline float __fadd_rn(float a, float b) {
  return a + b;
}
static inline float __fsub_rn(float a, float b) {
  return a - b;
}
static inline float __fdiv_rn(float a, float b) {
  return a / b;
}
static inline int __float_as_int(float v) {
  int bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
static inline float __int_as_float(int bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static _Thread_local int the_act;
#define ACT the_act
#include "templates/cuda/lib/act.cuh"

void RUN(int act, const float *z, float *y, int n) {
  the_act = act;
  for (int i = 0; i < n; i++) y[i] = act_f32(z[i]);
}

#else

#define ACT_AT_RUN_TIME
#include "templates/cpu/lib/vec.h"

#include "templates/cpu/lib/act.h"

void RUN(int act, const float *z, float *y, int n) {
  for (int i = 0; i < n; i += LANES) {
    int now = n - i < LANES ? n - i : LANES;
    vf_store_part(y + i, act_select(act, vf_load_part(z + i, now)), now);
  }
}

#endif
