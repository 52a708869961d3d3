/* op_handle.c -- op handles and weight handles. */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/builtin.h"
#include "runtime/context.h"
#include "runtime/prepare.h"
#include "runtime/wishes.h"

static rgt_status check_options(rgt_ctx *ctx, const rgt_op_desc *desc, rgt_op_options *o) {
  rgt__error *err = &ctx->error;
  int elem = (int)rgt__number_bytes(desc->dtype);
  if ((unsigned)o->skew > RGT_SKEW_ONE)
    return rgt__error_set(err, RGT_EINVAL, "skew is %d; it can be unknown, uniform, zipf or one", (int)o->skew);
  if ((unsigned)o->weight_form > RGT_POINTERS)
    return rgt__error_set(err, RGT_EINVAL, "weight_form is %d; it can be stacked or pointers", (int)o->weight_form);
  if ((unsigned)o->order > RGT_ORDER_OFFSETS)
    return rgt__error_set(err, RGT_EINVAL, "order is %d; it can be raw, sorted or offsets", (int)o->order);
  if (o->align_bytes == 0) o->align_bytes = elem;
  if (o->align_bytes < elem || o->align_bytes > 16 || (o->align_bytes & (o->align_bytes - 1)))
    return rgt__error_set(err, RGT_EINVAL, "align_bytes is %d; it can be a power of two from %d to 16", o->align_bytes, elem);
  if (!(o->max_error >= 0 && o->max_error < 1))
    return rgt__error_set(err, RGT_EINVAL, "max_error is %g; it can be 0 (the default) or below 1", o->max_error);
  return RGT_OK;
}

/* What a leading dimension or stride of 0 stands for. */
static void fill_packed(rgt_op *op) {
  const rgt_op_desc *d = &op->desc;
  int64_t mid = d->kind == RGT_MLP ? d->n_hidden : d->n_out;
  op->packed_w1_ld = d->layout == RGT_NK ? d->n_in : mid;
  op->packed_w1_stride = d->layout == RGT_NK ? mid : d->n_in;
  op->packed_w2_ld = d->layout == RGT_NK ? d->n_hidden : d->n_out;
  op->packed_w2_stride = d->layout == RGT_NK ? d->n_out : d->n_hidden;
}

rgt_status rgt_op_new(rgt_ctx *ctx, const rgt_op_desc *desc, const rgt_op_options *options, rgt_op **out) {
  rgt_op_options o = {.struct_size = sizeof o};
  if (!ctx->device)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "the context could not be opened; close it and open another");
  if (!desc || !out) return rgt__error_null(&ctx->error, desc ? "op" : "desc");
  if (desc->struct_size != sizeof *desc)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "rgt_op_desc.struct_size is %zu; this library's is %zu", desc->struct_size,
                          sizeof *desc);
  if (options && options->struct_size != sizeof o)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "rgt_op_options.struct_size is %zu; this library's is %zu",
                          options->struct_size, sizeof o);
  if (options) o = *options;
  rgt_status status = rgt__op_check(desc, &ctx->error);
  if (status == RGT_OK) status = check_options(ctx, desc, &o);
  if (status != RGT_OK) return status;
  rgt_op *op = rgt__alloc_zero(1, sizeof *op);
  if (!op) return rgt__error_nomem(&ctx->error, sizeof *op);
  op->ctx = ctx;
  op->desc = *desc;
  op->options = o;
  op->uses_pointers = o.weight_form == RGT_POINTERS;
  op->comes_by_offsets = o.order == RGT_ORDER_OFFSETS;
  op->elem_shift = desc->dtype == RGT_F32 ? 2 : 1;
  op->index_shift = desc->index_type == RGT_I64 ? 3 : 2;
  fill_packed(op);
  void *errors = NULL;
  status = ctx->device->ops->mem_alloc(ctx->device, 2 * sizeof *op->index_errors, &errors, &ctx->error);
  if (status != RGT_OK) {
    rgt__free(op);
    return status;
  }
  op->index_errors = errors;
  op->counts_are_read = ctx->device->ops->take_counters == NULL;
  op->addresses_seen = ctx->device->ops->reaches == NULL;
  static const rgt_int64 none[2] = {0, INT64_MAX};
  status = ctx->device->ops->mem_write(ctx->device, errors, none, sizeof none, &ctx->error);
  op->next = ctx->ops;
  ctx->ops = op;
  if (status != RGT_OK) {
    rgt_op_free(op);
    return status;
  }
  *out = op;
  return RGT_OK;
}

void rgt_op_free(rgt_op *op) {
  if (!op) return;
  rgt__device *d = op->ctx->device;
  rgt_op **link = &op->ctx->ops;
  while (*link && *link != op) link = &(*link)->next;
  if (*link) *link = op->next;
  rgt__prepare_free(op);
  rgt__wishes_free(op);
  d->ops->mem_free(d, op->index_errors);
  rgt__free(op->hidden);
  rgt__free(op);
}

/* ---- weights ---- */

/* In device memory, where the kernels read it: on the CPU that is a plain copy. */
static rgt_status copy_list(rgt_ctx *ctx, const void *const *list, int64_t groups, const void *const **out) {
  rgt__device *d = ctx->device;
  void *copy = NULL;
  *out = NULL;
  if (!list) return RGT_OK;
  size_t bytes = (size_t)groups * sizeof *list;
  rgt_status status = d->ops->mem_alloc(d, bytes, &copy, &ctx->error);
  if (status == RGT_OK) status = d->ops->mem_write(d, copy, list, bytes, &ctx->error);
  if (status != RGT_OK) {
    d->ops->mem_free(d, copy);
    return status;
  }
  *out = copy;
  return RGT_OK;
}

static rgt_status copy_layer(rgt_ctx *ctx, const rgt_layer *from, int64_t groups, rgt_layer *to) {
  *to = *from;
  to->w_ptrs = to->b_ptrs = NULL; /* the caller's lists are not ours to free */
  rgt_status status = copy_list(ctx, from->w_ptrs, groups, &to->w_ptrs);
  return status == RGT_OK ? copy_list(ctx, from->b_ptrs, groups, &to->b_ptrs) : status;
}

rgt_status rgt_weights_new(rgt_op *op, int64_t groups, const rgt_layer *layer1, const rgt_layer *layer2, rgt_weights **out) {
  rgt_ctx *ctx = op->ctx;
  if (!out) return rgt__error_null(&ctx->error, "weights");
  if (groups < 1 || groups > RGT_COUNT_MAX)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "groups is %lld; it can be 1 to 2147483647", (long long)groups);
  if (!layer1 || (op->desc.kind == RGT_MLP) != (layer2 != NULL))
    return rgt__error_set(&ctx->error, RGT_EINVAL, "a linear op takes one layer, an MLP two; %s is %s",
                          layer1 ? "layer2" : "layer1", layer1 && layer2 ? "one too many" : "missing");
  rgt_status status = rgt__prepare_check_layer(op, layer1, 1);
  if (status == RGT_OK && layer2) status = rgt__prepare_check_layer(op, layer2, 2);
  if (status != RGT_OK) return status;
  rgt_weights *w = rgt__alloc_zero(1, sizeof *w);
  if (!w) return rgt__error_nomem(&ctx->error, sizeof *w);
  w->op = op;
  w->groups = groups;
  status = copy_layer(ctx, layer1, groups, &w->layer1);
  if (status == RGT_OK && layer2) status = copy_layer(ctx, layer2, groups, &w->layer2);
  if (status != RGT_OK) {
    rgt_weights_free(w);
    return status;
  }
  *out = w;
  return RGT_OK;
}

void rgt_weights_free(rgt_weights *w) {
  if (!w) return;
  rgt__device *d = w->op->ctx->device;
  const void *const *lists[] = {w->layer1.w_ptrs, w->layer1.b_ptrs, w->layer2.w_ptrs, w->layer2.b_ptrs};
  for (int i = 0; i < 4; i++) d->ops->mem_free(d, (void *)(uintptr_t)lists[i]);
  rgt__free(w);
}
