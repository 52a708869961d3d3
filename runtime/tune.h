/* tune.h -- one call of rgt_tune: space, compile pool, and a search for each signature. */
#ifndef RGT_RUNTIME_TUNE_H
#define RGT_RUNTIME_TUNE_H

#include "runtime/search.h"

/* rgt__tune_admits -- what an op handle lets in: verify.md's admission. */
int rgt__tune_admits(const rgt_op *op, const rgt__numeric *n);

#endif
