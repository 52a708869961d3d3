/* migrate.h -- making the schema, and bringing an older one up to date. */
#ifndef RGT_TUNEDB_MIGRATE_H
#define RGT_TUNEDB_MIGRATE_H

#include "tunedb/handle.h"

typedef struct rgt__migrate_step {
  int to;                                              /* from to - 1 */
  const char *sql;                                     /* run first; NULL: none */
  rgt_status (*run)(rgt__tunedb *db, rgt__error *err); /* then this, e.g. to compute keys anew; NULL: none */
} rgt__migrate_step;

/* rgt__migrate_schema -- the tables of `version` in an empty database, without its numbers. Within the caller's transaction or
 * none. */
rgt_status rgt__migrate_schema(rgt__tunedb *db, int version, rgt__error *err);
/* rgt__migrate_create -- the schema in an empty file; does nothing if another process made it meanwhile. */
rgt_status rgt__migrate_create(rgt__tunedb *db, rgt__error *err);
/* rgt__migrate_up -- from the file's version to `version` by `steps`, in one transaction, after a backup of the file as it is
 * to
 * "<path>.v<old>-<UTC time>" (0600). All or nothing. steps NULL: this version's own. */
rgt_status rgt__migrate_up(rgt__tunedb *db, const rgt__migrate_step *steps, int n, int version, rgt__error *err);
rgt_status rgt__migrate_exec(rgt__tunedb *db, const char *sql, const char *what, rgt__error *err);
rgt_status rgt__migrate_number(rgt__tunedb *db, const char *sql, int64_t *out, rgt__error *err); /* a query's one integer */

#endif
