/* nvrtc.c -- RAGTUNE_LIBNVRTC, or the loader's names, the toolkit's folders, the folder of .ci/fetch-nvrtc. */
#include "nvrtc.h"

#include "device.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  int (*nvrtcVersion)(int *, int *);
  int (*nvrtcCreateProgram)(void **, const char *, const char *, int, const char *const *, const char *const *);
  int (*nvrtcCompileProgram)(void *, int, const char *const *);
  int (*nvrtcDestroyProgram)(void **);
  int (*nvrtcGetPTXSize)(void *, size_t *);
  int (*nvrtcGetPTX)(void *, char *);
  int (*nvrtcGetCUBINSize)(void *, size_t *);
  int (*nvrtcGetCUBIN)(void *, char *);
  int (*nvrtcGetProgramLogSize)(void *, size_t *);
  int (*nvrtcGetProgramLog)(void *, char *);
} api;

static char why[512];

/* The builtins lie beside it; NVRTC itself looks for them by name alone. */
static void open_builtins(const char *path) {
  char name[PATH_MAX];
  int major = 0, minor = 0;
  const char *slash = strrchr(path, '/');
  if (slash == NULL || api.nvrtcVersion(&major, &minor) != 0) return;
  snprintf(name, sizeof name, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - path), path, major, minor);
  dlopen(name, RTLD_NOW);
}

static int open_library(const char *path) {
  static const char *const names[] = {
      "nvrtcVersion", "nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcDestroyProgram",    "nvrtcGetPTXSize",
      "nvrtcGetPTX",  "nvrtcGetCUBINSize",  "nvrtcGetCUBIN",       "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"};
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == NULL) return 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void *address = dlsym(library, names[i]);
    if (address == NULL) return 0;
    memcpy((char *)&api + i * sizeof address, &address, sizeof address);
  }
  open_builtins(path);
  return 1;
}

static int open_pattern(const char *pattern) {
  glob_t found;
  int opened = 0;
  if (glob(pattern, 0, NULL, &found) != 0) return 0;
  for (size_t i = 0; i < found.gl_pathc && !opened; i++) opened = open_library(found.gl_pathv[i]);
  globfree(&found);
  return opened;
}

static int open_any(void) {
  const char *named = getenv("RAGTUNE_LIBNVRTC"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  char pattern[PATH_MAX];
  if (named != NULL && named[0] != '\0') return open_library(named);
  if (open_library("libnvrtc.so.13") || open_pattern("/usr/local/cuda*/lib64/libnvrtc.so*")) return 1;
  snprintf(pattern, sizeof pattern, "%s%s/ragtune/nvrtc/libnvrtc.so*",
           cache != NULL  ? cache
           : home != NULL ? home
                          : "",
           cache != NULL ? "" : "/.cache");
  return open_pattern(pattern);
}

const char *sim_nvrtc_missing(void) {
  static int state; /* 0: not tried */
  if (state == 0) state = open_any() ? 1 : -1;
  if (state < 0) snprintf(why, sizeof why, "NVRTC was not found: set RAGTUNE_LIBNVRTC or run .ci/fetch-nvrtc");
  return state > 0 ? NULL : why;
}

static void show_log(void *program) {
  size_t size = 0;
  if (api.nvrtcGetProgramLogSize(program, &size) != 0 || size < 2) return;
  char *log = malloc(size);
  if (log != NULL && api.nvrtcGetProgramLog(program, log) == 0) print_error("%s\n", log);
  free(log);
}

sim_compiled sim_nvrtc_compile(const char *source, const char *name, int sm, const char *const *options) {
  char architecture[32];
  const char *all[16] = {architecture, "--std=c++17", "-lineinfo"};
  int n = 3;
  sim_compiled out = {0};
  void *program = NULL;
  size_t size = 0;
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d", sm);
  for (; options != NULL && *options != NULL && n < 16; options++) all[n++] = *options;
  assert_int_equal(api.nvrtcCreateProgram(&program, source, name, 0, NULL, NULL), 0);
  if (api.nvrtcCompileProgram(program, n, all) != 0) {
    show_log(program);
    fail_msg("%s does not compile for sm_%d", name, sm);
  }
  assert_int_equal(api.nvrtcGetPTXSize(program, &size), 0);
  out.ptx = malloc(size);
  assert_non_null(out.ptx);
  assert_int_equal(api.nvrtcGetPTX(program, out.ptx), 0);
  assert_int_equal(api.nvrtcGetCUBINSize(program, &out.cubin_bytes), 0);
  out.cubin = malloc(out.cubin_bytes + 1);
  assert_non_null(out.cubin);
  assert_int_equal(api.nvrtcGetCUBIN(program, out.cubin), 0);
  api.nvrtcDestroyProgram(&program);
  return out;
}

void sim_compiled_free(sim_compiled *compiled) {
  free(compiled->ptx);
  free(compiled->cubin);
  *compiled = (sim_compiled){0};
}
