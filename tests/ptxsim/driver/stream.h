/* stream.h -- streams: queues of work that is run when somebody waits for it, in an order that the driver's rules allow. */
#ifndef SIM_DRIVER_STREAM_H
#define SIM_DRIVER_STREAM_H

#include "context.h"
#include "work.h"

typedef enum sim_stream_kind { SIM_STREAM_MADE, SIM_STREAM_LEGACY, SIM_STREAM_PER_THREAD } sim_stream_kind;

struct sim_capture;
struct sim_node;

typedef struct sim_op {
  struct sim_op *next;
  uint64_t order;     /* of all work in all streams, from 1 */
  uint64_t submit_ps; /* the host's clock when it was queued */
  sim_work work;
} sim_op;

typedef struct sim_stream {
  struct sim_stream *next;
  sim_context *context;
  CUstream handle;
  sim_stream_kind kind;
  unsigned flags;
  int priority;
  unsigned long long id, thread; /* thread: of a per-thread stream */
  int destroyed, n_waiting;      /* kept until its work has run and nobody waits for it */
  sim_op *head, *tail;
  uint64_t n_put;
  uint64_t clock_ps;           /* when what has run in it ended */
  struct sim_capture *capture; /* NULL: work is queued; else it becomes nodes behind the tips */
  struct sim_node **tips;
  size_t n_tips;
} sim_stream;

/* sim_stream_find -- the stream behind a handle, with NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. Reports a wrong one. */
sim_stream *sim_stream_find(CUstream handle, CUresult *result);
sim_stream *sim_stream_new(sim_context *context, sim_stream_kind kind, unsigned flags, int priority); /* NULL: no host memory */
void sim_stream_drop(sim_stream *stream); /* at the end of its context: its work is not run */

/* sim_stream_put -- queues work, or makes a node of it where the stream is captured. Takes the work over, also on failure. */
CUresult sim_stream_put(sim_stream *stream, sim_work *work);

/* Running. Each returns the context's fault, if there is one by then. */
CUresult sim_stream_run_until(sim_stream *stream, uint64_t order); /* what was queued in it up to there */
CUresult sim_stream_run_all(sim_stream *stream);
CUresult sim_context_run_all(sim_context *context);
CUresult sim_stream_step(sim_stream *stream); /* one piece of work that brings it on; for queries */
void sim_context_drop_work(sim_context *context);

/* The host's clock, moved on by calls and by waiting. */
uint64_t sim_host_ps(void);
void sim_host_spend(uint64_t ps);
void sim_host_wait_for(uint64_t ps);

#endif
