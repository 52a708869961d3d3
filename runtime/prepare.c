/* prepare.c -- rgt_op_prepare: every bucket gets a loaded variant, and the op one workspace. */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/builtin.h"
#include "runtime/bundle.h"
#include "runtime/thread_pool.h"

void rgt__prepare_reset(rgt_op *op) {
  rgt__device *d = op->ctx->device;
  for (int i = 0; i < op->n_ready; i++)
    if (op->ready[i].module) d->ops->unload(d, op->ready[i].module);
  rgt__free(op->ready);
  op->ready = NULL;
  op->n_ready = 0;
  d->ops->mem_free(d, op->workspace);
  op->workspace = NULL;
  op->workspace_bytes = 0;
  op->prepared = 0;
  memset(op->by_bucket, 0, sizeof op->by_bucket);
}

static rgt__ready *loaded_already(rgt_op *op, const char *variant) {
  for (int i = 0; i < op->n_ready; i++)
    if (strcmp(op->ready[i].variant, variant) == 0) return &op->ready[i];
  return NULL;
}

static rgt__ready *new_ready(rgt_op *op) {
  rgt__ready *r = &op->ready[op->n_ready];
  memset(r, 0, sizeof *r);
  r->plan.rows = -1;
  return r;
}

static int on_cpu(const rgt_op *op) {
  return strcmp(op->ctx->device->ops->kind, "cpu") == 0;
}

/* Winner, else runner-up, else default, else (CPU) the built-in kernel: a variant that cannot be used costs speed, not the
 * call. */
static rgt_status ready_for(rgt_op *op, rgt__choice *choice, rgt__ready **out) {
  rgt_ctx *ctx = op->ctx;
  char text[RGT_VARIANT_TEXT_MAX];
  rgt_status status = RGT_EMISS;
  *out = NULL;
  for (int place = 0; place < 2 && choice->from != RGT_FROM_DEFAULT; place++) {
    const rgt__tunedb_standing *s = place ? &choice->found.runner_up : &choice->found.winner;
    if (place && !choice->found.has_runner_up) break;
    rgt__context_variant_text(s, text);
    if ((*out = loaded_already(op, text))) return RGT_OK;
    rgt__ready *r = new_ready(op);
    status = rgt__prepare_load_standing(op, s, r);
    if (status == RGT_OK) {
      op->n_ready++;
      *out = r;
      return RGT_OK;
    }
    if (status == RGT_ENOMEM) break;
    if (status != RGT_ENOCOMPILER) rgt__context_log(ctx, RGT_LOG_WARNING, "%s; not used", ctx->error.text);
  }
  if (status == RGT_ENOMEM) return status;
  rgt__variant v;
  status = rgt__prepare_default(op, ctx->device->ops->kind, &v); /* a bundle may have it also where no compiler is */
  if (status == RGT_OK) {
    rgt__variant_format(&v, text);
    if ((*out = loaded_already(op, text))) return RGT_OK;
    rgt__ready *r = new_ready(op);
    status = rgt__prepare_load_default(op, r);
    if (status == RGT_OK) {
      op->n_ready++;
      *out = r;
      return RGT_OK;
    }
  }
  if (status == RGT_ENOMEM || !on_cpu(op) || !rgt__builtin_supports(&op->desc)) return status;
  rgt__context_log(ctx, RGT_LOG_WARNING, "%s; the built-in kernel is used", ctx->error.text);
  return RGT_OK;
}

static rgt_status need_exact(rgt_op *op, const rgt__choice *choice) {
  char text[RGT_OP_TEXT_MAX] = "";
  if (choice->from != RGT_FROM_DEFAULT && choice->found.exact) return RGT_OK;
  rgt__op_format(&op->desc, text, NULL);
  return rgt__error_set(&op->ctx->error, RGT_EMISS,
                        "nothing tuned is stored for %s at %lld rows on %s; tune it with: ragtune --op %s --rows %lld%s%s%s",
                        text, (long long)choice->bucket, op->ctx->device->info.class_text, text, (long long)choice->bucket,
                        op->uses_pointers ? " --weights pointers" : "", op->options.skew == RGT_SKEW_UNKNOWN ? "" : " --skew ",
                        op->options.skew == RGT_SKEW_UNKNOWN ? "" : rgt__op_skew_word(op->options.skew));
}

static int64_t workspace_for(const rgt_op *op, const rgt__ready *r, int64_t rows) {
  rgt__plan plan;
  rgt__plan_make(&r->program, &op->ctx->device->info, rows, op->desc.groups, &plan);
  return plan.valid ? plan.workspace_bytes : 0;
}

/* Every bucket up to max_rows gets its variant; the workspace is as large as the hungriest of them wants. */
static rgt_status fill_buckets(rgt_op *op, int64_t max_rows, int exact, int64_t *workspace_bytes) {
  char class_name[64] = "";
  rgt__choice *choice = rgt__alloc_zero(1, sizeof *choice);
  if (!choice) return rgt__error_nomem(&op->ctx->error, sizeof *choice);
  rgt_status status = op->options.batch_invariant && op->ctx->mode != RGT_MODE_OFF
                          ? rgt__prepare_class(op, class_name, sizeof class_name)
                          : RGT_OK;
  for (int b = 0; b < RGT_BUCKETS_MAX && status == RGT_OK; b++) {
    int64_t least = b ? ((int64_t)1 << (b - 1)) + 1 : 1, most = (int64_t)1 << b;
    if (least > max_rows) break;
    status = rgt__prepare_choose(op, most, class_name, choice);
    if (status == RGT_OK && exact) status = need_exact(op, choice);
    if (status == RGT_OK) status = ready_for(op, choice, &op->by_bucket[b]);
    if (status != RGT_OK || !op->by_bucket[b]) continue;
    int64_t rows[2] = {least, most < max_rows ? most : max_rows};
    for (int i = 0; i < 2; i++) {
      int64_t bytes = workspace_for(op, op->by_bucket[b], rows[i]);
      if (bytes > *workspace_bytes) *workspace_bytes = bytes;
    }
  }
  rgt__free(choice);
  return status;
}

/* In mode "tune" what is missing is tuned first: every bucket of the default list up to max_rows, and the one that holds
 * max_rows. */
static rgt_status tune_misses(rgt_op *op, int64_t max_rows) {
  int64_t rows[RGT_BUCKETS_MAX];
  rgt_tune_result results[RGT_BUCKETS_MAX];
  int n = 0;
  for (int64_t b = 8; b < rgt__number_bucket(max_rows) && n < RGT_BUCKETS_MAX - 1; b *= 8) rows[n++] = b;
  rows[n++] = rgt__number_bucket(max_rows);
  rgt_tune_options o = {.struct_size = sizeof o, .rows = rows, .n_rows = n, .skew = op->options.skew};
  rgt_status status = rgt_tune(op, &o, results);
  if (status == RGT_ENOCOMPILER || status == RGT_EDB) {
    rgt__context_log(op->ctx, RGT_LOG_WARNING, "%s", op->ctx->error.text);
    return RGT_OK;
  }
  return status;
}

static rgt_status check_max_rows(rgt_op *op, int64_t max_rows) {
  if (max_rows >= 1 && max_rows <= RGT_COUNT_MAX) return RGT_OK;
  return rgt__error_set(&op->ctx->error, RGT_EINVAL, "max_rows is %lld; it can be 1 to 2147483647", (long long)max_rows);
}

static rgt_status begin_prepare(rgt_op *op) {
  rgt__prepare_reset(op);
  op->ready = rgt__alloc_zero(RGT_BUCKETS_MAX, sizeof *op->ready);
  return op->ready ? RGT_OK : rgt__error_nomem(&op->ctx->error, RGT_BUCKETS_MAX * sizeof *op->ready);
}

/* Memory for the calls to come; with a status that is not RGT_OK everything is undone. */
static rgt_status end_prepare(rgt_op *op, int64_t max_rows, int64_t workspace_bytes, rgt_status status) {
  rgt_ctx *ctx = op->ctx;
  if (status == RGT_OK && workspace_bytes > 0)
    status = ctx->device->ops->mem_alloc(ctx->device, (size_t)workspace_bytes, &op->workspace, &ctx->error);
  if (status == RGT_OK && on_cpu(op) && !op->hidden) {
    size_t bytes =
        (size_t)(op->desc.n_hidden ? op->desc.n_hidden : 1) * (size_t)ctx->device->info.n_threads * sizeof *op->hidden;
    op->hidden = rgt__alloc(bytes);
    if (!op->hidden) status = rgt__error_nomem(&ctx->error, bytes);
  }
  if (status != RGT_OK) {
    rgt__prepare_reset(op);
    return status;
  }
  if (on_cpu(op)) rgt__pool_warm(ctx->device->info.n_threads);
  op->workspace_bytes = workspace_bytes;
  op->max_rows = max_rows;
  op->prepared = 1;
  return RGT_OK;
}

rgt_status rgt_op_prepare(rgt_op *op, int64_t max_rows, unsigned flags) {
  rgt_ctx *ctx = op->ctx;
  int64_t workspace_bytes = 0;
  rgt_status status = check_max_rows(op, max_rows);
  if (status != RGT_OK) return status;
  if (flags & ~(unsigned)RGT_PREPARE_EXACT)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "flags is %u; it can be 0 or RGT_PREPARE_EXACT", flags);
  status = ctx->mode == RGT_MODE_TUNE ? tune_misses(op, max_rows) : RGT_OK;
  if (status == RGT_OK) status = begin_prepare(op);
  if (status == RGT_OK)
    status = fill_buckets(op, max_rows, (flags & RGT_PREPARE_EXACT) || ctx->mode == RGT_MODE_REPLAY, &workspace_bytes);
  return end_prepare(op, max_rows, workspace_bytes, status);
}

rgt_status rgt_op_prepare_variant(rgt_op *op, const char *variant, int64_t max_rows) {
  rgt_ctx *ctx = op->ctx;
  rgt__families *families = NULL;
  rgt__variant v;
  int64_t workspace_bytes = 0;
  rgt_status status = check_max_rows(op, max_rows);
  if (status == RGT_OK) status = begin_prepare(op);
  if (status == RGT_OK && strcmp(variant, "builtin") == 0) {
    if (!on_cpu(op) || !rgt__builtin_supports(&op->desc))
      status = rgt__error_set(&ctx->error, RGT_EINVAL, "variant \"builtin\" is the CPU's, for f32");
    return end_prepare(op, max_rows, 0, status);
  }
  if (status == RGT_OK) status = rgt__context_families(ctx, &families);
  if (status == RGT_OK) status = rgt__variant_parse(families, ctx->device->ops->kind, variant, &v, &ctx->error);
  if (status == RGT_OK && !rgt__family_fits(v.family, &op->desc))
    status = rgt__error_set(&ctx->error, RGT_EINVAL, "variant \"%s\": its family does not do this op", variant);
  if (status == RGT_OK) {
    rgt__ready *r = new_ready(op);
    rgt__variant_format(&v, r->variant);
    status = rgt__bundle_load(op, &v, r);
    if (status == RGT_EMISS) status = rgt__prepare_load_compiled(op, &v, NULL, r);
    if (status == RGT_OK) {
      op->n_ready = 1;
      workspace_bytes = workspace_for(op, r, max_rows);
      for (int b = 0; b < RGT_BUCKETS_MAX; b++) op->by_bucket[b] = r;
    }
  }
  return end_prepare(op, max_rows, workspace_bytes, status);
}
