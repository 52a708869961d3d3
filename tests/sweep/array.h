/* array.h -- rows in which every feasible pair of values meets. */
#ifndef RGT_SWEEP_ARRAY_H
#define RGT_SWEEP_ARRAY_H

#include "pairs.h"

/* sweep_array_make -- adds rows until every pair is covered, or their compiles would be more than `limit`: one a row, two where
 * the exact pass needs a relu twin. What is still open then stays open in *pairs. */
rgt_status sweep_array_make(const sweep_pool *pool, sweep_pairs *pairs, uint64_t seed, int limit, sweep_rows *rows,
                            rgt__error *err);
int sweep_row_compiles(const sweep_row *row); /* 1 or 2 */
/* sweep_array_count -- covers in *pairs, all open before, what the rows as they are written cover: each row must be feasible.
 * RGT_EINVAL: a row is not. Rows of cases do not count. */
rgt_status sweep_array_count(const sweep_pool *pool, const sweep_rows *rows, sweep_pairs *pairs, rgt__error *err);

#endif
