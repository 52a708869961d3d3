/* double.c -- f64 arithmetic to the nearest. NaN payloads pass through, as on the hardware. */
#include "exec/alu.h"

ALU2(add, f64, f64, f64, a + b)
ALU2(sub, f64, f64, f64, a - b)
ALU2(mul, f64, f64, f64, a *b)
ALU3(fma64, f64, f64, f64, f64, __builtin_fma(a, b, c))
ALU2(divide, f64, f64, f64, a / b)
ALU1(reciprocal, f64, f64, 1 / a)
ALU1(root, f64, f64, __builtin_sqrt(a))
ALU1(abs_f64, u64, u64, a & ~((u64)1 << 63))
ALU1(neg_f64, u64, u64, a ^ (u64)1 << 63)
ALU2(copy_sign, u64, u64, u64, (a & (u64)1 << 63) | (b & ~((u64)1 << 63)))
static inline f64 least(f64 a, f64 b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return sim__f64_of_bits(sim__bits_of_f64(a) | sim__bits_of_f64(b));
  return a < b ? a : b;
}
static inline f64 most(f64 a, f64 b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return sim__f64_of_bits(sim__bits_of_f64(a) & sim__bits_of_f64(b));
  return a > b ? a : b;
}
ALU2(min64, f64, f64, f64, least(a, b))
ALU2(max64, f64, f64, f64, most(a, b))

#define D SIM_C_FP64
#define A SIM_F_ALL
static const sim_alu_row rows[] = {
    {"add.f64", "g:gg", add, D, A, 1},       {"add.rn.f64", "g:gg", add, D, A, 1},
    {"sub.f64", "g:gg", sub, D, A, 1},       {"sub.rn.f64", "g:gg", sub, D, A, 1},
    {"mul.f64", "g:gg", mul, D, A, 1},       {"mul.rn.f64", "g:gg", mul, D, A, 1},
    {"fma.rn.f64", "g:ggg", fma64, D, A, 2}, {"mad.rn.f64", "g:ggg", fma64, D, A, 2},
    {"div.rn.f64", "g:gg", divide, D, A, 1}, {"rcp.rn.f64", "g:g", reciprocal, D, A, 1},
    {"sqrt.rn.f64", "g:g", root, D, A, 1},   {"abs.f64", "g:g", abs_f64, D, A, 1},
    {"neg.f64", "g:g", neg_f64, D, A, 1},    {"copysign.f64", "g:gg", copy_sign, D, A, 0},
    {"min.f64", "g:gg", min64, D, A, 1},     {"max.f64", "g:gg", max64, D, A, 1},
};
SIM_TABLE(sim__double_table, rows);
