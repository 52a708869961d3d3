/* out_file.c -- a file that is there whole or not at all. */
#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *data, size_t n) {
  while (n > 0) {
    ssize_t k = write(fd, data, n < (1U << 30) ? n : (1U << 30));
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return -1;
    data += k;
    n -= (size_t)k;
  }
  return 0;
}

/* The rename is what counts; that the folder's entry is on disk is tried, not required (some file systems refuse). */
static void sync_folder(const char *path) {
  char folder[PATH_MAX];
  char *slash;
  int fd;
  snprintf(folder, sizeof folder, "%s", path);
  slash = strrchr(folder, '/');
  if (!slash)
    strcpy(folder, ".");
  else
    slash[slash == folder] = 0;
  fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!fsync(fd);
  close(fd);
}

/* mkstemp makes 0600; the file gets what open would have given it. */
static mode_t usual_mode(void) {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

static int write_temp(int fd, const rgt__out_part *parts, int n_parts, mode_t mode) {
  for (int i = 0; i < n_parts; i++)
    if (write_all(fd, parts[i].data, parts[i].bytes) != 0) return -1;
  return fchmod(fd, mode) == 0 && fsync(fd) == 0 ? 0 : -1;
}

static rgt_status write_beside(const char *path, const rgt__out_part *parts, int n_parts, mode_t mode, rgt__message *m) {
  char temp[PATH_MAX];
  int fd, failed, why;
  if (snprintf(temp, sizeof temp, "%s.XXXXXX", path) >= (int)sizeof temp)
    return rgt__message_set(m, RGT_EIO, "%s: the path is too long", path);
  fd = mkostemp(temp, O_CLOEXEC);
  if (fd < 0) return rgt__message_set(m, RGT_EIO, "%s cannot be written: %s", path, strerror(errno));
  failed = write_temp(fd, parts, n_parts, mode);
  why = errno;
  if (close(fd) != 0 && !failed) {
    failed = -1;
    why = errno;
  }
  if (!failed && rename(temp, path) != 0) {
    failed = -1;
    why = errno;
  }
  if (failed) {
    unlink(temp);
    return rgt__message_set(m, RGT_EIO, "%s cannot be written: %s", path, strerror(why));
  }
  sync_folder(path);
  return RGT_OK;
}

rgt_status rgt__out_file_write(const char *path, const rgt__out_part *parts, int n_parts, rgt__message *m) {
  char real[PATH_MAX];
  struct stat info;
  sigset_t block, before;
  rgt_status s;
  mode_t mode = usual_mode();
  if (stat(path, &info) == 0) {
    if (!S_ISREG(info.st_mode)) return rgt__message_set(m, RGT_EIO, "%s is not a regular file; nothing was written", path);
    if (!realpath(path, real)) return rgt__message_set(m, RGT_EIO, "%s: %s", path, strerror(errno));
    path = real;
    mode = info.st_mode & 07777;
  }
  /* An interrupt waits until the temporary file is renamed or removed. */
  sigemptyset(&block);
  sigaddset(&block, SIGINT);
  sigaddset(&block, SIGTERM);
  sigaddset(&block, SIGHUP);
  sigprocmask(SIG_BLOCK, &block, &before);
  s = write_beside(path, parts, n_parts, mode, m);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return s;
}
