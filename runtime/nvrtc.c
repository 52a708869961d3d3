/* nvrtc.c -- one compile: source to cubin and PTX, with the resources that the assembler reports. */
#include "runtime/nvrtc.h"

#include "runtime/base/alloc.h"
#include "runtime/nvrtc_api.h"
#include "runtime/nvrtc_log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Products and sums are contracted only where the text says so (__fmaf_rn): variants of one numeric class then agree bit for
 * bit, whatever surrounds the expression. No fast math, no flush to zero. */
static const char *const fixed_options[] = {"--std=c++17",     "-default-device",  "--fmad=false",      "--ftz=false",
                                            "--prec-div=true", "--prec-sqrt=true", "--ptxas-options=-v"};
enum { N_FIXED = sizeof fixed_options / sizeof fixed_options[0] };

void rgt__nvrtc_options(char *text, size_t text_size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < N_FIXED && used < text_size; i++)
    used += (size_t)snprintf(text + used, text_size - used, "%s%s", i > 0 ? " " : "", fixed_options[i]);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The program's log, owned by the caller; NULL when memory ran out. */
static char *take_log(const rgt__nvrtc_api *api, rgt__nvrtc_handle program) {
  size_t bytes = 0;
  if (api->nvrtcGetProgramLogSize(program, &bytes) != RGT_NVRTC_SUCCESS) bytes = 0;
  char *log = rgt__alloc(bytes + 1);
  if (log == NULL) return NULL;
  if (bytes == 0 || api->nvrtcGetProgramLog(program, log) != RGT_NVRTC_SUCCESS) bytes = 0;
  log[bytes] = '\0';
  return log;
}

/* One output, cubin or PTX, with a NUL after it. */
static rgt_status take_output(int (*size)(rgt__nvrtc_handle, size_t *), int (*get)(rgt__nvrtc_handle, char *),
                              rgt__nvrtc_handle program, const char *what, char **data, size_t *bytes, rgt__error *err) {
  size_t n = 0;
  if (size(program, &n) != RGT_NVRTC_SUCCESS || n == 0) return rgt__error_set(err, RGT_ECOMPILE, "NVRTC gave no %s", what);
  char *to = rgt__alloc(n + 1);
  if (to == NULL) return rgt__error_nomem(err, n + 1);
  if (get(program, to) != RGT_NVRTC_SUCCESS) {
    rgt__free(to);
    return rgt__error_set(err, RGT_ECOMPILE, "NVRTC gave no %s", what);
  }
  to[n] = '\0';
  *data = to;
  *bytes = n;
  return RGT_OK;
}

static rgt_status failed(const rgt__nvrtc *n, int code, const char *log, const char *target, rgt__compiled *out,
                         rgt__error *err) {
  if (code == RGT_NVRTC_OUT_OF_MEMORY) return rgt__error_set(err, RGT_ENOMEM, "NVRTC ran out of memory for %s", target);
  rgt__nvrtc_log_first_error(log, out->log, sizeof out->log);
  return rgt__error_set(err, RGT_ECOMPILE, "for %s, %s: %s", target, n->api.nvrtcGetErrorString(code), out->log);
}

/* The finished program's outputs into *out; PTX ends with a NUL of its own, which is not counted. */
static rgt_status collect(const rgt__nvrtc_api *api, rgt__nvrtc_handle program, const char *log, const char *target,
                          rgt__compiled *out, rgt__error *err) {
  if (!rgt__nvrtc_log_resources(log, out)) {
    snprintf(out->log, sizeof out->log, "the log reports no registers: no kernel, or --ptxas-options=-v is not known");
    return rgt__error_set(err, RGT_ECOMPILE, "for %s, %s", target, out->log);
  }
  rgt_status status =
      take_output(api->nvrtcGetCUBINSize, api->nvrtcGetCUBIN, program, "cubin", &out->code, &out->code_bytes, err);
  if (status == RGT_OK)
    status = take_output(api->nvrtcGetPTXSize, api->nvrtcGetPTX, program, "PTX", &out->ptx, &out->ptx_bytes, err);
  if (status == RGT_OK) out->ptx_bytes = strlen(out->ptx);
  return status;
}

rgt_status rgt__nvrtc_compile(rgt__nvrtc *n, const char *source, const char *target, rgt__compiled *out, rgt__error *err) {
  const rgt__nvrtc_api *api = &n->api;
  const char *options[N_FIXED + 1];
  char arch[80], *log = NULL;
  rgt__nvrtc_handle program = NULL;
  rgt__compiled made = {0};
  double start = now_ms();

  memcpy(options, fixed_options, sizeof fixed_options);
  snprintf(arch, sizeof arch, "-arch=%s", target);
  options[N_FIXED] = arch;
  int code = api->nvrtcCreateProgram(&program, source, "ragtune.cu", 0, NULL, NULL);
  if (code != RGT_NVRTC_SUCCESS)
    return rgt__error_set(err, code == RGT_NVRTC_OUT_OF_MEMORY ? RGT_ENOMEM : RGT_ECOMPILE, "NVRTC made no program: %s",
                          api->nvrtcGetErrorString(code));
  code = api->nvrtcCompileProgram(program, N_FIXED + 1, options);
  log = take_log(api, program);
  rgt_status status;
  if (log == NULL)
    status = rgt__error_nomem(err, 1);
  else if (code != RGT_NVRTC_SUCCESS)
    status = failed(n, code, log, target, &made, err);
  else
    status = collect(api, program, log, target, &made, err);
  if (status != RGT_OK) {
    rgt__free(made.code);
    rgt__free(made.ptx);
    made.code = made.ptx = NULL;
    made.code_bytes = made.ptx_bytes = 0;
  }
  made.milliseconds = now_ms() - start;
  *out = made;
  rgt__free(log);
  api->nvrtcDestroyProgram(&program);
  return status;
}
