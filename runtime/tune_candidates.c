/* tune_candidates.c -- the space of an op rendered, admitted, compiled in parallel; and the worker that will run it. */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/prepare.h"
#include "runtime/thread_pool.h"
#include "runtime/tune_state.h"
#include "runtime/wishes.h"

enum { SPACE_FILE_MAX = 1 << 20 };

int rgt__tune_admits(const rgt_op *op, const rgt__numeric *n) {
  return rgt__numeric_admits(n, op->desc.dtype, op->options.max_error);
}

static void note_space(rgt__tuning *t) {
  for (int i = 0; i < t->space.n; i++) {
    t->notes[i].admits = 0;
    rgt__variant_params_format(&t->space.variants[i], t->notes[i].params);
  }
}

rgt_status rgt__tune_enumerate(rgt__tuning *t) {
  rgt__buffer narrow = {0};
  rgt_ctx *ctx = t->ctx;
  rgt__error *err = &ctx->error;
  if (t->space.variants) return RGT_OK;
  t->maker = (rgt__candidate_maker){
      .device = ctx->device, .target = ctx->device->info.target, .cache = ctx->cache, .facts = rgt__op_facts(t->op)};
  rgt_status status = rgt__context_families(ctx, &t->families);
  t->maker.families = t->families;
  if (status == RGT_OK && t->o.space) status = rgt__file_read(t->o.space, SPACE_FILE_MAX, &narrow, err);
  if (status == RGT_OK)
    status = rgt__space_enumerate(t->families, &t->op->desc, &t->maker.target,
                                  t->o.space ? (narrow.data ? narrow.data : "") : NULL, t->o.space, 0, &t->space, err);
  rgt__buffer_free(&narrow);
  if (status == RGT_OK) rgt__context_tell_faults(ctx);
  if (status == RGT_OK) t->n_banned = rgt__wishes_drop_banned(t->op, &t->space, "not tried"); /* nor missed */
  if (status == RGT_OK) {
    t->notes = rgt__alloc_zero((size_t)t->space.n + 1, sizeof *t->notes);
    if (!t->notes) {
      rgt__space_free(&t->space);
      return rgt__error_nomem(err, (size_t)t->space.n * sizeof *t->notes);
    }
    note_space(t);
  }
  if (status == RGT_OK && t->o.space && t->space.n == 0)
    status = rgt__error_set(err, RGT_EINFEASIBLE, "%s leaves no variant for this op on device %s", t->o.space,
                            t->maker.target.device);
  return status;
}

static int same_variant(const rgt__variant *a, const rgt__variant *b) {
  return a->family == b->family && memcmp(a->value, b->value, (size_t)a->family->n_params) == 0;
}

/* Asked once for each, so that a prior that fails is its family's fault, like a template that fails, and not the search's. */
static rgt_status try_prior(rgt__tuning *t, const rgt__variant *v) {
  const int64_t vars[RGT_N_VARS] = {1, 1, 1, 1, 1};
  double cost;
  return rgt__variant_prior(t->families, v, &t->op->desc, rgt__op_order_word(t->op->options.order), &t->maker.target, vars,
                            &cost, &t->ctx->error);
}

/* Renders every variant that the handle admits; the default stands among them even where a space file leaves it out. */
static rgt_status render_space(rgt__tuning *t, const rgt__family **broken) {
  rgt__variant fallback;
  rgt__error *err = &t->ctx->error;
  rgt_status status = rgt__prepare_default(t->op, t->maker.target.device, &fallback);
  if (status != RGT_OK) return status;
  t->all = rgt__alloc_zero((size_t)t->space.n + 1, sizeof *t->all);
  if (!t->all) return rgt__error_nomem(err, (size_t)(t->space.n + 1) * sizeof *t->all);
  t->default_index = -1;
  for (int i = 0; i <= t->space.n && status == RGT_OK; i++) {
    const rgt__variant *v = i < t->space.n ? &t->space.variants[i] : &fallback;
    rgt__searched *c = &t->all[t->n];
    if (i == t->space.n && t->default_index >= 0) break;
    status = rgt__candidate_render(&t->maker, v, &t->op->desc, &c->candidate, err);
    if (status == RGT_OK) status = try_prior(t, v);
    if (status != RGT_OK) *broken = v->family;
    if (status != RGT_OK) break;
    c->is_default = same_variant(v, &fallback);
    if (!c->is_default && !rgt__tune_admits(t->op, &c->candidate.numeric)) {
      rgt__candidate_free(t->maker.device, &c->candidate);
      continue;
    }
    if (c->is_default) t->default_index = t->n;
    t->n++;
    rgt__tune_report(t, RGT_PHASE_GENERATE, 0, i + 1, t->space.n, c->candidate.text);
  }
  return status;
}

/* A family whose template fails is left out, and the rest rendered anew. */
static rgt_status render_all(rgt__tuning *t) {
  for (;;) {
    const rgt__family *broken = NULL;
    rgt_status status = render_space(t, &broken);
    if (status == RGT_OK || !broken || !rgt__context_leave_out(t->ctx, broken, status)) return status;
    for (int i = 0; i < t->n; i++) rgt__candidate_free(t->maker.device, &t->all[i].candidate);
    rgt__free(t->all);
    t->all = NULL;
    t->n = 0;
    rgt__space_drop(&t->space, broken);
    note_space(t);
    if (t->space.n == 0) return status;
  }
}

/* Compiling may take this share of the budget; what is not compiled by then is left out, so that the rest can be measured. */
#define COMPILE_SHARE 0.6

static int out_of_compile_time(const rgt__tuning *t) {
  return rgt__search_now() > t->started_s + COMPILE_SHARE * t->budget_s;
}

static int compiled_one(void *user, int i) {
  rgt__tuning *t = user;
  t->n_compiled++;
  rgt__tune_report(t, RGT_PHASE_COMPILE, 0, t->n_compiled, t->n, t->all[i].candidate.text);
  return rgt__tune_stopped(t) || out_of_compile_time(t);
}

/* Keeps the candidates that were compiled, or failed to be. */
static void drop_uncompiled(rgt__tuning *t) {
  int n = 0;
  for (int i = 0; i < t->n; i++) {
    rgt__candidate *c = &t->all[i].candidate;
    if (rgt__candidate_has_code(c)) {
      if (i == t->default_index) t->default_index = n;
      t->all[n++] = t->all[i];
    } else {
      rgt__candidate_free(t->maker.device, c);
    }
  }
  if (n < t->n)
    rgt__context_log(t->ctx, RGT_LOG_WARNING,
                     "the budget of %.0f s ended compiling after %d of %d variants; a larger budget tries the rest",
                     t->budget_s, n, t->n);
  t->n = n;
}

/* After compiling: the default is needed whatever the budget. */
static rgt_status insist_on_default(rgt__tuning *t, rgt_status status) {
  rgt__candidate *fallback = &t->all[t->default_index].candidate;
  if (status != RGT_EINTERRUPTED || rgt__tune_stopped(t)) return status;
  return rgt__candidate_has_code(fallback) ? RGT_OK : rgt__candidate_compile(&t->maker, fallback, 0, &t->ctx->error);
}

/* Of a space that is not tried whole, a search compiles what it picks; here only what everything is measured against. */
static rgt_status compile_default(rgt__tuning *t) {
  t->stop.deadline_s = t->started_s + COMPILE_SHARE * t->budget_s;
  rgt_status status = rgt__candidate_compile(&t->maker, &t->all[t->default_index].candidate, 0, &t->ctx->error);
  t->stop.deadline_s = 0;
  return insist_on_default(t, status);
}

static rgt_status compile_all(rgt__tuning *t) {
  rgt__candidate **list = rgt__alloc_zero((size_t)t->n, sizeof *list);
  if (!list) return rgt__error_nomem(&t->ctx->error, (size_t)t->n * sizeof *list);
  for (int i = 0; i < t->n; i++) list[i] = &t->all[i].candidate;
  t->stop.deadline_s = t->started_s + COMPILE_SHARE * t->budget_s;
  rgt_status pool =
      rgt__candidate_compile_list(&t->maker, list, t->n, rgt__pool_affinity(), 0, compiled_one, t, &t->ctx->error);
  t->stop.deadline_s = 0;
  rgt__free(list);
  rgt_status status = insist_on_default(t, pool);
  if (pool == RGT_EINTERRUPTED && status == RGT_OK) drop_uncompiled(t);
  if (status == RGT_EINTERRUPTED)
    rgt__error_set(&t->ctx->error, status, "stopped while compiling: %d of %d variants are in the code cache", t->n_compiled,
                   t->n);
  return status;
}

rgt_status rgt__tune_make_candidates(rgt__tuning *t) {
  rgt_ctx *ctx = t->ctx;
  rgt_status status = rgt__tune_enumerate(t);
  if (status == RGT_OK) status = rgt__context_toolchain(ctx, &t->maker.toolchain);
  if (status == RGT_OK) status = rgt__worker_farm_open(ctx->device, &t->maker.target, &t->maker.farm, &ctx->error);
  if (status == RGT_OK) status = rgt__worker_open(&t->maker, &t->op->desc, NULL, 1, 0, &t->worker, &ctx->error);
  if (status == RGT_EINTERRUPTED) rgt__error_set(&ctx->error, status, "stopped while compiling: nothing is compiled yet");
  if (status == RGT_OK) status = render_all(t);
  if (status == RGT_OK) status = rgt__search_limit(&t->o, t->n) < t->n ? compile_default(t) : compile_all(t);
  return status;
}
