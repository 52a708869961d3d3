/* fresh.c -- is a stored time still one of this machine's toolchain, driver and templates? */
#include "runtime/fresh.h"

#include <stdio.h>
#include <string.h>

#include "runtime/layers.h"
#include "tunedb/tunedb_local.h"

void rgt__fresh_digest(const char *toolchain, rgt__digest *out) {
  rgt__hash h;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune toolchain 1");
  rgt__hash_text(&h, toolchain);
  rgt__hash_end(&h, out);
}

/* What the cache's map is asked with; 0 without a compiler. */
static int stamp_key(rgt__device *device, rgt__digest *key) {
  char stamp[700];
  rgt__hash h;
  device->ops->compiler_stamp(device, stamp, sizeof stamp);
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune toolchain of 1");
  rgt__hash_text(&h, stamp);
  rgt__hash_end(&h, key);
  return stamp[0] != 0;
}

void rgt__fresh_remember(rgt__code_cache *cache, rgt__device *device, const char *toolchain) {
  rgt__digest key, value, known;
  if (!stamp_key(device, &key)) return;
  rgt__fresh_digest(toolchain, &value);
  if (rgt__code_cache_map_get(cache, &key, &known) == RGT_OK && rgt__digest_equal(&known, &value)) return;
  rgt__code_cache_map_put(cache, &key, &value, NULL);
}

int rgt__fresh_toolchain(rgt_ctx *ctx, rgt__digest *out) {
  rgt__digest key;
  if (ctx->toolchain[0]) {
    rgt__fresh_digest(ctx->toolchain, out);
    return 1;
  }
  return stamp_key(ctx->device, &key) && rgt__code_cache_map_get(ctx->cache, &key, out) == RGT_OK;
}

/* ---- one choice ---- */

typedef struct now {
  int knows_toolchain;
  rgt__digest toolchain, template_digest;
  const char *driver;
  int same_toolchain, same_driver, same_template; /* of the last that was compared */
  int fresh;
} now;

static int compare(void *user, const char *toolchain, const char *driver, const rgt__digest *template_digest) {
  now *n = user;
  rgt__digest then;
  rgt__fresh_digest(toolchain, &then);
  n->same_toolchain = !n->knows_toolchain || rgt__digest_equal(&then, &n->toolchain);
  n->same_driver = strcmp(driver, n->driver) == 0;
  n->same_template = rgt__digest_equal(template_digest, &n->template_digest);
  return n->fresh |= n->same_toolchain && n->same_driver && n->same_template;
}

static int find_template(rgt_op *op, const rgt__tunedb_standing *s, rgt__digest *out) {
  rgt__families *families = NULL;
  rgt__variant v;
  char text[RGT_VARIANT_TEXT_MAX];
  rgt__context_variant_text(s, text);
  if (rgt__context_families(op->ctx, &families) != RGT_OK ||
      rgt__variant_parse(families, op->ctx->device->ops->kind, text, &v, NULL) != RGT_OK)
    return 0;
  *out = v.family->template_digest;
  return 1;
}

/* The newest run says otherwise; does any other, in any layer? */
static rgt_status ask_all_runs(rgt_op *op, const rgt__choice *c, now *n) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt_skew skew = RGT_SKEW_UNIFORM;
  const rgt__tunedb_standing *s = &c->found.winner;
  const rgt__tunedb_variant v = {s->family, s->revision, s->params};
  rgt__op_skew_parse(c->found.skew, &skew);
  rgt_status status = rgt__op_key_make(op, c->bucket, skew, RGT_POLICY_WARM, &key, &ctx->error);
  for (int i = 0; i < ctx->n_layers && status == RGT_OK && !n->fresh; i++) {
    if (!ctx->layers[i].db) continue;
    status = rgt__tunedb_conditions(ctx->layers[i].db, &key.signature, &key.place, &v, compare, n, &ctx->error);
    status = rgt__layers_settle(ctx, i, status);
    if (status == RGT_EMISS) status = RGT_OK;
  }
  return status;
}

rgt_status rgt__fresh_outdated(rgt_op *op, const rgt__choice *c, char text[RGT_OUTDATED_MAX]) {
  const rgt__tunedb_standing *s = &c->found.winner;
  now n = {.driver = op->ctx->device->info.driver};
  text[0] = 0;
  int says_something = c->match == RGT_MATCH_EXACT || c->match == RGT_MATCH_BUCKET;
  if (!says_something || c->from == RGT_FROM_BUNDLE || s->time_ps <= 0 || !find_template(op, s, &n.template_digest))
    return RGT_OK;
  n.knows_toolchain = rgt__fresh_toolchain(op->ctx, &n.toolchain);
  compare(&n, s->toolchain, s->driver, &s->template_digest);
  now newest = n;
  rgt_status status = n.fresh ? RGT_OK : ask_all_runs(op, c, &n);
  if (status != RGT_OK || n.fresh) return status;
  snprintf(text, RGT_OUTDATED_MAX, "%s%s%s%s%s", newest.same_toolchain ? "" : "toolchain",
           newest.same_toolchain || newest.same_driver ? "" : ", ", newest.same_driver ? "" : "driver",
           (newest.same_toolchain && newest.same_driver) || newest.same_template ? "" : ", ",
           newest.same_template ? "" : "template");
  return RGT_OK;
}
