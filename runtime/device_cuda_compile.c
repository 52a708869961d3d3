/* device_cuda_compile.c -- NVRTC behind the CUDA device, opened at its first use: dispatch of what is cached needs no compiler.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/cuda_target.h"
#include "runtime/device_cuda.h"

/* Threads compile at once; one of them opens. */
static rgt_status nvrtc_of(rgt__cuda_device *c, rgt__nvrtc **out, rgt__error *err) {
  rgt_status status = RGT_OK;
  pthread_mutex_lock(&c->nvrtc_lock);
  if (!c->nvrtc) status = rgt__nvrtc_open(c->base.opened.env, &c->nvrtc, err);
  *out = c->nvrtc;
  pthread_mutex_unlock(&c->nvrtc_lock);
  return status;
}

rgt_status rgt__cuda_check_target(rgt__cuda_device *c, const char *name, rgt__error *err) {
  rgt__nvrtc *nvrtc = NULL;
  rgt_status status = nvrtc_of(c, &nvrtc, err);
  if (status != RGT_OK) return status;
  int targets[64], n = rgt__nvrtc_targets(nvrtc, targets, 64), sm = rgt__cuda_target_number(name);
  rgt__buffer list = {0};
  for (int i = 0; i < n; i++) {
    if (targets[i] == sm) {
      rgt__buffer_free(&list);
      return RGT_OK;
    }
    rgt__buffer_format(&list, "%ssm_%d", i > 0 ? " " : "", targets[i]);
  }
  status = rgt__error_set(err, RGT_EINVAL, "target %s: this NVRTC compiles for %s", name,
                          list.failed || list.data == NULL ? "others" : list.data);
  rgt__buffer_free(&list);
  return status;
}

rgt_status rgt__cuda_compile(rgt__device *d, const char *source, size_t bytes, const rgt__target *target, int want_asm,
                             rgt__compiled *out, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  if (want_asm)
    return rgt__error_set(err, RGT_EUNSUPPORTED,
                          "machine code as text needs a disassembler, which is not part of this version; "
                          "PTX can be shown instead");
  if (rgt__stop_now(d->stop)) return rgt__error_set(err, RGT_EINTERRUPTED, "stopped before a compile");
  rgt_status status = rgt__cuda_check_target(c, target->name, err);
  if (status != RGT_OK) return status;
  char *text = rgt__alloc(bytes + 1); /* NVRTC wants a final NUL */
  if (text == NULL) return rgt__error_nomem(err, bytes + 1);
  memcpy(text, source, bytes);
  text[bytes] = '\0';
  status = rgt__nvrtc_compile(c->nvrtc, text, target->name, out, err);
  rgt__free(text);
  return status;
}

rgt_status rgt__cuda_toolchain(rgt__device *d, char *text, size_t text_size, rgt__error *err) {
  rgt__nvrtc *nvrtc = NULL;
  char version[256], options[256];
  rgt_status status = nvrtc_of(rgt__cuda_of(d), &nvrtc, err);
  if (status != RGT_OK) return status;
  rgt__nvrtc_version(nvrtc, version, sizeof version);
  rgt__nvrtc_options(options, sizeof options);
  snprintf(text, text_size, "%s; %s", version, options);
  return RGT_OK;
}

void rgt__cuda_compiler_stamp(rgt__device *d, char *text, size_t text_size) {
  rgt__nvrtc *nvrtc = NULL;
  int64_t size = 0, mtime_ns = 0;
  text[0] = 0;
  if (nvrtc_of(rgt__cuda_of(d), &nvrtc, NULL) != RGT_OK) return;
  const char *path = rgt__nvrtc_path(nvrtc);
  rgt__file_stamp(path, &size, &mtime_ns);
  snprintf(text, text_size, "%s|%" PRId64 "|%" PRId64, path, size, mtime_ns);
}
