/* pool.h -- what is feasible: for each combination of kind, dims, dtype, layout and target every variant that the named
 * constraints of its family allow. Activation, bias and index type, which constraints hardly ever look at, are drawn for each
 * combination, all of them in turn. */
#ifndef RGT_SWEEP_POOL_H
#define RGT_SWEEP_POOL_H

#include "factors.h"
#include "generator/space.h"

typedef struct sweep_pool {
  sweep_point *point; /* owned; free factors are 0 */
  int64_t n, capacity;
  rgt__families *families; /* borrowed */
  rgt__target target[SWEEP_TARGETS];
} sweep_pool;

rgt_status sweep_pool_make(rgt__families *families, const sweep_factors *f, sweep_pool *out, rgt__error *err);
/* sweep_pool_spread -- 0 .. n-1 in an order that leaps about; i may pass n. */
static inline int64_t sweep_pool_spread(const sweep_pool *pool, int64_t i) {
  enum { LEAP = 7919 }; /* a prime */
  return pool->n % LEAP ? i % pool->n * LEAP % pool->n : i % pool->n;
}
void sweep_pool_free(sweep_pool *pool);
/* sweep_pool_feasible -- do the constraints allow the point, whatever its activation, bias and index type have become? */
int sweep_pool_feasible(const sweep_pool *pool, const sweep_point *p);

#endif
