/* worker_find.c -- where the program ragtune-worker is, and what candidates may take in it. */
#include "runtime/worker_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buffer.h"
#include "runtime/base/file.h"
#include "runtime/beside.h"

#ifndef RGT_LIBEXEC_DIR
#define RGT_LIBEXEC_DIR "/usr/local/libexec/ragtune"
#endif

/* The same folder as an installed library and an installed program see it, wherever the tree was moved. */
#ifndef RGT_LIBEXEC_FROM_LIB
#define RGT_LIBEXEC_FROM_LIB "../libexec/ragtune"
#endif
#ifndef RGT_LIBEXEC_FROM_BIN
#define RGT_LIBEXEC_FROM_BIN "../libexec/ragtune"
#endif

#define PROGRAM "ragtune-worker"

enum { PATH_SIZE = RGT_BESIDE_MAX, N_PLACES = 5 };

/* For the message: each place once. */
static void list_places(char places[N_PLACES][PATH_SIZE], char *text, size_t size) {
  size_t n = 0;
  text[0] = 0;
  for (int i = 0; i < N_PLACES && n < size; i++) {
    int known = !places[i][0];
    for (int j = 0; j < i; j++) known |= strcmp(places[i], places[j]) == 0;
    if (!known) n += (size_t)snprintf(text + n, size - n, ", %.180s", places[i]);
  }
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
  char places[N_PLACES][PATH_SIZE] = {""}, list[N_PLACES * 190];
  const char *named = rgt__environment_get(env, RGT_ENV_RAGTUNE_WORKER);
  if (named) return find_named(named, where, path, path_size, err);
  *where = RGT_WORKER_CHILD;
  rgt__beside_library(".", PROGRAM, places[0]); /* a build folder's own goes before any that is installed */
  rgt__beside_program(".", PROGRAM, places[1]);
  rgt__beside_library(RGT_LIBEXEC_FROM_LIB, PROGRAM, places[2]);
  rgt__beside_program(RGT_LIBEXEC_FROM_BIN, PROGRAM, places[3]);
  snprintf(places[4], PATH_SIZE, "%s", RGT_LIBEXEC_DIR "/" PROGRAM); /* for programs elsewhere that hold the static library */
  for (int i = 0; i < N_PLACES; i++)
    if (places[i][0] && rgt__file_find_program(places[i], NULL, path, path_size)) return RGT_OK;
  list_places(places, list, sizeof list);
  return rgt__error_set(err, RGT_ENOWORKER, "no worker to run candidates in: looked for RAGTUNE_WORKER (unset)%s", list);
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
