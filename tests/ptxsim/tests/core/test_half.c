/* test_half.c -- f16 and bf16, alone and in pairs: arithmetic, fused multiply-adds, orders, comparisons. */
#include "arithmetic.h"
#include "exact.h"

static const uint64_t edges_f16[] = {0,      0x8000, 1,      0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x0401, 0x3C00,
                                     0xBC00, 0x3C01, 0x3BFF, 0x4000, 0x3800, 0x1000, 0x0C00, 0x8C01, 0x7BFF, 0xFBFF,
                                     0x7800, 0x7C00, 0xFC00, 0x7E00, 0xFE12, 0x7C01, 0x6400, 0x6401, 0x6800, 0x1400};
static const uint64_t edges_bf16[] = {0,      0x8000, 1,      0x8001, 0x007F, 0x807F, 0x0080, 0x8080, 0x0081, 0x3F80, 0xBF80,
                                      0x3F81, 0x3F7F, 0x4000, 0x3F00, 0x3C00, 0x3B80, 0xBB81, 0x7F7F, 0xFF7F, 0x7F00, 0x7F80,
                                      0xFF80, 0x7FC0, 0xFFC1, 0x7F81, 0x4380, 0x4381, 0x1000, 0x9001, 0x2180};

static format now;
static int ftz, sat, relu;

static uint64_t flushed(uint64_t h) {
  return ftz && (h & 0x7FFF) < 0x0400 ? h & 0x8000 : h;
}
static exact in(uint64_t h) {
  return exact_of(flushed(h), now);
}
static uint64_t out(exact x) {
  uint64_t h = exact_round(x, now, RN);
  if (sat) {
    if (x.nan || h & 0x8000)
      h = 0;
    else if (h > 0x3C00)
      h = 0x3C00;
  }
  if (relu && !x.nan && h & 0x8000) h = 0;
  return flushed(h);
}
#define R(name, expr)                                                                                                   \
  static uint64_t one_##name(const uint64_t *a) {                                                                       \
    return expr;                                                                                                        \
  }                                                                                                                     \
  static uint64_t two_##name(const uint64_t *a) {                                                                       \
    const uint64_t lo[3] = {a[0] & 0xFFFF, a[1] & 0xFFFF, a[2] & 0xFFFF}, hi[3] = {a[0] >> 16, a[1] >> 16, a[2] >> 16}; \
    return one_##name(lo) | one_##name(hi) << 16;                                                                       \
  }
static exact minus(exact x) {
  x.neg ^= 1;
  return x;
}
R(add, out(exact_add(in(a[0]), in(a[1]), RN)))
R(sub, out(exact_add(in(a[0]), minus(in(a[1])), RN)))
R(mul, out(exact_mul(in(a[0]), in(a[1]))))
R(fma, out(exact_add(exact_mul(in(a[0]), in(a[1])), in(a[2]), RN)))
R(neg, flushed(a[0]) ^ 0x8000)
R(abs, flushed(a[0]) & 0x7FFF)

/* Pairs take edge values in both halves. */
static void check(const char *op, const char *type, int n_src, reference one, reference two) {
  const int bf = type[0] == 'b';
  const uint64_t *e = bf ? edges_bf16 : edges_f16;
  const size_t n = bf ? sizeof edges_bf16 / 8 : sizeof edges_f16 / 8;
  const uint64_t *es[4] = {e, e, e, e};
  const size_t ns[4] = {n, n, n, n};
  char name[128], signature[8] = "h:";
  now = bf ? BF16 : F16;
  for (int k = 0; k < n_src; k++) strcat(signature, "h");
  snprintf(name, sizeof name, "%s.%s", op, type);
  arguments g = arguments_make(signature + 2, es, ns, 21), h = arguments_make(signature + 2, es, ns, 22);
  operation_check(name, signature, NULL, &g, one);
  snprintf(name, sizeof name, "%s.%sx2", op, type);
  for (int k = 0; k < n_src; k++)
    for (size_t i = 0; i < g.n; i++) g.a[k][i] |= h.a[k][(i * 7 + 3) % g.n] << 16;
  for (char *p = signature; *p; p++)
    if (*p == 'h') *p = 'w';
  operation_check(name, signature, NULL, &g, two);
  arguments_free(&g);
  arguments_free(&h);
}

static void arithmetic(void **state) {
  (void)state;
  static const struct {
    const char *op;
    reference one, two;
  } ops[] = {{"add", one_add, two_add}, {"sub", one_sub, two_sub}, {"mul", one_mul, two_mul}};
  char name[64];
  for (int k = 0; k < 3; k++)
    for (int rn = 0; rn < 2; rn++) {
      for (ftz = 0; ftz < 2; ftz++)
        for (sat = 0; sat < 2; sat++) {
          snprintf(name, sizeof name, "%s%s%s%s", ops[k].op, rn ? ".rn" : "", ftz ? ".ftz" : "", sat ? ".sat" : "");
          check(name, "f16", 2, ops[k].one, ops[k].two);
        }
      ftz = sat = 0;
      snprintf(name, sizeof name, "%s%s", ops[k].op, rn ? ".rn" : "");
      check(name, "bf16", 2, ops[k].one, ops[k].two);
    }
}

static void fused(void **state) {
  (void)state;
  char name[64];
  for (ftz = 0; ftz < 2; ftz++)
    for (int after = 0; after < 3; after++) {
      sat = after == 1;
      relu = after == 2;
      snprintf(name, sizeof name, "fma.rn%s%s", ftz ? ".ftz" : "", sat ? ".sat" : relu ? ".relu" : "");
      check(name, "f16", 3, one_fma, two_fma);
      if (!ftz && !sat) check(name, "bf16", 3, one_fma, two_fma);
    }
  ftz = sat = relu = 0;
}

static void signs(void **state) {
  (void)state;
  check("neg", "f16", 1, one_neg, two_neg), check("neg", "bf16", 1, one_neg, two_neg);
  check("abs", "f16", 1, one_abs, two_abs), check("abs", "bf16", 1, one_abs, two_abs);
  ftz = 1;
  check("neg.ftz", "f16", 1, one_neg, two_neg), check("abs.ftz", "f16", 1, one_abs, two_abs);
  ftz = 0;
}

static int most, nan_wins, xor_sign;
static int less(exact a, exact b) {
  if (a.neg != b.neg) return a.neg;
  if (a.inf != b.inf) return a.inf ? a.neg : !b.neg;
  const exact d = exact_add(a, minus(b), RN);
  return d.m != 0 && d.neg;
}
static uint64_t pick(uint64_t x, uint64_t y) {
  const uint64_t s = (x ^ y) & 0x8000;
  x = flushed(x), y = flushed(y);
  if (xor_sign) x &= 0x7FFF, y &= 0x7FFF;
  const exact p = exact_of(x, now), q = exact_of(y, now);
  uint64_t r;
  if (p.nan && q.nan)
    r = 0x7FFF;
  else if (p.nan || q.nan)
    r = nan_wins ? 0x7FFF : p.nan ? y : x;
  else
    r = less(p, q) != most ? x : y;
  return xor_sign ? (r & 0x7FFF) | s : r;
}
R(order, pick(a[0], a[1]))
static void orders(void **state) {
  (void)state;
  char name[64];
  for (most = 0; most < 2; most++) {
    const char *op = most ? "max" : "min";
    for (nan_wins = 0; nan_wins < 2; nan_wins++) {
      for (ftz = 0; ftz < 2; ftz++) {
        snprintf(name, sizeof name, "%s%s%s", op, ftz ? ".ftz" : "", nan_wins ? ".NaN" : "");
        check(name, "f16", 2, one_order, two_order);
        if (!ftz) check(name, "bf16", 2, one_order, two_order);
      }
      ftz = 0;
    }
    nan_wins = 0;
    xor_sign = 1;
    snprintf(name, sizeof name, "%s.xorsign.abs", op);
    check(name, "f16", 2, one_order, two_order);
    check(name, "bf16", 2, one_order, two_order);
    xor_sign = 0;
  }
}

static int how;
static uint64_t compare(const uint64_t *a) {
  exact x = in(a[0]), y = in(a[1]);
  const int nan = x.nan || y.nan;
  if (!x.inf && !x.m) x.neg = 0;
  if (!y.inf && !y.m) y.neg = 0;
  const int lt = !nan && less(x, y), gt = !nan && less(y, x), eq = !nan && !lt && !gt;
  const int r[] = {eq, lt || gt, lt, lt || eq, gt, gt || eq};
  if (how < 6) return (uint64_t)r[how];
  if (how < 12) return (uint64_t)(r[how - 6] || nan);
  return (uint64_t)(how == 12 ? !nan : nan);
}
static void comparisons(void **state) {
  (void)state;
  static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                      "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  char name[64];
  for (int bf = 0; bf < 2; bf++)
    for (how = 0; how < 14; how++)
      for (ftz = 0; ftz < 2 - bf; ftz++) {
        const uint64_t *e = bf ? edges_bf16 : edges_f16;
        const size_t n = bf ? sizeof edges_bf16 / 8 : sizeof edges_f16 / 8;
        now = bf ? BF16 : F16;
        snprintf(name, sizeof name, "setp.%s%s.%s", names[how], ftz ? ".ftz" : "", bf ? "bf16" : "f16");
        arguments g = arguments_make("hh", (const uint64_t *[]){e, e}, (const size_t[]){n, n}, 5);
        operation_check(name, "p:hh", NULL, &g, compare);
        arguments_free(&g);
      }
  ftz = 0;
}

/* setp of pairs gives a predicate for each half. */
static void pairs(void **state) {
  (void)state;
  lab x;
  lab_open(&x);
  lab_load(&x, ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<2>;\nld.param.u64 %d1, "
               "[p0];\nmov.b32 %r1, 0x3C004000;\nmov.b32 %r2, 0x3C003C00;\n"
               "setp.gt.f16x2 %p1|%p2, %r1, %r2;\nselp.u32 %r3, 1, 0, %p1;\nselp.u32 %r4, 2, 0, %p2;\nor.b32 %r3, %r3, "
               "%r4;\nst.global.u32 [%d1], %r3;\nret;\n}\n");
  const uint64_t to = lab_buffer(&x, 4);
  uint32_t got;
  x.block = 1;
  LAB_RUN(&x, "k", to);
  lab_download(&x, &got, to, 4);
  assert_int_equal(got, 1);
  lab_close(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arithmetic), cmocka_unit_test(fused),       cmocka_unit_test(signs),
                                     cmocka_unit_test(orders),     cmocka_unit_test(comparisons), cmocka_unit_test(pairs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
