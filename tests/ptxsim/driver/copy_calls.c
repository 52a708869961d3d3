/* copy_calls.c -- cuMemcpy*, cuMemset*.
 *
 * Host memory that is not page-locked is read at the call, and written before the call returns, as the driver does; page-locked
 * memory is read and written when the copy's turn comes, so that a program that does not wait sees old data. */
#include "call.h"
#include "capture.h"
#include "copy.h"
#include "host_memory.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

static CUresult check(const sim_context *context, const sim_copy_work *c) {
  CUresult result = CUDA_SUCCESS;
  if (c->to_device != 0) result = sim_copy_check_device(context, c->to_device, c->bytes, "the destination");
  if (result == CUDA_SUCCESS && c->from_device != 0)
    result = sim_copy_check_device(context, c->from_device, c->bytes, "the source");
  return result;
}

static CUresult put(sim_stream *stream, const sim_copy_work *c) {
  sim_work work = {.kind = SIM_WORK_COPY, .copy = *c};
  return sim_stream_put(stream, &work);
}

/* In a capture nothing is read yet. */
static CUresult stage(const sim_stream *stream, sim_copy_work *c) {
  if (c->from_host == NULL || stream->capture != NULL || sim_host_memory_is_locked(c->from_host)) return CUDA_SUCCESS;
  c->staged = malloc(c->bytes);
  if (c->staged == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(c->staged, c->from_host, c->bytes);
  return CUDA_SUCCESS;
}

static CUresult start(const sim_copy_work *given, CUstream handle) {
  CUresult result = CUDA_SUCCESS;
  sim_copy_work c = *given;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  result = check(stream->context, &c);
  if (result == CUDA_SUCCESS) result = sim_capture_check_use(stream);
  if (result != CUDA_SUCCESS || c.bytes == 0) return result;
  result = stage(stream, &c);
  if (result == CUDA_SUCCESS) result = put(stream, &c);
  int waits = c.to_host != NULL && stream->capture == NULL && !sim_host_memory_is_locked(c.to_host);
  return result == CUDA_SUCCESS && waits ? sim_stream_run_all(stream) : result;
}

/* Between device addresses the host does not wait. */
static CUresult start_and_wait(const sim_copy_work *c) {
  sim_stream *legacy = sim_context_current()->legacy;
  int both = c->to_device != 0 && c->from_device != 0;
  CUresult result = check(legacy->context, c);
  if (result == CUDA_SUCCESS) result = both ? sim_capture_check_use(legacy) : sim_capture_check_wait(legacy);
  if (result != CUDA_SUCCESS || c->bytes == 0) return result;
  result = put(legacy, c);
  return result == CUDA_SUCCESS && !both ? sim_stream_run_all(legacy) : result;
}

static CUresult check_host(const void *p, size_t bytes) {
  return p == NULL && bytes > 0 ? sim_refuse(CUDA_ERROR_INVALID_VALUE, "the host's address is NULL") : CUDA_SUCCESS;
}

static CUresult check_not_zero(CUdeviceptr address, size_t bytes) {
  return address == 0 && bytes > 0 ? sim_refuse(CUDA_ERROR_INVALID_VALUE, "the device's address is 0") : CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes)) {
  CUresult result = check_host(from, bytes);
  if (result == CUDA_SUCCESS) result = check_not_zero(to, bytes);
  return result != CUDA_SUCCESS ? result : start_and_wait(&(sim_copy_work){.to_device = to, .from_host = from, .bytes = bytes});
}

SIM_CALL(SIM_CONTEXT, cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes)) {
  CUresult result = check_host(to, bytes);
  if (result == CUDA_SUCCESS) result = check_not_zero(from, bytes);
  return result != CUDA_SUCCESS ? result : start_and_wait(&(sim_copy_work){.to_host = to, .from_device = from, .bytes = bytes});
}

SIM_CALL(SIM_CONTEXT, cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes)) {
  CUresult result = check_not_zero(to, bytes);
  if (result == CUDA_SUCCESS) result = check_not_zero(from, bytes);
  return result != CUDA_SUCCESS ? result
                                : start_and_wait(&(sim_copy_work){.to_device = to, .from_device = from, .bytes = bytes});
}

SIM_CALL(SIM_CONTEXT, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
         (to, from, bytes, stream)) {
  CUresult result = check_host(from, bytes);
  if (result == CUDA_SUCCESS) result = check_not_zero(to, bytes);
  return result != CUDA_SUCCESS ? result : start(&(sim_copy_work){.to_device = to, .from_host = from, .bytes = bytes}, stream);
}

SIM_CALL(SIM_CONTEXT, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
         (to, from, bytes, stream)) {
  CUresult result = check_host(to, bytes);
  if (result == CUDA_SUCCESS) result = check_not_zero(from, bytes);
  return result != CUDA_SUCCESS ? result : start(&(sim_copy_work){.to_host = to, .from_device = from, .bytes = bytes}, stream);
}

SIM_CALL(SIM_CONTEXT, cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
         (to, from, bytes, stream)) {
  CUresult result = check_not_zero(to, bytes);
  if (result == CUDA_SUCCESS) result = check_not_zero(from, bytes);
  return result != CUDA_SUCCESS ? result
                                : start(&(sim_copy_work){.to_device = to, .from_device = from, .bytes = bytes}, stream);
}

/* Of unified addresses: the device's where it has an allocation there, else the host's. */
static sim_copy_work sort_out(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  const sim_memory *memory = sim_context_current()->memory;
  sim_copy_work c = {.bytes = bytes};
  if (sim_memory_find(memory, to) != NULL)
    c.to_device = to;
  else
    c.to_host = (void *)(uintptr_t)to;
  if (sim_memory_find(memory, from) != NULL)
    c.from_device = from;
  else
    c.from_host = (const void *)(uintptr_t)from;
  return c;
}

SIM_CALL(SIM_CONTEXT, cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes)) {
  sim_copy_work c = sort_out(to, from, bytes);
  if (c.to_device == 0 && c.from_device == 0)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "neither address is known to the device");
  return start_and_wait(&c);
}

SIM_CALL(SIM_CONTEXT, cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
         (to, from, bytes, stream)) {
  sim_copy_work c = sort_out(to, from, bytes);
  if (c.to_device == 0 && c.from_device == 0)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "neither address is known to the device");
  return start(&c, stream);
}

/* ---- memset: the host never waits for it
 * -------------------------------------------------------------------------------------------- */

static CUresult fill(CUdeviceptr to, uint32_t value, int unit_bytes, size_t units, CUstream handle) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (to % (unsigned)unit_bytes != 0)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is no multiple of %d bytes", to, unit_bytes);
  result = sim_copy_check_device(stream->context, to, units * (size_t)unit_bytes, "the destination");
  if (result == CUDA_SUCCESS) result = sim_capture_check_use(stream);
  if (result != CUDA_SUCCESS || units == 0) return result;
  sim_work work = {.kind = SIM_WORK_FILL, .fill = {.to = to, .units = units, .value = value, .unit_bytes = unit_bytes}};
  return sim_stream_put(stream, &work);
}

SIM_CALL(SIM_CONTEXT, cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t n), (to, value, n)) {
  return fill(to, value, 1, n, NULL);
}

SIM_CALL(SIM_CONTEXT, cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t n), (to, value, n)) {
  return fill(to, value, 2, n, NULL);
}

SIM_CALL(SIM_CONTEXT, cuMemsetD32_v2, (CUdeviceptr to, unsigned value, size_t n), (to, value, n)) {
  return fill(to, value, 4, n, NULL);
}

SIM_CALL(SIM_CONTEXT, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t n, CUstream stream),
         (to, value, n, stream)) {
  return fill(to, value, 1, n, stream);
}

SIM_CALL(SIM_CONTEXT, cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t n, CUstream stream),
         (to, value, n, stream)) {
  return fill(to, value, 2, n, stream);
}

SIM_CALL(SIM_CONTEXT, cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t n, CUstream stream), (to, value, n, stream)) {
  return fill(to, value, 4, n, stream);
}
