/* test_float.c -- f32 and f64: arithmetic in every rounding, flushing and saturation; orders; signs; comparisons. */
#include "arithmetic.h"
#include "exact.h"

static const uint64_t edges32[] = {
    0,          0x80000000, 1,          0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x00800001, 0x3F800000,
    0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x40000000, 0x3F000000, 0x34000000, 0x33800000, 0xB3800001, 0x7F7FFFFF, 0xFF7FFFFF,
    0x7F000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x40490FDB, 0x4B800000, 0x4B800001};
static const uint64_t edges64[] = {0,
                                   0x8000000000000000,
                                   1,
                                   0x800FFFFFFFFFFFFF,
                                   0x0010000000000000,
                                   0x8010000000000001,
                                   0x3FF0000000000000,
                                   0xBFF0000000000000,
                                   0x3FF0000000000001,
                                   0x3FEFFFFFFFFFFFFF,
                                   0x4000000000000000,
                                   0x3CA0000000000000,
                                   0xBCA0000000000001,
                                   0x7FEFFFFFFFFFFFFF,
                                   0xFFEFFFFFFFFFFFFF,
                                   0x7FF0000000000000,
                                   0xFFF0000000000000,
                                   0x7FF8000000000000,
                                   0xFFF0000000000001,
                                   0x400921FB54442D18,
                                   0x4340000000000001};

static format now;
static mode rounding;
static int ftz, sat;

static uint64_t sign_of(uint64_t bits) {
  return now.digits == 24 ? bits & 0x80000000 : bits & (uint64_t)1 << 63;
}
static uint64_t flushed(uint64_t bits) {
  const exact x = exact_of(bits, now);
  const uint64_t rest = bits & ~sign_of(~(uint64_t)0);
  return ftz && !x.nan && rest < 0x00800000 && now.digits == 24 ? sign_of(bits) : bits;
}
static exact in(uint64_t bits) {
  return exact_of(flushed(bits), now);
}
static uint64_t out(exact x) {
  uint64_t bits = flushed(exact_round(x, now, rounding));
  if (sat) {
    if (x.nan || sign_of(bits)) return 0;
    if (bits > 0x3F800000) return 0x3F800000;
  }
  return bits;
}

#define R(name, expr)                       \
  static uint64_t name(const uint64_t *a) { \
    return expr;                            \
  }
static exact minus(exact x) {
  x.neg ^= 1;
  return x;
}
static exact one(void) {
  return (exact){.m = 1};
}
R(add, out(exact_add(in(a[0]), in(a[1]), rounding)))
R(sub, out(exact_add(in(a[0]), minus(in(a[1])), rounding)))
R(mul, out(exact_mul(in(a[0]), in(a[1]))))
R(fma_, out(exact_add(exact_mul(in(a[0]), in(a[1])), in(a[2]), rounding)))
R(div_, out(exact_div(in(a[0]), in(a[1]))))
R(rcp, out(exact_div(one(), in(a[0]))))
R(sqrt_, out(exact_sqrt(in(a[0]))))

static arguments args_for(const char *signature) {
  const int is64 = signature[0] == 'g' || signature[2] == 'g';
  const uint64_t *const e = is64 ? edges64 : edges32;
  const size_t n = is64 ? sizeof edges64 / 8 : sizeof edges32 / 8;
  const uint64_t *es[4] = {e, e, e, e};
  const size_t ns[4] = {n, n, n, n};
  return arguments_make(strchr(signature, ':') + 1, es, ns, 11);
}

/* f64 NaN may hold any payload. */
static void check(const char *instruction, const char *signature, reference f) {
  arguments g = args_for(signature);
  if (signature[0] != 'g') {
    operation_check(instruction, signature, NULL, &g, f);
  } else {
    uint64_t *got = malloc(g.n * 8);
    operation_run(instruction, signature, NULL, g.a, g.n, got, 1);
    for (size_t i = 0; i < g.n; i++) {
      uint64_t a[4] = {0};
      for (size_t s = 0; signature[2 + s]; s++) a[s] = g.a[s][i];
      const uint64_t wanted = f(a);
      if (got[i] != wanted && !(exact_of(wanted, F64).nan && exact_of(got[i], F64).nan))
        fail_msg("%s of 0x%llx 0x%llx 0x%llx is 0x%llx, not 0x%llx", instruction, (unsigned long long)a[0],
                 (unsigned long long)a[1], (unsigned long long)a[2], (unsigned long long)wanted, (unsigned long long)got[i]);
    }
    free(got);
  }
  arguments_free(&g);
}

static const struct {
  const char *op, *signature32, *signature64;
  reference f;
  int plain; /* it may stand without a rounding */
} arithmetic[] = {{"add", "f:ff", "g:gg", add, 1},    {"sub", "f:ff", "g:gg", sub, 1},    {"mul", "f:ff", "g:gg", mul, 1},
                  {"fma", "f:fff", "g:ggg", fma_, 0}, {"mad", "f:fff", "g:ggg", fma_, 0}, {"div", "f:ff", "g:gg", div_, 0},
                  {"rcp", "f:f", "g:g", rcp, 0},      {"sqrt", "f:f", "g:g", sqrt_, 0}};
enum { N_ARITHMETIC = sizeof arithmetic / sizeof *arithmetic };
static const char *const modes[] = {".rn", ".rz", ".rm", ".rp"};

static void roundings(void **state) {
  (void)state;
  char name[64];
  ftz = sat = 0;
  for (int k = 0; k < N_ARITHMETIC; k++)
    for (rounding = RN; rounding <= RP; rounding++) {
      now = F32;
      snprintf(name, sizeof name, "%s%s.f32", arithmetic[k].op, modes[rounding]);
      check(name, arithmetic[k].signature32, arithmetic[k].f);
      if (strcmp(arithmetic[k].op, "mad") == 0 && rounding != RN) continue;
      now = F64;
      snprintf(name, sizeof name, "%s%s.f64", arithmetic[k].op, modes[rounding]);
      check(name, arithmetic[k].signature64, arithmetic[k].f);
    }
}

static void flushes_and_saturations(void **state) {
  (void)state;
  char name[64];
  now = F32;
  rounding = RN;
  for (int k = 0; k < N_ARITHMETIC; k++)
    for (ftz = 0; ftz < 2; ftz++)
      for (sat = 0; sat < (k < 5 ? 2 : 1); sat++)
        for (int plain = 0; plain <= arithmetic[k].plain; plain++) {
          snprintf(name, sizeof name, "%s%s%s%s.f32", arithmetic[k].op, plain ? "" : ".rn", ftz ? ".ftz" : "",
                   sat ? ".sat" : "");
          check(name, arithmetic[k].signature32, arithmetic[k].f);
        }
  ftz = sat = 0;
  now = F64;
  for (int k = 0; k < 3; k++) {
    snprintf(name, sizeof name, "%s.f64", arithmetic[k].op);
    check(name, arithmetic[k].signature64, arithmetic[k].f);
  }
}

/* ---- orders and signs
 * ------------------------------------------------------------------------------------------------------------------- */

static int most, nan_wins, xor_sign;
static int less(exact a, exact b) { /* of numbers; -0 before +0 */
  if (a.neg != b.neg) return a.neg;
  if (a.inf != b.inf) return a.inf ? a.neg : !b.neg;
  const exact d = exact_add(a, minus(b), RN);
  if (d.m == 0) return 0;
  return d.neg;
}
static uint64_t order(const uint64_t *a) {
  uint64_t x = flushed(a[0]), y = flushed(a[1]);
  const uint64_t nan = exact_round(exact_nan(), now, RN), top = sign_of(~(uint64_t)0), s = (a[0] ^ a[1]) & top;
  if (xor_sign) x &= ~top, y &= ~top;
  const exact p = exact_of(x, now), q = exact_of(y, now);
  uint64_t r;
  if (p.nan && q.nan) return xor_sign && !nan_wins ? (nan & ~top) | s : nan;
  if (p.nan || q.nan) {
    if (nan_wins) return nan;
    r = p.nan ? y : x;
  } else {
    r = less(p, q) != most ? x : y;
  }
  return xor_sign ? (r & ~top) | s : r;
}
static void orders(void **state) {
  (void)state;
  char name[64];
  now = F32;
  for (most = 0; most < 2; most++) {
    const char *op = most ? "max" : "min";
    for (nan_wins = 0; nan_wins < 2; nan_wins++) {
      xor_sign = 0;
      for (ftz = 0; ftz < 2; ftz++) {
        snprintf(name, sizeof name, "%s%s%s.f32", op, ftz ? ".ftz" : "", nan_wins ? ".NaN" : "");
        check(name, "f:ff", order);
      }
      ftz = 0;
      xor_sign = 1;
      snprintf(name, sizeof name, "%s%s.xorsign.abs.f32", op, nan_wins ? ".NaN" : "");
      check(name, "f:ff", order);
    }
  }
  xor_sign = nan_wins = 0;
  now = F64;
  for (most = 0; most < 2; most++) check(most ? "max.f64" : "min.f64", "g:gg", order);
}

R(negated, flushed(a[0]) ^ sign_of(~(uint64_t)0))
R(absolute, flushed(a[0]) & ~sign_of(~(uint64_t)0))
R(copied, sign_of(a[0]) | (a[1] & ~sign_of(~(uint64_t)0)))
static void signs(void **state) {
  (void)state;
  now = F32;
  for (ftz = 0; ftz < 2; ftz++) {
    check(ftz ? "neg.ftz.f32" : "neg.f32", "f:f", negated);
    check(ftz ? "abs.ftz.f32" : "abs.f32", "f:f", absolute);
  }
  ftz = 0;
  check("copysign.f32", "f:ff", copied);
  now = F64;
  check("neg.f64", "g:g", negated);
  check("abs.f64", "g:g", absolute);
  check("copysign.f64", "g:gg", copied);
}

/* ---- comparisons and classes
 * -------------------------------------------------------------------------------------------------------------- */

static int how;
static uint64_t compare(const uint64_t *a) {
  exact x = in(a[0]), y = in(a[1]);
  const int nan = x.nan || y.nan;
  int lt = 0, gt = 0;
  if (!nan) {
    if (!x.inf && !x.m) x.neg = 0;
    if (!y.inf && !y.m) y.neg = 0;
    lt = less(x, y);
    gt = less(y, x);
  }
  const int eq = !nan && !lt && !gt, r[] = {eq, lt || gt, lt, lt || eq, gt, gt || eq};
  if (how < 6) return (uint64_t)r[how];
  if (how < 12) return (uint64_t)(r[how - 6] || nan);
  return (uint64_t)(how == 12 ? !nan : nan);
}
static const char *const comparisons_of[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                             "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
static void comparisons(void **state) {
  (void)state;
  char name[64];
  for (how = 0; how < 14; how++) {
    now = F32;
    for (ftz = 0; ftz < 2; ftz++) {
      snprintf(name, sizeof name, "setp.%s%s.f32", comparisons_of[how], ftz ? ".ftz" : "");
      check(name, "p:ff", compare);
    }
    ftz = 0;
    now = F64;
    snprintf(name, sizeof name, "setp.%s.f64", comparisons_of[how]);
    check(name, "p:gg", compare);
  }
}

static int class;
static uint64_t classify(const uint64_t *a) {
  const exact x = exact_of(a[0], now);
  const int finite = !x.nan && !x.inf, sub = finite && x.m && top_of(x.m) < now.digits - 1;
  const int r[] = {finite, x.inf, !x.nan, x.nan, finite && x.m && !sub, sub};
  return (uint64_t)r[class];
}
static void classes(void **state) {
  (void)state;
  static const char *const names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  char name[64];
  for (class = 0; class < 6; class ++) {
    now = F32;
    snprintf(name, sizeof name, "testp.%s.f32", names[class]);
    check(name, "p:f", classify);
    now = F64;
    snprintf(name, sizeof name, "testp.%s.f64", names[class]);
    check(name, "p:g", classify);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(roundings),   cmocka_unit_test(flushes_and_saturations),
                                     cmocka_unit_test(orders),      cmocka_unit_test(signs),
                                     cmocka_unit_test(comparisons), cmocka_unit_test(classes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
