/* cuda_calls.c -- filling the table of calls. */
#include "cuda_calls.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

sim_calls cu;

static const struct {
  const char *name;
  size_t offset;
} symbols[] = {
#define SYMBOL(name, parameters) {#name, offsetof(sim_calls, name)},
    SIM_TEST_CALLS(SYMBOL)
#undef SYMBOL
        {"ptxsim_report", offsetof(sim_calls, ptxsim_report)},
    {"ptxsim_reset", offsetof(sim_calls, ptxsim_reset)},
    {"ptxsim_counter", offsetof(sim_calls, ptxsim_counter)},
};

const char *sim_calls_load(const char *path) {
  static char why[512];
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return dlerror();
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    void *address = dlsym(library, symbols[i].name);
    if (address == NULL) {
      snprintf(why, sizeof why, "%s has no %s", path, symbols[i].name);
      return why;
    }
    memcpy((char *)&cu + symbols[i].offset, &address, sizeof address);
  }
  return NULL;
}
