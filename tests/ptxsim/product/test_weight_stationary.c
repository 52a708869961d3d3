/* test_weight_stationary.c -- how even weight_stationary's blocks are, on ptxsim; and that its bits are row_gather's.
 *
 * A block is idle for the part of the launch's time in which it has no instruction to issue while the busiest block has one. */
#include "counted.h"

#include "../tests/support/nvrtc.h"

#include <stdlib.h>
#include <string.h>

static counted_lab lab;

static void check(const char *op, const char *variant, const counted_rows *r, double average, double idlest) {
  ptxsim_launches sum, last;
  counted_code c;
  counted_code_open(&lab, op, variant, &c);
  counted_run(&lab, &c, r, &sum, &last, NULL);
  print_message(
      "  %s\n    %u blocks, busy %.1f %% of the time on average, the idlest %.1f %%; plan %llu launches, %.1f us; then 1 "
      "launch, %.1f us; %llu instructions\n",
      variant, last.grid[0], 100 * counted_busy(&last), 100 * counted_least_busy(&last), (unsigned long long)sum.n_launches - 1,
      (double)(sum.time_ps - last.time_ps) / 1e6, (double)last.time_ps / 1e6, (unsigned long long)last.counters.inst_executed);
  assert_int_equal(strncmp(last.kernel, "weight_stationary", 17), 0);
  if (counted_busy(&last) < average)
    fail_msg("busy %.1f %% of the time, not %.0f %%", 100 * counted_busy(&last), 100 * average);
  if (counted_least_busy(&last) < idlest)
    fail_msg("the idlest block is busy %.1f %% of the time, not %.0f %%", 100 * counted_least_busy(&last), 100 * idlest);
  counted_code_close(&lab, &c);
}

#define VARIANT(at_once, held, team, threads, tile) \
  "weight_stationary:at_once=" #at_once ",held=" #held ",plan=1,team=" #team ",threads=" #threads ",tile=" #tile

/* The figure that the family is built for: one launch after the plan, no block idle for more than a tenth of the time. It takes
 * warps with 16 groups each: with 8 or 4, some have no group of three rows, and a block with two such warps has less to do. */
static void test_tiny_groups(void **state) {
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  counted_rows r = counted_rows_make(20000, 0, 3, 0);
  check("mlp:6-12-2:g20000:f32:relu:b12:nk:i64", VARIANT(1, 1, 2, 128, 4), &r, 0.99, 0.9);
  check("mlp:6-12-2:g20000:f32:relu:b12:nk:i64", VARIANT(1, 1, 2, 128, 16), &r, 0.99, 0.9);
  check("mlp:6-12-2:g20000:f32:relu:b12:nk:i64", VARIANT(2, 1, 2, 128, 16), &r, 0.99, 0.9);
  check("mlp:6-12-2:g20000:bf16:relu:b12:nk:i64", VARIANT(2, 1, 2, 128, 4), &r, 0.99, 0.9);
  check("mlp:6-12-2:g20000:f32:relu:b12:nk:i64", VARIANT(1, 1, 4, 128, 4), &r, 0.95, 0.85);
  check("mlp:6-12-2:g20000:f32:relu:b12:nk:i64", VARIANT(1, 1, 8, 128, 4), &r, 0.92, 0.7);
  counted_rows_free(&r);
}

/* A group with half of all rows is spread over the blocks like any other. */
static void test_skew(void **state) {
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  counted_rows r = counted_rows_make(10000, 0, 3, 15000);
  check("mlp:6-12-2:g10000:f32:relu:b12:nk:i64", VARIANT(1, 1, 2, 128, 4), &r, 0.85, 0.75);
  check("mlp:6-12-2:g10000:f32:relu:b12:nk:i64", VARIANT(1, 1, 8, 128, 16), &r, 0.75, 0.7);
  counted_rows_free(&r);
}

/* All variants are of class seq, as row_gather with one lane is. */
static void test_bits_of_a_class(void **state) {
  static const char *const variants[] = {"row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=1,outputs=1,threads=128",
                                         VARIANT(1, 1, 4, 128, 4),
                                         VARIANT(2, 1, 32, 128, 16),
                                         VARIANT(4, 0, 64, 64, 16),
                                         "weight_stationary:at_once=1,held=1,plan=0,team=16,threads=128,tile=16",
                                         "weight_stationary:at_once=2,held=0,plan=0,team=64,threads=64,tile=16"};
  enum { N = sizeof variants / sizeof variants[0], OUT = 7 };
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  counted_rows r = counted_rows_make(40, 0, 40, 100);
  const size_t bytes = (size_t)(r.n * OUT) * sizeof(float);
  float *y[2] = {malloc(bytes), malloc(bytes)};
  assert_true(y[0] && y[1]);
  for (int i = 0; i < N; i++) {
    ptxsim_launches sum, last;
    counted_code c;
    counted_code_open(&lab, "mlp:9-22-7:g40:f32:gelu:b12:nk:i64", variants[i], &c);
    memset(y[i > 0], 0xff, bytes);
    counted_run(&lab, &c, &r, &sum, &last, y[i > 0]);
    if (i > 0 && memcmp(y[0], y[1], bytes) != 0) fail_msg("%s has other bits than row_gather", variants[i]);
    counted_code_close(&lab, &c);
  }
  free(y[0]);
  free(y[1]);
  counted_rows_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiny_groups), cmocka_unit_test(test_skew),
                                     cmocka_unit_test(test_bits_of_a_class)};
  counted_lab_open(&lab);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  counted_lab_close(&lab);
  return failed;
}
