/* accept.h -- what may be stored: nothing that a later reader would stumble over. */
#ifndef RGT_TUNEDB_ACCEPT_H
#define RGT_TUNEDB_ACCEPT_H

#include "tunedb/tunedb.h"

#define RGT_FREE_TEXT_MAX 1024

/* All return RGT_OK or RGT_EINVAL, naming the field, its value and what would be right. */
rgt_status rgt__accept_signature(const rgt__tunedb_signature *sig, rgt__error *err);
rgt_status rgt__accept_place(const rgt__tunedb_place *place, rgt__error *err);

typedef struct rgt__accepted_run {
  rgt__tunedb_run run; /* texts borrowed from the caller's, or from here where they were cut */
  char conditions[RGT_FREE_TEXT_MAX];
} rgt__accepted_run;

typedef struct rgt__accepted_trial {
  rgt__tunedb_trial trial;
  char reason[RGT_FREE_TEXT_MAX];
} rgt__accepted_trial;

/* The canonical form, whose digest is the key: flags 0 or 1, no -0 and no NaN, times only where the outcome is ok and not
 * beyond eleven days, dates from 1970 to 9999, free texts clean (clean.h) and cut at RGT_FREE_TEXT_MAX. The form of a canonical
 * form is itself. The result points into itself: do not copy it. */
rgt_status rgt__accept_run(const rgt__tunedb_run *run, rgt__accepted_run *out, rgt__error *err);
rgt_status rgt__accept_trial(const rgt__tunedb_trial *trial, rgt__accepted_trial *out, rgt__error *err);

#endif
