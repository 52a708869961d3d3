/* of_ptxsim.c -- the same numbers of ptxsim's own declarations. */
#include "driver/cuda_types.h"

#include "names.h"

#define ROW(name) {#name, (long)(name)},
const interface_number interface_of_ptxsim[] = {INTERFACE_CONSTANTS(ROW) INTERFACE_SIZES(ROW){NULL, 0}};
