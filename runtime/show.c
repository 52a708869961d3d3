/* show.c -- rgt_show: the source or the code of one variant. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/inspect.h"
#include "runtime/prepare.h"

/* The variant that dispatch would take, if it is to be shown for the context's own device; else the default. */
static rgt_status choose(rgt_op *op, const char *target, int64_t rows, char text[RGT_VARIANT_TEXT_MAX]) {
  rgt__device *device = NULL;
  int owned = 0;
  rgt__variant v;
  rgt_status status = rgt__context_device(op->ctx, target, &device, &owned);
  if (status != RGT_OK) return status;
  if (rows > 0 && !owned) {
    rgt_why_info info = {.struct_size = sizeof info};
    status = rgt_why(op, rows, &info);
    if (status == RGT_OK && strcmp(info.variant, "builtin") != 0) snprintf(text, RGT_VARIANT_TEXT_MAX, "%s", info.variant);
    if (status != RGT_OK || text[0]) return status;
  }
  status = rgt__prepare_default(op, device->ops->kind, &v);
  if (status == RGT_OK) rgt__variant_format(&v, text);
  if (owned) device->ops->close(device);
  return status;
}

static rgt_status emit_code(rgt__inspect *in, rgt__candidate *c, rgt_emit emit, rgt__buffer *out) {
  rgt__compiled compiled;
  rgt__error *err = &in->op->ctx->error;
  int on_cpu = strcmp(in->device->ops->kind, "cpu") == 0;
  if (on_cpu && emit != RGT_EMIT_ASM)
    return rgt__error_set(err, RGT_EINVAL, "emit: the CPU device has source and asm; ptx and cubin need --target sm_XX");
  if (!on_cpu && emit == RGT_EMIT_ASM)
    return rgt__error_set(err, RGT_EUNSUPPORTED,
                          "emit: asm of a cubin is not in this version; ptx is, or use nvdisasm on --emit cubin");
  memset(&compiled, 0, sizeof compiled);
  rgt_status status =
      in->device->ops->compile(in->device, c->source, c->source_bytes, &in->maker.target, on_cpu, &compiled, err);
  if (status == RGT_OK && emit == RGT_EMIT_PTX)
    rgt__buffer_add(out, compiled.ptx, compiled.ptx_bytes);
  else if (status == RGT_OK)
    rgt__buffer_add(out, compiled.code, compiled.code_bytes);
  rgt__compiled_free(&compiled);
  return status;
}

rgt_status rgt_show(rgt_op *op, const char *variant, int64_t rows, const char *target, rgt_emit emit, char **data,
                    size_t *bytes) {
  char text[RGT_VARIANT_TEXT_MAX] = "";
  rgt__inspect in;
  rgt__buffer out = {0};
  rgt__error *err = &op->ctx->error;
  if (!data || !bytes) return rgt__error_null(err, data ? "bytes" : "data");
  if ((unsigned)emit > RGT_EMIT_ASM)
    return rgt__error_set(err, RGT_EINVAL, "emit is %d; it can be source, ptx, cubin or asm", (int)emit);
  if (rows < 0)
    return rgt__error_set(err, RGT_EINVAL, "rows is %lld; it can be 0 (the default variant) or more", (long long)rows);
  rgt__candidate *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  rgt_status status = variant ? RGT_OK : choose(op, target, rows, text);
  memset(&in, 0, sizeof in);
  if (status == RGT_OK) status = rgt__inspect_open(op, target, variant ? variant : text, 0, 0, 0, &in);
  if (status == RGT_OK) status = rgt__candidate_render(&in.maker, &in.space.variants[0], &op->desc, c, err);
  if (status == RGT_OK && c->outcome != RGT_TRIAL_OK)
    status = rgt__error_set(err, RGT_EINVAL, "variant \"%s\": %s", c->text, c->reason);
  if (status == RGT_OK && emit == RGT_EMIT_SOURCE) rgt__buffer_add(&out, c->source, c->source_bytes);
  if (status == RGT_OK && emit != RGT_EMIT_SOURCE) status = emit_code(&in, c, emit, &out);
  if (status == RGT_OK) {
    char *taken = rgt__buffer_take(&out, bytes);
    if (taken)
      *data = taken;
    else
      status = rgt__error_nomem(err, out.size);
  }
  rgt__buffer_free(&out);
  rgt__candidate_free(in.device ? in.device : op->ctx->device, c);
  rgt__free(c);
  rgt__inspect_close(&in);
  return status;
}
