/* test_launches.c -- the limits of a launch, its parameters, and the fault that stays. */
#include "../support/basic.h"

#include <stdlib.h>
#include <string.h>

static int launch(CUfunction f, sim_shape s, void **pointers) {
  for (int i = 0; i < 3; i++) {
    if (s.grid[i] == 0) s.grid[i] = 1;
    if (s.block[i] == 0) s.block[i] = 1;
  }
  int result =
      cu.cuLaunchKernel(f, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.shared, NULL, pointers, NULL);
  return result != CUDA_SUCCESS ? result : cu.cuCtxSynchronize();
}

static void dimensions(void **state) {
  (void)state;
  CUmodule module = sim_basic();
  CUfunction bounded = sim_kernel(module, "bounded"), exactly = sim_kernel(module, "exactly"),
             shared = sim_kernel(module, "much_shared");
  MUST(launch(bounded, (sim_shape){{1}, {64}, 0}, NULL));
  FAILS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, launch(bounded, (sim_shape){{1}, {65}, 0}, NULL));
  sim_expect_report("launch bounds allow 64");
  MUST(launch(exactly, (sim_shape){{1}, {32, 2}, 0}, NULL));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(exactly, (sim_shape){{1}, {64}, 0}, NULL));
  sim_expect_report(".reqntid");
  MUST(launch(shared, (sim_shape){{2}, {1024}, 0}, NULL));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(shared, (sim_shape){{1}, {1025}, 0}, NULL));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(shared, (sim_shape){{1}, {33, 32}, 0}, NULL));
  sim_expect_report("1056 threads");
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(shared, (sim_shape){{1}, {1, 1, 65}, 0}, NULL));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(shared, (sim_shape){{1, 65536}, {1}, 0}, NULL));
  sim_expect_report("65536 in y; 1 to 65535");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(shared, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void shared_memory(void **state) {
  (void)state;
  CUmodule module = sim_basic();
  CUfunction f = sim_kernel(module, "neighbours"), own = sim_kernel(module, "much_shared");
  CUdeviceptr p = sim_buffer(256 * 4);
  void *pointers[] = {&p};
  int optin = 0;
  MUST(cu.cuDeviceGetAttribute(&optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
  MUST(launch(f, (sim_shape){{1}, {256}, 1024}, pointers));
  unsigned back[256];
  sim_download(back, p, sizeof back);
  for (unsigned i = 0; i < 256; i++) assert_int_equal(back[i], (i + 1) % 256);
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(f, (sim_shape){{1}, {32}, 49153}, pointers));
  sim_expect_report("49153 bytes of dynamic shared memory");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin + 1));
  MUST(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin));
  MUST(launch(f, (sim_shape){{1}, {32}, (unsigned)optin}, pointers));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(own, (sim_shape){{1}, {32}, 8193}, NULL)); /* beside 40 KB of its own */
  MUST(launch(own, (sim_shape){{1}, {32}, 8192}, NULL));
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cu.cuFuncSetAttribute(own, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin - 40960 + 1));
}

static void parameters(void **state) {
  struct {
    unsigned char a, pad0;
    unsigned short b;
    unsigned pad1;
    CUdeviceptr p;
    unsigned char c, pad2[7];
    unsigned d[4];
  } packed = {.a = 200, .b = 3000, .c = 7, .d = {0, 0, 40000, 0}};
  unsigned char a = 1, c = 3;
  unsigned short b = 2;
  unsigned d[4] = {9, 9, 4, 9};
  size_t bytes = sizeof packed;
  (void)state;
  CUfunction f = sim_basic_kernel("mixed");
  CUdeviceptr p = sim_buffer(4);
  void *pointers[] = {&a, &b, &p, &c, d};
  packed.p = p;
  MUST(launch(f, (sim_shape){{1}, {1}, 0}, pointers));
  assert_int_equal(sim_word(p), 10);
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  MUST(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
  assert_int_equal(sim_word(p), 200 + 3000 + 7 + 40000);
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, extra));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  sim_expect_report("it has 5 parameters");
  bytes--;
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
  pointers[3] = NULL;
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
  sim_expect_report("parameter 3 is NULL");
}

/* Parameters are read at the call. */
static void parameters_are_copied(void **state) {
  unsigned value = 5;
  (void)state;
  CUfunction put = sim_basic_kernel("put");
  CUdeviceptr p = sim_buffer(4), kept = p;
  void *pointers[] = {&p, &value};
  MUST(cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
  value = 6;
  p = 0;
  assert_int_equal(sim_word(kept), 5);
}

static void attributes(void **state) {
  (void)state;
  CUfunction bounded = sim_basic_kernel("bounded");
  CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value = {.cluster = {17, 1, 1}}};
  CUlaunchConfig config = {.gridDimX = 34, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};
  MUST(cu.cuLaunchKernelEx(&config, bounded, NULL, NULL));
  config.attrs = &attribute;
  config.numAttrs = 1;
  FAILS(sim_profile_sm() < 90 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_CLUSTER_SIZE,
        cu.cuLaunchKernelEx(&config, bounded, NULL, NULL));
  attribute.id = 77;
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernelEx(&config, bounded, NULL, NULL));
  sim_expect_report("no launch attribute 77");
  attribute.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
  MUST(cu.cuLaunchKernelEx(&config, bounded, NULL, NULL));
  FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cu.cuLaunchCooperativeKernel(bounded, 100000, 1, 1, 64, 1, 1, 0, NULL, NULL));
}

static void occupancy(void **state) {
  int blocks = 0, block = 0, grid = 0, sms = 0;
  (void)state;
  CUmodule module = sim_basic();
  CUfunction shared = sim_kernel(module, "much_shared"), add = sim_kernel(module, "add_one");
  MUST(cu.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  MUST(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 64, 0));
  assert_int_equal(blocks, sim_profile_sm() == 80 ? 4 : sim_profile_sm() == 90 ? 5 : 2); /* 41 KB each */
  MUST(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 32, 0));
  assert_int_equal(blocks, sim_profile_sm() == 120 ? 24 : 32);
  MUST(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0));
  assert_int_equal(blocks, sim_profile_sm() == 120 ? 1 : 2);
  MUST(cu.cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 0));
  assert_int_equal(block, sim_profile_sm() == 120 ? 768 : 1024);
  assert_int_equal(grid, 2 * sms);
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 0, 0));
}

/* A fault is every later call's answer, until the context is gone; others live on. */
static void faults_stay(void **state) {
  CUcontext second;
  unsigned value = 1;
  (void)state;
  CUfunction put = sim_basic_kernel("put");
  CUdeviceptr p = sim_buffer(4), behind = p + 4;
  void *pointers[] = {&behind, &value};
  MUST(cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL)); /* nothing has run yet */
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
  assert_int_equal(sim_reports().faults, 1);
  sim_expect_report("put");
  sim_expect_report("st.global.u32 [%rd2], %r1");
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemcpyDtoH_v2(&value, p, 4));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemFree_v2(p));
  assert_int_equal(sim_reports().faults, 1);
  MUST(cu.cuCtxCreate_v4(&second, NULL, 0, 0));
  p = sim_buffer(4);
  sim_put(sim_basic_kernel("put"), p, 3, NULL);
  assert_int_equal(sim_word(p), 3);
  MUST(cu.cuCtxDestroy_v2(second));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
}

static void a_misaligned_store(void **state) {
  unsigned value = 1;
  (void)state;
  CUfunction put = sim_basic_kernel("put");
  CUdeviceptr p = sim_buffer(8) + 2;
  void *pointers[] = {&p, &value};
  FAILS(CUDA_ERROR_MISALIGNED_ADDRESS, launch(put, (sim_shape){{1}, {1}, 0}, pointers));
}

static void a_trap(void **state) {
  (void)state;
  FAILS(CUDA_ERROR_LAUNCH_FAILED, launch(sim_basic_kernel("trapped"), (sim_shape){{1}, {32}, 0}, NULL));
}

static void an_endless_kernel(void **state) {
  (void)state;
  FAILS(CUDA_ERROR_LAUNCH_TIMEOUT, launch(sim_basic_kernel("spin"), (sim_shape){{1}, {32}, 0}, NULL));
  sim_expect_report("spin");
}

/* An output that no thread writes is found when the host reads it. */
static void an_output_never_written(void **state) {
  unsigned back[33], n = 32;
  (void)state;
  CUfunction f = sim_basic_kernel("neighbours");
  CUdeviceptr p = sim_buffer(sizeof back);
  void *pointers[] = {&p};
  MUST(launch(f, (sim_shape){{1}, {n}, 4 * n}, pointers));
  sim_download(back, p, 32 * 4);
  assert_int_equal(sim_reports().findings, 0);
  sim_download(back, p, 33 * 4);
  assert_int_equal(sim_reports().findings, 1);
  sim_expect_report("byte 128 of them was never written");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(dimensions, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(shared_memory, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(parameters, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(parameters_are_copied, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(attributes, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(occupancy, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(faults_stay, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_misaligned_store, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_trap, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(an_endless_kernel, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(an_output_never_written, sim_setup, sim_teardown),
  };
  sim_quiet();
  setenv("PTXSIM_INSTRUCTION_LIMIT", "1000000", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
