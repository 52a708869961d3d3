/* test_plan.c -- formulas of a call, and the programs that are not valid for it. */
#include "runtime/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static rgt__program program;
static rgt__plan plan;
static const rgt__device_info info = {.n_threads = 3, .sm_count = 132};

static void make(const char *lines, int64_t rows, int64_t groups) {
  char text[1000];
  rgt__error err = {""};
  snprintf(text, sizeof text, "rgt-program 1\nkargs 1\n%s", lines);
  memset(&plan, 0xAA, sizeof plan);
  if (rgt__program_parse(text, &program, &err) != RGT_OK) fail_msg("%s", err.text);
  rgt__plan_make(&program, &info, rows, groups, &plan);
  assert_int_equal(plan.rows, rows);
  assert_int_equal(plan.groups, groups);
}

static void test_values(void **state) {
  (void)state;
  make("valid rows <= 100\nworkspace 8 * groups + 64\n"
       "memset offset 64 ; bytes 8 * groups ; value 255\n"
       "kernel a grid min(rows, 4 * n_threads) ; block 128 ; shared 4 * groups ; cluster 2\n"
       "kernel b grid ceil_div(rows, 7) + sm_count * occupancy ; block 0 ; shared 0 ; cluster 0\n",
       50, 9);
  assert_int_equal(plan.valid, 1);
  assert_int_equal(plan.workspace_bytes, 136);
  assert_int_equal(plan.steps[0].offset, 64);
  assert_int_equal(plan.steps[0].bytes, 72);
  assert_int_equal(plan.steps[0].grid, 0);
  assert_int_equal(plan.steps[1].grid, 12);
  assert_int_equal(plan.steps[1].block, 128);
  assert_int_equal(plan.steps[1].shared, 36);
  assert_int_equal(plan.steps[1].cluster, 2);
  assert_int_equal(plan.steps[1].offset, 0);
  assert_int_equal(plan.steps[1].bytes, 0);
  assert_int_equal(plan.steps[2].grid, 8 + 132);
  make("valid rows <= 100\nworkspace 0\n", 101, 9);
  assert_int_equal(plan.valid, 0);
}

static void test_no_rows(void **state) {
  (void)state;
  make("valid 1\nworkspace 4 * rows\nkernel a grid ceil_div(rows, 4) ; block 0 ; shared 0 ; cluster 0\n", 0, 1);
  assert_int_equal(plan.valid, 1);
  assert_int_equal(plan.workspace_bytes, 0);
  assert_int_equal(plan.steps[0].grid, 0);
}

/* valid is a truth value, whatever the number. */
static void test_valid_is_a_truth(void **state) {
  (void)state;
  make("valid rows\nworkspace 0\n", 77, 1);
  assert_int_equal(plan.valid, 1);
  make("valid rows\nworkspace 0\n", 0, 1);
  assert_int_equal(plan.valid, 0);
}

static void test_largest(void **state) {
  (void)state;
  make("valid rows <= 2147483647 and groups <= 2147483647\nworkspace rows * groups * 4\n"
       "kernel a grid rows * 16777216 ; block 0 ; shared 0 ; cluster 0\n",
       2147483647, 2147483647);
  assert_int_equal(plan.valid, 1);
  assert_int_equal(plan.workspace_bytes, INT64_MAX); /* saturated, so no memory will be had for it, and nothing wraps */
  assert_int_equal(plan.steps[0].grid, 2147483647 * (int64_t)16777216);
}

static void invalid(const char *lines) {
  make(lines, 10, 0);
  assert_int_equal(plan.valid, 0);
}

/* A number that means nothing, or a memset outside the workspace: the default variant must run instead. */
static void test_impossible(void **state) {
  (void)state;
  invalid("valid rows / groups == 0\nworkspace 0\n");
  invalid("valid 1\nworkspace 64 / groups\n");
  invalid("valid 1\nworkspace 0\nkernel a grid ceil_div(rows, groups) ; block 0 ; shared 0 ; cluster 0\n");
  invalid("valid 1\nworkspace 0\nkernel a grid 1 ; block 0 ; shared rows / groups ; cluster 0\n");
  invalid("valid 1\nworkspace groups - 1\n");
  invalid("valid 1\nworkspace 64\nmemset offset 0 ; bytes 65 ; value 0\n");
  invalid("valid 1\nworkspace 64\nmemset offset 1 ; bytes 64 ; value 0\n");
  invalid("valid 1\nworkspace 64\nmemset offset 65 ; bytes 0 ; value 0\n");
  invalid("valid 1\nworkspace 64\nmemset offset groups - 1 ; bytes 8 ; value 0\n");
  invalid("valid 1\nworkspace 64\nmemset offset 8 ; bytes groups - 1 ; value 0\n");
  invalid("valid 1\nworkspace 64\nmemset offset rows * 9223372036854775807 ; bytes rows * 9223372036854775807 ; value 0\n");
  make("valid 1\nworkspace 64\nmemset offset 1 ; bytes 63 ; value 0\nmemset offset 64 ; bytes 0 ; value 0\n", 10, 0);
  assert_int_equal(plan.valid, 1);
}

/* What CUDA would refuse to launch is not valid there; the CPU knows no such limits. */
static void test_limits_of_a_launch(void **state) {
  static const struct {
    const char *step;
    int valid;
  } cases[] = {{"grid 2147483647 ; block 1024 ; shared 232448 ; cluster 0", 1},
               {"grid 2147483648 ; block 32 ; shared 0 ; cluster 0", 0},
               {"grid 0 - 1 ; block 32 ; shared 0 ; cluster 0", 0},
               {"grid 1 ; block 1025 ; shared 0 ; cluster 0", 0},
               {"grid 1 ; block 0 ; shared 0 ; cluster 0", 0},
               {"grid 0 ; block 0 ; shared 0 ; cluster 0", 1},
               {"grid 1 ; block 32 ; shared 232449 ; cluster 0", 0},
               {"grid 1 ; block 32 ; shared 0 - 1 ; cluster 0", 0},
               {"grid 16 ; block 32 ; shared 0 ; cluster 8", 1},
               {"grid 16 ; block 32 ; shared 0 ; cluster 3", 0},
               {"grid 16 ; block 32 ; shared 0 ; cluster 16", 0},
               {"grid 16 ; block 32 ; shared 0 ; cluster 0 - 1", 0}};
  rgt__device_info cuda = {.target = {.device = "cuda", .n_facts = 1, .facts = {{"shared_optin_max", 232448}}}};
  char text[300];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    snprintf(text, sizeof text, "valid 1\nworkspace 0\nkernel a %s\n", cases[i].step);
    make(text, 5, 1);
    assert_int_equal(plan.valid, 1);
    rgt__plan_make(&program, &cuda, 5, 1, &plan);
    if (plan.valid != cases[i].valid) fail_msg("%s is %svalid", cases[i].step, plan.valid ? "" : "not ");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limits_of_a_launch), cmocka_unit_test(test_values),  cmocka_unit_test(test_no_rows),
      cmocka_unit_test(test_valid_is_a_truth),   cmocka_unit_test(test_largest), cmocka_unit_test(test_impossible)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
