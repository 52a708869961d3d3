/* settings.h -- the PTXSIM_ variables, read once. */
#ifndef SIM_DRIVER_SETTINGS_H
#define SIM_DRIVER_SETTINGS_H

#include <stdint.h>

typedef struct sim_settings {
  char profile[16];           /* PTXSIM_PROFILE: sm_80, sm_90 (the default), sm_120 */
  int n_devices;              /* PTXSIM_DEVICES: 1; 0 to 8 devices of that profile */
  uint64_t seed;              /* PTXSIM_SEED: 0; order of streams, blocks and warps */
  unsigned checks;            /* PTXSIM_CHECKS: all | none | list of names | a mask */
  uint64_t instruction_limit; /* PTXSIM_INSTRUCTION_LIMIT: warp instructions of a launch, 0: the default */
  uint64_t memory_bytes;      /* PTXSIM_MEMORY_MB: of the device; 0: the profile's */
  int report;                 /* PTXSIM_REPORT: 0 nothing, 1 a table at exit, 2 a line for each launch too */
  const char *log;            /* PTXSIM_LOG: the file for reports, NULL: stderr */
} sim_settings;

/* sim_settings_get -- the settings; a value that is not understood is reported, and cuInit then fails. */
const sim_settings *sim_settings_get(void);
int sim_settings_are_right(void);

#endif
