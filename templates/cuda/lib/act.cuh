/* act.cuh -- the activations, one value at a time, in f32 arithmetic of our own: no library calls, no .approx, no tables.
 *
 * Before it come the constants ACT and ACT_NONE ... ACT_TANH (the prelude) and DEV. Every rounding is written out, so no
 * compiler flag (fmad, prec-div, fast math but for ftz) changes a bit.
 *
 * Exactness: |act - act64| <= alpha * |act64| + beta * |z| + 2^-150, with alpha and beta of templates/lib/act_error.lua, for
 * every f32 z. NaN gives NaN, -Inf and +Inf give the limits, the sign is never wrong, |tanh| never passes 1. The same steps as
 * templates/cpu/lib/act.h, which says why they are right: the bits agree with its FMA form.
 * tests/bench/fit_activations.py finds the coefficients; tests/bench/activations_all.c tries every f32. */

/* NaN stays NaN: no comparison is true of it (fmaxf would drop it). */
DEV float act_at_least(float v, float low) {
  return v < low ? low : v;
}
DEV float act_at_most(float v, float high) {
  return v > high ? high : v;
}

/* exp(-w) = 2^n * (1 - r + r * r * p), for w in [-89, 88]; returns p. */
DEV float act_exp_parts(float w, float *two_n, float *r) {
  const float magic = 12583039.0f; /* 1.5 * 2^23 + 127 */
  float t = __fmaf_rn(w, -1.44269502f, magic);
  float n = __fsub_rn(t, magic);
  *two_n = __int_as_float((int)((unsigned)__float_as_int(t) << 23));
  *r = __fmaf_rn(n, 0.693145752f, w);
  *r = __fmaf_rn(n, 1.42860677e-06f, *r);
  float p = 0.00138143217f;
  p = __fmaf_rn(p, *r, -0.00836885069f);
  p = __fmaf_rn(p, *r, 0.0416684002f);
  p = __fmaf_rn(p, *r, -0.1666651964f);
  return __fmaf_rn(p, *r, 0.49999994f);
}

/* z / (1 + exp(-w)); where w is below about -88.4, exp is Inf and the result -0 (z < 0 there). */
DEV float act_over_logistic(float z, float w) {
  float two_n, r;
  float p = act_exp_parts(w, &two_n, &r);
  p = __fmaf_rn(p, r, -1.0f);
  p = __fmaf_rn(p, r, 1.0f);
  return __fdiv_rn(z, __fmaf_rn(p, two_n, 1.0f));
}

/* z * logistic(z) */
DEV float act_silu(float z) {
  z = act_at_least(z, -88.75f);
  return act_over_logistic(z, act_at_most(z, 88.0f));
}

/* z * Phi(z) = z * logistic(w) with w = log(Phi(z) / Phi(-z)) */
DEV float act_gelu(float z) {
  z = act_at_least(z, -7.0505f);
  float c = act_at_most(z, 6.0f);
  float s = __fmul_rn(c, c);
  float p = 3.51234219e-09f;
  p = __fmaf_rn(p, s, -2.64526477e-07f);
  p = __fmaf_rn(p, s, 7.92948322e-06f);
  p = __fmaf_rn(p, s, -0.000110612345f);
  p = __fmaf_rn(p, s, -6.519007e-05f);
  p = __fmaf_rn(p, s, 0.0726661682f);
  p = __fmaf_rn(p, s, 1.59576988f);
  return act_over_logistic(z, __fmul_rn(c, p));
}

/* z/2 * (1 + tanh(k (z + 0.044715 z^3))) = z * logistic(2 k (z + 0.044715 z^3)), k = sqrt(2 / pi) */
DEV float act_gelu_tanh(float z) {
  z = act_at_least(z, -10.06f);
  float c = act_at_most(z, 6.0f);
  float p = __fmaf_rn(0.0713548139f, __fmul_rn(c, c), 1.59576917f);
  return act_over_logistic(z, __fmul_rn(c, p));
}

/* With m = exp(-2|z|) - 1: -m / (m + 2), and the sign of z. */
DEV float act_tanh(float z) {
  const int sign = -0x7fffffff - 1;
  float two_n, r;
  float a = act_at_most(__int_as_float(__float_as_int(z) & ~sign), 10.0f);
  float p = act_exp_parts(__fadd_rn(a, a), &two_n, &r);
  float m = __fmaf_rn(__fmaf_rn(p, __fmul_rn(r, r), -r), two_n, __fsub_rn(two_n, 1.0f));
  float y = __fdiv_rn(m, __fadd_rn(m, 2.0f));
  return __int_as_float((__float_as_int(y) & ~sign) | (__float_as_int(z) & sign));
}

DEV float act_relu(float z) {
  return act_at_least(z, 0.0f);
}

DEV float act_f32(float z) {
  switch ((int)ACT) {
  case ACT_RELU:
    return act_relu(z);
  case ACT_GELU:
    return act_gelu(z);
  case ACT_GELU_TANH:
    return act_gelu_tanh(z);
  case ACT_SILU:
    return act_silu(z);
  case ACT_TANH:
    return act_tanh(z);
  default:
    return z;
  }
}
