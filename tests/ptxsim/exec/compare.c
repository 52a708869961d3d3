/* compare.c -- setp for whole numbers and floats, set for pairs. Ordered comparisons are false where a NaN takes part,
 * unordered ones true. */
#include "exec/alu.h"

#define SIX(name, A, ca, cb)          \
  ALUP(eq_##name, A, A, (ca) == (cb)) \
  ALUP(ne_##name, A, A, (ca) != (cb)) \
  ALUP(lt_##name, A, A, (ca) < (cb))  \
  ALUP(le_##name, A, A, (ca) <= (cb)) \
  ALUP(gt_##name, A, A, (ca) > (cb))  \
  ALUP(ge_##name, A, A, (ca) >= (cb))
SIX(u16, u32, a, b)
SIX(s16, u32, (s16)a, (s16)b)
SIX(u32, u32, a, b)
SIX(s32, s32, a, b)
SIX(u64, u64, a, b)
SIX(s64, s64, a, b)

/* `ne` of floats is ordered in PTX, unlike C's. */
#define C_eq(x, y) ((x) == (y))
#define C_ne(x, y) (((x) < (y)) | ((x) > (y)))
#define C_lt(x, y) ((x) < (y))
#define C_le(x, y) ((x) <= (y))
#define C_gt(x, y) ((x) > (y))
#define C_ge(x, y) ((x) >= (y))
#define C_equ(x, y) (!C_ne(x, y))
#define C_neu(x, y) ((x) != (y))
#define C_ltu(x, y) (!C_ge(x, y))
#define C_leu(x, y) (!C_gt(x, y))
#define C_gtu(x, y) (!C_le(x, y))
#define C_geu(x, y) (!C_lt(x, y))
#define C_num(x, y) (((x) == (x)) & ((y) == (y)))
#define C_nan(x, y) (((x) != (x)) | ((y) != (y)))
#define FOURTEEN(M, ...) \
  M(eq, __VA_ARGS__)     \
  M(ne, __VA_ARGS__)     \
  M(lt, __VA_ARGS__)     \
  M(le, __VA_ARGS__)     \
  M(gt, __VA_ARGS__)     \
  M(ge, __VA_ARGS__)     \
  M(equ, __VA_ARGS__)    \
  M(neu, __VA_ARGS__)    \
  M(ltu, __VA_ARGS__)    \
  M(leu, __VA_ARGS__)    \
  M(gtu, __VA_ARGS__)    \
  M(geu, __VA_ARGS__)    \
  M(num, __VA_ARGS__)    \
  M(nan, __VA_ARGS__)
#define REAL_ONE(cmp, name, A, V) ALUP(cmp##_##name, A, A, C_##cmp(V(a), V(b)))
#define REAL(name, A, V) FOURTEEN(REAL_ONE, name, A, V)
/* Of pairs: 16 ones for each half in which it holds. */
#define PAIR_ONE(cmp, name, V) \
  ALU2(cmp##_##name, u32, u32, u32, (C_##cmp(V(a), V(b)) ? 0xFFFFu : 0) | (C_##cmp(V(a >> 16), V(b >> 16)) ? 0xFFFF0000u : 0))
#define PAIR(name, V) FOURTEEN(PAIR_ONE, name, V)

static inline f32 flush(f32 x) {
  return fabsf(x) < 0x1p-126f ? 0 : x;
}
#define F16(x) sim__f16_to_f32((u16)(x))
#define BF16(x) sim__bf16_to_f32((u16)(x))
static inline f32 flush_f16(f32 x) {
  return fabsf(x) < 0x1p-14f ? 0 : x;
}
#define SAME(x) (x)
#define FTZ_F16(x) flush_f16(F16(x))
REAL(f32, f32, SAME)
REAL(ftz_f32, f32, flush)
REAL(f64, f64, SAME)
REAL(f16, u32, F16)
REAL(ftz_f16, u32, FTZ_F16)
REAL(bf16, u32, BF16)
PAIR(f16x2, F16)
PAIR(ftz_f16x2, FTZ_F16)
PAIR(bf16x2, BF16)

static inline u32 class_f32(u32 a) { /* 1 NaN, 2 infinite, 4 subnormal, 8 zero, 16 normal */
  const u32 m = a & 0x7FFFFFFF;
  return m > 0x7F800000 ? 1 : m == 0x7F800000 ? 2 : m == 0 ? 8 : m < 0x00800000 ? 4 : 16;
}
static inline u32 class_f64(u64 a) {
  const u64 m = a & ~((u64)1 << 63), inf = (u64)0x7FF << 52;
  return m > inf ? 1 : m == inf ? 2 : m == 0 ? 8 : m < (u64)1 << 52 ? 4 : 16;
}
#define TEST(w, A)                                          \
  ALUP(finite_##w, A, A, (class_f##w(a) & 28) | (b & 0))    \
  ALUP(infinite_##w, A, A, (class_f##w(a) & 2) | (b & 0))   \
  ALUP(number_##w, A, A, (class_f##w(a) & 30) | (b & 0))    \
  ALUP(notanumber_##w, A, A, (class_f##w(a) & 1) | (b & 0)) \
  ALUP(normal_##w, A, A, (class_f##w(a) & 16) | (b & 0))    \
  ALUP(subnormal_##w, A, A, (class_f##w(a) & 4) | (b & 0))
TEST(32, u32)
TEST(64, u64)

#define I SIM_C_INTEGER
#define ROW(cmp, text, fn, sig, class) \
  { "setp." #cmp "." text, sig, cmp##_##fn, class, SIM_F_ALL, 0 }
#define SIX_ROWS(text, fn, sig)                                                                               \
  ROW(eq, text, fn, sig, I), ROW(ne, text, fn, sig, I), ROW(lt, text, fn, sig, I), ROW(le, text, fn, sig, I), \
      ROW(gt, text, fn, sig, I), ROW(ge, text, fn, sig, I)
#define NAMED(cmp, text, fn, sig) \
  { "setp." cmp "." text, sig, fn, I, SIM_F_ALL, 0 }
#define HIGH_LOW(text, t, sig) \
  NAMED("lo", text, lt_##t, sig), NAMED("ls", text, le_##t, sig), NAMED("hi", text, gt_##t, sig), NAMED("hs", text, ge_##t, sig)
#define FOURTEEN_ROWS(M, ...)                                                                                             \
  M(eq, __VA_ARGS__), M(ne, __VA_ARGS__), M(lt, __VA_ARGS__), M(le, __VA_ARGS__), M(gt, __VA_ARGS__), M(ge, __VA_ARGS__), \
      M(equ, __VA_ARGS__), M(neu, __VA_ARGS__), M(ltu, __VA_ARGS__), M(leu, __VA_ARGS__), M(gtu, __VA_ARGS__),            \
      M(geu, __VA_ARGS__), M(num, __VA_ARGS__), M(nan, __VA_ARGS__)
#define REAL_ROW(cmp, before, after, fn, sig, class) \
  { "setp." #cmp before after, sig, cmp##_##fn, class, SIM_F_ALL, 0 }
#define REAL_ROWS(before, after, fn, sig, class) FOURTEEN_ROWS(REAL_ROW, before, after, fn, sig, class)
#define PAIR_ROW(cmp, after, fn) \
  { "set." #cmp after, "w:ww", cmp##_##fn, SIM_C_FP16, SIM_F_PAIR, 0 }
#define PAIR_ROWS(after, fn) FOURTEEN_ROWS(PAIR_ROW, after, fn)
#define TEST_ROWS(w, sig)                                                                                               \
  {"testp.finite.f" #w, sig, finite_##w, I, SIM_F_ALL, 0}, {"testp.infinite.f" #w, sig, infinite_##w, I, SIM_F_ALL, 0}, \
      {"testp.number.f" #w, sig, number_##w, I, SIM_F_ALL, 0},                                                          \
      {"testp.notanumber.f" #w, sig, notanumber_##w, I, SIM_F_ALL, 0},                                                  \
      {"testp.normal.f" #w, sig, normal_##w, I, SIM_F_ALL, 0}, {                                                        \
    "testp.subnormal.f" #w, sig, subnormal_##w, I, SIM_F_ALL, 0                                                         \
  }

static const sim_alu_row rows[] = {
    SIX_ROWS("u16", u16, "p:hh"),
    SIX_ROWS("s16", s16, "p:hh"),
    SIX_ROWS("u32", u32, "p:ww"),
    SIX_ROWS("s32", s32, "p:ww"),
    SIX_ROWS("u64", u64, "p:dd"),
    SIX_ROWS("s64", s64, "p:dd"),
    NAMED("eq", "b16", eq_u16, "p:hh"),
    NAMED("ne", "b16", ne_u16, "p:hh"),
    NAMED("eq", "b32", eq_u32, "p:ww"),
    NAMED("ne", "b32", ne_u32, "p:ww"),
    NAMED("eq", "b64", eq_u64, "p:dd"),
    NAMED("ne", "b64", ne_u64, "p:dd"),
    HIGH_LOW("u16", u16, "p:hh"),
    HIGH_LOW("u32", u32, "p:ww"),
    HIGH_LOW("u64", u64, "p:dd"),
    REAL_ROWS("", ".f32", f32, "p:ff", SIM_C_FP32),
    REAL_ROWS(".ftz", ".f32", ftz_f32, "p:ff", SIM_C_FP32),
    REAL_ROWS("", ".f64", f64, "p:gg", SIM_C_FP64),
    REAL_ROWS("", ".f16", f16, "p:hh", SIM_C_FP16),
    REAL_ROWS(".ftz", ".f16", ftz_f16, "p:hh", SIM_C_FP16),
    REAL_ROWS("", ".bf16", bf16, "p:hh", SIM_C_FP16),
    PAIR_ROWS(".u32.f16x2", f16x2),
    PAIR_ROWS(".ftz.u32.f16x2", ftz_f16x2),
    PAIR_ROWS(".u32.bf16x2", bf16x2),
    TEST_ROWS(32, "p:f"),
    TEST_ROWS(64, "p:g"),
};
SIM_TABLE(sim__compare_table, rows);
