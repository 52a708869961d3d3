/* device_cuda.h -- what the files of the CUDA device share. Above them nothing knows more than device.h.
 *
 *   device_cuda.c           opening, closing, the table of operations; device_cuda_offline.c: the one that only compiles
 *   device_cuda_describe.c  name, class, facts, memory
 *   device_cuda_compile.c   NVRTC, opened at its first use
 *   device_cuda_memory.c    device memory and copies
 *   device_cuda_load.c      cubin, else PTX, to entries that can be launched; cuda_modules.c: what the process has loaded
 *   device_cuda_launch.c    a program's steps into a stream; waiting; the counters of index errors
 *   device_cuda_time.c      events; graphs; the flush of the cache
 *
 * The context is the calling thread's own where it has one on that device when the device is opened, else the device's primary
 * one. Every operation begins with rgt__cuda_enter and ends with rgt__cuda_leave, so that a caller finds its context as it was.
 * Operations but those of device_cuda_time.c may be called from any thread.
 */
#ifndef RGT_RUNTIME_DEVICE_CUDA_H
#define RGT_RUNTIME_DEVICE_CUDA_H

#include <pthread.h>

#include "runtime/cuda_api.h"
#include "runtime/cuda_modules.h"
#include "runtime/device.h"
#include "runtime/nvrtc.h"

typedef struct rgt__cuda_scope {
  int pushed;
  int relaxed, mode; /* the thread's mode towards captures, which is put back */
} rgt__cuda_scope;

typedef struct rgt__cuda_device {
  rgt__device base;  /* first: see device.h */
  rgt__cuda_api api; /* offline: empty */
  int device;        /* the driver's handle */
  void *context;
  int retained; /* the primary context, held once */
  int64_t shared_optin, l2_bytes;
  int reads_pageable; /* kernels may touch any memory of the host's */
  pthread_mutex_t nvrtc_lock;
  rgt__nvrtc *nvrtc;             /* NULL until its first use */
  void *events[2];               /* NULL until their first use; begin and end of an interval */
  void *capture;                 /* stream in which graphs are recorded; likewise */
  rgt__cuda_scope capture_scope; /* from graph_begin to graph_end */
  rgt__cuda_address flush;       /* memory that is written to empty the L2 cache; likewise */
  size_t flush_bytes;
  unsigned char flush_byte;
} rgt__cuda_device;

/* ---- the caller's context ---- */

/* rgt__cuda_enter -- makes the device's context the thread's current one. On failure nothing is to be left. What allocates,
 * loads or waits would end the capture of any other thread that captures globally, unless this thread says that it has no part
 * in it: rgt__cuda_enter does, rgt__cuda_enter_quick, for what may be captured itself, does not. */
rgt_status rgt__cuda_enter_quick(rgt__cuda_device *c, rgt__cuda_scope *scope, rgt__error *err);
rgt_status rgt__cuda_enter(rgt__cuda_device *c, rgt__cuda_scope *scope, rgt__error *err);
void rgt__cuda_leave(rgt__cuda_device *c, rgt__cuda_scope *scope);

static inline rgt__cuda_device *rgt__cuda_of(rgt__device *d) {
  return (rgt__cuda_device *)d;
}

static inline rgt__cuda_address rgt__cuda_address_of(const void *p) {
  return (rgt__cuda_address)(uintptr_t)p;
}

/* ---- parts ---- */

rgt_status rgt__cuda_describe(rgt__cuda_device *c, rgt__error *err); /* fills base.info; inside a scope */

rgt_status rgt__cuda_compile(rgt__device *d, const char *source, size_t bytes, const rgt__target *target, int want_asm,
                             rgt__compiled *out, rgt__error *err);
rgt_status rgt__cuda_toolchain(rgt__device *d, char *text, size_t text_size, rgt__error *err);
void rgt__cuda_compiler_stamp(rgt__device *d, char *text, size_t text_size);
/* rgt__cuda_check_target -- RGT_ENOCOMPILER; RGT_EINVAL with the targets that NVRTC lists, when `name` is none of them. */
rgt_status rgt__cuda_check_target(rgt__cuda_device *c, const char *name, rgt__error *err);

rgt_status rgt__cuda_load(rgt__device *d, const char *code_path, const void *code, size_t code_bytes,
                          const rgt__program *program, rgt__module **out, rgt__error *err);
void rgt__cuda_unload(rgt__device *d, rgt__module *m);

rgt_status rgt__cuda_mem_alloc(rgt__device *d, size_t bytes, void **p, rgt__error *err);
void rgt__cuda_mem_free(rgt__device *d, void *p);
rgt_status rgt__cuda_mem_write(rgt__device *d, void *to, const void *from_host, size_t bytes, rgt__error *err);
rgt_status rgt__cuda_mem_read(rgt__device *d, void *to_host, const void *from, size_t bytes, rgt__error *err);

int rgt__cuda_reaches(rgt__device *d, const void *p);

rgt_status rgt__cuda_launch_program(rgt__device *d, rgt__module *m, const rgt__program *program, const rgt__plan *plan,
                                    const rgt_kargs *k, void *workspace, void *stream, rgt__error *err);
int64_t rgt__cuda_occupancy(rgt__device *d, rgt__module *m, int step, int64_t block, int64_t shared);
rgt_status rgt__cuda_sync(rgt__device *d, void *stream, rgt__error *err);
rgt_status rgt__cuda_take_counters(rgt__device *d, rgt_int64 *counters, rgt_int64 out[2], void *stream, rgt__error *err);

rgt_status rgt__cuda_time_begin(rgt__device *d, void *stream, rgt__error *err);
rgt_status rgt__cuda_time_end(rgt__device *d, void *stream, int64_t *ps, rgt__error *err);
rgt_status rgt__cuda_graph_begin(rgt__device *d, void **stream, rgt__error *err);
rgt_status rgt__cuda_graph_end(rgt__device *d, void **graph, rgt__error *err);
rgt_status rgt__cuda_graph_launch(rgt__device *d, void *graph, void *stream, rgt__error *err);
void rgt__cuda_graph_free(rgt__device *d, void *graph);
void rgt__cuda_flush_cache(rgt__device *d);
void rgt__cuda_time_close(rgt__cuda_device *c); /* events, capture stream, flush memory; inside a scope */

/* One loaded variant: the entries of its steps. */
struct rgt__module {
  rgt__cuda_module *shared;
  void *functions[RGT_STEPS_MAX];
  int64_t shared_max[RGT_STEPS_MAX]; /* of a launch: what the static part leaves of what a block may opt in to */
};

#endif
