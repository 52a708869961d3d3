/* code_cache.c -- compiled code on disk: local, disposable, checked by hash. Apart from the tuned database.
 *
 * An entry is published by its .program file, written last: it holds a hash of itself, since a formula with one digit altered
 * would size a workspace wrongly, and the hash of the binary beside it. What does not match is removed and counts as absent, so
 * that a torn or altered entry only costs a compile. What cannot be read just now (memory, descriptors) is left alone.
 */
#include "runtime/code_cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"

enum { CODE_MAX = 256 << 20, PROGRAM_MAX = 1 << 20 };

#define WAIT_S 60.0 /* for another process that makes the same */

struct rgt__code_cache {
  char folder[RGT_CODE_PATH_MAX - 128]; /* "" for none */
  int is_bundle;
  double wait_s;
  _Atomic int64_t added; /* bytes, since it was asked */
  rgt__digest *held;     /* [n_held], owned; under the lock */
  int n_held, held_room;
  rgt__code_cache *next; /* of those that hold something */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rgt__code_cache *holders;

/* The folder may be readable for others: then so may be what lies below it, and somebody may have opened that to all. */
static rgt_status private_below(const char *folder, rgt__error *err) {
  static const char *const kinds[] = {"code", "map"};
  rgt_status status = rgt__file_private(folder, err);
  for (int i = 0; i < 2 && status == RGT_OK; i++) {
    char path[RGT_CODE_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, kinds[i]);
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) status = rgt__file_private(path, err);
  }
  return status;
}

rgt_status rgt__code_cache_open(const char *folder, rgt__code_cache **out, rgt__error *err) {
  rgt__code_cache *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  rgt_status status = RGT_OK;
  if (folder) {
    if (strlen(folder) >= sizeof c->folder) status = rgt__error_set(err, RGT_EIO, "%s: path too long for a code cache", folder);
    if (status == RGT_OK) status = rgt__file_make_folder(folder, err);
    if (status == RGT_OK) status = private_below(folder, err);
    if (status == RGT_OK) snprintf(c->folder, sizeof c->folder, "%s", folder);
  }
  if (status != RGT_OK) {
    rgt__free(c);
    return status;
  }
  c->wait_s = WAIT_S;
  *out = c;
  return RGT_OK;
}

rgt_status rgt__code_cache_open_bundle(const char *folder, rgt__code_cache **out, rgt__error *err) {
  rgt__code_cache *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  if (strlen(folder) >= sizeof c->folder) {
    rgt__free(c);
    return rgt__error_set(err, RGT_EIO, "%s: path too long for a bundle", folder);
  }
  snprintf(c->folder, sizeof c->folder, "%s", folder);
  c->is_bundle = 1;
  *out = c;
  return RGT_OK;
}

/* ---- what this process has loaded ---- */

static int find_held(const rgt__code_cache *c, const rgt__digest *key) {
  for (int i = 0; i < c->n_held; i++)
    if (rgt__digest_equal(&c->held[i], key)) return 1;
  return 0;
}

/* Room for one more; with its first, c stands among the holders. */
static int make_room(rgt__code_cache *c) {
  if (c->n_held < c->held_room) return 1;
  rgt__digest *grown = rgt__realloc(c->held, (size_t)(c->held_room + 16) * sizeof *grown);
  if (!grown) return 0;
  if (!c->held_room) {
    c->next = holders;
    holders = c;
  }
  c->held = grown;
  c->held_room += 16;
  return 1;
}

/* Without memory for the note it is not held: the worst is a compile at the next start. */
void rgt__code_cache_hold(rgt__code_cache *c, const rgt__digest *key) {
  pthread_mutex_lock(&lock);
  if (!find_held(c, key) && make_room(c)) c->held[c->n_held++] = *key;
  pthread_mutex_unlock(&lock);
}

int rgt__code_cache_holds(const rgt__digest *key) {
  int yes = 0;
  pthread_mutex_lock(&lock);
  for (const rgt__code_cache *c = holders; c && !yes; c = c->next) yes = find_held(c, key);
  pthread_mutex_unlock(&lock);
  return yes;
}

int64_t rgt__code_cache_added(rgt__code_cache *c) {
  return atomic_exchange(&c->added, 0);
}

void rgt__code_cache_free(rgt__code_cache *c) {
  if (!c) return;
  pthread_mutex_lock(&lock);
  for (rgt__code_cache **link = &holders; *link; link = &(*link)->next)
    if (*link == c) {
      *link = c->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  rgt__free(c->held);
  rgt__free(c);
}

const char *rgt__code_cache_folder(const rgt__code_cache *c) {
  return c->folder;
}

void rgt__code_entry_free(rgt__code_entry *e) {
  if (!e) return;
  rgt__free(e->code);
  memset(e, 0, sizeof *e);
}

void rgt__code_cache_key(const rgt__digest *source, const char *toolchain, const char *target, rgt__digest *key) {
  rgt__hash h;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune code 1");
  rgt__hash_bytes(&h, source->bytes, sizeof source->bytes);
  rgt__hash_text(&h, toolchain);
  rgt__hash_text(&h, target);
  rgt__hash_int(&h, RGT_KARGS_VERSION);
  rgt__hash_end(&h, key);
}

/* "<folder>/<kind>/<ab>/<hex><suffix>" */
void rgt__code_cache_path(const rgt__code_cache *c, const char *kind, const rgt__digest *key, const char *suffix,
                          char path[RGT_CODE_PATH_MAX]) {
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__digest_hex(key, hex);
  snprintf(path, RGT_CODE_PATH_MAX, "%s/%s/%.2s/%s%s", c->folder, kind, hex, hex, suffix);
}

static rgt_status make_entry_folder(const rgt__code_cache *c, const char *kind, const rgt__digest *key, rgt__error *err) {
  char path[RGT_CODE_PATH_MAX];
  rgt__code_cache_path(c, kind, key, "", path);
  *strrchr(path, '/') = 0;
  return rgt__file_make_folder(path, err);
}

static const char *const parts[] = {".program", ".bin", ".ptx", ".src"};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

int rgt__code_cache_is_part(const char *suffix) {
  for (int i = 0; i < N_PARTS; i++)
    if (strcmp(suffix, parts[i]) == 0) return 1;
  return 0;
}

void rgt__code_cache_remove(const rgt__code_cache *c, const rgt__digest *key) {
  char path[RGT_CODE_PATH_MAX];
  for (int i = 0; i < N_PARTS; i++) {
    rgt__code_cache_path(c, "code", key, parts[i], path);
    unlink(path);
  }
}

/* "ragtune-code 2 <hash of the rest of this file>", then "binary <hash> <bytes> <registers> <shared> <spill> <stack>", then the
 * program's text. RGT_EIO: damaged. */
static rgt_status parse_head(const rgt__buffer *head, rgt__digest *hash, rgt__code_entry *e, const char **program) {
  char hex[RGT_DIGEST_HEX_MAX] = "";
  rgt__digest want, have;
  size_t bytes = 0;
  int at = 0;
  if (sscanf(head->data, "ragtune-code 2 %64s%n", hex, &at) != 1 || head->data[at] != '\n' || !rgt__digest_parse(hex, &want))
    return RGT_EIO;
  const char *rest = head->data + at + 1;
  rgt__digest_of(rest, head->size - (size_t)at - 1, &have);
  if (!rgt__digest_equal(&want, &have)) return RGT_EIO;
  if (sscanf(rest, "binary %64s %zu %d %d %d %d%n", hex, &bytes, &e->registers, &e->shared_bytes, &e->spill_bytes,
             &e->stack_bytes, &at) != 6 ||
      rest[at] != '\n' || !rgt__digest_parse(hex, hash))
    return RGT_EIO;
  e->code_bytes = bytes;
  *program = rest + at + 1;
  return RGT_OK;
}

/* RGT_EMISS: not there, or not readable now; RGT_EIO: damaged. */
static rgt_status read_entry(rgt__code_cache *c, const rgt__digest *key, rgt__code_entry *e, rgt__buffer *head,
                             rgt__buffer *code) {
  char path[RGT_CODE_PATH_MAX];
  rgt__digest want, have;
  const char *program = NULL;
  rgt__code_cache_path(c, "code", key, ".program", path);
  rgt_status status = rgt__file_read(path, PROGRAM_MAX, head, NULL);
  if (status != RGT_OK) return status == RGT_ENOMEM ? status : RGT_EMISS;
  if ((status = parse_head(head, &want, e, &program)) != RGT_OK) return status;
  if ((status = rgt__program_parse(program, &e->program, NULL)) != RGT_OK) return status == RGT_ENOMEM ? status : RGT_EIO;
  if (e->program.kargs_version != RGT_KARGS_VERSION) return RGT_EIO;
  rgt__code_cache_path(c, "code", key, ".bin", e->path);
  status = rgt__file_read(e->path, CODE_MAX, code, NULL);
  if (status == RGT_ENOMEM) return status;
  if (status != RGT_OK) return access(e->path, F_OK) != 0 ? RGT_EIO : RGT_EMISS;
  if (code->size != e->code_bytes) return RGT_EIO;
  rgt__digest_of(code->data, code->size, &have);
  return rgt__digest_equal(&want, &have) ? RGT_OK : RGT_EIO;
}

/* The time of its last use, to an hour: one look at the file, and hardly ever a write. */
static void touch(const rgt__code_cache *c, const rgt__digest *key) {
  enum { FRESH_S = 3600 };
  char path[RGT_CODE_PATH_MAX];
  struct stat st;
  rgt__code_cache_path(c, "code", key, ".program", path);
  time_t now = time(NULL);
  if (stat(path, &st) == 0 && (st.st_mtime + FRESH_S < now || st.st_mtime > now)) utimensat(AT_FDCWD, path, NULL, 0);
}

rgt_status rgt__code_cache_get(rgt__code_cache *c, const rgt__digest *key, rgt__code_entry *out, rgt__error *err) {
  rgt__buffer head = {0}, code = {0};
  if (!c->folder[0]) return RGT_EMISS;
  rgt__code_entry *e = rgt__alloc_zero(1, sizeof *e);
  if (!e) return rgt__error_nomem(err, sizeof *e);
  rgt_status status = read_entry(c, key, e, &head, &code);
  if (status == RGT_OK) *out = *e;
  if (status == RGT_OK && !c->is_bundle) touch(c, key);
  if (status == RGT_ENOMEM) rgt__error_nomem(err, head.size + code.size);
  if (status == RGT_EIO && !c->is_bundle) {
    rgt__code_cache_remove(c, key);
    status = RGT_EMISS;
  } else if ((status == RGT_EIO || status == RGT_EMISS) && c->is_bundle) {
    char hex[RGT_DIGEST_HEX_MAX];
    rgt__digest_hex(key, hex);
    rgt__error_set(err, status, "%s: the code %.12s is %s", c->folder, hex,
                   status == RGT_EMISS ? "missing or cannot be read" : "damaged");
  }
  rgt__buffer_free(&head);
  rgt__buffer_free(&code);
  rgt__free(e);
  return status;
}

static rgt_status put_file(const rgt__code_cache *c, const rgt__digest *key, const char *suffix, const void *data, size_t n,
                           rgt__error *err) {
  char path[RGT_CODE_PATH_MAX];
  rgt__code_cache_path(c, "code", key, suffix, path);
  return rgt__file_write(path, data, n, c->is_bundle ? 0644 : 0600, err);
}

rgt_status rgt__code_cache_put(rgt__code_cache *c, const rgt__digest *key, const rgt__compiled *compiled,
                               const rgt__program *program, const char *source, size_t source_bytes, rgt__error *err) {
  if (!c->folder[0]) return RGT_OK;
  rgt__buffer head = {0}, rest = {0};
  rgt__digest hash;
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__digest_of(compiled->code, compiled->code_bytes, &hash);
  rgt__digest_hex(&hash, hex);
  rgt__buffer_format(&rest, "binary %s %zu %d %d %d %d\n", hex, compiled->code_bytes, compiled->registers,
                     compiled->shared_bytes, compiled->spill_bytes, compiled->stack_bytes);
  rgt__program_format(program, &rest);
  if (!rest.failed) {
    rgt__digest_of(rest.data, rest.size, &hash);
    rgt__digest_hex(&hash, hex);
    rgt__buffer_format(&head, "ragtune-code 2 %s\n", hex);
    rgt__buffer_add(&head, rest.data, rest.size);
  }
  rgt_status status = head.failed || rest.failed ? rgt__error_nomem(err, head.size) : make_entry_folder(c, "code", key, err);
  if (status == RGT_OK && !c->is_bundle) status = put_file(c, key, ".src", source, source_bytes, err);
  if (status == RGT_OK && compiled->ptx) status = put_file(c, key, ".ptx", compiled->ptx, compiled->ptx_bytes, err);
  if (status == RGT_OK) status = put_file(c, key, ".bin", compiled->code, compiled->code_bytes, err);
  if (status == RGT_OK) status = put_file(c, key, ".program", head.data, head.size, err);
  if (status == RGT_OK) atomic_fetch_add(&c->added, (int64_t)(compiled->code_bytes + compiled->ptx_bytes + source_bytes));
  rgt__buffer_free(&rest);
  rgt__buffer_free(&head);
  return status;
}

/* ---- one maker at a time ---- */

void rgt__code_cache_wait(rgt__code_cache *c, double limit_s) {
  c->wait_s = limit_s;
}

static rgt__flight_turn begin(rgt__code_cache *c, const char *kind, const rgt__digest *key, const rgt__stop *stop,
                              rgt__flight *out) {
  char path[RGT_CODE_PATH_MAX];
  out->fd = -1;
  if (!c->folder[0] || c->is_bundle || make_entry_folder(c, kind, key, NULL) != RGT_OK) return RGT_FLIGHT_ALONE;
  rgt__code_cache_path(c, kind, key, ".lock", path);
  return rgt__flight_begin(path, c->wait_s, stop, out);
}

rgt__flight_turn rgt__code_cache_begin(rgt__code_cache *c, const rgt__digest *key, const rgt__stop *stop, rgt__flight *out) {
  return begin(c, "code", key, stop, out);
}

rgt__flight_turn rgt__code_cache_map_begin(rgt__code_cache *c, const rgt__digest *local, const rgt__stop *stop,
                                           rgt__flight *out) {
  return begin(c, "map", local, stop, out);
}

void rgt__code_cache_ptx_path(const char *binary, char *path, size_t path_size) {
  size_t n = strlen(binary), end = strlen(".bin");
  snprintf(path, path_size, "%.*s.ptx", (int)(n > end ? n - end : n), binary);
}

/* The binary and the program were checked by get; PTX is only there for CUDA. */
rgt_status rgt__code_cache_copy(rgt__code_cache *from, rgt__code_cache *to, const rgt__digest *key, rgt__error *err) {
  rgt__buffer code = {0}, ptx = {0};
  char path[RGT_CODE_PATH_MAX];
  rgt__code_entry *e = rgt__alloc_zero(1, sizeof *e);
  if (!e) return rgt__error_nomem(err, sizeof *e);
  rgt_status status = rgt__code_cache_get(from, key, e, err);
  if (status == RGT_OK) status = rgt__file_read(e->path, CODE_MAX, &code, err);
  if (status == RGT_OK) {
    rgt__code_cache_ptx_path(e->path, path, sizeof path);
    if (access(path, F_OK) == 0) status = rgt__file_read(path, CODE_MAX, &ptx, err);
  }
  if (status == RGT_OK) {
    rgt__compiled c = {.code = code.data,
                       .code_bytes = code.size,
                       .ptx = ptx.size ? ptx.data : NULL,
                       .ptx_bytes = ptx.size,
                       .registers = e->registers,
                       .shared_bytes = e->shared_bytes,
                       .spill_bytes = e->spill_bytes,
                       .stack_bytes = e->stack_bytes};
    status = rgt__code_cache_put(to, key, &c, &e->program, "", 0, err);
  }
  rgt__buffer_free(&code);
  rgt__buffer_free(&ptx);
  rgt__code_entry_free(e);
  rgt__free(e);
  return status;
}

rgt_status rgt__code_cache_map_get(const rgt__code_cache *c, const rgt__digest *local, rgt__digest *key) {
  char path[RGT_CODE_PATH_MAX];
  rgt__buffer text = {0};
  if (!c->folder[0]) return RGT_EMISS;
  rgt__code_cache_path(c, "map", local, "", path);
  rgt_status status = RGT_EMISS;
  if (rgt__file_read(path, 256, &text, NULL) == RGT_OK && text.data && rgt__digest_parse(text.data, key)) status = RGT_OK;
  rgt__buffer_free(&text);
  return status;
}

rgt_status rgt__code_cache_map_put(rgt__code_cache *c, const rgt__digest *local, const rgt__digest *key, rgt__error *err) {
  char path[RGT_CODE_PATH_MAX], hex[RGT_DIGEST_HEX_MAX];
  if (!c->folder[0]) return RGT_OK;
  rgt__digest_hex(key, hex);
  rgt_status status = make_entry_folder(c, "map", local, err);
  rgt__code_cache_path(c, "map", local, "", path);
  if (status == RGT_OK) status = rgt__file_write(path, hex, strlen(hex), 0600, err);
  return status;
}
