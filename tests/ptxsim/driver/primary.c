/* primary.c -- cuDevicePrimaryCtx*: one context of each device, shared by all that retain it. */
#include "call.h"
#include "context.h"
#include "stream.h"

SIM_CALL(SIM_INITIALISED, cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice device), (out, device)) {
  CUresult result = CUDA_SUCCESS;
  sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the context is NULL");
  if (d->primary == NULL) d->primary = sim_context_new(d, d->primary_flags);
  if (d->primary == NULL || (!d->primary->alive && !sim_context_fill(d->primary))) return CUDA_ERROR_OUT_OF_MEMORY;
  d->primary_uses++;
  *out = d->primary->handle;
  return CUDA_SUCCESS;
}

/* Its handle stays what it is: a later retain makes the same context anew. */
static void clear(sim_device *d) {
  if (d->primary == NULL || !d->primary->alive) return;
  if (d->primary->fault == CUDA_SUCCESS) sim_context_run_all(d->primary);
  sim_context_clear(d->primary);
}

SIM_CALL(SIM_INITIALISED, cuDevicePrimaryCtxRelease_v2, (CUdevice device), (device)) {
  CUresult result = CUDA_SUCCESS;
  sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  if (d->primary_uses == 0) return sim_refuse(CUDA_ERROR_INVALID_CONTEXT, "the primary context was not retained");
  if (--d->primary_uses == 0) clear(d);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDevicePrimaryCtxReset_v2, (CUdevice device), (device)) {
  CUresult result = CUDA_SUCCESS;
  sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  clear(d);
  if (d->primary_uses > 0 && !sim_context_fill(d->primary)) return CUDA_ERROR_OUT_OF_MEMORY;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags), (device, flags)) {
  CUresult result = CUDA_SUCCESS;
  sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags 0x%x are unknown", flags);
  d->primary_flags = flags;
  if (d->primary != NULL) d->primary->flags = flags;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active),
         (device, flags, active)) {
  CUresult result = CUDA_SUCCESS;
  const sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  if (flags != NULL) *flags = d->primary_flags;
  if (active != NULL) *active = d->primary_uses > 0;
  return CUDA_SUCCESS;
}
