/* cuda_api.c -- finding the CUDA driver and asking it how many devices there are. */
#include "runtime/cuda_api.h"

#include "runtime/dynlib.h"

#include <stdio.h>
#include <string.h>

static const rgt__dynlib_symbol symbols[] = {
#define SYMBOL(name, params) {#name, offsetof(rgt__cuda_api, name)},
    RGT_CUDA_LIST(SYMBOL)
#undef SYMBOL
};

const char *rgt__cuda_api_result(const rgt__cuda_api *api, int result, char text[32]) {
  const char *name = NULL;
  if (api->cuGetErrorName(result, &name) == RGT_CUDA_SUCCESS && name != NULL) return name;
  snprintf(text, 32, "error %d", result);
  return text;
}

static int try_library(rgt__cuda_api *api, const char *name, rgt__buffer *why) {
  memset(api, 0, sizeof *api);
  api->lib = rgt__dynlib_open(name, why);
  if (api->lib == NULL) return 0;
  const char *missing = rgt__dynlib_symbols(api->lib, symbols, sizeof symbols / sizeof symbols[0], api);
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
  if (result == RGT_CUDA_SUCCESS) result = api->cuDeviceGetCount(&api->n_devices);
  if (result != RGT_CUDA_SUCCESS)
    return rgt__error_set(err, RGT_ENODEVICE, "no CUDA device: the driver library %s was found and answers %s", name,
                          rgt__cuda_api_result(api, result, text));
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
    status = rgt__error_set(err, RGT_ENODEVICE, "no CUDA device: the driver library was not found; tried %s%s",
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
