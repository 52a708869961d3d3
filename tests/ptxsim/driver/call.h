/* call.h -- the frame of every exported call: one lock, what the call needs, the line that is reported when it is misused.
 *
 *   SIM_CALL(SIM_CONTEXT, cuStreamQuery, (CUstream stream), (stream)) { ...body, returns a CUresult... }
 *
 * defines and exports cuStreamQuery. The body runs under the lock, and only if what the call needs is there. */
#ifndef SIM_DRIVER_CALL_H
#define SIM_DRIVER_CALL_H

#include "cuda_types.h"

#define SIM_EXPORT __attribute__((visibility("default")))

typedef enum sim_needs {
  SIM_ALWAYS,      /* may be called at any time */
  SIM_INITIALISED, /* after cuInit */
  SIM_CONTEXT      /* a context is current, and no kernel has failed in it */
} sim_needs;

#define SIM_CALL(needs, name, parameters, arguments)            \
  SIM_EXPORT CUresult name parameters;                          \
  static CUresult name##_body parameters;                       \
  CUresult name parameters {                                    \
    CUresult result = sim_call_enter(needs, #name);             \
    if (result == CUDA_SUCCESS) result = name##_body arguments; \
    return sim_call_leave(result);                              \
  }                                                             \
  static CUresult name##_body parameters

CUresult sim_call_enter(sim_needs needs, const char *name);
CUresult sim_call_leave(CUresult result);
const char *sim_call_name(void); /* of the call that runs now */

/* sim_refuse -- reports "NAME: text (CUDA_ERROR_...)" and returns the code: `return sim_refuse(code, ...)`. */
CUresult sim_refuse(CUresult code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
