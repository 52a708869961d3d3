/* graph.h -- graphs: work with dependencies, and what can be launched. */
#ifndef SIM_DRIVER_GRAPH_H
#define SIM_DRIVER_GRAPH_H

#include "context.h"
#include "work.h"

typedef struct sim_node {
  CUgraphNode handle;
  sim_work work;
  size_t index; /* in its graph; dependencies have smaller ones */
  struct sim_node **before;
  size_t n_before;
} sim_node;

typedef struct sim_graph {
  CUgraph handle; /* NULL: still being captured */
  sim_node **nodes;
  size_t n_nodes, capacity;
} sim_graph;

/* An executable graph owns copies of the nodes' work. */
typedef struct sim_exec_node {
  sim_work work;
  size_t *before, n_before;
  uint64_t end_ps; /* of the launch that runs */
  int done;
} sim_exec_node;

typedef struct sim_exec {
  CUgraphExec handle;
  int uses; /* the handle and each queued launch */
  sim_context *context;
  sim_exec_node *nodes;
  size_t n_nodes;
  sim_record *last; /* of its last queued launch: launches of one graph follow each other */
  uint64_t end_ps;
} sim_exec;

sim_graph *sim_graph_new(void); /* NULL: no host memory */
void sim_graph_free(sim_graph *graph);
/* sim_graph_add -- takes the work over, also on failure (NULL). */
sim_node *sim_graph_add(sim_graph *graph, sim_work *work, sim_node *const *before, size_t n_before);

sim_exec *sim_exec_share(sim_exec *exec);
void sim_exec_drop(sim_exec *exec); /* NULL is allowed */
CUresult sim_exec_run(sim_context *context, sim_exec *exec, uint64_t start_ps, uint64_t *end_ps);

#endif
