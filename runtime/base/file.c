/* file.c -- whole files: read, write in one step, make folders, look for programs. */
#include "runtime/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/alloc.h"

static rgt_status io_error(rgt__error *err, const char *what, const char *path, int number) {
  return rgt__error_set(err, RGT_EIO, "%s %s: %s", what, path, strerror(number));
}

static int open_again(const char *path, int flags) {
  int fd;
  do fd = open(path, flags);
  while (fd < 0 && errno == EINTR);
  return fd;
}

/* Reads until the end, not until the size that fstat gave: the file may grow. */
static rgt_status read_all(int fd, const char *path, size_t max_bytes, rgt__buffer *b, rgt__error *err) {
  size_t total = 0;
  for (;;) {
    char chunk[16384];
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(err, "cannot read", path, errno);
    if (!n) break;
    total += (size_t)n;
    if (total > max_bytes)
      return rgt__error_set(err, RGT_EIO, "%s: larger than %zu bytes, the most that is read", path, max_bytes);
    rgt__buffer_add(b, chunk, (size_t)n);
  }
  rgt__buffer_add(b, "", 0); /* an empty file is an empty text, not NULL */
  return b->failed ? rgt__error_nomem(err, b->size + total) : RGT_OK;
}

/* O_NONBLOCK: opening a FIFO that nobody writes would hang. */
rgt_status rgt__file_read(const char *path, size_t max_bytes, rgt__buffer *b, rgt__error *err) {
  if (b->failed) return rgt__error_nomem(err, b->size);
  size_t before = b->size;
  rgt_status status;
  struct stat st;
  int fd = open_again(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return io_error(err, "cannot open", path, errno);
  if (fstat(fd, &st)) {
    status = io_error(err, "cannot look at", path, errno);
  } else if (!S_ISREG(st.st_mode)) {
    status = rgt__error_set(err, RGT_EIO, "%s: not a regular file", path);
  } else {
    status = read_all(fd, path, max_bytes, b, err);
  }
  close(fd);
  if (status && b->data) {
    b->size = before;
    b->data[before] = 0;
    b->failed = 0;
  }
  return status;
}

/* The folder part of path: text before the last '/', "." if there is none, "/" for the root. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return rgt__strdup(".");
  size_t n = slash == path ? 1 : (size_t)(slash - path);
  char *folder = rgt__alloc(n + 1);
  if (!folder) return NULL;
  memcpy(folder, path, n);
  folder[n] = 0;
  return folder;
}

/* Makes the new name itself durable. File systems that cannot sync a folder say EINVAL: nothing more can be done there. */
static rgt_status sync_folder(const char *path, rgt__error *err) {
  char *folder = folder_of(path);
  if (!folder) return rgt__error_nomem(err, strlen(path) + 1);
  rgt_status status = RGT_OK;
  int fd = open_again(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || (fsync(fd) && errno != EINVAL)) status = io_error(err, "cannot sync folder", folder, errno);
  if (fd >= 0) close(fd);
  rgt__free(folder);
  return status;
}

static int write_all(int fd, const char *data, size_t n) {
  while (n) {
    ssize_t done = write(fd, data, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    data += done;
    n -= (size_t)done;
  }
  return 0;
}

/* The temporary file is "PATH.tmp-XXXXXX" with a random end: two writers never share one, and the last rename wins whole. */
rgt_status rgt__file_write(const char *path, const void *data, size_t n, unsigned mode, rgt__error *err) {
  static const char end[] = ".tmp-XXXXXX";
  size_t length = strlen(path);
  char *temp = rgt__alloc(length + sizeof end);
  if (!temp) return rgt__error_nomem(err, length + sizeof end);
  memcpy(temp, path, length);

  rgt_status status = RGT_OK;
  int fd;
  do {
    memcpy(temp + length, end, sizeof end); /* a failed try has put letters there */
    fd = mkostemp(temp, O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    status = io_error(err, "cannot make a file beside", path, errno);
    goto done;
  }
  int failed = (fchmod(fd, (mode_t)mode) || write_all(fd, data, n) || fsync(fd)) ? errno : 0;
  if (close(fd) && !failed) failed = errno;
  if (failed) {
    status = io_error(err, "cannot write", path, failed);
  } else if (rename(temp, path)) {
    status = io_error(err, "cannot replace", path, errno);
  }
  if (status) {
    unlink(temp);
  } else {
    status = sync_folder(path, err);
  }
done:
  rgt__free(temp);
  return status;
}

static int is_folder(const char *path) {
  struct stat st;
  return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Looks before it makes: mkdir of a folder that exists may fail in other ways than EEXIST on a read-only or automounted place.
 * Another process may make the same folder meanwhile, which is as good. */
static rgt_status make_one(const char *path, rgt__error *err) {
  if (is_folder(path) || !mkdir(path, 0700)) return RGT_OK;
  int number = errno;
  return is_folder(path) ? RGT_OK : io_error(err, "cannot make folder", path, number);
}

rgt_status rgt__file_make_folder(const char *path, rgt__error *err) {
  if (!path[0]) return rgt__error_set(err, RGT_EIO, "cannot make folder: its name is empty");
  char *part = rgt__strdup(path);
  if (!part) return rgt__error_nomem(err, strlen(path) + 1);
  rgt_status status = RGT_OK;
  for (char *p = part + 1; !status; p++) {
    if (*p && *p != '/') continue;
    char kept = *p;
    *p = 0;
    status = make_one(part, err);
    *p = kept;
    if (!kept) break;
  }
  rgt__free(part);
  return status;
}

/* A link is followed, but must be ours (or root's) as well: its owner decides where it leads. */
rgt_status rgt__file_private(const char *path, rgt__error *err) {
  struct stat link, st;
  if (lstat(path, &link) || stat(path, &st)) return io_error(err, "cannot look at", path, errno);
  if (!S_ISDIR(st.st_mode)) return rgt__error_set(err, RGT_EIO, "%s: not a folder", path);
  uid_t self = geteuid();
  if (st.st_uid != self || (link.st_uid != self && link.st_uid != 0))
    return rgt__error_set(err, RGT_EIO, "%s: belongs to user %u, not to user %u", path,
                          (unsigned)(st.st_uid != self ? st.st_uid : link.st_uid), (unsigned)self);
  if (st.st_mode & (S_IWGRP | S_IWOTH))
    return rgt__error_set(err, RGT_EIO, "%s: others can write to it (mode %04o); use a folder of mode 0700", path,
                          (unsigned)(st.st_mode & 07777));
  return RGT_OK;
}

static void remove_in(int parent, const char *name) {
  if (unlinkat(parent, name, 0) == 0) return;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  DIR *folder = fdopendir(fd);
  if (!folder) {
    close(fd);
    return;
  }
  for (struct dirent *e; (e = readdir(folder));)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) remove_in(fd, e->d_name);
  closedir(folder);
  unlinkat(parent, name, AT_REMOVEDIR);
}

void rgt__file_remove_tree(const char *path) {
  remove_in(AT_FDCWD, path);
}

static int is_program(const char *path) {
  struct stat st;
  return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int rgt__file_find_program(const char *name, const char *search_path, char *out, size_t out_size) {
  char path[4096];
  if (!name[0]) return 0;
  int found = 0;
  if (strchr(name, '/')) {
    found = (size_t)snprintf(path, sizeof path, "%s", name) < sizeof path && is_program(path);
    search_path = NULL;
  }
  while (!found && search_path) {
    const char *end = strchrnul(search_path, ':');
    int n = (int)(end - search_path);
    int length = snprintf(path, sizeof path, "%.*s/%s", n ? n : 1, n ? search_path : ".", name); /* an empty part means here */
    found = (size_t)length < sizeof path && is_program(path);
    search_path = *end ? end + 1 : NULL;
  }
  if (!found || strlen(path) >= out_size) return 0;
  memcpy(out, path, strlen(path) + 1);
  return 1;
}

rgt_status rgt__file_join(char *out, size_t out_size, const char *folder, const char *name, rgt__error *err) {
  size_t n = strlen(folder), need = n + strlen(name) + 1;
  int slash = n && folder[n - 1] != '/';
  need += (size_t)slash;
  if (need > out_size)
    return rgt__error_set(err, RGT_EINVAL, "the path %s/%s is %zu bytes long; at most %zu fit", folder, name, need - 1,
                          out_size - 1);
  snprintf(out, out_size, "%s%s%s", folder, slash ? "/" : "", name);
  return RGT_OK;
}

int rgt__file_stamp(const char *path, int64_t *size, int64_t *mtime_ns) {
  struct stat st;
  if (stat(path, &st)) return 0;
  if (size) *size = st.st_size;
  if (mtime_ns) *mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  return 1;
}
