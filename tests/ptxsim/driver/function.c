/* function.c -- kernels of a module, and what they need. */
#include "call.h"
#include "capture.h"
#include "handles.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* PTX names virtual registers. Without a cubin the count is estimated from those alive at once, and what addresses and the
 * calling of the kernel take beside them. */
static int estimate_registers(const sim_function_facts *facts) {
  int registers = facts->virtual_registers + 8;
  if (registers > 255) registers = 255;
  if (facts->maxnreg > 0 && registers > facts->maxnreg) registers = facts->maxnreg;
  return registers;
}

static sim_function_object *function_new(sim_module_object *module, const sim_function *code) {
  sim_function_object *function = calloc(1, sizeof *function);
  if (function == NULL) return NULL;
  function->handle = sim_handle_new(SIM_KIND_FUNCTION, function);
  if (function->handle == NULL) {
    free(function);
    return NULL;
  }
  function->module = module;
  function->code = code;
  function->facts = sim_function_get_facts(code);
  function->cubin = sim_cubin_recall(function->facts->name);
  function->registers = function->cubin != NULL ? function->cubin->registers : estimate_registers(function->facts);
  if (module->max_registers > 0 && function->registers > module->max_registers) function->registers = module->max_registers;
  function->carveout = -1;
  int64_t room = module->context->device->model->profile.shared_static_max - function->facts->static_shared_bytes;
  function->max_dynamic_shared = (int)room;
  function->next = module->functions;
  module->functions = function;
  return function;
}

sim_function_object *sim_module_kernel(sim_module_object *module, const char *name, CUresult *result) {
  for (sim_function_object *f = module->functions; f != NULL; f = f->next)
    if (strcmp(f->facts->name, name) == 0) return f;
  const sim_function *code = sim_module_function(module->code, name);
  if (code == NULL) {
    *result = sim_refuse(CUDA_ERROR_NOT_FOUND, "the module has no kernel \"%s\"", name);
    return NULL;
  }
  sim_function_object *function = function_new(module, code);
  if (function == NULL) *result = CUDA_ERROR_OUT_OF_MEMORY;
  return function;
}

sim_function_object *sim_function_find(CUfunction handle, CUresult *result) {
  return sim_handle_find(handle, SIM_KIND_FUNCTION, result);
}

static const sim_model *model_of(const sim_function_object *function) {
  return function->module->context->device->model;
}

int sim_function_max_threads(const sim_function_object *function) {
  const sim_function_facts *facts = function->facts;
  int threads = sim_occupancy_max_threads(model_of(function), function->registers);
  const int *said = facts->reqntid[0] > 0 ? facts->reqntid : facts->maxntid;
  if (said[0] > 0) {
    int64_t product = (int64_t)said[0] * (said[1] > 0 ? said[1] : 1) * (said[2] > 0 ? said[2] : 1);
    if (product < threads) threads = (int)product;
  }
  return threads;
}

sim_block_needs sim_function_needs(const sim_function_object *function, int threads, int64_t dynamic_shared) {
  return (sim_block_needs){.threads = threads,
                           .registers = function->registers,
                           .shared_bytes = function->facts->static_shared_bytes + dynamic_shared};
}

/* ---- attributes
 * -------------------------------------------------------------------------------------------------------------------- */

static CUresult get_attribute(const sim_function_object *f, CUfunction_attribute attribute, int *value) {
  int suffix, target = sim_module_target(f->module->code, &suffix);
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = sim_function_max_threads(f);
    break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = (int)f->facts->static_shared_bytes;
    break;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = (int)(f->cubin != NULL ? f->cubin->stack_bytes : f->facts->local_bytes);
    break;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = f->registers;
    break;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    *value = target;
    break;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = model_of(f)->profile.cc_major * 10 + model_of(f)->profile.cc_minor;
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = f->max_dynamic_shared;
    break;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = f->carveout;
    break;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    *value = f->non_portable_cluster;
    break;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    *value = 0;
    break;
  default:
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "ptxsim has no function attribute %d", (int)attribute);
  }
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction handle),
         (value, attribute, handle)) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *function = sim_function_find(handle, &result);
  if (function == NULL) return result;
  if (value == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the value is NULL");
  return get_attribute(function, attribute, value);
}

static CUresult set_dynamic_shared(sim_function_object *f, int bytes) {
  int64_t most = model_of(f)->profile.shared_optin_max - f->facts->static_shared_bytes;
  if (bytes < 0 || bytes > most)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE,
                      "%s: %d bytes of dynamic shared memory; 0 to %lld are possible beside %u static bytes", f->facts->name,
                      bytes, (long long)most, f->facts->static_shared_bytes);
  f->max_dynamic_shared = bytes;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuFuncSetAttribute, (CUfunction handle, CUfunction_attribute attribute, int value),
         (handle, attribute, value)) {
  CUresult result = CUDA_SUCCESS;
  sim_function_object *function = sim_function_find(handle, &result);
  if (function == NULL) return result;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    return set_dynamic_shared(function, value);
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    if (value < -1 || value > 100)
      return sim_refuse(CUDA_ERROR_INVALID_VALUE, "a carveout of %d; -1 to 100 are possible", value);
    function->carveout = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    function->non_portable_cluster = value != 0;
    return CUDA_SUCCESS;
  default:
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "function attribute %d cannot be set", (int)attribute);
  }
}

SIM_CALL(SIM_CONTEXT, cuFuncSetCacheConfig, (CUfunction handle, int config), (handle, config)) {
  CUresult result = CUDA_SUCCESS;
  if (sim_function_find(handle, &result) == NULL) return result;
  return config >= 0 && config <= 3 ? CUDA_SUCCESS
                                    : sim_refuse(CUDA_ERROR_INVALID_VALUE, "cache configuration %d is unknown", config);
}

SIM_CALL(SIM_CONTEXT, cuFuncGetModule, (CUmodule * out, CUfunction handle), (out, handle)) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *function = sim_function_find(handle, &result);
  if (function == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the module is NULL");
  *out = function->module->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuFuncGetName, (const char **out, CUfunction handle), (out, handle)) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *function = sim_function_find(handle, &result);
  if (function == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the name is NULL");
  *out = function->facts->name;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuFuncGetParamInfo, (CUfunction handle, size_t i, size_t *offset, size_t *size),
         (handle, i, offset, size)) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *function = sim_function_find(handle, &result);
  if (function == NULL) return result;
  if (offset == NULL || i >= (size_t)function->facts->n_params) return CUDA_ERROR_INVALID_VALUE; /* how a program counts them */
  *offset = function->facts->param_offset[i];
  if (size != NULL) *size = function->facts->param_size[i];
  return CUDA_SUCCESS;
}

/* Loaded is every kernel from the start. */
SIM_CALL(SIM_CONTEXT, cuFuncLoad, (CUfunction handle), (handle)) {
  CUresult result = sim_capture_check_unsafe();
  if (result == CUDA_SUCCESS) sim_function_find(handle, &result);
  return result;
}

SIM_CALL(SIM_CONTEXT, cuFuncIsLoaded, (int *state, CUfunction handle), (state, handle)) {
  CUresult result = CUDA_SUCCESS;
  if (sim_function_find(handle, &result) == NULL) return result;
  if (state == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the state is NULL");
  *state = 1;
  return CUDA_SUCCESS;
}
