/* wishes.c -- pins, bans, and what proved unusable here, read into the op's handle: mostly nothing, and then asking it costs
 * nothing. */
#include "runtime/wishes.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/fresh.h"

/* ---- lists that grow ---- */

static void *grown(void *items, int n, int *capacity, size_t item_bytes) {
  if (n < *capacity) return items;
  int larger = n ? 2 * n : 8;
  void *p = rgt__realloc(items, (size_t)larger * item_bytes);
  if (p) *capacity = larger;
  return p;
}

typedef struct loading {
  rgt_ctx *ctx;
  rgt_op *op;
  struct rgt__wishes *w;
  int layer;
  int asked_toolchain, knows_toolchain; /* asked for only where a verdict hangs on it */
  rgt__digest toolchain;
  int failed; /* out of memory */
} loading;

static rgt__barred *add_barred(loading *l) {
  struct rgt__wishes *w = l->w;
  rgt__barred *p = grown(w->barred, w->n_barred, &w->barred_capacity, sizeof *p);
  if (!p) {
    l->failed = 1;
    return NULL;
  }
  w->barred = p;
  p = &w->barred[w->n_barred++];
  memset(p, 0, sizeof *p);
  return p;
}

/* ---- what is found ---- */

static int take_ban(void *user, const rgt__tunedb_wish *wish) {
  loading *l = user;
  rgt__barred *b = add_barred(l);
  if (!b) return 1;
  b->is_ban = 1;
  rgt__tunedb_variant_key(&wish->variant, &b->variant);
  snprintf(b->reason, sizeof b->reason, "%s", wish->reason);
  return 0;
}

/* Only pins for calls like this handle's. */
static int take_pin(void *user, const rgt__tunedb_wish *wish) {
  loading *l = user;
  const rgt_op_options *o = &l->op->options;
  struct rgt__wishes *w = l->w;
  rgt__pin pin = {.revision = wish->variant.revision, .bucket = wish->signature.bucket, .layer = l->layer};
  if (!rgt__op_skew_parse(wish->signature.skew, &pin.skew) || (pin.skew != RGT_SKEW_UNKNOWN && pin.skew != o->skew) ||
      strcmp(wish->signature.form, rgt__op_form_word(o->weight_form)) != 0 ||
      strcmp(wish->signature.order, rgt__op_order_word(o->order)) != 0 || wish->signature.align_bytes != o->align_bytes)
    return 0;
  rgt__pin *p = grown(w->pins, w->n_pins, &w->pins_capacity, sizeof *p);
  l->failed = !p;
  if (!p) return 1;
  rgt__context_variant_join(wish->variant.family, wish->variant.params, pin.variant);
  w->pins = p;
  w->pins[w->n_pins++] = pin;
  return 0;
}

/* Wrong code stays wrong as long as its template does. What did not compile is tried again with another toolchain or driver,
 * what did not end the next time. */
static int take_checked(void *user, const rgt__tunedb_checked *c) {
  loading *l = user;
  rgt__digest then;
  if (c->outcome == RGT_TRIAL_OK || c->outcome == RGT_TRIAL_TIMED_OUT) return 0;
  if (c->outcome != RGT_TRIAL_WRONG && c->outcome != RGT_TRIAL_CRASHED) {
    if (!l->asked_toolchain) {
      l->asked_toolchain = 1;
      l->knows_toolchain = rgt__fresh_toolchain(l->ctx, &l->toolchain);
    }
    rgt__fresh_digest(c->toolchain, &then);
    if (!l->knows_toolchain || !rgt__digest_equal(&then, &l->toolchain) || strcmp(c->driver, l->ctx->device->info.driver) != 0)
      return 0;
  }
  rgt__barred *b = add_barred(l);
  if (!b) return 1;
  b->variant = c->variant;
  b->template_digest = c->template_digest;
  return 0;
}

/* ---- loading ---- */

static rgt_status load_layer(loading *l, const char *op_text) {
  rgt_ctx *ctx = l->ctx;
  rgt__tunedb *db = ctx->layers[l->layer].db;
  const char *device_class = ctx->device->info.class_text;
  if (!db) return RGT_OK;
  rgt_status status = rgt__tunedb_bans(db, device_class, take_ban, l, &ctx->error);
  if (status == RGT_OK) status = rgt__tunedb_pins(db, op_text, device_class, take_pin, l, &ctx->error);
  status = rgt__layers_settle(ctx, l->layer, status);
  if (l->failed) return rgt__error_nomem(&ctx->error, 0);
  return status == RGT_EMISS ? RGT_OK : status;
}

/* A database that is read-only may be of an older schema, without verdicts. */
static rgt_status load_verdicts(loading *l) {
  rgt_ctx *ctx = l->ctx;
  rgt__tunedb *db = ctx->layers[0].db;
  rgt__digest subject;
  if (rgt__tunedb_is_read_only(db)) return RGT_OK;
  rgt__wishes_subject(l->op, &subject);
  rgt_status status = rgt__tunedb_check_list(db, &subject, ctx->device->info.class_text, take_checked, l, &ctx->error);
  return l->failed ? rgt__error_nomem(&ctx->error, 0) : status;
}

rgt_status rgt__wishes_load(rgt_op *op) {
  rgt_ctx *ctx = op->ctx;
  char op_text[RGT_OP_TEXT_MAX];
  if (!op->wishes && !(op->wishes = rgt__alloc_zero(1, sizeof *op->wishes)))
    return rgt__error_nomem(&ctx->error, sizeof *op->wishes);
  op->wishes->n_pins = op->wishes->n_barred = 0;
  if (ctx->mode == RGT_MODE_OFF) return RGT_OK; /* asks no database, and runs the default alone, which nobody bans */
  loading l = {.ctx = ctx, .op = op, .w = op->wishes};
  rgt_status status = rgt__op_format(&op->desc, op_text, &ctx->error);
  if (status == RGT_OK) status = rgt__layers_open(ctx);
  for (; l.layer < ctx->n_layers && status == RGT_OK; l.layer++) status = load_layer(&l, op_text);
  return status == RGT_OK ? load_verdicts(&l) : status;
}

void rgt__wishes_free(rgt_op *op) {
  if (!op->wishes) return;
  rgt__free(op->wishes->pins);
  rgt__free(op->wishes->barred);
  rgt__free(op->wishes);
  op->wishes = NULL;
}

/* ---- asking ---- */

int rgt__wishes_is_default(rgt_ctx *ctx, const rgt__variant *v) {
  rgt__variant fallback;
  for (int i = 0; i < rgt__families_count(ctx->families); i++) { /* sorted by rank */
    const rgt__family *f = rgt__families_at(ctx->families, i);
    if (strcmp(f->device, v->family->device) != 0) continue;
    rgt__variant_default(f, &fallback);
    return f == v->family && memcmp(fallback.value, v->value, (size_t)f->n_params) == 0;
  }
  return 0;
}

static void key_of(const rgt__variant *v, rgt__digest *key) {
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__variant_params_format(v, params);
  rgt__tunedb_variant_key(&(rgt__tunedb_variant){v->family->name, v->family->revision, params}, key);
}

static const char *find(const rgt__barred *list, int n, const rgt__variant *v, int only_bans) {
  rgt__digest key;
  if (n == 0) return NULL;
  key_of(v, &key);
  for (int i = 0; i < n; i++) {
    const rgt__barred *b = &list[i];
    if (!rgt__digest_equal(&b->variant, &key)) continue;
    if (b->is_ban || (!only_bans && rgt__digest_equal(&b->template_digest, &v->family->template_digest))) return b->reason;
  }
  return NULL;
}

/* What everything is measured against stays, whatever a database from elsewhere says. */
const char *rgt__wishes_bar(const rgt_op *op, const rgt__variant *v) {
  if (!op->wishes || op->wishes->n_barred == 0) return NULL;
  const char *reason = find(op->wishes->barred, op->wishes->n_barred, v, 0);
  return reason && rgt__wishes_is_default(op->ctx, v) ? NULL : reason;
}

const char *rgt__wishes_ban(const rgt_op *op, const rgt__variant *v) {
  if (!op->wishes || op->wishes->n_barred == 0) return NULL;
  const char *reason = find(op->wishes->barred, op->wishes->n_barred, v, 1);
  return reason && rgt__wishes_is_default(op->ctx, v) ? NULL : reason;
}

rgt_status rgt__wishes_refuse(const rgt_op *op, const rgt__variant *v, rgt__error *err) {
  char text[RGT_VARIANT_TEXT_MAX];
  const char *why = rgt__wishes_ban(op, v);
  if (!why) return RGT_OK;
  rgt__variant_format(v, text);
  return rgt__error_set(err, RGT_EINVAL, "variant \"%s\" is banned%s%.100s; ragtune db ban --remove allows it", text,
                        why[0] ? ": " : "", why);
}

int rgt__wishes_drop_banned(const rgt_op *op, rgt__space *space, const char *what) {
  int kept = 0, n = space->n;
  for (int i = 0; i < n; i++) {
    const char *why = rgt__wishes_ban(op, &space->variants[i]);
    char text[RGT_VARIANT_TEXT_MAX];
    if (!why) {
      space->variants[kept++] = space->variants[i];
      continue;
    }
    rgt__variant_format(&space->variants[i], text);
    rgt__context_log(op->ctx, RGT_LOG_INFO, "%s is banned%s%s: %s", text, why[0] ? ": " : "", why, what);
  }
  space->n = kept;
  return n - kept;
}

const rgt__pin *rgt__wishes_pin(const rgt_op *op, int64_t bucket) {
  const rgt__pin *best = NULL;
  for (int i = 0; op->wishes && i < op->wishes->n_pins; i++) {
    const rgt__pin *p = &op->wishes->pins[i];
    if (p->bucket != bucket || (best && best->layer != p->layer)) continue;
    if (!best || best->skew == RGT_SKEW_UNKNOWN) best = p;
  }
  return best;
}

void rgt__wishes_subject(const rgt_op *op, rgt__digest *subject) {
  rgt__hash h;
  char op_text[RGT_OP_TEXT_MAX] = "";
  rgt_op_desc without_groups = op->desc;
  without_groups.groups = 1;
  rgt__op_format(&without_groups, op_text, NULL);
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune subject 1");
  rgt__hash_text(&h, op_text);
  rgt__hash_text(&h, rgt__op_form_word(op->options.weight_form));
  rgt__hash_int(&h, op->options.align_bytes);
  rgt__hash_text(&h, rgt__op_order_word(op->options.order));
  rgt__hash_end(&h, subject);
}
