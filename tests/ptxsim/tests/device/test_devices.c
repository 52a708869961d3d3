/* test_devices.c -- what the device says of itself, contexts and what is current, error names. */
#include "../support/basic.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int attribute(int which) {
  int value = -1;
  MUST(cu.cuDeviceGetAttribute(&value, which, 0));
  return value;
}

static void facts(void **state) {
  static const struct {
    int sm, sms, threads, blocks, shared, optin;
  } known[] = {{80, 108, 2048, 32, 167936, 166912}, {90, 132, 2048, 32, 233472, 232448}, {120, 170, 1536, 24, 102400, 101376}};
  char name[64], wanted[64];
  int version = 0, found = 0;
  size_t bytes = 0;
  CUuuid uuid;
  (void)state;
  MUST(cu.cuDriverGetVersion(&version));
  assert_int_equal(version, 13000);
  for (size_t i = 0; i < 3; i++) {
    if (known[i].sm != sim_profile_sm()) continue;
    found = 1;
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), known[i].sms);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), known[i].threads);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR), known[i].blocks);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), known[i].shared);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), known[i].optin);
    assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), known[i].sm >= 90);
  }
  assert_int_equal(found, 1);
  assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
  assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y), 65535);
  assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY), 0);
  assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
  snprintf(wanted, sizeof wanted, "ptxsim sm_%d (modelled)", sim_profile_sm());
  MUST(cu.cuDeviceGetName(name, sizeof name, 0));
  assert_string_equal(name, wanted);
  MUST(cu.cuDeviceGetName(name, 4, 0));
  assert_string_equal(name, "ptx");
  MUST(cu.cuDeviceGetUuid_v2(&uuid, 0));
  assert_memory_equal(uuid.bytes, "ptxsim sm_", 10);
  MUST(cu.cuDeviceTotalMem_v2(&bytes, 0));
  assert_true(bytes > (size_t)1 << 34);
}

static void errors(void **state) {
  const char *text = "";
  int value;
  CUdevice device;
  (void)state;
  MUST(cu.cuGetErrorName(700, &text));
  assert_string_equal(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  MUST(cu.cuGetErrorString(2, &text));
  assert_string_equal(text, "out of memory");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGetErrorName(12345, &text));
  assert_null(text);
  FAILS(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&device, 1));
  sim_expect_report("device 1 does not exist");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuDeviceGetAttribute(&value, 9999, 0));
  sim_expect_report("no attribute 9999");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuInit(1));
}

static void contexts(void **state) {
  CUcontext made, second, seen;
  (void)state;
  MUST(cu.cuCtxGetCurrent(&made));
  MUST(cu.cuCtxCreate_v4(&second, NULL, 0, 0));
  assert_ptr_not_equal(made, second);
  MUST(cu.cuCtxGetCurrent(&seen));
  assert_ptr_equal(seen, second);
  MUST(cu.cuCtxPopCurrent_v2(&seen));
  assert_ptr_equal(seen, second);
  MUST(cu.cuCtxGetCurrent(&seen));
  assert_ptr_equal(seen, made);
  MUST(cu.cuCtxPushCurrent_v2(second));
  MUST(cu.cuCtxDestroy_v2(second));
  MUST(cu.cuCtxGetCurrent(&seen));
  assert_ptr_equal(seen, made);
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuCtxPushCurrent_v2(second));
  sim_expect_report("destroyed before");
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuCtxDestroy_v2(second));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSetCurrent((CUcontext)&seen));
  sim_expect_report("no handle that this driver made");
  MUST(cu.cuCtxSetCurrent(NULL));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSynchronize());
  sim_expect_report("no context is current");
  MUST(cu.cuCtxSetCurrent(made));
}

static void primary(void **state) {
  CUcontext a, b, own;
  CUdeviceptr p;
  unsigned flags;
  int active = -1;
  (void)state;
  MUST(cu.cuCtxGetCurrent(&own));
  MUST(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
  assert_int_equal(active, 0);
  MUST(cu.cuDevicePrimaryCtxRetain(&a, 0));
  MUST(cu.cuDevicePrimaryCtxRetain(&b, 0));
  assert_ptr_equal(a, b);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDestroy_v2(a));
  MUST(cu.cuCtxSetCurrent(a));
  p = sim_buffer(64);
  MUST(cu.cuDevicePrimaryCtxReset_v2(0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(p)); /* gone with the reset */
  MUST(cu.cuDevicePrimaryCtxRelease_v2(0));
  p = sim_buffer(64);
  MUST(cu.cuDevicePrimaryCtxRelease_v2(0));
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuMemFree_v2(p));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease_v2(0));
  sim_expect_report("was not retained");
  MUST(cu.cuCtxSetCurrent(own));
}

/* What is current belongs to the thread. */
static void *in_thread(void *user) {
  CUcontext seen = (CUcontext)user;
  intptr_t right = cu.cuCtxGetCurrent(&seen) == CUDA_SUCCESS && seen == NULL;
  right &= cu.cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT;
  right &= cu.cuCtxSetCurrent(user) == CUDA_SUCCESS && cu.cuCtxSynchronize() == CUDA_SUCCESS;
  return (void *)right;
}

static void threads(void **state) {
  pthread_t thread;
  void *right = NULL;
  assert_int_equal(pthread_create(&thread, NULL, in_thread, *state), 0);
  assert_int_equal(pthread_join(thread, &right), 0);
  assert_non_null(right);
}

static void limits(void **state) {
  size_t value = 0;
  (void)state;
  MUST(cu.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
  MUST(cu.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  assert_int_equal(value, 2048);
  FAILS(CUDA_ERROR_UNSUPPORTED_LIMIT, cu.cuCtxGetLimit(&value, 99));
}

/* Names that are there in the version asked for, and names that are not: loud, by name. */
static void entry_points(void **state) {
  void *found = NULL;
  CUdriverProcAddressQueryResult status;
  (void)state;
  MUST(cu.cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status));
  assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
  assert_memory_equal(&found, &cu.cuMemAlloc_v2, sizeof found);
  MUST(cu.cuGetProcAddress_v2("cuCtxSynchronize", &found, 13000, 0, NULL));
  assert_memory_equal(&found, &cu.cuCtxSynchronize, sizeof found);
  MUST(cu.cuGetProcAddress_v2("cuLaunchKernel", &found, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
  assert_memory_not_equal(&found, &cu.cuLaunchKernel, sizeof found);
  FAILS(CUDA_ERROR_NOT_FOUND, cu.cuGetProcAddress_v2("cuTexObjectCreate", &found, 13000, 0, &status));
  assert_null(found);
  assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  sim_expect_report("ptxsim has no cuTexObjectCreate");
  FAILS(CUDA_ERROR_NOT_FOUND, cu.cuGetProcAddress_v2("cuEventElapsedTime", &found, 12000, 0, &status));
  assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGetProcAddress_v2("cuMemAlloc", &found, 14000, 0, NULL));
  /* NVRTC asks for a table and calls what it finds without a look: NULL without this function is a crash there. */
  const void *table = &found;
  CUuuid id = {{0}};
  FAILS(CUDA_ERROR_NOT_FOUND, cu.cuGetExportTable(&table, &id));
  assert_null(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(facts, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(errors, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(contexts, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(primary, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(threads, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(limits, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(entry_points, sim_setup, sim_teardown),
  };
  sim_quiet();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
