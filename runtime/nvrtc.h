/* nvrtc.h -- the CUDA run-time compiler, by dlopen: the build needs neither it nor its headers. */
#ifndef RGT_RUNTIME_NVRTC_H
#define RGT_RUNTIME_NVRTC_H

#include "runtime/device.h"

typedef struct rgt__nvrtc rgt__nvrtc;

/* rgt__nvrtc_open -- RAGTUNE_LIBNVRTC if set, else libnvrtc.so.13, .12, libnvrtc.so, and the usual folders.
 * RGT_ENOCOMPILER: one line with everything that was tried. */
rgt_status rgt__nvrtc_open(const rgt__environment *env, rgt__nvrtc **out, rgt__error *err);
void rgt__nvrtc_close(rgt__nvrtc *n);
int rgt__nvrtc_targets(const rgt__nvrtc *n, int *sm, int max); /* 75, 80, ...; how many */
const char *rgt__nvrtc_path(const rgt__nvrtc *n);
/* version, GNU build-id and size of the library: no path */
void rgt__nvrtc_version(const rgt__nvrtc *n, char *text, size_t text_size);
/* rgt__nvrtc_compile -- cubin and PTX of one compile for sm_XX, registers and spills from ptxas -v. Thread-safe. RGT_ECOMPILE. */
rgt_status rgt__nvrtc_compile(rgt__nvrtc *n, const char *source, const char *target, rgt__compiled *out, rgt__error *err);

#endif
