/* test_random.c -- the streams are pinned (computed once by an independent program), bounds and moments hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/base/random.h"

static void pinned(void **state) {
  (void)state;
  static const struct {
    uint64_t seed, values[4];
  } streams[] = {{0, {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec}},
                 {1, {0x910a2dec89025cc1, 0xbeeb8da1658eec67, 0xf893a2eefb32555e, 0x71c18690ee42c90b}},
                 {0xdeadbeef, {0x4adfb90f68c9eb9b, 0xde586a3141a10922, 0x021fbc2f8e1cfc1d, 0x7466ce737be16790}}};
  for (int s = 0; s < 3; s++) {
    rgt__random r;
    rgt__random_seed(&r, streams[s].seed);
    for (int i = 0; i < 4; i++) assert_true(rgt__random_next(&r) == streams[s].values[i]);
  }
}

static void pinned_derived(void **state) {
  (void)state;
  static const double unit[] = {0x1.7bae644c5fd6dp-1, 0x1.477f199d93378p-3, 0x1.1d499d5c4c3e6p-2};
  static const double normal[] = {-0x1.16a99ac080000p+1, -0x1.7e18d9e800000p+0, -0x1.f92e772c00000p-2};
  static const uint64_t below[] = {413, 291, 858, 764, 250};
  static const uint64_t big[] = {2180923070380825350u, 933993271705612196u, 6270620877612482005u};
  rgt__random r;
  rgt__random_seed(&r, 42);
  for (int i = 0; i < 3; i++) assert_true(rgt__random_unit(&r) == unit[i]);
  rgt__random_seed(&r, 42);
  for (int i = 0; i < 3; i++) assert_true(rgt__random_normal(&r) == normal[i]);
  rgt__random_seed(&r, 42);
  for (int i = 0; i < 5; i++) assert_true(rgt__random_below(&r, 1000) == below[i]);
  for (int i = 0; i < 3; i++) assert_true(rgt__random_below(&r, 3u * ((uint64_t)1 << 62)) == big[i]); /* rejects a quarter */
}

static void bounds(void **state) {
  (void)state;
  rgt__random r;
  rgt__random_seed(&r, 7);
  int seen[6] = {0};
  for (int i = 0; i < 6000; i++) {
    uint64_t v = rgt__random_below(&r, 6);
    assert_true(v < 6);
    seen[v]++;
    double u = rgt__random_unit(&r);
    assert_true(u >= 0 && u < 1);
    assert_true(rgt__random_below(&r, 1) == 0);
  }
  for (int i = 0; i < 6; i++) assert_in_range(seen[i], 870, 1130); /* 1000 +- 4.5 deviations; the stream is fixed */
}

static void moments(void **state) {
  (void)state;
  rgt__random r;
  rgt__random_seed(&r, 8);
  enum { N = 100000 };
  double sum = 0, squares = 0, fourths = 0;
  int positive = 0;
  for (int i = 0; i < N; i++) {
    double v = rgt__random_normal(&r);
    assert_true(v >= -6 && v <= 6);
    sum += v;
    squares += v * v;
    fourths += v * v * v * v;
    positive += v > 0;
  }
  assert_true(sum / N > -0.015 && sum / N < 0.015);
  assert_true(squares / N > 0.98 && squares / N < 1.02);
  assert_true(fourths / N > 2.8 && fourths / N < 3.0); /* 2.9: a normal has 3 */
  assert_in_range(positive, 49300, 50700);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pinned), cmocka_unit_test(pinned_derived), cmocka_unit_test(bounds),
                                     cmocka_unit_test(moments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
