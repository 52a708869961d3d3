/* occupancy.h -- how many blocks of a kernel an SM holds at once. */
#ifndef SIM_DRIVER_OCCUPANCY_H
#define SIM_DRIVER_OCCUPANCY_H

#include "profiles.h"

typedef struct sim_block_needs {
  int threads, registers; /* registers of a thread */
  int64_t shared_bytes;   /* static and dynamic */
} sim_block_needs;

/* sim_occupancy_blocks -- of one SM; 0: not even one fits. */
int sim_occupancy_blocks(const sim_model *model, const sim_block_needs *needs);
/* sim_occupancy_max_threads -- the largest block that the registers allow, a multiple of the warp. */
int sim_occupancy_max_threads(const sim_model *model, int registers);

#endif
