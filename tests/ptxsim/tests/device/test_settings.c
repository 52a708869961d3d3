/* test_settings.c -- the PTXSIM_ variables, each in a process of its own: they are read once. */
#include "../support/basic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char log_path[] = "/tmp/ptxsim-log-XXXXXX";

/* What a child does; its answer is its exit status. The log is empty before. */
static int in_child(const char *name, const char *value, int (*act)(void)) {
  int status = -1;
  FILE *file = fopen(log_path, "w");
  assert_non_null(file);
  fclose(file);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv("PTXSIM_LOG", log_path, 1);
    setenv(name, value, 1);
    if (sim_calls_load(SIM_LIBCUDA) != NULL) exit(99);
    exit(act());
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void expect_in_log(const char *text) {
  char *log = sim_read_file(log_path);
  if (strstr(log, text) == NULL) fail_msg("the log does not say \"%s\": %s", text, log);
  free(log);
}

static int init(void) {
  return cu.cuInit(0);
}

static void values_that_are_wrong(void **state) {
  static const struct {
    const char *name, *value, *says;
  } wrong[] = {
      {"PTXSIM_PROFILE", "sm_70", "PTXSIM_PROFILE=sm_70 is not understood: sm_80, sm_90 or sm_120"},
      {"PTXSIM_DEVICES", "9", "PTXSIM_DEVICES=9 is not understood: a whole number from 0 to 8"},
      {"PTXSIM_SEED", "-1", "PTXSIM_SEED=-1 is not understood"},
      {"PTXSIM_CHECKS", "shared,bound", "PTXSIM_CHECKS=shared,bound is not understood: a list of all, none"},
      {"PTXSIM_REPORT", "yes", "PTXSIM_REPORT=yes is not understood"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(in_child(wrong[i].name, wrong[i].value, init), CUDA_ERROR_INVALID_VALUE);
    expect_in_log(wrong[i].says);
  }
}

static int count_devices(void) {
  int n = -1;
  return cu.cuInit(0) != CUDA_SUCCESS || cu.cuDeviceGetCount(&n) != CUDA_SUCCESS ? 97 : n;
}

static void devices(void **state) {
  (void)state;
  assert_int_equal(in_child("PTXSIM_DEVICES", "0", init), CUDA_ERROR_NO_DEVICE);
  assert_int_equal(in_child("PTXSIM_DEVICES", "3", count_devices), 3);
}

static int megabytes(void) {
  CUcontext context;
  size_t free_bytes = 0, total = 0;
  CUdeviceptr p;
  if (cu.cuInit(0) != 0 || cu.cuCtxCreate_v4(&context, NULL, 0, 0) != 0 || cu.cuMemGetInfo_v2(&free_bytes, &total) != 0)
    return 97;
  if (cu.cuMemAlloc_v2(&p, total + 1) != CUDA_ERROR_OUT_OF_MEMORY) return 96;
  return (int)(total >> 20);
}

static void memory(void **state) {
  (void)state;
  assert_int_equal(in_child("PTXSIM_MEMORY_MB", "5", megabytes), 5);
}

/* Three launches; a context that stays. */
static int launch_three(void) {
  CUcontext context;
  if (cu.cuInit(0) != 0 || cu.cuCtxCreate_v4(&context, NULL, 0, 0) != 0) return 97;
  CUmodule module = sim_basic();
  CUdeviceptr p = sim_buffer(4);
  sim_put(sim_kernel(module, "put"), p, 1, NULL);
  for (int i = 0; i < 2; i++) sim_add_one(sim_kernel(module, "add_one"), p, 1, NULL);
  return (int)sim_word(p);
}

static void report(void **state) {
  (void)state;
  assert_int_equal(in_child("PTXSIM_REPORT", "2", launch_three), 3);
  expect_in_log("launch put <<<1 1 1, 1>>> ");
  expect_in_log("launch add_one <<<1 1 1, 32>>> ");
  expect_in_log("kernel add_one: 2 launches, ");
  expect_in_log("registers (estimated: no cubin was seen)");
  expect_in_log("inst_executed            warp instructions");
  expect_in_log("reports: 0 faults, 0 calls refused, 0 findings");
  assert_int_equal(in_child("PTXSIM_REPORT", "0", launch_three), 3);
  char *log = sim_read_file(log_path);
  assert_string_equal(log, "");
  free(log);
}

/* Stores what nobody wrote: an error with that check, none without. */
static int store_undefined(void) {
  CUcontext context;
  if (cu.cuInit(0) != 0 || cu.cuCtxCreate_v4(&context, NULL, 0, 0) != 0) return 97;
  CUmodule module = sim_basic();
  CUdeviceptr from = sim_buffer(4), to = sim_buffer(4);
  void *pointers[] = {&to, &from};
  MUST(cu.cuLaunchKernel(sim_kernel(module, "copy"), 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
  return cu.cuCtxSynchronize() == CUDA_SUCCESS ? 0 : 1;
}

static void checks(void **state) {
  (void)state;
  assert_int_equal(in_child("PTXSIM_CHECKS", "all", store_undefined), 1);
  expect_in_log("copy");
  assert_int_equal(in_child("PTXSIM_CHECKS", "shared,banks", store_undefined), 0);
  assert_int_equal(in_child("PTXSIM_CHECKS", "none", store_undefined), 0);
  assert_int_equal(in_child("PTXSIM_CHECKS", "defined", store_undefined), 1);
}

static int make_log(void **state) {
  int fd = mkstemp(log_path);
  (void)state;
  return fd < 0 ? -1 : close(fd);
}

static int drop_log(void **state) {
  (void)state;
  return unlink(log_path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_that_are_wrong), cmocka_unit_test(devices),
                                     cmocka_unit_test(memory), cmocka_unit_test(report), cmocka_unit_test(checks)};
  return cmocka_run_group_tests(tests, make_log, drop_log);
}
