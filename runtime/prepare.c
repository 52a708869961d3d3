/* prepare.c -- from what is stored to code that is loaded: which variant runs for which bucket.
 *
 * A hit needs no Lua and no compiler: the winner's family, params and template digest, with the compiler's stamp, lead through
 * the cache's map to a code entry, and the entry holds its program. Only where that chain breaks is the variant rendered and
 * compiled again, and then it is verified before its first use unless the code is the very code that its trials ran.
 */
#include "runtime/prepare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/builtin.h"
#include "runtime/candidate.h"
#include "runtime/thread_pool.h"
#include "runtime/worker.h"

/* ---- what is stored ---- */

static rgt_status find(rgt_op *op, int64_t bucket, int nearest, const rgt__tunedb_limits *limits, rgt__tunedb_winner *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__signature_text text;
  rgt__place_text place_text;
  rgt__tunedb_signature sig;
  rgt__tunedb_place place;
  rgt__tunedb *db = NULL;
  rgt_status status = rgt__context_db(ctx, &db);
  if (status == RGT_OK) status = rgt__op_signature(op, bucket, op->options.skew, &text, &sig, &ctx->error);
  if (status != RGT_OK) return status;
  rgt__op_place(op, RGT_POLICY_WARM, &place_text, &place);
  return nearest ? rgt__tunedb_nearest(db, &sig, &place, limits, out, &ctx->error)
                 : rgt__tunedb_find(db, &sig, &place, limits, out, &ctx->error);
}

static rgt_status tuned_buckets(rgt_op *op, int64_t buckets[RGT_BUCKETS_MAX], int *n) {
  rgt_ctx *ctx = op->ctx;
  rgt__signature_text text;
  rgt__place_text place_text;
  rgt__tunedb_signature sig;
  rgt__tunedb_place place;
  rgt__tunedb *db = NULL;
  *n = 0;
  rgt_status status = rgt__context_db(ctx, &db);
  if (status == RGT_OK) status = rgt__op_signature(op, 1, op->options.skew, &text, &sig, &ctx->error);
  if (status != RGT_OK) return status;
  rgt__op_place(op, RGT_POLICY_WARM, &place_text, &place);
  return rgt__tunedb_buckets(db, &sig, &place, buckets, RGT_BUCKETS_MAX, n, &ctx->error);
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

static void record_miss(rgt_op *op, int64_t rows) {
  rgt__signature_text text;
  rgt__place_text place_text;
  rgt__tunedb_signature sig;
  rgt__tunedb_place place;
  if (rgt__op_signature(op, rgt__number_bucket(rows), op->options.skew, &text, &sig, NULL) != RGT_OK) return;
  rgt__op_place(op, RGT_POLICY_WARM, &place_text, &place);
  rgt__tunedb_miss(op->ctx->db, &sig, &place, NULL); /* best effort: a miss that is not counted costs nothing */
}

rgt_status rgt__prepare_choose(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out) {
  rgt__tunedb_limits limits;
  memset(out, 0, sizeof *out);
  out->from = RGT_FROM_DEFAULT;
  out->bucket = rgt__number_bucket(rows);
  if (op->ctx->mode == RGT_MODE_OFF) return RGT_OK;
  rgt__op_limits(op, &limits);
  limits.numeric_class = numeric_class && numeric_class[0] ? numeric_class : NULL;
  rgt_status status = choose_exact(op, rows, &limits, out);
  if (status == RGT_EMISS) {
    record_miss(op, rows);
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

/* ---- making it ready ---- */

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
  return rgt__error_set(&op->ctx->error, RGT_ETEMPLATE, "no family of templates/%s does %s", device, text);
}

static rgt_status make_maker(rgt_op *op, rgt__candidate_maker *m) {
  rgt_ctx *ctx = op->ctx;
  *m = (rgt__candidate_maker){.device = ctx->device,
                              .target = ctx->device->info.target,
                              .cache = ctx->cache,
                              .facts = {op->options.weight_form, op->options.align_bytes}};
  rgt_status status = rgt__context_families(ctx, &m->families);
  return status == RGT_OK ? rgt__context_toolchain(ctx, &m->toolchain) : status;
}

static void local_key(rgt_op *op, const char *family, int revision, const char *params, const rgt__digest *template_digest,
                      rgt__digest *key) {
  char stamp[700];
  rgt__device *d = op->ctx->device;
  rgt__render_facts facts = {op->options.weight_form, op->options.align_bytes};
  d->ops->compiler_stamp(d, stamp, sizeof stamp);
  rgt__candidate_local_key(family, revision, params, &op->desc, &facts, template_digest, stamp, d->info.target.name, key);
}

/* Through the cache's map alone. RGT_EMISS where the chain breaks. */
static rgt_status load_mapped(rgt_op *op, const rgt__tunedb_standing *s, rgt__ready *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__digest key, code;
  local_key(op, s->family, s->revision, s->params, &s->template_digest, &key);
  rgt_status status = rgt__code_cache_map_get(ctx->cache, &key, &code);
  if (status != RGT_OK) return status;
  rgt__code_entry *e = rgt__alloc_zero(1, sizeof *e);
  if (!e) return rgt__error_nomem(&ctx->error, sizeof *e);
  status = rgt__code_cache_get(ctx->cache, &code, e, &ctx->error);
  if (status == RGT_OK) {
    out->program = e->program;
    status = ctx->device->ops->load(ctx->device, e->path, NULL, 0, &out->program, &out->module, NULL);
    if (status != RGT_OK) status = RGT_EMISS; /* recompile */
  }
  rgt__code_entry_free(e);
  rgt__free(e);
  return status;
}

static rgt_status verify_candidate(rgt_op *op, const rgt__candidate_maker *m, rgt__candidate *c) {
  rgt__worker *w = NULL;
  rgt__verify_result result = {.status = RGT_OK};
  rgt__candidate twin = {.text = ""};
  rgt__error *err = &op->ctx->error;
  rgt__candidate *exact = c;
  rgt_status status = rgt__worker_open_local(m, &op->desc, NULL, 1, 0, &w, err);
  if (status != RGT_OK) return status;
  if (op->desc.act != RGT_ACT_NONE && op->desc.act != RGT_ACT_RELU) {
    rgt_op_desc relu = rgt__op_relu_twin(&op->desc);
    exact = &twin;
    status = rgt__candidate_render(m, &c->variant, &relu, &twin, err);
    if (status == RGT_OK) status = rgt__candidate_compile(m, &twin, 0, err);
    if (status == RGT_OK && twin.outcome != RGT_TRIAL_OK)
      status = rgt__error_set(err, RGT_EWRONG, "%s: %s", c->text, twin.reason);
  }
  if (status == RGT_OK) status = w->ops->check(w, c, exact, &result, err);
  if (status == RGT_OK && result.status != RGT_OK) status = rgt__error_set(err, RGT_EWRONG, "%s: %s", c->text, result.reason);
  rgt__candidate_free(m->device, &twin);
  w->ops->close(w);
  return status;
}

/* Renders and compiles; verifies unless the code is the one that `known` trials ran. RGT_EWRONG, RGT_ECOMPILE, RGT_EINFEASIBLE:
 * not to be used. */
static rgt_status load_compiled(rgt_op *op, const rgt__variant *v, const rgt__digest *known, rgt__ready *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__candidate_maker m;
  rgt__digest key;
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__candidate *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(&ctx->error, sizeof *c);
  rgt_status status = make_maker(op, &m);
  if (status == RGT_OK) status = rgt__candidate_render(&m, v, &op->desc, c, &ctx->error);
  if (status == RGT_OK) status = rgt__candidate_compile(&m, c, 0, &ctx->error);
  if (status == RGT_OK && c->outcome != RGT_TRIAL_OK)
    status = rgt__error_set(&ctx->error, c->outcome == RGT_TRIAL_INFEASIBLE ? RGT_EINFEASIBLE : RGT_ECOMPILE, "%s: %s", c->text,
                            c->reason);
  if (status == RGT_OK && !(known && rgt__digest_equal(known, &c->code))) status = verify_candidate(op, &m, c);
  if (status == RGT_OK) status = rgt__candidate_load(&m, c, &ctx->error);
  if (status == RGT_OK) {
    rgt__variant_params_format(v, params);
    local_key(op, v->family->name, v->family->revision, params, &v->family->template_digest, &key);
    rgt__code_cache_map_put(ctx->cache, &key, &c->code, NULL);
    out->program = c->program;
    out->module = c->module;
    c->module = NULL;
  }
  rgt__candidate_free(ctx->device, c);
  rgt__free(c);
  return status;
}

static rgt_status load_standing(rgt_op *op, const rgt__tunedb_standing *s, rgt__ready *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__variant v;
  rgt__families *families = NULL;
  rgt__context_variant_text(s, out->variant);
  rgt_status status = load_mapped(op, s, out);
  if (status != RGT_EMISS) return status;
  status = rgt__context_families(ctx, &families);
  if (status == RGT_OK) status = rgt__variant_parse(families, ctx->device->ops->kind, out->variant, &v, &ctx->error);
  if (status == RGT_OK && v.family->revision != s->revision)
    status = rgt__error_set(&ctx->error, RGT_EMISS, "%s: revision %d was tuned, %d is here", out->variant, s->revision,
                            v.family->revision);
  return status == RGT_OK ? load_compiled(op, &v, &s->code, out) : status;
}

/* What load_compiled knows of the default: nothing, so it verifies, once: afterwards the map leads to it. */
static rgt_status load_default(rgt_op *op, rgt__ready *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__variant v;
  rgt__tunedb_standing s;
  memset(&s, 0, sizeof s);
  rgt_status status = rgt__prepare_default(op, ctx->device->ops->kind, &v);
  if (status != RGT_OK) return status;
  rgt__variant_format(&v, out->variant);
  snprintf(s.family, sizeof s.family, "%s", v.family->name);
  rgt__variant_params_format(&v, out->variant);
  snprintf(s.params, sizeof s.params, "%.*s", (int)sizeof s.params - 1, out->variant);
  rgt__variant_format(&v, out->variant);
  s.revision = v.family->revision;
  s.template_digest = v.family->template_digest;
  status = load_mapped(op, &s, out);
  return status == RGT_EMISS ? load_compiled(op, &v, NULL, out) : status;
}

/* ---- rgt_op_prepare ---- */

void rgt__prepare_reset(rgt_op *op) {
  rgt__device *d = op->ctx->device;
  for (int i = 0; i < op->n_ready; i++)
    if (op->ready[i].module) d->ops->unload(d, op->ready[i].module);
  rgt__free(op->ready);
  op->ready = NULL;
  op->n_ready = 0;
  d->ops->mem_free(d, op->workspace);
  op->workspace = NULL;
  op->workspace_bytes = 0;
  op->prepared = 0;
  memset(op->by_bucket, 0, sizeof op->by_bucket);
}

static rgt__ready *loaded_already(rgt_op *op, const char *variant) {
  for (int i = 0; i < op->n_ready; i++)
    if (strcmp(op->ready[i].variant, variant) == 0) return &op->ready[i];
  return NULL;
}

static rgt__ready *new_ready(rgt_op *op) {
  rgt__ready *r = &op->ready[op->n_ready];
  memset(r, 0, sizeof *r);
  r->plan.rows = -1;
  return r;
}

static int on_cpu(const rgt_op *op) {
  return strcmp(op->ctx->device->ops->kind, "cpu") == 0;
}

/* Winner, else runner-up, else default, else (CPU) the built-in kernel: a variant that cannot be used costs speed, not the
 * call. */
static rgt_status ready_for(rgt_op *op, rgt__choice *choice, rgt__ready **out) {
  rgt_ctx *ctx = op->ctx;
  char text[RGT_VARIANT_TEXT_MAX];
  rgt_status status = RGT_EMISS;
  *out = NULL;
  for (int place = 0; place < 2 && choice->from != RGT_FROM_DEFAULT; place++) {
    const rgt__tunedb_standing *s = place ? &choice->found.runner_up : &choice->found.winner;
    if (place && !choice->found.has_runner_up) break;
    rgt__context_variant_text(s, text);
    if ((*out = loaded_already(op, text))) return RGT_OK;
    rgt__ready *r = new_ready(op);
    status = load_standing(op, s, r);
    if (status == RGT_OK) {
      op->n_ready++;
      *out = r;
      return RGT_OK;
    }
    if (status == RGT_ENOMEM || status == RGT_ENOCOMPILER) break;
    rgt__context_log(ctx, RGT_LOG_WARNING, "%s; not used", ctx->error.text);
  }
  if (status == RGT_ENOMEM) return status;
  rgt__variant v;
  if (status != RGT_ENOCOMPILER) status = rgt__prepare_default(op, ctx->device->ops->kind, &v);
  if (status == RGT_OK) {
    rgt__variant_format(&v, text);
    if ((*out = loaded_already(op, text))) return RGT_OK;
    rgt__ready *r = new_ready(op);
    status = load_default(op, r);
    if (status == RGT_OK) {
      op->n_ready++;
      *out = r;
      return RGT_OK;
    }
  }
  if (status == RGT_ENOMEM || !on_cpu(op) || !rgt__builtin_supports(&op->desc)) return status;
  rgt__context_log(ctx, RGT_LOG_WARNING, "%s; the built-in kernel is used", ctx->error.text);
  return RGT_OK;
}

static rgt_status need_exact(rgt_op *op, const rgt__choice *choice) {
  char text[RGT_OP_TEXT_MAX] = "";
  if (choice->from != RGT_FROM_DEFAULT && choice->found.exact) return RGT_OK;
  rgt__op_format(&op->desc, text, NULL);
  return rgt__error_set(&op->ctx->error, RGT_EMISS,
                        "nothing tuned is stored for %s at %lld rows on %s; tune it with: ragtune --op %s --rows %lld", text,
                        (long long)choice->bucket, op->ctx->device->info.class_text, text, (long long)choice->bucket);
}

static int64_t workspace_for(const rgt_op *op, const rgt__ready *r, int64_t rows) {
  rgt__plan plan;
  rgt__plan_make(&r->program, &op->ctx->device->info, rows, op->desc.groups, &plan);
  return plan.valid ? plan.workspace_bytes : 0;
}

/* Every bucket up to max_rows gets its variant; the workspace is as large as the hungriest of them wants. */
static rgt_status fill_buckets(rgt_op *op, int64_t max_rows, int exact, int64_t *workspace_bytes) {
  char class_name[64] = "";
  rgt__choice *choice = rgt__alloc_zero(1, sizeof *choice);
  if (!choice) return rgt__error_nomem(&op->ctx->error, sizeof *choice);
  rgt_status status = op->options.batch_invariant && op->ctx->mode != RGT_MODE_OFF
                          ? rgt__prepare_class(op, class_name, sizeof class_name)
                          : RGT_OK;
  for (int b = 0; b < RGT_BUCKETS_MAX && status == RGT_OK; b++) {
    int64_t least = b ? ((int64_t)1 << (b - 1)) + 1 : 1, most = (int64_t)1 << b;
    if (least > max_rows) break;
    status = rgt__prepare_choose(op, most, class_name, choice);
    if (status == RGT_OK && exact) status = need_exact(op, choice);
    if (status == RGT_OK) status = ready_for(op, choice, &op->by_bucket[b]);
    if (status != RGT_OK || !op->by_bucket[b]) continue;
    int64_t rows[2] = {least, most < max_rows ? most : max_rows};
    for (int i = 0; i < 2; i++) {
      int64_t bytes = workspace_for(op, op->by_bucket[b], rows[i]);
      if (bytes > *workspace_bytes) *workspace_bytes = bytes;
    }
  }
  rgt__free(choice);
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
  rgt_tune_options o = {.struct_size = sizeof o, .rows = rows, .n_rows = n, .skew = op->options.skew};
  rgt_status status = rgt_tune(op, &o, results);
  if (status == RGT_ENOCOMPILER || status == RGT_EDB) {
    rgt__context_log(op->ctx, RGT_LOG_WARNING, "%s", op->ctx->error.text);
    return RGT_OK;
  }
  return status;
}

static rgt_status check_max_rows(rgt_op *op, int64_t max_rows) {
  if (max_rows >= 1 && max_rows <= RGT_COUNT_MAX) return RGT_OK;
  return rgt__error_set(&op->ctx->error, RGT_EINVAL, "max_rows is %lld; it can be 1 to 2147483647", (long long)max_rows);
}

static rgt_status begin_prepare(rgt_op *op) {
  rgt__prepare_reset(op);
  op->ready = rgt__alloc_zero(RGT_BUCKETS_MAX, sizeof *op->ready);
  return op->ready ? RGT_OK : rgt__error_nomem(&op->ctx->error, RGT_BUCKETS_MAX * sizeof *op->ready);
}

/* Memory for the calls to come; with a status that is not RGT_OK everything is undone. */
static rgt_status end_prepare(rgt_op *op, int64_t max_rows, int64_t workspace_bytes, rgt_status status) {
  rgt_ctx *ctx = op->ctx;
  if (status == RGT_OK && workspace_bytes > 0)
    status = ctx->device->ops->mem_alloc(ctx->device, (size_t)workspace_bytes, &op->workspace, &ctx->error);
  if (status == RGT_OK && on_cpu(op) && !op->hidden) {
    size_t bytes =
        (size_t)(op->desc.n_hidden ? op->desc.n_hidden : 1) * (size_t)ctx->device->info.n_threads * sizeof *op->hidden;
    op->hidden = rgt__alloc(bytes);
    if (!op->hidden) status = rgt__error_nomem(&ctx->error, bytes);
  }
  if (status != RGT_OK) {
    rgt__prepare_reset(op);
    return status;
  }
  if (on_cpu(op)) rgt__pool_warm(ctx->device->info.n_threads);
  op->workspace_bytes = workspace_bytes;
  op->max_rows = max_rows;
  op->prepared = 1;
  return RGT_OK;
}

rgt_status rgt_op_prepare(rgt_op *op, int64_t max_rows, unsigned flags) {
  rgt_ctx *ctx = op->ctx;
  int64_t workspace_bytes = 0;
  rgt_status status = check_max_rows(op, max_rows);
  if (status != RGT_OK) return status;
  if (flags & ~(unsigned)RGT_PREPARE_EXACT)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "flags is %u; it can be 0 or RGT_PREPARE_EXACT", flags);
  status = ctx->mode == RGT_MODE_TUNE ? tune_misses(op, max_rows) : RGT_OK;
  if (status == RGT_OK) status = begin_prepare(op);
  if (status == RGT_OK)
    status = fill_buckets(op, max_rows, (flags & RGT_PREPARE_EXACT) || ctx->mode == RGT_MODE_REPLAY, &workspace_bytes);
  return end_prepare(op, max_rows, workspace_bytes, status);
}

rgt_status rgt_op_prepare_variant(rgt_op *op, const char *variant, int64_t max_rows) {
  rgt_ctx *ctx = op->ctx;
  rgt__families *families = NULL;
  rgt__variant v;
  int64_t workspace_bytes = 0;
  rgt_status status = check_max_rows(op, max_rows);
  if (status == RGT_OK) status = begin_prepare(op);
  if (status == RGT_OK && strcmp(variant, "builtin") == 0) {
    if (!on_cpu(op) || !rgt__builtin_supports(&op->desc))
      status = rgt__error_set(&ctx->error, RGT_EINVAL, "variant \"builtin\" is the CPU's, for f32");
    return end_prepare(op, max_rows, 0, status);
  }
  if (status == RGT_OK) status = rgt__context_families(ctx, &families);
  if (status == RGT_OK) status = rgt__variant_parse(families, ctx->device->ops->kind, variant, &v, &ctx->error);
  if (status == RGT_OK && !rgt__family_fits(v.family, &op->desc))
    status = rgt__error_set(&ctx->error, RGT_EINVAL, "variant \"%s\": its family does not do this op", variant);
  if (status == RGT_OK) {
    rgt__ready *r = new_ready(op);
    rgt__variant_format(&v, r->variant);
    status = load_compiled(op, &v, NULL, r);
    if (status == RGT_OK) {
      op->n_ready = 1;
      workspace_bytes = workspace_for(op, r, max_rows);
      for (int b = 0; b < RGT_BUCKETS_MAX; b++) op->by_bucket[b] = r;
    }
  }
  return end_prepare(op, max_rows, workspace_bytes, status);
}
