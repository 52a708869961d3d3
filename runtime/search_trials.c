/* search_trials.c -- a search's outcomes as trials: counted, stored at once, taken up again by the next run. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/search_state.h"

rgt__tunedb_trial rgt__search_trial_of(const rgt__search *s, int i, rgt__search_texts *texts) {
  const rgt__searched *c = &s->setup->all[i];
  rgt__variant_params_format(&c->candidate.variant, texts->params);
  rgt__tunedb_trial t = rgt__context_trial_of(&c->candidate, texts->params);
  t.is_default = c->is_default;
  t.error_share = c->error_share;
  return t;
}

static void add_times(rgt__tunedb_trial *t, const rgt__interval *time, const rgt__interval *ratio, int64_t default_ps) {
  t->outcome = RGT_TRIAL_OK;
  t->reason = "";
  t->time_ps = time->median;
  t->low_ps = time->low;
  t->high_ps = time->high;
  t->default_ps = default_ps;
  t->ratio_ppm = ratio->median;
  t->ratio_low_ppm = ratio->low;
  t->ratio_high_ppm = ratio->high;
  t->n_samples = time->n;
}

/* A database that cannot be written ends nothing: the results stay in this process, and the caller says so. Nothing more of
 * this search goes to it then: a duel stored without its waves would look like a search that came to its end. */
rgt_status rgt__search_store(rgt__search *s, const rgt__tunedb_trial *trials, int n, rgt__error *err) {
  if (n == 0 || s->store_status == RGT_EDB) return RGT_OK;
  rgt_status status = rgt__tunedb_put(s->setup->db, &s->run, &s->key.signature, &s->key.place, trials, n, err);
  if (status == RGT_EDB) {
    s->store_status = RGT_EDB;
    return RGT_OK;
  }
  return status;
}

static int *count_of(rgt__search *s, rgt_outcome outcome) {
  rgt_tune_result *r = s->result;
  int *const counts[RGT_N_OUTCOMES] = {&r->n_ok,    &r->n_infeasible, &r->n_compile_error,
                                       &r->n_wrong, &r->n_crashed,    &r->n_timed_out};
  return counts[outcome];
}

void rgt__search_mark_done(rgt__search *s, int i, rgt_outcome outcome) {
  if (s->done[i]) return;
  s->done[i] = 1;
  s->n_done++;
  s->result->n_tried++;
  ++*count_of(s, outcome);
}

rgt_status rgt__search_store_failure(rgt__search *s, int i, rgt_outcome outcome, const char *reason, rgt__error *err) {
  rgt__search_texts texts;
  rgt__tunedb_trial t = rgt__search_trial_of(s, i, &texts);
  t.outcome = outcome;
  t.reason = reason;
  rgt__search_mark_done(s, i, outcome);
  return rgt__search_store(s, &t, 1, err);
}

rgt_status rgt__search_store_change(rgt__search *s, int i, rgt__error *err) {
  rgt__search_texts texts;
  rgt__tunedb_trial t = rgt__search_trial_of(s, i, &texts);
  if (s->done[i]) {
    --*count_of(s, RGT_TRIAL_OK);
    ++*count_of(s, t.outcome);
  }
  rgt__search_mark_done(s, i, t.outcome);
  return rgt__search_store(s, &t, 1, err);
}

rgt_status rgt__search_store_contest(rgt__search *s, const rgt__contest *c, int final, rgt__error *err) {
  rgt__tunedb_trial trials[RGT_SEARCH_WAVE + 1];
  rgt__search_texts texts[RGT_SEARCH_WAVE + 1];
  rgt__interval base;
  int n = 0;
  if (!rgt__contest_baseline(c, &base)) return RGT_OK;
  rgt__interval one = {1000000, 1000000, 1000000, base.n};
  int d = s->setup->default_index;
  trials[n] = rgt__search_trial_of(s, d, &texts[n]);
  add_times(&trials[n], &base, &one, base.median);
  trials[n++].final = final;
  s->ratio_ppm[d] = 1000000;
  rgt__search_mark_done(s, d, RGT_TRIAL_OK);
  for (int i = 0; i < c->n; i++) {
    rgt__score score;
    int index = c->entrants[i].index;
    trials[n] = rgt__search_trial_of(s, index, &texts[n]);
    if (s->setup->all[index].candidate.outcome != RGT_TRIAL_OK) { /* in the contest: it crashed, or did not end */
      rgt_status status = rgt__search_store_change(s, index, err);
      if (status != RGT_OK) return status;
      continue;
    }
    if (c->entrants[i].unusable) {
      trials[n].outcome = RGT_TRIAL_INFEASIBLE;
      trials[n].reason = "not valid for this number of rows and groups, or its workspace does not fit";
      rgt__search_mark_done(s, index, RGT_TRIAL_INFEASIBLE);
    } else if (rgt__contest_score(c, i, &score)) {
      add_times(&trials[n], &score.time, &score.ratio, base.median);
      s->ratio_ppm[index] = score.ratio.median;
      rgt__search_mark_done(s, index, RGT_TRIAL_OK);
    } else {
      continue;
    }
    trials[n++].final = final;
  }
  return rgt__search_store(s, trials, n, err);
}

/* ---- what an unfinished search left ---- */

typedef struct taking {
  rgt__search *s;
  rgt__search_texts *mine; /* [n] of the candidates */
} taking;

static int take_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  const taking *k = user;
  rgt__search *s = k->s;
  (void)run;
  for (int i = 0; i < s->setup->n; i++) {
    const rgt__family *family = s->setup->all[i].candidate.variant.family;
    if (s->done[i] || strcmp(family->name, t->family) != 0 || family->revision != t->revision ||
        strcmp(k->mine[i].params, t->params) != 0 || !rgt__digest_equal(&family->template_digest, &t->template_digest))
      continue;
    if (t->outcome == RGT_TRIAL_OK) s->ratio_ppm[i] = t->ratio_ppm;
    rgt__search_mark_done(s, i, t->outcome);
    s->result->n_resumed++;
  }
  return 0;
}

rgt_status rgt__search_take_up(rgt__search *s, rgt__error *err) {
  if (s->setup->options->force) return RGT_OK;
  size_t n = (size_t)s->setup->n;
  taking k = {s, rgt__alloc_zero(n, sizeof *k.mine)};
  if (!k.mine) return rgt__error_nomem(err, n * sizeof *k.mine);
  for (int i = 0; i < s->setup->n; i++) rgt__variant_params_format(&s->setup->all[i].candidate.variant, k.mine[i].params);
  rgt_status status = rgt__tunedb_trials(s->setup->db, &s->key.signature, &s->key.place, take_trial, &k, err);
  rgt__free(k.mine);
  return status == RGT_EMISS || status == RGT_EDB ? RGT_OK : status;
}
