/* work.c -- running one piece of work, and its life. */
#include "work.h"

#include "call.h"
#include "context.h"
#include "copy.h"
#include "graph.h"
#include "launch.h"
#include "stream.h"
#include "time_model.h"

#include <stdlib.h>
#include <string.h>

/* ---- records
 * ----------------------------------------------------------------------------------------------------------------------- */

sim_record *sim_record_new(struct sim_stream *stream) {
  sim_record *record = calloc(1, sizeof *record);
  if (record == NULL) return NULL;
  record->uses = 1;
  record->stream = stream;
  return record;
}

sim_record *sim_record_share(sim_record *record) {
  record->uses++;
  return record;
}

void sim_record_drop(sim_record *record) {
  if (record != NULL && --record->uses == 0) free(record);
}

/* ---- running
 * ----------------------------------------------------------------------------------------------------------------------- */

CUresult sim_work_run(sim_context *context, const sim_work *work, int in_graph, uint64_t start_ps, uint64_t *end_ps) {
  uint64_t ps = 0;
  CUresult result = CUDA_SUCCESS;
  switch (work->kind) {
  case SIM_WORK_KERNEL:
    result = sim_launch_kernel(context, &work->kernel, &ps);
    ps += in_graph ? SIM_TIME_KERNEL_IN_GRAPH_PS : SIM_TIME_KERNEL_IN_STREAM_PS;
    break;
  case SIM_WORK_COPY:
    result = sim_copy_run(context, &work->copy);
    ps = sim_time_copy_ps(context->device->model, work->copy.bytes, work->copy.to_device != 0 && work->copy.from_device != 0);
    break;
  case SIM_WORK_FILL:
    result = sim_fill_run(context, work);
    ps = sim_time_fill_ps(context->device->model, work->fill.units * (uint64_t)work->fill.unit_bytes);
    break;
  case SIM_WORK_HOST:
    work->host.function(work->host.user);
    ps = SIM_TIME_HOST_FUNCTION_PS;
    break;
  case SIM_WORK_RECORD:
    work->record->done = 1;
    work->record->time_ps = start_ps;
    break;
  case SIM_WORK_RELEASE:
    result = sim_release_run(context, work->release);
    break;
  case SIM_WORK_GRAPH:
    return sim_exec_run(context, work->graph.exec, start_ps, end_ps);
  case SIM_WORK_WAIT:
  case SIM_WORK_EMPTY:
    break;
  }
  *end_ps = start_ps + ps;
  return result;
}

/* ---- its life
 * ---------------------------------------------------------------------------------------------------------------------- */

static void *copy_bytes(const void *from, size_t bytes) {
  void *to = malloc(bytes + 1);
  if (to != NULL && bytes > 0) memcpy(to, from, bytes);
  return to;
}

int sim_work_copy(const sim_work *work, sim_work *out) {
  *out = *work;
  if (work->kind == SIM_WORK_KERNEL) {
    out->kernel.params = copy_bytes(work->kernel.params, work->kernel.param_bytes);
    if (out->kernel.params == NULL) out->kind = SIM_WORK_EMPTY;
  } else if (work->kind == SIM_WORK_COPY && work->copy.staged != NULL) {
    out->copy.staged = copy_bytes(work->copy.staged, work->copy.bytes);
    if (out->copy.staged == NULL) out->kind = SIM_WORK_EMPTY;
  } else if (work->kind == SIM_WORK_RECORD || work->kind == SIM_WORK_WAIT) {
    sim_record_share(out->record);
  } else if (work->kind == SIM_WORK_GRAPH) {
    sim_exec_share(out->graph.exec);
    if (out->graph.after != NULL) sim_record_share(out->graph.after);
  }
  return out->kind == work->kind;
}

void sim_work_clear(sim_work *work) {
  if (work->kind == SIM_WORK_KERNEL) free(work->kernel.params);
  if (work->kind == SIM_WORK_COPY) free(work->copy.staged);
  if (work->kind == SIM_WORK_RECORD || work->kind == SIM_WORK_WAIT) sim_record_drop(work->record);
  if (work->kind == SIM_WORK_GRAPH) {
    sim_exec_drop(work->graph.exec);
    sim_record_drop(work->graph.after);
  }
  work->kind = SIM_WORK_EMPTY;
}
