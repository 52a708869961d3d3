/* test_compile_report.c -- rgt_compile: a space compiled for a target, in its order, whether or not it can run here. */
#include "tests/support/folder.h"
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

enum { SEEN_MAX = 100 };

typedef struct seen {
  int n, stop_after, n_of[RGT_N_OUTCOMES];
  char variants[SEEN_MAX][RGT_VARIANT_TEXT_MAX];
  char reason[RGT_REASON_MAX];
  int registers;
} seen;

static int take(void *user, const rgt_compile_info *i) {
  seen *s = user;
  assert_true(s->n < SEEN_MAX);
  assert_true((unsigned)i->outcome < RGT_N_OUTCOMES);
  assert_int_equal(strlen(i->digest), 64);
  if (i->outcome == RGT_TRIAL_OK) {
    assert_true(i->code_bytes > 0 && i->milliseconds > 0);
    assert_string_equal(i->reason, "");
  } else {
    snprintf(s->reason, sizeof s->reason, "%s", i->reason);
  }
  s->registers = i->registers;
  s->n_of[i->outcome]++;
  snprintf(s->variants[s->n++], RGT_VARIANT_TEXT_MAX, "%s", i->variant);
  return s->n == s->stop_after;
}

static seen all, some;

static void samples_of_a_space(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  memset(&all, 0, sizeof all);
  memset(&some, 0, sizeof some);
  front_ok(&f, rgt_compile(op, NULL, NULL, 5, 7, take, &all));
  assert_int_equal(all.n, 5);
  assert_int_equal(all.n_of[RGT_TRIAL_OK], 5);
  assert_true(front_compiles(&f) >= 5);
  front_ok(&f, rgt_compile(op, "cpu", NULL, 5, 7, take,
                           &some)); /* the same seed, the same sample, in the same order; compiled anew */
  assert_true(front_compiles(&f) >= 5);
  assert_int_equal(some.n, 5);
  for (int i = 0; i < 5; i++) assert_string_equal(all.variants[i], some.variants[i]);
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++) assert_string_not_equal(all.variants[i], all.variants[j]);
  memset(&some, 0, sizeof some);
  front_ok(&f, rgt_compile(op, NULL, FRONT_FUSED, 0, 0, take, &some));
  assert_int_equal(some.n, 1);
  assert_string_equal(some.variants[0], FRONT_FUSED);
  assert_int_equal(some.registers, 0); /* of the GPU's */
}

static void a_callback_may_stop(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_LINEAR);
  memset(&some, 0, sizeof some);
  some.stop_after = 2;
  assert_int_equal(rgt_compile(op, NULL, NULL, 6, 1, take, &some), RGT_EINTERRUPTED);
  assert_int_equal(some.n, 2);
}

static void what_does_not_compile(void **state) {
  char folder[200];
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, RGT_TESTS_DIR "/fixtures/broken");
  front_open_mode(&f, NULL, folder);
  rgt_op *op = front_op(&f, FRONT_MLP);
  memset(&some, 0, sizeof some);
  front_fails(&f, rgt_compile(op, NULL, "broken:fault=6,more=16", 0, 0, take, &some), RGT_EINFEASIBLE, "none of 1 variants");
  assert_int_equal(some.n_of[RGT_TRIAL_COMPILE_ERROR], 1);
  assert_has(some.reason, "broken.c:");
  memset(&some, 0, sizeof some);
  front_fails(&f, rgt_compile(op, NULL, "broken:fault=7,more=16", 0, 0, take, &some), RGT_EINFEASIBLE, "none of 1 variants");
  assert_int_equal(some.n_of[RGT_TRIAL_INFEASIBLE], 1);
  assert_has(some.reason, "so many faults there are");
}

static void refusals(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  memset(&some, 0, sizeof some);
  front_fails(&f, rgt_compile(op, "vax", NULL, 0, 0, take, &some), RGT_EINVAL, "target \"vax\"");
  front_fails(&f, rgt_compile(op, NULL, "wax", 0, 0, take, &some), RGT_EINVAL, "wax");
  setenv("RAGTUNE_CC", "none", 1);
  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_compile(op, NULL, NULL, 1, 0, take, &some), RGT_ENOCOMPILER, "RAGTUNE_CC=none");
  setenv("RAGTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_compile(op, "sm_90", NULL, 1, 0, take, &some), RGT_ENOCOMPILER, "/nowhere/libnvrtc.so");
  assert_int_equal(some.n, 0);
}

/* For a GPU that is not here: registers are counted, and nothing spills in the default. */
static void for_a_gpu(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  memset(&some, 0, sizeof some);
  rgt_status status = rgt_compile(op, "sm_90", NULL, 2, 1, take, &some);
  if (status == RGT_ENOCOMPILER) {
    print_message("skipped: sm_90: %s\n", rgt_errmsg(f.ctx));
    skip();
  }
  front_ok(&f, status);
  assert_true(some.n >= 2); /* the default of every family stays */
  assert_true(some.registers > 0 && some.registers <= 255);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(samples_of_a_space), TEST(a_callback_may_stop), TEST(what_does_not_compile), TEST(refusals), TEST(for_a_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
