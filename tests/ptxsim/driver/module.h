/* module.h -- loaded modules and their kernels. */
#ifndef SIM_DRIVER_MODULE_H
#define SIM_DRIVER_MODULE_H

#include "context.h"
#include "cubin.h"
#include "occupancy.h"

struct sim_function_object;

typedef struct sim_module_object {
  struct sim_module_object *next;
  sim_context *context;
  CUmodule handle;
  sim_module *code;
  int max_registers;                     /* CU_JIT_MAX_REGISTERS; 0: none */
  struct sim_function_object *functions; /* those that were asked for */
} sim_module_object;

typedef struct sim_function_object {
  struct sim_function_object *next;
  sim_module_object *module;
  CUfunction handle;
  const sim_function *code;
  const sim_function_facts *facts;
  const sim_cubin_kernel *cubin; /* NULL: no cubin of that name was offered before the PTX */
  int registers;                 /* of the cubin, else an estimate */
  int max_dynamic_shared;        /* cuFuncSetAttribute; bytes */
  int carveout, non_portable_cluster;
} sim_function_object;

/* Options of a load: logs, each may be NULL. */
typedef struct sim_load_options {
  char *info, *error;
  size_t info_bytes, error_bytes;
  int max_registers;
} sim_load_options;

/* sim_module_load -- NULL and *result where the image is refused; the reason stands in the error log and the report. */
sim_module_object *sim_module_load(sim_context *context, const void *image, sim_load_options *options, CUresult *result);
void sim_module_unload(sim_module_object *module);
void sim_modules_drop(sim_context *context);
sim_function_object *sim_module_kernel(sim_module_object *module, const char *name, CUresult *result);

sim_function_object *sim_function_find(CUfunction handle, CUresult *result);
int sim_function_max_threads(const sim_function_object *function);
sim_block_needs sim_function_needs(const sim_function_object *function, int threads, int64_t dynamic_shared);

#endif
