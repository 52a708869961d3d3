/* put.h -- rows that put and miss both write. */
#ifndef RGT_TUNEDB_PUT_H
#define RGT_TUNEDB_PUT_H

#include "tunedb/handle.h"

/* rgt__put_scene -- stores signature and place where they are new, within the caller's write transaction. Keys are given. */
rgt_status rgt__put_scene(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__digest *signature,
                          const rgt__tunedb_place *place, const rgt__digest *place_key, rgt__error *err);

#endif
