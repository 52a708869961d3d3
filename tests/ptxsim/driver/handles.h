/* handles.h -- the registry of handles. A handle is a number that is never used twice and no address: after destroy, a second
 * destroy, one of another kind and one that was never made are told apart. */
#ifndef SIM_DRIVER_HANDLES_H
#define SIM_DRIVER_HANDLES_H

#include "cuda_types.h"

typedef enum sim_kind {
  SIM_KIND_NONE,
  SIM_KIND_CONTEXT,
  SIM_KIND_MODULE,
  SIM_KIND_FUNCTION,
  SIM_KIND_LIBRARY,
  SIM_KIND_STREAM,
  SIM_KIND_EVENT,
  SIM_KIND_GRAPH,
  SIM_KIND_NODE,
  SIM_KIND_EXEC
} sim_kind;

/* sim_handle_new -- a fresh handle for the object; NULL where memory ran out. */
void *sim_handle_new(sim_kind kind, void *object);
/* sim_handle_end -- from here on the handle is one "after destroy". */
void sim_handle_end(void *handle);
/* sim_handle_object -- the object behind a live handle of that kind, else NULL; says nothing. */
void *sim_handle_object(const void *handle, sim_kind kind);
/* sim_handle_find -- the same, and reports what is wrong with the handle. *result: INVALID_HANDLE, or CONTEXT_IS_DESTROYED or
 * INVALID_CONTEXT for a context. */
void *sim_handle_find(const void *handle, sim_kind kind, CUresult *result);

#endif
