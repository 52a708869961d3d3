/* candidate.c -- one variant on its way from params to loaded code: render, look in the code cache, compile, load. */
#include "runtime/candidate.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/code_pair.h"

rgt_status rgt__candidate_render(const rgt__candidate_maker *m, const rgt__variant *v, const rgt_op_desc *op,
                                 rgt__candidate *out, rgt__error *err) {
  rgt__rendered rendered;
  rgt__error why = {""};
  memset(out, 0, sizeof *out);
  out->variant = *v;
  out->op = *op;
  rgt__variant_format(v, out->text);
  rgt_status status = rgt__variant_check(m->families, v, op, &m->target, &why);
  if (status == RGT_EINFEASIBLE) {
    out->outcome = RGT_TRIAL_INFEASIBLE;
    snprintf(out->reason, sizeof out->reason, "%.*s", (int)sizeof out->reason - 1, why.text);
    return RGT_OK;
  }
  if (status != RGT_OK) return rgt__error_set(err, status, "%s", why.text);
  status = rgt__variant_numeric(m->families, v, op, &out->numeric, err);
  if (status == RGT_OK) status = rgt__render(m->families, v, op, &m->target, &m->facts, &rendered, err);
  if (status != RGT_OK) return status;
  out->source = rendered.text;
  out->source_bytes = rendered.size;
  out->source_digest = rendered.digest;
  out->program = rendered.program;
  rgt__code_cache_key(&out->source_digest, m->toolchain, m->target.name, &out->code);
  return RGT_OK;
}

static void set_outcome(rgt__candidate *c, rgt_outcome outcome, const char *reason) {
  c->outcome = outcome;
  snprintf(c->reason, sizeof c->reason, "%.*s", (int)sizeof c->reason - 1, reason);
}

/* Static limits: a spill or a stack frame makes a CUDA variant infeasible for the target it was compiled for. */
static void check_limits(const rgt__candidate_maker *m, rgt__candidate *c) {
  char reason[RGT_REASON_MAX];
  if (strcmp(m->target.device, "cuda") != 0 || (c->spill_bytes == 0 && c->stack_bytes == 0)) return;
  snprintf(reason, sizeof reason, "%d bytes spilled, stack frame of %d bytes", c->spill_bytes, c->stack_bytes);
  set_outcome(c, RGT_TRIAL_INFEASIBLE, reason);
}

static void take_entry_facts(rgt__candidate *c, int registers, int shared_bytes, int spill_bytes, int stack_bytes,
                             size_t bytes) {
  c->registers = registers;
  c->shared_bytes = shared_bytes;
  c->spill_bytes = spill_bytes;
  c->stack_bytes = stack_bytes;
  c->code_bytes = bytes;
}

static rgt_status compile_now(const rgt__candidate_maker *m, rgt__candidate *c, rgt__error *err) {
  rgt__compiled compiled;
  memset(&compiled, 0, sizeof compiled);
  rgt_status status = m->farm ? rgt__worker_farm_compile(m->farm, c->source, c->source_bytes, &compiled, err)
                              : m->device->ops->compile(m->device, c->source, c->source_bytes, &m->target, 0, &compiled, err);
  c->milliseconds = compiled.milliseconds;
  if (status == RGT_ECOMPILE || status == RGT_ETIMEOUT || (status == RGT_ECRASH && compiled.log[0])) {
    rgt_outcome outcome = status == RGT_ECOMPILE ? RGT_TRIAL_COMPILE_ERROR : RGT_TRIAL_TIMED_OUT;
    set_outcome(c, status == RGT_ECRASH ? RGT_TRIAL_CRASHED : outcome, compiled.log);
    rgt__compiled_free(&compiled);
    return RGT_OK;
  }
  if (status != RGT_OK) {
    rgt__compiled_free(&compiled);
    return status;
  }
  take_entry_facts(c, compiled.registers, compiled.shared_bytes, compiled.spill_bytes, compiled.stack_bytes,
                   compiled.code_bytes);
  check_limits(m, c);
  /* A cache that cannot be written costs a compile next time, nothing else: the code stays in memory. */
  rgt__code_cache_put(m->cache, &c->code, &compiled, &c->program, c->source, c->source_bytes, NULL);
  rgt__code_entry_free(&c->entry);
  c->entry.program = c->program;
  status = rgt__code_pair_join(&compiled, &c->entry.code, &c->entry.code_bytes, err);
  rgt__compiled_free(&compiled);
  return status;
}

static rgt_status take_cached(const rgt__candidate_maker *m, rgt__candidate *c, rgt__error *err) {
  rgt_status status = rgt__code_cache_get(m->cache, &c->code, &c->entry, err);
  if (status != RGT_OK) return status;
  const rgt__code_entry *e = &c->entry;
  take_entry_facts(c, e->registers, e->shared_bytes, e->spill_bytes, e->stack_bytes, e->code_bytes);
  check_limits(m, c);
  return RGT_OK;
}

/* One process compiles, the others that want the same code wait for it and find it in the cache. */
static rgt_status compile_in_turn(const rgt__candidate_maker *m, rgt__candidate *c, rgt__error *err) {
  rgt__flight flight;
  if (rgt__code_cache_begin(m->cache, &c->code, m->device->stop, &flight) == RGT_FLIGHT_STOPPED)
    return rgt__error_set(err, RGT_EINTERRUPTED, "%s: stopped while another process compiled it", c->text);
  rgt_status status = take_cached(m, c, err);
  if (status == RGT_EMISS) status = compile_now(m, c, err);
  rgt__flight_end(&flight);
  return status;
}

rgt_status rgt__candidate_compile(const rgt__candidate_maker *m, rgt__candidate *c, int force, rgt__error *err) {
  if (c->outcome != RGT_TRIAL_OK) return RGT_OK;
  if (force) return compile_now(m, c, err);
  rgt_status status = take_cached(m, c, err);
  return status == RGT_EMISS ? compile_in_turn(m, c, err) : status;
}

rgt_status rgt__candidate_load(const rgt__candidate_maker *m, rgt__candidate *c, rgt__error *err) {
  if (c->module) return RGT_OK;
  rgt__device *d = m->device;
  if (c->entry.path[0]) {
    rgt_status status = d->ops->load(d, c->entry.path, NULL, 0, &c->program, &c->module, err);
    if (status != RGT_EIO || !c->source) return status;
    /* The file went away since it was found (another process may clear the cache), or its folder allows no execution. */
    status = compile_now(m, c, err);
    if (status != RGT_OK) return status;
    if (c->outcome != RGT_TRIAL_OK) return rgt__error_set(err, RGT_EIO, "%s: %s", c->text, c->reason);
  }
  return d->ops->load(d, NULL, c->entry.code, c->entry.code_bytes, &c->program, &c->module, err);
}

int rgt__candidate_has_code(const rgt__candidate *c) {
  return c->outcome != RGT_TRIAL_OK || c->module || c->entry.path[0] || c->entry.code;
}

int rgt__candidate_tell(const rgt__candidate *c, rgt_compile_fn fn, void *user) {
  char digest[RGT_DIGEST_HEX_MAX];
  rgt__digest_hex(&c->source_digest, digest);
  rgt_compile_info info = {.variant = c->text,
                           .outcome = c->outcome,
                           .reason = c->reason,
                           .registers = c->registers,
                           .shared_bytes = c->shared_bytes,
                           .spill_bytes = c->spill_bytes,
                           .stack_bytes = c->stack_bytes,
                           .milliseconds = c->milliseconds,
                           .code_bytes = c->code_bytes,
                           .digest = digest};
  return fn(user, &info);
}

void rgt__candidate_unload(rgt__device *device, rgt__candidate *c) {
  if (c->module) device->ops->unload(device, c->module);
  c->module = NULL;
}

void rgt__candidate_free(rgt__device *device, rgt__candidate *c) {
  if (!c) return;
  rgt__candidate_unload(device, c);
  rgt__code_entry_free(&c->entry);
  rgt__free(c->source);
  memset(c, 0, sizeof *c);
}

/* ---- the compile pool: plain threads, since a compile is a child process or a long library call ---- */

typedef struct compile_pool {
  const rgt__candidate_maker *m;
  rgt__candidate *const *list;
  int n, force;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int next, stop, n_running;
  int *finished; /* indices of those that have an outcome, in the order of their ends */
  int n_finished;
  rgt_status status;
  rgt__error error;
} compile_pool;

static void compile_one(compile_pool *p, int i) {
  rgt__error error = {""};
  rgt_status status = rgt__candidate_compile(p->m, p->list[i], p->force, &error);
  pthread_mutex_lock(&p->lock);
  if (status != RGT_OK) p->stop = 1;
  if (status == RGT_OK) {
    p->finished[p->n_finished++] = i;
  } else if (p->status == RGT_OK || p->status == RGT_EINTERRUPTED) {
    p->status = status;
    p->error = error;
  }
  pthread_cond_signal(&p->changed);
  pthread_mutex_unlock(&p->lock);
}

static void *compile_thread(void *arg) {
  compile_pool *p = arg;
  for (;;) {
    pthread_mutex_lock(&p->lock);
    int i = p->stop || p->next >= p->n ? -1 : p->next++;
    if (i < 0) {
      p->n_running--;
      pthread_cond_signal(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    if (i < 0) return NULL;
    compile_one(p, i);
  }
}

/* Hands out what has finished to the caller's function until every thread has ended. */
static void report_finished(compile_pool *p, rgt__candidate_done done, void *user) {
  int n_reported = 0, stopped = 0;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (n_reported == p->n_finished && p->n_running > 0) pthread_cond_wait(&p->changed, &p->lock);
    if (n_reported == p->n_finished) break;
    int i = p->finished[n_reported++];
    pthread_mutex_unlock(&p->lock);
    int stop = done && !stopped ? done(user, i) : 0;
    pthread_mutex_lock(&p->lock);
    if (stop) {
      stopped = p->stop = 1;
      if (p->status == RGT_OK) p->status = RGT_EINTERRUPTED;
    }
  }
  pthread_mutex_unlock(&p->lock);
}

rgt_status rgt__candidate_compile_list(const rgt__candidate_maker *m, rgt__candidate *const *list, int n, int threads,
                                       int force, rgt__candidate_done done, void *user, rgt__error *err) {
  enum { THREADS_MAX = 64 };
  pthread_t thread[THREADS_MAX];
  compile_pool p = {.m = m, .list = list, .n = n, .force = force};
  if (n <= 0) return RGT_OK;
  p.finished = rgt__alloc_zero((size_t)n, sizeof *p.finished);
  if (!p.finished) return rgt__error_nomem(err, (size_t)n * sizeof *p.finished);
  pthread_mutex_init(&p.lock, NULL);
  pthread_cond_init(&p.changed, NULL);
  if (threads > THREADS_MAX) threads = THREADS_MAX;
  if (threads > n) threads = n;
  int started = 0;
  p.n_running = threads < 1 ? 1 : threads;
  sigset_t all, before; /* the host's signals are for the host's threads */
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  while (started < threads && pthread_create(&thread[started], NULL, compile_thread, &p) == 0) started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started == 0) {
    p.n_running = 1;
    compile_thread(&p); /* no thread to be had: this one does the work */
  } else if (started < threads) {
    pthread_mutex_lock(&p.lock);
    p.n_running -= threads - started;
    pthread_mutex_unlock(&p.lock);
  }
  report_finished(&p, done, user);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  pthread_cond_destroy(&p.changed);
  pthread_mutex_destroy(&p.lock);
  rgt__free(p.finished);
  return p.status == RGT_OK || p.status == RGT_EINTERRUPTED ? p.status : rgt__error_set(err, p.status, "%s", p.error.text);
}

rgt_status rgt__candidate_compile_all(const rgt__candidate_maker *m, rgt__candidate *c, int n, int threads, int force,
                                      rgt__candidate_done done, void *user, rgt__error *err) {
  if (n <= 0) return RGT_OK;
  rgt__candidate **list = rgt__alloc_zero((size_t)n, sizeof *list);
  if (!list) return rgt__error_nomem(err, (size_t)n * sizeof *list);
  for (int i = 0; i < n; i++) list[i] = &c[i];
  rgt_status status = rgt__candidate_compile_list(m, list, n, threads, force, done, user, err);
  rgt__free(list);
  return status;
}

void rgt__candidate_local_key(const char *family, int revision, const char *params, const rgt_op_desc *op,
                              const rgt__render_facts *facts, const rgt__digest *template_digest, const char *compiler_stamp,
                              const char *target, rgt__digest *key) {
  rgt__hash h;
  char op_text[RGT_OP_TEXT_MAX] = "";
  rgt_op_desc without_groups = *op;
  without_groups.groups = 1;
  rgt__op_format(&without_groups, op_text, NULL);
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune local 1");
  rgt__hash_text(&h, family);
  rgt__hash_int(&h, revision);
  rgt__hash_text(&h, params);
  rgt__hash_text(&h, op_text);
  rgt__hash_int(&h, (int64_t)facts->form);
  rgt__hash_int(&h, facts->align_bytes);
  rgt__hash_int(&h, (int64_t)facts->order);
  rgt__hash_bytes(&h, template_digest->bytes, sizeof template_digest->bytes);
  rgt__hash_text(&h, compiler_stamp);
  rgt__hash_text(&h, target);
  rgt__hash_int(&h, RGT_KARGS_VERSION);
  rgt__hash_end(&h, key);
}
