/* cpu_compile.h -- the machine's own C compiler: found once, run by posix_spawn. */
#ifndef RGT_RUNTIME_CPU_COMPILE_H
#define RGT_RUNTIME_CPU_COMPILE_H

#include "runtime/device.h"

typedef struct rgt__cpu_compiler {
  char path[512];       /* "" where there is none */
  char looked_for[512]; /* what was tried, for the message */
  char scratch[256];    /* folder for temporary files */
  int limit_ms;         /* of one compile */
  size_t memory_bytes;  /* that its processes may take, each; 0: no limit */
  int same_group;       /* it runs in this process's group: ragtune-worker's, which is ended as a whole */
} rgt__cpu_compiler;

/* rgt__cpu_compiler_find -- RAGTUNE_CC, else cc, gcc, clang on PATH; limit_ms is a minute. No process is started. */
void rgt__cpu_compiler_find(const rgt__environment *env, rgt__cpu_compiler *out);
/* rgt__cpu_compiler_version -- first line of --version, size of the program, our options: no path, no time. Starts a process.
 * RGT_ENOCOMPILER, RGT_EIO, RGT_ETIMEOUT. */
rgt_status rgt__cpu_compiler_version(const rgt__cpu_compiler *c, char *text, size_t text_size, rgt__error *err);
/* rgt__cpu_compiler_run -- source to a shared object's bytes, or to assembly text. Threads: any.
 * RGT_ECOMPILE (first error line in out->log and err), RGT_ETIMEOUT, RGT_EINTERRUPTED (stop, which may be NULL),
 * RGT_ENOCOMPILER, RGT_EIO, RGT_ENOMEM. */
rgt_status rgt__cpu_compiler_run(const rgt__cpu_compiler *c, const char *source, size_t bytes, const char *target, int want_asm,
                                 const rgt__stop *stop, rgt__compiled *out, rgt__error *err);

#endif
