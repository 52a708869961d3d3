/* search.c -- the search of one signature: waves of candidates, then a duel of the best; every batch of trials stored at once.
 *
 * A wave is small, so that its candidates meet each other and the default under the same conditions, and so that a search that
 * is cut short has stored all waves before; ratios to the default make waves comparable. The next run with the same signature
 * takes up what an unfinished one left. The duel's trials are marked final: they say that a search came to its end.
 */
#include "runtime/search_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"

#define SLOW_CALL_PS ((int64_t)2 * 1000 * 1000 * 1000 * 1000) /* 2 s */

double rgt__search_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int rgt__search_stopped(const rgt__search *s) {
  return s->setup->options->stop && *s->setup->options->stop;
}

static int stop_now(void *user) {
  const rgt__search *s = user;
  return rgt__search_stopped(s) || rgt__search_now() > s->deadline_s;
}

int rgt__search_stop_on_request(void *user) {
  return rgt__search_stopped(user);
}

void rgt__search_report(const rgt__search *s, rgt_phase phase, int64_t done, int64_t total, const char *line) {
  s->setup->report(s->setup->report_user, phase, s->bucket, done, total, line);
}

/* ---- waves ---- */

/* So many rounds, or fewer where the default always takes equally long: a modelled clock says nothing new in the next one. */
static rgt_status some_rounds(rgt__search *s, rgt__contest *c, int rounds, int *told, rgt__error *err) {
  for (int i = 0; i < rounds && !*told; i++) {
    rgt_status status = rgt__contest_rounds(c, 1, 0, stop_now, s, err);
    if (status != RGT_OK) return status;
    *told = rgt__stats_all_equal(c->baseline_ps, c->n_baseline);
  }
  return RGT_OK;
}

/* Rounds that end the clearly slower ones ever more strictly. */
static rgt_status wave_rounds(rgt__search *s, rgt__contest *c, rgt__error *err) {
  static const struct {
    int rounds;
    double factor;
  } stages[] = {{2, 2.0}, {3, 1.35}, {6, 1.12}, {8, 1.0}};
  int told = 0;
  for (size_t i = 0; i < sizeof stages / sizeof stages[0] && !told; i++) {
    rgt_status status = some_rounds(s, c, stages[i].rounds, &told, err);
    if (status != RGT_OK) return status;
    if (rgt__contest_drop(c, stages[i].factor) == 0) break;
  }
  return RGT_OK;
}

static rgt_status run_wave(rgt__search *s, const int *indices, int n, rgt__error *err) {
  rgt__candidate *candidates[RGT_SEARCH_WAVE];
  int usable[RGT_SEARCH_WAVE], n_usable = 0;
  for (int i = 0; i < n; i++) {
    if (rgt__search_stopped(s)) return RGT_EINTERRUPTED;
    if (stop_now(s)) break; /* some may have run into their time limits */
    rgt__search_report(s, RGT_PHASE_VERIFY, s->n_done + i, s->limit, s->setup->all[indices[i]].candidate.text);
    rgt_outcome outcome = RGT_TRIAL_OK;
    rgt_status status = rgt__search_check(s, indices[i], 0, &outcome, err);
    if (status == RGT_OK && outcome != RGT_TRIAL_OK) {
      const rgt__candidate *c = &s->setup->all[indices[i]].candidate;
      status = rgt__search_store_failure(s, indices[i], outcome, c->reason, err);
    } else if (status == RGT_OK) {
      candidates[n_usable] = &s->setup->all[indices[i]].candidate;
      usable[n_usable++] = indices[i];
    }
    if (status != RGT_OK) return status;
  }
  rgt__contest c;
  rgt__search_report(s, RGT_PHASE_TIME, s->n_done, s->limit, "");
  rgt_status status = rgt__contest_open(s->setup->worker, &s->setup->all[s->setup->default_index].candidate, candidates, usable,
                                        n_usable, s->setup->seed + (uint64_t)s->n_done, &c, err);
  if (status != RGT_OK) return status;
  status = wave_rounds(s, &c, err);
  if (status == RGT_OK || status == RGT_EINTERRUPTED) {
    rgt_status stored = rgt__search_store_contest(s, &c, 0, err);
    if (stored != RGT_OK) status = stored;
  }
  rgt__contest_close(&c);
  return status;
}

/* Compiles what has no code yet, and takes those that failed out of the wave. */
static rgt_status compile_wave(rgt__search *s, int *wave, int *n, rgt__error *err) {
  int n_left = 0;
  rgt_status status = rgt__search_compile(s, wave, *n, 0, err);
  for (int i = 0; i < *n && (status == RGT_OK || status == RGT_EINTERRUPTED); i++) {
    const rgt__candidate *c = &s->setup->all[wave[i]].candidate;
    if (c->outcome != RGT_TRIAL_OK) {
      rgt_status stored = rgt__search_store_failure(s, wave[i], c->outcome, c->reason, err);
      if (stored != RGT_OK) status = stored;
    } else {
      wave[n_left++] = wave[i];
    }
  }
  *n = n_left;
  return status;
}

/* RGT_OK also when the time is up: what was measured by then goes to the duel. */
static rgt_status run_waves(rgt__search *s, rgt__error *err) {
  int wave[RGT_SEARCH_WAVE], n;
  rgt__search_pick pick;
  rgt_status status = rgt__search_pick_open(s, &pick, err);
  if (status != RGT_OK) return status;
  while (status == RGT_OK && (n = rgt__search_pick_next(s, &pick, wave)) > 0) {
    status = compile_wave(s, wave, &n, err);
    if (status == RGT_OK && n > 0) status = run_wave(s, wave, n, err);
  }
  rgt__search_pick_close(&pick);
  if (s->n_done < s->limit - 1 && (status == RGT_OK || status == RGT_EINTERRUPTED) && !rgt__search_stopped(s))
    rgt__context_log(s->setup->op->ctx, RGT_LOG_WARNING,
                     "%lld rows: the budget ended the search after %d of %d variants; the same command goes on from there",
                     (long long)s->bucket, s->n_done, s->limit);
  return status == RGT_EINTERRUPTED && !rgt__search_stopped(s) ? RGT_OK : status;
}

/* ---- the whole ---- */

static rgt_status default_fails(rgt__search *s, int *usable, rgt__error *err) {
  int d = s->setup->default_index;
  const rgt__candidate *c = &s->setup->all[d].candidate;
  *usable = 0;
  s->result->status = RGT_EINFEASIBLE;
  snprintf(s->result->reason, sizeof s->result->reason, "the default variant %.60s: %.150s", c->text, c->reason);
  return s->done[d] ? rgt__search_store_change(s, d, err) : rgt__search_store_failure(s, d, c->outcome, c->reason, err);
}

/* The default must be right and not too slow: everything is measured against it. Fills the result's status and reason if not.
 */
static rgt_status try_default(rgt__search *s, int *usable, rgt__error *err) {
  int d = s->setup->default_index;
  rgt__candidate *c = &s->setup->all[d].candidate;
  rgt__worker_sample sample = {0, 0};
  rgt_outcome outcome = RGT_TRIAL_OK;
  rgt_status status = rgt__search_check(s, d, 1, &outcome, err);
  if (status == RGT_OK && outcome == RGT_TRIAL_OK) status = s->setup->worker->ops->round(s->setup->worker, &c, 1, &sample, err);
  if (status != RGT_OK) return status;
  if (c->outcome != RGT_TRIAL_OK) return default_fails(s, usable, err);
  if (sample.call_ps < 0 || sample.call_ps > SLOW_CALL_PS) {
    *usable = 0;
    s->result->status = RGT_ESIZE;
    snprintf(s->result->reason, sizeof s->result->reason,
             "a call of the default variant takes %.1f s, over 2 s, or its workspace does not fit",
             (double)sample.call_ps / 1e12);
    return RGT_OK;
  }
  s->result->status = RGT_OK;
  *usable = 1;
  return RGT_OK;
}

/* One that did not end with many rows may with fewer: it gets another chance with each signature. */
static void forgive_timeouts(rgt__search *s) {
  for (int i = 0; i < s->setup->n; i++) {
    rgt__searched *c = &s->setup->all[i];
    if (c->candidate.outcome != RGT_TRIAL_TIMED_OUT || !c->bound_checked) continue;
    c->candidate.outcome = RGT_TRIAL_OK;
    c->candidate.reason[0] = 0;
  }
}

static void conditions(char *text, size_t size) {
  double load[1] = {0};
  if (getloadavg(load, 1) != 1) load[0] = 0;
  snprintf(text, size, "load %.1f", load[0]);
}

static rgt__worker_task task_of(const rgt__search *s, rgt_skew skew, const void *index) {
  const rgt__search_setup *setup = s->setup;
  return (rgt__worker_task){.op = setup->op->desc,
                            .form = setup->op->options.weight_form,
                            .order = setup->op->options.order,
                            .rows = index ? setup->options->n_index : s->bucket,
                            .skew = skew,
                            .index = index,
                            .policy = setup->policy,
                            .seed = setup->seed};
}

static rgt_status begin(rgt__search *s, rgt_skew skew, char conditions_text[64], rgt__error *err) {
  const rgt__search_setup *setup = s->setup;
  conditions(conditions_text, 64);
  s->run = (rgt__tunedb_run){.toolchain = setup->maker->toolchain,
                             .driver = setup->maker->device->info.driver,
                             .conditions = conditions_text,
                             .version = RGT_VERSION,
                             .started_utc_s = (int64_t)time(NULL)};
  rgt_status status = rgt__tunedb_run_new(&s->run, err);
  if (status == RGT_OK) status = rgt__op_key_make(setup->op, s->bucket, skew, setup->policy, &s->key, err);
  if (status != RGT_OK) return status;
  s->ratio_ppm = rgt__alloc_zero((size_t)setup->n, sizeof *s->ratio_ppm);
  s->done = rgt__alloc_zero((size_t)setup->n, 1);
  s->dueled = rgt__alloc_zero((size_t)setup->n, 1);
  if (!s->ratio_ppm || !s->done || !s->dueled) return rgt__error_nomem(err, (size_t)setup->n * sizeof *s->ratio_ppm);
  return RGT_OK;
}

static rgt_status end(rgt__search *s, rgt_status status) {
  s->setup->worker->ops->end(s->setup->worker);
  rgt__free(s->ratio_ppm);
  rgt__free(s->done);
  rgt__free(s->dueled);
  return status == RGT_OK ? s->store_status : status;
}

rgt_status rgt__search_run(const rgt__search_setup *setup, int64_t bucket, rgt_skew skew, const void *index, double deadline_s,
                           rgt_tune_result *result, rgt__finalists *finalists, rgt__error *err) {
  char text[64];
  int usable = 0;
  rgt__search s = {.setup = setup, .result = result, .bucket = bucket, .deadline_s = deadline_s};
  s.limit = rgt__search_limit(setup->options, setup->n);
  rgt__worker_task task = task_of(&s, skew, index);
  finalists->n = 0;
  forgive_timeouts(&s);
  rgt_status status = begin(&s, skew, text, err);
  if (status == RGT_OK) status = rgt__search_take_up(&s, err);
  if (status == RGT_OK) status = setup->worker->ops->begin(setup->worker, &task, err);
  if (status == RGT_OK) status = try_default(&s, &usable, err);
  if (status == RGT_OK && usable) status = run_waves(&s, err);
  if (status == RGT_OK && usable) status = rgt__search_run_duel(&s, finalists, err);
  if (status == RGT_ECRASH && setup->all[setup->default_index].candidate.outcome != RGT_TRIAL_OK)
    status = default_fails(&s, &usable, err); /* in a contest, after it was found right */
  if (status == RGT_EINTERRUPTED) {
    result->status = RGT_EINTERRUPTED;
    snprintf(result->reason, sizeof result->reason, "stopped after %d of %d variants; the next run goes on from there",
             s.n_done, s.limit);
  }
  return end(&s, status);
}

rgt_status rgt__search_rematch(const rgt__search_setup *setup, int64_t bucket, rgt_skew skew, const void *index,
                               double deadline_s, rgt_tune_result *result, rgt__finalists *finalists, rgt__error *err) {
  char text[64];
  rgt_tune_result kept = *result;
  rgt__search s = {.setup = setup, .result = &kept, .bucket = bucket, .deadline_s = deadline_s};
  rgt__worker_task task = task_of(&s, skew, index);
  rgt_status status = begin(&s, skew, text, err);
  if (status == RGT_OK) status = setup->worker->ops->begin(setup->worker, &task, err);
  if (status == RGT_OK) status = rgt__search_duel_again(&s, finalists, err);
  if (status == RGT_ECRASH && setup->all[setup->default_index].candidate.outcome != RGT_TRIAL_OK) status = RGT_OK;
  return end(&s, status);
}
