/* fake_cuda.c -- the fake driver. See fake_cuda.h. One lock around everything: calls come from several threads. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/* FAKE_CUT: a driver that lacks one required function, or every optional one. */
#ifndef FAKE_CUT
#define FAKE_CUT 0
#endif

enum {
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_IMPLICIT = 906
};
enum { DEVICES_MAX = 4, STACK_MAX = 8, STATIC_SHARED_MAX = 49152, THREADS_MAX = 1024 };

EXPORT fake_cuda fake_cuda_state __asm__("fake_cuda");
#define fake fake_cuda_state

static const struct {
  const char *name;
  unsigned flags;
} table[] = {
#define FAKE_ROW(name, flags) {#name, flags},
    FAKE_CALLS(FAKE_ROW)
#undef FAKE_ROW
};

typedef enum kind { CONTEXT, MODULE, FUNCTION, STREAM, EVENT, GRAPH, EXEC } kind;

typedef struct object {
  struct object *next;
  kind kind;
  struct object *context; /* it belongs to */
  int device, fault;      /* of a context: its device, and the code that it keeps */
  int retained;           /* of a primary one */
  struct object *module;  /* of a function */
  char name[96];
  int dynamic_shared;
  int non_blocking;        /* of a stream */
  struct object *captured; /* into this graph; NULL: not captured */
  int mode, invalid;
  pthread_t owner; /* thread that captures */
  int recorded;    /* of an event */
  float at_ms;
  fake_work *work; /* of a graph or an executable one */
  int n_work;
} object;

typedef struct block {
  struct block *next;
  char *begin;
  size_t bytes;
  object *context;
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static object *objects;
static block *blocks;
static object *primary[DEVICES_MAX];
static float now_ms;
static int initialised;
static _Thread_local object *stack[STACK_MAX];
static _Thread_local int depth;
static _Thread_local int thread_mode; /* towards captures: global, thread-local, relaxed */

/* ---- the head of every call ---- */

static int misuse(int code, int call, const char *what) {
  if (!fake.misuse[0]) snprintf(fake.misuse, sizeof fake.misuse, "%s: %s", table[call].name, what);
  return code;
}

static object *current(void) {
  return depth > 0 ? stack[depth - 1] : NULL;
}

/* Does some capture forbid this thread what is unsafe? It is over then. Its own does, unless it is a relaxed one; another
 * thread's where that is a global one and this thread's mode is global too. */
static int breaks_capture(void) {
  int broken = 0;
  for (object *o = objects; o && thread_mode != 2; o = o->next) {
    if (o->kind != STREAM || !o->captured) continue;
    int own = pthread_equal(o->owner, pthread_self());
    if (own ? o->mode != 2 : o->mode == 0 && thread_mode == 0) o->invalid = broken = 1;
  }
  return broken;
}

static int begin(int call) {
  pthread_mutex_lock(&lock);
  fake.n_calls[call]++;
  if (fake.fail_at > 0 && fake.fail == (fake_call)call && --fake.fail_at == 0) {
    fake.has_failed = 1;
    return fake.fail_code;
  }
  if (!initialised && call != FAKE_cuInit && call != FAKE_cuGetErrorName && call != FAKE_cuGetErrorString)
    return misuse(3, call, "before cuInit");
  if ((table[call].flags & FAKE_CONTEXT) && !current()) return misuse(INVALID_CONTEXT, call, "no current context");
  if ((table[call].flags & FAKE_STICKY) && current()->fault) return current()->fault;
  if ((table[call].flags & FAKE_UNSAFE) && breaks_capture())
    return misuse(CAPTURE_UNSUPPORTED, call, "not while a stream is captured");
  return OK;
}

static int end(int result) {
  pthread_mutex_unlock(&lock);
  return result;
}

#define BEGIN(name)            \
  enum { CALL = FAKE_##name }; \
  int result_ = begin(CALL);   \
  if (result_ != OK) return end(result_)

/* ---- objects ---- */

static object *make(kind k) {
  object *o = calloc(1, sizeof *o);
  if (!o) abort();
  o->kind = k;
  o->context = current();
  o->next = objects;
  objects = o;
  return o;
}

static object *find(void *handle, kind k) {
  for (object *o = objects; o; o = o->next)
    if (o == handle) return o->kind == k && (k == CONTEXT || o->context == current()) ? o : NULL;
  return NULL;
}

static void drop(object *o) {
  object **link = &objects;
  while (*link != o) link = &(*link)->next;
  *link = o->next;
  free(o->work);
  free(o);
}

static int add_work(object *o, const fake_work *w) {
  fake_work *grown = realloc(o->work, (size_t)(o->n_work + 1) * sizeof *grown);
  if (!grown) abort();
  o->work = grown;
  o->work[o->n_work++] = *w;
  return OK;
}

static int in_block(const void *p, size_t n) {
  const char *at = p;
  for (block *b = blocks; b; b = b->next)
    if (at >= b->begin && at <= b->begin + b->bytes && n <= (size_t)(b->begin + b->bytes - at)) return b->context == current();
  return 0;
}

/* ---- streams and what they do ---- */

static void note(const fake_work *w) {
  if (fake.n_work < FAKE_WORK_MAX) fake.work[fake.n_work] = *w;
  fake.n_work++;
}

static void do_work(const fake_work *w) {
  note(w);
  if (w->kind == FAKE_MEMSET) memset(w->to, w->byte, w->bytes);
  if (w->kind == FAKE_COPY) memcpy(w->to, w->from, w->bytes);
  if (w->kind != FAKE_KERNEL) return;
  int fault = fake.kernel ? fake.kernel(fake.user, w) : 0;
  now_ms += fake.launch_ms;
  if (fault) current()->fault = fault;
}

/* NULL is the default stream: it waits for every blocking one, so none of them may be in a capture. */
static int check_stream(int call, void *stream, object **out) {
  *out = NULL;
  if (stream) {
    *out = find(stream, STREAM);
    return *out ? OK : misuse(INVALID_HANDLE, call, "no stream of the current context");
  }
  for (object *o = objects; o; o = o->next)
    if (o->kind == STREAM && o->captured && !o->non_blocking && o->context == current()) {
      o->invalid = 1;
      return misuse(CAPTURE_IMPLICIT, call, "the default stream, while a blocking one is captured");
    }
  return OK;
}

static int queue(int call, void *stream, fake_work *w) {
  object *s;
  int result = check_stream(call, stream, &s);
  if (result != OK) return result;
  w->stream = stream;
  if (s && s->captured) return s->invalid ? CAPTURE_INVALIDATED : add_work(s->captured, w);
  do_work(w);
  return OK;
}

/* ---- library, devices, contexts ---- */

EXPORT int cuInit(unsigned flags);
EXPORT int cuInit(unsigned flags) {
  BEGIN(cuInit);
  if (flags) return end(INVALID_VALUE);
  initialised = fake.init_result == OK;
  return end(fake.init_result);
}

EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDriverGetVersion(int *version) {
  BEGIN(cuDriverGetVersion);
  *version = fake.version;
  return end(OK);
}

EXPORT int cuGetErrorName(int result, const char **name);
EXPORT int cuGetErrorName(int result, const char **name) {
  static const struct {
    int code;
    const char *name;
  } names[] = {{0, "CUDA_SUCCESS"},
               {1, "CUDA_ERROR_INVALID_VALUE"},
               {2, "CUDA_ERROR_OUT_OF_MEMORY"},
               {34, "CUDA_ERROR_STUB_LIBRARY"},
               {100, "CUDA_ERROR_NO_DEVICE"},
               {200, "CUDA_ERROR_INVALID_IMAGE"},
               {201, "CUDA_ERROR_INVALID_CONTEXT"},
               {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
               {218, "CUDA_ERROR_INVALID_PTX"},
               {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
               {400, "CUDA_ERROR_INVALID_HANDLE"},
               {500, "CUDA_ERROR_NOT_FOUND"},
               {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
               {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
               {719, "CUDA_ERROR_LAUNCH_FAILED"},
               {801, "CUDA_ERROR_NOT_SUPPORTED"},
               {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
               {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
               {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"}};
  BEGIN(cuGetErrorName);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].code == result) {
      *name = names[i].name;
      return end(OK);
    }
  return end(INVALID_VALUE);
}

EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGetCount(int *count) {
  BEGIN(cuDeviceGetCount);
  *count = fake.n_devices;
  return end(OK);
}

/* Handles are not ordinals, so that one in the other's place shows. */
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGet(int *device, int ordinal) {
  BEGIN(cuDeviceGet);
  if (ordinal < 0 || ordinal >= fake.n_devices) return end(INVALID_DEVICE);
  *device = 100 + ordinal;
  return end(OK);
}

static int is_device(int device) {
  return device >= 100 && device < 100 + fake.n_devices;
}

EXPORT int cuDeviceGetName(char *name, int size, int device);
EXPORT int cuDeviceGetName(char *name, int size, int device) {
  BEGIN(cuDeviceGetName);
  if (!is_device(device)) return end(misuse(INVALID_DEVICE, CALL, "no device"));
  snprintf(name, (size_t)size, "%s%s", fake.name, device > 100 ? " B" : "");
  return end(OK);
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  BEGIN(cuDeviceGetAttribute);
  if (!is_device(device)) return end(misuse(INVALID_DEVICE, CALL, "no device"));
  switch (attribute) {
  case 13:
    *value = fake.clock_khz;
    break;
  case 16:
    *value = fake.sm_count;
    break;
  case 38:
    *value = fake.l2_bytes;
    break;
  case 75:
    *value = fake.cc_major;
    break;
  case 76:
    *value = fake.cc_minor;
    break;
  case 88:
    *value = fake.pageable;
    break;
  case 97:
    *value = fake.shared_optin;
    break;
  default:
    return end(misuse(INVALID_VALUE, CALL, "an attribute that nothing needs"));
  }
  return end(OK);
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  BEGIN(cuDevicePrimaryCtxRetain);
  if (!is_device(device)) return end(misuse(INVALID_DEVICE, CALL, "no device"));
  object **p = &primary[device - 100];
  if (!*p) {
    *p = make(CONTEXT);
    (*p)->device = device;
  }
  (*p)->retained++;
  fake.contexts++;
  *context = *p;
  return end(OK);
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  BEGIN(cuDevicePrimaryCtxRelease_v2);
  if (!is_device(device) || !primary[device - 100] || primary[device - 100]->retained < 1)
    return end(misuse(INVALID_CONTEXT, CALL, "not retained"));
  primary[device - 100]->retained--;
  fake.contexts--;
  return end(OK);
}

EXPORT int cuCtxGetCurrent(void **context);
EXPORT int cuCtxGetCurrent(void **context) {
  BEGIN(cuCtxGetCurrent);
  *context = current();
  return end(OK);
}

EXPORT int cuCtxGetDevice(int *device);
EXPORT int cuCtxGetDevice(int *device) {
  BEGIN(cuCtxGetDevice);
  *device = current()->device;
  return end(OK);
}

EXPORT int cuCtxPushCurrent_v2(void *context);
EXPORT int cuCtxPushCurrent_v2(void *context) {
  BEGIN(cuCtxPushCurrent_v2);
  object *o = find(context, CONTEXT);
  if (!o || depth == STACK_MAX) return end(misuse(INVALID_CONTEXT, CALL, "no context"));
  if (primary[o->device - 100] == o && o->retained == 0) return end(misuse(709, CALL, "a primary context that nobody holds"));
  stack[depth++] = o;
  return end(OK);
}

EXPORT int cuCtxPopCurrent_v2(void **context);
EXPORT int cuCtxPopCurrent_v2(void **context) {
  BEGIN(cuCtxPopCurrent_v2);
  *context = stack[--depth];
  return end(OK);
}

/* ---- memory ---- */

static size_t taken(void) {
  size_t bytes = 0;
  for (block *b = blocks; b; b = b->next) bytes += b->bytes;
  return bytes;
}

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  BEGIN(cuMemGetInfo_v2);
  *total = fake.memory;
  *free_bytes = fake.memory - taken();
  return end(OK);
}

/* Blocks of exactly their size, so that a sanitizer sees what reads beyond. */
EXPORT int cuMemAlloc_v2(unsigned long long *p, size_t bytes);
EXPORT int cuMemAlloc_v2(unsigned long long *p, size_t bytes) {
  BEGIN(cuMemAlloc_v2);
  if (bytes == 0) return end(misuse(INVALID_VALUE, CALL, "no bytes"));
  if (bytes > fake.memory - taken()) return end(OUT_OF_MEMORY);
  block *b = calloc(1, sizeof *b);
  void *begin_ = NULL;
  if (!b || posix_memalign(&begin_, 256, bytes)) abort();
  memset(begin_, 0xFF, bytes);
  *b = (block){blocks, begin_, bytes, current()};
  blocks = b;
  fake.blocks++;
  *p = (unsigned long long)(uintptr_t)begin_;
  return end(OK);
}

EXPORT int cuMemFree_v2(unsigned long long p);
EXPORT int cuMemFree_v2(unsigned long long p) {
  BEGIN(cuMemFree_v2);
  for (block **link = &blocks; *link; link = &(*link)->next) {
    block *b = *link;
    if ((unsigned long long)(uintptr_t)b->begin != p || b->context != current()) continue;
    *link = b->next;
    free(b->begin);
    free(b);
    fake.blocks--;
    return end(OK);
  }
  return end(misuse(INVALID_VALUE, CALL, "no block"));
}

static int copy(int call, void *to, const void *from, size_t bytes, const void *on_device, int async, void *stream) {
  fake_work w = {.kind = FAKE_COPY, .to = to, .from = from, .bytes = bytes};
  if (!in_block(on_device, bytes)) return misuse(INVALID_VALUE, call, "outside of any block of the current context");
  if (async) {
    object *s = stream ? find(stream, STREAM) : NULL;
    if (s && s->captured) { /* legal for pinned memory; this is not */
      s->invalid = 1;
      return misuse(CAPTURE_UNSUPPORTED, call, "pageable memory in a capture");
    }
    return queue(call, stream, &w);
  }
  return queue(call, NULL, &w);
}

EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes);
EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
  BEGIN(cuMemcpyHtoD_v2);
  return end(copy(CALL, (void *)(uintptr_t)to, from, bytes, (void *)(uintptr_t)to, 0, NULL));
}

EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);
EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  BEGIN(cuMemcpyDtoH_v2);
  return end(copy(CALL, to, (void *)(uintptr_t)from, bytes, (void *)(uintptr_t)from, 0, NULL));
}

EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream);
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
  BEGIN(cuMemcpyHtoDAsync_v2);
  return end(copy(CALL, (void *)(uintptr_t)to, from, bytes, (void *)(uintptr_t)to, 1, stream));
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream);
EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
  BEGIN(cuMemcpyDtoHAsync_v2);
  return end(copy(CALL, to, (void *)(uintptr_t)from, bytes, (void *)(uintptr_t)from, 1, stream));
}

EXPORT int cuMemsetD8Async(unsigned long long to, unsigned char byte, size_t n, void *stream);
EXPORT int cuMemsetD8Async(unsigned long long to, unsigned char byte, size_t n, void *stream) {
  BEGIN(cuMemsetD8Async);
  fake_work w = {.kind = FAKE_MEMSET, .to = (void *)(uintptr_t)to, .byte = byte, .bytes = n};
  if (!in_block(w.to, n)) return end(misuse(INVALID_VALUE, CALL, "outside of any block of the current context"));
  return end(queue(CALL, stream, &w));
}

/* ---- code ---- */

/* An image is a cubin where it begins as ELF does, else text. Options: the JIT's log and its size. */
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned n, const int *options, void **values);
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned n, const int *options, void **values) {
  BEGIN(cuModuleLoadDataEx);
  int cubin = ((const char *)image)[0] == 0x7f, refused = cubin ? fake.refuse_cubin : fake.refuse_ptx;
  for (unsigned i = 0; i < n; i++) {
    if (options[i] != 5 && options[i] != 6) return end(misuse(INVALID_VALUE, CALL, "an option that nothing needs"));
    if (options[i] == 5 && refused) snprintf(values[i], (size_t)(uintptr_t)values[i + 1], "%s", fake.jit_log);
  }
  if (refused) return end(refused);
  if (cubin)
    fake.n_loaded_cubin++;
  else
    fake.n_loaded_ptx++;
  fake.modules++;
  *module = make(MODULE);
  return end(OK);
}

EXPORT int cuModuleUnload(void *module);
EXPORT int cuModuleUnload(void *module) {
  BEGIN(cuModuleUnload);
  object *m = find(module, MODULE);
  if (!m) return end(misuse(INVALID_HANDLE, CALL, "no module of the current context"));
  for (object *o = objects, *next; o; o = next) {
    next = o->next;
    if (o->kind == FUNCTION && o->module == m) drop(o);
  }
  drop(m);
  fake.modules--;
  return end(OK);
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
  BEGIN(cuModuleGetFunction);
  object *m = find(module, MODULE);
  if (!m) return end(misuse(INVALID_HANDLE, CALL, "no module of the current context"));
  if (strncmp(name, "absent", 6) == 0) return end(NOT_FOUND);
  for (object *o = objects; o; o = o->next)
    if (o->kind == FUNCTION && o->module == m && strcmp(o->name, name) == 0) {
      *function = o;
      return end(OK);
    }
  object *f = make(FUNCTION);
  f->module = m;
  f->dynamic_shared = STATIC_SHARED_MAX - fake.static_shared;
  snprintf(f->name, sizeof f->name, "%s", name);
  *function = f;
  return end(OK);
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function);
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function) {
  BEGIN(cuFuncGetAttribute);
  if (!find(function, FUNCTION)) return end(misuse(INVALID_HANDLE, CALL, "no entry of the current context"));
  if (attribute != 1) return end(misuse(INVALID_VALUE, CALL, "an attribute that nothing needs"));
  *value = fake.static_shared;
  return end(OK);
}

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value);
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  BEGIN(cuFuncSetAttribute);
  object *f = find(function, FUNCTION);
  if (!f) return end(misuse(INVALID_HANDLE, CALL, "no entry of the current context"));
  if (attribute != 8 || value < 0 || value > fake.shared_optin - fake.static_shared)
    return end(misuse(INVALID_VALUE, CALL, "more than a block may have"));
  f->dynamic_shared = value;
  return end(OK);
}

static int launch(int call, void *function, const unsigned grid[3], const unsigned block_[3], unsigned shared, unsigned cluster,
                  void *stream, void **params) {
  object *f = find(function, FUNCTION);
  fake_work w = {.kind = FAKE_KERNEL, .shared = shared, .cluster = cluster};
  if (!f) return misuse(INVALID_HANDLE, call, "no entry of the current context");
  if (grid[0] < 1 || grid[0] > INT32_MAX || grid[1] != 1 || grid[2] != 1) return misuse(INVALID_VALUE, call, "grid");
  if (block_[0] < 1 || block_[0] > THREADS_MAX || block_[1] != 1 || block_[2] != 1) return misuse(INVALID_VALUE, call, "block");
  if (cluster > 1 && grid[0] % cluster) return misuse(912, call, "cluster");
  if ((int64_t)shared > f->dynamic_shared) return misuse(INVALID_VALUE, call, "more shared memory than the entry may have");
  snprintf(w.kernel, sizeof w.kernel, "%s", f->name);
  memcpy(w.grid, grid, sizeof w.grid);
  memcpy(w.block, block_, sizeof w.block);
  memcpy(&w.args, params[0], sizeof w.args);
  memcpy(&w.workspace, params[1], sizeof w.workspace);
  return queue(call, stream, &w);
}

#if FAKE_CUT != 1
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra);
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra) {
  BEGIN(cuLaunchKernel);
  if (extra) return end(misuse(INVALID_VALUE, CALL, "extra"));
  return end(launch(CALL, function, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, 1, stream, params));
}
#endif

/* ---- streams and events ---- */

EXPORT int cuStreamCreate(void **stream, unsigned flags);
EXPORT int cuStreamCreate(void **stream, unsigned flags) {
  BEGIN(cuStreamCreate);
  if (flags > 1) return end(misuse(INVALID_VALUE, CALL, "flags"));
  object *s = make(STREAM);
  s->non_blocking = flags == 1;
  fake.streams++;
  *stream = s;
  return end(OK);
}

EXPORT int cuStreamDestroy_v2(void *stream);
EXPORT int cuStreamDestroy_v2(void *stream) {
  BEGIN(cuStreamDestroy_v2);
  object *s = find(stream, STREAM);
  if (!s) return end(misuse(INVALID_HANDLE, CALL, "no stream of the current context"));
  if (s->captured) {
    drop(s->captured);
    fake.graphs--;
  }
  drop(s);
  fake.streams--;
  return end(OK);
}

EXPORT int cuStreamSynchronize(void *stream);
EXPORT int cuStreamSynchronize(void *stream) {
  BEGIN(cuStreamSynchronize);
  object *s;
  int result = check_stream(CALL, stream, &s);
  if (result != OK) return end(result);
  if (s && s->captured) {
    s->invalid = 1;
    return end(misuse(CAPTURE_UNSUPPORTED, CALL, "a stream in capture"));
  }
  return end(OK);
}

EXPORT int cuStreamIsCapturing(void *stream, int *capture);
EXPORT int cuStreamIsCapturing(void *stream, int *capture) {
  BEGIN(cuStreamIsCapturing);
  object *s = stream ? find(stream, STREAM) : NULL;
  if (stream && !s) return end(misuse(INVALID_HANDLE, CALL, "no stream of the current context"));
  for (object *o = objects; o && !stream; o = o->next)
    if (o->kind == STREAM && o->captured && !o->non_blocking && o->context == current()) return end(CAPTURE_IMPLICIT);
  *capture = s && s->captured ? s->invalid ? 2 : 1 : 0;
  return end(OK);
}

EXPORT int cuEventCreate(void **event, unsigned flags);
EXPORT int cuEventCreate(void **event, unsigned flags) {
  BEGIN(cuEventCreate);
  if (flags) return end(misuse(INVALID_VALUE, CALL, "flags: an event without a time, or one that sleeps"));
  *event = make(EVENT);
  fake.events++;
  return end(OK);
}

EXPORT int cuEventDestroy_v2(void *event);
EXPORT int cuEventDestroy_v2(void *event) {
  BEGIN(cuEventDestroy_v2);
  object *e = find(event, EVENT);
  if (!e) return end(misuse(INVALID_HANDLE, CALL, "no event of the current context"));
  drop(e);
  fake.events--;
  return end(OK);
}

static float host_ms(void) {
  static struct timespec first;
  struct timespec t;
  if (!fake.clock_runs) return 0;
  clock_gettime(CLOCK_MONOTONIC, &t);
  if (!first.tv_sec) first = t;
  return (float)((double)(t.tv_sec - first.tv_sec) * 1e3 + (double)(t.tv_nsec - first.tv_nsec) * 1e-6);
}

EXPORT int cuEventRecord(void *event, void *stream);
EXPORT int cuEventRecord(void *event, void *stream) {
  BEGIN(cuEventRecord);
  object *e = find(event, EVENT), *s;
  int result = check_stream(CALL, stream, &s);
  if (!e || result != OK) return end(e ? result : misuse(INVALID_HANDLE, CALL, "no event of the current context"));
  if (s && s->captured) return end(OK);
  e->recorded = 1;
  e->at_ms = (now_ms += fake.mark_ms) + host_ms();
  return end(OK);
}

EXPORT int cuEventSynchronize(void *event);
EXPORT int cuEventSynchronize(void *event) {
  BEGIN(cuEventSynchronize);
  return end(find(event, EVENT) ? OK : misuse(INVALID_HANDLE, CALL, "no event of the current context"));
}

static int elapsed(int call, float *ms, void *from, void *to) {
  object *a = find(from, EVENT), *b = find(to, EVENT);
  if (!a || !b || !a->recorded || !b->recorded) return misuse(INVALID_HANDLE, call, "an event that was not recorded");
  *ms = b->at_ms - a->at_ms;
  return OK;
}

EXPORT int cuEventElapsedTime(float *ms, void *from, void *to);
EXPORT int cuEventElapsedTime(float *ms, void *from, void *to) {
  BEGIN(cuEventElapsedTime);
  return end(elapsed(CALL, ms, from, to));
}

/* ---- what a driver may lack ---- */

#if FAKE_CUT != 2
EXPORT int cuGetErrorString(int result, const char **text);
EXPORT int cuGetErrorString(int result, const char **text) {
  BEGIN(cuGetErrorString);
  *text = result == 719 ? "unspecified launch failure" : "the fake's own words";
  return end(OK);
}

EXPORT int cuEventElapsedTime_v2(float *ms, void *from, void *to);
EXPORT int cuEventElapsedTime_v2(float *ms, void *from, void *to) {
  BEGIN(cuEventElapsedTime_v2);
  return end(elapsed(CALL, ms, from, to));
}

EXPORT int cuFuncLoad(void *function);
EXPORT int cuFuncLoad(void *function) {
  BEGIN(cuFuncLoad);
  return end(find(function, FUNCTION) ? OK : misuse(INVALID_HANDLE, CALL, "no entry of the current context"));
}

/* 2048 threads an SM, and the shared memory that a block may have. */
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks_, void *function, int block_, size_t shared);
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks_, void *function, int block_, size_t shared) {
  BEGIN(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  if (!find(function, FUNCTION)) return end(misuse(INVALID_HANDLE, CALL, "no entry of the current context"));
  int by_threads = 2048 / block_, by_shared = shared ? (int)((size_t)fake.shared_optin / shared) : by_threads;
  *blocks_ = by_threads < by_shared ? by_threads : by_shared;
  return end(OK);
}

EXPORT int cuPointerGetAttribute(void *value, int attribute, unsigned long long p);
EXPORT int cuPointerGetAttribute(void *value, int attribute, unsigned long long p) {
  BEGIN(cuPointerGetAttribute);
  if (attribute != 2) return end(misuse(INVALID_VALUE, CALL, "an attribute that nothing needs"));
  if (!in_block((void *)(uintptr_t)p, 0)) return end(INVALID_VALUE); /* no misuse: this is how one asks */
  memcpy(value, &(unsigned){2}, sizeof(unsigned));
  return end(OK);
}

typedef struct launch_config { /* CUlaunchConfig */
  unsigned grid[3], block[3], shared;
  void *stream;
  const struct {
    int id, pad;
    unsigned cluster[16];
  } * attributes;
  unsigned n_attributes;
} launch_config;

EXPORT int cuLaunchKernelEx(const launch_config *c, void *function, void **params, void **extra);
EXPORT int cuLaunchKernelEx(const launch_config *c, void *function, void **params, void **extra) {
  BEGIN(cuLaunchKernelEx);
  if (extra || c->n_attributes != 1 || c->attributes->id != 4 || c->attributes->cluster[1] != 1 ||
      c->attributes->cluster[2] != 1)
    return end(misuse(INVALID_VALUE, CALL, "attributes"));
  return end(launch(CALL, function, c->grid, c->block, c->shared, c->attributes->cluster[0], c->stream, params));
}

EXPORT int cuThreadExchangeStreamCaptureMode(int *mode);
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
  BEGIN(cuThreadExchangeStreamCaptureMode);
  int before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return end(OK);
}

EXPORT int cuStreamBeginCapture_v2(void *stream, int mode);
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode) {
  BEGIN(cuStreamBeginCapture_v2);
  object *s = stream ? find(stream, STREAM) : NULL;
  if (!s) return end(misuse(CAPTURE_UNSUPPORTED, CALL, "no stream that can be captured"));
  if (s->captured) return end(misuse(INVALID_VALUE, CALL, "captured already"));
  s->captured = make(GRAPH);
  s->mode = mode;
  s->invalid = 0;
  s->owner = pthread_self();
  fake.graphs++;
  return end(OK);
}

EXPORT int cuStreamEndCapture(void *stream, void **graph);
EXPORT int cuStreamEndCapture(void *stream, void **graph) {
  BEGIN(cuStreamEndCapture);
  object *s = stream ? find(stream, STREAM) : NULL;
  if (!s || !s->captured) return end(misuse(CAPTURE_UNMATCHED, CALL, "not captured"));
  *graph = s->captured;
  if (s->invalid) {
    drop(s->captured);
    fake.graphs--;
    *graph = NULL;
  }
  s->captured = NULL;
  return end(s->invalid ? CAPTURE_INVALIDATED : OK);
}

EXPORT int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
EXPORT int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
  BEGIN(cuGraphInstantiateWithFlags);
  object *g = find(graph, GRAPH);
  if (!g || flags) return end(misuse(INVALID_VALUE, CALL, "no graph of the current context, or flags"));
  object *e = make(EXEC);
  for (int i = 0; i < g->n_work; i++) add_work(e, &g->work[i]);
  fake.execs++;
  *exec = e;
  return end(OK);
}

EXPORT int cuGraphLaunch(void *exec, void *stream);
EXPORT int cuGraphLaunch(void *exec, void *stream) {
  BEGIN(cuGraphLaunch);
  object *e = find(exec, EXEC), *s;
  int result = check_stream(CALL, stream, &s);
  if (!e || result != OK) return end(e ? result : misuse(INVALID_VALUE, CALL, "no graph of the current context"));
  for (int i = 0; i < e->n_work; i++) do_work(&e->work[i]);
  return end(OK);
}

EXPORT int cuGraphExecDestroy(void *exec);
EXPORT int cuGraphExecDestroy(void *exec) {
  BEGIN(cuGraphExecDestroy);
  object *e = find(exec, EXEC);
  if (!e) return end(misuse(INVALID_VALUE, CALL, "no graph of the current context"));
  drop(e);
  fake.execs--;
  return end(OK);
}

EXPORT int cuGraphDestroy(void *graph);
EXPORT int cuGraphDestroy(void *graph) {
  BEGIN(cuGraphDestroy);
  object *g = find(graph, GRAPH);
  if (!g) return end(misuse(INVALID_VALUE, CALL, "no graph of the current context"));
  drop(g);
  fake.graphs--;
  return end(OK);
}
#endif

/* ---- the test's side ---- */

/* Everything is given back, whoever held it; contexts of this thread's stack are left. */
__attribute__((constructor)) EXPORT void fake_cuda_reset(void);
EXPORT void fake_cuda_reset(void) {
  pthread_mutex_lock(&lock);
  while (objects) drop(objects);
  while (blocks) {
    block *b = blocks;
    blocks = b->next;
    free(b->begin);
    free(b);
  }
  memset(primary, 0, sizeof primary);
  depth = thread_mode = 0;
  now_ms = 0;
  initialised = 0;
  fake = (fake_cuda){.version = 13000,
                     .n_devices = 2,
                     .cc_major = 9,
                     .sm_count = 132,
                     .shared_optin = 232448,
                     .l2_bytes = 1 << 20,
                     .clock_khz = 1980000,
                     .memory = (size_t)1 << 30,
                     .name = "Fake (TM) H200",
                     .launch_ms = 0.25f};
  pthread_mutex_unlock(&lock);
}

EXPORT void *fake_cuda_context(int ordinal);
EXPORT void *fake_cuda_context(int ordinal) {
  pthread_mutex_lock(&lock);
  object *o = make(CONTEXT);
  o->device = 100 + ordinal;
  pthread_mutex_unlock(&lock);
  return o;
}

EXPORT int fake_cuda_mode(void);
EXPORT int fake_cuda_mode(void) {
  return thread_mode;
}

EXPORT int fake_cuda_depth(void);
EXPORT int fake_cuda_depth(void) {
  return depth;
}

EXPORT const char *fake_cuda_name(int call);
EXPORT const char *fake_cuda_name(int call) {
  return table[call].name;
}

EXPORT unsigned fake_cuda_flags(int call);
EXPORT unsigned fake_cuda_flags(int call) {
  return table[call].flags;
}
