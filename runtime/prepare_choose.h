/* prepare_choose.h -- what the files that choose a variant share: the database asked over all layers. Private to
 * prepare_choose.c and the files below.
 *
 * Of all functions: RGT_OK, with out filled but for its from; RGT_EMISS where no layer has it; RGT_EDB (of the user's
 * database), RGT_ENOMEM. The layers are open.
 */
#ifndef RGT_RUNTIME_PREPARE_CHOOSE_H
#define RGT_RUNTIME_PREPARE_CHOOSE_H

#include "runtime/prepare.h"

/* Where the database is asked for; NULL: the device's own. */
typedef struct rgt__where {
  const char *device_class, *policy;
} rgt__where;

static const rgt__where rgt__prepare_here = {NULL, NULL};

/* ---- prepare_find.c: one question, to every layer ---- */

rgt_status rgt__prepare_key(rgt_op *op, int64_t bucket, rgt__where at, rgt__op_key *key);
/* rgt__prepare_find -- this bucket, of the first layer that has it. */
rgt_status rgt__prepare_find(rgt_op *op, int64_t bucket, rgt__where at, const rgt__tunedb_limits *limits, rgt__choice *out);
/* rgt__prepare_find_exact -- the smallest tuned bucket that holds the rows, else the largest. */
rgt_status rgt__prepare_find_exact(rgt_op *op, int64_t rows, rgt__where at, const rgt__tunedb_limits *limits, rgt__choice *out);
/* rgt__prepare_find_nearest -- another shape: the smallest distance over all layers; of equal ones the earlier layer's. */
rgt_status rgt__prepare_find_nearest(rgt_op *op, int64_t bucket, const rgt__tunedb_limits *limits, rgt__choice *out);
/* rgt__prepare_buckets -- the tuned buckets of all layers, ascending, each once. */
rgt_status rgt__prepare_buckets(rgt_op *op, rgt__where at, int64_t buckets[RGT_BUCKETS_MAX], int *n);

/* ---- prepare_elsewhere.c ---- */

/* rgt__prepare_find_elsewhere -- the same signature with another number of threads on this device class, or, with
 * other_devices, on another device class: the nearest first. */
rgt_status rgt__prepare_find_elsewhere(rgt_op *op, int64_t rows, int other_devices, const rgt__tunedb_limits *limits,
                                       rgt__choice *out);

/* ---- prepare_pin.c ---- */

/* rgt__prepare_pin -- what is pinned for these rows goes before *out, which then is the runner-up; where it is not to be used,
 * *out says so. RGT_OK also where nothing is pinned. */
rgt_status rgt__prepare_pin(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out);

#endif
