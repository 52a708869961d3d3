/* prepare_choose.c -- which variant answers for a number of rows, from which layer and how exact: a pin; the tuned bucket that
 * holds the rows; the nearest number of threads; the bundle; the nearest shape; the nearest device; the default.
 *
 * Every step asks all layers before the next step begins, so that an exact answer of the last layer goes before a near one of
 * the first.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/bundle.h"
#include "runtime/layers.h"
#include "runtime/prepare_choose.h"

static rgt_status choose_threads(rgt_op *op, int64_t rows, const rgt__tunedb_limits *limits, rgt__choice *out) {
  return op->ctx->device->info.n_threads > 0 ? rgt__prepare_find_elsewhere(op, rows, 0, limits, out) : RGT_EMISS;
}

static rgt_status choose_nearest(rgt_op *op, int64_t rows, const rgt__tunedb_limits *limits, rgt__choice *out) {
  rgt_status status = rgt__prepare_find_nearest(op, rgt__number_bucket(rows), limits, out);
  out->match = RGT_MATCH_SHAPE;
  out->found.exact = 0;
  return status;
}

static void choose_default(int64_t rows, rgt__choice *out) {
  memset(out, 0, sizeof *out);
  out->from = RGT_FROM_DEFAULT;
  out->bucket = rgt__number_bucket(rows);
}

static rgt_status choose_measured(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out) {
  rgt__tunedb_limits limits;
  int no_class = numeric_class && !numeric_class[0];
  rgt__op_limits(op, &limits);
  limits.numeric_class = numeric_class;
  rgt_status status = no_class ? RGT_EMISS : rgt__prepare_find_exact(op, rows, rgt__prepare_here, &limits, out);
  if (status == RGT_EMISS && !no_class) status = choose_threads(op, rows, &limits, out);
  if (status == RGT_EMISS) {
    choose_default(rows, out);
    status = rgt__bundle_choose(op, rows, out); /* measured for this op, if elsewhere: before what was for another one */
    if (status != RGT_EMISS) return status;
  }
  if (status == RGT_EMISS && !no_class) status = choose_nearest(op, rows, &limits, out);
  if (status == RGT_EMISS && !no_class) status = rgt__prepare_find_elsewhere(op, rows, 1, &limits, out);
  if (status == RGT_OK) out->from = op->ctx->layers[out->layer].kind;
  if (status != RGT_EMISS) return status;
  choose_default(rows, out);
  return RGT_OK;
}

rgt_status rgt__prepare_choose(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out) {
  choose_default(rows, out);
  if (op->ctx->mode == RGT_MODE_OFF) return RGT_OK;
  rgt_status status = rgt__layers_open(op->ctx);
  if (status == RGT_OK) status = choose_measured(op, rows, numeric_class, out);
  return status == RGT_OK ? rgt__prepare_pin(op, rows, numeric_class, out) : status;
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
  name[0] = 0;
  rgt__choice *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(&op->ctx->error, sizeof *c);
  const rgt__tunedb_standing *winner = &c->found.winner;
  rgt_status status = rgt__layers_open(op->ctx);
  if (status == RGT_OK) status = rgt__prepare_buckets(op, rgt__prepare_here, buckets, &n);
  rgt__op_limits(op, &limits);
  for (int i = 0; i < n && status == RGT_OK; i++) { /* the classes that win anywhere are the candidates */
    status = rgt__prepare_find(op, buckets[i], rgt__prepare_here, &limits, c);
    if (status == RGT_EMISS)
      status = RGT_OK;
    else if (status == RGT_OK) {
      int known = 0;
      for (int k = 0; k < n_scores; k++) known |= strcmp(scores[k].name, winner->numeric_class) == 0;
      if (!known) snprintf(scores[n_scores++].name, sizeof scores[0].name, "%s", winner->numeric_class);
    }
  }
  double least = INFINITY;
  for (int k = 0; k < n_scores && status == RGT_OK; k++) {
    scores[k].log_ratio = 0;
    limits.numeric_class = scores[k].name;
    for (int i = 0; i < n && status == RGT_OK; i++) {
      status = rgt__prepare_find(op, buckets[i], rgt__prepare_here, &limits, c);
      if (status == RGT_EMISS) {
        scores[k].log_ratio = INFINITY;
        status = RGT_OK;
      } else if (status == RGT_OK) {
        scores[k].log_ratio += log((double)winner->ratio_ppm);
      }
    }
    if (scores[k].log_ratio < least) {
      least = scores[k].log_ratio;
      snprintf(name, size, "%s", scores[k].name);
    }
  }
  rgt__free(c);
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
