/* migrate.c -- making the schema, and bringing an older one up to date. */
#include "tunedb/migrate.h"

#include "runtime/base/alloc.h"
#include "runtime/base/buffer.h"
#include "tunedb/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern const char rgt__tunedb_schema[], rgt__tunedb_schema_2[]; /* schema.sql, schema_2.sql */

/* One line a version after 1. A new database goes the same way from version 1, so that no two of one version differ. */
static const rgt__migrate_step own_steps[] = {{2, rgt__tunedb_schema_2, NULL}};
#define N_STEPS (RGT_TUNEDB_VERSION - 1)
_Static_assert(sizeof own_steps / sizeof *own_steps == N_STEPS, "a step for every version after the first");

rgt_status rgt__migrate_exec(rgt__tunedb *db, const char *sql, const char *what, rgt__error *err) {
  return sqlite3_exec(db->sql, sql, NULL, NULL, NULL) == SQLITE_OK ? RGT_OK : rgt__statement_fail(db, what, err);
}

rgt_status rgt__migrate_number(rgt__tunedb *db, const char *sql, int64_t *out, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = RGT_OK;
  if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW)
    status = rgt__statement_fail(db, "reading", err);
  else
    *out = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return status;
}

/* Within a transaction: both are fields of the first page, so they come and go with it. */
static rgt_status set_version(rgt__tunedb *db, int version, rgt__error *err) {
  char sql[256];
  snprintf(sql, sizeof sql,
           "PRAGMA application_id = %d; PRAGMA user_version = %d; INSERT INTO history VALUES (%d, %lld, 'ragtune %s')",
           RGT_TUNEDB_APPLICATION_ID, version, version, (long long)time(NULL), RGT_VERSION);
  return rgt__migrate_exec(db, sql, "setting the schema's version", err);
}

static rgt_status run_step(rgt__tunedb *db, const rgt__migrate_step *step, rgt__error *err) {
  rgt_status status = step->sql ? rgt__migrate_exec(db, step->sql, "migrating the schema", err) : RGT_OK;
  return !status && step->run ? step->run(db, err) : status;
}

rgt_status rgt__migrate_schema(rgt__tunedb *db, int version, rgt__error *err) {
  rgt_status status = rgt__migrate_exec(db, rgt__tunedb_schema, "making the schema", err);
  for (int i = 0; i < N_STEPS && own_steps[i].to <= version && !status; i++) status = run_step(db, &own_steps[i], err);
  return status;
}

rgt_status rgt__migrate_create(rgt__tunedb *db, rgt__error *err) {
  int64_t version = 0;
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN_IMMEDIATE, err);
  if (status) return status;
  status = rgt__migrate_number(db, "PRAGMA user_version", &version, err);
  if (!status && version == 0) {
    status = rgt__migrate_schema(db, RGT_TUNEDB_VERSION, err);
    if (!status) status = set_version(db, RGT_TUNEDB_VERSION, err);
  }
  return rgt__statement_end(db, status, err);
}

static rgt_status copy_to(rgt__tunedb *db, const char *to, rgt__error *err) {
  sqlite3 *source = NULL, *copy = NULL;
  sqlite3_backup *backup = NULL;
  int code = sqlite3_open_v2(sqlite3_db_filename(db->sql, "main"), &source, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
  if (code == SQLITE_OK) code = sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (code == SQLITE_OK) {
    backup = sqlite3_backup_init(copy, "main", source, "main");
    code = backup ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(copy);
    int end = sqlite3_backup_finish(backup);
    code = code == SQLITE_DONE ? end : code;
  }
  sqlite3_close(copy);
  sqlite3_close(source);
  if (code == SQLITE_OK) return RGT_OK;
  return rgt__error_set(err, RGT_EDB, "%s: cannot be backed up to %s, so it was not migrated: %s", db->path, to,
                        sqlite3_errstr(code));
}

static rgt_status sync_file(const char *path, rgt__error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC), failed = fd < 0 || fsync(fd) != 0, code = errno;
  if (fd >= 0) close(fd);
  return failed ? rgt__error_set(err, RGT_EDB, "%s: cannot be written: %s", path, strerror(code)) : RGT_OK;
}

/* A second connection reads what was committed, while the caller's transaction keeps writers out. The name is taken only when
 * the copy is whole. */
static rgt_status back_up(rgt__tunedb *db, int version, rgt__error *err) {
  char stamp[32], *temp = NULL;
  rgt__buffer name = {0};
  rgt_status status = RGT_OK;
  rgt__path_stamp(stamp);
  rgt__buffer_format(&name, "%s.v%d-%s", db->path, version, stamp);
  rgt__buffer half = {0};
  rgt__buffer_format(&half, "%s.part", name.data ? name.data : "");
  temp = rgt__buffer_take(&half, NULL);
  if (name.failed || !temp) {
    status = rgt__error_nomem(err, strlen(db->path) + 64);
    goto done;
  }
  status = rgt__path_create(temp, err);
  if (!status) status = copy_to(db, temp, err);
  if (!status) status = sync_file(temp, err);
  if (!status && rename(temp, name.data) != 0)
    status = rgt__error_set(err, RGT_EDB, "%s: cannot be named %s: %s", temp, name.data, strerror(errno));
  if (status) unlink(temp);
done:
  rgt__buffer_free(&name);
  rgt__buffer_free(&half);
  rgt__free(temp);
  return status;
}

static rgt_status run_steps(rgt__tunedb *db, const rgt__migrate_step *steps, int n, int from, int version, rgt__error *err) {
  rgt_status status = RGT_OK;
  int reached = from;
  for (int i = 0; i < n && !status; i++) {
    if (steps[i].to != reached + 1 || reached >= version) continue;
    status = run_step(db, &steps[i], err);
    if (!status) status = set_version(db, steps[i].to, err);
    reached++;
  }
  if (!status && reached != version)
    status = rgt__error_set(err, RGT_EDB, "%s: its schema has version %d, and no way leads from %d to %d", db->path, from,
                            reached, version);
  return status ? rgt__error_prefix(err, status, "migrating from version %d", from) : RGT_OK;
}

rgt_status rgt__migrate_up(rgt__tunedb *db, const rgt__migrate_step *steps, int n, int version, rgt__error *err) {
  int64_t from = 0;
  if (!steps) {
    steps = own_steps;
    n = N_STEPS;
  }
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN_IMMEDIATE, err);
  if (status) return status;
  status = rgt__migrate_number(db, "PRAGMA user_version", &from, err);
  if (!status && from < version) {
    if (!db->in_memory) status = back_up(db, (int)from, err);
    if (!status) status = run_steps(db, steps, n, (int)from, version, err);
  }
  return rgt__statement_end(db, status, err);
}
