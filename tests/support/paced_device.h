/* paced_device.h -- a device whose compiler, clock and kernels the test decides. A source's first word says what becomes of it;
 * a module is a cost in picoseconds, by which a launch moves the clock. */
#ifndef RGT_TESTS_PACED_DEVICE_H
#define RGT_TESTS_PACED_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/device.h"
#include "tests/support/scratch.h"

struct rgt__module {
  int64_t cost_ps;
};

typedef struct paced_device {
  rgt__device base;
  int64_t clock_ps, tick_ps; /* tick: each reading of the clock moves it; 0: a modelled clock */
  size_t memory_left;        /* largest allocation that succeeds */
  int n_blocks;              /* allocated and not freed */
  atomic_int n_compiles;
  int n_loads, n_unloads, n_launches, n_flushes;
  int launches_left; /* a launch after so many fails; -1: none does */
  int load_from_path_fails;
  char loaded[64]; /* path, or the code's first bytes */
  void (*kernel)(struct paced_device *d, const rgt__plan *plan, const rgt_kargs *k, void *workspace);
} paced_device;

static SCRATCH_UNUSED rgt_status paced_compile(rgt__device *d, const char *source, size_t bytes, const rgt__target *target,
                                               int want_asm, rgt__compiled *out, rgt__error *err) {
  (void)target, (void)want_asm;
  atomic_fetch_add(&((paced_device *)d)->n_compiles, 1);
  if (strncmp(source, "bad", 3) == 0) {
    snprintf(out->log, sizeof out->log, "x.c:1: error: %s", source);
    return rgt__error_set(err, RGT_ECOMPILE, "%s", out->log);
  }
  if (strncmp(source, "slow", 4) == 0) {
    snprintf(out->log, sizeof out->log, "still compiling");
    return rgt__error_set(err, RGT_ETIMEOUT, "ended");
  }
  if (strncmp(source, "io", 2) == 0) return rgt__error_set(err, RGT_EIO, "disk full");
  if (strncmp(source, "none", 4) == 0) return rgt__error_set(err, RGT_ENOCOMPILER, "no compiler");
  if (strncmp(source, "spill", 5) == 0) {
    out->spill_bytes = 8;
    out->stack_bytes = 16;
  }
  out->code = rgt__alloc(bytes + 1);
  if (!out->code) return rgt__error_nomem(err, bytes);
  memcpy(out->code, source, bytes);
  out->code[bytes] = 0;
  out->code_bytes = bytes;
  out->registers = 32;
  out->shared_bytes = 64;
  out->milliseconds = 1.5;
  return RGT_OK;
}

static SCRATCH_UNUSED rgt_status paced_load(rgt__device *d, const char *path, const void *code, size_t code_bytes,
                                            const rgt__program *program, rgt__module **out, rgt__error *err) {
  paced_device *p = (paced_device *)d;
  (void)program;
  p->n_loads++;
  if (path && (p->load_from_path_fails || access(path, R_OK) != 0))
    return rgt__error_set(err, RGT_EIO, "%s cannot be loaded", path);
  if (!path && code_bytes >= 6 && memcmp(code, "unload", 6) == 0) return rgt__error_set(err, RGT_EIO, "unloadable");
  snprintf(p->loaded, sizeof p->loaded, "%.*s", path ? 63 : (int)code_bytes, path ? path : (const char *)code);
  *out = calloc(1, sizeof **out);
  return RGT_OK;
}

static SCRATCH_UNUSED void paced_unload(rgt__device *d, rgt__module *m) {
  ((paced_device *)d)->n_unloads++;
  free(m);
}

static SCRATCH_UNUSED rgt_status paced_mem_alloc(rgt__device *d, size_t bytes, void **p, rgt__error *err) {
  paced_device *paced = (paced_device *)d;
  if (bytes > paced->memory_left) return rgt__error_nomem(err, bytes);
  *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  paced->n_blocks++;
  return RGT_OK;
}

static SCRATCH_UNUSED void paced_mem_free(rgt__device *d, void *p) {
  if (p) ((paced_device *)d)->n_blocks--;
  free(p);
}

static SCRATCH_UNUSED rgt_status paced_copy(rgt__device *d, void *to, const void *from, size_t bytes, rgt__error *err) {
  (void)d, (void)err;
  if (bytes) memcpy(to, from, bytes);
  return RGT_OK;
}

static SCRATCH_UNUSED rgt_status paced_launch(rgt__device *d, rgt__module *m, const rgt__program *program,
                                              const rgt__plan *plan, const rgt_kargs *k, void *workspace, void *stream,
                                              rgt__error *err) {
  paced_device *p = (paced_device *)d;
  (void)program, (void)stream;
  if (p->launches_left == 0) return rgt__error_set(err, RGT_EIO, "the launch failed");
  if (p->launches_left > 0) p->launches_left--;
  p->n_launches++;
  p->clock_ps += m->cost_ps;
  if (p->kernel) p->kernel(p, plan, k, workspace);
  return RGT_OK;
}

static SCRATCH_UNUSED rgt_status paced_sync(rgt__device *d, void *stream, rgt__error *err) {
  (void)d, (void)stream, (void)err;
  return RGT_OK;
}

static SCRATCH_UNUSED int64_t paced_now(rgt__device *d, void *stream) {
  paced_device *p = (paced_device *)d;
  (void)stream;
  return p->clock_ps += p->tick_ps;
}

static SCRATCH_UNUSED void paced_flush(rgt__device *d) {
  ((paced_device *)d)->n_flushes++;
}

#define PACED_OPS(kind_word)                                                                                                 \
  {                                                                                                                          \
    .kind = kind_word, .compile = paced_compile, .load = paced_load, .unload = paced_unload, .mem_alloc = paced_mem_alloc,   \
    .mem_free = paced_mem_free, .mem_write = paced_copy, .mem_read = paced_copy, .launch = paced_launch, .sync = paced_sync, \
    .now_ps = paced_now, .flush_cache = paced_flush                                                                          \
  }
static SCRATCH_UNUSED const rgt__device_ops paced_cpu_ops = PACED_OPS("cpu"), paced_cuda_ops = PACED_OPS("cuda");

static SCRATCH_UNUSED void paced_open(paced_device *d, const char *kind) {
  memset(d, 0, sizeof *d);
  d->base.ops = strcmp(kind, "cpu") == 0 ? &paced_cpu_ops : &paced_cuda_ops;
  d->base.info.n_threads = 2;
  snprintf(d->base.info.target.device, sizeof d->base.info.target.device, "%s", kind);
  snprintf(d->base.info.target.name, sizeof d->base.info.target.name, "plain");
  d->memory_left = (size_t)1 << 30;
  d->launches_left = -1;
}

static SCRATCH_UNUSED void paced_program(rgt__program *out, const char *lines) {
  char text[500];
  rgt__error err = {""};
  snprintf(text, sizeof text, "rgt-program 1\nkargs %d\n%s", RGT_KARGS_VERSION, lines);
  if (rgt__program_parse(text, out, &err) != RGT_OK) fail_msg("%s", err.text);
}

#endif
