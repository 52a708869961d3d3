/* list.c -- going through what is stored: the trials of one signature, every winner. */
#include "tunedb/find.h"

#include "runtime/base/alloc.h"
#include "tunedb/keys.h"
#include "tunedb/load.h"

#include <stdio.h>

/* Read whole before the first call of fn, which may then use the database itself. */
rgt_status rgt__tunedb_trials(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                              rgt__tunedb_trial_fn fn, void *user, rgt__error *err) {
  rgt_status status = rgt__find_accept(db, sig, place, err);
  if (!status && !fn) status = rgt__error_set(err, RGT_EINVAL, "tuned database: no function to give trials to");
  if (status) return status;
  rgt__digest signature, place_key;
  rgt__load_scene scene = {0};
  rgt__keys_signature(sig, &signature);
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &place_key);
  for (int tries = 0;; tries++) {
    status = rgt__statement_begin(db, RGT_SQL_BEGIN, err);
    if (!status) status = rgt__load_scene_read(db, &signature, &place_key, &scene, err);
    status = rgt__statement_end(db, status, err);
    if (!status || !rgt__open_again(db, tries, err)) break;
  }
  int stopped = 0;
  for (int i = 0; i < scene.n_trials && !status && !stopped; i++)
    stopped = fn(user, &scene.runs[scene.trials[i].run].run, &scene.trials[i].trial) != 0;
  rgt__load_scene_free(&scene);
  return status;
}

/* A winner's keys and texts, kept while the list is gone through. */
typedef struct listed {
  rgt__find_scene scene;
  rgt__digest place;
  const char *device_class, *policy;
} listed;

typedef struct listing {
  listed *items;
  int n, capacity;
  rgt__load_arena texts;
} listing;

static rgt_status read_listing(rgt__tunedb *db, listing *list, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row;
  rgt_status status = rgt__statement_get(db, RGT_SQL_WINNERS, &s, err);
  while (!status) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) return status;
    status = rgt__load_grow((void **)&list->items, list->n, &list->capacity, sizeof *list->items, err);
    if (status) break;
    rgt__reader r = {.s = s};
    listed *item = &list->items[list->n];
    rgt__read_digest(&r, &item->scene.signature);
    rgt__read_digest(&r, &item->place);
    item->scene.text = rgt__load_copy(&list->texts, rgt__read_text(&r));
    item->scene.skew = "";
    item->device_class = rgt__load_copy(&list->texts, rgt__read_text(&r));
    item->policy = rgt__load_copy(&list->texts, rgt__read_text(&r));
    status = list->texts.failed ? rgt__error_nomem(err, 0) : rgt__read_end(db, &r, "winner", err);
    list->n++;
  }
  sqlite3_reset(s);
  return status;
}

static rgt_status read_listed(rgt__tunedb *db, const listed *item, rgt__tunedb_winner *out, rgt__error *err) {
  *out = (rgt__tunedb_winner){.exact = 1};
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN, err);
  if (status) return status;
  status = rgt__find_best(db, &item->scene, 1, &item->place, NULL, out, err);
  snprintf(out->device_class, sizeof out->device_class, "%s", item->device_class);
  snprintf(out->policy, sizeof out->policy, "%s", item->policy);
  return rgt__statement_end(db, status, err);
}

rgt_status rgt__tunedb_list(rgt__tunedb *db, rgt__tunedb_winner_fn fn, void *user, rgt__error *err) {
  rgt_status status = rgt__open_usable(db, err);
  if (!status && !fn) status = rgt__error_set(err, RGT_EINVAL, "tuned database: no function to give winners to");
  if (status) return status;
  listing list = {0};
  status = read_listing(db, &list, err);
  int stopped = 0;
  for (int i = 0; i < list.n && !status && !stopped; i++) {
    rgt__tunedb_winner winner;
    status = read_listed(db, &list.items[i], &winner, err);
    if (status == RGT_EMISS) /* its last trial was found wrong by another process just now */
      status = RGT_OK;
    else if (!status)
      stopped = fn(user, &winner) != 0;
  }
  rgt__free(list.items);
  rgt__load_arena_free(&list.texts);
  return status;
}

/* ---- misses ---- */

typedef struct missed_list {
  rgt__tunedb_missed *items;
  int n, capacity;
} missed_list;

static rgt_status read_misses(rgt__tunedb *db, missed_list *list, rgt__error *err) {
  sqlite3_stmt *s;
  int has_row;
  rgt_status status = rgt__statement_get(db, RGT_SQL_MISSES, &s, err);
  while (!status) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) return status;
    status = rgt__load_grow((void **)&list->items, list->n, &list->capacity, sizeof *list->items, err);
    if (status) break;
    rgt__reader r = {.s = s};
    rgt__tunedb_missed *m = &list->items[list->n];
    snprintf(m->signature, sizeof m->signature, "%s", rgt__read_text(&r));
    snprintf(m->device_class, sizeof m->device_class, "%s", rgt__read_text(&r));
    snprintf(m->policy, sizeof m->policy, "%s", rgt__read_text(&r));
    m->n = rgt__read_int(&r);
    m->last_utc_s = rgt__read_int(&r);
    status = rgt__read_end(db, &r, "miss", err);
    list->n++;
  }
  sqlite3_reset(s);
  return status;
}

rgt_status rgt__tunedb_misses(rgt__tunedb *db, rgt__tunedb_missed_fn fn, void *user, rgt__error *err) {
  missed_list list = {0};
  rgt_status status = rgt__open_usable(db, err);
  if (!status && !fn) status = rgt__error_set(err, RGT_EINVAL, "tuned database: no function to give misses to");
  if (status) return status;
  status = read_misses(db, &list, err);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++) {
    list.n = 0;
    status = read_misses(db, &list, err);
  }
  for (int i = 0; i < list.n && !status; i++)
    if (fn(user, &list.items[i])) break;
  rgt__free(list.items);
  return status;
}
