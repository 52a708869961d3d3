/* work.h -- one piece of work of a stream or a graph. */
#ifndef SIM_DRIVER_WORK_H
#define SIM_DRIVER_WORK_H

#include "cuda_types.h"

typedef enum sim_work_kind {
  SIM_WORK_EMPTY,
  SIM_WORK_KERNEL,
  SIM_WORK_COPY,
  SIM_WORK_FILL,
  SIM_WORK_HOST,
  SIM_WORK_RECORD,  /* of an event */
  SIM_WORK_WAIT,    /* for an event */
  SIM_WORK_RELEASE, /* cuMemFreeAsync */
  SIM_WORK_GRAPH
} sim_work_kind;

/* What one record of an event stands for: shared by the event, the work that fulfils it and those that wait for it. */
typedef struct sim_record {
  int uses;
  int done;
  uint64_t order;   /* of the work that fulfils it */
  uint64_t time_ps; /* when it was fulfilled */
  struct sim_stream *stream;
} sim_record;

sim_record *sim_record_new(struct sim_stream *stream); /* NULL: no host memory */
sim_record *sim_record_share(sim_record *record);
void sim_record_drop(sim_record *record); /* NULL is allowed */

typedef struct sim_kernel_work {
  CUfunction function;
  unsigned grid[3], block[3], cluster[3];
  uint32_t dynamic_shared;
  void *params; /* owned */
  size_t param_bytes;
  int cooperative;
} sim_kernel_work;

/* Exactly one of each pair is set; `staged` (owned) takes the place of the host's bytes that were read at the call. */
typedef struct sim_copy_work {
  uint64_t to_device, from_device;
  void *to_host;
  const void *from_host;
  void *staged;
  uint64_t bytes;
} sim_copy_work;

typedef struct sim_work {
  sim_work_kind kind;
  union {
    sim_kernel_work kernel;
    sim_copy_work copy;
    struct {
      uint64_t to, units;
      uint32_t value;
      int unit_bytes;
    } fill;
    struct {
      CUhostFn function;
      void *user;
    } host;
    sim_record *record; /* RECORD, WAIT: owned share */
    uint64_t release;
    struct {
      struct sim_exec *exec;
      sim_record *after; /* of the graph's launch before this one, or NULL */
    } graph;             /* owned shares */
  };
} sim_work;

struct sim_context;
/* sim_work_run -- runs it; *end_ps: when it ends if it starts at start_ps. In a graph the overheads are smaller. */
CUresult sim_work_run(struct sim_context *context, const sim_work *work, int in_graph, uint64_t start_ps, uint64_t *end_ps);
int sim_work_copy(const sim_work *work, sim_work *out); /* 0: no host memory */
void sim_work_clear(sim_work *work);

#endif
