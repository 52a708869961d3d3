/* stream_calls.c -- cuStream*: create, destroy, query, synchronise, wait for an event, host functions. */
#include "call.h"
#include "capture.h"
#include "event.h"
#include "handles.h"
#include "stream.h"

#include <stdlib.h>

static CUresult create(CUstream *out, unsigned flags, int priority) {
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the stream is NULL");
  if ((flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags 0x%x are unknown", flags);
  if (priority > 0) priority = 0;
  if (priority < -5) priority = -5;
  sim_stream *stream = sim_stream_new(sim_context_current(), SIM_STREAM_MADE, flags, priority);
  if (stream == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = stream->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuStreamCreate, (CUstream * out, unsigned flags), (out, flags)) {
  return create(out, flags, 0);
}

SIM_CALL(SIM_CONTEXT, cuStreamCreateWithPriority, (CUstream * out, unsigned flags, int priority), (out, flags, priority)) {
  return create(out, flags, priority);
}

/* Its work still runs, when somebody waits for what follows from it or for the context. */
SIM_CALL(SIM_CONTEXT, cuStreamDestroy_v2, (CUstream handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  if (handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
    return sim_refuse(CUDA_ERROR_INVALID_HANDLE, "a default stream cannot be destroyed");
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  sim_capture_forget_stream(stream);
  sim_handle_end(handle);
  stream->handle = NULL;
  stream->destroyed = 1;
  if (stream->head == NULL) sim_stream_drop(stream);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuStreamSynchronize, (CUstream handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream != NULL) result = sim_capture_check_wait(stream);
  return stream == NULL || result != CUDA_SUCCESS ? result : sim_stream_run_all(stream);
}

SIM_CALL(SIM_CONTEXT, cuStreamQuery, (CUstream handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream != NULL) result = sim_capture_check_wait(stream);
  if (stream == NULL || result != CUDA_SUCCESS) return result;
  result = sim_stream_step(stream);
  return result == CUDA_SUCCESS && stream->head != NULL ? CUDA_ERROR_NOT_READY : result;
}

SIM_CALL(SIM_CONTEXT, cuStreamWaitEvent, (CUstream handle, CUevent event_handle, unsigned flags),
         (handle, event_handle, flags)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  sim_event *event = stream == NULL ? NULL : sim_event_find(event_handle, &result);
  if (event == NULL) return result;
  if (flags > 1) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags are %u, must be 0 or 1", flags);
  if (event->captured != NULL || stream->capture != NULL) return sim_capture_wait(stream, event);
  result = sim_capture_check_use(stream);
  if (result != CUDA_SUCCESS || event->record == NULL) return result;
  sim_work work = {.kind = SIM_WORK_WAIT, .record = sim_record_share(event->record)};
  return sim_stream_put(stream, &work);
}

SIM_CALL(SIM_CONTEXT, cuLaunchHostFunc, (CUstream handle, CUhostFn function, void *user), (handle, function, user)) {
  CUresult result = CUDA_SUCCESS;
  sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (function == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the function is NULL");
  result = sim_capture_check_use(stream);
  if (result != CUDA_SUCCESS) return result;
  sim_work work = {.kind = SIM_WORK_HOST, .host = {function, user}};
  return sim_stream_put(stream, &work);
}

SIM_CALL(SIM_CONTEXT, cuStreamGetPriority, (CUstream handle, int *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  const sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the priority is NULL");
  *out = stream->priority;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuStreamGetFlags, (CUstream handle, unsigned *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  const sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the flags is NULL");
  *out = stream->flags;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuStreamGetId, (CUstream handle, unsigned long long *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  const sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the id is NULL");
  *out = stream->id;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuStreamGetCtx, (CUstream handle, CUcontext *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  const sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the context is NULL");
  *out = stream->context->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuStreamGetDevice, (CUstream handle, CUdevice *out), (handle, out)) {
  CUresult result = CUDA_SUCCESS;
  const sim_stream *stream = sim_stream_find(handle, &result);
  if (stream == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the device is NULL");
  *out = stream->context->device->ordinal;
  return CUDA_SUCCESS;
}
