/* module_calls.c -- cuModule*: load, unload, functions, variables. */
#include "call.h"
#include "capture.h"
#include "handles.h"
#include "module.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t number_of(void *value) {
  return (size_t)(uintptr_t)value;
}

/* Options without influence on what is simulated are accepted; one that would change the code is not. */
static CUresult read_option(CUjit_option option, void **value, sim_load_options *out) {
  switch (option) {
  case CU_JIT_INFO_LOG_BUFFER:
    out->info = *value;
    break;
  case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
    out->info_bytes = number_of(*value);
    break;
  case CU_JIT_ERROR_LOG_BUFFER:
    out->error = *value;
    break;
  case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
    out->error_bytes = number_of(*value);
    break;
  case CU_JIT_MAX_REGISTERS:
    out->max_registers = (int)number_of(*value);
    break;
  case CU_JIT_WALL_TIME:
  case CU_JIT_OPTIMIZATION_LEVEL:
  case CU_JIT_TARGET_FROM_CUCONTEXT:
  case CU_JIT_FALLBACK_STRATEGY:
  case CU_JIT_GENERATE_DEBUG_INFO:
  case CU_JIT_LOG_VERBOSE:
  case CU_JIT_GENERATE_LINE_INFO:
  case CU_JIT_CACHE_MODE:
    break;
  default:
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "ptxsim has no load option %d", (int)option);
  }
  return CUDA_SUCCESS;
}

/* The sizes come back as what was written. */
static void write_back(unsigned n, const CUjit_option *options, void **values, const sim_load_options *found) {
  for (unsigned i = 0; i < n; i++) {
    size_t written = 0;
    if (options[i] == CU_JIT_WALL_TIME) {
      float none = 0;
      memcpy(&values[i], &none, sizeof none);
      continue;
    }
    if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES && found->info != NULL)
      written = strnlen(found->info, found->info_bytes);
    else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES && found->error != NULL)
      written = strnlen(found->error, found->error_bytes);
    else
      continue;
    values[i] = (void *)(uintptr_t)written;
  }
}

static CUresult load(CUmodule *out, const void *image, unsigned n, const CUjit_option *options, void **values) {
  sim_load_options found = {0};
  CUresult result = sim_capture_check_unsafe();
  if (result != CUDA_SUCCESS) return result;
  if (out == NULL || image == NULL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the image or the address for the module is NULL");
  if (n > 0 && (options == NULL || values == NULL)) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the options are NULL");
  for (unsigned i = 0; i < n && result == CUDA_SUCCESS; i++) result = read_option(options[i], &values[i], &found);
  if (result != CUDA_SUCCESS) return result;
  if (found.info != NULL && found.info_bytes > 0) found.info[0] = '\0';
  if (found.error != NULL && found.error_bytes > 0) found.error[0] = '\0';
  sim_module_object *module = sim_module_load(sim_context_current(), image, &found, &result);
  write_back(n, options, values, &found);
  if (module == NULL) return result;
  *out = module->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuModuleLoadData, (CUmodule * out, const void *image), (out, image)) {
  return load(out, image, 0, NULL, NULL);
}

SIM_CALL(SIM_CONTEXT, cuModuleLoadDataEx, (CUmodule * out, const void *image, unsigned n, CUjit_option *options, void **values),
         (out, image, n, options, values)) {
  return load(out, image, n, options, values);
}

/* The whole file and a NUL behind it. NULL: it cannot be read. */
static char *read_file(const char *path) {
  FILE *file = fopen(path, "rbe");
  if (file == NULL) return NULL;
  char *data = NULL;
  long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) data = calloc(1, (size_t)size + 1);
  if (data != NULL && fread(data, 1, (size_t)size, file) != (size_t)size) {
    free(data);
    data = NULL;
  }
  fclose(file);
  return data;
}

SIM_CALL(SIM_CONTEXT, cuModuleLoad, (CUmodule * out, const char *path), (out, path)) {
  if (path == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the path is NULL");
  char *image = read_file(path);
  if (image == NULL) return sim_refuse(CUDA_ERROR_FILE_NOT_FOUND, "%s cannot be read", path);
  CUresult result = load(out, image, 0, NULL, NULL);
  free(image);
  return result;
}

SIM_CALL(SIM_CONTEXT, cuModuleUnload, (CUmodule handle), (handle)) {
  CUresult result = sim_capture_check_unsafe();
  sim_module_object *module = result != CUDA_SUCCESS ? NULL : sim_handle_find(handle, SIM_KIND_MODULE, &result);
  if (module == NULL) return result;
  result = sim_context_run_all(module->context);
  sim_module_unload(module);
  return result;
}

SIM_CALL(SIM_CONTEXT, cuModuleGetFunction, (CUfunction * out, CUmodule handle, const char *name), (out, handle, name)) {
  CUresult result = CUDA_SUCCESS;
  sim_module_object *module = sim_handle_find(handle, SIM_KIND_MODULE, &result);
  if (module == NULL) return result;
  if (out == NULL || name == NULL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the name or the address for the function is NULL");
  const sim_function_object *function = sim_module_kernel(module, name, &result);
  if (function == NULL) return result;
  *out = function->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuModuleGetFunctionCount, (unsigned *count, CUmodule handle), (count, handle)) {
  CUresult result = CUDA_SUCCESS;
  const sim_module_object *module = sim_handle_find(handle, SIM_KIND_MODULE, &result);
  if (module == NULL) return result;
  if (count == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the count is NULL");
  *count = (unsigned)sim_module_function_count(module->code);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuModuleGetGlobal_v2, (CUdeviceptr * address, size_t *bytes, CUmodule handle, const char *name),
         (address, bytes, handle, name)) {
  CUresult result = CUDA_SUCCESS;
  const sim_module_object *module = sim_handle_find(handle, SIM_KIND_MODULE, &result);
  uint64_t found = 0, size = 0;
  if (module == NULL) return result;
  if (name == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the name is NULL");
  if (sim_module_global(module->code, name, &found, &size) != 0)
    return sim_refuse(CUDA_ERROR_NOT_FOUND, "the module has no variable \"%s\"", name);
  if (address != NULL) *address = found;
  if (bytes != NULL) *bytes = size;
  return CUDA_SUCCESS;
}
