/* worker_overhead.c -- what it costs that candidates are compiled and run in children.
 *
 *     bench_worker_overhead [pairs]      3 without a number; exits 1 when an aim is missed
 *
 * The main job, nothing cached, with workers and in this process, in turns: the ratio of their times. And a candidate that
 * crashes: the time from the question about it to the next answer, over that of a candidate that does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/context.h"
#include "runtime/prepare.h"
#include "runtime/search.h"
#include "runtime/worker.h"
#include "runtime/worker_farm.h"

#define MAIN_JOB "mlp:10-20-10:g3:f32:relu:b12:nk:i64"

enum { PAIRS_MAX = 50, CRASHES = 20 };

static char house[64], templates[100];

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, int n) {
  qsort(v, (size_t)n, sizeof *v, by_size);
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int open_op(const char *template_dir, const char *cache, const char *worker, rgt_ctx **ctx, rgt_op **op) {
  rgt_options o = {
      .struct_size = sizeof o, .device = "cpu", .database = ":memory:", .cache_dir = cache, .template_dir = template_dir};
  rgt_op_desc desc;
  setenv("RAGTUNE_WORKER", worker, 1);
  if (rgt_open(&o, ctx) == RGT_OK && rgt_op_parse(*ctx, MAIN_JOB, &desc) == RGT_OK &&
      rgt_op_new(*ctx, &desc, NULL, op) == RGT_OK)
    return 1;
  fprintf(stderr, "%s\n", *ctx ? rgt_errmsg(*ctx) : "no context");
  return 0;
}

/* Processor time of this process and of all that it waited for. */
static double used_s(void) {
  double sum = 0;
  for (int i = 0; i < 2; i++) {
    struct rusage u;
    getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
    sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
  }
  return sum;
}

typedef struct job_cost {
  double wall_s, used_s;
} job_cost;

/* One cold search; wall_s below 0: it failed. */
static job_cost main_job(const char *worker, int n, int *tried) {
  char cache[100];
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  rgt_tune_result results[5];
  rgt_tune_options o = {.struct_size = sizeof o, .budget_s = 600};
  snprintf(cache, sizeof cache, "%s/cache-%d", house, n);
  job_cost took = {-1, used_s()};
  double began = now_s();
  if (open_op(NULL, cache, worker, &ctx, &op)) {
    if (rgt_tune(op, &o, results) == RGT_OK)
      took.wall_s = now_s() - began;
    else
      fprintf(stderr, "%s\n", rgt_errmsg(ctx));
    *tried = results[0].n_tried;
  }
  rgt_close(ctx);
  took.used_s = used_s() - took.used_s;
  return took;
}

static int compare(int pairs) {
  double ratio[PAIRS_MAX], used[PAIRS_MAX];
  for (int i = 0; i < pairs; i++) {
    int tried = 0, first_inside = i % 2;
    job_cost a = main_job(first_inside ? "inside" : RGT_WORKER, 2 * i, &tried);
    job_cost b = main_job(first_inside ? RGT_WORKER : "inside", 2 * i + 1, &tried);
    job_cost child = first_inside ? b : a, inside = first_inside ? a : b;
    if (child.wall_s < 0 || inside.wall_s < 0) return 3;
    ratio[i] = child.wall_s / inside.wall_s;
    used[i] = child.used_s / inside.used_s;
    printf(
        "main job, cold, %d variants: %.2f s with workers, %.2f s in this process: %.3f; processor time %.2f s, %.2f s: %.3f\n",
        tried, child.wall_s, inside.wall_s, ratio[i], child.used_s, inside.used_s, used[i]);
    fflush(stdout);
  }
  double r = median(ratio, pairs), u = median(used, pairs);
  printf("workers / in this process: %.3f, of processor time %.3f (medians of %d pairs; aim: under 1.15)\n", r, u, pairs);
  return r < 1.15 ? 0 : 1;
}

/* ---- a crash ---- */

typedef struct crashing {
  rgt_ctx *ctx;
  rgt_op *op;
  rgt__candidate_maker maker;
  rgt__worker *worker;
  rgt__candidate good, bad, late;
} crashing;

static rgt_status make(crashing *c, const char *text, rgt__candidate *out) {
  rgt__variant v;
  rgt_status status = rgt__variant_parse(c->maker.families, "cpu", text, &v, &c->ctx->error);
  if (status == RGT_OK) status = rgt__candidate_render(&c->maker, &v, &c->op->desc, out, &c->ctx->error);
  if (status == RGT_OK) status = rgt__candidate_compile(&c->maker, out, 0, &c->ctx->error);
  return status;
}

static rgt_status open_crashing(crashing *c) {
  char cache[100];
  snprintf(cache, sizeof cache, "%s/cache-crash", house);
  if (!open_op(templates, cache, RGT_WORKER, &c->ctx, &c->op)) return RGT_EINTERNAL;
  c->maker = (rgt__candidate_maker){.device = c->ctx->device,
                                    .target = c->ctx->device->info.target,
                                    .cache = c->ctx->cache,
                                    .facts = {RGT_STACKED, 4, RGT_ORDER_RAW}};
  rgt_status status = rgt__context_families(c->ctx, &c->maker.families);
  if (status == RGT_OK) status = rgt__context_toolchain(c->ctx, &c->maker.toolchain);
  if (status == RGT_OK) status = make(c, "faulty:fault=0,more=0", &c->good);
  if (status == RGT_OK) status = make(c, "faulty:fault=1,more=0", &c->bad);
  if (status == RGT_OK) status = make(c, "faulty:fault=15,more=0", &c->late);
  if (status == RGT_OK) status = rgt__worker_open(&c->maker, &c->op->desc, NULL, 1, 0, &c->worker, &c->ctx->error);
  return status;
}

static void forgive(rgt__worker *w, rgt__candidate *c) {
  w->ops->forget(w, c);
  c->outcome = RGT_TRIAL_OK;
}

/* From the question to the next answer about the good one; the good one itself is loaded anew each time, as after a crash. */
static rgt_status one_check(crashing *c, rgt__candidate *asked, double *ms) {
  rgt__verify_result result;
  rgt__error *err = &c->ctx->error;
  const rgt__worker_ops *ops = c->worker->ops;
  double began = now_s();
  rgt_status status = ops->check(c->worker, asked, asked, &result, err);
  if (asked == &c->bad && status == RGT_ECRASH) status = RGT_OK;
  rgt__candidate *good = &c->good;
  rgt__worker_sample sample;
  if (status == RGT_OK) status = ops->round(c->worker, &good, 1, &sample, err);
  *ms = (now_s() - began) * 1e3;
  forgive(c->worker, asked);
  return status;
}

static rgt_status one_round(crashing *c, rgt__candidate *asked, double *ms) {
  rgt__candidate *list[] = {&c->good, asked, &c->good};
  rgt__worker_sample samples[3];
  double began = now_s();
  rgt_status status = RGT_OK; /* rounds until it crashes, and the one that goes on without it */
  for (int i = 0; i < 20 && status == RGT_OK && (i == 0 || (asked == &c->late && asked->outcome == RGT_TRIAL_OK)); i++)
    status = c->worker->ops->round(c->worker, list, 3, samples, &c->ctx->error);
  *ms = (now_s() - began) * 1e3;
  forgive(c->worker, asked);
  return status;
}

static int crash_costs(int64_t rows) {
  crashing c;
  int has_late = rows <= 4096; /* it crashes at its 400th call: with more rows that takes long by itself */
  double with[CRASHES], without[CRASHES], late[CRASHES], plain[CRASHES];
  memset(&c, 0, sizeof c);
  rgt_status status = open_crashing(&c);
  rgt__worker_task task = {.form = RGT_STACKED, .rows = rows, .skew = RGT_SKEW_UNIFORM, .seed = RGT_SEARCH_SEED};
  if (status == RGT_OK) {
    task.op = c.op->desc;
    status = c.worker->ops->begin(c.worker, &task, &c.ctx->error);
  }
  for (int i = 0; i < CRASHES && status == RGT_OK; i++) {
    status = one_check(&c, &c.good, &without[i]);
    if (status == RGT_OK) status = one_check(&c, &c.bad, &with[i]);
    plain[i] = late[i] = 0;
    if (status == RGT_OK && has_late) status = one_round(&c, &c.good, &plain[i]);
    if (status == RGT_OK && has_late) status = one_round(&c, &c.late, &late[i]);
  }
  if (status != RGT_OK) fprintf(stderr, "%s: %s\n", rgt_status_name(status), c.ctx ? rgt_errmsg(c.ctx) : "");
  if (c.worker) c.worker->ops->close(c.worker);
  if (c.ctx) {
    rgt__candidate_free(c.ctx->device, &c.good);
    rgt__candidate_free(c.ctx->device, &c.bad);
    rgt__candidate_free(c.ctx->device, &c.late);
  }
  rgt_close(c.ctx);
  if (status != RGT_OK) return 3;
  double most = 0, cost = median(with, CRASHES) - median(without, CRASHES),
         second = median(late, CRASHES) - median(plain, CRASHES);
  for (int i = 0; i < CRASHES; i++) most = with[i] > most ? with[i] : most;
  printf("%lld rows: a crash in verification costs %.1f ms (median of %d; the slowest, with both answers, %.1f ms)",
         (long long)rows, cost, (int)CRASHES, most);
  if (has_late) printf("; one in timing, with its second chance and the 800 calls before, %.1f ms", second);
  printf(" (aim: under 200 ms)\n");
  return cost < 200 && second < 200 ? 0 : 1;
}

int main(int argc, char **argv) {
  char command[600];
  int pairs = argc > 1 ? atoi(argv[1]) : 3;
  if (pairs < 0 || pairs > PAIRS_MAX) {
    fprintf(stderr, "usage: %s [pairs 0..%d]\n", argv[0], (int)PAIRS_MAX);
    return 2;
  }
  strcpy(house, "/tmp/rgt-bench-XXXXXX");
  if (!mkdtemp(house)) return 3;
  snprintf(templates, sizeof templates, "%s/templates", house);
  snprintf(command, sizeof command, "mkdir %s && cp -r %s/templates/. %s && cp -r %s/tests/fixtures/faulty/. %s", templates,
           RGT_SOURCE_DIR, templates, RGT_SOURCE_DIR, templates);
  int status = system(command) == 0 ? 0 : 3;
  static const int64_t rows[] = {8, 4096, 32768};
  for (int i = 0; i < 3 && status < 2; i++) status |= crash_costs(rows[i]);
  if (pairs > 0 && status < 2) status |= compare(pairs);
  snprintf(command, sizeof command, "rm -r %s", house);
  if (system(command) != 0) fprintf(stderr, "%s is left behind\n", house);
  return status;
}
