/* ptxsim.h -- what libcuda.so.1 of ptxsim exports beside the driver's calls: counters, reports.
 *
 * A program finds these by dlsym; where they are missing it runs on another driver. Threads: any; they take the driver's lock.
 */
#ifndef PTXSIM_H
#define PTXSIM_H

#include "sim.h"

#include <stddef.h>
#include <stdint.h>

/* One launch, or the sum of many. */
typedef struct ptxsim_launches {
  uint64_t n_launches;
  uint64_t time_ps;      /* modelled, of the kernels alone */
  sim_counters counters; /* block_most_inst: the largest; block_least_inst: the smallest */
  char kernel[256];      /* of the last launch */
  unsigned grid[3];
  int threads;              /* of a block */
  int registers;            /* of a thread */
  int registers_from_cubin; /* 0: estimated, no cubin of that name was offered */
  int blocks_per_sm;        /* by occupancy */
} ptxsim_launches;

/* ptxsim_last_launch -- the launch that ran last (work runs when somebody waits for it). 0; -1: none ran. */
int ptxsim_last_launch(ptxsim_launches *out);
/* ptxsim_total -- all launches since the start or the last reset; of one kernel, or of all with kernel NULL. 0; -1: none. */
int ptxsim_total(const char *kernel, ptxsim_launches *out);

typedef struct ptxsim_reports {
  uint64_t misuses;  /* calls that were refused for a reason that a right program does not give */
  uint64_t findings; /* what the driver lets pass: bytes read back that nobody wrote */
  uint64_t faults;   /* of kernels, and of work on memory that was freed */
  char last[4096];   /* the last of them, "" for none */
} ptxsim_reports;

void ptxsim_report(ptxsim_reports *out);
/* ptxsim_reset -- counters and reports begin at zero again. */
void ptxsim_reset(void);

/* ptxsim_counter -- the i-th counter's name and what it counts, and its value in `of` (which may be NULL). -1: there is none.
 */
int ptxsim_counter(int i, const sim_counters *of, const char **name, const char **text, uint64_t *value);

#endif
