/* graph_exec.c -- instantiate, launch, destroy; running a graph's nodes in a seeded order that keeps its dependencies. */
#include "call.h"
#include "capture.h"
#include "graph.h"
#include "handles.h"
#include "module.h"
#include "settings.h"
#include "stream.h"
#include "time_model.h"

#include <stdlib.h>

sim_exec *sim_exec_share(sim_exec *exec) {
  exec->uses++;
  return exec;
}

void sim_exec_drop(sim_exec *exec) {
  if (exec == NULL || --exec->uses > 0) return;
  for (size_t i = 0; i < exec->n_nodes; i++) {
    sim_work_clear(&exec->nodes[i].work);
    free(exec->nodes[i].before);
  }
  free(exec->nodes);
  sim_record_drop(exec->last);
  free(exec);
}

static int copy_node(const sim_node *node, sim_exec_node *out) {
  out->before = malloc((node->n_before + 1) * sizeof *out->before);
  if (out->before == NULL) return 0;
  for (size_t i = 0; i < node->n_before; i++) out->before[out->n_before++] = node->before[i]->index;
  return sim_work_copy(&node->work, &out->work);
}

static sim_exec *exec_new(const sim_graph *graph, sim_context *context) {
  sim_exec *exec = calloc(1, sizeof *exec);
  if (exec == NULL) return NULL;
  exec->uses = 1;
  exec->context = context;
  exec->nodes = calloc(graph->n_nodes + 1, sizeof *exec->nodes);
  int copied = exec->nodes != NULL;
  for (size_t i = 0; copied && i < graph->n_nodes; i++) {
    exec->n_nodes = i + 1;
    copied = copy_node(graph->nodes[i], &exec->nodes[i]);
  }
  if (copied) exec->handle = sim_handle_new(SIM_KIND_EXEC, exec);
  if (exec->handle != NULL) return exec;
  sim_exec_drop(exec);
  return NULL;
}

SIM_CALL(SIM_CONTEXT, cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph handle, unsigned long long flags),
         (out, handle, flags)) {
  CUresult result = CUDA_SUCCESS;
  const sim_graph *graph = sim_handle_find(handle, SIM_KIND_GRAPH, &result);
  if (graph == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the executable graph is NULL");
  if (flags > 1) return sim_refuse(CUDA_ERROR_NOT_SUPPORTED, "ptxsim knows instantiation flags 0 and 1, not %llu", flags);
  sim_exec *exec = exec_new(graph, sim_context_current());
  if (exec == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  sim_host_spend(SIM_TIME_INSTANTIATE_PS * (1 + graph->n_nodes));
  *out = exec->handle;
  return CUDA_SUCCESS;
}

/* A launch that is queued keeps the graph until it has run. */
SIM_CALL(SIM_INITIALISED, cuGraphExecDestroy, (CUgraphExec handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_exec *exec = sim_handle_find(handle, SIM_KIND_EXEC, &result);
  if (exec == NULL) return result;
  sim_handle_end(handle);
  exec->handle = NULL;
  sim_exec_drop(exec);
  return CUDA_SUCCESS;
}

/* Its kernels must still be loaded. */
static CUresult check_kernels(const sim_exec *exec) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < exec->n_nodes && result == CUDA_SUCCESS; i++)
    if (exec->nodes[i].work.kind == SIM_WORK_KERNEL) sim_function_find(exec->nodes[i].work.kernel.function, &result);
  return result;
}

/* The launch is followed by a record, so that the next launch of the same graph in another stream can wait for it. */
SIM_CALL(SIM_CONTEXT, cuGraphLaunch, (CUgraphExec handle, CUstream stream_handle), (handle, stream_handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_exec *exec = sim_handle_find(handle, SIM_KIND_EXEC, &result);
  sim_stream *stream = exec == NULL ? NULL : sim_stream_find(stream_handle, &result);
  if (stream == NULL) return result;
  if (stream->context != exec->context)
    return sim_refuse(CUDA_ERROR_INVALID_HANDLE, "the graph was instantiated in another context than the stream's");
  if (stream->capture != NULL) return sim_capture_refuse(stream, "ptxsim does not capture the launch of a graph");
  result = sim_capture_check_use(stream);
  if (result == CUDA_SUCCESS) result = check_kernels(exec);
  if (result != CUDA_SUCCESS) return result;
  sim_record *last = sim_record_new(stream);
  if (last == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  sim_work launch = {.kind = SIM_WORK_GRAPH,
                     .graph = {sim_exec_share(exec), exec->last == NULL ? NULL : sim_record_share(exec->last)}};
  sim_work record = {.kind = SIM_WORK_RECORD, .record = sim_record_share(last)};
  result = sim_stream_put(stream, &launch);
  if (result == CUDA_SUCCESS)
    result = sim_stream_put(stream, &record);
  else
    sim_work_clear(&record);
  sim_record_drop(exec->last);
  exec->last = last;
  return result;
}

SIM_CALL(SIM_CONTEXT, cuGraphUpload, (CUgraphExec handle, CUstream stream), (handle, stream)) {
  CUresult result = CUDA_SUCCESS;
  if (sim_handle_find(handle, SIM_KIND_EXEC, &result) == NULL) return result;
  sim_stream_find(stream, &result);
  return result;
}

/* ---- running
 * --------------------------------------------------------------------------------------------------------------------- */

static int is_ready(const sim_exec *exec, const sim_exec_node *node) {
  for (size_t i = 0; i < node->n_before; i++)
    if (!exec->nodes[node->before[i]].done) return 0;
  return !node->done;
}

/* Seed 0: the last of the nodes that may run. */
static size_t choose(const sim_exec *exec, uint64_t *random) {
  size_t chosen = 0, seen = 0;
  for (size_t i = 0; i < exec->n_nodes; i++) {
    if (!is_ready(exec, &exec->nodes[i])) continue;
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    if (sim_settings_get()->seed == 0 || (*random >> 33) % ++seen == 0) chosen = i;
  }
  return chosen;
}

CUresult sim_exec_run(sim_context *context, sim_exec *exec, uint64_t start_ps, uint64_t *end_ps) {
  uint64_t random = sim_settings_get()->seed ^ start_ps, last = start_ps + SIM_TIME_GRAPH_START_PS;
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < exec->n_nodes; i++) exec->nodes[i].done = 0;
  for (size_t n = 0; n < exec->n_nodes && result == CUDA_SUCCESS; n++) {
    sim_exec_node *node = &exec->nodes[choose(exec, &random)];
    uint64_t start = start_ps + SIM_TIME_GRAPH_START_PS;
    for (size_t i = 0; i < node->n_before; i++)
      if (exec->nodes[node->before[i]].end_ps > start) start = exec->nodes[node->before[i]].end_ps;
    result = sim_work_run(context, &node->work, 1, start, &node->end_ps);
    node->done = 1;
    if (node->end_ps > last) last = node->end_ps;
  }
  exec->end_ps = *end_ps = last;
  return result;
}
