/* random.h -- a small seeded generator (splitmix64): the same numbers on every machine. */
#ifndef RGT_BASE_RANDOM_H
#define RGT_BASE_RANDOM_H

#include <stdint.h>

typedef struct rgt__random {
  uint64_t state;
} rgt__random;

void rgt__random_seed(rgt__random *r, uint64_t seed);
uint64_t rgt__random_next(rgt__random *r);
uint64_t rgt__random_below(rgt__random *r, uint64_t n); /* 0 .. n-1, without bias; n >= 1 */
double rgt__random_unit(rgt__random *r);                /* [0, 1) */
double rgt__random_normal(rgt__random *r);              /* mean 0, deviation 1 */

#endif
