/* device_cuda.c -- the CUDA device: opening and closing it. See device_cuda.h for the files behind it. */
#include "runtime/device_cuda.h"

#include <string.h>

#include "runtime/base/alloc.h"

/* ---- the caller's context ---- */

/* A context that is current already costs one question, which the driver answers from the thread's own memory. */
rgt_status rgt__cuda_enter_quick(rgt__cuda_device *c, rgt__cuda_scope *scope, rgt__error *err) {
  void *current = NULL;
  scope->pushed = scope->relaxed = 0;
  if (c->api.cuCtxGetCurrent(&current) == RGT_CUDA_SUCCESS && current == c->context) return RGT_OK;
  int result = c->api.cuCtxPushCurrent_v2(c->context);
  if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuCtxPushCurrent_v2");
  scope->pushed = 1;
  return RGT_OK;
}

rgt_status rgt__cuda_enter(rgt__cuda_device *c, rgt__cuda_scope *scope, rgt__error *err) {
  rgt_status status = rgt__cuda_enter_quick(c, scope, err);
  if (status != RGT_OK || !c->api.cuThreadExchangeStreamCaptureMode) return status;
  scope->mode = RGT_CUDA_CAPTURE_RELAXED;
  scope->relaxed = c->api.cuThreadExchangeStreamCaptureMode(&scope->mode) == RGT_CUDA_SUCCESS;
  return RGT_OK;
}

void rgt__cuda_leave(rgt__cuda_device *c, rgt__cuda_scope *scope) {
  void *popped = NULL;
  if (scope->relaxed) c->api.cuThreadExchangeStreamCaptureMode(&scope->mode);
  scope->relaxed = 0;
  if (scope->pushed) c->api.cuCtxPopCurrent_v2(&popped);
  scope->pushed = 0;
}

/* The thread's current context, where it is one of this device. */
static void *callers_context(rgt__cuda_device *c) {
  void *current = NULL;
  int device = -1;
  if (c->api.cuCtxGetCurrent(&current) != RGT_CUDA_SUCCESS || current == NULL) return NULL;
  if (c->api.cuCtxGetDevice(&device) != RGT_CUDA_SUCCESS || device != c->device) return NULL;
  return current;
}

static rgt_status find_context(rgt__cuda_device *c, int ordinal, rgt__error *err) {
  c->context = callers_context(c);
  if (c->context) return RGT_OK;
  int result = c->api.cuDevicePrimaryCtxRetain(&c->context, c->device);
  if (result != RGT_CUDA_SUCCESS)
    return rgt__cuda_api_fail(&c->api, result, err, "cuDevicePrimaryCtxRetain of device %d", ordinal);
  c->retained = 1;
  return RGT_OK;
}

/* ---- opening and closing ---- */

/* With a NULL argument nothing of the driver has been touched; closing what was opened in part is closing. */
static void close_device(rgt__device *d) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  if (!d) return;
  if (c->context && rgt__cuda_enter(c, &scope, NULL) == RGT_OK) {
    rgt__cuda_time_close(c);
    if (d->stream) c->api.cuStreamDestroy_v2(d->stream);
    rgt__cuda_leave(c, &scope);
  }
  if (c->retained) c->api.cuDevicePrimaryCtxRelease_v2(c->device);
  rgt__cuda_api_close(&c->api);
  rgt__nvrtc_close(c->nvrtc);
  pthread_mutex_destroy(&c->nvrtc_lock);
  rgt__free(c);
}

static rgt_status another_device(rgt__device *d, rgt__device **out, rgt__error *err);

static const rgt__device_ops ops = {
    .kind = "cuda",
    .compile = rgt__cuda_compile,
    .toolchain = rgt__cuda_toolchain,
    .compiler_stamp = rgt__cuda_compiler_stamp,
    .load = rgt__cuda_load,
    .unload = rgt__cuda_unload,
    .mem_alloc = rgt__cuda_mem_alloc,
    .mem_free = rgt__cuda_mem_free,
    .mem_write = rgt__cuda_mem_write,
    .mem_read = rgt__cuda_mem_read,
    .launch = rgt__cuda_launch_program,
    .sync = rgt__cuda_sync,
    .flush_cache = rgt__cuda_flush_cache,
    .close = close_device,
    .time_begin = rgt__cuda_time_begin,
    .time_end = rgt__cuda_time_end,
    .graph_begin = rgt__cuda_graph_begin,
    .graph_end = rgt__cuda_graph_end,
    .graph_launch = rgt__cuda_graph_launch,
    .graph_free = rgt__cuda_graph_free,
    .take_counters = rgt__cuda_take_counters,
    .occupancy = rgt__cuda_occupancy,
    .reaches = rgt__cuda_reaches,
    .another = another_device,
};

/* Its own stream waits for the default stream and is waited for by it, as copies and fills go there. */
static rgt_status make_stream(rgt__cuda_device *c, rgt__error *err) {
  int result = c->api.cuStreamCreate(&c->base.stream, RGT_CUDA_STREAM_DEFAULT);
  return result == RGT_CUDA_SUCCESS ? RGT_OK : rgt__cuda_api_fail(&c->api, result, err, "cuStreamCreate");
}

static rgt_status open_ordinal(rgt__cuda_device *c, int ordinal, rgt__error *err) {
  rgt__cuda_scope scope;
  if (ordinal < 0 || ordinal >= c->api.n_devices)
    return rgt__error_set(err, RGT_ENODEVICE, "no CUDA device %d: the driver counts %d, from 0", ordinal, c->api.n_devices);
  int result = c->api.cuDeviceGet(&c->device, ordinal);
  if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuDeviceGet of device %d", ordinal);
  rgt_status status = find_context(c, ordinal, err);
  if (status == RGT_OK) status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  status = rgt__cuda_describe(c, err);
  if (status == RGT_OK) status = make_stream(c, err);
  rgt__cuda_leave(c, &scope);
  return status;
}

static rgt__cuda_device *new_device(const rgt__device_options *o) {
  rgt__cuda_device *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return NULL;
  pthread_mutex_init(&c->nvrtc_lock, NULL);
  c->base.ops = &ops;
  c->base.opened = *o;
  return c;
}

rgt_status rgt__device_cuda_open(const rgt__device_options *o, rgt__device **out, rgt__error *err) {
  rgt__cuda_device *c = new_device(o);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  rgt_status status = rgt__cuda_api_open(o->env, &c->api, err);
  if (status == RGT_OK) status = open_ordinal(c, o->ordinal, err);
  if (status != RGT_OK) {
    close_device(&c->base);
    return status;
  }
  *out = &c->base;
  return RGT_OK;
}

/* The same context, whoever owns it: what one of them loads the other finds loaded. A stream and events of its own. */
static rgt_status share(const rgt__cuda_device *from, rgt__cuda_device *c, rgt__error *err) {
  rgt__cuda_scope scope;
  c->base.info = from->base.info;
  c->device = from->device;
  c->shared_optin = from->shared_optin;
  c->l2_bytes = from->l2_bytes;
  c->reads_pageable = from->reads_pageable;
  rgt_status status = rgt__cuda_api_open(c->base.opened.env, &c->api, err);
  if (status != RGT_OK) return status;
  c->context = from->context;
  if (from->retained) {
    int result = c->api.cuDevicePrimaryCtxRetain(&c->context, c->device);
    if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuDevicePrimaryCtxRetain once more");
    c->retained = 1;
  }
  status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  status = make_stream(c, err);
  rgt__cuda_leave(c, &scope);
  return status;
}

static rgt_status another_device(rgt__device *d, rgt__device **out, rgt__error *err) {
  rgt__cuda_device *c = new_device(&d->opened);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  rgt_status status = share(rgt__cuda_of(d), c, err);
  if (status != RGT_OK) {
    close_device(&c->base);
    return status;
  }
  *out = &c->base;
  return RGT_OK;
}

int rgt__device_cuda_present(const rgt__environment *env, int has_code) {
  rgt__cuda_api api;
  rgt__nvrtc *nvrtc = NULL;
  if (rgt__cuda_api_open(env, &api, NULL) != RGT_OK) return 0;
  rgt__cuda_api_close(&api);
  if (has_code) return 1;
  if (rgt__nvrtc_open(env, &nvrtc, NULL) != RGT_OK) return 0;
  rgt__nvrtc_close(nvrtc);
  return 1;
}
