/* stats.c -- medians and their intervals.
 *
 * The number of samples below the true median is binomial(n, 1/2); with its normal approximation the ranks
 * n/2 -+ 0.98 sqrt(n) enclose the median in 95 of 100 runs, whatever the samples' distribution.
 */
#include "runtime/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

void rgt__stats_interval(int64_t *samples, int n, rgt__interval *out) {
  qsort(samples, (size_t)n, sizeof *samples, compare);
  int64_t below = samples[(n - 1) / 2], above = samples[n / 2];
  out->median = below + (above - below) / 2;
  out->n = n;
  int low = 0, high = n - 1;
  if (n >= 6) {
    double half = 0.98 * sqrt((double)n);
    low = (int)floor(n / 2.0 - half);
    high = (int)ceil(n / 2.0 + half) - 1;
    if (low < 0) low = 0;
    if (high > n - 1) high = n - 1;
  }
  out->low = samples[low];
  out->high = samples[high];
}

int rgt__stats_all_equal(const int64_t *samples, int n) {
  return n >= 3 && samples[n - 1] == samples[n - 2] && samples[n - 2] == samples[n - 3];
}
