/* nvrtc_api.h -- NVRTC's functions as they are used here, declared by hand: no header of the toolkit is needed. */
#ifndef RGT_RUNTIME_NVRTC_API_H
#define RGT_RUNTIME_NVRTC_API_H

#include <stddef.h>

typedef struct rgt__nvrtc_program *rgt__nvrtc_handle; /* opaque */

enum { RGT_NVRTC_SUCCESS = 0, RGT_NVRTC_OUT_OF_MEMORY = 1 };

/* name, parameters; all return a result code, except nvrtcGetErrorString */
#define RGT_NVRTC_LIST(X)                                                                                  \
  X(nvrtcVersion, (int *major, int *minor))                                                                \
  X(nvrtcGetNumSupportedArchs, (int *n))                                                                   \
  X(nvrtcGetSupportedArchs, (int *archs))                                                                  \
  X(nvrtcCreateProgram, (rgt__nvrtc_handle * program, const char *source, const char *name, int n_headers, \
                         const char *const *headers, const char *const *header_names))                     \
  X(nvrtcCompileProgram, (rgt__nvrtc_handle program, int n_options, const char *const *options))           \
  X(nvrtcGetCUBINSize, (rgt__nvrtc_handle program, size_t * bytes))                                        \
  X(nvrtcGetCUBIN, (rgt__nvrtc_handle program, char *to))                                                  \
  X(nvrtcGetPTXSize, (rgt__nvrtc_handle program, size_t * bytes))                                          \
  X(nvrtcGetPTX, (rgt__nvrtc_handle program, char *to))                                                    \
  X(nvrtcGetProgramLogSize, (rgt__nvrtc_handle program, size_t * bytes))                                   \
  X(nvrtcGetProgramLog, (rgt__nvrtc_handle program, char *to))                                             \
  X(nvrtcDestroyProgram, (rgt__nvrtc_handle * program))

typedef struct rgt__nvrtc_api {
#define RGT_NVRTC_MEMBER(name, params) int(*name) params;
  RGT_NVRTC_LIST(RGT_NVRTC_MEMBER)
#undef RGT_NVRTC_MEMBER
  const char *(*nvrtcGetErrorString)(int result);
} rgt__nvrtc_api;

#define RGT_NVRTC_TARGETS_MAX 64

struct rgt__nvrtc {
  void *lib, *builtins;
  rgt__nvrtc_api api;
  int major, minor;
  int n_targets, targets[RGT_NVRTC_TARGETS_MAX];
  char path[1024];
};

#endif
