/* mem_front.c -- memory of a context's device, for callers of ragtune.h. */
#include "runtime/context.h"

rgt_status rgt_mem_alloc(rgt_ctx *ctx, size_t bytes, void **p) {
  return ctx->device->ops->mem_alloc(ctx->device, bytes, p, &ctx->error);
}

void rgt_mem_free(rgt_ctx *ctx, void *p) {
  ctx->device->ops->mem_free(ctx->device, p);
}

rgt_status rgt_mem_write(rgt_ctx *ctx, void *to, const void *from_host, size_t bytes) {
  return ctx->device->ops->mem_write(ctx->device, to, from_host, bytes, &ctx->error);
}

rgt_status rgt_mem_read(rgt_ctx *ctx, void *to_host, const void *from, size_t bytes) {
  return ctx->device->ops->mem_read(ctx->device, to_host, from, bytes, &ctx->error);
}
