/* peak.h -- what the processor can do at most, measured here and now: the roof that shares of the peak refer to. */
#ifndef RGT_RUNTIME_PEAK_H
#define RGT_RUNTIME_PEAK_H

#include "runtime/candidate.h"

typedef struct rgt__peak {
  rgt__candidate_maker maker;
  rgt__module *module;
  rgt__program program;
} rgt__peak;

/* rgt__peak_open -- compiles (or finds in the cache) the two kernels for the maker's target. CPU only: RGT_EUNSUPPORTED
 * elsewhere. */
rgt_status rgt__peak_open(const rgt__candidate_maker *maker, rgt__peak *out, rgt__error *err);
void rgt__peak_close(rgt__peak *p);
/* rgt__peak_flops -- f32 multiply-adds, two operations each, a second, on all threads of the device. 0 if it cannot be
 * measured. */
double rgt__peak_flops(rgt__peak *p);
/* rgt__peak_bytes -- bytes a second read again and again from a footprint of `bytes`, on all threads: caches count as what they
 * are. */
double rgt__peak_bytes(rgt__peak *p, int64_t bytes);

#endif
