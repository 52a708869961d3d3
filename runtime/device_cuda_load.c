/* device_cuda_load.c -- from code to entries that can be launched. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/device_cuda.h"

enum { CODE_MAX = 256 << 20 };

/* The code cache keeps the PTX beside the cubin: the same name with another ending. An entry that has none is no failure yet.
 */
static rgt_status read_ptx(const char *code_path, rgt__buffer *out) {
  char path[PATH_MAX];
  size_t n = strlen(code_path), ending = strlen(".bin");
  if (n < ending || strcmp(code_path + n - ending, ".bin") != 0 || n >= sizeof path) return RGT_OK;
  snprintf(path, sizeof path, "%.*s.ptx", (int)(n - ending), code_path);
  return rgt__file_read(path, CODE_MAX, out, NULL) == RGT_ENOMEM ? RGT_ENOMEM : RGT_OK;
}

/* Shared memory above what is static needs the entry's leave, which is given once: launches then differ in nothing. */
static rgt_status allow_shared(rgt__cuda_device *c, void *function, const char *name, int64_t *most_bytes, rgt__error *err) {
  int fixed = 0;
  int result = c->api.cuFuncGetAttribute(&fixed, RGT_CUDA_FUNC_SHARED_BYTES, function);
  if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuFuncGetAttribute of %s", name);
  int most = (int)c->shared_optin > fixed ? (int)c->shared_optin - fixed : 0;
  *most_bytes = most;
  result = c->api.cuFuncSetAttribute(function, RGT_CUDA_FUNC_MAX_DYNAMIC_SHARED, most);
  if (result == RGT_CUDA_SUCCESS) return RGT_OK;
  return rgt__cuda_api_fail(&c->api, result, err, "cuFuncSetAttribute of %s, %d bytes of shared memory", name, most);
}

/* A driver may put off bringing an entry to the device until its first launch, which may wait and allocate: not in a capture.
 */
static rgt_status find_entry(rgt__cuda_device *c, const rgt__step *step, rgt__module *m, int i, rgt__error *err) {
  void **function = &m->functions[i];
  int result = c->api.cuModuleGetFunction(function, rgt__cuda_modules_handle(m->shared), step->kernel);
  if (result == RGT_CUDA_NOT_FOUND) return rgt__error_set(err, RGT_EIO, "compiled code lacks the entry %s", step->kernel);
  if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuModuleGetFunction of %s", step->kernel);
  if (c->api.cuFuncLoad) {
    result = c->api.cuFuncLoad(*function);
    if (result != RGT_CUDA_SUCCESS) return rgt__cuda_api_fail(&c->api, result, err, "cuFuncLoad of %s", step->kernel);
  }
  int dynamic = !rgt__formula_is_constant(&step->shared) || rgt__formula_eval(&step->shared, (int64_t[RGT_N_VARS]){0}) > 0;
  return dynamic ? allow_shared(c, *function, step->kernel, &m->shared_max[i], err) : RGT_OK;
}

static rgt_status load_pair(rgt__cuda_device *c, const rgt__code_pair *pair, const rgt__program *program, rgt__module *m,
                            rgt__error *err) {
  rgt__cuda_scope scope;
  rgt_status status = rgt__cuda_enter(c, &scope, err);
  if (status != RGT_OK) return status;
  status = rgt__cuda_modules_get(&c->api, c->context, pair, &m->shared, err);
  for (int i = 0; i < program->n_steps && status == RGT_OK; i++)
    if (program->steps[i].kind == RGT_STEP_KERNEL) status = find_entry(c, &program->steps[i], m, i, err);
  if (status != RGT_OK) rgt__cuda_modules_put(&c->api, m->shared);
  rgt__cuda_leave(c, &scope);
  return status;
}

static rgt_status load_file(rgt__cuda_device *c, const char *path, const rgt__program *program, rgt__module *m,
                            rgt__error *err) {
  rgt__buffer cubin = {0}, ptx = {0};
  rgt_status status = rgt__file_read(path, CODE_MAX, &cubin, err);
  if (status == RGT_OK && (status = read_ptx(path, &ptx)) != RGT_OK) rgt__error_nomem(err, ptx.size);
  if (status == RGT_OK && cubin.size == 0) status = rgt__error_set(err, RGT_EIO, "%s is empty", path);
  if (status == RGT_OK) {
    rgt__code_pair pair = {cubin.data, cubin.size, ptx.size > 0 ? ptx.data : NULL, ptx.size};
    status = load_pair(c, &pair, program, m, err);
  }
  rgt__buffer_free(&cubin);
  rgt__buffer_free(&ptx);
  return status;
}

rgt_status rgt__cuda_load(rgt__device *d, const char *code_path, const void *code, size_t code_bytes,
                          const rgt__program *program, rgt__module **out, rgt__error *err) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__code_pair pair;
  rgt__module *m = rgt__alloc_zero(1, sizeof *m);
  if (!m) return rgt__error_nomem(err, sizeof *m);
  rgt_status status;
  if (code_path) {
    status = load_file(c, code_path, program, m, err);
  } else {
    rgt__code_pair_split(code, code_bytes, &pair);
    status = load_pair(c, &pair, program, m, err);
  }
  if (status != RGT_OK) {
    rgt__free(m);
    return status;
  }
  *out = m;
  return RGT_OK;
}

void rgt__cuda_unload(rgt__device *d, rgt__module *m) {
  rgt__cuda_device *c = rgt__cuda_of(d);
  rgt__cuda_scope scope;
  if (!m) return;
  int entered = rgt__cuda_enter(c, &scope, NULL) == RGT_OK;
  rgt__cuda_modules_put(entered ? &c->api : NULL, m->shared);
  if (entered) rgt__cuda_leave(c, &scope);
  rgt__free(m);
}
