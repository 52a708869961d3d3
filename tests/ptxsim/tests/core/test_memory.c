/* test_memory.c -- allocations of a context, as the driver half uses them. */
#include "lab.h"

static void allocations(void **state) {
  (void)state;
  sim_memory *m = sim_memory_new(1000);
  const uint64_t a = sim_memory_alloc(m, 100), b = sim_memory_alloc(m, 1), c = sim_memory_alloc(m, 899);
  assert_true(a && b && c);
  assert_int_equal(sim_memory_alloc(m, 1), 0);
  assert_int_equal(sim_memory_alloc(m, 0), 0);
  assert_int_equal(sim_memory_used(m), 1000);
  assert_true(a % 256 == 0 && b % 256 == 0 && c % 256 == 0);
  assert_true(b - a >= 100 + 256 && c - b >= 256); /* nothing lies close behind an end */
  assert_int_equal(sim_memory_find(m, a + 99)->base, a);
  assert_null(sim_memory_find(m, a + 100));
  assert_null(sim_memory_find(m, a - 1));
  assert_int_equal(sim_memory_nearest(m, a + 101)->base, a);
  assert_int_equal(sim_memory_nearest(m, b - 1)->base, b);
  assert_int_equal(sim_memory_nearest(m, 0)->base, a);
  assert_int_equal(sim_memory_release(m, b + 1), -1);
  assert_int_equal(sim_memory_release(m, b), 0);
  assert_int_equal(sim_memory_release(m, b), -2);
  assert_int_equal(sim_memory_find(m, b)->state, SIM_FREED);
  assert_int_equal(sim_memory_used(m), 999);
  const uint64_t d = sim_memory_alloc(m, 1); /* addresses are not used again */
  assert_true(d > c);
  sim_memory_free(m);
  sim_memory_free(NULL);
}

static void definedness(void **state) {
  (void)state;
  sim_memory *m = sim_memory_new(1 << 20);
  const uint64_t a = sim_memory_alloc(m, 64), b = sim_memory_alloc(m, 64);
  unsigned char bytes[64];
  assert_int_equal(sim_memory_read(m, bytes, a, 64), 0);
  for (int i = 0; i < 64; i++) assert_int_equal(bytes[i], 0xFF);
  assert_int_equal(sim_memory_first_undefined(m, a, 64), a);
  assert_int_equal(sim_memory_write(m, a, bytes, 10), 0);
  assert_int_equal(sim_memory_first_undefined(m, a, 64), a + 10);
  assert_int_equal(sim_memory_first_undefined(m, a, 10), UINT64_MAX);
  assert_int_equal(sim_memory_copy(m, b + 4, a, 20), 0); /* half of what is copied is defined */
  assert_int_equal(sim_memory_first_undefined(m, b + 4, 20), b + 14);
  const uint32_t unit = 0x01020304;
  assert_int_equal(sim_memory_fill(m, b, &unit, 4, 16), 0);
  assert_int_equal(sim_memory_first_undefined(m, b, 64), UINT64_MAX);
  assert_int_equal(sim_memory_read(m, bytes, b, 64), 0);
  assert_int_equal(bytes[61], 3);
  assert_int_equal(sim_memory_copy(m, b, a + 8, 8), 0); /* into what was all defined */
  assert_int_equal(sim_memory_first_undefined(m, b, 64), b + 2);
  assert_int_equal(sim_memory_copy(m, b + 1, b, 32), 0); /* over itself */
  assert_int_equal(sim_memory_first_undefined(m, b, 64), b + 3);
  sim_memory_free(m);
}

static void bounds(void **state) {
  (void)state;
  sim_memory *m = sim_memory_new(1 << 20);
  const uint64_t a = sim_memory_alloc(m, 64), b = sim_memory_alloc(m, 64);
  unsigned char bytes[128] = {0};
  assert_int_equal(sim_memory_write(m, a + 60, bytes, 5), -1);
  assert_int_equal(sim_memory_write(m, a + 60, bytes, 4), 0);
  assert_int_equal(sim_memory_read(m, bytes, a, 65), -1);
  assert_int_equal(sim_memory_read(m, bytes, a - 1, 1), -1);
  assert_int_equal(sim_memory_copy(m, a, b, 65), -1);
  assert_int_equal(sim_memory_fill(m, a, bytes, 2, 33), -1);
  assert_int_equal(sim_memory_fill(m, a, bytes, 4, UINT64_MAX / 2), -1);
  assert_int_equal(sim_memory_write(m, 12345, bytes, 0), 0);
  assert_int_equal(sim_memory_release(m, b), 0);
  assert_int_equal(sim_memory_write(m, b, bytes, 1), -1);
  sim_memory_free(m);
}

static void mapped(void **state) {
  (void)state;
  sim_memory *m = sim_memory_new(1 << 20);
  unsigned char host[256] = {0};
  const uint64_t at = (uint64_t)(uintptr_t)host;
  assert_int_equal(sim_memory_map(m, host, 128), 0);
  assert_int_equal(sim_memory_map(m, host + 64, 128), -2);
  assert_int_equal(sim_memory_map(m, host + 128, 128), 0);
  assert_int_equal(sim_memory_used(m), 0);
  assert_int_equal(sim_memory_fill(m, at + 8, "x", 1, 3), 0);
  assert_int_equal(host[10], 'x');
  assert_int_equal(sim_memory_first_undefined(m, at, 128), UINT64_MAX);
  assert_int_equal(sim_memory_release(m, at), 0);
  assert_null(sim_memory_find(m, at));
  assert_int_equal(sim_memory_map(m, host, 16), 0);
  sim_memory_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(allocations), cmocka_unit_test(definedness), cmocka_unit_test(bounds),
                                     cmocka_unit_test(mapped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
