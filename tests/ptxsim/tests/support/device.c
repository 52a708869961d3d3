/* device.c -- contexts, buffers, modules and launches for tests. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_must(int result, const char *text, const char *file, int line) {
  const char *name = NULL;
  ptxsim_reports reports;
  if (result == CUDA_SUCCESS) return;
  cu.cuGetErrorName(result, &name);
  cu.ptxsim_report(&reports);
  print_error("%s: %s\n%s\n", text, name == NULL ? "?" : name, reports.last);
  _fail(file, line);
}

void sim_fails(int wanted, int result, const char *text, const char *file, int line) {
  const char *name = NULL, *wanted_name = NULL;
  if (result == wanted) return;
  cu.cuGetErrorName(result, &name);
  cu.cuGetErrorName(wanted, &wanted_name);
  print_error("%s: %s, and should be %s\n", text, name == NULL ? "?" : name, wanted_name == NULL ? "?" : wanted_name);
  _fail(file, line);
}

void sim_quiet(void) {
  setenv("PTXSIM_LOG", "/dev/null", 1);
}

int sim_setup(void **state) {
  CUcontext context;
  if (cu.cuInit == NULL) {
    const char *why = sim_calls_load(SIM_LIBCUDA);
    if (why != NULL) {
      print_error("%s\n", why);
      return -1;
    }
  }
  MUST(cu.cuInit(0));
  cu.ptxsim_reset();
  MUST(cu.cuCtxCreate_v4(&context, NULL, 0, 0));
  *state = context;
  return 0;
}

int sim_teardown(void **state) {
  CUcontext left;
  int result = cu.cuCtxDestroy_v2(*state);
  while (cu.cuCtxGetCurrent(&left) == CUDA_SUCCESS && left != NULL) cu.cuCtxPopCurrent_v2(NULL);
  return result;
}

int sim_profile_sm(void) {
  int major = 0, minor = 0;
  MUST(cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  MUST(cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  return 10 * major + minor;
}

CUdeviceptr sim_buffer(size_t bytes) {
  CUdeviceptr address = 0;
  MUST(cu.cuMemAlloc_v2(&address, bytes));
  return address;
}

CUdeviceptr sim_upload(const void *data, size_t bytes) {
  CUdeviceptr address = sim_buffer(bytes);
  MUST(cu.cuMemcpyHtoD_v2(address, data, bytes));
  return address;
}

void sim_download(void *to, CUdeviceptr from, size_t bytes) {
  MUST(cu.cuMemcpyDtoH_v2(to, from, bytes));
}

CUmodule sim_load(const char *ptx) {
  CUmodule module = NULL;
  MUST(cu.cuModuleLoadData(&module, ptx));
  return module;
}

CUfunction sim_kernel(CUmodule module, const char *name) {
  CUfunction function = NULL;
  MUST(cu.cuModuleGetFunction(&function, module, name));
  return function;
}

int sim_run(CUfunction function, sim_shape shape, ...) {
  void *pointers[16];
  int n = 0;
  va_list args;
  va_start(args, shape);
  for (void *p; n < 16 && (p = va_arg(args, void *)) != NULL;) pointers[n++] = p;
  va_end(args);
  for (int i = 0; i < 3; i++) {
    if (shape.grid[i] == 0) shape.grid[i] = 1;
    if (shape.block[i] == 0) shape.block[i] = 1;
  }
  return cu.cuLaunchKernel(function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                           shape.block[2], shape.shared, NULL, pointers, NULL);
}

char *sim_read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  char *data = NULL;
  if (file == NULL) {
    fail_msg("%s cannot be read", path);
    return NULL;
  }
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  data = calloc(1, (size_t)size + 1);
  assert_non_null(data);
  assert_int_equal(fread(data, 1, (size_t)size, file), size);
  fclose(file);
  return data;
}
