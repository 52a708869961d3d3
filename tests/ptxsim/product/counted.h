/* counted.h -- a variant run on ptxsim for its counters. x, weights and biases are seeded numbers. */
#ifndef PTXSIM_PRODUCT_COUNTED_H
#define PTXSIM_PRODUCT_COUNTED_H

#include "../tests/support/device.h"

#include "generator/render.h"
#include "runtime/device.h"

typedef struct counted_lab {
  rgt__environment env;
  rgt__sources *sources;
  rgt__families *families;
  rgt__device *device;
} counted_lab;

/* All of these fail the test that calls them. */
void counted_lab_open(counted_lab *lab);
void counted_lab_close(counted_lab *lab);

typedef struct counted_code {
  rgt_op_desc op;
  rgt__rendered rendered;
  rgt__module *module;
  int registers; /* of the kernel that takes most; a variant that spills fails */
} counted_code;

void counted_code_open(counted_lab *lab, const char *op, const char *variant, counted_code *c);
void counted_code_close(counted_lab *lab, counted_code *c);

typedef struct counted_rows { /* of a call, mixed by a seed */
  int64_t n, groups, *index;
  int64_t *of_group; /* [groups] how many */
} counted_rows;

/* low to high rows of each group; then group 0 has `first` rows more. */
counted_rows counted_rows_make(int64_t groups, int64_t low, int64_t high, int64_t first);
void counted_rows_free(counted_rows *r);

/* counted_run -- one call, a stream's. *sum: all its launches; *last: the last one; y: NULL, or room for [rows, n_out] of the
 * storage type. ptxsim may report nothing. counted_run_flat: every row of every matrix lies at one address, so that a load of
 * rows touches what a load of one row does. */
void counted_run_flat(counted_lab *lab, const counted_code *c, const counted_rows *r, ptxsim_launches *sum,
                      ptxsim_launches *last);
void counted_run(counted_lab *lab, const counted_code *c, const counted_rows *r, ptxsim_launches *sum, ptxsim_launches *last,
                 void *y);

/* Of one launch: instructions of the average block, and of the idlest one, over the busiest one's. */
double counted_busy(const ptxsim_launches *l);
double counted_least_busy(const ptxsim_launches *l);

#endif
