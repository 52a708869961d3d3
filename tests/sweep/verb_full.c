/* verb_full.c -- the full sweep: as many of its rows as the budget allows, going on from what the state file knows. What failed
 * before is tried again. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crew.h"
#include "full_state.h"
#include "report.h"
#include "runtime/base/alloc.h"
#include "verbs.h"

enum { BATCH = 24, ROW_LIMIT_S = 300 };

typedef struct sweeping {
  const sweep_options *o;
  rgt__sources *sources;
  rgt__families *families;
  sweep_rows rows;
  char (*digest)[SWEEP_DIGEST_SIZE]; /* owned; of each row */
  sweep_state *state;                /* owned; likewise */
  sweep_full_state file;
  sweep_by_family table[SWEEP_BY_FAMILY_MAX]; /* of this run */
  double begin;
} sweeping;

static rgt_status prepare(sweeping *s, rgt__error *err) {
  const char *folder = getenv("RAGTUNE_TEMPLATES");
  const sweep_options *o = s->o;
  rgt_status status = rgt__sources_open(folder && *folder ? folder : NULL, &s->sources, err);
  if (status == RGT_OK) status = rgt__families_open(s->sources, &s->families, err);
  if (status == RGT_OK) status = sweep_full_rows(s->families, o->seed, o->part, o->n_parts, &s->rows, err);
  if (status == RGT_OK && rgt__families_fault(s->families, 0))
    status = rgt__error_set(err, RGT_ETEMPLATE, "%s", rgt__families_fault(s->families, 0));
  if (status == RGT_OK) status = sweep_full_state_open(o->word, &s->file, err);
  if (status != RGT_OK) return status;
  size_t n = (size_t)s->rows.n + 1;
  s->digest = rgt__alloc_zero(n, sizeof *s->digest);
  s->state = rgt__alloc_zero(n, sizeof *s->state);
  if (!s->digest || !s->state) return rgt__error_nomem(err, n * sizeof *s->digest);
  for (int i = 0; i < s->rows.n && status == RGT_OK; i++) {
    status = sweep_full_digest(s->families, &s->rows.row[i], s->digest[i], err);
    if (status == RGT_OK) s->state[i] = sweep_full_state_find(&s->file, s->digest[i]);
  }
  return status;
}

/* The next rows to try from *at on, those of one target together; returns how many. */
static int choose(const sweeping *s, int *at, int order[BATCH]) {
  int chosen[BATCH], n = 0, sorted = 0;
  for (; *at < s->rows.n && n < BATCH; ++*at)
    if (s->state[*at] != SWEEP_RIGHT) chosen[n++] = *at;
  for (int t = 0; t < SWEEP_TARGETS; t++)
    for (int i = 0; i < n; i++)
      if (!strcmp(s->rows.row[chosen[i]].target, sweep_target_name(t))) order[sorted++] = chosen[i];
  return sorted;
}

static rgt_status keep(sweeping *s, const int *order, const sweep_result *results, int n, rgt__error *err) {
  rgt_status status = RGT_OK;
  for (int i = 0; i < n && status == RGT_OK; i++) {
    const sweep_row *row = &s->rows.row[order[i]];
    const sweep_result *r = &results[i];
    if (r->state == SWEEP_WAITING) continue; /* the time was over */
    s->state[order[i]] = r->state;
    sweep_report_add(s->table, r);
    if (sweep_state_fails(r->state)) sweep_report_failure(row, r, s->o->seed, s->o->n_ragged, order[i] * s->o->n_ragged);
    status = sweep_full_state_add(&s->file, s->digest[order[i]], row, r, err);
  }
  return status;
}

static rgt_status try_rows(sweeping *s, rgt__error *err) {
  int order[BATCH], at = 0, n;
  static sweep_result results[BATCH];
  rgt_status status = RGT_OK;
  while (status == RGT_OK && (n = choose(s, &at, order)) > 0) {
    double left = s->o->budget_s > 0 ? s->o->budget_s - (sweep_clock_s() - s->begin) : 0;
    if (s->o->budget_s > 0 && left <= 0) break;
    sweep_crew crew = {.rows = &s->rows,
                       .order = order,
                       .n = n,
                       .seed = s->o->seed,
                       .n_ragged = s->o->n_ragged,
                       .limit_s = ROW_LIMIT_S,
                       .budget_s = left,
                       .libcuda = s->o->libcuda};
    memset(results, 0, sizeof results);
    status = sweep_crew_run(&crew, results, err);
    rgt_status kept = keep(s, order, results, n, err);
    if (status == RGT_OK) status = kept;
  }
  return status;
}

/* 1: something tried is not right */
static int print_end(const sweeping *s) {
  int n[SWEEP_N_STATES] = {0}, failed = 0, tried = 0;
  for (int i = 0; i < s->rows.n; i++) n[s->state[i]]++;
  for (int i = SWEEP_RIGHT; i < SWEEP_N_STATES; i++) tried += n[i];
  failed = tried - n[SWEEP_RIGHT];
  sweep_report_families(s->table);
  printf("full shard %d/%d, seed %llu: %d rows, %d tried, %d right, %d failed, %d not tried yet; %.0f s\n", s->o->part,
         s->o->n_parts, (unsigned long long)s->o->seed, s->rows.n, tried, n[SWEEP_RIGHT], failed, s->rows.n - tried,
         sweep_clock_s() - s->begin);
  return failed > 0;
}

int sweep_verb_full(const sweep_options *o) {
  static sweeping s;
  rgt__error err = {""};
  s.o = o;
  s.begin = sweep_clock_s();
  rgt_status status = prepare(&s, &err);
  if (status == RGT_OK) status = try_rows(&s, &err);
  if (status != RGT_OK) printf("%s\n", err.text);
  int failed = s.state ? print_end(&s) : 1;
  sweep_full_state_close(&s.file);
  rgt__free(s.digest);
  rgt__free(s.state);
  sweep_rows_free(&s.rows);
  rgt__families_free(s.families);
  rgt__sources_free(s.sources);
  return status == RGT_OK && !failed ? SWEEP_EXIT_RIGHT : SWEEP_EXIT_WRONG;
}
