/* thread_pool.h -- the process's worker threads: one pool, no larger than the affinity allows, made anew after a fork. */
#ifndef RGT_RUNTIME_THREAD_POOL_H
#define RGT_RUNTIME_THREAD_POOL_H

#include "runtime/base/error.h"

typedef void (*rgt__pool_fn)(void *user, int64_t part, int64_t n_parts);

int rgt__pool_affinity(void); /* CPUs that this process may use, at least 1 */
/* rgt__pool_run -- fn for parts 0 .. n_parts-1, each once, on at most `threads` threads, this one among them; returns when all
 * are done. Each thread begins with a range of its own, the same in the same call, and then takes what others have left.
 * Allocates nothing after the pool's first use with that many threads; if threads cannot be made, or another context is using
 * the pool, this thread does the work alone. */
void rgt__pool_run(int threads, int64_t n_parts, rgt__pool_fn fn, void *user);
void rgt__pool_warm(int threads); /* starts the threads, so that the next run need not */

#endif
