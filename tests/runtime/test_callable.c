/* test_callable.c -- the built-in kernel and a candidate as things that compute y. */
#include "runtime/callable.h"

#include "tests/support/paced_device.h"

static paced_device device;
static rgt__candidate *candidate;
static rgt__error err;
static rgt_op_desc op;

static const float x[3][2] = {{1, 2}, {3, 4}, {5, 6}}, w1[2][3][2] = {{{1, 0}, {0, 1}, {1, 1}}, {{2, 0}, {0, 2}, {-1, 0}}},
                   b1[2][3] = {{1, 1, 1}, {0, 0, 1}};
static const float w2[2][1][3] = {{{1, 1, 1}}, {{1, 2, 3}}}, b2[2][1] = {{10}, {20}};
static const int32_t indices[3] = {1, -1, 0};
static rgt_int64 errors[2];
static float y[3];

static rgt_kargs kargs(void) {
  errors[0] = 0;
  errors[1] = INT64_MAX;
  for (int i = 0; i < 3; i++) y[i] = 777;
  return (rgt_kargs){.x = x,
                     .index = indices,
                     .w1 = w1,
                     .b1 = b1,
                     .w2 = w2,
                     .b2 = b2,
                     .y = y,
                     .ld_x = 2,
                     .ld_w1 = 2,
                     .ld_w2 = 3,
                     .ld_y = 1,
                     .stride_w1 = 6,
                     .stride_b1 = 3,
                     .stride_w2 = 3,
                     .stride_b2 = 1,
                     .rows = 3,
                     .groups = 2,
                     .x_div = 1,
                     .n_index_errors = &errors[0],
                     .first_index_error = &errors[1]};
}

static void assert_right(void) {
  assert_true(y[0] == 20 + 2 * 1 + 2 * 4 + 3 * 0); /* relu(2, 4, -1 + 1) */
  assert_true(y[1] == 0);
  assert_true(y[2] == 10 + 6 + 7 + 12);
}

static int setup(void **state) {
  (void)state;
  paced_open(&device, "cpu");
  candidate = calloc(1, sizeof *candidate);
  return rgt__op_parse("mlp:2-3-1:g2:f32:relu:b12:nk:i32", &op, NULL) != RGT_OK;
}

static int teardown(void **state) {
  (void)state;
  rgt__candidate_free(&device.base, candidate);
  free(candidate);
  return device.n_blocks;
}

static void test_builtin(void **state) {
  (void)state;
  rgt__builtin_callable self = {&op, RGT_STACKED};
  rgt__callable c = rgt__callable_builtin(&self, &device.base);
  rgt_kargs k = kargs();
  assert_ptr_equal(c.device, &device.base);
  assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_OK);
  assert_right();
  assert_int_equal(errors[0], 0);
  k = kargs();
  k.rows = 0;
  assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_OK);
  assert_true(y[0] == 777);
  scratch_fail_after(0);
  assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_ENOMEM);
  scratch_fail_never();
}

static void test_builtin_by_pointers(void **state) {
  (void)state;
  const void *w1_list[2] = {w1[0], w1[1]}, *w2_list[2] = {w2[0], w2[1]};
  rgt_kargs k = kargs();
  k.w1 = w1_list;
  k.w2 = w2_list;
  assert_int_equal(rgt__callable_run_builtin(&op, RGT_POINTERS, &device.base, &k, &err), RGT_OK);
  assert_right();
}

static void test_builtin_unsupported(void **state) {
  (void)state;
  rgt_kargs k = kargs();
  paced_open(&device, "cuda");
  assert_int_equal(rgt__callable_run_builtin(&op, RGT_STACKED, &device.base, &k, &err), RGT_EUNSUPPORTED);
  assert_string_equal(err.text, "there is no built-in kernel for this op on device cuda");
  assert_true(y[0] == 777);
}

/* ---- a candidate ---- */

static int n_clean;

/* Finds its workspace full of 0xFF, uses it up, and leaves 5 in y. */
static void kernel(paced_device *d, const rgt__plan *plan, const rgt_kargs *k, void *workspace) {
  (void)d;
  int clean = plan->workspace_bytes == 48;
  for (int64_t i = 0; i < plan->workspace_bytes; i++) clean &= ((unsigned char *)workspace)[i] == 0xFF;
  if (plan->workspace_bytes > 0) memset(workspace, 0, (size_t)plan->workspace_bytes);
  n_clean += clean;
  ((float *)k->y)[0] = 5;
}

static rgt__callable make(rgt__candidate_callable *self, const char *program) {
  paced_program(&candidate->program, program);
  candidate->op = op;
  if (!candidate->module) candidate->module = calloc(1, sizeof *candidate->module);
  device.kernel = kernel;
  n_clean = 0;
  *self = (rgt__candidate_callable){.candidate = candidate, .form = RGT_STACKED};
  return rgt__callable_candidate(self, &device.base);
}

static void test_candidate(void **state) {
  (void)state;
  rgt__candidate_callable self;
  rgt__callable c = make(&self, "valid rows <= 3\nworkspace 16 * rows\n");
  rgt_kargs k = kargs();
  for (int i = 1; i <= 3; i++) {
    assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_OK);
    assert_int_equal(n_clean, i); /* poisoned anew each time */
    assert_int_equal(self.n_runs, i);
    assert_int_equal(device.n_blocks, 0);
  }
  assert_true(y[0] == 5);
  c = make(&self, "valid 1\nworkspace 0\n");
  assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_OK);
  assert_int_equal(device.n_launches, 4);
}

/* Where its program is not valid the built-in kernel runs, as in dispatch. */
static void test_candidate_not_valid(void **state) {
  (void)state;
  rgt__candidate_callable self;
  rgt__callable c = make(&self, "valid rows <= 2\nworkspace 0\n");
  rgt_kargs k = kargs();
  assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_OK);
  assert_right();
  assert_int_equal(device.n_launches, 0);
  assert_int_equal(self.n_runs, 0);
}

static void test_candidate_fails(void **state) {
  (void)state;
  rgt__candidate_callable self;
  rgt__callable c = make(&self, "valid 1\nworkspace 48\n");
  rgt_kargs k = kargs();
  device.launches_left = 0;
  assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_EIO);
  assert_string_equal(err.text, "the launch failed");
  assert_int_equal(device.n_blocks, 0);
  device.memory_left = 47;
  assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_ENOMEM);
  device.memory_left = 1000;
  scratch_fail_after(0);
  assert_int_equal(c.run(c.self, c.device, &k, &err), RGT_ENOMEM);
  scratch_fail_never();
  assert_int_equal(device.n_blocks, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_builtin),   TEST(test_builtin_by_pointers), TEST(test_builtin_unsupported),
                                     TEST(test_candidate), TEST(test_candidate_not_valid), TEST(test_candidate_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
