/* flight.c -- one maker at a time, by a lock file that ends with its holder.
 *
 * The holder removes the file before it lets go. Whoever waited has the lock of a file without a name then, and asks again: a
 * lock counts only while its file is the one at the path. A child that the host forks inherits the descriptor, hence the
 * explicit unlock; where the host is killed and such a child lives on, the limit ends the wait.
 */
#include "runtime/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_LEAST_US = 500, PAUSE_MOST_US = 20000 };

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int open_again(const char *path, int flags) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  while (fd < 0 && errno == EINTR);
  return fd;
}

/* 1: the lock of the file that lies at the path; 0: somebody has it, or had it a moment ago; -1: no locks here. */
static int try_lock(const char *path, int flags, int *fd) {
  struct stat mine, there;
  *fd = open_again(path, flags);
  if (*fd < 0) return -1;
  int failed;
  do failed = flock(*fd, LOCK_EX | LOCK_NB);
  while (failed && errno == EINTR);
  if (!failed && fstat(*fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
      mine.st_dev == there.st_dev)
    return 1;
  int busy = !failed || errno == EWOULDBLOCK;
  close(*fd);
  *fd = -1;
  return busy ? 0 : -1;
}

rgt__flight_turn rgt__flight_begin(const char *path, double limit_s, const rgt__stop *stop, rgt__flight *out) {
  double end_s = now_s() + limit_s;
  long pause_us = PAUSE_LEAST_US;
  out->fd = -1;
  if (strlen(path) >= sizeof out->path) return RGT_FLIGHT_ALONE;
  for (;;) {
    int got = try_lock(path, O_RDWR | O_CREAT, &out->fd);
    if (got < 0) return RGT_FLIGHT_ALONE;
    if (got) break;
    if (rgt__stop_now(stop)) return RGT_FLIGHT_STOPPED;
    if (now_s() >= end_s) return RGT_FLIGHT_ALONE;
    nanosleep(&(struct timespec){.tv_nsec = pause_us * 1000}, NULL);
    pause_us = 2 * pause_us > PAUSE_MOST_US ? PAUSE_MOST_US : 2 * pause_us;
  }
  snprintf(out->path, sizeof out->path, "%s", path);
  return RGT_FLIGHT_MINE;
}

static void let_go(int fd, const char *path) {
  unlink(path);
  flock(fd, LOCK_UN);
  close(fd);
}

void rgt__flight_end(rgt__flight *f) {
  if (f->fd < 0) return;
  let_go(f->fd, f->path);
  f->fd = -1;
}

int rgt__flight_clear(const char *path) {
  int fd;
  if (try_lock(path, O_RDWR, &fd) != 1) return 0;
  let_go(fd, path);
  return 1;
}
