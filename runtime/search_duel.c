/* search_duel.c -- the best of all waves against each other and the default; its trials are marked final. */
#include <string.h>

#include "runtime/search_state.h"

/* A tie is at least 2 % wide, so the ratios must be known to a few tenths of that: with a noise of 3 % a sample, 300 of them
 * give a median within 0.3 %. A duel of long calls has to do with fewer. */
enum { BLOCK_ROUNDS = 15, SETTLED_ROUNDS = 60, DUEL_ROUNDS = 300, DUELS_MAX = 4 };

#define DUEL_S 1.5

/* The candidates with the smallest ratios, as far as they are within 10 % of the best; the default stands in every round
 * anyway. */
static int finalists(const rgt__search *s, int out[RGT_SEARCH_FINALISTS]) {
  int n = 0;
  int64_t least = INT64_MAX;
  for (int i = 0; i < s->setup->n; i++)
    if (i != s->setup->default_index && s->ratio_ppm[i] > 0 && s->setup->all[i].candidate.outcome == RGT_TRIAL_OK &&
        s->ratio_ppm[i] < least)
      least = s->ratio_ppm[i];
  for (int i = 0; i < s->setup->n; i++) {
    int64_t ratio = s->ratio_ppm[i];
    if (i == s->setup->default_index || ratio == 0 || s->setup->all[i].candidate.outcome != RGT_TRIAL_OK) continue;
    int at = n;
    while (at > 0 && s->ratio_ppm[out[at - 1]] > ratio) at--;
    if (at >= RGT_SEARCH_FINALISTS) continue;
    if (n < RGT_SEARCH_FINALISTS) n++;
    memmove(&out[at + 1], &out[at], (size_t)(n - 1 - at) * sizeof *out);
    out[at] = i;
  }
  while (n > 2 && (double)s->ratio_ppm[out[n - 1]] > 1.10 * (double)least) n--;
  return n;
}

/* Both passes for every finalist; a wrong one makes room for the next. */
static rgt_status checked_finalists(rgt__search *s, int out[RGT_SEARCH_FINALISTS], int *n, rgt__error *err) {
  for (;;) {
    int all_right = 1;
    *n = finalists(s, out);
    for (int i = 0; i < *n && all_right; i++) {
      rgt_outcome outcome = RGT_TRIAL_OK;
      rgt_status status = rgt__search_check(s, out[i], 1, &outcome, err);
      if (status == RGT_OK && outcome != RGT_TRIAL_OK) {
        all_right = 0;
        status = rgt__search_store_change(s, out[i], err);
      }
      if (status != RGT_OK) return status;
    }
    if (all_right) return RGT_OK;
  }
}

static rgt_status duel_rounds(rgt__search *s, rgt__contest *c, rgt__error *err) {
  double started_s = rgt__search_now();
  for (int done = 0; done < DUEL_ROUNDS; done += BLOCK_ROUNDS) {
    double now = rgt__search_now();
    rgt__search_report(s, RGT_PHASE_DUEL, done, DUEL_ROUNDS, "");
    if (done > 0 && (now > s->deadline_s || now > started_s + DUEL_S)) break;
    if (rgt__stats_all_equal(c->baseline_ps, c->n_baseline)) break; /* a modelled clock */
    if (done >= SETTLED_ROUNDS && rgt__contest_settled(c)) break;
    /* the plain loop is slow and only a yardstick: the first block is enough for it */
    for (int i = 0; i < BLOCK_ROUNDS && !rgt__stats_all_equal(c->baseline_ps, c->n_baseline); i++) {
      rgt_status status = rgt__contest_rounds(c, 1, done == 0, rgt__search_stop_on_request, s, err);
      if (status != RGT_OK) return status;
    }
  }
  return RGT_OK;
}

static rgt_status duel(rgt__search *s, const rgt__finalists *f, rgt__error *err) {
  rgt__candidate *candidates[RGT_SEARCH_FINALISTS];
  rgt__contest c;
  for (int i = 0; i < f->n; i++) candidates[i] = &s->setup->all[f->index[i]].candidate;
  rgt_status status = rgt__contest_open(s->setup->worker, &s->setup->all[s->setup->default_index].candidate, candidates,
                                        f->index, f->n, s->setup->seed ^ 0x6475656c, &c, err);
  if (status != RGT_OK) return status;
  status = duel_rounds(s, &c, err);
  if (status == RGT_OK) {
    if (!s->result->loop_ps) s->result->loop_ps = rgt__contest_loop(&c);
    for (int i = 0; i < f->n; i++) s->dueled[f->index[i]] = 1;
    status = rgt__search_store_contest(s, &c, 1, err);
  }
  rgt__contest_close(&c);
  return status;
}

/* A duel corrects the lucky ratios of a wave; then one that was left out may stand first. It gets its duel too, so that no
 * winner rests on the few samples of a wave. */
rgt_status rgt__search_run_duel(rgt__search *s, rgt__finalists *f, rgt__error *err) {
  for (int turn = 0; turn < DUELS_MAX; turn++) {
    rgt_status status = checked_finalists(s, f->index, &f->n, err);
    if (status != RGT_OK) return status;
    int all_dueled = turn > 0;
    for (int i = 0; i < f->n && i < 3; i++) all_dueled &= s->dueled[f->index[i]];
    if (all_dueled) return RGT_OK;
    status = duel(s, f, err);
    if (status != RGT_OK || rgt__search_now() > s->deadline_s) return status;
  }
  return RGT_OK;
}

rgt_status rgt__search_duel_again(rgt__search *s, const rgt__finalists *f, rgt__error *err) {
  return duel(s, f, err);
}
