/* test_device_cuda_launch.c -- a program's steps in a stream, captures, the counters of index errors, faults that stay. */
#include <pthread.h>

#include "tests/support/fake_opened.h"

#define STEPS                                                                       \
  "valid rows <= 1000\nworkspace 64 + 4 * rows\n"                                   \
  "memset offset 64 ; bytes 4 * rows ; value 255\n"                                 \
  "kernel one grid ceil_div(rows, 4) ; block 128 ; shared 4 * groups ; cluster 0\n" \
  "kernel none grid rows - 8 ; block 128 ; shared 0 ; cluster 0\n"                  \
  "memset offset 0 ; bytes rows - 8 ; value 1\n"                                    \
  "kernel two grid 8 ; block 64 ; shared 0 ; cluster 2\n"

static rgt__program program;
static rgt__module *module;
static rgt__plan plan;
static rgt_kargs k;
static char *workspace;
static rgt_int64 *counters; /* on the device, so the host's here */

static void open_at(const char *driver) {
  fake_device_open(driver);
  module = NULL;
  OK(fake_load(STEPS, &program, &module));
  workspace = fake_memory(64 + 4 * 8);
  counters = fake_memory(2 * sizeof *counters);
  memset(workspace, 0x77, 64 + 4 * 8);
  counters[0] = 0;
  counters[1] = INT64_MAX;
  memset(&k, 0x3C, sizeof k);
  k.rows = 8;
  rgt__plan_make(&program, &device->info, 8, 100, &plan);
  assert_true(plan.valid);
  fake->n_work = 0;
  memset(fake->n_calls, 0, sizeof fake->n_calls);
}

static int setup(void **state) {
  (void)state;
  open_at(FAKE_DRIVER);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  device->ops->unload(device, module);
  device->ops->mem_free(device, workspace);
  device->ops->mem_free(device, counters);
  fake_device_close();
  return 0;
}

static rgt_status launch(void *stream) {
  return device->ops->launch(device, module, &program, &plan, &k, workspace, stream, &err);
}

/* In order, each with its range or shape; what is empty is left out. */
static void test_steps(void **state) {
  void *stream = device->stream;
  (void)state;
  OK(launch(stream));
  assert_int_equal(fake->n_work, 3);
  const fake_work *w = fake->work;
  assert_int_equal(w[0].kind, FAKE_MEMSET);
  assert_ptr_equal(w[0].to, workspace + 64);
  assert_int_equal(w[0].bytes, 32);
  assert_int_equal(w[0].byte, 255);
  assert_int_equal(w[1].kind, FAKE_KERNEL);
  assert_string_equal(w[1].kernel, "one");
  assert_int_equal(w[1].grid[0], 2);
  assert_int_equal(w[1].block[0], 128);
  assert_int_equal(w[1].shared, 400);
  assert_int_equal(w[1].cluster, 1);
  assert_string_equal(w[2].kernel, "two");
  assert_int_equal(w[2].grid[0], 8);
  assert_int_equal(w[2].cluster, 2);
  for (int i = 0; i < 3; i++) {
    assert_ptr_equal(w[i].stream, stream);
    if (w[i].kind != FAKE_KERNEL) continue;
    assert_memory_equal(&w[i].args, &k, sizeof k);
    assert_ptr_equal(w[i].workspace, workspace);
  }
  for (int i = 0; i < 64; i++) assert_int_equal(workspace[i], 0x77); /* the range, and nothing beside it */
  for (int i = 64; i < 96; i++) assert_int_equal(workspace[i], (char)255);
  assert_string_equal(fake->misuse, "");
}

/* Nothing is allocated, nothing waited for: the calls of a launch are these and no others. */
static void test_calls_of_a_launch(void **state) {
  static const fake_call allowed[] = {FAKE_cuCtxGetCurrent, FAKE_cuCtxPushCurrent_v2, FAKE_cuCtxPopCurrent_v2,
                                      FAKE_cuMemsetD8Async, FAKE_cuLaunchKernel,      FAKE_cuLaunchKernelEx};
  int n = 0;
  (void)state;
  scratch_fail_after(0);
  OK(launch(NULL));
  scratch_fail_never();
  for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
    n += fake->n_calls[allowed[i]];
    fake->n_calls[allowed[i]] = 0;
  }
  assert_int_equal(n, 6);
  for (int i = 0; i < FAKE_N_CALLS; i++)
    if (fake->n_calls[i]) fail_msg("a launch called %s", fake_name(i));
}

static void test_large_shared(void **state) {
  (void)state;
  rgt__plan_make(&program, &device->info, 8, 232448 / 4, &plan); /* all that a block may opt in to */
  assert_true(plan.valid);
  OK(launch(NULL));
  assert_int_equal(fake->work[1].shared, 232448);
  rgt__plan_make(&program, &device->info, 8, 232448 / 4 + 1, &plan);
  assert_false(plan.valid);
}

/* What an entry holds already counts too; the plan cannot know. */
static void test_shared_beside_the_static(void **state) {
  (void)state;
  device->ops->unload(device, module);
  fake->static_shared = 1024;
  OK(fake_load(STEPS, &program, &module));
  rgt__plan_make(&program, &device->info, 8, (232448 - 1024) / 4, &plan);
  OK(launch(NULL));
  rgt__plan_make(&program, &device->info, 8, (232448 - 1024) / 4 + 1, &plan);
  assert_true(plan.valid);
  FAILS(launch(NULL), RGT_EINFEASIBLE, "one wants 231428 bytes of shared memory; a block may have 231424");
  assert_string_equal(fake->misuse, "");
}

/* A grid as large as the device holds at once: each step by its own entry. */
static void test_occupancy(void **state) {
  static const char lines[] = "valid 1\nworkspace 0\n"
                              "kernel a grid sm_count * occupancy ; block 256 ; shared 0 ; cluster 0\n"
                              "kernel b grid occupancy ; block 32 ; shared 1000 * groups ; cluster 0\n"
                              "kernel c grid sm_count ; block 32 ; shared 0 ; cluster 0\n";
  rgt__program p;
  rgt__module *m = NULL;
  (void)state;
  OK(fake_load(lines, &p, &m));
  rgt__plan_make_on(device, m, &p, 1, 50, &plan);
  assert_true(plan.valid);
  assert_int_equal(plan.steps[0].grid, 132 * 8);
  assert_int_equal(plan.steps[1].grid, 4); /* 50,000 bytes each of 232,448 */
  assert_int_equal(plan.steps[2].grid, 132);
  assert_int_equal(fake->n_calls[FAKE_cuOccupancyMaxActiveBlocksPerMultiprocessor], 2);
  fake->fail = FAKE_cuOccupancyMaxActiveBlocksPerMultiprocessor;
  fake->fail_at = 1;
  fake->fail_code = 1;
  rgt__plan_make_on(device, m, &p, 1, 50, &plan);
  assert_int_equal(plan.steps[0].grid, 132);
  assert_int_equal(fake_depth(), 0);
  rgt__plan_make(&p, &device->info, 1, 50, &plan);
  assert_int_equal(plan.steps[0].grid, 132);
  device->ops->unload(device, m);
}

static void test_no_clusters(void **state) {
  (void)state;
  teardown(NULL);
  open_at(FAKE_DRIVER_BARE);
  FAILS(launch(NULL), RGT_EUNSUPPORTED, "two runs in clusters of 2 blocks; this driver has no cuLaunchKernelEx");
  assert_int_equal(fake_depth(), 0);
}

/* ---- captures ---- */

/* A call can be captured by its caller's own stream, in every mode; the capture is replayed by whoever holds it. */
static void test_captured(void **state) {
  (void)state;
  for (int mode = 0; mode <= 2; mode++)
    for (unsigned flags = 0; flags <= 1; flags++) {
      void *graph = NULL, *own;
      fake->n_work = 0;
      own = fake_hold(0);
      fake_push(own);
      void *stream = fake_stream(flags);
      assert_int_equal(fake_begin_capture(stream, mode), 0);
      OK(launch(stream));
      OK(launch(stream));
      assert_int_equal(fake->n_work, 0); /* recorded, not run */
      FAILS(device->ops->sync(device, stream, &err), RGT_EINVAL, "the stream is being captured");
      rgt_int64 counts[2];
      FAILS(device->ops->take_counters(device, counters, counts, stream, &err), RGT_EINVAL, "the stream is being captured");
      assert_int_equal(fake_end_capture(stream, &graph), 0); /* the capture is whole */
      assert_non_null(graph);
      assert_string_equal(fake->misuse, "");
      assert_int_equal(fake_pointer_call("cuGraphDestroy", graph), 0);
      fake_stream_free(stream);
      assert_ptr_equal(fake_pop(), own);
      fake_give_back(0);
    }
}

static void *use_the_device(void *user) {
  rgt__program p;
  rgt__module *m = NULL;
  void *memory = NULL;
  char byte = 1;
  rgt__error why = {""};
  intptr_t bad = device->ops->mem_alloc(device, 1, &memory, &why) != RGT_OK;
  if (!bad) bad = device->ops->mem_write(device, memory, &byte, 1, &why) != RGT_OK;
  if (!bad) bad = device->ops->mem_read(device, &byte, memory, 1, &why) != RGT_OK;
  p = *(const rgt__program *)user;
  if (!bad) bad = device->ops->load(device, NULL, fake_cubin, sizeof fake_cubin, &p, &m, &why) != RGT_OK;
  device->ops->unload(device, m);
  if (!bad) bad = device->ops->sync(device, device->stream, &why) != RGT_OK;
  device->ops->mem_free(device, memory);
  if (bad) print_message("%s\n", why.text);
  bad |= fake_mode() != 0 || fake_depth() != 0;
  return (void *)bad;
}

/* Somebody captures, globally, while another thread of ours allocates, copies, loads and waits: the capture is whole. */
static void test_captures_of_others(void **state) {
  pthread_t thread;
  void *graph = NULL, *bad = NULL, *own = fake_hold(0);
  (void)state;
  fake_push(own);
  void *stream = fake_stream(1);
  assert_int_equal(fake_begin_capture(stream, 0), 0);
  OK(launch(stream));
  assert_int_equal(pthread_create(&thread, NULL, use_the_device, &program), 0);
  assert_int_equal(pthread_join(thread, &bad), 0);
  assert_null(bad);
  assert_int_equal(fake_end_capture(stream, &graph), 0);
  assert_non_null(graph);
  assert_string_equal(fake->misuse, "");
  assert_int_equal(fake_pointer_call("cuGraphDestroy", graph), 0);
  fake_stream_free(stream);
  assert_ptr_equal(fake_pop(), own);
  fake_give_back(0);
}

/* ---- counters ---- */

static void test_counters(void **state) {
  rgt_int64 counts[2] = {7, 7};
  (void)state;
  OK(device->ops->take_counters(device, counters, counts, device->stream, &err));
  assert_int_equal(counts[0], 0);
  assert_true(counts[1] == INT64_MAX);
  assert_int_equal(fake->n_calls[FAKE_cuMemcpyHtoDAsync_v2], 0); /* nothing to clear */
  counters[0] = 3;
  counters[1] = 12;
  OK(device->ops->take_counters(device, counters, counts, device->stream, &err));
  assert_int_equal(counts[0], 3);
  assert_int_equal(counts[1], 12);
  assert_int_equal(counters[0], 0);
  assert_true(counters[1] == INT64_MAX);
  assert_int_equal(fake->n_calls[FAKE_cuMemcpyDtoH_v2], 0); /* no other stream waits */
}

/* ---- faults ---- */

static int go_wrong(void *user, const fake_work *w) {
  (void)user;
  return strcmp(w->kernel, "one") == 0 ? 700 : 0;
}

/* What a kernel did wrong shows at the next wait, and stays. */
static void test_sticky(void **state) {
  char byte = 0;
  void *p = NULL;
  (void)state;
  fake->kernel = go_wrong;
  rgt_status first = launch(NULL); /* may show within the call already: the fake runs at once */
  assert_int_equal(first, RGT_ECRASH);
  assert_non_null(strstr(err.text, "launch of two (8 blocks of 64 threads, 0 shared bytes): CUDA_ERROR_ILLEGAL_ADDRESS"));
  FAILS(device->ops->sync(device, NULL, &err), RGT_ECRASH, "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS");
  FAILS(device->ops->mem_read(device, &byte, workspace, 1, &err), RGT_ECRASH, "nothing more with the device");
  FAILS(device->ops->mem_alloc(device, 8, &p, &err), RGT_ECRASH, "CUDA_ERROR_ILLEGAL_ADDRESS");
  FAILS(launch(NULL), RGT_ECRASH, "CUDA_ERROR_ILLEGAL_ADDRESS");
  assert_null(p);
  assert_int_equal(fake_depth(), 0);
}

static void test_a_stream_that_is_none(void **state) {
  (void)state;
  FAILS(launch(&plan), RGT_EINVAL, "CUDA_ERROR_INVALID_HANDLE");
  FAILS(device->ops->sync(device, &plan, &err), RGT_EINVAL, "cuStreamIsCapturing: CUDA_ERROR_INVALID_HANDLE");
  assert_int_equal(fake_depth(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_steps),
      TEST(test_calls_of_a_launch),
      TEST(test_large_shared),
      TEST(test_shared_beside_the_static),
      TEST(test_occupancy),
      TEST(test_no_clusters),
      TEST(test_captured),
      TEST(test_captures_of_others),
      TEST(test_counters),
      TEST(test_sticky),
      TEST(test_a_stream_that_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
