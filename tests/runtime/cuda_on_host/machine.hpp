/* machine.hpp -- enough of a CUDA machine for C++ on the host: put before a rendered template, it runs the kernels' own text.
 *
 * The threads of a block are fibers that take turns: each runs until it waits for its warp (a shuffle) or its block
 * (__syncthreads) or ends. Blocks run one after another. A wait that can never end is a fault, and so is a read outside the
 * memory that the test allowed, or at an address that its width does not divide.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)

namespace host {

enum { THREADS_MAX = 256, WARP = 32, STACK_BYTES = 16 << 10, RANGES_MAX = 65536 };
enum state { READY, WAITS_WARP, WAITS_BLOCK, ENDED };

struct triple {
  unsigned x, y, z;
};
struct range {
  const char *begin, *end;
};

static triple thread_index, block_index, grid_size;
static ucontext_t scheduler, fibers[THREADS_MAX];
alignas(64) static char stacks[THREADS_MAX][STACK_BYTES];
static state states[THREADS_MAX];
static float exchanged[2][THREADS_MAX];
static unsigned turns[THREADS_MAX]; /* shuffles that a thread has begun */
static range ranges[RANGES_MAX];
static int n_ranges, current, n_threads;
static char fault[256]; /* "" while nothing went wrong */
static void (*body)();

static void wait(state s) {
  int me = current;
  states[me] = s;
  swapcontext(&fibers[me], &scheduler);
}

/* A fiber outlives its thread: resumed after the end, it runs the same thread of the next block. */
static void fiber_main() {
  for (;;) {
    body();
    wait(ENDED);
  }
}

static void make_fiber(int t) {
  getcontext(&fibers[t]);
  fibers[t].uc_stack.ss_sp = stacks[t];
  fibers[t].uc_stack.ss_size = STACK_BYTES;
  fibers[t].uc_link = nullptr;
  makecontext(&fibers[t], fiber_main, 0);
}

/* Releases those of [from, to) that wait for s, if all of them that have not ended do. 1 if any was released. A shuffle names
 * every lane, so one that has ended is a fault. */
static int release(int from, int to, state s) {
  int waiting = 0;
  for (int t = from; t < to; t++) {
    if (states[t] != s && states[t] != ENDED) return 0;
    waiting += states[t] == s;
  }
  if (s == WAITS_WARP && waiting > 0 && waiting < to - from) {
    snprintf(fault, sizeof fault, "a shuffle in warp %d of block %u, where lanes have ended", from / WARP, block_index.x);
    return 0;
  }
  for (int t = from; t < to; t++)
    if (states[t] == s) states[t] = READY;
  return waiting > 0;
}

static void run_block() {
  for (int t = 0; t < n_threads; t++) states[t] = READY;
  for (int moved = 1; moved;) {
    moved = 0;
    for (int t = 0; t < n_threads; t++) {
      if (states[t] != READY) continue;
      current = t;
      thread_index.x = (unsigned)t;
      swapcontext(&scheduler, &fibers[t]);
      moved = 1;
    }
    for (int w = 0; w < n_threads; w += WARP) moved |= release(w, w + WARP, WAITS_WARP);
    if (!moved) moved = release(0, n_threads, WAITS_BLOCK);
  }
  for (int t = 0; t < n_threads && fault[0] == '\0'; t++)
    if (states[t] != ENDED)
      snprintf(fault, sizeof fault, "thread %d of block %u waits for threads that never come", t, block_index.x);
}

/* 1 if all of it may be read; else the fault is kept, and the reader takes zeros. */
static int readable(const void *p, size_t bytes) {
  const char *at = (const char *)p;
  if ((uintptr_t)p % bytes != 0) {
    if (fault[0] == '\0') snprintf(fault, sizeof fault, "a read of %zu bytes at %p, which is not aligned", bytes, p);
    return 0;
  }
  int low = 0, high = n_ranges; /* ranges[low - 1] is the last that begins at or before `at` */
  while (low < high) {
    int middle = (low + high) / 2;
    if (ranges[middle].begin <= at)
      low = middle + 1;
    else
      high = middle;
  }
  if (low > 0 && at + bytes <= ranges[low - 1].end) return 1;
  if (fault[0] == '\0')
    snprintf(fault, sizeof fault, "a read of %zu bytes at %p, outside every input (block %u, thread %u)", bytes, p,
             block_index.x, thread_index.x);
  return 0;
}

template <class T> static inline T read(const void *p) {
  T v = 0;
  if (readable(p, sizeof v)) memcpy(&v, p, sizeof v);
  return v;
}

static int by_begin(const void *a, const void *b) {
  const char *p = ((const range *)a)->begin, *q = ((const range *)b)->begin;
  return p < q ? -1 : p > q;
}

/* Runs one kernel over its grid; the kernel's two arguments are kept where every fiber finds them. */
template <class K> static void launch(void (*kernel)(const K, void *), long long grid, int block, const K *k, void *workspace) {
  static void (*the_kernel)(const K, void *);
  static const K *the_k;
  static void *the_workspace;
  the_kernel = kernel, the_k = k, the_workspace = workspace;
  body = [] { the_kernel(*the_k, the_workspace); };
  n_threads = block;
  for (int t = 0; t < n_threads; t++) make_fiber(t), turns[t] = 0;
  qsort(ranges, (size_t)n_ranges, sizeof ranges[0], by_begin);
  grid_size = {(unsigned)grid, 1, 1};
  if (block < WARP || block % WARP != 0 || block > THREADS_MAX || grid < 0 || grid > 2147483647)
    snprintf(fault, sizeof fault, "a launch of %lld blocks of %d threads", grid, block);
  for (long long b = 0; b < grid && fault[0] == '\0'; b++) {
    block_index = {(unsigned)b, 0, 0};
    run_block();
  }
}

} // namespace host

extern "C" __attribute__((visibility("default"))) void host_forget() {
  host::n_ranges = 0;
  host::fault[0] = '\0';
}
/* Memory that kernels may read: ranges that do not overlap. */
extern "C" __attribute__((visibility("default"))) void host_allow(const void *begin, size_t bytes) {
  if (host::n_ranges < host::RANGES_MAX) host::ranges[host::n_ranges++] = {(const char *)begin, (const char *)begin + bytes};
}
extern "C" __attribute__((visibility("default"))) const char *host_fault() {
  return host::fault;
}

#define threadIdx host::thread_index
#define blockIdx host::block_index
#define gridDim host::grid_size

static inline void __syncthreads() {
  host::wait(host::WAITS_BLOCK);
}
static inline float __shfl_xor_sync(unsigned mask, float v, int apart) {
  int me = host::current;
  if (mask != 0xffffffffu || apart < 1 || apart >= host::WARP)
    snprintf(host::fault, sizeof host::fault, "a shuffle over %d lanes", apart);
  int turn = host::turns[me]++ & 1; /* two places in turn: nobody is two shuffles ahead of a partner that has yet to read */
  host::exchanged[turn][me] = v;
  host::wait(host::WAITS_WARP);
  return host::exchanged[turn][me ^ apart];
}
static inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
  unsigned long long old = *p;
  *p = old + v;
  return old;
}
static inline long long atomicMin(long long *p, long long v) {
  long long old = *p;
  if (v < old) *p = v;
  return old;
}

/* compiled with -ffp-contract=off: each of these rounds once */
static inline float __fmaf_rn(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
static inline float __fadd_rn(float a, float b) {
  return a + b;
}
static inline float __fsub_rn(float a, float b) {
  return a - b;
}
static inline float __fmul_rn(float a, float b) {
  return a * b;
}
static inline float __fdiv_rn(float a, float b) {
  return a / b;
}
template <class To, class From> static inline To same_bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "sizes");
  To to;
  memcpy(&to, &v, sizeof to);
  return to;
}
static inline unsigned __float_as_uint(float v) {
  return same_bits<unsigned>(v);
}
static inline float __uint_as_float(unsigned v) {
  return same_bits<float>(v);
}
static inline int __float_as_int(float v) {
  return same_bits<int>(v);
}
static inline float __int_as_float(int v) {
  return same_bits<float>(v);
}
