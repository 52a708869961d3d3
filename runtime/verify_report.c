/* verify_report.c -- rgt_verify: variants against the float64 reference, each with its verdict. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/builtin.h"
#include "runtime/callable.h"
#include "runtime/inspect.h"
#include "runtime/prepare.h"
#include "runtime/thread_pool.h"
#include "runtime/wishes.h"
#include "runtime/worker.h"

typedef struct verifying {
  rgt_op *op;
  const rgt_verify_options *o;
  rgt_verify_fn fn;
  void *user;
  rgt__inspect in;
  rgt__worker *worker;
  rgt__candidate *c;       /* [space.n], or [2 * space.n] where each is followed by its relu twin */
  unsigned char *compiled; /* as many */
  int next;                /* variant to verify next */
  rgt_status status;       /* of verifying */
  int n_wrong, n_crashed, n_timed_out;
} verifying;

static int needs_twin(const rgt_op *op) {
  return op->desc.act != RGT_ACT_NONE && op->desc.act != RGT_ACT_RELU;
}

static int tell(verifying *v, const char *variant, rgt_outcome outcome, const rgt__verify_result *r, const char *reason) {
  static const rgt__verify_result none = {.pass = "", .row = -1, .column = -1};
  if (!r) r = &none;
  rgt_verdict verdict = {.variant = variant,
                         .outcome = outcome,
                         .pass = r->pass ? r->pass : "",
                         .row = r->row,
                         .column = r->column,
                         .value = r->value,
                         .expected = r->expected,
                         .bound = r->bound,
                         .error_share = r->error_share,
                         .reason = reason};
  if (outcome == RGT_TRIAL_WRONG) v->n_wrong++;
  if (outcome == RGT_TRIAL_CRASHED) v->n_crashed++;
  if (outcome == RGT_TRIAL_TIMED_OUT) v->n_timed_out++;
  return v->fn(v->user, &verdict);
}

static rgt_status both_passes(rgt__verify *verify, const rgt__callable *bound, const rgt__callable *exact,
                              const rgt__numeric *numeric, rgt__verify_result *r, rgt__error *err) {
  rgt_status status = rgt__verify_bound(verify, bound, numeric, r, err);
  if (status != RGT_OK || r->status != RGT_OK) return status;
  double share = r->error_share;
  status = rgt__verify_exact(verify, exact, r, err);
  if (status == RGT_OK && r->status == RGT_OK) r->error_share = share;
  return status;
}

/* The built-in kernel has the default variant's bits, so its numeric facts too. It is the library's own, and runs here. */
static rgt_status verify_builtin(verifying *v, const rgt__verify_plan *plan) {
  rgt__variant fallback;
  rgt__numeric numeric;
  rgt__verify_result r;
  rgt__verify *verify = NULL;
  rgt__error *err = &v->op->ctx->error;
  rgt_op_desc relu = rgt__op_relu_twin(&v->op->desc);
  rgt__builtin_callable plain = {&v->op->desc, v->op->options.weight_form}, twin = {&relu, v->op->options.weight_form};
  rgt__callable bound = rgt__callable_builtin(&plain, v->op->ctx->device),
                exact = rgt__callable_builtin(&twin, v->op->ctx->device);
  rgt_status status = rgt__verify_open(plan, &verify, err);
  if (status == RGT_OK) status = rgt__prepare_default(v->op, "cpu", &fallback);
  if (status == RGT_OK) status = rgt__variant_numeric(v->in.maker.families, &fallback, &v->op->desc, &numeric, err);
  memset(&r, 0, sizeof r);
  if (status == RGT_OK) status = both_passes(verify, &bound, needs_twin(v->op) ? &exact : &bound, &numeric, &r, err);
  rgt__verify_free(verify);
  if (status != RGT_OK) return status;
  return tell(v, "builtin", r.status == RGT_OK ? RGT_TRIAL_OK : RGT_TRIAL_WRONG, &r, r.reason) ? RGT_EINTERRUPTED : RGT_OK;
}

/* Candidates and twins alternate in one array, so that one pool compiles both and a variant is ready when its pair is. */
static int per_variant(const verifying *v) {
  return needs_twin(v->op) ? 2 : 1;
}

static void free_candidates(verifying *v) {
  for (int i = 0; v->c && i < v->in.space.n * per_variant(v); i++) rgt__candidate_free(v->in.device, &v->c[i]);
  rgt__free(v->c);
  v->c = NULL;
}

/* Neither compiled nor run. */
static void set_banned(rgt__candidate *c, const char *why) {
  c->outcome = RGT_TRIAL_INFEASIBLE;
  snprintf(c->reason, sizeof c->reason, "banned%s%.200s", why[0] ? ": " : "", why);
}

static rgt_status render_space(verifying *v, const rgt__family **broken) {
  rgt__error *err = &v->op->ctx->error;
  rgt_op_desc relu = rgt__op_relu_twin(&v->op->desc);
  int each = per_variant(v);
  v->c = rgt__alloc_zero((size_t)(v->in.space.n * each) + 1, sizeof *v->c);
  if (!v->c) return rgt__error_nomem(err, (size_t)(v->in.space.n * each) * sizeof *v->c);
  rgt_status status = RGT_OK;
  for (int i = 0; i < v->in.space.n && status == RGT_OK; i++) {
    const rgt__variant *variant = &v->in.space.variants[i];
    status = rgt__candidate_render(&v->in.maker, variant, &v->op->desc, &v->c[i * each], err);
    if (status == RGT_OK && each == 2) status = rgt__candidate_render(&v->in.maker, variant, &relu, &v->c[i * each + 1], err);
    if (status != RGT_OK) *broken = variant->family;
    const char *ban = rgt__wishes_ban(v->op, variant);
    for (int k = 0; ban && k < each; k++) set_banned(&v->c[i * each + k], ban);
  }
  return status;
}

/* A family whose template fails is left out, unless it was asked for by name, and the rest rendered anew. */
static rgt_status render_all(verifying *v) {
  for (;;) {
    const rgt__family *broken = NULL;
    rgt_status status = render_space(v, &broken);
    if (status == RGT_OK || v->o->variant || !broken || !rgt__context_leave_out(v->op->ctx, broken, status)) return status;
    free_candidates(v);
    rgt__space_drop(&v->in.space, broken);
    if (v->in.space.n == 0) return status;
  }
}

static rgt_status verify_candidate(verifying *v, rgt__candidate *c, rgt__candidate *twin) {
  rgt__error *err = &v->op->ctx->error;
  rgt__verify_result r;
  memset(&r, 0, sizeof r);
  const rgt__candidate *failed = c->outcome != RGT_TRIAL_OK ? c : twin->outcome != RGT_TRIAL_OK ? twin : NULL;
  if (failed) return tell(v, c->text, failed->outcome, NULL, failed->reason) ? RGT_EINTERRUPTED : RGT_OK;
  rgt_status status = v->worker->ops->check(v->worker, c, twin, &r, err);
  v->worker->ops->forget(v->worker, c);
  v->worker->ops->forget(v->worker, twin);
  if (c->outcome != RGT_TRIAL_OK) /* it took its process with it */
    return tell(v, c->text, c->outcome, NULL, c->reason) ? RGT_EINTERRUPTED : RGT_OK;
  if (status == RGT_EINFEASIBLE) return tell(v, c->text, RGT_TRIAL_INFEASIBLE, NULL, err->text) ? RGT_EINTERRUPTED : RGT_OK;
  if (status != RGT_OK) return status;
  return tell(v, c->text, r.status == RGT_OK ? RGT_TRIAL_OK : RGT_TRIAL_WRONG, &r, r.reason) ? RGT_EINTERRUPTED : RGT_OK;
}

/* Called as compiles end: verifies, in the order of the space, what is complete by now, while the pool goes on. */
static int compiled_one(void *user, int i) {
  verifying *v = user;
  int each = per_variant(v);
  v->compiled[i] = 1;
  while (v->status == RGT_OK && v->next < v->in.space.n) {
    int at = v->next * each;
    if (!v->compiled[at] || !v->compiled[at + each - 1]) break;
    v->status = verify_candidate(v, &v->c[at], &v->c[at + each - 1]);
    v->next++;
  }
  return v->status != RGT_OK;
}

/* In a child where there is a worker; else here, where a variant that crashes takes the program with it. */
static rgt_status open_worker(verifying *v, const rgt__verify_plan *plan) {
  rgt_ctx *ctx = v->op->ctx;
  rgt_status status = rgt__worker_open(&v->in.maker, &plan->op, plan->data, plan->seed, plan->rows, &v->worker, &ctx->error);
  if (status != RGT_ENOWORKER) return status;
  rgt__context_log(ctx, RGT_LOG_WARNING, "%s; variants are run in this process", ctx->error.text);
  return rgt__worker_open_local(&v->in.maker, &plan->op, plan->data, plan->seed, plan->rows, &v->worker, &ctx->error);
}

static rgt_status verify_variants(verifying *v, const rgt__verify_plan *plan) {
  rgt_status status = rgt__wishes_load(v->op);
  if (status == RGT_OK && v->o->variant) status = rgt__wishes_refuse(v->op, &v->in.space.variants[0], &v->op->ctx->error);
  if (status == RGT_OK) status = open_worker(v, plan);
  if (status == RGT_OK) status = render_all(v);
  if (status != RGT_OK) return status;
  int n = v->in.space.n * per_variant(v); /* what is left of it */
  v->compiled = rgt__alloc_zero((size_t)n + 1, 1);
  if (!v->compiled) return rgt__error_nomem(&v->op->ctx->error, (size_t)n);
  status = rgt__candidate_compile_all(&v->in.maker, v->c, n, rgt__pool_affinity(), 0, compiled_one, v, &v->op->ctx->error);
  return v->status != RGT_OK ? v->status : status;
}

static rgt_status sum_up(const verifying *v) {
  rgt__error *err = &v->op->ctx->error;
  if (v->n_wrong > 0)
    return rgt__error_set(err, RGT_EWRONG, "%d variant%s wrong", v->n_wrong, v->n_wrong == 1 ? " is" : "s are");
  if (v->n_crashed > 0)
    return rgt__error_set(err, RGT_ECRASH, "%d variant%s crashed", v->n_crashed, v->n_crashed == 1 ? "" : "s");
  if (v->n_timed_out > 0)
    return rgt__error_set(err, RGT_ETIMEOUT, "%d variant%s did not end in time", v->n_timed_out,
                          v->n_timed_out == 1 ? "" : "s");
  return RGT_OK;
}

rgt_status rgt_verify(rgt_op *op, const rgt_verify_options *options, rgt_verify_fn fn, void *user) {
  static const rgt_verify_options defaults = {.struct_size = sizeof defaults};
  verifying v = {.op = op, .o = options ? options : &defaults, .fn = fn, .user = user};
  rgt__error *err = &op->ctx->error;
  if (!fn) return rgt__error_null(err, "fn");
  if (v.o->struct_size != sizeof *v.o)
    return rgt__error_set(err, RGT_EINVAL, "rgt_verify_options.struct_size is %zu; this library's is %zu", v.o->struct_size,
                          sizeof *v.o);
  if (v.o->data && v.o->data->struct_size != sizeof *v.o->data)
    return rgt__error_set(err, RGT_EINVAL, "rgt_case.struct_size is %zu; this library's is %zu", v.o->data->struct_size,
                          sizeof *v.o->data);
  if (v.o->rows < 0 || v.o->rows > RGT_COUNT_MAX)
    return rgt__error_set(err, RGT_EINVAL, "rows is %lld; it can be 0 (256) to 2147483647", (long long)v.o->rows);
  int builtin = v.o->variant && strcmp(v.o->variant, "builtin") == 0;
  if (builtin && (strcmp(op->ctx->device->ops->kind, "cpu") != 0 || !rgt__builtin_supports(&op->desc)))
    return rgt__error_set(err, RGT_EINVAL, "variant \"builtin\" is the CPU's");
  rgt__verify_plan plan = {.op = op->desc,
                           .form = op->options.weight_form,
                           .order = op->options.order,
                           .rows = v.o->rows,
                           .seed = v.o->seed ? v.o->seed : 1,
                           .data = v.o->data,
                           .align_bytes = op->options.align_bytes};
  rgt_status status = rgt__inspect_open(op, NULL, builtin ? NULL : v.o->variant, v.o->sample, v.o->seed, !builtin, &v.in);
  if (status == RGT_OK) status = builtin ? verify_builtin(&v, &plan) : verify_variants(&v, &plan);
  if (v.worker) v.worker->ops->close(v.worker);
  free_candidates(&v);
  rgt__free(v.compiled);
  rgt__inspect_close(&v.in);
  return status == RGT_OK ? sum_up(&v) : status;
}
