/* test_cuda_api.c -- the driver's library: found or not, whole or not, and what its answers mean. */
#include "runtime/cuda_api.h"

#include "tests/support/fake_driver.h"

static rgt__environment env;
static rgt__cuda_api api;
static rgt__error err;

static int setup(void **state) {
  (void)state;
  memset(&env, 0, sizeof env);
  err.text[0] = 0;
  fake_open(FAKE_DRIVER);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  rgt__environment_free(&env);
  return 0;
}

static rgt_status open_driver(const char *path) {
  environment_put(&env, RGT_ENV_RAGTUNE_LIBCUDA, path);
  rgt_status status = rgt__cuda_api_open(&env, &api, &err);
  assert_null(strchr(err.text, '\n'));
  return status;
}

static void fails(const char *path, const char *text) {
  rgt__cuda_api untouched;
  memset(&api, 0x5A, sizeof api);
  untouched = api;
  assert_int_equal(open_driver(path), RGT_ENODEVICE);
  if (!strstr(err.text, text)) fail_msg("\"%s\" is not in \"%s\"", text, err.text);
  assert_memory_equal(&api, &untouched, sizeof api);
}

static void test_found(void **state) {
  (void)state;
  assert_int_equal(open_driver(FAKE_DRIVER), RGT_OK);
  assert_int_equal(api.version, 13000);
  assert_int_equal(api.n_devices, 2);
  assert_true(rgt__cuda_api_has_graphs(&api));
  assert_non_null(api.cuLaunchKernelEx);
  rgt__cuda_api_close(&api);
  assert_null(api.lib);
}

static void test_not_found(void **state) {
  (void)state;
  fails("/nowhere/libcuda.so.1", "no driver library will do; tried /nowhere/libcuda.so.1 (not found) (RAGTUNE_LIBCUDA)");
}

static void test_the_usual_names(void **state) {
  (void)state;
  rgt_status status = rgt__cuda_api_open(&env, &api, &err);
  if (status == RGT_OK) {
    rgt__cuda_api_close(&api); /* a machine with a device */
    skip();
  }
  assert_int_equal(status, RGT_ENODEVICE);
  assert_non_null(strstr(err.text, "libcuda.so.1"));
}

/* One line names the function and the library. */
static void test_a_function_is_missing(void **state) {
  (void)state;
  fails(FAKE_DRIVER_CUT, "libfake_cuda_1.so (has no cuLaunchKernel)");
}

static void test_what_may_be_missing(void **state) {
  float ms = 0;
  (void)state;
  fake_open(FAKE_DRIVER_BARE);
  assert_int_equal(open_driver(FAKE_DRIVER_BARE), RGT_OK);
  assert_false(rgt__cuda_api_has_graphs(&api));
  assert_null(api.cuLaunchKernelEx);
  assert_null(api.event_elapsed_new);
  assert_int_equal(rgt__cuda_api_elapsed(&api, &ms, NULL, NULL), RGT_CUDA_INVALID_CONTEXT); /* the older one is asked */
  assert_int_equal(rgt__cuda_api_fail(&api, 2, &err, "x"), RGT_ENOMEM);
  assert_string_equal(err.text, "x: CUDA_ERROR_OUT_OF_MEMORY");
  rgt__cuda_api_close(&api);
}

static void test_no_device(void **state) {
  (void)state;
  fake->init_result = 100;
  fails(FAKE_DRIVER, "libfake_cuda_0.so was found and answers CUDA_ERROR_NO_DEVICE");
  fake->init_result = 77;
  fails(FAKE_DRIVER, "answers error 77");
  fake->init_result = 0;
  fake->n_devices = 0;
  fails(FAKE_DRIVER, "counts none");
  fake->n_devices = 1;
  fake->version = 11030;
  fails(FAKE_DRIVER, "is for CUDA 11.3; 11.4 or later is needed");
  fake->version = 11040;
  assert_int_equal(open_driver(FAKE_DRIVER), RGT_OK);
  rgt__cuda_api_close(&api);
}

static void test_results(void **state) {
  static const struct {
    int result;
    rgt_status status;
  } meaning[] = {
      {2, RGT_ENOMEM},         {46, RGT_ENODEVICE}, {100, RGT_ENODEVICE}, {101, RGT_ENODEVICE},   {34, RGT_ENODEVICE},
      {803, RGT_ENODEVICE},    {1, RGT_EINVAL},     {201, RGT_EINVAL},    {400, RGT_EINVAL},      {900, RGT_EINVAL},
      {907, RGT_EINVAL},       {700, RGT_ECRASH},   {702, RGT_ECRASH},    {709, RGT_ECRASH},      {710, RGT_ECRASH},
      {714, RGT_ECRASH},       {715, RGT_ECRASH},   {716, RGT_ECRASH},    {717, RGT_ECRASH},      {718, RGT_ECRASH},
      {719, RGT_ECRASH},       {214, RGT_ECRASH},   {999, RGT_ECRASH},    {701, RGT_EINFEASIBLE}, {912, RGT_EINFEASIBLE},
      {801, RGT_EUNSUPPORTED}, {4, RGT_EINTERNAL},  {720, RGT_EINTERNAL}, {12345, RGT_EINTERNAL}};
  (void)state;
  assert_int_equal(open_driver(FAKE_DRIVER), RGT_OK);
  for (size_t i = 0; i < sizeof meaning / sizeof meaning[0]; i++) {
    rgt_status status = rgt__cuda_api_fail(&api, meaning[i].result, &err, "call %d", (int)i);
    if (status != meaning[i].status) fail_msg("%d is %s", meaning[i].result, rgt_status_name(status));
    assert_int_equal(strncmp(err.text, "call ", 5), 0);
  }
  assert_int_equal(rgt__cuda_api_fail(&api, 719, &err, "launch of %s", "k"), RGT_ECRASH);
  assert_string_equal(err.text,
                      "launch of k: CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure); this process can do nothing "
                      "more with the device");
  assert_int_equal(rgt__cuda_api_fail(&api, 12345, &err, "x"), RGT_EINTERNAL);
  assert_string_equal(err.text, "x: error 12345 (the fake's own words)");
  rgt__cuda_api_close(&api);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_found),
      TEST(test_not_found),
      TEST(test_the_usual_names),
      TEST(test_a_function_is_missing),
      TEST(test_what_may_be_missing),
      TEST(test_no_device),
      TEST(test_results),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
