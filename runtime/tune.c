/* tune.c -- one call of rgt_tune: space, compile pool, and a search for each signature. */
#include <stdio.h>
#include <string.h>

#include "runtime/background.h"
#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/gc.h"
#include "runtime/prepare.h"
#include "runtime/tune_state.h"
#include "runtime/wishes.h"

enum { DEFAULT_BUDGET_S = 60, IDLE_LIMIT_S = 10 };

#define LEAST_BUCKET_S 1.0 /* a signature's search gets this much, whatever the budget */

static const int64_t default_rows[] = {8, 64, 512, 4096, 32768};
enum { N_DEFAULT_ROWS = sizeof default_rows / sizeof default_rows[0] };

/* ---- what was asked for ---- */

static rgt_status check_options(rgt__tuning *t, const rgt_tune_options *options) {
  rgt__error *err = &t->ctx->error;
  if (options && options->struct_size != sizeof *options)
    return rgt__error_set(err, RGT_EINVAL, "rgt_tune_options.struct_size is %zu; this library's is %zu", options->struct_size,
                          sizeof *options);
  if (options) t->o = *options;
  if (t->o.n_rows >= 0 && (!t->o.rows || t->o.n_rows == 0)) {
    t->o.rows = default_rows;
    t->o.n_rows = N_DEFAULT_ROWS;
  }
  if (t->o.n_rows < 0 || t->o.n_rows > RGT_BUCKETS_MAX)
    return rgt__error_set(err, RGT_EINVAL, "n_rows is %d; it can be 1 to %d", t->o.n_rows, (int)RGT_BUCKETS_MAX);
  if (t->o.index) {
    if (options->n_rows > 1 || t->o.n_index < 1 || t->o.n_index > RGT_COUNT_MAX)
      return rgt__error_set(err, RGT_EINVAL, "an index has its own number of rows: n_index is %lld, and n_rows must be 0 or 1",
                            (long long)t->o.n_index);
    t->o.rows = &t->o.n_index;
    t->o.n_rows = 1;
    t->skew = rgt__problem_skew_of(t->o.index, t->op->desc.index_type, t->o.n_index, t->op->desc.groups);
  } else {
    t->skew = t->o.skew == RGT_SKEW_UNKNOWN ? RGT_SKEW_UNIFORM : t->o.skew;
  }
  for (int i = 0; i < t->o.n_rows; i++)
    if (t->o.rows[i] < 1 || t->o.rows[i] > RGT_COUNT_MAX)
      return rgt__error_set(err, RGT_EINVAL, "rows[%d] is %lld; it can be 1 to 2147483647", i, (long long)t->o.rows[i]);
  if ((unsigned)t->o.skew > RGT_SKEW_ONE)
    return rgt__error_set(err, RGT_EINVAL, "skew is %d; it can be unknown, uniform, zipf or one", (int)t->o.skew);
  if ((unsigned)t->o.policy > RGT_POLICY_GRAPH)
    return rgt__error_set(err, RGT_EINVAL, "policy is %d; it can be warm, cold or graph", (int)t->o.policy);
  if (!(t->o.budget_s >= 0))
    return rgt__error_set(err, RGT_EINVAL, "budget_s is %g; it can be 0 (the default, 60) or more", t->o.budget_s);
  if (t->o.policy == RGT_POLICY_GRAPH && !t->ctx->device->ops->graph_begin)
    return rgt__error_set(err, RGT_EUNSUPPORTED, "policy graph is for CUDA devices; device %s takes warm or cold",
                          t->ctx->device->ops->kind);
  t->budget_s = t->o.budget_s > 0 ? t->o.budget_s : DEFAULT_BUDGET_S;
  return RGT_OK;
}

void rgt__tune_report(void *user, rgt_phase phase, int64_t bucket, int64_t done, int64_t total, const char *line) {
  rgt__tuning *t = user;
  rgt__tune_renew(t);
  if (!t->o.progress) return;
  double elapsed = rgt__search_now() - t->started_s;
  rgt_progress p = {phase, bucket, done, total, elapsed, t->budget_s - elapsed > 0 ? t->budget_s - elapsed : 0, line};
  t->o.progress(t->o.progress_user, &p);
}

int rgt__tune_stopped(const rgt__tuning *t) {
  return t->o.stop && *t->o.stop;
}

/* ---- one bucket ---- */

int64_t rgt__tune_problem_rows(const rgt__tuning *t, int i) {
  return t->o.index ? t->o.n_index : t->results[i].bucket;
}

static rgt_status remember_code(rgt__tuning *t, const char *variant) {
  char stamp[700], params[RGT_VARIANT_TEXT_MAX];
  rgt__device *d = t->maker.device;
  d->ops->compiler_stamp(d, stamp, sizeof stamp);
  for (int i = 0; i < t->n; i++) {
    const rgt__candidate *c = &t->all[i].candidate;
    rgt__digest key;
    if (strcmp(c->text, variant) != 0) continue;
    const rgt__family *f = c->variant.family;
    rgt__variant_params_format(&c->variant, params);
    rgt__candidate_local_key(f->name, f->revision, params, &t->op->desc, &t->maker.facts, &f->template_digest, stamp,
                             t->maker.target.name, &key);
    return rgt__code_cache_map_put(t->ctx->cache, &key, &c->code, NULL);
  }
  return RGT_OK;
}

static rgt__search_setup setup_of(rgt__tuning *t) {
  return (rgt__search_setup){.op = t->op,
                             .options = &t->o,
                             .maker = &t->maker,
                             .worker = t->worker,
                             .db = t->scratch ? t->scratch : t->db,
                             .all = t->all,
                             .n = t->n,
                             .default_index = t->default_index,
                             .policy = t->o.policy,
                             .seed = t->o.seed ? t->o.seed : RGT_SEARCH_SEED,
                             .stop = &t->stop,
                             .started_s = t->started_s,
                             .report = rgt__tune_report,
                             .report_user = t};
}

static rgt_status finish_bucket(rgt__tuning *t, int i) {
  rgt_tune_result *r = &t->results[i];
  if (r->status != RGT_OK) return RGT_OK;
  rgt__tunedb_winner *w = rgt__alloc_zero(1, sizeof *w);
  if (!w) return rgt__error_nomem(&t->ctx->error, sizeof *w);
  rgt_status status = rgt__tune_find(t, r->bucket, w);
  r->n_infeasible += t->n_banned; /* not tried, and not missed */
  r->n_tried += t->n_banned;
  if (status == RGT_OK) {
    rgt__tune_fill_from(r, w);
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

/* Skipped, before anything is compiled for it: */
static int is_too_big(rgt__tuning *t, int i) {
  rgt_tune_result *r = &t->results[i];
  int64_t bytes = rgt__problem_bytes(&t->op->desc, rgt__tune_problem_rows(t, i));
  if (bytes <= t->ctx->device->info.free_bytes / 2) return 0;
  r->status = RGT_ESIZE;
  snprintf(r->reason, sizeof r->reason, "its arrays take %.1f GB, over half of the free memory", (double)bytes / 1e9);
  return 1;
}

static rgt_status tune_bucket(rgt__tuning *t, int i, double deadline_s) {
  rgt_tune_result *r = &t->results[i];
  rgt_status status = RGT_OK;
  if (is_too_big(t, i)) return RGT_OK;
  for (int attempt = 0; attempt < 2; attempt++) {
    rgt_tune_result blank = *r;
    rgt__search_setup setup = setup_of(t);
    status = rgt__search_run(&setup, r->bucket, t->skew, t->o.index, deadline_s, r, &t->finalists[i], &t->ctx->error);
    if (status != RGT_EDB || t->scratch) break;
    rgt__context_log(t->ctx, RGT_LOG_WARNING, "%s could not be written; measuring this bucket again to keep it in memory",
                     rgt__tunedb_path(t->db));
    status = rgt__tunedb_open(NULL, 0, &t->scratch, &t->ctx->error);
    if (status != RGT_OK) return status;
    *r = blank;
  }
  return status;
}

/* Every signature's finalists once more, and once more: each time a run of its own, some seconds apart. Small problems only:
 * where a call takes long its data do too, and a long call averages over the machine's moods by itself. */
static rgt_status rematches(rgt__tuning *t, const int *hits) {
  enum { PASSES = 2, SMALL_BYTES = 64 << 20 };
  rgt_status status = RGT_OK;
  rgt__search_setup setup = setup_of(t);
  double end_s = t->started_s + t->budget_s;
  for (int pass = 0; pass < PASSES; pass++)
    for (int i = 0; i < t->o.n_rows && status == RGT_OK; i++) {
      rgt_tune_result *r = &t->results[i];
      if (hits[i] || r->status != RGT_OK || t->finalists[i].n < 2 || rgt__search_now() > end_s || rgt__tune_stopped(t))
        continue;
      if (rgt__problem_bytes(&t->op->desc, rgt__tune_problem_rows(t, i)) > SMALL_BYTES) continue;
      status = rgt__search_rematch(&setup, r->bucket, t->skew, t->o.index, end_s, r, &t->finalists[i], &t->ctx->error);
    }
  return status == RGT_EINTERRUPTED ? RGT_OK : status; /* the searches before it are complete */
}

/* ---- the call ---- */

/* An earlier row count of the same bucket, whose search is this one's too; -1 if there is none. */
static int same_bucket(const rgt__tuning *t, int i) {
  for (int earlier = 0; earlier < i; earlier++)
    if (t->results[earlier].bucket == t->results[i].bucket) return earlier;
  return -1;
}

static rgt_status search_all(rgt__tuning *t, const int *hits) {
  rgt_status status = RGT_OK, stored = RGT_OK;
  int left = 0;
  for (int i = 0; i < t->o.n_rows; i++) left += !hits[i] && same_bucket(t, i) < 0;
  for (int i = 0; i < t->o.n_rows && status == RGT_OK; i++) {
    if (hits[i] || same_bucket(t, i) >= 0) continue;
    double now = rgt__search_now(), share = (t->started_s + t->budget_s - now) / left;
    status = tune_bucket(t, i, now + (share > LEAST_BUCKET_S ? share : LEAST_BUCKET_S));
    left--;
    if (status == RGT_EDB) {
      stored = RGT_EDB;
      status = RGT_OK;
    }
  }
  if (status == RGT_EINTERRUPTED) {
    rgt__error_set(&t->ctx->error, status,
                   strcmp(rgt__tunedb_path(t->scratch ? t->scratch : t->db), ":memory:") == 0
                       ? "stopped; what was measured was kept in memory and ends with this context"
                       : "stopped; what was measured is stored, and the next run goes on from there");
  } else if (status == RGT_OK) {
    status = rematches(t, hits);
    if (status == RGT_EDB) {
      stored = RGT_EDB;
      status = RGT_OK;
    }
  }
  rgt_status finished = status;
  for (int i = 0; i < t->o.n_rows && (finished == RGT_OK || finished == RGT_EINTERRUPTED); i++) {
    rgt_status one = hits[i] || same_bucket(t, i) >= 0 ? RGT_OK : finish_bucket(t, i);
    if (one != RGT_OK) return one;
    if (!hits[i] && same_bucket(t, i) >= 0) t->results[i] = t->results[same_bucket(t, i)];
  }
  if (status == RGT_OK && (stored == RGT_EDB || t->scratch))
    status = rgt__error_set(&t->ctx->error, RGT_EDB, "results could not be stored in %s", rgt__tunedb_path(t->db));
  return status;
}

static void close_tuning(rgt__tuning *t) {
  rgt__tune_unclaim(t);
  for (int i = 0; i < t->n; i++) {
    rgt__candidate_free(t->maker.device, &t->all[i].candidate);
    rgt__candidate_free(t->maker.device, &t->all[i].twin);
  }
  if (t->worker) t->worker->ops->close(t->worker);
  rgt__worker_farm_close(t->maker.farm);
  rgt__free(t->all);
  rgt__space_free(&t->space);
  rgt__free(t->notes);
  rgt__tunedb_close(t->scratch);
}

/* What is stored already, and what cannot be searched at all: *n_hits of the results need nothing. */
rgt_status rgt__tune_look_up_all(rgt__tuning *t, int *hits, int *n_hits) {
  rgt_status status = RGT_OK;
  *n_hits = 0;
  for (int i = 0; i < t->o.n_rows && status == RGT_OK; i++) {
    if (!hits[i]) status = rgt__tune_look_up(t, i, &hits[i]);
    if (hits[i]) t->results[i].status = RGT_OK;
    *n_hits += hits[i] || is_too_big(t, i);
  }
  return status;
}

rgt_status rgt_tune(rgt_op *op, const rgt_tune_options *options, rgt_tune_result *results) {
  int hits[RGT_BUCKETS_MAX] = {0}, n_hits = 0;
  rgt__tuning t = {
      .op = op, .ctx = op->ctx, .results = results, .o = {.struct_size = sizeof t.o}, .started_s = rgt__search_now()};
  rgt_status status = results ? check_options(&t, options) : rgt__error_null(&op->ctx->error, "results");
  if (status != RGT_OK) return status;
  memset(results, 0, (size_t)t.o.n_rows * sizeof *results);
  for (int i = 0; i < t.o.n_rows; i++)
    results[i] = (rgt_tune_result){.bucket = rgt__number_bucket(t.o.rows[i]), .skew = t.skew, .status = RGT_EINTERRUPTED};
  rgt__background_idle(t.ctx, IDLE_LIMIT_S); /* what it compiles would be measured too */
  status = rgt__context_db(t.ctx, &t.db);
  if (status == RGT_OK) status = rgt__wishes_load(op);
  if (status == RGT_OK) status = rgt__tune_look_up_all(&t, hits, &n_hits);
  if (status == RGT_OK) status = rgt__tune_validate(&t, hits, &n_hits);
  if (status == RGT_OK && n_hits < t.o.n_rows) status = rgt__tune_claim(&t, hits, &n_hits);
  t.stop.flag = t.o.stop;
  t.ctx->device->stop = &t.stop;
  if (status == RGT_OK && n_hits < t.o.n_rows) {
    status = rgt__tune_make_candidates(&t);
    if (status == RGT_OK) status = search_all(&t, hits);
    if (status == RGT_OK || status == RGT_EDB) rgt__tune_fill_work(&t);
    if (status == RGT_OK || status == RGT_EDB) rgt__tune_fill_peaks(&t);
  } else if (status == RGT_OK) {
    rgt__tune_fill_work(&t);
  }
  close_tuning(&t);
  t.ctx->device->stop = NULL;
  rgt__gc_keep_quota(t.ctx, 0);
  return status;
}
