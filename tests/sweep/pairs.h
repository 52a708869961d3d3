/* pairs.h -- two values of two factors: which can meet in a row, and which have. */
#ifndef RGT_SWEEP_PAIRS_H
#define RGT_SWEEP_PAIRS_H

#include "pool.h"

enum { SWEEP_PAIR_NEVER, SWEEP_PAIR_OPEN, SWEEP_PAIR_COVERED };

typedef struct sweep_pairs {
  const sweep_factors *f;                                 /* borrowed */
  short group[SWEEP_VALUES_MAX], owner[SWEEP_VALUES_MAX]; /* the value's factor; the family that it belongs to, or -1 */
  unsigned char *state;                                   /* owned; [n_values * n_values], symmetric */
  int64_t n_feasible, n_covered;
} sweep_pairs;

/* sweep_pairs_make -- every pair that some feasible point has is open. What the pool shows is feasible; a pair that it does not
 * show, of an activation, a bias or an index type, is looked for by giving points of the pool that value. */
rgt_status sweep_pairs_make(const sweep_factors *f, const sweep_pool *pool, sweep_pairs *out, rgt__error *err);
void sweep_pairs_free(sweep_pairs *p);
/* sweep_pairs_gain -- pairs of the values (numbers, n of them) that are still open. */
int sweep_pairs_gain(const sweep_pairs *p, const int *values, int n);
void sweep_pairs_cover(sweep_pairs *p, const int *values, int n);
static inline int sweep_pair_state(const sweep_pairs *p, int a, int b) {
  return p->state[a * p->f->n_values + b];
}
/* sweep_pairs_forget -- feasible pairs are open again: to count anew what rows cover. */
void sweep_pairs_forget(sweep_pairs *p);

#endif
