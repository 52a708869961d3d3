/* device_cuda_memory.c -- device memory, and copies that are complete when they return. */
#include "runtime/device_cuda.h"

/* The driver aligns to 256 bytes. */
rgt_status rgt__cuda_mem_alloc(rgt__device *d, size_t bytes, void **p, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  rgt__cuda_address address = 0;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  int result = c->api.cuMemAlloc_v2(&address, bytes > 0 ? bytes : 1);
  if (result == RGT_CUDA_SUCCESS)
    *p = (void *)(uintptr_t)address;
  else
    status = rgt__cuda_api_fail(&c->api, result, err, "cuMemAlloc_v2 of %zu bytes", bytes);
  rgt__cuda_leave(c, &scope);
  return status;
}

void rgt__cuda_mem_free(rgt__device *d, void *p) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  if (!p || rgt__cuda_enter(c, &scope, NULL) != RGT_OK) return;
  c->api.cuMemFree_v2(rgt__cuda_address_of(p));
  rgt__cuda_leave(c, &scope);
}

/* From pageable memory the copy returns when the bytes are staged, not when they are there: the wait is for those who go on in
 * a stream that is not ordered behind the one of the copy. */
rgt_status rgt__cuda_mem_write(rgt__device *d, void *to, const void *from_host, size_t bytes, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  if (bytes == 0) return RGT_OK;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  int result = c->api.cuMemcpyHtoD_v2(rgt__cuda_address_of(to), from_host, bytes);
  if (result != RGT_CUDA_SUCCESS)
    status = rgt__cuda_api_fail(&c->api, result, err, "cuMemcpyHtoD_v2 of %zu bytes", bytes);
  else if ((result = c->api.cuStreamSynchronize(NULL)) != RGT_CUDA_SUCCESS)
    status = rgt__cuda_api_fail(&c->api, result, err, "cuStreamSynchronize after a copy");
  rgt__cuda_leave(c, &scope);
  return status;
}

rgt_status rgt__cuda_mem_read(rgt__device *d, void *to_host, const void *from, size_t bytes, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  if (bytes == 0) return RGT_OK;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  int result = c->api.cuMemcpyDtoH_v2(to_host, rgt__cuda_address_of(from), bytes);
  if (result != RGT_CUDA_SUCCESS) status = rgt__cuda_api_fail(&c->api, result, err, "cuMemcpyDtoH_v2 of %zu bytes", bytes);
  rgt__cuda_leave(c, &scope);
  return status;
}

/* Memory of the host's that is registered, or managed, is known to the driver; what it does not know, it refuses to speak of.
 * Where that cannot be asked, every address may be right. */
int rgt__cuda_reaches(rgt__device *d, const void *p) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  unsigned type = 0;
  if (c->reads_pageable || !c->api.cuPointerGetAttribute) return 1;
  if (rgt__cuda_enter_quick(c, &scope, NULL) != RGT_OK) return 1;
  int result = c->api.cuPointerGetAttribute(&type, RGT_CUDA_POINTER_MEMORY_TYPE, rgt__cuda_address_of(p));
  rgt__cuda_leave(c, &scope);
  return result != RGT_CUDA_INVALID_VALUE;
}
