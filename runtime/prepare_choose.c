/* prepare_choose.c -- which variant answers for a number of rows: the tuned bucket that holds them, else the nearest
 * number of threads, else the nearest shape, else the default; and which numeric class a batch-invariant op keeps to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/bundle.h"

/* What the database is asked with; policy NULL: the device's own. */
static rgt_status make_key(rgt_op *op, int64_t bucket, const char *policy, rgt__tunedb **db, rgt__op_key *key) {
  rgt_status status = rgt__context_db(op->ctx, db);
  if (status == RGT_OK) status = rgt__op_key_make(op, bucket, op->options.skew, RGT_POLICY_WARM, key, &op->ctx->error);
  if (status == RGT_OK && policy) snprintf(key->policy, sizeof key->policy, "%s", policy);
  return status;
}

static rgt_status find(rgt_op *op, int64_t bucket, const char *policy, const rgt__tunedb_limits *limits,
                       rgt__tunedb_winner *out) {
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  rgt_status status = make_key(op, bucket, policy, &db, &key);
  return status == RGT_OK ? rgt__tunedb_find(db, &key.signature, &key.place, limits, out, &op->ctx->error) : status;
}

static rgt_status find_nearest(rgt_op *op, int64_t bucket, const rgt__tunedb_limits *limits, rgt__tunedb_winner *out) {
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  rgt_status status = make_key(op, bucket, NULL, &db, &key);
  return status == RGT_OK ? rgt__tunedb_nearest(db, &key.signature, &key.place, limits, out, &op->ctx->error) : status;
}

static rgt_status tuned_buckets(rgt_op *op, const char *policy, int64_t buckets[RGT_BUCKETS_MAX], int *n) {
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  *n = 0;
  rgt_status status = make_key(op, 1, policy, &db, &key);
  if (status != RGT_OK) return status;
  return rgt__tunedb_buckets(db, &key.signature, &key.place, buckets, RGT_BUCKETS_MAX, n, &op->ctx->error);
}

static rgt_layer_kind layer_of(const rgt_ctx *ctx) {
  return strcmp(rgt__tunedb_path(ctx->db), ":memory:") == 0 ? RGT_FROM_MEMORY : RGT_FROM_USER_DB;
}

/* The smallest tuned bucket that holds the rows, else the largest. */
static rgt_status choose_exact(rgt_op *op, int64_t rows, const char *policy, const rgt__tunedb_limits *limits,
                               rgt__choice *out) {
  int64_t buckets[RGT_BUCKETS_MAX], wanted = rgt__number_bucket(rows);
  int n = 0;
  rgt_status status = tuned_buckets(op, policy, buckets, &n);
  if (status != RGT_OK) return status;
  int start = 0;
  while (start < n && buckets[start] < wanted) start++;
  for (int i = start; i < n; i++) {
    out->bucket = buckets[i];
    status = find(op, buckets[i], policy, limits, &out->found);
    if (status != RGT_EMISS) return status;
  }
  for (int i = start - 1; i >= 0; i--) {
    out->bucket = buckets[i];
    status = find(op, buckets[i], policy, limits, &out->found);
    if (status != RGT_EMISS) return status;
  }
  return RGT_EMISS;
}

/* "warm:stream:threads=8" to 8, where all before the number is the same as in `own`. */
static int threads_of(const char *policy, const char *own) {
  const char *at = strrchr(own, '=');
  size_t n = at ? (size_t)(at - own) + 1 : 0;
  return n && strncmp(policy, own, n) == 0 ? atoi(policy + n) : 0;
}

/* The same signature on the same device class, tuned with another number of threads: the nearest one by its logarithm, of two
 * the smaller. */
static rgt_status choose_threads(rgt_op *op, int64_t rows, const rgt__tunedb_limits *limits, rgt__choice *out) {
  enum { POLICIES_MAX = 64 };
  rgt__tunedb_policy *policies = NULL;
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  int n = 0, own = op->ctx->device->info.n_threads;
  rgt_status status = own > 0 ? make_key(op, 1, NULL, &db, &key) : RGT_EMISS;
  if (status != RGT_OK) return status;
  policies = rgt__alloc(POLICIES_MAX * sizeof *policies);
  if (!policies) return rgt__error_nomem(&op->ctx->error, POLICIES_MAX * sizeof *policies);
  status = rgt__tunedb_policies(db, &key.signature, &key.place, policies, POLICIES_MAX, &n, &op->ctx->error);
  int found = 0;
  while (status == RGT_OK && !found) { /* nearest first, until one has what the limits admit */
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
      int threads = threads_of(policies[i], key.policy);
      double distance = threads > 0 && threads != own ? fabs(log2((double)threads / own)) : INFINITY;
      if (distance < least || (distance == least && best >= 0 && threads < threads_of(policies[best], key.policy))) {
        least = distance;
        best = i;
      }
    }
    if (best < 0) status = RGT_EMISS;
    if (best < 0) break;
    status = choose_exact(op, rows, policies[best], limits, out);
    found = status == RGT_OK;
    if (found) out->threads = threads_of(policies[best], key.policy);
    if (status == RGT_EMISS) status = RGT_OK;
    policies[best][0] = 0;
  }
  rgt__free(policies);
  if (found) out->found.exact = 0;
  return status;
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
  rgt_status status = no_class ? RGT_EMISS : choose_exact(op, rows, NULL, &limits, out);
  if (status == RGT_EMISS && !no_class) status = choose_threads(op, rows, &limits, out);
  if (status == RGT_EMISS) {
    status = rgt__bundle_choose(op, rows, out); /* measured for this op, if elsewhere: before what was for another one */
    if (status != RGT_EMISS) return status;
  }
  if (status == RGT_EMISS && !no_class) {
    out->bucket = rgt__number_bucket(rows);
    status = find_nearest(op, out->bucket, &limits, &out->found);
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
  rgt_status status = tuned_buckets(op, NULL, buckets, &n);
  rgt__op_limits(op, &limits);
  for (int i = 0; i < n && status == RGT_OK; i++) { /* the classes that win anywhere are the candidates */
    status = find(op, buckets[i], NULL, &limits, &winner);
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
      status = find(op, buckets[i], NULL, &limits, &winner);
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
