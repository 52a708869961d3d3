/* prepare.c -- rgt_op_prepare: every bucket gets its variants, best first, and the op one workspace.
 *
 * What the code cache holds is loaded at once. The rest is compiled, verified and loaded in the background, and calls are
 * answered meanwhile: by the default, and on the CPU before that by the built-in kernel, which has its bits. Rendering is done
 * here, since the Lua state is this thread's; so what each program needs is known before any of them is compiled.
 */
#include <math.h>
#include <string.h>

#include "runtime/background.h"
#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/fresh.h"
#include "runtime/prepare.h"
#include "runtime/thread_pool.h"
#include "runtime/wishes.h"

/* What one call of rgt_op_prepare gathers. */
typedef struct preparing {
  rgt_op *op;
  int64_t max_rows;
  int exact; /* the stored winner of this very shape, or RGT_EMISS */
  int named; /* one variant, or why not */
  int waits;
  int own_class; /* for rgt_op.own_class */
  rgt__preference prefer[RGT_BUCKETS_MAX];
  int n_buckets;
  rgt__ready *fallback; /* the default variant, NULL where there is none */
  int knows_fallback;
  int64_t workspace_bytes;
} preparing;

static int is_usable(const rgt__ready *r) {
  rgt__background_lock();
  int usable = r && r->state != RGT_READY_REFUSED && r->state != RGT_READY_FAILED;
  rgt__background_unlock();
  return usable;
}

static int is_loaded(const rgt__ready *r) {
  rgt__background_lock();
  int loaded = r && r->state == RGT_READY_LOADED;
  rgt__background_unlock();
  return loaded;
}

static rgt_status standing_of(rgt_op *op, const rgt__choice *choice, const rgt__tunedb_standing *s, rgt__ready **out) {
  char text[RGT_VARIANT_TEXT_MAX];
  rgt__context_variant_text(s, text);
  rgt_status status = rgt__prepare_ready_of(op, text, s->revision, out);
  if (status == RGT_OK) rgt__prepare_note_for(*out, choice);
  return status;
}

/* NULL, and a warning, where no family does this op. */
static rgt_status default_of(rgt_op *op, rgt__ready **out) {
  rgt__variant v;
  char text[RGT_VARIANT_TEXT_MAX];
  rgt_status status = rgt__prepare_default(op, op->ctx->device->ops->kind, &v);
  if (status == RGT_OK) {
    rgt__variant_format(&v, text);
    status = rgt__prepare_ready_of(op, text, 0, out);
    if (status == RGT_OK) rgt__prepare_note_for(*out, NULL);
    return status;
  }
  if (status == RGT_ENOMEM || !rgt__prepare_has_builtin(op)) return status;
  rgt__context_log(op->ctx, RGT_LOG_WARNING, "%s; the built-in kernel is used", op->ctx->error.text);
  return RGT_OK;
}

/* The bucket that holds max_rows serves all below it, so that is the one to tune. */
static rgt_status need_exact(rgt_op *op, const rgt__choice *choice, int64_t max_rows) {
  char text[RGT_OP_TEXT_MAX] = "";
  if (choice->from != RGT_FROM_DEFAULT && choice->found.exact) return RGT_OK;
  rgt__op_format(&op->desc, text, NULL);
  return rgt__error_set(&op->ctx->error, RGT_EMISS,
                        "nothing tuned is stored for %s at %lld rows on %s; tune it with: ragtune --op %s --rows %lld%s%s%s",
                        text, (long long)max_rows, op->ctx->device->info.class_text, text, (long long)max_rows,
                        op->uses_pointers ? " --weights pointers" : "", op->options.skew == RGT_SKEW_UNKNOWN ? "" : " --skew ",
                        op->options.skew == RGT_SKEW_UNKNOWN ? "" : rgt__op_skew_word(op->options.skew));
}

/* The winner, and what stands in for it until it is there, or for good: its runner-up, the default. A hit asks for nothing
 * else. */
static rgt_status prefer_for(preparing *p, const rgt__choice *choice, rgt__preference out) {
  rgt_op *op = p->op;
  rgt_status status = RGT_OK;
  if (choice->from != RGT_FROM_DEFAULT) {
    status = standing_of(op, choice, &choice->found.winner, &out[RGT_PLACE_WINNER]);
    int settled = p->exact || is_loaded(out[RGT_PLACE_WINNER]);
    if (status != RGT_OK || (settled && !rgt__prepare_needs_standby(op, out[RGT_PLACE_WINNER]))) return status;
    if (choice->found.has_runner_up && !settled)
      status = standing_of(op, choice, &choice->found.runner_up, &out[RGT_PLACE_RUNNER_UP]);
  }
  if (status == RGT_OK && !p->knows_fallback) status = default_of(op, &p->fallback);
  if (status != RGT_OK) return status;
  p->knows_fallback = 1;
  out[RGT_PLACE_DEFAULT] = p->fallback;
  return RGT_OK;
}

/* The workspace is as large as the hungriest of what may run wants. */
static void note_workspace(preparing *p, const rgt__preference prefer, int64_t least, int64_t most) {
  rgt__plan plan;
  const int64_t rows[2] = {least, most};
  for (int place = 0; place < RGT_N_PLACES; place++)
    for (int i = 0; i < 2 && is_usable(prefer[place]); i++) {
      rgt__plan_make(&prefer[place]->program, &p->op->ctx->device->info, rows[i], p->op->desc.groups, &plan);
      if (plan.valid && plan.workspace_bytes > p->workspace_bytes) p->workspace_bytes = plan.workspace_bytes;
    }
}

/* What to tune next: one line for a prepare, whatever the number of its buckets. Best effort: a miss that is not counted costs
 * nothing. */
static void record_miss(rgt_op *op, int64_t rows) {
  rgt__op_key key;
  rgt_skew skew = op->options.skew == RGT_SKEW_UNKNOWN ? RGT_SKEW_UNIFORM : op->options.skew; /* as it would be tuned */
  if (!op->ctx->db || rgt__op_key_make(op, rgt__number_bucket(rows), skew, RGT_POLICY_WARM, &key, NULL) != RGT_OK) return;
  rgt__tunedb_miss(op->ctx->db, &key.signature, &key.place, NULL);
}

/* Would the default have other bits than what was chosen? */
static rgt_status is_own_class(rgt_op *op, const rgt__choice *choice, int *own) {
  rgt__variant v;
  rgt__numeric numeric;
  if (*own || choice->from == RGT_FROM_DEFAULT) return RGT_OK;
  rgt_status status = rgt__prepare_default(op, op->ctx->device->ops->kind, &v);
  if (status == RGT_OK) status = rgt__variant_numeric(op->ctx->families, &v, &op->desc, &numeric, &op->ctx->error);
  if (status == RGT_OK) *own = strcmp(choice->found.winner.numeric_class, numeric.class_name) != 0;
  return status;
}

/* Every bucket up to max_rows gets its preferences. */
static rgt_status prefer_all(preparing *p) {
  rgt_op *op = p->op;
  char class_name[64] = "";
  int missed = 0;
  rgt__choice *choice = rgt__alloc_zero(1, sizeof *choice);
  if (!choice) return rgt__error_nomem(&op->ctx->error, sizeof *choice);
  rgt_status status = rgt__wishes_load(op);
  if (status == RGT_OK && op->options.batch_invariant && op->ctx->mode != RGT_MODE_OFF)
    status = rgt__prepare_class(op, class_name, sizeof class_name);
  for (int b = 0; b < RGT_BUCKETS_MAX && status == RGT_OK; b++) {
    int64_t least = b ? ((int64_t)1 << (b - 1)) + 1 : 1, most = (int64_t)1 << b;
    if (least > p->max_rows) break;
    status = rgt__prepare_choose(op, most, op->options.batch_invariant ? class_name : NULL, choice);
    if (status == RGT_OK && !missed && !choice->found.exact) {
      missed = 1;
      record_miss(op, p->max_rows);
    }
    if (status == RGT_OK && p->exact) status = need_exact(op, choice, rgt__number_bucket(p->max_rows));
    if (status == RGT_OK && op->options.batch_invariant) status = is_own_class(op, choice, &p->own_class);
    if (status == RGT_OK) status = prefer_for(p, choice, p->prefer[b]);
    if (status == RGT_OK) note_workspace(p, p->prefer[b], least, most < p->max_rows ? most : p->max_rows);
    p->n_buckets = b + 1;
  }
  rgt__free(choice);
  return status;
}

/* What a pin or somebody else's database answers exactly, and still truly, is not tuned here. */
static rgt_status drop_answered(rgt_op *op, int64_t *rows, int *n) {
  char outdated[RGT_OUTDATED_MAX];
  int kept = 0;
  rgt__choice *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(&op->ctx->error, sizeof *c);
  rgt_status status = rgt__wishes_load(op);
  for (int i = 0; i < *n && status == RGT_OK; i++) {
    status = rgt__prepare_choose(op, rows[i], NULL, c);
    int foreign = c->from == RGT_FROM_SITE_DB || c->from == RGT_FROM_SHIPPED_DB || c->from == RGT_FROM_PIN;
    int answered = foreign && c->match == RGT_MATCH_EXACT;
    outdated[0] = '\0';
    if (status == RGT_OK && answered) status = rgt__fresh_outdated(op, c, outdated);
    if (status == RGT_OK && (!answered || outdated[0])) rows[kept++] = rows[i];
  }
  rgt__free(c);
  if (status == RGT_OK) *n = kept;
  return status;
}

/* In mode "tune" what is missing is tuned first: every bucket of the default list up to max_rows, and the one that holds
 * max_rows. */
static rgt_status tune_misses(rgt_op *op, int64_t max_rows) {
  int64_t rows[RGT_BUCKETS_MAX];
  rgt_tune_result results[RGT_BUCKETS_MAX];
  int n = 0;
  for (int64_t b = 8; b < rgt__number_bucket(max_rows) && n < RGT_BUCKETS_MAX - 1; b *= 8) rows[n++] = b;
  rows[n++] = rgt__number_bucket(max_rows);
  rgt_status status = drop_answered(op, rows, &n);
  if (status != RGT_OK || n == 0) return status;
  rgt_tune_options o = {.struct_size = sizeof o, .rows = rows, .n_rows = n, .skew = op->options.skew};
  status = rgt_tune(op, &o, results);
  if (status == RGT_ENOCOMPILER || status == RGT_EDB) {
    rgt__context_log(op->ctx, RGT_LOG_WARNING, "%s", op->ctx->error.text);
    return RGT_OK;
  }
  return status;
}

/* ---- from preferences to calls that are answered ---- */

static rgt_status make_memory(const preparing *p) {
  rgt_op *op = p->op;
  rgt_ctx *ctx = op->ctx;
  rgt__device *d = ctx->device;
  rgt_status status = RGT_OK;
  if (p->workspace_bytes > op->workspace_bytes) {
    d->ops->mem_free(d, op->workspace);
    op->workspace = NULL;
    op->workspace_bytes = 0;
    status = d->ops->mem_alloc(d, (size_t)p->workspace_bytes, &op->workspace, &ctx->error);
    if (status == RGT_OK) op->workspace_bytes = p->workspace_bytes;
  }
  if (status == RGT_OK && rgt__prepare_has_builtin(op) && !op->hidden) {
    size_t bytes = (size_t)(op->desc.n_hidden ? op->desc.n_hidden : 1) * (size_t)d->info.n_threads * sizeof *op->hidden;
    op->hidden = rgt__alloc(bytes);
    if (!op->hidden) status = rgt__error_nomem(&ctx->error, bytes);
  }
  return status;
}

/* Where nothing is built in, a call needs something that is loaded: the default, else whatever comes of the rest. */
static rgt_status wait_for_an_answer(rgt_op *op) {
  rgt_status status = RGT_OK;
  for (int b = 0; b < op->n_buckets && status == RGT_OK; b++) {
    rgt__ready *fallback = op->prefer[b][RGT_PLACE_DEFAULT];
    int is_wanted = !op->by_bucket[b] || (!op->standby && rgt__prepare_needs_standby(op, op->by_bucket[b]));
    if (is_wanted && fallback) status = rgt__prepare_wait(op, fallback, INFINITY);
    if (status == RGT_OK && !op->by_bucket[b]) status = rgt__prepare_wait(op, NULL, INFINITY);
    if (status == RGT_OK && !op->by_bucket[b] && fallback)
      status = rgt__error_set(&op->ctx->error, fallback->status, "%s", fallback->why.text);
  }
  return status;
}

/* Exact: every bucket by its stored winner, verified. */
static rgt_status check_exact(rgt_op *op) {
  for (int b = 0; b < op->n_buckets; b++) {
    const rgt__ready *winner = op->prefer[b][RGT_PLACE_WINNER];
    if (!winner || op->by_bucket[b] == winner) continue;
    return rgt__error_set(&op->ctx->error, RGT_EMISS, "the stored winner for %lld rows cannot be used: %s", 1LL << b,
                          winner->why.text);
  }
  return RGT_OK;
}

static rgt_status check_named(rgt_op *op) {
  const rgt__ready *r = op->n_buckets ? op->prefer[0][RGT_PLACE_WINNER] : NULL;
  return !r || r->status == RGT_OK ? RGT_OK : rgt__error_set(&op->ctx->error, r->status, "%s", r->why.text);
}

static rgt_status finish(preparing *p, rgt_status status) {
  rgt_op *op = p->op;
  if (status == RGT_OK) status = make_memory(p);
  if (status == RGT_OK) {
    rgt__prepare_keep(op, p->prefer, p->n_buckets);
    status = rgt__background_prefer(op, p->prefer, p->n_buckets, !p->waits);
  }
  if (status == RGT_OK) {
    op->max_rows = p->max_rows;
    op->is_named = p->named;
    op->own_class = p->own_class;
    op->prepared = RGT_PREPARED_NOT; /* so that everything is looked at */
    rgt__prepare_pick_up(op);
    if (p->waits) status = rgt__prepare_wait(op, NULL, INFINITY);
  }
  if (status == RGT_OK && p->exact) status = check_exact(op);
  if (status == RGT_OK && p->named) status = check_named(op);
  if (status == RGT_OK && !rgt__prepare_has_builtin(op)) status = wait_for_an_answer(op);
  if (status != RGT_OK) {
    rgt__prepare_reset(op);
    return status;
  }
  if (strcmp(op->ctx->device->ops->kind, "cpu") == 0) rgt__pool_warm(op->ctx->device->info.n_threads);
  return RGT_OK;
}

rgt_status rgt_op_prepare(rgt_op *op, int64_t max_rows, unsigned flags) {
  rgt_ctx *ctx = op->ctx;
  rgt_status status = rgt__op_rows_check(op, "max_rows", max_rows);
  if (status != RGT_OK) return status;
  if (flags & ~(unsigned)(RGT_PREPARE_EXACT | RGT_PREPARE_WAIT))
    return rgt__error_set(&ctx->error, RGT_EINVAL,
                          "flags is %u; it can be 0 or a sum of RGT_PREPARE_EXACT and RGT_PREPARE_WAIT", flags);
  preparing p = {.op = op, .max_rows = max_rows};
  p.exact = (flags & RGT_PREPARE_EXACT) || ctx->mode == RGT_MODE_REPLAY;
  p.waits = (flags & RGT_PREPARE_WAIT) || p.exact || op->options.batch_invariant;
  status = ctx->mode == RGT_MODE_TUNE ? tune_misses(op, max_rows) : RGT_OK;
  if (status == RGT_OK) status = prefer_all(&p);
  return finish(&p, status);
}

static rgt_status prefer_variant(preparing *p, const char *variant) {
  rgt_op *op = p->op;
  rgt__variant v;
  rgt__ready *r = NULL;
  rgt__families *families = NULL;
  char text[RGT_VARIANT_TEXT_MAX];
  rgt_status status = rgt__context_families(op->ctx, &families);
  if (status == RGT_OK) status = rgt__variant_parse(families, op->ctx->device->ops->kind, variant, &v, &op->ctx->error);
  if (status != RGT_OK) return status;
  rgt__variant_format(&v, text);
  status = rgt__wishes_load(op);
  if (status == RGT_OK) status = rgt__wishes_refuse(op, &v, &op->ctx->error);
  if (status == RGT_OK) status = rgt__prepare_ready_of(op, text, 0, &r);
  if (status != RGT_OK) return status;
  for (p->n_buckets = 0; p->n_buckets < RGT_BUCKETS_MAX; p->n_buckets++) p->prefer[p->n_buckets][RGT_PLACE_WINNER] = r;
  note_workspace(p, p->prefer[0], 1, p->max_rows);
  return RGT_OK;
}

rgt_status rgt_op_prepare_variant(rgt_op *op, const char *variant, int64_t max_rows) {
  preparing p = {.op = op, .max_rows = max_rows, .waits = 1, .named = 1};
  rgt_status status = variant ? rgt__op_rows_check(op, "max_rows", max_rows) : rgt__error_null(&op->ctx->error, "variant");
  if (status != RGT_OK) return status;
  if (strcmp(variant, "builtin") == 0) {
    if (!rgt__prepare_has_builtin(op))
      status = rgt__error_set(&op->ctx->error, RGT_EINVAL, "variant \"builtin\" is the CPU's, and not for %s",
                              rgt__op_dtype_word(op->desc.dtype));
    return finish(&p, status);
  }
  status = prefer_variant(&p, variant);
  return finish(&p, status);
}
