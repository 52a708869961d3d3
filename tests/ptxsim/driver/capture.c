/* capture.c -- what happens in a captured stream becomes nodes; what cannot be captured makes the capture invalid. */
#include "capture.h"

#include "call.h"
#include "handles.h"
#include "thread_stack.h"

#include <stdlib.h>
#include <string.h>

static sim_capture *captures;
static unsigned long long last_id;
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* ---- tips: what the next node of a stream depends on
 * ------------------------------------------------------------------------------ */

static int set_tips(sim_node ***tips, size_t *n_tips, sim_node *const *nodes, size_t n) {
  sim_node **copy = malloc((n + 1) * sizeof(sim_node *));
  if (copy == NULL) return 0;
  if (n > 0) memcpy(copy, nodes, n * sizeof(sim_node *));
  free(*tips);
  *tips = copy;
  *n_tips = n;
  return 1;
}

static int add_tips(sim_stream *stream, sim_node *const *nodes, size_t n) {
  sim_node **grown = realloc(stream->tips, (stream->n_tips + n + 1) * sizeof(sim_node *));
  if (grown == NULL) return 0;
  stream->tips = grown;
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < stream->n_tips && grown[k] != nodes[i]) k++;
    if (k == stream->n_tips) grown[stream->n_tips++] = nodes[i];
  }
  return 1;
}

static void leave(sim_stream *stream) {
  free(stream->tips);
  stream->tips = NULL;
  stream->n_tips = 0;
  stream->capture = NULL;
}

/* ---- in a captured stream
 * --------------------------------------------------------------------------------------------------------- */

static CUresult check_valid(const sim_stream *stream) {
  if (!stream->capture->invalid) return CUDA_SUCCESS;
  return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call made the capture of this stream invalid");
}

CUresult sim_capture_put(sim_stream *stream, sim_work *work) {
  CUresult result = check_valid(stream);
  if (result != CUDA_SUCCESS) {
    sim_work_clear(work);
    return result;
  }
  sim_node *node = sim_graph_add(stream->capture->graph, work, stream->tips, stream->n_tips);
  if (node == NULL || !set_tips(&stream->tips, &stream->n_tips, &node, 1)) return CUDA_ERROR_OUT_OF_MEMORY;
  return CUDA_SUCCESS;
}

CUresult sim_capture_record(sim_stream *stream, sim_event *event) {
  CUresult result = check_valid(stream);
  if (result != CUDA_SUCCESS) return result;
  if (!set_tips(&event->nodes, &event->n_nodes, stream->tips, stream->n_tips)) return CUDA_ERROR_OUT_OF_MEMORY;
  event->captured = stream->capture;
  sim_record_drop(event->record);
  event->record = NULL;
  return CUDA_SUCCESS;
}

/* A stream that waits for a captured event joins the capture. */
CUresult sim_capture_wait(sim_stream *stream, sim_event *event) {
  sim_capture *capture = event->captured;
  if (stream->capture != NULL) {
    CUresult result = check_valid(stream);
    if (result != CUDA_SUCCESS) return result;
  }
  if (capture == NULL) {
    if (event->record == NULL) return CUDA_SUCCESS; /* never recorded: nothing to wait for */
    stream->capture->invalid = 1;
    return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                      "a captured stream waits for an event that was recorded outside of the capture");
  }
  if (stream->capture != NULL && stream->capture != capture) {
    stream->capture->invalid = capture->invalid = 1;
    return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the stream and the event belong to two captures");
  }
  if (stream->kind == SIM_STREAM_LEGACY) {
    capture->invalid = 1;
    return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream cannot join a capture");
  }
  if (stream->context != event->context)
    return sim_refuse(CUDA_ERROR_INVALID_HANDLE, "the event is of another context than the stream");
  stream->capture = capture;
  return add_tips(stream, event->nodes, event->n_nodes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_capture_refuse(sim_stream *stream, const char *why) {
  stream->capture->invalid = 1;
  return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s; the capture is invalid now", why);
}

/* ---- what is refused meanwhile
 * ---------------------------------------------------------------------------------------------------- */

/* Work in the legacy stream would have to wait for captured work, unless that is of a non-blocking stream. */
static int legacy_meets_capture(const sim_stream *stream, int disturb) {
  int meets = 0;
  for (sim_stream *s = stream->context->streams; stream->kind == SIM_STREAM_LEGACY && s != NULL; s = s->next) {
    if (s->capture == NULL || (s->flags & CU_STREAM_NON_BLOCKING) != 0) continue;
    meets = 1;
    if (disturb) s->capture->invalid = 1;
  }
  return meets;
}

CUresult sim_capture_check_use(sim_stream *stream) {
  if (stream->capture != NULL) return check_valid(stream);
  if (!legacy_meets_capture(stream, 1)) return CUDA_SUCCESS;
  return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                    "the legacy stream is used while a blocking stream is captured; the capture is invalid now");
}

CUresult sim_capture_check_wait(sim_stream *stream) {
  if (stream->capture != NULL) return sim_capture_refuse(stream, "a captured stream has nothing to wait for");
  CUresult result = sim_capture_check_use(stream);
  return result != CUDA_SUCCESS ? result : sim_capture_check_unsafe();
}

CUresult sim_capture_check_event(sim_event *event) {
  if (event->captured == NULL) return sim_capture_check_unsafe();
  event->captured->invalid = 1;
  return sim_refuse(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a captured stream; the capture is invalid now");
}

CUresult sim_capture_check_synchronise(sim_context *context) {
  int disturbed = 0;
  for (sim_capture *c = captures; c != NULL; c = c->next)
    if (c->origin->context == context) c->invalid = disturbed = 1;
  if (disturbed)
    return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a stream of the context is captured; the capture is invalid now");
  return sim_capture_check_unsafe();
}

/* The rules of cuThreadExchangeStreamCaptureMode. */
CUresult sim_capture_check_unsafe(void) {
  int disturbed = 0;
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  for (sim_capture *c = captures; c != NULL; c = c->next) {
    int own = c->thread == sim_thread_number() && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    int others = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (own || others) c->invalid = disturbed = 1;
  }
  if (!disturbed) return CUDA_SUCCESS;
  return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "the call is not permitted while a stream is captured; the capture is invalid now");
}

/* ---- begin and end
 * ---------------------------------------------------------------------------------------------------------------- */

SIM_CALL(SIM_CONTEXT, cuStreamBeginCapture_v2, (CUstream handle, CUstreamCaptureMode mode), (handle, mode)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "mode %d is unknown", (int)mode);
  if (stream->kind == SIM_STREAM_LEGACY)
    return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
  if (stream->capture != NULL) return sim_refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already");
  sim_capture *capture = calloc(1, sizeof *capture);
  if (capture != NULL) capture->graph = sim_graph_new();
  if (capture == NULL || capture->graph == NULL) {
    free(capture);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = sim_thread_number();
  capture->id = ++last_id;
  capture->next = captures;
  captures = capture;
  stream->capture = capture;
  return CUDA_SUCCESS;
}

/* Every stream that joined must be joined again: what it did last is before the tips of the origin. Dependencies have smaller
 * indices than what depends on them, so one walk backwards marks all that is before. */
static int all_joined(const sim_capture *capture, unsigned char *before) {
  const sim_stream *origin = capture->origin;
  for (size_t i = 0; i < origin->n_tips; i++) before[origin->tips[i]->index] = 1;
  for (size_t i = capture->graph->n_nodes; i-- > 0;) {
    const sim_node *node = capture->graph->nodes[i];
    for (size_t k = 0; before[i] && k < node->n_before; k++) before[node->before[k]->index] = 1;
  }
  for (const sim_stream *s = origin->context->streams; s != NULL; s = s->next)
    for (size_t i = 0; s->capture == capture && i < s->n_tips; i++)
      if (!before[s->tips[i]->index]) return 0;
  return 1;
}

/* Takes the capture away from its streams and events; the graph is the caller's. */
static sim_graph *finish(sim_capture *capture) {
  sim_graph *graph = capture->graph;
  sim_context *context = capture->origin->context;
  sim_capture **link = &captures;
  while (*link != capture) link = &(*link)->next;
  *link = capture->next;
  for (sim_stream *s = context->streams; s != NULL; s = s->next)
    if (s->capture == capture) leave(s);
  for (sim_event *e = context->events; e != NULL; e = e->next)
    if (e->captured == capture) sim_event_uncapture(e);
  free(capture);
  return graph;
}

void sim_capture_forget_stream(sim_stream *stream) {
  sim_capture *capture = stream->capture;
  if (capture == NULL) return;
  if (capture->origin == stream)
    sim_graph_free(finish(capture));
  else
    capture->invalid = 1;
  leave(stream);
}

SIM_CALL(SIM_CONTEXT, cuStreamEndCapture, (CUstream handle, CUgraph *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the graph is NULL");
  sim_capture *capture = stream->capture;
  if (capture == NULL) return sim_refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
  if (capture->origin != stream)
    return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the stream joined a capture that another stream began");
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != sim_thread_number())
    return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread began the capture");
  unsigned char *before = calloc(capture->graph->n_nodes + 1, 1);
  if (before == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  int invalid = capture->invalid, joined = invalid || all_joined(capture, before);
  free(before);
  sim_graph *graph = finish(capture);
  if (!invalid && joined) graph->handle = sim_handle_new(SIM_KIND_GRAPH, graph);
  *out = graph->handle;
  if (graph->handle != NULL) return CUDA_SUCCESS;
  sim_graph_free(graph);
  if (invalid) return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call made the capture invalid");
  if (!joined) return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream that joined the capture was not waited for");
  return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUstreamCaptureStatus status_of(const sim_stream *stream) {
  if (stream->capture == NULL) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

SIM_CALL(SIM_CONTEXT, cuStreamIsCapturing, (CUstream handle, CUstreamCaptureStatus *status), (handle, status)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (status == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the status is NULL");
  if (legacy_meets_capture(stream, 0))
    return sim_refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream is asked while a blocking stream is captured");
  *status = status_of(stream);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_ALWAYS, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), (mode)) {
  if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the mode is not one of the three");
  CUstreamCaptureMode before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}
