/* capture.h -- capturing streams into a graph, and what the driver refuses meanwhile. */
#ifndef SIM_DRIVER_CAPTURE_H
#define SIM_DRIVER_CAPTURE_H

#include "context.h"
#include "event.h"
#include "graph.h"
#include "stream.h"

typedef struct sim_capture {
  struct sim_capture *next; /* of all that are going on */
  sim_stream *origin;
  sim_graph *graph;
  CUstreamCaptureMode mode;
  unsigned long long thread, id;
  int invalid;
} sim_capture;

/* In a captured stream. */
CUresult sim_capture_put(sim_stream *stream, sim_work *work); /* a node behind the stream's tips; takes the work over */
CUresult sim_capture_record(sim_stream *stream, sim_event *event);
CUresult sim_capture_wait(sim_stream *stream, sim_event *event); /* one of the two belongs to a capture */
/* sim_capture_refuse -- what cannot be captured: reports, invalidates the capture, returns STREAM_CAPTURE_UNSUPPORTED. */
CUresult sim_capture_refuse(sim_stream *stream, const char *why);

/* What stands against a call: SUCCESS, or the driver's code, reported; captures that it disturbs are invalid from then on. */
CUresult sim_capture_check_use(sim_stream *stream);           /* queueing work in a stream */
CUresult sim_capture_check_wait(sim_stream *stream);          /* waiting for a stream or asking it */
CUresult sim_capture_check_event(sim_event *event);           /* waiting for an event or asking it */
CUresult sim_capture_check_synchronise(sim_context *context); /* waiting for all */
CUresult sim_capture_check_unsafe(void);                      /* allocating, freeing, loading */

void sim_capture_forget_stream(sim_stream *stream); /* it is destroyed */

#endif
