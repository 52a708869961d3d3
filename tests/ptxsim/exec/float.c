/* float.c -- f32 arithmetic to the nearest. Results that are NaN are the one NaN that the hardware gives. */
#include "exec/alu.h"

static inline f32 one_nan(f32 x) {
  return sim__canonical_f32(x);
}
static inline f32 flush(f32 x) {
  return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
static inline f32 saturate(f32 x) {
  return x > 0 ? (x < 1 ? x : 1) : 0;
} /* NaN gives +0 */

/* The result `r` of an expression over inputs that are taken as they are, flushed, or saturated afterwards. */
#define FOUR2(name, EXPR)                                                   \
  ALU2(name, f32, f32, f32, one_nan(EXPR(a, b)))                            \
  ALU2(name##_ftz, f32, f32, f32, flush(one_nan(EXPR(flush(a), flush(b))))) \
  ALU2(name##_sat, f32, f32, f32, saturate(EXPR(a, b)))                     \
  ALU2(name##_ftz_sat, f32, f32, f32, saturate(flush(EXPR(flush(a), flush(b)))))
#define SUM(a, b) ((a) + (b))
#define DIFFERENCE(a, b) ((a) - (b))
#define PRODUCT(a, b) ((a) * (b))
FOUR2(add, SUM)
FOUR2(sub, DIFFERENCE)
FOUR2(mul, PRODUCT)
ALU3(fma_f32, f32, f32, f32, f32, one_nan(__builtin_fmaf(a, b, c)))
ALU3(fma_f32_ftz, f32, f32, f32, f32, flush(one_nan(__builtin_fmaf(flush(a), flush(b), flush(c)))))
ALU3(fma_f32_sat, f32, f32, f32, f32, saturate(__builtin_fmaf(a, b, c)))
ALU3(fma_f32_ftz_sat, f32, f32, f32, f32, saturate(flush(__builtin_fmaf(flush(a), flush(b), flush(c)))))

ALU2(divide, f32, f32, f32, one_nan(a / b))
ALU2(divide_ftz, f32, f32, f32, flush(one_nan(flush(a) / flush(b))))
ALU1(reciprocal, f32, f32, one_nan(1 / a))
ALU1(reciprocal_ftz, f32, f32, flush(one_nan(1 / flush(a))))
ALU1(root, f32, f32, one_nan(__builtin_sqrtf(a)))
ALU1(root_ftz, f32, f32, one_nan(__builtin_sqrtf(flush(a))))

/* The signs of zeros count: -0 is less than +0. */
static inline f32 least(f32 a, f32 b) {
  if (a != a) return one_nan(b);
  if (b != b) return a;
  if (a == b) return sim__f32_of_bits(sim__bits_of_f32(a) | sim__bits_of_f32(b));
  return a < b ? a : b;
}
static inline f32 most(f32 a, f32 b) {
  if (a != a) return one_nan(b);
  if (b != b) return a;
  if (a == b) return sim__f32_of_bits(sim__bits_of_f32(a) & sim__bits_of_f32(b));
  return a > b ? a : b;
}
#define NAN_IF(a, b, v) ((a) != (a) || (b) != (b) ? sim__f32_of_bits(0x7FFFFFFF) : (v))
static inline f32 signs(f32 a, f32 b, f32 v) {
  return sim__f32_of_bits((sim__bits_of_f32(v) & 0x7FFFFFFF) | ((sim__bits_of_f32(a) ^ sim__bits_of_f32(b)) & 0x80000000));
}
#define ORDERS(name, f)                                                    \
  ALU2(name, f32, f32, f32, f(a, b))                                       \
  ALU2(name##_ftz, f32, f32, f32, f(flush(a), flush(b)))                   \
  ALU2(name##_nan, f32, f32, f32, NAN_IF(a, b, f(a, b)))                   \
  ALU2(name##_ftz_nan, f32, f32, f32, NAN_IF(a, b, f(flush(a), flush(b)))) \
  ALU2(name##_xorsign, f32, f32, f32, signs(a, b, f(fabsf(a), fabsf(b))))  \
  ALU2(name##_nan_xorsign, f32, f32, f32, NAN_IF(a, b, signs(a, b, f(fabsf(a), fabsf(b)))))
ORDERS(min, least)
ORDERS(max, most)

ALU1(abs_f32, f32, f32, fabsf(a))
ALU1(abs_ftz, f32, f32, fabsf(flush(a)))
ALU1(neg_f32, u32, u32, a ^ 0x80000000)
ALU1(neg_ftz, f32, f32, -flush(a))
ALU2(copy_sign, u32, u32, u32, (a & 0x80000000) | (b & 0x7FFFFFFF))

#define C SIM_C_FP32
#define S SIM_C_SPECIAL
#define A SIM_F_ALL
#define FOUR(op, fn, rn)                                                              \
  {op rn ".f32", "f:ff", fn, C, A, 1}, {op rn ".ftz.f32", "f:ff", fn##_ftz, C, A, 1}, \
      {op rn ".sat.f32", "f:ff", fn##_sat, C, A, 1}, {                                \
    op rn ".ftz.sat.f32", "f:ff", fn##_ftz_sat, C, A, 1                               \
  }
#define FMA(op)                                                                           \
  {op ".f32", "f:fff", fma_f32, C, A, 2}, {op ".ftz.f32", "f:fff", fma_f32_ftz, C, A, 2}, \
      {op ".sat.f32", "f:fff", fma_f32_sat, C, A, 2}, {                                   \
    op ".ftz.sat.f32", "f:fff", fma_f32_ftz_sat, C, A, 2                                  \
  }
#define ORDER(op, fn)                                                                                                       \
  {op ".f32", "f:ff", fn, C, A, 1}, {op ".ftz.f32", "f:ff", fn##_ftz, C, A, 1}, {op ".NaN.f32", "f:ff", fn##_nan, C, A, 1}, \
      {op ".ftz.NaN.f32", "f:ff", fn##_ftz_nan, C, A, 1}, {op ".xorsign.abs.f32", "f:ff", fn##_xorsign, C, A, 1}, {         \
    op ".NaN.xorsign.abs.f32", "f:ff", fn##_nan_xorsign, C, A, 1                                                            \
  }

static const sim_alu_row rows[] = {
    FOUR("add", add, ""),
    FOUR("add", add, ".rn"),
    FOUR("sub", sub, ""),
    FOUR("sub", sub, ".rn"),
    FOUR("mul", mul, ""),
    FOUR("mul", mul, ".rn"),
    FMA("fma.rn"),
    FMA("mad.rn"),
    {"div.rn.f32", "f:ff", divide, S, A, 1},
    {"div.rn.ftz.f32", "f:ff", divide_ftz, S, A, 1},
    {"rcp.rn.f32", "f:f", reciprocal, S, A, 1},
    {"rcp.rn.ftz.f32", "f:f", reciprocal_ftz, S, A, 1},
    {"sqrt.rn.f32", "f:f", root, S, A, 1},
    {"sqrt.rn.ftz.f32", "f:f", root_ftz, S, A, 1},
    ORDER("min", min),
    ORDER("max", max),
    {"abs.f32", "f:f", abs_f32, C, A, 1},
    {"abs.ftz.f32", "f:f", abs_ftz, C, A, 1},
    {"neg.f32", "f:f", neg_f32, C, A, 1},
    {"neg.ftz.f32", "f:f", neg_ftz, C, A, 1},
    {"copysign.f32", "f:ff", copy_sign, C, A, 0},
};
SIM_TABLE(sim__float_table, rows);
