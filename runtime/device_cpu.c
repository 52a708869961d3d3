/* device_cpu.c -- the processor as a device: the machine's C compiler, dlopen of the result, the process's thread pool. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/cpu_compile.h"
#include "runtime/cpu_features.h"
#include "runtime/guarded_memory.h"
#include "runtime/thread_pool.h"

enum { CODE_MAX = 256 << 20 };

typedef void (*kernel_fn)(const rgt_kargs *, void *, int, rgt_int64, rgt_int64);

typedef struct cpu_device {
  rgt__device base;
  rgt__cpu_compiler compiler;
  char *flush; /* memory walked through to empty the caches; made at its first use */
  size_t flush_bytes;
  int guards; /* new memory is guarded */
  rgt__guarded_memory guarded;
} cpu_device;

struct rgt__module {
  void *library;
  kernel_fn kernels[RGT_STEPS_MAX];
};

static rgt_status cpu_compile(rgt__device *d, const char *source, size_t bytes, const rgt__target *target, int want_asm,
                              rgt__compiled *out, rgt__error *err) {
  return rgt__cpu_compiler_run(&((cpu_device *)d)->compiler, source, bytes, target->name, want_asm, d->stop, out, err);
}

static rgt_status cpu_toolchain(rgt__device *d, char *text, size_t text_size, rgt__error *err) {
  return rgt__cpu_compiler_version(&((cpu_device *)d)->compiler, text, text_size, err);
}

static void cpu_compiler_stamp(rgt__device *d, char *text, size_t text_size) {
  const char *path = ((cpu_device *)d)->compiler.path;
  int64_t size = 0, mtime_ns = 0;
  text[0] = 0;
  if (path[0] && rgt__file_stamp(path, &size, &mtime_ns))
    snprintf(text, text_size, "%s|%lld|%lld", path, (long long)size, (long long)mtime_ns);
}

/* "/proc/self/fd/N", spelled differently each time: the loader takes a name that it has loaded for the same library, and a
 * descriptor's number comes back as soon as the file is closed. Each bit of a count is "/." or "/", which lead nowhere. */
static void fresh_fd_path(int fd, char *path, size_t size) {
  static atomic_uint count;
  size_t n = (size_t)snprintf(path, size, "/proc/self");
  unsigned id = atomic_fetch_add(&count, 1);
  for (int bit = 0; bit < 32; bit++) n += (size_t)snprintf(path + n, size - n, id >> bit & 1 ? "/." : "/");
  snprintf(path + n, size - n, "/fd/%d", fd);
}

/* Writes to fd, loads it under the name `path`, closes fd. */
static void *open_written(int fd, const char *path, const void *code, size_t bytes, rgt__error *err) {
  void *library = NULL;
  if (write(fd, code, bytes) != (ssize_t)bytes) {
    rgt__error_set(err, RGT_EIO, "no room for %zu bytes of compiled code: %s", bytes, strerror(errno));
  } else {
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) rgt__error_set(err, RGT_EIO, "compiled code cannot be loaded: %s", dlerror());
  }
  close(fd);
  return library;
}

/* dlopen wants a file: bytes that have none get an anonymous one, which needs /proc for a name but no folder that allows
 * programs; else a scratch file. */
static void *open_bytes(const cpu_device *d, const void *code, size_t bytes, rgt__error *err) {
  char path[sizeof d->compiler.scratch + 32];
  int fd = memfd_create("ragtune", MFD_CLOEXEC);
  if (fd >= 0) {
    fresh_fd_path(fd, path, sizeof path);
    void *library = open_written(fd, path, code, bytes, err);
    if (library) return library;
  }
  snprintf(path, sizeof path, "%s/ragtune-XXXXXX", d->compiler.scratch);
  fd = mkostemp(path, O_CLOEXEC);
  if (fd < 0) {
    rgt__error_set(err, RGT_EIO, "%s: no scratch file for compiled code: %s", d->compiler.scratch, strerror(errno));
    return NULL;
  }
  void *library = open_written(fd, path, code, bytes, err);
  unlink(path);
  return library;
}

/* A folder may forbid programs (noexec): then its file is loaded as bytes. */
static void *open_path(const cpu_device *d, const char *path, rgt__error *err) {
  rgt__buffer code = {0};
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  rgt__error_set(err, RGT_EIO, "%s cannot be loaded: %s", path, dlerror());
  if (rgt__file_read(path, CODE_MAX, &code, NULL) == RGT_OK && code.data) library = open_bytes(d, code.data, code.size, NULL);
  rgt__buffer_free(&code);
  return library;
}

static void cpu_unload(rgt__device *d, rgt__module *m) {
  (void)d;
  if (!m) return;
  if (m->library) dlclose(m->library);
  rgt__free(m);
}

static rgt_status cpu_load(rgt__device *d, const char *code_path, const void *code, size_t code_bytes,
                           const rgt__program *program, rgt__module **out, rgt__error *err) {
  rgt__module *m = rgt__alloc_zero(1, sizeof *m);
  if (!m) return rgt__error_nomem(err, sizeof *m);
  const cpu_device *c = (const cpu_device *)d;
  m->library = code_path ? open_path(c, code_path, err) : open_bytes(c, code, code_bytes, err);
  rgt_status status = m->library ? RGT_OK : RGT_EIO;
  for (int i = 0; i < program->n_steps && status == RGT_OK; i++) {
    if (program->steps[i].kind != RGT_STEP_KERNEL) continue;
    void *entry = dlsym(m->library, program->steps[i].kernel);
    memcpy(&m->kernels[i], &entry, sizeof entry);
    if (!entry) status = rgt__error_set(err, RGT_EIO, "compiled code lacks the entry %s", program->steps[i].kernel);
  }
  if (status != RGT_OK) {
    cpu_unload(d, m);
    return status;
  }
  *out = m;
  return RGT_OK;
}

/* 64-byte aligned, through the allocation hook: the hook's own pointer lies just before. */
static rgt_status cpu_mem_alloc(rgt__device *d, size_t bytes, void **p, rgt__error *err) {
  cpu_device *c = (cpu_device *)d;
  if (c->guards) return rgt__guarded_alloc(&c->guarded, bytes, p, err);
  char *raw = bytes > SIZE_MAX - 128 ? NULL : rgt__alloc(bytes + 128);
  if (!raw) return rgt__error_nomem(err, bytes);
  char *aligned = (char *)(((uintptr_t)raw + 127) & ~(uintptr_t)63);
  memcpy(aligned - sizeof raw, &raw, sizeof raw);
  *p = aligned;
  return RGT_OK;
}

static void cpu_mem_free(rgt__device *d, void *p) {
  cpu_device *c = (cpu_device *)d;
  if (!p || (c->guarded.n && rgt__guarded_free(&c->guarded, p))) return;
  char *raw;
  memcpy(&raw, (char *)p - sizeof raw, sizeof raw);
  rgt__free(raw);
}

static rgt_status cpu_mem_copy(rgt__device *d, void *to, const void *from, size_t bytes, rgt__error *err) {
  (void)d;
  (void)err;
  if (bytes) memcpy(to, from, bytes);
  return RGT_OK;
}

typedef struct step_job {
  kernel_fn kernel;
  const rgt_kargs *k;
  void *workspace;
  int step;
} step_job;

static void run_part(void *user, int64_t part, int64_t n_parts) {
  const step_job *job = user;
  job->kernel(job->k, job->workspace, job->step, part, n_parts);
}

static rgt_status cpu_launch(rgt__device *d, rgt__module *m, const rgt__program *program, const rgt__plan *plan,
                             const rgt_kargs *k, void *workspace, void *stream, rgt__error *err) {
  (void)stream;
  (void)err;
  for (int i = 0; i < program->n_steps; i++) {
    if (program->steps[i].kind == RGT_STEP_MEMSET) {
      if (plan->steps[i].bytes > 0)
        memset((char *)workspace + plan->steps[i].offset, program->steps[i].value, (size_t)plan->steps[i].bytes);
      continue;
    }
    int64_t n_parts = plan->steps[i].grid;
    if (n_parts == 1) {
      m->kernels[i](k, workspace, i, 0, 1);
    } else if (n_parts > 1) {
      step_job job = {m->kernels[i], k, workspace, i};
      rgt__pool_run(d->info.n_threads, n_parts, run_part, &job);
    }
  }
  return RGT_OK;
}

static rgt_status cpu_sync(rgt__device *d, void *stream, rgt__error *err) {
  (void)d;
  (void)stream;
  (void)err;
  return RGT_OK;
}

static int64_t cpu_now_ps(rgt__device *d, void *stream) {
  (void)d;
  (void)stream;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return ((int64_t)t.tv_sec * 1000000000 + t.tv_nsec) * 1000;
}

/* Twice the last level's size, as the system gives it; virtual machines may show a whole host's cache, so at most 512 MiB. */
static size_t flush_size(void) {
  long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  size_t bytes = 2 * (size_t)(l3 > 0 ? l3 : l2 > 0 ? l2 : 32 << 20);
  return bytes > ((size_t)512 << 20) ? (size_t)512 << 20 : bytes;
}

static void cpu_flush_cache(rgt__device *d) {
  cpu_device *c = (cpu_device *)d;
  if (!c->flush) {
    c->flush_bytes = flush_size();
    c->flush = rgt__alloc_zero(1, c->flush_bytes);
    if (!c->flush) return;
  }
  for (size_t i = 0; i < c->flush_bytes; i += 64) c->flush[i]++;
}

static void cpu_guard(rgt__device *d, int on) {
  ((cpu_device *)d)->guards = on;
}

static void cpu_close(rgt__device *d) {
  rgt__guarded_close(&((cpu_device *)d)->guarded);
  rgt__free(((cpu_device *)d)->flush);
  rgt__free(d);
}

static rgt_status cpu_another(rgt__device *d, rgt__device **out, rgt__error *err);

static const rgt__device_ops cpu_ops = {.kind = "cpu",
                                        .compile = cpu_compile,
                                        .toolchain = cpu_toolchain,
                                        .compiler_stamp = cpu_compiler_stamp,
                                        .load = cpu_load,
                                        .unload = cpu_unload,
                                        .mem_alloc = cpu_mem_alloc,
                                        .mem_free = cpu_mem_free,
                                        .mem_write = cpu_mem_copy,
                                        .mem_read = cpu_mem_copy,
                                        .launch = cpu_launch,
                                        .sync = cpu_sync,
                                        .now_ps = cpu_now_ps,
                                        .flush_cache = cpu_flush_cache,
                                        .close = cpu_close,
                                        .guard = cpu_guard,
                                        .another = cpu_another};

static rgt_status cpu_another(rgt__device *d, rgt__device **out, rgt__error *err) {
  cpu_device *c = rgt__alloc(sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  *c = *(const cpu_device *)d;
  c->flush = NULL;
  c->guards = 0;
  c->guarded = (rgt__guarded_memory){.n = 0};
  c->base.stop = NULL;
  *out = &c->base;
  return RGT_OK;
}

/* What the system could give without swapping: pages of its file cache count, as /proc/meminfo says; else the free pages. */
static int64_t free_memory(void) {
  long long kib = 0;
  char line[128];
  FILE *f = fopen("/proc/meminfo", "re");
  while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %lld", &kib) != 1) continue;
  if (f) fclose(f);
  if (kib > 0) return (int64_t)kib * 1024;
  long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (int64_t)pages * size : (int64_t)1 << 30;
}

static rgt_status thread_count(const rgt__device_options *o, int *out, rgt__error *err) {
  int most = rgt__pool_affinity();
  const char *word = rgt__environment_get(o->env, RGT_ENV_RAGTUNE_THREADS);
  long n = o->threads;
  if (n == 0 && word) {
    char *end = NULL;
    n = strtol(word, &end, 10);
    if (*end || n < 1 || n > 4096)
      return rgt__error_set(err, RGT_EINVAL, "RAGTUNE_THREADS is \"%s\"; it can be a whole number from 1 to 4096", word);
  }
  if (n < 0) return rgt__error_set(err, RGT_EINVAL, "threads is %ld; it can be 0 (all) or more", n);
  *out = n == 0 || n > most ? most : (int)n;
  return RGT_OK;
}

rgt_status rgt__device_cpu_open(const rgt__device_options *o, rgt__device **out, rgt__error *err) {
  cpu_device *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  rgt__device_info *info = &c->base.info;
  c->base.ops = &cpu_ops;
  c->base.opened = *o;
  rgt_status status = thread_count(o, &info->n_threads, err);
  if (status == RGT_OK) status = rgt__cpu_target(rgt__environment_get(o->env, RGT_ENV_RAGTUNE_CPU), &info->target, err);
  if (status != RGT_OK) {
    rgt__free(c);
    return status;
  }
  rgt__cpu_class(&info->target, rgt__pool_affinity(), info->class_text, sizeof info->class_text);
  info->free_bytes = free_memory();
  rgt__cpu_compiler_find(o->env, &c->compiler);
  c->compiler.memory_bytes = o->compiler_memory;
  c->compiler.same_group = o->in_worker;
  *out = &c->base;
  return RGT_OK;
}
