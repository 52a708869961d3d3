/* tuner_pick.c -- does the tuner's pick hold against trying everything? On ptxsim, whose clock is modelled and always the same.
 *
 * Each op's space has 300 variants at most (one is cut to that by a space file); it is searched once whole (--exhaustive) and
 * once as the tuner does it, each with a database of its own. Prints both winners, their times, and how many were tried; exits
 * 1 where the pick is over 3 % slower than the best of all or where more than a fifth was tried.
 *
 *     bench_tuner_pick [first op] [last op]      op numbers from 0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/ragtune.h"

enum { SPACE_MAX = 300 };

static const struct {
  const char *op;
  int64_t rows;
  const char *space;
} jobs[] = {
    {"mlp:64-128-64:g64:bf16:relu:b12:nk:i64", 512, RGT_SOURCE_DIR "/tests/bench/pick.lua"},
    {"mlp:32-64-32:g100:f16:relu:b12:kn:i32", 256, NULL},
    {"mlp:24-48-24:g20:f32:relu:b12:nk:i64", 256, NULL},
};
enum { N_JOBS = sizeof jobs / sizeof jobs[0] };

static int tune(int job, int exhaustive, rgt_tune_result *result) {
  rgt_options o = {.struct_size = sizeof o, .device = "cuda", .database = ":memory:"};
  rgt_tune_options t = {.struct_size = sizeof t,
                        .rows = &jobs[job].rows,
                        .n_rows = 1,
                        .budget_s = 3600,
                        .space = jobs[job].space,
                        .exhaustive = exhaustive};
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  rgt_op_desc desc;
  rgt_status status = rgt_open(&o, &ctx);
  if (status == RGT_OK) status = rgt_op_parse(ctx, jobs[job].op, &desc);
  if (status == RGT_OK) status = rgt_op_new(ctx, &desc, NULL, &op);
  if (status == RGT_OK) status = rgt_tune(op, &t, result);
  if (status == RGT_OK && result->status != RGT_OK) fprintf(stderr, "%s: %s\n", jobs[job].op, result->reason);
  if (status != RGT_OK) fprintf(stderr, "%s: %s\n", jobs[job].op, rgt_errmsg(ctx));
  rgt_close(ctx);
  return status == RGT_OK && result->status == RGT_OK ? 0 : 3;
}

static void show(const char *what, const rgt_tune_result *r) {
  printf("  %-8s tried %3d (%d infeasible, %d wrong)  %8.3f us  %s\n", what, r->n_tried, r->n_infeasible, r->n_wrong,
         (double)r->time_ps / 1e6, r->winner);
}

int main(int argc, char **argv) {
  int first = argc > 1 ? atoi(argv[1]) : 0, last = argc > 2 ? atoi(argv[2]) : N_JOBS - 1, worse = 0;
  setenv("RAGTUNE_WORKER", RGT_WORKER, 0); /* it lies beside the command, not here */
  setenv("RAGTUNE_LIBCUDA", RGT_LIBCUDA, 0);
  setenv("RAGTUNE_RUN_LIMIT_S", "600", 0); /* a simulator on a busy machine */
  if (first < 0 || last >= N_JOBS || first > last) {
    fprintf(stderr, "usage: %s [first op 0..%d] [last op]\n", argv[0], (int)N_JOBS - 1);
    return 2;
  }
  for (int job = first; job <= last; job++) {
    rgt_tune_result all, pick;
    printf("%s, %lld rows\n", jobs[job].op, (long long)jobs[job].rows);
    fflush(stdout);
    if (tune(job, 1, &all) != 0 || tune(job, 0, &pick) != 0) return 3;
    show("all", &all);
    show("the pick", &pick);
    double slower = (double)pick.time_ps / (double)all.time_ps - 1;
    int right = slower <= 0.03 && all.n_tried <= SPACE_MAX + 1 && pick.n_tried * 5 <= all.n_tried;
    printf("  %+.2f %%, with %.1f %% of the trials: %s\n", slower * 100, 100.0 * pick.n_tried / all.n_tried,
           right ? "within the aim" : "NOT within the aim");
    fflush(stdout);
    worse |= !right;
  }
  return worse;
}
