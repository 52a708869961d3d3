/* nvrtc_pack.c -- an NVRTC that remembers: RAGTUNE_LIBNVRTC may name it.
 *
 * A compile is looked up by the hash of its source and options in a folder; what is not there is passed on to a real NVRTC
 * where one is named, and kept when recording. So a machine without NVRTC runs what another one compiled, through the very code
 * paths that compile.
 *
 *   GPU_CHECK_PACK    the folder; default "packed" beside this library
 *   GPU_CHECK_NVRTC   path of the real one; unset: none
 *   GPU_CHECK_RECORD  set: keep what the real one makes
 *
 * An entry is a file named by the hash: "ragtune-pack CODE CUBIN_BYTES PTX_BYTES LOG_BYTES\n", then the three. The file "nvrtc"
 * holds the version and the targets of the one that made them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/dynlib.h"
#include "runtime/nvrtc_api.h"

#define EXPORT __attribute__((visibility("default")))
enum { COMPILATION_FAILED = 6, PATH_BYTES = 1024, ENTRY_BYTES_MAX = 256 << 20 };

struct rgt__nvrtc_program {
  char *source;
  rgt__buffer entry; /* as it lies in the folder */
  size_t n_head, n_cubin, n_ptx, n_log;
};

static struct {
  rgt__nvrtc_api api;
  int has_real, recording, major, minor, n_targets, targets[RGT_NVRTC_TARGETS_MAX];
  char folder[PATH_BYTES];
} pack;

static const rgt__dynlib_symbol symbols[] = {
#define SYMBOL(name, params) {#name, offsetof(rgt__nvrtc_api, name)},
    RGT_NVRTC_LIST(SYMBOL)
#undef SYMBOL
        {"nvrtcGetErrorString", offsetof(rgt__nvrtc_api, nvrtcGetErrorString)},
};

/* ---- opening ---- */

/* The real one's builtins first, by path: it asks for them by name when it first compiles. */
static void open_builtins(const char *path) {
  const char *slash = strrchr(path, '/');
  char builtins[PATH_BYTES];
  snprintf(builtins, sizeof builtins, "%.*slibnvrtc-builtins.so.%d.%d", slash ? (int)(slash + 1 - path) : 0, path, pack.major,
           pack.minor);
  dlopen(builtins, RTLD_NOW | RTLD_GLOBAL);
}

static void open_real(const char *path) {
  rgt__buffer why = {0};
  void *lib = rgt__dynlib_open(path, &why);
  rgt__buffer_free(&why);
  if (!lib || rgt__dynlib_symbols(lib, symbols, sizeof symbols / sizeof symbols[0], &pack.api)) return;
  int n = 0;
  if (pack.api.nvrtcVersion(&pack.major, &pack.minor) || pack.api.nvrtcGetNumSupportedArchs(&n)) return;
  if (n < 1 || n > RGT_NVRTC_TARGETS_MAX || pack.api.nvrtcGetSupportedArchs(pack.targets)) return;
  pack.n_targets = n;
  pack.has_real = 1;
  open_builtins(path);
}

static void write_about(void) {
  rgt__buffer b = {0};
  char path[PATH_BYTES];
  rgt__error err;
  rgt__buffer_format(&b, "%d %d", pack.major, pack.minor);
  for (int i = 0; i < pack.n_targets; i++) rgt__buffer_format(&b, " %d", pack.targets[i]);
  if (rgt__file_join(path, sizeof path, pack.folder, "nvrtc", &err) == RGT_OK && !b.failed && b.data)
    rgt__file_write(path, b.data, strlen(b.data), 0644, &err);
  rgt__buffer_free(&b);
}

static void read_about(void) {
  char path[PATH_BYTES];
  rgt__error err;
  FILE *f = rgt__file_join(path, sizeof path, pack.folder, "nvrtc", &err) == RGT_OK ? fopen(path, "r") : NULL;
  if (!f) return;
  if (fscanf(f, "%d %d", &pack.major, &pack.minor) == 2)
    while (pack.n_targets < RGT_NVRTC_TARGETS_MAX && fscanf(f, "%d", &pack.targets[pack.n_targets]) == 1) pack.n_targets++;
  fclose(f);
}

static void open_pack(void) {
  const char *folder = getenv("GPU_CHECK_PACK"), *real = getenv("GPU_CHECK_NVRTC");
  Dl_info self;
  rgt__error err;
  pack.recording = getenv("GPU_CHECK_RECORD") != NULL;
  if (folder) {
    snprintf(pack.folder, sizeof pack.folder, "%s", folder);
  } else if (dladdr(&pack, &self) && self.dli_fname && strrchr(self.dli_fname, '/')) {
    int n = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);
    snprintf(pack.folder, sizeof pack.folder, "%.*s/packed", n, self.dli_fname);
  }
  if (real && *real) open_real(real);
  if (pack.has_real && pack.recording && rgt__file_make_folder(pack.folder, &err) == RGT_OK) write_about();
  if (!pack.has_real) read_about();
}

static void opened(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_pack);
}

/* ---- entries ---- */

static int parse_entry(struct rgt__nvrtc_program *p) {
  int code = 0, n_head = 0;
  size_t total;
  if (!p->entry.data ||
      sscanf(p->entry.data, "ragtune-pack %d %zu %zu %zu%n", &code, &p->n_cubin, &p->n_ptx, &p->n_log, &n_head) != 4)
    return -1;
  p->n_head = (size_t)n_head + 1;
  total = p->n_head + p->n_cubin + p->n_ptx + p->n_log;
  return p->n_cubin < ENTRY_BYTES_MAX && p->n_ptx < ENTRY_BYTES_MAX && p->n_log < ENTRY_BYTES_MAX && total == p->entry.size
             ? code
             : -1;
}

static int fill(struct rgt__nvrtc_program *p, int code, const char *cubin, size_t n_cubin, const char *ptx, size_t n_ptx,
                const char *log, size_t n_log) {
  rgt__buffer_clear(&p->entry);
  rgt__buffer_format(&p->entry, "ragtune-pack %d %zu %zu %zu\n", code, n_cubin, n_ptx, n_log);
  rgt__buffer_add(&p->entry, cubin, n_cubin);
  rgt__buffer_add(&p->entry, ptx, n_ptx);
  rgt__buffer_add(&p->entry, log, n_log);
  return p->entry.failed ? RGT_NVRTC_OUT_OF_MEMORY : parse_entry(p);
}

/* One output of the real one. NULL: none, or no memory. */
static char *take(int (*size)(rgt__nvrtc_handle, size_t *), int (*get)(rgt__nvrtc_handle, char *), rgt__nvrtc_handle h,
                  size_t *n) {
  *n = 0;
  if (size(h, n) != RGT_NVRTC_SUCCESS || *n == 0) return NULL;
  char *to = rgt__alloc(*n);
  if (to && get(h, to) == RGT_NVRTC_SUCCESS) return to;
  rgt__free(to);
  *n = 0;
  return NULL;
}

static int compile_really(struct rgt__nvrtc_program *p, int n_options, const char *const *options) {
  rgt__nvrtc_handle h = NULL;
  const rgt__nvrtc_api *api = &pack.api;
  int code = api->nvrtcCreateProgram(&h, p->source, "ragtune.cu", 0, NULL, NULL);
  if (code != RGT_NVRTC_SUCCESS) return code;
  size_t n_cubin, n_ptx, n_log;
  code = api->nvrtcCompileProgram(h, n_options, options);
  char *cubin = take(api->nvrtcGetCUBINSize, api->nvrtcGetCUBIN, h, &n_cubin);
  char *ptx = take(api->nvrtcGetPTXSize, api->nvrtcGetPTX, h, &n_ptx);
  char *log = take(api->nvrtcGetProgramLogSize, api->nvrtcGetProgramLog, h, &n_log);
  code = fill(p, code, cubin, n_cubin, ptx, n_ptx, log, n_log);
  rgt__free(cubin), rgt__free(ptx), rgt__free(log);
  api->nvrtcDestroyProgram(&h);
  return code;
}

static void entry_path(const struct rgt__nvrtc_program *p, int n_options, const char *const *options, char path[PATH_BYTES]) {
  rgt__hash hash;
  rgt__digest digest;
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__error err;
  rgt__hash_init(&hash);
  rgt__hash_text(&hash, p->source);
  for (int i = 0; i < n_options; i++) rgt__hash_text(&hash, options[i]);
  rgt__hash_end(&hash, &digest);
  rgt__digest_hex(&digest, hex);
  if (rgt__file_join(path, PATH_BYTES, pack.folder, hex, &err) != RGT_OK) path[0] = 0;
}

/* ---- what NVRTC exports ---- */

#define DECLARE(name, params) EXPORT int name params;
RGT_NVRTC_LIST(DECLARE)
#undef DECLARE
EXPORT const char *nvrtcGetErrorString(int code);

EXPORT int nvrtcVersion(int *major, int *minor) {
  opened();
  *major = pack.major, *minor = pack.minor;
  return pack.n_targets > 0 ? RGT_NVRTC_SUCCESS : COMPILATION_FAILED;
}

EXPORT int nvrtcGetNumSupportedArchs(int *n) {
  opened();
  *n = pack.n_targets;
  return RGT_NVRTC_SUCCESS;
}

EXPORT int nvrtcGetSupportedArchs(int *targets) {
  opened();
  memcpy(targets, pack.targets, (size_t)pack.n_targets * sizeof *targets);
  return RGT_NVRTC_SUCCESS;
}

EXPORT int nvrtcCreateProgram(rgt__nvrtc_handle *program, const char *source, const char *name, int n_headers,
                              const char *const *headers, const char *const *header_names) {
  (void)name, (void)headers, (void)header_names;
  opened();
  if (n_headers > 0) return COMPILATION_FAILED;
  struct rgt__nvrtc_program *p = rgt__alloc_zero(1, sizeof *p);
  if (p) p->source = rgt__strdup(source);
  if (!p || !p->source) {
    rgt__free(p);
    return RGT_NVRTC_OUT_OF_MEMORY;
  }
  *program = p;
  return RGT_NVRTC_SUCCESS;
}

EXPORT int nvrtcCompileProgram(rgt__nvrtc_handle p, int n_options, const char *const *options) {
  static const char absent[] = "ragtune.cu(1): error: not among the compiled variants that came along, and no NVRTC is here";
  char path[PATH_BYTES];
  rgt__error err;
  entry_path(p, n_options, options, path);
  if (rgt__file_read(path, ENTRY_BYTES_MAX, &p->entry, &err) == RGT_OK) {
    int code = parse_entry(p);
    if (code >= 0) return code;
  }
  rgt__buffer_clear(&p->entry);
  if (!pack.has_real) return fill(p, COMPILATION_FAILED, NULL, 0, NULL, 0, absent, sizeof absent);
  int code = compile_really(p, n_options, options);
  if (pack.recording && p->entry.size > 0) rgt__file_write(path, p->entry.data, p->entry.size, 0644, &err);
  return code;
}

static int part_size(size_t n, size_t *bytes) {
  *bytes = n;
  return RGT_NVRTC_SUCCESS;
}

static int part(const struct rgt__nvrtc_program *p, size_t from, size_t n, char *to) {
  if (n > 0) memcpy(to, p->entry.data + from, n);
  return RGT_NVRTC_SUCCESS;
}

EXPORT int nvrtcGetCUBINSize(rgt__nvrtc_handle p, size_t *bytes) {
  return part_size(p->n_cubin, bytes);
}
EXPORT int nvrtcGetCUBIN(rgt__nvrtc_handle p, char *to) {
  return part(p, p->n_head, p->n_cubin, to);
}
EXPORT int nvrtcGetPTXSize(rgt__nvrtc_handle p, size_t *bytes) {
  return part_size(p->n_ptx, bytes);
}
EXPORT int nvrtcGetPTX(rgt__nvrtc_handle p, char *to) {
  return part(p, p->n_head + p->n_cubin, p->n_ptx, to);
}
EXPORT int nvrtcGetProgramLogSize(rgt__nvrtc_handle p, size_t *bytes) {
  return part_size(p->n_log, bytes);
}
EXPORT int nvrtcGetProgramLog(rgt__nvrtc_handle p, char *to) {
  return part(p, p->n_head + p->n_cubin + p->n_ptx, p->n_log, to);
}

EXPORT int nvrtcDestroyProgram(rgt__nvrtc_handle *program) {
  struct rgt__nvrtc_program *p = *program;
  rgt__buffer_free(&p->entry);
  rgt__free(p->source);
  rgt__free(p);
  *program = NULL;
  return RGT_NVRTC_SUCCESS;
}

EXPORT const char *nvrtcGetErrorString(int code) {
  if (pack.has_real) return pack.api.nvrtcGetErrorString(code);
  return code == RGT_NVRTC_SUCCESS ? "done" : code == RGT_NVRTC_OUT_OF_MEMORY ? "out of memory" : "not compiled";
}
