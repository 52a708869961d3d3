/* cuda_api.h -- the CUDA driver, by dlopen, through one table of versioned symbols, declared by hand: no header of the toolkit
 * is needed, and it builds and runs where no driver is.
 *
 * A name here is the very symbol that the library exports. The driver keeps old functions under the plain names and puts those
 * with today's parameters beside them as ..._v2, which its own header hides behind macros. */
#ifndef RGT_RUNTIME_CUDA_API_H
#define RGT_RUNTIME_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/environment.h"

typedef unsigned long long rgt__cuda_address; /* of device memory */

/* Result codes that are told apart; every other one is a failure with a name. */
enum {
  RGT_CUDA_SUCCESS = 0,
  RGT_CUDA_INVALID_VALUE = 1,
  RGT_CUDA_OUT_OF_MEMORY = 2,
  RGT_CUDA_STUB_LIBRARY = 34,
  RGT_CUDA_DEVICE_UNAVAILABLE = 46, /* somebody has it for himself */
  RGT_CUDA_NO_DEVICE = 100,
  RGT_CUDA_INVALID_DEVICE = 101,
  RGT_CUDA_INVALID_IMAGE = 200,
  RGT_CUDA_INVALID_CONTEXT = 201,
  RGT_CUDA_NO_BINARY_FOR_GPU = 209,
  RGT_CUDA_ECC_UNCORRECTABLE = 214,
  RGT_CUDA_INVALID_PTX = 218,
  RGT_CUDA_UNSUPPORTED_PTX_VERSION = 222,
  RGT_CUDA_CONTAINED = 226,
  RGT_CUDA_INVALID_SOURCE = 300,
  RGT_CUDA_INVALID_HANDLE = 400,
  RGT_CUDA_NOT_FOUND = 500,
  RGT_CUDA_ILLEGAL_ADDRESS = 700,
  RGT_CUDA_LAUNCH_OUT_OF_RESOURCES = 701,
  RGT_CUDA_LAUNCH_TIMEOUT = 702,
  RGT_CUDA_CONTEXT_IS_DESTROYED = 709,
  RGT_CUDA_ASSERT = 710,
  RGT_CUDA_HARDWARE_STACK_ERROR = 714,
  RGT_CUDA_LAUNCH_FAILED = 719,
  RGT_CUDA_TENSOR_MEMORY_LEAK = 721,
  RGT_CUDA_NOT_SUPPORTED = 801,
  RGT_CUDA_SYSTEM_NOT_READY = 802,
  RGT_CUDA_SYSTEM_DRIVER_MISMATCH = 803,
  RGT_CUDA_CAPTURE_UNSUPPORTED = 900,
  RGT_CUDA_CAPTURED_EVENT = 907,
  RGT_CUDA_EXTERNAL_DEVICE = 911,
  RGT_CUDA_INVALID_CLUSTER_SIZE = 912,
  RGT_CUDA_UNKNOWN = 999
};

/* Attributes of a device and of a function, options of the JIT, flags and modes: the driver's numbers. */
enum {
  RGT_CUDA_DEVICE_SHARED_PER_BLOCK = 8,
  RGT_CUDA_DEVICE_CLOCK_KHZ = 13,
  RGT_CUDA_DEVICE_SM_COUNT = 16,
  RGT_CUDA_DEVICE_L2_BYTES = 38,
  RGT_CUDA_DEVICE_CC_MAJOR = 75,
  RGT_CUDA_DEVICE_CC_MINOR = 76,
  RGT_CUDA_DEVICE_PAGEABLE = 88,
  RGT_CUDA_DEVICE_SHARED_OPTIN = 97,
  RGT_CUDA_POINTER_MEMORY_TYPE = 2,
  RGT_CUDA_FUNC_MAX_THREADS = 0,
  RGT_CUDA_FUNC_SHARED_BYTES = 1,
  RGT_CUDA_FUNC_MAX_DYNAMIC_SHARED = 8,
  RGT_CUDA_JIT_ERROR_LOG = 5,
  RGT_CUDA_JIT_ERROR_LOG_BYTES = 6,
  RGT_CUDA_STREAM_DEFAULT = 0,
  RGT_CUDA_STREAM_NON_BLOCKING = 1,
  RGT_CUDA_EVENT_DEFAULT = 0,
  RGT_CUDA_CAPTURE_NONE = 0,
  RGT_CUDA_CAPTURE_THREAD_LOCAL = 1,
  RGT_CUDA_CAPTURE_RELAXED = 2,
  RGT_CUDA_LAUNCH_CLUSTER = 4
};

/* What cuLaunchKernelEx takes beyond cuLaunchKernel; the driver's layout. */
typedef struct rgt__cuda_attribute {
  int id;
  char pad[4];
  union {
    char room[64];
    unsigned cluster[3];
  } value;
} rgt__cuda_attribute;

typedef struct rgt__cuda_launch {
  unsigned grid[3], block[3], shared;
  void *stream;
  rgt__cuda_attribute *attributes;
  unsigned n_attributes;
} rgt__cuda_launch;

/* Without one of these there is no CUDA device. All return a result code. */
#define RGT_CUDA_LIST(X)                                                                                                    \
  X(cuInit, (unsigned flags))                                                                                               \
  X(cuDriverGetVersion, (int *version))                                                                                     \
  X(cuGetErrorName, (int result, const char **name))                                                                        \
  X(cuDeviceGetCount, (int *count))                                                                                         \
  X(cuDeviceGet, (int *device, int ordinal))                                                                                \
  X(cuDeviceGetName, (char *name, int size, int device))                                                                    \
  X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                          \
  X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                                 \
  X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                             \
  X(cuCtxGetCurrent, (void **context))                                                                                      \
  X(cuCtxGetDevice, (int *device))                                                                                          \
  X(cuCtxPushCurrent_v2, (void *context))                                                                                   \
  X(cuCtxPopCurrent_v2, (void **context))                                                                                   \
  X(cuMemGetInfo_v2, (size_t * free, size_t * total))                                                                       \
  X(cuMemAlloc_v2, (rgt__cuda_address * p, size_t bytes))                                                                   \
  X(cuMemFree_v2, (rgt__cuda_address p))                                                                                    \
  X(cuMemcpyHtoD_v2, (rgt__cuda_address to, const void *from, size_t bytes))                                                \
  X(cuMemcpyDtoH_v2, (void *to, rgt__cuda_address from, size_t bytes))                                                      \
  X(cuMemcpyHtoDAsync_v2, (rgt__cuda_address to, const void *from, size_t bytes, void *stream))                             \
  X(cuMemcpyDtoHAsync_v2, (void *to, rgt__cuda_address from, size_t bytes, void *stream))                                   \
  X(cuMemsetD8Async, (rgt__cuda_address to, unsigned char byte, size_t n, void *stream))                                    \
  X(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, const int *options, void **values))                  \
  X(cuModuleUnload, (void *module))                                                                                         \
  X(cuModuleGetFunction, (void **function, void *module, const char *name))                                                 \
  X(cuFuncGetAttribute, (int *value, int attribute, void *function))                                                        \
  X(cuFuncSetAttribute, (void *function, int attribute, int value))                                                         \
  X(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
                     unsigned block_z, unsigned shared, void *stream, void **params, void **extra))                         \
  X(cuStreamCreate, (void **stream, unsigned flags))                                                                        \
  X(cuStreamDestroy_v2, (void *stream))                                                                                     \
  X(cuStreamSynchronize, (void *stream))                                                                                    \
  X(cuStreamIsCapturing, (void *stream, int *capture))                                                                      \
  X(cuEventCreate, (void **event, unsigned flags))                                                                          \
  X(cuEventDestroy_v2, (void *event))                                                                                       \
  X(cuEventRecord, (void *event, void *stream))                                                                             \
  X(cuEventSynchronize, (void *event))

/* Drivers are without one or another of these; member, symbol, parameters. NULL then: see what asks for it. */
#define RGT_CUDA_OPTIONAL_LIST(X)                                                                                   \
  X(cuGetErrorString, cuGetErrorString, (int result, const char **text))                                            \
  X(event_elapsed_old, cuEventElapsedTime, (float *ms, void *start, void *end))                                     \
  X(event_elapsed_new, cuEventElapsedTime_v2, (float *ms, void *start, void *end))                                  \
  X(cuPointerGetAttribute, cuPointerGetAttribute, (void *value, int attribute, rgt__cuda_address p))                \
  X(cuFuncLoad, cuFuncLoad, (void *function))                                                                       \
  X(cuLaunchKernelEx, cuLaunchKernelEx, (const rgt__cuda_launch *l, void *function, void **params, void **))        \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,                       \
    (int *blocks, void *function, int block, size_t shared))                                                        \
  X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *mode))                              \
  X(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2, (void *stream, int mode))                                     \
  X(cuStreamEndCapture, cuStreamEndCapture, (void *stream, void **graph))                                           \
  X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags)) \
  X(cuGraphLaunch, cuGraphLaunch, (void *exec, void *stream))                                                       \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (void *exec))                                                           \
  X(cuGraphDestroy, cuGraphDestroy, (void *graph))

typedef struct rgt__cuda_api {
#define RGT_CUDA_MEMBER(name, params) int(*name) params;
  RGT_CUDA_LIST(RGT_CUDA_MEMBER)
#undef RGT_CUDA_MEMBER
#define RGT_CUDA_MEMBER(member, name, params) int(*member) params;
  RGT_CUDA_OPTIONAL_LIST(RGT_CUDA_MEMBER)
#undef RGT_CUDA_MEMBER
  void *lib;
  int version; /* 13000: CUDA 13.0 */
  int n_devices;
} rgt__cuda_api;

enum { RGT_CUDA_VERSION_MIN = 11040 }; /* 11.4: the first with cuGraphInstantiateWithFlags */

/* rgt__cuda_api_open -- RAGTUNE_LIBCUDA if set, and then nothing else; else libcuda.so.1, libcuda.so. Initialises the driver.
 * RGT_ENODEVICE: one line that names what was looked for and why each failed, or what the driver answered. */
rgt_status rgt__cuda_api_open(const rgt__environment *env, rgt__cuda_api *api, rgt__error *err);
void rgt__cuda_api_close(rgt__cuda_api *api);
int rgt__cuda_api_has_graphs(const rgt__cuda_api *api);
int rgt__cuda_api_elapsed(const rgt__cuda_api *api, float *ms, void *start, void *end); /* a result code */

/* rgt__cuda_api_fail -- a driver's failure as a status, and the line "WHAT: CUDA_ERROR_NAME (its text)". WHAT names the call
 * and its values. RGT_ENOMEM       memory RGT_ECRASH       sticky: the context, and so the process, can do nothing more with
 * the device RGT_EINFEASIBLE  a launch that asks for more than a block or cluster may have RGT_EINVAL       a handle, value or
 * context of the caller's that the driver does not take; a stream in capture RGT_ENODEVICE, RGT_EUNSUPPORTED, else
 * RGT_EINTERNAL */
rgt_status rgt__cuda_api_fail(const rgt__cuda_api *api, int result, rgt__error *err, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
/* rgt__cuda_api_name -- "CUDA_ERROR_NO_DEVICE"; a number's text where the driver does not know it. Borrowed from text or
 * driver. */
const char *rgt__cuda_api_name(const rgt__cuda_api *api, int result, char text[32]);

#endif
