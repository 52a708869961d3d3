/* shim.c -- the C library's file functions, with an error at the n-th call on a file below a folder. */
#include "tests/faults/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SHIM __attribute__((visibility("default")))
enum { FDS = 4096 };

static struct {
  char prefix[256];
  size_t prefix_length;
  long at;
  shim_error error;
  int on, no_locks, network;
  atomic_long n;
  atomic_int fired;
  char what[32];
  unsigned char ours[FDS]; /* descriptors of files below the prefix */
} shim = {.at = -1};

const char *shim_word(shim_error error) {
  static const char *const words[] = {
#define SHIM_WORD(name, word) word,
      SHIM_ERROR_LIST(SHIM_WORD)
#undef SHIM_WORD
  };
  return words[error];
}

void shim_arm(const char *prefix, long at, shim_error error, int on) {
  snprintf(shim.prefix, sizeof shim.prefix, "%s/", prefix);
  shim.prefix_length = strlen(shim.prefix);
  shim.error = error;
  shim.on = on;
  shim.what[0] = 0;
  atomic_store(&shim.n, 0);
  atomic_store(&shim.fired, 0);
  shim.at = at;
}

void shim_break_locks(int broken) {
  shim.no_locks = broken;
}

void shim_network(int yes) {
  shim.network = yes;
}

void shim_disarm(void) {
  shim.at = -1;
  shim.on = 0;
}

long shim_count(void) {
  return atomic_load(&shim.n);
}

int shim_fired(void) {
  return atomic_load(&shim.fired);
}

const char *shim_what(void) {
  return shim.what;
}

__attribute__((constructor)) static void from_environment(void) {
  const char *prefix = getenv("FAULT_PREFIX"), *at = getenv("FAULT_AT"), *word = getenv("FAULT_ERROR"),
             *on = getenv("FAULT_ON");
  if (!prefix || !at || !word) return;
  for (int e = 0; e < SHIM_N_ERRORS; e++)
    if (strcmp(word, shim_word((shim_error)e)) == 0) shim_arm(prefix, atol(at), (shim_error)e, on && *on == '1');
  shim.network = getenv("FAULT_NETWORK") != NULL;
  unsetenv("LD_PRELOAD"); /* this process alone */
}

/* What can fail how. */
enum { OPENS = 1, READS = 2, WRITES = 4, NAMES = 8, SYNCS = 16, LOCKS = 32, SLOW = 256, MAPS = 64, CLOSES = 128 };

static int can_fail(int kind, shim_error error) {
  switch (error) {
  case SHIM_EIO:
    return 1;
  case SHIM_ENOSPC:
    return kind & (WRITES | NAMES | SYNCS);
  case SHIM_EROFS:
    return kind & (WRITES | NAMES);
  case SHIM_EMFILE:
    return kind & OPENS;
  case SHIM_EINTR:
    return kind & (OPENS | READS | WRITES | SLOW);
  case SHIM_SHORT:
    return kind & (READS | WRITES);
  default:
    return 0;
  }
}

/* Counts one operation; 1 if it shall fail, with errno set. transfers: SHIM_SHORT is possible. */
static int fails(const char *what, int kind, int transfers) {
  static const int numbers[] = {EIO, ENOSPC, EROFS, EMFILE, EINTR, 0};
  long n = atomic_fetch_add(&shim.n, 1);
  if (kind == LOCKS && shim.no_locks) {
    atomic_fetch_add(&shim.fired, 1);
    errno = ENOLCK;
    return 1;
  }
  if (shim.at < 0 || (shim.on ? n < shim.at : n != shim.at)) return 0;
  if (kind == LOCKS && shim.on) return 0; /* SQLite waits ten seconds for each: see shim_break_locks */
  if (!can_fail(kind, shim.error) || (shim.error == SHIM_SHORT && !transfers)) return 0;
  if (atomic_fetch_add(&shim.fired, 1) == 0) snprintf(shim.what, sizeof shim.what, "%s", what);
  errno = numbers[shim.error];
  return 1;
}

static int below(const char *path) {
  return shim.prefix_length && path && strncmp(path, shim.prefix, shim.prefix_length) == 0;
}

static int ours(int fd) {
  return shim.prefix_length && fd >= 0 && fd < FDS && shim.ours[fd];
}

static int remember(int fd) {
  if (fd >= 0 && fd < FDS) shim.ours[fd] = 1;
  return fd;
}

static void *real(const char *name) {
  void *p = dlsym(RTLD_NEXT, name);
  if (!p) {
    fprintf(stderr, "shim: the C library has no %s\n", name);
    _exit(70);
  }
  return p;
}

/* A function pointer, found once for each wrapper. */
#define NEXT(name)                      \
  static __typeof__(&name) next;        \
  if (!next) {                          \
    void *found = real(#name);          \
    memcpy(&next, &found, sizeof next); \
  }

/* ---- opening ---- */

static int open_kind(int flags) {
  return OPENS | (flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC) ? NAMES : 0);
}

#define OPEN(name)                                                                     \
  SHIM int name(const char *path, int flags, ...) {                                    \
    NEXT(name)                                                                         \
    mode_t mode = 0;                                                                   \
    if (flags & O_CREAT) {                                                             \
      va_list args;                                                                    \
      va_start(args, flags);                                                           \
      mode = va_arg(args, mode_t);                                                     \
      va_end(args);                                                                    \
    }                                                                                  \
    if (!below(path)) {                                                                \
      int other = next(path, flags, mode);                                             \
      if (other >= 0 && other < FDS) shim.ours[other] = 0;                             \
      return other;                                                                    \
    }                                                                                  \
    return fails(#name, open_kind(flags), 0) ? -1 : remember(next(path, flags, mode)); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                           \
  SHIM int name(int folder, const char *path, int flags, ...) {                                \
    NEXT(name)                                                                                 \
    mode_t mode = 0;                                                                           \
    if (flags & O_CREAT) {                                                                     \
      va_list args;                                                                            \
      va_start(args, flags);                                                                   \
      mode = va_arg(args, mode_t);                                                             \
      va_end(args);                                                                            \
    }                                                                                          \
    if (!below(path) && !ours(folder)) return next(folder, path, flags, mode);                 \
    return fails(#name, open_kind(flags), 0) ? -1 : remember(next(folder, path, flags, mode)); \
  }
OPENAT(openat)
OPENAT(openat64)

#define CREAT(name)                                                          \
  SHIM int name(const char *path, mode_t mode) {                             \
    NEXT(name)                                                               \
    if (!below(path)) return next(path, mode);                               \
    return fails(#name, OPENS | NAMES, 0) ? -1 : remember(next(path, mode)); \
  }
CREAT(creat)
CREAT(creat64)

#define MKOSTEMP(name)                                                        \
  SHIM int name(char *path, int flags) {                                      \
    NEXT(name)                                                                \
    if (!below(path)) return next(path, flags);                               \
    return fails(#name, OPENS | NAMES, 0) ? -1 : remember(next(path, flags)); \
  }
MKOSTEMP(mkostemp)
MKOSTEMP(mkostemp64)

SHIM int close(int fd) {
  NEXT(close)
  int mine = ours(fd);
  if (mine) shim.ours[fd] = 0;
  int result = next(fd); /* it is closed whatever it says */
  return mine && fails("close", CLOSES, 0) ? -1 : result;
}

SHIM int statfs(const char *path, struct statfs *st) {
  NEXT(statfs)
  int result = next(path, st);
  if (result == 0 && shim.network && below(path)) st->f_type = 0x6969; /* NFS */
  return result;
}

/* ---- bytes ---- */

static size_t half(size_t n) {
  return n > 1 ? n / 2 : n;
}

#define TRANSFER(name, kind, ...)            \
  if (ours(fd) && fails(#name, kind, 1)) {   \
    if (shim.error != SHIM_SHORT) return -1; \
    n = half(n);                             \
  }                                          \
  return next(fd, p, n, ##__VA_ARGS__);

SHIM ssize_t read(int fd, void *p, size_t n){NEXT(read) TRANSFER(read, READS)} SHIM ssize_t
    write(int fd, const void *p, size_t n){NEXT(write) TRANSFER(write, WRITES)} SHIM ssize_t
    pread(int fd, void *p, size_t n, off_t at){NEXT(pread) TRANSFER(pread, READS, at)} SHIM ssize_t
    pread64(int fd, void *p, size_t n, off64_t at){NEXT(pread64) TRANSFER(pread, READS, at)} SHIM ssize_t
    pwrite(int fd, const void *p, size_t n, off_t at){NEXT(pwrite) TRANSFER(pwrite, WRITES, at)} SHIM ssize_t
    pwrite64(int fd, const void *p, size_t n, off64_t at){NEXT(pwrite64) TRANSFER(pwrite, WRITES, at)}

/* ---- files as a whole ---- */

#define ON_FD(name, kind, parameters, ...)            \
  SHIM int name parameters {                          \
    NEXT(name)                                        \
    if (ours(fd) && fails(#name, kind, 0)) return -1; \
    return next(__VA_ARGS__);                         \
  }
ON_FD(fsync, SYNCS, (int fd), fd) ON_FD(fdatasync, SYNCS, (int fd), fd) ON_FD(ftruncate, WRITES, (int fd, off_t n), fd, n)
    ON_FD(ftruncate64, WRITES, (int fd, off64_t n), fd, n) ON_FD(fchmod, NAMES, (int fd, mode_t mode), fd, mode)
        ON_FD(flock, LOCKS | SLOW, (int fd, int how), fd, how)

#define FCNTL(name)                                                                                         \
  SHIM int name(int fd, int command, ...) {                                                                 \
    NEXT(name)                                                                                              \
    va_list args;                                                                                           \
    va_start(args, command);                                                                                \
    void *p = va_arg(args, void *);                                                                         \
    va_end(args);                                                                                           \
    int locks = command == F_SETLK || command == F_SETLKW;                                                  \
    if (ours(fd) && locks && ((struct flock *)p)->l_type != F_UNLCK && fails("fcntl", LOCKS, 0)) return -1; \
    return next(fd, command, p);                                                                            \
  }
            FCNTL(fcntl) FCNTL(fcntl64)

#define ON_PATH(name, parameters, is_below, ...)       \
  SHIM int name parameters {                           \
    NEXT(name)                                         \
    if (is_below && fails(#name, NAMES, 0)) return -1; \
    return next(__VA_ARGS__);                          \
  }
                ON_PATH(rename, (const char *from, const char *to), (below(from) || below(to)), from, to)
                    ON_PATH(link, (const char *from, const char *to), (below(from) || below(to)), from, to)
                        ON_PATH(unlink, (const char *path), below(path), path)
                            ON_PATH(rmdir, (const char *path), below(path), path)
                                ON_PATH(mkdir, (const char *path, mode_t mode), below(path), path, mode)

#define MMAP(name, type)                                                       \
  SHIM void *name(void *p, size_t n, int rights, int flags, int fd, type at) { \
    NEXT(name)                                                                 \
    if (ours(fd) && fails(#name, MAPS, 0)) return MAP_FAILED;                  \
    return next(p, n, rights, flags, fd, at);                                  \
  }
                                    MMAP(mmap, off_t) MMAP(mmap64, off64_t)

#ifdef SHIM_PRELOADED

    /* ---- memory: FAULT_MALLOC=n fails the n-th allocation of the process, with FAULT_ON=1 all after it too ---- */

    extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);

static atomic_long n_blocks, fail_block = -1;
static int fail_after;

__attribute__((constructor)) static void memory_from_environment(void) {
  const char *at = getenv("FAULT_MALLOC"), *on = getenv("FAULT_ON");
  if (!at) return;
  fail_after = on && *on == '1';
  atomic_store(&n_blocks, 0);
  atomic_store(&fail_block, atol(at));
  unsetenv("LD_PRELOAD");
}

static int no_memory(void) {
  long at = atomic_load(&fail_block), n = at < 0 ? 0 : atomic_fetch_add(&n_blocks, 1);
  if (at < 0 || (fail_after ? n < at : n != at)) return 0;
  errno = ENOMEM;
  return 1;
}

SHIM void *malloc(size_t bytes) {
  return no_memory() ? NULL : __libc_malloc(bytes);
}
SHIM void *calloc(size_t count, size_t bytes) {
  return no_memory() ? NULL : __libc_calloc(count, bytes);
}
SHIM void *realloc(void *p, size_t bytes) {
  return no_memory() ? NULL : __libc_realloc(p, bytes);
}

#endif
