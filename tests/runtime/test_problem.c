/* test_problem.c -- exact problems are exact and meet everything; masked rows and unused groups are poisoned; cases are copied.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/problem_parts.h"

static rgt_op_desc op_of(const char *text) {
  rgt_op_desc op;
  rgt__error err;
  if (rgt__op_parse(text, &op, &err) != RGT_OK) fail_msg("%s: %s", text, err.text);
  return op;
}

static rgt__problem make(const char *text, rgt__problem_options o) {
  rgt_op_desc op = op_of(text);
  rgt__problem p;
  rgt__error err = {{0}};
  if (rgt__problem_make(&op, &o, &p, &err) != RGT_OK) fail_msg("%s: %s", text, err.text);
  return p;
}

static int is_live(const rgt__problem *p, int64_t row) {
  int64_t g = rgt__problem_index_at(p, row);
  return g >= 0 && g < p->op.groups;
}

/* ---- the exact pass, looked at value by value in whole numbers ---- */

static int64_t quarters(const rgt__problem *p, const void *array, int64_t i) {
  double v = 4 * rgt__number_load(p->op.dtype, array, i);
  if (v != floor(v) || fabs(v) > 255) fail_msg("%g is no multiple of 1/4 of 8 bits", v / 4);
  return (int64_t)v;
}

static int64_t at(const rgt__problem *p, int64_t n_k, int64_t n_f, int64_t g, int64_t f, int64_t k) {
  return g * n_k * n_f + (p->op.layout == RGT_NK ? f * n_k + k : k * n_f + f);
}

/* z of layer 1 in 1/16; *sum gets the sum of absolute terms, *largest the largest product. */
static int64_t layer1(const rgt__problem *p, int64_t row, int64_t f, int64_t *sum, int64_t *largest) {
  int64_t n_in = p->op.n_in, n_f = p->op.kind == RGT_MLP ? p->op.n_hidden : p->op.n_out, z = 0;
  int64_t g = rgt__problem_index_at(p, row);
  *sum = 0;
  for (int64_t k = 0; k < n_in; k++) {
    int64_t x = quarters(p, p->x, row * n_in + k);
    if (!x) continue;
    int64_t w = quarters(p, p->w1, at(p, n_in, n_f, g, f, k));
    if (!w) fail_msg("a weight is 0");
    z += x * w;
    *sum += llabs(x * w);
    if (llabs(x * w) > *largest) *largest = llabs(x * w);
  }
  if (p->b1) {
    int64_t b = 4 * quarters(p, p->b1, g * n_f + f);
    z += b;
    *sum += llabs(b);
  }
  return z;
}

static void check_hidden_row(const rgt__problem *p, int64_t row, unsigned char *met, int64_t *largest) {
  int64_t n_hidden = p->op.n_hidden, g = rgt__problem_index_at(p, row), sum2 = 0, most = 0;
  int64_t *h = malloc((size_t)n_hidden * sizeof *h);
  for (int64_t j = 0; j < n_hidden; j++) {
    int64_t sum1;
    h[j] = layer1(p, row, j, &sum1, largest);
    if (p->op.act == RGT_ACT_RELU && h[j] < 0) h[j] = 0;
    assert_true(sum1 <= 1 << 24);
    assert_true(llabs(h[j]) <= 255); /* 8 bits: exact in bf16, so in every type */
    if (h[j]) met[j] = 1;
  }
  for (int64_t o = 0; o < p->op.n_out; o++) {
    sum2 = p->b2 ? 16 * llabs(quarters(p, p->b2, g * p->op.n_out + o)) : 0;
    for (int64_t j = 0; j < n_hidden; j++) {
      int64_t w = quarters(p, p->w2, at(p, n_hidden, p->op.n_out, g, o, j));
      if (!w) fail_msg("a weight of layer 2 is 0");
      sum2 += llabs(h[j] * w);
    }
    if (sum2 > most) most = sum2;
  }
  assert_true(most <= 1 << 24);
  free(h);
}

static void check_exact(const char *text, uint64_t seed) {
  rgt__problem p = make(text, (rgt__problem_options){.kind = RGT_PROBLEM_EXACT,
                                                     .masked = 0.1,
                                                     .nan_unused = 1,
                                                     .seed = seed,
                                                     .skew = seed % 2 ? RGT_SKEW_UNIFORM : RGT_SKEW_ZIPF});
  int mlp = p.op.kind == RGT_MLP;
  int64_t n_f = mlp ? p.op.n_hidden : p.op.n_out, largest = 0, sum, n_zero = 0;
  unsigned char *k_met = calloc((size_t)p.op.n_in, 1), *f_met = calloc((size_t)n_f, 1);
  assert_true(p.rows >= 256);
  assert_true(p.sparse_x && p.finite);
  for (int64_t row = 0; row < p.rows; row++) {
    if (!is_live(&p, row)) continue;
    for (int64_t k = 0; k < p.op.n_in; k++) {
      if (rgt__number_load(p.op.dtype, p.x, row * p.op.n_in + k) != 0) {
        k_met[k] = 1;
      } else {
        n_zero++;
      }
    }
    if (mlp) {
      check_hidden_row(&p, row, f_met, &largest);
    } else {
      for (int64_t f = 0; f < n_f; f++) {
        if (layer1(&p, row, f, &sum, &largest)) f_met[f] = 1;
        assert_true(sum <= 1 << 24);
      }
    }
  }
  for (int64_t k = 0; k < p.op.n_in; k++) {
    if (!k_met[k]) fail_msg("%s: x[.., %lld] is 0 in every row", text, (long long)k);
  }
  for (int64_t f = 0; f < n_f; f++) {
    if (!f_met[f]) fail_msg("%s: feature %lld is 0 in every row", text, (long long)f);
  }
  /* products beyond f16's 11 bits: sums in f16 go wrong */
  if (p.op.n_in >= 2 && p.op.n_in <= 64 && n_f <= 64) assert_true(largest > 2048);
  if (p.op.n_in > 16) assert_true(n_zero > p.rows * p.op.n_in / 4);
  free(k_met);
  free(f_met);
  rgt__problem_free(&p);
}

static void exact_problems_are_exact(void **state) {
  (void)state;
  static const char *const ops[] = {
      "mlp:1-1-1:g1:bf16:relu:b0:nk:i64",     "mlp:1-20-3:g3:f16:relu:b12:kn:i32",     "mlp:2-3-1:g2:f32:none:b12:nk:i64",
      "mlp:3-5-2:g7:bf16:relu:b2:nk:i64",     "mlp:10-20-5:g3:f32:relu:b12:nk:i64",    "mlp:10-20-10:g64:f16:none:b1:kn:i64",
      "mlp:33-17-9:g7:bf16:relu:b12:nk:i32",  "mlp:4099-8-4:g3:bf16:relu:b12:nk:i64",  "mlp:3-14336-2:g3:bf16:relu:b12:nk:i64",
      "mlp:40-2048-2:g2:f16:relu:b12:nk:i64", "mlp:2-100000-1:g1:f32:relu:b12:nk:i64", "mlp:70001-2-1:g2:bf16:relu:b12:kn:i64",
      "linear:1-1:g1:f32:none:b0:nk:i64",     "linear:2-3:g3:f16:relu:b1:kn:i32",      "linear:10-6:g4:bf16:none:b1:nk:i64",
      "linear:1000-4:g3:bf16:none:b1:kn:i64", "linear:70000-1:g1:f32:relu:b1:nk:i64",  "linear:7-9:g4096:f16:none:b1:nk:i64"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) check_exact(ops[i], i);
  for (int n = 1; n <= 12; n++) { /* few pairs: every hidden unit still comes through */
    char text[RGT_OP_TEXT_MAX];
    snprintf(text, sizeof text, "mlp:%d-%d-2:g%d:bf16:relu:b%s:nk:i64", n, 100 * n, 1 + n % 3, n % 2 ? "12" : "0");
    check_exact(text, (uint64_t)n);
  }
}

/* The last hidden units there can be: sums reach 2^24 and no more. */
static void exact_at_the_limit(void **state) {
  (void)state;
  rgt__problem p =
      make("mlp:2-16777216-1:g1:bf16:none:b12:kn:i64", (rgt__problem_options){.kind = RGT_PROBLEM_EXACT, .seed = 3});
  int64_t sum, largest = 0;
  for (int64_t j = 0; j < p.op.n_hidden; j += 4097) {
    assert_true(llabs(layer1(&p, 5, j, &sum, &largest)) <= 1);
    assert_true(llabs(quarters(&p, p.w2, j)) <= 1);
    assert_int_equal(quarters(&p, p.b1, j), 0);
  }
  assert_int_equal(quarters(&p, p.b2, 0), 0);
  rgt__problem_free(&p);
}

/* ---- poison, index ---- */

static void rows_and_groups_of_nobody_are_poisoned(void **state) {
  (void)state;
  static const char *const ops[] = {"mlp:10-20-5:g4:f32:relu:b12:nk:i64", "mlp:3-4-5:g4:f16:relu:b12:kn:i32",
                                    "linear:3-4:g4:bf16:none:b1:kn:i64"};
  for (size_t i = 0; i < 3; i++) {
    for (int exact = 0; exact < 2; exact++) {
      rgt__problem p = make(ops[i], (rgt__problem_options){.kind = exact ? RGT_PROBLEM_EXACT : RGT_PROBLEM_BOUND,
                                                           .rows = 8,
                                                           .masked = 0.25,
                                                           .nan_unused = 1,
                                                           .skew = RGT_SKEW_UNIFORM});
      int64_t n_masked = 0, size[4] = {0}, n_f = p.op.kind == RGT_MLP ? p.op.n_hidden : p.op.n_out;
      for (int64_t row = 0; row < p.rows; row++) {
        int64_t g = rgt__problem_index_at(&p, row);
        if (g < 0) {
          assert_int_equal(g, -1);
          n_masked++;
        } else {
          size[g]++;
        }
        for (int64_t k = 0; k < p.op.n_in; k++)
          assert_int_equal(isfinite(rgt__number_load(p.op.dtype, p.x, row * p.op.n_in + k)) != 0, g >= 0);
      }
      assert_int_equal(p.rows, 256);
      assert_int_equal(n_masked, 64);
      assert_int_equal(size[exact ? 3 : 0], 0); /* left without rows */
      assert_true(size[exact ? 0 : 3] > 0 && size[1] > 0 && size[2] > 0);
      for (int64_t e = 0; e < 4 * n_f * p.op.n_in; e++)
        assert_int_equal(isnan(rgt__number_load(p.op.dtype, p.w1, e)) != 0, e / (n_f * p.op.n_in) == (exact ? 3 : 0));
      for (int64_t e = 0; e < 4 * n_f; e++)
        assert_int_equal(isnan(rgt__number_load(p.op.dtype, p.b1, e)) != 0, e / n_f == (exact ? 3 : 0));
      for (int64_t e = 0; p.w2 && e < 4 * n_f * p.op.n_out; e++)
        assert_int_equal(isnan(rgt__number_load(p.op.dtype, p.w2, e)) != 0, e / (n_f * p.op.n_out) == (exact ? 3 : 0));
      rgt__problem_free(&p);
    }
  }
}

static void bench_problems_are_finite(void **state) {
  (void)state;
  rgt__problem p = make("mlp:10-20-5:g40:f16:relu:b12:nk:i32",
                        (rgt__problem_options){.kind = RGT_PROBLEM_BENCH, .rows = 8, .masked = 0.5, .nan_unused = 1});
  double squares = 0;
  assert_int_equal(p.rows, 8);
  for (int64_t row = 0; row < p.rows; row++) assert_true(is_live(&p, row));
  for (int64_t i = 0; i < 80; i++) assert_true(isfinite(rgt__number_load(RGT_F16, p.x, i)));
  for (int64_t i = 0; i < 40 * 200; i++) {
    double w = rgt__number_load(RGT_F16, p.w1, i);
    assert_true(isfinite(w));
    squares += w * w;
  }
  assert_true(fabs(squares / (40 * 200) * 10 - 1) < 0.1); /* variance 1/n_in */
  rgt__problem_free(&p);
}

static void large_arrays_are_normal_too(void **state) {
  (void)state;
  rgt__problem p = make("linear:1024-1100:g1:f32:none:b0:nk:i64", (rgt__problem_options){.kind = RGT_PROBLEM_BOUND});
  int64_t n = 1024 * 1100;
  double sum = 0, squares = 0;
  const float *w = p.w1;
  for (int64_t i = 0; i < n; i++) {
    sum += w[i];
    squares += (double)w[i] * w[i];
  }
  assert_true(fabs(sum / (double)n) * 32 < 0.02);
  assert_true(fabs(squares / (double)n * 1024 - 1) < 0.02);
  assert_true(w[n - 1] != 0 && w[n - 2] != 0 && w[n - 3] != w[n - 4]);
  rgt__problem_free(&p);
}

static void skews_are_what_they_say(void **state) {
  (void)state;
  static const int64_t rows[] = {9, 20, 64, 4096};
  for (size_t i = 0; i < 4; i++) {
    for (rgt_skew skew = RGT_SKEW_UNIFORM; skew <= RGT_SKEW_ONE; skew++) {
      rgt__problem p = make("linear:1-1:g64:f32:none:b0:nk:i32",
                            (rgt__problem_options){.kind = RGT_PROBLEM_BENCH, .rows = rows[i], .skew = skew, .seed = i});
      rgt_skew got = rgt__problem_skew_of(p.index, RGT_I32, p.rows, 64);
      if (skew == RGT_SKEW_ONE || rows[i] == 4096) assert_int_equal(got, skew);
      rgt__problem_free(&p);
    }
  }
  rgt__problem p = make("linear:1-1:g2000000:f32:none:b0:nk:i64",
                        (rgt__problem_options){.kind = RGT_PROBLEM_BENCH, .rows = 5000, .skew = RGT_SKEW_ZIPF});
  for (int64_t row = 0; row < p.rows; row++) assert_true(is_live(&p, row));
  assert_int_equal(rgt__problem_skew_of(p.index, RGT_I64, p.rows, 2000000), RGT_SKEW_ZIPF);
  rgt__problem_free(&p);
}

static rgt_skew skew_of(int64_t groups, int64_t largest, int64_t rest, int64_t step) {
  int32_t index[256];
  int64_t n = 0;
  index[n++] = -1;
  for (int64_t i = 0; i < largest; i++) index[n++] = 1;
  index[n++] = (int32_t)groups; /* out of range: not live */
  for (int64_t i = 0; i < rest; i++) index[n++] = (int32_t)(step ? 2 + i * step : 0);
  return rgt__problem_skew_of(index, RGT_I32, n, groups);
}

static void skew_rule_at_its_borders(void **state) {
  (void)state;
  assert_int_equal(skew_of(2, 8, 0, 0), RGT_SKEW_UNIFORM); /* 8 live rows are too few for one */
  assert_int_equal(skew_of(2, 9, 0, 0), RGT_SKEW_ONE);
  assert_int_equal(skew_of(1, 9, 0, 0), RGT_SKEW_UNIFORM);     /* one group: 9 <= 2 * 9 + 8 */
  assert_int_equal(skew_of(2, 18, 2, 0), RGT_SKEW_UNIFORM);    /* 0.9 is not over 0.9 */
  assert_int_equal(skew_of(2, 19, 2, 0), RGT_SKEW_ONE);        /* 0.905 */
  assert_int_equal(skew_of(100, 10, 90, 1), RGT_SKEW_UNIFORM); /* 2 * 100 / 100 + 8 */
  assert_int_equal(skew_of(100, 11, 89, 1), RGT_SKEW_ZIPF);
  assert_int_equal(rgt__problem_skew_of(NULL, RGT_I64, 0, 3), RGT_SKEW_UNIFORM);
  const int64_t wide[] = {(int64_t)1 << 32, (int64_t)1 << 32, -1, 1};
  assert_int_equal(rgt__problem_skew_of(wide, RGT_I64, 4, 2), RGT_SKEW_UNIFORM);
}

static void index_given_is_kept(void **state) {
  (void)state;
  const int32_t index[] = {2, -1, 7, 0, 2};
  rgt__problem p =
      make("mlp:10-20-5:g3:f32:relu:b12:nk:i32",
           (rgt__problem_options){.kind = RGT_PROBLEM_BOUND, .rows = 5, .masked = 1, .nan_unused = 1, .index = index});
  assert_int_equal(p.rows, 5);
  assert_memory_equal(p.index, index, sizeof index);
  assert_true(isfinite(((float *)p.x)[0]) && !isfinite(((float *)p.x)[10]) && !isfinite(((float *)p.x)[20]));
  assert_true(isnan(((float *)p.w1)[200]) && isfinite(((float *)p.w1)[0])); /* group 1 has no rows */
  rgt__problem_free(&p);
}

static void same_seed_same_problem(void **state) {
  (void)state;
  rgt__problem_options o = {.kind = RGT_PROBLEM_BOUND, .rows = 300, .masked = 0.1, .skew = RGT_SKEW_ZIPF, .seed = 9};
  rgt__problem a = make("mlp:10-20-5:g3:f32:relu:b12:nk:i64", o), b = make("mlp:10-20-5:g3:f32:relu:b12:nk:i64", o);
  o.seed = 10;
  rgt__problem c = make("mlp:10-20-5:g3:f32:relu:b12:nk:i64", o);
  assert_int_equal(a.rows, 300);
  assert_memory_equal(a.index, b.index, 300 * 8);
  assert_memory_equal(a.w2, b.w2, 3 * 100 * 4);
  assert_memory_not_equal(a.index, c.index, 300 * 8);
  assert_memory_not_equal(a.w2, c.w2, 3 * 100 * 4);
  rgt__problem_free(&a);
  rgt__problem_free(&b);
  rgt__problem_free(&c);
}

/* ---- rows in order, x of several ---- */

/* Groups rise, rows without one come last, offsets say the same; x has a row for two, poison only where neither has a group;
 * the exact pass still meets every k. */
static void rows_in_order_share_x(void **state) {
  (void)state;
  static const char *const ops[] = {"mlp:10-20-5:g5:f32:relu:b12:nk:i64", "linear:300-7:g4:bf16:none:b1:kn:i32"};
  for (int i = 0; i < 12; i++) {
    rgt_order order = (rgt_order)(i % 3);
    rgt__problem_kind kind = i / 3 % 2 ? RGT_PROBLEM_EXACT : RGT_PROBLEM_BOUND;
    rgt__problem p =
        make(ops[i / 6], (rgt__problem_options){.kind = kind, .masked = 0.1, .order = order, .x_div = 2, .seed = 8});
    int64_t x_rows = rgt__problem_x_rows(&p), groups = p.op.groups, offsets[8] = {0}, n_met = 0;
    assert_int_equal(x_rows, (p.rows + 1) / 2);
    assert_true(p.rows >= (order == RGT_ORDER_RAW ? 256 : 512));
    assert_int_equal(rgt__problem_index_unsorted(&p) < 0, order != RGT_ORDER_RAW);
    for (int64_t x = 0; x < x_rows; x++) {
      int used = rgt__problem_index_at(&p, 2 * x) >= 0 || (2 * x + 1 < p.rows && rgt__problem_index_at(&p, 2 * x + 1) >= 0);
      assert_int_equal(isfinite(rgt__number_load(p.op.dtype, p.x, x * p.op.n_in)), used);
    }
    for (int64_t k = 0; k < p.op.n_in; k++) {
      int met = 0;
      for (int64_t x = 0; x < x_rows && !met; x++) {
        double v = rgt__number_load(p.op.dtype, p.x, x * p.op.n_in + k);
        met = isfinite(v) && v != 0;
      }
      n_met += met;
    }
    assert_int_equal(n_met, p.op.n_in);
    if (order != RGT_ORDER_RAW) {
      rgt__problem_offsets(&p, offsets);
      for (int64_t g = 0; g < groups; g++) {
        int wide = p.op.index_type == RGT_I64;
        int64_t from = wide ? offsets[g] : ((const int32_t *)(const void *)offsets)[g];
        int64_t to = wide ? offsets[g + 1] : ((const int32_t *)(const void *)offsets)[g + 1];
        for (int64_t row = from; row < to; row++) assert_int_equal(rgt__problem_index_at(&p, row), g);
        if (g == groups - 1 && to < p.rows) assert_int_equal(rgt__problem_index_at(&p, to), -1);
      }
    }
    rgt__problem_free(&p);
  }
}

/* An index that is given is sorted too; what is no group comes last, and is masked where there are offsets. */
static void given_indices_are_sorted(void **state) {
  (void)state;
  const int64_t index[] = {3, -1, 9, 0, -7, 3, 1};
  for (rgt_order order = RGT_ORDER_SORTED; order <= RGT_ORDER_OFFSETS; order++) {
    rgt__problem p = make("linear:2-1:g4:f32:none:b0:nk:i64",
                          (rgt__problem_options){.kind = RGT_PROBLEM_BENCH, .rows = 7, .index = index, .order = order});
    const int64_t sorted[] = {0, 1, 3, 3, 9, -7, -1}, masked[] = {0, 1, 3, 3, -1, -1, -1};
    assert_memory_equal(p.index, order == RGT_ORDER_SORTED ? sorted : masked, sizeof sorted);
    rgt__problem_free(&p);
  }
}

/* ---- cases, sizes, failures ---- */

static void cases_are_copied(void **state) {
  (void)state;
  rgt_op_desc op = op_of("linear:2-1:g2:f32:none:b1:nk:i32");
  float x[] = {1, 2, 3, 4}, w[] = {5, 6, 7, 8}, b[] = {9, 10};
  int32_t index[] = {1, -1};
  rgt_case data = {.struct_size = sizeof data, .rows = 2, .x = x, .index = index, .w1 = w, .b1 = b};
  rgt__problem p;
  rgt__error err = {{0}};
  assert_int_equal(rgt__problem_from_case(&op, &data, RGT_POINTERS, RGT_ORDER_RAW, &p, &err), RGT_OK);
  assert_int_equal(p.rows, 2);
  assert_int_equal(p.form, RGT_POINTERS);
  assert_ptr_not_equal(p.x, x);
  assert_memory_equal(p.x, x, sizeof x);
  assert_memory_equal(p.w1, w, sizeof w);
  assert_memory_equal(p.b1, b, sizeof b);
  assert_memory_equal(p.index, index, sizeof index);
  assert_true(!p.w2 && !p.b2 && !p.finite && !p.sparse_x);
  rgt__problem_free(&p);
  data.b1 = NULL;
  assert_int_equal(rgt__problem_from_case(&op, &data, RGT_STACKED, RGT_ORDER_RAW, &p, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "b1"));
  data.rows = -1;
  assert_int_equal(rgt__problem_from_case(&op, &data, RGT_STACKED, RGT_ORDER_RAW, &p, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "-1"));
  data = (rgt_case){.rows = 0, .w1 = w, .b1 = b};
  assert_int_equal(rgt__problem_from_case(&op, &data, RGT_STACKED, RGT_ORDER_RAW, &p, &err), RGT_OK);
  rgt__problem_free(&p);
}

static void sizes_saturate(void **state) {
  (void)state;
  rgt_op_desc op = op_of("mlp:10-20-5:g3:f16:relu:b12:nk:i32");
  /* x, index, w1, b1, w2, b2, y */
  assert_int_equal(rgt__problem_bytes(&op, 8), 160 + 32 + 1200 + 120 + 600 + 30 + 80);
  op.n_in = op.n_hidden = RGT_DIM_MAX;
  op.groups = RGT_COUNT_MAX;
  assert_true(rgt__problem_bytes(&op, 1) == INT64_MAX);
  rgt__problem p;
  rgt__error err = {{0}};
  rgt__problem_options o = {.kind = RGT_PROBLEM_BENCH, .rows = 1};
  assert_int_equal(rgt__problem_make(&op, &o, &p, &err), RGT_ENOMEM);
  assert_non_null(strstr(err.text, "w1"));
  assert_non_null(strstr(err.text, "16777216"));
}

static int64_t blocks, allocs_left;

static void *counting(void *user, void *p, size_t bytes) {
  (void)user;
  if (!bytes) {
    if (p) blocks--;
    free(p);
    return NULL;
  }
  if (allocs_left-- <= 0) return NULL;
  if (!p) blocks++;
  return realloc(p, bytes);
}

static void every_allocation_can_fail(void **state) {
  (void)state;
  rgt_op_desc op = op_of("mlp:10-20-5:g3:f32:relu:b12:nk:i64");
  rgt_set_alloc(counting, NULL);
  for (int kind = RGT_PROBLEM_EXACT; kind <= RGT_PROBLEM_BENCH; kind++) {
    rgt__problem_options o = {.kind = (rgt__problem_kind)kind, .rows = 8, .skew = RGT_SKEW_ZIPF, .nan_unused = 1};
    rgt_status status = RGT_ENOMEM;
    int n;
    for (n = 0; status != RGT_OK; n++) {
      rgt__problem p;
      rgt__error err = {{0}};
      allocs_left = n;
      status = rgt__problem_make(&op, &o, &p, &err);
      if (status == RGT_OK) {
        rgt__problem_free(&p);
      } else {
        assert_int_equal(status, RGT_ENOMEM);
        assert_non_null(strstr(err.text, "out of memory"));
      }
      assert_int_equal(blocks, 0);
    }
    assert_true(n > 8);
  }
  rgt_set_alloc(NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_problems_are_exact),
      cmocka_unit_test(exact_at_the_limit),
      cmocka_unit_test(rows_and_groups_of_nobody_are_poisoned),
      cmocka_unit_test(bench_problems_are_finite),
      cmocka_unit_test(large_arrays_are_normal_too),
      cmocka_unit_test(skews_are_what_they_say),
      cmocka_unit_test(skew_rule_at_its_borders),
      cmocka_unit_test(index_given_is_kept),
      cmocka_unit_test(same_seed_same_problem),
      cmocka_unit_test(rows_in_order_share_x),
      cmocka_unit_test(given_indices_are_sorted),
      cmocka_unit_test(cases_are_copied),
      cmocka_unit_test(sizes_saturate),
      cmocka_unit_test(every_allocation_can_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
