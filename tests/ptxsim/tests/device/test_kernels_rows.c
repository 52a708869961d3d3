/* test_kernels_rows.c -- reductions, matches, softmax, pairs of halves, a stencil with memory that the launch opts in to. */
#include "../support/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void reductions(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("warp_reduce", NULL), "warp_reduce");
  enum { ROWS = 11, COLUMNS = 77 };
  int rows = ROWS, columns = COLUMNS, positive[ROWS];
  float *x = sim_random_floats(ROWS * COLUMNS, 8), sum[ROWS], most[ROWS];
  CUdeviceptr dx = sim_upload(x, ROWS * COLUMNS * 4), ds = sim_buffer(sizeof sum), dm = sim_buffer(sizeof most),
              dp = sim_buffer(sizeof positive);
  RUN(f, (sim_shape){{3}, {128}, 0}, &dx, &ds, &dm, &dp, &rows, &columns, NULL);
  sim_download(sum, ds, sizeof sum);
  sim_download(most, dm, sizeof most);
  sim_download(positive, dp, sizeof positive);
  for (int r = 0; r < ROWS; r++) {
    double s = 0;
    float m = -INFINITY;
    int n = 0;
    for (int c = 0; c < COLUMNS; c++) {
      float v = x[r * COLUMNS + c];
      s += (double)v;
      m = v > m ? v : m;
      n += v > 0;
    }
    sim_expect_close((double)sum[r], s, COLUMNS * 0x1p-24 * COLUMNS, "sum", (size_t)r);
    assert_true(most[r] == m);
    assert_int_equal(positive[r], n);
  }
  sim_expect_no_report();
  free(x);
}

static void matches(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("warp_reduce", NULL), "warp_match");
  enum { N = 90 };
  int n = N, key[N], first[N], total[N];
  for (int i = 0; i < N; i++) key[i] = (i * i) % 5;
  CUdeviceptr dk = sim_upload(key, sizeof key), df = sim_buffer(sizeof first), dt = sim_buffer(sizeof total);
  RUN(f, (sim_shape){{1}, {96}, 0}, &dk, &df, &dt, &n, NULL);
  sim_download(first, df, sizeof first);
  sim_download(total, dt, sizeof total);
  for (int i = 0; i < N; i++) {
    int base = i / 32 * 32, wanted = -1, sum = 0;
    for (int k = base; k < base + 32 && k < N; k++)
      if (key[k] == key[i]) {
        if (wanted < 0) wanted = k - base;
        sum += k - base + 1;
      }
    assert_int_equal(first[i], wanted);
    assert_int_equal(total[i], sum);
  }
  sim_expect_no_report();
}

static void softmax(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("softmax", NULL), "softmax");
  enum { ROWS = 5, COLUMNS = 300 };
  int columns = COLUMNS;
  float *x = sim_random_floats(ROWS * COLUMNS, 9), *y = malloc(ROWS * COLUMNS * 4);
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] *= 8;
  CUdeviceptr dx = sim_upload(x, ROWS * COLUMNS * 4), dy = sim_buffer(ROWS * COLUMNS * 4);
  RUN(f, (sim_shape){{ROWS}, {128}, 0}, &dx, &dy, &columns, NULL);
  sim_download(y, dy, ROWS * COLUMNS * 4);
  for (int r = 0; r < ROWS; r++) {
    double sum = 0, most = -INFINITY;
    for (int c = 0; c < COLUMNS; c++) most = fmax(most, (double)x[r * COLUMNS + c]);
    for (int c = 0; c < COLUMNS; c++) sum += exp((double)x[r * COLUMNS + c] - most);
    for (int c = 0; c < COLUMNS; c++) {
      double wanted = exp((double)x[r * COLUMNS + c] - most) / sum;
      sim_expect_close((double)y[r * COLUMNS + c], wanted, 1e-5 * wanted, "softmax", (size_t)(r * COLUMNS + c));
    }
  }
  sim_expect_no_report();
  free(x);
  free(y);
}

static void half_pairs(CUmodule module, const char *name, int bf16) {
  enum { N = 1003 };
  int n = N;
  uint16_t x[N], y[N], got[N], a = bf16 ? sim_to_bf16(1.7f) : sim_to_half(1.7f);
  uint32_t random = 10;
  for (int i = 0; i < N; i++) {
    x[i] = bf16 ? sim_to_bf16(4 * sim_random(&random)) : sim_to_half(4 * sim_random(&random));
    y[i] = bf16 ? sim_to_bf16(sim_random(&random)) : sim_to_half(sim_random(&random));
  }
  CUdeviceptr dx = sim_upload(x, sizeof x), dy = sim_upload(y, sizeof y);
  RUN(sim_kernel(module, name), (sim_shape){{2}, {64}, 0}, &a, &dx, &dy, &n, NULL);
  sim_download(got, dy, sizeof got);
  for (int i = 0; i < N; i++) { /* one rounding: the product and the sum are exact in double */
    double exact = bf16 ? (double)sim_from_bf16(a) * (double)sim_from_bf16(x[i]) + (double)sim_from_bf16(y[i])
                        : (double)sim_from_half(a) * (double)sim_from_half(x[i]) + (double)sim_from_half(y[i]);
    double value = (double)(bf16 ? sim_from_bf16(got[i]) : sim_from_half(got[i]));
    sim_expect_close(value, exact, fabs(exact) * (bf16 ? 0x1p-8 : 0x1p-11) + 0x1p-25, name, (size_t)i);
  }
  sim_expect_no_report();
}

static void axpy(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUmodule module = sim_compile("axpy_half", NULL);
  half_pairs(module, "axpy_half", 0);
  half_pairs(module, "axpy_bf16", 1);
}

static void stencil(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  enum { ROWS = 110, COLUMNS = 70, SHARED = 66 * 98 * 8 };
  CUmodule module = sim_compile("stencil", NULL);
  CUfunction f = sim_kernel(module, "stencil");
  int rows = ROWS, columns = COLUMNS, done = -1;
  double *x = malloc(ROWS * COLUMNS * 8), *y = malloc(ROWS * COLUMNS * 8);
  uint32_t random = 11;
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (double)sim_random(&random);
  CUdeviceptr dx = sim_upload(x, ROWS * COLUMNS * 8), dy = sim_buffer(ROWS * COLUMNS * 8), counter;
  size_t bytes = 0;
  MUST(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED));
  RUN(f, (sim_shape){{2, 2}, {256}, SHARED}, &dx, &dy, &rows, &columns, NULL);
  sim_download(y, dy, ROWS * COLUMNS * 8);
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++) {
#define AT(i, j) ((i) < 0 || (i) >= ROWS || (j) < 0 || (j) >= COLUMNS ? 0.0 : x[(i)*COLUMNS + (j)])
      double wanted = 0.5 * AT(r, c) + 0.125 * (AT(r, c - 1) + AT(r, c + 1) + AT(r - 1, c) + AT(r + 1, c));
      sim_expect_close(y[r * COLUMNS + c], wanted, 1e-15, "y", (size_t)(r * COLUMNS + c));
#undef AT
    }
  MUST(cu.cuModuleGetGlobal_v2(&counter, &bytes, module, "n_blocks_done"));
  assert_int_equal(bytes, 4);
  sim_download(&done, counter, 4);
  assert_int_equal(done, 4);
  sim_expect_no_report();
  free(x);
  free(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(reductions, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(matches, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(softmax, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(axpy, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(stencil, sim_setup, sim_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
