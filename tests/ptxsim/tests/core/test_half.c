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
static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
static void comparisons(void **state) {
  (void)state;
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

/* set: what it gives where the comparison holds; with a third source, combined with that predicate. */
static uint64_t given;
static int combined; /* 0 and, 1 or, 2 xor; -1 not at all */
static uint64_t combine(uint64_t holds, uint64_t with) {
  return combined < 0 ? holds : combined == 0 ? (holds & with) : combined == 1 ? (holds | with) : holds ^ with;
}
static uint64_t lower(const uint64_t *a) {
  return combine(compare((const uint64_t[]){a[0] & 0xFFFF, a[1] & 0xFFFF}), a[2]);
}
static uint64_t upper(const uint64_t *a) {
  return combine(compare((const uint64_t[]){a[0] >> 16, a[1] >> 16}), a[2]);
}
static uint64_t set_one(const uint64_t *a) {
  return combine(compare(a), a[2]) ? given : 0;
}
static uint64_t set_two(const uint64_t *a) {
  return (lower(a) ? given : 0) | (upper(a) ? given << 16 : 0);
}
static uint64_t set_some(const uint64_t *a) { /* where the predicate is not, the second source is left as it was */
  return a[2] ? set_two((const uint64_t[]){a[0], a[1], 0}) : a[1];
}
static uint64_t two_predicates(const uint64_t *a) {
  return lower(a) | upper(a) << 1;
}
static uint64_t two_negated(const uint64_t *a) {
  return two_predicates((const uint64_t[]){a[0], a[1], !a[2]});
}
static uint64_t guard_among_them(const uint64_t *a) {
  return a[2] ? two_predicates((const uint64_t[]){a[0], a[1], 0}) : 0;
}

/* Edge values in both halves, and a predicate. */
static arguments pairs_make(int bf) {
  static const uint64_t bits[] = {0, 1};
  const uint64_t *e = bf ? edges_bf16 : edges_f16;
  const size_t n = bf ? sizeof edges_bf16 / 8 : sizeof edges_f16 / 8;
  const uint64_t *es[3] = {e, e, bits};
  const size_t ns[3] = {n, n, 2};
  arguments g = arguments_make("hhp", es, ns, 5), h = arguments_make("hhp", es, ns, 6);
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < g.n; i++) g.a[k][i] |= h.a[k][(i * 11 + 5) % g.n] << 16;
  arguments_free(&h);
  return g;
}

static void pair_sets(void **state) {
  (void)state;
  static const char *const with[] = {".and", ".or", ".xor", ""};
  char name[64], suffix[64];
  for (int bf = 0; bf < 2; bf++) {
    const char *type = bf ? "bf16x2" : "f16x2";
    const char *const results[] = {type, "u32", "s32"};
    arguments g = pairs_make(bf);
    now = bf ? BF16 : F16;
    for (how = 0; how < 14; how++)
      for (ftz = 0; ftz < 2 - bf; ftz++)
        for (int r = 0; r < 3; r++) {
          given = r ? 0xFFFF : bf ? 0x3F80 : 0x3C00;
          for (int k = 0; k < 4; k++) { /* a combination is one of three results' */
            if (k < 3 && k != (how + r) % 3) continue;
            combined = k < 3 ? k : -1;
            snprintf(name, sizeof name, "set.%s%s%s.%s.%s", names[how], with[k], ftz ? ".ftz" : "", results[r], type);
            operation_check(name, k < 3 ? "w:wwp" : "w:ww", NULL, &g, set_two);
          }
          combined = -1;
          snprintf(suffix, sizeof suffix, "; @%%p12 set.%s%s.%s.%s %%w1, %%w10, %%w11", names[how], ftz ? ".ftz" : "",
                   results[r], type);
          if (r == how % 3) operation_check("selp.b32", "w:wwp", suffix, &g, set_some);
        }
    arguments_free(&g);
  }
  ftz = 0;
}

/* A half's comparison as each type that set gives; and f32's as halves. */
static void single_sets(void **state) {
  (void)state;
  static const struct {
    const char *to, *from, *signature;
    uint64_t given;
  } all[] = {{"f16", "f16", "h:hh", 0x3C00},      {"bf16", "f16", "h:hh", 0x3F80},     {"u16", "f16", "h:hh", 0xFFFF},
             {"s16", "f16", "h:hh", 0xFFFF},      {"u32", "f16", "w:hh", 0xFFFFFFFF},  {"s32", "f16", "w:hh", 0xFFFFFFFF},
             {"bf16", "bf16", "h:hh", 0x3F80},    {"u16", "bf16", "h:hh", 0xFFFF},     {"s16", "bf16", "h:hh", 0xFFFF},
             {"u32", "bf16", "w:hh", 0xFFFFFFFF}, {"s32", "bf16", "w:hh", 0xFFFFFFFF}, {"f16", "f32", "h:ff", 0x3C00},
             {"bf16", "f32", "h:ff", 0x3F80},     {"f32", "f32", "w:ff", 0x3F800000}};
  static const uint64_t edges_f32[] = {0,          0x80000000, 1,          0x80000001, 0x007FFFFF, 0x00800000,
                                       0x3F800000, 0x3F800001, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                                       0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001};
  char name[64];
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    const int bf = all[k].from[0] == 'b', wide = all[k].from[1] == '3';
    const uint64_t *e = wide ? edges_f32 : bf ? edges_bf16 : edges_f16;
    const size_t n = wide ? sizeof edges_f32 / 8 : bf ? sizeof edges_bf16 / 8 : sizeof edges_f16 / 8;
    arguments g = arguments_make(all[k].signature + 2, (const uint64_t *[]){e, e}, (const size_t[]){n, n}, 15);
    now = wide ? F32 : bf ? BF16 : F16;
    given = all[k].given;
    combined = -1;
    for (how = 0; how < 14; how++)
      for (ftz = 0; ftz < 2 - (bf || wide); ftz++) {
        snprintf(name, sizeof name, "set.%s%s.%s.%s", names[how], ftz ? ".ftz" : "", all[k].to, all[k].from);
        operation_check(name, all[k].signature, NULL, &g, set_one);
      }
    arguments_free(&g);
  }
  ftz = 0;
}

/* setp of pairs gives a predicate for each half: alone, combined, and where the guard is one of them. */
#define BOTH "; selp.u32 %%w2, 1, 0, %%p1; selp.u32 %%w3, 2, 0, %%p2; or.b32 %%w1, %%w2, %%w3"
static void pairs(void **state) {
  (void)state;
  static const char *const with[] = {"and", "or", "xor"};
  char suffix[256];
  for (int bf = 0; bf < 2; bf++) {
    const char *type = bf ? "bf16x2" : "f16x2";
    arguments g = pairs_make(bf);
    now = bf ? BF16 : F16;
    for (how = 0; how < 14; how++)
      for (ftz = 0; ftz < 2 - bf; ftz++) {
        const char *flush = ftz ? ".ftz" : "";
        combined = -1;
        snprintf(suffix, sizeof suffix, "; setp.%s%s.%s %%p1|%%p2, %%w10, %%w11" BOTH, names[how], flush, type);
        operation_check("and.b32", "w:ww", suffix, &g, two_predicates);
        snprintf(suffix, sizeof suffix,
                 "; mov.pred %%p1, %%p12; mov.pred %%p2, %%p12; @%%p%d setp.%s%s.%s %%p1|%%p2, %%w10, %%w11" BOTH, 1 + how % 2,
                 names[how], flush, type);
        operation_check("selp.b32", "w:wwp", suffix, &g, guard_among_them);
        combined = how % 3;
        snprintf(suffix, sizeof suffix, "; mov.pred %%p1, %%p12; setp.%s.%s%s.%s %%p1|%%p2, %%w10, %%w11, %s%%p1" BOTH,
                 names[how], with[combined], flush, type, how & 1 ? "!" : "");
        operation_check("selp.b32", "w:wwp", suffix, &g, how & 1 ? two_negated : two_predicates);
      }
    arguments_free(&g);
  }
  ftz = 0;
}

/* A half that nobody wrote leaves the other half's result alone. */
static void undefined_halves(void **state) {
  (void)state;
  static const struct {
    const char *body;
    sim_fault_kind kind;
  } all[] = {
      {"set.eq.u32.f16x2 %r2, %r1, %r1; mov.b32 {%h3, _}, %r2;", SIM_FAULT_NONE},
      {"set.eq.u32.f16x2 %r2, %r1, %r1; mov.b32 {_, %h3}, %r2;", SIM_FAULT_UNDEFINED_STORE},
      {"set.eq.bf16x2.bf16x2 %r2, %r1, %r1; mov.b32 {%h3, _}, %r2;", SIM_FAULT_NONE},
      {"set.eq.bf16x2.bf16x2 %r2, %r1, %r1; mov.b32 {_, %h3}, %r2;", SIM_FAULT_UNDEFINED_STORE},
      {"setp.eq.f16x2 %p1|%p2, %r1, %r1; selp.b16 %h3, 1, 2, %p1;", SIM_FAULT_NONE},
      {"setp.eq.f16x2 %p1|%p2, %r1, %r1; selp.b16 %h3, 1, 2, %p2;", SIM_FAULT_UNDEFINED_STORE},
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    char text[1024];
    lab x;
    lab_open(&x);
    snprintf(text, sizeof text,
             ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %%p<4>; .reg .b16 %%h<4>; .reg .b32 %%r<4>; .reg .b64 "
             "%%d<2>;\nld.param.u64 %%d1, [p0];\nmov.b16 %%h1, 0x3C00;\nmov.b32 %%r1, {%%h1, %%h2};\n%s\nst.global.b16 [%%d1], "
             "%%h3;\nret;\n}\n",
             all[k].body);
    lab_load(&x, text);
    const uint64_t to = lab_buffer(&x, 4);
    x.block = 1;
    const sim_fault_kind kind = LAB_TRY(&x, "k", to);
    if (kind != all[k].kind) fail_msg("%s gives %s %s", all[k].body, sim_fault_name(kind), x.fault.text);
    lab_close(&x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arithmetic),  cmocka_unit_test(fused),       cmocka_unit_test(signs),
      cmocka_unit_test(orders),      cmocka_unit_test(comparisons), cmocka_unit_test(pair_sets),
      cmocka_unit_test(single_sets), cmocka_unit_test(pairs),       cmocka_unit_test(undefined_halves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
