/* background.c -- the queue and the thread behind rgt_op_prepare. */
#include "runtime/background.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "runtime/base/alloc.h"
#include "runtime/prepare.h"
#include "runtime/thread_pool.h"

struct rgt__background {
  rgt_ctx *ctx;
  struct rgt__background *next; /* of the process */
  pthread_t thread;
  int has_thread; /* to be joined */
  int is_running; /* it will look at the queue again */
  rgt__ready *first, *last;
  rgt__ready *current;
  volatile int gives_up; /* current is to be given up */
  rgt__stop stop;        /* says so */
};

enum { KEYS_MAX = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* on the monotonic clock */
static rgt__background *all;
static rgt__digest keys[KEYS_MAX]; /* in work */
static int n_keys;

void rgt__background_lock(void) {
  pthread_mutex_lock(&lock);
}

void rgt__background_unlock(void) {
  pthread_mutex_unlock(&lock);
}

double rgt__background_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void make_changed(void) {
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&changed, &attr);
  pthread_condattr_destroy(&attr);
}

/* Written under the lock, read by a compile in work without it. */
static void set_gives_up(rgt__background *b, int yes) {
  __atomic_store_n(&b->gives_up, yes, __ATOMIC_RELAXED);
}

/* ---- forks ---- */

/* What a thread of the parent had in hands may be half written: it is given up, memory and all. */
static void lose(rgt__ready *r) {
  r->candidate = r->twin = NULL;
  r->state = RGT_READY_FAILED;
  r->status =
      rgt__error_set(&r->why, RGT_EINTERRUPTED, "%s: the process was forked while it was made; prepare again", r->variant);
  atomic_fetch_add(&r->op->n_made, 1);
}

static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  make_changed();
  n_keys = 0;
  for (rgt__background *b = all; b; b = b->next) {
    b->has_thread = b->is_running = 0;
    if (b->current) lose(b->current);
    b->current = NULL;
    for (rgt__ready *r = b->first; r; r = r->next_queued) {
      r->state = RGT_READY_RENDERED;
      atomic_fetch_add(&r->op->n_made, 1);
    }
    b->first = b->last = NULL;
  }
}

static void first_use(void) {
  make_changed();
  pthread_atfork(rgt__background_lock, rgt__background_unlock, in_child);
}

/* ---- the queue; the lock is held ---- */

static void push(rgt__background *b, rgt__ready *r) {
  r->state = RGT_READY_QUEUED;
  r->next_queued = NULL;
  if (b->last)
    b->last->next_queued = r;
  else
    b->first = r;
  b->last = r;
}

/* Back to what it was before it was asked for. */
static void take_out(rgt__background *b, const rgt_op *op, const rgt__ready *only) {
  rgt__ready **link = &b->first;
  b->last = NULL;
  while (*link) {
    rgt__ready *r = *link;
    if (r->op == op && (!only || r == only)) {
      r->state = RGT_READY_RENDERED;
      *link = r->next_queued;
    } else {
      b->last = r;
      link = &r->next_queued;
    }
  }
}

static int is_lost(const rgt__ready *r) {
  return r->state == RGT_READY_REFUSED || r->state == RGT_READY_FAILED;
}

/* The best of a bucket that is there, or may be. */
static rgt__ready *best_hope(const rgt__preference p) {
  for (int place = 0; place < RGT_N_PLACES; place++)
    if (p[place] && !is_lost(p[place])) return p[place];
  return NULL;
}

/* A batch-invariant op whose class cannot be had for one bucket takes the default for all of them. */
static int class_is_lost(const rgt_op *op) {
  if (!op->options.batch_invariant) return 0;
  for (int b = 0; b < op->n_buckets; b++) {
    const rgt__ready *best = best_hope(op->prefer[b]);
    if (!best || best == op->prefer[b][RGT_PLACE_DEFAULT]) return 1;
  }
  return 0;
}

static void queue_what_lacks(rgt__background *b, rgt_op *op) {
  int only_default = class_is_lost(op);
  rgt__ready *wanted[RGT_BUCKETS_MAX];
  for (int i = 0; i < op->n_buckets; i++) {
    rgt__ready *fallback = op->prefer[i][RGT_PLACE_DEFAULT];
    wanted[i] = only_default ? fallback : best_hope(op->prefer[i]);
    int interim = wanted[i] && wanted[i]->state != RGT_READY_LOADED && op->needs_interim;
    if (fallback && fallback->state == RGT_READY_RENDERED && (interim || rgt__prepare_needs_standby(op, wanted[i])))
      push(b, fallback);
  }
  for (int i = 0; i < op->n_buckets; i++)
    if (wanted[i] && wanted[i]->state == RGT_READY_RENDERED) push(b, wanted[i]);
}

/* ---- the thread ---- */

/* A verdict on the variant, or a trouble of the moment? */
static rgt__ready_state state_after(rgt_status status) {
  switch (status) {
  case RGT_OK:
    return RGT_READY_LOADED;
  case RGT_ENOMEM:
  case RGT_EIO:
  case RGT_ENOCOMPILER:
  case RGT_EINTERRUPTED:
    return RGT_READY_FAILED;
  default:
    return RGT_READY_REFUSED;
  }
}

/* Without a compiler none of the others can be made either; one line in the log is enough. */
static void give_up_all(rgt__background *b, rgt_op *op, const rgt__ready *first) {
  take_out(b, op, NULL);
  for (rgt__ready *r = op->ready; r; r = r->next) {
    if (r == first || r->state != RGT_READY_RENDERED) continue;
    r->state = RGT_READY_FAILED;
    r->status = first->status;
    r->why = first->why;
    r->told = 1;
  }
}

static void finish(rgt__background *b, rgt__ready *r, rgt_status status, const rgt__error *why) {
  rgt_op *op = r->op;
  r->status = status;
  r->why = *why;
  r->state = state_after(status);
  b->current = NULL;
  if (status == RGT_ENOCOMPILER) give_up_all(b, op, r);
  if (!b->gives_up) queue_what_lacks(b, op);
  atomic_fetch_add_explicit(&op->n_made, 1, memory_order_release);
  pthread_cond_broadcast(&changed);
}

static void *work(void *arg) {
  rgt__background *b = arg;
  rgt__make_place place = {.ctx = b->ctx, .stop = &b->stop};
  pthread_mutex_lock(&lock);
  while (b->first) {
    rgt__ready *r = b->first;
    rgt__error why = {""};
    b->first = r->next_queued;
    if (!b->first) b->last = NULL;
    r->state = RGT_READY_MAKING;
    b->current = r;
    set_gives_up(b, 0);
    pthread_mutex_unlock(&lock);
    rgt_status status = rgt__prepare_make(&place, r, &why);
    pthread_mutex_lock(&lock);
    finish(b, r, status, &why);
  }
  b->is_running = 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  rgt__prepare_make_end(&place);
  return NULL;
}

/* The lock is held, and let go of only where this thread has to do the work itself. */
static void start(rgt__background *b) {
  sigset_t every, before;
  if (b->is_running || !b->first) return;
  if (b->has_thread) pthread_join(b->thread, NULL); /* it has left the queue, and takes no lock any more */
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before); /* the host's signals are for the host's threads */
  b->has_thread = pthread_create(&b->thread, NULL, work, b) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  b->is_running = 1;
  if (b->has_thread) return;
  pthread_mutex_unlock(&lock);
  work(b);
  pthread_mutex_lock(&lock);
}

/* ---- for the context's thread ---- */

static rgt_status open_background(rgt_ctx *ctx) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (ctx->background) return RGT_OK;
  pthread_once(&once, first_use);
  rgt__background *b = rgt__alloc_zero(1, sizeof *b);
  if (!b) return rgt__error_nomem(&ctx->error, sizeof *b);
  b->ctx = ctx;
  b->stop.flag = &b->gives_up;
  pthread_mutex_lock(&lock);
  b->next = all;
  all = b;
  pthread_mutex_unlock(&lock);
  ctx->background = b;
  return RGT_OK;
}

static int is_missing(const rgt_op *op, const rgt__preference *prefer, int n) {
  for (int i = 0; i < n; i++) {
    const rgt__ready *best = best_hope(prefer[i]), *fallback = prefer[i][RGT_PLACE_DEFAULT];
    if (best && best->state != RGT_READY_LOADED) return 1;
    if (fallback && fallback->state == RGT_READY_RENDERED && rgt__prepare_needs_standby(op, best)) return 1;
  }
  return 0;
}

rgt_status rgt__background_prefer(rgt_op *op, const rgt__preference *prefer, int n_buckets, int needs_interim) {
  rgt__background_lock();
  int needs_thread = is_missing(op, prefer, n_buckets);
  rgt__background_unlock();
  rgt_status status = needs_thread ? open_background(op->ctx) : RGT_OK;
  if (status != RGT_OK) return status;
  rgt__background_lock();
  memset(op->prefer, 0, sizeof op->prefer);
  memcpy(op->prefer, prefer, (size_t)n_buckets * sizeof *prefer);
  op->n_buckets = n_buckets;
  op->needs_interim = needs_interim;
  if (op->ctx->background) {
    queue_what_lacks(op->ctx->background, op);
    start(op->ctx->background);
  }
  rgt__background_unlock();
  return RGT_OK;
}

void rgt__background_cancel(rgt_op *op, const rgt__ready *only) {
  rgt__background *b = op->ctx->background;
  if (!b) return;
  pthread_mutex_lock(&lock);
  take_out(b, op, only);
  while (b->current && b->current->op == op && (!only || b->current == only)) {
    set_gives_up(b, 1);
    pthread_cond_broadcast(&changed); /* it may wait for its turn */
    pthread_cond_wait(&changed, &lock);
  }
  take_out(b, op, only);
  pthread_mutex_unlock(&lock);
}

static int wait_until(double deadline_s) {
  if (isinf(deadline_s)) return pthread_cond_wait(&changed, &lock) == 0;
  struct timespec t = {.tv_sec = (time_t)deadline_s};
  t.tv_nsec = (long)((deadline_s - (double)t.tv_sec) * 1e9);
  return pthread_cond_timedwait(&changed, &lock, &t) != ETIMEDOUT;
}

int rgt__background_wait(rgt_op *op, int seen, double deadline_s) {
  int in_time = 1;
  if (!op->ctx->background) return 1;
  pthread_mutex_lock(&lock);
  while (in_time && atomic_load(&op->n_made) == seen) in_time = wait_until(deadline_s);
  in_time = atomic_load(&op->n_made) != seen;
  pthread_mutex_unlock(&lock);
  return in_time;
}

void rgt__background_idle(rgt_ctx *ctx, double limit_s) {
  double deadline_s = rgt__background_now() + limit_s;
  const rgt__background *b = ctx->background;
  if (!b) return;
  pthread_mutex_lock(&lock);
  while ((b->current || b->first) && wait_until(deadline_s)) continue;
  pthread_mutex_unlock(&lock);
}

void rgt__background_close(rgt_ctx *ctx) {
  rgt__background *b = ctx->background;
  if (!b) return;
  pthread_mutex_lock(&lock);
  rgt__background **link = &all;
  while (*link != b) link = &(*link)->next;
  *link = b->next;
  pthread_mutex_unlock(&lock);
  if (b->has_thread) pthread_join(b->thread, NULL);
  rgt__free(b);
  ctx->background = NULL;
}

/* ---- one thread for one code key ---- */

static int find_key(const rgt__digest *key) {
  for (int i = 0; i < n_keys; i++)
    if (rgt__digest_equal(&keys[i], key)) return i;
  return -1;
}

int rgt__background_key_begin(const rgt__digest *key, const rgt__stop *stop) {
  int most = rgt__pool_affinity();
  if (most > KEYS_MAX) most = KEYS_MAX;
  pthread_mutex_lock(&lock);
  while (!rgt__stop_now(stop) && (n_keys >= most || find_key(key) >= 0)) pthread_cond_wait(&changed, &lock);
  int begun = !rgt__stop_now(stop);
  if (begun) keys[n_keys++] = *key;
  pthread_mutex_unlock(&lock);
  return begun;
}

void rgt__background_key_end(const rgt__digest *key) {
  pthread_mutex_lock(&lock);
  int at = find_key(key);
  if (at >= 0) keys[at] = keys[--n_keys];
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}
