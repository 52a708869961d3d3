/* host_memory.h -- page-locked host memory: what the driver may read and write later than the call. */
#ifndef SIM_DRIVER_HOST_MEMORY_H
#define SIM_DRIVER_HOST_MEMORY_H

#include "context.h"

int sim_host_memory_is_locked(const void *address);
void sim_host_memory_drop(sim_context *context); /* what a context leaves */

#endif
