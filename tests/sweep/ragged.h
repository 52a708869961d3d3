/* ragged.h -- problems whose groups have the sizes that go wrong: drawn by a seed, each with its float64 reference. */
#ifndef RGT_SWEEP_RAGGED_H
#define RGT_SWEEP_RAGGED_H

#include "row.h"
#include "runtime/verify.h"

typedef struct sweep_ragged {
  char about[160]; /* "zipf, 211 rows, 64 groups, padded, ..." */
  int64_t rows, groups;
} sweep_ragged;

enum { SWEEP_RAGGED_KINDS = 14 };
/* sweep_ragged_run -- the number-th problem of a row: kind number % SWEEP_RAGGED_KINDS. The callable computes row->op, or with
 * exact its relu twin; every element, y's poison, gaps, fences, inputs and the counters of index errors are looked at.
 * RGT_OK and the verdict in *result; RGT_EINFEASIBLE: the program is not valid for so many rows and groups; what cannot be
 * run. *about is written in any case. */
rgt_status sweep_ragged_run(const sweep_row *row, uint64_t seed, int number, int exact, const rgt__callable *c,
                            const rgt__numeric *numeric, sweep_ragged *about, rgt__verify_result *result, rgt__error *err);

#endif
