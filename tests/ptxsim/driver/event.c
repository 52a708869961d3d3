/* event.c -- cuEvent*. */
#include "event.h"

#include "call.h"
#include "capture.h"
#include "handles.h"

#include <stdlib.h>

sim_event *sim_event_find(CUevent handle, CUresult *result) {
  sim_event *event = sim_handle_find(handle, SIM_KIND_EVENT, result);
  if (event == NULL || event->context->fault == CUDA_SUCCESS) return event;
  *result = event->context->fault;
  return NULL;
}

void sim_event_uncapture(sim_event *event) {
  event->captured = NULL;
  free(event->nodes);
  event->nodes = NULL;
  event->n_nodes = 0;
}

static void drop(sim_event *event) {
  sim_handle_end(event->handle);
  sim_record_drop(event->record);
  sim_event_uncapture(event);
  free(event);
}

void sim_events_drop(sim_context *context) {
  while (context->events != NULL) {
    sim_event *event = context->events;
    context->events = event->next;
    drop(event);
  }
}

SIM_CALL(SIM_CONTEXT, cuEventCreate, (CUevent * out, unsigned flags), (out, flags)) {
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the event is NULL");
  if (flags > 7) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags 0x%x are unknown", flags);
  if ((flags & CU_EVENT_INTERPROCESS) != 0) return sim_refuse(CUDA_ERROR_NOT_SUPPORTED, "ptxsim has no interprocess events");
  sim_event *event = calloc(1, sizeof *event);
  if (event == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  event->handle = sim_handle_new(SIM_KIND_EVENT, event);
  if (event->handle == NULL) {
    free(event);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  event->context = sim_context_current();
  event->flags = flags;
  event->next = event->context->events;
  event->context->events = event;
  *out = event->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuEventDestroy_v2, (CUevent handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_event *event = sim_event_find(handle, &result);
  if (event == NULL) return result;
  sim_event **link = &event->context->events;
  while (*link != event) link = &(*link)->next;
  *link = event->next;
  drop(event);
  return CUDA_SUCCESS;
}

static CUresult record(CUevent handle, CUstream stream_handle) {
  CUresult result = CUDA_SUCCESS;
  sim_event *event = sim_event_find(handle, &result);
  sim_stream *stream = event == NULL ? NULL : sim_stream_find(stream_handle, &result);
  if (stream == NULL) return result;
  if (stream->context != event->context)
    return sim_refuse(CUDA_ERROR_INVALID_HANDLE, "the event is of another context than the stream");
  if (stream->capture != NULL) return sim_capture_record(stream, event);
  result = sim_capture_check_use(stream);
  if (result != CUDA_SUCCESS) return result;
  sim_record *fresh = sim_record_new(stream);
  if (fresh == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  sim_work work = {.kind = SIM_WORK_RECORD, .record = sim_record_share(fresh)};
  result = sim_stream_put(stream, &work);
  sim_record_drop(event->record);
  sim_event_uncapture(event);
  event->record = fresh;
  return result;
}

SIM_CALL(SIM_CONTEXT, cuEventRecord, (CUevent event, CUstream stream), (event, stream)) {
  return record(event, stream);
}

SIM_CALL(SIM_CONTEXT, cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags)) {
  if (flags != 0) return sim_refuse(CUDA_ERROR_NOT_SUPPORTED, "ptxsim records events with flags 0 only, not %u", flags);
  return record(event, stream);
}

SIM_CALL(SIM_CONTEXT, cuEventSynchronize, (CUevent handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_event *event = sim_event_find(handle, &result);
  if (event != NULL) result = sim_capture_check_event(event);
  if (event == NULL || result != CUDA_SUCCESS || event->record == NULL) return result;
  if (!event->record->done) result = sim_stream_run_until(event->record->stream, event->record->order);
  sim_host_wait_for(event->record->time_ps);
  return result;
}

SIM_CALL(SIM_CONTEXT, cuEventQuery, (CUevent handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_event *event = sim_event_find(handle, &result);
  if (event != NULL) result = sim_capture_check_event(event);
  if (event == NULL || result != CUDA_SUCCESS || event->record == NULL) return result;
  if (!event->record->done) result = sim_stream_step(event->record->stream);
  return result == CUDA_SUCCESS && !event->record->done ? CUDA_ERROR_NOT_READY : result;
}

/* Milliseconds: the difference is taken in picoseconds, so that equal work has equal times. */
SIM_CALL(SIM_CONTEXT, cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end), (ms, start, end)) {
  CUresult result = CUDA_SUCCESS;
  sim_event *from = sim_event_find(start, &result), *to = from == NULL ? NULL : sim_event_find(end, &result);
  if (to == NULL) return result;
  if (ms == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the time is NULL");
  if (((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING) != 0)
    return sim_refuse(CUDA_ERROR_INVALID_HANDLE, "an event that was created with DISABLE_TIMING has no time");
  if (from->captured != NULL || to->captured != NULL)
    return sim_refuse(CUDA_ERROR_CAPTURED_EVENT, "an event was recorded in a capture");
  if (from->record == NULL || to->record == NULL) return sim_refuse(CUDA_ERROR_INVALID_HANDLE, "an event was never recorded");
  if (from->context != to->context) return sim_refuse(CUDA_ERROR_INVALID_HANDLE, "the events are of two contexts");
  if (!from->record->done || !to->record->done) return CUDA_ERROR_NOT_READY;
  double ps = to->record->time_ps >= from->record->time_ps ? (double)(to->record->time_ps - from->record->time_ps)
                                                           : -(double)(from->record->time_ps - to->record->time_ps);
  *ms = (float)(ps * 1e-9);
  return CUDA_SUCCESS;
}
