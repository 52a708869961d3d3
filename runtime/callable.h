/* callable.h -- things that compute y for given kargs: a loaded candidate, or the built-in kernel. */
#ifndef RGT_RUNTIME_CALLABLE_H
#define RGT_RUNTIME_CALLABLE_H

#include "runtime/candidate.h"
#include "runtime/verify.h"
#include "runtime/worker_journal.h"

/* Told before and after a candidate's own code runs: a worker's journal. */
typedef struct rgt__watch {
  void *user;
  void (*enter)(void *user, const rgt__candidate *c, rgt__worker_phase phase);
  void (*leave)(void *user);
  int guards; /* verification's memory lies between unreadable pages: it is a process that may die */
} rgt__watch;

/* A loaded candidate. It takes its workspace anew for each run, filled with 0xFF; where the program's `valid` is false for the
 * call's rows and groups the built-in kernel runs, as it would in dispatch. */
typedef struct rgt__candidate_callable {
  rgt__candidate *candidate;
  rgt_weight_form form;
  const rgt__watch *watch; /* NULL: nobody is told */
  int n_runs;              /* of the candidate's own program: 0 after verification means that nothing of it was verified */
} rgt__candidate_callable;
rgt__callable rgt__callable_candidate(rgt__candidate_callable *self, rgt__device *device);

typedef struct rgt__builtin_callable {
  const rgt_op_desc *op;
  rgt_weight_form form;
} rgt__builtin_callable;
rgt__callable rgt__callable_builtin(rgt__builtin_callable *self, rgt__device *device);

/* rgt__callable_run_builtin -- every row of k by the built-in kernel, on this thread. RGT_EUNSUPPORTED off the CPU or for a
 * dtype it lacks. */
rgt_status rgt__callable_run_builtin(const rgt_op_desc *op, rgt_weight_form form, rgt__device *device, const rgt_kargs *k,
                                     rgt__error *err);

#endif
