/* names.h -- what is compared between cuda.h and driver/cuda_types.h: constants, sizes, and the symbols behind the names of
 * calls. */
#define INTERFACE_CONSTANTS(X)                                                                                                  \
  X(CUDA_ERROR_INVALID_VALUE)                                                                                                   \
  X(CUDA_ERROR_OUT_OF_MEMORY)                                                                                                   \
  X(CUDA_ERROR_NOT_INITIALIZED)                                                                                                 \
  X(CUDA_ERROR_NO_DEVICE) X(CUDA_ERROR_INVALID_DEVICE) X(CUDA_ERROR_INVALID_IMAGE) X(CUDA_ERROR_INVALID_CONTEXT) X(             \
      CUDA_ERROR_NO_BINARY_FOR_GPU) X(CUDA_ERROR_UNSUPPORTED_LIMIT) X(CUDA_ERROR_INVALID_PTX)                                   \
      X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION) X(CUDA_ERROR_FILE_NOT_FOUND) X(CUDA_ERROR_INVALID_HANDLE) X(                        \
          CUDA_ERROR_ILLEGAL_STATE) X(CUDA_ERROR_NOT_FOUND) X(CUDA_ERROR_NOT_READY) X(CUDA_ERROR_ILLEGAL_ADDRESS)               \
          X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) X(CUDA_ERROR_LAUNCH_TIMEOUT) X(CUDA_ERROR_CONTEXT_IS_DESTROYED) X(              \
              CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)                               \
              X(CUDA_ERROR_HARDWARE_STACK_ERROR) X(CUDA_ERROR_ILLEGAL_INSTRUCTION) X(CUDA_ERROR_MISALIGNED_ADDRESS) X(          \
                  CUDA_ERROR_INVALID_PC) X(CUDA_ERROR_LAUNCH_FAILED) X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)                 \
                  X(CUDA_ERROR_NOT_PERMITTED) X(CUDA_ERROR_NOT_SUPPORTED) X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) X(           \
                      CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) X(CUDA_ERROR_STREAM_CAPTURE_MERGE)                                 \
                      X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED) X(                           \
                          CUDA_ERROR_STREAM_CAPTURE_ISOLATION) X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)                            \
                          X(CUDA_ERROR_CAPTURED_EVENT) X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) X(                             \
                              CUDA_ERROR_INVALID_CLUSTER_SIZE) X(CU_STREAM_NON_BLOCKING) X(CU_EVENT_DISABLE_TIMING)             \
                              X(CU_CTX_FLAGS_MASK) X(CU_MEMHOSTALLOC_DEVICEMAP) X(CU_MEMORYTYPE_HOST) X(                        \
                                  CU_MEMORYTYPE_DEVICE) X(CU_STREAM_CAPTURE_MODE_RELAXED)                                       \
                                  X(CU_STREAM_CAPTURE_STATUS_INVALIDATED) X(CU_LIMIT_MALLOC_HEAP_SIZE) X(                       \
                                      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) X(CU_FUNC_ATTRIBUTE_NUM_REGS)            \
                                      X(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) X(CU_JIT_ERROR_LOG_BUFFER) X(   \
                                          CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) X(CU_JIT_LOG_VERBOSE) X(CU_JIT_GENERATE_LINE_INFO) \
                                          X(CU_JIT_CACHE_MODE) X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE) X(                           \
                                              CU_POINTER_ATTRIBUTE_RANGE_SIZE) X(CU_POINTER_ATTRIBUTE_MAPPED)                   \
                                              X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE) X(    \
                                                  CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)                         \
                                                  X(CU_GRAPH_NODE_TYPE_MEMSET) X(CU_GRAPH_NODE_TYPE_EMPTY) X(                   \
                                                      CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)                            \
                                                      X(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT) X(                          \
                                                          CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)                             \
                                                          X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) X(                               \
                                                              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)            \
                                                              X(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) X(        \
                                                                  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)            \
                                                                  X(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) X(                      \
                                                                      CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED)          \
                                                                      X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) X(        \
                                                                          CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)

#define INTERFACE_SIZES(X)                                                                                   \
  X(sizeof(CUlaunchConfig))                                                                                  \
  X(sizeof(CUlaunchAttribute))                                                                               \
  X(sizeof(CUDA_KERNEL_NODE_PARAMS))                                                                         \
  X(sizeof(CUuuid)) X(sizeof(CUctxCreateParams)) X(sizeof(CUdeviceptr)) X(offsetof(CUlaunchConfig, hStream)) \
      X(offsetof(CUlaunchConfig, numAttrs)) X(offsetof(CUlaunchAttribute, value))                            \
          X(offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams)) X(offsetof(CUDA_KERNEL_NODE_PARAMS, ctx))

#define INTERFACE_CALLS(X)                                                                                                     \
  X(cuInit)                                                                                                                    \
  X(cuDriverGetVersion)                                                                                                        \
  X(cuGetErrorName)                                                                                                            \
  X(cuGetErrorString) X(cuGetProcAddress) X(cuGetExportTable) X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(         \
      cuDeviceGetUuid) X(cuDeviceTotalMem) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)    \
      X(cuDevicePrimaryCtxReset) X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxSetFlags) X(cuCtxCreate) X(cuCtxDestroy) X( \
          cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxGetFlags)        \
          X(cuCtxSynchronize) X(cuCtxGetLimit) X(cuCtxSetLimit) X(cuMemAlloc) X(cuMemFree) X(cuMemAllocAsync) X(               \
              cuMemFreeAsync) X(cuMemAllocHost) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostUnregister) \
              X(cuMemHostGetDevicePointer) X(cuMemGetInfo) X(cuMemGetAddressRange) X(cuPointerGetAttribute) X(cuMemcpy) X(     \
                  cuMemcpyAsync) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoD) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync)     \
                  X(cuMemcpyDtoDAsync) X(cuMemsetD8) X(cuMemsetD16) X(cuMemsetD32) X(cuMemsetD8Async) X(cuMemsetD16Async) X(   \
                      cuMemsetD32Async) X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy)                     \
                      X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamWaitEvent) X(cuStreamGetCtx) X(cuStreamIsCapturing) X( \
                          cuStreamBeginCapture) X(cuStreamEndCapture) X(cuThreadExchangeStreamCaptureMode) X(cuLaunchHostFunc) \
                          X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize)            \
                              X(cuEventElapsedTime) X(cuGraphCreate) X(cuGraphDestroy)                                         \
                                  X(cuGraphGetNodes) X(cuGraphNodeGetType) X(cuGraphKernelNodeGetParams) X(cuGraphInstantiate) \
                                      X(cuGraphLaunch) X(cuGraphUpload) X(                                                     \
                                          cuGraphExecDestroy) X(cuModuleLoad) X(cuModuleLoadData) X(cuModuleLoadDataEx)        \
                                          X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetFunctionCount) X(              \
                                              cuModuleGetGlobal) X(cuLibraryLoadData) X(cuLibraryUnload) X(cuLibraryGetKernel) \
                                              X(cuLibraryGetModule) X(cuKernelGetFunction) X(cuFuncGetAttribute)               \
                                                  X(cuFuncSetAttribute) X(cuFuncSetCacheConfig) X(cuFuncGetModule)             \
                                                      X(cuFuncGetName) X(cuFuncLoad) X(cuFuncIsLoaded) X(cuFuncGetParamInfo)   \
                                                          X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel)   \
                                                              X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                   \
                                                                  X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)      \
                                                                      X(cuOccupancyMaxPotentialBlockSize)                      \
                                                                          X(cuOccupancyMaxPotentialBlockSizeWithFlags)         \
                                                                              X(cuOccupancyAvailableDynamicSMemPerBlock)

typedef struct interface_number {
  const char *name;
  long number;
} interface_number;

extern const interface_number interface_of_cuda[], interface_of_ptxsim[];
extern const char *const interface_symbols[]; /* what the header makes of each call's name; ends in NULL */
