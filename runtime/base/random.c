/* random.c -- splitmix64: a counter through a mixing function, so that every seed gives a full, independent-looking stream.
 * Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
#include "runtime/base/random.h"

void rgt__random_seed(rgt__random *r, uint64_t seed) {
  r->state = seed;
}

uint64_t rgt__random_next(rgt__random *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* The remainder of a number below the largest multiple of n; 2^64 mod n values at the bottom are drawn again. */
uint64_t rgt__random_below(rgt__random *r, uint64_t n) {
  uint64_t reject = (0 - n) % n, v;
  do {
    v = rgt__random_next(r);
  } while (v < reject);
  return v % n;
}

double rgt__random_unit(rgt__random *r) {
  return (double)(rgt__random_next(r) >> 11) * 0x1p-53;
}

/* The sum of twelve uniform numbers has variance 1 and is near enough to a normal for test data (it ends at +-6). Whole numbers
 * all the way: no logarithm or cosine, whose last bits differ between machines. */
double rgt__random_normal(rgt__random *r) {
  int64_t sum = 0;
  for (int i = 0; i < 6; i++) {
    uint64_t v = rgt__random_next(r);
    sum += (int64_t)(v >> 32) + (int64_t)(v & 0xffffffffu);
  }
  return (double)(sum - 6 * (int64_t)0xffffffff) * 0x1p-32;
}
