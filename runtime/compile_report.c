/* compile_report.c -- rgt_compile: variants compiled for a target, whether or not it can run here. */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/inspect.h"
#include "runtime/thread_pool.h"

typedef struct reporting {
  rgt__candidate *c;
  unsigned char *compiled; /* [n] */
  int n, next, n_ok, stopped;
  rgt_compile_fn fn;
  void *user;
} reporting;

static int report_one(reporting *r, const rgt__candidate *c) {
  if (c->outcome == RGT_TRIAL_OK) r->n_ok++;
  return rgt__candidate_tell(c, r->fn, r->user);
}

/* Results are handed on in the order of the space, whatever the order of their ends. */
static int done(void *user, int i) {
  reporting *r = user;
  r->compiled[i] = 1;
  while (!r->stopped && r->next < r->n && r->compiled[r->next]) r->stopped = report_one(r, &r->c[r->next++]);
  return r->stopped;
}

rgt_status rgt_compile(rgt_op *op, const char *target, const char *variant, int sample, uint64_t seed, rgt_compile_fn fn,
                       void *user) {
  rgt__inspect in;
  reporting r = {.fn = fn, .user = user};
  rgt__error *err = &op->ctx->error;
  if (!fn) return rgt__error_null(err, "fn");
  rgt_status status = rgt__inspect_open(op, target, variant, sample, seed, 1, &in);
  if (status == RGT_OK) {
    r.c = rgt__alloc_zero((size_t)in.space.n + 1, sizeof *r.c);
    r.compiled = rgt__alloc_zero((size_t)in.space.n + 1, 1);
    if (!r.c || !r.compiled) status = rgt__error_nomem(err, (size_t)in.space.n * sizeof *r.c);
  }
  for (int i = 0; i < in.space.n && status == RGT_OK; i++) {
    const rgt__family *family = in.space.variants[i].family;
    status = rgt__candidate_render(&in.maker, &in.space.variants[i], &op->desc, &r.c[i], err);
    if (status == RGT_OK) r.n++;
    if (status == RGT_OK || variant || !rgt__context_leave_out(op->ctx, family, status)) continue;
    for (int done_with = 0; done_with <= i; done_with++) rgt__candidate_free(in.device, &r.c[done_with]);
    rgt__space_drop(&in.space, family); /* a family whose template fails: the rest anew */
    r.n = 0;
    i = -1;
    if (in.space.n > 0) status = RGT_OK;
  }
  if (status == RGT_OK) status = rgt__candidate_compile_all(&in.maker, r.c, r.n, rgt__pool_affinity(), 1, done, &r, err);
  if (status == RGT_OK && r.n_ok == 0)
    status = rgt__error_set(err, RGT_EINFEASIBLE, "none of %d variants compiled within the target's limits", r.n);
  for (int i = 0; r.c && i < in.space.n; i++) rgt__candidate_free(in.device, &r.c[i]);
  rgt__free(r.c);
  rgt__free(r.compiled);
  rgt__inspect_close(&in);
  return status;
}
