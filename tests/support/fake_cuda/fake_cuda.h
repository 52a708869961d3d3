/* fake_cuda.h -- a CUDA driver without a device, for tests of what calls it: memory lies on the host, a launch calls a function
 * of the test, every call can be made to fail, and what a driver would refuse is refused and written down.
 *
 * The library is loaded like any driver (RAGTUNE_LIBCUDA); its symbol `fake_cuda` is the struct below, for the test to set and
 * to read. `fake_cuda_reset` puts everything back. Work is done when it is queued: what a missing wait would do, it does not
 * show. */
#ifndef RGT_TESTS_FAKE_CUDA_H
#define RGT_TESTS_FAKE_CUDA_H

#include <stddef.h>

#include "templates/lib/kargs.h"

/* What the table says of a call. */
enum {
  FAKE_CONTEXT = 1,  /* needs a current context */
  FAKE_UNSAFE = 2,   /* not while this thread captures (nor any thread, where one captures globally) */
  FAKE_STICKY = 4,   /* answers with the context's fault once there is one */
  FAKE_OPTIONAL = 8, /* a driver may lack it */
  FAKE_CLEANUP = 16  /* gives something back: its failure is nobody's to report */
};

/* Every call that the fake has. */
#define FAKE_CALLS(X)                                                          \
  X(cuInit, 0)                                                                 \
  X(cuDriverGetVersion, 0)                                                     \
  X(cuGetErrorName, 0)                                                         \
  X(cuGetErrorString, FAKE_OPTIONAL)                                           \
  X(cuDeviceGetCount, 0)                                                       \
  X(cuDeviceGet, 0)                                                            \
  X(cuDeviceGetName, 0)                                                        \
  X(cuDeviceGetAttribute, 0)                                                   \
  X(cuDevicePrimaryCtxRetain, 0)                                               \
  X(cuDevicePrimaryCtxRelease_v2, FAKE_CLEANUP)                                \
  X(cuCtxGetCurrent, 0)                                                        \
  X(cuCtxGetDevice, FAKE_CONTEXT)                                              \
  X(cuCtxPushCurrent_v2, 0)                                                    \
  X(cuCtxPopCurrent_v2, FAKE_CONTEXT | FAKE_CLEANUP)                           \
  X(cuMemGetInfo_v2, FAKE_CONTEXT | FAKE_STICKY)                               \
  X(cuMemAlloc_v2, FAKE_CONTEXT | FAKE_UNSAFE | FAKE_STICKY)                   \
  X(cuMemFree_v2, FAKE_CONTEXT | FAKE_UNSAFE | FAKE_CLEANUP)                   \
  X(cuMemcpyHtoD_v2, FAKE_CONTEXT | FAKE_UNSAFE | FAKE_STICKY)                 \
  X(cuMemcpyDtoH_v2, FAKE_CONTEXT | FAKE_UNSAFE | FAKE_STICKY)                 \
  X(cuMemcpyHtoDAsync_v2, FAKE_CONTEXT | FAKE_STICKY)                          \
  X(cuMemcpyDtoHAsync_v2, FAKE_CONTEXT | FAKE_STICKY)                          \
  X(cuMemsetD8Async, FAKE_CONTEXT | FAKE_STICKY)                               \
  X(cuModuleLoadDataEx, FAKE_CONTEXT | FAKE_UNSAFE | FAKE_STICKY)              \
  X(cuModuleUnload, FAKE_CONTEXT | FAKE_UNSAFE | FAKE_CLEANUP)                 \
  X(cuModuleGetFunction, FAKE_CONTEXT | FAKE_STICKY)                           \
  X(cuFuncGetAttribute, FAKE_CONTEXT | FAKE_STICKY)                            \
  X(cuFuncSetAttribute, FAKE_CONTEXT | FAKE_STICKY)                            \
  X(cuFuncLoad, FAKE_CONTEXT | FAKE_UNSAFE | FAKE_STICKY | FAKE_OPTIONAL)      \
  X(cuLaunchKernel, FAKE_CONTEXT | FAKE_STICKY)                                \
  X(cuLaunchKernelEx, FAKE_CONTEXT | FAKE_STICKY | FAKE_OPTIONAL)              \
  X(cuStreamCreate, FAKE_CONTEXT | FAKE_STICKY)                                \
  X(cuStreamDestroy_v2, FAKE_CONTEXT | FAKE_CLEANUP)                           \
  X(cuStreamSynchronize, FAKE_CONTEXT | FAKE_STICKY)                           \
  X(cuStreamIsCapturing, FAKE_CONTEXT)                                         \
  X(cuEventCreate, FAKE_CONTEXT | FAKE_STICKY)                                 \
  X(cuEventDestroy_v2, FAKE_CONTEXT | FAKE_CLEANUP)                            \
  X(cuEventRecord, FAKE_CONTEXT | FAKE_STICKY)                                 \
  X(cuEventSynchronize, FAKE_CONTEXT | FAKE_UNSAFE | FAKE_STICKY)              \
  X(cuPointerGetAttribute, FAKE_CONTEXT | FAKE_OPTIONAL)                       \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, FAKE_CONTEXT | FAKE_OPTIONAL) \
  X(cuEventElapsedTime_v2, FAKE_CONTEXT | FAKE_OPTIONAL)                       \
  X(cuEventElapsedTime, FAKE_CONTEXT)                                          \
  X(cuThreadExchangeStreamCaptureMode, FAKE_OPTIONAL | FAKE_CLEANUP)           \
  X(cuStreamBeginCapture_v2, FAKE_CONTEXT | FAKE_STICKY | FAKE_OPTIONAL)       \
  X(cuStreamEndCapture, FAKE_CONTEXT | FAKE_OPTIONAL)                          \
  X(cuGraphInstantiateWithFlags, FAKE_CONTEXT | FAKE_STICKY | FAKE_OPTIONAL)   \
  X(cuGraphLaunch, FAKE_CONTEXT | FAKE_STICKY | FAKE_OPTIONAL)                 \
  X(cuGraphExecDestroy, FAKE_CONTEXT | FAKE_OPTIONAL | FAKE_CLEANUP)           \
  X(cuGraphDestroy, FAKE_CONTEXT | FAKE_OPTIONAL | FAKE_CLEANUP)

typedef enum fake_call {
#define FAKE_ENUM(name, flags) FAKE_##name,
  FAKE_CALLS(FAKE_ENUM)
#undef FAKE_ENUM
      FAKE_N_CALLS
} fake_call;

enum { FAKE_KERNEL, FAKE_MEMSET, FAKE_COPY };

typedef struct fake_work { /* one thing that a stream did */
  int kind;
  char kernel[96];
  unsigned grid[3], block[3], shared, cluster;
  void *stream;
  rgt_kargs args; /* as they were when it was queued */
  void *workspace;
  void *to; /* memset, copy */
  const void *from;
  unsigned char byte;
  size_t bytes;
} fake_work;

enum { FAKE_WORK_MAX = 256 };

typedef struct fake_cuda {
  /* what it is like */
  int version, n_devices, init_result;
  int pageable; /* kernels may touch any memory of the host's */
  int cc_major, cc_minor, sm_count, shared_optin, l2_bytes, clock_khz;
  size_t memory; /* of a device: more than that is not given out */
  char name[64];
  int static_shared;            /* of every entry */
  int refuse_cubin, refuse_ptx; /* result code, or 0 */
  char jit_log[200];
  float launch_ms; /* what an entry takes on the fake's clock */
  float mark_ms;   /* what an event takes */
  int clock_runs;  /* the fake's clock goes on with the host's */
  /* kernel -- runs an entry; what is not 0 is a fault that the context keeps. NULL: nothing happens. */
  int (*kernel)(void *user, const fake_work *launch);
  void *user;
  /* one call that fails: the fail_at-th to `fail` from now on, from 1; 0: none */
  fake_call fail;
  int fail_at, fail_code;

  /* what was seen */
  int has_failed;
  int n_calls[FAKE_N_CALLS];
  int contexts; /* primary contexts retained and not released */
  int modules, streams, events, graphs, execs, blocks;
  int n_loaded_cubin, n_loaded_ptx;
  fake_work work[FAKE_WORK_MAX]; /* the first of them */
  int n_work;
  char misuse[200]; /* the first call that a driver would have refused, or been broken by; "" */
} fake_cuda;

/* Symbols of the library, besides the driver's. */
typedef void (*fake_cuda_reset_fn)(void);
typedef void *(*fake_cuda_context_fn)(int device);  /* a context of the caller's own; lives as long as the library */
typedef int (*fake_cuda_depth_fn)(void);            /* of this thread's stack of contexts */
typedef const char *(*fake_cuda_name_fn)(int call); /* a call's name */
typedef unsigned (*fake_cuda_flags_fn)(int call);   /* and what the table says of it */

#endif
