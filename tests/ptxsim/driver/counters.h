/* counters.h -- what each launch counted, kept by kernel. */
#ifndef SIM_DRIVER_COUNTERS_H
#define SIM_DRIVER_COUNTERS_H

#include "ptxsim.h"

typedef struct sim_launched {
  const char *name;
  unsigned grid[3];
  int threads, registers, registers_from_cubin, blocks_per_sm;
  uint64_t time_ps;
  sim_counters counters;
} sim_launched;

void sim_counters_add(const sim_launched *launch);
void sim_counters_reset(void);
int sim_counters_last(ptxsim_launches *out);                      /* 0, or -1 */
int sim_counters_total(const char *kernel, ptxsim_launches *out); /* 0, or -1 */
/* sim_counters_each -- calls `see` for each kernel, in the order of first launches. */
void sim_counters_each(void (*see)(const ptxsim_launches *kernel, void *user), void *user);

#endif
