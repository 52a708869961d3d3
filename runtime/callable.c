/* callable.c -- things that compute y for given kargs: a loaded candidate, or the built-in kernel. */
#include "runtime/callable.h"

#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/builtin.h"

rgt_status rgt__callable_run_builtin(const rgt_op_desc *op, rgt_weight_form form, rgt__device *device, const rgt_kargs *k,
                                     rgt__error *err) {
  if (strcmp(device->ops->kind, "cpu") != 0 || !rgt__builtin_supports(op))
    return rgt__error_set(err, RGT_EUNSUPPORTED, "there is no built-in kernel for this op on device %s", device->ops->kind);
  float *hidden = rgt__alloc_zero((size_t)(op->n_hidden ? op->n_hidden : 1), sizeof *hidden);
  if (!hidden) return rgt__error_nomem(err, (size_t)op->n_hidden * sizeof *hidden);
  rgt__builtin_run(op, form, device->info.target.name, k, 0, k->rows, hidden);
  rgt__free(hidden);
  return RGT_OK;
}

static rgt_status run_builtin(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *err) {
  const rgt__builtin_callable *b = self;
  return rgt__callable_run_builtin(b->op, b->form, device, k, err);
}

rgt__callable rgt__callable_builtin(rgt__builtin_callable *self, rgt__device *device) {
  return (rgt__callable){.device = device, .self = self, .run = run_builtin};
}

static rgt_status poisoned_workspace(rgt__device *device, size_t bytes, void **out, rgt__error *err) {
  void *fill = rgt__alloc(bytes);
  if (!fill) return rgt__error_nomem(err, bytes);
  memset(fill, 0xFF, bytes);
  rgt_status status = device->ops->mem_alloc(device, bytes, out, err);
  if (status == RGT_OK) status = device->ops->mem_write(device, *out, fill, bytes, err);
  rgt__free(fill);
  return status;
}

static rgt_status run_candidate(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *err) {
  rgt__candidate_callable *c = self;
  const rgt__candidate *candidate = c->candidate;
  rgt__plan plan;
  void *workspace = NULL;
  if (rgt__stop_now(device->stop)) return rgt__error_set(err, RGT_EINTERRUPTED, "%s: given up", candidate->text);
  rgt__plan_make_on(device, candidate->module, &candidate->program, k->rows, k->groups, &plan);
  if (!plan.valid) {
    rgt_status other = rgt__callable_run_builtin(&candidate->op, c->form, device, k, err);
    if (other != RGT_EUNSUPPORTED) return other;
    return rgt__error_set(err, RGT_EINFEASIBLE, "its program is not valid for %lld rows and %lld groups, which verify it",
                          (long long)k->rows, (long long)k->groups);
  }
  if (plan.workspace_bytes > device->info.free_bytes / 2 && device->info.free_bytes > 0)
    return rgt__error_set(err, RGT_EINFEASIBLE, "its workspace for %lld rows is %lld bytes, over half of the free memory",
                          (long long)k->rows, (long long)plan.workspace_bytes);
  rgt_status status = RGT_OK;
  c->n_runs++;
  if (plan.workspace_bytes > 0) status = poisoned_workspace(device, (size_t)plan.workspace_bytes, &workspace, err);
  if (status == RGT_OK) {
    if (c->watch) c->watch->enter(c->watch->user, candidate, RGT_WORKER_VERIFYING);
    status = device->ops->launch(device, candidate->module, &candidate->program, &plan, k, workspace, device->stream, err);
    if (status == RGT_OK) status = device->ops->sync(device, device->stream, err);
    if (c->watch) c->watch->leave(c->watch->user);
  }
  device->ops->mem_free(device, workspace);
  return status;
}

rgt__callable rgt__callable_candidate(rgt__candidate_callable *self, rgt__device *device) {
  return (rgt__callable){.device = device, .self = self, .run = run_candidate};
}
