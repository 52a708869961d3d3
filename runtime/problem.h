/* problem.h -- one problem with its data on the host: made by a seed, or a case that the caller brings. */
#ifndef RGT_RUNTIME_PROBLEM_H
#define RGT_RUNTIME_PROBLEM_H

#include "generator/op.h"

typedef struct rgt__problem {
  rgt_op_desc op; /* groups here is the problem's own number of groups */
  int64_t rows;
  rgt_weight_form form; /* how weights and biases are to be passed */
  rgt_order order;      /* of the rows: but for raw the index rises, rows without a group last */
  int64_t x_div;        /* row r has x row r / x_div; 1 or more */
  /* owned, in storage type; packed, stacked, in op.layout. index in op.index_type: the rows' groups, whatever the order is. x has
   * rgt__problem_x_rows rows. */
  void *x, *index, *w1, *b1, *w2, *b2; /* NULL where the op has none */
  int sparse_x;                        /* x mostly 0 and every weight in use finite: the reference may skip the zeros */
  int finite;                          /* no NaN or Inf in the x of a live row or in weights in use */
} rgt__problem;

typedef enum rgt__problem_kind {
  RGT_PROBLEM_EXACT, /* verify.md's exact pass: multiples of 1/4, few non-zeros in x, every k met in some row; every product,
                        sum and hidden value exact */
  RGT_PROBLEM_BOUND, /* random normal data scaled by 1/sqrt(K) */
  RGT_PROBLEM_BENCH  /* like bound, but no masked rows and finite everywhere */
} rgt__problem_kind;

typedef struct rgt__problem_options {
  rgt__problem_kind kind;
  int64_t rows;   /* exact and bound passes take at least 256 whatever is asked */
  rgt_skew skew;  /* of the group sizes: uniform, zipf (exponent 1.1), one */
  double masked;  /* share of rows masked; their x is NaN and Inf. bench: 0 */
  int nan_unused; /* groups that no row uses hold NaN; of 3 groups or more one is left without rows (exact: the last, bound: the
                     first) */
  rgt_weight_form form;
  rgt_order order;
  int64_t x_div; /* 0: 1 */
  uint64_t seed;
  const void *index; /* NULL, or an index to use (rows entries of op.index_type): rows, skew and masked then stay as it has
                        them, and it is sorted where the order asks for that */
} rgt__problem_options;

rgt_status rgt__problem_make(const rgt_op_desc *op, const rgt__problem_options *o, rgt__problem *out,
                             rgt__error *err); /* RGT_ENOMEM */
/* rgt__problem_from_case -- copies. RGT_EINVAL: something is missing, or the rows are not in the order. RGT_ENOMEM. */
rgt_status rgt__problem_from_case(const rgt_op_desc *op, const rgt_case *data, rgt_weight_form form, rgt_order order,
                                  rgt__problem *out, rgt__error *err);
void rgt__problem_free(rgt__problem *p);
int64_t rgt__problem_index_at(const rgt__problem *p, int64_t row); /* at its own width */
int64_t rgt__problem_x_rows(const rgt__problem *p);
/* rgt__problem_offsets -- groups + 1 offsets of the index type, for an index in order. */
void rgt__problem_offsets(const rgt__problem *p, void *offsets);
rgt_skew rgt__problem_skew_of(const void *index, rgt_index_type type, int64_t rows, int64_t groups); /* design 2's rule */
int64_t rgt__problem_bytes(const rgt_op_desc *op, int64_t rows); /* of all its arrays, saturating */

#endif
