/* search_check.c -- verification inside a search: the bound pass for all, the exact pass too where the op has it or for
 * finalists. */
#include <stdio.h>

#include "runtime/search_state.h"

static void set_outcome(rgt__candidate *c, rgt_outcome outcome, const char *about, const char *reason) {
  c->outcome = outcome;
  snprintf(c->reason, sizeof c->reason, "%s%.200s", about, reason);
}

/* The exact pass of an op with another activation runs on the variant's relu twin, made for finalists only. One that cannot be
 * made is its variant's outcome. */
static rgt_status make_twin(rgt__search *s, rgt__searched *c, rgt__candidate **twin, rgt__error *err) {
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
  rgt_outcome outcome = c->twin.outcome;
  if (outcome == RGT_TRIAL_CRASHED || outcome == RGT_TRIAL_TIMED_OUT)
    set_outcome(&c->candidate, outcome, "its relu twin: ", c->twin.reason);
  else if (outcome != RGT_TRIAL_OK)
    set_outcome(&c->candidate, RGT_TRIAL_WRONG, "its relu twin: ", c->twin.reason);
  return RGT_OK;
}

static rgt_status ask_worker(rgt__search *s, rgt__searched *c, rgt__candidate *twin, rgt__error *err) {
  rgt__verify_result result = {.status = RGT_OK};
  rgt_status status = s->setup->worker->ops->check(s->setup->worker, &c->candidate, twin, &result, err);
  if (c->candidate.outcome != RGT_TRIAL_OK) return RGT_OK; /* it took the child with it */
  if (status == RGT_EINFEASIBLE) {
    set_outcome(&c->candidate, RGT_TRIAL_INFEASIBLE, "", err->text);
    return RGT_OK;
  }
  if (status != RGT_OK) return status;
  if (result.status != RGT_OK) {
    set_outcome(&c->candidate, RGT_TRIAL_WRONG, "", result.reason);
    return RGT_OK;
  }
  c->bound_checked = 1;
  if (twin) c->exact_checked = 1;
  c->error_share = result.error_share;
  return RGT_OK;
}

rgt_status rgt__search_check(rgt__search *s, int i, int exact, rgt_outcome *outcome, rgt__error *err) {
  rgt__searched *c = &s->setup->all[i];
  rgt__candidate *twin = NULL;
  rgt_status status = RGT_OK;
  int own_exact = c->candidate.op.act == RGT_ACT_NONE || c->candidate.op.act == RGT_ACT_RELU;
  int known = c->bound_checked && (c->exact_checked || (!exact && !own_exact));
  if (c->candidate.outcome == RGT_TRIAL_OK && !known) {
    status = rgt__search_compile(s, &i, 1, 1, err); /* one that an earlier search measured has no code here yet */
    if (status == RGT_OK && c->candidate.outcome == RGT_TRIAL_OK && (exact || own_exact))
      status = make_twin(s, c, &twin, err);
    if (status == RGT_OK && c->candidate.outcome == RGT_TRIAL_OK) status = ask_worker(s, c, twin, err);
  }
  if (status == RGT_OK) *outcome = c->candidate.outcome;
  return status;
}
