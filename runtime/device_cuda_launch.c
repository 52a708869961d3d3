/* device_cuda_launch.c -- a program's steps into a stream: the hot path. Nothing here allocates, waits or asks, so that a call
 * can be captured into a graph; steps follow one another in the stream, which is the barrier between them. */
#include <inttypes.h>
#include <string.h>

#include "runtime/device_cuda.h"

static rgt_status launch_kernel(rgt__cuda_device *c, void *function, const char *name, int64_t grid, int64_t block,
                                int64_t shared, int64_t cluster, void **params, void *stream, rgt__error *err) {
  int result;
  if (cluster <= 1) {
    result =
        c->api.cuLaunchKernel(function, (unsigned)grid, 1, 1, (unsigned)block, 1, 1, (unsigned)shared, stream, params, NULL);
  } else {
    rgt__cuda_attribute clusters = {.id = RGT_CUDA_LAUNCH_CLUSTER, .value.cluster = {(unsigned)cluster, 1, 1}};
    rgt__cuda_launch launch = {.grid = {(unsigned)grid, 1, 1},
                               .block = {(unsigned)block, 1, 1},
                               .shared = (unsigned)shared,
                               .stream = stream,
                               .attributes = &clusters,
                               .n_attributes = 1};
    if (!c->api.cuLaunchKernelEx)
      return rgt__error_set(err, RGT_EUNSUPPORTED,
                            "%s runs in clusters of %" PRId64 " blocks; this driver has no cuLaunchKernelEx", name, cluster);
    result = c->api.cuLaunchKernelEx(&launch, function, params, NULL);
  }
  if (__builtin_expect(result == RGT_CUDA_SUCCESS, 1)) return RGT_OK;
  return rgt__cuda_api_fail(&c->api, result, err,
                            "launch of %s (%" PRId64 " blocks of %" PRId64 " threads, %" PRId64 " shared bytes)", name, grid,
                            block, shared);
}

static rgt_status fill(rgt__cuda_device *c, void *workspace, int64_t offset, int64_t bytes, int value, void *stream,
                       rgt__error *err) {
  rgt__cuda_address to = rgt__cuda_address_of(workspace) + (rgt__cuda_address)offset;
  int result = c->api.cuMemsetD8Async(to, (unsigned char)value, (size_t)bytes, stream);
  if (result == RGT_CUDA_SUCCESS) return RGT_OK;
  return rgt__cuda_api_fail(&c->api, result, err, "cuMemsetD8Async of %" PRId64 " bytes", bytes);
}

rgt_status rgt__cuda_launch_program(rgt__device *d, rgt__module *m, const rgt__program *program, const rgt__plan *plan,
                                    const rgt_kargs *k, void *workspace, void *stream, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  void *params[] = {(void *)(uintptr_t)k, &workspace}; /* the driver copies what they point to */
  rgt_status status = rgt__cuda_enter_quick(c, &scope, err);
  if (status != RGT_OK) return status;
  for (int i = 0; i < program->n_steps && status == RGT_OK; i++) {
    if (program->steps[i].kind == RGT_STEP_MEMSET) {
      if (plan->steps[i].bytes > 0)
        status = fill(c, workspace, plan->steps[i].offset, plan->steps[i].bytes, program->steps[i].value, stream, err);
    } else if (plan->steps[i].shared > m->shared_max[i]) {
      status = rgt__error_set(err, RGT_EINFEASIBLE, "%s wants %" PRId64 " bytes of shared memory; a block may have %" PRId64,
                              program->steps[i].kernel, plan->steps[i].shared, m->shared_max[i]);
    } else if (plan->steps[i].grid > 0) {
      status = launch_kernel(c, m->functions[i], program->steps[i].kernel, plan->steps[i].grid, plan->steps[i].block,
                             plan->steps[i].shared, plan->steps[i].cluster, params, stream, err);
    }
  }
  rgt__cuda_leave(c, &scope);
  return status;
}

int64_t rgt__cuda_occupancy(rgt__device *d, rgt__module *m, int step, int64_t block, int64_t shared) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  int blocks = 0;
  if (!c->api.cuOccupancyMaxActiveBlocksPerMultiprocessor || rgt__cuda_enter_quick(c, &scope, NULL) != RGT_OK) return 1;
  int result = c->api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, m->functions[step], (int)block, (size_t)shared);
  rgt__cuda_leave(c, &scope);
  return result == RGT_CUDA_SUCCESS && blocks > 0 ? blocks : 1;
}

/* ---- waiting ---- */

/* Waiting for a stream that is being captured would end the capture for its owner: that is refused here first. */
static rgt_status check_not_captured(rgt__cuda_device *c, void *stream, rgt__error *err) {
  int capture = RGT_CUDA_CAPTURE_NONE;
  int result = c->api.cuStreamIsCapturing(stream, &capture);
  if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuStreamIsCapturing");
  if (capture == RGT_CUDA_CAPTURE_NONE) return RGT_OK;
  return rgt__error_set(err, RGT_EINVAL, "the stream is being captured; it can be waited for after the capture has ended");
}

static rgt_status wait_for(rgt__cuda_device *c, void *stream, rgt__error *err) {
  int result = c->api.cuStreamSynchronize(stream);
  return result == RGT_CUDA_SUCCESS ? RGT_OK : rgt__cuda_api_fail(&c->api, result, err, "cuStreamSynchronize");
}

rgt_status rgt__cuda_sync(rgt__device *d, void *stream, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  status = check_not_captured(c, stream, err);
  if (status == RGT_OK) status = wait_for(c, stream, err);
  rgt__cuda_leave(c, &scope);
  return status;
}

/* Both copies go through the stream itself: no other stream waits for them. */
static rgt_status take(rgt__cuda_device *c, rgt_int64 *counters, rgt_int64 out[2], void *stream, rgt__error *err) {
  static const rgt_int64 none[2] = {0, INT64_MAX};
  rgt__cuda_address at = rgt__cuda_address_of(counters);
  rgt_int64 now[2] = {0, INT64_MAX};
  rgt_status status = check_not_captured(c, stream, err);
  if (status != RGT_OK) return status;
  int result = c->api.cuMemcpyDtoHAsync_v2(now, at, sizeof now, stream);
  if (result != RGT_CUDA_SUCCESS)
    return rgt__cuda_api_fail(&c->api, result, err, "cuMemcpyDtoHAsync_v2 of the counters of index errors");
  if ((status = wait_for(c, stream, err)) != RGT_OK) return status;
  if (now[0] != 0) {
    result = c->api.cuMemcpyHtoDAsync_v2(at, none, sizeof none, stream);
    if (result != RGT_CUDA_SUCCESS)
      return rgt__cuda_api_fail(&c->api, result, err, "cuMemcpyHtoDAsync_v2 to the counters of index errors");
    if ((status = wait_for(c, stream, err)) != RGT_OK) return status;
  }
  memcpy(out, now, sizeof now);
  return RGT_OK;
}

rgt_status rgt__cuda_take_counters(rgt__device *d, rgt_int64 *counters, rgt_int64 out[2], void *stream, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  status = take(c, counters, out, stream, err);
  rgt__cuda_leave(c, &scope);
  return status;
}
