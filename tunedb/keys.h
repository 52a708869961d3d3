/* keys.h -- every key: a digest of the row's own fields. */
#ifndef RGT_TUNEDB_KEYS_H
#define RGT_TUNEDB_KEYS_H

#include "tunedb/tunedb.h"

#define RGT_CLOCK_MEASURED "measured"

/* rgt__keys_any_policy -- the place of what holds for a device class under any policy. */
rgt__tunedb_place rgt__keys_any_policy(const char *device_class);

void rgt__keys_signature(const rgt__tunedb_signature *sig, rgt__digest *key);
void rgt__keys_place(const rgt__tunedb_place *place, const char *clock, rgt__digest *key);
void rgt__keys_variant(const char *family, int revision, const char *params, rgt__digest *key);
void rgt__keys_run(const rgt__tunedb_run *run, const rgt__digest *signature, const rgt__digest *place, rgt__digest *key);
void rgt__keys_trial(const rgt__tunedb_trial *trial, const rgt__digest *run, const rgt__digest *variant, rgt__digest *key);
const char *rgt__keys_outcome(rgt_outcome outcome);              /* "ok", "infeasible", ... */
int rgt__keys_outcome_parse(const char *word, rgt_outcome *out); /* 1 if it is one */

#endif
