/* memo.c -- what was found lately, kept in the handle until the file changes.
 *
 * Whether it changed must be told in some nanoseconds, so no system call can be asked. In WAL mode every commit of any process
 * rewrites the header of the WAL index (a counter, the last frame, salts, checksums), which lies in memory that all of them
 * share: an answer stands while those 48 bytes are what they were before it was read. In memory nobody else writes, and SQLite
 * counts our own changes. Other files (a rollback journal) have nothing of the kind, and nothing is kept for them.
 * That the file was replaced is seen by asking the system, as every other call does, but only once in LOOK_MS; of a file that
 * was opened as one that nobody changes it is asked each time whether that still holds.
 */
#include "tunedb/memo.h"

#include "runtime/base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { SLOTS = 512, LOOK_MS = 100, INDEX_REGION_BYTES = 32768, N_TEXTS = 5 };

typedef struct question {
  uint64_t hash;
  int64_t numbers[6]; /* of the signature */
  rgt__tunedb_limits limits;
  const char *texts[N_TEXTS]; /* the signature's, and its skew: of "unknown" the text names another; the place's two; the
                                 numeric class */
} question;

typedef struct entry {
  question q;
  rgt__memo_stamp stamp;
  rgt__tunedb_winner winner;
  char texts[];
} entry;

struct rgt__memo {
  const volatile uint64_t *index; /* the WAL index's header; NULL: none */
  int is_wal, n_forks;
  int64_t looked_ms;
  entry *slots[SLOTS];
};

/* ---- forks: a handle does not cross one, and getpid is a system call ---------------------------------------- */

static atomic_int n_forks;

static void count_fork(void) {
  atomic_fetch_add(&n_forks, 1);
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, count_fork);
}

/* ---- the file's state ---------------------------------------------------------------------------------------- */

static int is_wal(rgt__tunedb *db) {
  sqlite3_stmt *s = NULL;
  int yes = 0;
  if (sqlite3_prepare_v2(db->sql, "PRAGMA journal_mode", -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
    const char *mode = (const char *)sqlite3_column_text(s, 0);
    yes = mode && strcmp(mode, "wal") == 0;
  }
  sqlite3_finalize(s);
  return yes;
}

/* SQLite has it mapped from its first read on until the connection ends. */
static const volatile uint64_t *index_of(rgt__tunedb *db) {
  sqlite3_file *file = NULL;
  void volatile *region = NULL;
  if (sqlite3_file_control(db->sql, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file || !file->pMethods ||
      file->pMethods->iVersion < 2 || file->pMethods->xShmMap(file, 0, INDEX_REGION_BYTES, 0, &region) != SQLITE_OK)
    return NULL;
  return region;
}

static rgt__memo *memo_of(rgt__tunedb *db) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (db->memo) return db->memo;
  pthread_once(&once, watch_forks);
  db->memo = rgt__alloc_zero(1, sizeof *db->memo);
  if (!db->memo) return NULL;
  db->memo->n_forks = atomic_load(&n_forks);
  db->memo->is_wal = !db->in_memory && !db->immutable && is_wal(db);
  return db->memo;
}

static void read_stamp(rgt__tunedb *db, rgt__memo_stamp *out) {
  rgt__memo *m = db->memo;
  out->known = 1;
  if (m->is_wal) {
    if (!m->index) m->index = index_of(db);
    out->known = m->index != NULL;
    for (int i = 0; i < RGT_MEMO_STAMP_WORDS; i++) out->words[i] = out->known ? m->index[i] : 0;
  } else {
    memset(out->words, 0, sizeof out->words);
    if (db->in_memory)
      out->words[0] = (uint64_t)sqlite3_total_changes(db->sql);
    else
      out->known = db->immutable; /* as it was when it was opened, or it is opened anew */
  }
}

static int is_in_place(rgt__tunedb *db) {
  rgt__memo *m = db->memo;
  struct timespec t;
  if (db->in_memory) return 1;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  int64_t now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
  if (!db->immutable && now_ms - m->looked_ms < LOOK_MS) return 1;
  if (rgt__open_was_moved(db)) return 0;
  m->looked_ms = now_ms;
  return 1;
}

/* ---- questions ----------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text) {
  size_t n = strlen(text);
  uint64_t h = n, word;
  for (; n >= sizeof word; n -= sizeof word, text += sizeof word) {
    memcpy(&word, text, sizeof word);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
  }
  h ^= h >> 32;
  word = 0;
  memcpy(&word, text, n);
  h = (h ^ word) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

/* 0: not one to be remembered. */
static int ask(const rgt__tunedb_signature *sig, const rgt__tunedb_place *place, const rgt__tunedb_limits *limits,
               question *q) {
  static const rgt__tunedb_limits none = {.max_p = -1, .max_u_h = -1, .max_alpha = -1, .max_beta = -1};
  if (!sig || !place || !sig->text || !sig->skew || (limits && limits->admit && !limits->admit_is_fixed)) return 0;
  q->limits = limits ? *limits : none;
  if (!place->device_class || !place->policy) return 0;
  q->texts[0] = sig->text;
  q->texts[1] = sig->skew;
  q->texts[2] = place->device_class;
  q->texts[3] = place->policy;
  q->texts[4] = q->limits.numeric_class ? q->limits.numeric_class : "\n"; /* no class; none is called so */
  const int64_t numbers[6] = {sig->n_in, sig->n_hidden, sig->n_out, sig->groups, sig->bucket, sig->align_bytes};
  memcpy(q->numbers, numbers, sizeof numbers);
  q->hash = hash_of(sig->text) ^ hash_of(sig->skew);
  return 1;
}

static int same_limits(const rgt__tunedb_limits *a, const rgt__tunedb_limits *b) {
  return a->max_p == b->max_p && a->max_u_h == b->max_u_h && a->max_alpha == b->max_alpha && a->max_beta == b->max_beta &&
         a->admit == b->admit && a->may_lose == b->may_lose;
}

static int same_question(const question *a, const question *b) {
  if (a->hash != b->hash || memcmp(a->numbers, b->numbers, sizeof a->numbers) != 0 || !same_limits(&a->limits, &b->limits))
    return 0;
  for (int i = 0; i < N_TEXTS; i++)
    if (strcmp(a->texts[i], b->texts[i]) != 0) return 0;
  return 1;
}

static entry **slot_of(rgt__memo *m, const question *q) {
  return &m->slots[(q->hash >> 32) % SLOTS];
}

/* ---- the calls ----------------------------------------------------------------------------------------------- */

void rgt__memo_look(rgt__tunedb *db, rgt__memo_stamp *out) {
  out->known = 0;
  if (!db->sql || db->locks_fail) return;
  if (db->memo ? db->memo->n_forks != atomic_load_explicit(&n_forks, memory_order_relaxed) : !memo_of(db)) return;
  if (is_in_place(db)) read_stamp(db, out);
}

int rgt__memo_get(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                  const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__memo_stamp *stamp) {
  question q;
  stamp->known = 0;
  if (!db || !out || !ask(sig, place, limits, &q)) return 0;
  rgt__memo_look(db, stamp);
  if (!stamp->known) return 0;
  const entry *e = *slot_of(db->memo, &q);
  if (!e || memcmp(e->stamp.words, stamp->words, sizeof stamp->words) != 0 || !same_question(&e->q, &q)) return 0;
  *out = e->winner;
  return 1;
}

void rgt__memo_put(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                   const rgt__tunedb_limits *limits, const rgt__tunedb_winner *winner, const rgt__memo_stamp *stamp) {
  question q;
  size_t bytes = 0;
  if (!db->memo || !stamp->known || !ask(sig, place, limits, &q)) return;
  entry **slot = slot_of(db->memo, &q);
  for (int i = 0; i < N_TEXTS; i++) bytes += strlen(q.texts[i]) + 1;
  entry *e = rgt__alloc(sizeof *e + bytes);
  if (!e) return;
  e->q = q;
  e->stamp = *stamp;
  e->winner = *winner;
  char *at = e->texts;
  for (int i = 0; i < N_TEXTS; i++) {
    size_t n = strlen(q.texts[i]) + 1;
    e->q.texts[i] = memcpy(at, q.texts[i], n);
    at += n;
  }
  rgt__free(*slot);
  *slot = e;
}

void rgt__memo_drop(rgt__tunedb *db) {
  rgt__memo *m = db->memo;
  if (!m) return;
  for (int i = 0; i < SLOTS; i++) rgt__free(m->slots[i]);
  rgt__free(m);
  db->memo = NULL;
}
