/* verify_set.h -- a problem with its float64 reference: which elements are compared, with what, within which bound. */
#ifndef RGT_RUNTIME_VERIFY_SET_H
#define RGT_RUNTIME_VERIFY_SET_H

#include "runtime/reference.h"

typedef struct rgt__verify_set {
  rgt__problem problem; /* owned */
  int64_t *starts;      /* rows + 1: where a row's elements begin in the arrays below */
  int64_t *columns;     /* of each element, ascending in a row; NULL: every element of every row */
  double *y64, *bound;
  unsigned char *may_overflow;
  int have_bounds;
  rgt__numeric numeric; /* that the bounds are for */
} rgt__verify_set;

#define RGT_VERIFY_ALL_MACS 200000000LL /* up to so many multiply-adds every element is compared */

/* rgt__verify_set_make -- takes the problem over, on failure too. y64 is computed; bounds come by rgt__verify_set_bounds. */
rgt_status rgt__verify_set_make(rgt__problem *problem, uint64_t seed, rgt__verify_set *out, rgt__error *err);
void rgt__verify_set_free(rgt__verify_set *s);
/* rgt__verify_set_bounds -- bounds for numeric; nothing to do when they are those of the last call. */
rgt_status rgt__verify_set_bounds(rgt__verify_set *s, const rgt__numeric *numeric, rgt__error *err);
/* rgt__verify_set_find -- number of the element at row and column, -1 if it is not compared. *at: where to go on looking in the
 * row, 0 at its first column; columns must then be asked for in ascending order. */
int64_t rgt__verify_set_find(const rgt__verify_set *s, int64_t row, int64_t column, int64_t *at);

#endif
