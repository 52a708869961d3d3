/* prepare_choose.c -- which variant answers for a number of rows, from which layer and how exact: a pin; the tuned bucket that
 * holds the rows; the nearest number of threads; the bundle; the nearest shape; the nearest device; the default.
 *
 * Every step asks all layers before the next step begins, so that an exact answer of the last layer goes before a near one of
 * the first.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/bundle.h"
#include "runtime/device_near.h"
#include "runtime/wishes.h"

/* Where the database is asked for; NULL: the device's own. */
typedef struct where {
  const char *device_class, *policy;
} where;

static const where here = {NULL, NULL};

static rgt_status make_key(rgt_op *op, int64_t bucket, where at, rgt__op_key *key) {
  rgt_status status = rgt__op_key_make(op, bucket, op->options.skew, RGT_POLICY_WARM, key, &op->ctx->error);
  if (status != RGT_OK) return status;
  if (at.policy) snprintf(key->policy, sizeof key->policy, "%s", at.policy);
  if (at.device_class) key->place.device_class = at.device_class;
  return status;
}

/* RGT_EMISS where no layer has it. */
static rgt_status find(rgt_op *op, int64_t bucket, where at, const rgt__tunedb_limits *limits, rgt__choice *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt_status status = make_key(op, bucket, at, &key);
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

/* The smallest distance over all layers; of equal ones the earlier layer's. */
static rgt_status find_nearest(rgt_op *op, int64_t bucket, const rgt__tunedb_limits *limits, rgt__choice *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  int found = 0;
  rgt_status status = make_key(op, bucket, here, &key);
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

/* Of all layers, ascending, each once. */
static rgt_status tuned_buckets(rgt_op *op, where at, int64_t buckets[RGT_BUCKETS_MAX], int *n) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  uint64_t seen = 0;
  *n = 0;
  rgt_status status = make_key(op, 1, at, &key);
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

/* The smallest tuned bucket that holds the rows, else the largest. */
static rgt_status choose_exact(rgt_op *op, int64_t rows, where at, const rgt__tunedb_limits *limits, rgt__choice *out) {
  int64_t buckets[RGT_BUCKETS_MAX], wanted = rgt__number_bucket(rows);
  int n = 0, start = 0;
  out->match = RGT_MATCH_EXACT;
  rgt_status status = find(op, wanted, at, limits, out);
  if (status != RGT_EMISS) return status;
  status = tuned_buckets(op, at, buckets, &n);
  if (status != RGT_OK) return status;
  out->match = RGT_MATCH_BUCKET;
  while (start < n && buckets[start] <= wanted) start++;
  status = RGT_EMISS;
  for (int i = start; i < n && status == RGT_EMISS; i++) status = find(op, buckets[i], at, limits, out);
  for (int i = start - 1; i >= 0 && status == RGT_EMISS; i--)
    if (buckets[i] != wanted) status = find(op, buckets[i], at, limits, out);
  return status;
}

/* ---- other numbers of threads, other devices ---- */

/* "warm:stream:threads=8" to 8, where all before the number is the same as in `own`; 0 where it is not. Of a policy without
 * threads the whole must be the same: 1. */
static int threads_of(const char *policy, const char *own) {
  const char *at = strrchr(own, '=');
  size_t n = at ? (size_t)(at - own) + 1 : 0;
  return n && strncmp(policy, own, n) == 0 ? atoi(policy + n) : 0;
}

/* How a time measured there is thought of here: by the devices first, then by their threads, in octaves. Below 0: not at all.
 */
typedef struct place {
  char device_class[256], policy[128];
  double device, threads;
} place;

enum { PLACES_MAX = 64 };

typedef struct places {
  place items[PLACES_MAX];
  int n, n_threads;
  char own_class[256], own_policy[128];
} places;

static int add_place(void *user, const rgt__tunedb_place *p) {
  places *list = user;
  place *to = &list->items[list->n];
  int threads = threads_of(p->policy, list->own_policy), own = list->n_threads;
  if ((own > 0 && threads <= 0) || (own <= 0 && strcmp(p->policy, list->own_policy) != 0)) return 0;
  to->device = rgt__device_near(list->own_class, p->device_class);
  to->threads = own > 0 ? fabs(log2((double)threads / own)) : 0;
  if (to->device < 0) return 0;
  snprintf(to->device_class, sizeof to->device_class, "%s", p->device_class);
  snprintf(to->policy, sizeof to->policy, "%s", p->policy);
  for (int i = 0; i < list->n; i++)
    if (strcmp(list->items[i].device_class, to->device_class) == 0 && strcmp(list->items[i].policy, to->policy) == 0) return 0;
  return ++list->n == PLACES_MAX;
}

/* Nearest first; of two that are as near the one that comes first by text, of numbers of threads the smaller. */
static int compare_places(const void *pa, const void *pb) {
  const place *a = pa, *b = pb;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  int c = strcmp(a->device_class, b->device_class);
  if (c) return c;
  if (a->threads != b->threads) return a->threads < b->threads ? -1 : 1;
  size_t na = strlen(a->policy), nb = strlen(b->policy);
  return na != nb ? (na < nb ? -1 : 1) : strcmp(a->policy, b->policy);
}

/* Own device class, other policies. */
static rgt_status list_policies(rgt__tunedb *db, const rgt__op_key *key, places *list, rgt__error *err) {
  int n = 0;
  rgt__tunedb_policy *policies = rgt__alloc(PLACES_MAX * sizeof *policies);
  if (!policies) return rgt__error_nomem(err, PLACES_MAX * sizeof *policies);
  rgt_status status = rgt__tunedb_policies(db, &key->signature, &key->place, policies, PLACES_MAX, &n, err);
  for (int i = 0; i < n && status == RGT_OK; i++)
    if (strcmp(policies[i], key->place.policy) != 0)
      if (add_place(list, &(rgt__tunedb_place){key->place.device_class, policies[i]})) break;
  rgt__free(policies);
  return status;
}

/* The same signature elsewhere: with other numbers of threads on this device class, or on other device classes. */
static rgt_status choose_elsewhere(rgt_op *op, int64_t rows, int other_devices, const rgt__tunedb_limits *limits,
                                   rgt__choice *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt_status status = make_key(op, 1, here, &key);
  places *list = rgt__alloc_zero(1, sizeof *list);
  if (!list) return rgt__error_nomem(&ctx->error, sizeof *list);
  list->n_threads = ctx->device->info.n_threads;
  snprintf(list->own_class, sizeof list->own_class, "%s", key.place.device_class);
  snprintf(list->own_policy, sizeof list->own_policy, "%s", key.place.policy);
  for (int i = 0; i < ctx->n_layers && status == RGT_OK && list->n < PLACES_MAX; i++) {
    rgt__tunedb *db = ctx->layers[i].db;
    if (!db) continue;
    status = other_devices ? rgt__tunedb_devices(db, &key.signature, &key.place, add_place, list, &ctx->error)
                           : list_policies(db, &key, list, &ctx->error);
    status = rgt__layers_settle(ctx, i, status);
    if (status == RGT_EMISS) status = RGT_OK;
  }
  if (list->n > 1) qsort(list->items, (size_t)list->n, sizeof *list->items, compare_places);
  if (status == RGT_OK) status = RGT_EMISS;
  for (int i = 0; i < list->n && status == RGT_EMISS; i++) {
    const place *p = &list->items[i];
    status = choose_exact(op, rows, (where){p->device_class, p->policy}, limits, out);
    if (status == RGT_OK && list->n_threads > 0) out->threads = threads_of(p->policy, list->own_policy);
    if (status == RGT_OK && out->threads == list->n_threads) out->threads = 0;
  }
  out->match = other_devices ? RGT_MATCH_DEVICE : RGT_MATCH_THREADS;
  out->found.exact = 0;
  rgt__free(list);
  return status;
}

static rgt_status choose_threads(rgt_op *op, int64_t rows, const rgt__tunedb_limits *limits, rgt__choice *out) {
  return op->ctx->device->info.n_threads > 0 ? choose_elsewhere(op, rows, 0, limits, out) : RGT_EMISS;
}

static rgt_status choose_nearest(rgt_op *op, int64_t rows, const rgt__tunedb_limits *limits, rgt__choice *out) {
  rgt_status status = find_nearest(op, rgt__number_bucket(rows), limits, out);
  out->match = RGT_MATCH_SHAPE;
  out->found.exact = 0;
  return status;
}

/* ---- the whole ---- */

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
  rgt_status status = no_class ? RGT_EMISS : choose_exact(op, rows, here, &limits, out);
  if (status == RGT_EMISS && !no_class) status = choose_threads(op, rows, &limits, out);
  if (status == RGT_EMISS) {
    choose_default(rows, out);
    status = rgt__bundle_choose(op, rows, out); /* measured for this op, if elsewhere: before what was for another one */
    if (status != RGT_EMISS) return status;
  }
  if (status == RGT_EMISS && !no_class) status = choose_nearest(op, rows, &limits, out);
  if (status == RGT_EMISS && !no_class) status = choose_elsewhere(op, rows, 1, &limits, out);
  if (status == RGT_OK) out->from = op->ctx->layers[out->layer].kind;
  if (status != RGT_EMISS) return status;
  choose_default(rows, out);
  return RGT_OK;
}

/* ---- pins ---- */

typedef struct pinned {
  rgt__variant v;
  char params[RGT_VARIANT_TEXT_MAX];
} pinned;

static int is_pinned(void *user, const char *family, int revision, const char *params) {
  const pinned *p = user;
  return strcmp(p->v.family->name, family) == 0 && p->v.family->revision == revision && strcmp(p->params, params) == 0;
}

/* NULL: it may answer. */
static const char *pin_problem(rgt_op *op, const rgt__pin *pin, const char *numeric_class, pinned *p, rgt__numeric *numeric) {
  rgt_ctx *ctx = op->ctx;
  rgt__families *families = NULL;
  if (rgt__context_families(ctx, &families) != RGT_OK ||
      rgt__variant_parse(families, ctx->device->ops->kind, pin->variant, &p->v, NULL) != RGT_OK ||
      !rgt__family_fits(p->v.family, &op->desc))
    return "there is no such variant here";
  if (p->v.family->revision != pin->revision) return "its family has another revision here";
  if (rgt__wishes_ban(op, &p->v)) return "it is banned";
  if (rgt__wishes_bar(op, &p->v)) return "it was wrong or unusable here before";
  if (rgt__variant_numeric(families, &p->v, &op->desc, numeric, NULL) != RGT_OK ||
      !rgt__numeric_admits(numeric, op->desc.dtype, op->options.max_error))
    return "this op's error budget does not admit it";
  if (numeric_class && strcmp(numeric_class, numeric->class_name) != 0) return "it is of another numeric class";
  return NULL;
}

/* The pinned variant goes first, with its times where it has some; what was measured comes after it. */
static rgt_status put_pin_first(rgt_op *op, int64_t rows, const rgt__pin *pin, const pinned *p, const rgt__numeric *numeric,
                                rgt__choice *out) {
  rgt__tunedb_limits limits;
  rgt__choice *own = rgt__alloc_zero(1, sizeof *own);
  if (!own) return rgt__error_nomem(&op->ctx->error, sizeof *own);
  rgt__op_limits(op, &limits);
  limits.admit = is_pinned;
  limits.admit_is_fixed = 0;
  limits.admit_user = (void *)(uintptr_t)p;
  limits.may_lose = 1;
  rgt_status status = find(op, rgt__number_bucket(rows), here, &limits, own);
  if (status != RGT_OK) memset(own, 0, sizeof *own);
  if (status == RGT_OK || status == RGT_EMISS) {
    const rgt__family *f = p->v.family;
    rgt__tunedb_standing *w = &own->found.winner;
    snprintf(w->family, sizeof w->family, "%s", f->name);
    snprintf(w->params, sizeof w->params, "%.191s", p->params);
    snprintf(w->numeric_class, sizeof w->numeric_class, "%s", numeric->class_name);
    w->revision = f->revision;
    w->rank = f->rank;
    own->found.has_runner_up =
        out->from != RGT_FROM_DEFAULT &&
        !is_pinned((void *)(uintptr_t)p, out->found.winner.family, out->found.winner.revision, out->found.winner.params);
    if (own->found.has_runner_up) own->found.runner_up = out->found.winner;
    own->found.exact = 1;
    own->from = RGT_FROM_PIN;
    own->match = RGT_MATCH_EXACT;
    own->layer = pin->layer;
    own->bucket = rgt__number_bucket(rows);
    *out = *own;
    status = RGT_OK;
  }
  rgt__free(own);
  return status;
}

rgt_status rgt__prepare_choose(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out) {
  choose_default(rows, out);
  if (op->ctx->mode == RGT_MODE_OFF) return RGT_OK;
  rgt_status status = rgt__layers_open(op->ctx);
  if (status == RGT_OK) status = choose_measured(op, rows, numeric_class, out);
  const rgt__pin *pin = rgt__wishes_pin(op, rgt__number_bucket(rows));
  if (status != RGT_OK || !pin) return status;
  pinned p;
  rgt__numeric numeric;
  out->pin_problem = pin_problem(op, pin, numeric_class, &p, &numeric);
  if (out->pin_problem) {
    snprintf(out->pin, sizeof out->pin, "%s", pin->variant);
    return RGT_OK;
  }
  rgt__variant_params_format(&p.v, p.params);
  return put_pin_first(op, rows, pin, &p, &numeric, out);
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
  if (status == RGT_OK) status = tuned_buckets(op, here, buckets, &n);
  rgt__op_limits(op, &limits);
  for (int i = 0; i < n && status == RGT_OK; i++) { /* the classes that win anywhere are the candidates */
    status = find(op, buckets[i], here, &limits, c);
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
      status = find(op, buckets[i], here, &limits, c);
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
