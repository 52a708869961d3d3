/* connect.c -- from a path to a connection whose file is known to be ours.
 *
 * A file is opened for writing if it and its folder can be written; else for reading; else as one that nobody changes
 * (immutable), which is the only way to read a WAL file in a folder where its journals cannot be made.
 */
#include "tunedb/connect.h"

#include "runtime/base/alloc.h"
#include "tunedb/memo.h"
#include "tunedb/migrate.h"
#include "tunedb/path.h"
#include "tunedb/salvage.h"
#include "tunedb/shapes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define JOURNAL_WAIT_MS 1000
#define CHECKED_PAGES 256 /* files up to a megabyte are checked whole when opened: a few milliseconds */

void rgt__connect_notice(rgt__tunedb *db, const char *format, ...) {
  size_t n = strlen(db->notice);
  if (n > 0 && n + 3 < sizeof db->notice) {
    memcpy(db->notice + n, "; ", 3);
    n += 2;
  }
  va_list args;
  va_start(args, format);
  vsnprintf(db->notice + n, sizeof db->notice - n, format, args);
  va_end(args);
}

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits grow with the tries and are random, so that two processes that collided do not collide again in step. */
static void pause_a_little(rgt__tunedb *db, int tries) {
  uint64_t most_us = tries < 5 ? (uint64_t)1000 << tries : 32000;
  uint64_t us = 200 + rgt__random_below(&db->jitter, most_us);
  nanosleep(&(struct timespec){.tv_nsec = (long)(us * 1000)}, NULL);
}

static int on_busy(void *user, int tries) {
  rgt__tunedb *db = user;
  int64_t now = now_ms();
  if (tries == 0) db->busy_began_ms = now;
  if (now - db->busy_began_ms >= db->busy_limit_ms) return 0;
  pause_a_little(db, tries);
  return 1;
}

void rgt__connect_close(rgt__tunedb *db) {
  rgt__memo_drop(db);
  rgt__shapes_drop(db);
  rgt__statement_close_all(db);
  sqlite3_close(db->sql);
  db->sql = NULL;
}

/* Nothing that a file brings along is run or trusted: no triggers, no views, no functions in its schema. No memory map, since a
 * file that is cut short under one means SIGBUS. None of these settings reads the file. */
rgt_status rgt__connect_raw(rgt__tunedb *db, const char *name, int sqlite_flags, rgt__error *err) {
  static const char settings[] = "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY";
  if (sqlite3_open_v2(name, &db->sql, sqlite_flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL) != SQLITE_OK) {
    rgt_status status = db->sql ? rgt__statement_fail(db, "opening", err) : rgt__error_nomem(err, 0);
    rgt__connect_close(db);
    return status;
  }
  sqlite3_busy_handler(db->sql, on_busy, db);
  sqlite3_db_config(db->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db->sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(db->sql, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(db->sql, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  sqlite3_db_config(db->sql, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
  rgt_status status = rgt__migrate_exec(db, settings, "opening", err);
  if (status) rgt__connect_close(db);
  return status;
}

typedef struct probe {
  int64_t application_id, version, n_objects;
} probe;

static int is_empty(const probe *p) {
  return p->application_id == 0 && p->version == 0 && p->n_objects == 0;
}

/* Whose file is it? A number of the first page may be damaged alone: our tables under a foreign id, or a version that the
 * file's own history does not know. */
static rgt_status look(rgt__tunedb *db, probe *p, rgt__error *err) {
  int64_t n_tables = 0, newest = 0;
  rgt_status status = rgt__migrate_number(db, "SELECT count(*) FROM sqlite_schema", &p->n_objects, err);
  if (!status) status = rgt__migrate_number(db, "PRAGMA application_id", &p->application_id, err);
  if (!status) status = rgt__migrate_number(db, "PRAGMA user_version", &p->version, err);
  if (status || is_empty(p)) return status;
  status = rgt__migrate_number(db,
                               "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
                               "('signature', 'place', 'run', 'variant', 'trial', 'history')",
                               &n_tables, err);
  if (status) return status;
  if (p->application_id != RGT_TUNEDB_APPLICATION_ID && n_tables < 6)
    return rgt__error_set(err, RGT_EDB,
                          "%s: is another program's database (application id 0x%llx, ours is 0x%x); name another file",
                          db->path, (unsigned long long)p->application_id, RGT_TUNEDB_APPLICATION_ID);
  if (n_tables == 6) status = rgt__migrate_number(db, "SELECT max(version) FROM history", &newest, err);
  if (status) return status;
  if (p->application_id != RGT_TUNEDB_APPLICATION_ID || n_tables < 6 || newest != p->version || p->version < 1) {
    db->damaged = 1;
    return rgt__error_set(err, RGT_EDB, "%s: its first page is damaged (application id 0x%llx, version %lld, history %lld)",
                          db->path, (unsigned long long)p->application_id, (long long)p->version, (long long)newest);
  }
  return RGT_OK;
}

static rgt_status quick_check(rgt__tunedb *db, rgt__error *err) {
  int64_t pages = 0;
  rgt_status status = rgt__migrate_number(db, "PRAGMA page_count", &pages, err);
  if (status || (pages > CHECKED_PAGES && !db->suspect)) return status;
  sqlite3_stmt *s = NULL;
  int has_row = 0;
  status = rgt__statement_get(db, RGT_SQL_QUICK_CHECK, &s, err);
  if (!status) status = rgt__statement_step(db, s, &has_row, err);
  if (!status && has_row) {
    rgt__reader r = {.s = s};
    const char *text = rgt__read_text(&r);
    if (strcmp(text, "ok") != 0) {
      db->damaged = !rgt__statement_unread(text);
      if (!db->damaged) db->code = SQLITE_IOERR;
      status = !db->damaged ? rgt__error_set(err, RGT_EDB, "%s: cannot be read: %s", db->path, text)
                            : rgt__error_set(err, RGT_EDB, "%s: is damaged: %s", db->path, text);
    }
  }
  if (has_row) sqlite3_reset(s);
  return status;
}

static rgt_status open_and_look(rgt__tunedb *db, const char *name, int sqlite_flags, probe *p, rgt__error *err) {
  struct stat before, after;
  db->code = SQLITE_OK;
  db->file_ino = 0;
  int seen = stat(db->path, &before) == 0;
  rgt_status status = rgt__connect_raw(db, name, sqlite_flags, err);
  if (status) return status;
  /* Which file was opened is known only if the same one lay there before and after: else another process moved it meanwhile. */
  if (seen && stat(db->path, &after) == 0 && before.st_dev == after.st_dev && before.st_ino == after.st_ino) {
    db->file_dev = after.st_dev;
    db->file_ino = after.st_ino;
    db->file_bytes = after.st_size;
    db->file_time = after.st_mtim;
  }
  status = look(db, p, err);
  if (!status) status = quick_check(db, err);
  if (status) rgt__connect_close(db);
  return status;
}

/* Failures that say "not this way", not "not this file". */
static int may_go_otherwise(const rgt__tunedb *db) {
  int primary = db->code & 0xFF;
  return primary == SQLITE_READONLY || primary == SQLITE_CANTOPEN || primary == SQLITE_PERM;
}

static rgt_status open_some_way(rgt__tunedb *db, int writable, probe *p, rgt__error *err) {
  /* "file:..." would be taken for a URI where SQLite is built that way. */
  char *name = rgt__alloc(strlen(db->path) + 3), *uri = NULL;
  if (!name) return rgt__error_nomem(err, strlen(db->path) + 3);
  sprintf(name, "%s%s", db->path[0] == '/' ? "" : "./", db->path);
  rgt_status status = RGT_EDB;
  db->read_only = !writable;
  if (writable) status = open_and_look(db, name, SQLITE_OPEN_READWRITE, p, err);
  db->immutable = (db->flags & RGT_TUNEDB_SITE) && rgt__path_is_resting(db->path);
  if (!db->immutable && (!writable || (status && may_go_otherwise(db)))) {
    db->read_only = 1;
    status = open_and_look(db, name, SQLITE_OPEN_READONLY, p, err);
  }
  if (db->immutable || (status && may_go_otherwise(db))) {
    uri = rgt__path_uri(db->path);
    if (uri) status = open_and_look(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, p, err);
    if (db->immutable && !uri) status = rgt__error_set(err, RGT_EDB, "%s: cannot be opened", db->path);
  }
  rgt__free(name);
  rgt__free(uri);
  return status;
}

static int has_journal_mode(rgt__tunedb *db, const char *sql, const char *mode, int *code) {
  sqlite3_stmt *s = NULL;
  int yes = 0;
  *code = sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL);
  if (*code == SQLITE_OK) {
    *code = sqlite3_step(s);
    const char *text = *code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    yes = text && strcmp(text, mode) == 0;
  }
  sqlite3_finalize(s);
  return yes;
}

/* Changing the mode needs the file for itself, and SQLite does not always wait for that. A mode that could not be had soon is
 * no failure: the file works in the one that it has. */
static void change_journal(rgt__tunedb *db, const char *sql, const char *mode) {
  int64_t end = now_ms() + JOURNAL_WAIT_MS;
  int code;
  for (int tries = 0; !has_journal_mode(db, sql, mode, &code) && (code & 0xFF) == SQLITE_BUSY && now_ms() < end; tries++)
    pause_a_little(db, tries);
}

/* WAL needs shared memory, which a network file system does not have. */
static rgt_status set_journal(rgt__tunedb *db, rgt__error *err) {
  int on_network = rgt__path_on_network(db->path), code;
  if (on_network < 0) return rgt__error_nomem(err, strlen(db->path) + 1);
  int rollback = on_network || (db->flags & RGT_TUNEDB_ROLLBACK_JOURNAL);
  if (on_network)
    rgt__connect_notice(
        db, "%s lies on a network file system, where locks may be slow or missing: RAGTUNE_DB can name a local file", db->path);
  const char *mode = rollback ? "delete" : "wal";
  if (!has_journal_mode(db, "PRAGMA journal_mode", mode, &code))
    change_journal(db, rollback ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL", mode);
  return rgt__migrate_exec(db, rollback ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", "opening", err);
}

/* A schema of another version that cannot or must not be changed is used as far as today's statements can read it: a later one,
 * or an older one where the file cannot be written. */
static rgt_status use_unchanged(rgt__tunedb *db, const probe *p, rgt__error *err) {
  static const rgt__sql_name needed[] = {RGT_SQL_RUNS,           RGT_SQL_RUN_TRIALS, RGT_SQL_STANDINGS,
                                         RGT_SQL_STANDING_TRIAL, RGT_SQL_WINNER,     RGT_SQL_SKEWS,
                                         RGT_SQL_BUCKETS,        RGT_SQL_NEAR,       RGT_SQL_WINNERS};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
    sqlite3_stmt *s = NULL;
    if (!rgt__statement_get(db, needed[i], &s, err)) continue;
    db->damaged = 0; /* another form is no damage */
    if (p->version < RGT_TUNEDB_VERSION)
      return rgt__error_set(err, RGT_EDB,
                            "%s: its schema has version %lld and must be migrated to %d, but it cannot be written", db->path,
                            (long long)p->version, RGT_TUNEDB_VERSION);
    return rgt__error_set(err, RGT_EDB,
                          "%s: its schema has version %lld, this program reads up to %d; update it, or name another file",
                          db->path, (long long)p->version, RGT_TUNEDB_VERSION);
  }
  db->damaged = 0;
  db->read_only = 1;
  if (p->version > RGT_TUNEDB_VERSION)
    rgt__connect_notice(db, "%s: its schema has version %lld, newer than this program's %d: it is read, and nothing is stored",
                        db->path, (long long)p->version, RGT_TUNEDB_VERSION);
  return RGT_OK;
}

rgt_status rgt__connect_attach(rgt__tunedb *db, int writable, rgt__error *err) {
  probe p = {0};
  db->damaged = 0;
  rgt_status status = open_some_way(db, writable, &p, err);
  if (status) return status;
  int is_site = (db->flags & RGT_TUNEDB_SITE) != 0;
  if (p.version > RGT_TUNEDB_VERSION && is_site) {
    status = rgt__error_set(err, RGT_EDB, "%s: its schema has version %lld, newer than this program's %d", db->path,
                            (long long)p.version, RGT_TUNEDB_VERSION);
  } else if (p.version > RGT_TUNEDB_VERSION) {
    status = use_unchanged(db, &p, err);
  } else if (db->read_only) {
    if (is_empty(&p))
      status = rgt__error_set(err, RGT_EDB, "%s: holds nothing yet and cannot be written", db->path);
    else if (p.version < RGT_TUNEDB_VERSION)
      status = use_unchanged(db, &p, err);
    if (!status && !is_site && !(db->flags & RGT_TUNEDB_READ_ONLY))
      rgt__connect_notice(db, "%s cannot be written: it is read, and nothing is stored", db->path);
  } else {
    status = set_journal(db, err);
    if (!status && is_empty(&p)) status = rgt__migrate_create(db, err);
    if (!status && !is_empty(&p) && p.version < RGT_TUNEDB_VERSION)
      status = rgt__migrate_up(db, NULL, 0, RGT_TUNEDB_VERSION, err);
  }
  if (is_site) db->notice[0] = 0; /* that nothing is stored there is no news */
  if (status) rgt__connect_close(db);
  return status;
}

static rgt_status find_or_make(rgt__tunedb *db, rgt__error *err) {
  int exists = 0, reader = (db->flags & (RGT_TUNEDB_READ_ONLY | RGT_TUNEDB_SITE)) != 0;
  rgt_status status = rgt__path_look(db->path, &exists, err);
  if (status) return status;
  if (!exists && (reader || (db->flags & RGT_TUNEDB_MUST_EXIST)))
    return rgt__error_set(err, RGT_EDB, "%s: no such file", db->path);
  if (exists && !(db->flags & RGT_TUNEDB_OWN_PLACE) && !rgt__path_holds_database(db->path))
    return rgt__error_set(err, RGT_EDB, "%s: is no tuned database, and stays as it is; name another file, or one to be made",
                          db->path);
  if (!exists) status = rgt__path_create(db->path, err);
  if (status) return status;
  int writable = reader ? 0 : rgt__path_writable(db->path);
  if (writable < 0) return rgt__error_nomem(err, strlen(db->path) + 1);
  status = rgt__connect_attach(db, writable, err);
  /* Damage is looked at twice: SQLite says the same of a journal that the disk refused to read a moment ago. */
  if (status && db->damaged && writable) status = rgt__connect_attach(db, writable, err);
  if (status && db->damaged && writable) return rgt__salvage(db, err);
  return status;
}

/* Under the folder's lock: a process that finds damage moves the file away and makes a new one, and nobody may look at the one
 * or the other, or their journals, in the middle of that. A site's file is nobody's to move. */
rgt_status rgt__connect_file(rgt__tunedb *db, rgt__error *err) {
  int lock = db->flags & RGT_TUNEDB_SITE ? -1 : rgt__path_lock(db->path);
  rgt_status status = find_or_make(db, err);
  rgt__path_unlock(lock);
  return status;
}

rgt_status rgt__connect_memory(rgt__tunedb *db, rgt__error *err) {
  rgt_status status = rgt__connect_raw(db, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
  if (status) return status;
  status = rgt__migrate_create(db, err);
  if (status) rgt__connect_close(db);
  return status;
}
