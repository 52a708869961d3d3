/* search.c -- the search of one signature: waves of candidates, then a duel of the best; every batch of trials stored at once.
 *
 * A wave is small, so that its candidates meet each other and the default under the same conditions, and so that a search that is
 * cut short has stored all waves before; ratios to the default make waves comparable. The next run with the same signature takes
 * up what an unfinished one left. The duel's trials are marked final: they say that a search came to its end.
 */
#include "runtime/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"

enum { WAVE = 16, FINALISTS = 6, DUEL_ROUNDS_MIN = 9, DUEL_ROUNDS = 45 };

#define SLOW_CALL_PS ((int64_t)2 * 1000 * 1000 * 1000 * 1000) /* 2 s */

typedef struct search {
  const rgt__search_setup *setup;
  rgt_tune_result *result;
  int64_t bucket;
  double deadline_s;
  rgt__signature_text signature_text;
  rgt__place_text place_text;
  rgt__tunedb_signature signature;
  rgt__tunedb_place place;
  rgt__tunedb_run run;
  int64_t *ratio_ppm; /* [n] of each candidate that was timed, in this run or an unfinished one; 0: none */
  unsigned char *done; /* [n] has an outcome */
  int n_done;
  rgt_status store_status; /* RGT_EDB once a batch could not be stored */
} search;

double rgt__search_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int stopped(const search *s) { return s->setup->options->stop && *s->setup->options->stop; }

static int stop_now(void *user) {
  const search *s = user;
  return stopped(s) || rgt__search_now() > s->deadline_s;
}

static int stop_on_request(void *user) { return stopped(user); }

static void report(const search *s, rgt_phase phase, int64_t done, int64_t total, const char *line) {
  s->setup->report(s->setup->report_user, phase, s->bucket, done, total, line);
}

/* ---- trials ---- */

typedef struct trial_texts {
  char params[RGT_VARIANT_TEXT_MAX];
} trial_texts;

static rgt__tunedb_trial trial_of(const search *s, int i, trial_texts *texts) {
  const rgt__searched *c = &s->setup->all[i];
  const rgt__family *family = c->candidate.variant.family;
  const rgt__numeric *n = &c->candidate.numeric;
  rgt__variant_params_format(&c->candidate.variant, texts->params);
  return (rgt__tunedb_trial){.family = family->name,
                             .revision = family->revision,
                             .rank = family->rank,
                             .params = texts->params,
                             .is_default = c->is_default,
                             .template_digest = family->template_digest,
                             .code = c->candidate.code,
                             .outcome = c->candidate.outcome,
                             .reason = c->candidate.reason,
                             .error_share = c->error_share,
                             .p1 = n->p1,
                             .p2 = n->p2,
                             .u_h = n->u_h,
                             .alpha = n->alpha,
                             .beta = n->beta,
                             .numeric_class = n->class_name};
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

/* A database that cannot be written ends nothing: the results stay in this process, and the caller says so. */
static rgt_status store(search *s, const rgt__tunedb_trial *trials, int n, rgt__error *err) {
  if (n == 0) return RGT_OK;
  rgt_status status = rgt__tunedb_put(s->setup->db, &s->run, &s->signature, &s->place, trials, n, err);
  if (status == RGT_EDB) {
    s->store_status = RGT_EDB;
    return RGT_OK;
  }
  return status;
}

static void count_outcome(search *s, rgt_outcome outcome) {
  rgt_tune_result *r = s->result;
  r->n_tried++;
  int *const counts[RGT_N_OUTCOMES] = {&r->n_ok,    &r->n_infeasible, &r->n_compile_error,
                                       &r->n_wrong, &r->n_crashed,    &r->n_timed_out};
  ++*counts[outcome];
}

static void mark_done(search *s, int i, rgt_outcome outcome) {
  if (s->done[i]) return;
  s->done[i] = 1;
  s->n_done++;
  count_outcome(s, outcome);
}

static rgt_status store_failure(search *s, int i, rgt_outcome outcome, const char *reason, rgt__error *err) {
  trial_texts texts;
  rgt__tunedb_trial t = trial_of(s, i, &texts);
  t.outcome = outcome;
  t.reason = reason;
  mark_done(s, i, outcome);
  return store(s, &t, 1, err);
}

/* ---- what an unfinished search left ---- */

typedef struct resume {
  search *s;
  int complete; /* a final trial was seen: nothing to take up */
} resume;

static int resume_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  resume *r = user;
  (void)run;
  if (t->final) r->complete = 1;
  return 0;
}

static int take_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  search *s = user;
  trial_texts texts;
  (void)run;
  for (int i = 0; i < s->setup->n; i++) {
    rgt__tunedb_trial mine = trial_of(s, i, &texts);
    if (s->done[i] || strcmp(mine.family, t->family) != 0 || mine.revision != t->revision || strcmp(mine.params, t->params) != 0 ||
        !rgt__digest_equal(&mine.template_digest, &t->template_digest))
      continue;
    if (t->outcome == RGT_TRIAL_OK) s->ratio_ppm[i] = t->ratio_ppm;
    mark_done(s, i, t->outcome);
    s->result->n_resumed++;
  }
  return 0;
}

static rgt_status take_up(search *s, rgt__error *err) {
  resume r = {s, 0};
  if (s->setup->options->force) return RGT_OK;
  rgt_status status = rgt__tunedb_trials(s->setup->db, &s->signature, &s->place, resume_trial, &r, err);
  if (status == RGT_OK && !r.complete) status = rgt__tunedb_trials(s->setup->db, &s->signature, &s->place, take_trial, s, err);
  return status == RGT_EMISS || status == RGT_EDB ? RGT_OK : status;
}

/* ---- verification ---- */

/* The exact pass of an op with another activation runs on the variant's relu twin, made for finalists only. */
static rgt_status make_twin(search *s, rgt__searched *c, rgt__candidate **twin, rgt__error *err) {
  rgt_act act = c->candidate.op.act;
  *twin = &c->candidate;
  if (act == RGT_ACT_NONE || act == RGT_ACT_RELU) return RGT_OK;
  if (!c->twin.text[0]) {
    rgt_op_desc op = rgt__op_relu_twin(&c->candidate.op);
    rgt_status status = rgt__candidate_render(s->setup->maker, &c->candidate.variant, &op, &c->twin, err);
    if (status == RGT_OK) status = rgt__candidate_compile(s->setup->maker, &c->twin, 0, err);
    if (status != RGT_OK) return status;
  }
  *twin = &c->twin;
  if (c->twin.outcome != RGT_TRIAL_OK) return rgt__error_set(err, RGT_EWRONG, "its relu twin: %s", c->twin.reason);
  return RGT_OK;
}

/* Returns RGT_OK; RGT_EWRONG or RGT_EINFEASIBLE with outcome and reason in the candidate. */
static rgt_status check(search *s, int i, int exact, rgt__error *err) {
  rgt__searched *c = &s->setup->all[i];
  rgt__verify_result result = {.status = RGT_OK};
  rgt__candidate *twin = NULL;
  int own_exact = c->candidate.op.act == RGT_ACT_NONE || c->candidate.op.act == RGT_ACT_RELU;
  if (c->candidate.outcome == RGT_TRIAL_WRONG) return RGT_EWRONG;
  if (c->bound_checked && (c->exact_checked || (!exact && !own_exact))) return RGT_OK;
  rgt_status status = exact || own_exact ? make_twin(s, c, &twin, err) : RGT_OK;
  if (status == RGT_OK) status = s->setup->worker->ops->check(s->setup->worker, &c->candidate, twin, &result, err);
  if (status == RGT_EINFEASIBLE) {
    c->candidate.outcome = RGT_TRIAL_INFEASIBLE;
    snprintf(c->candidate.reason, sizeof c->candidate.reason, "%.*s", (int)sizeof c->candidate.reason - 1, err->text);
    return RGT_EINFEASIBLE;
  }
  if (status == RGT_EWRONG) snprintf(result.reason, sizeof result.reason, "%.*s", (int)sizeof result.reason - 1, err->text);
  if (status != RGT_OK && status != RGT_EWRONG) return status;
  if (status == RGT_EWRONG || result.status != RGT_OK) {
    c->candidate.outcome = RGT_TRIAL_WRONG;
    snprintf(c->candidate.reason, sizeof c->candidate.reason, "%s", result.reason);
    return RGT_EWRONG;
  }
  c->bound_checked = 1;
  if (twin) c->exact_checked = 1;
  c->error_share = result.error_share;
  return RGT_OK;
}

/* ---- waves ---- */

static rgt_status store_contest(search *s, const rgt__contest *c, int final, rgt__error *err) {
  rgt__tunedb_trial trials[WAVE + 1];
  trial_texts texts[WAVE + 1];
  rgt__interval base;
  int n = 0;
  if (!rgt__contest_baseline(c, &base)) return RGT_OK;
  rgt__interval one = {1000000, 1000000, 1000000, base.n};
  int d = s->setup->default_index;
  trials[n] = trial_of(s, d, &texts[n]);
  add_times(&trials[n], &base, &one, base.median);
  trials[n++].final = final;
  s->ratio_ppm[d] = 1000000;
  mark_done(s, d, RGT_TRIAL_OK);
  for (int i = 0; i < c->n; i++) {
    rgt__score score;
    int index = c->entrants[i].index;
    trials[n] = trial_of(s, index, &texts[n]);
    if (c->entrants[i].unusable) {
      trials[n].outcome = RGT_TRIAL_INFEASIBLE;
      trials[n].reason = "not valid for this number of rows and groups, or its workspace does not fit";
      mark_done(s, index, RGT_TRIAL_INFEASIBLE);
    } else if (rgt__contest_score(c, i, &score)) {
      add_times(&trials[n], &score.time, &score.ratio, base.median);
      s->ratio_ppm[index] = score.ratio.median;
      mark_done(s, index, RGT_TRIAL_OK);
    } else {
      continue;
    }
    trials[n++].final = final;
  }
  return store(s, trials, n, err);
}

/* Rounds that end the clearly slower ones ever more strictly. */
static rgt_status wave_rounds(search *s, rgt__contest *c, rgt__error *err) {
  static const struct {
    int rounds;
    double factor;
  } stages[] = {{2, 2.0}, {3, 1.35}, {6, 1.12}, {8, 1.0}};
  for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
    rgt_status status = rgt__contest_rounds(c, stages[i].rounds, 0, stop_now, s, err);
    if (status != RGT_OK) return status;
    if (rgt__contest_drop(c, stages[i].factor) == 0) break;
    if (c->n > 0 && rgt__stats_all_equal(c->entrants[0].time_ps, c->entrants[0].n)) break;
  }
  return RGT_OK;
}

static rgt_status run_wave(search *s, const int *indices, int n, rgt__error *err) {
  rgt__candidate *candidates[WAVE];
  int usable[WAVE], n_usable = 0;
  for (int i = 0; i < n; i++) {
    if (stopped(s)) return RGT_EINTERRUPTED;
    report(s, RGT_PHASE_VERIFY, s->n_done + i, s->setup->n, s->setup->all[indices[i]].candidate.text);
    rgt_status status = check(s, indices[i], 0, err);
    if (status == RGT_EWRONG || status == RGT_EINFEASIBLE) {
      const rgt__candidate *c = &s->setup->all[indices[i]].candidate;
      status = store_failure(s, indices[i], c->outcome, c->reason, err);
    } else if (status == RGT_OK) {
      candidates[n_usable] = &s->setup->all[indices[i]].candidate;
      usable[n_usable++] = indices[i];
    }
    if (status != RGT_OK) return status;
  }
  rgt__contest c;
  report(s, RGT_PHASE_TIME, s->n_done, s->setup->n, "");
  rgt_status status = rgt__contest_open(s->setup->worker, &s->setup->all[s->setup->default_index].candidate, candidates, usable, n_usable,
                                        s->setup->seed + (uint64_t)s->n_done, &c, err);
  if (status != RGT_OK) return status;
  status = wave_rounds(s, &c, err);
  if (status == RGT_OK || status == RGT_EINTERRUPTED) {
    rgt_status stored = store_contest(s, &c, 0, err);
    if (stored != RGT_OK) status = stored;
  }
  rgt__contest_close(&c);
  return status;
}

/* RGT_OK also when the time is up: what was measured by then goes to the duel. */
static rgt_status run_waves(search *s, rgt__error *err) {
  int wave[WAVE], n = 0;
  for (int i = 0; i < s->setup->n; i++) {
    if (!s->done[i] && i != s->setup->default_index) {
      if (s->setup->all[i].candidate.outcome != RGT_TRIAL_OK && s->setup->all[i].candidate.outcome != RGT_TRIAL_WRONG) {
        rgt_status status = store_failure(s, i, s->setup->all[i].candidate.outcome, s->setup->all[i].candidate.reason, err);
        if (status != RGT_OK) return status;
        continue;
      }
      wave[n++] = i;
    }
    if (n < WAVE && i + 1 < s->setup->n) continue;
    if (n == 0) continue;
    rgt_status status = run_wave(s, wave, n, err);
    n = 0;
    if (status == RGT_EINTERRUPTED && !stopped(s)) return RGT_OK;
    if (status != RGT_OK) return status;
  }
  return RGT_OK;
}

/* ---- the duel ---- */

/* The candidates with the smallest ratios, as far as they are within 10 % of the best; the default stands in every round anyway. */
static int finalists(const search *s, int out[FINALISTS]) {
  int n = 0;
  int64_t least = INT64_MAX;
  for (int i = 0; i < s->setup->n; i++)
    if (i != s->setup->default_index && s->ratio_ppm[i] > 0 && s->setup->all[i].candidate.outcome == RGT_TRIAL_OK && s->ratio_ppm[i] < least)
      least = s->ratio_ppm[i];
  for (int i = 0; i < s->setup->n; i++) {
    int64_t ratio = s->ratio_ppm[i];
    if (i == s->setup->default_index || ratio == 0 || s->setup->all[i].candidate.outcome != RGT_TRIAL_OK) continue;
    int at = n;
    while (at > 0 && s->ratio_ppm[out[at - 1]] > ratio) at--;
    if (at >= FINALISTS) continue;
    if (n < FINALISTS) n++;
    memmove(&out[at + 1], &out[at], (size_t)(n - 1 - at) * sizeof *out);
    out[at] = i;
  }
  while (n > 2 && (double)s->ratio_ppm[out[n - 1]] > 1.10 * (double)least) n--;
  return n;
}

/* Both passes for every finalist; a wrong one makes room for the next. */
static rgt_status checked_finalists(search *s, int out[FINALISTS], int *n, rgt__error *err) {
  for (;;) {
    int all_right = 1;
    *n = finalists(s, out);
    for (int i = 0; i < *n && all_right; i++) {
      rgt_status status = check(s, out[i], 1, err);
      if (status == RGT_EWRONG) {
        all_right = 0;
        s->result->n_ok--;
        s->result->n_wrong++;
        trial_texts texts;
        rgt__tunedb_trial t = trial_of(s, out[i], &texts);
        status = store(s, &t, 1, err);
      }
      if (status != RGT_OK) return status;
    }
    if (all_right) return RGT_OK;
  }
}

static rgt_status duel_rounds(search *s, rgt__contest *c, rgt__error *err) {
  for (int done = 0; done < DUEL_ROUNDS; done += DUEL_ROUNDS_MIN) {
    report(s, RGT_PHASE_DUEL, done, DUEL_ROUNDS, "");
    rgt_status status = rgt__contest_rounds(c, DUEL_ROUNDS_MIN, 1, stop_on_request, s, err);
    if (status != RGT_OK) return status;
    if (rgt__search_now() > s->deadline_s) break;
    if (done >= 2 * DUEL_ROUNDS_MIN && rgt__contest_settled(c)) break;
  }
  return RGT_OK;
}

static rgt_status run_duel(search *s, rgt__error *err) {
  int index[FINALISTS], n = 0;
  rgt__candidate *candidates[FINALISTS];
  rgt__contest c;
  rgt_status status = checked_finalists(s, index, &n, err);
  if (status != RGT_OK) return status;
  for (int i = 0; i < n; i++) candidates[i] = &s->setup->all[index[i]].candidate;
  status = rgt__contest_open(s->setup->worker, &s->setup->all[s->setup->default_index].candidate, candidates, index, n,
                             s->setup->seed ^ 0x6475656c, &c, err);
  if (status != RGT_OK) return status;
  status = duel_rounds(s, &c, err);
  if (status == RGT_OK) {
    s->result->loop_ps = rgt__contest_loop(&c);
    status = store_contest(s, &c, 1, err);
  }
  rgt__contest_close(&c);
  return status;
}

/* ---- the whole ---- */

/* The default must be right and not too slow: everything is measured against it. Fills the result's status and reason if not. */
static rgt_status try_default(search *s, int *usable, rgt__error *err) {
  int d = s->setup->default_index;
  rgt__candidate *c = &s->setup->all[d].candidate;
  rgt__worker_sample sample = {0, 0};
  *usable = 0;
  s->result->status = RGT_EINFEASIBLE;
  if (c->outcome != RGT_TRIAL_OK) {
    snprintf(s->result->reason, sizeof s->result->reason, "the default variant %.60s: %.150s", c->text, c->reason);
    return store_failure(s, d, c->outcome, c->reason, err);
  }
  rgt_status status = check(s, d, 1, err);
  if (status == RGT_EWRONG || status == RGT_EINFEASIBLE) {
    snprintf(s->result->reason, sizeof s->result->reason, "the default variant %.60s: %.150s", c->text, c->reason);
    return store_failure(s, d, c->outcome, c->reason, err);
  }
  if (status == RGT_OK) status = s->setup->worker->ops->round(s->setup->worker, &c, 1, &sample, err);
  if (status != RGT_OK) return status;
  if (sample.call_ps < 0 || sample.call_ps > SLOW_CALL_PS) {
    s->result->status = RGT_ESIZE;
    snprintf(s->result->reason, sizeof s->result->reason, "skipped: a call of the default variant takes %.1f s, over 2 s, or its workspace does not fit",
             (double)sample.call_ps / 1e12);
    return RGT_OK;
  }
  s->result->status = RGT_OK;
  *usable = 1;
  return RGT_OK;
}

static void conditions(char *text, size_t size) {
  double load[1] = {0};
  if (getloadavg(load, 1) != 1) load[0] = 0;
  snprintf(text, size, "load %.1f", load[0]);
}

static rgt_status timed_search(search *s, rgt_skew skew, const void *index, rgt__error *err) {
  const rgt__search_setup *setup = s->setup;
  int usable = 0;
  rgt__worker_task task = {.op = setup->op->desc, .form = setup->op->options.weight_form, .rows = s->bucket, .skew = skew, .index = index,
                           .policy = setup->policy, .seed = setup->seed};
  if (index) task.rows = setup->options->n_index;
  rgt_status status = take_up(s, err);
  if (status == RGT_OK) status = setup->worker->ops->begin(setup->worker, &task, err);
  if (status == RGT_OK) status = try_default(s, &usable, err);
  if (status == RGT_OK && usable) status = run_waves(s, err);
  if (status == RGT_OK && usable) status = run_duel(s, err);
  setup->worker->ops->end(setup->worker);
  return status;
}

rgt_status rgt__search_run(const rgt__search_setup *setup, int64_t bucket, rgt_skew skew, const void *index, double deadline_s,
                           rgt_tune_result *result, rgt__error *err) {
  char what[64];
  search s = {.setup = setup, .result = result, .bucket = bucket, .deadline_s = deadline_s};
  conditions(what, sizeof what);
  s.run = (rgt__tunedb_run){.toolchain = setup->maker->toolchain, .driver = setup->maker->device->info.driver, .conditions = what,
                            .version = RGT_VERSION, .started_utc_s = (int64_t)time(NULL)};
  rgt_status status = rgt__tunedb_run_new(&s.run, err);
  if (status == RGT_OK) status = rgt__op_signature(setup->op, bucket, skew, &s.signature_text, &s.signature, err);
  if (status != RGT_OK) return status;
  rgt__op_place(setup->op, setup->policy, &s.place_text, &s.place);
  s.ratio_ppm = rgt__alloc_zero((size_t)setup->n, sizeof *s.ratio_ppm);
  s.done = rgt__alloc_zero((size_t)setup->n, 1);
  if (!s.ratio_ppm || !s.done)
    status = rgt__error_nomem(err, (size_t)setup->n * sizeof *s.ratio_ppm);
  else
    status = timed_search(&s, skew, index, err);
  if (status == RGT_EINTERRUPTED) {
    result->status = RGT_EINTERRUPTED;
    snprintf(result->reason, sizeof result->reason, "stopped after %d of %d variants; the next run goes on from there", s.n_done, setup->n);
  }
  rgt__free(s.ratio_ppm);
  rgt__free(s.done);
  return status == RGT_OK ? s.store_status : status;
}
