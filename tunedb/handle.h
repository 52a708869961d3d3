/* handle.h -- the open database and its prepared statements, shared by the files of tunedb/. */
#ifndef RGT_TUNEDB_HANDLE_H
#define RGT_TUNEDB_HANDLE_H

#include "runtime/base/random.h"
#include "tunedb/sql.h"
#include "tunedb/tunedb.h"

#include <sqlite3.h>
#include <sys/types.h>
#include <time.h>

#define RGT_TUNEDB_APPLICATION_ID 0x52475444 /* "RGTD" */
#define RGT_TUNEDB_VERSION 2
#define RGT_TUNEDB_BUSY_MS 10000 /* longest wait for another process's transaction */

/* A further flag of rgt__tunedb_open: behave as on a network file system. */
enum { RGT_TUNEDB_ROLLBACK_JOURNAL = 16 };

typedef enum rgt__sql_name {
#define RGT_SQL_ENUM(name, text) name,
  RGT_SQL_LIST(RGT_SQL_ENUM)
#undef RGT_SQL_ENUM
      RGT_N_SQL
} rgt__sql_name;

typedef struct rgt__memo rgt__memo;

struct rgt__tunedb {
  sqlite3 *sql;   /* NULL only after rgt__open_again failed */
  char *path;     /* as given; ":memory:" */
  unsigned flags; /* as given */
  int in_memory;
  int read_only;
  int is_foreign; /* somebody else's, read once: never moved aside */
  int damaged;    /* a statement met damage, or the file was moved away under us: rgt__open_again may help */
  int suspect;    /* check the whole file when it is opened next, however large */
  int locks_fail; /* SQLite tried for ten seconds to lock the file's journal: it is not asked again */
  int code;       /* SQLite's extended code of the last failure */
  dev_t file_dev; /* which file is open, to see that another one lies at the path since */
  ino_t file_ino;
  int immutable; /* opened as a file that nobody changes: as it was then, by size and time, or it is opened anew */
  off_t file_bytes;
  struct timespec file_time;
  pid_t owner; /* no handle crosses a fork */
  int64_t busy_limit_ms, busy_began_ms;
  rgt__random jitter;
  char notice[1024];
  struct rgt__memo *memo;     /* memo.h; NULL until something is looked for */
  struct rgt__shapes *shapes; /* shapes.h; likewise */
  sqlite3_stmt *statements[RGT_N_SQL];
};

/* rgt__open_was_moved -- another file, or none, lies at the path than the one that was opened: it would take writes that nobody
 * ever reads. */
int rgt__open_was_moved(const rgt__tunedb *db);
/* rgt__open_not_itself -- RGT_EINVAL where the file that is open lies at path. */
rgt_status rgt__open_not_itself(const rgt__tunedb *db, const char *path, rgt__error *err);
/* rgt__open_usable -- RGT_EINVAL without a handle, RGT_EDB in a forked child. Opens the file anew where another one lies at the
 * path since (deleted, replaced, moved aside by another process). */
rgt_status rgt__open_usable(rgt__tunedb *db, rgt__error *err);
/* rgt__open_writable -- and RGT_EDB where the handle is read-only. */
rgt_status rgt__open_writable(rgt__tunedb *db, rgt__error *err);
/* rgt__open_again -- after a call that failed, tried again `tries` times already: 1 if it met damage and may be tried once
 * more, err is empty again then. */
int rgt__open_again(rgt__tunedb *db, int tries, rgt__error *err);

/* rgt__statement_unread -- 1 if the text that SQLite's check gave speaks of pages that the disk or the memory did not give just
 * now, which is no damage: the file stays where it is. */
int rgt__statement_unread(const char *text);
/* rgt__statement_get -- a prepared statement, made at its first use, reset and without values. */
rgt_status rgt__statement_get(rgt__tunedb *db, rgt__sql_name name, sqlite3_stmt **out, rgt__error *err);
/* rgt__statement_step -- one step; *has_row says whether a row is there. Resets it at the end and on failure. */
rgt_status rgt__statement_step(rgt__tunedb *db, sqlite3_stmt *s, int *has_row, rgt__error *err);
/* rgt__statement_run -- to its end, rows ignored. */
rgt_status rgt__statement_run(rgt__tunedb *db, sqlite3_stmt *s, rgt__error *err);
rgt_status rgt__statement_simple(rgt__tunedb *db, rgt__sql_name name, rgt__error *err); /* get and run */
/* rgt__statement_begin -- BEGIN or BEGIN IMMEDIATE; rgt__statement_end then needs no memory to end it. */
rgt_status rgt__statement_begin(rgt__tunedb *db, rgt__sql_name how, rgt__error *err);
/* rgt__statement_end -- COMMIT where status is RGT_OK, else ROLLBACK. Returns status or why the commit failed. */
rgt_status rgt__statement_end(rgt__tunedb *db, rgt_status status, rgt__error *err);
/* rgt__statement_fail -- the last SQLite error as a line: path, what failed, what to do. */
rgt_status rgt__statement_fail(rgt__tunedb *db, const char *what, rgt__error *err);
void rgt__statement_close_all(rgt__tunedb *db);

/* Values in order, ?1 first; texts and digests are borrowed until the statement's next reset. */
typedef struct rgt__binder {
  sqlite3_stmt *s;
  int column, code;
} rgt__binder;

void rgt__bind_text(rgt__binder *b, const char *text);
void rgt__bind_int(rgt__binder *b, int64_t v);
void rgt__bind_double(rgt__binder *b, double v);
void rgt__bind_digest(rgt__binder *b, const rgt__digest *d);                      /* NULL binds NULL */
rgt_status rgt__bind_end(rgt__tunedb *db, const rgt__binder *b, rgt__error *err); /* did every value go in? */
/* rgt__bind_shape -- device class, op, form, order, alignment and skew: a signature whatever its bucket. */
rgt_status rgt__bind_shape(rgt__tunedb *db, sqlite3_stmt *s, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                           rgt__error *err);
/* rgt__bind_scene -- a statement whose values are a signature's and a place's key. */
rgt_status rgt__bind_scene(rgt__tunedb *db, rgt__sql_name name, const rgt__digest *signature, const rgt__digest *place,
                           sqlite3_stmt **out, rgt__error *err);

/* Columns in order, the first first. bad becomes 1 where a value is not of the kind asked for. */
typedef struct rgt__reader {
  sqlite3_stmt *s;
  int column, bad;
} rgt__reader;

const char *rgt__read_text(rgt__reader *r); /* never NULL; borrowed until the next step */
int64_t rgt__read_int(rgt__reader *r);
int rgt__read_small(rgt__reader *r); /* an int */
double rgt__read_double(rgt__reader *r);
void rgt__read_digest(rgt__reader *r, rgt__digest *out);
int rgt__read_null(rgt__reader *r); /* 1, and one column on, if the value is NULL */
rgt_status rgt__read_end(rgt__tunedb *db, const rgt__reader *r, const char *table,
                         rgt__error *err); /* RGT_EDB if bad: damage */

#endif
