/* cuda_api.c -- finding the CUDA driver, its symbols, and what its result codes mean here. */
#include "runtime/cuda_api.h"

#include "runtime/dynlib.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const rgt__dynlib_symbol symbols[] = {
#define SYMBOL(name, params) {#name, offsetof(rgt__cuda_api, name)},
    RGT_CUDA_LIST(SYMBOL)
#undef SYMBOL
};

static const rgt__dynlib_symbol optional[] = {
#define SYMBOL(member, name, params) {#name, offsetof(rgt__cuda_api, member)},
    RGT_CUDA_OPTIONAL_LIST(SYMBOL)
#undef SYMBOL
};

/* ---- result codes ---- */

const char *rgt__cuda_api_name(const rgt__cuda_api *api, int result, char text[32]) {
  const char *name = NULL;
  if (api->cuGetErrorName(result, &name) == RGT_CUDA_SUCCESS && name != NULL) return name;
  snprintf(text, 32, "error %d", result);
  return text;
}

/* Errors that the context keeps for good: whatever a kernel did wrong while it ran, and broken hardware. */
static int is_sticky(int result) {
  if (result >= RGT_CUDA_HARDWARE_STACK_ERROR && result <= RGT_CUDA_LAUNCH_FAILED) return 1; /* and what a pc or address did */
  switch (result) {
  case RGT_CUDA_ECC_UNCORRECTABLE:
  case RGT_CUDA_CONTAINED:
  case RGT_CUDA_ILLEGAL_ADDRESS:
  case RGT_CUDA_LAUNCH_TIMEOUT:
  case RGT_CUDA_CONTEXT_IS_DESTROYED:
  case RGT_CUDA_ASSERT:
  case RGT_CUDA_TENSOR_MEMORY_LEAK:
  case RGT_CUDA_EXTERNAL_DEVICE:
  case RGT_CUDA_UNKNOWN:
    return 1;
  default:
    return 0;
  }
}

static rgt_status status_of(int result) {
  if (is_sticky(result)) return RGT_ECRASH;
  if (result >= RGT_CUDA_CAPTURE_UNSUPPORTED && result <= RGT_CUDA_CAPTURED_EVENT) return RGT_EINVAL;
  switch (result) {
  case RGT_CUDA_OUT_OF_MEMORY:
    return RGT_ENOMEM;
  case RGT_CUDA_LAUNCH_OUT_OF_RESOURCES:
  case RGT_CUDA_INVALID_CLUSTER_SIZE:
    return RGT_EINFEASIBLE;
  case RGT_CUDA_INVALID_VALUE:
  case RGT_CUDA_INVALID_HANDLE:
  case RGT_CUDA_INVALID_CONTEXT:
    return RGT_EINVAL;
  case RGT_CUDA_STUB_LIBRARY:
  case RGT_CUDA_DEVICE_UNAVAILABLE:
  case RGT_CUDA_NO_DEVICE:
  case RGT_CUDA_INVALID_DEVICE:
  case RGT_CUDA_SYSTEM_NOT_READY:
  case RGT_CUDA_SYSTEM_DRIVER_MISMATCH:
    return RGT_ENODEVICE;
  case RGT_CUDA_NOT_SUPPORTED:
    return RGT_EUNSUPPORTED;
  default:
    return RGT_EINTERNAL;
  }
}

rgt_status rgt__cuda_api_fail(const rgt__cuda_api *api, int result, rgt__error *err, const char *what, ...) {
  char number[32], call[512];
  const char *text = NULL;
  va_list args;
  rgt_status status = status_of(result);
  va_start(args, what);
  vsnprintf(call, sizeof call, what, args);
  va_end(args);
  if (api->cuGetErrorString == NULL || api->cuGetErrorString(result, &text) != RGT_CUDA_SUCCESS) text = NULL;
  return rgt__error_set(err, status, "%s: %s%s%s%s%s", call, rgt__cuda_api_name(api, result, number), text ? " (" : "",
                        text ? text : "", text ? ")" : "",
                        status == RGT_ECRASH ? "; this process can do nothing more with the device" : "");
}

/* ---- opening ---- */

static int try_library(rgt__cuda_api *api, const char *name, rgt__buffer *why) {
  memset(api, 0, sizeof *api);
  api->lib = rgt__dynlib_open(name, why);
  if (api->lib == NULL) return 0;
  const char *missing = rgt__dynlib_symbols(api->lib, symbols, sizeof symbols / sizeof symbols[0], api);
  for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) rgt__dynlib_symbols(api->lib, &optional[i], 1, api);
  if (missing == NULL && api->event_elapsed_old == NULL && api->event_elapsed_new == NULL) missing = "cuEventElapsedTime";
  if (missing == NULL) return 1;
  char reason[128];
  snprintf(reason, sizeof reason, "has no %s", missing);
  rgt__dynlib_why(why, name, reason);
  rgt__dynlib_close(api->lib);
  return 0;
}

/* cuInit says NO_DEVICE where the driver is installed and no device is; a stub library answers in other words. */
static rgt_status count_devices(rgt__cuda_api *api, const char *name, rgt__error *err) {
  char text[32];
  int result = api->cuInit(0);
  if (result == RGT_CUDA_SUCCESS) result = api->cuDriverGetVersion(&api->version);
  if (result == RGT_CUDA_SUCCESS && api->version < RGT_CUDA_VERSION_MIN)
    return rgt__error_set(
        err, RGT_ENODEVICE, "no CUDA device: the driver library %s is for CUDA %d.%d; %d.%d or later is needed", name,
        api->version / 1000, api->version % 1000 / 10, RGT_CUDA_VERSION_MIN / 1000, RGT_CUDA_VERSION_MIN % 1000 / 10);
  if (result == RGT_CUDA_SUCCESS) result = api->cuDeviceGetCount(&api->n_devices);
  if (result != RGT_CUDA_SUCCESS)
    return rgt__error_set(err, RGT_ENODEVICE, "no CUDA device: the driver library %s was found and answers %s", name,
                          rgt__cuda_api_name(api, result, text));
  if (api->n_devices < 1)
    return rgt__error_set(err, RGT_ENODEVICE, "no CUDA device: the driver library %s was found and counts none", name);
  return RGT_OK;
}

rgt_status rgt__cuda_api_open(const rgt__environment *env, rgt__cuda_api *out, rgt__error *err) {
  const char *named[] = {rgt__environment_get(env, RGT_ENV_RAGTUNE_LIBCUDA), NULL};
  static const char *const usual[] = {"libcuda.so.1", "libcuda.so", NULL};
  const char *const *names = named[0] != NULL ? (const char *const *)named : usual;
  rgt__cuda_api api;
  rgt__buffer why = {0};
  rgt_status status;
  int found = 0, at = 0;
  for (; !found && names[at] != NULL; at++) found = try_library(&api, names[at], &why);
  if (found) {
    status = count_devices(&api, names[at - 1], err);
    if (status == RGT_OK)
      *out = api;
    else
      rgt__dynlib_close(api.lib);
  } else {
    status = rgt__error_set(err, RGT_ENODEVICE, "no CUDA device: no driver library will do; tried %s%s",
                            why.data != NULL ? why.data : "nothing",
                            named[0] != NULL ? " (RAGTUNE_LIBCUDA)" : "; RAGTUNE_LIBCUDA may name it");
  }
  rgt__buffer_free(&why);
  return status;
}

void rgt__cuda_api_close(rgt__cuda_api *api) {
  rgt__dynlib_close(api->lib);
  memset(api, 0, sizeof *api);
}

int rgt__cuda_api_has_graphs(const rgt__cuda_api *api) {
  return api->cuStreamBeginCapture_v2 != NULL && api->cuStreamEndCapture != NULL && api->cuGraphInstantiateWithFlags != NULL &&
         api->cuGraphLaunch != NULL && api->cuGraphExecDestroy != NULL && api->cuGraphDestroy != NULL;
}

/* The newer one takes events of any context of the device; between two of one context both say the same. */
int rgt__cuda_api_elapsed(const rgt__cuda_api *api, float *ms, void *start, void *end) {
  return api->event_elapsed_new != NULL ? api->event_elapsed_new(ms, start, end) : api->event_elapsed_old(ms, start, end);
}
