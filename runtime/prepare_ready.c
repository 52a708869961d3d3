/* prepare_ready.c -- an op's variants: found, made from texts, taken over from the background, freed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/background.h"
#include "runtime/base/alloc.h"
#include "runtime/builtin.h"
#include "runtime/bundle.h"

int rgt__prepare_has_builtin(const rgt_op *op) {
  return strcmp(op->ctx->device->ops->kind, "cpu") == 0 && rgt__builtin_supports(&op->desc);
}

int rgt__prepare_needs_standby(const rgt_op *op, const rgt__ready *r) {
  if (!r || rgt__prepare_has_builtin(op)) return 0;
  int varies = !rgt__formula_is_constant(&r->program.valid);
  for (int i = 0; i < r->program.n_steps; i++) varies |= !rgt__formula_is_constant(&r->program.steps[i].shared);
  return varies;
}

/* ---- freeing; the background has nothing of it any more ---- */

static void free_ready(rgt__ready *r) {
  rgt__device *d = r->op->ctx->device;
  if (r->module) d->ops->unload(d, r->module);
  rgt__candidate_free(d, r->candidate);
  rgt__candidate_free(d, r->twin);
  rgt__free(r->candidate);
  rgt__free(r->twin);
  rgt__free(r);
}

static int is_preferred(const rgt__ready *r, const rgt__preference *prefer, int n_buckets) {
  for (int b = 0; b < n_buckets; b++)
    for (int place = 0; place < RGT_N_PLACES; place++)
      if (prefer[b][place] == r) return 1;
  return 0;
}

void rgt__prepare_keep(rgt_op *op, const rgt__preference *prefer, int n_buckets) {
  rgt__ready **link = &op->ready;
  while (*link) {
    rgt__ready *r = *link;
    int keeps = is_preferred(r, prefer, n_buckets);
    if (!keeps) rgt__background_cancel(op, r);
    if (keeps || r->state == RGT_READY_REFUSED) {
      link = &r->next;
      continue;
    }
    rgt__background_lock();
    *link = r->next;
    rgt__background_unlock();
    free_ready(r);
  }
}

void rgt__prepare_reset(rgt_op *op) {
  rgt__device *d = op->ctx->device;
  rgt__background_cancel(op, NULL);
  op->n_buckets = 0;
  memset(op->prefer, 0, sizeof op->prefer);
  memset(op->by_bucket, 0, sizeof op->by_bucket);
  op->standby = NULL;
  op->own_class = op->keeps_class = 0;
  rgt__prepare_keep(op, NULL, 0);
  d->ops->mem_free(d, op->workspace);
  op->workspace = NULL;
  op->workspace_bytes = 0;
  op->prepared = RGT_PREPARED_NOT;
}

void rgt__prepare_free(rgt_op *op) {
  rgt__prepare_reset(op);
  while (op->ready) {
    rgt__ready *r = op->ready;
    op->ready = r->next;
    free_ready(r);
  }
}

/* ---- making an entry ---- */

static void make_local_key(rgt_op *op, const rgt__variant *v, const char *stamp, rgt__digest *key) {
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__render_facts facts = rgt__op_facts(op);
  rgt__variant_params_format(v, params);
  rgt__candidate_local_key(v->family->name, v->family->revision, params, &op->desc, &facts, &v->family->template_digest, stamp,
                           op->ctx->device->info.target.name, key);
}

int rgt__prepare_local_key(rgt_op *op, const rgt__variant *v, rgt__digest *key) {
  char stamp[700];
  op->ctx->device->ops->compiler_stamp(op->ctx->device, stamp, sizeof stamp);
  make_local_key(op, v, stamp, key);
  return stamp[0] != 0;
}

static rgt_status parse(rgt_op *op, const char *text, int revision, rgt__variant *v, rgt__error *err) {
  rgt_ctx *ctx = op->ctx;
  rgt__families *families = NULL;
  rgt_status status = rgt__context_families(ctx, &families);
  if (status != RGT_OK) return rgt__error_set(err, status, "%s", ctx->error.text);
  status = rgt__variant_parse(families, ctx->device->ops->kind, text, v, err);
  if (status == RGT_OK && !rgt__family_fits(v->family, &op->desc))
    status = rgt__error_set(err, RGT_EINVAL, "variant \"%s\": its family does not do this op", text);
  if (status == RGT_OK && revision && v->family->revision != revision)
    status = rgt__error_set(err, RGT_EMISS, "%s: revision %d was tuned, %d is here", text, revision, v->family->revision);
  return status;
}

static rgt_status render(rgt_op *op, const rgt__variant *v, const rgt_op_desc *desc, rgt__candidate **out, rgt__error *err) {
  rgt_ctx *ctx = op->ctx;
  rgt__candidate_maker m = {.families = ctx->families,
                            .device = ctx->device,
                            .target = ctx->device->info.target,
                            .cache = ctx->cache,
                            .toolchain = "", /* asked for where it is compiled: it starts a process */
                            .facts = rgt__op_facts(op)};
  rgt__candidate *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  rgt_status status = rgt__candidate_render(&m, v, desc, c, err);
  if (status == RGT_OK && c->outcome != RGT_TRIAL_OK)
    status = rgt__error_set(err, RGT_EINFEASIBLE, "%s: %s", c->text, c->reason);
  if (status != RGT_OK) {
    rgt__candidate_free(ctx->device, c);
    rgt__free(c);
    return status;
  }
  *out = c;
  return RGT_OK;
}

static rgt_status render_both(rgt__ready *r, const rgt__variant *v) {
  rgt_op *op = r->op;
  rgt_op_desc relu = rgt__op_relu_twin(&op->desc);
  rgt_status status = render(op, v, &op->desc, &r->candidate, &r->why);
  if (status == RGT_OK && op->desc.act != RGT_ACT_NONE && op->desc.act != RGT_ACT_RELU)
    status = render(op, v, &relu, &r->twin, &r->why);
  if (status == RGT_OK) r->program = r->candidate->program;
  return status;
}

/* Loads, or renders what the background will compile. */
static rgt_status begin(rgt__ready *r, int revision) {
  rgt_ctx *ctx = r->op->ctx;
  rgt__variant v;
  rgt_status status = parse(r->op, r->variant, revision, &v, &r->why);
  if (status != RGT_OK) return status;
  int has_compiler = rgt__prepare_local_key(r->op, &v, &r->local_key);
  status = rgt__prepare_load_mapped(ctx, &r->local_key, &r->program, &r->module, &r->why);
  if (status == RGT_EMISS) status = rgt__bundle_load(r->op, &v, r);
  if (status == RGT_OK) r->state = RGT_READY_LOADED;
  if (status != RGT_EMISS) return status;
  if (!has_compiler) { /* starts nothing, and says what was looked for */
    const char *toolchain = NULL;
    status = rgt__context_toolchain(ctx, &toolchain);
    if (status != RGT_OK) return rgt__error_set(&r->why, status, "%s", ctx->error.text);
  }
  return render_both(r, &v);
}

static rgt__ready_state state_of(rgt_status status) {
  return status == RGT_ENOCOMPILER || status == RGT_EIO ? RGT_READY_FAILED : RGT_READY_REFUSED;
}

/* What failed for want of something is tried anew; what was refused stays so. */
static rgt__ready *find(rgt_op *op, const char *variant) {
  for (rgt__ready *r = op->ready; r; r = r->next) {
    if (strcmp(r->variant, variant) != 0) continue;
    rgt__background_lock();
    int failed = r->state == RGT_READY_FAILED;
    rgt__background_unlock();
    if (!failed) return r;
  }
  return NULL;
}

rgt_status rgt__prepare_ready_of(rgt_op *op, const char *variant, int revision, rgt__ready **out) {
  rgt__ready *r = find(op, variant);
  if (!r) {
    r = rgt__alloc_zero(1, sizeof *r);
    if (!r) return rgt__error_nomem(&op->ctx->error, sizeof *r);
    r->op = op;
    r->plan.rows = -1;
    snprintf(r->variant, sizeof r->variant, "%s", variant);
    r->status = begin(r, revision);
    if (r->status == RGT_ENOMEM) {
      free_ready(r);
      return rgt__error_nomem(&op->ctx->error, 0);
    }
    if (r->status != RGT_OK) r->state = state_of(r->status);
    rgt__background_lock();
    r->next = op->ready;
    op->ready = r;
    rgt__background_unlock();
  }
  *out = r;
  return RGT_OK;
}

/* ---- what answers ---- */

static const rgt__ready *last_hope(const rgt__preference p) {
  for (int place = RGT_N_PLACES - 1; place >= 0; place--)
    if (p[place]) return p[place];
  return NULL;
}

static int is_loaded(const rgt__ready *r) {
  return r && r->state == RGT_READY_LOADED;
}

/* Valid for every call of this bucket with the op's groups: formulas that say no do so at the fewest rows or at the most. */
static int is_valid_in(const rgt_op *op, const rgt__ready *r, int bucket) {
  const int64_t least = bucket ? ((int64_t)1 << (bucket - 1)) + 1 : 1, most = (int64_t)1 << bucket;
  const int64_t rows[2] = {least, most < op->max_rows ? most : op->max_rows};
  int valid = 1;
  for (int i = 0; i < 2; i++) {
    rgt__plan plan;
    rgt__plan_make(&r->program, &op->ctx->device->info, rows[i], op->desc.groups, &plan);
    valid &= plan.valid;
  }
  return valid;
}

/* Has the bucket something of a batch-invariant op's class, which no call has to leave? */
static int has_its_class(const rgt_op *op, int bucket) {
  const rgt__ready *winner = op->prefer[bucket][RGT_PLACE_WINNER], *next = op->prefer[bucket][RGT_PLACE_RUNNER_UP];
  const rgt__ready *r = is_loaded(winner) ? winner : is_loaded(next) ? next : NULL;
  return r && (!op->own_class || is_valid_in(op, r, bucket));
}

/* The best that is there for each bucket; a batch-invariant op takes the default everywhere as soon as one bucket has nothing
 * of its class. The lock is held. Returns whether anything is on its way. */
static int fill_buckets(rgt_op *op) {
  int on_its_way = 0, first = RGT_PLACE_WINNER;
  for (int b = 0; b < op->n_buckets && op->options.batch_invariant; b++)
    if (!has_its_class(op, b)) first = RGT_PLACE_DEFAULT;
  op->keeps_class = op->own_class && first == RGT_PLACE_WINNER;
  memset(op->by_bucket, 0, sizeof op->by_bucket);
  op->standby = NULL;
  for (int b = 0; b < op->n_buckets; b++) {
    if (is_loaded(op->prefer[b][RGT_PLACE_DEFAULT]) && !rgt__prepare_has_builtin(op))
      op->standby = op->prefer[b][RGT_PLACE_DEFAULT];
    for (int place = RGT_N_PLACES - 1; place >= first; place--)
      if (is_loaded(op->prefer[b][place])) op->by_bucket[b] = op->prefer[b][place];
  }
  for (const rgt__ready *r = op->ready; r; r = r->next)
    on_its_way |= r->state == RGT_READY_QUEUED || r->state == RGT_READY_MAKING;
  return on_its_way;
}

/* At the end: what has nothing but the built-in kernel, and why. */
static void tell_builtin(rgt_op *op) {
  for (int b = 0; b < op->n_buckets; b++) {
    const rgt__ready *r = op->by_bucket[b] ? NULL : last_hope(op->prefer[b]);
    if (!r || !r->why.text[0]) continue;
    rgt__context_log(op->ctx, RGT_LOG_WARNING, "%s; the built-in kernel is used", r->why.text);
    return;
  }
}

static void tell_refused(rgt_op *op) {
  for (rgt__ready *r = op->ready; r; r = r->next) {
    rgt__background_lock();
    int tells = (r->state == RGT_READY_REFUSED || r->state == RGT_READY_FAILED) && r->status != RGT_ENOCOMPILER && !r->told;
    if (tells) r->told = 1;
    rgt__background_unlock();
    if (tells) rgt__context_log(op->ctx, RGT_LOG_WARNING, "%s; not used", r->why.text);
  }
}

void rgt__prepare_pick_up(rgt_op *op) {
  int n_made = atomic_load_explicit(&op->n_made, memory_order_acquire);
  if (n_made == op->n_seen && op->prepared == RGT_PREPARED_PARTLY) return;
  rgt__background_lock();
  op->n_seen = atomic_load(&op->n_made);
  int on_its_way = fill_buckets(op);
  rgt__background_unlock();
  if (!op->is_named) tell_refused(op);
  op->prepared = on_its_way ? RGT_PREPARED_PARTLY : RGT_PREPARED;
  if (!on_its_way && !op->is_named && rgt__prepare_has_builtin(op)) tell_builtin(op);
}

static int is_on_its_way(const rgt__ready *r) {
  rgt__background_lock();
  int on_its_way = r->state == RGT_READY_QUEUED || r->state == RGT_READY_MAKING;
  rgt__background_unlock();
  return on_its_way;
}

rgt_status rgt__prepare_wait(rgt_op *op, const rgt__ready *only, double timeout_s) {
  double deadline_s = rgt__background_now() + timeout_s;
  for (;;) {
    rgt__prepare_pick_up(op);
    if (op->prepared != RGT_PREPARED_PARTLY || (only && !is_on_its_way(only))) return RGT_OK;
    if (!rgt__background_wait(op, op->n_seen, deadline_s))
      return rgt__error_set(&op->ctx->error, RGT_ETIMEOUT, "variants are still being made after %g s; calls are answered by %s",
                            timeout_s, rgt__prepare_has_builtin(op) ? "the built-in kernel, or the default" : "the default");
  }
}

rgt_status rgt_op_wait(rgt_op *op, double timeout_s) {
  if (isnan(timeout_s))
    return rgt__error_set(&op->ctx->error, RGT_EINVAL, "timeout_s is NaN; it can be seconds, or below 0 for no limit");
  if (op->prepared == RGT_PREPARED_NOT)
    return rgt__error_set(&op->ctx->error, RGT_ENOTREADY, "the op is not prepared; call rgt_op_prepare first");
  return rgt__prepare_wait(op, NULL, timeout_s < 0 ? INFINITY : timeout_s);
}
