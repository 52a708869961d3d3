/* worker.h -- where candidates are run: verified and timed. In a child process, ragtune-worker, which a candidate may crash or
 * hang; or in this process, for a device that lives here only.
 *
 * One task at a time: a task is one signature, the unit of work. A candidate that crashes, hangs or eats memory gets the
 * outcome RGT_TRIAL_CRASHED or RGT_TRIAL_TIMED_OUT and a reason, and is not run again; the worker goes on without it.
 */
#ifndef RGT_RUNTIME_WORKER_H
#define RGT_RUNTIME_WORKER_H

#include "runtime/callable.h"
#include "runtime/candidate.h"
#include "runtime/problem.h"
#include "runtime/verify.h"

typedef struct rgt__worker rgt__worker;

typedef struct rgt__worker_task {
  rgt_op_desc op;
  rgt_weight_form form;
  rgt_order order;
  int64_t rows;
  rgt_skew skew;
  const void *index; /* NULL, or rows entries to time with; put in order where that is not raw */
  rgt_policy policy;
  uint64_t seed;
} rgt__worker_task;

/* One batch of calls. */
typedef struct rgt__worker_sample {
  int64_t call_ps; /* a call of the batch */
  int64_t n_calls;
} rgt__worker_sample;

typedef struct rgt__worker_ops {
  /* begin -- makes the task's data on the device. RGT_ENOMEM. end frees it. */
  rgt_status (*begin)(rgt__worker *w, const rgt__worker_task *task, rgt__error *err);
  void (*end)(rgt__worker *w);
  /* check -- bound pass, cases, rule 7b; then the exact pass with `twin` (the candidate itself, its relu twin, or NULL: not
   * now). Loads what is not loaded. A wrong result is RGT_OK with result->status RGT_EWRONG; a program that is not
   * valid for any of the problems is RGT_EINFEASIBLE; RGT_ECRASH and RGT_ETIMEOUT: it, or its twin, took the child with it, and
   * c has outcome and reason. RGT_EINTERRUPTED: the device's stop. Needs no task. */
  rgt_status (*check)(rgt__worker *w, rgt__candidate *c, rgt__candidate *twin, rgt__verify_result *result, rgt__error *err);
  /* round -- one batch of each candidate, in the given order, each long enough for the clock. A candidate whose program is not
   * valid for the task, or whose workspace does not fit, gets call_ps -1; so does one that has or gets another outcome than
   * RGT_TRIAL_OK. RGT_EINTERRUPTED: the device's stop. */
  rgt_status (*round)(rgt__worker *w, rgt__candidate *const *c, int n, rgt__worker_sample *samples, rgt__error *err);
  /* loop -- one batch of the plain loop: for each row, its group's weights, scalar C, one thread. call_ps -1 where there is
   * none. */
  rgt_status (*loop)(rgt__worker *w, rgt__worker_sample *sample, rgt__error *err);
  void (*close)(rgt__worker *w);
  /* place -- moves the task's data (where it is small) and the stack to other addresses, drawn from seed: what small calls cost
   * depends on them by several percent, and a user's addresses are none of ours. NULL where there is nothing to move. */
  rgt_status (*place)(rgt__worker *w, uint64_t seed, rgt__error *err);
  /* forget -- unloads a candidate that was checked and is not needed for now. NULL where there is nothing to unload. */
  void (*forget)(rgt__worker *w, rgt__candidate *c);
} rgt__worker_ops;

struct rgt__worker {
  const rgt__worker_ops *ops;
};

/* rgt__worker_open -- a worker in a child process, for one op; maker and what it names, device and data, are borrowed until
 * close. A device that no other process can open (rgt__device.opened) and RAGTUNE_WORKER=inside give a local one. Used and
 * closed by the thread that opens it, or one at a time. RGT_ENOWORKER: none was found, or what was found is none of ours; what
 * the caller then does is its own affair: rgt_tune gives up, dispatch takes a local one. RGT_EINVAL (data, a limit in the
 * environment), RGT_ECRASH, RGT_EIO, RGT_ENOMEM. */
rgt_status rgt__worker_open(const rgt__candidate_maker *maker, const rgt_op_desc *op, const rgt_case *data,
                            uint64_t verify_seed, int64_t verify_rows, rgt__worker **out, rgt__error *err);
/* rgt__worker_open_local -- a worker in this process, for one op. maker and device are borrowed. */
rgt_status rgt__worker_open_local(const rgt__candidate_maker *maker, const rgt_op_desc *op, const rgt_case *data,
                                  uint64_t verify_seed, int64_t verify_rows, rgt__worker **out, rgt__error *err);

/* rgt__worker_local_watch -- a local worker, which ragtune-worker has, tells `watch` (copied) what it is about to run. */
void rgt__worker_local_watch(rgt__worker *w, const rgt__watch *watch);
/* rgt__worker_open_process -- a worker in a child of the program at `path`: see rgt__worker_open. */
rgt_status rgt__worker_open_process(const char *path, const rgt__candidate_maker *maker, const rgt_op_desc *op,
                                    const rgt_case *data, uint64_t verify_seed, int64_t verify_rows, rgt__worker **out,
                                    rgt__error *err);

#endif
