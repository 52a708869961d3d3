/* device.h -- what tests of the device share: a fresh context, buffers, modules, launches. Every call is checked. */
#ifndef SIM_TESTS_DEVICE_H
#define SIM_TESTS_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_calls.h"

/* MUST(call): it succeeds, else the test fails with the call's text, the code's name and the last report. */
#define MUST(call) sim_must((call), #call, __FILE__, __LINE__)
/* FAILS(code, call): it fails with this code. */
#define FAILS(code, call) sim_fails((code), (call), #call, __FILE__, __LINE__)
void sim_must(int result, const char *text, const char *file, int line);
void sim_fails(int wanted, int result, const char *text, const char *file, int line);

/* cmocka setup and teardown: the library is loaded once; each test has a context of its own. */
int sim_setup(void **state);
int sim_teardown(void **state);

/* sim_quiet -- reports go to a file from now on, which sim_reports_text reads. Called before the library is loaded. */
void sim_quiet(void);

int sim_profile_sm(void); /* 80, 90, 120: what PTXSIM_PROFILE says */

CUdeviceptr sim_buffer(size_t bytes); /* undefined */
CUdeviceptr sim_upload(const void *data, size_t bytes);
void sim_download(void *to, CUdeviceptr from, size_t bytes);
CUmodule sim_load(const char *ptx);
CUfunction sim_kernel(CUmodule module, const char *name);

typedef struct sim_shape {
  unsigned grid[3], block[3], shared;
} sim_shape;

/* sim_run -- launches in the legacy stream; the parameters as addresses, ended by NULL. Does not wait. */
int sim_run(CUfunction function, sim_shape shape, ...) __attribute__((sentinel));
/* The same and waits; must succeed without any report. */
#define RUN(function, ...)                \
  do {                                    \
    MUST(sim_run(function, __VA_ARGS__)); \
    MUST(cu.cuCtxSynchronize());          \
  } while (0)

char *sim_read_file(const char *path); /* the caller frees it; fails the test where it cannot be read */

#endif
