/* integer.c -- whole-number arithmetic. 16-bit values lie zero-extended in 32 bits. */
#include "exec/alu.h"

/* Wrapping arithmetic is done in unsigned numbers. */
#define WRAP(w, expr)                                \
  ALU2(add_##w, u##w, u##w, u##w, a + b)             \
  ALU2(sub_##w, u##w, u##w, u##w, a - b)             \
  ALU2(mul_lo_##w, u##w, u##w, u##w, a *b)           \
  ALU3(mad_lo_##w, u##w, u##w, u##w, u##w, a *b + c) \
  ALU1(neg_##w, u##w, u##w, 0 - a)
WRAP(32, )
WRAP(64, )
ALU2(add_16, u32, u32, u32, (u16)(a + b))
ALU2(sub_16, u32, u32, u32, (u16)(a - b))
ALU2(mul_lo_16, u32, u32, u32, (u16)(a *b))
ALU3(mad_lo_16, u32, u32, u32, u32, (u16)(a *b + c))
ALU1(neg_16, u32, u32, (u16)(0 - a))

static inline u64 high_u64(u64 a, u64 b) {
  return (u64)((unsigned __int128)a * b >> 64);
}
static inline u64 high_s64(u64 a, u64 b) {
  return (u64)((__int128)(s64)a * (s64)b >> 64);
}
static inline u32 high_u32(u32 a, u32 b) {
  return (u32)((u64)a * b >> 32);
}
static inline u32 high_s32(u32 a, u32 b) {
  return (u32)((u64)((s64)(s32)a * (s32)b) >> 32);
}

ALU2(mul_hi_u32, u32, u32, u32, high_u32(a, b))
ALU2(mul_hi_s32, u32, u32, u32, high_s32(a, b))
ALU2(mul_hi_u64, u64, u64, u64, high_u64(a, b))
ALU2(mul_hi_s64, u64, u64, u64, high_s64(a, b))
ALU2(mul_hi_u16, u32, u32, u32, (u16)(a *b >> 16))
ALU2(mul_hi_s16, u32, u32, u32, (u16)((u32)((s32)(s16)a *(s16)b) >> 16))
ALU3(mad_hi_u32, u32, u32, u32, u32, high_u32(a, b) + c)
ALU3(mad_hi_s32, u32, u32, u32, u32, high_s32(a, b) + c)
ALU3(mad_hi_u64, u64, u64, u64, u64, high_u64(a, b) + c)
ALU3(mad_hi_s64, u64, u64, u64, u64, high_s64(a, b) + c)
ALU2(mul_wide_u32, u64, u32, u32, (u64)a *b)
ALU2(mul_wide_s32, u64, s32, s32, (s64)a *b)
ALU2(mul_wide_u16, u32, u32, u32, (u32)(u16)a *(u16)b)
ALU2(mul_wide_s16, u32, u32, u32, (s32)(s16)a *(s16)b)
ALU3(mad_wide_u32, u64, u32, u32, u64, (u64)a *b + c)
ALU3(mad_wide_s32, u64, s32, s32, u64, (u64)((s64)a *b) + c)
ALU3(mad_wide_u16, u32, u32, u32, u32, (u32)(u16)a *(u16)b + c)
ALU3(mad_wide_s16, u32, u32, u32, u32, (u32)((s32)(s16)a *(s16)b) + c)

static inline s32 low24(u32 a) {
  return (s32)(a << 8) >> 8;
}
ALU2(mul24_lo_u32, u32, u32, u32, (a & 0xFFFFFF) * (b & 0xFFFFFF))
ALU2(mul24_lo_s32, u32, u32, u32, (u64)((s64)low24(a) * low24(b)))
ALU2(mul24_hi_u32, u32, u32, u32, (u64)(a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16)
ALU2(mul24_hi_s32, u32, u32, u32, (u64)((s64)low24(a) * low24(b)) >> 16)
ALU3(mad24_lo_u32, u32, u32, u32, u32, (a & 0xFFFFFF) * (b & 0xFFFFFF) + c)
ALU3(mad24_lo_s32, u32, u32, u32, u32, (u64)((s64)low24(a) * low24(b)) + c)

/* Division by zero gives all ones, as the hardware's does; the remainder is then the dividend. */
static inline u64 div_u(u64 a, u64 b, u64 ones) {
  return b ? a / b : ones;
}
static inline u64 rem_u(u64 a, u64 b) {
  return b ? a % b : a;
}
static inline s64 div_s(s64 a, s64 b) {
  return b == 0 ? -1 : b == -1 ? (s64)(0 - (u64)a) : a / b;
}
static inline s64 rem_s(s64 a, s64 b) {
  return b == 0 ? a : b == -1 ? 0 : a % b;
}
ALU2(div_u32, u32, u32, u32, div_u(a, b, 0xFFFFFFFF))
ALU2(div_s32, u32, s32, s32, div_s(a, b))
ALU2(div_u64, u64, u64, u64, div_u(a, b, UINT64_MAX))
ALU2(div_s64, u64, s64, s64, div_s(a, b))
ALU2(div_u16, u32, u32, u32, div_u((u16)a, (u16)b, 0xFFFF))
ALU2(div_s16, u32, u32, u32, (u16)div_s((s16)a, (s16)b))
ALU2(rem_u32, u32, u32, u32, rem_u(a, b))
ALU2(rem_s32, u32, s32, s32, rem_s(a, b))
ALU2(rem_u64, u64, u64, u64, rem_u(a, b))
ALU2(rem_s64, u64, s64, s64, rem_s(a, b))
ALU2(rem_u16, u32, u32, u32, rem_u((u16)a, (u16)b))
ALU2(rem_s16, u32, u32, u32, (u16)rem_s((s16)a, (s16)b))

ALU1(abs_32, u32, u32, (s32)a < 0 ? 0 - a : a)
ALU1(abs_64, u64, u64, (s64)a < 0 ? 0 - a : a)
ALU1(abs_16, u32, u32, (u16)((s16)a < 0 ? 0 - a : a))
#define ORDER(t, T)                     \
  ALU2(min_##t, T, T, T, a < b ? a : b) \
  ALU2(max_##t, T, T, T, a > b ? a : b)
ORDER(u32, u32)
ORDER(s32, s32)
ORDER(u64, u64)
ORDER(s64, s64)
ORDER(u16, u32)
ALU2(min_s16, u32, u32, u32, (u16)((s16)a < (s16)b ? a : b))
ALU2(max_s16, u32, u32, u32, (u16)((s16)a > (s16)b ? a : b))
ALU2(min_relu_s32, s32, s32, s32, (a < b ? a : b) > 0 ? (a < b ? a : b) : 0)
ALU2(max_relu_s32, s32, s32, s32, (a > b ? a : b) > 0 ? (a > b ? a : b) : 0)

static inline s32 clamp_s32(s64 x) {
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (s32)x;
}
ALU2(add_sat_s32, s32, s32, s32, clamp_s32((s64)a + b))
ALU2(sub_sat_s32, s32, s32, s32, clamp_s32((s64)a - b))
ALU3(mad_hi_sat_s32, s32, u32, u32, s32, clamp_s32((s64)(s32)high_s32(a, b) + c))
ALU3(sad_u32, u32, u32, u32, u32, c + (a < b ? b - a : a - b))
ALU3(sad_s32, u32, u32, u32, u32, c + ((s32)a < (s32)b ? b - a : a - b))
ALU3(sad_u64, u64, u64, u64, u64, c + (a < b ? b - a : a - b))
ALU3(sad_s64, u64, u64, u64, u64, c + ((s64)a < (s64)b ? b - a : a - b))
ALU3(sad_u16, u32, u32, u32, u32, (u16)(c + (a < b ? b - a : a - b)))
ALU3(sad_s16, u32, u32, u32, u32, (u16)(c + ((s16)a < (s16)b ? b - a : a - b)))

/* Both halves apart. */
#define HALVES(lo, hi) ((u32)(u16)(lo) | (u32)(u16)(hi) << 16)
#define PAIR(name, OP)                                                                                  \
  ALU2(name##_u16x2, u32, u32, u32,                                                                     \
       HALVES((u16)a OP(u16) b ? (u16)a : (u16)b, (u16)(a >> 16) OP(u16)(b >> 16) ? a >> 16 : b >> 16)) \
  ALU2(name##_s16x2, u32, u32, u32,                                                                     \
       HALVES((s16)a OP(s16) b ? (u16)a : (u16)b, (s16)(a >> 16) OP(s16)(b >> 16) ? a >> 16 : b >> 16))
PAIR(min, <)
PAIR(max, >)
ALU2(add_16x2, u32, u32, u32, HALVES(a + b, (a >> 16) + (b >> 16)))

/* Sums and carries: the carry in is lanes' bits, and so is the carry out. A borrow is 1 where the difference wrapped. */
#define CARRY(w)                                                                                 \
  SIM_HEAD(add_carry_##w) {                                                                      \
    u##w *d = SIM_PLACE(u##w, 0);                                                                \
    const u##w *pa = SIM_PLACE(u##w, 2), *pb = SIM_PLACE(u##w, 3);                               \
    u32 *out = SIM_PLACE(u32, 1), carry = *SIM_PLACE(u32, 4), carries = 0;                       \
    for (int l = 0; l < SIM_LANES; l++) {                                                        \
      const u##w a = pa[l], b = pb[l], sum = a + b, all = sum + (carry >> l & 1);                \
      carries |= (u32)(sum < a || all < sum) << l;                                               \
      SIM_WHERE(d, all);                                                                         \
    }                                                                                            \
    *out = (*out & ~mask) | (carries & mask);                                                    \
  }                                                                                              \
  SIM_HEAD(sub_carry_##w) {                                                                      \
    u##w *d = SIM_PLACE(u##w, 0);                                                                \
    const u##w *pa = SIM_PLACE(u##w, 2), *pb = SIM_PLACE(u##w, 3);                               \
    u32 *out = SIM_PLACE(u32, 1), borrow = *SIM_PLACE(u32, 4), borrows = 0;                      \
    for (int l = 0; l < SIM_LANES; l++) {                                                        \
      const u##w a = pa[l], b = pb[l], difference = a - b, all = difference - (borrow >> l & 1); \
      borrows |= (u32)(a < b || difference < (borrow >> l & 1)) << l;                            \
      SIM_WHERE(d, all);                                                                         \
    }                                                                                            \
    *out = (*out & ~mask) | (borrows & mask);                                                    \
  }
CARRY(32)
CARRY(64)

/* Dot products of bytes (and of two 16-bit numbers with two bytes). */
#define BYTE(T, x, k) (T)(u8)((x) >> (8 * (k)))
#define DP4A(name, A, B)                                                                   \
  ALU3(dp4a_##name, u32, u32, u32, u32,                                                    \
       c + (u32)((s32)BYTE(A, a, 0) * BYTE(B, b, 0) + (s32)BYTE(A, a, 1) * BYTE(B, b, 1) + \
                 (s32)BYTE(A, a, 2) * BYTE(B, b, 2) + (s32)BYTE(A, a, 3) * BYTE(B, b, 3)))
DP4A(uu, u8, u8)
DP4A(us, u8, s8)
DP4A(su, s8, u8)
DP4A(ss, s8, s8)
#define DP2A(name, A, B)                                                                                             \
  ALU3(dp2a_lo_##name, u32, u32, u32, u32, c + (u32)((s32)(A)a * BYTE(B, b, 0) + (s32)(A)(a >> 16) * BYTE(B, b, 1))) \
  ALU3(dp2a_hi_##name, u32, u32, u32, u32, c + (u32)((s32)(A)a * BYTE(B, b, 2) + (s32)(A)(a >> 16) * BYTE(B, b, 3)))
DP2A(uu, u16, u8)
DP2A(us, u16, s8)
DP2A(su, s16, u8)
DP2A(ss, s16, s8)

#define I SIM_C_INTEGER
#define ALL SIM_F_ALL
#define CARRIES SIM_F_CARRY
#define BOTH(op, sig16, sig32, sig64, flow)                                               \
  {#op ".u16", sig16, op##_16, I, flow, 0}, {#op ".s16", sig16, op##_16, I, flow, 0},     \
      {#op ".u32", sig32, op##_32, I, flow, 0}, {#op ".s32", sig32, op##_32, I, flow, 0}, \
      {#op ".u64", sig64, op##_64, I, flow, 0}, {                                         \
#op ".s64", sig64, op##_64, I, flow, 0                                                \
  }
#define EACH(name, op, s16_, s32_, s64_)                                                  \
  {name ".u16", s16_, op##_u16, I, ALL, 0}, {name ".s16", s16_, op##_s16, I, ALL, 0},     \
      {name ".u32", s32_, op##_u32, I, ALL, 0}, {name ".s32", s32_, op##_s32, I, ALL, 0}, \
      {name ".u64", s64_, op##_u64, I, ALL, 0}, {                                         \
    name ".s64", s64_, op##_s64, I, ALL, 0                                                \
  }
#define LOW(name, op, s16_, s32_, s64_)                                                         \
  {name ".u16", s16_, op##_16, I, CARRIES, 0}, {name ".s16", s16_, op##_16, I, CARRIES, 0},     \
      {name ".u32", s32_, op##_32, I, CARRIES, 0}, {name ".s32", s32_, op##_32, I, CARRIES, 0}, \
      {name ".u64", s64_, op##_64, I, CARRIES, 0}, {                                            \
    name ".s64", s64_, op##_64, I, CARRIES, 0                                                   \
  }
#define DP(name, op)                                                                              \
  {name ".u32.u32", "w:www", op##_uu, I, ALL, 0}, {name ".u32.s32", "w:www", op##_us, I, ALL, 0}, \
      {name ".s32.u32", "w:www", op##_su, I, ALL, 0}, {                                           \
    name ".s32.s32", "w:www", op##_ss, I, ALL, 0                                                  \
  }

static const sim_alu_row rows[] = {
    BOTH(add, "h:hh", "w:ww", "d:dd", CARRIES),
    BOTH(sub, "h:hh", "w:ww", "d:dd", CARRIES),
    LOW("mul.lo", mul_lo, "h:hh", "w:ww", "d:dd"),
    LOW("mad.lo", mad_lo, "h:hhh", "w:www", "d:ddd"),
    {"neg.s16", "h:h", neg_16, I, CARRIES, 0},
    {"neg.s32", "w:w", neg_32, I, CARRIES, 0},
    {"neg.s64", "d:d", neg_64, I, CARRIES, 0},
    {"abs.s16", "h:h", abs_16, I, ALL, 0},
    {"abs.s32", "w:w", abs_32, I, ALL, 0},
    {"abs.s64", "d:d", abs_64, I, ALL, 0},
    EACH("mul.hi", mul_hi, "h:hh", "w:ww", "d:dd"),
    {"mad.hi.u32", "w:www", mad_hi_u32, I, ALL, 0},
    {"mad.hi.s32", "w:www", mad_hi_s32, I, ALL, 0},
    {"mad.hi.u64", "d:ddd", mad_hi_u64, I, ALL, 0},
    {"mad.hi.s64", "d:ddd", mad_hi_s64, I, ALL, 0},
    {"mad.hi.sat.s32", "w:www", mad_hi_sat_s32, I, ALL, 0},
    {"mul.wide.u32", "d:ww", mul_wide_u32, I, ALL, 0},
    {"mul.wide.s32", "d:ww", mul_wide_s32, I, ALL, 0},
    {"mul.wide.u16", "w:hh", mul_wide_u16, I, ALL, 0},
    {"mul.wide.s16", "w:hh", mul_wide_s16, I, ALL, 0},
    {"mad.wide.u32", "d:wwd", mad_wide_u32, I, ALL, 0},
    {"mad.wide.s32", "d:wwd", mad_wide_s32, I, ALL, 0},
    {"mad.wide.u16", "w:hhw", mad_wide_u16, I, ALL, 0},
    {"mad.wide.s16", "w:hhw", mad_wide_s16, I, ALL, 0},
    {"mul24.lo.u32", "w:ww", mul24_lo_u32, I, ALL, 0},
    {"mul24.lo.s32", "w:ww", mul24_lo_s32, I, ALL, 0},
    {"mul24.hi.u32", "w:ww", mul24_hi_u32, I, ALL, 0},
    {"mul24.hi.s32", "w:ww", mul24_hi_s32, I, ALL, 0},
    {"mad24.lo.u32", "w:www", mad24_lo_u32, I, ALL, 0},
    {"mad24.lo.s32", "w:www", mad24_lo_s32, I, ALL, 0},
    EACH("div", div, "h:hh", "w:ww", "d:dd"),
    EACH("rem", rem, "h:hh", "w:ww", "d:dd"),
    EACH("min", min, "h:hh", "w:ww", "d:dd"),
    EACH("max", max, "h:hh", "w:ww", "d:dd"),
    EACH("sad", sad, "h:hhh", "w:www", "d:ddd"),
    {"min.relu.s32", "w:ww", min_relu_s32, I, ALL, 0},
    {"max.relu.s32", "w:ww", max_relu_s32, I, ALL, 0},
    {"min.u16x2", "w:ww", min_u16x2, I, SIM_F_PAIR, 0},
    {"min.s16x2", "w:ww", min_s16x2, I, SIM_F_PAIR, 0},
    {"max.u16x2", "w:ww", max_u16x2, I, SIM_F_PAIR, 0},
    {"max.s16x2", "w:ww", max_s16x2, I, SIM_F_PAIR, 0},
    {"add.u16x2", "w:ww", add_16x2, I, SIM_F_PAIR, 0},
    {"add.s16x2", "w:ww", add_16x2, I, SIM_F_PAIR, 0},
    {"add.sat.s32", "w:ww", add_sat_s32, I, ALL, 0},
    {"sub.sat.s32", "w:ww", sub_sat_s32, I, ALL, 0},
    {"add.carry.b32", "wp:wwp", add_carry_32, I, ALL, 0},
    {"add.carry.b64", "dp:ddp", add_carry_64, I, ALL, 0},
    {"sub.carry.b32", "wp:wwp", sub_carry_32, I, ALL, 0},
    {"sub.carry.b64", "dp:ddp", sub_carry_64, I, ALL, 0},
    DP("dp4a", dp4a),
    DP("dp2a.lo", dp2a_lo),
    DP("dp2a.hi", dp2a_hi),
};
SIM_TABLE(sim__integer_table, rows);
