/* prepare_load.c -- from a chosen variant to loaded code.
 *
 * A hit needs no compiler and renders nothing: the winner's family, params and template digest, with the compiler's stamp, lead
 * through the cache's map to a code entry, and the entry holds its program. Only where that chain breaks is the variant
 * rendered and compiled again, and then it is verified before its first use unless the code is the very code that its trials
 * ran.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/bundle.h"
#include "runtime/worker.h"

static rgt_status make_maker(rgt_op *op, rgt__candidate_maker *m) {
  rgt_ctx *ctx = op->ctx;
  *m = (rgt__candidate_maker){.device = ctx->device,
                              .target = ctx->device->info.target,
                              .cache = ctx->cache,
                              .facts = {op->options.weight_form, op->options.align_bytes}};
  rgt_status status = rgt__context_families(ctx, &m->families);
  return status == RGT_OK ? rgt__context_toolchain(ctx, &m->toolchain) : status;
}

static void local_key(rgt_op *op, const rgt__variant *v, rgt__digest *key) {
  char stamp[700], params[RGT_VARIANT_TEXT_MAX];
  rgt__device *d = op->ctx->device;
  rgt__render_facts facts = {op->options.weight_form, op->options.align_bytes};
  d->ops->compiler_stamp(d, stamp, sizeof stamp);
  rgt__variant_params_format(v, params);
  rgt__candidate_local_key(v->family->name, v->family->revision, params, &op->desc, &facts, &v->family->template_digest, stamp,
                           d->info.target.name, key);
}

/* Through the cache's map alone. RGT_EMISS where the chain breaks. */
static rgt_status load_mapped(rgt_op *op, const rgt__variant *v, rgt__ready *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__digest key, code;
  local_key(op, v, &key);
  rgt_status status = rgt__code_cache_map_get(ctx->cache, &key, &code);
  if (status != RGT_OK) return status;
  rgt__code_entry *e = rgt__alloc_zero(1, sizeof *e);
  if (!e) return rgt__error_nomem(&ctx->error, sizeof *e);
  status = rgt__code_cache_get(ctx->cache, &code, e, &ctx->error);
  if (status == RGT_OK) {
    out->program = e->program;
    status = ctx->device->ops->load(ctx->device, e->path, NULL, 0, &out->program, &out->module, NULL);
    if (status != RGT_OK) status = RGT_EMISS; /* recompile */
  }
  rgt__code_entry_free(e);
  rgt__free(e);
  return status;
}

static rgt_status verify_candidate(rgt_op *op, const rgt__candidate_maker *m, rgt__candidate *c) {
  rgt__worker *w = NULL;
  rgt__verify_result result = {.status = RGT_OK};
  rgt__candidate twin = {.text = ""};
  rgt__error *err = &op->ctx->error;
  rgt__candidate *exact = c;
  rgt_status status = rgt__worker_open_local(m, &op->desc, NULL, 1, 0, &w, err);
  if (status != RGT_OK) return status;
  if (op->desc.act != RGT_ACT_NONE && op->desc.act != RGT_ACT_RELU) {
    rgt_op_desc relu = rgt__op_relu_twin(&op->desc);
    exact = &twin;
    status = rgt__candidate_render(m, &c->variant, &relu, &twin, err);
    if (status == RGT_OK) status = rgt__candidate_compile(m, &twin, 0, err);
    if (status == RGT_OK && twin.outcome != RGT_TRIAL_OK)
      status = rgt__error_set(err, RGT_EWRONG, "%s: %s", c->text, twin.reason);
  }
  if (status == RGT_OK) status = w->ops->check(w, c, exact, &result, err);
  if (status == RGT_OK && result.status != RGT_OK) status = rgt__error_set(err, RGT_EWRONG, "%s: %s", c->text, result.reason);
  rgt__candidate_free(m->device, &twin);
  w->ops->close(w);
  return status;
}

/* Renders and compiles; verifies unless the code is the one that `known` trials ran. RGT_EWRONG, RGT_ECOMPILE, RGT_EINFEASIBLE:
 * not to be used. */
rgt_status rgt__prepare_load_compiled(rgt_op *op, const rgt__variant *v, const rgt__digest *known, rgt__ready *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__candidate_maker m;
  rgt__digest key;
  rgt__candidate *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(&ctx->error, sizeof *c);
  rgt_status status = make_maker(op, &m);
  if (status == RGT_OK) status = rgt__candidate_render(&m, v, &op->desc, c, &ctx->error);
  if (status == RGT_OK) status = rgt__candidate_compile(&m, c, 0, &ctx->error);
  if (status == RGT_OK && c->outcome != RGT_TRIAL_OK)
    status = rgt__error_set(&ctx->error, c->outcome == RGT_TRIAL_INFEASIBLE ? RGT_EINFEASIBLE : RGT_ECOMPILE, "%s: %s", c->text,
                            c->reason);
  if (status == RGT_OK && !(known && rgt__digest_equal(known, &c->code))) status = verify_candidate(op, &m, c);
  if (status == RGT_OK) status = rgt__candidate_load(&m, c, &ctx->error);
  if (status == RGT_OK) {
    local_key(op, v, &key);
    rgt__code_cache_map_put(ctx->cache, &key, &c->code, NULL);
    out->program = c->program;
    out->module = c->module;
    c->module = NULL;
  }
  rgt__candidate_free(ctx->device, c);
  rgt__free(c);
  return status;
}

/* A template that was edited since the trials, without a new revision, has another digest: its code is another key's, is
 * compiled from the text that is here, and verified. */
rgt_status rgt__prepare_load_standing(rgt_op *op, const rgt__tunedb_standing *s, rgt__ready *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__variant v;
  rgt__families *families = NULL;
  rgt__context_variant_text(s, out->variant);
  rgt_status status = rgt__context_families(ctx, &families);
  if (status == RGT_OK) status = rgt__variant_parse(families, ctx->device->ops->kind, out->variant, &v, &ctx->error);
  if (status == RGT_OK && v.family->revision != s->revision)
    status = rgt__error_set(&ctx->error, RGT_EMISS, "%s: revision %d was tuned, %d is here", out->variant, s->revision,
                            v.family->revision);
  if (status != RGT_OK) return status;
  status = load_mapped(op, &v, out);
  if (status == RGT_EMISS) status = rgt__bundle_load(op, &v, out);
  return status == RGT_EMISS ? rgt__prepare_load_compiled(op, &v, &s->code, out) : status;
}

/* Nothing is known of the default's code, so it is verified, once: afterwards the map leads to it. */
rgt_status rgt__prepare_load_default(rgt_op *op, rgt__ready *out) {
  rgt__variant v;
  rgt_status status = rgt__prepare_default(op, op->ctx->device->ops->kind, &v);
  if (status != RGT_OK) return status;
  rgt__variant_format(&v, out->variant);
  status = load_mapped(op, &v, out);
  if (status == RGT_EMISS) status = rgt__bundle_load(op, &v, out);
  return status == RGT_EMISS ? rgt__prepare_load_compiled(op, &v, NULL, out) : status;
}
