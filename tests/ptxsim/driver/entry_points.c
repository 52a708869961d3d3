/* entry_points.c -- cuGetProcAddress: from a base name and a CUDA version to what this library exports. */
#include "call.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Names whose exported symbol is another one, with the CUDA version since which they mean that. */
static const struct {
  const char *name, *symbol;
  int since;
} versioned[] = {
    {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
    {"cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020},
    {"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 11000},
    {"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2", 11000},
    {"cuCtxCreate", "cuCtxCreate_v4", 12050},
    {"cuCtxDestroy", "cuCtxDestroy_v2", 4000},
    {"cuCtxPushCurrent", "cuCtxPushCurrent_v2", 4000},
    {"cuCtxPopCurrent", "cuCtxPopCurrent_v2", 4000},
    {"cuModuleGetGlobal", "cuModuleGetGlobal_v2", 3020},
    {"cuMemGetInfo", "cuMemGetInfo_v2", 3020},
    {"cuMemAlloc", "cuMemAlloc_v2", 3020},
    {"cuMemFree", "cuMemFree_v2", 3020},
    {"cuMemGetAddressRange", "cuMemGetAddressRange_v2", 3020},
    {"cuMemAllocHost", "cuMemAllocHost_v2", 3020},
    {"cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2", 3020},
    {"cuMemHostRegister", "cuMemHostRegister_v2", 6050},
    {"cuMemcpyHtoD", "cuMemcpyHtoD_v2", 3020},
    {"cuMemcpyDtoH", "cuMemcpyDtoH_v2", 3020},
    {"cuMemcpyDtoD", "cuMemcpyDtoD_v2", 3020},
    {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020},
    {"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", 3020},
    {"cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", 3020},
    {"cuMemsetD8", "cuMemsetD8_v2", 3020},
    {"cuMemsetD16", "cuMemsetD16_v2", 3020},
    {"cuMemsetD32", "cuMemsetD32_v2", 3020},
    {"cuStreamDestroy", "cuStreamDestroy_v2", 4000},
    {"cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010},
    {"cuEventDestroy", "cuEventDestroy_v2", 4000},
    {"cuEventElapsedTime", "cuEventElapsedTime_v2", 12080},
    {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000},
    {"cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams_v2", 12000},
    {"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
};
enum { N_VERSIONED = sizeof versioned / sizeof versioned[0] };

static void *own_symbol(const char *name) {
  static void *self;
  Dl_info info;
  if (self == NULL && dladdr((const void *)versioned, &info) != 0) self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  return self == NULL ? NULL : dlsym(self, name);
}

/* Its form for the thread's default stream, where there is one. */
static void *per_thread_symbol(const char *symbol) {
  char name[128];
  snprintf(name, sizeof name, "%s_ptsz", symbol);
  void *found = own_symbol(name);
  if (found != NULL) return found;
  snprintf(name, sizeof name, "%s_ptds", symbol);
  return own_symbol(name);
}

static void *find(const char *name, int version, uint64_t flags, CUdriverProcAddressQueryResult *status) {
  const char *symbol = name;
  *status = CU_GET_PROC_ADDRESS_SUCCESS;
  for (int i = 0; i < N_VERSIONED; i++) {
    if (strcmp(versioned[i].name, name) != 0) continue;
    symbol = versioned[i].symbol;
    if (version < versioned[i].since) {
      *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      return NULL;
    }
  }
  void *found = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 ? per_thread_symbol(symbol) : NULL;
  if (found == NULL) found = own_symbol(symbol);
  if (found == NULL) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return found;
}

/* The driver answers SUCCESS and NULL for a name that it has not; ptxsim fails, and says which name. */
SIM_CALL(SIM_ALWAYS, cuGetProcAddress_v2,
         (const char *name, void **out, int version, uint64_t flags, CUdriverProcAddressQueryResult *status),
         (name, out, version, flags, status)) {
  CUdriverProcAddressQueryResult found;
  if (name == NULL || out == NULL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the name or the address for the function is NULL");
  if (version > SIM_DRIVER_VERSION)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "version %d is newer than this driver's", version);
  if (flags > 2) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, must be 0, 1 or 2", (unsigned long long)flags);
  *out = find(name, version, flags, &found);
  if (status != NULL) *status = found;
  if (found == CU_GET_PROC_ADDRESS_SUCCESS) return CUDA_SUCCESS;
  if (found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) return sim_refuse(CUDA_ERROR_NOT_FOUND, "ptxsim has no %s", name);
  return sim_refuse(CUDA_ERROR_NOT_FOUND, "ptxsim has no %s as old as CUDA version %d", name, version);
}

/* The driver's undocumented tables. NVRTC opens libcuda.so.1 by name, asks for one, and does without; so this is no misuse. */
SIM_CALL(SIM_ALWAYS, cuGetExportTable, (const void **table, const CUuuid *id), (table, id)) {
  (void)id;
  if (table == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the table is NULL");
  *table = NULL;
  return CUDA_ERROR_NOT_FOUND;
}
