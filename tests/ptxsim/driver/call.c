/* call.c -- entering and leaving a call. */
#include "call.h"

#include "context.h"
#include "report.h"
#include "settings.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside; /* calls of this thread that have not returned: 2 in a host function that calls the driver */
static __thread const char *current_name;

/* A host function runs under the lock, and the driver forbids it every call: it is told so instead of waiting for itself. */
CUresult sim_call_enter(sim_needs needs, const char *name) {
  if (inside++ > 0) return sim_refuse(CUDA_ERROR_NOT_PERMITTED, "%s may not be called by a host function of a stream", name);
  pthread_mutex_lock(&lock);
  current_name = name;
  if (needs == SIM_ALWAYS) return CUDA_SUCCESS;
  if (!sim_devices_ready()) return sim_refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called before");
  if (needs == SIM_INITIALISED) return CUDA_SUCCESS;
  return sim_context_check_current();
}

CUresult sim_call_leave(CUresult result) {
  if (--inside == 0) {
    current_name = NULL;
    pthread_mutex_unlock(&lock);
  }
  return result;
}

const char *sim_call_name(void) {
  return current_name == NULL ? "(outside of a call)" : current_name;
}

CUresult sim_refuse(CUresult code, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  sim_report_misuse("%s: %s (%s)", sim_call_name(), text, sim_result_name((int)code));
  return code;
}
