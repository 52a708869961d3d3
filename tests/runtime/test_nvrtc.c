/* test_nvrtc.c -- finding NVRTC and compiling with it. What needs the real library is skipped where there is none. */
#include <pthread.h>
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
#include "runtime/nvrtc.h"

static char folder[64];
static rgt__environment env;
static rgt__nvrtc *nvrtc; /* NULL: none on this machine */

static int setup(void **state) {
  rgt__error err;
  (void)state;
  strcpy(folder, "/tmp/rgt-nvrtc-XXXXXX");
  if (mkdtemp(folder) == NULL || rgt__environment_read(&env, &err) != RGT_OK) return -1;
  if (rgt__nvrtc_open(&env, &nvrtc, &err) != RGT_OK) nvrtc = NULL;
  return 0;
}

static int teardown(void **state) {
  char line[128];
  (void)state;
  rgt__nvrtc_close(nvrtc);
  rgt__environment_free(&env);
  snprintf(line, sizeof line, "rm -rf '%s'", folder);
  return system(line) == 0 ? 0 : -1;
}

static void discard(rgt__compiled *c) {
  rgt__free(c->code);
  rgt__free(c->ptx);
}

/* ---- finding ----------------------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

static void test_all_that_was_tried_is_named(void **state) {
  const char *names[] = {"librgt-no-such-a.so.13", "librgt-no-such-b.so", NULL};
  char pattern[128];
  const char *patterns[] = {"/no/such/folder*/libnvrtc.so*", pattern, NULL};
  rgt__nvrtc_places places = {names, patterns};
  rgt__nvrtc *out = (rgt__nvrtc *)folder;
  rgt__error err = {""};
  (void)state;
  write_file("libnvrtc.so.13", "no library");
  snprintf(pattern, sizeof pattern, "%s/libnvrtc.so*", folder);
  assert_int_equal(rgt__nvrtc_open_places(&places, &out, &err), RGT_ENOCOMPILER);
  assert_ptr_equal(out, folder);
  assert_non_null(strstr(err.text, ".ci/fetch-nvrtc"));
  assert_non_null(strstr(err.text, "RAGTUNE_LIBNVRTC"));
  assert_non_null(strstr(err.text, "librgt-no-such-a.so.13 (not found), librgt-no-such-b.so (not found), "
                                   "/no/such/folder*/libnvrtc.so* (no such file), "));
  assert_non_null(strstr(err.text, "/libnvrtc.so.13 (file too short)"));
  assert_null(strchr(err.text, '\n'));
}

static void test_a_library_without_its_functions(void **state) {
  const char *names[] = {"libm.so.6", NULL}, *none[] = {NULL};
  rgt__nvrtc_places places = {names, none};
  rgt__nvrtc *out;
  rgt__error err = {""};
  (void)state;
  assert_int_equal(rgt__nvrtc_open_places(&places, &out, &err), RGT_ENOCOMPILER);
  assert_non_null(strstr(err.text, "libm.so.6 (has no nvrtcVersion)"));
}

static void test_the_named_library_and_no_other(void **state) {
  rgt__environment named = {{NULL}};
  char path[] = "/no/such/libnvrtc.so";
  rgt__nvrtc *out;
  rgt__error err = {""};
  (void)state;
  named.values[RGT_ENV_RAGTUNE_LIBNVRTC] = path;
  assert_int_equal(rgt__nvrtc_open(&named, &out, &err), RGT_ENOCOMPILER);
  assert_non_null(strstr(err.text, "tried /no/such/libnvrtc.so (not found)"));
  assert_null(strstr(err.text, "libnvrtc.so.13"));
}

/* A library with NVRTC's functions, but no builtins beside it or with the loader. */
static void test_builtins_are_needed(void **state) {
  static const char source[] =
      "int nvrtcVersion(int *a, int *b) { *a = 97; *b = 3; return 0; }\n"
      "int nvrtcGetNumSupportedArchs(int *n) { *n = 1; return 0; }\n"
      "int nvrtcGetSupportedArchs(int *a) { a[0] = 90; return 0; }\n"
      "#define F(name) int name(void) { return 1; }\n"
      "F(nvrtcCreateProgram) F(nvrtcCompileProgram) F(nvrtcGetCUBINSize) F(nvrtcGetCUBIN) F(nvrtcGetPTXSize)\n"
      "F(nvrtcGetPTX) F(nvrtcGetProgramLogSize) F(nvrtcGetProgramLog) F(nvrtcDestroyProgram) F(nvrtcGetErrorString)\n";
  char path[128], command[512];
  const char *names[] = {path, NULL}, *none[] = {NULL};
  rgt__nvrtc_places places = {names, none};
  rgt__nvrtc *out;
  rgt__error err = {""};
  (void)state;
  write_file("fake.c", source);
  snprintf(path, sizeof path, "%s/libfake.so", folder);
  snprintf(command, sizeof command, "cc -shared -fPIC -o '%s' '%s/fake.c' 2>/dev/null", path, folder);
  if (system(command) != 0) skip();
  assert_int_equal(rgt__nvrtc_open_places(&places, &out, &err), RGT_ENOCOMPILER);
  assert_non_null(strstr(err.text, "libfake.so (libnvrtc-builtins.so.97.3 is not beside it)"));
  snprintf(command, sizeof command, "cc -shared -fPIC -o '%s/libnvrtc-builtins.so.97.3' -x c /dev/null", folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(rgt__nvrtc_open_places(&places, &out, &err), RGT_OK);
  int sm[2] = {0, 0};
  assert_int_equal(rgt__nvrtc_targets(out, sm, 2), 1);
  assert_int_equal(sm[0], 90);
  assert_string_equal(rgt__nvrtc_path(out), path);
  char version[256];
  rgt__nvrtc_version(out, version, sizeof version);
  assert_memory_equal(version, "nvrtc 97.3 build-id ", 20);
  assert_null(strchr(version, '/'));
  rgt__nvrtc_close(out);
}

/* Where .ci/fetch-nvrtc puts it: links in a scratch cache folder stand for the wheel's files. */
static void test_found_by_pattern(void **state) {
  char pattern[128], command[2560];
  const char *none[] = {NULL}, *patterns[] = {pattern, NULL};
  rgt__nvrtc_places places = {none, patterns};
  rgt__nvrtc *out;
  rgt__error err = {""};
  (void)state;
  if (nvrtc == NULL) skip();
  const char *real = rgt__nvrtc_path(nvrtc);
  int n = (int)(strrchr(real, '/') - real);
  snprintf(command, sizeof command,
           "mkdir -p '%s/nvrtc' && ln -s '%s' '%s/nvrtc/libnvrtc.so.13' && ln -s '%.*s'/libnvrtc-builtins.so.* '%s/nvrtc/'",
           folder, real, folder, n, real, folder);
  assert_int_equal(system(command), 0);
  snprintf(pattern, sizeof pattern, "%s/nvrtc/libnvrtc.so*", folder);
  assert_int_equal(rgt__nvrtc_open_places(&places, &out, &err), RGT_OK);
  assert_string_equal(rgt__nvrtc_path(out), real);
  rgt__nvrtc_close(out);
}

/* ---- compiling --------------------------------------------------------------------------------------------- */

static const char two_kernels[] = "extern \"C\" __global__ void __launch_bounds__(128, 1) first(const float *x, float *y) {\n"
                                  "  __shared__ float s[100];\n"
                                  "  s[threadIdx.x % 100] = x[threadIdx.x];\n"
                                  "  __syncthreads();\n"
                                  "  y[threadIdx.x] = s[(threadIdx.x + 1) % 100];\n"
                                  "}\n"
                                  "extern \"C\" __global__ void second(float *y) { y[0] = 1; }\n";

static void test_cubin_and_ptx_of_one_compile(void **state) {
  rgt__compiled out;
  rgt__error err = {""};
  (void)state;
  if (nvrtc == NULL) skip();
  assert_int_equal(rgt__nvrtc_compile(nvrtc, two_kernels, "sm_90", &out, &err), RGT_OK);
  assert_memory_equal(out.code, "\177ELF", 4);
  assert_true(out.code_bytes > 1000);
  assert_int_equal(out.ptx_bytes, strlen(out.ptx));
  assert_non_null(strstr(out.ptx, ".target sm_90"));
  assert_non_null(strstr(out.ptx, ".entry first("));
  assert_non_null(strstr(out.ptx, ".entry second("));
  assert_true(out.registers >= 6 && out.registers < 64);
  assert_int_equal(out.shared_bytes, 400);
  assert_int_equal(out.spill_bytes, 0);
  assert_int_equal(out.stack_bytes, 0);
  assert_true(out.milliseconds > 0);
  assert_string_equal(out.log, "");
  discard(&out);
}

/* 1,024 threads leave each 64 registers, which do not hold 200 running values. */
static void test_spills_are_reported(void **state) {
  static const char source[] = "extern \"C\" __global__ void __launch_bounds__(1024, 1) k(const float *x, float *y, int n) {\n"
                               "  float v[200];\n"
                               "#pragma unroll\n"
                               "  for (int i = 0; i < 200; i++) v[i] = x[i];\n"
                               "  for (int r = 0; r < n; r++) {\n"
                               "#pragma unroll\n"
                               "    for (int i = 0; i < 200; i++) v[i] = v[i] * v[(i + 7) % 200] + x[r];\n"
                               "  }\n"
                               "#pragma unroll\n"
                               "  for (int i = 0; i < 200; i++) y[i * 1024 + threadIdx.x] = v[i];\n"
                               "}\n";
  rgt__compiled out;
  rgt__error err = {""};
  (void)state;
  if (nvrtc == NULL) skip();
  assert_int_equal(rgt__nvrtc_compile(nvrtc, source, "sm_80", &out, &err), RGT_OK);
  assert_true(out.spill_bytes > 100);
  assert_true(out.stack_bytes > 100);
  assert_true(out.registers <= 64);
  discard(&out);
}

/* x * y + z stays two roundings: the text says where it wants one. */
static void test_nothing_is_contracted(void **state) {
  static const char source[] = "extern \"C\" __global__ void k(float *p) { p[3] = p[0] * p[1] + p[2]; }\n";
  rgt__compiled out;
  rgt__error err = {""};
  (void)state;
  if (nvrtc == NULL) skip();
  assert_int_equal(rgt__nvrtc_compile(nvrtc, source, "sm_90", &out, &err), RGT_OK);
  assert_non_null(strstr(out.ptx, "mul.rn.f32"));
  assert_null(strstr(out.ptx, "fma"));
  assert_null(strstr(out.ptx, ".ftz"));
  discard(&out);
}

static void check_failure(const char *source, const char *target, const char *want) {
  rgt__compiled out;
  rgt__error err = {""};
  assert_int_equal(rgt__nvrtc_compile(nvrtc, source, target, &out, &err), RGT_ECOMPILE);
  if (strstr(err.text, want) == NULL || strstr(err.text, target) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, want);
  assert_null(out.code);
  assert_null(out.ptx);
}

static void test_errors_name_the_line(void **state) {
  (void)state;
  if (nvrtc == NULL) skip();
  check_failure("#line 7 \"templates/cuda/x.cu\"\n__global__ void k(int *p) { *p = q; }\n", "sm_90",
                "templates/cuda/x.cu(7): error: identifier \"q\" is undefined");
  check_failure("__global__ void k(int *p) { asm(\"foo.bar;\"); }\n", "sm_90", "Unknown modifier '.bar'");
  check_failure("__global__ void k() {}\n", "sm_12345", "invalid value for --gpu-architecture");
  check_failure("__global__ void k(int *p) { __shared__ int a[100000]; a[*p] = 1; __syncthreads(); *p = a[p[1]]; }\n", "sm_90",
                "400000 bytes of static shared memory");
  check_failure("static int nothing;\n", "sm_90", "no registers");
  check_failure("#include <cuda_fp16.h>\n", "sm_90", "cuda_fp16.h"); /* no headers are at hand */
}

static void *compile_many(void *user) {
  rgt__error err = {""};
  int *failed = user;
  for (int i = 0; i < 3; i++) {
    rgt__compiled out;
    if (rgt__nvrtc_compile(nvrtc, two_kernels, i % 2 ? "sm_80" : "sm_90", &out, &err) != RGT_OK) {
      ++*failed;
      continue;
    }
    if (out.shared_bytes != 400 || strstr(out.ptx, i % 2 ? ".target sm_80" : ".target sm_90") == NULL) ++*failed;
    discard(&out);
  }
  return NULL;
}

static void test_two_threads_at_once(void **state) {
  pthread_t threads[2];
  int failed[2] = {0, 0};
  (void)state;
  if (nvrtc == NULL) skip();
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, compile_many, &failed[i]), 0);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(failed[0] + failed[1], 0);
}

static void test_what_is_known_of_it(void **state) {
  int targets[64];
  char version[256], options[256];
  (void)state;
  if (nvrtc == NULL) skip();
  int n = rgt__nvrtc_targets(nvrtc, targets, 64), has_90 = 0;
  assert_true(n > 0 && n <= 64);
  for (int i = 0; i < n; i++) {
    assert_true(i == 0 || targets[i] > targets[i - 1]);
    has_90 |= targets[i] == 90;
  }
  assert_true(has_90);
  targets[0] = targets[1] = -1;
  assert_int_equal(rgt__nvrtc_targets(nvrtc, targets, 1), n);
  assert_true(targets[0] > 0 && targets[1] == -1);
  rgt__nvrtc_version(nvrtc, version, sizeof version);
  int major = 0, minor = -1;
  long long size = 0;
  char id[80] = "";
  assert_int_equal(sscanf(version, "nvrtc %d.%d build-id %79s size %lld", &major, &minor, id, &size), 4);
  assert_true(major >= 11 && minor >= 0 && size > 1000000);
  assert_null(strchr(version, '/'));
  rgt__nvrtc_options(options, sizeof options);
  assert_string_equal(
      options, "--std=c++17 -default-device --fmad=false --ftz=false --prec-div=true --prec-sqrt=true --ptxas-options=-v");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_that_was_tried_is_named),
      cmocka_unit_test(test_a_library_without_its_functions),
      cmocka_unit_test(test_the_named_library_and_no_other),
      cmocka_unit_test(test_builtins_are_needed),
      cmocka_unit_test(test_found_by_pattern),
      cmocka_unit_test(test_cubin_and_ptx_of_one_compile),
      cmocka_unit_test(test_spills_are_reported),
      cmocka_unit_test(test_nothing_is_contracted),
      cmocka_unit_test(test_errors_name_the_line),
      cmocka_unit_test(test_two_threads_at_once),
      cmocka_unit_test(test_what_is_known_of_it),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
