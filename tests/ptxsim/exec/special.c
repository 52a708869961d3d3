/* special.c -- approximations and directed roundings of f32 and f64.
 *
 * An approximation is worked out in f64 and then moved by up to the error that the PTX ISA documents, by a hash of the argument
 * and the launch's seed: nothing may lean on exact bits. Values that are exact by the ISA (zeros, infinities, NaN) stay. The
 * errors: rcp.approx, div.full: 1 and 2 ulp; rsqrt.approx 2^-22.9 relative (taken as 1 ulp); sqrt.approx 2 ulp (2^-23 relative
 * for all normal inputs); ex2.approx 2^-22.5 relative (taken as 1 ulp; 2 where the result is large); lg2.approx 2^-22 absolute
 * near 1, else 1 ulp; sin, cos.approx 2^-20.5 absolute within [-pi, pi]; tanh.approx 2^-11 relative. */
#include "exec/special.h"
#include "exec/alu.h"

#include <fenv.h>

static uint64_t special_seed;
void sim__special_seed(uint64_t seed) {
  special_seed = seed;
}

/* -1 .. 1, from the argument's bits. */
static f64 wobble(u32 bits) {
  if (special_seed == 0) return 0;
  u64 z = special_seed + bits * 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return (f64)(s64)(z ^ z >> 31) * 0x1p-63;
}

static f32 relative(f32 a, f64 exact, f64 error) {
  if (exact != exact) return sim__f32_of_bits(0x7FFFFFFF);
  return (f32)(exact * (1 + error * wobble(sim__bits_of_f32(a))));
}
static inline f32 flush(f32 x) {
  return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* Powers of two and other exact results keep their bits on hardware for rcp; they are perturbed like the rest. */
static f32 rcp_approx(f32 a) {
  return a == 0 || isinf(a) ? 1 / a : relative(a, 1 / (f64)a, 0x1p-24);
}
static f32 rsqrt_approx(f32 a) {
  return a == 0 || isinf(a) || a < 0 ? sim__canonical_f32(1 / sqrtf(a)) : relative(a, 1 / sqrt((f64)a), 0x1p-24);
}
static f32 sqrt_approx(f32 a) {
  return a == 0 || isinf(a) || a < 0 ? sim__canonical_f32(sqrtf(a)) : relative(a, sqrt((f64)a), 0x1p-24);
}
static f32 ex2_approx(f32 a) {
  return a == 0 ? 1 : relative(a, exp2((f64)a), 0x1p-24);
}
static f32 lg2_approx(f32 a) {
  if (a == 1 || a == 0 || isinf(a) || a < 0 || a != a) return sim__canonical_f32(a < 0 ? NAN : log2f(a));
  const f64 exact = log2((f64)a), w = wobble(sim__bits_of_f32(a));
  return a > 0.5f && a < 2 ? (f32)(exact + 0x1p-23 * w) : (f32)(exact * (1 + 0x1p-24 * w));
}
static f32 sin_approx(f32 a) {
  if (a == 0) return a;
  if (isinf(a) || a != a) return sim__f32_of_bits(0x7FFFFFFF);
  return (f32)(sin((f64)a) + 0x1p-21 * wobble(sim__bits_of_f32(a)));
}
static f32 cos_approx(f32 a) {
  if (isinf(a) || a != a) return sim__f32_of_bits(0x7FFFFFFF);
  if (a == 0) return 1;
  return (f32)(cos((f64)a) + 0x1p-21 * wobble(sim__bits_of_f32(a)));
}
static f32 tanh_approx(f32 a) {
  if (a == 0 || isinf(a) || a != a) return sim__canonical_f32(tanhf(a));
  const f32 r = relative(a, tanh((f64)a), 0x1p-11);
  return r > 1 ? 1 : r < -1 ? -1 : r;
}
/* For |b| within [2^-126, 2^126]; above, the documented result is 0 (or NaN for an infinite a). */
static f32 div_approx(f32 a, f32 b) {
  if (isinf(b) || b == 0 || a == 0 || isinf(a) || a != a || b != b) return sim__canonical_f32(a / b);
  if (fabsf(b) > 0x1p126f) return copysignf(0, a) * copysignf(1, b);
  return relative(b, (f64)a / (f64)b, 0x1p-23);
}
static f32 div_full(f32 a, f32 b) {
  if (isinf(b) || b == 0 || a == 0 || isinf(a) || a != a || b != b) return sim__canonical_f32(a / b);
  return relative(b, (f64)a / (f64)b, 0x1p-23);
}

#define APPROX(name)                 \
  ALU1(do_##name, f32, f32, name(a)) \
  ALU1(do_##name##_ftz, f32, f32, flush(name(flush(a))))
APPROX(rcp_approx)
APPROX(rsqrt_approx)
APPROX(sqrt_approx)
APPROX(ex2_approx)
APPROX(lg2_approx)
APPROX(sin_approx)
APPROX(cos_approx)
ALU1(do_tanh_approx, f32, f32, tanh_approx(a))
ALU2(do_div_approx, f32, f32, f32, div_approx(a, b))
ALU2(do_div_approx_ftz, f32, f32, f32, flush(div_approx(flush(a), flush(b))))
ALU2(do_div_full, f32, f32, f32, div_full(a, b))
ALU2(do_div_full_ftz, f32, f32, f32, flush(div_full(flush(a), flush(b))))

/* f64: reciprocals to about 2^-20, with the low word cleared. */
static f64 rcp_approx_f64(f64 a) {
  if (a == 0 || isinf(a) || a != a) return 1 / a;
  const f64 r = 1 / a;
  return sim__f64_of_bits(sim__bits_of_f64(r) & 0xFFFFFFFF00000000ull);
}
static f64 rsqrt_approx_f64(f64 a) {
  if (a == 0 || isinf(a) || a != a || a < 0) return 1 / sqrt(a);
  return sim__f64_of_bits(sim__bits_of_f64(1 / sqrt(a)) & 0xFFFFFFFF00000000ull);
}
ALU1(do_rcp_f64, f64, f64, rcp_approx_f64(a))
ALU1(do_rsqrt_f64, f64, f64, rsqrt_approx_f64(a))

/* Halves. */
#define F(x) sim__f16_to_f32((u16)(x))
#define B(x) sim__bf16_to_f32((u16)(x))
#define TO_F(x) ((u32)sim__f32_to_f16(x))
#define TO_B(x) ((u32)sim__f32_to_bf16(x))
ALU1(ex2_f16, u32, u32, TO_F(ex2_approx(F(a))))
ALU1(ex2_f16x2, u32, u32, TO_F(ex2_approx(F(a))) | TO_F(ex2_approx(F(a >> 16))) << 16)
ALU1(ex2_bf16, u32, u32, TO_B(ex2_approx(B(a))))
ALU1(ex2_bf16x2, u32, u32, TO_B(ex2_approx(B(a))) | TO_B(ex2_approx(B(a >> 16))) << 16)
ALU1(tanh_f16, u32, u32, TO_F(tanh_approx(F(a))))
ALU1(tanh_f16x2, u32, u32, TO_F(tanh_approx(F(a))) | TO_F(tanh_approx(F(a >> 16))) << 16)
ALU1(tanh_bf16, u32, u32, TO_B(tanh_approx(B(a))))
ALU1(tanh_bf16x2, u32, u32, TO_B(tanh_approx(B(a))) | TO_B(tanh_approx(B(a >> 16))) << 16)

/* ---- directed roundings: the host's own, one lane at a time
 * ------------------------------------------------------------------------------- */

static const int modes[3] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

#define DIRECTED(name, k, T, HEADS, LOADS, EXPR) \
  __attribute__((noinline)) SIM_HEAD(name) {     \
    T *d = SIM_PLACE(T, 0);                      \
    HEADS const int kept = fegetround();         \
    fesetround(modes[k]);                        \
    for (int l = 0; l < SIM_LANES; l++)          \
      if (mask >> l & 1) {                       \
        LOADS volatile T v = (T)(EXPR);          \
        d[l] = v;                                \
      }                                          \
    fesetround(kept);                            \
  }
#define H1(T) const T *pa = SIM_PLACE(T, 2);
#define H2(T) H1(T) const T *pb = SIM_PLACE(T, 3);
#define H3(T) H2(T) const T *pc = SIM_PLACE(T, 4);
#define L1(T) const volatile T a = pa[l];
#define L2(T) L1(T) const volatile T b = pb[l];
#define L3(T) L2(T) const volatile T c = pc[l];
#define NAN1(x) sim__canonical_f32(x)
#define THREE(name, T, fma_fn, sqrt_fn, N, k)                  \
  DIRECTED(add_##name, k, T, H2(T), L2(T), N(a + b))           \
  DIRECTED(sub_##name, k, T, H2(T), L2(T), N(a - b))           \
  DIRECTED(mul_##name, k, T, H2(T), L2(T), N(a *b))            \
  DIRECTED(div_##name, k, T, H2(T), L2(T), N(a / b))           \
  DIRECTED(fma_##name, k, T, H3(T), L3(T), N(fma_fn(a, b, c))) \
  DIRECTED(rcp_##name, k, T, H1(T), L1(T), N(1 / a))           \
  DIRECTED(sqrt_##name, k, T, H1(T), L1(T), N(sqrt_fn(a)))
#define SAME(x) (x)
THREE(rz32, f32, fmaf, sqrtf, NAN1, 0)
THREE(rm32, f32, fmaf, sqrtf, NAN1, 1)
THREE(rp32, f32, fmaf, sqrtf, NAN1, 2)
THREE(rz64, f64, fma, sqrt, SAME, 0)
THREE(rm64, f64, fma, sqrt, SAME, 1)
THREE(rp64, f64, fma, sqrt, SAME, 2)

#define S SIM_C_SPECIAL
#define A SIM_F_ALL
#define BOTH(name, fn)                             \
  {name ".f32", "f:f", do_##fn, S, A, 1}, {        \
    name ".ftz.f32", "f:f", do_##fn##_ftz, S, A, 1 \
  }
#define R32(r)                                                                                                                \
  {"add." #r ".f32", "f:ff", add_##r##32, SIM_C_FP32, A, 1}, {"sub." #r ".f32", "f:ff", sub_##r##32, SIM_C_FP32, A, 1},       \
      {"mul." #r ".f32", "f:ff", mul_##r##32, SIM_C_FP32, A, 1}, {"div." #r ".f32", "f:ff", div_##r##32, S, A, 1},            \
      {"fma." #r ".f32", "f:fff", fma_##r##32, SIM_C_FP32, A, 2}, {"mad." #r ".f32", "f:fff", fma_##r##32, SIM_C_FP32, A, 2}, \
      {"rcp." #r ".f32", "f:f", rcp_##r##32, S, A, 1}, {                                                                      \
    "sqrt." #r ".f32", "f:f", sqrt_##r##32, S, A, 1                                                                           \
  }
#define R64(r)                                                                                                                \
  {"add." #r ".f64", "g:gg", add_##r##64, SIM_C_FP64, A, 1}, {"sub." #r ".f64", "g:gg", sub_##r##64, SIM_C_FP64, A, 1},       \
      {"mul." #r ".f64", "g:gg", mul_##r##64, SIM_C_FP64, A, 1}, {"div." #r ".f64", "g:gg", div_##r##64, SIM_C_FP64, A, 1},   \
      {"fma." #r ".f64", "g:ggg", fma_##r##64, SIM_C_FP64, A, 2}, {"rcp." #r ".f64", "g:g", rcp_##r##64, SIM_C_FP64, A, 1}, { \
    "sqrt." #r ".f64", "g:g", sqrt_##r##64, SIM_C_FP64, A, 1                                                                  \
  }
#define HALVES(op, t)                                             \
  {#op ".approx." #t, "h:h", op##_##t, S, A, 1}, {                \
#op ".approx." #t "x2", "w:w", op##_##t##x2, S, SIM_F_PAIR, 2 \
  }

static const sim_alu_row rows[] = {
    BOTH("rcp.approx", rcp_approx),
    BOTH("rsqrt.approx", rsqrt_approx),
    BOTH("sqrt.approx", sqrt_approx),
    BOTH("ex2.approx", ex2_approx),
    BOTH("lg2.approx", lg2_approx),
    BOTH("sin.approx", sin_approx),
    BOTH("cos.approx", cos_approx),
    {"tanh.approx.f32", "f:f", do_tanh_approx, S, A, 1},
    {"div.approx.f32", "f:ff", do_div_approx, S, A, 1},
    {"div.approx.ftz.f32", "f:ff", do_div_approx_ftz, S, A, 1},
    {"div.full.f32", "f:ff", do_div_full, S, A, 1},
    {"div.full.ftz.f32", "f:ff", do_div_full_ftz, S, A, 1},
    {"rcp.approx.ftz.f64", "g:g", do_rcp_f64, S, A, 1},
    {"rsqrt.approx.f64", "g:g", do_rsqrt_f64, S, A, 1},
    {"rsqrt.approx.ftz.f64", "g:g", do_rsqrt_f64, S, A, 1},
    HALVES(ex2, f16),
    HALVES(tanh, f16),
    HALVES(tanh, bf16),
    {"ex2.approx.ftz.bf16", "h:h", ex2_bf16, S, A, 1},
    {"ex2.approx.ftz.bf16x2", "w:w", ex2_bf16x2, S, SIM_F_PAIR, 2},
    R32(rz),
    R32(rm),
    R32(rp),
    R64(rz),
    R64(rm),
    R64(rp),
};
SIM_TABLE(sim__special_table, rows);
