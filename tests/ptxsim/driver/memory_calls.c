/* memory_calls.c -- device memory: alloc, free, what is known of an address. */
#include "call.h"
#include "capture.h"
#include "copy.h"
#include "host_memory.h"
#include "stream.h"

static CUresult alloc(CUdeviceptr *out, size_t bytes) {
  if (out == NULL || bytes == 0) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "0 bytes, or the address for the memory is NULL");
  uint64_t address = sim_memory_alloc(sim_context_current()->memory, bytes);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = address;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes), (out, bytes)) {
  CUresult result = sim_capture_check_unsafe();
  return result != CUDA_SUCCESS ? result : alloc(out, bytes);
}

static CUresult check_base(const sim_context *context, CUdeviceptr address) {
  const sim_allocation *a = sim_memory_find(context->memory, address);
  if (a == NULL || a->base != address || a->name != NULL || sim_host_memory_is_locked((const void *)(uintptr_t)address))
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is not the start of an allocation of this context", address);
  if (a->state == SIM_FREED) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx was freed before", address);
  return CUDA_SUCCESS;
}

/* The driver waits for all work before memory goes. */
SIM_CALL(SIM_CONTEXT, cuMemFree_v2, (CUdeviceptr address), (address)) {
  sim_context *context = sim_context_current();
  CUresult result = sim_capture_check_unsafe();
  if (result == CUDA_SUCCESS) result = check_base(context, address);
  if (result == CUDA_SUCCESS) result = sim_context_run_all(context);
  if (result == CUDA_SUCCESS && sim_memory_release(context->memory, address) != 0) result = CUDA_ERROR_INVALID_VALUE;
  return result;
}

/* The memory is there at once; only its end keeps the stream's order. */
SIM_CALL(SIM_CONTEXT, cuMemAllocAsync, (CUdeviceptr * out, size_t bytes, CUstream handle), (out, bytes, handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (stream->capture != NULL) return sim_capture_refuse(stream, "ptxsim does not capture allocations");
  result = sim_capture_check_use(stream);
  return result != CUDA_SUCCESS ? result : alloc(out, bytes);
}

SIM_CALL(SIM_CONTEXT, cuMemFreeAsync, (CUdeviceptr address, CUstream handle), (address, handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (stream->capture != NULL) return sim_capture_refuse(stream, "ptxsim does not capture the freeing of memory");
  result = sim_capture_check_use(stream);
  if (result == CUDA_SUCCESS) result = check_base(stream->context, address);
  if (result != CUDA_SUCCESS) return result;
  sim_work work = {.kind = SIM_WORK_RELEASE, .release = address};
  return sim_stream_put(stream, &work);
}

SIM_CALL(SIM_CONTEXT, cuMemGetInfo_v2, (size_t * free_bytes, size_t *total), (free_bytes, total)) {
  const sim_context *context = sim_context_current();
  if (free_bytes == NULL || total == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "an address for a size is NULL");
  *total = (size_t)context->memory_limit;
  *free_bytes = (size_t)context->memory_limit - (size_t)sim_memory_used(context->memory);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *bytes, CUdeviceptr address),
         (base, bytes, address)) {
  const sim_allocation *a = sim_memory_find(sim_context_current()->memory, address);
  if (a == NULL || a->state != SIM_LIVE) return sim_refuse(CUDA_ERROR_NOT_FOUND, "0x%llx lies in no allocation", address);
  if (base != NULL) *base = a->base;
  if (bytes != NULL) *bytes = a->bytes;
  return CUDA_SUCCESS;
}

/* ---- pointer attributes
 * ------------------------------------------------------------------------------------------------------------- */

static CUresult attribute_of(const sim_context *context, const sim_allocation *a, CUdeviceptr address, int attribute,
                             void *out) {
  int host = sim_host_memory_is_locked((const void *)(uintptr_t)address);
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    *(CUcontext *)out = context->handle;
    break;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *(unsigned *)out = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    break;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    *(CUdeviceptr *)out = address;
    break;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (!host) return CUDA_ERROR_INVALID_VALUE;
    *(void **)out = (void *)(uintptr_t)address;
    break;
  case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    *(unsigned long long *)out = a->base >> 8;
    break;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    *(unsigned char *)out = 0;
    break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *(int *)out = context->device->ordinal;
    break;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    *(CUdeviceptr *)out = a->base;
    break;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    *(size_t *)out = a->bytes;
    break;
  case CU_POINTER_ATTRIBUTE_MAPPED:
    *(unsigned char *)out = 1;
    break;
  default:
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "ptxsim has no pointer attribute %d", attribute);
  }
  return CUDA_SUCCESS;
}

/* A pointer that the driver does not know is a usual question: no report. */
SIM_CALL(SIM_CONTEXT, cuPointerGetAttribute, (void *out, CUpointer_attribute attribute, CUdeviceptr address),
         (out, attribute, address)) {
  const sim_context *context = sim_context_current();
  const sim_allocation *a = sim_memory_find(context->memory, address);
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the value is NULL");
  if (a == NULL || a->state != SIM_LIVE) return CUDA_ERROR_INVALID_VALUE;
  return attribute_of(context, a, address, (int)attribute, out);
}
