/* find.h -- the best standing of a signature: shared by find, nearest and list. */
#ifndef RGT_TUNEDB_FIND_H
#define RGT_TUNEDB_FIND_H

#include "tunedb/handle.h"

#define RGT_FIND_SKEWS_MAX 16 /* of one shape */

/* A stored signature. */
typedef struct rgt__find_scene {
  rgt__digest signature;
  const char *text, *skew;
} rgt__find_scene;

/* rgt__find_best -- winner, runner-up and counts over n scenes at one place: of several the smallest worst ratio. Fills all of
 * out but exact, device_class and policy. RGT_EMISS, without a message, where nothing is admitted. Within a read transaction.
 */
rgt_status rgt__find_best(rgt__tunedb *db, const rgt__find_scene *scenes, int n, const rgt__digest *place,
                          const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__error *err);
/* rgt__find_accept -- checks what find, nearest and trials are called with. */
rgt_status rgt__find_accept(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place, rgt__error *err);
int rgt__find_any_skew(const rgt__tunedb_signature *sig); /* "unknown" */

#endif
