/* kernels.c -- compiling and loading test kernels, data. */
#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUmodule sim_compile(const char *name, const char *const *options) {
  char path[1024];
  CUmodule module = NULL;
  snprintf(path, sizeof path, "%s/kernels/%s.cu", SIM_TESTS_DIR, name);
  char *source = sim_read_file(path);
  sim_compiled compiled = sim_nvrtc_compile(source, path, sim_profile_sm(), options);
  free(source);
  FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadData(&module, compiled.cubin));
  MUST(cu.cuModuleLoadData(&module, compiled.ptx));
  sim_compiled_free(&compiled);
  return module;
}

void sim_expect_no_report(void) {
  ptxsim_reports reports;
  cu.ptxsim_report(&reports);
  if (reports.misuses + reports.findings + reports.faults == 0) return;
  fail_msg("a report on what is right: %s", reports.last);
}

uint32_t sim_random_bits(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

float sim_random(uint32_t *state) {
  return (float)(sim_random_bits(state) >> 8) * 0x1p-23f - 1.0f;
}

float *sim_random_floats(size_t n, uint32_t seed) {
  float *v = malloc((n + 1) * sizeof *v);
  uint32_t state = seed * 2654435761u + 1;
  assert_non_null(v);
  for (size_t i = 0; i < n; i++) v[i] = sim_random(&state);
  return v;
}

uint16_t sim_to_half(float v) {
  _Float16 h = (_Float16)v;
  uint16_t bits;
  memcpy(&bits, &h, sizeof bits);
  return bits;
}

float sim_from_half(uint16_t v) {
  _Float16 h;
  memcpy(&h, &v, sizeof h);
  return (float)h;
}

uint16_t sim_to_bf16(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  if (v != v) return 0x7fff;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float sim_from_bf16(uint16_t v) {
  uint32_t bits = (uint32_t)v << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

void sim_expect_close(double got, double wanted, double bound, const char *what, size_t i) {
  if (fabs(got - wanted) <= bound) return;
  fail_msg("%s[%zu] is %.9g, and should be %.9g within %.3g", what, i, got, wanted, bound);
}
