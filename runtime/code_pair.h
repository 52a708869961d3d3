/* code_pair.h -- a cubin and the PTX that it came from as one piece of memory: what `load` is given where there is no code
 * cache, in which they are two files. */
#ifndef RGT_RUNTIME_CODE_PAIR_H
#define RGT_RUNTIME_CODE_PAIR_H

#include "runtime/device.h"

/* rgt__code_pair_join -- the code alone where c has no PTX, else both; *out is the caller's (rgt__free). c keeps its own.
 * RGT_ENOMEM. */
rgt_status rgt__code_pair_join(const rgt__compiled *c, void **out, size_t *bytes, rgt__error *err);

typedef struct rgt__code_pair { /* borrowed from the piece */
  const void *code;
  size_t code_bytes;
  const char *ptx; /* NUL-terminated; NULL: none */
  size_t ptx_bytes;
} rgt__code_pair;

/* rgt__code_pair_split -- a piece that is not joined is all code. */
void rgt__code_pair_split(const void *piece, size_t bytes, rgt__code_pair *out);

#endif
