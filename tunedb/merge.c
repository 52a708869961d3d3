/* merge.c -- the trials of other databases, taken into this one: all of them or none. */
#include "tunedb/copy.h"
#include "tunedb/foreign.h"

#include "runtime/base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { MERGE_CACHE_KIB = 262144, USUAL_CACHE_KIB = 2000 /* SQLite's own */ };

/* Trees are entered at random places, so as much of them as is likely is kept in memory meanwhile. */
static void keep_pages(rgt__tunedb *db, int kib) {
  char sql[64];
  snprintf(sql, sizeof sql, "PRAGMA cache_size = %d", -kib);
  sqlite3_exec(db->sql, sql, NULL, NULL, NULL); /* only faster or slower */
}

/* Every file is looked at whole before the first row is stored, and before other writers are kept waiting. */
static rgt_status check_one(const rgt__tunedb *db, const char *path, struct stat *seen, rgt__error *err) {
  rgt__foreign f;
  rgt_status status = path ? rgt__open_not_itself(db, path, err) : RGT_OK;
  if (!status) status = rgt__foreign_open(&f, path, 1, err);
  if (status) return status;
  *seen = f.before;
  rgt__foreign_close(&f);
  return RGT_OK;
}

static rgt_status take_one(rgt__tunedb *db, const char *path, const struct stat *seen, rgt__copied *copied, rgt__error *err) {
  rgt__foreign f;
  rgt_status status = rgt__foreign_open(&f, path, 0, err);
  if (status) return status;
  status = rgt__foreign_unchanged(&f, seen, err);
  if (!status && f.is_live) status = rgt__foreign_check(&f, err); /* others may have written to it since */
  if (!status) keep_pages(&f.db, MERGE_CACHE_KIB);
  if (!status) status = rgt__copy_trials(&f.db, db, path, copied, err);
  if (!status) status = rgt__foreign_unchanged(&f, seen, err);
  rgt__foreign_close(&f);
  return status;
}

static rgt_status merge_once(rgt__tunedb *db, const char *const *paths, int n, const struct stat *seen, rgt__copied *copied,
                             rgt__error *err) {
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN_IMMEDIATE, err);
  if (status) return status;
  keep_pages(db, MERGE_CACHE_KIB);
  for (int i = 0; i < n && !status; i++) status = take_one(db, paths[i], &seen[i], copied, err);
  if (!status) status = rgt__copy_derive(db, copied, err);
  status = rgt__statement_end(db, status, err);
  if (db->sql) keep_pages(db, USUAL_CACHE_KIB);
  return status;
}

rgt_status rgt__tunedb_merge(rgt__tunedb *db, const char *const *paths, int n, rgt__tunedb_merged *out, rgt__error *err) {
  rgt__copied copied = {0};
  struct stat *seen = NULL;
  rgt_status status = rgt__open_writable(db, err);
  if (status) return status;
  if (n < 1 || !paths) return rgt__error_set(err, RGT_EINVAL, "tuned database: no path is given; name a file");
  seen = rgt__alloc_zero((size_t)n, sizeof *seen);
  if (!seen) return rgt__error_nomem(err, (size_t)n * sizeof *seen);
  for (int i = 0; i < n && !status; i++) status = check_one(db, paths[i], &seen[i], err);
  if (!status) {
    status = merge_once(db, paths, n, seen, &copied, err);
    for (int tries = 0; status && rgt__open_again(db, tries, err); tries++) {
      rgt__copied_free(&copied);
      status = merge_once(db, paths, n, seen, &copied, err);
    }
  }
  if (!status && out) *out = copied.counts;
  rgt__copied_free(&copied);
  rgt__free(seen);
  return status;
}
