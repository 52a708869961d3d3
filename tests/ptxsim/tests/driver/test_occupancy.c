/* test_occupancy.c -- blocks of an SM against figures worked out by hand from the technical specifications. */
#include "driver/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct row {
  const char *profile;
  int threads, registers;
  int64_t shared;
  int blocks;
} row;

static void known(void **state) {
  static const row rows[] = {
      /* blocks and threads */
      {"sm_80", 32, 16, 0, 32},
      {"sm_80", 64, 16, 0, 32},
      {"sm_80", 128, 16, 0, 16},
      {"sm_120", 32, 16, 0, 24},
      {"sm_120", 1024, 32, 0, 1},
      {"sm_120", 768, 32, 0, 2},
      {"sm_90", 1024, 32, 0, 2},
      /* registers: 128 a thread are 4096 a warp, 4 of them in each quarter of 16384 */
      {"sm_90", 128, 128, 0, 4},
      {"sm_90", 32, 128, 0, 16},
      {"sm_90", 256, 255, 0, 1},
      {"sm_90", 512, 128, 0, 1},
      {"sm_90", 512, 129, 0, 0}, /* 136 x 32 x 16 warps are more than 65536 */
      {"sm_90", 1024, 64, 0, 1},
      {"sm_90", 1024, 65, 0, 0},
      {"sm_90", 96, 168, 0, 4}, /* 3 warps of 5376: 3 in a quarter, 12 in all */
      /* shared memory: 1 KB more for each block, units of 128 bytes */
      {"sm_80", 128, 32, 49152, 3},
      {"sm_80", 128, 32, 166912, 1},
      {"sm_80", 128, 32, 166913, 0},
      {"sm_90", 128, 32, 232448, 1},
      {"sm_90", 128, 32, 115712, 2},
      {"sm_90", 128, 32, 115713, 1},
      {"sm_120", 128, 32, 101376, 1},
      {"sm_120", 128, 32, 24576, 4},
      {"sm_120", 128, 32, 24577, 3},
      /* nothing at all */
      {"sm_80", 0, 16, 0, 0},
      {"sm_80", 1025, 16, 0, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const row *r = &rows[i];
    sim_block_needs needs = {.threads = r->threads, .registers = r->registers, .shared_bytes = r->shared};
    int blocks = sim_occupancy_blocks(sim_model_find(r->profile), &needs);
    if (blocks != r->blocks)
      fail_msg("%s, %d threads, %d registers, %lld shared bytes: %d blocks, and should be %d", r->profile, r->threads,
               r->registers, (long long)r->shared, blocks, r->blocks);
  }
}

/* More of anything never gives more blocks. */
static void falls(void **state) {
  (void)state;
  for (int m = 0; sim_model_at(m) != NULL; m++)
    for (int threads = 32; threads <= 1024; threads += 32) {
      int before = 1000;
      for (int registers = 8; registers <= 255; registers++) {
        int blocks = sim_occupancy_blocks(sim_model_at(m), &(sim_block_needs){.threads = threads, .registers = registers});
        assert_true(blocks <= before);
        before = blocks;
      }
      before = 1000;
      for (int64_t shared = 0; shared < 240000; shared += 500) {
        int blocks = sim_occupancy_blocks(sim_model_at(m),
                                          &(sim_block_needs){.threads = threads, .registers = 16, .shared_bytes = shared});
        assert_true(blocks <= before);
        before = blocks;
      }
      assert_int_equal(before, 0);
    }
}

static void largest_block(void **state) {
  (void)state;
  const sim_model *m = sim_model_find("sm_90");
  assert_int_equal(sim_occupancy_max_threads(m, 16), 1024);
  assert_int_equal(sim_occupancy_max_threads(m, 64), 1024);
  assert_int_equal(sim_occupancy_max_threads(m, 65), 896); /* 72 x 32 = 2304 a warp; 28 warps in steps of 4 */
  assert_int_equal(sim_occupancy_max_threads(m, 128), 512);
  assert_int_equal(sim_occupancy_max_threads(m, 255), 256);
  assert_null(sim_model_find("sm_70"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(falls), cmocka_unit_test(largest_block)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
