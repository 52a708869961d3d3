/* clock.h -- seconds, to measure how long something takes. */
#ifndef RGT_SWEEP_CLOCK_H
#define RGT_SWEEP_CLOCK_H

#include <time.h>

static inline double sweep_clock_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
