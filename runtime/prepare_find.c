/* prepare_find.c -- one question to the tuned databases, asked of every layer. */
#include <stdio.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/layers.h"
#include "runtime/prepare_choose.h"

rgt_status rgt__prepare_key(rgt_op *op, int64_t bucket, rgt__where at, rgt__op_key *key) {
  rgt_status status = rgt__op_key_make(op, bucket, op->options.skew, RGT_POLICY_WARM, key, &op->ctx->error);
  if (status != RGT_OK) return status;
  if (at.policy) snprintf(key->policy, sizeof key->policy, "%s", at.policy);
  if (at.device_class) key->place.device_class = at.device_class;
  return status;
}

rgt_status rgt__prepare_find(rgt_op *op, int64_t bucket, rgt__where at, const rgt__tunedb_limits *limits, rgt__choice *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt_status status = rgt__prepare_key(op, bucket, at, &key);
  if (status != RGT_OK) return status;
  status = RGT_EMISS;
  for (int i = 0; i < ctx->n_layers && status == RGT_EMISS; i++) {
    if (!ctx->layers[i].db) continue;
    status = rgt__tunedb_find(ctx->layers[i].db, &key.signature, &key.place, limits, &out->found, &ctx->error);
    status = rgt__layers_settle(ctx, i, status);
    out->layer = i;
    out->bucket = bucket;
  }
  return status;
}

rgt_status rgt__prepare_find_nearest(rgt_op *op, int64_t bucket, const rgt__tunedb_limits *limits, rgt__choice *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  int found = 0;
  rgt_status status = rgt__prepare_key(op, bucket, rgt__prepare_here, &key);
  rgt__tunedb_winner *w = rgt__alloc_zero(1, sizeof *w);
  if (!w) return rgt__error_nomem(&ctx->error, sizeof *w);
  for (int i = 0; i < ctx->n_layers && status == RGT_OK; i++) {
    if (!ctx->layers[i].db) continue;
    status = rgt__tunedb_nearest(ctx->layers[i].db, &key.signature, &key.place, limits, w, &ctx->error);
    status = rgt__layers_settle(ctx, i, status);
    if (status == RGT_OK && (!found || w->distance < out->found.distance)) {
      out->found = *w;
      out->layer = i;
      found = 1;
    }
    if (status == RGT_EMISS) status = RGT_OK;
  }
  rgt__free(w);
  out->bucket = bucket;
  return status != RGT_OK ? status : found ? RGT_OK : RGT_EMISS;
}

rgt_status rgt__prepare_buckets(rgt_op *op, rgt__where at, int64_t buckets[RGT_BUCKETS_MAX], int *n) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  uint64_t seen = 0;
  *n = 0;
  rgt_status status = rgt__prepare_key(op, 1, at, &key);
  for (int i = 0; i < ctx->n_layers && status == RGT_OK; i++) {
    int64_t some[RGT_BUCKETS_MAX];
    int n_some = 0;
    if (!ctx->layers[i].db) continue;
    status = rgt__tunedb_buckets(ctx->layers[i].db, &key.signature, &key.place, some, RGT_BUCKETS_MAX, &n_some, &ctx->error);
    status = rgt__layers_settle(ctx, i, status);
    if (status == RGT_EMISS) status = RGT_OK;
    for (int b = 0; b < n_some; b++) seen |= some[b] > 0 ? (uint64_t)rgt__number_bucket(some[b]) : 0;
  }
  for (int b = 0; b < RGT_BUCKETS_MAX; b++)
    if (seen >> b & 1) buckets[(*n)++] = (int64_t)1 << b;
  return status;
}

rgt_status rgt__prepare_find_exact(rgt_op *op, int64_t rows, rgt__where at, const rgt__tunedb_limits *limits,
                                   rgt__choice *out) {
  int64_t buckets[RGT_BUCKETS_MAX], wanted = rgt__number_bucket(rows);
  int n = 0, start = 0;
  out->match = RGT_MATCH_EXACT;
  rgt_status status = rgt__prepare_find(op, wanted, at, limits, out);
  if (status != RGT_EMISS) return status;
  status = rgt__prepare_buckets(op, at, buckets, &n);
  if (status != RGT_OK) return status;
  out->match = RGT_MATCH_BUCKET;
  while (start < n && buckets[start] <= wanted) start++;
  status = RGT_EMISS;
  for (int i = start; i < n && status == RGT_EMISS; i++) status = rgt__prepare_find(op, buckets[i], at, limits, out);
  for (int i = start - 1; i >= 0 && status == RGT_EMISS; i--)
    if (buckets[i] != wanted) status = rgt__prepare_find(op, buckets[i], at, limits, out);
  return status;
}
