/* test_stats.c -- medians and intervals of known samples, and the coverage that the intervals promise. */
#include "runtime/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check(const int64_t *given, int n, int64_t median, int64_t low, int64_t high) {
  int64_t samples[2000];
  rgt__interval i;
  memcpy(samples, given, (size_t)n * sizeof *given);
  rgt__stats_interval(samples, n, &i);
  assert_int_equal(i.n, n);
  assert_int_equal(i.median, median);
  assert_int_equal(i.low, low);
  assert_int_equal(i.high, high);
  for (int k = 1; k < n; k++) assert_true(samples[k - 1] <= samples[k]);
}

static void test_few(void **state) {
  (void)state;
  check((int64_t[]){5}, 1, 5, 5, 5);
  check((int64_t[]){4, 1}, 2, 2, 1, 4);
  check((int64_t[]){-1, -4}, 2, -3, -4, -1); /* -2.5, toward the lower */
  check((int64_t[]){50, 10, 40, 20, 30}, 5, 30, 10, 50);
  check((int64_t[]){6, 5, 4, 3, 2, 1}, 6, 3, 1, 6);
  check((int64_t[]){7, 7, 7, 7}, 4, 7, 7, 7);
}

static void test_many(void **state) {
  (void)state;
  static const struct {
    int n;
    int64_t median, low; /* of 0 .. n-1; high is the mirror image */
  } cases[] = {{7, 3, 0}, {8, 3, 0}, {9, 4, 1}, {10, 4, 1}, {11, 5, 1}, {12, 5, 2}, {41, 20, 13}, {100, 49, 39}, {128, 63, 52}};
  int64_t samples[128];
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    int n = cases[c].n;
    for (int i = 0; i < n; i++)
      samples[i] = (i * 37 + 5) % n; /* each of 0 .. n-1 once, out of order, as no n has the factor 37 */
    check(samples, n, cases[c].median, cases[c].low, n - 1 - cases[c].low);
  }
}

/* P(X <= k) of the binomial(n, 1/2), by logarithms of factorials. */
static double below(int n, int k) {
  double sum = 0;
  for (int i = 0; i <= k; i++) sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) - n * log(2));
  return sum;
}

static void test_coverage(void **state) {
  (void)state;
  int64_t samples[1200];
  for (int n = 6; n <= 1200; n++) {
    rgt__interval out;
    for (int i = 0; i < n; i++) samples[i] = i;
    rgt__stats_interval(samples, n, &out);
    int low = (int)out.low;
    assert_true(1 - 2 * below(n, low) > 0.9499); /* covers the median in 95 of 100 runs ... */
    assert_int_equal(out.high, n - 1 - low);
    if (n <= 1000) assert_true(1 - 2 * below(n, low + 1) < 0.9501); /* ... and one step narrower would not */
  }
}

static void test_all_equal(void **state) {
  (void)state;
  const int64_t s[] = {1, 2, 7, 7, 7, 8};
  assert_int_equal(rgt__stats_all_equal(s, 0), 0);
  assert_int_equal(rgt__stats_all_equal(s + 3, 2), 0); /* two equal ones say nothing */
  assert_int_equal(rgt__stats_all_equal(s, 3), 0);
  assert_int_equal(rgt__stats_all_equal(s, 4), 0);
  assert_int_equal(rgt__stats_all_equal(s, 5), 1); /* the last three count */
  assert_int_equal(rgt__stats_all_equal(s, 6), 0);
  assert_int_equal(rgt__stats_all_equal(s + 2, 3), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_few), cmocka_unit_test(test_many), cmocka_unit_test(test_coverage),
                                     cmocka_unit_test(test_all_equal)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
