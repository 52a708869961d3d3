/* test_device_cuda_faults.c -- every call to the driver fails, one after the other, through opening, loading, launching,
 * waiting and closing: the error names the call and the driver's word for it, the caller's context is as it was, and nothing is
 * left. */
#include "tests/support/fake_opened.h"

enum { CODE = 719 };

static rgt__program program;

/* What a call of the library does with a device, from begin to end. Everything that was taken is given back. */
static rgt_status whole_life(int *opened) {
  static const char lines[] = "valid 1\nworkspace 64\nmemset offset 0 ; bytes 64 ; value 1\n"
                              "kernel a grid 3 ; block 32 ; shared 16 ; cluster 0\n"
                              "kernel b grid 4 ; block 32 ; shared 0 ; cluster 2\n";
  rgt__plan plan;
  rgt_kargs k = {0};
  rgt_int64 counts[2] = {0, 0};
  rgt__module *m = NULL;
  void *workspace = NULL, *counters = NULL;
  static const rgt_int64 some[2] = {5, 3};
  rgt__device_options o = {.env = &fake_environment};
  char back[64];
  *opened = 0;
  device = NULL;
  rgt_status status = rgt__device_cuda_open(&o, &device, &err);
  if (status != RGT_OK) {
    assert_null(device);
    return status;
  }
  *opened = 1;
  rgt__device *d = device;
  char text[1000];
  rgt__compiled c = {.code = (char *)(uintptr_t)fake_cubin,
                     .code_bytes = sizeof fake_cubin,
                     .ptx = (char *)(uintptr_t)fake_ptx,
                     .ptx_bytes = sizeof fake_ptx - 1};
  void *piece = NULL;
  size_t bytes = 0;
  snprintf(text, sizeof text, "rgt-program 1\nkargs %d\n%s", RGT_KARGS_VERSION, lines);
  if (rgt__program_parse(text, &program, NULL) != RGT_OK || rgt__code_pair_join(&c, &piece, &bytes, NULL) != RGT_OK) abort();
  status = d->ops->load(d, NULL, piece, bytes, &program, &m, &err);
  rgt__free(piece);
  if (status == RGT_OK) status = d->ops->mem_alloc(d, 64, &workspace, &err);
  if (status == RGT_OK) status = d->ops->mem_alloc(d, sizeof some, &counters, &err);
  if (status == RGT_OK) status = d->ops->mem_write(d, counters, some, sizeof some, &err);
  rgt__plan_make(&program, &d->info, 1, 1, &plan);
  if (status == RGT_OK) status = d->ops->launch(d, m, &program, &plan, &k, workspace, d->stream, &err);
  if (status == RGT_OK) status = d->ops->sync(d, d->stream, &err);
  if (status == RGT_OK) status = d->ops->mem_read(d, back, workspace, sizeof back, &err);
  if (status == RGT_OK) status = d->ops->take_counters(d, counters, counts, d->stream, &err);
  if (status == RGT_OK && (counts[0] != 5 || counts[1] != 3 || back[63] != 1)) abort();
  d->ops->unload(d, m);
  d->ops->mem_free(d, workspace);
  d->ops->mem_free(d, counters);
  d->ops->close(d);
  device = NULL;
  return status;
}

/* Failures that have another way, or that nobody needs to know of. */
static int may_pass(int call, int n) {
  return (fake_flags(call) & FAKE_CLEANUP) || call == FAKE_cuCtxGetCurrent || call == FAKE_cuCtxGetDevice ||
         call == FAKE_cuGetErrorName || call == FAKE_cuGetErrorString || (call == FAKE_cuDeviceGetAttribute && n > 4);
}

/* The driver put back, with the caller's own context current where `own` says so. */
static void begin_anew(int own) {
  int refuse = fake->refuse_cubin, opened;
  fake_open(FAKE_DRIVER);
  fake->refuse_cubin = refuse;
  if (!own) return;
  OK(whole_life(&opened)); /* initialises the driver */
  fake_push(fake_context(0));
}

static void each_call(int own, int *n_failures) {
  begin_anew(own);
  for (int call = 0; call < FAKE_N_CALLS; call++)
    for (int n = 1;; n++) {
      int opened = 0;
      fake->fail = (fake_call)call;
      fake->fail_at = n;
      fake->fail_code = CODE;
      fake->has_failed = 0;
      fake->misuse[0] = 0;
      err.text[0] = 0;
      rgt_status status = whole_life(&opened);
      fake->fail_at = 0;
      if (!fake->has_failed) {
        assert_int_equal(status, RGT_OK);
        break;
      }
      ++*n_failures;
      if (status == RGT_OK && !may_pass(call, n) && !(call == FAKE_cuCtxPushCurrent_v2 && opened))
        fail_msg("%s, call %d: its failure was not seen", fake_name(call), n);
      if (status != RGT_OK && !strstr(err.text, "CUDA_ERROR_LAUNCH_FAILED") && !strstr(err.text, "error 719"))
        fail_msg("%s, call %d: \"%s\" does not say what the driver said", fake_name(call), n, err.text);
      if (status != RGT_OK && opened && !strstr(err.text, fake_name(call)) && !strstr(err.text, "launch of "))
        fail_msg("%s, call %d: \"%s\" does not name the call", fake_name(call), n, err.text);
      if (fake->misuse[0]) fail_msg("%s, call %d: misuse: %s", fake_name(call), n, fake->misuse);
      if (call == FAKE_cuCtxPopCurrent_v2) { /* the driver kept ours on the stack: the one failure that shows there */
        assert_int_equal(fake_depth(), own + 1);
        fake_pop();
      }
      assert_int_equal(fake_depth(), own);
      if (call != FAKE_cuThreadExchangeStreamCaptureMode) assert_int_equal(fake_mode(), 0);
      if ((fake_flags(call) & FAKE_CLEANUP) || (call == FAKE_cuCtxPushCurrent_v2 && opened))
        begin_anew(own); /* what it was to give back is left */
      else
        fake_is_clean(fake_name(call));
    }
}

static int setup(void **state) {
  (void)state;
  fake_open(FAKE_DRIVER);
  environment_put(&fake_environment, RGT_ENV_RAGTUNE_LIBCUDA, FAKE_DRIVER);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  rgt__environment_free(&fake_environment);
  memset(&fake_environment, 0, sizeof fake_environment);
  return 0;
}

static void test_all_is_well(void **state) {
  int opened = 0;
  (void)state;
  OK(whole_life(&opened));
  fake_is_clean("nothing fails");
  assert_int_equal(fake_depth(), 0);
}

static void test_in_the_primary_context(void **state) {
  int n_failures = 0;
  (void)state;
  each_call(0, &n_failures);
  assert_true(n_failures > 60);
}

static void test_in_the_callers_context(void **state) {
  int n_failures = 0;
  (void)state;
  each_call(1, &n_failures);
  fake_pop();
  assert_int_equal(fake_depth(), 0);
  assert_true(n_failures > 40);
}

/* The PTX's way too. */
static void test_by_the_ptx(void **state) {
  int n_failures = 0;
  (void)state;
  fake->refuse_cubin = 209;
  each_call(0, &n_failures);
  assert_true(n_failures > 60);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_all_is_well),
      TEST(test_in_the_primary_context),
      TEST(test_in_the_callers_context),
      TEST(test_by_the_ptx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
