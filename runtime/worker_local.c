/* worker_local.c -- the worker in this process.
 *
 * Timing: a batch is as many calls as make it a thousand times the clock's own cost and at least BATCH_PS, found once for each
 * candidate and kept. Before a batch comes a third of it unmeasured, since the candidate before it left its own data in the
 * caches, on other cores too; where a call is long enough to be a batch of its own, it warms itself only the first time. With a
 * cold policy every batch is one call after a flush. A clock that stands still between calls is a modelled one, which counts
 * what ran: batches of one then.
 */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/base/random.h"
#include "runtime/batch_time.h"
#include "runtime/bench_data.h"
#include "runtime/callable.h"
#include "runtime/plain_loop.h"
#include "runtime/worker.h"

#define BATCH_PS ((int64_t)200 * 1000 * 1000)      /* 200 us */
#define SMALL_WORKSPACE (1 << 20)                  /* where there is no room for so little, that is not the candidate's fault */
#define LONG_CALL_PS ((int64_t)1000 * 1000 * 1000) /* 1 ms */
enum { GRAPH_CALLS_MAX = 2048 };                   /* calls of a graph: each is a node or more to be made anew every round */

typedef struct batch_size {        /* calls of a batch, by the program that runs */
  const rgt__candidate *candidate; /* NULL: the plain loop */
  int64_t n_calls;
} batch_size;

typedef struct local_worker {
  rgt__worker base;
  const rgt__candidate_maker *maker;
  rgt__verify *verify;
  int64_t clock_ps; /* cost of reading the clock; 0: a modelled clock */
  int has_task;
  rgt__worker_task task;
  rgt__bench_data data;
  float *hidden;       /* plain loop's */
  size_t stack_offset; /* bytes that a batch puts below its calls on the stack */
  batch_size *sizes;
  int n_sizes, sizes_capacity;
  rgt__watch watch; /* enter NULL: nobody is told */
} local_worker;

static void enter(const local_worker *l, const rgt__candidate *c, rgt__worker_phase phase) {
  if (c && l->watch.enter) l->watch.enter(l->watch.user, c, phase);
}

static void leave(const local_worker *l, const rgt__candidate *c) {
  if (c && l->watch.enter) l->watch.leave(l->watch.user);
}

/* Loading runs what the code's authors put into its constructors. */
static rgt_status load(const local_worker *l, rgt__candidate *c, rgt__error *err) {
  if (c->module) return RGT_OK;
  enter(l, c, RGT_WORKER_LOADING);
  rgt_status status = rgt__candidate_load(l->maker, c, err);
  leave(l, c);
  return status;
}

static void local_end(rgt__worker *w) {
  local_worker *l = (local_worker *)w;
  if (l->has_task) rgt__bench_data_close(l->maker->device, &l->data);
  rgt__free(l->hidden);
  l->hidden = NULL;
  l->has_task = 0;
  l->n_sizes = 0;
}

static rgt_status local_begin(rgt__worker *w, const rgt__worker_task *task, rgt__error *err) {
  local_worker *l = (local_worker *)w;
  local_end(w);
  rgt_status status = rgt__bench_data_open(l->maker->device, task, &l->data, err);
  if (status != RGT_OK) return status;
  l->task = *task;
  l->has_task = 1;
  l->hidden = rgt__alloc_zero((size_t)(task->op.n_hidden + 1), sizeof *l->hidden);
  if (!l->hidden) {
    local_end(w);
    return rgt__error_nomem(err, (size_t)task->op.n_hidden * sizeof *l->hidden);
  }
  return RGT_OK;
}

static rgt_status local_check(rgt__worker *w, rgt__candidate *c, rgt__candidate *twin, rgt__verify_result *result,
                              rgt__error *err) {
  local_worker *l = (local_worker *)w;
  rgt__device *d = l->maker->device;
  rgt_status status = load(l, c, err);
  if (status == RGT_OK && twin) status = load(l, twin, err);
  if (status == RGT_EIO) { /* compiled, and no code all the same: a name that nothing defines */
    rgt__error why = {""};
    if (err) why = *err;
    return rgt__error_set(err, RGT_EINFEASIBLE, "%s", why.text);
  }
  if (status != RGT_OK) return status;
  const rgt__watch *watch = l->watch.enter ? &l->watch : NULL;
  rgt__candidate_callable callable = {.candidate = c, .form = l->maker->facts.form, .watch = watch},
                          exact = {.candidate = twin, .form = l->maker->facts.form, .watch = watch};
  rgt__callable run = rgt__callable_candidate(&callable, d), run_exact = rgt__callable_candidate(&exact, d);
  int guards = watch && watch->guards && d->ops->guard;
  if (guards) d->ops->guard(d, 1);
  status = rgt__verify_bound(l->verify, &run, &c->numeric, result, err);
  if (status == RGT_OK && result->status == RGT_OK && twin) {
    double share = result->error_share;
    status = rgt__verify_exact(l->verify, &run_exact, result, err);
    if (status == RGT_OK && result->status == RGT_OK) result->error_share = share;
  }
  if (guards) d->ops->guard(d, 0);
  if (status == RGT_OK && result->status == RGT_OK && callable.n_runs == 0)
    status = rgt__error_set(err, RGT_EINFEASIBLE, "its program is not valid for any problem that would verify it");
  return status;
}

/* ---- one call of what is timed: a candidate, or the plain loop ---- */

typedef struct timed {
  rgt__candidate *candidate; /* NULL: the plain loop */
  rgt__plan plan;
} timed;

typedef struct one_call {
  local_worker *worker;
  const timed *timed;
} one_call;

static rgt_status call(void *user, void *stream, rgt__error *err) {
  const one_call *c = user;
  local_worker *l = c->worker;
  const timed *t = c->timed;
  rgt__device *d = l->maker->device;
  if (!t->candidate) {
    rgt__plain_loop(&l->data.problem.op, &l->data.k, l->hidden);
    return RGT_OK;
  }
  return d->ops->launch(d, t->candidate->module, &t->candidate->program, &t->plan, &l->data.k, l->data.workspace, stream, err);
}

static rgt_status batch(local_worker *l, const timed *t, rgt_policy policy, int64_t n_calls, int64_t *total_ps,
                        rgt__error *err) {
  one_call c = {l, t};
  *(volatile char *)__builtin_alloca(l->stack_offset + 1) = 0;
  enter(l, t->candidate, RGT_WORKER_TIMING);
  rgt_status status = rgt__batch_time(l->maker->device, policy, n_calls, call, &c, total_ps, err);
  leave(l, t->candidate);
  return status;
}

static rgt_status remember_size(local_worker *l, const rgt__candidate *c, int64_t n_calls, rgt__error *err) {
  if (l->n_sizes == l->sizes_capacity) {
    int capacity = l->sizes_capacity ? 2 * l->sizes_capacity : 64;
    batch_size *grown = rgt__realloc(l->sizes, (size_t)capacity * sizeof *grown);
    if (!grown) return rgt__error_nomem(err, (size_t)capacity * sizeof *grown);
    l->sizes = grown;
    l->sizes_capacity = capacity;
  }
  l->sizes[l->n_sizes++] = (batch_size){c, n_calls};
  return RGT_OK;
}

/* Doubles the calls until a batch is long enough, twice over to see past the first touches. */
static rgt_status find_size(local_worker *l, const timed *t, int64_t *n_calls, rgt__error *err) {
  for (int i = 0; i < l->n_sizes; i++)
    if (l->sizes[i].candidate == t->candidate) {
      *n_calls = l->sizes[i].n_calls;
      return RGT_OK;
    }
  int64_t want = 1000 * l->clock_ps > BATCH_PS ? 1000 * l->clock_ps : BATCH_PS, n = 1, total = 0;
  if (l->task.policy == RGT_POLICY_COLD || l->clock_ps == 0) want = 0;
  rgt_status status = RGT_OK;
  do {
    status = batch(l, t, RGT_POLICY_WARM, n, &total, err);
    if (status == RGT_OK && total < LONG_CALL_PS) status = batch(l, t, RGT_POLICY_WARM, n, &total, err);
    if (status != RGT_OK) return status;
    if (total >= want) break;
    int64_t factor = total > 0 ? want / total + 1 : 64;
    n *= factor < 2 ? 2 : factor > 64 ? 64 : factor;
  } while (n < ((int64_t)1 << 24));
  if (l->task.policy == RGT_POLICY_GRAPH && n > GRAPH_CALLS_MAX) n = GRAPH_CALLS_MAX;
  *n_calls = n;
  return remember_size(l, t->candidate, n, err);
}

static rgt_status sample(local_worker *l, const timed *t, rgt__worker_sample *out, rgt__error *err) {
  rgt__device *d = l->maker->device;
  one_call c = {l, t};
  int64_t n_calls = 1, total = 0;
  rgt_status status = find_size(l, t, &n_calls, err);
  enter(l, t->candidate, RGT_WORKER_TIMING);
  if (l->task.policy == RGT_POLICY_WARM)
    for (int64_t i = 0; i < n_calls / 3 + (n_calls > 1) && status == RGT_OK; i++) status = call(&c, d->stream, err);
  leave(l, t->candidate);
  if (status == RGT_OK) status = batch(l, t, l->task.policy, n_calls, &total, err);
  if (status == RGT_OK) *out = (rgt__worker_sample){total / n_calls, n_calls};
  return status;
}

static rgt_status local_round(rgt__worker *w, rgt__candidate *const *c, int n, rgt__worker_sample *samples, rgt__error *err) {
  local_worker *l = (local_worker *)w;
  rgt__device *d = l->maker->device;
  for (int i = 0; i < n; i++) {
    timed t = {.candidate = c[i]};
    rgt__plan_make(&c[i]->program, &d->info, l->data.k.rows, l->data.k.groups, &t.plan);
    samples[i] = (rgt__worker_sample){-1, 0};
    if (c[i]->outcome != RGT_TRIAL_OK || !t.plan.valid) continue;
    rgt_status status = rgt__bench_data_workspace(d, &l->data, t.plan.workspace_bytes, err);
    if (status != RGT_OK && t.plan.workspace_bytes > SMALL_WORKSPACE) continue;
    if (status == RGT_OK) status = load(l, c[i], err);
    if (status == RGT_OK) rgt__plan_make_on(d, c[i]->module, &c[i]->program, l->data.k.rows, l->data.k.groups, &t.plan);
    if (status == RGT_OK && t.plan.valid) status = sample(l, &t, &samples[i], err);
    if (status != RGT_OK && status != RGT_EINFEASIBLE) return status;
  }
  return RGT_OK;
}

static rgt_status local_loop(rgt__worker *w, rgt__worker_sample *out, rgt__error *err) {
  local_worker *l = (local_worker *)w;
  timed t = {.candidate = NULL};
  *out = (rgt__worker_sample){-1, 0};
  if (strcmp(l->maker->device->ops->kind, "cpu") != 0 || l->task.op.dtype != RGT_F32 || l->task.form != RGT_STACKED)
    return RGT_OK;
  return sample(l, &t, out, err);
}

static rgt_status local_place(rgt__worker *w, uint64_t seed, rgt__error *err) {
  local_worker *l = (local_worker *)w;
  rgt__random random;
  rgt__random_seed(&random, seed);
  l->stack_offset = (size_t)rgt__random_below(&random, 256) * 16;
  return rgt__bench_data_place(l->maker->device, &l->task, &l->data, (size_t)rgt__random_below(&random, 4096), err);
}

static void local_close(rgt__worker *w) {
  local_worker *l = (local_worker *)w;
  local_end(w);
  rgt__verify_free(l->verify);
  rgt__free(l->sizes);
  rgt__free(l);
}

static void local_forget(rgt__worker *w, rgt__candidate *c) {
  local_worker *l = (local_worker *)w;
  rgt__candidate_unload(l->maker->device, c);
  int n = 0;
  for (int i = 0; i < l->n_sizes; i++)
    if (l->sizes[i].candidate != c) l->sizes[n++] = l->sizes[i];
  l->n_sizes = n;
}

static const rgt__worker_ops local_ops = {local_begin, local_end,   local_check, local_round,
                                          local_loop,  local_close, local_place, local_forget};

void rgt__worker_local_watch(rgt__worker *w, const rgt__watch *watch) {
  ((local_worker *)w)->watch = *watch;
}

rgt_status rgt__worker_open_local(const rgt__candidate_maker *maker, const rgt_op_desc *op, const rgt_case *data,
                                  uint64_t verify_seed, int64_t verify_rows, rgt__worker **out, rgt__error *err) {
  local_worker *l = rgt__alloc_zero(1, sizeof *l);
  if (!l) return rgt__error_nomem(err, sizeof *l);
  rgt__verify_plan plan = {.op = *op,
                           .form = maker->facts.form,
                           .order = maker->facts.order,
                           .rows = verify_rows,
                           .seed = verify_seed,
                           .data = data,
                           .align_bytes = maker->facts.align_bytes};
  l->base.ops = &local_ops;
  l->maker = maker;
  rgt_status status = rgt__verify_open(&plan, &l->verify, err);
  if (status != RGT_OK) {
    rgt__free(l);
    return status;
  }
  l->clock_ps = rgt__batch_clock(maker->device);
  *out = &l->base;
  return RGT_OK;
}
