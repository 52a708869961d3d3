/* test_kernels_matrix.c -- tiles in shared memory, transposes, tensor cores fed by cp.async and ldmatrix. */
#include "../support/kernels.h"

#include <math.h>
#include <stdlib.h>

/* c = a . b in double, and the sum of the absolute products. */
static void multiply(const float *a, const float *b, int m, int n, int k, double *c, double *size) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0, absolute = 0;
      for (int x = 0; x < k; x++) {
        double p = (double)a[i * k + x] * (double)b[x * n + j];
        sum += p;
        absolute += fabs(p);
      }
      c[i * n + j] = sum;
      size[i * n + j] = absolute;
    }
}

static void compare(const float *got, const float *a, const float *b, int m, int n, int k, double unit) {
  double *c = malloc((size_t)m * (size_t)n * sizeof *c), *size = malloc((size_t)m * (size_t)n * sizeof *size);
  assert_non_null(c);
  assert_non_null(size);
  multiply(a, b, m, n, k, c, size);
  for (int i = 0; i < m * n; i++) sim_expect_close((double)got[i], c[i], (k + 8) * unit * size[i] + 1e-30, "c", (size_t)i);
  free(c);
  free(size);
}

static void tiled(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("matmul_tiled", NULL), "matmul_tiled");
  int m = 37, n = 50, k = 29;
  float *a = sim_random_floats((size_t)(m * k), 1), *b = sim_random_floats((size_t)(k * n), 2),
        *c = malloc((size_t)(m * n) * 4);
  CUdeviceptr da = sim_upload(a, (size_t)(m * k) * 4), db = sim_upload(b, (size_t)(k * n) * 4),
              dc = sim_buffer((size_t)(m * n) * 4);
  RUN(f, (sim_shape){{4, 3}, {16, 16}, 0}, &da, &db, &dc, &m, &n, &k, NULL);
  sim_download(c, dc, (size_t)(m * n) * 4);
  compare(c, a, b, m, n, k, 0x1p-24);
  ptxsim_launches l;
  assert_int_equal(cu.ptxsim_last_launch(&l), 0);
  assert_int_equal(l.counters.blocks, 12);
  assert_int_equal(l.counters.warps, 12 * 8);
  assert_int_equal(l.counters.barriers, 12 * 8 * 2 * 2); /* two steps of k, two barriers, a warp each */
  assert_true(l.registers_from_cubin && l.registers > 8 && l.time_ps > 0);
  sim_expect_no_report();
  free(a);
  free(b);
  free(c);
}

static ptxsim_launches run_transpose(CUmodule module, const char *name) {
  int rows = 70, columns = 45;
  size_t bytes = (size_t)(rows * columns) * 4;
  float *x = sim_random_floats((size_t)(rows * columns), 3), *y = malloc(bytes);
  CUdeviceptr dx = sim_upload(x, bytes), dy = sim_buffer(bytes);
  RUN(sim_kernel(module, name), (sim_shape){{2, 3}, {32, 8}, 0}, &dx, &dy, &rows, &columns, NULL);
  sim_download(y, dy, bytes);
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++) assert_true(y[c * rows + r] == x[r * columns + c]);
  ptxsim_launches l;
  assert_int_equal(cu.ptxsim_last_launch(&l), 0);
  sim_expect_no_report();
  free(x);
  free(y);
  return l;
}

/* Without padding a column of the tile lies in one bank: 32 passes for a warp that reads it. */
static void transposes(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUmodule module = sim_compile("transpose", NULL);
  ptxsim_launches padded = run_transpose(module, "transpose_padded"), plain = run_transpose(module, "transpose_plain");
  assert_int_equal(padded.counters.shared_passes, padded.counters.shared_passes_least);
  assert_true(plain.counters.shared_passes > 8 * plain.counters.shared_passes_least);
  assert_true(plain.time_ps > padded.time_ps);
}

static void with_mma(int bf16) {
  const char *const options[] = {"-DBF16", NULL};
  CUfunction f = sim_kernel(sim_compile("matmul_mma", bf16 ? options : NULL), "matmul_mma");
  int m = 100, n = 72, k = 136, shared = 3 * (64 * 40 + 32 * 72) * 2;
  float *a = sim_random_floats((size_t)(m * k), 4), *b = sim_random_floats((size_t)(k * n), 5),
        *c = malloc((size_t)(m * n) * 4);
  uint16_t *ah = malloc((size_t)(m * k) * 2), *bh = malloc((size_t)(k * n) * 2);
  for (int i = 0; i < m * k; i++) {
    ah[i] = bf16 ? sim_to_bf16(a[i]) : sim_to_half(a[i]);
    a[i] = bf16 ? sim_from_bf16(ah[i]) : sim_from_half(ah[i]);
  }
  for (int i = 0; i < k * n; i++) {
    bh[i] = bf16 ? sim_to_bf16(b[i]) : sim_to_half(b[i]);
    b[i] = bf16 ? sim_from_bf16(bh[i]) : sim_from_half(bh[i]);
  }
  CUdeviceptr da = sim_upload(ah, (size_t)(m * k) * 2), db = sim_upload(bh, (size_t)(k * n) * 2),
              dc = sim_buffer((size_t)(m * n) * 4);
  RUN(f, (sim_shape){{2, 2}, {128}, (unsigned)shared}, &da, &db, &dc, &m, &n, &k, NULL);
  sim_download(c, dc, (size_t)(m * n) * 4);
  compare(c, a, b, m, n, k, 0x1p-23);
  ptxsim_launches l;
  assert_int_equal(cu.ptxsim_last_launch(&l), 0);
  assert_int_equal(l.counters.inst_mma, 4 * 4 * 5 * 2 * 8); /* blocks, warps, steps of 32, of 16, tiles */
  assert_int_equal(l.counters.flop_mma, l.counters.inst_mma * 2 * 16 * 8 * 16);
  sim_expect_no_report();
  free(a);
  free(b);
  free(c);
  free(ah);
  free(bh);
}

static void mma_f16(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  with_mma(0);
}

static void mma_bf16(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  with_mma(1);
}

static void mma_tf32(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("matmul_tf32", NULL), "matmul_tf32");
  int k = 56;
  float *a = sim_random_floats((size_t)(16 * k), 6), *b = sim_random_floats((size_t)(k * 8), 7), c[128];
  CUdeviceptr da = sim_upload(a, (size_t)(16 * k) * 4), db = sim_upload(b, (size_t)(k * 8) * 4), dc = sim_buffer(sizeof c);
  RUN(f, (sim_shape){{1}, {32}, 0}, &da, &db, &dc, &k, NULL);
  sim_download(c, dc, sizeof c);
  compare(c, a, b, 16, 8, k, 0x1p-23 + 0x1p-10 / (k + 8));
  sim_expect_no_report();
  free(a);
  free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tiled, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(transposes, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(mma_f16, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(mma_bf16, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(mma_tf32, sim_setup, sim_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
