/* context.c -- the life of a context and what is current in each thread. */
#include "context.h"

#include "call.h"
#include "event.h"
#include "handles.h"
#include "host_memory.h"
#include "module.h"
#include "settings.h"
#include "stream.h"
#include "thread_stack.h"

#include <stdlib.h>

sim_context *sim_context_new(sim_device *device, unsigned flags) {
  static unsigned long long last_id;
  sim_context *context = calloc(1, sizeof *context);
  if (context == NULL) return NULL;
  context->device = device;
  context->flags = flags;
  context->id = ++last_id;
  context->handle = sim_handle_new(SIM_KIND_CONTEXT, context);
  if (context->handle != NULL && sim_context_fill(context)) return context;
  sim_handle_end(context->handle);
  free(context);
  return NULL;
}

int sim_context_fill(sim_context *context) {
  uint64_t given = sim_settings_get()->memory_bytes;
  context->memory_limit = given > 0 ? (int64_t)given : context->device->model->profile.global_bytes;
  context->limits[CU_LIMIT_STACK_SIZE] = 1024;
  context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1048576;
  context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8388608;
  context->fault = CUDA_SUCCESS;
  context->memory = sim_memory_new(context->memory_limit);
  context->legacy = context->memory == NULL ? NULL : sim_stream_new(context, SIM_STREAM_LEGACY, 0, 0);
  context->alive = context->legacy != NULL;
  if (!context->alive) sim_context_clear(context);
  return context->alive;
}

void sim_context_clear(sim_context *context) {
  sim_context_drop_work(context);
  while (context->streams != NULL) sim_stream_drop(context->streams);
  context->legacy = NULL;
  sim_events_drop(context);
  sim_modules_drop(context);
  sim_host_memory_drop(context);
  sim_memory_free(context->memory);
  context->memory = NULL;
  context->alive = 0;
}

void sim_context_fail(sim_context *context, CUresult fault) {
  if (context->fault == CUDA_SUCCESS) context->fault = fault;
  sim_context_drop_work(context);
}

sim_context *sim_context_current(void) {
  CUcontext top = sim_thread_stack_top();
  sim_context *context = top == NULL ? NULL : sim_handle_object(top, SIM_KIND_CONTEXT);
  return context != NULL && context->alive ? context : NULL;
}

CUresult sim_context_check_current(void) {
  CUcontext top = sim_thread_stack_top();
  if (top == NULL) return sim_refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
  const sim_context *context = sim_context_current();
  if (context == NULL) return sim_refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context that is current was destroyed");
  return context->fault;
}
