/* put.h -- single rows, each stored where it is new, within the caller's write transaction. Keys are given (of a variant:
 * returned), fields canonical (accept.h); sqlite3_changes says afterwards whether the row was new. */
#ifndef RGT_TUNEDB_PUT_H
#define RGT_TUNEDB_PUT_H

#include "tunedb/handle.h"

rgt_status rgt__put_scene(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__digest *signature,
                          const rgt__tunedb_place *place, const char *clock, const rgt__digest *place_key, rgt__error *err);
rgt_status rgt__put_place(rgt__tunedb *db, const rgt__tunedb_place *place, const char *clock, const rgt__digest *key,
                          rgt__error *err);
rgt_status rgt__put_run(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__digest *key, const rgt__digest *signature,
                        const rgt__digest *place, rgt__error *err);
rgt_status rgt__put_variant(rgt__tunedb *db, const rgt__tunedb_variant *v, rgt__digest *key, rgt__error *err);
rgt_status rgt__put_trial(rgt__tunedb *db, const rgt__tunedb_trial *t, const rgt__digest *run, const rgt__digest *variant,
                          const rgt__digest *key, rgt__error *err);

#endif
