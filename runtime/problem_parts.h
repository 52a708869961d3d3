/* problem_parts.h -- what the files that make problems share: sizes, the index, the values of the exact pass. */
#ifndef RGT_RUNTIME_PROBLEM_PARTS_H
#define RGT_RUNTIME_PROBLEM_PARTS_H

#include "runtime/base/random.h"
#include "runtime/problem.h"

/* features that layer `layer` (1 or 2) reads and gives; 0, 0 where the op has no such layer */
int64_t rgt__problem_layer_in(const rgt_op_desc *op, int layer);
int64_t rgt__problem_layer_out(const rgt_op_desc *op, int layer);
int rgt__problem_has_bias(const rgt_op_desc *op, int layer);
int rgt__problem_x_row_is_used(const rgt__problem *p, int64_t x_row); /* by a row with a group */

/* rgt__problem_index_make -- fills index (rows entries): exactly n_masked rows are -1; the rest by skew over [first, first +
 * n). */
rgt_status rgt__problem_index_make(rgt__problem *p, rgt_skew skew, int64_t n_masked, int64_t first, int64_t n, rgt__random *r,
                                   rgt__error *err);
void rgt__problem_index_set(rgt__problem *p, int64_t row, int64_t group);
/* rgt__problem_index_sort -- groups rising, rows without one last; for offsets all of these are masked. */
void rgt__problem_index_sort(rgt__problem *p);
/* rgt__problem_index_unsorted -- the first row that is out of that order, -1 if none is. */
int64_t rgt__problem_index_unsorted(const rgt__problem *p);

/* rgt__problem_exact -- the whole numbers that the exact pass draws from: see problem_exact.c, where they are derived.
 * Every value is one of them times 1/4. */
typedef struct rgt__problem_exact {
  int64_t pairs;   /* of non-zeros in a row of x; 0: n_in is 1, one non-zero */
  int64_t x_max;   /* |x| 1 .. x_max */
  int64_t w1_base; /* |w1| w1_base .. w1_base + w1_spread */
  int64_t w1_spread;
  int64_t thin;                   /* only every thin-th k differs from w1_base */
  int64_t b1_max, w2_max, b2_max; /* |b1|, |b2| 1 .. max (0 where max is), |w2| 1 .. max */
  int64_t z1_max;                 /* bound on |z| of layer 1, in 1/16 */
} rgt__problem_exact;

int64_t rgt__problem_exact_rows(const rgt_op_desc *op, int64_t rows, double masked); /* rows (or more) that meet every k */
rgt_status rgt__problem_exact_plan(const rgt_op_desc *op, int64_t live, rgt__problem_exact *e, rgt__error *err);
void rgt__problem_exact_fill(rgt__problem *p, const rgt__problem_exact *e, rgt__random *r);

#endif
