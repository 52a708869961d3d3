/* guarded_memory.h -- memory between unreadable pages: what reads or writes beyond it dies at once. For verification, in a
 * process that may die. */
#ifndef RGT_RUNTIME_GUARDED_MEMORY_H
#define RGT_RUNTIME_GUARDED_MEMORY_H

#include "runtime/base/error.h"

typedef struct rgt__guarded_memory { /* all zero: empty */
  struct rgt__guarded_block {
    void *p, *mapping;
    size_t bytes; /* of the mapping */
  } * blocks;
  int n, capacity;
} rgt__guarded_memory;

/* rgt__guarded_alloc -- 64-byte aligned; ends where an unreadable range begins, up to the bytes that the alignment leaves over.
 * What lies before it, up to the unreadable range there, is NaN. RGT_ENOMEM. */
rgt_status rgt__guarded_alloc(rgt__guarded_memory *m, size_t bytes, void **p, rgt__error *err);
int rgt__guarded_free(rgt__guarded_memory *m, void *p); /* 1 if p was of this memory */
void rgt__guarded_close(rgt__guarded_memory *m);        /* with what is left in it */

#endif
