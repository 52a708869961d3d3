/* per_thread.c -- the _ptsz and _ptds symbols: the same calls, with the thread's own default stream in the place of NULL. */
#include "call.h"

static CUstream of_thread(CUstream stream) {
  return stream == NULL ? CU_STREAM_PER_THREAD : stream;
}

/* FORWARD(cuX, (parameters), (arguments with of_thread(stream))) */
#define FORWARD(name, parameters, arguments)  \
  CUresult name parameters;                   \
  SIM_EXPORT CUresult name##_ptsz parameters; \
  CUresult name##_ptsz parameters {           \
    return name arguments;                    \
  }

FORWARD(cuLaunchKernel,
        (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
         unsigned block_z, unsigned shared, CUstream stream, void **pointers, void **extra),
        (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, of_thread(stream), pointers, extra))
FORWARD(cuLaunchCooperativeKernel,
        (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
         unsigned block_z, unsigned shared, CUstream stream, void **pointers),
        (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, of_thread(stream), pointers))
FORWARD(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *user), (of_thread(stream), function, user))
FORWARD(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, of_thread(stream)))
FORWARD(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
        (to, from, bytes, of_thread(stream)))
FORWARD(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, of_thread(stream)))
FORWARD(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
        (to, from, bytes, of_thread(stream)))
FORWARD(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t n, CUstream stream), (to, value, n, of_thread(stream)))
FORWARD(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t n, CUstream stream), (to, value, n, of_thread(stream)))
FORWARD(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t n, CUstream stream), (to, value, n, of_thread(stream)))
FORWARD(cuMemAllocAsync, (CUdeviceptr * out, size_t bytes, CUstream stream), (out, bytes, of_thread(stream)))
FORWARD(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), (address, of_thread(stream)))
FORWARD(cuStreamSynchronize, (CUstream stream), (of_thread(stream)))
FORWARD(cuStreamQuery, (CUstream stream), (of_thread(stream)))
FORWARD(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags), (of_thread(stream), event, flags))
FORWARD(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (of_thread(stream), mode))
FORWARD(cuStreamEndCapture, (CUstream stream, CUgraph *out), (of_thread(stream), out))
FORWARD(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status), (of_thread(stream), status))
FORWARD(cuStreamGetPriority, (CUstream stream, int *out), (of_thread(stream), out))
FORWARD(cuStreamGetFlags, (CUstream stream, unsigned *out), (of_thread(stream), out))
FORWARD(cuStreamGetId, (CUstream stream, unsigned long long *out), (of_thread(stream), out))
FORWARD(cuStreamGetCtx, (CUstream stream, CUcontext *out), (of_thread(stream), out))
FORWARD(cuStreamGetDevice, (CUstream stream, CUdevice *out), (of_thread(stream), out))
FORWARD(cuEventRecord, (CUevent event, CUstream stream), (event, of_thread(stream)))
FORWARD(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags), (event, of_thread(stream), flags))
FORWARD(cuGraphLaunch, (CUgraphExec exec, CUstream stream), (exec, of_thread(stream)))
FORWARD(cuGraphUpload, (CUgraphExec exec, CUstream stream), (exec, of_thread(stream)))

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **pointers, void **extra);
SIM_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **pointers, void **extra);

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **pointers, void **extra) {
  if (config == NULL) return cuLaunchKernelEx(config, function, pointers, extra);
  CUlaunchConfig own = *config;
  own.hStream = of_thread(config->hStream);
  return cuLaunchKernelEx(&own, function, pointers, extra);
}

/* ---- calls without a stream: the asynchronous one in the thread's stream, and where the host waits, a wait
 * --------------------------- */

static CUresult then_wait(CUresult result) {
  return result != CUDA_SUCCESS ? result : cuStreamSynchronize(CU_STREAM_PER_THREAD);
}

#define FORWARD_DS(name, parameters, call)    \
  SIM_EXPORT CUresult name##_ptds parameters; \
  CUresult name##_ptds parameters {           \
    return call;                              \
  }

FORWARD_DS(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
           then_wait(cuMemcpyAsync(to, from, bytes, CU_STREAM_PER_THREAD)))
FORWARD_DS(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes),
           then_wait(cuMemcpyHtoDAsync_v2(to, from, bytes, CU_STREAM_PER_THREAD)))
FORWARD_DS(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes),
           then_wait(cuMemcpyDtoHAsync_v2(to, from, bytes, CU_STREAM_PER_THREAD)))
FORWARD_DS(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
           cuMemcpyDtoDAsync_v2(to, from, bytes, CU_STREAM_PER_THREAD))
FORWARD_DS(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t n), cuMemsetD8Async(to, value, n, CU_STREAM_PER_THREAD))
FORWARD_DS(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t n),
           cuMemsetD16Async(to, value, n, CU_STREAM_PER_THREAD))
FORWARD_DS(cuMemsetD32_v2, (CUdeviceptr to, unsigned value, size_t n), cuMemsetD32Async(to, value, n, CU_STREAM_PER_THREAD))
