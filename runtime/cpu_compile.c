/* cpu_compile.c -- the machine's own C compiler: found once, run by posix_spawn. */
#include "runtime/cpu_compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/process.h"

enum { COMPILE_LIMIT_MS = 60000, VERSION_LIMIT_MS = 10000, CODE_MAX = 64 << 20 };

/* -ffp-contract=off: a sum is fused where the source says so, and nowhere else, so that bits do not depend on the compiler's
 * mood. -nostdlib: the object needs nothing of its own; memcpy and memset come from the process that loads it. */
#define COMMON_OPTIONS "-O3", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-w", "-pipe"
#define OPTIONS_TEXT "-O3 -std=gnu11 -ffp-contract=off -fno-math-errno -fPIC -shared -nostdlib"

static const char *const target_options[][8] = {
    {"plain", NULL},
    {"x86-64-avx2", "-mavx2", "-mfma", "-mf16c", NULL},
    {"x86-64-avx512", "-mavx512f", "-mavx512vl", "-mavx512bw", "-mavx512dq", "-mfma", "-mf16c", NULL},
};

void rgt__cpu_compiler_find(const rgt__environment *env, rgt__cpu_compiler *out) {
  static const char *const usual[] = {"cc", "gcc", "clang"};
  memset(out, 0, sizeof *out);
  out->limit_ms = COMPILE_LIMIT_MS;
  const char *named = rgt__environment_get(env, RGT_ENV_RAGTUNE_CC);
  const char *path = rgt__environment_get(env, RGT_ENV_PATH);
  const char *scratch = rgt__environment_get(env, RGT_ENV_TMPDIR);
  snprintf(out->scratch, sizeof out->scratch, "%s", scratch && strlen(scratch) < sizeof out->scratch ? scratch : "/tmp");
  if (named) {
    snprintf(out->looked_for, sizeof out->looked_for, "RAGTUNE_CC=%s", named);
    if (strcmp(named, "none") != 0 && !rgt__file_find_program(named, path, out->path, sizeof out->path)) out->path[0] = 0;
    return;
  }
  snprintf(out->looked_for, sizeof out->looked_for, "cc, gcc, clang on PATH (%.400s)", path ? path : "unset");
  for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
    if (rgt__file_find_program(usual[i], path, out->path, sizeof out->path)) return;
  out->path[0] = 0;
}

static rgt_status no_compiler(const rgt__cpu_compiler *c, rgt__error *err) {
  return rgt__error_set(err, RGT_ENOCOMPILER, "no C compiler: looked for %s; install gcc or name one by RAGTUNE_CC",
                        c->looked_for);
}

rgt_status rgt__cpu_compiler_version(const rgt__cpu_compiler *c, char *text, size_t text_size, rgt__error *err) {
  if (!c->path[0]) return no_compiler(c, err);
  char path[512];
  snprintf(path, sizeof path, "%s", c->path);
  char *argv[] = {path, (char *)(uintptr_t) "--version", NULL};
  rgt__buffer output = {0};
  int code = 0;
  rgt_status status = rgt__process_run(argv, &(rgt__process_limits){.ms = VERSION_LIMIT_MS}, &output, &code, err);
  if (status == RGT_OK && code != 0)
    status =
        rgt__error_set(err, RGT_ENOCOMPILER, "%s --version ended with status %d; it is no usable C compiler", c->path, code);
  if (status == RGT_OK) {
    int64_t size = 0, mtime = 0;
    char *real = realpath(c->path, NULL);
    rgt__file_stamp(real ? real : c->path, &size, &mtime);
    free(real);
    size_t line = output.data ? strcspn(output.data, "\n") : 0;
    snprintf(text, text_size, "%.*s; %lld bytes; %s", line > 150 ? 150 : (int)line, output.data ? output.data : "",
             (long long)size, OPTIONS_TEXT);
  }
  rgt__buffer_free(&output);
  return status;
}

static double ms_since(const struct timespec *start) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)(t.tv_sec - start->tv_sec) * 1e3 + (double)(t.tv_nsec - start->tv_nsec) / 1e6;
}

/* The first line that says "error:", else "error", else the first line. The colon matters: "In function 'index_error'" is no
 * error. */
static void first_error(const rgt__cpu_compiler *c, int code, const rgt__buffer *output, const char *folder, char *log,
                        size_t log_size) {
  const char *text = output->data ? output->data : "";
  const char *at = strstr(text, "error:");
  if (!at) at = strstr(text, "error");
  if (!at) { /* no complaint about the source: the program itself is what is wrong */
    snprintf(log, log_size, "%.400s ended with status %d%s%.*s", c->path, code, text[0] ? ": " : " and said nothing",
             (int)strcspn(text, "\n"), text);
    return;
  }
  while (at > text && at[-1] != '\n') at--;
  size_t prefix = strlen(folder);
  if (strncmp(at, folder, prefix) == 0 && at[prefix] == '/') at += prefix + 1;
  snprintf(log, log_size, "%.*s", (int)strcspn(at, "\n"), at);
}

static rgt_status run(const rgt__cpu_compiler *c, const char *folder, const char *in_path, const char *out_path,
                      const char *target, int want_asm, const rgt__stop *stop, rgt__compiled *out, rgt__error *err) {
  const char *argv[40] = {c->path, COMMON_OPTIONS};
  int n = 0;
  while (argv[n]) n++;
  int known = 0;
  for (size_t t = 0; t < sizeof target_options / sizeof target_options[0]; t++)
    if (strcmp(target, target_options[t][0]) == 0) {
      known = 1;
      for (int i = 1; target_options[t][i]; i++) argv[n++] = target_options[t][i];
    }
  if (!known)
    return rgt__error_set(err, RGT_EINVAL, "target \"%s\" is no CPU target: plain, x86-64-avx2 or x86-64-avx512", target);
  if (want_asm) {
    argv[n++] = "-S";
  } else {
    argv[n++] = "-shared";
    argv[n++] = "-nostdlib";
    argv[n++] = "-Wl,--build-id=none";
  }
  argv[n++] = "-o";
  argv[n++] = out_path;
  argv[n++] = in_path;
  argv[n] = NULL;
  rgt__buffer output = {0};
  int code = 0;
  rgt__process_limits limits = {c->limit_ms, c->memory_bytes, stop, c->same_group};
  rgt_status status = rgt__process_run((char *const *)(uintptr_t)argv, &limits, &output, &code, err);
  if (status == RGT_ETIMEOUT || (status == RGT_OK && code != 0)) {
    if (status == RGT_OK) {
      char name[24];
      if (code > 128)
        snprintf(out->log, sizeof out->log, "%.400s was ended by %s", c->path, rgt__process_signal(code - 128, name));
      else
        first_error(c, code, &output, folder, out->log, sizeof out->log);
      status = rgt__error_set(err, RGT_ECOMPILE, "%s", out->log);
    } else {
      snprintf(out->log, sizeof out->log, "still compiling after %g s", c->limit_ms / 1000.0);
    }
  }
  rgt__buffer_free(&output);
  return status;
}

rgt_status rgt__cpu_compiler_run(const rgt__cpu_compiler *c, const char *source, size_t bytes, const char *target, int want_asm,
                                 const rgt__stop *stop, rgt__compiled *out, rgt__error *err) {
  if (!c->path[0]) return no_compiler(c, err);
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  memset(out, 0, sizeof *out);
  char folder[300], in_path[340], out_path[340];
  snprintf(folder, sizeof folder, "%s/" RGT_SCRATCH_NAME "%d-XXXXXX", c->scratch, (int)getpid());
  if (!mkdtemp(folder)) { /* TMPDIR names a folder that is not there, or not ours to write */
    int reason = errno;
    snprintf(folder, sizeof folder, "/tmp/" RGT_SCRATCH_NAME "%d-XXXXXX", (int)getpid());
    if (strcmp(c->scratch, "/tmp") == 0 || !mkdtemp(folder))
      return rgt__error_set(err, RGT_EIO, "%s%s: no temporary folder: %s%s",
                            strcmp(c->scratch, "/tmp") == 0 ? "" : "TMPDIR=", c->scratch, strerror(reason),
                            strcmp(c->scratch, "/tmp") == 0 ? "" : "; nor in /tmp");
  }
  snprintf(in_path, sizeof in_path, "%s/variant.c", folder);
  snprintf(out_path, sizeof out_path, "%s/variant.%s", folder, want_asm ? "s" : "so");
  rgt__buffer code = {0};
  rgt_status status = RGT_OK;
  FILE *f = fopen(in_path, "we");
  if (!f || fwrite(source, 1, bytes, f) != bytes)
    status = rgt__error_set(err, RGT_EIO, "%s: cannot be written: %s", in_path, strerror(errno));
  if (f && fclose(f) != 0 && status == RGT_OK)
    status = rgt__error_set(err, RGT_EIO, "%s: cannot be written: %s", in_path, strerror(errno));
  if (status == RGT_OK) status = run(c, folder, in_path, out_path, target, want_asm, stop, out, err);
  if (status == RGT_OK) status = rgt__file_read(out_path, CODE_MAX, &code, err);
  unlink(in_path);
  unlink(out_path);
  rmdir(folder);
  if (status == RGT_OK && !(out->code = rgt__buffer_take(&code, &out->code_bytes))) status = rgt__error_nomem(err, code.size);
  rgt__buffer_free(&code);
  out->milliseconds = ms_since(&start);
  return status;
}
