/* time_model.h -- modelled time: deterministic, in picoseconds, from what was counted. README.md has the formulas. */
#ifndef SIM_DRIVER_TIME_MODEL_H
#define SIM_DRIVER_TIME_MODEL_H

#include "counters.h"
#include "profiles.h"

/* Overheads, rough figures of current machines. */
#define SIM_TIME_SUBMIT_KERNEL_PS UINT64_C(2200000) /* of the host's thread, each call */
#define SIM_TIME_SUBMIT_OTHER_PS UINT64_C(600000)
#define SIM_TIME_KERNEL_IN_STREAM_PS UINT64_C(1500000) /* between one kernel and the next */
#define SIM_TIME_KERNEL_IN_GRAPH_PS UINT64_C(700000)
#define SIM_TIME_GRAPH_START_PS UINT64_C(1500000)
#define SIM_TIME_INSTANTIATE_PS UINT64_C(5000000) /* of the host's thread, each node */
#define SIM_TIME_HOST_FUNCTION_PS UINT64_C(5000000)
#define SIM_TIME_WAIT_PS UINT64_C(1000000)
#define SIM_TIME_QUERY_PS UINT64_C(300000)

uint64_t sim_time_submit_graph_ps(size_t n_nodes);
uint64_t sim_time_kernel_ps(const sim_model *model, const sim_launched *launch);
uint64_t sim_time_copy_ps(const sim_model *model, uint64_t bytes, int on_device);
uint64_t sim_time_fill_ps(const sim_model *model, uint64_t bytes);

#endif
