/* device_cuda_offline.c -- a CUDA "device" that only compiles: for any target that NVRTC lists, where no driver is. */
#include <stdio.h>

#include "runtime/base/alloc.h"
#include "runtime/cuda_target.h"
#include "runtime/device_cuda.h"

static rgt_status only_compiles(const rgt__device *d, rgt__error *err) {
  return rgt__error_set(err, RGT_EUNSUPPORTED,
                        "target %s only compiles; what runs needs a device: --device cuda or --device cpu",
                        d->info.target.name);
}

static rgt_status load(rgt__device *d, const char *code_path, const void *code, size_t code_bytes, const rgt__program *program,
                       rgt__module **out, rgt__error *err) {
  (void)code_path, (void)code, (void)code_bytes, (void)program, (void)out;
  return only_compiles(d, err);
}

static void unload(rgt__device *d, rgt__module *m) {
  (void)d, (void)m;
}

static rgt_status mem_alloc(rgt__device *d, size_t bytes, void **p, rgt__error *err) {
  (void)bytes, (void)p;
  return only_compiles(d, err);
}

static void mem_free(rgt__device *d, void *p) {
  (void)d, (void)p;
}

static rgt_status mem_write(rgt__device *d, void *to, const void *from_host, size_t bytes, rgt__error *err) {
  (void)to, (void)from_host, (void)bytes;
  return only_compiles(d, err);
}

static rgt_status mem_read(rgt__device *d, void *to_host, const void *from, size_t bytes, rgt__error *err) {
  (void)to_host, (void)from, (void)bytes;
  return only_compiles(d, err);
}

static rgt_status launch(rgt__device *d, rgt__module *m, const rgt__program *program, const rgt__plan *plan, const rgt_kargs *k,
                         void *workspace, void *stream, rgt__error *err) {
  (void)m, (void)program, (void)plan, (void)k, (void)workspace, (void)stream;
  return only_compiles(d, err);
}

static rgt_status sync_stream(rgt__device *d, void *stream, rgt__error *err) {
  (void)stream;
  return only_compiles(d, err);
}

static int64_t now_ps(rgt__device *d, void *stream) {
  (void)d, (void)stream;
  return 0;
}

static void flush_cache(rgt__device *d) {
  (void)d;
}

static void close_device(rgt__device *d) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  if (!d) return;
  rgt__nvrtc_close(c->nvrtc);
  pthread_mutex_destroy(&c->nvrtc_lock);
  rgt__free(c);
}

static const rgt__device_ops ops = {
    .kind = "cuda",
    .compile = rgt__cuda_compile,
    .toolchain = rgt__cuda_toolchain,
    .compiler_stamp = rgt__cuda_compiler_stamp,
    .load = load,
    .unload = unload,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .mem_write = mem_write,
    .mem_read = mem_read,
    .launch = launch,
    .sync = sync_stream,
    .now_ps = now_ps,
    .flush_cache = flush_cache,
    .close = close_device,
};

rgt_status rgt__device_offline_cuda(const rgt__device_options *o, const char *target_name, rgt__device **out, rgt__error *err) {
  int sm = rgt__cuda_target_number(target_name);
  if (sm == 0) return rgt__error_set(err, RGT_EINVAL, "target %s: want sm_ and a number, such as sm_90", target_name);
  rgt__cuda_device *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  pthread_mutex_init(&c->nvrtc_lock, NULL);
  c->base.ops = &ops;
  c->base.opened = *o;
  rgt__cuda_target_make(sm, &c->base.info.target);
  snprintf(c->base.info.class_text, sizeof c->base.info.class_text, "cuda|%s|compiles only", c->base.info.target.name);
  *out = &c->base;
  return RGT_OK;
}
