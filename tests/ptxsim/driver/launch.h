/* launch.h -- from a call to a kernel that runs: the limits, the parameters, the fault. */
#ifndef SIM_DRIVER_LAUNCH_H
#define SIM_DRIVER_LAUNCH_H

#include "context.h"
#include "module.h"
#include "work.h"

/* sim_launch_check -- the launch against the limits of device and kernel; reports what is too much. */
CUresult sim_launch_check(const sim_function_object *function, const sim_kernel_work *kernel);
/* sim_launch_kernel -- runs it; a fault is reported and answered with the code that the driver has for it. */
CUresult sim_launch_kernel(sim_context *context, const sim_kernel_work *kernel, uint64_t *duration_ps);

#endif
