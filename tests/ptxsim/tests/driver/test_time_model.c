/* test_time_model.c -- modelled time: the same for the same counters, and never shorter when one of them grows. */
#include "driver/time_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state = 88172645463325252ULL;

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

enum { N_COUNTERS = sizeof(sim_counters) / sizeof(uint64_t) };

static uint64_t *counter(sim_launched *l, int i) {
  return (uint64_t *)(void *)&l->counters + i;
}

static sim_launched any_launch(void) {
  sim_launched l = {.name = "k", .threads = (int)(32 * (1 + next_random() % 32)), .registers = 32};
  l.blocks_per_sm = (int)(1 + next_random() % 8);
  for (int i = 0; i < 3; i++) l.grid[i] = (unsigned)(1 + next_random() % (i == 0 ? 3000 : 2));
  for (int i = 0; i < N_COUNTERS; i++) *counter(&l, i) = next_random() >> (34 + next_random() % 30);
  return l;
}

static const char *name_of(int i) {
  const char *name = NULL;
  assert_int_equal(ptxsim_counter(i, NULL, &name, NULL, NULL), 0);
  return name;
}

/* In each counter: a little more is never less, much more is more; but for the one that only says how even the blocks are. */
static void grows_with_each_counter(void **state) {
  (void)state;
  for (int m = 0; sim_model_at(m) != NULL; m++)
    for (int trial = 0; trial < 300; trial++) {
      sim_launched base = any_launch();
      uint64_t before = sim_time_kernel_ps(sim_model_at(m), &base);
      for (int i = 0; i < N_COUNTERS; i++) {
        sim_launched more = base;
        *counter(&more, i) += 1 + next_random() % 1000;
        if (sim_time_kernel_ps(sim_model_at(m), &more) < before) fail_msg("time falls when %s grows", name_of(i));
        *counter(&more, i) += UINT64_C(1000000000);
        if (strcmp(name_of(i), "block_least_inst") != 0 && sim_time_kernel_ps(sim_model_at(m), &more) <= before)
          fail_msg("time does not depend on %s", name_of(i));
      }
    }
}

/* Fewer resident blocks never make it shorter. */
static void grows_as_occupancy_falls(void **state) {
  (void)state;
  for (int trial = 0; trial < 300; trial++) {
    sim_launched l = any_launch();
    uint64_t before = 0;
    for (l.blocks_per_sm = 32; l.blocks_per_sm > 0; l.blocks_per_sm--) {
      uint64_t ps = sim_time_kernel_ps(sim_model_find("sm_90"), &l);
      assert_true(ps >= before);
      before = ps;
    }
  }
}

static void deterministic(void **state) {
  (void)state;
  for (int trial = 0; trial < 100; trial++) {
    sim_launched l = any_launch(), same = l;
    assert_true(sim_time_kernel_ps(sim_model_find("sm_80"), &l) == sim_time_kernel_ps(sim_model_find("sm_80"), &same));
  }
}

/* Where one resource is the limit, the time is near what the data sheet says of it. */
static void limits(void **state) {
  (void)state;
  const sim_model *m = sim_model_find("sm_90");
  sim_launched l = {.name = "k", .threads = 256, .registers = 32, .blocks_per_sm = 8, .grid = {132 * 8, 1, 1}};
  l.counters.dram_read_bytes = UINT64_C(3350000000); /* a thousandth of what a second moves */
  uint64_t ps = sim_time_kernel_ps(m, &l);
  assert_in_range(ps / 1000000, 1000, 1100);
  memset(&l.counters, 0, sizeof l.counters);
  l.counters.flop_mma = UINT64_C(1070530560000); /* 132 SMs x 4096 x 1.98 GHz for a millisecond */
  ps = sim_time_kernel_ps(m, &l);
  assert_in_range(ps / 1000000, 1000, 1100);
}

static void overheads(void **state) {
  (void)state;
  const sim_model *m = sim_model_find("sm_90");
  assert_true(SIM_TIME_KERNEL_IN_GRAPH_PS < SIM_TIME_KERNEL_IN_STREAM_PS);
  assert_true(sim_time_submit_graph_ps(10) < 10 * SIM_TIME_SUBMIT_KERNEL_PS);
  assert_true(sim_time_copy_ps(m, 1 << 20, 1) < sim_time_copy_ps(m, 1 << 20, 0));
  assert_true(sim_time_fill_ps(m, 1 << 20) > sim_time_fill_ps(m, 1 << 10));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(grows_with_each_counter), cmocka_unit_test(grows_as_occupancy_falls),
                                     cmocka_unit_test(deterministic), cmocka_unit_test(limits), cmocka_unit_test(overheads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
