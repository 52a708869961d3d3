/* results.h -- the driver's result codes: number, name, text. */
#ifndef SIM_DRIVER_RESULTS_H
#define SIM_DRIVER_RESULTS_H

/* X(name, number, text) */
#define SIM_RESULTS(X)                                                                                     \
  X(CUDA_SUCCESS, 0, "no error")                                                                           \
  X(CUDA_ERROR_INVALID_VALUE, 1, "an argument has a value that is not allowed")                            \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                          \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, "cuInit was not called")                                                \
  X(CUDA_ERROR_DEINITIALIZED, 4, "the driver is shutting down")                                            \
  X(CUDA_ERROR_STUB_LIBRARY, 34, "a stub library was loaded")                                              \
  X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "the device is busy or unavailable")                                \
  X(CUDA_ERROR_NO_DEVICE, 100, "there is no device")                                                       \
  X(CUDA_ERROR_INVALID_DEVICE, 101, "there is no device of that number")                                   \
  X(CUDA_ERROR_INVALID_IMAGE, 200, "the image is no kernel code")                                          \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, "no context is current, or the context is not valid")                 \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "the image holds no code for this device")                          \
  X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215, "the device has no such limit")                                     \
  X(CUDA_ERROR_INVALID_PTX, 218, "the PTX was refused")                                                    \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "the PTX compiler was not found")                              \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, "the PTX is newer than this driver")                          \
  X(CUDA_ERROR_INVALID_SOURCE, 300, "the source of the kernel is not valid")                               \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301, "the file was not found")                                              \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304, "a call of the operating system failed")                             \
  X(CUDA_ERROR_INVALID_HANDLE, 400, "the handle is not valid")                                             \
  X(CUDA_ERROR_ILLEGAL_STATE, 401, "what the call needs is not in the right state")                        \
  X(CUDA_ERROR_NOT_FOUND, 500, "the name was not found")                                                   \
  X(CUDA_ERROR_NOT_READY, 600, "the work has not ended yet")                                               \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "a kernel touched memory that is not its own")                        \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "the launch needs more registers or threads than there are")  \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "a kernel ran past its time limit")                                    \
  X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708, "the primary context is active already")                       \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "the context was destroyed")                                     \
  X(CUDA_ERROR_ASSERT, 710, "an assertion of a kernel failed")                                             \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "the host memory is registered already")               \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "the host memory is not registered")                       \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "the call stack of a kernel is damaged or too small")            \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "a kernel met an illegal instruction")                            \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "a kernel used an address that is not aligned")                    \
  X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, "a kernel used an address of another state space")              \
  X(CUDA_ERROR_INVALID_PC, 718, "a kernel jumped to where no code is")                                     \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, "a kernel failed")                                                      \
  X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, "a cooperative launch has more blocks than fit at once") \
  X(CUDA_ERROR_NOT_PERMITTED, 800, "the call is not permitted here")                                       \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, "the call is not supported")                                            \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "the call is not permitted while a stream is captured")    \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "the capture was invalidated by an earlier error")         \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, "the call would merge two captures")                             \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "the capture was not begun in this stream")                  \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "the capture has a stream that was not joined again")         \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "a dependency would cross the border of the capture")        \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "the legacy stream would depend on a captured one")           \
  X(CUDA_ERROR_CAPTURED_EVENT, 907, "the event was last recorded in a capture")                            \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "the capture was begun by another thread")                \
  X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, "the cluster size is not possible")                              \
  X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

typedef enum CUresult {
#define SIM_RESULT_ENUM(name, number, text) name = number,
  SIM_RESULTS(SIM_RESULT_ENUM)
#undef SIM_RESULT_ENUM
} CUresult;

/* sim_result_name, sim_result_text -- NULL for a number that is no result. */
const char *sim_result_name(int result);
const char *sim_result_text(int result);

#endif
