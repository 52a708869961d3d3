/* test_device_cuda_time.c -- the device's own time between two marks, graphs, the flush; and the batches made of them. */
#include "runtime/batch_time.h"

#include "tests/support/fake_opened.h"

#define MS ((int64_t)1000 * 1000 * 1000) /* in picoseconds */

static rgt__program program;
static rgt__module *module;
static rgt__plan plan;
static rgt_kargs k;
static int calls_left; /* before one fails; -1: none does */

static void open_at(const char *driver) {
  fake_device_open(driver);
  module = NULL;
  calls_left = -1;
  OK(fake_load("valid 1\nworkspace 0\nkernel a grid 3 ; block 32 ; shared 0 ; cluster 0\n", &program, &module));
  rgt__plan_make(&program, &device->info, 1, 1, &plan);
}

static int setup(void **state) {
  (void)state;
  open_at(FAKE_DRIVER);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  device->ops->unload(device, module);
  fake_device_close();
  fake_is_clean("closed");
  return 0;
}

static rgt_status call(void *user, void *stream, rgt__error *e) {
  (void)user;
  if (calls_left >= 0 && calls_left-- == 0) return rgt__error_set(e, RGT_ECRASH, "this call fails");
  return device->ops->launch(device, module, &program, &plan, &k, NULL, stream, e);
}

static rgt_status batch(rgt_policy policy, int64_t n, int64_t *ps) {
  calls_left = -1;
  return rgt__batch_time(device, policy, n, call, NULL, ps, &err);
}

static int n_launches(void) {
  int n = 0;
  for (int i = 0; i < fake->n_work && i < FAKE_WORK_MAX; i++) n += fake->work[i].kind == FAKE_KERNEL;
  return n;
}

static void test_marks(void **state) {
  int64_t ps = -1;
  (void)state;
  OK(device->ops->time_begin(device, device->stream, &err));
  for (int i = 0; i < 3; i++) OK(call(NULL, device->stream, &err));
  OK(device->ops->time_end(device, device->stream, &ps, &err));
  assert_int_equal(ps, 3 * MS / 4); /* a quarter of a millisecond each */
  OK(device->ops->time_begin(device, device->stream, &err));
  OK(device->ops->time_end(device, device->stream, &ps, &err));
  assert_int_equal(ps, 0);
  assert_int_equal(fake->events, 2); /* made once */
}

/* A driver without the newer function has the older one. */
static void test_marks_of_a_bare_driver(void **state) {
  int64_t ps = -1;
  (void)state;
  teardown(NULL);
  open_at(FAKE_DRIVER_BARE);
  OK(batch(RGT_POLICY_WARM, 2, &ps));
  assert_int_equal(ps, MS / 2);
  assert_int_equal(fake->n_calls[FAKE_cuEventElapsedTime], 1);
  FAILS(batch(RGT_POLICY_GRAPH, 2, &ps), RGT_EUNSUPPORTED, "policy graph: this driver has no graphs");
}

static void test_clocks(void **state) {
  (void)state;
  assert_int_equal(rgt__batch_clock(device), 0); /* it stands still: modelled */
  fake->mark_ms = 0.5f;
  assert_int_equal(rgt__batch_clock(device), 0); /* and so does one whose marks take time */
  fake->clock_runs = 1;
  int64_t least = rgt__batch_clock(device);
  assert_true(least > 0);
  fake->fail = FAKE_cuEventRecord; /* a clock that cannot be asked is none that runs */
  fake->fail_at = 4;
  fake->fail_code = 1;
  assert_int_equal(rgt__batch_clock(device), 0);
}

static void test_warm(void **state) {
  int64_t ps = -1;
  (void)state;
  OK(batch(RGT_POLICY_WARM, 5, &ps));
  assert_int_equal(ps, 5 * MS / 4);
  assert_int_equal(n_launches(), 5);
  for (int i = 0; i < fake->n_work; i++) assert_ptr_equal(fake->work[i].stream, device->stream);
}

/* The flush writes twice the cache, before the marks, and other bytes each time; its memory is taken once. */
static void test_cold(void **state) {
  int64_t ps = -1;
  (void)state;
  for (int turn = 0; turn < 3; turn++) {
    fake->n_work = 0;
    OK(batch(RGT_POLICY_COLD, 1, &ps));
    assert_int_equal(ps, MS / 4);
    assert_int_equal(fake->n_work, 2);
    assert_int_equal(fake->work[0].kind, FAKE_MEMSET);
    assert_int_equal(fake->work[0].bytes, 2 << 20);
    assert_int_equal(fake->work[0].byte, turn);
    assert_ptr_equal(fake->work[0].stream, device->stream);
  }
  assert_int_equal(fake->blocks, 1);
}

/* A cache that is not told, and no memory for the flush: a call is still timed. */
static void test_cold_without_memory(void **state) {
  int64_t ps = -1;
  (void)state;
  fake->memory = 1 << 20;
  OK(batch(RGT_POLICY_COLD, 1, &ps));
  assert_int_equal(ps, MS / 4);
  assert_int_equal(fake->n_work, 1);
}

/* Recorded once, run twice: once unmeasured. */
static void test_graph(void **state) {
  int64_t ps = -1;
  (void)state;
  for (int turn = 0; turn < 2; turn++) {
    fake->n_work = 0;
    OK(batch(RGT_POLICY_GRAPH, 4, &ps));
    assert_int_equal(ps, MS);
    assert_int_equal(n_launches(), 8);
    assert_int_equal(fake->n_calls[FAKE_cuGraphLaunch], 2 * (turn + 1));
    assert_int_equal(fake->execs, 0);
    assert_int_equal(fake->graphs, 0);
  }
  assert_int_equal(fake->streams, 2); /* the device's own, and the one that is captured */
}

/* A call that fails while it is recorded: the capture is ended, and the next one works. */
static void test_calls_that_fail(void **state) {
  static const rgt_policy policies[] = {RGT_POLICY_WARM, RGT_POLICY_COLD, RGT_POLICY_GRAPH};
  int64_t ps = -1;
  (void)state;
  for (size_t i = 0; i < 3; i++)
    for (int n = 0; n < 3; n++) {
      calls_left = n;
      FAILS(rgt__batch_time(device, policies[i], 3, call, NULL, &ps, &err), RGT_ECRASH, "this call fails");
      assert_int_equal(fake->graphs + fake->execs, 0);
      OK(batch(policies[i], 3, &ps));
    }
}

/* Calls that give something back, and the one that leads there. */
static int gives_back(int c) {
  return (fake_flags(c) & FAKE_CLEANUP) || c == FAKE_cuCtxPushCurrent_v2;
}

/* Every call of the driver, failing one after the other: an error that names it, and nothing left. */
static void test_drivers_that_fail(void **state) {
  static const rgt_policy policies[] = {RGT_POLICY_WARM, RGT_POLICY_GRAPH};
  (void)state;
  for (size_t p = 0; p < 2; p++)
    for (int c = 0; c < FAKE_N_CALLS; c++)
      for (int n = 1;; n++) {
        int64_t ps = -1;
        teardown(NULL);
        open_at(FAKE_DRIVER);
        fake->fail = (fake_call)c;
        fake->fail_at = n;
        fake->fail_code = 719;
        err.text[0] = 0;
        rgt_status status = batch(policies[p], 2, &ps);
        int failed = fake->has_failed;
        fake->fail_at = 0;
        if (!failed) break;
        if (status == RGT_OK) { /* what gives back, and what has another way */
          if (!gives_back(c) && c != FAKE_cuCtxGetCurrent) fail_msg("%s failed unseen", fake_name(c));
        } else if (!strstr(err.text, "CUDA_ERROR_LAUNCH_FAILED")) {
          fail_msg("%s: \"%s\"", fake_name(c), err.text);
        }
        assert_int_equal(fake_depth(), c == FAKE_cuCtxPopCurrent_v2);
        if (gives_back(c)) { /* one thing is left then, or one context on the stack */
          device->ops->unload(device, module);
          fake_device_close();
          open_at(FAKE_DRIVER);
        }
      }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_marks),
      TEST(test_marks_of_a_bare_driver),
      TEST(test_clocks),
      TEST(test_warm),
      TEST(test_cold),
      TEST(test_cold_without_memory),
      TEST(test_graph),
      TEST(test_calls_that_fail),
      TEST(test_drivers_that_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
