/* device_cuda.c -- the CUDA device. This version generates and compiles for it, and does not run: a device that is there is
 * named and declined, and `rgt__device_offline_cuda` compiles without one. */
#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/cuda_api.h"
#include "runtime/device.h"
#include "runtime/nvrtc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cuda_device {
  rgt__device base; /* first: see device.h */
  rgt__nvrtc *nvrtc;
} cuda_device;

/* ---- targets ----------------------------------------------------------------------------------------------- */

enum { SHARED_STATIC_MAX = 49152 };

/* Shared memory that a block may opt in to, by architecture (CUDA C++ programming guide, technical specifications). One that is
 * not known gets what every architecture has without opting in. */
static int64_t shared_optin_max(int sm) {
  static const struct {
    int sm, kib;
  } table[] = {{75, 64},   {80, 163},  {86, 99},   {87, 163},  {88, 163}, {89, 99}, {90, 227},
               {100, 227}, {101, 227}, {103, 227}, {110, 227}, {120, 99}, {121, 99}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (table[i].sm == sm) return (int64_t)table[i].kib * 1024;
  return SHARED_STATIC_MAX;
}

static void add_fact(rgt__target *t, const char *name, int64_t value) {
  snprintf(t->facts[t->n_facts].name, sizeof t->facts[0].name, "%s", name);
  t->facts[t->n_facts++].value = value;
}

static void make_target(rgt__target *t, int sm) {
  memset(t, 0, sizeof *t);
  strcpy(t->device, "cuda");
  snprintf(t->name, sizeof t->name, "sm_%d", sm);
  add_fact(t, "sm", sm);
  add_fact(t, "shared_static_max", SHARED_STATIC_MAX);
  add_fact(t, "shared_optin_max", shared_optin_max(sm));
}

/* "sm_90" to 90; 0 for anything else. */
static int parse_target(const char *name) {
  char *end;
  if (strncmp(name, "sm_", 3) != 0 || name[3] < '1' || name[3] > '9' || strlen(name) > 7) return 0;
  long sm = strtol(name + 3, &end, 10);
  return *end == '\0' ? (int)sm : 0;
}

/* RGT_EINVAL with the targets that NVRTC lists, when `sm` is none of them. */
static rgt_status check_target(const rgt__nvrtc *nvrtc, const char *name, int sm, rgt__error *err) {
  int targets[64], n = rgt__nvrtc_targets(nvrtc, targets, 64);
  rgt__buffer list = {0};
  for (int i = 0; i < n; i++) {
    if (targets[i] == sm) {
      rgt__buffer_free(&list);
      return RGT_OK;
    }
    rgt__buffer_format(&list, "%ssm_%d", i > 0 ? " " : "", targets[i]);
  }
  rgt_status status = rgt__error_set(err, RGT_EINVAL, "target %s: this NVRTC compiles for %s", name,
                                     list.failed || list.data == NULL ? "others" : list.data);
  rgt__buffer_free(&list);
  return status;
}

/* ---- compiling --------------------------------------------------------------------------------------------- */

static rgt_status compile(rgt__device *d, const char *source, size_t bytes, const rgt__target *target, int want_asm,
                          rgt__compiled *out, rgt__error *err) {
  cuda_device *c = (cuda_device *)d;
  if (want_asm)
    return rgt__error_set(err, RGT_EUNSUPPORTED,
                          "machine code as text needs a disassembler, which is not part of this version; "
                          "PTX can be shown instead");
  rgt_status status = check_target(c->nvrtc, target->name, parse_target(target->name), err);
  if (status != RGT_OK) return status;
  char *text = rgt__alloc(bytes + 1); /* NVRTC wants a final NUL */
  if (text == NULL) return rgt__error_nomem(err, bytes + 1);
  memcpy(text, source, bytes);
  text[bytes] = '\0';
  status = rgt__nvrtc_compile(c->nvrtc, text, target->name, out, err);
  rgt__free(text);
  return status;
}

static rgt_status toolchain(rgt__device *d, char *text, size_t text_size, rgt__error *err) {
  char version[256], options[256];
  (void)err;
  rgt__nvrtc_version(((cuda_device *)d)->nvrtc, version, sizeof version);
  rgt__nvrtc_options(options, sizeof options);
  snprintf(text, text_size, "%s; %s", version, options);
  return RGT_OK;
}

static void compiler_stamp(rgt__device *d, char *text, size_t text_size) {
  const char *path = rgt__nvrtc_path(((cuda_device *)d)->nvrtc);
  int64_t size = 0, mtime_ns = 0;
  rgt__file_stamp(path, &size, &mtime_ns);
  snprintf(text, text_size, "%s %" PRId64 " %" PRId64, path, size, mtime_ns);
}

/* ---- what needs a device that runs -------------------------------------------------------------------------- */

static rgt_status only_compiles(const rgt__device *d, rgt__error *err) {
  return rgt__error_set(err, RGT_EUNSUPPORTED, "target %s only compiles: this version does not run CUDA code; use --device cpu",
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
  if (d == NULL) return;
  rgt__nvrtc_close(((cuda_device *)d)->nvrtc);
  rgt__free(d);
}

static const rgt__device_ops ops = {
    .kind = "cuda",
    .compile = compile,
    .toolchain = toolchain,
    .compiler_stamp = compiler_stamp,
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

/* ---- opening ----------------------------------------------------------------------------------------------- */

rgt_status rgt__device_offline_cuda(const rgt__device_options *o, const char *target_name, rgt__device **out, rgt__error *err) {
  rgt__nvrtc *nvrtc = NULL;
  cuda_device *c = NULL;
  int sm = parse_target(target_name);
  if (sm == 0) return rgt__error_set(err, RGT_EINVAL, "target %s: want sm_ and a number, such as sm_90", target_name);
  rgt_status status = rgt__nvrtc_open(o->env, &nvrtc, err);
  if (status == RGT_OK) status = check_target(nvrtc, target_name, sm, err);
  if (status == RGT_OK && (c = rgt__alloc_zero(1, sizeof *c)) == NULL) status = rgt__error_nomem(err, sizeof *c);
  if (status != RGT_OK) {
    rgt__nvrtc_close(nvrtc);
    return status;
  }
  c->base.ops = &ops;
  c->nvrtc = nvrtc;
  make_target(&c->base.info.target, sm);
  snprintf(c->base.info.class_text, sizeof c->base.info.class_text, "cuda|%s|compiles only", c->base.info.target.name);
  *out = &c->base;
  return RGT_OK;
}

/* With a driver and a device the line says honestly what this version lacks; the device's name shows that it was seen. */
rgt_status rgt__device_cuda_open(const rgt__device_options *o, rgt__device **out, rgt__error *err) {
  rgt__cuda_api api;
  char name[128] = "its name is not known";
  int device = 0;
  (void)out;
  rgt_status status = rgt__cuda_api_open(o->env, &api, err);
  if (status != RGT_OK) return status;
  if (o->ordinal < 0 || o->ordinal >= api.n_devices) {
    status = rgt__error_set(err, RGT_ENODEVICE, "no CUDA device %d: the driver counts %d, from 0", o->ordinal, api.n_devices);
  } else {
    if (api.cuDeviceGet(&device, o->ordinal) == RGT_CUDA_SUCCESS) api.cuDeviceGetName(name, sizeof name, device);
    status =
        rgt__error_set(err, RGT_EUNSUPPORTED,
                       "cuda:%d (%s, driver %d.%d) is there, but this version generates and compiles CUDA code and does not "
                       "run it yet; use --device cpu",
                       o->ordinal, name, api.version / 1000, api.version % 1000 / 10);
  }
  rgt__cuda_api_close(&api);
  return status;
}

/* "auto" takes a CUDA device where this says 1. While rgt__device_cuda_open runs nothing, that choice would only fail, so the
 * answer is 0 whatever the machine holds, and the driver is not touched. */
int rgt__device_cuda_present(const rgt__environment *env) {
  (void)env;
  return 0;
}
