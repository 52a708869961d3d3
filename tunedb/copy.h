/* copy.h -- trials from one database into another, each looked at anew: what export, import and merge have in common. */
#ifndef RGT_TUNEDB_COPY_H
#define RGT_TUNEDB_COPY_H

#include "tunedb/load.h"

typedef struct rgt__copy_scene {
  rgt__digest signature, place;
} rgt__copy_scene;

/* What was done; scenes: signatures and places that got new trials, in no order, with repetitions. All zero at first. */
typedef struct rgt__copied {
  rgt__tunedb_merged counts;
  rgt__copy_scene *scenes;
  int n_scenes, scenes_capacity;
} rgt__copied;

/* rgt__copy_trials -- every trial of `from`, with what it refers to, in the order of keys. Each key is computed anew from the
 * row's fields; where it is another one, where a field is none that may be stored, where a row refers to one that is not there,
 * the trial is left out and counted. What is stored is the canonical form (accept.h). source: where they are from, noted beside
 * each run that gets trials; NULL: nothing is noted. Within the caller's transactions on both. Adds to *out also where it
 * fails. RGT_EDB (the line names the database), RGT_ENOMEM. */
rgt_status rgt__copy_trials(rgt__tunedb *from, rgt__tunedb *to, const char *source, rgt__copied *out, rgt__error *err);
/* rgt__copy_derive -- standings and winners in `to` of what got new trials. Sorts the scenes. */
rgt_status rgt__copy_derive(rgt__tunedb *to, rgt__copied *copied, rgt__error *err);
void rgt__copied_free(rgt__copied *copied);

#endif
