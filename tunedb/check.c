/* check.c -- is the file whole, is every key right, are the winners those that the trials give; and deriving them anew. */
#include "tunedb/derive.h"

#include "runtime/base/alloc.h"
#include "tunedb/keys.h"

#include <string.h>

/* rows -- steps through a statement and gives each row to fn. */
typedef rgt_status (*row_fn)(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err);

static rgt_status each_row(rgt__tunedb *db, sqlite3_stmt *s, row_fn fn, void *user, rgt__error *err) {
  for (;;) {
    int has_row;
    rgt_status status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) return status;
    status = fn(db, s, user, err);
    if (status) {
      sqlite3_reset(s);
      return status;
    }
  }
}

static rgt_status each(rgt__tunedb *db, rgt__sql_name name, row_fn fn, void *user, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, name, &s, err);
  return status ? status : each_row(db, s, fn, user, err);
}

static rgt_status wrong_key(rgt__tunedb *db, const char *table, const rgt__digest *stored, const char *what, rgt__error *err) {
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__digest_hex(stored, hex);
  return rgt__error_set(err, RGT_EDB, "%s: %s %.16s (%s) was changed: its fields give another key", db->path, table, hex, what);
}

static rgt_status check_signature(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  (void)user;
  rgt__reader r = {.s = s};
  rgt__digest stored, key;
  rgt__tunedb_signature sig;
  rgt__load_signature_row(&r, NULL, &stored, &sig);
  rgt__keys_signature(&sig, &key);
  rgt_status status = rgt__read_end(db, &r, "signature", err);
  if (status || rgt__digest_equal(&stored, &key)) return status;
  return wrong_key(db, "signature", &stored, sig.text, err);
}

static rgt_status check_place(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  (void)user;
  rgt__reader r = {.s = s};
  rgt__digest stored, key;
  rgt__tunedb_place place;
  const char *clock;
  rgt__load_place_row(&r, NULL, &stored, &place, &clock);
  rgt__keys_place(&place, clock, &key);
  rgt_status status = rgt__read_end(db, &r, "place", err);
  if (status || rgt__digest_equal(&stored, &key)) return status;
  return wrong_key(db, "place", &stored, place.device_class, err);
}

static rgt_status check_variant(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  (void)user;
  rgt__reader r = {.s = s};
  rgt__digest stored, key;
  rgt__read_digest(&r, &stored);
  const char *family = rgt__read_text(&r);
  int revision = rgt__read_small(&r);
  const char *params = rgt__read_text(&r);
  rgt__keys_variant(family, revision, params, &key);
  rgt_status status = rgt__read_end(db, &r, "variant", err);
  if (status || rgt__digest_equal(&stored, &key)) return status;
  return wrong_key(db, "variant", &stored, family, err);
}

static rgt_status check_trial(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  const rgt__digest *run = user;
  rgt__reader r = {.s = s};
  rgt__load_trial t;
  rgt__digest key;
  rgt__load_trial_row(&r, NULL, &t);
  rgt__keys_trial(&t.trial, run, &t.variant, &key);
  rgt_status status = rgt__read_end(db, &r, "trial", err);
  if (status || rgt__digest_equal(&t.key, &key)) return status;
  return wrong_key(db, "trial", &t.key, t.trial.family, err);
}

/* A run, then its trials: the join with the variant is checked by the foreign keys. */
static rgt_status check_run(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  (void)user;
  rgt__reader r = {.s = s};
  rgt__load_run run;
  rgt__digest signature, place, key;
  rgt__load_run_row(&r, NULL, &run);
  rgt__read_digest(&r, &signature);
  rgt__read_digest(&r, &place);
  rgt__keys_run(&run.run, &signature, &place, &key);
  rgt_status status = rgt__read_end(db, &r, "run", err);
  if (status) return status;
  if (!rgt__digest_equal(&run.key, &key)) return wrong_key(db, "run", &run.key, run.run.toolchain, err);
  sqlite3_stmt *trials;
  status = rgt__statement_get(db, RGT_SQL_RUN_TRIALS, &trials, err);
  if (status) return status;
  rgt__binder b = {.s = trials};
  rgt__bind_digest(&b, &run.key);
  status = rgt__bind_end(db, &b, err);
  return status ? status : each_row(db, trials, check_trial, &run.key, err);
}

static rgt_status check_pages(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  (void)user;
  rgt__reader r = {.s = s};
  const char *text = rgt__read_text(&r);
  if (strcmp(text, "ok") == 0) return RGT_OK;
  if (rgt__statement_unread(text)) return rgt__error_set(err, RGT_EDB, "%s: cannot be read: %s", db->path, text);
  db->damaged = 1;
  return rgt__error_set(err, RGT_EDB, "%s: is damaged: %s", db->path, text);
}

static rgt_status check_reference(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  (void)user;
  rgt__reader r = {.s = s, .column = 0};
  const char *table = rgt__read_text(&r);
  rgt__reader parent = {.s = s, .column = 2};
  return rgt__error_set(err, RGT_EDB, "%s: a row of table %s refers to a row of table %s that is not there", db->path, table,
                        rgt__read_text(&parent));
}

static rgt_status check_object(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  (void)user;
  rgt__reader r = {.s = s};
  const char *type = rgt__read_text(&r);
  return rgt__error_set(err, RGT_EDB, "%s: holds the %s %s, which is not ours", db->path, type, rgt__read_text(&r));
}

/* The signatures and places that have trials or derived rows. */
typedef struct scene_list {
  struct scene_keys {
    rgt__digest signature, place;
  } * items;
  int n, capacity;
} scene_list;

static rgt_status keep_scene(rgt__tunedb *db, sqlite3_stmt *s, void *user, rgt__error *err) {
  scene_list *list = user;
  rgt_status status = rgt__load_grow((void **)&list->items, list->n, &list->capacity, sizeof *list->items, err);
  if (status) return status;
  rgt__reader r = {.s = s};
  rgt__read_digest(&r, &list->items[list->n].signature);
  rgt__read_digest(&r, &list->items[list->n].place);
  list->n++;
  return rgt__read_end(db, &r, "run", err);
}

static int same_or_null(rgt__reader *r, const rgt__digest *wanted) {
  rgt__digest stored;
  if (rgt__read_null(r)) return !wanted;
  rgt__read_digest(r, &stored);
  return wanted && rgt__digest_equal(&stored, wanted);
}

/* One stored standing against the derived one. */
static int same_standing(rgt__reader *r, const rgt__derived *d, const rgt__winner_standing *s) {
  const rgt__load_trial *newest = &d->scene.trials[s->newest];
  const rgt__tunedb_trial *t = &newest->trial;
  const rgt__digest *digests[] = {&s->variant, &d->scene.runs[newest->run].key, &newest->key};
  const double reals[] = {t->p1, t->p2, t->u_h, t->alpha, t->beta};
  int same = rgt__read_int(r) == s->ratio_ppm;
  same &= rgt__read_int(r) == s->ratio_low_ppm;
  same &= rgt__read_int(r) == s->ratio_high_ppm;
  same &= same_or_null(r, digests[0]);
  r->column += 3; /* family, revision, params: the variant's own */
  same &= same_or_null(r, digests[1]);
  same &= same_or_null(r, digests[2]);
  same &= rgt__read_int(r) == s->n_runs;
  same &= rgt__read_int(r) == t->is_default;
  same &= rgt__read_int(r) == t->rank;
  for (int i = 0; i < 5; i++) {
    double stored = rgt__read_double(r);
    same &= memcmp(&stored, &reals[i], sizeof stored) == 0;
  }
  return same & (strcmp(rgt__read_text(r), t->numeric_class) == 0);
}

static rgt_status compare_standings(rgt__tunedb *db, const struct scene_keys *scene, const rgt__derived *d, int *same,
                                    rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row, n = 0;
  *same = 1;
  rgt_status status = rgt__bind_scene(db, RGT_SQL_STANDINGS, &scene->signature, &scene->place, &s, err);
  while (!status) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    if (n >= d->n_standings || !same_standing(&r, d, &d->standings[n])) *same = 0;
    n++;
  }
  *same &= n == d->n_standings;
  return status;
}

static rgt_status compare_winner(rgt__tunedb *db, const struct scene_keys *scene, const rgt__derived *d, int *same,
                                 rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row;
  rgt_status status = rgt__bind_scene(db, RGT_SQL_WINNER, &scene->signature, &scene->place, &s, err);
  if (!status) status = rgt__statement_step(db, s, &has_row, err);
  if (status) return status;
  if (!has_row) {
    *same = d->scene.n_trials == 0;
    return RGT_OK;
  }
  rgt__reader r = {.s = s};
  *same = d->scene.n_trials > 0;
  *same &= same_or_null(&r, d->winner < 0 ? NULL : &d->standings[d->winner].variant);
  *same &= same_or_null(&r, d->runner_up < 0 ? NULL : &d->standings[d->runner_up].variant);
  *same &= rgt__read_int(&r) == d->scene.n_trials;
  *same &= rgt__read_int(&r) == d->complete;
  sqlite3_reset(s);
  return RGT_OK;
}

static rgt_status check_scene(rgt__tunedb *db, const struct scene_keys *scene, rgt__error *err) {
  rgt__derived d;
  int same = 0;
  char hex[RGT_DIGEST_HEX_MAX];
  rgt_status status = rgt__derive_scene(db, &scene->signature, &scene->place, &d, err);
  if (status) return status;
  status = compare_standings(db, scene, &d, &same, err);
  if (!status && same) status = compare_winner(db, scene, &d, &same, err);
  rgt__derive_free(&d);
  if (status || same) return status;
  rgt__digest_hex(&scene->signature, hex);
  return rgt__error_set(err, RGT_EDB, "%s: the winner stored for signature %.16s is not the one that its trials give; rebuild",
                        db->path, hex);
}

static rgt_status check_all(rgt__tunedb *db, rgt__error *err) {
  scene_list scenes = {0};
  rgt_status status = each(db, RGT_SQL_QUICK_CHECK, check_pages, NULL, err);
  if (!status) status = each(db, RGT_SQL_UNKNOWN_OBJECTS, check_object, NULL, err);
  if (!status) status = each(db, RGT_SQL_ALL_SIGNATURES, check_signature, NULL, err);
  if (!status) status = each(db, RGT_SQL_ALL_PLACES, check_place, NULL, err);
  if (!status) status = each(db, RGT_SQL_ALL_VARIANTS, check_variant, NULL, err);
  if (!status) status = each(db, RGT_SQL_ALL_RUNS, check_run, NULL, err);
  if (!status) status = each(db, RGT_SQL_FOREIGN_KEY_CHECK, check_reference, NULL, err);
  if (!status) status = each(db, RGT_SQL_SCENES, keep_scene, &scenes, err);
  for (int i = 0; i < scenes.n && !status; i++) status = check_scene(db, &scenes.items[i], err);
  rgt__free(scenes.items);
  return status;
}

/* One read transaction, so that a writer beside it cannot make trials and winners disagree. Repairs nothing. */
rgt_status rgt__tunedb_check(rgt__tunedb *db, rgt__error *err) {
  rgt_status status = rgt__open_usable(db, err);
  if (!status) status = rgt__statement_begin(db, RGT_SQL_BEGIN, err);
  return status ? status : rgt__statement_end(db, check_all(db, err), err);
}

rgt_status rgt__tunedb_rebuild(rgt__tunedb *db, rgt__error *err) {
  scene_list scenes = {0};
  rgt_status status = rgt__open_writable(db, err);
  if (!status) status = rgt__statement_begin(db, RGT_SQL_BEGIN_IMMEDIATE, err);
  if (status) return status;
  status = rgt__statement_simple(db, RGT_SQL_DROP_STANDINGS, err);
  if (!status) status = rgt__statement_simple(db, RGT_SQL_DROP_WINNERS, err);
  if (!status) status = each(db, RGT_SQL_SCENES, keep_scene, &scenes, err);
  for (int i = 0; i < scenes.n && !status; i++)
    status = rgt__derive_store(db, &scenes.items[i].signature, &scenes.items[i].place, err);
  rgt__free(scenes.items);
  return rgt__statement_end(db, status, err);
}
