/* basic.c -- kernels by hand. */
#include "basic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUmodule sim_basic(void) {
  char *ptx = sim_read_file(SIM_TESTS_DIR "/kernels/basic.ptx");
  CUmodule module = sim_load(ptx);
  free(ptx);
  return module;
}

CUfunction sim_basic_kernel(const char *name) {
  return sim_kernel(sim_basic(), name);
}

ptxsim_reports sim_reports(void) {
  ptxsim_reports reports;
  cu.ptxsim_report(&reports);
  return reports;
}

void sim_expect_report(const char *text) {
  ptxsim_reports reports = sim_reports();
  if (strstr(reports.last, text) == NULL) fail_msg("no report says \"%s\"; the last is \"%s\"", text, reports.last);
}

void sim_add_one(CUfunction add_one, CUdeviceptr p, unsigned n, CUstream stream) {
  void *pointers[] = {&p, &n};
  MUST(cu.cuLaunchKernel(add_one, (n + 31) / 32, 1, 1, 32, 1, 1, 0, stream, pointers, NULL));
}

void sim_put(CUfunction put, CUdeviceptr p, unsigned value, CUstream stream) {
  void *pointers[] = {&p, &value};
  MUST(cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, stream, pointers, NULL));
}

unsigned sim_word(CUdeviceptr p) {
  unsigned value = 0;
  sim_download(&value, p, sizeof value);
  return value;
}
