/* prepare_choose.c -- which variant answers for a number of rows: the tuned bucket that holds them, else the nearest shape,
 * else the default; and which numeric class a batch-invariant op keeps to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/bundle.h"

static rgt_status find(rgt_op *op, int64_t bucket, int nearest, const rgt__tunedb_limits *limits, rgt__tunedb_winner *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  rgt_status status = rgt__context_db(ctx, &db);
  if (status == RGT_OK) status = rgt__op_key_make(op, bucket, op->options.skew, RGT_POLICY_WARM, &key, &ctx->error);
  if (status != RGT_OK) return status;
  return nearest ? rgt__tunedb_nearest(db, &key.signature, &key.place, limits, out, &ctx->error)
                 : rgt__tunedb_find(db, &key.signature, &key.place, limits, out, &ctx->error);
}

static rgt_status tuned_buckets(rgt_op *op, int64_t buckets[RGT_BUCKETS_MAX], int *n) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  *n = 0;
  rgt_status status = rgt__context_db(ctx, &db);
  if (status == RGT_OK) status = rgt__op_key_make(op, 1, op->options.skew, RGT_POLICY_WARM, &key, &ctx->error);
  if (status != RGT_OK) return status;
  return rgt__tunedb_buckets(db, &key.signature, &key.place, buckets, RGT_BUCKETS_MAX, n, &ctx->error);
}

static rgt_layer_kind layer_of(const rgt_ctx *ctx) {
  return strcmp(rgt__tunedb_path(ctx->db), ":memory:") == 0 ? RGT_FROM_MEMORY : RGT_FROM_USER_DB;
}

/* The smallest tuned bucket that holds the rows, else the largest. */
static rgt_status choose_exact(rgt_op *op, int64_t rows, const rgt__tunedb_limits *limits, rgt__choice *out) {
  int64_t buckets[RGT_BUCKETS_MAX], wanted = rgt__number_bucket(rows);
  int n = 0;
  rgt_status status = tuned_buckets(op, buckets, &n);
  if (status != RGT_OK) return status;
  int start = 0;
  while (start < n && buckets[start] < wanted) start++;
  for (int i = start; i < n; i++) {
    out->bucket = buckets[i];
    status = find(op, buckets[i], 0, limits, &out->found);
    if (status != RGT_EMISS) return status;
  }
  for (int i = start - 1; i >= 0; i--) {
    out->bucket = buckets[i];
    status = find(op, buckets[i], 0, limits, &out->found);
    if (status != RGT_EMISS) return status;
  }
  return RGT_EMISS;
}

rgt_status rgt__prepare_choose(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out) {
  rgt__tunedb_limits limits;
  memset(out, 0, sizeof *out);
  out->from = RGT_FROM_DEFAULT;
  out->bucket = rgt__number_bucket(rows);
  if (op->ctx->mode == RGT_MODE_OFF) return RGT_OK;
  int no_class = numeric_class && !numeric_class[0];
  rgt__op_limits(op, &limits);
  limits.numeric_class = numeric_class;
  rgt_status status = no_class ? RGT_EMISS : choose_exact(op, rows, &limits, out);
  if (status == RGT_EMISS) {
    status = rgt__bundle_choose(op, rows, out); /* measured for this op, if elsewhere: before what was for another one */
    if (status != RGT_EMISS) return status;
  }
  if (status == RGT_EMISS && !no_class) {
    out->bucket = rgt__number_bucket(rows);
    status = find(op, out->bucket, 1, &limits, &out->found);
    out->found.exact = 0;
  }
  if (status == RGT_EMISS) {
    memset(out, 0, sizeof *out);
    out->from = RGT_FROM_DEFAULT;
    out->bucket = rgt__number_bucket(rows);
    return RGT_OK;
  }
  if (status == RGT_OK) out->from = layer_of(op->ctx);
  return status;
}

/* ---- batch invariance: one numeric class for all buckets ---- */

typedef struct class_score {
  char name[64];
  double log_ratio;
} class_score;

rgt_status rgt__prepare_class(rgt_op *op, char *name, size_t size) {
  int64_t buckets[RGT_BUCKETS_MAX];
  class_score scores[RGT_BUCKETS_MAX + 1];
  int n = 0, n_scores = 0;
  rgt__tunedb_limits limits;
  rgt__tunedb_winner winner;
  name[0] = 0;
  rgt_status status = tuned_buckets(op, buckets, &n);
  rgt__op_limits(op, &limits);
  for (int i = 0; i < n && status == RGT_OK; i++) { /* the classes that win anywhere are the candidates */
    status = find(op, buckets[i], 0, &limits, &winner);
    if (status == RGT_EMISS)
      status = RGT_OK;
    else if (status == RGT_OK) {
      int known = 0;
      for (int c = 0; c < n_scores; c++) known |= strcmp(scores[c].name, winner.winner.numeric_class) == 0;
      if (!known) snprintf(scores[n_scores++].name, sizeof scores[0].name, "%s", winner.winner.numeric_class);
    }
  }
  double least = INFINITY;
  for (int c = 0; c < n_scores && status == RGT_OK; c++) {
    scores[c].log_ratio = 0;
    limits.numeric_class = scores[c].name;
    for (int i = 0; i < n && status == RGT_OK; i++) {
      status = find(op, buckets[i], 0, &limits, &winner);
      if (status == RGT_EMISS) {
        scores[c].log_ratio = INFINITY;
        status = RGT_OK;
      } else if (status == RGT_OK) {
        scores[c].log_ratio += log((double)winner.winner.ratio_ppm);
      }
    }
    if (scores[c].log_ratio < least) {
      least = scores[c].log_ratio;
      snprintf(name, size, "%s", scores[c].name);
    }
  }
  return status;
}

/* ---- the default variant ---- */

rgt_status rgt__prepare_default(rgt_op *op, const char *device, rgt__variant *out) {
  rgt__families *families = NULL;
  char text[RGT_OP_TEXT_MAX] = "";
  rgt_status status = rgt__context_families(op->ctx, &families);
  if (status != RGT_OK) return status;
  for (int i = 0; i < rgt__families_count(families); i++) { /* sorted by rank: the first that fits is the default */
    const rgt__family *f = rgt__families_at(families, i);
    if (strcmp(f->device, device) == 0 && rgt__family_fits(f, &op->desc)) {
      rgt__variant_default(f, out);
      return RGT_OK;
    }
  }
  rgt__op_format(&op->desc, text, NULL);
  return rgt__error_set(&op->ctx->error, RGT_ETEMPLATE, "no family of %s/%s does %s (dtype %s)",
                        op->ctx->template_dir[0] ? op->ctx->template_dir : "templates", device, text,
                        rgt__op_dtype_word(op->desc.dtype));
}
