/* prepare_make.c -- from a rendered variant to loaded code, on any thread.
 *
 * A hit needs no compiler and renders nothing: the variant, its template's digest and the compiler's stamp lead through the
 * cache's map to a code entry, and the entry holds its program. The map knows only code that was verified on this machine.
 * Where that chain breaks, the variant is compiled and verified before its first use, whatever the trials say of it: they may
 * come from somebody else's database.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/background.h"
#include "runtime/base/alloc.h"
#include "runtime/fresh.h"
#include "runtime/prepare.h"
#include "runtime/worker.h"

rgt_status rgt__prepare_load_mapped(rgt_ctx *ctx, const rgt__digest *local_key, rgt__program *program, rgt__module **module,
                                    rgt__error *err) {
  rgt__digest code;
  rgt_status status = rgt__code_cache_map_get(ctx->cache, local_key, &code);
  if (status != RGT_OK) return status;
  rgt__code_entry *e = rgt__alloc_zero(1, sizeof *e);
  if (!e) return rgt__error_nomem(err, sizeof *e);
  status = rgt__code_cache_get(ctx->cache, &code, e, err);
  if (status == RGT_OK) {
    status = ctx->device->ops->load(ctx->device, e->path, NULL, 0, &e->program, module, NULL);
    if (status != RGT_OK) status = RGT_EMISS; /* recompile */
    if (status == RGT_OK && program) *program = e->program;
    if (status == RGT_OK) rgt__code_cache_hold(ctx->cache, &code);
  }
  rgt__code_entry_free(e);
  rgt__free(e);
  return status;
}

static rgt_status compile(const rgt__candidate_maker *m, rgt__candidate *c, rgt__error *err) {
  static const rgt_status statuses[RGT_N_OUTCOMES] = {
      [RGT_TRIAL_OK] = RGT_OK,        [RGT_TRIAL_INFEASIBLE] = RGT_EINFEASIBLE, [RGT_TRIAL_COMPILE_ERROR] = RGT_ECOMPILE,
      [RGT_TRIAL_WRONG] = RGT_EWRONG, [RGT_TRIAL_CRASHED] = RGT_ECRASH,         [RGT_TRIAL_TIMED_OUT] = RGT_ETIMEOUT};
  rgt__code_cache_key(&c->source_digest, m->toolchain, m->target.name, &c->code);
  rgt_status status = rgt__candidate_compile(m, c, 0, err);
  if (status != RGT_OK || c->outcome == RGT_TRIAL_OK) return status;
  return rgt__error_set(err, statuses[c->outcome], "%s: %s", c->text, c->reason);
}

/* In a worker's child where there is one: what crashes or hangs does it there. */
static rgt_status verify(const rgt__candidate_maker *m, const rgt__ready *r, rgt__error *err) {
  rgt__worker *w = NULL;
  rgt__verify_result result = {.status = RGT_OK};
  rgt__candidate *c = r->candidate;
  rgt_status status = r->twin ? compile(m, r->twin, err) : RGT_OK;
  if (status == RGT_OK) status = rgt__worker_open(m, &r->op->desc, NULL, 1, 0, &w, err);
  if (status == RGT_ENOWORKER) status = rgt__worker_open_local(m, &r->op->desc, NULL, 1, 0, &w, err);
  if (status == RGT_OK) status = w->ops->check(w, c, r->twin ? r->twin : c, &result, err);
  if (status == RGT_OK && result.status != RGT_OK) status = rgt__error_set(err, RGT_EWRONG, "%s: %s", c->text, result.reason);
  if (w) w->ops->close(w);
  rgt__candidate_unload(m->device, c);
  if (r->twin) rgt__candidate_unload(m->device, r->twin);
  return status;
}

static rgt_status load(const rgt__make_place *at, rgt__candidate_maker m, rgt__ready *r, rgt__error *err) {
  rgt__candidate *c = r->candidate;
  m.device = at->ctx->device;
  rgt_status status = rgt__candidate_load(&m, c, err);
  if (status != RGT_OK) return status;
  rgt__code_cache_map_put(at->ctx->cache, &r->local_key, &c->code, NULL);
  rgt__code_cache_hold(at->ctx->cache, &c->code);
  r->module = c->module;
  c->module = NULL;
  return RGT_OK;
}

/* A device of this thread's own where the context's can give one: then nothing here meets what the context's thread does. */
static rgt_status open_place(rgt__make_place *at, rgt__error *err) {
  rgt__device *own = at->ctx->device;
  rgt_status status = RGT_OK;
  if (!at->device) {
    at->device = own;
    if (own->ops->another) status = own->ops->another(own, &at->device, err);
    if (status != RGT_OK) at->device = NULL;
    if (status == RGT_OK && at->device != own) at->device->stop = at->stop;
  }
  if (status == RGT_OK && !at->toolchain[0]) {
    status = at->device->ops->toolchain(at->device, at->toolchain, sizeof at->toolchain, err);
    if (status == RGT_OK) rgt__fresh_remember(at->ctx->cache, at->device, at->toolchain);
  }
  if (status != RGT_OK) at->toolchain[0] = 0;
  return status;
}

void rgt__prepare_make_end(rgt__make_place *at) {
  if (at->device && at->device != at->ctx->device) at->device->ops->close(at->device);
  at->device = NULL;
}

static void free_candidates(const rgt__make_place *at, rgt__ready *r) {
  rgt__device *d = at->device ? at->device : at->ctx->device;
  rgt__candidate_free(d, r->candidate);
  rgt__candidate_free(d, r->twin);
  rgt__free(r->candidate);
  rgt__free(r->twin);
  r->candidate = r->twin = NULL;
}

/* Another op, context or process may have made it since it was looked for, or makes it just now: once it is this one's turn,
 * the map is asked once more. r->program is the rendered one all along: the context's thread may be reading it. */
static rgt_status make(const rgt__make_place *at, const rgt__candidate_maker *m, rgt__ready *r, rgt__error *err) {
  rgt__flight flight;
  if (rgt__code_cache_map_begin(at->ctx->cache, &r->local_key, at->stop, &flight) == RGT_FLIGHT_STOPPED)
    return rgt__error_set(err, RGT_EINTERRUPTED, "%s: given up", r->variant);
  rgt_status status = rgt__prepare_load_mapped(at->ctx, &r->local_key, NULL, &r->module, err);
  if (status == RGT_EMISS) {
    status = compile(m, r->candidate, err);
    if (status == RGT_OK) status = verify(m, r, err);
    if (status == RGT_OK) status = load(at, *m, r, err);
    rgt__prepare_note(at, r, status, err);
  }
  rgt__flight_end(&flight);
  return status;
}

rgt_status rgt__prepare_make(rgt__make_place *at, rgt__ready *r, rgt__error *err) {
  rgt_ctx *ctx = at->ctx;
  rgt_status status = open_place(at, err);
  if (status == RGT_OK) {
    rgt__candidate_maker m = {.families = ctx->families,
                              .device = at->device,
                              .target = ctx->device->info.target,
                              .cache = ctx->cache,
                              .toolchain = at->toolchain,
                              .facts = rgt__op_facts(r->op)};
    rgt__digest key;
    rgt__code_cache_key(&r->candidate->source_digest, m.toolchain, m.target.name, &key);
    if (rgt__background_key_begin(&key, at->stop)) {
      status = make(at, &m, r, err);
      rgt__background_key_end(&key);
    } else {
      status = rgt__error_set(err, RGT_EINTERRUPTED, "%s: given up", r->variant);
    }
  }
  free_candidates(at, r);
  return status;
}
