/* test_device_cuda.c -- the CUDA device as far as this version goes: found and declined, and the one that only compiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/alloc.h"
#include "runtime/cuda_api.h"
#include "runtime/device.h"
#include "runtime/nvrtc.h"

static char folder[64];
static rgt__environment env;
static int has_nvrtc, has_cc;

/* Driver libraries of our own, by macro: DEVICES counted, INIT answered, CUT_OFF lacks a function. */
static const char driver[] =
    "int cuInit(unsigned f) { return f ? 1 : INIT; }\n"
    "int cuDriverGetVersion(int *v) { *v = 13020; return 0; }\n"
    "int cuDeviceGetCount(int *n) { *n = DEVICES; return 0; }\n"
    "int cuDeviceGet(int *d, int i) { *d = 100 + i; return 0; }\n"
    "#ifndef CUT_OFF\n"
    "int cuDeviceGetName(char *name, int n, int d) { if (n < 8) return 1; __builtin_strcpy(name, d == 101 ? \"Fake B\" : "
    "\"Fake A\"); return 0; }\n"
    "#endif\n"
    "int cuGetErrorName(int e, const char **s) { *s = \"CUDA_ERROR_NO_DEVICE\"; return e == 100 ? 0 : 1; }\n";

static int setup(void **state) {
  rgt__error err;
  rgt__nvrtc *nvrtc;
  char path[128];
  (void)state;
  strcpy(folder, "/tmp/rgt-device-XXXXXX");
  if (mkdtemp(folder) == NULL || rgt__environment_read(&env, &err) != RGT_OK) return -1;
  has_nvrtc = rgt__nvrtc_open(&env, &nvrtc, &err) == RGT_OK;
  if (has_nvrtc) rgt__nvrtc_close(nvrtc);
  snprintf(path, sizeof path, "%s/driver.c", folder);
  FILE *f = fopen(path, "w");
  if (f == NULL) return -1;
  fputs(driver, f);
  fclose(f);
  has_cc = system("cc --version >/dev/null 2>&1") == 0;
  return 0;
}

static int teardown(void **state) {
  char line[128];
  (void)state;
  rgt__environment_free(&env);
  snprintf(line, sizeof line, "rm -rf '%s'", folder);
  return system(line) == 0 ? 0 : -1;
}

/* rgt__device_cuda_open with a driver library made by `macros` (NULL: a name that is no file). */
static rgt_status open_with(const char *name, const char *macros, int ordinal, rgt__error *err) {
  char path[128], command[512];
  rgt__environment named = {{NULL}};
  rgt__device_options o = {.env = &named, .ordinal = ordinal};
  rgt__device *out = (rgt__device *)folder;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (macros != NULL) {
    snprintf(command, sizeof command, "cc -shared -fPIC %s -o '%s' '%s/driver.c'", macros, path, folder);
    assert_int_equal(system(command), 0);
  }
  named.values[RGT_ENV_RAGTUNE_LIBCUDA] = path;
  rgt_status status = rgt__device_cuda_open(&o, &out, err);
  assert_ptr_equal(out, folder); /* never written: no device opens in this version */
  assert_null(strchr(err->text, '\n'));
  return status;
}

static void test_no_driver(void **state) {
  rgt__error err = {""};
  (void)state;
  assert_int_equal(open_with("libnone.so", NULL, 0, &err), RGT_ENODEVICE);
  assert_non_null(strstr(err.text, "/libnone.so (not found) (RAGTUNE_LIBCUDA)"));
}

static void test_the_usual_names(void **state) {
  rgt__environment empty = {{NULL}};
  rgt__cuda_api api;
  rgt__error err = {""};
  (void)state;
  rgt_status status = rgt__cuda_api_open(&empty, &api, &err);
  if (status == RGT_OK) {
    rgt__cuda_api_close(&api); /* a machine with a device */
    skip();
  }
  assert_int_equal(status, RGT_ENODEVICE);
  assert_non_null(strstr(err.text, "libcuda.so.1"));
}

static void test_drivers_without_a_device(void **state) {
  rgt__error err = {""};
  (void)state;
  if (!has_cc) skip();
  assert_int_equal(open_with("liba.so", "-DINIT=100 -DDEVICES=0", 0, &err), RGT_ENODEVICE);
  assert_non_null(strstr(err.text, "/liba.so was found and answers CUDA_ERROR_NO_DEVICE"));
  assert_int_equal(open_with("libb.so", "-DINIT=77 -DDEVICES=0", 0, &err), RGT_ENODEVICE);
  assert_non_null(strstr(err.text, "answers error 77"));
  assert_int_equal(open_with("libc.so", "-DINIT=0 -DDEVICES=0", 0, &err), RGT_ENODEVICE);
  assert_non_null(strstr(err.text, "counts none"));
  assert_int_equal(open_with("libd.so", "-DINIT=0 -DDEVICES=1 -DCUT_OFF", 0, &err), RGT_ENODEVICE);
  assert_non_null(strstr(err.text, "/libd.so (has no cuDeviceGetName)"));
}

static void test_a_device_is_named_and_declined(void **state) {
  rgt__error err = {""};
  (void)state;
  if (!has_cc) skip();
  assert_int_equal(open_with("libe.so", "-DINIT=0 -DDEVICES=2", 1, &err), RGT_EUNSUPPORTED);
  assert_string_equal(err.text,
                      "cuda:1 (Fake B, driver 13.2) is there, but this version generates and compiles CUDA code and does "
                      "not run it yet; use --device cpu");
  assert_int_equal(open_with("libf.so", "-DINIT=0 -DDEVICES=2", 2, &err), RGT_ENODEVICE);
  assert_string_equal(err.text, "no CUDA device 2: the driver counts 2, from 0");
  assert_int_equal(open_with("libg.so", "-DINIT=0 -DDEVICES=2", -1, &err), RGT_ENODEVICE);
}

/* "auto" must not choose what cannot run. */
static void test_auto_never_takes_it(void **state) {
  rgt__error err = {""};
  char path[128];
  rgt__environment named = {{NULL}};
  (void)state;
  assert_int_equal(rgt__device_cuda_present(&env), 0);
  if (!has_cc) skip();
  assert_int_equal(open_with("libh.so", "-DINIT=0 -DDEVICES=1", 0, &err), RGT_EUNSUPPORTED);
  snprintf(path, sizeof path, "%s/libh.so", folder);
  named.values[RGT_ENV_RAGTUNE_LIBCUDA] = path;
  assert_int_equal(rgt__device_cuda_present(&named), 0);
}

/* ---- the device that only compiles ------------------------------------------------------------------------- */

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
  assert_int_equal(rgt__device_offline_cuda(&o, "sm_91", &d, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "target sm_91: this NVRTC compiles for "));
  assert_non_null(strstr(err.text, " sm_90 "));
  assert_null(d);
}

static void test_offline_without_nvrtc(void **state) {
  rgt__environment named = {{NULL}};
  char path[] = "/no/such/libnvrtc.so";
  rgt__device_options o = {.env = &named};
  rgt__device *d = NULL;
  rgt__error err = {""};
  (void)state;
  named.values[RGT_ENV_RAGTUNE_LIBNVRTC] = path;
  assert_int_equal(rgt__device_offline_cuda(&o, "sm_90", &d, &err), RGT_ENOCOMPILER);
  assert_non_null(strstr(err.text, path));
  assert_null(d);
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
  assert_string_equal(err.text, "target sm_90 only compiles: this version does not run CUDA code; use --device cpu");
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_driver),
      cmocka_unit_test(test_the_usual_names),
      cmocka_unit_test(test_drivers_without_a_device),
      cmocka_unit_test(test_a_device_is_named_and_declined),
      cmocka_unit_test(test_auto_never_takes_it),
      cmocka_unit_test(test_offline_targets),
      cmocka_unit_test(test_targets_that_are_none),
      cmocka_unit_test(test_offline_without_nvrtc),
      cmocka_unit_test(test_it_compiles),
      cmocka_unit_test(test_toolchain_and_stamp),
      cmocka_unit_test(test_it_runs_nothing),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
