/* test_plain_loop.c -- the yardstick itself: exact on small whole numbers, close to float64 on every activation. */
#include "runtime/plain_loop.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 7, GROUPS = 3, IN = 3, MID = 4, OUT = 2, LD = 6, STRIDE = 50 };

static float x[ROWS * LD], w1[GROUPS * STRIDE], b1[GROUPS * STRIDE], w2[GROUPS * STRIDE], b2[GROUPS * STRIDE], y[ROWS * LD],
    hidden[MID];
static int64_t index64[ROWS] = {2, -1, 0, 1, 4294967296, 2, 3}; /* masked, in range at 32 bits only, and one past the end */
static int32_t index32[ROWS] = {2, -1, 0, 1, -2147483647, 2, 3};

static void fill(float *a, int n, int seed) {
  for (int i = 0; i < n; i++) a[i] = (float)((i * 7 + seed) % 11 - 5);
}

static rgt_op_desc op_of(const char *text) {
  rgt_op_desc op;
  assert_int_equal(rgt__op_parse(text, &op, NULL), RGT_OK);
  return op;
}

static rgt_kargs kargs_of(const rgt_op_desc *op) {
  fill(x, ROWS * LD, 1);
  fill(w1, GROUPS * STRIDE, 2);
  fill(b1, GROUPS * STRIDE, 3);
  fill(w2, GROUPS * STRIDE, 5);
  fill(b2, GROUPS * STRIDE, 8);
  for (int i = 0; i < ROWS * LD; i++) y[i] = 777;
  return (rgt_kargs){.x = x,
                     .ld_x = LD,
                     .w1 = w1,
                     .ld_w1 = 5,
                     .stride_w1 = STRIDE,
                     .b1 = op->bias & RGT_BIAS_1 ? b1 : NULL,
                     .stride_b1 = 9,
                     .w2 = w2,
                     .ld_w2 = 5,
                     .stride_w2 = STRIDE - 1,
                     .b2 = op->bias & RGT_BIAS_2 ? b2 : NULL,
                     .stride_b2 = 3,
                     .y = y,
                     .ld_y = LD,
                     .rows = ROWS,
                     .groups = GROUPS,
                     .index = op->index_type == RGT_I64 ? (const void *)index64 : (const void *)index32};
}

static double weight(const float *w, int64_t ld, const rgt_op_desc *op, int64_t in, int64_t out) {
  return op->layout == RGT_NK ? (double)w[out * ld + in] : (double)w[in * ld + out];
}

static double act64(rgt_act act, double z) {
  switch (act) {
  case RGT_ACT_RELU:
    return z < 0 ? 0 : z;
  case RGT_ACT_GELU:
    return 0.5 * z * (1 + erf(z / sqrt(2)));
  case RGT_ACT_GELU_TANH:
    return 0.5 * z * (1 + tanh(sqrt(2 / acos(-1)) * (z + 0.044715 * z * z * z)));
  case RGT_ACT_SILU:
    return z / (1 + exp(-z));
  case RGT_ACT_TANH:
    return tanh(z);
  default:
    return z;
  }
}

/* Every element of y against the formula, and every byte between them as it was. tolerance 0: exact. */
static void check(const char *text, double tolerance) {
  rgt_op_desc op = op_of(text);
  rgt_kargs k = kargs_of(&op);
  rgt__plain_loop(&op, &k, hidden);
  for (int r = 0; r < ROWS; r++) {
    int64_t g = op.index_type == RGT_I64 ? index64[r] : index32[r];
    for (int o = 0; o < LD; o++) {
      double expected = 777;
      if (o < op.n_out && (g < 0 || g >= GROUPS)) {
        expected = 0;
      } else if (o < op.n_out) {
        int64_t mid = op.kind == RGT_MLP ? op.n_hidden : 0;
        double sum = 0;
        if (op.kind == RGT_LINEAR) {
          for (int i = 0; i < op.n_in; i++) sum += weight(w1 + g * k.stride_w1, k.ld_w1, &op, i, o) * (double)x[r * LD + i];
          expected = act64(op.act, sum + (k.b1 ? (double)b1[g * k.stride_b1 + o] : 0));
        } else {
          for (int64_t h = 0; h < mid; h++) {
            double z = k.b1 ? (double)b1[g * k.stride_b1 + h] : 0;
            for (int i = 0; i < op.n_in; i++) z += weight(w1 + g * k.stride_w1, k.ld_w1, &op, i, h) * (double)x[r * LD + i];
            sum += act64(op.act, z) * weight(w2 + g * k.stride_w2, k.ld_w2, &op, h, o);
          }
          expected = sum + (k.b2 ? (double)b2[g * k.stride_b2 + o] : 0);
        }
      }
      if (!(fabs((double)y[r * LD + o] - expected) <= tolerance * (1 + fabs(expected))))
        fail_msg("%s: y[%d][%d] is %g, not %g", text, r, o, (double)y[r * LD + o], expected);
    }
  }
}

static void test_exact(void **state) {
  (void)state;
  static const char *const texts[] = {"linear:3-2:g3:f32:none:b0:nk:i64", "linear:3-2:g3:f32:relu:b1:nk:i32",
                                      "linear:3-2:g3:f32:none:b1:kn:i64", "linear:3-2:g3:f32:relu:b0:kn:i32",
                                      "mlp:3-4-2:g3:f32:none:b12:nk:i64", "mlp:3-4-2:g3:f32:relu:b12:kn:i64",
                                      "mlp:3-4-2:g3:f32:relu:b1:nk:i32",  "mlp:3-4-2:g3:f32:relu:b2:kn:i32",
                                      "mlp:3-4-2:g3:f32:relu:b0:nk:i64",  "linear:1-1:g3:f32:none:b1:nk:i64"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) check(texts[i], 0);
}

static void test_activations(void **state) {
  (void)state;
  static const char *const words[] = {"gelu", "gelu_tanh", "silu", "tanh"};
  char text[100];
  for (int i = 0; i < 4; i++) {
    snprintf(text, sizeof text, "linear:3-2:g3:f32:%s:b1:nk:i64", words[i]);
    check(text, 2e-6);
    snprintf(text, sizeof text, "mlp:3-4-2:g3:f32:%s:b12:kn:i32", words[i]);
    check(text, 1e-5);
  }
}

static void test_nan(void **state) {
  (void)state;
  rgt_op_desc op = op_of("linear:3-2:g3:f32:relu:b1:nk:i64");
  rgt_kargs k = kargs_of(&op);
  x[0] = NAN;      /* a live row */
  x[1 * LD] = NAN; /* a masked one */
  x[4 * LD] = NAN; /* one out of range */
  rgt__plain_loop(&op, &k, hidden);
  assert_true(isnan(y[0]) && isnan(y[1]));
  for (int r = 1; r < ROWS; r++)
    for (int o = 0; o < OUT; o++) assert_true(!isnan(y[r * LD + o]));
  assert_true(copysignf(1, y[1 * LD]) > 0);
  assert_true(y[1 * LD] == 0 && y[4 * LD] == 0);
}

static void test_no_rows(void **state) {
  (void)state;
  rgt_op_desc op = op_of("mlp:3-4-2:g3:f32:relu:b12:nk:i64");
  rgt_kargs k = {.rows = 0, .groups = 3};
  rgt__plain_loop(&op, &k, NULL); /* touches nothing */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact), cmocka_unit_test(test_activations),
                                     cmocka_unit_test(test_nan), cmocka_unit_test(test_no_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
