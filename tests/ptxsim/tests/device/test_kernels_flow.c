/* test_kernels_flow.c -- atomics between blocks, look-back, barriers over the grid, calls, split warps, sorting. */
#include "../support/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void scan(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("scan_lookback", NULL), "scan_lookback");
  enum { N = 2500, BLOCKS = (N + 127) / 128 };
  int n = N, x[N], y[N], sum = 0;
  uint32_t random = 12;
  for (int i = 0; i < N; i++) x[i] = (int)(sim_random_bits(&random) % 201) - 100;
  CUdeviceptr dx = sim_upload(x, sizeof x), dy = sim_buffer(sizeof y), counter = sim_buffer(4), states = sim_buffer(BLOCKS * 8);
  MUST(cu.cuMemsetD8_v2(counter, 0, 4));
  MUST(cu.cuMemsetD32_v2(states, 0, BLOCKS * 2));
  RUN(f, (sim_shape){{BLOCKS}, {128}, 0}, &dx, &dy, &n, &counter, &states, NULL);
  sim_download(y, dy, sizeof y);
  for (int i = 0; i < N; i++) {
    sum += x[i];
    assert_int_equal(y[i], sum);
  }
  sim_expect_no_report();
}

static void histogram(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUmodule module = sim_compile("histogram", NULL);
  enum { N = 5000 };
  int n = N;
  unsigned counts[256], wanted[256] = {0};
  unsigned char x[N];
  uint32_t random = 13;
  for (int i = 0; i < N; i++) wanted[x[i] = (unsigned char)(sim_random_bits(&random) % 40 * ((unsigned)i % 7))]++;
  CUdeviceptr dx = sim_upload(x, sizeof x), dc = sim_buffer(sizeof counts);
  MUST(cu.cuMemsetD8_v2(dc, 0, sizeof counts));
  RUN(sim_kernel(module, "histogram"), (sim_shape){{5}, {192}, 0}, &dx, &n, &dc, NULL);
  sim_download(counts, dc, sizeof counts);
  assert_memory_equal(counts, wanted, sizeof counts);
  sim_expect_no_report();
}

static void sums_by_key(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUmodule module = sim_compile("histogram", NULL);
  enum { N = 700, KEYS = 9 };
  int n = N, key[N], least[KEYS], most[KEYS], first[KEYS], last[KEYS], bits;
  float value[N], sums[KEYS], wanted[KEYS] = {0}, top = -1, got;
  uint32_t random = 14;
  memset(first, 0xff, sizeof first);
  for (int i = 0; i < N; i++) {
    key[i] = (int)(sim_random_bits(&random) % KEYS);
    value[i] = (float)(sim_random_bits(&random) % 64) * 0.25f;
    wanted[key[i]] += value[i];
    if (first[key[i]] < 0) first[key[i]] = i;
    last[key[i]] = i;
    top = value[i] > top ? value[i] : top;
  }
  CUdeviceptr dk = sim_upload(key, sizeof key), dv = sim_upload(value, sizeof value), ds = sim_buffer(sizeof sums),
              dl = sim_buffer(sizeof least), dm = sim_buffer(sizeof most), db = sim_buffer(4);
  MUST(cu.cuMemsetD8_v2(ds, 0, sizeof sums));
  MUST(cu.cuMemsetD8_v2(dl, 0x7f, sizeof least));
  MUST(cu.cuMemsetD8_v2(dm, 0xff, sizeof most));
  MUST(cu.cuMemsetD8_v2(db, 0, 4));
  RUN(sim_kernel(module, "sums_by_key"), (sim_shape){{6}, {128}, 0}, &dk, &dv, &n, &ds, &dl, &dm, NULL);
  RUN(sim_kernel(module, "most_by_swap"), (sim_shape){{6}, {128}, 0}, &dv, &n, &db, NULL);
  sim_download(sums, ds, sizeof sums);
  sim_download(least, dl, sizeof least);
  sim_download(most, dm, sizeof most);
  sim_download(&bits, db, 4);
  memcpy(&got, &bits, 4);
  assert_memory_equal(sums, wanted, sizeof sums);
  assert_memory_equal(least, first, sizeof least);
  assert_memory_equal(most, last, sizeof most);
  assert_true(got == top);
  sim_expect_no_report();
}

static void barrier_over_the_grid(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("grid_barrier", NULL), "grid_barrier");
  enum { N = 256, ROUNDS = 5 };
  int n = N, rounds = ROUNDS, values[2 * N], a[N], b[N];
  for (int i = 0; i < N; i++) a[i] = values[i] = values[N + i] = i * 3;
  CUdeviceptr dv = sim_upload(values, sizeof values), counter = sim_buffer(4);
  MUST(cu.cuMemsetD8_v2(counter, 0, 4));
  void *pointers[] = {&dv, &n, &rounds, &counter};
  MUST(cu.cuLaunchCooperativeKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, pointers));
  sim_download(values, dv, sizeof values);
  for (int r = 0; r < ROUNDS; r++) {
    for (int i = 0; i < N; i++) b[i] = a[(i + N / 2) % N] + 1;
    memcpy(a, b, sizeof a);
  }
  assert_memory_equal(values + N * (ROUNDS & 1), a, sizeof a);
  sim_expect_no_report();
}

static int collatz(long long n, int *peak) {
  int steps = 0;
  long long most = n;
  for (; n != 1; steps++) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    most = n > most ? n : most;
  }
  *peak = (int)(most % 1000003);
  return steps;
}

static int fibonacci(int n) {
  return n <= 1 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void calls(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("device_calls", NULL), "device_calls");
  enum { N = 75 };
  int n = N, x[N], steps[N], peaks[N], fib[N], chained[N];
  double sums[N];
  for (int i = 0; i < N; i++) x[i] = 1 + i * 13 % 97;
  CUdeviceptr dx = sim_upload(x, sizeof x), ds = sim_buffer(sizeof steps), dp = sim_buffer(sizeof peaks),
              du = sim_buffer(sizeof sums), df = sim_buffer(sizeof fib), dc = sim_buffer(sizeof chained);
  RUN(f, (sim_shape){{2}, {64}, 0}, &dx, &ds, &dp, &du, &df, &dc, &n, NULL);
  sim_download(steps, ds, sizeof steps);
  sim_download(peaks, dp, sizeof peaks);
  sim_download(sums, du, sizeof sums);
  sim_download(fib, df, sizeof fib);
  sim_download(chained, dc, sizeof chained);
  for (int i = 0; i < N; i++) {
    int peak;
    assert_int_equal(steps[i], collatz(x[i], &peak));
    assert_int_equal(peaks[i], peak);
    double a = 1.5;
    int b = i;
    for (int k = 0; k < 3; k++) {
      float v = (float)(x[i] % 7) * 0.5f;
      a = a * (double)v + b;
      b += (int)v;
    }
    sim_expect_close(sums[i], a + b, 1e-12 * fabs(a + b), "sums", (size_t)i);
    assert_int_equal(fib[i], fibonacci(x[i] % 8));
    assert_int_equal(chained[i], i % 3 == 0 ? x[i] + 2 : x[i] * 9);
  }
  ptxsim_launches l;
  assert_int_equal(cu.ptxsim_last_launch(&l), 0);
  assert_true(l.counters.calls > 0);
  sim_expect_no_report();
}

static int interpret(const int *program, int length, int i) {
  int acc = i, spins = 0;
  for (int pc = 0; pc < length; pc++) {
    int op = program[(pc * 7 + i) % length];
    switch (op) {
    case 0:
      acc = (int)((unsigned)acc + (unsigned)pc);
      break;
    case 1:
      acc ^= (int)((unsigned)i << (pc & 7));
      break;
    case 2:
      for (int k = 0; k < (i & 15); k++) {
        if (((acc + k) & 31) == 5) break;
        if (k & 1) continue;
        acc = (int)((unsigned)acc + (unsigned)k * 3);
      }
      break;
    case 3:
      while ((acc & 3) != 0 && spins < 1000) {
        acc = (int)((unsigned)acc * 5 + 1);
        spins++;
      }
      break;
    case 4:
      if (acc < 0) return acc ^ 0x55;
      acc = -acc;
      break;
    case 5:
      acc = (int)((unsigned)acc >> 3 | (unsigned)acc << 29);
      acc = (int)((unsigned)acc - 17);
      break;
    case 6:
      acc = (int)((unsigned)acc - 17);
      break;
    default:
      acc = acc % 1009 + op;
    }
  }
  return (int)((unsigned)acc + (unsigned)spins);
}

static void split_warps(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("switch_loops", NULL), "switch_loops");
  enum { N = 300, LENGTH = 23 };
  int n = N, length = LENGTH, program[LENGTH], out[N];
  for (int i = 0; i < LENGTH; i++) program[i] = (i * 5 + i / 3) % 9;
  CUdeviceptr dp = sim_upload(program, sizeof program), dy = sim_buffer(sizeof out);
  RUN(f, (sim_shape){{5}, {64}, 0}, &dp, &length, &dy, &n, NULL);
  sim_download(out, dy, sizeof out);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], interpret(program, LENGTH, i));
  ptxsim_launches l;
  assert_int_equal(cu.ptxsim_last_launch(&l), 0);
  assert_true(l.counters.branches_divergent > 0);
  assert_true(l.counters.thread_inst_executed < 32 * l.counters.inst_executed);
  sim_expect_no_report();
}

static void sorting(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  CUfunction f = sim_kernel(sim_compile("sort_bitonic", NULL), "sort_bitonic");
  enum { N = 900 };
  int n = N, places[N];
  float *keys = sim_random_floats(N, 15), sorted[N];
  CUdeviceptr dk = sim_upload(keys, N * 4), ds = sim_buffer(sizeof sorted), dp = sim_buffer(sizeof places);
  RUN(f, (sim_shape){{2}, {256}, 512 * 8}, &dk, &ds, &dp, &n, NULL);
  sim_download(sorted, ds, sizeof sorted);
  sim_download(places, dp, sizeof places);
  for (int i = 0; i < N; i++) {
    assert_true(i % 512 == 0 || sorted[i - 1] <= sorted[i]);
    assert_in_range(places[i], i / 512 * 512, i / 512 * 512 + 511);
    assert_true(sorted[i] == keys[places[i]]);
  }
  sim_expect_no_report();
  free(keys);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(scan, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(histogram, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(sums_by_key, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(barrier_over_the_grid, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(calls, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(split_warps, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(sorting, sim_setup, sim_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
