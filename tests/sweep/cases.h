/* cases.h -- tests/cases: which there are, rows for them, and their data. */
#ifndef RGT_SWEEP_CASES_H
#define RGT_SWEEP_CASES_H

#include "pool.h"

/* sweep_cases_rows -- adds a row for each case, family and target: a variant drawn by seed, storage types in turn. Returns
 * RGT_EIO where the folder holds no case. *n_cases: how many there are. */
rgt_status sweep_cases_rows(const sweep_pool *pool, const sweep_factors *f, uint64_t seed, sweep_rows *rows, int *n_cases,
                            rgt__error *err);

typedef struct sweep_case sweep_case;
/* sweep_case_open -- the data of row->case_name in the row's storage type, as verify takes it. RGT_EIO, RGT_EINVAL (the op is
 * not the case's). */
rgt_status sweep_case_open(const sweep_row *row, sweep_case **out, rgt__error *err);
const rgt_case *sweep_case_data(const sweep_case *c);
void sweep_case_free(sweep_case *c);

#endif
