/* kernels.h -- kernels of tests/kernels, compiled for the profile under test; random numbers; 16-bit types. */
#ifndef SIM_TESTS_KERNELS_H
#define SIM_TESTS_KERNELS_H

#include "device.h"

/* SKIP_WITHOUT_NVRTC -- as a test's first line. */
#define SKIP_WITHOUT_NVRTC()                               \
  do {                                                     \
    if (sim_nvrtc_missing() != NULL) {                     \
      print_message("skipped: %s\n", sim_nvrtc_missing()); \
      skip();                                              \
    }                                                      \
  } while (0)

#include "nvrtc.h"

/* sim_compile -- tests/kernels/NAME.cu: offers the cubin (which is refused, and gives the registers), then loads the PTX. */
CUmodule sim_compile(const char *name, const char *const *options);
/* sim_expect_no_report -- nothing was misused, found or faulted since the test began. */
void sim_expect_no_report(void);

float sim_random(uint32_t *state); /* in [-1, 1) */
uint32_t sim_random_bits(uint32_t *state);
float *sim_random_floats(size_t n, uint32_t seed); /* the caller frees them */

uint16_t sim_to_half(float v), sim_to_bf16(float v); /* nearest, ties to even */
float sim_from_half(uint16_t v), sim_from_bf16(uint16_t v);

/* sim_expect_close -- |got - wanted| <= bound, at element i of what. */
void sim_expect_close(double got, double wanted, double bound, const char *what, size_t i);

#endif
