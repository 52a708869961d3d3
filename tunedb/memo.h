/* memo.h -- what was found lately, kept in the handle until the file changes. */
#ifndef RGT_TUNEDB_MEMO_H
#define RGT_TUNEDB_MEMO_H

#include "tunedb/handle.h"

enum { RGT_MEMO_STAMP_WORDS = 6 }; /* the 48 bytes of a WAL index's header */

/* What the file was like, as far as that can be told without asking the system. */
typedef struct rgt__memo_stamp {
  uint64_t words[RGT_MEMO_STAMP_WORDS];
  int known;
} rgt__memo_stamp;

/* rgt__memo_look -- the file's stamp; out->known is 0 where there is none. */
void rgt__memo_look(rgt__tunedb *db, rgt__memo_stamp *out);
/* rgt__memo_get -- 1 and *out if this very question was answered since the file last changed. Else 0 and the file's stamp, for
 * rgt__memo_put once it is answered. */
int rgt__memo_get(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                  const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__memo_stamp *stamp);
/* rgt__memo_put -- best effort: without memory nothing is kept. */
void rgt__memo_put(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                   const rgt__tunedb_limits *limits, const rgt__tunedb_winner *winner, const rgt__memo_stamp *stamp);
/* rgt__memo_drop -- when the connection ends. */
void rgt__memo_drop(rgt__tunedb *db);

#endif
