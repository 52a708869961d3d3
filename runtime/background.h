/* background.h -- a thread for each context, alive while there is work: it compiles, verifies and loads variants while the
 * context's own thread answers calls with what is there.
 *
 * One lock for all contexts of the process, held for moments, guards the queues and every rgt__ready on its way; a fork takes
 * it, so that the child finds them whole. The child has no such thread: what was in work there is lost (RGT_READY_FAILED), the
 * rest waits for the child's next prepare. The thread blocks all signals and calls nothing of the caller's: what it has to say
 * is told by the context's thread (rgt__prepare_pick_up).
 */
#ifndef RGT_RUNTIME_BACKGROUND_H
#define RGT_RUNTIME_BACKGROUND_H

#include "runtime/context.h"

typedef struct rgt__background rgt__background;

void rgt__background_lock(void);
void rgt__background_unlock(void);

/* rgt__background_prefer -- what the op's buckets want from now on; queues what they lack: the default first where something
 * has to answer meanwhile, then winners by bucket. Where no thread can be had, the work is done before this returns.
 * RGT_ENOMEM. */
rgt_status rgt__background_prefer(rgt_op *op, const rgt__preference *prefer, int n_buckets, int needs_interim);
/* rgt__background_cancel -- takes `only` (NULL: everything of the op) from the queue; what is in work is stopped (a compiler
 * is killed) and waited for. Afterwards the context's thread owns them. */
void rgt__background_cancel(rgt_op *op, const rgt__ready *only);
/* rgt__background_wait -- until the op's n_made differs from `seen`, or `deadline_s` (of rgt__background_now) has passed: 0. */
int rgt__background_wait(rgt_op *op, int seen, double deadline_s);
double rgt__background_now(void);
/* rgt__background_idle -- waits up to limit_s until the context has nothing in work. */
void rgt__background_idle(rgt_ctx *ctx, double limit_s);
void rgt__background_close(rgt_ctx *ctx); /* after the context's ops */

/* One code key is made by one thread of the process at a time, and not more of them than there are processors.
 * rgt__background_key_begin -- waits for its turn; 0 when `stop` came first. */
int rgt__background_key_begin(const rgt__digest *key, const rgt__stop *stop);
void rgt__background_key_end(const rgt__digest *key);

#endif
