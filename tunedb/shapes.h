/* shapes.h -- the stored shapes that a signature could be near to, kept in the handle until the file changes. */
#ifndef RGT_TUNEDB_SHAPES_H
#define RGT_TUNEDB_SHAPES_H

#include "tunedb/find.h"
#include "tunedb/memo.h"

typedef struct rgt__shape {
  rgt__find_scene scene;
  const char *op_text;
  int align_bytes;
  double octaves[4]; /* log2 of in, hidden, out, groups; of what is absent 0 */
} rgt__shape;

/* rgt__shapes_get -- those of sig's class, bucket, form and order, of any alignment; borrowed until the next call. Within a
 * read transaction that began after *stamp (memo.h) was taken. RGT_EDB, RGT_ENOMEM. */
rgt_status rgt__shapes_get(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__memo_stamp *stamp,
                           const rgt__shape **out, int *n, rgt__error *err);
void rgt__shapes_octaves(const rgt__tunedb_signature *sig, double octaves[4]);
void rgt__shapes_drop(rgt__tunedb *db);

#endif
