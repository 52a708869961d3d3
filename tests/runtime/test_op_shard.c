/* test_op_shard.c -- to which shard a signature of an op belongs: what changes it, what does not, what is refused. */
#include "tests/support/front.h"

static front f;

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  front_open(&f);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static int shard_of(rgt_op *op, int64_t rows, rgt_skew skew, int n) {
  int shard = -1;
  front_ok(&f, rgt_op_shard(op, rows, skew, n, &shard));
  assert_in_range(shard, 0, n - 1);
  return shard;
}

static void it_is_the_signatures(void **state) {
  rgt_op_options budget = {.struct_size = sizeof budget, .max_error = 0.5}, order = {.struct_size = sizeof order};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP), *loose = front_op_with(&f, FRONT_MLP, &budget);
  order.order = RGT_ORDER_SORTED;
  rgt_op *sorted = front_op_with(&f, FRONT_MLP, &order), *other = front_op(&f, FRONT_LINEAR);
  int by_rows = 0, by_skew = 0, by_op = 0, by_order = 0;
  for (int64_t rows = 1; rows <= 1 << 16; rows *= 2) {
    int shard = shard_of(op, rows, RGT_SKEW_UNIFORM, 1000);
    assert_int_equal(shard_of(op, rows / 2 + 1, RGT_SKEW_UNKNOWN, 1000), shard); /* the same bucket and skew */
    assert_int_equal(shard_of(loose, rows, RGT_SKEW_UNIFORM, 1000), shard);      /* the budget is no part of it */
    assert_int_equal(shard_of(op, rows, RGT_SKEW_UNIFORM, 1), 0);
    by_rows += shard != shard_of(op, 2 * rows, RGT_SKEW_UNIFORM, 1000);
    by_skew += shard != shard_of(op, rows, RGT_SKEW_ONE, 1000);
    by_op += shard != shard_of(other, rows, RGT_SKEW_UNIFORM, 1000);
    by_order += shard != shard_of(sorted, rows, RGT_SKEW_UNIFORM, 1000);
  }
  assert_true(by_rows > 12 && by_skew > 12 && by_op > 12 && by_order > 12); /* of 17; they may agree by chance */
}

static void refusals(void **state) {
  int shard = 77;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_op_shard(op, 0, RGT_SKEW_UNIFORM, 8, &shard), RGT_EINVAL, "rows is 0");
  front_fails(&f, rgt_op_shard(op, RGT_COUNT_MAX + 1, RGT_SKEW_UNIFORM, 8, &shard), RGT_EINVAL, "2147483647");
  front_fails(&f, rgt_op_shard(op, 8, (rgt_skew)9, 8, &shard), RGT_EINVAL, "skew is 9");
  front_fails(&f, rgt_op_shard(op, 8, RGT_SKEW_UNIFORM, 0, &shard), RGT_EINVAL, "n_shards is 0; it can be 1 to 10000");
  front_fails(&f, rgt_op_shard(op, 8, RGT_SKEW_UNIFORM, 10001, &shard), RGT_EINVAL, "n_shards is 10001");
  front_fails(&f, rgt_op_shard(op, 8, RGT_SKEW_UNIFORM, 8, NULL), RGT_EINVAL, "shard");
  assert_int_equal(shard, 77);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_the_signatures), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, begin, end);
}
