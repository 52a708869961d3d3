/* cuda_modules.c -- modules of the process: a list under one lock.
 *
 * The lock is held while the driver loads, so that two threads never load the same code twice; the driver has a lock of its own
 * for the context anyway. A context that its owner destroyed took its modules along: unloading then fails, and that is all.
 */
#include "runtime/cuda_modules.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/digest.h"

enum { LOG_BYTES = 4096 };

struct rgt__cuda_module {
  rgt__cuda_module *next;
  const void *lib; /* of the driver: handles of another one are another's */
  void *context;
  rgt__digest code;
  void *handle;
  int n_users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rgt__cuda_module *modules;

/* Answers to a cubin that PTX may help with: of another architecture, made for a later driver, or no cubin. */
static int is_refused(int result) {
  return result == RGT_CUDA_INVALID_IMAGE || result == RGT_CUDA_NO_BINARY_FOR_GPU || result == RGT_CUDA_INVALID_PTX ||
         result == RGT_CUDA_UNSUPPORTED_PTX_VERSION || result == RGT_CUDA_INVALID_SOURCE || result == RGT_CUDA_NOT_SUPPORTED;
}

/* The first line that says something, cut to size. */
static void first_line(const char *log, char *out, size_t size) {
  while (*log == '\n' || *log == ' ') log++;
  snprintf(out, size, "%.*s", (int)strcspn(log, "\n"), log);
}

/* The driver's JIT; its error log is part of the line. */
static rgt_status load_ptx(const rgt__cuda_api *api, const char *ptx, int refusal, void **out, rgt__error *err) {
  static const int options[] = {RGT_CUDA_JIT_ERROR_LOG, RGT_CUDA_JIT_ERROR_LOG_BYTES};
  char why_cubin[32], why_ptx[32], line[400];
  char *log = rgt__alloc_zero(1, LOG_BYTES);
  if (!log) return rgt__error_nomem(err, LOG_BYTES);
  void *values[] = {log, (void *)(uintptr_t)LOG_BYTES};
  rgt_status status = RGT_OK;
  int result = api->cuModuleLoadDataEx(out, ptx, 2, options, values);
  if (result != RGT_CUDA_SUCCESS) {
    log[LOG_BYTES - 1] = 0;
    first_line(log, line, sizeof line);
    status = rgt__cuda_api_fail(api, result, err, "cuModuleLoadDataEx of PTX");
    if (status != RGT_ENOMEM && status != RGT_ECRASH)
      status = rgt__error_set(err, RGT_EUNSUPPORTED, "the driver takes neither the cubin (%s) nor the PTX (%s%s%s)",
                              rgt__cuda_api_name(api, refusal, why_cubin), rgt__cuda_api_name(api, result, why_ptx),
                              line[0] ? ": " : "", line);
  }
  rgt__free(log);
  return status;
}

static rgt_status load(const rgt__cuda_api *api, const rgt__code_pair *code, void **out, rgt__error *err) {
  char name[32];
  int result = api->cuModuleLoadDataEx(out, code->code, 0, NULL, NULL);
  if (result == RGT_CUDA_SUCCESS) return RGT_OK;
  if (!is_refused(result))
    return rgt__cuda_api_fail(api, result, err, "cuModuleLoadDataEx of a cubin of %zu bytes", code->code_bytes);
  if (code->ptx) return load_ptx(api, code->ptx, result, out, err);
  return rgt__error_set(err, RGT_EIO, "the driver does not take the cubin (%s), and its PTX is not there",
                        rgt__cuda_api_name(api, result, name));
}

static rgt__cuda_module *find(const rgt__cuda_api *api, const void *context, const rgt__digest *code) {
  for (rgt__cuda_module *m = modules; m; m = m->next)
    if (m->lib == api->lib && m->context == context && rgt__digest_equal(&m->code, code)) return m;
  return NULL;
}

static rgt_status add(const rgt__cuda_api *api, void *context, const rgt__digest *digest, const rgt__code_pair *code,
                      rgt__cuda_module **out, rgt__error *err) {
  rgt__cuda_module *m = rgt__alloc_zero(1, sizeof *m);
  if (!m) return rgt__error_nomem(err, sizeof *m);
  rgt_status status = load(api, code, &m->handle, err);
  if (status != RGT_OK) {
    rgt__free(m);
    return status;
  }
  m->lib = api->lib;
  m->context = context;
  m->code = *digest;
  m->next = modules;
  modules = m;
  *out = m;
  return RGT_OK;
}

rgt_status rgt__cuda_modules_get(const rgt__cuda_api *api, void *context, const rgt__code_pair *code, rgt__cuda_module **out,
                                 rgt__error *err) {
  rgt__digest digest;
  rgt_status status = RGT_OK;
  rgt__digest_of(code->code, code->code_bytes, &digest);
  pthread_mutex_lock(&lock);
  rgt__cuda_module *m = find(api, context, &digest);
  if (!m) status = add(api, context, &digest, code, &m, err);
  if (status == RGT_OK) {
    m->n_users++;
    *out = m;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

void rgt__cuda_modules_put(const rgt__cuda_api *api, rgt__cuda_module *m) {
  if (!m) return;
  pthread_mutex_lock(&lock);
  if (--m->n_users == 0) {
    rgt__cuda_module **link = &modules;
    while (*link != m) link = &(*link)->next;
    *link = m->next;
    if (api) api->cuModuleUnload(m->handle);
    rgt__free(m);
  }
  pthread_mutex_unlock(&lock);
}

void *rgt__cuda_modules_handle(const rgt__cuda_module *m) {
  return m->handle;
}

int rgt__cuda_modules_count(void) {
  int n = 0;
  pthread_mutex_lock(&lock);
  for (const rgt__cuda_module *m = modules; m; m = m->next) n++;
  pthread_mutex_unlock(&lock);
  return n;
}
