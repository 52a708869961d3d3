/* mem_front.c -- memory of a context's device, for callers of ragtune.h. */
#include "runtime/context.h"

/* A context that failed to open has no device. */
static rgt_status check(rgt_ctx *ctx, int has_pointers) {
  if (!ctx->device)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "the context could not be opened; close it and open another");
  return has_pointers ? RGT_OK : rgt__error_set(&ctx->error, RGT_EINVAL, "a pointer is NULL; the call needs it");
}

rgt_status rgt_mem_alloc(rgt_ctx *ctx, size_t bytes, void **p) {
  rgt_status status = check(ctx, p != NULL);
  return status == RGT_OK ? ctx->device->ops->mem_alloc(ctx->device, bytes, p, &ctx->error) : status;
}

void rgt_mem_free(rgt_ctx *ctx, void *p) {
  if (ctx->device) ctx->device->ops->mem_free(ctx->device, p);
}

rgt_status rgt_mem_write(rgt_ctx *ctx, void *to, const void *from_host, size_t bytes) {
  rgt_status status = check(ctx, bytes == 0 || (to && from_host));
  return status == RGT_OK ? ctx->device->ops->mem_write(ctx->device, to, from_host, bytes, &ctx->error) : status;
}

rgt_status rgt_mem_read(rgt_ctx *ctx, void *to_host, const void *from, size_t bytes) {
  rgt_status status = check(ctx, bytes == 0 || (to_host && from));
  return status == RGT_OK ? ctx->device->ops->mem_read(ctx->device, to_host, from, bytes, &ctx->error) : status;
}
