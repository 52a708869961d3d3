/* half.c -- f16 and bf16, alone and in pairs.
 *
 * Sums, differences and products of two are worked out in f32 and rounded once more: 24 bits are at least twice the 11 (or 8)
 * and two more, so that the second rounding never changes the first. A fused multiply-add is worked out in f64 rounded to odd,
 * for the same end. */
#include "exec/alu.h"

#define F(x) sim__f16_to_f32((u16)(x))
#define B(x) sim__bf16_to_f32((u16)(x))
#define TO_F(x) ((u32)sim__f32_to_f16(x))
#define TO_B(x) ((u32)sim__f32_to_bf16(x))

static inline f32 flush16(f32 x) {
  return fabsf(x) < 0x1p-14f ? copysignf(0, x) : x;
}
static inline f32 saturate(f32 x) {
  return x > 0 ? (x < 1 ? x : 1) : 0;
}
static inline u32 relu_bits(u32 h, u32 inf) {
  return (h & 0x7FFF) > inf ? 0x7FFF : h & 0x8000 ? 0 : h;
}

/* a * b + c in f64, with the last bit set where something was lost; so it rounds rightly to 8 or 11 bits. */
static inline f64 fma_odd(f64 a, f64 b, f64 c) {
  const f64 p = a * b, s = p + c, v = s - p, lost = (p - (s - v)) + (c - v);
  u64 u = sim__bits_of_f64(s);
  const u64 towards = (lost > 0) == (s > 0) ? u | 1 : (u & 1) ? u : u - 1;
  return lost != 0 && lost == lost && fabs(s) < 0x1p1000 ? sim__f64_of_bits(towards) : s;
}
/* f64 to f32 rounded to odd: what comes after has fewer bits by more than two. */
static inline f32 to_odd(f64 x) {
  const f32 f = (f32)x;
  const u32 u = sim__bits_of_f32(f);
  const f64 back = (f64)f;
  const u32 odd = fabs(back) > fabs(x) ? (u & 1 ? u : u - 1) : u | 1;
  return back == x || x != x || fabs(x) > 0x1p127 ? f : sim__f32_of_bits(odd);
}
static inline f32 fma_wide(f32 a, f32 b, f32 c) {
  return to_odd(fma_odd(a, b, c));
}

/* A halves' operation from one of f32, for one and for pairs. */
#define LO(x) ((x)&0xFFFF)
#define HI(x) ((x) >> 16)
#define TWO(f, a, b) (f(LO(a), LO(b)) | f(HI(a), HI(b)) << 16)
#define THREE(f, a, b, c) (f(LO(a), LO(b), LO(c)) | f(HI(a), HI(b), HI(c)) << 16)
#define FN2(name, EXPR)                  \
  static inline u32 name(u32 a, u32 b) { \
    return EXPR;                         \
  }
#define FN3(name, EXPR)                         \
  static inline u32 name(u32 a, u32 b, u32 c) { \
    return EXPR;                                \
  }
#define OPS2(name, EXPR)                              \
  FN2(one_##name, EXPR)                               \
  ALU2(name, u32, u32, u32, one_##name(LO(a), LO(b))) \
  ALU2(name##_x2, u32, u32, u32, TWO(one_##name, a, b))
#define OPS3(name, EXPR)                                          \
  FN3(one_##name, EXPR)                                           \
  ALU3(name, u32, u32, u32, u32, one_##name(LO(a), LO(b), LO(c))) \
  ALU3(name##_x2, u32, u32, u32, u32, THREE(one_##name, a, b, c))
#define OPS1(name, EXPR)                  \
  static inline u32 one_##name(u32 a) {   \
    return EXPR;                          \
  }                                       \
  ALU1(name, u32, u32, one_##name(LO(a))) \
  ALU1(name##_x2, u32, u32, one_##name(LO(a)) | one_##name(HI(a)) << 16)

static inline u32 flush_bits(u32 h) {
  return (h & 0x7FFF) < 0x0400 ? h & 0x8000 : h;
}
#define ARITHMETIC(name, OP)                                                           \
  OPS2(name##_f16, TO_F(F(a) OP F(b)))                                                 \
  OPS2(name##_ftz_f16, flush_bits(TO_F(flush16(F(a)) OP flush16(F(b)))))               \
  OPS2(name##_sat_f16, TO_F(saturate(F(a) OP F(b))))                                   \
  OPS2(name##_ftz_sat_f16, flush_bits(TO_F(saturate(flush16(F(a)) OP flush16(F(b)))))) \
  OPS2(name##_bf16, TO_B(B(a) OP B(b)))
ARITHMETIC(add, +)
ARITHMETIC(sub, -)
ARITHMETIC(mul, *)
OPS3(fma_f16, TO_F(fma_wide(F(a), F(b), F(c))))
OPS3(fma_ftz_f16, flush_bits(TO_F(fma_wide(flush16(F(a)), flush16(F(b)), flush16(F(c))))))
OPS3(fma_sat_f16, TO_F(saturate(fma_wide(F(a), F(b), F(c)))))
OPS3(fma_ftz_sat_f16, flush_bits(TO_F(saturate(fma_wide(flush16(F(a)), flush16(F(b)), flush16(F(c)))))))
OPS3(fma_relu_f16, relu_bits(TO_F(fma_wide(F(a), F(b), F(c))), 0x7C00))
OPS3(fma_ftz_relu_f16, relu_bits(flush_bits(TO_F(fma_wide(flush16(F(a)), flush16(F(b)), flush16(F(c))))), 0x7C00))
OPS3(fma_bf16, TO_B(fma_wide(B(a), B(b), B(c))))
OPS3(fma_relu_bf16, relu_bits(TO_B(fma_wide(B(a), B(b), B(c))), 0x7F80))

OPS1(neg_f16, a ^ 0x8000)
OPS1(abs_f16, a & 0x7FFF)
OPS1(neg_ftz_f16, flush_bits(a) ^ 0x8000)
OPS1(abs_ftz_f16, flush_bits(a) & 0x7FFF)

/* Which is less, from the bits: numbers without NaN order as signed magnitudes, and -0 before +0. */
static inline s32 rank_of(u32 h) {
  return h & 0x8000 ? -(s32)(h & 0x7FFF) - 1 : (s32)h;
}
static inline u32 pick(u32 a, u32 b, u32 inf, int most, int nan) {
  const int an = LO(a & 0x7FFF) > inf, bn = LO(b & 0x7FFF) > inf;
  if (an && bn) return 0x7FFF;
  if (an || bn) return nan ? 0x7FFF : an ? b : a;
  return (rank_of(a) < rank_of(b)) != most ? a : b;
}
#define ORDER(name, most)                                                                            \
  OPS2(name##_f16, pick(a, b, 0x7C00, most, 0))                                                      \
  OPS2(name##_ftz_f16, pick(flush_bits(a), flush_bits(b), 0x7C00, most, 0))                          \
  OPS2(name##_nan_f16, pick(a, b, 0x7C00, most, 1))                                                  \
  OPS2(name##_ftz_nan_f16, pick(flush_bits(a), flush_bits(b), 0x7C00, most, 1))                      \
  OPS2(name##_bf16, pick(a, b, 0x7F80, most, 0))                                                     \
  OPS2(name##_nan_bf16, pick(a, b, 0x7F80, most, 1))                                                 \
  OPS2(name##_xs_f16, (pick(a & 0x7FFF, b & 0x7FFF, 0x7C00, most, 0) & 0x7FFF) | ((a ^ b) & 0x8000)) \
  OPS2(name##_xs_bf16, (pick(a & 0x7FFF, b & 0x7FFF, 0x7F80, most, 0) & 0x7FFF) | ((a ^ b) & 0x8000))
ORDER(min, 0)
ORDER(max, 1)

#define H SIM_C_FP16
#define ONES(text, fn, type, sig1, sig2, flop)                 \
  {text "." type, sig1, fn, H, SIM_F_ALL, flop}, {             \
    text "." type "x2", sig2, fn##_x2, H, SIM_F_PAIR, 2 * flop \
  }
#define SUMS(op, rn)                                                                                             \
  ONES(#op rn, op##_f16, "f16", "h:hh", "w:ww", 1), ONES(#op rn ".ftz", op##_ftz_f16, "f16", "h:hh", "w:ww", 1), \
      ONES(#op rn ".sat", op##_sat_f16, "f16", "h:hh", "w:ww", 1),                                               \
      ONES(#op rn ".ftz.sat", op##_ftz_sat_f16, "f16", "h:hh", "w:ww", 1), ONES(#op rn, op##_bf16, "bf16", "h:hh", "w:ww", 1)
#define ORDERS(op)                                                                                                       \
  ONES(#op, op##_f16, "f16", "h:hh", "w:ww", 1), ONES(#op ".ftz", op##_ftz_f16, "f16", "h:hh", "w:ww", 1),               \
      ONES(#op ".NaN", op##_nan_f16, "f16", "h:hh", "w:ww", 1),                                                          \
      ONES(#op ".ftz.NaN", op##_ftz_nan_f16, "f16", "h:hh", "w:ww", 1), ONES(#op, op##_bf16, "bf16", "h:hh", "w:ww", 1), \
      ONES(#op ".NaN", op##_nan_bf16, "bf16", "h:hh", "w:ww", 1),                                                        \
      ONES(#op ".xorsign.abs", op##_xs_f16, "f16", "h:hh", "w:ww", 1),                                                   \
      ONES(#op ".xorsign.abs", op##_xs_bf16, "bf16", "h:hh", "w:ww", 1)

static const sim_alu_row rows[] = {
    SUMS(add, ""),
    SUMS(add, ".rn"),
    SUMS(sub, ""),
    SUMS(sub, ".rn"),
    SUMS(mul, ""),
    SUMS(mul, ".rn"),
    ONES("fma.rn", fma_f16, "f16", "h:hhh", "w:www", 2),
    ONES("fma.rn.ftz", fma_ftz_f16, "f16", "h:hhh", "w:www", 2),
    ONES("fma.rn.sat", fma_sat_f16, "f16", "h:hhh", "w:www", 2),
    ONES("fma.rn.ftz.sat", fma_ftz_sat_f16, "f16", "h:hhh", "w:www", 2),
    ONES("fma.rn.relu", fma_relu_f16, "f16", "h:hhh", "w:www", 2),
    ONES("fma.rn.ftz.relu", fma_ftz_relu_f16, "f16", "h:hhh", "w:www", 2),
    ONES("fma.rn", fma_bf16, "bf16", "h:hhh", "w:www", 2),
    ONES("fma.rn.relu", fma_relu_bf16, "bf16", "h:hhh", "w:www", 2),
    ONES("neg", neg_f16, "f16", "h:h", "w:w", 1),
    ONES("neg", neg_f16, "bf16", "h:h", "w:w", 1),
    ONES("abs", abs_f16, "f16", "h:h", "w:w", 1),
    ONES("abs", abs_f16, "bf16", "h:h", "w:w", 1),
    ONES("neg.ftz", neg_ftz_f16, "f16", "h:h", "w:w", 1),
    ONES("abs.ftz", abs_ftz_f16, "f16", "h:h", "w:w", 1),
    ORDERS(min),
    ORDERS(max),
};
SIM_TABLE(sim__half_table, rows);
