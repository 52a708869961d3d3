/* worker_find.c -- where the program ragtune-worker is, and what candidates may take in it. */
#include "runtime/worker_find.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buffer.h"
#include "runtime/base/file.h"

#ifndef RGT_LIBEXEC_DIR
#define RGT_LIBEXEC_DIR "/usr/local/libexec/ragtune"
#endif

#define PROGRAM "ragtune-worker"

enum { PATH_SIZE = 1024, N_PLACES = 3 };

/* "folder of what/ragtune-worker"; "" where that is not known or too long. */
static void beside(const char *what, char out[PATH_SIZE]) {
  const char *end = strrchr(what, '/');
  out[0] = 0;
  if (end && (size_t)snprintf(out, PATH_SIZE, "%.*s/%s", (int)(end - what), what, PROGRAM) >= PATH_SIZE) out[0] = 0;
}

static void beside_library(char out[PATH_SIZE]) {
  static const char mark; /* lies in this library, or in the program that it is linked into */
  Dl_info info;
  out[0] = 0;
  if (!dladdr(&mark, &info) || !info.dli_fname) return;
  char *real = realpath(info.dli_fname, NULL);
  if (real) beside(real, out);
  free(real);
}

static void beside_program(char out[PATH_SIZE]) {
  char self[PATH_SIZE];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  self[n > 0 ? n : 0] = 0;
  beside(self, out);
}

static rgt_status find_named(const char *name, rgt__worker_where *where, char *path, size_t path_size, rgt__error *err) {
  if (strcmp(name, "inside") == 0) {
    *where = RGT_WORKER_INSIDE;
    path[0] = 0;
    return RGT_OK;
  }
  *where = RGT_WORKER_CHILD;
  if (strchr(name, '/') && rgt__file_find_program(name, NULL, path, path_size)) return RGT_OK;
  return rgt__error_set(err, RGT_ENOWORKER,
                        "no worker to run candidates in: RAGTUNE_WORKER=%s is no program; give the path of " PROGRAM, name);
}

rgt_status rgt__worker_find(const rgt__environment *env, rgt__worker_where *where, char *path, size_t path_size,
                            rgt__error *err) {
  char places[N_PLACES][PATH_SIZE] = {RGT_LIBEXEC_DIR "/" PROGRAM};
  const char *named = rgt__environment_get(env, RGT_ENV_RAGTUNE_WORKER);
  if (named) return find_named(named, where, path, path_size, err);
  *where = RGT_WORKER_CHILD;
  beside_library(places[1]);
  beside_program(places[2]);
  for (int i = 0; i < N_PLACES; i++)
    if (places[i][0] && rgt__file_find_program(places[i], NULL, path, path_size)) return RGT_OK;
  int same = strcmp(places[1], places[2]) == 0;
  return rgt__error_set(err, RGT_ENOWORKER,
                        "no worker to run candidates in: looked for RAGTUNE_WORKER (unset), %.250s, %.250s%s%.250s", places[0],
                        places[1], same ? "" : ", ", same ? "" : places[2]);
}

/* A number above 0 and up to most, or what was there before. */
static rgt_status read_number(const rgt__environment *env, rgt__environment_name name, double most, double *out,
                              rgt__error *err) {
  const char *text = rgt__environment_get(env, name);
  if (!text) return RGT_OK;
  char *end = NULL;
  double v = strtod(text, &end);
  if (end == text || *end || !(v > 0 && v <= most))
    return rgt__error_set(err, RGT_EINVAL, "%s is \"%s\"; it can be a number above 0, up to %.0f", rgt__environment_label(name),
                          text, most);
  *out = v;
  return RGT_OK;
}

rgt_status rgt__worker_limits_read(const rgt__environment *env, rgt__worker_limits *out, rgt__error *err) {
  double run_s = 10, compile_s = 60, mib = 2048;
  rgt_status status = read_number(env, RGT_ENV_RAGTUNE_RUN_LIMIT_S, 1e6, &run_s, err);
  if (status == RGT_OK) status = read_number(env, RGT_ENV_RAGTUNE_COMPILE_LIMIT_S, 1e6, &compile_s, err);
  if (status == RGT_OK) status = read_number(env, RGT_ENV_RAGTUNE_MEMORY_LIMIT_MIB, 1e9, &mib, err);
  if (status == RGT_OK) *out = (rgt__worker_limits){run_s, compile_s, (int64_t)(mib * 0x1p20)};
  return status;
}
