/* tune.c -- one call of rgt_tune: space, compile pool, and a search for each signature. */
#include "runtime/tune.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/base/number.h"
#include "runtime/peak.h"
#include "runtime/prepare.h"
#include "runtime/thread_pool.h"

enum { DEFAULT_BUDGET_S = 60, SPACE_FILE_MAX = 1 << 20 };

#define LEAST_BUCKET_S 1.0 /* a signature's search gets this much, whatever the budget */

static const int64_t default_rows[] = {8, 64, 512, 4096, 32768};
enum { N_DEFAULT_ROWS = sizeof default_rows / sizeof default_rows[0] };

typedef struct tuning {
  rgt_op *op;
  rgt_ctx *ctx;
  rgt_tune_options o;
  rgt_skew skew;
  rgt_tune_result *results;
  double started_s, budget_s;
  rgt__families *families;
  rgt__tunedb *db, *scratch; /* scratch: in memory, once the file could not be written */
  rgt__candidate_maker maker;
  rgt__worker *worker;
  rgt__searched *all;
  int n, default_index;
  int n_compiled;
  rgt__space space;
} tuning;

int rgt__tune_admits(const rgt_op *op, const rgt__numeric *n) { return rgt__numeric_admits(n, op->desc.dtype, op->options.max_error); }

/* ---- what was asked for ---- */

static rgt_status check_options(tuning *t, const rgt_tune_options *options) {
  rgt__error *err = &t->ctx->error;
  if (options && options->struct_size != sizeof *options)
    return rgt__error_set(err, RGT_EINVAL, "rgt_tune_options.struct_size is %zu; this library's is %zu", options->struct_size, sizeof *options);
  if (options) t->o = *options;
  if (!t->o.rows || t->o.n_rows == 0) {
    t->o.rows = default_rows;
    t->o.n_rows = N_DEFAULT_ROWS;
  }
  if (t->o.n_rows < 0 || t->o.n_rows > RGT_BUCKETS_MAX) return rgt__error_set(err, RGT_EINVAL, "n_rows is %d; it can be 1 to %d", t->o.n_rows, (int)RGT_BUCKETS_MAX);
  if (t->o.index) {
    if (options->n_rows > 1 || t->o.n_index < 1 || t->o.n_index > RGT_COUNT_MAX)
      return rgt__error_set(err, RGT_EINVAL, "an index has its own number of rows: n_index is %lld, and n_rows must be 0 or 1", (long long)t->o.n_index);
    t->o.rows = &t->o.n_index;
    t->o.n_rows = 1;
    t->skew = rgt__problem_skew_of(t->o.index, t->op->desc.index_type, t->o.n_index, t->op->desc.groups);
  } else {
    t->skew = t->o.skew == RGT_SKEW_UNKNOWN ? RGT_SKEW_UNIFORM : t->o.skew;
  }
  for (int i = 0; i < t->o.n_rows; i++)
    if (t->o.rows[i] < 1 || t->o.rows[i] > RGT_COUNT_MAX)
      return rgt__error_set(err, RGT_EINVAL, "rows[%d] is %lld; it can be 1 to 2147483647", i, (long long)t->o.rows[i]);
  if (!(t->o.budget_s >= 0)) return rgt__error_set(err, RGT_EINVAL, "budget_s is %g; it can be 0 (the default, 60) or more", t->o.budget_s);
  if (t->o.policy == RGT_POLICY_GRAPH)
    return rgt__error_set(err, RGT_EUNSUPPORTED, "policy graph is for CUDA devices; device %s takes warm or cold", t->ctx->device->ops->kind);
  t->budget_s = t->o.budget_s > 0 ? t->o.budget_s : DEFAULT_BUDGET_S;
  return RGT_OK;
}

static void report(void *user, rgt_phase phase, int64_t bucket, int64_t done, int64_t total, const char *line) {
  const tuning *t = user;
  if (!t->o.progress) return;
  double elapsed = rgt__search_now() - t->started_s;
  rgt_progress p = {phase, bucket, done, total, elapsed, t->budget_s - elapsed > 0 ? t->budget_s - elapsed : 0, line};
  t->o.progress(t->o.progress_user, &p);
}

static int stopped(const tuning *t) { return t->o.stop && *t->o.stop; }

/* ---- results out of the database ---- */

static void standing_text(const rgt__tunedb_standing *s, char text[RGT_VARIANT_TEXT_MAX]) {
  snprintf(text, RGT_VARIANT_TEXT_MAX, "%s%s%s", s->family, s->params[0] ? ":" : "", s->params);
}

static rgt_status find(tuning *t, int64_t bucket, rgt__tunedb_winner *w) {
  rgt__signature_text text;
  rgt__place_text place_text;
  rgt__tunedb_signature sig;
  rgt__tunedb_place place;
  rgt__tunedb_limits limits;
  rgt_status status = rgt__op_signature(t->op, bucket, t->skew, &text, &sig, &t->ctx->error);
  if (status != RGT_OK) return status;
  rgt__op_place(t->op, t->o.policy, &place_text, &place);
  rgt__op_limits(t->op, &limits);
  return rgt__tunedb_find(t->scratch ? t->scratch : t->db, &sig, &place, &limits, w, &t->ctx->error);
}

static void fill_from(rgt_tune_result *r, const rgt__tunedb_winner *w) {
  const rgt__tunedb_standing *s = &w->winner;
  standing_text(s, r->winner);
  r->runner_up[0] = 0;
  if (w->has_runner_up) standing_text(&w->runner_up, r->runner_up);
  r->time_ps = s->time_ps;
  r->low_ps = s->low_ps;
  r->high_ps = s->high_ps;
  r->default_ps = s->default_ps;
  r->error_share = s->error_share;
}

/* Outcomes of every trial, counted by variant: the newest run's words for it. */
typedef struct trial_count {
  rgt_tune_result *r;
} trial_count;

static int count_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *trial) {
  rgt_tune_result *r = user;
  (void)run;
  if (trial->final) return 0; /* the duel's variants were counted in their waves */
  int *const counts[RGT_N_OUTCOMES] = {&r->n_ok,    &r->n_infeasible, &r->n_compile_error,
                                       &r->n_wrong, &r->n_crashed,    &r->n_timed_out};
  ++*counts[trial->outcome];
  r->n_tried++;
  return 0;
}

static rgt_status look_up(tuning *t, int i, int *hit) {
  rgt_tune_result *r = &t->results[i];
  rgt__tunedb_winner *w = rgt__alloc_zero(1, sizeof *w);
  *hit = 0;
  if (!w) return rgt__error_nomem(&t->ctx->error, sizeof *w);
  rgt_status status = t->o.force ? RGT_EMISS : find(t, r->bucket, w);
  if (status == RGT_OK && w->complete) {
    rgt__signature_text text;
    rgt__place_text place_text;
    rgt__tunedb_signature sig;
    rgt__tunedb_place place;
    *hit = r->hit = 1;
    fill_from(r, w);
    rgt__op_place(t->op, t->o.policy, &place_text, &place);
    status = rgt__op_signature(t->op, r->bucket, t->skew, &text, &sig, &t->ctx->error);
    if (status == RGT_OK) status = rgt__tunedb_trials(t->db, &sig, &place, count_trial, r, &t->ctx->error);
  }
  rgt__free(w);
  return status == RGT_EMISS ? RGT_OK : status;
}

/* ---- the space, rendered and compiled ---- */

static rgt_status enumerate(tuning *t) {
  rgt__buffer narrow = {0};
  rgt__error *err = &t->ctx->error;
  rgt_status status = RGT_OK;
  if (t->o.space) status = rgt__file_read(t->o.space, SPACE_FILE_MAX, &narrow, err);
  if (status == RGT_OK)
    status = rgt__space_enumerate(t->families, &t->op->desc, &t->maker.target, t->o.space ? (narrow.data ? narrow.data : "") : NULL, t->o.space, 0,
                                  &t->space, err);
  rgt__buffer_free(&narrow);
  return status;
}

static int same_variant(const rgt__variant *a, const rgt__variant *b) {
  return a->family == b->family && memcmp(a->value, b->value, (size_t)a->family->n_params) == 0;
}

/* Renders every variant that the handle admits; the default stands among them even where a space file leaves it out. */
static rgt_status render_all(tuning *t) {
  rgt__variant fallback;
  rgt__error *err = &t->ctx->error;
  rgt_status status = rgt__prepare_default(t->op, t->maker.target.device, &fallback);
  if (status != RGT_OK) return status;
  t->all = rgt__alloc_zero((size_t)t->space.n + 1, sizeof *t->all);
  if (!t->all) return rgt__error_nomem(err, (size_t)(t->space.n + 1) * sizeof *t->all);
  t->default_index = -1;
  for (int i = 0; i <= t->space.n && status == RGT_OK; i++) {
    const rgt__variant *v = i < t->space.n ? &t->space.variants[i] : &fallback;
    rgt__searched *c = &t->all[t->n];
    if (i == t->space.n && t->default_index >= 0) break;
    status = rgt__candidate_render(&t->maker, v, &t->op->desc, &c->candidate, err);
    if (status != RGT_OK) break;
    c->is_default = same_variant(v, &fallback);
    if (!c->is_default && !rgt__tune_admits(t->op, &c->candidate.numeric)) {
      rgt__candidate_free(t->maker.device, &c->candidate);
      continue;
    }
    if (c->is_default) t->default_index = t->n;
    t->n++;
    report(t, RGT_PHASE_GENERATE, 0, i + 1, t->space.n, c->candidate.text);
  }
  return status;
}

/* Compiling may take this share of the budget; what is not compiled by then is left out, so that the rest can be measured. */
#define COMPILE_SHARE 0.6

static int out_of_compile_time(const tuning *t) { return rgt__search_now() > t->started_s + COMPILE_SHARE * t->budget_s; }

static int compiled_one(void *user, int i) {
  tuning *t = user;
  t->n_compiled++;
  report(t, RGT_PHASE_COMPILE, 0, t->n_compiled, t->n, t->all[i].candidate.text);
  return stopped(t) || out_of_compile_time(t);
}

/* Keeps the candidates that were compiled, or failed to be. */
static void drop_uncompiled(tuning *t) {
  int n = 0;
  for (int i = 0; i < t->n; i++) {
    rgt__candidate *c = &t->all[i].candidate;
    if (c->outcome != RGT_TRIAL_OK || c->entry.path[0] || c->entry.code) {
      if (i == t->default_index) t->default_index = n;
      t->all[n++] = t->all[i];
    } else {
      rgt__candidate_free(t->maker.device, c);
    }
  }
  if (n < t->n)
    rgt__context_log(t->ctx, RGT_LOG_WARNING, "the budget of %.0f s ended compiling after %d of %d variants; give more with budget_s (--budget)",
                     t->budget_s, n, t->n);
  t->n = n;
}

/* The pool wants one array of candidates; ours lie in larger structs. */
static rgt_status compile_all(tuning *t) {
  rgt__candidate *list = rgt__alloc_zero((size_t)t->n, sizeof *list);
  if (!list) return rgt__error_nomem(&t->ctx->error, (size_t)t->n * sizeof *list);
  for (int i = 0; i < t->n; i++) list[i] = t->all[i].candidate;
  rgt_status status = rgt__candidate_compile_all(&t->maker, list, t->n, rgt__pool_affinity(), 0, compiled_one, t, &t->ctx->error);
  for (int i = 0; i < t->n; i++) t->all[i].candidate = list[i];
  rgt__free(list);
  if (status == RGT_EINTERRUPTED && !stopped(t)) {
    drop_uncompiled(t);
    return RGT_OK;
  }
  if (status == RGT_EINTERRUPTED) rgt__error_set(&t->ctx->error, status, "stopped while compiling: %d of %d variants are in the code cache", t->n_compiled, t->n);
  return status;
}

static rgt_status make_candidates(tuning *t) {
  rgt_ctx *ctx = t->ctx;
  t->maker = (rgt__candidate_maker){.device = ctx->device, .target = ctx->device->info.target, .cache = ctx->cache,
                                    .facts = {t->op->options.weight_form, t->op->options.align_bytes}};
  rgt_status status = rgt__context_families(ctx, &t->families);
  t->maker.families = t->families;
  if (status == RGT_OK) status = rgt__context_toolchain(ctx, &t->maker.toolchain);
  if (status == RGT_OK) status = enumerate(t);
  if (status == RGT_OK) status = render_all(t);
  if (status == RGT_OK) status = compile_all(t);
  if (status == RGT_OK) status = rgt__worker_open_local(&t->maker, &t->op->desc, NULL, 1, 0, &t->worker, &ctx->error);
  return status;
}

/* ---- one bucket ---- */

static int64_t problem_rows(const tuning *t, int i) { return t->o.index ? t->o.n_index : t->results[i].bucket; }

static rgt_status remember_code(tuning *t, const char *variant) {
  char stamp[700], params[RGT_VARIANT_TEXT_MAX];
  rgt__device *d = t->maker.device;
  d->ops->compiler_stamp(d, stamp, sizeof stamp);
  for (int i = 0; i < t->n; i++) {
    const rgt__candidate *c = &t->all[i].candidate;
    rgt__digest key;
    if (strcmp(c->text, variant) != 0) continue;
    const rgt__family *f = c->variant.family;
    rgt__variant_params_format(&c->variant, params);
    rgt__candidate_local_key(f->name, f->revision, params, &t->op->desc, &t->maker.facts, &f->template_digest, stamp, t->maker.target.name, &key);
    return rgt__code_cache_map_put(t->ctx->cache, &key, &c->code, NULL);
  }
  return RGT_OK;
}

/* A batch that could not be stored: the trials go to a database in memory, so that this call still has its answer. */
static rgt_status search_bucket(tuning *t, int i, double deadline_s) {
  rgt_tune_result *r = &t->results[i];
  rgt__search_setup s = {.op = t->op, .options = &t->o, .maker = &t->maker, .worker = t->worker, .db = t->scratch ? t->scratch : t->db, .all = t->all,
                         .n = t->n, .default_index = t->default_index, .policy = t->o.policy, .seed = t->o.seed ? t->o.seed : 20260101,
                         .started_s = t->started_s, .report = report, .report_user = t};
  return rgt__search_run(&s, r->bucket, t->skew, t->o.index, deadline_s, r, &t->ctx->error);
}

static rgt_status finish_bucket(tuning *t, int i) {
  rgt_tune_result *r = &t->results[i];
  if (r->status != RGT_OK) return RGT_OK;
  rgt__tunedb_winner *w = rgt__alloc_zero(1, sizeof *w);
  if (!w) return rgt__error_nomem(&t->ctx->error, sizeof *w);
  rgt_status status = find(t, r->bucket, w);
  if (status == RGT_OK) {
    fill_from(r, w);
    remember_code(t, r->winner);
    if (r->runner_up[0]) remember_code(t, r->runner_up);
  } else if (status == RGT_EMISS) {
    status = RGT_OK;
    r->status = RGT_EINFEASIBLE;
    snprintf(r->reason, sizeof r->reason, "no variant is feasible, right and admitted");
  }
  rgt__free(w);
  return status;
}

static rgt_status tune_bucket(tuning *t, int i, double deadline_s) {
  rgt_tune_result *r = &t->results[i];
  rgt_status status = RGT_OK;
  if (rgt__problem_bytes(&t->op->desc, problem_rows(t, i)) > t->ctx->device->info.free_bytes / 2) {
    r->status = RGT_ESIZE;
    snprintf(r->reason, sizeof r->reason, "skipped: its arrays take %.1f GB, over half of the free memory", (double)rgt__problem_bytes(&t->op->desc, problem_rows(t, i)) / 1e9);
    return RGT_OK;
  }
  for (int attempt = 0; attempt < 2; attempt++) {
    rgt_tune_result blank = *r;
    status = search_bucket(t, i, deadline_s);
    if (status != RGT_EDB || t->scratch) break;
    rgt__context_log(t->ctx, RGT_LOG_WARNING, "%s could not be written; measuring this bucket again to keep it in memory", rgt__tunedb_path(t->db));
    status = rgt__tunedb_open(NULL, 0, &t->scratch, &t->ctx->error);
    if (status != RGT_OK) return status;
    *r = blank;
  }
  return status == RGT_OK ? finish_bucket(t, i) : status;
}

/* ---- work, and shares of the peak ---- */

static void fill_work(tuning *t) {
  rgt__families *families = NULL;
  rgt__variant fallback;
  if (t->families) families = t->families;
  if (!families || rgt__prepare_default(t->op, t->maker.target.device, &fallback) != RGT_OK) return;
  for (int i = 0; i < t->o.n_rows; i++)
    rgt__family_work(families, fallback.family, &t->op->desc, problem_rows(t, i), t->op->desc.groups, &t->results[i].flops, &t->results[i].bytes, NULL);
}

static void fill_peaks(tuning *t) {
  rgt__peak peak;
  if (rgt__peak_open(&t->maker, &peak, NULL) != RGT_OK) return;
  double flops = rgt__peak_flops(&peak);
  for (int i = 0; i < t->o.n_rows; i++) {
    rgt_tune_result *r = &t->results[i];
    if (r->hit || r->status != RGT_OK || r->time_ps <= 0) continue;
    double seconds = (double)r->time_ps / 1e12, bytes = rgt__peak_bytes(&peak, (int64_t)r->bytes);
    double by_flops = flops > 0 ? r->flops / seconds / flops : 0, by_bytes = bytes > 0 ? r->bytes / seconds / bytes : 0;
    r->peak_share = by_flops > by_bytes ? by_flops : by_bytes;
  }
  rgt__peak_close(&peak);
}

/* ---- the call ---- */

static rgt_status search_all(tuning *t, const int *hits) {
  rgt_status status = RGT_OK, stored = RGT_OK;
  int left = 0;
  for (int i = 0; i < t->o.n_rows; i++) left += !hits[i];
  for (int i = 0; i < t->o.n_rows && status == RGT_OK; i++) {
    if (hits[i]) continue;
    double now = rgt__search_now(), share = (t->started_s + t->budget_s - now) / left;
    status = tune_bucket(t, i, now + (share > LEAST_BUCKET_S ? share : LEAST_BUCKET_S));
    left--;
    if (status == RGT_EDB) {
      stored = RGT_EDB;
      status = finish_bucket(t, i);
    }
  }
  if (status == RGT_EINTERRUPTED) rgt__error_set(&t->ctx->error, status, "stopped; what was measured is stored, and the next run goes on from there");
  if (status == RGT_OK && (stored == RGT_EDB || t->scratch))
    status = rgt__error_set(&t->ctx->error, RGT_EDB, "results could not be stored in %s", rgt__tunedb_path(t->db));
  return status;
}

static void close_tuning(tuning *t) {
  for (int i = 0; i < t->n; i++) {
    rgt__candidate_free(t->maker.device, &t->all[i].candidate);
    rgt__candidate_free(t->maker.device, &t->all[i].twin);
  }
  if (t->worker) t->worker->ops->close(t->worker);
  rgt__free(t->all);
  rgt__space_free(&t->space);
  rgt__tunedb_close(t->scratch);
}

rgt_status rgt_tune(rgt_op *op, const rgt_tune_options *options, rgt_tune_result *results) {
  int hits[RGT_BUCKETS_MAX] = {0}, n_hits = 0;
  tuning t = {.op = op, .ctx = op->ctx, .results = results, .o = {.struct_size = sizeof t.o}, .started_s = rgt__search_now()};
  rgt_status status = check_options(&t, options);
  if (status != RGT_OK) return status;
  memset(results, 0, (size_t)t.o.n_rows * sizeof *results);
  for (int i = 0; i < t.o.n_rows; i++) results[i] = (rgt_tune_result){.bucket = rgt__number_bucket(t.o.rows[i]), .skew = t.skew, .status = RGT_EINTERRUPTED};
  status = rgt__context_db(t.ctx, &t.db);
  for (int i = 0; i < t.o.n_rows && status == RGT_OK; i++) {
    status = look_up(&t, i, &hits[i]);
    if (hits[i]) results[i].status = RGT_OK;
    n_hits += hits[i];
  }
  if (status == RGT_OK && n_hits < t.o.n_rows) {
    status = make_candidates(&t);
    if (status == RGT_OK) status = search_all(&t, hits);
    if (status == RGT_OK || status == RGT_EDB) fill_work(&t);
    if (status == RGT_OK || status == RGT_EDB) fill_peaks(&t);
  } else if (status == RGT_OK) {
    t.maker.target = t.ctx->device->info.target;
    if (rgt__context_families(t.ctx, &t.families) == RGT_OK) fill_work(&t);
  }
  close_tuning(&t);
  return status;
}
