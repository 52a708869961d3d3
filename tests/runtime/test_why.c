/* test_why.c -- rgt_why: what dispatch would run, from where, how exact, and by what margin. */
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

static rgt_why_info why(rgt_op *op, int64_t rows) {
  rgt_why_info info = {.struct_size = sizeof info};
  front_ok(&f, rgt_why(op, rows, &info));
  return info;
}

static void nothing_is_stored(void **state) {
  (void)state;
  rgt_why_info i = why(front_op(&f, FRONT_MLP), 5);
  assert_int_equal(i.from, RGT_FROM_DEFAULT);
  assert_false(i.exact);
  assert_string_equal(i.variant, FRONT_DEFAULT);
  assert_has(i.note, "nothing stored for this op on this device");
  assert_has(i.signature, FRONT_MLP);
  assert_string_equal(i.stored_signature, "");
  assert_string_equal(i.runner_up, "");
  assert_true(i.device_class[0]);
  assert_int_equal(i.time_ps, 0);
  assert_int_equal(i.n_runs, 0);
  assert_int_equal(front_compiles(&f), 0); /* asking costs no compiler */
}

static void what_was_tuned(void **state) {
  rgt_tune_result r;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_tune(&f, op, 64, &r);
  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  front_compiles(&f);
  rgt_why_info i = why(op, 50);
  assert_int_equal(i.from, RGT_FROM_USER_DB);
  assert_true(i.exact);
  assert_string_equal(i.variant, r.winner);
  assert_string_equal(i.runner_up, r.runner_up);
  assert_string_equal(i.signature, i.stored_signature);
  assert_int_equal(i.time_ps, r.time_ps);
  assert_int_equal(i.low_ps, r.low_ps);
  assert_int_equal(i.high_ps, r.high_ps);
  assert_int_equal(i.n_runs, 3);
  assert_true(i.ratio > 0 && i.ratio <= 1);
  assert_true(i.margin > -1);
  assert_has(i.note, "50 rows fall in the tuned bucket 64");
  i = why(op, 3);
  assert_has(i.note, "3 rows fall in bucket 4, which is not tuned; 64 is the next larger tuned one");
  assert_string_equal(i.variant, r.winner);
  i = why(op, 1000);
  assert_has(i.note, "1000 rows fall in bucket 1024, which is not tuned; 64 is the largest tuned one");
  i = why(front_op(&f, "mlp:12-20-5:g4:f32:relu:b12:nk:i64"), 64); /* another shape of the same kind */
  assert_false(i.exact);
  assert_has(i.note, "nearest");
  assert_has(i.stored_signature, FRONT_MLP);
  assert_string_equal(i.variant, r.winner);
  assert_int_equal(front_compiles(&f), 0);
}

static void in_memory_and_off(void **state) {
  rgt_tune_result r;
  (void)state;
  rgt_options o = front_options(&f);
  o.database = ":memory:";
  front_ok(&f, front_open_with(&f, &o));
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_tune(&f, op, 8, &r);
  rgt_why_info i = why(op, 8);
  assert_int_equal(i.from, RGT_FROM_MEMORY);
  assert_string_equal(i.variant, r.winner);
  front_open_mode(&f, "off", NULL);
  i = why(front_op(&f, FRONT_MLP), 8);
  assert_int_equal(i.from, RGT_FROM_DEFAULT);
  assert_has(i.note, "mode off");
}

static void without_a_compiler(void **state) {
  (void)state;
  setenv("RAGTUNE_CC", "none", 1);
  front_open(&f);
  rgt_why_info i = why(front_op(&f, FRONT_MLP), 8);
  assert_string_equal(i.variant, "builtin");
  assert_int_equal(i.from, RGT_FROM_BUILTIN);
  assert_has(i.note, "no compiler was found");
}

static void refusals(void **state) {
  rgt_why_info i = {.struct_size = sizeof i, .n_runs = 77};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_why(op, 0, &i), RGT_EINVAL, "rows is 0");
  front_fails(&f, rgt_why(op, RGT_COUNT_MAX + 1, &i), RGT_EINVAL, "rows is 2147483648");
  assert_int_equal(i.n_runs, 77);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(nothing_is_stored), TEST(what_was_tuned), TEST(in_memory_and_off), TEST(without_a_compiler), TEST(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
