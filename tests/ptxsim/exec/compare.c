/* compare.c -- setp for whole numbers and floats. Ordered comparisons are false where a NaN takes part, unordered ones true. */
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
#define REAL(name, A, ca, cb)                              \
  ALUP(eq_##name, A, A, (ca) == (cb))                      \
  ALUP(ne_##name, A, A, ((ca) < (cb)) | ((ca) > (cb)))     \
  ALUP(lt_##name, A, A, (ca) < (cb))                       \
  ALUP(le_##name, A, A, (ca) <= (cb))                      \
  ALUP(gt_##name, A, A, (ca) > (cb))                       \
  ALUP(ge_##name, A, A, (ca) >= (cb))                      \
  ALUP(equ_##name, A, A, !(((ca) < (cb)) | ((ca) > (cb)))) \
  ALUP(neu_##name, A, A, (ca) != (cb))                     \
  ALUP(ltu_##name, A, A, !((ca) >= (cb)))                  \
  ALUP(leu_##name, A, A, !((ca) > (cb)))                   \
  ALUP(gtu_##name, A, A, !((ca) <= (cb)))                  \
  ALUP(geu_##name, A, A, !((ca) < (cb)))                   \
  ALUP(num_##name, A, A, ((ca) == (ca)) & ((cb) == (cb)))  \
  ALUP(nan_##name, A, A, ((ca) != (ca)) | ((cb) != (cb)))

static inline f32 flush(f32 x) {
  return fabsf(x) < 0x1p-126f ? 0 : x;
}
#define F16(x) sim__f16_to_f32((u16)(x))
#define BF16(x) sim__bf16_to_f32((u16)(x))
static inline f32 flush_f16(f32 x) {
  return fabsf(x) < 0x1p-14f ? 0 : x;
}
REAL(f32, f32, a, b)
REAL(ftz_f32, f32, flush(a), flush(b))
REAL(f64, f64, a, b)
REAL(f16, u32, F16(a), F16(b))
REAL(ftz_f16, u32, flush_f16(F16(a)), flush_f16(F16(b)))
REAL(f16_high, u32, F16(a >> 16), F16(b >> 16))
REAL(ftz_f16_high, u32, flush_f16(F16(a >> 16)), flush_f16(F16(b >> 16)))
REAL(bf16, u32, BF16(a), BF16(b))
REAL(bf16_high, u32, BF16(a >> 16), BF16(b >> 16))

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
#define REAL_ROW(cmp, before, after, fn, sig, class) \
  { "setp." #cmp before after, sig, cmp##_##fn, class, SIM_F_ALL, 0 }
#define REAL_ROWS(before, after, fn, sig, class)                                                  \
  REAL_ROW(eq, before, after, fn, sig, class), REAL_ROW(ne, before, after, fn, sig, class),       \
      REAL_ROW(lt, before, after, fn, sig, class), REAL_ROW(le, before, after, fn, sig, class),   \
      REAL_ROW(gt, before, after, fn, sig, class), REAL_ROW(ge, before, after, fn, sig, class),   \
      REAL_ROW(equ, before, after, fn, sig, class), REAL_ROW(neu, before, after, fn, sig, class), \
      REAL_ROW(ltu, before, after, fn, sig, class), REAL_ROW(leu, before, after, fn, sig, class), \
      REAL_ROW(gtu, before, after, fn, sig, class), REAL_ROW(geu, before, after, fn, sig, class), \
      REAL_ROW(num, before, after, fn, sig, class), REAL_ROW(nan, before, after, fn, sig, class)
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
    REAL_ROWS("", ".f16x2", f16, "p:ww", SIM_C_FP16),
    REAL_ROWS(".ftz", ".f16x2", ftz_f16, "p:ww", SIM_C_FP16),
    REAL_ROWS("", ".f16x2.high", f16_high, "p:ww", SIM_C_FP16),
    REAL_ROWS(".ftz", ".f16x2.high", ftz_f16_high, "p:ww", SIM_C_FP16),
    REAL_ROWS("", ".bf16", bf16, "p:hh", SIM_C_FP16),
    REAL_ROWS("", ".bf16x2", bf16, "p:ww", SIM_C_FP16),
    REAL_ROWS("", ".bf16x2.high", bf16_high, "p:ww", SIM_C_FP16),
    TEST_ROWS(32, "p:f"),
    TEST_ROWS(64, "p:g"),
};
SIM_TABLE(sim__compare_table, rows);
