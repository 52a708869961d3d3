/* cuda_target.h -- what code is generated for on CUDA: "sm_90", and the facts that come with the number. */
#ifndef RGT_RUNTIME_CUDA_TARGET_H
#define RGT_RUNTIME_CUDA_TARGET_H

#include "generator/spec.h"

/* rgt__cuda_target_make -- the target of an architecture. Its facts come from a table, so that code compiled where no device is
 * has the key that a device asks for. */
void rgt__cuda_target_make(int sm, rgt__target *out);
int rgt__cuda_target_number(const char *name);                         /* "sm_90" to 90; 0 for anything else */
int64_t rgt__cuda_target_fact(const rgt__target *t, const char *name); /* 0: not there */

#endif
