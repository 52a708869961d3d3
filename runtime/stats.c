/* stats.c -- medians and their intervals.
 *
 * The number of samples below the true median is binomial(n, 1/2), whatever the samples' distribution. So the k-th smallest and
 * the k-th largest enclose the median unless fewer than k lie on one side: k is the largest for which that has at most 1 chance
 * in 40 a side. Below 6 samples there is none, and the whole range stands in.
 */
#include "runtime/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Position of the interval's low end among n sorted samples. The sum of binomials is exact up to the n whose 2^-n a double
 * holds; beyond, the normal approximation with its correction of a half. */
static int low_position(int n) {
  enum { EXACT_MAX = 1000 };
  if (n > EXACT_MAX) return (int)floor(n / 2.0 - 0.98 * sqrt((double)n) - 0.5);
  double term = ldexp(1, -n), sum = term;
  int k = 0;
  while (sum <= 0.025) {
    term *= (double)(n - k) / (double)(k + 1);
    sum += term;
    k++;
  }
  return k > 0 ? k - 1 : 0;
}

void rgt__stats_interval(int64_t *samples, int n, rgt__interval *out) {
  qsort(samples, (size_t)n, sizeof *samples, compare);
  int64_t below = samples[(n - 1) / 2], above = samples[n / 2];
  int low = low_position(n);
  out->median = below + (above - below) / 2;
  out->n = n;
  out->low = samples[low];
  out->high = samples[n - 1 - low];
}

int rgt__stats_all_equal(const int64_t *samples, int n) {
  return n >= 3 && samples[n - 1] == samples[n - 2] && samples[n - 2] == samples[n - 3];
}
