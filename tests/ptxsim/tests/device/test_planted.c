/* test_planted.c -- the CUDA C++ kernels with one bug planted in each by a macro: reported as what it is, with the source's own
 * line. */
#include "../support/basic.h"
#include "../support/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct planted {
  const char *file, *kernel, *option;
  int code;
  const char *says;   /* the kind */
  const char *source; /* text of the source line that is named */
  sim_shape shape;
} planted;

/* The line of the source that the last report names ("file.cu:12") must hold this text. */
static void expect_source_line(const char *file, const char *text) {
  char path[1024], pattern[64];
  ptxsim_reports reports = sim_reports();
  snprintf(pattern, sizeof pattern, "%s.cu:", file);
  const char *named = strstr(reports.last, pattern);
  if (named == NULL) fail_msg("no source line is named: %s", reports.last);
  int line = atoi(named + strlen(pattern));
  snprintf(path, sizeof path, "%s/kernels/%s.cu", SIM_TESTS_DIR, file);
  char *source = sim_read_file(path), *at = source;
  for (int i = 1; i < line && at != NULL; i++) at = strchr(at, '\n') == NULL ? NULL : strchr(at, '\n') + 1;
  if (at != NULL) at[strcspn(at, "\n")] = '\0';
  if (at == NULL || strstr(at, text) == NULL)
    fail_msg("line %d is named: \"%s\"; it should hold \"%s\"", line, at == NULL ? "" : at, text);
  free(source);
}

static void expect_caught(const planted *p, ...) {
  const char *options[] = {p->option, NULL};
  void *pointers[8];
  int n = 0;
  va_list args;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile(p->file, options), p->kernel);
  va_start(args, p);
  for (void *a; n < 8 && (a = va_arg(args, void *)) != NULL;) pointers[n++] = a;
  va_end(args);
  MUST(cu.cuLaunchKernel(f, p->shape.grid[0], p->shape.grid[1], 1, p->shape.block[0], p->shape.block[1], 1, p->shape.shared,
                         NULL, pointers, NULL));
  FAILS(p->code, cu.cuCtxSynchronize());
  sim_expect_report(p->says);
  expect_source_line(p->file, p->source);
}

static CUdeviceptr zeros(size_t bytes) {
  CUdeviceptr p = sim_buffer(bytes);
  MUST(cu.cuMemsetD8_v2(p, 0, bytes));
  return p;
}

static void a_barrier_removed(void **state) {
  (void)state;
  int n = 48;
  CUdeviceptr a = zeros(48 * 48 * 4), b = zeros(48 * 48 * 4), c = sim_buffer(48 * 48 * 4);
  expect_caught(&(planted){"matmul_tiled",
                           "matmul_tiled",
                           "-DPLANT_NO_BARRIER",
                           CUDA_ERROR_ILLEGAL_ADDRESS,
                           "without a barrier between",
                           "_tile[",
                           {{3, 3, 1}, {16, 16, 1}, 0}},
                &a, &b, &c, &n, &n, &n, NULL);
}

static void one_group_too_few_waited_for(void **state) {
  (void)state;
  int n = 128;
  CUdeviceptr a = zeros(128 * 128 * 2), b = zeros(128 * 128 * 2), c = sim_buffer(128 * 128 * 4);
  expect_caught(&(planted){"matmul_mma",
                           "matmul_mma",
                           "-DWAIT=2",
                           CUDA_ERROR_ILLEGAL_ADDRESS,
                           "cp.async",
                           "shared_address(at)", /* the last line of the asm */
                           {{2, 2, 1}, {128, 1, 1}, 3 * (64 * 40 + 32 * 72) * 2}},
                &a, &b, &c, &n, &n, &n, NULL);
}

static void a_row_bound_off_by_one(void **state) {
  (void)state;
  int rows = 40, columns = 32;
  CUdeviceptr x = zeros(40 * 32 * 4), y = sim_buffer(40 * 32 * 4);
  expect_caught(&(planted){"transpose",
                           "transpose_padded",
                           "-DPLANT_OFF_BY_ONE",
                           CUDA_ERROR_ILLEGAL_ADDRESS,
                           "out of bounds",
                           "tile[i][threadIdx.x] = x[",
                           {{1, 2, 1}, {32, 8, 1}, 0}},
                &x, &y, &rows, &columns, NULL);
}

static void a_shared_tail_never_written(void **state) {
  (void)state;
  int n = 1000;
  CUdeviceptr x = sim_buffer(1000), counts = zeros(1024);
  MUST(cu.cuMemsetD8_v2(x, 200, 1000));
  expect_caught(&(planted){"histogram",
                           "histogram",
                           "-DPLANT_UNWRITTEN_TAIL",
                           CUDA_ERROR_ILLEGAL_ADDRESS,
                           "ndefined",
                           "atomicAdd(&own",
                           {{2, 1, 1}, {64, 1, 1}, 0}},
                &x, &n, &counts, NULL);
}

static void a_lane_missing_from_a_shuffle(void **state) {
  (void)state;
  int rows = 4, columns = 64;
  CUdeviceptr x = zeros(4 * 64 * 4), sum = sim_buffer(16), most = sim_buffer(16), positive = sim_buffer(16);
  expect_caught(&(planted){"warp_reduce",
                           "warp_reduce",
                           "-DPLANT_LANE_MISSING",
                           CUDA_ERROR_ILLEGAL_INSTRUCTION,
                           "lane",
                           "__shfl_",
                           {{1, 1, 1}, {128, 1, 1}, 0}},
                &x, &sum, &most, &positive, &rows, &columns, NULL);
}

static void a_vector_load_that_is_not_aligned(void **state) {
  (void)state;
  int n = 1024;
  uint16_t a = sim_to_half(2);
  CUdeviceptr x = zeros(2048), y = zeros(2048);
  expect_caught(&(planted){"axpy_half",
                           "axpy_half",
                           "-DPLANT_MISALIGNED",
                           CUDA_ERROR_MISALIGNED_ADDRESS,
                           "misaligned",
                           "uint4",
                           {{2, 1, 1}, {64, 1, 1}, 0}},
                &a, &x, &y, &n, NULL);
}

static void a_row_that_two_blocks_write(void **state) {
  (void)state;
  int columns = 64;
  CUdeviceptr x = zeros(3 * 64 * 4), y = sim_buffer(3 * 64 * 4);
  expect_caught(&(planted){"softmax",
                           "softmax",
                           "-DPLANT_ROW_WRITTEN_TWICE",
                           CUDA_ERROR_ILLEGAL_ADDRESS,
                           "two blocks write the same global bytes",
                           "to[i] =",
                           {{3, 1, 1}, {64, 1, 1}, 0}},
                &x, &y, &columns, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_barrier_removed, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(one_group_too_few_waited_for, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_row_bound_off_by_one, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_shared_tail_never_written, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_lane_missing_from_a_shuffle, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_vector_load_that_is_not_aligned, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_row_that_two_blocks_write, sim_setup, sim_teardown),
  };
  sim_quiet();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
