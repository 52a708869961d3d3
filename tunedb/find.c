/* find.c -- the stored winner of a signature.
 *
 * Standings lie in the order of their ratios, so the search ends a little past the best admitted one: with hundreds of trials
 * it reads a handful of rows. Only the two that are returned are looked up in full.
 */
#include "tunedb/find.h"

#include "runtime/base/alloc.h"
#include "tunedb/accept.h"
#include "tunedb/keys.h"
#include "tunedb/load.h"
#include "tunedb/memo.h"
#include "tunedb/winner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One admitted standing of one scene. */
typedef struct entry {
  rgt__winner_candidate candidate;
  int scene, n_runs;
  rgt__digest run, trial;
} entry;

typedef struct entries {
  entry *items;
  int n, capacity;
} entries;

static int within(double v, double limit) {
  return limit < 0 || v <= limit;
}

static int admits(const rgt__tunedb_limits *l, const char *family, int revision, const char *params, const double numbers[5],
                  const char *numeric_class) {
  if (!l) return 1;
  if (l->numeric_class && strcmp(l->numeric_class, numeric_class) != 0) return 0;
  if (!within(numbers[0], l->max_p) || !within(numbers[1], l->max_p) || !within(numbers[2], l->max_u_h) ||
      !within(numbers[3], l->max_alpha) || !within(numbers[4], l->max_beta))
    return 0;
  return !l->admit || l->admit(l->admit_user, family, revision, params);
}

/* Reads the row into e; *admitted as limits say. */
static rgt_status read_entry(rgt__tunedb *db, sqlite3_stmt *s, const rgt__tunedb_limits *limits, entry *e, int *admitted,
                             rgt__error *err) {
  rgt__reader r = {.s = s};
  double numbers[5];
  rgt__winner_candidate *c = &e->candidate;
  c->ratio_ppm = rgt__read_int(&r);
  c->ratio_low_ppm = rgt__read_int(&r);
  c->ratio_high_ppm = rgt__read_int(&r);
  rgt__read_digest(&r, &c->variant);
  const char *family = rgt__read_text(&r);
  c->revision = rgt__read_small(&r);
  const char *params = rgt__read_text(&r);
  rgt__winner_text(c->text, family, params);
  rgt__read_digest(&r, &e->run);
  rgt__read_digest(&r, &e->trial);
  e->n_runs = rgt__read_small(&r);
  c->is_default = rgt__read_small(&r);
  c->rank = rgt__read_small(&r);
  for (int i = 0; i < 5; i++) numbers[i] = rgt__read_double(&r);
  const char *numeric_class = rgt__read_text(&r);
  rgt_status status = rgt__read_end(db, &r, "standing", err);
  if (!status) *admitted = admits(limits, family, c->revision, params, numbers, numeric_class);
  return status;
}

/* With `all` zero stops where neither the winner nor the runner-up can change any more. */
static rgt_status read_scene(rgt__tunedb *db, const rgt__find_scene *scenes, int scene, int all, const rgt__digest *place,
                             const rgt__tunedb_limits *limits, entries *list, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int64_t reach = -1;
  rgt_status status = rgt__bind_scene(db, RGT_SQL_STANDINGS, &scenes[scene].signature, place, &s, err);
  if (status) return status;
  for (;;) {
    int has_row, admitted = 0;
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) return status;
    status = rgt__load_grow((void **)&list->items, list->n, &list->capacity, sizeof *list->items, err);
    if (status) break;
    entry *e = &list->items[list->n];
    e->scene = scene;
    status = read_entry(db, s, limits, e, &admitted, err);
    if (status) break;
    if (!admitted) continue;
    const rgt__winner_candidate *c = &e->candidate;
    list->n++;
    if (reach < 0 && (c->is_default || c->ratio_ppm <= RGT_WINNER_DEFAULT_PPM)) reach = rgt__winner_reach(c->ratio_ppm);
    if (!all && reach >= 0 && c->ratio_ppm > reach && list->n >= 2) break;
  }
  sqlite3_reset(s);
  return status;
}

static int compare_entries(const void *pa, const void *pb) {
  const entry *a = pa, *b = pb;
  int c = memcmp(a->candidate.variant.bytes, b->candidate.variant.bytes, sizeof a->candidate.variant.bytes);
  if (c == 0) c = (a->candidate.ratio_ppm < b->candidate.ratio_ppm) - (a->candidate.ratio_ppm > b->candidate.ratio_ppm);
  return c ? c : a->scene - b->scene;
}

/* Several scenes: of each variant that stands in all of them its worst ratio; the others are dropped. */
static void keep_worst(entries *list, int n_scenes) {
  int n = 0;
  if (list->n > 1) qsort(list->items, (size_t)list->n, sizeof *list->items, compare_entries);
  for (int i = 0, end; i < list->n; i = end) {
    const rgt__digest variant = list->items[i].candidate.variant;
    for (end = i + 1; end < list->n && rgt__digest_equal(&variant, &list->items[end].candidate.variant);) end++;
    if (end - i == n_scenes) list->items[n++] = list->items[i]; /* the slowest comes first */
  }
  list->n = n;
}

/* Scenes without any usable time say nothing about a variant: they are not counted. */
static rgt_status read_scenes(rgt__tunedb *db, const rgt__find_scene *scenes, int n, const rgt__digest *place,
                              const rgt__tunedb_limits *limits, entries *list, rgt__error *err) {
  if (n == 1) return read_scene(db, scenes, 0, 0, place, limits, list, err);
  int n_counted = 0;
  for (int i = 0; i < n; i++) {
    sqlite3_stmt *s = NULL;
    int has_row = 0;
    rgt_status status = rgt__bind_scene(db, RGT_SQL_STANDINGS, &scenes[i].signature, place, &s, err);
    if (!status) status = rgt__statement_step(db, s, &has_row, err);
    if (has_row) sqlite3_reset(s);
    if (!status && has_row) status = read_scene(db, scenes, i, 1, place, limits, list, err);
    if (status) return status;
    n_counted += has_row;
  }
  keep_worst(list, n_counted);
  return RGT_OK;
}

static void fill_standing(const entry *e, const rgt__tunedb_run *run, const rgt__tunedb_trial *t, rgt__tunedb_standing *out) {
  const rgt__winner_candidate *c = &e->candidate;
  *out = (rgt__tunedb_standing){.revision = t->revision,
                                .rank = t->rank,
                                .is_default = t->is_default,
                                .template_digest = t->template_digest,
                                .code = t->code,
                                .time_ps = t->time_ps,
                                .low_ps = t->low_ps,
                                .high_ps = t->high_ps,
                                .default_ps = t->default_ps,
                                .ratio_ppm = c->ratio_ppm,
                                .ratio_low_ppm = c->ratio_low_ppm,
                                .ratio_high_ppm = c->ratio_high_ppm,
                                .error_share = t->error_share,
                                .p1 = t->p1,
                                .p2 = t->p2,
                                .u_h = t->u_h,
                                .alpha = t->alpha,
                                .beta = t->beta,
                                .n_runs = e->n_runs};
  snprintf(out->family, sizeof out->family, "%s", t->family);
  snprintf(out->params, sizeof out->params, "%s", t->params);
  snprintf(out->numeric_class, sizeof out->numeric_class, "%s", t->numeric_class);
  snprintf(out->toolchain, sizeof out->toolchain, "%s", run->toolchain);
  snprintf(out->driver, sizeof out->driver, "%s", run->driver);
}

static rgt_status read_standing(rgt__tunedb *db, const entry *e, rgt__tunedb_standing *out, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row = 0;
  rgt_status status = rgt__bind_scene(db, RGT_SQL_STANDING_TRIAL, &e->run, &e->trial, &s, err);
  if (!status) status = rgt__statement_step(db, s, &has_row, err);
  if (status) return status;
  rgt__reader r = {.s = s};
  if (has_row) {
    rgt__load_trial t;
    rgt__tunedb_run run = {.toolchain = rgt__read_text(&r)};
    run.driver = rgt__read_text(&r);
    rgt__load_trial_row(&r, NULL, &t);
    fill_standing(e, &run, &t.trial, out);
  } else {
    r.bad = 1; /* a standing without its trial */
  }
  status = rgt__read_end(db, &r, "standing", err);
  sqlite3_reset(s);
  return status;
}

static rgt_status read_counts(rgt__tunedb *db, const rgt__find_scene *scenes, int n, const rgt__digest *place,
                              rgt__tunedb_winner *out, rgt__error *err) {
  out->complete = 1;
  for (int i = 0; i < n; i++) {
    sqlite3_stmt *s = NULL;
    int has_row = 0;
    rgt_status status = rgt__bind_scene(db, RGT_SQL_WINNER, &scenes[i].signature, place, &s, err);
    if (!status) status = rgt__statement_step(db, s, &has_row, err);
    if (status) return status;
    if (!has_row) continue; /* a signature that was only missed */
    rgt__reader r = {.s = s, .column = 2};
    out->n_trials += rgt__read_small(&r);
    out->complete &= rgt__read_small(&r) != 0;
    status = rgt__read_end(db, &r, "winner", err);
    sqlite3_reset(s);
    if (status) return status;
  }
  return RGT_OK;
}

static rgt_status fill_winner(rgt__tunedb *db, const rgt__find_scene *scenes, int n, const rgt__digest *place,
                              const entries *list, int may_lose, rgt__winner_candidate *room, rgt__tunedb_winner *out,
                              rgt__error *err) {
  int winner, runner_up;
  for (int i = 0; i < list->n; i++) room[i] = list->items[i].candidate;
  rgt__winner_choose(room, list->n, &winner, &runner_up);
  if (winner < 0 && may_lose) { /* all of them lose to the default: the one that loses least, and the next */
    winner = runner_up;
    runner_up = -1;
    for (int i = 0; i < list->n; i++)
      if (i != winner && (runner_up < 0 || room[i].ratio_ppm < room[runner_up].ratio_ppm)) runner_up = i;
  }
  if (winner < 0) return RGT_EMISS;
  const entry *best = &list->items[winner];
  snprintf(out->signature, sizeof out->signature, "%s", scenes[best->scene].text);
  snprintf(out->skew, sizeof out->skew, "%s", scenes[best->scene].skew);
  rgt_status status = read_standing(db, best, &out->winner, err);
  if (!status && runner_up >= 0) status = read_standing(db, &list->items[runner_up], &out->runner_up, err);
  out->has_runner_up = runner_up >= 0;
  return status ? status : read_counts(db, scenes, n, place, out, err);
}

rgt_status rgt__find_best(rgt__tunedb *db, const rgt__find_scene *scenes, int n, const rgt__digest *place,
                          const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__error *err) {
  entries list = {0};
  rgt_status status = read_scenes(db, scenes, n, place, limits, &list, err);
  if (!status) {
    size_t bytes = (size_t)list.n * sizeof(rgt__winner_candidate);
    rgt__winner_candidate *room = rgt__alloc(bytes);
    status = room ? fill_winner(db, scenes, n, place, &list, limits && limits->may_lose, room, out, err)
                  : rgt__error_nomem(err, bytes);
    rgt__free(room);
  }
  rgt__free(list.items);
  return status;
}

int rgt__find_any_skew(const rgt__tunedb_signature *sig) {
  return strcmp(sig->skew, "unknown") == 0;
}

rgt_status rgt__find_accept(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                            rgt__error *err) {
  rgt_status status = rgt__open_usable(db, err);
  if (!status) status = rgt__accept_signature(sig, err);
  return status ? status : rgt__accept_place(place, err);
}

/* Every stored signature that differs from sig in its skew alone. texts holds the names. */
static rgt_status read_skews(rgt__tunedb *db, const rgt__tunedb_signature *sig, rgt__find_scene *scenes, int *n,
                             rgt__load_arena *texts, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row = 0;
  *n = 0;
  rgt_status status = rgt__statement_get(db, RGT_SQL_SKEWS, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_text(&b, sig->op_text);
  rgt__bind_text(&b, sig->form);
  rgt__bind_text(&b, sig->order);
  rgt__bind_int(&b, sig->align_bytes);
  rgt__bind_int(&b, sig->bucket);
  status = rgt__bind_end(db, &b, err);
  while (!status && *n < RGT_FIND_SKEWS_MAX) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    rgt__read_digest(&r, &scenes[*n].signature);
    scenes[*n].text = rgt__load_copy(texts, rgt__read_text(&r));
    scenes[*n].skew = rgt__load_copy(texts, rgt__read_text(&r));
    status = rgt__read_end(db, &r, "signature", err);
    (*n)++;
  }
  sqlite3_reset(s);
  return !status && texts->failed ? rgt__error_nomem(err, 0) : status;
}

static rgt_status find_once(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                            const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__error *err) {
  rgt__find_scene scenes[RGT_FIND_SKEWS_MAX];
  rgt__load_arena texts = {0};
  rgt__digest place_key;
  int n = 1;
  *out = (rgt__tunedb_winner){.exact = 1};
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &place_key);
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN, err);
  if (status) return status;
  if (rgt__find_any_skew(sig)) {
    status = read_skews(db, sig, scenes, &n, &texts, err);
  } else {
    rgt__keys_signature(sig, &scenes[0].signature);
    scenes[0].text = sig->text;
    scenes[0].skew = sig->skew;
  }
  if (!status) status = n > 0 ? rgt__find_best(db, scenes, n, &place_key, limits, out, err) : RGT_EMISS;
  status = rgt__statement_end(db, status, err);
  rgt__load_arena_free(&texts);
  return status;
}

rgt_status rgt__tunedb_find(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                            const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__error *err) {
  rgt__memo_stamp stamp;
  if (rgt__memo_get(db, sig, place, limits, out, &stamp)) return RGT_OK;
  rgt_status status = rgt__find_accept(db, sig, place, err);
  if (!status && !out) status = rgt__error_set(err, RGT_EINVAL, "tuned database: nowhere to put the winner");
  if (status) return status;
  rgt__tunedb_winner found;
  status = find_once(db, sig, place, limits, &found, err);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++)
    status = find_once(db, sig, place, limits, &found, err);
  if (status == RGT_EMISS)
    return rgt__error_set(err, RGT_EMISS, "%s: nothing that the limits admit is stored for %s on %s, %s", db->path, sig->text,
                          place->device_class, place->policy);
  if (status) return status;
  snprintf(found.device_class, sizeof found.device_class, "%s", place->device_class);
  snprintf(found.policy, sizeof found.policy, "%s", place->policy);
  rgt__memo_put(db, sig, place, limits, &found, &stamp);
  *out = found;
  return RGT_OK;
}
