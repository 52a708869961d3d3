/* nvrtc.h -- NVRTC for tests, by dlopen, found where the product finds it. */
#ifndef SIM_TESTS_NVRTC_H
#define SIM_TESTS_NVRTC_H

#include <stddef.h>

/* sim_nvrtc_missing -- NULL where NVRTC is there, else the reason (for the skipped test). */
const char *sim_nvrtc_missing(void);

typedef struct sim_compiled {
  char *ptx;
  void *cubin;
  size_t cubin_bytes;
} sim_compiled;

/* sim_nvrtc_compile -- CUDA C++ for sm_XX: PTX and cubin. Fails the test with the compiler's log. `options` end in NULL; may be
 * NULL. */
sim_compiled sim_nvrtc_compile(const char *source, const char *name, int sm, const char *const *options);
void sim_compiled_free(sim_compiled *compiled);

#endif
