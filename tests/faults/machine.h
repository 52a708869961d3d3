/* machine.h -- a CPU device that compiles nothing and keeps its own clock, so that a whole tuning takes milliseconds and comes
 * out the same each time: the family templates/cpu/small, whose turn=2 is twice as fast as its default. Everything it allocates
 * goes through the library's hook. */
#ifndef RGT_TESTS_MACHINE_H
#define RGT_TESTS_MACHINE_H

#include <stdatomic.h>
#include <time.h>

#include "runtime/base/alloc.h"
#include "runtime/context.h"
#include "runtime/cpu_features.h"
#include "tests/support/fake_device.h"

#define MACHINE_TEMPLATES RGT_TESTS_DIR "/faults/templates"
#define MACHINE_OP "mlp:4-3-2:g3:f32:relu:b12:nk:i64"
#define MACHINE_DEFAULT "small:turn=1"
#define MACHINE_WINNER "small:turn=2"

struct rgt__module {
  int turn; /* 0: the kernel that measures the peak */
};

typedef struct machine {
  rgt__device base;
  rgt_op_desc op;
  _Atomic int64_t clock_ps; /* the context's own thread and that of its background move it */
  int compile_ms;           /* how long a compile takes */
  atomic_int n_modules, n_compiles;
} machine;

static rgt_status machine_compile(rgt__device *d, const char *source, size_t bytes, const rgt__target *target, int want_asm,
                                  rgt__compiled *out, rgt__error *err) {
  machine *m = (machine *)d;
  (void)target, (void)want_asm;
  atomic_fetch_add(&m->n_compiles, 1);
  if (m->compile_ms) nanosleep(&(struct timespec){.tv_nsec = m->compile_ms * 1000000L}, NULL);
  out->code = rgt__alloc(bytes + 1);
  if (!out->code) return rgt__error_nomem(err, bytes);
  memcpy(out->code, source, bytes);
  out->code[bytes] = 0;
  out->code_bytes = bytes;
  return RGT_OK;
}

static rgt_status machine_toolchain(rgt__device *d, char *text, size_t size, rgt__error *err) {
  (void)d, (void)err;
  snprintf(text, size, "machine 1");
  return RGT_OK;
}

static void machine_stamp(rgt__device *d, char *text, size_t size) {
  (void)d;
  snprintf(text, size, "machine|1|1");
}

static rgt_status machine_load(rgt__device *d, const char *path, const void *code, size_t code_bytes,
                               const rgt__program *program, rgt__module **out, rgt__error *err) {
  rgt__buffer text = {0};
  (void)program;
  rgt_status status = RGT_OK;
  if (path)
    status = rgt__file_read(path, 1 << 20, &text, err);
  else
    rgt__buffer_add(&text, code, code_bytes);
  if (status == RGT_OK && text.failed) status = rgt__error_nomem(err, code_bytes);
  const char *turn = status == RGT_OK && text.data ? strstr(text.data, "\nturn=") : NULL;
  int peak = status == RGT_OK && text.data && strstr(text.data, "ragtune_peak");
  if (status == RGT_OK && !turn && !peak) status = rgt__error_set(err, RGT_EIO, "this is no code of the machine");
  rgt__module *module = status == RGT_OK ? rgt__alloc_zero(1, sizeof *module) : NULL;
  if (status == RGT_OK && !module) status = rgt__error_nomem(err, sizeof *module);
  if (status == RGT_OK) {
    module->turn = turn ? atoi(turn + 6) : 0;
    *out = module;
    atomic_fetch_add(&((machine *)d)->n_modules, 1);
  }
  rgt__buffer_free(&text);
  return status;
}

static void machine_unload(rgt__device *d, rgt__module *module) {
  if (module) atomic_fetch_sub(&((machine *)d)->n_modules, 1);
  rgt__free(module);
}

static rgt_status machine_mem_alloc(rgt__device *d, size_t bytes, void **p, rgt__error *err) {
  (void)d;
  char *raw = rgt__alloc(bytes + 128);
  if (!raw) return rgt__error_nomem(err, bytes);
  char *aligned = (char *)(((uintptr_t)raw + 127) & ~(uintptr_t)63);
  memcpy(aligned - sizeof raw, &raw, sizeof raw);
  *p = aligned;
  return RGT_OK;
}

static void machine_mem_free(rgt__device *d, void *p) {
  char *raw;
  (void)d;
  if (!p) return;
  memcpy(&raw, (char *)p - sizeof raw, sizeof raw);
  rgt__free(raw);
}

static rgt_status machine_copy(rgt__device *d, void *to, const void *from, size_t bytes, rgt__error *err) {
  (void)d, (void)err;
  if (bytes) memcpy(to, from, bytes);
  return RGT_OK;
}

static rgt_status machine_launch(rgt__device *d, rgt__module *module, const rgt__program *program, const rgt__plan *plan,
                                 const rgt_kargs *k, void *workspace, void *stream, rgt__error *err) {
  machine *m = (machine *)d;
  (void)program, (void)plan, (void)workspace, (void)stream;
  m->clock_ps += 4000000 / (module->turn + 1);
  if (!module->turn) return RGT_OK;
  fake_kernel f = {.op = m->op, .form = RGT_STACKED, .sum = module->turn == 1 ? FAKE_SEQ : FAKE_BACKWARD};
  return fake_run(&f, d, k, err);
}

static rgt_status machine_sync(rgt__device *d, void *stream, rgt__error *err) {
  (void)d, (void)stream, (void)err;
  return RGT_OK;
}

static int64_t machine_now(rgt__device *d, void *stream) {
  (void)stream;
  return ((machine *)d)->clock_ps;
}

static void machine_flush(rgt__device *d) {
  (void)d;
}

static void machine_close(rgt__device *d) {
  (void)d;
}

static const rgt__device_ops machine_ops = {.kind = "cpu",
                                            .compile = machine_compile,
                                            .toolchain = machine_toolchain,
                                            .compiler_stamp = machine_stamp,
                                            .load = machine_load,
                                            .unload = machine_unload,
                                            .mem_alloc = machine_mem_alloc,
                                            .mem_free = machine_mem_free,
                                            .mem_write = machine_copy,
                                            .mem_read = machine_copy,
                                            .launch = machine_launch,
                                            .sync = machine_sync,
                                            .now_ps = machine_now,
                                            .flush_cache = machine_flush,
                                            .close = machine_close};

/* Puts the machine in the place of a context's own device. m outlives the context. */
static inline void machine_install(machine *m, rgt_ctx *ctx) {
  *m = (machine){.base = {.ops = &machine_ops}};
  rgt__op_parse(MACHINE_OP, &m->op, NULL);
  rgt__cpu_target("plain", &m->base.info.target, NULL);
  snprintf(m->base.info.class_text, sizeof m->base.info.class_text, "cpu:machine");
  m->base.info.n_threads = 1;
  m->base.info.free_bytes = (int64_t)1 << 30;
  if (ctx->device) ctx->device->ops->close(ctx->device);
  ctx->device = &m->base;
}

#endif
