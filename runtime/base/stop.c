/* stop.c -- what ends long work early: the caller's flag, or a time that has come. */
#include "runtime/base/stop.h"

#include <stddef.h>
#include <time.h>

int rgt__stop_now(const rgt__stop *s) {
  if (!s) return 0;
  if (s->flag && __atomic_load_n(s->flag, __ATOMIC_RELAXED)) return 1; /* another thread may set it */
  if (!(s->deadline_s > 0)) return 0;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9 > s->deadline_s;
}
