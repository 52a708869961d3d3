/* modelled_device.h -- the CPU device with a modelled clock: it computes as ever, so that verification sees true results, but
 * time passes by launches alone, each of which takes what follows from its kernels' names and its rows. */
#ifndef RGT_TESTS_MODELLED_DEVICE_H
#define RGT_TESTS_MODELLED_DEVICE_H

#include "runtime/context.h"
#include "tests/support/scratch.h"

static struct modelled {
  rgt__device_ops ops;
  const rgt__device_ops *real;
  int64_t clock_ps;
} modelled;

static SCRATCH_UNUSED int64_t modelled_cost_ps(const rgt__program *program, int64_t rows) {
  uint64_t h = 1469598103934665603u; /* FNV-1a */
  for (int i = 0; i < program->n_steps; i++)
    for (const char *c = program->steps[i].kernel; *c; c++) h = (h ^ (unsigned char)*c) * 1099511628211u;
  return 1000000 + (int64_t)(h >> 20) % 1000000 + 1000 * rows;
}

static SCRATCH_UNUSED rgt_status modelled_launch(rgt__device *d, rgt__module *m, const rgt__program *program,
                                                 const rgt__plan *plan, const rgt_kargs *k, void *workspace, void *stream,
                                                 rgt__error *err) {
  modelled.clock_ps += modelled_cost_ps(program, k->rows);
  return modelled.real->launch(d, m, program, plan, k, workspace, stream, err);
}

static SCRATCH_UNUSED int64_t modelled_now(rgt__device *d, void *stream) {
  (void)d, (void)stream;
  return modelled.clock_ps;
}

/* The context's CPU device becomes one of a class of its own; candidates must run in this process (RAGTUNE_WORKER=inside). */
static SCRATCH_UNUSED void modelled_take(rgt_ctx *ctx) {
  rgt__device *d = ctx->device;
  modelled.real = d->ops;
  modelled.ops = *d->ops;
  modelled.ops.launch = modelled_launch;
  modelled.ops.now_ps = modelled_now;
  modelled.clock_ps = 0;
  d->ops = &modelled.ops;
  snprintf(d->info.class_text, sizeof d->info.class_text, "fake:modelled:1");
}

#endif
