/* cuda_modules.h -- what this process has loaded into CUDA contexts: each piece of code once a context, by count. */
#ifndef RGT_RUNTIME_CUDA_MODULES_H
#define RGT_RUNTIME_CUDA_MODULES_H

#include "runtime/code_pair.h"
#include "runtime/cuda_api.h"

typedef struct rgt__cuda_module rgt__cuda_module;

/* rgt__cuda_modules_get -- the module of code->code in the current context, which is `context`: loaded before, or now, from the
 * cubin or, where the driver has no use for that one, from the PTX. Threads: any.
 * RGT_EUNSUPPORTED (neither is taken: both answers, and what the JIT said), RGT_EIO (not the cubin, and no PTX is there),
 * RGT_ENOMEM, RGT_ECRASH. */
rgt_status rgt__cuda_modules_get(const rgt__cuda_api *api, void *context, const rgt__code_pair *code, rgt__cuda_module **out,
                                 rgt__error *err);
/* rgt__cuda_modules_put -- gives one count back; the last one unloads. In the same context; api NULL: that could not be entered
 * any more, and took its modules along. m NULL is allowed. */
void rgt__cuda_modules_put(const rgt__cuda_api *api, rgt__cuda_module *m);
void *rgt__cuda_modules_handle(const rgt__cuda_module *m); /* the driver's */
int rgt__cuda_modules_count(void);                         /* loaded now, in the whole process */

#endif
