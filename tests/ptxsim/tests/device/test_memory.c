/* test_memory.c -- allocations, copies, fills, page-locked memory, and their misuse. */
#include "../support/basic.h"

#include <stdlib.h>
#include <string.h>

static void round_trip(void **state) {
  unsigned char data[1000], back[1000];
  (void)state;
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7);
  CUdeviceptr a = sim_upload(data, sizeof data), b = sim_buffer(sizeof data);
  assert_int_equal(a % 256, 0);
  MUST(cu.cuMemcpyDtoD_v2(b, a, sizeof data));
  sim_download(back, b, sizeof back);
  assert_memory_equal(back, data, sizeof data);
  MUST(cu.cuMemsetD8_v2(b + 3, 0xab, 5));
  MUST(cu.cuMemsetD16_v2(b + 10, 0x1234, 3));
  MUST(cu.cuMemsetD32_v2(b + 20, 0xdeadbeef, 2));
  sim_download(back, b, sizeof back);
  memset(data + 3, 0xab, 5);
  for (int i = 0; i < 3; i++) memcpy(data + 10 + 2 * i, "\x34\x12", 2);
  for (int i = 0; i < 2; i++) memcpy(data + 20 + 4 * i, "\xef\xbe\xad\xde", 4);
  assert_memory_equal(back, data, sizeof data);
  MUST(cu.cuMemcpy((CUdeviceptr)(uintptr_t)back, a + 500, 100));
  assert_memory_equal(back, data + 500, 100);
  MUST(cu.cuMemFree_v2(a));
  MUST(cu.cuMemFree_v2(b));
  assert_int_equal(sim_reports().misuses + sim_reports().findings, 0);
}

static void accounts(void **state) {
  size_t before = 0, after = 0, total = 0, bytes = 0;
  CUdeviceptr base = 0;
  (void)state;
  MUST(cu.cuMemGetInfo_v2(&before, &total));
  assert_true(before <= total);
  CUdeviceptr p = sim_buffer(1 << 20);
  MUST(cu.cuMemGetInfo_v2(&after, &total));
  assert_true(before - after >= 1 << 20);
  MUST(cu.cuMemGetAddressRange_v2(&base, &bytes, p + 1234));
  assert_true(base == p);
  assert_int_equal(bytes, 1 << 20);
  MUST(cu.cuMemFree_v2(p));
  MUST(cu.cuMemGetInfo_v2(&after, &total));
  assert_int_equal(after, before);
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&p, total + 1));
}

static void misuse(void **state) {
  unsigned char data[64] = {0};
  CUdeviceptr p = sim_buffer(64), q;
  (void)state;
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc_v2(&q, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoD_v2(p, data, 65));
  sim_expect_report("not within one allocation");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(data, p + 60, 5));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD32_v2(p + 2, 0, 1));
  sim_expect_report("no multiple of 4 bytes");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8_v2(p, 0, 65));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoD_v2(p, NULL, 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(p + 1));
  sim_expect_report("not the start of an allocation");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2((CUdeviceptr)(uintptr_t)data));
  MUST(cu.cuMemFree_v2(p));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(p));
  sim_expect_report("freed before");
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoD_v2(p, data, 4));
  sim_expect_report("freed");
}

/* Page-locked memory is read and written when the copy runs; other host memory at the call. */
static void page_locked(void **state) {
  unsigned *locked = NULL, plain = 5, type = 0;
  CUdeviceptr p = sim_buffer(4), device = 0;
  CUstream stream;
  (void)state;
  MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cu.cuMemAllocHost_v2((void **)&locked, 4));
  *locked = 1;
  MUST(cu.cuMemcpyHtoDAsync_v2(p, locked, 4, stream));
  *locked = 2; /* too early: the copy has not run */
  MUST(cu.cuStreamSynchronize(stream));
  assert_int_equal(sim_word(p), 2);
  MUST(cu.cuMemcpyHtoDAsync_v2(p, &plain, 4, stream));
  plain = 6;
  MUST(cu.cuMemcpyDtoHAsync_v2(locked, p, 4, stream));
  assert_int_equal(*locked, 2); /* not there before the wait */
  MUST(cu.cuStreamSynchronize(stream));
  assert_int_equal(*locked, 5);
  MUST(cu.cuMemcpyDtoHAsync_v2(&plain, p, 4, stream));
  assert_int_equal(plain, 5); /* the call has waited */
  MUST(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
  MUST(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)locked));
  assert_int_equal(type, CU_MEMORYTYPE_HOST);
  MUST(cu.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 3));
  assert_true(device == p);
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&plain));
  MUST(cu.cuMemFreeHost(locked));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeHost(locked));
  sim_expect_report("given back before");
}

/* A kernel reaches page-locked memory at the host's own address. */
static void mapped(void **state) {
  unsigned *locked = NULL;
  (void)state;
  CUfunction put = sim_basic_kernel("put");
  MUST(cu.cuMemHostAlloc((void **)&locked, 64, CU_MEMHOSTALLOC_DEVICEMAP));
  locked[3] = 0;
  sim_put(put, (CUdeviceptr)(uintptr_t)(locked + 3), 77, NULL);
  assert_int_equal(locked[3], 0);
  MUST(cu.cuCtxSynchronize());
  assert_int_equal(locked[3], 77);
  MUST(cu.cuMemFreeHost(locked));
}

/* The driver lets it pass; here it is found. */
static void never_written(void **state) {
  unsigned char back[16];
  CUdeviceptr p = sim_buffer(16);
  (void)state;
  MUST(cu.cuMemsetD8_v2(p, 1, 10));
  sim_download(back, p, 10);
  assert_int_equal(sim_reports().findings, 0);
  sim_download(back, p, 16);
  assert_int_equal(sim_reports().findings, 1);
  sim_expect_report("byte 10 of them was never written");
  CUdeviceptr q = sim_buffer(16);
  MUST(cu.cuMemcpyDtoD_v2(q, p, 16));
  sim_download(back, q + 4, 4);
  assert_int_equal(sim_reports().findings, 1);
  sim_download(back, q, 16); /* definedness went with the copy */
  assert_int_equal(sim_reports().findings, 2);
}

static void in_stream_order(void **state) {
  CUdeviceptr p = 0;
  CUstream stream;
  (void)state;
  CUfunction add = sim_basic_kernel("add_one");
  MUST(cu.cuStreamCreate(&stream, 0));
  MUST(cu.cuMemAllocAsync(&p, 4, stream));
  MUST(cu.cuMemsetD32Async(p, 41, 1, stream));
  sim_add_one(add, p, 1, stream);
  MUST(cu.cuMemFreeAsync(p, stream));
  MUST(cu.cuStreamSynchronize(stream));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(p));
  sim_expect_report("freed before");
}

/* Queued work whose memory goes before its turn. */
static void freed_in_between(void **state) {
  CUdeviceptr p = sim_buffer(4);
  CUstream a, b;
  (void)state;
  CUfunction add = sim_basic_kernel("add_one");
  MUST(cu.cuMemsetD8_v2(p, 0, 4));
  MUST(cu.cuCtxSynchronize());
  MUST(cu.cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  MUST(cu.cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  sim_add_one(add, p, 1, a);
  MUST(cu.cuMemFreeAsync(p, b)); /* nothing says that it comes after */
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
  assert_int_equal(sim_reports().faults, 1);
  sim_expect_report("freed");
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(b)); /* it stays */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(round_trip, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(accounts, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(misuse, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(page_locked, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(mapped, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(never_written, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(in_stream_order, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(freed_in_between, sim_setup, sim_teardown),
  };
  sim_quiet();
  setenv("PTXSIM_SEED", "0", 1); /* what is not waited for is not there: with another seed it may be */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
