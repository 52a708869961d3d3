/* cuda_calls.h -- the driver's calls, loaded by dlopen from the libcuda.so.1 under test, as a program loads them. */
#ifndef SIM_TESTS_CUDA_CALLS_H
#define SIM_TESTS_CUDA_CALLS_H

#include "driver/cuda_types.h"
#include "ptxsim.h"

/* X(name, parameters): symbols as cuda.h 13.0 maps them */
#define SIM_TEST_CALLS(X)                                                                                                    \
  X(cuInit, (unsigned))                                                                                                      \
  X(cuDriverGetVersion, (int *))                                                                                             \
  X(cuGetErrorName, (int, const char **))                                                                                    \
  X(cuGetErrorString, (int, const char **))                                                                                  \
  X(cuDeviceGetCount, (int *))                                                                                               \
  X(cuDeviceGet, (CUdevice *, int))                                                                                          \
  X(cuDeviceGetName, (char *, int, CUdevice))                                                                                \
  X(cuDeviceGetUuid_v2, (CUuuid *, CUdevice))                                                                                \
  X(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                                                               \
  X(cuDeviceGetAttribute, (int *, int, CUdevice))                                                                            \
  X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                                                       \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                                                \
  X(cuDevicePrimaryCtxReset_v2, (CUdevice))                                                                                  \
  X(cuDevicePrimaryCtxGetState, (CUdevice, unsigned *, int *))                                                               \
  X(cuCtxCreate_v4, (CUcontext *, CUctxCreateParams *, unsigned, CUdevice))                                                  \
  X(cuCtxDestroy_v2, (CUcontext))                                                                                            \
  X(cuCtxPushCurrent_v2, (CUcontext))                                                                                        \
  X(cuCtxPopCurrent_v2, (CUcontext *))                                                                                       \
  X(cuCtxSetCurrent, (CUcontext))                                                                                            \
  X(cuCtxGetCurrent, (CUcontext *))                                                                                          \
  X(cuCtxGetDevice, (CUdevice *))                                                                                            \
  X(cuCtxSynchronize, (void))                                                                                                \
  X(cuCtxGetLimit, (size_t *, int))                                                                                          \
  X(cuCtxSetLimit, (int, size_t))                                                                                            \
  X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                                                  \
  X(cuMemFree_v2, (CUdeviceptr))                                                                                             \
  X(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream))                                                                      \
  X(cuMemFreeAsync, (CUdeviceptr, CUstream))                                                                                 \
  X(cuMemAllocHost_v2, (void **, size_t))                                                                                    \
  X(cuMemHostAlloc, (void **, size_t, unsigned))                                                                             \
  X(cuMemFreeHost, (void *))                                                                                                 \
  X(cuMemGetInfo_v2, (size_t *, size_t *))                                                                                   \
  X(cuMemGetAddressRange_v2, (CUdeviceptr *, size_t *, CUdeviceptr))                                                         \
  X(cuPointerGetAttribute, (void *, int, CUdeviceptr))                                                                       \
  X(cuMemcpy, (CUdeviceptr, CUdeviceptr, size_t))                                                                            \
  X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                                                    \
  X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                                                          \
  X(cuMemcpyDtoD_v2, (CUdeviceptr, CUdeviceptr, size_t))                                                                     \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))                                                     \
  X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))                                                           \
  X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                                      \
  X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))                                                                     \
  X(cuMemsetD16_v2, (CUdeviceptr, unsigned short, size_t))                                                                   \
  X(cuMemsetD32_v2, (CUdeviceptr, unsigned, size_t))                                                                         \
  X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                                                         \
  X(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))                                                             \
  X(cuStreamCreate, (CUstream *, unsigned))                                                                                  \
  X(cuStreamCreateWithPriority, (CUstream *, unsigned, int))                                                                 \
  X(cuStreamDestroy_v2, (CUstream))                                                                                          \
  X(cuStreamSynchronize, (CUstream))                                                                                         \
  X(cuStreamQuery, (CUstream))                                                                                               \
  X(cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                                                        \
  X(cuStreamGetCtx, (CUstream, CUcontext *))                                                                                 \
  X(cuStreamBeginCapture_v2, (CUstream, int))                                                                                \
  X(cuStreamEndCapture, (CUstream, CUgraph *))                                                                               \
  X(cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus *))                                                                \
  X(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *))                                                              \
  X(cuLaunchHostFunc, (CUstream, CUhostFn, void *))                                                                          \
  X(cuEventCreate, (CUevent *, unsigned))                                                                                    \
  X(cuEventDestroy_v2, (CUevent))                                                                                            \
  X(cuEventRecord, (CUevent, CUstream))                                                                                      \
  X(cuEventQuery, (CUevent))                                                                                                 \
  X(cuEventSynchronize, (CUevent))                                                                                           \
  X(cuEventElapsedTime_v2, (float *, CUevent, CUevent))                                                                      \
  X(cuGraphCreate, (CUgraph *, unsigned))                                                                                    \
  X(cuGraphDestroy, (CUgraph))                                                                                               \
  X(cuGraphGetNodes, (CUgraph, CUgraphNode *, size_t *))                                                                     \
  X(cuGraphNodeGetType, (CUgraphNode, CUgraphNodeType *))                                                                    \
  X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))                                               \
  X(cuGraphLaunch, (CUgraphExec, CUstream))                                                                                  \
  X(cuGraphExecDestroy, (CUgraphExec))                                                                                       \
  X(cuModuleLoadData, (CUmodule *, const void *))                                                                            \
  X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, CUjit_option *, void **))                                       \
  X(cuModuleUnload, (CUmodule))                                                                                              \
  X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                                             \
  X(cuModuleGetGlobal_v2, (CUdeviceptr *, size_t *, CUmodule, const char *))                                                 \
  X(cuLibraryLoadData, (CUlibrary *, const void *, const CUjit_option *, void **, unsigned, const int *, void **, unsigned)) \
  X(cuLibraryUnload, (CUlibrary))                                                                                            \
  X(cuLibraryGetKernel, (CUkernel *, CUlibrary, const char *))                                                               \
  X(cuFuncGetAttribute, (int *, int, CUfunction))                                                                            \
  X(cuFuncSetAttribute, (CUfunction, int, int))                                                                              \
  X(cuLaunchKernel,                                                                                                          \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))          \
  X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **))                                                \
  X(cuLaunchCooperativeKernel,                                                                                               \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **))                   \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, CUfunction, int, size_t))                                           \
  X(cuOccupancyMaxPotentialBlockSize, (int *, int *, CUfunction, CUoccupancyB2DSize, size_t, int))                           \
  X(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, CUdriverProcAddressQueryResult *))                           \
  X(cuGetExportTable, (const void **, const CUuuid *))                                                                       \
  X(ptxsim_last_launch, (ptxsim_launches *))                                                                                 \
  X(ptxsim_total, (const char *, ptxsim_launches *))

typedef struct sim_calls {
#define SIM_TEST_MEMBER(name, parameters) int(*name) parameters;
  SIM_TEST_CALLS(SIM_TEST_MEMBER)
#undef SIM_TEST_MEMBER
  void (*ptxsim_report)(ptxsim_reports *);
  void (*ptxsim_reset)(void);
  int (*ptxsim_counter)(int, const sim_counters *, const char **, const char **, uint64_t *);
} sim_calls;

extern sim_calls cu;

/* sim_calls_load -- fills cu from the library at `path`. NULL, or why not. */
const char *sim_calls_load(const char *path);

#endif
