/* db_wish.c -- rgt_db_pin, rgt_db_ban and what goes with them: a person's wishes, checked before they are stored. */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/prepare.h"
#include "runtime/wishes.h"

static rgt_status parse(rgt_ctx *ctx, const char *text, rgt__variant *v) {
  rgt__families *families = NULL;
  if (!ctx->device)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "the context could not be opened; close it and open another");
  if (!text) return rgt__error_null(&ctx->error, "variant");
  rgt_status status = rgt__context_families(ctx, &families);
  return status == RGT_OK ? rgt__variant_parse(families, ctx->device->ops->kind, text, v, &ctx->error) : status;
}

/* One line of text, as it will be printed. */
static rgt_status check_reason(rgt_ctx *ctx, const char *reason) {
  if (reason && strpbrk(reason, "\n\r"))
    return rgt__error_set(&ctx->error, RGT_EINVAL, "reason has more than one line; it can be one line of text");
  return RGT_OK;
}

static rgt__tunedb_wish make_wish(const rgt_ctx *ctx, const rgt__variant *v, char params[RGT_VARIANT_TEXT_MAX],
                                  const char *reason) {
  rgt__variant_params_format(v, params);
  return (rgt__tunedb_wish){.device_class = ctx->device->info.class_text,
                            .variant = {v->family->name, v->family->revision, params},
                            .reason = reason ? reason : ""};
}

/* ---- pins ---- */

/* A handle without a skew pins for every one of them: the signature says so, and no trial ever has it. */
static rgt_status make_key(rgt_op *op, int64_t rows, rgt__op_key *key) {
  rgt__error *err = &op->ctx->error;
  rgt_status status = rgt__op_rows_check(op, "rows", rows);
  if (status != RGT_OK) return status;
  status = rgt__op_key_make(op, rgt__number_bucket(rows), op->options.skew, RGT_POLICY_WARM, key, err);
  rgt__signature s = {.op = op->desc,
                      .bucket = rgt__number_bucket(rows),
                      .skew = op->options.skew,
                      .form = op->options.weight_form,
                      .align_bytes = op->options.align_bytes,
                      .order = op->options.order};
  return status == RGT_OK ? rgt__signature_format(&s, key->text, err) : status;
}

/* What it would be refused for at its first use, said now. */
static rgt_status check_pin(rgt_op *op, const rgt__variant *v, const char *text) {
  rgt_ctx *ctx = op->ctx;
  rgt__error *err = &ctx->error;
  rgt__numeric numeric;
  char op_text[RGT_OP_TEXT_MAX] = "";
  rgt__op_format(&op->desc, op_text, NULL);
  if (!rgt__family_fits(v->family, &op->desc))
    return rgt__error_set(err, RGT_EINVAL, "variant \"%s\": its family does not do %s", text, op_text);
  rgt__error why = {""};
  rgt_status status = rgt__variant_check(ctx->families, v, &op->desc, &ctx->device->info.target, &why);
  if (status == RGT_EINFEASIBLE)
    return rgt__error_set(err, RGT_EINVAL, "variant \"%s\": not for %s: %.150s", text, op_text, why.text);
  if (status != RGT_OK) return rgt__error_set(err, status, "%s", why.text);
  status = rgt__variant_numeric(ctx->families, v, &op->desc, &numeric, err);
  if (status != RGT_OK) return status;
  if (!rgt__numeric_admits(&numeric, op->desc.dtype, op->options.max_error))
    return rgt__error_set(err, RGT_EINVAL, "variant \"%s\": the error budget of this handle does not admit it (max_error %g)",
                          text, op->options.max_error);
  status = rgt__wishes_load(op);
  return status == RGT_OK ? rgt__wishes_refuse(op, v, err) : status;
}

rgt_status rgt_db_pin(rgt_op *op, int64_t rows, const char *variant, const char *reason) {
  rgt_ctx *ctx = op->ctx;
  rgt__variant v;
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  char params[RGT_VARIANT_TEXT_MAX];
  rgt_status status = make_key(op, rows, &key);
  if (status == RGT_OK) status = check_reason(ctx, reason);
  if (status == RGT_OK) status = parse(ctx, variant, &v);
  if (status == RGT_OK) status = check_pin(op, &v, variant);
  if (status == RGT_OK) status = rgt__context_db(ctx, &db);
  if (status != RGT_OK) return status;
  rgt__tunedb_wish wish = make_wish(ctx, &v, params, reason);
  wish.signature = key.signature;
  return rgt__tunedb_pin(db, &wish, &ctx->error);
}

rgt_status rgt_db_unpin(rgt_op *op, int64_t rows) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  rgt_status status = make_key(op, rows, &key);
  if (status == RGT_OK) status = rgt__context_db(ctx, &db);
  if (status != RGT_OK) return status;
  rgt__tunedb_wish wish = {.signature = key.signature, .device_class = ctx->device->info.class_text, .reason = ""};
  status = rgt__tunedb_unpin(db, &wish, &ctx->error);
  return status == RGT_EMISS
             ? rgt__error_set(&ctx->error, status, "nothing is pinned for %s in %s", key.text, rgt__tunedb_path(db))
             : status;
}

/* ---- bans ---- */

static rgt_status open_ban(rgt_ctx *ctx, const char *variant, rgt__variant *v, rgt__tunedb **db) {
  rgt_status status = parse(ctx, variant, v);
  return status == RGT_OK ? rgt__context_db(ctx, db) : status;
}

rgt_status rgt_db_ban(rgt_ctx *ctx, const char *variant, const char *reason) {
  rgt__variant v;
  rgt__tunedb *db = NULL;
  char params[RGT_VARIANT_TEXT_MAX];
  rgt_status status = check_reason(ctx, reason);
  if (status == RGT_OK) status = open_ban(ctx, variant, &v, &db);
  if (status == RGT_OK && rgt__wishes_is_default(ctx, &v))
    status = rgt__error_set(&ctx->error, RGT_EINVAL,
                            "variant \"%s\" is the default of device %s, which everything is measured against; it cannot be "
                            "banned",
                            variant, ctx->device->ops->kind);
  if (status != RGT_OK) return status;
  rgt__tunedb_wish wish = make_wish(ctx, &v, params, reason);
  return rgt__tunedb_ban(db, &wish, &ctx->error);
}

rgt_status rgt_db_unban(rgt_ctx *ctx, const char *variant) {
  rgt__variant v;
  rgt__tunedb *db = NULL;
  char params[RGT_VARIANT_TEXT_MAX];
  rgt_status status = open_ban(ctx, variant, &v, &db);
  if (status != RGT_OK) return status;
  rgt__tunedb_wish wish = make_wish(ctx, &v, params, NULL);
  status = rgt__tunedb_unban(db, &wish, &ctx->error);
  return status == RGT_EMISS
             ? rgt__error_set(&ctx->error, status, "variant \"%s\" is not banned in %s", variant, rgt__tunedb_path(db))
             : status;
}

/* ---- lists ---- */

typedef struct listing {
  rgt_db_wish_fn fn;
  void *user;
  int stopped;
} listing;

static int list_one(void *user, const rgt__tunedb_wish *w) {
  listing *l = user;
  char variant[RGT_VARIANT_TEXT_MAX];
  rgt__context_variant_join(w->variant.family, w->variant.params, variant);
  rgt_db_wish wish = {w->signature.text ? w->signature.text : "", w->device_class, variant, w->reason, w->made_utc_s};
  return l->stopped = l->fn(l->user, &wish);
}

static rgt_status list(rgt_ctx *ctx, int pins, rgt_db_wish_fn fn, void *user) {
  rgt__tunedb *db = NULL;
  listing l = {.fn = fn, .user = user};
  rgt_status status = fn ? rgt__context_db(ctx, &db) : rgt__error_null(&ctx->error, "fn");
  if (status == RGT_OK)
    status = pins ? rgt__tunedb_pins(db, NULL, NULL, list_one, &l, &ctx->error)
                  : rgt__tunedb_bans(db, NULL, list_one, &l, &ctx->error);
  return status == RGT_OK && l.stopped ? rgt__error_set(&ctx->error, RGT_EINTERRUPTED, "stopped on request") : status;
}

rgt_status rgt_db_pins(rgt_ctx *ctx, rgt_db_wish_fn fn, void *user) {
  return list(ctx, 1, fn, user);
}

rgt_status rgt_db_bans(rgt_ctx *ctx, rgt_db_wish_fn fn, void *user) {
  return list(ctx, 0, fn, user);
}
