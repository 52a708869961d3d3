/* winner_stability.c -- ten fresh tunings of five signatures, then one closing duel of all their distinct winners for each
 * signature. Prints how far each tuning's winner is from the duel's best; exits 1 when more than one in ten is over 2 % away.
 *
 *     bench_winner_stability [tunings] [op] [rows,rows,...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/contest.h"
#include "runtime/context.h"
#include "runtime/prepare.h"
#include "runtime/search.h"

enum { TUNINGS_MAX = 20, BUCKETS_MAX = 5, DUEL_BLOCKS = 5, BLOCK_ROUNDS = 60 };

static char winners[TUNINGS_MAX][BUCKETS_MAX][RGT_VARIANT_TEXT_MAX];
static int64_t rows[BUCKETS_MAX] = {8, 64, 512, 4096, 32768};
static int n_rows = BUCKETS_MAX;

static int fail(rgt_ctx *ctx, const char *what) {
  fprintf(stderr, "%s: %s\n", what, rgt_errmsg(ctx));
  return 3;
}

static int open_op(const char *text, rgt_ctx **ctx, rgt_op **op) {
  rgt_options o = {.struct_size = sizeof o, .device = "cpu", .database = ":memory:"};
  rgt_op_desc desc;
  if (rgt_open(&o, ctx) != RGT_OK) return fail(*ctx, "open");
  if (rgt_op_parse(*ctx, text, &desc) != RGT_OK || rgt_op_new(*ctx, &desc, NULL, op) != RGT_OK) return fail(*ctx, text);
  return 0;
}

static int tune_fresh(const char *text, int i) {
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  rgt_tune_result results[BUCKETS_MAX];
  rgt_tune_options o = {.struct_size = sizeof o, .rows = rows, .n_rows = n_rows};
  int status = open_op(text, &ctx, &op);
  if (status == 0 && rgt_tune(op, &o, results) != RGT_OK) status = fail(ctx, "tune");
  for (int b = 0; b < n_rows && status == 0; b++) {
    memcpy(winners[i][b], results[b].winner, RGT_VARIANT_TEXT_MAX);
    printf("tuning %2d  rows %6lld  %8.3f us  %s\n", i + 1, (long long)rows[b], (double)results[b].time_ps / 1e6,
           results[b].winner);
  }
  fflush(stdout);
  rgt_close(ctx);
  return status;
}

typedef struct duel {
  rgt__candidate_maker maker;
  rgt__worker *worker;
  rgt__candidate baseline, c[TUNINGS_MAX];
  int n;
} duel;

static int add_candidate(duel *d, rgt_ctx *ctx, const rgt_op_desc *desc, const char *text) {
  rgt__variant v;
  for (int i = 0; i < d->n; i++)
    if (strcmp(d->c[i].text, text) == 0) return 0;
  rgt__candidate *c = &d->c[d->n];
  if (rgt__variant_parse(d->maker.families, "cpu", text, &v, &ctx->error) != RGT_OK ||
      rgt__candidate_render(&d->maker, &v, desc, c, &ctx->error) != RGT_OK ||
      rgt__candidate_compile(&d->maker, c, 0, &ctx->error) != RGT_OK ||
      rgt__candidate_load(&d->maker, c, &ctx->error) != RGT_OK)
    return fail(ctx, text);
  d->n++;
  return 0;
}

/* far_ppm[i]: how far above the duel's best the winner of tuning i is. */
static int close_duel(rgt_ctx *ctx, rgt_op *op, int tunings, int b, int64_t *far_ppm) {
  static duel d;
  rgt__variant v;
  rgt__contest contest;
  rgt__candidate *list[TUNINGS_MAX];
  memset(&d, 0, sizeof d);
  d.maker = (rgt__candidate_maker){
      .device = ctx->device, .target = ctx->device->info.target, .cache = ctx->cache, .facts = {RGT_STACKED, 4, RGT_ORDER_RAW}};
  if (rgt__context_families(ctx, &d.maker.families) != RGT_OK || rgt__context_toolchain(ctx, &d.maker.toolchain) != RGT_OK ||
      rgt__prepare_default(op, "cpu", &v) != RGT_OK ||
      rgt__candidate_render(&d.maker, &v, &op->desc, &d.baseline, &ctx->error) != RGT_OK ||
      rgt__candidate_compile(&d.maker, &d.baseline, 0, &ctx->error) != RGT_OK ||
      rgt__candidate_load(&d.maker, &d.baseline, &ctx->error) != RGT_OK ||
      rgt__worker_open_local(&d.maker, &op->desc, NULL, 1, 0, &d.worker, &ctx->error) != RGT_OK)
    return fail(ctx, "closing duel");
  int status = 0;
  for (int i = 0; i < tunings && status == 0; i++) status = add_candidate(&d, ctx, &op->desc, winners[i][b]);
  for (int i = 0; i < d.n; i++) list[i] = &d.c[i];
  rgt__worker_task task = {
      .op = op->desc, .form = RGT_STACKED, .rows = rows[b], .skew = RGT_SKEW_UNIFORM, .seed = RGT_SEARCH_SEED};
  if (status == 0 && (d.worker->ops->begin(d.worker, &task, &ctx->error) != RGT_OK ||
                      rgt__contest_open(d.worker, &d.baseline, list, NULL, d.n, 99, &contest, &ctx->error) != RGT_OK))
    return fail(ctx, "closing duel");
  for (int block = 0; block < DUEL_BLOCKS && status == 0; block++) { /* some seconds apart: a shared machine has moods */
    if (block > 0) sleep(2);
    if (rgt__contest_rounds(&contest, BLOCK_ROUNDS, 0, NULL, NULL, &ctx->error) != RGT_OK) return fail(ctx, "closing duel");
  }
  int64_t best = INT64_MAX, ratio[TUNINGS_MAX];
  rgt__score score;
  for (int i = 0; i < d.n && status == 0; i++) {
    rgt__contest_score(&contest, i, &score);
    ratio[i] = score.ratio.median;
    if (ratio[i] < best) best = ratio[i];
  }
  for (int t = 0; t < tunings && status == 0; t++)
    for (int i = 0; i < d.n; i++)
      if (strcmp(d.c[i].text, winners[t][b]) == 0) far_ppm[t] = (int64_t)((double)ratio[i] * 1e6 / (double)best) - 1000000;
  for (int i = 0; i < d.n && status == 0; i++)
    printf("duel at %6lld rows: %+6.2f %%  %s\n", (long long)rows[b], (double)ratio[i] * 100 / (double)best - 100, d.c[i].text);
  if (status == 0) rgt__contest_close(&contest);
  d.worker->ops->close(d.worker);
  for (int i = 0; i < d.n; i++) rgt__candidate_free(ctx->device, &d.c[i]);
  rgt__candidate_free(ctx->device, &d.baseline);
  return status;
}

static int read_rows(const char *text) {
  n_rows = 0;
  for (char *end; *text && n_rows < BUCKETS_MAX; text = *end ? end + 1 : end) {
    rows[n_rows++] = strtoll(text, &end, 10);
    if (end == text) return 0;
  }
  return n_rows > 0;
}

int main(int argc, char **argv) {
  int tunings = argc > 1 ? atoi(argv[1]) : 10;
  const char *text = argc > 2 ? argv[2] : "mlp:10-20-10:g3:f32:relu:b12:nk:i64";
  setenv("RAGTUNE_WORKER", RGT_WORKER, 0); /* it lies beside the command, not here */
  if (tunings < 1 || tunings > TUNINGS_MAX || (argc > 3 && !read_rows(argv[3]))) {
    fprintf(stderr, "usage: %s [tunings 1..%d] [op] [rows,rows,...]\n", argv[0], (int)TUNINGS_MAX);
    return 2;
  }
  int status = 0, n_far = 0, too_few = 0;
  for (int i = 0; i < tunings && status == 0; i++) status = tune_fresh(text, i);
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  if (status == 0) status = open_op(text, &ctx, &op);
  int64_t far_ppm[BUCKETS_MAX][TUNINGS_MAX];
  for (int b = 0; b < n_rows && status == 0; b++) status = close_duel(ctx, op, tunings, b, far_ppm[b]);
  for (int b = 0; b < n_rows && status == 0; b++) {
    int near = 0;
    for (int i = 0; i < tunings; i++) near += far_ppm[b][i] <= 20000;
    n_far += tunings - near;
    printf("rows %6lld: %d of %d winners are the closing duel's best or within 2 %%\n", (long long)rows[b], near, tunings);
    too_few |= near * 10 < 9 * tunings;
  }
  if (status == 0) printf("all: %d of %d\n", n_rows * tunings - n_far, n_rows * tunings);
  rgt_close(ctx);
  return status ? status : too_few;
}
