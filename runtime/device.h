/* device.h -- what a device does: describe itself, compile, load, allocate, copy, launch, time. Two of them: CPU and CUDA.
 *
 * Nothing above this header knows which one it talks to. A device belongs to one context and its thread, except compile and
 * load, which other threads may call at any time (a CUDA load makes the device's context current for itself and leaves the
 * thread's own as it was), and another.
 */
#ifndef RGT_RUNTIME_DEVICE_H
#define RGT_RUNTIME_DEVICE_H

#include "generator/program.h"
#include "generator/spec.h"
#include "runtime/base/environment.h"
#include "runtime/base/stop.h"
#include "templates/lib/kargs.h"

typedef struct rgt__device rgt__device;
typedef struct rgt__module rgt__module; /* loaded code of one variant */

typedef struct rgt__device_info {
  char class_text[256]; /* device class: what makes timings comparable */
  char driver[64];      /* "" on the CPU */
  rgt__target target;
  int n_threads;      /* CPU: threads that a call may use; CUDA: 0 */
  int sm_count;       /* CUDA; CPU: 0 */
  int64_t free_bytes; /* memory that problems may take */
} rgt__device_info;

/* What a compiler made of one source. */
typedef struct rgt__compiled {
  char *code; /* CPU: the shared object's bytes; CUDA: cubin. owned */
  size_t code_bytes;
  char *ptx; /* CUDA only; owned, NUL-terminated */
  size_t ptx_bytes;
  int registers, shared_bytes, spill_bytes, stack_bytes; /* largest over the kernels; CUDA */
  double milliseconds;
  char log[1024]; /* first error, or "" */
} rgt__compiled;
void rgt__compiled_free(rgt__compiled *c);

/* The formulas of a program for one call, evaluated once and kept while rows and groups stay. */
typedef struct rgt__plan {
  int64_t rows, groups;
  int valid;
  int64_t workspace_bytes;
  struct {
    int64_t grid, block, shared, cluster, offset, bytes;
  } steps[RGT_STEPS_MAX];
} rgt__plan;

typedef struct rgt__device_ops {
  const char *kind; /* "cpu", "cuda" */

  /* rgt compile -- source text to code for the device's own target, or another that it can name (CUDA: any sm_XX that NVRTC
   * lists). want_asm: CPU gives assembly text in code. Thread-safe. RGT_ECOMPILE (first error in out->log and err),
   * RGT_ENOCOMPILER, RGT_ETIMEOUT, RGT_EINTERRUPTED (d->stop), RGT_ENOMEM, RGT_EIO. */
  rgt_status (*compile)(rgt__device *d, const char *source, size_t bytes, const rgt__target *target, int want_asm,
                        rgt__compiled *out, rgt__error *err);
  /* toolchain -- compiler version, its build-id and size, options: no path, no time. RGT_ENOCOMPILER. */
  rgt_status (*toolchain)(rgt__device *d, char *text, size_t text_size, rgt__error *err);
  /* compiler_stamp -- path, size and mtime of the compiler, cheap: keys the local code map. "" when there is none. */
  void (*compiler_stamp)(rgt__device *d, char *text, size_t text_size);
  /* load -- code_path is a file of the code cache (already checked by hash), or NULL and bytes are given, as
   * rgt__code_pair_join made them. program is borrowed for the call. RGT_EIO (no such file, no such entry); RGT_EUNSUPPORTED (a
   * driver that takes neither the cubin nor the PTX); RGT_ENOMEM. */
  rgt_status (*load)(rgt__device *d, const char *code_path, const void *code, size_t code_bytes, const rgt__program *program,
                     rgt__module **out, rgt__error *err);
  void (*unload)(rgt__device *d, rgt__module *m);

  rgt_status (*mem_alloc)(rgt__device *d, size_t bytes, void **p, rgt__error *err); /* 64-byte aligned or better. RGT_ENOMEM */
  void (*mem_free)(rgt__device *d, void *p);
  rgt_status (*mem_write)(rgt__device *d, void *to, const void *from_host, size_t bytes, rgt__error *err);
  rgt_status (*mem_read)(rgt__device *d, void *to_host, const void *from, size_t bytes, rgt__error *err);

  /* launch -- runs a plan's steps in order with a full barrier between them. Allocates nothing. k->n_index_errors and
   * first_index_error point to device memory. CPU: returns when done. CUDA: queued in the stream, which is never waited for,
   * and may be one that is being captured. RGT_ECRASH: the device is lost to this process, by this launch or one before. */
  rgt_status (*launch)(rgt__device *d, rgt__module *m, const rgt__program *program, const rgt__plan *plan, const rgt_kargs *k,
                       void *workspace, void *stream, rgt__error *err);
  rgt_status (*sync)(rgt__device *d, void *stream, rgt__error *err);
  /* now_ps -- a clock read before and after a batch of launches. CPU: CLOCK_MONOTONIC. NULL where time_begin is. */
  int64_t (*now_ps)(rgt__device *d, void *stream);
  /* flush_cache -- policy cold: pushes problem data out of the caches. CUDA: queued in d->stream. */
  void (*flush_cache)(rgt__device *d);
  void (*close)(rgt__device *d);

  /* guard -- from now on (off: no longer) each allocation lies between unreadable pages and ends where one begins: what reads
   * or writes outside it dies. NULL where the device checks bounds itself or cannot. */
  void (*guard)(rgt__device *d, int on);

  /* ---- what only a device with streams has: NULL elsewhere ---- */

  /* time_begin, time_end -- the device's own time between two points of a stream; end waits for the second. */
  rgt_status (*time_begin)(rgt__device *d, void *stream, rgt__error *err);
  rgt_status (*time_end)(rgt__device *d, void *stream, int64_t *ps, rgt__error *err);
  /* graph_begin -- launches into *stream are recorded from now on, not run; until graph_end, which is called in any case. */
  rgt_status (*graph_begin)(rgt__device *d, void **stream, rgt__error *err);
  /* graph_end -- makes what was recorded ready to run; with graph NULL it is thrown away. */
  rgt_status (*graph_end)(rgt__device *d, void **graph, rgt__error *err);
  rgt_status (*graph_launch)(rgt__device *d, void *graph, void *stream, rgt__error *err);
  void (*graph_free)(rgt__device *d, void *graph);
  /* take_counters -- waits for the stream, gives the two counters of index errors (device memory) as they are, and sets them
   * to {0, INT64_MAX} where they count something. */
  rgt_status (*take_counters)(rgt__device *d, rgt_int64 *counters, rgt_int64 out[2], void *stream, rgt__error *err);
  /* occupancy -- blocks of a step's entry that an SM holds at once, 1 or more (1 where it cannot be told). */
  int64_t (*occupancy)(rgt__device *d, rgt__module *m, int step, int64_t block, int64_t shared);

  /* reaches -- may a kernel touch memory at p? 0: the driver knows nothing of it, it is the host's alone. */
  int (*reaches)(rgt__device *d, const void *p);

  /* another -- the same device once more, for a thread of its own: same kind, ordinal, target, threads and compiler; the caller
   * closes it. NULL: there is one alone, and threads share it. */
  rgt_status (*another)(rgt__device *d, rgt__device **out, rgt__error *err);
} rgt__device_ops;

typedef struct rgt__device_options {
  const rgt__environment *env; /* borrowed, outlives the device */
  int threads;                 /* 0: RAGTUNE_THREADS or the affinity */
  int ordinal;                 /* of CUDA devices */
  int in_worker;               /* in ragtune-worker: compilers stay in its process group, which its parent ends */
  size_t compiler_memory;      /* bytes that a process of a compiler may take; 0: no limit */
} rgt__device_options;

struct rgt__device { /* first member of each device's own struct */
  const rgt__device_ops *ops;
  rgt__device_info info;
  void *stream; /* what is verified and timed runs in it; NULL where a launch returns when it is done */
  rgt__device_options
      opened;            /* how another process opens the same device; env NULL: it cannot, and candidates run in this one */
  const rgt__stop *stop; /* NULL, or what ends a compiler in work early: RGT_EINTERRUPTED. Borrowed */
};

rgt_status rgt__device_cpu_open(const rgt__device_options *o, rgt__device **out, rgt__error *err);
/* RGT_ENODEVICE: one line that names the library looked for and where. */
rgt_status rgt__device_cuda_open(const rgt__device_options *o, rgt__device **out, rgt__error *err);
/* rgt__device_cuda_present -- may "auto" take CUDA? A driver that counts a device, and NVRTC, or has_code: code for it that is
 * compiled already. A device for which nothing can be compiled would only fail at the first prepare. */
int rgt__device_cuda_present(const rgt__environment *env, int has_code);
/* rgt__device_offline_cuda -- a CUDA "device" that only compiles (NVRTC), for `ragtune compile|show` without a GPU; target_name
 * e.g. "sm_90". NVRTC is not asked for before something is compiled, so that sources can be shown without it, and for targets
 * that it does not list. RGT_EINVAL (not of the form sm_90), RGT_ENOMEM. */
rgt_status rgt__device_offline_cuda(const rgt__device_options *o, const char *target_name, rgt__device **out, rgt__error *err);

/* rgt__plan_make -- evaluates a program's formulas for one call, with an occupancy of 1. */
void rgt__plan_make(const rgt__program *program, const rgt__device_info *info, int64_t rows, int64_t groups, rgt__plan *plan);
/* rgt__plan_make_on -- the same for a program that is loaded: where a step's grid asks for the occupancy, it is that step's own
 * entry's, with its block and shared bytes. */
void rgt__plan_make_on(rgt__device *d, rgt__module *m, const rgt__program *program, int64_t rows, int64_t groups,
                       rgt__plan *plan);

#endif
