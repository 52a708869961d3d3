/* stats.h -- medians and their intervals. */
#ifndef RGT_RUNTIME_STATS_H
#define RGT_RUNTIME_STATS_H

#include <stdint.h>

typedef struct rgt__interval {
  int64_t median, low, high; /* 95 % for the median, by order statistics; the whole range below 6 samples */
  int n;
} rgt__interval;

/* rgt__stats_interval -- sorts samples in place; n >= 1. An even count takes the mean of the middle two, rounded toward the
 * lower. */
void rgt__stats_interval(int64_t *samples, int n, rgt__interval *out);
/* rgt__stats_all_equal -- the last three samples are equal: a modelled clock, more of them say nothing new. */
int rgt__stats_all_equal(const int64_t *samples, int n);

#endif
