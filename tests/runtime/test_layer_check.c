/* test_layer_check.c -- which descriptions of a layer are possible, and what is said of the others. */
#include "runtime/prepare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static rgt_ctx ctx;
static rgt_op op; /* mlp 10-20-5, nk: w1 is 20 rows of 10, w2 5 rows of 20 */
static const float w[1], b[1];
static const void *const w_list[] = {w}, *const b_list[] = {b};

static int setup(void **state) {
  (void)state;
  memset(&ctx, 0, sizeof ctx);
  op = (rgt_op){.ctx = &ctx, .packed_w1_ld = 10, .packed_w1_stride = 20, .packed_w2_ld = 20, .packed_w2_stride = 5};
  op.desc.bias = RGT_BIAS_1;
  return 0;
}

static void good(rgt_layer layer, int number) {
  ctx.error.text[0] = 0;
  if (rgt__prepare_check_layer(&op, &layer, number) != RGT_OK) fail_msg("%s", ctx.error.text);
}

static void bad(rgt_layer layer, int number, const char *message) {
  ctx.error.text[0] = 0;
  assert_int_equal(rgt__prepare_check_layer(&op, &layer, number), RGT_EINVAL);
  assert_string_equal(ctx.error.text, message);
}

static void test_form(void **state) {
  (void)state;
  static const char stacked[] = "layer1: the op's weight_form is stacked: set w and leave w_ptrs NULL";
  static const char pointers[] = "layer1: the op's weight_form is pointers: set w_ptrs and leave w NULL";
  good((rgt_layer){.w = w, .b = b}, 1);
  bad((rgt_layer){.b = b}, 1, stacked);
  bad((rgt_layer){.w_ptrs = w_list, .b = b}, 1, stacked);
  bad((rgt_layer){.w = w, .w_ptrs = w_list, .b = b}, 1, stacked);
  op.uses_pointers = 1;
  good((rgt_layer){.w_ptrs = w_list, .b = b}, 1);
  bad((rgt_layer){.b = b}, 1, pointers);
  bad((rgt_layer){.w = w, .b = b}, 1, pointers);
  bad((rgt_layer){.w = w, .w_ptrs = w_list, .b = b}, 1, pointers);
}

static void test_bias(void **state) {
  (void)state;
  good((rgt_layer){.w = w, .b_ptrs = b_list}, 1);
  good((rgt_layer){.w = w}, 2);
  bad((rgt_layer){.w = w}, 1, "layer1: the op has a bias there: set one of b and b_ptrs");
  bad((rgt_layer){.w = w, .b = b}, 2, "layer2: the op has no bias there: leave NULL b and b_ptrs");
  bad((rgt_layer){.w = w, .b_ptrs = b_list}, 2, "layer2: the op has no bias there: leave NULL b and b_ptrs");
  bad((rgt_layer){.w = w, .b = b, .b_ptrs = b_list}, 1, "layer1: b and b_ptrs are both set; set one");
  op.desc.bias = RGT_BIAS_2;
  good((rgt_layer){.w = w}, 1);
  good((rgt_layer){.w = w, .b = b}, 2);
  bad((rgt_layer){.w = w}, 2, "layer2: the op has a bias there: set one of b and b_ptrs");
}

static void test_leading_dimension(void **state) {
  (void)state;
  good((rgt_layer){.w = w, .b = b, .ld_w = 10}, 1);
  good((rgt_layer){.w = w, .b = b, .ld_w = 11}, 1);
  bad((rgt_layer){.w = w, .b = b, .ld_w = 9}, 1, "layer1: ld_w is 9; it can be 0 (packed) or 10 and more");
  bad((rgt_layer){.w = w, .b = b, .ld_w = -1}, 1, "layer1: ld_w is -1; it can be 0 (packed) or 10 and more");
  bad((rgt_layer){.w = w, .ld_w = 19}, 2, "layer2: ld_w is 19; it can be 0 (packed) or 20 and more");
  good((rgt_layer){.w = w, .ld_w = 20}, 2);
}

static void test_strides(void **state) {
  (void)state;
  good((rgt_layer){.w = w, .b = b, .stride_w = 1000, .stride_b = 1}, 1);
  bad((rgt_layer){.w = w, .b = b, .stride_w = -1}, 1, "layer1: a stride is negative; it can be 0 (packed) or more");
  bad((rgt_layer){.w = w, .stride_b = -5}, 2, "layer2: a stride is negative; it can be 0 (packed) or more");
}

/* 4 * ld + 20 elements are the last: exactly at the limit, and one past it. */
static void test_overflow(void **state) {
  (void)state;
  int64_t most = (INT64_MAX - 20) / 4;
  good((rgt_layer){.w = w, .ld_w = most}, 2);
  bad((rgt_layer){.w = w, .ld_w = most + 1}, 2, "layer2: ld_w is 2305843009213693947: offsets pass 2^63");
  bad((rgt_layer){.w = w, .ld_w = INT64_MAX}, 2, "layer2: ld_w is 9223372036854775807: offsets pass 2^63");
  op.packed_w2_stride = 1; /* one row: its ld is never used */
  good((rgt_layer){.w = w, .ld_w = INT64_MAX}, 2);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_form), TEST(test_bias), TEST(test_leading_dimension), TEST(test_strides),
                                     TEST(test_overflow)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
