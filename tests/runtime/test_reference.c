/* test_reference.c -- the float64 reference against numbers worked out by hand, and the bound against verify.md's formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "runtime/base/number.h"
#include "runtime/reference.h"

static void assert_near(double a, double b) {
  if (fabs(a - b) > 1e-14 * (fabs(a) + fabs(b))) fail_msg("%.17g is not %.17g", a, b);
}

static void activations(void **state) {
  (void)state;
  assert_true(rgt__reference_act(RGT_ACT_NONE, -3.5) == -3.5);
  assert_true(rgt__reference_act(RGT_ACT_RELU, -3.5) == 0);
  assert_true(rgt__reference_act(RGT_ACT_RELU, 3.5) == 3.5);
  assert_near(rgt__reference_act(RGT_ACT_TANH, 0.5), 0.46211715726000975);
  assert_near(rgt__reference_act(RGT_ACT_SILU, 1), 0.7310585786300049);
  assert_near(rgt__reference_act(RGT_ACT_SILU, -2), -0.23840584404423515);
  assert_near(rgt__reference_act(RGT_ACT_GELU, 1), 0.8413447460685429);
  assert_near(rgt__reference_act(RGT_ACT_GELU, -1), -0.15865525393145707);
  assert_near(rgt__reference_act(RGT_ACT_GELU, -8), -8 * 6.220960574271785e-16); /* no cancellation in the tail */
  assert_near(rgt__reference_act(RGT_ACT_GELU_TANH, 1), 0.8411919906082768);
  assert_near(rgt__reference_act(RGT_ACT_GELU_TANH, -1), -0.15880800939172324);
  for (rgt_act a = RGT_ACT_NONE; a <= RGT_ACT_TANH; a++) assert_true(isnan(rgt__reference_act(a, NAN)));
  for (rgt_act a = RGT_ACT_NONE; a < RGT_ACT_TANH; a++) assert_true(rgt__reference_act(a, INFINITY) == INFINITY);
  for (rgt_act a = RGT_ACT_RELU; a < RGT_ACT_TANH; a++) {
    assert_true(rgt__reference_act(a, -INFINITY) == 0);
    assert_true(rgt__reference_act(a, -1e300) == 0);
    assert_true(rgt__reference_act(a, 1e300) == 1e300);
    assert_true(rgt__reference_act(a, 0) == 0);
  }
  assert_true(rgt__reference_act(RGT_ACT_TANH, -INFINITY) == -1);
}

static rgt_op_desc op_of(const char *text) {
  rgt_op_desc op;
  rgt__error err;
  if (rgt__op_parse(text, &op, &err) != RGT_OK) fail_msg("%s: %s", text, err.text);
  return op;
}

static double *scratch_of(const rgt__problem *p) {
  return malloc((size_t)rgt__reference_scratch(&p->op) * sizeof(double));
}

/* 2 -> 3 -> 1, two groups; group 1 is used by row 0, rows 1 and 2 are masked and out of range. */
static float x[] = {1, -2, 3, 4, 5, 6}, w1[] = {9, 9, 9, 9, 9, 9, 1, 2, -3, 1, 0.5f, 0.25f}, b1[] = {9, 9, 9, 4, 1, 0};
static float w2[] = {9, 9, 9, 2, -3, 8}, b2[] = {9, 0.5f};
static int64_t ids[] = {1, -1, 2};

static rgt__problem small(const char *text) {
  return (rgt__problem){.op = op_of(text), .rows = 3, .x_div = 1, .x = x, .index = ids, .w1 = w1, .b1 = b1, .w2 = w2, .b2 = b2};
}

static void mlp_by_hand(void **state) {
  (void)state;
  rgt__problem p = small("mlp:2-3-1:g2:f32:relu:b12:nk:i64");
  rgt__numeric n = {.p1 = 0x1p-20, .p2 = 0x1p-19, .alpha = 0x1p-18, .beta = 0x1p-17};
  double *scratch = scratch_of(&p), y, bound;
  unsigned char over;
  rgt__reference_row(&p, &n, 0, &y, &bound, &over, scratch);
  /* z = 1 - 4 + 4 = 1, -3 - 2 + 1 = -4, 0.5 - 0.5 + 0 = 0; h = 1, 0, 0; y = 2 + 0.5 */
  assert_true(y == 2.5);
  assert_int_equal(over, 0);
  double a1 = 10 * 0x1p-24, a2 = 11 * 0x1p-24, s1[3] = {9, 6, 1}, z[3] = {1, -4, 0}, h[3] = {1, 0, 0}, w[3] = {2, 3, 8}, e = 0;
  for (int j = 0; j < 3; j++) {
    double e1 = (n.p1 + a1) * s1[j] + 3 * 0x1p-150;
    e += w[j] * (e1 + n.alpha * h[j] + n.beta * fabs(z[j]));
  }
  assert_near(bound, 1.02 * (e + (n.p2 + a2) * 2.5 + 4 * 0x1p-150 + 0x1p-24 * 2.5 + 0x1p-150));
  /* adders that truncate: A doubled; hidden in 16 bits: one rounding more */
  n = (rgt__numeric){.mma = 1, .hidden_16bit = 1, .u_h = 0x1p-11, .eta_h = 0x1p-25};
  rgt__reference_row(&p, &n, 0, &y, &bound, &over, scratch);
  e = 0;
  for (int j = 0; j < 3; j++) e += w[j] * (2 * a1 * s1[j] + 3 * 0x1p-150 + 0x1p-11 * h[j] + 0x1p-25);
  assert_near(bound, 1.02 * (e + 2 * a2 * 2.5 + 4 * 0x1p-150 + 0x1p-24 * 2.5 + 0x1p-150));
  for (int64_t row = 1; row < 3; row++) {
    y = bound = 7;
    over = 7;
    rgt__reference_row(&p, &n, row, &y, &bound, &over, scratch);
    assert_true(y == 0 && !signbit(y) && bound == 0 && over == 0);
  }
  p.op.bias = 0;
  rgt__reference_row(&p, NULL, 0, &y, NULL, NULL, scratch); /* z = -3, -5, 0 */
  assert_true(y == 0);
  free(scratch);
}

static void linear_by_hand(void **state) {
  (void)state;
  static const double slopes[] = {1, 1, 1.1290, 1.1290, 1.0999, 1};
  for (rgt_act act = RGT_ACT_NONE; act <= RGT_ACT_TANH; act++) {
    rgt__problem p = small("linear:2-3:g2:f32:none:b1:kn:i64");
    p.op.act = act;
    rgt__numeric n = {.p1 = 0x1p-21, .p2 = 1, .alpha = 0x1p-22, .beta = 0x1p-23, .hidden_16bit = 1, .u_h = 1, .eta_h = 1};
    double *scratch = scratch_of(&p), y[3], bound[3];
    unsigned char over[3];
    rgt__reference_row(&p, &n, 0, y, bound, over, scratch);
    /* kn: w[k][f]: k 0: 1 2 -3, k 1: 1 0.5 0.25 */
    static const double z[3] = {1 - 2 + 4, 2 - 1 + 1, -3 - 0.5}, s[3] = {7, 4, 3.5};
    for (int f = 0; f < 3; f++) {
      double a = rgt__reference_act(act, z[f]), e1 = (n.p1 + 10 * 0x1p-24) * s[f] + 3 * 0x1p-150;
      assert_true(y[f] == a);
      assert_near(bound[f], 1.02 * (slopes[act] * e1 + n.alpha * fabs(a) + n.beta * fabs(z[f]) + 0x1p-24 * fabs(a) + 0x1p-150));
      assert_int_equal(over[f], 0);
    }
    free(scratch);
  }
}

static rgt__problem made(const char *text, rgt__problem_kind kind) {
  rgt_op_desc op = op_of(text);
  rgt__problem p;
  rgt__error err = {{0}};
  rgt__problem_options o = {.kind = kind, .skew = RGT_SKEW_UNIFORM, .seed = 4};
  if (rgt__problem_make(&op, &o, &p, &err) != RGT_OK) fail_msg("%s", err.text);
  return p;
}

/* Every way through the sums -- side by side, by rows of weights, some columns, zeros skipped -- against a plain double loop.
 */
static void every_path_agrees(void **state) {
  (void)state;
  static const char *const ops[] = {"linear:300-7:g3:f32:none:b1:nk:i64", "linear:300-7:g3:f16:none:b1:kn:i64",
                                    "linear:3-300:g3:bf16:none:b0:kn:i32", "linear:257-5:g3:f16:none:b0:nk:i32"};
  for (size_t i = 0; i < 4; i++) {
    for (int exact = 0; exact < 2; exact++) {
      rgt__problem p = made(ops[i], exact ? RGT_PROBLEM_EXACT : RGT_PROBLEM_BOUND);
      int64_t n_in = p.op.n_in, n_out = p.op.n_out;
      double *scratch = scratch_of(&p), *y = malloc((size_t)n_out * sizeof *y), some[3];
      const int64_t cols[3] = {0, n_out / 2, n_out - 1};
      for (int64_t row = 0; row < 20; row++) {
        int64_t g = rgt__problem_index_at(&p, row);
        rgt__reference_row(&p, NULL, row, y, NULL, NULL, scratch);
        rgt__reference_elements(&p, NULL, row, cols, 3, some, NULL, NULL, scratch);
        for (int j = 0; j < 3; j++) assert_true(fabs(some[j] - y[cols[j]]) < 1e-13);
        for (int64_t o = 0; o < n_out; o++) {
          double z = p.b1 ? rgt__number_load(p.op.dtype, p.b1, g * n_out + o) : 0;
          for (int64_t k = 0; k < n_in; k++) {
            int64_t e = g * n_in * n_out + (p.op.layout == RGT_NK ? o * n_in + k : k * n_out + o);
            z += rgt__number_load(p.op.dtype, p.w1, e) * rgt__number_load(p.op.dtype, p.x, row * n_in + k);
          }
          assert_true(exact ? y[o] == z : fabs(y[o] - z) < 1e-13);
        }
      }
      free(y);
      free(scratch);
      rgt__problem_free(&p);
    }
  }
}

static void nan_and_overflow(void **state) {
  (void)state;
  uint16_t hx[2], hw1[4], hw2[2];
  int64_t id = 0;
  rgt__problem p = {
      .op = op_of("mlp:2-2-1:g1:f16:relu:b0:nk:i64"), .rows = 1, .x_div = 1, .x = hx, .index = &id, .w1 = hw1, .w2 = hw2};
  const float fx[] = {300, 1}, fw1[] = {300, 0, 0, 1}, fw2[] = {0x1p-10f, 1};
  double *scratch = scratch_of(&p), y, bound;
  unsigned char over;
  rgt__numeric wide = {0}, narrow = {.hidden_16bit = 1, .u_h = 0x1p-11, .eta_h = 0x1p-25};
  rgt_from_float(RGT_F16, fx, hx, 2);
  rgt_from_float(RGT_F16, fw1, hw1, 4);
  rgt_from_float(RGT_F16, fw2, hw2, 2);
  rgt__reference_row(&p, &wide, 0, &y, &bound, &over, scratch); /* hidden 90000 in f32 */
  assert_true(y == 90000 * 0x1p-10 + 1);
  assert_int_equal(over, 0);
  rgt__reference_row(&p, &narrow, 0, &y, &bound, &over, scratch); /* passes 65504 */
  assert_int_equal(over, 1);
  rgt__number_store(RGT_F16, hw2, 0, 1); /* y itself passes it */
  rgt__reference_row(&p, &wide, 0, &y, &bound, &over, scratch);
  assert_true(y == 90001);
  assert_int_equal(over, 1);
  rgt__number_store(RGT_F16, hx, 0, NAN);
  rgt__reference_row(&p, &wide, 0, &y, &bound, &over, scratch);
  assert_true(isnan(y));
  free(scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(activations),       cmocka_unit_test(mlp_by_hand),      cmocka_unit_test(linear_by_hand),
      cmocka_unit_test(every_path_agrees), cmocka_unit_test(nan_and_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
