/* act.h -- the activations, LANES values at a time, in f32 arithmetic of our own: no library calls, no tables.
 *
 * Before it come vec.h and the constants ACT_NONE ... ACT_TANH and ACT (the prelude). A file that knows the activation only at
 * run time defines ACT_AT_RUN_TIME instead of ACT and calls act_select.
 *
 * Exactness: |act - act64| <= alpha * |act64| + beta * |z| + 2^-150, with alpha and beta of templates/lib/act_error.lua, for
 * every f32 z, with and without FMA. (2^-150: where the result is a subnormal its one rounding is half of the smallest one.
 * verify.md grants it: the + 1 of (in + 1) * 2^-150, and eta_y.) NaN gives NaN, -Inf and +Inf give the limits, the sign is
 * never wrong, |tanh| never passes 1. The same steps as templates/cuda/lib/act.cuh: with FMA the bits agree.
 * tests/bench/fit_activations.py finds the coefficients; tests/bench/activations_all.c tries every f32. */

/* NaN stays NaN: no comparison is true of it. */
VEC_INLINE vf act_at_least(vf v, float low) {
  return vf_select(v < low, vf_set1(low), v);
}
VEC_INLINE vf act_at_most(vf v, float high) {
  return vf_select(v > high, vf_set1(high), v);
}

/* c0 + x * (c1 + x * (c2 + ...)), from the last pair down. */
VEC_INLINE vf act_step(vf sum, vf x, float c) {
  return vf_fma(sum, x, vf_set1(c));
}

/* exp(-w) = 2^n * (1 - r + r * r * p), for w in [-89, 88]; returns p.
 * -w = n ln2 - r with |r| <= ln2 / 2, and p is a polynomial in r. Adding 1.5 * 2^23 rounds to a whole number and leaves it in
 * the low bits; 127 more, and those bits shifted up are the float 2^n: 0 for n = -127, Inf for n = 128. ln2 is split so that n
 * times its upper part is exact without FMA too. */
VEC_INLINE vf act_exp_parts(vf w, vf *two_n, vf *r) {
  const vf magic = vf_set1(0x1.8p23f + 127.0f);
  vf t = vf_fma(w, vf_set1(-0x1.715476p+0f), magic);
  vf n = t - magic;
  *two_n = vi_bits(vf_bits(t) << 23);
  *r = vf_fma(n, vf_set1(0x1.62e4p-1f), w);
  *r = vf_fma(n, vf_set1(0x1.7f7d1cp-20f), *r);
  vf p = vf_set1(0x1.6a2258p-10f);
  p = act_step(p, *r, -0x1.123b02p-7f);
  p = act_step(p, *r, 0x1.5558f8p-5f);
  p = act_step(p, *r, -0x1.555490p-3f);
  return act_step(p, *r, 0x1.fffffcp-2f);
}

/* z / (1 + exp(-w)); where w is below about -88.4, exp is Inf and the result -0 (z < 0 there). */
VEC_INLINE vf act_over_logistic(vf z, vf w) {
  vf two_n, r;
  vf p = act_exp_parts(w, &two_n, &r);
  p = act_step(p, r, -1.0f);
  p = act_step(p, r, 1.0f);
  return z / vf_fma(p, two_n, vf_set1(1.0f));
}

/* z * logistic(z). The lower limits here and below are where w passes -88.4 but not -89, so that everything under them is -0.
 */
VEC_INLINE vf act_silu(vf z) {
  z = act_at_least(z, -88.75f);
  return act_over_logistic(z, act_at_most(z, 88.0f));
}

/* z * Phi(z) = z * logistic(w) with w = log(Phi(z) / Phi(-z)), an odd function: z times a polynomial in z * z. It follows w
 * where Phi (1 - Phi) is of any size, |z| < 6; below, it only has to take the result to -0 in good time. */
VEC_INLINE vf act_gelu(vf z) {
  z = act_at_least(z, -7.0505f);
  vf c = act_at_most(z, 6.0f);
  vf s = c * c;
  vf p = vf_set1(0x1.e2bb8ep-29f);
  p = act_step(p, s, -0x1.1c087cp-22f);
  p = act_step(p, s, 0x1.0a11bep-17f);
  p = act_step(p, s, -0x1.cff11ap-14f);
  p = act_step(p, s, -0x1.116d4ep-14f);
  p = act_step(p, s, 0x1.29a400p-4f);
  p = act_step(p, s, 0x1.988460p+0f);
  return act_over_logistic(z, c * p);
}

/* z/2 * (1 + tanh(k (z + 0.044715 z^3))) = z * logistic(2 k (z + 0.044715 z^3)), k = sqrt(2 / pi). */
VEC_INLINE vf act_gelu_tanh(vf z) {
  z = act_at_least(z, -10.06f);
  vf c = act_at_most(z, 6.0f);
  vf p = act_step(vf_set1(0x1.2444f2p-4f), c * c, 0x1.988454p+0f);
  return act_over_logistic(z, c * p);
}

/* With m = exp(-2|z|) - 1: -m / (m + 2), and the sign of z. m = 2^n (r * r * p - r) + (2^n - 1) loses nothing where z is small,
 * since n is 0 there; past |z| = 10 nothing changes. */
VEC_INLINE vf act_tanh(vf z) {
  const vi sign = vi_set1(-0x7fffffff - 1);
  vf two_n, r;
  vf a = act_at_most(vi_bits(vf_bits(z) & ~sign), 10.0f);
  vf p = act_exp_parts(a + a, &two_n, &r);
  vf m = vf_fma(vf_fma(p, r * r, -r), two_n, two_n - 1.0f);
  vf y = m / (m + 2.0f);
  return vi_bits((vf_bits(y) & ~sign) | (vf_bits(z) & sign));
}

VEC_INLINE vf act_relu(vf z) {
  return act_at_least(z, 0.0f);
}

/* Where it is chosen at run time there are many calls, and a copy of every activation in each would double the compile. */
#ifdef ACT_AT_RUN_TIME
#define ACT_SELECT static __attribute__((noinline))
#else
#define ACT_SELECT VEC_INLINE
#endif

ACT_SELECT vf act_select(int act, vf z) {
  switch (act) {
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

#ifndef ACT_AT_RUN_TIME
VEC_INLINE vf act_vf(vf z) {
  return act_select(ACT, z);
}
#endif
