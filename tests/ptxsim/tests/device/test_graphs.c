/* test_graphs.c -- capture into graphs, their launches, and what a capture refuses. */
#include "../support/basic.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct fixture {
  CUmodule module;
  CUfunction put, add, copy;
  CUstream stream;
  CUdeviceptr p;
} fixture;

static fixture begin(unsigned flags) {
  fixture f = {.module = sim_basic(), .p = sim_buffer(256)};
  f.put = sim_kernel(f.module, "put");
  f.add = sim_kernel(f.module, "add_one");
  f.copy = sim_kernel(f.module, "copy");
  MUST(cu.cuMemsetD32_v2(f.p, 0, 64));
  MUST(cu.cuCtxSynchronize());
  MUST(cu.cuStreamCreate(&f.stream, flags));
  return f;
}

static CUgraphExec instantiate(CUgraph graph) {
  CUgraphExec exec = NULL;
  MUST(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

static void capture_and_replay(void **state) {
  (void)state;
  fixture f = begin(CU_STREAM_NON_BLOCKING);
  CUgraph graph = NULL;
  CUstreamCaptureStatus status;
  CUgraphNode nodes[8];
  CUgraphNodeType type;
  size_t n = 8;
  unsigned *locked = NULL;
  MUST(cu.cuMemAllocHost_v2((void **)&locked, 4));
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  MUST(cu.cuStreamIsCapturing(f.stream, &status));
  assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  sim_put(f.put, f.p, 5, f.stream);
  sim_add_one(f.add, f.p, 1, f.stream);
  MUST(cu.cuMemsetD32Async(f.p + 4, 9, 1, f.stream));
  MUST(cu.cuMemcpyDtoHAsync_v2(locked, f.p, 4, f.stream));
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  MUST(cu.cuStreamIsCapturing(f.stream, &status));
  assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
  MUST(cu.cuGraphGetNodes(graph, nodes, &n));
  assert_int_equal(n, 4);
  MUST(cu.cuGraphNodeGetType(nodes[0], &type));
  assert_int_equal(type, CU_GRAPH_NODE_TYPE_KERNEL);
  MUST(cu.cuGraphNodeGetType(nodes[3], &type));
  assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEMCPY);
  MUST(cu.cuStreamSynchronize(f.stream));
  assert_int_equal(sim_word(f.p), 0); /* captured, not run */
  CUgraphExec exec = instantiate(graph);
  MUST(cu.cuGraphDestroy(graph));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuGraphNodeGetType(nodes[0], &type));
  for (int i = 0; i < 3; i++) {
    *locked = 0;
    MUST(cu.cuMemsetD32_v2(f.p, 0, 64));
    MUST(cu.cuCtxSynchronize());
    MUST(cu.cuGraphLaunch(exec, f.stream));
    MUST(cu.cuStreamSynchronize(f.stream));
    assert_int_equal(sim_word(f.p), 6);
    assert_int_equal(sim_word(f.p + 4), 9);
    assert_int_equal(*locked, 6);
  }
  MUST(cu.cuGraphLaunch(exec, f.stream));
  MUST(cu.cuGraphExecDestroy(exec)); /* the launch that is queued keeps it */
  MUST(cu.cuStreamSynchronize(f.stream));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuGraphLaunch(exec, f.stream));
  sim_expect_report("the executable graph");
  MUST(cu.cuMemFreeHost(locked));
}

/* Two streams: b joins by an event of a, and a waits for b. */
static void fork_and_join(void **state) {
  (void)state;
  fixture f = begin(CU_STREAM_NON_BLOCKING);
  CUstream other;
  CUevent fork, join;
  CUgraph graph = NULL;
  MUST(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  MUST(cu.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  MUST(cu.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  sim_put(f.put, f.p, 1, f.stream);
  MUST(cu.cuEventRecord(fork, f.stream));
  MUST(cu.cuStreamWaitEvent(other, fork, 0));
  CUdeviceptr second = f.p + 128;
  void *pointers[] = {&second, &f.p};
  MUST(cu.cuLaunchKernel(f.copy, 1, 1, 1, 1, 1, 1, 0, other, pointers, NULL));
  MUST(cu.cuEventRecord(join, other));
  MUST(cu.cuStreamWaitEvent(f.stream, join, 0));
  sim_add_one(f.add, second, 1, f.stream);
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  CUgraphExec exec = instantiate(graph);
  MUST(cu.cuGraphLaunch(exec, f.stream));
  MUST(cu.cuStreamSynchronize(f.stream));
  assert_int_equal(sim_word(second), 2);
  MUST(cu.cuGraphExecDestroy(exec));
  MUST(cu.cuGraphDestroy(graph));
  /* left unjoined */
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  sim_put(f.put, f.p, 1, f.stream);
  MUST(cu.cuEventRecord(fork, f.stream));
  MUST(cu.cuStreamWaitEvent(other, fork, 0));
  sim_add_one(f.add, f.p, 1, other);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cu.cuStreamEndCapture(other, &graph));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cu.cuStreamEndCapture(f.stream, &graph));
  assert_null(graph);
  MUST(cu.cuStreamSynchronize(other)); /* free again */
}

/* What invalidates a capture: one call each; the end says so, and the stream is free again. */
typedef int (*offence)(fixture *f);
static int wait_for_it(fixture *f) {
  return cu.cuStreamSynchronize(f->stream);
}
static int ask_it(fixture *f) {
  return cu.cuStreamQuery(f->stream);
}
static int wait_for_all(fixture *f) {
  (void)f;
  return cu.cuCtxSynchronize();
}
static int allocate(fixture *f) {
  CUdeviceptr p;
  (void)f;
  return cu.cuMemAlloc_v2(&p, 4);
}
static int allocate_in_it(fixture *f) {
  CUdeviceptr p;
  return cu.cuMemAllocAsync(&p, 4, f->stream);
}
static int give_back(fixture *f) {
  return cu.cuMemFree_v2(f->p);
}
static int load_a_module(fixture *f) {
  CUmodule module;
  (void)f;
  return cu.cuModuleLoadData(&module, ".version 7.0\n.target sm_80\n.address_size 64\n");
}
static int use_the_legacy_stream(fixture *f) {
  return cu.cuMemsetD32_v2(f->p, 1, 1);
}
static int read_back(fixture *f) {
  unsigned word;
  return cu.cuMemcpyDtoH_v2(&word, f->p, 4);
}
static int wait_for_its_event(fixture *f) {
  CUevent event;
  MUST(cu.cuEventCreate(&event, 0));
  MUST(cu.cuEventRecord(event, f->stream));
  return cu.cuEventSynchronize(event);
}
static int ask_another_event(fixture *f) {
  CUevent event;
  (void)f;
  MUST(cu.cuEventCreate(&event, 0));
  return cu.cuEventQuery(event);
}
static int wait_for_an_event_from_outside(fixture *f) {
  CUevent event;
  CUstream other;
  MUST(cu.cuEventCreate(&event, 0));
  MUST(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  MUST(cu.cuEventRecord(event, other));
  return cu.cuStreamWaitEvent(f->stream, event, 0);
}

static void refused(void **state) {
  static const struct {
    offence call;
    int code;
  } offences[] = {
      {wait_for_it, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {ask_it, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {wait_for_all, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {allocate, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {allocate_in_it, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {give_back, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {load_a_module, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {use_the_legacy_stream, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT},
      {read_back, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT},
      {wait_for_its_event, CUDA_ERROR_CAPTURED_EVENT},
      {ask_another_event, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {wait_for_an_event_from_outside, CUDA_ERROR_STREAM_CAPTURE_ISOLATION},
  };
  (void)state;
  fixture f = begin(0);
  for (size_t i = 0; i < sizeof offences / sizeof offences[0]; i++) {
    CUgraph graph = NULL;
    CUstreamCaptureStatus status;
    unsigned value = 1;
    void *pointers[] = {&f.p, &value};
    MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    sim_put(f.put, f.p, 1, f.stream);
    int code = offences[i].call(&f);
    if (code != offences[i].code) fail_msg("offence %zu: %d, and should be %d", i, code, offences[i].code);
    MUST(cu.cuStreamIsCapturing(f.stream, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuLaunchKernel(f.put, 1, 1, 1, 1, 1, 1, 0, f.stream, pointers, NULL));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(f.stream, &graph));
    assert_null(graph);
    MUST(cu.cuStreamSynchronize(f.stream));
  }
  FAILS(CUDA_ERROR_ILLEGAL_STATE, cu.cuStreamEndCapture(f.stream, &(CUgraph){NULL}));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamBeginCapture_v2(NULL, 0));
}

/* A thread of its own may allocate while another captures in thread-local mode, and in relaxed mode everybody may. */
static void *allocate_in_thread(void *user) {
  CUdeviceptr p;
  intptr_t result = cu.cuCtxSetCurrent(user);
  if (result == 0) result = cu.cuMemAlloc_v2(&p, 4);
  return (void *)result;
}

static intptr_t in_thread(void *context) {
  pthread_t thread;
  void *result = NULL;
  assert_int_equal(pthread_create(&thread, NULL, allocate_in_thread, context), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  return (intptr_t)result;
}

static void modes(void **state) {
  fixture f = begin(CU_STREAM_NON_BLOCKING);
  CUgraph graph;
  CUdeviceptr p;
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  assert_int_equal(in_thread(*state), CUDA_SUCCESS);
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  assert_int_equal(in_thread(*state), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(f.stream, &graph));
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  MUST(cu.cuMemAlloc_v2(&p, 4));
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  MUST(cu.cuThreadExchangeStreamCaptureMode(&mode));
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  MUST(cu.cuMemAlloc_v2(&p, 4));
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  MUST(cu.cuThreadExchangeStreamCaptureMode(&mode));
  assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
}

/* The kernels of a graph must outlive it; so must its memory, which shows when it runs. */
static void what_a_graph_needs(void **state) {
  (void)state;
  fixture f = begin(CU_STREAM_NON_BLOCKING);
  CUgraph graph = NULL;
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  sim_put(f.put, f.p, 1, f.stream);
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  CUgraphExec exec = instantiate(graph);
  MUST(cu.cuGraphLaunch(exec, f.stream));
  MUST(cu.cuModuleUnload(f.module));
  assert_int_equal(sim_word(f.p), 1);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuGraphLaunch(exec, f.stream));
  sim_expect_report("the function");
}

static void memory_freed_under_a_graph(void **state) {
  (void)state;
  fixture f = begin(CU_STREAM_NON_BLOCKING);
  CUgraph graph = NULL;
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  MUST(cu.cuMemsetD32Async(f.p, 1, 1, f.stream));
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  CUgraphExec exec = instantiate(graph);
  MUST(cu.cuMemFree_v2(f.p));
  MUST(cu.cuGraphLaunch(exec, f.stream));
  FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(f.stream));
  sim_expect_report("a queued memset");
}

/* The same ten kernels: cheaper as a graph than one by one. */
static float ms_between(CUevent from, CUevent to) {
  float ms = 0;
  MUST(cu.cuEventSynchronize(to));
  MUST(cu.cuEventElapsedTime_v2(&ms, from, to));
  return ms;
}

static void graphs_cost_less(void **state) {
  (void)state;
  fixture f = begin(CU_STREAM_NON_BLOCKING);
  CUgraph graph = NULL;
  CUevent from, to;
  MUST(cu.cuEventCreate(&from, 0));
  MUST(cu.cuEventCreate(&to, 0));
  MUST(cu.cuEventRecord(from, f.stream));
  for (int i = 0; i < 10; i++) sim_add_one(f.add, f.p, 64, f.stream);
  MUST(cu.cuEventRecord(to, f.stream));
  float as_stream = ms_between(from, to);
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 10; i++) sim_add_one(f.add, f.p, 64, f.stream);
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  CUgraphExec exec = instantiate(graph);
  MUST(cu.cuEventRecord(from, f.stream));
  MUST(cu.cuGraphLaunch(exec, f.stream));
  MUST(cu.cuEventRecord(to, f.stream));
  float as_graph = ms_between(from, to);
  assert_true(as_graph > 0);
  assert_true(as_graph < 0.9f * as_stream);
  assert_int_equal(sim_word(f.p), 20);
}

/* One executable graph in two streams: its launches follow each other. */
static void launches_of_one_graph(void **state) {
  (void)state;
  fixture f = begin(CU_STREAM_NON_BLOCKING);
  CUstream other;
  CUgraph graph = NULL;
  MUST(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  MUST(cu.cuStreamBeginCapture_v2(f.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  sim_add_one(f.add, f.p, 1, f.stream);
  MUST(cu.cuStreamEndCapture(f.stream, &graph));
  CUgraphExec exec = instantiate(graph);
  MUST(cu.cuGraphLaunch(exec, f.stream));
  MUST(cu.cuGraphLaunch(exec, other));
  MUST(cu.cuStreamSynchronize(other)); /* runs the first one as well */
  assert_int_equal(sim_word(f.p), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(capture_and_replay, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(fork_and_join, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(refused, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(modes, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(what_a_graph_needs, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(memory_freed_under_a_graph, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(graphs_cost_less, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(launches_of_one_graph, sim_setup, sim_teardown),
  };
  sim_quiet();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
