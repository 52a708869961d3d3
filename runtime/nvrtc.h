/* nvrtc.h -- the CUDA run-time compiler, by dlopen: the build needs neither it nor its headers. */
#ifndef RGT_RUNTIME_NVRTC_H
#define RGT_RUNTIME_NVRTC_H

#include "runtime/device.h"

typedef struct rgt__nvrtc rgt__nvrtc;

/* Where to look: names for the loader, then patterns of paths (glob). Each list ends with NULL. */
typedef struct rgt__nvrtc_places {
  const char *const *names;
  const char *const *patterns;
} rgt__nvrtc_places;

/* rgt__nvrtc_open -- RAGTUNE_LIBNVRTC if set, and then nothing else; else libnvrtc.so.13, .12, libnvrtc.so by the loader, then
 * /usr/local/cuda*, the system's library folders, and the place where .ci/fetch-nvrtc puts it. libnvrtc-builtins must
 * stand beside it. RGT_ENOCOMPILER: one line with everything that was tried. RGT_ENOMEM. */
rgt_status rgt__nvrtc_open(const rgt__environment *env, rgt__nvrtc **out, rgt__error *err);
rgt_status rgt__nvrtc_open_places(const rgt__nvrtc_places *places, rgt__nvrtc **out,
                                  rgt__error *err); /* the same, from a list */
void rgt__nvrtc_close(rgt__nvrtc *n);
int rgt__nvrtc_targets(const rgt__nvrtc *n, int *sm, int max); /* 75, 80, ... rising; how many there are, max of them written */
const char *rgt__nvrtc_path(const rgt__nvrtc *n);
/* version, GNU build-id and size of the library: no path */
void rgt__nvrtc_version(const rgt__nvrtc *n, char *text, size_t text_size);
/* rgt__nvrtc_options -- the options of every compile but the target, as one text: part of the toolchain. */
void rgt__nvrtc_options(char *text, size_t text_size);
/* rgt__nvrtc_compile -- cubin and PTX of one compile for sm_XX, registers and spills from ptxas -v. Thread-safe.
 * RGT_ECOMPILE: the first error in err and out->log (out holds nothing to free). RGT_ENOMEM. */
rgt_status rgt__nvrtc_compile(rgt__nvrtc *n, const char *source, const char *target, rgt__compiled *out, rgt__error *err);

#endif
