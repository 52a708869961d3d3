/* test_device_cuda_offline.c -- the CUDA device that only compiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/alloc.h"
#include "runtime/device.h"
#include "runtime/nvrtc.h"

static rgt__environment env;
static int has_nvrtc;

static int setup(void **state) {
  rgt__error err;
  rgt__nvrtc *nvrtc;
  (void)state;
  if (rgt__environment_read(&env, &err) != RGT_OK) return -1;
  has_nvrtc = rgt__nvrtc_open(&env, &nvrtc, &err) == RGT_OK;
  if (has_nvrtc)
    rgt__nvrtc_close(nvrtc);
  else
    print_message("no NVRTC: what compiles is skipped (%s)\n", err.text);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  rgt__environment_free(&env);
  return 0;
}

static int64_t fact(const rgt__device *d, const char *name) {
  for (int i = 0; i < d->info.target.n_facts; i++)
    if (strcmp(d->info.target.facts[i].name, name) == 0) return d->info.target.facts[i].value;
  return -1;
}

static rgt__device *offline(const char *target) {
  rgt__device_options o = {.env = &env};
  rgt__device *d = NULL;
  rgt__error err = {""};
  if (rgt__device_offline_cuda(&o, target, &d, &err) != RGT_OK) fail_msg("%s", err.text);
  return d;
}

static void test_offline_targets(void **state) {
  static const struct {
    const char *name;
    int sm, optin;
  } known[] = {{"sm_80", 80, 166912}, {"sm_90", 90, 232448}, {"sm_120", 120, 101376}};
  (void)state;
  if (!has_nvrtc) skip();
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    rgt__device *d = offline(known[i].name);
    assert_string_equal(d->ops->kind, "cuda");
    assert_string_equal(d->info.target.device, "cuda");
    assert_string_equal(d->info.target.name, known[i].name);
    assert_int_equal(d->info.n_threads, 0);
    assert_int_equal(fact(d, "sm"), known[i].sm);
    assert_int_equal(fact(d, "shared_static_max"), 49152);
    assert_int_equal(fact(d, "shared_optin_max"), known[i].optin);
    d->ops->close(d);
  }
}

static void test_targets_that_are_none(void **state) {
  static const char *const words[] = {"", "cpu", "sm_", "sm_0", "sm_9x", "sm_-90", "sm90", "compute_90", "sm_900000000000"};
  rgt__device_options o = {.env = &env};
  rgt__device *d = NULL;
  rgt__error err = {""};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    assert_int_equal(rgt__device_offline_cuda(&o, words[i], &d, &err), RGT_EINVAL);
    assert_non_null(strstr(err.text, "want sm_ and a number"));
  }
  if (!has_nvrtc) skip();
  rgt__compiled out = {0};
  assert_int_equal(rgt__device_offline_cuda(&o, "sm_91", &d, &err), RGT_OK); /* sources can be shown for it */
  assert_int_equal(d->ops->compile(d, "", 0, &d->info.target, 0, &out, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "target sm_91: this NVRTC compiles for "));
  assert_non_null(strstr(err.text, " sm_90 "));
  rgt__compiled_free(&out);
  d->ops->close(d);
}

static void test_offline_without_nvrtc(void **state) {
  rgt__environment named = {{NULL}};
  char path[] = "/no/such/libnvrtc.so";
  rgt__device_options o = {.env = &named};
  rgt__device *d = NULL;
  rgt__error err = {""};
  (void)state;
  named.values[RGT_ENV_RAGTUNE_LIBNVRTC] = path;
  rgt__compiled out = {0};
  char text[256];
  assert_int_equal(rgt__device_offline_cuda(&o, "sm_90", &d, &err), RGT_OK);
  assert_int_equal(d->ops->compile(d, "", 0, &d->info.target, 0, &out, &err), RGT_ENOCOMPILER);
  assert_non_null(strstr(err.text, path));
  assert_int_equal(d->ops->toolchain(d, text, sizeof text, &err), RGT_ENOCOMPILER);
  rgt__compiled_free(&out);
  d->ops->close(d);
}

static void test_it_compiles(void **state) {
  static const char source[] = "extern \"C\" __global__ void k(int *p) { *p = 7; }\nthis is beyond the given size";
  rgt__compiled out;
  rgt__error err = {""};
  (void)state;
  if (!has_nvrtc) skip();
  rgt__device *d = offline("sm_90");
  rgt__target other = d->info.target;
  size_t bytes = (size_t)(strchr(source, '\n') - source);
  assert_int_equal(d->ops->compile(d, source, bytes, &d->info.target, 0, &out, &err), RGT_OK);
  assert_non_null(strstr(out.ptx, ".target sm_90"));
  rgt__free(out.code);
  rgt__free(out.ptx);
  strcpy(other.name, "sm_80"); /* any that NVRTC lists, not just its own */
  assert_int_equal(d->ops->compile(d, source, bytes, &other, 0, &out, &err), RGT_OK);
  assert_non_null(strstr(out.ptx, ".target sm_80"));
  rgt__free(out.code);
  rgt__free(out.ptx);
  assert_int_equal(d->ops->compile(d, source, sizeof source - 1, &d->info.target, 0, &out, &err), RGT_ECOMPILE);
  assert_non_null(strstr(out.log, "error"));
  assert_int_equal(d->ops->compile(d, source, bytes, &d->info.target, 1, &out, &err), RGT_EUNSUPPORTED);
  d->ops->close(d);
}

static void test_toolchain_and_stamp(void **state) {
  char toolchain[1024], stamp[2048];
  rgt__error err = {""};
  (void)state;
  if (!has_nvrtc) skip();
  rgt__device *d = offline("sm_90");
  assert_int_equal(d->ops->toolchain(d, toolchain, sizeof toolchain, &err), RGT_OK);
  assert_memory_equal(toolchain, "nvrtc ", 6);
  assert_non_null(strstr(toolchain, "; --std=c++17 "));
  assert_null(strchr(toolchain, '/'));
  d->ops->compiler_stamp(d, stamp, sizeof stamp);
  assert_int_equal(stamp[0], '/');
  assert_non_null(strstr(stamp, "libnvrtc"));
  d->ops->close(d);
}

static void test_it_runs_nothing(void **state) {
  rgt__error err = {""};
  void *p = NULL;
  rgt__module *m = NULL;
  rgt__program program = {0};
  rgt__plan plan = {0};
  rgt_kargs k = {0};
  (void)state;
  if (!has_nvrtc) skip();
  rgt__device *d = offline("sm_90");
  assert_int_equal(d->ops->mem_alloc(d, 64, &p, &err), RGT_EUNSUPPORTED);
  assert_string_equal(err.text, "target sm_90 only compiles; what runs needs a device: --device cuda or --device cpu");
  assert_null(p);
  assert_int_equal(d->ops->load(d, NULL, "", 0, &program, &m, &err), RGT_EUNSUPPORTED);
  assert_null(m);
  assert_int_equal(d->ops->mem_write(d, NULL, "", 0, &err), RGT_EUNSUPPORTED);
  assert_int_equal(d->ops->mem_read(d, &p, NULL, 0, &err), RGT_EUNSUPPORTED);
  assert_int_equal(d->ops->launch(d, NULL, &program, &plan, &k, NULL, NULL, &err), RGT_EUNSUPPORTED);
  assert_int_equal(d->ops->sync(d, NULL, &err), RGT_EUNSUPPORTED);
  d->ops->unload(d, NULL);
  d->ops->mem_free(d, NULL);
  d->ops->close(d);
}

/* A stop that came before the compile; NVRTC itself cannot be stopped. */
static void test_stopped(void **state) {
  volatile int flag = 1;
  rgt__stop stop = {.flag = &flag};
  rgt__compiled out = {0};
  rgt__error err = {""};
  (void)state;
  if (!has_nvrtc) skip();
  rgt__device *d = offline("sm_90");
  d->stop = &stop;
  assert_int_equal(d->ops->compile(d, "x", 1, &d->info.target, 0, &out, &err), RGT_EINTERRUPTED);
  assert_null(out.code);
  d->ops->close(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_offline_targets),
      cmocka_unit_test(test_targets_that_are_none),
      cmocka_unit_test(test_offline_without_nvrtc),
      cmocka_unit_test(test_it_compiles),
      cmocka_unit_test(test_toolchain_and_stamp),
      cmocka_unit_test(test_it_runs_nothing),
      cmocka_unit_test(test_stopped),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
