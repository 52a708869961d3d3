/* thread_pool.c -- the process's worker threads: one pool, no larger than the affinity allows, made anew after a fork.
 *
 * One job at a time. Its state is one word: generation, a closed bit, and how many helpers joined. A helper joins by
 * compare-and-swap only while the job is open, so the caller closes the job when the parts run out and waits for those
 * that joined, never for one that is still asleep. Helpers spin for a few dozen microseconds,
 * so that the steps of a call, and calls in a row, follow each other without a wake-up (which costs 5 to 10 us on a virtual
 * machine, more than a small call), and then sleep: a pool that spins for long hurts its host (two cores, two pools).
 */
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { HELPERS_MAX = 255 };

#define HELPER_SPIN_NS 30000  /* from the end of a job to sleep */
#define CALLER_SPIN_NS 100000 /* from its own last part to sleep, while helpers work on theirs */

#define STATE_GENERATION ((uint64_t)1 << 17)
#define STATE_CLOSED ((uint64_t)1 << 16)
#define STATE_JOINED (STATE_CLOSED - 1)

static struct {
  pthread_mutex_t in_use; /* held by the caller of a job */
  pthread_mutex_t sleep;
  pthread_cond_t wake, finished;
  int n_helpers; /* started so far */
  int n_sleeping;
  atomic_uint_fast64_t state;
  atomic_uint_fast64_t n_left; /* helpers that left this generation */
  rgt__pool_fn fn;
  void *user;
  int64_t n_parts;
  int n_threads; /* of the job: the caller is 0, helper i is i + 1 */
  int n_invited;
} pool = {.in_use = PTHREAD_MUTEX_INITIALIZER,
          .sleep = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER,
          .state = STATE_CLOSED};

/* A thread's own parts, [low, high) in one word: it takes them from the low end, others steal from the high end. The same call
 * again gives a thread the same parts, so that what it read and wrote is still in its cache. */
typedef struct share {
  _Alignas(64) atomic_uint_fast64_t range; /* high << 32 | low */
} share;

static share shares[HELPERS_MAX + 1];

int rgt__pool_affinity(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    int n = CPU_COUNT(&set);
    if (n > 0) return n;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

static void relax(void) {
#if defined __x86_64__
  __builtin_ia32_pause();
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A bounded spin: while (spin(&s, limit_ns)) if (what is waited for) break; The clock is read every 16 turns only. */
typedef struct spinner {
  int n;
  int64_t end_ns;
} spinner;

static int spin(spinner *s, int64_t limit_ns) {
  relax();
  if (++s->n % 16) return 1;
  if (!s->end_ns) s->end_ns = now_ns() + limit_ns;
  return now_ns() < s->end_ns;
}

/* One part of a share, from its low or its high end; -1 when there is none left. */
static int64_t take_part(share *from, int own) {
  uint64_t range = atomic_load_explicit(&from->range, memory_order_relaxed);
  for (;;) {
    uint64_t low = range & UINT32_MAX, high = range >> 32;
    if (low >= high) return -1;
    uint64_t rest = own ? high << 32 | (low + 1) : (high - 1) << 32 | low;
    if (atomic_compare_exchange_weak_explicit(&from->range, &range, rest, memory_order_relaxed, memory_order_relaxed))
      return (int64_t)(own ? low : high - 1);
  }
}

static void take_parts(int self) {
  int64_t part;
  while ((part = take_part(&shares[self], 1)) >= 0) pool.fn(pool.user, part, pool.n_parts);
  for (int i = 1; i < pool.n_threads; i++) {
    share *other = &shares[(self + i) % pool.n_threads];
    while ((part = take_part(other, 0)) >= 0) pool.fn(pool.user, part, pool.n_parts);
  }
}

/* Joins the job of `state` if it is still open. */
static int join(uint64_t state) {
  while (!(state & STATE_CLOSED))
    if (atomic_compare_exchange_weak_explicit(&pool.state, &state, state + 1, memory_order_acq_rel, memory_order_acquire))
      return 1;
  return 0;
}

static uint64_t wait_for_job(uint64_t seen) {
  spinner s = {0, 0};
  do {
    uint64_t state = atomic_load_explicit(&pool.state, memory_order_acquire);
    if (state / STATE_GENERATION != seen) return state;
  } while (spin(&s, HELPER_SPIN_NS));
  pthread_mutex_lock(&pool.sleep);
  uint64_t state;
  pool.n_sleeping++;
  while ((state = atomic_load_explicit(&pool.state, memory_order_acquire)) / STATE_GENERATION == seen)
    pthread_cond_wait(&pool.wake, &pool.sleep);
  pool.n_sleeping--;
  pthread_mutex_unlock(&pool.sleep);
  return state;
}

static void *helper_main(void *arg) {
  int self = (int)(intptr_t)arg;
  uint64_t seen = UINT64_MAX;
  for (;;) {
    uint64_t state = seen == UINT64_MAX ? atomic_load(&pool.state) : wait_for_job(seen);
    seen = state / STATE_GENERATION;
    if (!join(state)) continue;
    if (self < pool.n_invited) take_parts(self + 1);
    pthread_mutex_lock(&pool.sleep);
    atomic_fetch_add_explicit(&pool.n_left, 1, memory_order_release);
    pthread_cond_signal(&pool.finished);
    pthread_mutex_unlock(&pool.sleep);
  }
  return NULL;
}

/* After a fork the child has none of the helpers: forget them; the next job starts new ones. */
static void forget_helpers(void) {
  pthread_mutex_init(&pool.in_use, NULL);
  pthread_mutex_init(&pool.sleep, NULL);
  pthread_cond_init(&pool.wake, NULL);
  pthread_cond_init(&pool.finished, NULL);
  pool.n_helpers = 0;
  pool.n_sleeping = 0;
  atomic_store(&pool.state, STATE_CLOSED);
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, forget_helpers);
}

/* Returns how many helpers there are, at most `wanted`; in_use is held. */
static int start_helpers(int wanted) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  if (pool.n_helpers >= wanted) return wanted;
  sigset_t all, before; /* the host's signals are for the host's threads: helpers inherit a mask that blocks them */
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  if (wanted > HELPERS_MAX) wanted = HELPERS_MAX;
  while (pool.n_helpers < wanted) {
    pthread_t thread;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) break;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &attr, helper_main, (void *)(intptr_t)pool.n_helpers);
    pthread_attr_destroy(&attr);
    if (failed) break;
    pool.n_helpers++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return pool.n_helpers < wanted ? pool.n_helpers : wanted;
}

static void open_job(int n_helpers, int64_t n_parts, rgt__pool_fn fn, void *user) {
  pool.fn = fn;
  pool.user = user;
  pool.n_parts = n_parts;
  pool.n_invited = n_helpers;
  pool.n_threads = n_helpers + 1;
  for (int i = 0; i <= n_helpers; i++) {
    uint64_t low = (uint64_t)(n_parts * i / (n_helpers + 1)), high = (uint64_t)(n_parts * (i + 1) / (n_helpers + 1));
    atomic_store_explicit(&shares[i].range, high << 32 | low, memory_order_relaxed);
  }
  atomic_store_explicit(&pool.n_left, 0, memory_order_relaxed);
  uint64_t generation = atomic_load_explicit(&pool.state, memory_order_relaxed) / STATE_GENERATION + 1;
  pthread_mutex_lock(&pool.sleep);
  atomic_store_explicit(&pool.state, generation * STATE_GENERATION, memory_order_release);
  if (pool.n_sleeping > 0) pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.sleep);
}

static void close_job(void) {
  uint64_t joined = atomic_fetch_or_explicit(&pool.state, STATE_CLOSED, memory_order_acq_rel) & STATE_JOINED;
  spinner s = {0, 0};
  do {
    if (atomic_load_explicit(&pool.n_left, memory_order_acquire) == joined) return;
  } while (spin(&s, CALLER_SPIN_NS));
  pthread_mutex_lock(&pool.sleep);
  while (atomic_load_explicit(&pool.n_left, memory_order_acquire) != joined) pthread_cond_wait(&pool.finished, &pool.sleep);
  pthread_mutex_unlock(&pool.sleep);
}

void rgt__pool_run(int threads, int64_t n_parts, rgt__pool_fn fn, void *user) {
  if (threads > n_parts) threads = (int)n_parts;
  if (threads <= 1 || n_parts > INT32_MAX || pthread_mutex_trylock(&pool.in_use) != 0) {
    for (int64_t part = 0; part < n_parts; part++) fn(user, part, n_parts);
    return;
  }
  int n_helpers = start_helpers(threads - 1);
  open_job(n_helpers, n_parts, fn, user);
  take_parts(0);
  close_job();
  pthread_mutex_unlock(&pool.in_use);
}

void rgt__pool_warm(int threads) {
  if (threads <= 1 || pthread_mutex_trylock(&pool.in_use) != 0) return;
  start_helpers(threads - 1);
  pthread_mutex_unlock(&pool.in_use);
}
