/* why.c -- rgt_why: what dispatch would run, from which layer, how exact, and by what margin. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/builtin.h"
#include "runtime/bundle.h"

static void fill_found(const rgt__choice *c, rgt_why_info *info) {
  const rgt__tunedb_standing *w = &c->found.winner, *second = &c->found.runner_up;
  rgt__context_variant_text(w, info->variant);
  snprintf(info->stored_signature, sizeof info->stored_signature, "%s", c->found.signature);
  info->time_ps = w->time_ps;
  info->low_ps = w->low_ps;
  info->high_ps = w->high_ps;
  info->ratio = (double)w->ratio_ppm / 1e6;
  info->n_runs = w->n_runs;
  if (!c->found.has_runner_up) return;
  rgt__context_variant_text(second, info->runner_up);
  if (w->ratio_ppm > 0) info->margin = (double)second->ratio_ppm / (double)w->ratio_ppm - 1;
}

static void fill_note(const rgt_op *op, int64_t rows, const rgt__choice *c, rgt_why_info *info) {
  long long asked = (long long)rows, bucket = (long long)rgt__number_bucket(rows), tuned = (long long)c->bucket;
  if (c->from == RGT_FROM_DEFAULT)
    snprintf(info->note, sizeof info->note, "nothing stored for this op on this device%s: the default variant",
             op->ctx->mode == RGT_MODE_OFF ? " is asked (mode off)" : "");
  else if (c->from == RGT_FROM_BUNDLE)
    snprintf(info->note, sizeof info->note, "%.160s chose it for %lld rows%s%s", op->ctx->bundle_folder, tuned,
             c->found.exact ? "" : " of another signature",
             strcmp(c->found.device_class, op->ctx->device->info.class_text) == 0 ? "" : ", measured on another device");
  else if (!c->found.exact)
    snprintf(info->note, sizeof info->note, "the nearest stored shape of the same kind and bucket");
  else if (tuned == bucket)
    snprintf(info->note, sizeof info->note, "%lld rows fall in the tuned bucket %lld", asked, tuned);
  else
    snprintf(info->note, sizeof info->note, "%lld rows fall in bucket %lld, which is not tuned; %lld is the %s tuned one",
             asked, bucket, tuned, tuned > bucket ? "next larger" : "largest");
}

/* After prepare the answer is what was made ready then, whatever was hoped for. */
static void name_prepared(const rgt_op *op, int64_t rows, rgt_why_info *info) {
  const rgt__ready *ready = op->by_bucket[__builtin_ctzll((unsigned long long)rgt__number_bucket(rows))];
  if (ready && strcmp(ready->variant, info->variant) == 0) return;
  info->from = ready ? info->from : RGT_FROM_BUILTIN;
  snprintf(info->note, sizeof info->note, "%.100s could not be made ready (a warning said why)", info->variant);
  snprintf(info->variant, sizeof info->variant, "%s", ready ? ready->variant : "builtin");
}

rgt_status rgt_why(rgt_op *op, int64_t rows, rgt_why_info *info) {
  rgt_ctx *ctx = op->ctx;
  char class_name[64] = "";
  rgt__op_key key;
  rgt__variant v;
  if (rows < 1 || rows > RGT_COUNT_MAX)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "rows is %lld; it can be 1 to 2147483647", (long long)rows);
  rgt__choice *choice = rgt__alloc_zero(1, sizeof *choice);
  if (!choice) return rgt__error_nomem(&ctx->error, sizeof *choice);
  rgt_why_info out;
  memset(&out, 0, sizeof out);
  rgt_status status =
      op->options.batch_invariant && ctx->mode != RGT_MODE_OFF ? rgt__prepare_class(op, class_name, sizeof class_name) : RGT_OK;
  if (status == RGT_OK) status = rgt__prepare_choose(op, rows, class_name, choice);
  if (status == RGT_OK)
    status = rgt__op_key_make(op, rgt__number_bucket(rows), op->options.skew, RGT_POLICY_WARM, &key, &ctx->error);
  if (status == RGT_OK) {
    out.from = choice->from;
    out.exact = choice->from != RGT_FROM_DEFAULT && choice->found.exact && choice->bucket == rgt__number_bucket(rows);
    snprintf(out.signature, sizeof out.signature, "%s", key.text);
    snprintf(out.device_class, sizeof out.device_class, "%s", ctx->device->info.class_text);
    if (choice->from != RGT_FROM_DEFAULT) fill_found(choice, &out);
    fill_note(op, rows, choice, &out);
  }
  if (status == RGT_OK && choice->from == RGT_FROM_DEFAULT) {
    char stamp[700];
    ctx->device->ops->compiler_stamp(ctx->device, stamp, sizeof stamp);
    status = rgt__prepare_default(op, ctx->device->ops->kind, &v);
    if (status == RGT_OK) rgt__variant_format(&v, out.variant);
    if (status == RGT_OK && !stamp[0] && rgt__builtin_supports(&op->desc) && !rgt__bundle_has(op, &v)) {
      snprintf(out.variant, sizeof out.variant, "builtin");
      out.from = RGT_FROM_BUILTIN;
      snprintf(out.note, sizeof out.note, "no compiler was found: the built-in kernel");
    }
  }
  if (status == RGT_OK && op->prepared && rows <= op->max_rows) name_prepared(op, rows, &out);
  if (status == RGT_OK) *info = out;
  rgt__free(choice);
  return status;
}
