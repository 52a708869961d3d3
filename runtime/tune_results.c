/* tune_results.c -- between the database and what rgt_tune hands out. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/peak.h"
#include "runtime/prepare.h"
#include "runtime/tune_state.h"

rgt_status rgt__tune_find(rgt__tuning *t, int64_t bucket, rgt__tunedb_winner *w) {
  rgt__signature_text text;
  rgt__place_text place_text;
  rgt__tunedb_signature sig;
  rgt__tunedb_place place;
  rgt__tunedb_limits limits;
  rgt_status status = rgt__op_signature(t->op, bucket, t->skew, &text, &sig, &t->ctx->error);
  if (status != RGT_OK) return status;
  rgt__op_place(t->op, t->o.policy, &place_text, &place);
  rgt__op_limits(t->op, &limits);
  return rgt__tunedb_find(t->scratch ? t->scratch : t->db, &sig, &place, &limits, w, &t->ctx->error);
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

static int count_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *trial) {
  rgt_tune_result *r = user;
  (void)run;
  if (trial->final) return 0; /* the duel's variants were counted in their waves */
  int *const counts[RGT_N_OUTCOMES] = {&r->n_ok,    &r->n_infeasible, &r->n_compile_error,
                                       &r->n_wrong, &r->n_crashed,    &r->n_timed_out};
  ++*counts[trial->outcome];
  r->n_tried++;
  return 0;
}

rgt_status rgt__tune_look_up(rgt__tuning *t, int i, int *hit) {
  rgt_tune_result *r = &t->results[i];
  rgt__tunedb_winner *w = rgt__alloc_zero(1, sizeof *w);
  *hit = 0;
  if (!w) return rgt__error_nomem(&t->ctx->error, sizeof *w);
  rgt_status status = t->o.force ? RGT_EMISS : rgt__tune_find(t, r->bucket, w);
  if (status == RGT_OK && w->complete) {
    rgt__signature_text text;
    rgt__place_text place_text;
    rgt__tunedb_signature sig;
    rgt__tunedb_place place;
    *hit = r->hit = 1;
    rgt__tune_fill_from(r, w);
    rgt__op_place(t->op, t->o.policy, &place_text, &place);
    status = rgt__op_signature(t->op, r->bucket, t->skew, &text, &sig, &t->ctx->error);
    if (status == RGT_OK) status = rgt__tunedb_trials(t->db, &sig, &place, count_trial, r, &t->ctx->error);
  }
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
