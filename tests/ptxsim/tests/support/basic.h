/* basic.h -- the kernels of tests/kernels/basic.ptx, loaded into the current context; and what was reported. */
#ifndef SIM_TESTS_BASIC_H
#define SIM_TESTS_BASIC_H

#include "device.h"

CUmodule sim_basic(void);
CUfunction sim_basic_kernel(const char *name); /* of a module that is loaded for it */

/* sim_expect_report -- the last report holds this text. */
void sim_expect_report(const char *text);
ptxsim_reports sim_reports(void);

/* Launches of add_one and put in a stream; they do not wait. */
void sim_add_one(CUfunction add_one, CUdeviceptr p, unsigned n, CUstream stream);
void sim_put(CUfunction put, CUdeviceptr p, unsigned value, CUstream stream);
unsigned sim_word(CUdeviceptr p); /* read back; waits as cuMemcpyDtoH does */

#endif
