/* full_rows.h -- the full sweep's rows: every variant of the named ops, in each storage type, on each target. */
#ifndef RGT_SWEEP_FULL_ROWS_H
#define RGT_SWEEP_FULL_ROWS_H

#include "factors.h"

enum { SWEEP_DIGEST_SIZE = 17 };

/* sweep_full_rows -- rows part, part + n_parts ... of all, in an order drawn by seed, so that what is tried first is a sample.
 * How each is called (weight form, alignment ...) hangs on its variant and op. */
rgt_status sweep_full_rows(rgt__families *families, uint64_t seed, int part, int n_parts, sweep_rows *rows, rgt__error *err);
/* sweep_full_digest -- of the row's source: a template that changes makes another one. */
rgt_status sweep_full_digest(rgt__families *families, const sweep_row *row, char digest[SWEEP_DIGEST_SIZE], rgt__error *err);

#endif
