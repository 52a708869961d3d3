/* context_calls.c -- cuCtx*: create, destroy, current, limits, synchronise. */
#include "call.h"
#include "capture.h"
#include "context.h"
#include "handles.h"
#include "stream.h"
#include "thread_stack.h"

#include <stdlib.h>

static sim_context *find(CUcontext handle, CUresult *result) {
  sim_context *context = sim_handle_find(handle, SIM_KIND_CONTEXT, result);
  if (context == NULL || context->alive) return context;
  *result = sim_refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the primary context was released or reset");
  return NULL;
}

SIM_CALL(SIM_INITIALISED, cuCtxCreate_v4, (CUcontext * out, CUctxCreateParams *params, unsigned flags, CUdevice device),
         (out, params, flags, device)) {
  CUresult result = CUDA_SUCCESS;
  sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the context is NULL");
  if (params != NULL && (params->numExecAffinityParams != 0 || params->cigParams != NULL))
    return sim_refuse(CUDA_ERROR_NOT_SUPPORTED, "ptxsim has neither execution affinity nor graphics contexts");
  if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags 0x%x are unknown", flags);
  sim_context *context = sim_context_new(d, flags);
  if (context == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!sim_thread_stack_push(context->handle)) {
    sim_handle_end(context->handle);
    sim_context_clear(context);
    free(context);
    return sim_refuse(CUDA_ERROR_OUT_OF_MEMORY, "the stack of contexts is full");
  }
  *out = context->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuCtxDestroy_v2, (CUcontext handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_context *context = find(handle, &result);
  if (context == NULL) return result;
  if (context == context->device->primary)
    return sim_refuse(CUDA_ERROR_INVALID_CONTEXT, "a primary context is released, not destroyed");
  if (context->fault == CUDA_SUCCESS) sim_context_run_all(context);
  if (sim_thread_stack_top() == handle) sim_thread_stack_pop();
  sim_handle_end(handle);
  sim_context_clear(context);
  free(context);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuCtxPushCurrent_v2, (CUcontext handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  if (find(handle, &result) == NULL) return result;
  if (!sim_thread_stack_push(handle)) return sim_refuse(CUDA_ERROR_OUT_OF_MEMORY, "the stack of contexts is full");
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuCtxPopCurrent_v2, (CUcontext * out), (out)) {
  if (sim_thread_stack_top() == NULL) return sim_refuse(CUDA_ERROR_INVALID_CONTEXT, "the stack of contexts is empty");
  CUcontext top = sim_thread_stack_pop();
  if (out != NULL) *out = top;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuCtxSetCurrent, (CUcontext handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  if (handle != NULL && find(handle, &result) == NULL) return result;
  sim_thread_stack_set(handle);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuCtxGetCurrent, (CUcontext * out), (out)) {
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the context is NULL");
  *out = sim_thread_stack_top();
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuCtxGetDevice, (CUdevice * out), (out)) {
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the device is NULL");
  *out = sim_context_current()->device->ordinal;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuCtxGetFlags, (unsigned *out), (out)) {
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the flags is NULL");
  *out = sim_context_current()->flags;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuCtxGetId, (CUcontext handle, unsigned long long *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  const sim_context *context = find(handle == NULL ? sim_thread_stack_top() : handle, &result);
  if (context == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the id is NULL");
  *out = context->id;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuCtxGetApiVersion, (CUcontext handle, unsigned *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  if (find(handle == NULL ? sim_thread_stack_top() : handle, &result) == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the version is NULL");
  *out = SIM_DRIVER_VERSION;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuCtxSynchronize, (void), ()) {
  sim_context *context = sim_context_current();
  CUresult result = sim_capture_check_synchronise(context);
  return result != CUDA_SUCCESS ? result : sim_context_run_all(context);
}

SIM_CALL(SIM_CONTEXT, cuCtxGetStreamPriorityRange, (int *least, int *greatest), (least, greatest)) {
  if (least != NULL) *least = 0;
  if (greatest != NULL) *greatest = -5;
  return CUDA_SUCCESS;
}

static int has_limit(CUlimit limit) {
  return limit == CU_LIMIT_STACK_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE || limit == CU_LIMIT_MALLOC_HEAP_SIZE;
}

SIM_CALL(SIM_CONTEXT, cuCtxGetLimit, (size_t * out, CUlimit limit), (out, limit)) {
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the limit is NULL");
  if (!has_limit(limit)) return sim_refuse(CUDA_ERROR_UNSUPPORTED_LIMIT, "ptxsim has no limit %d", (int)limit);
  *out = sim_context_current()->limits[limit];
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value)) {
  if (!has_limit(limit)) return sim_refuse(CUDA_ERROR_UNSUPPORTED_LIMIT, "ptxsim has no limit %d", (int)limit);
  sim_context_current()->limits[limit] = value;
  return CUDA_SUCCESS;
}
