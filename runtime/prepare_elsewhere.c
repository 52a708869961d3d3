/* prepare_elsewhere.c -- what was tuned with another number of threads, or on another device class: which of those places is
 * the nearest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/device_near.h"
#include "runtime/layers.h"
#include "runtime/prepare_choose.h"
#include "tunedb/tunedb_local.h"

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

rgt_status rgt__prepare_find_elsewhere(rgt_op *op, int64_t rows, int other_devices, const rgt__tunedb_limits *limits,
                                       rgt__choice *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt_status status = rgt__prepare_key(op, 1, rgt__prepare_here, &key);
  if (status != RGT_OK) return status;
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
    status = rgt__prepare_find_exact(op, rows, (rgt__where){p->device_class, p->policy}, limits, out);
    if (status == RGT_OK && list->n_threads > 0) out->threads = threads_of(p->policy, list->own_policy);
    if (status == RGT_OK && out->threads == list->n_threads) out->threads = 0;
  }
  out->match = other_devices ? RGT_MATCH_DEVICE : RGT_MATCH_THREADS;
  out->found.exact = 0;
  rgt__free(list);
  return status;
}
