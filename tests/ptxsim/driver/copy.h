/* copy.h -- copies and fills when their turn comes. */
#ifndef SIM_DRIVER_COPY_H
#define SIM_DRIVER_COPY_H

#include "context.h"
#include "work.h"

CUresult sim_copy_run(sim_context *context, const sim_copy_work *copy);
CUresult sim_fill_run(sim_context *context, const sim_work *work);
CUresult sim_release_run(sim_context *context, uint64_t address);

/* sim_copy_check_device -- the range against the allocations, at the call: SUCCESS, or INVALID_VALUE and a report. */
CUresult sim_copy_check_device(const sim_context *context, uint64_t address, uint64_t bytes, const char *what);

#endif
