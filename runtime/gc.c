/* gc.c -- rgt_cache_gc, and the quota of the code cache kept without it. */
#include "runtime/gc.h"

#include <string.h>

int rgt__gc_offer(rgt__gc *g, const char *path, int64_t bytes, const char *why) {
  rgt_gc_item item = {path, why, bytes};
  if (g->fn && g->fn(g->user, &item)) {
    g->stopped = 1;
    return 0;
  }
  g->total.n_removed++;
  g->total.removed_bytes += bytes;
  return !g->dry_run;
}

rgt_status rgt_cache_gc(rgt_ctx *ctx, int dry_run, rgt_gc_fn fn, void *user, rgt_gc_total *total) {
  rgt__gc g = {.dry_run = dry_run, .fn = fn, .user = user, .total = {.struct_size = sizeof g.total, .quota_bytes = -1}};
  const char *scratch = rgt__environment_get(&ctx->env, RGT_ENV_TMPDIR);
  if (total && total->struct_size != sizeof *total)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "rgt_gc_total.struct_size is %zu; this library's is %zu", total->struct_size,
                          sizeof *total);
  if (!ctx->device || !ctx->cache)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "the context could not be opened; close it and open another");
  rgt__tunedb *db = NULL; /* without it nobody knows whose code to keep */
  rgt_status status = rgt__context_own_db(ctx, "removed", &db);
  if (status == RGT_OK) status = rgt__cache_sweep(&g, ctx->cache, ctx->quota_bytes, 0, rgt__cache_pins, ctx, &ctx->error);
  if (status == RGT_OK && !g.stopped) rgt__gc_scratch(&g, scratch ? scratch : "/tmp");
  if (status == RGT_OK && !g.stopped && scratch && strcmp(scratch, "/tmp") != 0) rgt__gc_scratch(&g, "/tmp");
  if (status == RGT_OK && !g.stopped) rgt__gc_database(&g, ctx->db_path);
  if (status == RGT_OK && !g.stopped && ctx->bundle_folder[0]) rgt__gc_bundle(&g, ctx->bundle_folder);
  if (status == RGT_OK && g.stopped) status = rgt__error_set(&ctx->error, RGT_EINTERRUPTED, "stopped on request");
  if (total && status == RGT_OK) *total = g.total;
  return status;
}

/* Looking at every file takes a millisecond for a hundred entries: not after each, but where a lot was added, and at the end.
 */
void rgt__gc_keep_quota(rgt_ctx *ctx, int at_end) {
  rgt__gc g = {.dry_run = 0};
  if (!ctx->cache || !ctx->device || ctx->quota_bytes < 0) return;
  ctx->cache_added += rgt__code_cache_added(ctx->cache);
  if (ctx->cache_added <= (at_end ? 0 : ctx->quota_bytes / 16)) return;
  ctx->cache_added = 0;
  rgt__tunedb *db = NULL;
  rgt__error kept = ctx->error; /* what the call that ends now has to say */
  if (rgt__context_own_db(ctx, "removed", &db) == RGT_OK)
    rgt__cache_sweep(&g, ctx->cache, ctx->quota_bytes, 1, rgt__cache_pins, ctx, NULL);
  ctx->error = kept;
}
