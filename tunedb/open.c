/* open.c -- the handle: made, looked at, and given back. */
#include "tunedb/connect.h"
#include "tunedb/memo.h"
#include "tunedb/path.h"
#include "tunedb/salvage.h"
#include "tunedb/shapes.h"

#include "runtime/base/alloc.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void free_handle(rgt__tunedb *db) {
  if (!db) return;
  rgt__memo_drop(db);
  rgt__shapes_drop(db);
  rgt__free(db->path);
  rgt__free(db);
}

static void seed_jitter(rgt__tunedb *db) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  rgt__random_seed(&db->jitter, (uint64_t)t.tv_nsec ^ ((uint64_t)getpid() << 32) ^ (uint64_t)(uintptr_t)db);
}

rgt_status rgt__tunedb_open(const char *path, unsigned flags, rgt__tunedb **out, rgt__error *err) {
  if (!out) return rgt__error_set(err, RGT_EINVAL, "tuned database: nowhere to put the handle");
  rgt__tunedb *db = rgt__alloc_zero(1, sizeof *db);
  if (!db) return rgt__error_nomem(err, sizeof *db);
  db->in_memory = !path || strcmp(path, ":memory:") == 0;
  db->path = rgt__strdup(db->in_memory ? ":memory:" : path);
  db->flags = flags;
  db->owner = getpid();
  db->busy_limit_ms = RGT_TUNEDB_BUSY_MS;
  seed_jitter(db);
  rgt_status status;
  if (!db->path)
    status = rgt__error_nomem(err, path ? strlen(path) + 1 : 9);
  else
    status = db->in_memory ? rgt__connect_memory(db, err) : rgt__connect_file(db, err);
  if (status) {
    free_handle(db);
    return status;
  }
  *out = db;
  return RGT_OK;
}

/* In a forked child SQLite must not touch the file, not even to close it: the child only lets go of its memory. */
void rgt__tunedb_close(rgt__tunedb *db) {
  if (!db) return;
  if (db->sql && db->owner == getpid()) rgt__connect_close(db);
  free_handle(db);
}

const char *rgt__tunedb_path(const rgt__tunedb *db) {
  return db->path;
}

const char *rgt__tunedb_notice(const rgt__tunedb *db) {
  return db->notice;
}

int rgt__tunedb_is_read_only(const rgt__tunedb *db) {
  return db->read_only;
}

static rgt_status reopen(rgt__tunedb *db, rgt__error *err) {
  if (db->sql) rgt__connect_close(db);
  db->notice[0] = 0;
  return rgt__connect_file(db, err);
}

static int is_open_file(const rgt__tunedb *db, const struct stat *st) {
  return st->st_dev == db->file_dev && st->st_ino == db->file_ino;
}

rgt_status rgt__open_not_itself(const rgt__tunedb *db, const char *path, rgt__error *err) {
  struct stat st;
  if (db->in_memory || stat(path, &st) != 0 || !is_open_file(db, &st)) return RGT_OK;
  return rgt__error_set(err, RGT_EINVAL, "%s: is the database itself; name another file", path);
}

int rgt__open_was_moved(const rgt__tunedb *db) {
  struct stat st;
  if (db->in_memory) return 0;
  if (!db->file_ino || stat(db->path, &st) != 0 || !is_open_file(db, &st)) return 1;
  return db->immutable && (st.st_size != db->file_bytes || st.st_mtim.tv_sec != db->file_time.tv_sec ||
                           st.st_mtim.tv_nsec != db->file_time.tv_nsec || rgt__path_has_wal(db->path));
}

rgt_status rgt__open_usable(rgt__tunedb *db, rgt__error *err) {
  if (!db) return rgt__error_set(err, RGT_EINVAL, "tuned database: no handle");
  if (db->owner != getpid())
    return rgt__error_set(err, RGT_EDB, "%s: was opened before a fork; open it again in the child", db->path);
  if (db->locks_fail)
    return rgt__error_set(err, RGT_EDB, "%s: its locks do not work there; name a file in another folder", db->path);
  if (db->sql && !rgt__open_was_moved(db)) return RGT_OK;
  return reopen(db, err);
}

rgt_status rgt__open_writable(rgt__tunedb *db, rgt__error *err) {
  rgt_status status = rgt__open_usable(db, err);
  if (status || !db->read_only) return status;
  return rgt__error_set(err, RGT_EDB, "%s: is open for reading only; nothing can be stored", db->path);
}

/* First a look at the whole file: another process may have repaired or migrated it, and a healthy file must not be moved. If
 * the call then meets damage again, it is of a kind that SQLite's check does not see. */
int rgt__open_again(rgt__tunedb *db, int tries, rgt__error *err) {
  int io_failed = (db->code & 0xFF) == SQLITE_IOERR; /* a disk's, or journals that another process is just moving away */
  if (tries > 1 || db->read_only || db->in_memory || !(db->damaged || (io_failed && tries == 0))) return 0;
  rgt_status status;
  if (tries == 0) {
    db->suspect = 1;
    status = reopen(db, NULL);
    db->suspect = 0;
  } else {
    int lock = rgt__path_lock(db->path);
    rgt__connect_close(db);
    status = rgt__salvage(db, NULL);
    rgt__path_unlock(lock);
  }
  if (status) return 0;
  if (err) err->text[0] = 0;
  return 1;
}
