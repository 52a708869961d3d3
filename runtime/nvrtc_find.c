/* nvrtc_find.c -- finding and opening NVRTC. */
#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/dynlib.h"
#include "runtime/elf.h"
#include "runtime/nvrtc.h"
#include "runtime/nvrtc_api.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rgt__dynlib_symbol symbols[] = {
#define SYMBOL(name, params) {#name, offsetof(rgt__nvrtc_api, name)},
    RGT_NVRTC_LIST(SYMBOL)
#undef SYMBOL
        {"nvrtcGetErrorString", offsetof(rgt__nvrtc_api, nvrtcGetErrorString)},
};

/* NVRTC loads libnvrtc-builtins.so.<version> by name when it first compiles. It is opened here by path, from the same folder,
 * so that it is found wherever NVRTC lies. 1 if it could be opened there or by the loader. */
static int open_builtins(rgt__nvrtc *n, rgt__buffer *why) {
  const char *slash = strrchr(n->path, '/');
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", n->major, n->minor);
  snprintf(path, sizeof path, "%.*s/%s", slash == NULL ? 0 : (int)(slash - n->path), n->path, name);
  rgt__buffer ignored = {0};
  n->builtins = rgt__dynlib_open(path, &ignored);
  if (n->builtins == NULL) n->builtins = rgt__dynlib_open(name, &ignored);
  rgt__buffer_free(&ignored);
  if (n->builtins == NULL) {
    char reason[128];
    snprintf(reason, sizeof reason, "%s is not beside it", name);
    rgt__dynlib_why(why, n->path, reason);
  }
  return n->builtins != NULL;
}

static int ask_targets(rgt__nvrtc *n) {
  int count = 0;
  if (n->api.nvrtcGetNumSupportedArchs(&count) != RGT_NVRTC_SUCCESS || count < 1 || count > RGT_NVRTC_TARGETS_MAX) return 0;
  if (n->api.nvrtcGetSupportedArchs(n->targets) != RGT_NVRTC_SUCCESS) return 0;
  n->n_targets = count;
  return 1;
}

/* One candidate: 1 if everything that is needed is there. */
static int try_library(rgt__nvrtc *n, const char *name, rgt__buffer *why) {
  memset(n, 0, sizeof *n);
  n->lib = rgt__dynlib_open(name, why);
  if (n->lib == NULL) return 0;
  const char *missing = rgt__dynlib_symbols(n->lib, symbols, sizeof symbols / sizeof symbols[0], &n->api);
  char reason[128];
  if (missing != NULL) {
    snprintf(reason, sizeof reason, "has no %s", missing);
    rgt__dynlib_why(why, name, reason);
  } else if (n->api.nvrtcVersion(&n->major, &n->minor) != RGT_NVRTC_SUCCESS || !ask_targets(n)) {
    rgt__dynlib_why(why, name, "does not state its version and targets");
  } else {
    void *address;
    memcpy(&address, &n->api.nvrtcVersion, sizeof address);
    if (!rgt__dynlib_path(address, n->path, sizeof n->path)) snprintf(n->path, sizeof n->path, "%s", name);
    if (open_builtins(n, why)) return 1;
  }
  rgt__dynlib_close(n->lib);
  return 0;
}

static int try_pattern(rgt__nvrtc *n, const char *pattern, rgt__buffer *why) {
  glob_t found;
  int done = 0;
  if (glob(pattern, 0, NULL, &found) != 0) {
    rgt__dynlib_why(why, pattern, "no such file");
    return 0;
  }
  for (size_t i = 0; i < found.gl_pathc && !done; i++) done = try_library(n, found.gl_pathv[i], why);
  globfree(&found);
  return done;
}

rgt_status rgt__nvrtc_open_places(const rgt__nvrtc_places *places, rgt__nvrtc **out, rgt__error *err) {
  rgt__buffer why = {0};
  rgt_status status = RGT_OK;
  rgt__nvrtc *n = rgt__alloc(sizeof *n);
  int found = 0;
  if (n == NULL) return rgt__error_nomem(err, sizeof *n);
  for (int i = 0; !found && places->names[i] != NULL; i++) found = try_library(n, places->names[i], &why);
  for (int i = 0; !found && places->patterns[i] != NULL; i++) found = try_pattern(n, places->patterns[i], &why);
  if (found) {
    *out = n;
  } else {
    status = rgt__error_set(err, RGT_ENOCOMPILER,
                            "NVRTC, the CUDA run-time compiler, was not found: set RAGTUNE_LIBNVRTC to a libnvrtc.so or run "
                            ".ci/fetch-nvrtc; tried %s",
                            why.data != NULL ? why.data : "nothing");
    rgt__free(n);
  }
  rgt__buffer_free(&why);
  return status;
}

/* Folder of .ci/fetch-nvrtc as a pattern; "" where the environment has no home. */
static void fetched_pattern(const rgt__environment *env, char *pattern, size_t size) {
  const char *cache = rgt__environment_get(env, RGT_ENV_XDG_CACHE_HOME), *home = rgt__environment_get(env, RGT_ENV_HOME);
  pattern[0] = '\0';
  if (cache != NULL)
    snprintf(pattern, size, "%s/ragtune/nvrtc/libnvrtc.so*", cache);
  else if (home != NULL)
    snprintf(pattern, size, "%s/.cache/ragtune/nvrtc/libnvrtc.so*", home);
}

rgt_status rgt__nvrtc_open(const rgt__environment *env, rgt__nvrtc **out, rgt__error *err) {
  static const char *const loader_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
  static const char *const none[] = {NULL};
  char fetched[PATH_MAX];
  const char *named[] = {rgt__environment_get(env, RGT_ENV_RAGTUNE_LIBNVRTC), NULL};
  const char *patterns[] = {"/usr/local/cuda*/lib64/libnvrtc.so*", "/usr/lib/*-linux-gnu/libnvrtc.so*", fetched, NULL};
  rgt__nvrtc_places places = {loader_names, patterns};
  fetched_pattern(env, fetched, sizeof fetched);
  if (fetched[0] == '\0') patterns[2] = NULL;
  if (named[0] != NULL) places = (rgt__nvrtc_places){named, none};
  return rgt__nvrtc_open_places(&places, out, err);
}

void rgt__nvrtc_close(rgt__nvrtc *n) {
  if (n == NULL) return;
  rgt__dynlib_close(n->builtins);
  rgt__dynlib_close(n->lib);
  rgt__free(n);
}

int rgt__nvrtc_targets(const rgt__nvrtc *n, int *sm, int max) {
  for (int i = 0; i < n->n_targets && i < max; i++) sm[i] = n->targets[i];
  return n->n_targets;
}

const char *rgt__nvrtc_path(const rgt__nvrtc *n) {
  return n->path;
}

void rgt__nvrtc_version(const rgt__nvrtc *n, char *text, size_t text_size) {
  char build[RGT_BUILD_ID_MAX];
  int64_t size = 0, mtime_ns = 0;
  void *address;
  memcpy(&address, &n->api.nvrtcVersion, sizeof address);
  if (!rgt__elf_build_id(address, build)) strcpy(build, "none");
  rgt__file_stamp(n->path, &size, &mtime_ns);
  snprintf(text, text_size, "nvrtc %d.%d build-id %s size %lld", n->major, n->minor, build, (long long)size);
}
