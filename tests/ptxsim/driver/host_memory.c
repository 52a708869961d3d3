/* host_memory.c -- cuMemAllocHost, cuMemHostAlloc, cuMemHostRegister and their opposites. Kernels see the memory at the address
 * that the host has for it. */
#include "host_memory.h"

#include "call.h"
#include "capture.h"
#include "stream.h"

#include <stdlib.h>

typedef struct locked {
  struct locked *next;
  sim_context *context;
  unsigned char *data;
  size_t bytes;
  unsigned flags;
  int registered; /* the program's own memory */
} locked;

static locked *all;

static uint64_t address_of(const void *p) {
  return (uint64_t)(uintptr_t)p;
}

static locked *find(const void *address) {
  for (locked *l = all; l != NULL; l = l->next)
    if (address_of(address) - address_of(l->data) < l->bytes) return l;
  return NULL;
}

int sim_host_memory_is_locked(const void *address) {
  return find(address) != NULL;
}

static CUresult add(void *data, size_t bytes, unsigned flags, int registered) {
  sim_context *context = sim_context_current();
  locked *l = malloc(sizeof *l);
  if (l == NULL || sim_memory_map(context->memory, data, bytes) != 0) {
    free(l);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *l = (locked){.next = all, .context = context, .data = data, .bytes = bytes, .flags = flags, .registered = registered};
  all = l;
  return CUDA_SUCCESS;
}

static void drop(locked *l) {
  locked **link = &all;
  while (*link != l) link = &(*link)->next;
  *link = l->next;
  if (l->context->memory != NULL) sim_memory_release(l->context->memory, address_of(l->data));
  if (!l->registered) free(l->data);
  free(l);
}

void sim_host_memory_drop(sim_context *context) {
  for (locked *l = all, *next; l != NULL; l = next) {
    next = l->next;
    if (l->context == context) drop(l);
  }
}

static CUresult alloc_host(void **out, size_t bytes, unsigned flags) {
  CUresult result = sim_capture_check_unsafe();
  if (result != CUDA_SUCCESS) return result;
  if (out == NULL || bytes == 0) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "0 bytes, or the address for the memory is NULL");
  size_t rounded = (bytes + 255) / 256 * 256;
  void *data = aligned_alloc(256, rounded);
  result = data == NULL ? CUDA_ERROR_OUT_OF_MEMORY : add(data, bytes, flags, 0);
  if (result == CUDA_SUCCESS)
    *out = data;
  else
    free(data);
  return result;
}

SIM_CALL(SIM_CONTEXT, cuMemAllocHost_v2, (void **out, size_t bytes), (out, bytes)) {
  return alloc_host(out, bytes, 0);
}

SIM_CALL(SIM_CONTEXT, cuMemHostAlloc, (void **out, size_t bytes, unsigned flags), (out, bytes, flags)) {
  if (flags > 7) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags 0x%x are unknown", flags);
  return alloc_host(out, bytes, flags);
}

/* The start of a locked range; work that may still touch it runs first. */
static CUresult find_start(const void *p, int registered, locked **out) {
  CUresult result = sim_capture_check_unsafe();
  *out = find(p);
  if (result != CUDA_SUCCESS) return result;
  if (*out == NULL || (*out)->data != p || (*out)->registered != registered)
    return sim_refuse(registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE,
                      "%p is not the start of host memory that was %s, or it was given back before", p,
                      registered ? "registered" : "allocated by the driver");
  return sim_context_run_all((*out)->context);
}

SIM_CALL(SIM_CONTEXT, cuMemFreeHost, (void *p), (p)) {
  locked *l = NULL;
  CUresult result = find_start(p, 0, &l);
  if (result == CUDA_SUCCESS) drop(l);
  return result;
}

SIM_CALL(SIM_CONTEXT, cuMemHostRegister_v2, (void *p, size_t bytes, unsigned flags), (p, bytes, flags)) {
  if (p == NULL || bytes == 0) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "0 bytes, or the memory is NULL");
  if (find(p) != NULL) return sim_refuse(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%p is page-locked already", p);
  return add(p, bytes, flags, 1);
}

SIM_CALL(SIM_CONTEXT, cuMemHostUnregister, (void *p), (p)) {
  locked *l = NULL;
  CUresult result = find_start(p, 1, &l);
  if (result == CUDA_SUCCESS) drop(l);
  return result;
}

SIM_CALL(SIM_CONTEXT, cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void *p, unsigned flags), (out, p, flags)) {
  if (out == NULL || flags != 0 || find(p) == NULL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%p is not page-locked, flags are not 0, or the address for the result is NULL",
                      p);
  *out = address_of(p);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuMemHostGetFlags, (unsigned *out, void *p), (out, p)) {
  const locked *l = find(p);
  if (out == NULL || l == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%p is not page-locked", p);
  *out = l->flags;
  return CUDA_SUCCESS;
}
