/* profiles.h -- the devices that ptxsim can be: limits from public specifications, and the rates that the time model uses. */
#ifndef SIM_DRIVER_PROFILES_H
#define SIM_DRIVER_PROFILES_H

#include "sim.h"

/* Work that one SM can begin in a clock, in warp instructions of a class; and what the whole device moves in a clock. */
typedef struct sim_rates {
  double issue, fp32, integer, fp16, fp64, special, convert, load_store, exchange, control;
  double mma_flop;          /* operations within mma */
  double shared_passes;     /* passes over the banks */
  double l1_sectors;        /* sectors asked for */
  double l2_sectors_device; /* of the whole device */
  double atomic_sectors_device;
  double dram_bytes_per_s;
} sim_rates;

typedef struct sim_model {
  sim_profile profile;
  sim_rates rates;
  const char *modelled_after;
  int max_cluster, max_cluster_non_portable; /* 1: no clusters */
  int max_registers_per_thread, register_unit_per_warp, sub_partitions;
  int shared_unit; /* bytes in which shared memory is given to blocks */
} sim_model;

/* sim_model_find -- by "sm_80", "sm_90", "sm_120"; NULL: there is none. */
const sim_model *sim_model_find(const char *name);
const sim_model *sim_model_at(int i); /* NULL behind the last */

#endif
