/* copy.c -- trials from one database into another, each looked at anew.
 *
 * One pass over the trials in the order of their keys (run, trial), with a second statement over the runs that keeps step with
 * it: linear, and nothing is held in memory but one run. Signature and place of a run are looked up by key. All rows are read
 * with the prepared statements of `from`, plain SELECTs; nothing of its schema is used.
 */
#include "tunedb/copy.h"

#include "runtime/base/alloc.h"
#include "tunedb/accept.h"
#include "tunedb/derive.h"
#include "tunedb/keys.h"
#include "tunedb/put.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_REMEMBERED = 4096 }; /* variants that were just stored: most trials are of one that was */

typedef enum verdict { GOOD, WRONG_KEY, OUT_OF_RANGE, ORPHAN } verdict;

typedef struct copying {
  rgt__tunedb *from, *to;
  const char *source;
  rgt__copied *out;
  sqlite3_stmt *runs;
  int runs_ended;
  /* the run that the trials at hand refer to */
  rgt__digest wanted;  /* as its trials name it */
  rgt__digest present; /* where the statement stands */
  int has_wanted, has_present;
  verdict verdict;
  rgt__load_run loaded;
  rgt__accepted_run run;
  rgt__tunedb_signature signature;
  rgt__tunedb_place place;
  const char *clock;
  rgt__digest signature_key, place_key, run_key;
  int is_stored, is_noted;
  rgt__digest remembered[N_REMEMBERED];
} copying;

/* ---- a run and what it belongs to --------------------------------------------------------------------------- */

static rgt_status one_row(rgt__tunedb *db, rgt__sql_name name, const rgt__digest *key, sqlite3_stmt **s, int *has_row,
                          rgt__error *err) {
  rgt_status status = rgt__statement_get(db, name, s, err);
  if (status) return status;
  rgt__binder b = {.s = *s};
  rgt__bind_digest(&b, key);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_step(db, *s, has_row, err);
}

/* RGT_EINVAL is a verdict, everything else a failure. */
static rgt_status judge(rgt_status accepted, rgt__digest const *computed, rgt__digest const *stored, int bad, verdict *out) {
  if (accepted && accepted != RGT_EINVAL) return accepted;
  if (bad || accepted)
    *out = OUT_OF_RANGE;
  else if (!rgt__digest_equal(computed, stored))
    *out = WRONG_KEY;
  else
    *out = GOOD;
  return RGT_OK;
}

/* Texts are borrowed until the next run. */
static rgt_status read_signature(copying *c, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row = 0;
  rgt__digest stored, computed;
  rgt_status status = one_row(c->from, RGT_SQL_ONE_SIGNATURE, &c->signature_key, &s, &has_row, err);
  if (status) return status;
  c->verdict = ORPHAN;
  if (!has_row) return RGT_OK;
  rgt__reader r = {.s = s};
  rgt__load_signature_row(&r, NULL, &stored, &c->signature);
  rgt__keys_signature(&c->signature, &computed);
  return judge(rgt__accept_signature(&c->signature, NULL), &computed, &c->signature_key, r.bad, &c->verdict);
}

static rgt_status read_place(copying *c, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row = 0;
  rgt__digest stored, computed;
  rgt_status status = one_row(c->from, RGT_SQL_ONE_PLACE, &c->place_key, &s, &has_row, err);
  if (status) return status;
  c->verdict = ORPHAN;
  if (!has_row) return RGT_OK;
  rgt__reader r = {.s = s};
  rgt__load_place_row(&r, NULL, &stored, &c->place, &c->clock);
  rgt__keys_place(&c->place, c->clock, &computed);
  return judge(rgt__accept_place(&c->place, NULL), &computed, &c->place_key, r.bad, &c->verdict);
}

static rgt_status read_run(copying *c, rgt__error *err) {
  rgt__digest computed;
  rgt__reader r = {.s = c->runs};
  rgt__load_run_row(&r, NULL, &c->loaded);
  rgt__read_digest(&r, &c->signature_key);
  rgt__read_digest(&r, &c->place_key);
  rgt__keys_run(&c->loaded.run, &c->signature_key, &c->place_key, &computed);
  rgt_status status = judge(rgt__accept_run(&c->loaded.run, &c->run, NULL), &computed, &c->loaded.key, r.bad, &c->verdict);
  if (!status && c->verdict == GOOD) status = read_signature(c, err);
  if (!status && c->verdict == GOOD) status = read_place(c, err);
  if (!status && c->verdict == GOOD) rgt__keys_run(&c->run.run, &c->signature_key, &c->place_key, &c->run_key);
  return status;
}

/* The runs go on to the one that is wanted, or past where it would stand. */
static rgt_status enter_run(copying *c, const rgt__digest *wanted, rgt__error *err) {
  c->wanted = *wanted;
  c->has_wanted = 1;
  c->is_stored = c->is_noted = 0;
  while (!c->runs_ended && (!c->has_present || memcmp(c->present.bytes, wanted->bytes, sizeof wanted->bytes) < 0)) {
    int has_row;
    rgt_status status = rgt__statement_step(c->from, c->runs, &has_row, err);
    if (status) return status;
    c->runs_ended = !has_row;
    c->has_present = has_row;
    if (has_row) {
      rgt__reader r = {.s = c->runs};
      rgt__read_digest(&r, &c->present);
    }
  }
  c->verdict = ORPHAN;
  if (!c->has_present || !rgt__digest_equal(&c->present, wanted)) return RGT_OK;
  rgt_status status = read_run(c, err);
  if (!status && c->verdict != GOOD) c->out->counts.n_runs_dropped++;
  return status;
}

/* ---- what is stored ----------------------------------------------------------------------------------------- */

static rgt_status store_run(copying *c, rgt__error *err) {
  rgt_status status = rgt__put_scene(c->to, &c->signature, &c->signature_key, &c->place, c->clock, &c->place_key, err);
  if (!status) status = rgt__put_run(c->to, &c->run.run, &c->run_key, &c->signature_key, &c->place_key, err);
  if (status) return status;
  c->is_stored = 1;
  *(sqlite3_changes(c->to->sql) ? &c->out->counts.n_runs_new : &c->out->counts.n_runs_known) += 1;
  return RGT_OK;
}

static rgt_status store_variant(copying *c, const rgt__tunedb_trial *t, const rgt__digest *key, rgt__error *err) {
  rgt__digest *place = &c->remembered[(key->bytes[0] | key->bytes[1] << 8) % N_REMEMBERED];
  if (rgt__digest_equal(place, key)) return RGT_OK;
  return rgt__put_variant(c->to, &(rgt__tunedb_variant){t->family, t->revision, t->params}, place, err);
}

/* At the first new trial of a run: its scene will be derived anew, and where it is from is noted. */
static rgt_status note_run(copying *c, rgt__error *err) {
  rgt__copied *out = c->out;
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__load_grow((void **)&out->scenes, out->n_scenes, &out->scenes_capacity, sizeof *out->scenes, err);
  if (status) return status;
  out->scenes[out->n_scenes++] = (rgt__copy_scene){c->signature_key, c->place_key};
  c->is_noted = 1;
  if (!c->source) return RGT_OK;
  status = rgt__statement_get(c->to, RGT_SQL_PUT_ORIGIN, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, &c->run_key);
  rgt__bind_text(&b, c->source);
  rgt__bind_int(&b, (int64_t)time(NULL));
  status = rgt__bind_end(c->to, &b, err);
  return status ? status : rgt__statement_run(c->to, s, err);
}

/* stored: the trial as it was read, and its key there, which is the key here too where nothing was repaired. */
static rgt_status store_trial(copying *c, const rgt__tunedb_trial *t, const rgt__digest *variant, const rgt__load_trial *stored,
                              rgt__error *err) {
  rgt__digest key = stored->key;
  rgt_status status = c->is_stored ? RGT_OK : store_run(c, err);
  if (!status) status = store_variant(c, t, variant, err);
  if (status) return status;
  if (!rgt__digest_equal(&c->run_key, &c->loaded.key) || memcmp(t, &stored->trial, sizeof *t) != 0)
    rgt__keys_trial(t, &c->run_key, variant, &key);
  status = rgt__put_trial(c->to, t, &c->run_key, variant, &key, err);
  if (status) return status;
  if (!sqlite3_changes(c->to->sql)) {
    c->out->counts.n_trials_known++;
    return RGT_OK;
  }
  c->out->counts.n_trials_new++;
  return c->is_noted ? RGT_OK : note_run(c, err);
}

static void drop(copying *c, verdict why) {
  rgt__tunedb_merged *n = &c->out->counts;
  n->n_trials_dropped++;
  *(why == WRONG_KEY ? &n->n_wrong_key : why == OUT_OF_RANGE ? &n->n_out_of_range : &n->n_orphans) += 1;
}

/* The row behind its run's key, with its variant's fields joined: NULL where the variant is not there. */
static rgt_status copy_trial(copying *c, rgt__reader *r, rgt__error *err) {
  enum { FAMILY = 3 };
  rgt__load_trial t;
  rgt__accepted_trial accepted;
  rgt__digest variant, key;
  verdict v = ORPHAN;
  if (c->verdict != GOOD || sqlite3_column_type(r->s, FAMILY) == SQLITE_NULL) {
    drop(c, c->verdict != GOOD ? c->verdict : ORPHAN);
    return RGT_OK;
  }
  rgt__load_trial_row(r, NULL, &t);
  rgt__keys_variant(t.trial.family, t.trial.revision, t.trial.params, &variant);
  rgt__keys_trial(&t.trial, &c->loaded.key, &t.variant, &key);
  rgt_status status = judge(rgt__accept_trial(&t.trial, &accepted, NULL), &key, &t.key, r->bad, &v);
  if (!status && v == GOOD && !rgt__digest_equal(&variant, &t.variant)) v = WRONG_KEY;
  if (status || v != GOOD) {
    if (!status) drop(c, v);
    return status;
  }
  return store_trial(c, &accepted.trial, &variant, &t, err);
}

static rgt_status copy_all(copying *c, rgt__error *err) {
  sqlite3_stmt *trials = NULL;
  rgt_status status = rgt__statement_get(c->from, RGT_SQL_COPIED_TRIALS, &trials, err);
  if (!status) status = rgt__statement_get(c->from, RGT_SQL_ALL_RUNS, &c->runs, err);
  while (!status) {
    int has_row;
    rgt__digest run;
    status = rgt__statement_step(c->from, trials, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = trials};
    rgt__read_digest(&r, &run);
    if (!c->has_wanted || !rgt__digest_equal(&c->wanted, &run)) status = enter_run(c, &run, err);
    if (!status) status = copy_trial(c, &r, err);
  }
  sqlite3_reset(trials);
  sqlite3_reset(c->runs);
  return status;
}

rgt_status rgt__copy_trials(rgt__tunedb *from, rgt__tunedb *to, const char *source, rgt__copied *out, rgt__error *err) {
  copying *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  c->from = from;
  c->to = to;
  c->source = source;
  c->out = out;
  rgt_status status = copy_all(c, err);
  rgt__free(c);
  return status;
}

/* ---- what follows from them --------------------------------------------------------------------------------- */

static int compare_scenes(const void *a, const void *b) {
  return memcmp(a, b, sizeof(rgt__copy_scene));
}

rgt_status rgt__copy_derive(rgt__tunedb *to, rgt__copied *copied, rgt__error *err) {
  rgt_status status = RGT_OK;
  if (copied->n_scenes) qsort(copied->scenes, (size_t)copied->n_scenes, sizeof *copied->scenes, compare_scenes);
  for (int i = 0; i < copied->n_scenes && !status; i++) {
    if (i > 0 && compare_scenes(&copied->scenes[i], &copied->scenes[i - 1]) == 0) continue;
    status = rgt__derive_store(to, &copied->scenes[i].signature, &copied->scenes[i].place, err);
    copied->counts.n_scenes++;
  }
  return status;
}

void rgt__copied_free(rgt__copied *copied) {
  rgt__free(copied->scenes);
  *copied = (rgt__copied){0};
}
