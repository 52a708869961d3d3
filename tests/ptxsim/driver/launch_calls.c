/* launch_calls.c -- cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel: from pointers to a packed block of parameters.
 */
#include "call.h"
#include "capture.h"
#include "launch.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* Each parameter from its own address. */
static CUresult pack_pointers(const sim_function_facts *facts, void *const *pointers, unsigned char *params) {
  for (int i = 0; i < facts->n_params; i++) {
    if (pointers[i] == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: parameter %d is NULL", facts->name, i);
    memcpy(params + facts->param_offset[i], pointers[i], facts->param_size[i]);
  }
  return CUDA_SUCCESS;
}

/* All of them in one buffer: pairs of a word and a value, up to CU_LAUNCH_PARAM_END. */
static CUresult pack_buffer(const sim_function_facts *facts, void *const *extra, unsigned char *params) {
  const void *buffer = NULL;
  size_t bytes = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      memcpy(&bytes, extra[1], sizeof bytes);
    else
      return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: `extra` has an unknown word", facts->name);
  }
  if (buffer == NULL || bytes < facts->param_bytes)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: a buffer of %zu bytes for parameters of %u bytes", facts->name,
                      buffer == NULL ? 0 : bytes, facts->param_bytes);
  memcpy(params, buffer, facts->param_bytes);
  return CUDA_SUCCESS;
}

static CUresult pack(const sim_function_object *f, void *const *pointers, void *const *extra, sim_kernel_work *k) {
  const sim_function_facts *facts = f->facts;
  if (pointers != NULL && extra != NULL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: both kernelParams and extra are given", facts->name);
  if (facts->n_params > 0 && pointers == NULL && extra == NULL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: it has %d parameters; none are given", facts->name, facts->n_params);
  k->param_bytes = facts->param_bytes;
  k->params = calloc(1, k->param_bytes + 1);
  if (k->params == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  if (facts->n_params == 0) return CUDA_SUCCESS;
  return pointers != NULL ? pack_pointers(facts, pointers, k->params) : pack_buffer(facts, extra, k->params);
}

static CUresult launch(sim_kernel_work *k, CUstream stream_handle, void *const *pointers, void *const *extra) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *f = sim_function_find(k->function, &result);
  sim_stream *stream = f == NULL ? NULL : sim_stream_find(stream_handle, &result);
  if (stream == NULL) return result;
  if (f->module->context != stream->context)
    return sim_refuse(CUDA_ERROR_INVALID_HANDLE, "%s is of another context than the stream", f->facts->name);
  result = sim_launch_check(f, k);
  if (result == CUDA_SUCCESS) result = sim_capture_check_use(stream);
  if (result == CUDA_SUCCESS) result = pack(f, pointers, extra, k);
  if (result != CUDA_SUCCESS) {
    free(k->params);
    return result;
  }
  sim_work work = {.kind = SIM_WORK_KERNEL, .kernel = *k};
  return sim_stream_put(stream, &work);
}

SIM_CALL(SIM_CONTEXT, cuLaunchKernel,
         (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
          unsigned block_z, unsigned shared, CUstream stream, void **pointers, void **extra),
         (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, pointers, extra)) {
  sim_kernel_work k = {
      .function = function, .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .dynamic_shared = shared};
  return launch(&k, stream, pointers, extra);
}

SIM_CALL(SIM_CONTEXT, cuLaunchCooperativeKernel,
         (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
          unsigned block_z, unsigned shared, CUstream stream, void **pointers),
         (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, pointers)) {
  sim_kernel_work k = {.function = function,
                       .grid = {grid_x, grid_y, grid_z},
                       .block = {block_x, block_y, block_z},
                       .dynamic_shared = shared,
                       .cooperative = 1};
  return launch(&k, stream, pointers, NULL);
}

/* Attributes that change no result are accepted; an unknown one is refused, by its number. */
static CUresult read_attribute(const CUlaunchAttribute *attribute, sim_kernel_work *k) {
  switch (attribute->id) {
  case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    k->cooperative = attribute->value.integer;
    break;
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    memcpy(k->cluster, attribute->value.cluster, sizeof k->cluster);
    break;
  case CU_LAUNCH_ATTRIBUTE_IGNORE:
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
  case CU_LAUNCH_ATTRIBUTE_PRIORITY:
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    break;
  case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    if (attribute->value.integer == 0) break;
    return sim_refuse(CUDA_ERROR_NOT_SUPPORTED, "ptxsim has no programmatic dependent launch");
  default:
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "ptxsim has no launch attribute %d", attribute->id);
  }
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **pointers, void **extra),
         (config, function, pointers, extra)) {
  if (config == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the configuration is NULL");
  if (config->numAttrs > 0 && config->attrs == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the attributes are NULL");
  sim_kernel_work k = {.function = function,
                       .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                       .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                       .dynamic_shared = config->sharedMemBytes};
  CUresult result = CUDA_SUCCESS;
  for (unsigned i = 0; i < config->numAttrs && result == CUDA_SUCCESS; i++) result = read_attribute(&config->attrs[i], &k);
  return result != CUDA_SUCCESS ? result : launch(&k, config->hStream, pointers, extra);
}
