/* test_convert.c -- cvt between all types in all roundings, with saturation, flushing and relu, and registers wider than the
 * types. */
#include "arithmetic.h"
#include "exact.h"

typedef struct type {
  const char *name;
  char letter;
  int bits, is_float, is_signed;
  const format *f;
} type;
static const type types[] = {{"u8", 'h', 8, 0, 0, NULL},     {"s8", 'h', 8, 0, 1, NULL},   {"u16", 'h', 16, 0, 0, NULL},
                             {"s16", 'h', 16, 0, 1, NULL},   {"u32", 'w', 32, 0, 0, NULL}, {"s32", 'w', 32, 0, 1, NULL},
                             {"u64", 'd', 64, 0, 0, NULL},   {"s64", 'd', 64, 0, 1, NULL}, {"f16", 'h', 16, 1, 1, &F16},
                             {"bf16", 'h', 16, 1, 1, &BF16}, {"f32", 'f', 32, 1, 1, &F32}, {"f64", 'g', 64, 1, 1, &F64}};
enum { N_TYPES = 12 };

static const type *to, *from;
static mode rounding;
static int integral, ftz, sat, relu;

static exact whole(uint64_t raw, const type *t) {
  const uint64_t x = t->bits == 64 ? raw : raw & (((uint64_t)1 << t->bits) - 1);
  const int neg = t->is_signed && x >> (t->bits - 1);
  exact r = {.neg = neg, .m = neg ? ((big)1 << t->bits) - x : x};
  return r;
}

static uint64_t clamped(exact x, int wrap) {
  const big limit = (big)1 << (to->is_signed ? to->bits - 1 : to->bits);
  big m = x.inf ? limit : x.m;
  if (!wrap) {
    if (x.neg && !to->is_signed)
      m = 0;
    else if (x.neg && m > limit)
      m = limit;
    else if (!x.neg && m > limit - 1)
      m = limit - 1;
  }
  const uint64_t r = (uint64_t)(x.neg ? -m : m);
  return to->bits == 64 ? r : r & (((uint64_t)1 << to->bits) - 1);
}

static uint64_t extended(uint64_t r, const type *t, int register_bits) {
  if (t->is_signed && t->bits < 64 && r >> (t->bits - 1) & 1) r |= ~(uint64_t)0 << t->bits;
  return register_bits == 64 ? r : r & (((uint64_t)1 << register_bits) - 1);
}

static uint64_t convert(const uint64_t *a) {
  exact x = from->is_float ? exact_of(a[0], *from->f) : whole(a[0], from);
  if (ftz && from->f == &F32 && !x.nan && !x.inf && (a[0] & 0x7FFFFFFF) < 0x00800000) x.m = 0;
  if (!to->is_float) {
    uint64_t r;
    if (!from->is_float) {
      r = clamped(x, !sat);
    } else if (x.nan) {
      r = from->bits == 64 || to->bits == 64 ? (uint64_t)1 << (to->bits - 1) : 0;
    } else {
      if (!x.inf && x.e < 0)
        x = (exact){.neg = x.neg, .m = round_at(x, 0, rounding)};
      else if (!x.inf && top_of(x.m) + x.e > 100)
        x = (exact){.inf = 1, .neg = x.neg};
      else if (!x.inf)
        x = (exact){.neg = x.neg, .m = x.m << x.e};
      r = clamped(x, 0);
    }
    return extended(r, to, to->letter == 'h' ? 16 : to->bits);
  }
  if (integral && !x.nan && !x.inf && x.e < 0) x = (exact){.neg = x.neg, .m = round_at(x, 0, rounding)};
  uint64_t r = exact_round(x, *to->f, rounding);
  const uint64_t top = (uint64_t)1 << (to->bits - 1);
  if (ftz && to->f == &F32 && (r & ~top) < 0x00800000) r &= top;
  if (sat) {
    const uint64_t one = exact_round((exact){.m = 1}, *to->f, RN);
    r = x.nan || r & top ? 0 : r > one ? one : r;
  }
  if (relu && !x.nan && r & top) r = 0;
  return r;
}

static uint64_t edges[64];
static size_t n_edges;
static void edge(uint64_t x) {
  edges[n_edges++] = x;
}
static void make_edges(void) {
  n_edges = 0;
  if (!from->is_float) {
    static const uint64_t plain[] = {0,
                                     1,
                                     2,
                                     127,
                                     128,
                                     129,
                                     255,
                                     256,
                                     32767,
                                     32768,
                                     65535,
                                     65536,
                                     2047,
                                     2049,
                                     4097,
                                     16777215,
                                     16777217,
                                     0x7FFFFFFF,
                                     0x80000000,
                                     0xFFFFFFFF,
                                     0x100000000,
                                     0x7FFFFFFFFFFFFFFF,
                                     0x8000000000000000,
                                     0xFFFFFFFFFFFFFFFF,
                                     0xFFFFFFFFFFFFFF80,
                                     0xFFFFFFFFFFFF8000,
                                     0x001FFFFFFFFFFFFF,
                                     0x0020000000000001,
                                     0xFFFFFFFFFFFFFBFF};
    for (size_t k = 0; k < sizeof plain / 8; k++) edge(plain[k]);
    return;
  }
  static const double values[] = {0.0,
                                  0.25,
                                  0.5,
                                  0.75,
                                  1.0,
                                  1.5,
                                  2.5,
                                  3.5,
                                  126.5,
                                  127.5,
                                  128.0,
                                  255.5,
                                  256.0,
                                  32767.5,
                                  32768.0,
                                  65504.0,
                                  65519.0,
                                  65520.0,
                                  65535.5,
                                  2147483647.5,
                                  2147483648.0,
                                  4294967295.5,
                                  4294967296.0,
                                  9.2233720368547758e18,
                                  1.8446744073709552e19,
                                  3.3895313892515355e38,
                                  3.4028235677973366e38,
                                  1e300,
                                  6e-8,
                                  2.98e-8,
                                  5.96e-8,
                                  1e-40,
                                  1.17549435e-38,
                                  1e-45,
                                  7e-46};
  for (size_t k = 0; k < sizeof values / 8; k++) {
    uint64_t bits;
    memcpy(&bits, &values[k], 8);
    bits = exact_round(exact_of(bits, F64), *from->f, RN);
    edge(bits);
    if (n_edges < 56 && k % 2) edge(bits | (uint64_t)1 << (from->bits - 1));
  }
  edge(exact_round((exact){.inf = 1}, *from->f, RN));
  edge(exact_round((exact){.inf = 1, .neg = 1}, *from->f, RN));
  edge(exact_round(exact_nan(), *from->f, RN));
}

static void check(const char *mode_name) {
  char name[80], signature[8];
  snprintf(name, sizeof name, "cvt%s%s%s%s.%s.%s", mode_name, ftz ? ".ftz" : "", sat ? ".sat" : "", relu ? ".relu" : "",
           to->name, from->name);
  snprintf(signature, sizeof signature, "%c:%c", to->letter, from->letter);
  make_edges();
  arguments g = arguments_make(signature + 2, (const uint64_t *[]){edges}, (const size_t[]){n_edges}, 31);
  operation_check(name, signature, NULL, &g, convert);
  arguments_free(&g);
}

static const char *const directed[] = {".rn", ".rz", ".rm", ".rp"}, *const to_whole[] = {".rni", ".rzi", ".rmi", ".rpi"};
static int digits(const type *t) {
  return t->f->digits;
}

static void all_pairs(void **state) {
  (void)state;
  int n = 0;
  for (int t = 0; t < N_TYPES; t++)
    for (int s = 0; s < N_TYPES; s++) {
      to = &types[t];
      from = &types[s];
      const int narrower =
          to->is_float && from->is_float && t != s &&
          (digits(to) < digits(from) || (to->f == &BF16 && from->f == &F16) || (to->f == &F16 && from->f == &BF16));
      for (ftz = 0; ftz < (from->f == &F32 || to->f == &F32 ? 2 : 1); ftz++)
        for (sat = 0; sat < 2; sat++)
          for (rounding = RN; rounding <= RP; rounding++) {
            if (ftz && !from->is_float) continue;
            integral = from->is_float && !to->is_float;
            if (!to->is_float && !from->is_float) {
              if (rounding == RN && !ftz) check(""), n++;
            } else if (integral) {
              check(to_whole[rounding]), n++;
            } else if (!from->is_float || narrower) {
              check(directed[rounding]), n++;
            } else if (t == s) {
              integral = 1;
              check(to_whole[rounding]), n++;
            } else if (rounding == RN) {
              check(""), n++;
            }
          }
    }
  ftz = sat = integral = 0;
  assert_true(n > 400);
}

/* Pairs, relu, satfinite, tf32. */
static uint64_t pair_of(const uint64_t *a) {
  return convert(a + 1) | convert(a) << 16;
}
static int tf32_nearest;
static uint64_t tf32(const uint64_t *a) {
  const exact x = exact_of(a[0], F32);
  if (x.nan) return 0x7FFFFFFF;
  if (x.inf) return a[0];
  const uint64_t m = a[0] & 0x7FFFFFFF, low = m & 0x1FFF, kept = m & ~(uint64_t)0x1FFF, sign = a[0] & 0x80000000;
  if (tf32_nearest == 0) return sign | (low >= 0x1000 ? kept + 0x2000 : kept); /* ties away */
  if (tf32_nearest == 1) return sign | (low > 0x1000 || (low == 0x1000 && (kept & 0x2000)) ? kept + 0x2000 : kept);
  return sign | kept;
}
static void narrow_forms(void **state) {
  (void)state;
  from = &types[10];
  integral = 0;
  make_edges();
  static const struct {
    const char *name;
    int to;
    mode how;
    int relu;
  } forms[] = {{"cvt.rn.f16x2.f32", 8, RN, 0},  {"cvt.rz.f16x2.f32", 8, RZ, 0},  {"cvt.rn.relu.f16x2.f32", 8, RN, 1},
               {"cvt.rn.bf16x2.f32", 9, RN, 0}, {"cvt.rz.bf16x2.f32", 9, RZ, 0}, {"cvt.rn.relu.bf16x2.f32", 9, RN, 1}};
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    to = &types[forms[k].to];
    rounding = forms[k].how;
    relu = forms[k].relu;
    arguments g = arguments_make("ff", (const uint64_t *[]){edges, edges}, (const size_t[]){n_edges, n_edges}, 41);
    operation_check(forms[k].name, "w:ff", NULL, &g, pair_of);
    arguments_free(&g);
  }
  to = &types[8], rounding = RN, relu = 1;
  check(".rn");
  to = &types[9];
  check(".rn");
  relu = 0;
  static const char *const names[] = {"cvt.rna.tf32.f32", "cvt.rn.tf32.f32", "cvt.rz.tf32.f32"};
  for (tf32_nearest = 0; tf32_nearest < 3; tf32_nearest++) {
    arguments g = arguments_make("f", (const uint64_t *[]){edges}, (const size_t[]){n_edges}, 43);
    operation_check(names[tf32_nearest], "w:f", NULL, &g, tf32);
    arguments_free(&g);
  }
}

/* Registers wider than the types on either side: the source is cut, the result is extended as its type says. */
static void wide_registers(void **state) {
  (void)state;
  lab x;
  lab_open(&x);
  lab_load(
      &x,
      ".visible .entry k(.param .u64 p0)\n{\n.reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<20>;\nld.param.u64 %d1, "
      "[p0];\nmov.u64 %d2, 0xFFFFFFFFFFFF81F2;\nmov.u32 %r1, 0xABCD81F2;\n"
      "cvt.s32.s8 %d3, %d2;\nst.global.u64 [%d1], %d3;\ncvt.u32.s8 %d3, %d2;\nst.global.u64 [%d1+8], %d3;\ncvt.u16.u32 %r2, "
      "%r1;\ncvt.u64.u32 %d4, %r2;\nst.global.u64 [%d1+16], %d4;\n"
      "cvt.s16.s32 %r2, %r1;\ncvt.u64.u32 %d4, %r2;\nst.global.u64 [%d1+24], %d4;\ncvt.u8.u32 %h1, %r1;\ncvt.u64.u16 %d4, "
      "%h1;\nst.global.u64 [%d1+32], %d4;\ncvt.s8.u64 %h1, %d2;\ncvt.u64.u16 %d4, %h1;\n"
      "st.global.u64 [%d1+40], %d4;\ncvt.rn.f32.s16 %r3, %d2;\ncvt.u64.u32 %d4, %r3;\nst.global.u64 [%d1+48], %d4;\nret;\n}\n");
  const uint64_t at = lab_buffer(&x, 56);
  uint64_t got[7];
  x.block = 1;
  LAB_RUN(&x, "k", at);
  lab_download(&x, got, at, 56);
  const uint64_t wanted[7] = {0xFFFFFFFFFFFFFFF2, 0x00000000FFFFFFF2, 0x81F2, 0xFFFF81F2, 0xF2, 0xFFF2, 0xC6FC1C00};
  for (int k = 0; k < 7; k++) assert_int_equal(got[k], wanted[k]);
  lab_close(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs), cmocka_unit_test(narrow_forms),
                                     cmocka_unit_test(wide_registers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
