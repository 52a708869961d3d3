/* cuda_types.h -- the types and numbers of the CUDA driver's binary interface, as far as ptxsim has them.
 * Declared by hand, so that nothing of the toolkit is needed; tests/test_binary_interface.c compares them with cuda.h where
 * that is installed. */
#ifndef SIM_DRIVER_CUDA_TYPES_H
#define SIM_DRIVER_CUDA_TYPES_H

#include "results.h"

#include <stddef.h>
#include <stdint.h>

#define SIM_DRIVER_VERSION 13000
#define SIM_PTX_VERSION 90 /* the newest .version that it takes */

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
/* Handles are numbers, not addresses: nothing but the driver can look behind one. */
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)

typedef struct CUuuid {
  unsigned char bytes[16];
} CUuuid;

enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_INTERPROCESS = 4 };
enum { CU_CTX_FLAGS_MASK = 0xff };
enum { CU_MEMHOSTALLOC_PORTABLE = 1, CU_MEMHOSTALLOC_DEVICEMAP = 2, CU_MEMHOSTALLOC_WRITECOMBINED = 4 };
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

typedef enum CUstreamCaptureMode {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2
} CUstreamCaptureMode;
typedef enum CUstreamCaptureStatus {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2
} CUstreamCaptureStatus;

typedef enum CUlimit { CU_LIMIT_STACK_SIZE = 0, CU_LIMIT_PRINTF_FIFO_SIZE = 1, CU_LIMIT_MALLOC_HEAP_SIZE = 2 } CUlimit;

typedef enum CUfunction_attribute {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
  CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET = 10,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
  CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15
} CUfunction_attribute;

typedef enum CUjit_option {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_WALL_TIME = 2,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,
  CU_JIT_TARGET_FROM_CUCONTEXT = 8,
  CU_JIT_FALLBACK_STRATEGY = 10,
  CU_JIT_GENERATE_DEBUG_INFO = 11,
  CU_JIT_LOG_VERBOSE = 12,
  CU_JIT_GENERATE_LINE_INFO = 13,
  CU_JIT_CACHE_MODE = 14
} CUjit_option;

typedef enum CUpointer_attribute {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
  CU_POINTER_ATTRIBUTE_MAPPED = 13
} CUpointer_attribute;

/* X(name, number): the device attributes that ptxsim answers. */
#define SIM_DEVICE_ATTRIBUTES(X)              \
  X(MAX_THREADS_PER_BLOCK, 1)                 \
  X(MAX_BLOCK_DIM_X, 2)                       \
  X(MAX_BLOCK_DIM_Y, 3)                       \
  X(MAX_BLOCK_DIM_Z, 4)                       \
  X(MAX_GRID_DIM_X, 5)                        \
  X(MAX_GRID_DIM_Y, 6)                        \
  X(MAX_GRID_DIM_Z, 7)                        \
  X(MAX_SHARED_MEMORY_PER_BLOCK, 8)           \
  X(TOTAL_CONSTANT_MEMORY, 9)                 \
  X(WARP_SIZE, 10)                            \
  X(MAX_PITCH, 11)                            \
  X(MAX_REGISTERS_PER_BLOCK, 12)              \
  X(CLOCK_RATE, 13)                           \
  X(TEXTURE_ALIGNMENT, 14)                    \
  X(GPU_OVERLAP, 15)                          \
  X(MULTIPROCESSOR_COUNT, 16)                 \
  X(KERNEL_EXEC_TIMEOUT, 17)                  \
  X(INTEGRATED, 18)                           \
  X(CAN_MAP_HOST_MEMORY, 19)                  \
  X(COMPUTE_MODE, 20)                         \
  X(CONCURRENT_KERNELS, 31)                   \
  X(ECC_ENABLED, 32)                          \
  X(PCI_BUS_ID, 33)                           \
  X(PCI_DEVICE_ID, 34)                        \
  X(TCC_DRIVER, 35)                           \
  X(MEMORY_CLOCK_RATE, 36)                    \
  X(GLOBAL_MEMORY_BUS_WIDTH, 37)              \
  X(L2_CACHE_SIZE, 38)                        \
  X(MAX_THREADS_PER_MULTIPROCESSOR, 39)       \
  X(ASYNC_ENGINE_COUNT, 40)                   \
  X(UNIFIED_ADDRESSING, 41)                   \
  X(PCI_DOMAIN_ID, 50)                        \
  X(COMPUTE_CAPABILITY_MAJOR, 75)             \
  X(COMPUTE_CAPABILITY_MINOR, 76)             \
  X(STREAM_PRIORITIES_SUPPORTED, 78)          \
  X(GLOBAL_L1_CACHE_SUPPORTED, 79)            \
  X(LOCAL_L1_CACHE_SUPPORTED, 80)             \
  X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81) \
  X(MAX_REGISTERS_PER_MULTIPROCESSOR, 82)     \
  X(MANAGED_MEMORY, 83)                       \
  X(MULTI_GPU_BOARD, 84)                      \
  X(PAGEABLE_MEMORY_ACCESS, 88)               \
  X(CONCURRENT_MANAGED_ACCESS, 89)            \
  X(COMPUTE_PREEMPTION_SUPPORTED, 90)         \
  X(COOPERATIVE_LAUNCH, 95)                   \
  X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)    \
  X(HOST_REGISTER_SUPPORTED, 99)              \
  X(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102) \
  X(MAX_BLOCKS_PER_MULTIPROCESSOR, 106)       \
  X(MAX_PERSISTING_L2_CACHE_SIZE, 108)        \
  X(MAX_ACCESS_POLICY_WINDOW_SIZE, 109)       \
  X(RESERVED_SHARED_MEMORY_PER_BLOCK, 111)    \
  X(MEMORY_POOLS_SUPPORTED, 115)              \
  X(CLUSTER_LAUNCH, 120)                      \
  X(TENSOR_MAP_ACCESS_SUPPORTED, 127)

typedef enum CUdevice_attribute {
#define SIM_ATTRIBUTE_ENUM(name, number) CU_DEVICE_ATTRIBUTE_##name = number,
  SIM_DEVICE_ATTRIBUTES(SIM_ATTRIBUTE_ENUM)
#undef SIM_ATTRIBUTE_ENUM
} CUdevice_attribute;

/* Launch attributes: an id, padding to 8 bytes, a union of 64 bytes. */
enum {
  CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
  CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
  CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 14
};
typedef struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int integer;
    unsigned cluster[3];
  } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
} CUlaunchConfig;

/* The words of cuLaunchKernel's `extra`. */
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

typedef struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
  CUkernel kern;
  CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct CUctxCreateParams {
  void *execAffinityParams;
  int numExecAffinityParams;
  void *cigParams;
} CUctxCreateParams;

typedef enum CUgraphNodeType {
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
  CU_GRAPH_NODE_TYPE_MEMCPY = 1,
  CU_GRAPH_NODE_TYPE_MEMSET = 2,
  CU_GRAPH_NODE_TYPE_HOST = 3,
  CU_GRAPH_NODE_TYPE_EMPTY = 5
} CUgraphNodeType;

enum { CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2 };
typedef enum CUdriverProcAddressQueryResult {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2
} CUdriverProcAddressQueryResult;

typedef void (*CUhostFn)(void *user);
typedef size_t (*CUoccupancyB2DSize)(int block_size);

#endif
