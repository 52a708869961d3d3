/* event.h -- events. */
#ifndef SIM_DRIVER_EVENT_H
#define SIM_DRIVER_EVENT_H

#include "context.h"
#include "stream.h"

typedef struct sim_event {
  struct sim_event *next;
  sim_context *context;
  CUevent handle;
  unsigned flags;
  sim_record *record; /* NULL: not recorded yet, or last in a capture */
  /* Where it was last recorded in a capture: the capture, and what the event stands for in its graph. */
  struct sim_capture *captured;
  struct sim_node **nodes;
  size_t n_nodes;
} sim_event;

sim_event *sim_event_find(CUevent handle, CUresult *result);
void sim_event_uncapture(sim_event *event); /* forgets a record within a capture */
void sim_events_drop(sim_context *context);

#endif
