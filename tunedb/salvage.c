/* salvage.c -- a damaged file goes aside, and what can be read of it into a new one.
 *
 * Every trial comes back through rgt__tunedb_put, which computes its keys anew; a row whose stored key differs was changed by
 * the damage and is left out. So do pins and bans through theirs. The damaged file is only read.
 */
#include "tunedb/salvage.h"

#include "runtime/base/alloc.h"
#include "tunedb/connect.h"
#include "tunedb/keys.h"
#include "tunedb/load.h"
#include "tunedb/path.h"
#include "tunedb/tunedb_local.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A run with the keys of what it belongs to. */
typedef struct salvage_run {
  rgt__load_run run;
  rgt__digest signature, place;
} salvage_run;

typedef struct salvage {
  rgt__tunedb from;
  rgt__load_arena arena;
  salvage_run *runs;
  int n_runs, runs_capacity;
} salvage;

/* Reads runs until their end or the first unreadable page. */
static void read_runs(salvage *sv, rgt__sql_name name) {
  sqlite3_stmt *s = NULL;
  int has_row;
  if (rgt__statement_get(&sv->from, name, &s, NULL)) return;
  while (!rgt__statement_step(&sv->from, s, &has_row, NULL) && has_row) {
    if (rgt__load_grow((void **)&sv->runs, sv->n_runs, &sv->runs_capacity, sizeof *sv->runs, NULL)) break;
    rgt__reader r = {.s = s};
    salvage_run *run = &sv->runs[sv->n_runs];
    rgt__load_run_row(&r, &sv->arena, &run->run);
    rgt__read_digest(&r, &run->signature);
    rgt__read_digest(&r, &run->place);
    rgt__digest key;
    rgt__keys_run(&run->run.run, &run->signature, &run->place, &key);
    if (!r.bad && !sv->arena.failed && rgt__digest_equal(&key, &run->run.key)) sv->n_runs++;
  }
  sqlite3_reset(s);
}

/* One row by its key; 1 if it is there and its key is right. */
static int read_signature(salvage *sv, const rgt__digest *wanted, rgt__tunedb_signature *sig) {
  sqlite3_stmt *s = NULL;
  int has_row = 0, good = 0;
  if (rgt__statement_get(&sv->from, RGT_SQL_ONE_SIGNATURE, &s, NULL)) return 0;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, wanted);
  if (!rgt__statement_step(&sv->from, s, &has_row, NULL) && has_row) {
    rgt__reader r = {.s = s};
    rgt__digest stored, key;
    rgt__load_signature_row(&r, &sv->arena, &stored, sig);
    rgt__keys_signature(sig, &key);
    good = !r.bad && !sv->arena.failed && rgt__digest_equal(&key, wanted);
  }
  sqlite3_reset(s);
  return good;
}

static int read_place(salvage *sv, const rgt__digest *wanted, rgt__tunedb_place *place) {
  sqlite3_stmt *s = NULL;
  int has_row = 0, good = 0;
  if (rgt__statement_get(&sv->from, RGT_SQL_ONE_PLACE, &s, NULL)) return 0;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, wanted);
  if (!rgt__statement_step(&sv->from, s, &has_row, NULL) && has_row) {
    rgt__reader r = {.s = s};
    rgt__digest stored, key;
    const char *clock;
    rgt__load_place_row(&r, &sv->arena, &stored, place, &clock);
    rgt__keys_place(place, clock, &key);
    good = !r.bad && !sv->arena.failed && strcmp(clock, RGT_CLOCK_MEASURED) == 0 && rgt__digest_equal(&key, wanted);
  }
  sqlite3_reset(s);
  return good;
}

/* Drops the trials whose fields do not give their key. Returns how many are left. */
static int keep_good_trials(rgt__load_scene *scene, rgt__tunedb_trial *trials) {
  int n = 0;
  for (int i = 0; i < scene->n_trials; i++) {
    const rgt__load_trial *t = &scene->trials[i];
    rgt__digest variant, key;
    rgt__keys_variant(t->trial.family, t->trial.revision, t->trial.params, &variant);
    rgt__keys_trial(&t->trial, &scene->runs[t->run].key, &variant, &key);
    if (rgt__digest_equal(&variant, &t->variant) && rgt__digest_equal(&key, &t->key)) trials[n++] = t->trial;
  }
  return n;
}

static int count_trials(rgt__tunedb *db) {
  sqlite3_stmt *s = NULL;
  int n = 0;
  if (sqlite3_prepare_v2(db->sql, "SELECT count(*) FROM trial", -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
    n = sqlite3_column_int(s, 0);
  sqlite3_finalize(s);
  return n;
}

/* Trials forwards to the first unreadable page, then backwards to it: put takes what comes twice once. */
static void rescue_run(salvage *sv, const salvage_run *run, rgt__tunedb *to) {
  rgt__tunedb_signature sig;
  rgt__tunedb_place place;
  rgt__load_scene scene = {0};
  rgt__tunedb_trial *trials = NULL;
  if (!read_signature(sv, &run->signature, &sig) || !read_place(sv, &run->place, &place)) return;
  if (rgt__load_grow((void **)&scene.runs, 0, &scene.runs_capacity, sizeof *scene.runs, NULL)) return;
  scene.runs[0] = run->run;
  scene.n_runs = 1;
  if (rgt__load_run_trials(&sv->from, RGT_SQL_RUN_TRIALS, 0, &scene, NULL))
    rgt__load_run_trials(&sv->from, RGT_SQL_RUN_TRIALS_BACKWARDS, 0, &scene, NULL);
  trials = rgt__alloc((size_t)scene.n_trials * sizeof *trials);
  if (trials && !scene.arena.failed) {
    int n = keep_good_trials(&scene, trials);
    if (n > 0) rgt__tunedb_put(to, &run->run.run, &sig, &place, trials, n, NULL);
  }
  rgt__free(trials);
  rgt__load_scene_free(&scene);
}

/* ---- pins and bans ---- */

static int read_variant(salvage *sv, const rgt__digest *wanted, rgt__tunedb_variant *v) {
  sqlite3_stmt *s = NULL;
  int has_row = 0, good = 0;
  if (rgt__statement_get(&sv->from, RGT_SQL_ONE_VARIANT, &s, NULL)) return 0;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, wanted);
  if (!rgt__statement_step(&sv->from, s, &has_row, NULL) && has_row) {
    rgt__reader r = {.s = s};
    rgt__digest key;
    v->family = rgt__load_copy(&sv->arena, rgt__read_text(&r));
    v->revision = rgt__read_small(&r);
    v->params = rgt__load_copy(&sv->arena, rgt__read_text(&r));
    rgt__tunedb_variant_key(v, &key);
    good = !r.bad && !sv->arena.failed && rgt__digest_equal(&key, wanted);
  }
  sqlite3_reset(s);
  return good;
}

/* Its signature and place are rows that are looked up by key: what is hurt there loses its wishes. No digest guards the reason
 * and the date; a date in the future is none. */
static int read_wish(salvage *sv, rgt__reader *r, int is_pin, rgt__tunedb_wish *w) {
  rgt__digest signature, place_key, variant;
  rgt__tunedb_place place;
  *w = (rgt__tunedb_wish){.reason = ""};
  rgt__read_digest(r, &signature);
  rgt__read_digest(r, &place_key);
  rgt__read_digest(r, &variant);
  w->reason = rgt__read_text(r);
  w->made_utc_s = rgt__read_int(r);
  if (r->bad || !read_place(sv, &place_key, &place) || !read_variant(sv, &variant, &w->variant)) return 0;
  if (w->made_utc_s > (int64_t)time(NULL)) w->made_utc_s = 0;
  w->device_class = place.device_class;
  return !is_pin || read_signature(sv, &signature, &w->signature);
}

/* Up to the first unreadable page. Returns how many are kept. */
static int rescue_wishes(salvage *sv, int is_pin, rgt__tunedb *to) {
  sqlite3_stmt *s = NULL;
  int has_row, n = 0;
  if (rgt__statement_get(&sv->from, is_pin ? RGT_SQL_ALL_PINS : RGT_SQL_ALL_BANS, &s, NULL)) return 0;
  while (!rgt__statement_step(&sv->from, s, &has_row, NULL) && has_row) {
    rgt__reader r = {.s = s};
    rgt__tunedb_wish w;
    if (!read_wish(sv, &r, is_pin, &w)) continue;
    n += (is_pin ? rgt__tunedb_pin(to, &w, NULL) : rgt__tunedb_ban(to, &w, NULL)) == RGT_OK;
  }
  sqlite3_reset(s);
  return n;
}

/* ---- the whole ---- */

/* Reading may bring a journal to its end first, hence opened for writing; never checkpointed into the damaged file on close. */
static int rescue(const char *aside, rgt__tunedb *to, int *n_wishes) {
  salvage sv = {.from = {.path = rgt__strdup(aside), .owner = getpid(), .busy_limit_ms = 0}};
  if (sv.from.path && !rgt__connect_raw(&sv.from, aside, SQLITE_OPEN_READWRITE, NULL)) {
    sqlite3_db_config(sv.from.sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    /* A file shorter than its header says, or whose schema is hurt in parts, is read only in this mode. */
    sqlite3_db_config(sv.from.sql, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_db_config(sv.from.sql, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
    read_runs(&sv, RGT_SQL_ALL_RUNS);
    if (sv.from.damaged) read_runs(&sv, RGT_SQL_ALL_RUNS_BACKWARDS);
    for (int i = 0; i < sv.n_runs; i++) rescue_run(&sv, &sv.runs[i], to);
    *n_wishes = rescue_wishes(&sv, 1, to);
    *n_wishes += rescue_wishes(&sv, 0, to);
    rgt__connect_close(&sv.from);
  }
  rgt__load_arena_free(&sv.arena);
  rgt__free(sv.runs);
  rgt__free(sv.from.path);
  return count_trials(to);
}

/* The caller holds the folder's lock: of several processes that found the damage, the first one moves the file, and the others
 * find another one when they look again. */
rgt_status rgt__salvage(rgt__tunedb *db, rgt__error *err) {
  char *aside = NULL;
  rgt_status status = RGT_OK;
  if (err) err->text[0] = 0; /* what the first look said */
  if (rgt__open_was_moved(db)) {
    status = rgt__connect_attach(db, 1, err);
    if (!status || !db->damaged) return status;
    if (err) err->text[0] = 0;
  }
  status = rgt__path_aside(db->path, &aside, err);
  if (!status) status = rgt__path_create(db->path, err);
  if (!status) status = rgt__connect_attach(db, 1, err);
  if (!status) {
    char wishes[64] = "";
    int n_wishes = 0, n = rescue(aside, db, &n_wishes);
    if (n_wishes)
      snprintf(wishes, sizeof wishes, ", and %d pin%s or ban%s", n_wishes, n_wishes == 1 ? "" : "s", n_wishes == 1 ? "" : "s");
    rgt__connect_notice(db, "%s was damaged: moved to %s, %d trial%s of it kept%s", db->path, aside, n, n == 1 ? "" : "s",
                        wishes);
  }
  rgt__free(aside);
  return status;
}
