/* foreign.c -- a database file that somebody else wrote.
 *
 * The file may be hostile: made to crash, hang or lead astray whoever reads it. So its schema must be ours word for word (no
 * expressions, triggers or views of its own are ever run), every page is checked before a row is read, no row may be larger
 * than ours can be, and the steps of SQLite's machine are counted. What the rows say is looked at by copy.c.
 *
 * The file's bytes are read through SQLite alone: closing a descriptor of our own would drop the locks that another connection
 * of this process holds on it.
 */
#include "tunedb/foreign.h"

#include "runtime/base/alloc.h"
#include "tunedb/connect.h"
#include "tunedb/migrate.h"
#include "tunedb/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROW_MAX_BYTES (1 << 20) /* ours have up to 4 KB; a schema's text is one too */
#define FREE_STEPS ((int64_t)4 << 20)
#define STEPS_PER_BYTE 32 /* a row takes about a hundred bytes, and a hundred steps */
#define STEPS_AT_ONCE 4096
enum { HEADER_BYTES = 100 };

static int on_steps(void *user) {
  rgt__foreign *f = user;
  f->steps_left -= STEPS_AT_ONCE;
  return f->steps_left < 0;
}

static uint32_t number(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* *real: the path with links followed, where the journals lie (free). */
static rgt_status look_at_file(rgt__foreign *f, char **real, rgt__error *err) {
  const char *journal = NULL;
  int exists = 0;
  rgt_status status = rgt__path_look(f->db.path, &exists, err);
  if (status) return status;
  if (!exists || stat(f->db.path, &f->before) != 0) return rgt__error_set(err, RGT_EDB, "%s: no such file", f->db.path);
  if (f->before.st_size == 0) return rgt__error_set(err, RGT_EDB, "%s: is empty, and no tuned database", f->db.path);
  *real = realpath(f->db.path, NULL); /* its own malloc */
  if (!*real) return rgt__error_set(err, RGT_EDB, "%s: cannot be looked at: %s", f->db.path, strerror(errno));
  status = rgt__path_in_use(*real, &journal, err);
  f->is_live = journal != NULL;
  return status;
}

static rgt_status connect_some_way(rgt__foreign *f, rgt__error *err) {
  char *real = NULL, *uri = NULL;
  rgt_status status = look_at_file(f, &real, err);
  if (!status && !f->is_live && !(uri = rgt__path_uri(real))) status = rgt__error_nomem(err, 3 * strlen(real));
  if (!status) status = rgt__connect_raw(&f->db, uri ? uri : real, SQLITE_OPEN_READONLY | (uri ? SQLITE_OPEN_URI : 0), err);
  rgt__free(uri);
  free(real);
  return status;
}

/* What the first bytes say, before SQLite believes them. Of a database in use they may be older than its journal. */
static rgt_status check_header(rgt__foreign *f, rgt__error *err) {
  unsigned char h[HEADER_BYTES] = {0};
  sqlite3_file *file = NULL;
  const char *path = f->db.path;
  if (sqlite3_file_control(f->db.sql, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file || !file->pMethods)
    return rgt__error_set(err, RGT_EDB, "%s: cannot be read", path);
  int code = file->pMethods->xRead(file, h, sizeof h, 0);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
    return rgt__error_set(err, RGT_EDB, "%s: cannot be read: %s", path, sqlite3_errstr(code));
  if (code != SQLITE_OK || memcmp(h, "SQLite format 3", 16) != 0)
    return rgt__error_set(err, RGT_EDB, "%s: is no database", path);
  int64_t page_bytes = (int64_t)h[16] << 8 | h[17], n_pages = number(h + 28);
  if (page_bytes == 1) page_bytes = 65536;
  if (!f->is_live && n_pages * page_bytes > f->before.st_size)
    return rgt__error_set(err, RGT_EDB, "%s: is cut short: %lld of %lld bytes are there", path, (long long)f->before.st_size,
                          (long long)(n_pages * page_bytes));
  return RGT_OK;
}

/* ---- the schema --------------------------------------------------------------------------------------------- */

static rgt_status next_object(rgt__tunedb *db, sqlite3_stmt *s, const char *texts[4], int *has_row, rgt__error *err) {
  rgt_status status = rgt__statement_step(db, s, has_row, err);
  for (int i = 0; i < 4; i++) {
    texts[i] = !status && *has_row ? (const char *)sqlite3_column_text(s, i) : NULL;
    if (!texts[i]) texts[i] = "";
  }
  return status;
}

/* Both lists are in the order of type and name, so the first difference tells what is too much or missing. */
static rgt_status compare_objects(rgt__tunedb *theirs, rgt__tunedb *ours, rgt__error *err) {
  sqlite3_stmt *a = NULL, *b = NULL;
  rgt_status status = rgt__statement_get(theirs, RGT_SQL_SCHEMA, &a, err);
  if (!status) status = rgt__statement_get(ours, RGT_SQL_SCHEMA, &b, err);
  while (!status) {
    const char *t[4], *o[4];
    int has_t = 0, has_o = 0;
    status = next_object(theirs, a, t, &has_t, err);
    if (!status) status = next_object(ours, b, o, &has_o, err);
    if (status || (!has_t && !has_o)) break;
    int c = !has_t ? 1 : !has_o ? -1 : strcmp(t[0], o[0]);
    if (c == 0) c = strcmp(t[1], o[1]);
    if (c < 0)
      status = rgt__error_set(err, RGT_EDB, "%s: holds the %.8s %.64s, which is not ours", theirs->path, t[0], t[1]);
    else if (c > 0)
      status = rgt__error_set(err, RGT_EDB, "%s: lacks the %s %s", theirs->path, o[0], o[1]);
    else if (strcmp(t[2], o[2]) != 0 || strcmp(t[3], o[3]) != 0)
      status = rgt__error_set(err, RGT_EDB, "%s: its %s %s is not made as ours is", theirs->path, o[0], o[1]);
  }
  sqlite3_reset(a);
  sqlite3_reset(b);
  return status;
}

static rgt_status check_numbers(rgt__foreign *f, int64_t *out, rgt__error *err) {
  int64_t id = 0, version = 0, is_utf8 = 0;
  rgt_status status = rgt__migrate_number(&f->db, "PRAGMA application_id", &id, err);
  if (!status) status = rgt__migrate_number(&f->db, "PRAGMA user_version", &version, err);
  if (!status) status = rgt__migrate_number(&f->db, "SELECT encoding = 'UTF-8' FROM pragma_encoding", &is_utf8, err);
  if (status) return status;
  if (id != RGT_TUNEDB_APPLICATION_ID)
    return rgt__error_set(err, RGT_EDB, "%s: is another program's database (application id 0x%llx, ours is 0x%x)", f->db.path,
                          (unsigned long long)id & 0xFFFFFFFF, RGT_TUNEDB_APPLICATION_ID);
  if (!is_utf8) return rgt__error_set(err, RGT_EDB, "%s: its texts are not UTF-8, ours are", f->db.path);
  if (version > RGT_TUNEDB_VERSION)
    return rgt__error_set(err, RGT_EDB, "%s: its schema has version %lld, this program reads up to %d; update it", f->db.path,
                          (long long)version, RGT_TUNEDB_VERSION);
  if (version < 1)
    return rgt__error_set(err, RGT_EDB, "%s: its schema has version %lld; the first one is 1", f->db.path, (long long)version);
  *out = version;
  return RGT_OK;
}

static rgt_status check_schema(rgt__foreign *f, rgt__error *err) {
  int64_t version = 0;
  rgt__tunedb ours = {.path = f->db.path, .owner = getpid()};
  rgt_status status = check_numbers(f, &version, err);
  if (status) return status;
  status = rgt__connect_raw(&ours, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
  if (status) return status;
  status = rgt__migrate_schema(&ours, (int)version, err);
  if (!status) status = compare_objects(&f->db, &ours, err);
  rgt__connect_close(&ours);
  return status;
}

rgt_status rgt__foreign_check(rgt__foreign *f, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row = 0;
  rgt_status status = rgt__statement_get(&f->db, RGT_SQL_QUICK_CHECK, &s, err);
  if (!status) status = rgt__statement_step(&f->db, s, &has_row, err);
  if (status) return status;
  const char *text = has_row ? (const char *)sqlite3_column_text(s, 0) : NULL;
  if (!text || strcmp(text, "ok") != 0)
    status = rgt__error_set(err, RGT_EDB, "%s: is damaged: %.200s", f->db.path, text ? text : "out of memory");
  sqlite3_reset(s);
  return status;
}

rgt_status rgt__foreign_open(rgt__foreign *f, const char *path, int check, rgt__error *err) {
  *f = (rgt__foreign){.db = {.owner = getpid(), .read_only = 1, .is_foreign = 1, .busy_limit_ms = RGT_TUNEDB_BUSY_MS}};
  if (!path || !path[0]) return rgt__error_set(err, RGT_EINVAL, "tuned database: no path is given; name a file");
  f->db.path = rgt__strdup(path);
  if (!f->db.path) return rgt__error_nomem(err, strlen(path) + 1);
  rgt_status status = connect_some_way(f, err);
  if (!status) {
    f->steps_left = FREE_STEPS + (int64_t)f->before.st_size * STEPS_PER_BYTE;
    sqlite3_progress_handler(f->db.sql, STEPS_AT_ONCE, on_steps, f);
    sqlite3_limit(f->db.sql, SQLITE_LIMIT_LENGTH, ROW_MAX_BYTES);
    status = check_header(f, err);
  }
  if (!status) status = rgt__migrate_exec(&f->db, "BEGIN", "reading", err);
  if (!status) status = check_schema(f, err);
  if (!status && check) status = rgt__foreign_check(f, err);
  if (status) rgt__foreign_close(f);
  return status;
}

rgt_status rgt__foreign_unchanged(const rgt__foreign *f, const struct stat *before, rgt__error *err) {
  struct stat now;
  if (stat(f->db.path, &now) == 0 && now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
      (f->is_live || (now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
                      now.st_mtim.tv_nsec == before->st_mtim.tv_nsec)))
    return RGT_OK;
  return rgt__error_set(err, RGT_EDB, "%s: was changed while it was read; try again", f->db.path);
}

void rgt__foreign_close(rgt__foreign *f) {
  if (f->db.sql) rgt__connect_close(&f->db);
  rgt__free(f->db.path);
  f->db.path = NULL;
}
