/* device_cuda_time.c -- events, graphs, and the flush of the L2 cache: what timing takes. One thread at a time. */
#include <math.h>
#include <string.h>

#include "runtime/device_cuda.h"

#define PS_OF_MS 1e9

/* ---- events ---- */

static rgt_status make_events(rgt__cuda_device *c, rgt__error *err) {
  for (int i = 0; i < 2; i++) {
    if (c->events[i]) continue;
    int result = c->api.cuEventCreate(&c->events[i], RGT_CUDA_EVENT_DEFAULT);
    if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuEventCreate");
  }
  return RGT_OK;
}

static rgt_status mark(rgt__cuda_device *c, void *event, void *stream, rgt__error *err) {
  int result = c->api.cuEventRecord(event, stream);
  return result == RGT_CUDA_SUCCESS ? RGT_OK : rgt__cuda_api_fail(&c->api, result, err, "cuEventRecord");
}

rgt_status rgt__cuda_time_begin(rgt__device *d, void *stream, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  status = make_events(c, err);
  if (status == RGT_OK) status = mark(c, c->events[0], stream, err);
  rgt__cuda_leave(c, &scope);
  return status;
}

static rgt_status end(rgt__cuda_device *c, void *stream, int64_t *ps, rgt__error *err) {
  float ms = 0;
  rgt_status status = mark(c, c->events[1], stream, err);
  if (status != RGT_OK) return status;
  int result = c->api.cuEventSynchronize(c->events[1]);
  if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuEventSynchronize");
  result = rgt__cuda_api_elapsed(&c->api, &ms, c->events[0], c->events[1]);
  if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuEventElapsedTime");
  *ps = llround((double)ms * PS_OF_MS);
  return RGT_OK;
}

rgt_status rgt__cuda_time_end(rgt__device *d, void *stream, int64_t *ps, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  status = end(c, stream, ps, err);
  rgt__cuda_leave(c, &scope);
  return status;
}

/* ---- graphs ---- */

/* A stream of its own that waits for no other: what the host program does meanwhile in its streams does not touch the capture,
 * and other threads may go on with what this one may not do. */
static rgt_status begin_capture(rgt__cuda_device *c, rgt__error *err) {
  int result;
  if (!rgt__cuda_api_has_graphs(&c->api))
    return rgt__error_set(err, RGT_EUNSUPPORTED, "policy graph: this driver has no graphs; take warm or cold");
  if (!c->capture) {
    result = c->api.cuStreamCreate(&c->capture, RGT_CUDA_STREAM_NON_BLOCKING);
    if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuStreamCreate");
  }
  result = c->api.cuStreamBeginCapture_v2(c->capture, RGT_CUDA_CAPTURE_THREAD_LOCAL);
  return result == RGT_CUDA_SUCCESS ? RGT_OK : rgt__cuda_api_fail(&c->api, result, err, "cuStreamBeginCapture_v2");
}

/* The scope lasts to graph_end, which so cannot fail to enter it and leave the capture open. */
rgt_status rgt__cuda_graph_begin(rgt__device *d, void **stream, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt_status status = rgt__cuda_enter(c, &c->capture_scope, err);
  if (status != RGT_OK) return status;
  status = begin_capture(c, err);
  if (status == RGT_OK)
    *stream = c->capture;
  else
    rgt__cuda_leave(c, &c->capture_scope);
  return status;
}

/* A capture that could not be ended goes with its stream. */
static rgt_status end_capture(rgt__cuda_device *c, void **exec, rgt__error *err) {
  void *graph = NULL;
  rgt_status status = RGT_OK;
  int result = c->api.cuStreamEndCapture(c->capture, &graph);
  if (result != RGT_CUDA_SUCCESS) {
    status = rgt__cuda_api_fail(&c->api, result, err, "cuStreamEndCapture");
    c->api.cuStreamDestroy_v2(c->capture);
    c->capture = NULL;
  } else if (exec && (result = c->api.cuGraphInstantiateWithFlags(exec, graph, 0)) != RGT_CUDA_SUCCESS) {
    status = rgt__cuda_api_fail(&c->api, result, err, "cuGraphInstantiateWithFlags");
  }
  if (graph) c->api.cuGraphDestroy(graph);
  return status;
}

rgt_status rgt__cuda_graph_end(rgt__device *d, void **graph, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt_status status = end_capture(c, graph, err);
  rgt__cuda_leave(c, &c->capture_scope);
  return status;
}

rgt_status rgt__cuda_graph_launch(rgt__device *d, void *graph, void *stream, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  int result = c->api.cuGraphLaunch(graph, stream);
  if (result != RGT_CUDA_SUCCESS) status = rgt__cuda_api_fail(&c->api, result, err, "cuGraphLaunch");
  rgt__cuda_leave(c, &scope);
  return status;
}

void rgt__cuda_graph_free(rgt__device *d, void *graph) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  if (!graph || rgt__cuda_enter(c, &scope, NULL) != RGT_OK) return;
  c->api.cuGraphExecDestroy(graph);
  rgt__cuda_leave(c, &scope);
}

/* ---- the cache ---- */

/* Writes twice the L2 cache: what was in it is pushed out, and what is in it belongs to nobody. */
void rgt__cuda_flush_cache(rgt__device *d) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  size_t bytes = 2 * (size_t)(c->l2_bytes > 0 ? c->l2_bytes : 64 << 20);
  if (rgt__cuda_enter(c, &scope, NULL) != RGT_OK) return;
  if (!c->flush && c->api.cuMemAlloc_v2(&c->flush, bytes) == RGT_CUDA_SUCCESS) c->flush_bytes = bytes;
  if (c->flush_bytes > 0) c->api.cuMemsetD8Async(c->flush, c->flush_byte++, c->flush_bytes, d->stream);
  rgt__cuda_leave(c, &scope);
}

void rgt__cuda_time_close(rgt__cuda_device *c) {
  for (int i = 0; i < 2; i++)
    if (c->events[i]) c->api.cuEventDestroy_v2(c->events[i]);
  if (c->capture) c->api.cuStreamDestroy_v2(c->capture);
  if (c->flush_bytes > 0) c->api.cuMemFree_v2(c->flush);
}
