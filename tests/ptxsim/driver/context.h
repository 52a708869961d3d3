/* context.h -- devices and contexts: what is current in a thread, what a context owns, the fault that stays with it. */
#ifndef SIM_DRIVER_CONTEXT_H
#define SIM_DRIVER_CONTEXT_H

#include "cuda_types.h"
#include "profiles.h"
#include "sim.h"

struct sim_stream;
struct sim_module_object;
struct sim_event;

typedef struct sim_device {
  int ordinal;
  const sim_model *model;
  struct sim_context *primary; /* made on the first retain, and kept */
  int primary_uses;
  unsigned primary_flags;
} sim_device;

typedef struct sim_context {
  CUcontext handle;
  sim_device *device;
  int alive; /* a primary context can be dead and made anew */
  unsigned flags;
  unsigned long long id;
  sim_memory *memory;
  int64_t memory_limit;
  CUresult fault; /* sticky: every later call answers with it */
  struct sim_stream *streams, *legacy;
  struct sim_module_object *modules;
  struct sim_event *events;
  size_t limits[3]; /* stack, printf, heap */
  uint64_t n_launches;
} sim_context;

/* Devices. */
int sim_devices_ready(void);                                    /* cuInit has succeeded */
sim_device *sim_device_find(CUdevice device, CUresult *result); /* reports a wrong number */

/* The context that is current in this thread. */
CUresult sim_context_check_current(void);
sim_context *sim_context_current(void); /* NULL: none, or it is dead */

/* Its life. */
sim_context *sim_context_new(sim_device *device, unsigned flags);
void sim_context_clear(sim_context *context); /* everything that it owns goes; it is dead then */
int sim_context_fill(sim_context *context);   /* 0: no host memory */

/* sim_context_fail -- the sticky fault; work that waits in its streams is dropped. */
void sim_context_fail(sim_context *context, CUresult fault);

#endif
