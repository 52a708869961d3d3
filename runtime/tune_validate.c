/* tune_validate.c -- stored results that another toolchain, driver or template has overtaken: winner, runner-up and default are
 * timed again, as runs of this machine. Nothing is thrown away: the winner is what all runs say.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/fresh.h"
#include "runtime/tune_state.h"

static int names(const rgt__tunedb_standing *s, const rgt__variant *v, const char *params) {
  return strcmp(s->family, v->family->name) == 0 && s->revision == v->family->revision && strcmp(s->params, params) == 0;
}

/* Marks what of the space is timed again for this winner. */
static void mark(const rgt__tuning *t, const rgt__tunedb_winner *w, unsigned char *wanted) {
  for (int i = 0; i < t->space.n; i++)
    wanted[i] |= names(&w->winner, &t->space.variants[i], t->notes[i].params) ||
                 (w->has_runner_up && names(&w->runner_up, &t->space.variants[i], t->notes[i].params));
}

static rgt_status look(rgt__tuning *t, int i, rgt__choice *c, unsigned char *wanted, int *hit) {
  char outdated[RGT_OUTDATED_MAX];
  rgt_status status = rgt__tune_find(t, t->results[i].bucket, &c->found);
  if (status != RGT_OK) return status == RGT_EMISS ? RGT_OK : status;
  c->from = RGT_FROM_USER_DB;
  c->match = RGT_MATCH_EXACT;
  c->bucket = t->results[i].bucket;
  status = rgt__fresh_outdated(t->op, c, outdated);
  if (status != RGT_OK || !outdated[0]) return status;
  rgt__context_log(t->ctx, RGT_LOG_INFO, "%s: other %s since it was timed; winner, runner-up and default are timed again",
                   c->found.signature, outdated);
  mark(t, &c->found, wanted);
  *hit = 0;
  return RGT_OK;
}

/* The search then knows these alone; the default is always with them. */
static void narrow(rgt__tuning *t, const unsigned char *wanted) {
  int kept = 0;
  for (int i = 0; i < t->space.n; i++) {
    if (!wanted[i]) continue;
    t->space.variants[kept] = t->space.variants[i];
    t->notes[kept++] = t->notes[i];
  }
  t->space.n = kept;
}

rgt_status rgt__tune_validate(rgt__tuning *t, int *hits, int *n_hits) {
  if (*n_hits < t->o.n_rows || t->o.policy != RGT_POLICY_WARM || t->o.index) return RGT_OK;
  rgt_status status = rgt__tune_enumerate(t);
  if (status != RGT_OK) return status;
  rgt__choice *c = rgt__alloc_zero(1, sizeof *c);
  unsigned char *wanted = rgt__alloc_zero((size_t)t->space.n + 1, 1);
  if (!c || !wanted) status = rgt__error_nomem(&t->ctx->error, sizeof *c);
  for (int i = 0; i < t->o.n_rows && status == RGT_OK; i++) {
    if (!hits[i]) continue; /* too big */
    status = look(t, i, c, wanted, &hits[i]);
    if (status == RGT_OK && !hits[i]) {
      const rgt_tune_result *r = &t->results[i];
      t->results[i] = (rgt_tune_result){.bucket = r->bucket, .skew = r->skew, .status = RGT_EINTERRUPTED};
      --*n_hits;
      t->validates = 1;
    }
  }
  if (status == RGT_OK && t->validates) {
    narrow(t, wanted);
    t->o.force = 1; /* what was timed before is what is in doubt */
  }
  rgt__free(wanted);
  rgt__free(c);
  return status;
}
