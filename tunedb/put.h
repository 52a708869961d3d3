/* put.h -- rows that several tables refer to. */
#ifndef RGT_TUNEDB_PUT_H
#define RGT_TUNEDB_PUT_H

#include "tunedb/handle.h"

/* rgt__put_scene -- a signature and a place, as far as they are not there. Within a write transaction. */
rgt_status rgt__put_scene(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__digest *signature,
                          const rgt__tunedb_place *place, const rgt__digest *place_key, rgt__error *err);
rgt_status rgt__put_place(rgt__tunedb *db, const rgt__tunedb_place *place, const rgt__digest *key, rgt__error *err);
rgt_status rgt__put_variant(rgt__tunedb *db, const rgt__tunedb_variant *v, rgt__digest *key, rgt__error *err);

#endif
