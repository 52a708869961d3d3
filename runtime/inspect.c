/* inspect.c -- what show, compile and verify share: a maker for a target, and the variants that were asked for. */
#include "runtime/inspect.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/prepare.h"

static rgt_status one_variant(rgt__inspect *in, const char *text, rgt__error *err) {
  in->space.variants = rgt__alloc_zero(1, sizeof *in->space.variants);
  if (!in->space.variants) return rgt__error_nomem(err, sizeof *in->space.variants);
  rgt_status status = rgt__variant_parse(in->maker.families, in->maker.target.device, text, &in->space.variants[0], err);
  if (status == RGT_OK && !rgt__family_fits(in->space.variants[0].family, &in->op->desc)) {
    char op_text[RGT_OP_TEXT_MAX] = "";
    rgt__op_format(&in->op->desc, op_text, NULL);
    status = rgt__error_set(err, RGT_EINVAL, "variant \"%s\": its family does not do %s", text, op_text);
  }
  if (status == RGT_OK) in->space.n = 1;
  return status;
}

rgt_status rgt__inspect_open(rgt_op *op, const char *target, const char *variant, int sample, uint64_t seed, int needs_compiler,
                             rgt__inspect *out) {
  rgt_ctx *ctx = op->ctx;
  memset(out, 0, sizeof *out);
  out->op = op;
  rgt_status status = rgt__context_device(ctx, target, &out->device, &out->owns_device);
  if (status != RGT_OK) return status;
  out->maker = (rgt__candidate_maker){.device = out->device,
                                      .target = out->device->info.target,
                                      .cache = ctx->cache,
                                      .toolchain = out->toolchain,
                                      .facts = rgt__op_facts(op)};
  status = rgt__context_families(ctx, &out->maker.families);
  if (status == RGT_OK && needs_compiler)
    status = rgt__worker_farm_open(out->device, &out->maker.target, &out->maker.farm, &ctx->error);
  if (status == RGT_OK && needs_compiler)
    status = out->device->ops->toolchain(out->device, out->toolchain, sizeof out->toolchain, &ctx->error);
  rgt__variant fallback; /* an op that no family does has nothing to show */
  if (status == RGT_OK) status = rgt__prepare_default(op, out->device->ops->kind, &fallback);
  if (status == RGT_OK && variant) status = one_variant(out, variant, &ctx->error);
  if (status == RGT_OK && !variant) {
    status = rgt__space_enumerate(out->maker.families, &op->desc, &out->maker.target, NULL, NULL, 0, &out->space, &ctx->error);
    if (status == RGT_OK) rgt__context_tell_faults(ctx);
    if (status == RGT_OK && sample > 0) rgt__space_sample(&out->space, sample, seed);
  }
  return status;
}

void rgt__inspect_close(rgt__inspect *i) {
  rgt__worker_farm_close(i->maker.farm);
  rgt__space_free(&i->space);
  if (i->owns_device && i->device) i->device->ops->close(i->device);
  memset(i, 0, sizeof *i);
}
