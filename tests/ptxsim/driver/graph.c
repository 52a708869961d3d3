/* graph.c -- graphs and their nodes. */
#include "graph.h"

#include "call.h"
#include "handles.h"

#include <stdlib.h>
#include <string.h>

sim_graph *sim_graph_new(void) {
  return calloc(1, sizeof(sim_graph));
}

static void free_node(sim_node *node) {
  sim_handle_end(node->handle);
  sim_work_clear(&node->work);
  free(node->before);
  free(node);
}

void sim_graph_free(sim_graph *graph) {
  if (graph == NULL) return;
  for (size_t i = 0; i < graph->n_nodes; i++) free_node(graph->nodes[i]);
  sim_handle_end(graph->handle);
  free(graph->nodes);
  free(graph);
}

static int make_room(sim_graph *graph) {
  if (graph->n_nodes < graph->capacity) return 1;
  size_t more = graph->capacity == 0 ? 16 : 2 * graph->capacity;
  sim_node **grown = realloc(graph->nodes, more * sizeof *grown);
  if (grown == NULL) return 0;
  graph->nodes = grown;
  graph->capacity = more;
  return 1;
}

sim_node *sim_graph_add(sim_graph *graph, sim_work *work, sim_node *const *before, size_t n_before) {
  sim_node *node = calloc(1, sizeof *node);
  if (node != NULL) node->before = malloc((n_before + 1) * sizeof(sim_node *));
  if (node != NULL) node->handle = sim_handle_new(SIM_KIND_NODE, node);
  if (node == NULL || node->before == NULL || node->handle == NULL || !make_room(graph)) {
    sim_work_clear(work);
    if (node != NULL) free_node(node);
    return NULL;
  }
  node->work = *work;
  node->index = graph->n_nodes;
  node->n_before = n_before;
  if (n_before > 0) memcpy(node->before, before, n_before * sizeof(sim_node *));
  graph->nodes[graph->n_nodes++] = node;
  return node;
}

SIM_CALL(SIM_INITIALISED, cuGraphCreate, (CUgraph * out, unsigned flags), (out, flags)) {
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the graph is NULL");
  if (flags != 0) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags are %u, must be 0", flags);
  sim_graph *graph = sim_graph_new();
  if (graph == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  graph->handle = sim_handle_new(SIM_KIND_GRAPH, graph);
  if (graph->handle == NULL) {
    sim_graph_free(graph);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = graph->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuGraphDestroy, (CUgraph handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_graph *graph = sim_handle_find(handle, SIM_KIND_GRAPH, &result);
  if (graph == NULL) return result;
  sim_graph_free(graph);
  return CUDA_SUCCESS;
}

/* With a NULL array the count alone; else as many as there is room for, the rest NULL. */
SIM_CALL(SIM_INITIALISED, cuGraphGetNodes, (CUgraph handle, CUgraphNode *nodes, size_t *n), (handle, nodes, n)) {
  CUresult result = CUDA_SUCCESS;
  const sim_graph *graph = sim_handle_find(handle, SIM_KIND_GRAPH, &result);
  if (graph == NULL) return result;
  if (n == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the count is NULL");
  for (size_t i = 0; nodes != NULL && i < *n; i++) nodes[i] = i < graph->n_nodes ? graph->nodes[i]->handle : NULL;
  if (nodes == NULL || *n > graph->n_nodes) *n = graph->n_nodes;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuGraphNodeGetType, (CUgraphNode handle, CUgraphNodeType *type), (handle, type)) {
  static const CUgraphNodeType types[] = {
      [SIM_WORK_EMPTY] = CU_GRAPH_NODE_TYPE_EMPTY, [SIM_WORK_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
      [SIM_WORK_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY, [SIM_WORK_FILL] = CU_GRAPH_NODE_TYPE_MEMSET,
      [SIM_WORK_HOST] = CU_GRAPH_NODE_TYPE_HOST,
  };
  CUresult result = CUDA_SUCCESS;
  const sim_node *node = sim_handle_find(handle, SIM_KIND_NODE, &result);
  if (node == NULL) return result;
  if (type == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the type is NULL");
  *type = types[node->work.kind];
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuGraphKernelNodeGetParams_v2, (CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  const sim_node *node = sim_handle_find(handle, SIM_KIND_NODE, &result);
  if (node == NULL) return result;
  if (out == NULL || node->work.kind != SIM_WORK_KERNEL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE,
                      out == NULL ? "the address for the parameters is NULL" : "the node is no kernel");
  const sim_kernel_work *k = &node->work.kernel;
  *out = (CUDA_KERNEL_NODE_PARAMS){.func = k->function,
                                   .gridDimX = k->grid[0],
                                   .gridDimY = k->grid[1],
                                   .gridDimZ = k->grid[2],
                                   .blockDimX = k->block[0],
                                   .blockDimY = k->block[1],
                                   .blockDimZ = k->block[2],
                                   .sharedMemBytes = k->dynamic_shared};
  return CUDA_SUCCESS;
}
