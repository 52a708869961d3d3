/* export.c -- every trial into one file that can be given away.
 *
 * The trials are copied (copy.c) into a new database beside the target, their winners derived there, and that one is written
 * out by VACUUM INTO: tables in the order of the schema, rows in the order of their keys, pages full, no journal. So the bytes
 * follow from the set of trials alone, and from the version of SQLite, which writes its number into the first page and decides
 * how a tree grows. What compares sets of trials over versions is the digest.
 */
#include "tunedb/copy.h"

#include "runtime/base/alloc.h"
#include "tunedb/connect.h"
#include "tunedb/migrate.h"
#include "tunedb/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that are made on the way: a folder of their own beside the target, so that they are on its disk and nobody else's. */
typedef struct work {
  const char *path;
  char *real;    /* the target, links followed */
  char *folder;  /* of the work */
  char *staging; /* the copy */
  char *result;  /* what is renamed */
  mode_t mode;
} work;

static mode_t usual_mode(void) {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* ---- the target --------------------------------------------------------------------------------------------- */

/* A journal that holds something belongs to the database that lies there: it would be played into the new one. */
static rgt_status check_journals(const char *path, rgt__error *err) {
  const char *journal = NULL;
  rgt_status status = rgt__path_in_use(path, &journal, err);
  if (status || !journal) return status;
  return rgt__error_set(err, RGT_EDB, "%s: is in use (%s lies beside it); name another file", path, journal);
}

/* Only what an export may lie on: nothing, an empty file, a tuned database that is not this one. */
static rgt_status check_target(const rgt__tunedb *db, work *w, rgt__error *err) {
  struct stat st;
  int exists = 0;
  rgt_status status = rgt__path_look(w->path, &exists, err);
  if (status) return status;
  w->mode = usual_mode();
  if (!exists) {
    w->real = rgt__strdup(w->path);
    if (!w->real) return rgt__error_nomem(err, strlen(w->path) + 1);
    return check_journals(w->real, err);
  }
  if (stat(w->path, &st) != 0) return rgt__error_set(err, RGT_EIO, "%s: %s", w->path, strerror(errno));
  if ((status = rgt__open_not_itself(db, w->path, err)) != RGT_OK) return status;
  char *real = realpath(w->path, NULL); /* realpath's own malloc */
  if (!real) return rgt__error_set(err, RGT_EIO, "%s: %s", w->path, strerror(errno));
  w->real = rgt__strdup(real);
  free(real);
  if (!w->real) return rgt__error_nomem(err, strlen(w->path) + 1);
  if (!rgt__path_holds_database(w->real))
    return rgt__error_set(err, RGT_EDB, "%s: is no tuned database, and stays as it is; name another file, or one to be made",
                          w->path);
  w->mode = st.st_mode & 0777;
  return check_journals(w->real, err);
}

static rgt_status begin_work(const rgt__tunedb *db, work *w, rgt__error *err) {
  rgt_status status = check_target(db, w, err);
  if (status) return status;
  char *folder = rgt__strjoin(w->real, ".part-XXXXXX");
  if (!folder) return rgt__error_nomem(err, strlen(w->real) + 16);
  if (!mkdtemp(folder)) { /* 0700 */
    status = rgt__error_set(err, RGT_EIO, "%s: cannot be written: %s", w->path, strerror(errno));
    rgt__free(folder);
    return status;
  }
  w->folder = folder;
  w->staging = rgt__strjoin(folder, "/staging");
  w->result = rgt__strjoin(folder, "/result");
  return w->staging && w->result ? RGT_OK : rgt__error_nomem(err, strlen(folder) + 16);
}

static void end_work(work *w) {
  if (w->staging) unlink(w->staging);
  if (w->result) unlink(w->result);
  if (w->folder) rmdir(w->folder);
  rgt__free(w->real);
  rgt__free(w->folder);
  rgt__free(w->staging);
  rgt__free(w->result);
}

/* ---- the copy ----------------------------------------------------------------------------------------------- */

/* All that SQLite could be built to do otherwise is said here. Nothing need survive a crash before the end. */
static const char begin_sql[] = "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = NONE; "
                                "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
                                "PRAGMA cache_size = -65536; PRAGMA foreign_keys = OFF; BEGIN";

static rgt_status set_numbers(rgt__tunedb *to, rgt__error *err) {
  char sql[200];
  snprintf(sql, sizeof sql,
           "PRAGMA application_id = %d; PRAGMA user_version = %d; INSERT INTO history VALUES (%d, 0, 'ragtune db export')",
           RGT_TUNEDB_APPLICATION_ID, RGT_TUNEDB_VERSION, RGT_TUNEDB_VERSION);
  return rgt__migrate_exec(to, sql, "setting the schema's version", err);
}

static rgt_status digest_trials(rgt__tunedb *db, rgt__digest *out, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt__hash h;
  int has_row = 1;
  rgt_status status = rgt__statement_get(db, RGT_SQL_TRIAL_KEYS, &s, err);
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune trials 1");
  while (!status) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    rgt__digest run, key;
    rgt__read_digest(&r, &run);
    rgt__read_digest(&r, &key);
    status = rgt__read_end(db, &r, "trial", err);
    rgt__hash_bytes(&h, run.bytes, sizeof run.bytes);
    rgt__hash_bytes(&h, key.bytes, sizeof key.bytes);
  }
  sqlite3_reset(s);
  if (!status) rgt__hash_end(&h, out);
  return status;
}

/* Numbers come last: what is not whole is no tuned database. */
static rgt_status fill(rgt__tunedb *from, rgt__tunedb *to, rgt__copied *copied, rgt__error *err) {
  rgt_status status = rgt__migrate_exec(to, begin_sql, "beginning", err);
  if (!status) status = rgt__migrate_schema(to, RGT_TUNEDB_VERSION, err);
  if (!status) status = rgt__copy_trials(from, to, NULL, copied, err);
  if (!status) status = rgt__copy_derive(to, copied, err);
  if (!status) status = set_numbers(to, err);
  if (!status) status = rgt__migrate_exec(to, "COMMIT", "writing", err);
  return status;
}

static rgt_status write_out(rgt__tunedb *to, const work *w, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int code = sqlite3_prepare_v2(to->sql, "VACUUM INTO ?", -1, &s, NULL);
  if (code == SQLITE_OK) code = sqlite3_bind_text(s, 1, w->result, -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_step(s);
  rgt_status status = code == SQLITE_DONE ? RGT_OK : rgt__statement_fail(to, "writing", err);
  sqlite3_finalize(s);
  return status;
}

static rgt_status make_files(rgt__tunedb *from, const work *w, rgt__copied *copied, rgt__tunedb_exported *out,
                             rgt__error *err) {
  rgt__tunedb to = {.path = (char *)w->path, .owner = getpid(), .busy_limit_ms = 0}; /* messages name the target */
  rgt_status status = rgt__connect_raw(&to, w->staging, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
  if (status) return status;
  status = fill(from, &to, copied, err);
  if (!status) status = digest_trials(&to, &out->digest, err);
  if (!status) {
    rgt__statement_close_all(&to);
    status = write_out(&to, w, err);
  }
  rgt__connect_close(&to);
  return status;
}

/* ---- the name ----------------------------------------------------------------------------------------------- */

static rgt_status finish(const work *w, int64_t *n_bytes, rgt__error *err) {
  struct stat st;
  int fd = open(w->result, O_RDONLY | O_CLOEXEC);
  int failed = fd < 0 || fchmod(fd, w->mode) != 0 || fsync(fd) != 0 || fstat(fd, &st) != 0, why = errno;
  if (fd >= 0) close(fd);
  if (!failed && rename(w->result, w->real) != 0) {
    failed = 1;
    why = errno;
  }
  if (failed) return rgt__error_set(err, RGT_EIO, "%s: cannot be written: %s", w->path, strerror(why));
  *n_bytes = (int64_t)st.st_size;
  char *folder = rgt__path_folder(w->real); /* that the name is on disk is tried: some file systems refuse */
  fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  rgt__free(folder);
  if (fd >= 0) {
    (void)!fsync(fd);
    close(fd);
  }
  return RGT_OK;
}

/* One read transaction: what is exported is the database at one moment. */
static rgt_status export_once(rgt__tunedb *db, const work *w, rgt__tunedb_exported *out, rgt__error *err) {
  rgt__copied copied = {0};
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN, err);
  if (status) return status;
  status = rgt__statement_end(db, make_files(db, w, &copied, out, err), err);
  out->copied = copied.counts;
  rgt__copied_free(&copied);
  return status;
}

rgt_status rgt__tunedb_export(rgt__tunedb *db, const char *path, rgt__tunedb_exported *out, rgt__error *err) {
  work w = {.path = path};
  rgt__tunedb_exported made = {0};
  rgt_status status = rgt__open_usable(db, err);
  if (status) return status;
  if (!path || !path[0]) return rgt__error_set(err, RGT_EINVAL, "tuned database: no path is given; name a file");
  status = begin_work(db, &w, err);
  if (!status) status = export_once(db, &w, &made, err);
  if (!status) status = finish(&w, &made.n_bytes, err);
  end_work(&w);
  if (!status && out) *out = made;
  return status;
}
