/* worker_farm.h -- compilers in children of their own, one for each thread that compiles: one that hangs, crashes or eats
 * memory ends alone, and at once where the device's stop says so. */
#ifndef RGT_RUNTIME_WORKER_FARM_H
#define RGT_RUNTIME_WORKER_FARM_H

#include "runtime/device.h"

typedef struct rgt__worker_farm rgt__worker_farm;

/* rgt__worker_farm_open -- compiles for `target` as `device` (borrowed) would. *out is NULL, and RGT_OK is returned, where
 * there is no worker, or the device is this process's alone: the device itself compiles then. Starts nothing yet. RGT_EINVAL (a
 * limit in the environment), RGT_ENOMEM. */
rgt_status rgt__worker_farm_open(rgt__device *device, const rgt__target *target, rgt__worker_farm **out, rgt__error *err);
/* rgt__worker_farm_close -- ends the children. NULL is allowed; nobody may be compiling. */
void rgt__worker_farm_close(rgt__worker_farm *f);
/* rgt__worker_farm_compile -- as rgt__device_ops.compile, and RGT_ETIMEOUT and RGT_ECRASH with out->log where the compiler did
 * not end in time, or took its process with it. Threads: any, each call with a child of its own. */
rgt_status rgt__worker_farm_compile(rgt__worker_farm *f, const char *source, size_t bytes, rgt__compiled *out, rgt__error *err);

#endif
