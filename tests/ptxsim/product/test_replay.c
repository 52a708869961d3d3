/* test_replay.c -- ragtune.h on ptxsim, beside a program's own driver calls: a run, a run captured into a graph and replayed
 * with other data, an index error that a replay counts, pointer arrays; and nothing of it may be reported. */
#include "../tests/support/device.h"
#include "../tests/support/nvrtc.h"

#include "ragtune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 29, IN = 10, HIDDEN = 20, OUT = 5, GROUPS = 3 };

typedef struct problem {
  float x[ROWS][IN], w1[GROUPS][HIDDEN][IN], b1[GROUPS][HIDDEN], w2[GROUPS][OUT][HIDDEN], b2[GROUPS][OUT], y[ROWS][OUT];
  int64_t index[ROWS];
} problem;

static problem host;
static rgt_ctx *ctx;
static rgt_op *op;
static struct { void *x, *index, *w1, *b1, *w2, *b2, *y; } on;
static rgt_args args;
static char folder[] = "/tmp/ptxsim-replay-XXXXXX";

static void ok(rgt_status status) {
  if (status != RGT_OK) fail_msg("%s: %s", rgt_status_name(status), rgt_errmsg(ctx));
}

static uint32_t random_state = 4711;

static float quarter(void) {
  random_state = random_state * 1664525 + 1013904223;
  return (float)((int)(random_state >> 24) % 9 - 4) * 0.25f;
}

static void fill(float *v, size_t n) {
  for (size_t i = 0; i < n; i++) v[i] = quarter();
}

static void *send(const void *data, size_t bytes) {
  void *p = NULL;
  ok(rgt_mem_alloc(ctx, bytes, &p));
  ok(rgt_mem_write(ctx, p, data, bytes));
  return p;
}

static void fresh_x(void) {
  fill(&host.x[0][0], ROWS * IN);
  ok(rgt_mem_write(ctx, on.x, host.x, sizeof host.x));
  memset(host.y, 0xff, sizeof host.y);
  ok(rgt_mem_write(ctx, on.y, host.y, sizeof host.y));
}

/* Every value is exact in f32: the data are quarters. */
static double reference(int r, int o) {
  int64_t g = host.index[r];
  if (g < 0 || g >= GROUPS) return 0;
  double y = (double)host.b2[g][o];
  for (int h = 0; h < HIDDEN; h++) {
    double z = (double)host.b1[g][h];
    for (int i = 0; i < IN; i++) z += (double)host.w1[g][h][i] * (double)host.x[r][i];
    if (z > 0) y += (double)host.w2[g][o][h] * z;
  }
  return y;
}

static void check(void) {
  ptxsim_reports reports;
  ok(rgt_mem_read(ctx, host.y, on.y, sizeof host.y));
  for (int r = 0; r < ROWS; r++)
    for (int o = 0; o < OUT; o++)
      if ((double)host.y[r][o] != reference(r, o))
        fail_msg("y[%d][%d] is %.9g, and should be %.9g", r, o, (double)host.y[r][o], reference(r, o));
  cu.ptxsim_report(&reports);
  if (reports.misuses + reports.findings + reports.faults > 0) fail_msg("ptxsim reports: %s", reports.last);
}

static void run_once(CUstream stream) {
  fresh_x();
  ok(rgt_op_run(op, &args, stream));
  ok(rgt_sync(op, stream));
  check();
}

static CUgraphExec capture(CUstream stream) {
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  MUST(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ok(rgt_op_run(op, &args, stream));
  MUST(cu.cuStreamEndCapture(stream, &graph));
  MUST(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cu.cuGraphDestroy(graph));
  return exec;
}

static void test_runs(void **state) {
  CUstream stream = NULL;
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  run_once(NULL);
  MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  run_once(stream);
  MUST(cu.cuStreamDestroy_v2(stream));
}

static void test_replays(void **state) {
  CUstream stream = NULL;
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUgraphExec exec = capture(stream);
  for (int i = 0; i < 3; i++) {
    fresh_x();
    MUST(cu.cuGraphLaunch(exec, stream));
    MUST(cu.cuStreamSynchronize(stream));
    check();
  }
  MUST(cu.cuGraphExecDestroy(exec));
  run_once(stream); /* as before */
  MUST(cu.cuStreamDestroy_v2(stream));
}

/* An index out of range gives a row of zeros, and the replay counts it. */
static void test_index_errors_of_a_replay(void **state) {
  CUstream stream = NULL;
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUgraphExec exec = capture(stream);
  int64_t kept = host.index[7];
  host.index[7] = GROUPS;
  ok(rgt_mem_write(ctx, on.index, host.index, sizeof host.index));
  fresh_x();
  MUST(cu.cuGraphLaunch(exec, stream));
  assert_int_equal(rgt_sync(op, stream), RGT_EINDEX);
  assert_non_null(strstr(rgt_errmsg(ctx), "7"));
  check();
  host.index[7] = kept;
  ok(rgt_mem_write(ctx, on.index, host.index, sizeof host.index));
  fresh_x();
  MUST(cu.cuGraphLaunch(exec, stream));
  ok(rgt_sync(op, stream));
  check();
  MUST(cu.cuGraphExecDestroy(exec));
  MUST(cu.cuStreamDestroy_v2(stream));
}

/* The stream waits for the copy of x by an event, and the reader for the stream: all asynchronous. */
static void test_ordered_by_events(void **state) {
  CUstream copies = NULL, stream = NULL;
  CUevent there = NULL;
  float *locked = NULL;
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  MUST(cu.cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING));
  MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cu.cuEventCreate(&there, CU_EVENT_DISABLE_TIMING));
  MUST(cu.cuMemAllocHost_v2((void **)&locked, sizeof host.x));
  fresh_x();
  fill(&host.x[0][0], ROWS * IN);
  memcpy(locked, host.x, sizeof host.x);
  MUST(cu.cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)on.x, locked, sizeof host.x, copies));
  MUST(cu.cuEventRecord(there, copies));
  MUST(cu.cuStreamWaitEvent(stream, there, 0));
  ok(rgt_op_run(op, &args, stream));
  ok(rgt_sync(op, stream));
  check();
  MUST(cu.cuMemFreeHost(locked));
}

static void make_problem(void) {
  fill(&host.w1[0][0][0], GROUPS * HIDDEN * IN);
  fill(&host.b1[0][0], GROUPS * HIDDEN);
  fill(&host.w2[0][0][0], GROUPS * OUT * HIDDEN);
  fill(&host.b2[0][0], GROUPS * OUT);
  for (int r = 0; r < ROWS; r++) host.index[r] = r * 7 % 5 - 1 < GROUPS ? r * 7 % 5 - 1 : 0;
  on.x = send(host.x, sizeof host.x);
  on.y = send(host.y, sizeof host.y);
  on.index = send(host.index, sizeof host.index);
  on.w1 = send(host.w1, sizeof host.w1);
  on.b1 = send(host.b1, sizeof host.b1);
  on.w2 = send(host.w2, sizeof host.w2);
  on.b2 = send(host.b2, sizeof host.b2);
  args = (rgt_args){.struct_size = sizeof args, .rows = ROWS, .x = on.x, .index = on.index, .y = on.y};
  args.layer1 = (rgt_layer){.w = on.w1, .b = on.b1};
  args.layer2 = (rgt_layer){.w = on.w2, .b = on.b2};
}

static int open_all(void **state) {
  CUcontext primary = NULL;
  rgt_op_desc desc;
  (void)state;
  if (sim_nvrtc_missing() != NULL) {
    print_message("skipped: %s\n", sim_nvrtc_missing());
    return 0;
  }
  if (mkdtemp(folder) == NULL || sim_calls_load(SIM_LIBCUDA) != NULL) return -1;
  setenv("RAGTUNE_LIBCUDA", SIM_LIBCUDA, 1);
  MUST(cu.cuInit(0));
  MUST(cu.cuDevicePrimaryCtxRetain(&primary, 0));
  MUST(cu.cuCtxSetCurrent(primary));
  rgt_options o = {.struct_size = sizeof o, .device = "cuda", .database = ":memory:", .cache_dir = folder, .mode = "off"};
  ok(rgt_open(&o, &ctx));
  ok(rgt_op_parse(ctx, "mlp:10-20-5:g3:f32:relu:b12:nk:i64", &desc));
  ok(rgt_op_new(ctx, &desc, NULL, &op));
  ok(rgt_op_prepare(op, ROWS, 0));
  make_problem();
  cu.ptxsim_reset();
  return 0;
}

static int close_all(void **state) {
  char command[64];
  (void)state;
  if (ctx == NULL) return 0;
  rgt_close(ctx);
  MUST(cu.cuDevicePrimaryCtxRelease_v2(0));
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs), cmocka_unit_test(test_replays),
                                     cmocka_unit_test(test_index_errors_of_a_replay), cmocka_unit_test(test_ordered_by_events)};
  return cmocka_run_group_tests(tests, open_all, close_all);
}
