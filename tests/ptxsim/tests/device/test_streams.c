/* test_streams.c -- what is ordered and what is not: streams, events, the default streams, host functions, the clock. */
#include "../support/basic.h"

#include <math.h>
#include <stdlib.h>

static CUstream stream_new(unsigned flags) {
  CUstream stream = NULL;
  MUST(cu.cuStreamCreate(&stream, flags));
  return stream;
}

static CUevent event_new(unsigned flags) {
  CUevent event = NULL;
  MUST(cu.cuEventCreate(&event, flags));
  return event;
}

/* b = what a's stream writes: with the wait it is there, without it is not. */
static unsigned read_in_another_stream(int with_wait) {
  CUmodule module = sim_basic();
  CUstream a = stream_new(CU_STREAM_NON_BLOCKING), b = stream_new(CU_STREAM_NON_BLOCKING);
  CUevent event = event_new(CU_EVENT_DISABLE_TIMING);
  CUdeviceptr from = sim_buffer(4), to = sim_buffer(4);
  void *pointers[] = {&to, &from};
  MUST(cu.cuMemsetD32_v2(from, 1, 1));
  MUST(cu.cuCtxSynchronize());
  sim_put(sim_kernel(module, "put"), from, 2, a);
  MUST(cu.cuEventRecord(event, a));
  if (with_wait) MUST(cu.cuStreamWaitEvent(b, event, 0));
  MUST(cu.cuLaunchKernel(sim_kernel(module, "copy"), 1, 1, 1, 1, 1, 1, 0, b, pointers, NULL));
  MUST(cu.cuStreamSynchronize(b));
  return sim_word(to);
}

static void events_order(void **state) {
  (void)state;
  assert_int_equal(read_in_another_stream(1), 2);
}

static void a_missing_wait_shows(void **state) {
  (void)state;
  assert_int_equal(read_in_another_stream(0), 1);
}

/* The other way round: a writes what b still has to read. Waiting for all runs the newest first. */
static void a_missing_wait_before_overwriting_shows(void **state) {
  (void)state;
  CUmodule module = sim_basic();
  CUstream a = stream_new(CU_STREAM_NON_BLOCKING), b = stream_new(CU_STREAM_NON_BLOCKING);
  CUdeviceptr from = sim_buffer(4), to = sim_buffer(4);
  void *pointers[] = {&to, &from};
  MUST(cu.cuMemsetD32_v2(from, 1, 1));
  MUST(cu.cuCtxSynchronize());
  MUST(cu.cuLaunchKernel(sim_kernel(module, "copy"), 1, 1, 1, 1, 1, 1, 0, a, pointers, NULL));
  sim_put(sim_kernel(module, "put"), from, 2, b);
  MUST(cu.cuCtxSynchronize());
  assert_int_equal(sim_word(to), 2);
}

static void legacy_stream(void **state) {
  (void)state;
  CUmodule module = sim_basic();
  CUfunction put = sim_kernel(module, "put"), add = sim_kernel(module, "add_one");
  CUstream blocking = stream_new(0), apart = stream_new(CU_STREAM_NON_BLOCKING);
  CUdeviceptr p = sim_buffer(4), q = sim_buffer(4);
  MUST(cu.cuMemsetD32_v2(q, 1, 1));
  MUST(cu.cuCtxSynchronize());
  sim_put(put, p, 10, blocking);
  sim_add_one(add, p, 1, NULL); /* after the blocking stream */
  sim_add_one(add, p, 1, blocking);
  sim_add_one(add, q, 1, apart);
  MUST(cu.cuStreamSynchronize(blocking));
  assert_int_equal(sim_word(p), 12);
  assert_int_equal(sim_word(q), 1); /* cuMemcpyDtoH orders itself after blocking streams only */
  MUST(cu.cuStreamSynchronize(apart));
  assert_int_equal(sim_word(q), 2);
}

static void per_thread_stream(void **state) {
  (void)state;
  CUmodule module = sim_basic();
  CUdeviceptr p = sim_buffer(4);
  CUcontext context = NULL;
  sim_put(sim_kernel(module, "put"), p, 5, CU_STREAM_PER_THREAD);
  sim_add_one(sim_kernel(module, "add_one"), p, 1, CU_STREAM_LEGACY);
  MUST(cu.cuStreamSynchronize(CU_STREAM_LEGACY));
  assert_int_equal(sim_word(p), 6);
  MUST(cu.cuStreamGetCtx(CU_STREAM_PER_THREAD, &context));
  assert_ptr_equal(context, *state);
}

static void queries_bring_work_on(void **state) {
  (void)state;
  CUfunction add = sim_basic_kernel("add_one");
  CUstream stream = stream_new(0);
  CUevent event = event_new(0);
  CUdeviceptr p = sim_buffer(4);
  int asked = 0;
  MUST(cu.cuMemsetD32Async(p, 0, 1, stream));
  for (int i = 0; i < 5; i++) sim_add_one(add, p, 1, stream);
  MUST(cu.cuEventRecord(event, stream));
  FAILS(CUDA_ERROR_NOT_READY, cu.cuEventQuery(event));
  while (cu.cuEventQuery(event) == CUDA_ERROR_NOT_READY && asked < 100) asked++;
  MUST(cu.cuEventQuery(event));
  assert_true(asked < 100);
  MUST(cu.cuStreamQuery(stream));
  assert_int_equal(sim_word(p), 5);
}

/* Equal work has equal times, to the bit; more work takes longer; nothing was run twice. */
static float time_of(CUfunction add, CUstream stream, CUdeviceptr p, int launches) {
  CUevent from = event_new(0), to = event_new(0);
  float ms = -1;
  MUST(cu.cuEventRecord(from, stream));
  for (int i = 0; i < launches; i++) sim_add_one(add, p, 1000, stream);
  MUST(cu.cuEventRecord(to, stream));
  FAILS(CUDA_ERROR_NOT_READY, cu.cuEventElapsedTime_v2(&ms, from, to));
  MUST(cu.cuEventSynchronize(to));
  MUST(cu.cuEventElapsedTime_v2(&ms, from, to));
  MUST(cu.cuEventDestroy_v2(from));
  MUST(cu.cuEventDestroy_v2(to));
  return ms;
}

static void the_clock(void **state) {
  (void)state;
  CUfunction add = sim_basic_kernel("add_one");
  CUstream stream = stream_new(CU_STREAM_NON_BLOCKING);
  CUdeviceptr p = sim_buffer(4000);
  MUST(cu.cuMemsetD8_v2(p, 0, 4000));
  MUST(cu.cuCtxSynchronize());
  float first = time_of(add, stream, p, 1), again = time_of(add, stream, p, 1), three = time_of(add, stream, p, 3);
  assert_true(first > 0);
  assert_true(first == again);
  assert_true(three > 2 * first);
  assert_int_equal(sim_word(p), 5);
}

static void event_misuse(void **state) {
  (void)state;
  CUevent timed = event_new(0), untimed = event_new(CU_EVENT_DISABLE_TIMING), other = event_new(0);
  float ms;
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime_v2(&ms, timed, other));
  sim_expect_report("never recorded");
  MUST(cu.cuEventRecord(timed, NULL));
  MUST(cu.cuEventRecord(untimed, NULL));
  MUST(cu.cuEventSynchronize(untimed));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime_v2(&ms, timed, untimed));
  MUST(cu.cuEventQuery(other)); /* never recorded: done */
  MUST(cu.cuEventDestroy_v2(timed));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventDestroy_v2(timed));
  sim_expect_report("the event");
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventRecord(timed, NULL));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventRecord(NULL, NULL));
  sim_expect_report("the event is NULL");
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery((CUevent)*state));
  sim_expect_report("is a context; an event is needed");
}

static void stream_misuse(void **state) {
  (void)state;
  CUstream stream = stream_new(0);
  CUfunction put = sim_basic_kernel("put");
  CUdeviceptr p = sim_buffer(4);
  unsigned value = 3;
  void *pointers[] = {&p, &value};
  sim_put(put, p, 1, stream);
  MUST(cu.cuStreamDestroy_v2(stream)); /* its work still runs */
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize(stream));
  sim_expect_report("was destroyed before");
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, stream, pointers, NULL));
  MUST(cu.cuCtxSynchronize());
  assert_int_equal(sim_word(p), 1);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy_v2(NULL));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy_v2(stream));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamQuery((CUstream)&value));
}

/* A wait for an event of a stream that was destroyed meanwhile. */
static void waits_outlive_streams(void **state) {
  (void)state;
  CUmodule module = sim_basic();
  CUstream a = stream_new(CU_STREAM_NON_BLOCKING), b = stream_new(CU_STREAM_NON_BLOCKING);
  CUevent event = event_new(0);
  CUdeviceptr p = sim_buffer(4);
  sim_put(sim_kernel(module, "put"), p, 8, a);
  MUST(cu.cuEventRecord(event, a));
  MUST(cu.cuStreamWaitEvent(b, event, 0));
  MUST(cu.cuStreamDestroy_v2(a));
  MUST(cu.cuEventSynchronize(event));
  sim_add_one(sim_kernel(module, "add_one"), p, 1, b);
  MUST(cu.cuEventDestroy_v2(event));
  MUST(cu.cuStreamSynchronize(b));
  assert_int_equal(sim_word(p), 9);
}

static int called_back, refused;

static void host_function(void *user) {
  called_back += *(int *)user;
  refused = cu.cuCtxSynchronize();
}

static void host_functions(void **state) {
  int three = 3;
  (void)state;
  CUstream stream = stream_new(0);
  MUST(cu.cuLaunchHostFunc(stream, host_function, &three));
  assert_int_equal(called_back, 0);
  MUST(cu.cuStreamSynchronize(stream));
  assert_int_equal(called_back, 3);
  assert_int_equal(refused, CUDA_ERROR_NOT_PERMITTED);
}

/* Handles of another context. */
static void two_contexts(void **state) {
  CUcontext second;
  (void)state;
  CUfunction put = sim_basic_kernel("put");
  CUevent event = event_new(0);
  CUdeviceptr p = sim_buffer(4);
  unsigned value = 1;
  void *pointers[] = {&p, &value};
  MUST(cu.cuCtxCreate_v4(&second, NULL, 0, 0));
  assert_true(sim_buffer(4) != p);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
  sim_expect_report("another context");
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventRecord(event, NULL));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(p));
  MUST(cu.cuCtxDestroy_v2(second));
  MUST(cu.cuMemFree_v2(p));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(events_order, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_missing_wait_shows, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(a_missing_wait_before_overwriting_shows, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(legacy_stream, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(per_thread_stream, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(queries_bring_work_on, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(the_clock, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(event_misuse, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(stream_misuse, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(waits_outlive_streams, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(host_functions, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(two_contexts, sim_setup, sim_teardown),
  };
  sim_quiet();
  setenv("PTXSIM_SEED", "0", 1); /* what is not waited for is not there: with another seed it may be */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
