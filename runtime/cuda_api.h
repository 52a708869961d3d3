/* cuda_api.h -- the CUDA driver, by dlopen, through one table of versioned symbols, declared by hand.
 * For now what counting and naming devices takes; what loads and launches joins the same list. */
#ifndef RGT_RUNTIME_CUDA_API_H
#define RGT_RUNTIME_CUDA_API_H

#include "runtime/base/environment.h"

enum { RGT_CUDA_SUCCESS = 0, RGT_CUDA_NO_DEVICE = 100 };

/* name as the library exports it, parameters; all return a result code */
#define RGT_CUDA_LIST(X)                                 \
  X(cuInit, (unsigned flags))                            \
  X(cuDriverGetVersion, (int *version))                  \
  X(cuDeviceGetCount, (int *count))                      \
  X(cuDeviceGet, (int *device, int ordinal))             \
  X(cuDeviceGetName, (char *name, int size, int device)) \
  X(cuGetErrorName, (int result, const char **name))

typedef struct rgt__cuda_api {
#define RGT_CUDA_MEMBER(name, params) int(*name) params;
  RGT_CUDA_LIST(RGT_CUDA_MEMBER)
#undef RGT_CUDA_MEMBER
  void *lib;
  int version; /* 13000: CUDA 13.0 */
  int n_devices;
} rgt__cuda_api;

/* rgt__cuda_api_open -- RAGTUNE_LIBCUDA if set, and then nothing else; else libcuda.so.1, libcuda.so. Initialises the driver.
 * RGT_ENODEVICE: one line that names what was looked for and why each failed, or what the driver answered. */
rgt_status rgt__cuda_api_open(const rgt__environment *env, rgt__cuda_api *api, rgt__error *err);
void rgt__cuda_api_close(rgt__cuda_api *api);
/* rgt__cuda_api_result -- "CUDA_ERROR_NO_DEVICE"; a number's text where the driver does not know it. Borrowed from text or
 * driver. */
const char *rgt__cuda_api_result(const rgt__cuda_api *api, int result, char text[32]);

#endif
