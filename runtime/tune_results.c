/* tune_results.c -- between the database and what rgt_tune hands out. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/peak.h"
#include "runtime/prepare.h"
#include "runtime/tune_state.h"

/* Where in the space a variant stands, -1: it is not there. */
static int find_in_space(const rgt__tuning *t, const char *family, int revision, const char *params) {
  for (int i = 0; i < t->space.n; i++) {
    const rgt__family *f = t->space.variants[i].family;
    if (strcmp(t->notes[i].params, params) == 0 && strcmp(f->name, family) == 0 && f->revision == revision) return i;
  }
  return -1;
}

/* With a space file only what it leaves may answer, whatever else is stored. */
static int in_space(void *user, const char *family, int revision, const char *params) {
  return find_in_space(user, family, revision, params) >= 0;
}

rgt_status rgt__tune_find(rgt__tuning *t, int64_t bucket, rgt__tunedb_winner *w) {
  rgt__op_key key;
  rgt__tunedb_limits limits;
  rgt_status status = rgt__op_key_make(t->op, bucket, t->skew, t->o.policy, &key, &t->ctx->error);
  if (status != RGT_OK) return status;
  rgt__op_limits(t->op, &limits);
  char class_name[64] = "";
  if (t->op->options.batch_invariant && !t->scratch) { /* as prepare will choose: one class for all buckets */
    status = rgt__prepare_class(t->op, class_name, sizeof class_name);
    if (class_name[0]) limits.numeric_class = class_name;
  }
  if (status == RGT_OK && t->o.space) {
    status = rgt__tune_enumerate(t);
    limits.admit = in_space;
    limits.admit_user = t;
    limits.admit_is_fixed = 0;
    limits.may_lose = 1; /* the best of what was asked for, though the default be faster */
  }
  if (status != RGT_OK) return status;
  return rgt__tunedb_find(t->scratch ? t->scratch : t->db, &key.signature, &key.place, &limits, w, &t->ctx->error);
}

void rgt__tune_fill_from(rgt_tune_result *r, const rgt__tunedb_winner *w) {
  const rgt__tunedb_standing *s = &w->winner;
  rgt__context_variant_text(s, r->winner);
  r->runner_up[0] = 0;
  if (w->has_runner_up) rgt__context_variant_text(&w->runner_up, r->runner_up);
  r->time_ps = s->time_ps;
  r->low_ps = s->low_ps;
  r->high_ps = s->high_ps;
  r->default_ps = s->default_ps;
  r->error_share = s->error_share;
}

/* ---- is everything stored already? ---- */

typedef struct stored {
  rgt__tuning *t;
  rgt_tune_result *r;
  unsigned char *tried; /* [space.n + 1] 0, or 1 + outcome; the last is the default where the space leaves it out */
} stored;

/* Which of the space a trial is of, space.n for a default that is not in it; -1: of none. */
static int place_in_space(const stored *s, const rgt__tunedb_trial *trial) {
  int i = find_in_space(s->t, trial->family, trial->revision, trial->params);
  return i < 0 && trial->is_default ? s->t->space.n : i;
}

/* Counts the outcomes as the search did that stored them: a variant once, though the default is timed in every wave; and what
 * went wrong later on is no success. */
static int note_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *trial) {
  stored *s = user;
  rgt_tune_result *r = s->r;
  int *const counts[RGT_N_OUTCOMES] = {&r->n_ok,    &r->n_infeasible, &r->n_compile_error,
                                       &r->n_wrong, &r->n_crashed,    &r->n_timed_out};
  int i = place_in_space(s, trial);
  (void)run;
  if (i < 0) return 0;
  if (!s->tried[i]) {
    r->n_tried++;
  } else {
    if (s->tried[i] != 1 + RGT_TRIAL_OK || trial->outcome == RGT_TRIAL_OK) return 0;
    --*counts[RGT_TRIAL_OK];
  }
  ++*counts[trial->outcome];
  s->tried[i] = (unsigned char)(1 + trial->outcome);
  return 0;
}

/* As many as a search tries; variants that the handle does not admit are none of them. */
static rgt_status enough_tried(stored *s, int *enough) {
  rgt__tuning *t = s->t;
  int n_admitted = 0, n_tried = 0;
  for (int i = 0; i < t->space.n; i++) {
    rgt__space_note *note = &t->notes[i];
    if (!s->tried[i] && !note->admits) { /* the same for every bucket */
      rgt__numeric numeric;
      rgt_status status = rgt__variant_numeric(t->families, &t->space.variants[i], &t->op->desc, &numeric, &t->ctx->error);
      if (status != RGT_OK) return status;
      note->admits = rgt__tune_admits(t->op, &numeric) ? 2 : 1;
    }
    n_tried += s->tried[i] != 0;
    n_admitted += s->tried[i] != 0 || note->admits == 2;
  }
  *enough = n_tried >= rgt__search_limit(&t->o, n_admitted);
  return RGT_OK;
}

static rgt_status read_trials(stored *s, int64_t bucket) {
  rgt__tuning *t = s->t;
  rgt__op_key key;
  rgt_status status = rgt__op_key_make(t->op, bucket, t->skew, t->o.policy, &key, &t->ctx->error);
  return status == RGT_OK ? rgt__tunedb_trials(t->db, &key.signature, &key.place, note_trial, s, &t->ctx->error) : status;
}

rgt_status rgt__tune_look_up(rgt__tuning *t, int i, int *hit) {
  rgt_tune_result *r = &t->results[i], before = *r;
  rgt__tunedb_winner *w = rgt__alloc_zero(1, sizeof *w);
  stored s = {t, r, NULL};
  *hit = 0;
  if (!w) return rgt__error_nomem(&t->ctx->error, sizeof *w);
  rgt_status status = t->o.force ? RGT_EMISS : rgt__tune_find(t, r->bucket, w);
  if (status == RGT_OK && !w->complete) status = RGT_EMISS;
  if (status == RGT_OK) status = rgt__tune_enumerate(t);
  if (status == RGT_OK && !(s.tried = rgt__alloc_zero((size_t)t->space.n + 1, 1)))
    status = rgt__error_nomem(&t->ctx->error, (size_t)t->space.n);
  if (status == RGT_OK) status = read_trials(&s, r->bucket);
  if (status == RGT_OK) status = enough_tried(&s, hit);
  if (status == RGT_OK && *hit) {
    r->hit = 1;
    rgt__tune_fill_from(r, w);
  } else {
    *r = before;
  }
  rgt__free(s.tried);
  rgt__free(w);
  return status == RGT_EMISS ? RGT_OK : status;
}

/* ---- work, and shares of the peak ---- */

void rgt__tune_fill_work(rgt__tuning *t) {
  rgt__families *families = NULL;
  rgt__variant fallback;
  if (t->families) families = t->families;
  if (!families || rgt__prepare_default(t->op, t->maker.target.device, &fallback) != RGT_OK) return;
  for (int i = 0; i < t->o.n_rows; i++)
    rgt__family_work(families, fallback.family, &t->op->desc, rgt__tune_problem_rows(t, i), t->op->desc.groups,
                     &t->results[i].flops, &t->results[i].bytes, NULL);
}

void rgt__tune_fill_peaks(rgt__tuning *t) {
  rgt__peak peak;
  if (rgt__peak_open(&t->maker, &peak, NULL) != RGT_OK) return;
  double flops = rgt__peak_flops(&peak);
  for (int i = 0; i < t->o.n_rows; i++) {
    rgt_tune_result *r = &t->results[i];
    if (r->hit || r->status != RGT_OK || r->time_ps <= 0) continue;
    double seconds = (double)r->time_ps / 1e12, bytes = rgt__peak_bytes(&peak, (int64_t)r->bytes);
    double by_flops = flops > 0 ? r->flops / seconds / flops : 0, by_bytes = bytes > 0 ? r->bytes / seconds / bytes : 0;
    r->peak_share = by_flops > by_bytes ? by_flops : by_bytes;
  }
  rgt__peak_close(&peak);
}
