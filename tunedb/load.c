/* load.c -- rows of the database as the structs of tunedb.h. */
#include "tunedb/load.h"

#include "runtime/base/alloc.h"
#include "tunedb/keys.h"

#include <limits.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16384)

struct rgt__load_block {
  rgt__load_block *next;
  size_t used, size;
  char data[];
};

const char *rgt__load_copy(rgt__load_arena *arena, const char *text) {
  size_t n = strlen(text) + 1;
  rgt__load_block *b = arena->blocks;
  if (!b || b->size - b->used < n) {
    size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;
    b = rgt__alloc(sizeof *b + size);
    if (!b) {
      arena->failed = 1;
      return "";
    }
    *b = (rgt__load_block){.next = arena->blocks, .size = size};
    arena->blocks = b;
  }
  char *copy = b->data + b->used;
  memcpy(copy, text, n);
  b->used += n;
  return copy;
}

void rgt__load_arena_free(rgt__load_arena *arena) {
  for (rgt__load_block *b = arena->blocks, *next; b; b = next) {
    next = b->next;
    rgt__free(b);
  }
  *arena = (rgt__load_arena){0};
}

rgt_status rgt__load_grow(void **items, int n, int *capacity, size_t item_bytes, rgt__error *err) {
  if (n < *capacity) return RGT_OK;
  if (n > INT_MAX / 2) return rgt__error_nomem(err, SIZE_MAX);
  int larger = n < 16 ? 32 : 2 * n;
  void *p = rgt__realloc(*items, (size_t)larger * item_bytes);
  if (!p) return rgt__error_nomem(err, (size_t)larger * item_bytes);
  *items = p;
  *capacity = larger;
  return RGT_OK;
}

static const char *text_of(rgt__reader *r, rgt__load_arena *arena) {
  const char *text = rgt__read_text(r);
  return arena ? rgt__load_copy(arena, text) : text;
}

void rgt__load_run_row(rgt__reader *r, rgt__load_arena *arena, rgt__load_run *out) {
  *out = (rgt__load_run){0};
  rgt__read_digest(r, &out->key);
  rgt__read_digest(r, &out->run.id);
  out->run.toolchain = text_of(r, arena);
  out->run.driver = text_of(r, arena);
  out->run.conditions = text_of(r, arena);
  out->run.version = text_of(r, arena);
  out->run.started_utc_s = rgt__read_int(r);
}

void rgt__load_signature_row(rgt__reader *r, rgt__load_arena *arena, rgt__digest *key, rgt__tunedb_signature *out) {
  *out = (rgt__tunedb_signature){0};
  rgt__read_digest(r, key);
  out->text = text_of(r, arena);
  out->op_text = text_of(r, arena);
  out->op_class = text_of(r, arena);
  out->n_in = rgt__read_int(r);
  out->n_hidden = rgt__read_int(r);
  out->n_out = rgt__read_int(r);
  out->groups = rgt__read_int(r);
  out->bucket = rgt__read_int(r);
  out->skew = text_of(r, arena);
  out->form = text_of(r, arena);
  out->order = text_of(r, arena);
  out->align_bytes = rgt__read_small(r);
}

void rgt__load_place_row(rgt__reader *r, rgt__load_arena *arena, rgt__digest *key, rgt__tunedb_place *out, const char **clock) {
  rgt__read_digest(r, key);
  out->device_class = text_of(r, arena);
  out->policy = text_of(r, arena);
  *clock = text_of(r, arena);
}

void rgt__load_trial_row(rgt__reader *r, rgt__load_arena *arena, rgt__load_trial *out) {
  *out = (rgt__load_trial){0};
  rgt__tunedb_trial *t = &out->trial;
  rgt__read_digest(r, &out->key);
  rgt__read_digest(r, &out->variant);
  t->family = text_of(r, arena);
  t->revision = rgt__read_small(r);
  t->params = text_of(r, arena);
  t->rank = rgt__read_small(r);
  t->is_default = rgt__read_small(r);
  rgt__read_digest(r, &t->template_digest);
  rgt__read_digest(r, &t->code);
  if (!rgt__keys_outcome_parse(rgt__read_text(r), &t->outcome)) r->bad = 1;
  t->reason = text_of(r, arena);
  t->final = rgt__read_small(r);
  int64_t *const numbers[] = {&t->time_ps,   &t->low_ps,        &t->high_ps,       &t->default_ps,
                              &t->ratio_ppm, &t->ratio_low_ppm, &t->ratio_high_ppm};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) *numbers[i] = rgt__read_int(r);
  t->n_samples = rgt__read_small(r);
  double *const reals[] = {&t->error_share, &t->p1, &t->p2, &t->u_h, &t->alpha, &t->beta};
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) *reals[i] = rgt__read_double(r);
  t->numeric_class = text_of(r, arena);
}

rgt_status rgt__load_run_trials(rgt__tunedb *db, rgt__sql_name name, int run, rgt__load_scene *scene, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, name, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, &scene->runs[run].key);
  status = rgt__bind_end(db, &b, err);
  for (;;) {
    int has_row;
    if (!status) status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) return status;
    status = rgt__load_grow((void **)&scene->trials, scene->n_trials, &scene->trials_capacity, sizeof *scene->trials, err);
    if (status) break;
    rgt__reader r = {.s = s};
    rgt__load_trial *t = &scene->trials[scene->n_trials];
    rgt__load_trial_row(&r, &scene->arena, t);
    t->run = run;
    status = rgt__read_end(db, &r, "trial", err);
    if (status) break;
    scene->n_trials++;
  }
  sqlite3_reset(s);
  return status;
}

static rgt_status read_runs(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, rgt__load_scene *scene,
                            rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__bind_scene(db, RGT_SQL_RUNS, signature, place, &s, err);
  if (status) return status;
  for (;;) {
    int has_row;
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) return status;
    status = rgt__load_grow((void **)&scene->runs, scene->n_runs, &scene->runs_capacity, sizeof *scene->runs, err);
    if (status) break;
    rgt__reader r = {.s = s};
    rgt__load_run_row(&r, &scene->arena, &scene->runs[scene->n_runs]);
    status = rgt__read_end(db, &r, "run", err);
    if (status) break;
    scene->n_runs++;
  }
  sqlite3_reset(s);
  return status;
}

rgt_status rgt__load_scene_read(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, rgt__load_scene *out,
                                rgt__error *err) {
  *out = (rgt__load_scene){0};
  rgt_status status = read_runs(db, signature, place, out, err);
  for (int i = 0; i < out->n_runs && !status; i++) status = rgt__load_run_trials(db, RGT_SQL_RUN_TRIALS, i, out, err);
  if (!status && out->arena.failed) status = rgt__error_nomem(err, BLOCK_BYTES);
  if (status) rgt__load_scene_free(out);
  return status;
}

void rgt__load_scene_free(rgt__load_scene *scene) {
  rgt__load_arena_free(&scene->arena);
  rgt__free(scene->runs);
  rgt__free(scene->trials);
  *scene = (rgt__load_scene){0};
}
