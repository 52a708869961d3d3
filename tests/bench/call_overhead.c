/* call_overhead.c -- a call on a hit for 8 rows of 10-20-5, 3 groups, beside a plain loop with constant dims on the same
 * buffers, and the dispatch alone (the same call with a device whose launch does nothing). Interleaved in one run; medians.
 *
 *     bench_call_overhead [rounds]        tunes first where nothing is stored
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/context.h"
#include "runtime/stats.h"
#include "tests/bench/plain_10_20_5.h"

enum { ROWS = 8, IN = 10, HIDDEN = 20, OUT = 5, GROUPS = 3, CALLS = 2000, ROUNDS_MAX = 2000 };

static float x[ROWS * IN], w1[GROUPS * HIDDEN * IN], b1[GROUPS * HIDDEN], w2[GROUPS * OUT * HIDDEN], b2[GROUPS * OUT],
    y[ROWS * OUT], want[ROWS * OUT];
static const int64_t row_group[ROWS] = {0, 2, 1, 1, 0, 2, 2, 0};
static rgt_op *op;
static rgt_args args;

static void fill(float *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
  }
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static rgt_status launch_nothing(rgt__device *d, rgt__module *m, const rgt__program *program, const rgt__plan *plan,
                                 const rgt_kargs *k, void *workspace, void *stream, rgt__error *err) {
  (void)d, (void)m, (void)program, (void)plan, (void)k, (void)workspace, (void)stream, (void)err;
  return RGT_OK;
}

static void call_op(void) {
  rgt_op_run(op, &args, NULL);
}
static void call_loop(void) {
  plain_10_20_5(x, row_group, w1, b1, w2, b2, y, ROWS);
}

static int64_t batch_ps(void (*f)(void)) {
  f();
  double start = now_ns();
  for (int i = 0; i < CALLS; i++) {
    f();
    __asm__ volatile("" ::: "memory");
  }
  return (int64_t)((now_ns() - start) * 1000 / CALLS);
}

static int fail(rgt_ctx *ctx, const char *what) {
  fprintf(stderr, "%s: %s\n", what, rgt_errmsg(ctx));
  return 3;
}

static int prepare(rgt_ctx *ctx) {
  rgt_op_desc desc;
  int64_t rows = ROWS;
  rgt_tune_result result;
  rgt_tune_options o = {.struct_size = sizeof o, .rows = &rows, .n_rows = 1};
  rgt_why_info why = {.struct_size = sizeof why};
  if (rgt_op_parse(ctx, "mlp:10-20-5:g3:f32:relu:b12:nk:i64", &desc) != RGT_OK) return fail(ctx, "op");
  if (rgt_op_new(ctx, &desc, NULL, &op) != RGT_OK) return fail(ctx, "op");
  if (rgt_tune(op, &o, &result) != RGT_OK) return fail(ctx, "tune");
  if (rgt_op_prepare(op, ROWS, RGT_PREPARE_EXACT) != RGT_OK) return fail(ctx, "prepare");
  if (rgt_why(op, ROWS, &why) != RGT_OK) return fail(ctx, "why");
  printf("device   %s\nvariant  %s (%s)\n", why.device_class, why.variant, result.hit ? "stored before" : "tuned now");
  args = (rgt_args){.struct_size = sizeof args,
                    .rows = ROWS,
                    .x = x,
                    .index = row_group,
                    .y = y,
                    .layer1 = {.w = w1, .b = b1},
                    .layer2 = {.w = w2, .b = b2}};
  return 0;
}

/* The same numbers, before they are timed. */
static int same_results(void) {
  call_loop();
  memcpy(want, y, sizeof y);
  call_op();
  for (int i = 0; i < ROWS * OUT; i++)
    if (!(y[i] - want[i] < 1e-5f && want[i] - y[i] < 1e-5f)) return 0;
  return 1;
}

int main(int argc, char **argv) {
  static int64_t op_ps[ROUNDS_MAX], loop_ps[ROUNDS_MAX], dispatch_ps[ROUNDS_MAX], ratio_ppm[ROUNDS_MAX];
  int rounds = argc > 1 ? atoi(argv[1]) : 400;
  if (rounds < 10 || rounds > ROUNDS_MAX) rounds = 400;
  setenv("RAGTUNE_WORKER", RGT_WORKER, 0); /* it lies beside the command, not here */
  fill(x, ROWS * IN, 1);
  fill(w1, GROUPS * HIDDEN * IN, 2);
  fill(b1, GROUPS * HIDDEN, 3);
  fill(w2, GROUPS * OUT * HIDDEN, 4);
  fill(b2, GROUPS * OUT, 5);
  rgt_ctx *ctx = NULL;
  rgt_options options = {.struct_size = sizeof options, .device = "cpu"};
  if (rgt_open(&options, &ctx) != RGT_OK) return fail(ctx, "open");
  int status = prepare(ctx);
  if (status == 0 && !same_results()) {
    fprintf(stderr, "the op and the loop differ\n");
    status = 1;
  }
  if (status == 0) {
    const rgt__device_ops *real = ctx->device->ops;
    rgt__device_ops hollow = *real;
    hollow.launch = launch_nothing;
    for (int i = 0; i < rounds; i++) {
      op_ps[i] = batch_ps(call_op);
      loop_ps[i] = batch_ps(call_loop);
      ctx->device->ops = &hollow;
      dispatch_ps[i] = batch_ps(call_op);
      ctx->device->ops = real;
      ratio_ppm[i] = (int64_t)(1e6 * (double)op_ps[i] / (double)loop_ps[i]);
    }
    rgt__interval a, b, c, r;
    rgt__stats_interval(op_ps, rounds, &a);
    rgt__stats_interval(loop_ps, rounds, &b);
    rgt__stats_interval(dispatch_ps, rounds, &c);
    rgt__stats_interval(ratio_ppm, rounds, &r);
    printf("%d rounds of %d calls, 8 rows, 10-20-5, 3 groups, f32, nk; medians with 95 %% intervals\n", rounds, (int)CALLS);
    printf("rgt_op_run, index checks included  %7.1f ns  (%.1f to %.1f)\n", (double)a.median / 1e3, (double)a.low / 1e3,
           (double)a.high / 1e3);
    printf("plain loop, -O3 -march=x86-64-v3   %7.1f ns  (%.1f to %.1f)\n", (double)b.median / 1e3, (double)b.low / 1e3,
           (double)b.high / 1e3);
    printf("dispatch alone                     %7.1f ns  (%.1f to %.1f)\n", (double)c.median / 1e3, (double)c.low / 1e3,
           (double)c.high / 1e3);
    printf("call / loop                        %7.3f     (%.3f to %.3f)\n", (double)r.median / 1e6, (double)r.low / 1e6,
           (double)r.high / 1e6);
  }
  rgt_close(ctx);
  return status;
}
