/* winner.c -- which variant wins: pure functions over sets of trials.
 *
 * Nothing here looks at a file, a clock or the order of its input, so databases may be merged in any order and grouping. There
 * is no incumbent: a duel against yesterday's winner is a few more trials of a new run.
 */
#include "tunedb/winner.h"

#include "runtime/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_digests(const rgt__digest *a, const rgt__digest *b) {
  return memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

static int compare_ints(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

/* By variant, then run; the trial that counts comes first of its variant and run, bad ones last. */
static int compare_trials(const void *pa, const void *pb) {
  const rgt__winner_trial *a = *(const rgt__winner_trial *const *)pa, *b = *(const rgt__winner_trial *const *)pb;
  int c = compare_digests(&a->variant, &b->variant);
  if (c == 0) c = compare_digests(&a->run, &b->run);
  if (c == 0) c = compare_ints(a->trial->outcome != RGT_TRIAL_OK, b->trial->outcome != RGT_TRIAL_OK);
  if (c == 0) c = compare_ints(b->trial->n_samples, a->trial->n_samples);
  if (c == 0) c = compare_ints(b->trial->final != 0, a->trial->final != 0);
  if (c == 0) c = compare_digests(&a->key, &b->key);
  return c;
}

static int is_bad(const rgt__winner_trial *t) {
  return t->trial->outcome == RGT_TRIAL_WRONG || t->trial->outcome == RGT_TRIAL_CRASHED;
}

/* Does a bad trial of the same variant speak of t's code? */
static int is_excluded(const rgt__winner_trial *t, const rgt__winner_trial *const *group, int n) {
  static const rgt__digest no_code;
  for (int i = 0; i < n; i++) {
    const rgt__tunedb_trial *bad = group[i]->trial;
    if (is_bad(group[i]) && rgt__digest_equal(&bad->template_digest, &t->trial->template_digest) &&
        (rgt__digest_equal(&bad->code, &t->trial->code) || rgt__digest_equal(&bad->code, &no_code)))
      return 1;
  }
  return 0;
}

static int is_newer(const rgt__winner_trial *a, const rgt__winner_trial *b) {
  int c = compare_ints(a->started_utc_s, b->started_utc_s);
  if (c == 0) c = compare_digests(&a->run, &b->run);
  return c > 0;
}

static int compare_ratios(const void *pa, const void *pb) {
  return compare_ints(*(const int64_t *)pa, *(const int64_t *)pb);
}

/* One variant's standing from its group of sorted trials; 0 if it has no usable time. ratios is room for n numbers. */
static int stand(const rgt__winner_trial *const *group, int n, const rgt__winner_trial *base, int64_t *ratios,
                 rgt__winner_standing *out) {
  const rgt__winner_trial *newest = NULL;
  const rgt__digest *last_run = NULL;
  int n_runs = 0;
  for (int i = 0; i < n; i++) {
    const rgt__winner_trial *t = group[i];
    if (t->trial->outcome != RGT_TRIAL_OK) continue;
    if (last_run && rgt__digest_equal(last_run, &t->run)) continue; /* the first of a run counts */
    if (is_excluded(t, group, n)) continue;
    last_run = &t->run;
    ratios[n_runs++] = t->trial->ratio_ppm;
    if (!newest || is_newer(t, newest)) newest = t;
  }
  if (!newest) return 0;
  qsort(ratios, (size_t)n_runs, sizeof *ratios, compare_ratios);
  *out = (rgt__winner_standing){.variant = newest->variant,
                                .newest = (int)(newest - base),
                                .ratio_ppm = ratios[(n_runs - 1) / 2],
                                .ratio_low_ppm = newest->trial->ratio_low_ppm,
                                .ratio_high_ppm = newest->trial->ratio_high_ppm,
                                .n_runs = n_runs};
  return 1;
}

static int compare_standings(const void *pa, const void *pb) {
  const rgt__winner_standing *a = pa, *b = pb;
  int c = compare_ints(a->ratio_ppm, b->ratio_ppm);
  return c ? c : compare_digests(&a->variant, &b->variant);
}

rgt_status rgt__winner_standings(const rgt__winner_trial *trials, int n, rgt__winner_standing *standings, int *n_standings) {
  *n_standings = 0;
  if (n == 0) return RGT_OK;
  const rgt__winner_trial **sorted = rgt__alloc((size_t)n * sizeof *sorted);
  int64_t *ratios = rgt__alloc((size_t)n * sizeof *ratios);
  if (!sorted || !ratios) {
    rgt__free(sorted);
    rgt__free(ratios);
    return RGT_ENOMEM;
  }
  for (int i = 0; i < n; i++) sorted[i] = &trials[i];
  qsort(sorted, (size_t)n, sizeof *sorted, compare_trials);
  for (int i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && rgt__digest_equal(&sorted[i]->variant, &sorted[end]->variant);) end++;
    *n_standings += stand(sorted + i, end - i, trials, ratios, &standings[*n_standings]);
  }
  qsort(standings, (size_t)*n_standings, sizeof *standings, compare_standings);
  rgt__free(sorted);
  rgt__free(ratios);
  return RGT_OK;
}

void rgt__winner_text(char text[264], const char *family, const char *params) {
  snprintf(text, 264, "%s%s%s", family, params[0] ? ":" : "", params);
}

/* Which of two equally good candidates is preferred: negative for a. */
static int compare_preference(const rgt__winner_candidate *a, const rgt__winner_candidate *b) {
  int c = compare_ints(b->is_default != 0, a->is_default != 0);
  if (c == 0) c = compare_ints(a->rank, b->rank);
  if (c == 0) c = strcmp(a->text, b->text);
  if (c == 0) c = compare_ints(b->revision, a->revision);
  if (c == 0) c = compare_digests(&a->variant, &b->variant);
  return c;
}

static int is_faster(const rgt__winner_candidate *a, const rgt__winner_candidate *b) {
  int c = compare_ints(a->ratio_ppm, b->ratio_ppm);
  return c ? c < 0 : compare_preference(a, b) < 0;
}

static int may_win(const rgt__winner_candidate *c) {
  return c->is_default || c->ratio_ppm <= RGT_WINNER_DEFAULT_PPM;
}

int64_t rgt__winner_reach(int64_t best_ppm) {
  return best_ppm * (100 + RGT_WINNER_TIE_MAX_PERCENT) / 100;
}

/* An interval that was not measured is 0 to 0: it then is the ratio alone. */
static int ties(const rgt__winner_candidate *best, const rgt__winner_candidate *c) {
  if (c->ratio_ppm > rgt__winner_reach(best->ratio_ppm)) return 0;
  if (c->ratio_ppm * 100 <= best->ratio_ppm * (100 + RGT_WINNER_TIE_PERCENT)) return 1;
  if (!c->is_default && c->rank >= best->rank) return 0;
  return c->ratio_ppm <= best->ratio_high_ppm || (c->ratio_low_ppm > 0 && c->ratio_low_ppm <= best->ratio_ppm);
}

void rgt__winner_choose(const rgt__winner_candidate *c, int n, int *winner, int *runner_up) {
  int best = -1;
  *winner = *runner_up = -1;
  for (int i = 0; i < n; i++)
    if (may_win(&c[i]) && (best < 0 || is_faster(&c[i], &c[best]))) best = i;
  if (best >= 0) {
    *winner = best;
    for (int i = 0; i < n; i++)
      if (may_win(&c[i]) && ties(&c[best], &c[i]) && compare_preference(&c[i], &c[*winner]) < 0) *winner = i;
  }
  for (int i = 0; i < n; i++)
    if (i != *winner && (*runner_up < 0 || is_faster(&c[i], &c[*runner_up]))) *runner_up = i;
}
