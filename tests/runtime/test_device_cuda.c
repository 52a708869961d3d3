/* test_device_cuda.c -- the CUDA device opened and closed: what it says of itself, whose context it takes, its memory. */
#include "tests/support/fake_opened.h"

#include <pthread.h>

#include "runtime/nvrtc.h"

static int setup(void **state) {
  (void)state;
  fake_open(FAKE_DRIVER);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  fake_device_close();
  return 0;
}

static void open_ok(void) {
  if (fake_device_try(FAKE_DRIVER, 0) != RGT_OK) fail_msg("%s", err.text);
}

/* ---- what it is ---- */

static int64_t fact(const char *name) {
  for (int i = 0; i < device->info.target.n_facts; i++)
    if (strcmp(device->info.target.facts[i].name, name) == 0) return device->info.target.facts[i].value;
  return -1;
}

static void test_description(void **state) {
  (void)state;
  fake->memory = (size_t)150000 << 20;
  open_ok();
  assert_string_equal(device->ops->kind, "cuda");
  assert_string_equal(device->info.class_text, "cuda:Fake--TM--H200:sm_90:sms=132:mem=152GiB:clock=1980MHz");
  assert_string_equal(device->info.driver, "CUDA 13.0");
  assert_string_equal(device->info.target.device, "cuda");
  assert_string_equal(device->info.target.name, "sm_90");
  assert_int_equal(device->info.sm_count, 132);
  assert_int_equal(device->info.n_threads, 0);
  assert_int_equal(fact("sm"), 90);
  assert_int_equal(fact("shared_static_max"), 49152);
  assert_int_equal(fact("shared_optin_max"), 232448);
  assert_int_equal(device->info.free_bytes, (int64_t)150000 << 20);
  assert_ptr_equal(device->opened.env, &fake_environment);
  assert_int_equal(device->opened.ordinal, 0);
}

/* A gibibyte less that the driver keeps is the same class. */
static void test_memory_classes(void **state) {
  static const struct {
    double gib;
    const char *word;
  } sold[] = {{79.1, ":mem=80GiB:"}, {79.9, ":mem=80GiB:"}, {80, ":mem=80GiB:"}, {23.6, ":mem=24GiB:"}, {11.75, ":mem=12GiB:"}};
  (void)state;
  for (size_t i = 0; i < sizeof sold / sizeof sold[0]; i++) {
    fake->memory = (size_t)(sold[i].gib * 1024) << 20;
    open_ok();
    if (!strstr(device->info.class_text, sold[i].word)) fail_msg("%g GiB is %s", sold[i].gib, device->info.class_text);
    fake_device_close();
  }
}

/* What a class can do without. */
static void test_a_clock_that_is_not_told(void **state) {
  (void)state;
  fake->fail = FAKE_cuDeviceGetAttribute;
  fake->fail_at = 7; /* the last one asked for */
  fake->fail_code = 1;
  open_ok();
  assert_non_null(strstr(device->info.class_text, ":clock=0MHz"));
}

static void test_ordinals(void **state) {
  (void)state;
  if (fake_device_try(FAKE_DRIVER, 1) != RGT_OK) fail_msg("%s", err.text);
  assert_non_null(strstr(device->info.class_text, "H200-B:"));
  fake_device_close();
  FAILS(fake_device_try(FAKE_DRIVER, 2), RGT_ENODEVICE, "no CUDA device 2: the driver counts 2, from 0");
  FAILS(fake_device_try(FAKE_DRIVER, -1), RGT_ENODEVICE, "no CUDA device -1");
  FAILS(fake_device_try("/nowhere/libcuda.so.1", 0), RGT_ENODEVICE, "/nowhere/libcuda.so.1");
  fake_is_clean("after refusals");
}

/* "auto" takes it where it can compile for it. */
static void test_auto(void **state) {
  rgt__nvrtc *nvrtc = NULL;
  rgt__environment env = {{NULL}};
  (void)state;
  environment_put(&env, RGT_ENV_RAGTUNE_LIBCUDA, FAKE_DRIVER);
  environment_put(&env, RGT_ENV_RAGTUNE_LIBNVRTC, "/nowhere/libnvrtc.so");
  assert_int_equal(rgt__device_cuda_present(&env, 0), 0);
  assert_int_equal(rgt__device_cuda_present(&env, 1), 1); /* with code of a bundle */
  rgt__environment_free(&env);
  assert_int_equal(rgt__environment_read(&env, NULL), RGT_OK);
  environment_put(&env, RGT_ENV_RAGTUNE_LIBCUDA, FAKE_DRIVER);
  int has_nvrtc = rgt__nvrtc_open(&env, &nvrtc, NULL) == RGT_OK;
  if (has_nvrtc) rgt__nvrtc_close(nvrtc);
  assert_int_equal(rgt__device_cuda_present(&env, 0), has_nvrtc);
  fake->n_devices = 0;
  assert_int_equal(rgt__device_cuda_present(&env, 1), 0);
  environment_put(&env, RGT_ENV_RAGTUNE_LIBCUDA, "/nowhere/libcuda.so.1");
  assert_int_equal(rgt__device_cuda_present(&env, 1), 0);
  rgt__environment_free(&env);
  if (!has_nvrtc) {
    print_message("no NVRTC: with it \"auto\" was not seen\n");
    skip();
  }
}

/* ---- contexts ---- */

static void touch(void) {
  char bytes[64] = {1}, back[64] = {0};
  void *p = fake_memory(64);
  OK(device->ops->mem_write(device, p, bytes, sizeof bytes, &err));
  OK(device->ops->mem_read(device, back, p, sizeof back, &err));
  assert_memory_equal(back, bytes, sizeof bytes);
  device->ops->mem_free(device, p);
}

static void test_primary_context(void **state) {
  (void)state;
  open_ok();
  assert_int_equal(fake->contexts, 1);
  assert_int_equal(fake_depth(), 0);
  touch();
  assert_int_equal(fake_depth(), 0);
  fake_device_close();
  assert_int_equal(fake_depth(), 0);
  fake_is_clean("closed");
}

/* A context of the caller's is worked in, never pushed where it is current, and never released. */
static void test_callers_context(void **state) {
  (void)state;
  open_ok(); /* so that cuInit has been called */
  fake_device_close();
  void *own = fake_context(0), *other = fake_context(1);
  fake_push(own);
  int pushes = fake->n_calls[FAKE_cuCtxPushCurrent_v2];
  open_ok();
  assert_int_equal(fake->contexts, 0);
  touch();
  assert_int_equal(fake->n_calls[FAKE_cuCtxPushCurrent_v2], pushes);
  fake_push(other); /* the caller goes on elsewhere */
  touch();
  assert_int_equal(fake_depth(), 2);
  assert_ptr_equal(fake_pop(), other);
  assert_ptr_equal(fake_pop(), own);
  touch();
  assert_int_equal(fake_depth(), 0);
  fake_device_close();
  fake_is_clean("closed");
}

/* A current context on another device is not ours. */
static void test_context_of_another_device(void **state) {
  (void)state;
  open_ok();
  fake_device_close();
  void *other = fake_context(1);
  fake_push(other);
  open_ok();
  assert_int_equal(fake->contexts, 1);
  touch();
  fake_device_close();
  assert_int_equal(fake_depth(), 1);
  assert_ptr_equal(fake_pop(), other);
  fake_is_clean("closed");
}

static void *in_a_thread(void *user) {
  rgt__device_options o = {.env = &fake_environment, .ordinal = *(int *)user};
  rgt__device *d = NULL;
  rgt__error why = {""};
  char bytes[256], back[256];
  intptr_t bad = rgt__device_cuda_open(&o, &d, &why) != RGT_OK;
  for (int turn = 0; turn < 100 && !bad; turn++) {
    void *p = NULL;
    memset(bytes, turn, sizeof bytes);
    bad = d->ops->mem_alloc(d, sizeof bytes, &p, &why) != RGT_OK;
    if (!bad) bad = d->ops->mem_write(d, p, bytes, sizeof bytes, &why) != RGT_OK;
    if (!bad) bad = d->ops->mem_read(d, back, p, sizeof back, &why) != RGT_OK || memcmp(bytes, back, sizeof back);
    d->ops->mem_free(d, p);
  }
  if (d) d->ops->close(d);
  return (void *)bad;
}

static void test_two_threads(void **state) {
  pthread_t threads[2];
  int ordinals[2] = {0, 1};
  (void)state;
  environment_put(&fake_environment, RGT_ENV_RAGTUNE_LIBCUDA, FAKE_DRIVER);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, in_a_thread, &ordinals[i]), 0);
  for (int i = 0; i < 2; i++) {
    void *bad = NULL;
    assert_int_equal(pthread_join(threads[i], &bad), 0);
    assert_null(bad);
  }
  fake_is_clean("two threads");
}

/* Once more for another thread: the same context and description, a stream of its own; either may be closed first. */
static void test_another(void **state) {
  (void)state;
  open_ok(); /* the primary context */
  rgt__device *first = device, *second = NULL;
  OK(first->ops->another(first, &second, &err));
  assert_string_equal(second->info.class_text, first->info.class_text);
  assert_ptr_not_equal(second->stream, first->stream);
  assert_int_equal(fake->contexts, 2);
  void *p = fake_memory(16);
  OK(second->ops->mem_write(second, p, "what one made", 14, &err)); /* the other's to use */
  first->ops->mem_free(first, p);
  first->ops->close(first);
  device = second;
  touch();
  fake_device_close();
  fake_is_clean("both closed");
  void *own = fake_context(0); /* and the caller's own */
  fake_push(own);
  open_ok();
  (void)fake_pop(); /* as another thread has none current */
  OK(device->ops->another(device, &second, &err));
  assert_int_equal(fake->contexts, 0);
  first = device;
  device = second;
  touch();
  fake_device_close();
  first->ops->close(first);
  fake_is_clean("both closed again");
}

static void test_another_that_fails(void **state) {
  static const fake_call calls[] = {FAKE_cuInit, FAKE_cuDevicePrimaryCtxRetain, FAKE_cuCtxPushCurrent_v2, FAKE_cuStreamCreate};
  (void)state;
  open_ok();
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    rgt__device *second = NULL;
    fake->fail = calls[i];
    fake->fail_at = 1;
    fake->fail_code = 2;
    assert_int_not_equal(device->ops->another(device, &second, &err), RGT_OK);
    assert_null(second);
    if (!strstr(err.text, "CUDA_ERROR_OUT_OF_MEMORY")) fail_msg("%s: %s", fake_name((int)calls[i]), err.text);
    assert_int_equal(fake->contexts, 1);
    assert_int_equal(fake->streams, 1);
  }
  fake_device_close();
  fake_is_clean("closed");
}

/* ---- memory ---- */

static void test_memory(void **state) {
  (void)state;
  open_ok();
  void *p = fake_memory(0), *q = fake_memory(1);
  assert_non_null(p);
  assert_ptr_not_equal(p, q);
  OK(device->ops->mem_write(device, p, NULL, 0, &err));
  OK(device->ops->mem_read(device, NULL, p, 0, &err));
  device->ops->mem_free(device, p);
  device->ops->mem_free(device, q);
  device->ops->mem_free(device, NULL);
  p = q;
  FAILS(device->ops->mem_alloc(device, (size_t)1 << 40, &p, &err), RGT_ENOMEM,
        "cuMemAlloc_v2 of 1099511627776 bytes: CUDA_ERROR_OUT_OF_MEMORY");
  assert_ptr_equal(p, q);
  fake_device_close();
  fake_is_clean("closed");
}

/* A write is waited for: what goes on in a stream that does not wait for the default one finds the bytes. */
static void test_a_write_is_complete(void **state) {
  (void)state;
  open_ok();
  void *p = fake_memory(8);
  int before = fake->n_calls[FAKE_cuStreamSynchronize];
  OK(device->ops->mem_write(device, p, "12345678", 8, &err));
  assert_int_equal(fake->n_calls[FAKE_cuStreamSynchronize], before + 1);
  device->ops->mem_free(device, p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_description),
      TEST(test_memory_classes),
      TEST(test_a_clock_that_is_not_told),
      TEST(test_ordinals),
      TEST(test_auto),
      TEST(test_primary_context),
      TEST(test_callers_context),
      TEST(test_context_of_another_device),
      TEST(test_another),
      TEST(test_another_that_fails),
      TEST(test_two_threads),
      TEST(test_memory),
      TEST(test_a_write_is_complete),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
