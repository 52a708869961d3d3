/* statement.c -- prepared statements kept in the handle, values in, columns out, and what a failure is called. */
#include "tunedb/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[RGT_N_SQL] = {
#define RGT_SQL_TEXT(name, text) text,
    RGT_SQL_LIST(RGT_SQL_TEXT)
#undef RGT_SQL_TEXT
};

/* What to do about it: the half of the line that SQLite does not know. */
static const char *advice(const rgt__tunedb *db, int primary_code) {
  if (db->is_foreign) return "the file is damaged, or made to mislead; nothing was taken from it";
  switch (primary_code) {
  case SQLITE_FULL:
    return "the disk is full; make room, what was stored before is kept";
  case SQLITE_READONLY:
  case SQLITE_PERM:
    return "it cannot be written; look at the permissions of the file and its folder";
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return "another process keeps it locked; try again later or name another file";
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_CONSTRAINT:
    return "the file is damaged; opening it again moves it aside and keeps what can be read";
  case SQLITE_CANTOPEN:
    return "look at the folder's permissions";
  case SQLITE_IOERR:
    return "reading or writing failed; look at the disk and its free space";
  default:
    return NULL;
  }
}

/* SQLite calls a file damaged whose reading the system refuses with EIO. The system's error is still in its file objects: the
 * database's, and its journal's. */
static int reading_failed(rgt__tunedb *db) {
  int number = 0;
  sqlite3_file *journal = NULL;
  sqlite3_file_control(db->sql, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
  if (number == 0 && sqlite3_file_control(db->sql, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal) == SQLITE_OK && journal &&
      journal->pMethods)
    journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &number);
  return number == EIO || number == ENXIO || number == ERANGE;
}

/* Where another process moved the file, and its journals with it, under our hands, what SQLite calls an I/O error is cured by
 * looking again. A disk's own error leaves the file where it is. */
rgt_status rgt__statement_fail(rgt__tunedb *db, const char *what, rgt__error *err) {
  int code = sqlite3_extended_errcode(db->sql), primary = code & 0xFF;
  const char *text = sqlite3_errmsg(db->sql);
  if ((primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) && reading_failed(db)) {
    code = SQLITE_IOERR_READ;
    primary = SQLITE_IOERR;
    text = sqlite3_errstr(code);
  }
  db->code = code;
  if (primary == SQLITE_PROTOCOL) db->locks_fail = 1;
  /* What is stored here keeps every constraint, unless rows are there that cannot be: keys out of order hide what lies behind
   * them, and SQLite's quick check does not look for that. */
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_CONSTRAINT ||
      code == SQLITE_READONLY_DBMOVED || (primary == SQLITE_IOERR && rgt__open_was_moved(db)))
    db->damaged = 1;
  if (primary == SQLITE_NOMEM) return rgt__error_set(err, RGT_ENOMEM, "%s: %s: out of memory", db->path, what);
  const char *hint = advice(db, primary);
  return rgt__error_set(err, RGT_EDB, "%s: %s: %s%s%s", db->path, what, text, hint ? "; " : "", hint ? hint : "");
}

int rgt__statement_unread(const char *text) {
  static const char words[] = "error code";
  if (strstr(text, "failed to get page")) return 1;
  for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) {
    int code = atoi(at + sizeof words) & 0xFF;
    if (code == SQLITE_IOERR || code == SQLITE_NOMEM) return 1;
  }
  return 0;
}

rgt_status rgt__statement_get(rgt__tunedb *db, rgt__sql_name name, sqlite3_stmt **out, rgt__error *err) {
  sqlite3_stmt *s = db->statements[name];
  if (!s) {
    if (sqlite3_prepare_v3(db->sql, texts[name], -1, SQLITE_PREPARE_PERSISTENT, &s, NULL) != SQLITE_OK) {
      if ((sqlite3_errcode(db->sql) & 0xFF) == SQLITE_ERROR && !reading_failed(db))
        db->damaged = 1; /* a table of ours lacks a column */
      return rgt__statement_fail(db, "preparing a statement", err);
    }
    db->statements[name] = s;
  } else {
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
  }
  *out = s;
  return RGT_OK;
}

rgt_status rgt__statement_step(rgt__tunedb *db, sqlite3_stmt *s, int *has_row, rgt__error *err) {
  int code = sqlite3_step(s);
  *has_row = code == SQLITE_ROW;
  if (code == SQLITE_ROW) return RGT_OK;
  if (code == SQLITE_DONE) {
    sqlite3_reset(s);
    return RGT_OK;
  }
  rgt_status status = rgt__statement_fail(db, sqlite3_stmt_readonly(s) ? "reading" : "writing", err);
  sqlite3_reset(s);
  return status;
}

rgt_status rgt__statement_run(rgt__tunedb *db, sqlite3_stmt *s, rgt__error *err) {
  int has_row = 1;
  rgt_status status = RGT_OK;
  while (!status && has_row) status = rgt__statement_step(db, s, &has_row, err);
  return status;
}

rgt_status rgt__statement_simple(rgt__tunedb *db, rgt__sql_name name, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, name, &s, err);
  return status ? status : rgt__statement_run(db, s, err);
}

/* What ends a transaction is prepared before it begins: where memory runs out in the middle, there is none for a ROLLBACK. One
 * that is open all the same is of a call that failed. */
rgt_status rgt__statement_begin(rgt__tunedb *db, rgt__sql_name how, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, RGT_SQL_COMMIT, &s, err);
  if (!status) status = rgt__statement_get(db, RGT_SQL_ROLLBACK, &s, err);
  if (!status && !sqlite3_get_autocommit(db->sql)) status = rgt__statement_run(db, s, err);
  return status ? status : rgt__statement_simple(db, how, err);
}

/* A failed COMMIT leaves the transaction open (busy) or not (full disk): ask SQLite which. The rollback's own failure adds
 * nothing to what is reported already. */
rgt_status rgt__statement_end(rgt__tunedb *db, rgt_status status, rgt__error *err) {
  if (!status) status = rgt__statement_simple(db, RGT_SQL_COMMIT, err);
  if (status && !sqlite3_get_autocommit(db->sql)) {
    int damaged = db->damaged;
    for (int i = 0; i < RGT_N_SQL; i++) sqlite3_reset(db->statements[i]); /* of NULL: does nothing */
    rgt__statement_simple(db, RGT_SQL_ROLLBACK, NULL);
    db->damaged = damaged;
  }
  return status;
}

void rgt__statement_close_all(rgt__tunedb *db) {
  for (int i = 0; i < RGT_N_SQL; i++) {
    sqlite3_finalize(db->statements[i]);
    db->statements[i] = NULL;
  }
}

static void bound(rgt__binder *b, int code) {
  b->column++;
  if (code != SQLITE_OK) b->code = code;
}

void rgt__bind_text(rgt__binder *b, const char *text) {
  bound(b, sqlite3_bind_text(b->s, b->column + 1, text, -1, SQLITE_STATIC));
}

void rgt__bind_int(rgt__binder *b, int64_t v) {
  bound(b, sqlite3_bind_int64(b->s, b->column + 1, v));
}

void rgt__bind_double(rgt__binder *b, double v) {
  bound(b, sqlite3_bind_double(b->s, b->column + 1, v));
}

void rgt__bind_digest(rgt__binder *b, const rgt__digest *d) {
  if (d)
    bound(b, sqlite3_bind_blob(b->s, b->column + 1, d->bytes, (int)sizeof d->bytes, SQLITE_STATIC));
  else
    bound(b, sqlite3_bind_null(b->s, b->column + 1));
}

rgt_status rgt__bind_end(rgt__tunedb *db, const rgt__binder *b, rgt__error *err) {
  if (b->code == SQLITE_OK) return RGT_OK;
  if (b->code == SQLITE_NOMEM) return rgt__error_set(err, RGT_ENOMEM, "%s: a statement's values: out of memory", db->path);
  return rgt__error_set(err, RGT_EDB, "%s: a statement's values: %s", db->path, sqlite3_errstr(b->code));
}

rgt_status rgt__bind_shape(rgt__tunedb *db, sqlite3_stmt *s, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                           rgt__error *err) {
  rgt__binder b = {.s = s};
  rgt__bind_text(&b, place->device_class);
  rgt__bind_text(&b, sig->op_text);
  rgt__bind_text(&b, sig->form);
  rgt__bind_text(&b, sig->order);
  rgt__bind_int(&b, sig->align_bytes);
  rgt__bind_text(&b, sig->skew);
  return rgt__bind_end(db, &b, err);
}

rgt_status rgt__bind_scene(rgt__tunedb *db, rgt__sql_name name, const rgt__digest *signature, const rgt__digest *place,
                           sqlite3_stmt **out, rgt__error *err) {
  rgt_status status = rgt__statement_get(db, name, out, err);
  if (status) return status;
  rgt__binder b = {.s = *out};
  rgt__bind_digest(&b, signature);
  rgt__bind_digest(&b, place);
  return rgt__bind_end(db, &b, err);
}

const char *rgt__read_text(rgt__reader *r) {
  int column = r->column++;
  const char *text = sqlite3_column_type(r->s, column) == SQLITE_TEXT ? (const char *)sqlite3_column_text(r->s, column) : NULL;
  if (text && strlen(text) == (size_t)sqlite3_column_bytes(r->s, column)) return text; /* a NUL within: never stored by us */
  r->bad = 1;
  return "";
}

int64_t rgt__read_int(rgt__reader *r) {
  int column = r->column++;
  if (sqlite3_column_type(r->s, column) != SQLITE_INTEGER) r->bad = 1;
  return sqlite3_column_int64(r->s, column);
}

int rgt__read_small(rgt__reader *r) {
  int64_t v = rgt__read_int(r);
  if (v < INT32_MIN || v > INT32_MAX) {
    r->bad = 1;
    return 0;
  }
  return (int)v;
}

double rgt__read_double(rgt__reader *r) {
  int column = r->column++;
  if (sqlite3_column_type(r->s, column) != SQLITE_FLOAT) r->bad = 1;
  return sqlite3_column_double(r->s, column);
}

void rgt__read_digest(rgt__reader *r, rgt__digest *out) {
  int column = r->column++;
  memset(out, 0, sizeof *out);
  if (sqlite3_column_type(r->s, column) != SQLITE_BLOB || sqlite3_column_bytes(r->s, column) != (int)sizeof out->bytes)
    r->bad = 1;
  else
    memcpy(out->bytes, sqlite3_column_blob(r->s, column), sizeof out->bytes);
}

int rgt__read_null(rgt__reader *r) {
  if (sqlite3_column_type(r->s, r->column) != SQLITE_NULL) return 0;
  r->column++;
  return 1;
}

/* Strict tables hold no value of a wrong kind, so the pages themselves are at fault. */
rgt_status rgt__read_end(rgt__tunedb *db, const rgt__reader *r, const char *table, rgt__error *err) {
  if (!r->bad) return RGT_OK;
  db->damaged = 1;
  return rgt__error_set(err, RGT_EDB, "%s: a row of table %s holds what cannot be: the file is damaged", db->path, table);
}
