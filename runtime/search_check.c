/* search_check.c -- verification inside a search: the bound pass for all, the exact pass too where the op has it or for
 * finalists. */
#include <stdio.h>
#include <string.h>

#include "runtime/search_state.h"

/* The exact pass of an op with another activation runs on the variant's relu twin, made for finalists only. */
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
  if (c->twin.outcome != RGT_TRIAL_OK) return rgt__error_set(err, RGT_EWRONG, "its relu twin: %s", c->twin.reason);
  return RGT_OK;
}

/* Returns RGT_OK; RGT_EWRONG or RGT_EINFEASIBLE with outcome and reason in the candidate. */
rgt_status rgt__search_check(rgt__search *s, int i, int exact, rgt__error *err) {
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
