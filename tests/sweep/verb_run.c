/* verb_run.c -- rows of a file, or one row, tried. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "factors.h"
#include "report.h"
#include "runtime/base/alloc.h"
#include "verbs.h"

enum { ROW_LIMIT_S = 300 };

typedef struct running {
  const sweep_options *o;
  sweep_rows rows;
  int *order, n;
  sweep_result *results;
  sweep_by_family table[SWEEP_BY_FAMILY_MAX];
  sweep_count count;
  int rows_before; /* of what is told next: its place in order */
} running;

static int told(void *user, const sweep_row *row, const sweep_result *r) {
  running *w = user;
  int at = w->order[w->rows_before++];
  sweep_count_add(&w->count, r);
  sweep_report_add(w->table, r);
  if (sweep_state_fails(r->state))
    sweep_report_failure(row, r, w->o->seed, w->o->n_ragged, at * w->o->n_ragged + w->o->first_ragged);
  return 0;
}

static int is_of_family(const sweep_row *row, const char *family) {
  size_t n = family ? strlen(family) : 0;
  return !family || (!strncmp(row->variant, family, n) && (row->variant[n] == ':' || !row->variant[n]));
}

/* The part's rows, those of one target together. */
static rgt_status choose(running *w, rgt__error *err) {
  w->order = rgt__alloc_zero((size_t)w->rows.n + 1, sizeof *w->order);
  w->results = rgt__alloc_zero((size_t)w->rows.n + 1, sizeof *w->results);
  if (!w->order || !w->results) return rgt__error_nomem(err, (size_t)w->rows.n * sizeof *w->results);
  for (int t = 0; t < SWEEP_TARGETS; t++)
    for (int i = 0, nth = 0; i < w->rows.n; i++) {
      const sweep_row *row = &w->rows.row[i];
      if (strcmp(row->target, sweep_target_name(t)) || (w->o->target && strcmp(row->target, w->o->target))) continue;
      if (!is_of_family(row, w->o->family)) continue;
      nth++;
      if (nth % w->o->n_parts == w->o->part - 1 && nth / w->o->n_parts % w->o->share == 0) w->order[w->n++] = i;
    }
  return w->n ? RGT_OK : rgt__error_set(err, RGT_EINVAL, "no row is left to try");
}

static rgt_status run(running *w, rgt__error *err) {
  sweep_crew crew = {.rows = &w->rows,
                     .order = w->order,
                     .n = w->n,
                     .seed = w->o->seed,
                     .n_ragged = w->o->n_ragged,
                     .first_ragged = w->o->first_ragged,
                     .limit_s = ROW_LIMIT_S,
                     .budget_s = w->o->budget_s,
                     .stop_at_first = w->o->stop_at_first,
                     .libcuda = w->o->libcuda,
                     .done = told,
                     .user = w};
  return sweep_crew_run(&crew, w->results, err);
}

static int too_few(const running *w) {
  return w->count.ragged < w->o->least;
}

static void print_end(const running *w) {
  const sweep_count *c = &w->count;
  int failures = sweep_count_failures(c);
  sweep_report_families(w->table);
  printf("seed %llu: %d of %d rows tried: %d right, %d failed; %d compiled, %d from the cache; %d ragged problems (%d more not "
         "valid for a program), %d cases\n",
         (unsigned long long)w->o->seed, c->rows, w->n, c->state[SWEEP_RIGHT], failures, c->compiled, c->cached, c->ragged,
         c->ragged_not_valid, c->cases);
  if (too_few(w)) printf("only %d ragged problems; at least %d are asked for\n", c->ragged, w->o->least);
  if (c->state[SWEEP_RIGHT]) printf("[  PASSED  ] %d test(s).\n", c->state[SWEEP_RIGHT]);
  if (failures || too_few(w)) printf("[  FAILED  ] %d test(s), listed below:\n[  FAILED  ] sweep\n", failures + too_few(w));
}

static int finish(running *w, rgt_status status, const rgt__error *err) {
  if (status == RGT_OK) {
    print_end(w);
  } else if (status == RGT_ENOCOMPILER) {
    printf("skipped: %s\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] sweep\n", err->text);
  } else {
    printf("%s\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] sweep\n", err->text);
  }
  int all = w->count.rows == w->n && !too_few(w);
  rgt__free(w->results);
  rgt__free(w->order);
  sweep_rows_free(&w->rows);
  if (status == RGT_ENOCOMPILER) return SWEEP_EXIT_RIGHT;
  return status == RGT_OK && all && !sweep_count_failures(&w->count) ? SWEEP_EXIT_RIGHT : SWEEP_EXIT_WRONG;
}

int sweep_verb_run(const sweep_options *o) {
  static running w;
  rgt__error err = {""};
  w.o = o;
  rgt_status status = sweep_rows_read(o->word, &w.rows, &err);
  if (status == RGT_OK) status = choose(&w, &err);
  if (status == RGT_OK) {
    printf("[==========] Running %d test(s).\n", w.n);
    fflush(stdout);
    status = run(&w, &err);
  }
  return finish(&w, status, &err);
}

int sweep_verb_row(const sweep_options *o) {
  static running w;
  sweep_row row;
  rgt__error err = {""};
  w.o = o;
  rgt_status status = sweep_row_parse(o->word, &row, &err);
  if (status == RGT_OK) status = sweep_rows_add(&w.rows, &row, &err);
  if (status == RGT_OK) status = choose(&w, &err);
  if (status == RGT_OK) status = run(&w, &err);
  return finish(&w, status, &err);
}
