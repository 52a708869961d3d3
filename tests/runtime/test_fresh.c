/* test_fresh.c -- what is said of results that another toolchain, driver or template has overtaken, and what tuning does about
 * them. */
#include "runtime/fresh.h"
#include "tests/support/planted.h"

#define NEAR "mlp:12-20-5:g4:f32:relu:b12:nk:i64"

static front f;

static int begin(void **state) {
  (void)state;
  memset(&planted_run, 0, sizeof planted_run);
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
  rgt_why_info i = {.struct_size = sizeof i};
  front_ok(&f, rgt_why(op, rows, &i));
  return i;
}

/* As if the machine had got another one since. */
static void set_driver(const char *text) {
  snprintf(f.ctx->device->info.driver, sizeof f.ctx->device->info.driver, "%s", text);
}

static const char *toolchain_here(void) {
  const char *text = NULL;
  front_ok(&f, rgt__context_toolchain(f.ctx, &text));
  return text;
}

/* ---- what is said ---- */

/* Each of the three alone and with the others, each case in a bucket of its own. */
static void all_that_differs_is_named(void **state) {
  static const char *const names[] = {"",         "toolchain",           "driver",           "toolchain, driver",
                                      "template", "toolchain, template", "driver, template", "toolchain, driver, template"};
  (void)state;
  const char *here = toolchain_here();
  set_driver("driver 2");
  rgt_op *op = front_op(&f, FRONT_MLP);
  for (int i = 0; i < 8; i++) {
    planted_run.toolchain = i & 1 ? "another" : here;
    planted_run.driver = i & 2 ? "driver 1" : "driver 2";
    planted_run.has_template_digest = i & 4; /* all zero */
    store_one(op, 1 << i, FRONT_FUSED);
    rgt_why_info w = why(op, 1 << i);
    assert_string_equal(w.outdated, names[i]);
    assert_string_equal(w.variant, FRONT_FUSED); /* neither hidden nor thrown away */
    assert_int_equal(strstr(w.note, "to be validated again") != NULL, i != 0);
  }
}

/* The newest run is another machine's state; an older one was timed in today's. */
static void any_run_of_today_is_enough(void **state) {
  (void)state;
  set_driver("driver 2");
  planted_run.toolchain = toolchain_here();
  rgt_op *op = front_op(&f, FRONT_MLP);
  for (int newest = 1; newest <= 2; newest++) {
    int64_t rows = 8 * newest;
    planted_run.driver = newest == 1 ? "driver 1" : "driver 2";
    store_one(op, rows, FRONT_FUSED);
    assert_string_equal(why(op, rows).outdated, newest == 1 ? "driver" : "");
    planted_run.driver = newest == 1 ? "driver 2" : "driver 1";
    store_one(op, rows, FRONT_FUSED);
    assert_string_equal(why(op, rows).outdated, "");
  }
}

/* Of another shape's winner it says nothing: that one was never timed for this op. */
static void not_of_what_is_only_near(void **state) {
  (void)state;
  toolchain_here();
  planted_run.toolchain = "another";
  store_one(front_op(&f, NEAR), 8, FRONT_FUSED);
  assert_string_equal(why(front_op(&f, NEAR), 8).outdated, "toolchain");
  rgt_why_info w = why(front_op(&f, FRONT_MLP), 8);
  assert_int_equal(w.match, RGT_MATCH_SHAPE);
  assert_string_equal(w.outdated, "");
}

/* Asking a compiler for its version starts it; what it said before is known by its stamp. */
static void the_compiler_is_not_started_for_it(void **state) {
  rgt__digest now, then;
  (void)state;
  assert_false(rgt__fresh_toolchain(f.ctx, &now));
  planted_run.toolchain = "another";
  store_one(front_op(&f, FRONT_MLP), 8, FRONT_FUSED);
  assert_string_equal(why(front_op(&f, FRONT_MLP), 8).outdated, ""); /* nobody knows */
  assert_int_equal(front_compiles(&f), 0);
  rgt__fresh_remember(f.ctx->cache, f.ctx->device, "cc 1");
  rgt__fresh_remember(f.ctx->cache, f.ctx->device, "cc 2"); /* in its place */
  rgt__fresh_digest("cc 2", &then);
  front_open(&f);
  assert_true(rgt__fresh_toolchain(f.ctx, &now));
  assert_true(rgt__digest_equal(&now, &then));
  assert_string_equal(why(front_op(&f, FRONT_MLP), 8).outdated, "toolchain");
  assert_int_equal(front_compiles(&f), 0);
  rgt__fresh_digest(toolchain_here(), &then); /* now it was asked */
  assert_true(rgt__fresh_toolchain(f.ctx, &now));
  assert_true(rgt__digest_equal(&now, &then));
  setenv("RAGTUNE_CC", "none", 1);
  front_open(&f);
  assert_false(rgt__fresh_toolchain(f.ctx, &now));
}

/* ---- what is done ---- */

/* No code is compiled again for another driver; winner, runner-up and default are timed again, once. */
static void another_driver_means_timing_again(void **state) {
  rgt_tune_result first, r;
  int64_t rows = 8;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_tune(&f, op, 8, &first);
  assert_true(first.n_tried >= 3);
  assert_string_equal(why(op, 8).outdated, "");
  front_open(&f);
  set_driver("driver 2");
  op = front_op(&f, FRONT_MLP);
  front_compiles(&f);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), first.winner);
  assert_int_equal(front_compiles(&f), 0);
  assert_string_equal(why(op, 8).outdated, "driver");
  assert_has(why(op, 8).note, "other driver since");
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_int_equal(r.status, RGT_OK);
  assert_false(r.hit);
  assert_true(r.n_tried <= 3);
  assert_has(f.log, "other driver since it was timed");
  assert_string_equal(why(op, 8).outdated, "");
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_true(r.hit);
  set_driver(""); /* back: it was timed with that one too */
  assert_string_equal(why(op, 8).outdated, "");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {TEST(all_that_differs_is_named), TEST(any_run_of_today_is_enough),
                                     TEST(not_of_what_is_only_near), TEST(the_compiler_is_not_started_for_it),
                                     TEST(another_driver_means_timing_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
