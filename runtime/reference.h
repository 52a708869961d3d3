/* reference.h -- the op in float64, and the bound on what a variant may differ (verify.md). */
#ifndef RGT_RUNTIME_REFERENCE_H
#define RGT_RUNTIME_REFERENCE_H

#include "generator/spec.h"
#include "runtime/problem.h"

/* rgt__reference_row -- y64 of one row, and the bound of each element where bound is not NULL (numeric then gives p1, p2, u_h,
 * alpha, beta). Masked and out-of-range rows give 0 with bound 0.
 * y64, bound: n_out entries. scratch: rgt__reference_scratch(op) doubles. may_overflow[o] (NULL or n_out): 1 where Inf or NaN
 * is allowed since the reference rounds to Inf or an intermediate passes the storage type's range. */
void rgt__reference_row(const rgt__problem *p, const rgt__numeric *numeric, int64_t row, double *y64, double *bound,
                        unsigned char *may_overflow, double *scratch);
/* rgt__reference_elements -- the same for some columns of a row, in the order given; outputs have n_cols entries. cols NULL:
 * all. */
void rgt__reference_elements(const rgt__problem *p, const rgt__numeric *numeric, int64_t row, const int64_t *cols,
                             int64_t n_cols, double *y64, double *bound, unsigned char *may_overflow, double *scratch);
int64_t rgt__reference_scratch(const rgt_op_desc *op);
double rgt__reference_act(rgt_act act, double z);

#endif
