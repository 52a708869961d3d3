/* inspect.h -- what show, compile and verify share: a maker for a target, and the variants that were asked for. */
#ifndef RGT_RUNTIME_INSPECT_H
#define RGT_RUNTIME_INSPECT_H

#include "runtime/candidate.h"
#include "runtime/context.h"

typedef struct rgt__inspect {
  rgt_op *op;
  rgt__device *device;
  int owns_device;
  char toolchain[256];
  rgt__candidate_maker maker;
  rgt__space space;
} rgt__inspect;

/* rgt__inspect_open -- a maker for target (NULL: the context's device), and the space: one named variant, or all, or a sample
 * of them. needs_compiler 0: no toolchain is asked for, so only rendering is possible. RGT_EINVAL, RGT_ETEMPLATE,
 * RGT_ENOCOMPILER, RGT_ENOMEM. Close it also after a failure. */
rgt_status rgt__inspect_open(rgt_op *op, const char *target, const char *variant, int sample, uint64_t seed, int needs_compiler,
                             rgt__inspect *out);
void rgt__inspect_close(rgt__inspect *i);

#endif
