/* process.c -- runs a program to its end, with a time limit; no shell.
 *
 * posix_spawn, not fork: the host may have many threads. The child gets its own process group, so that a time limit ends the
 * compiler's children too.
 */
#include "runtime/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUT_MAX = 1 << 20 };

extern char **environ;

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static rgt_status start(char *const argv[], const int pipe_fd[2], pid_t *child, rgt__error *err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGTERM);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGCHLD); /* a compiler driver waits for its own children */
  if (posix_spawn_file_actions_init(&actions) != 0) return rgt__error_nomem(err, sizeof actions);
  if (posix_spawnattr_init(&attr) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return rgt__error_nomem(err, sizeof attr);
  }
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], 2);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &defaults);
  int failed = posix_spawn(child, argv[0], &actions, &attr, argv, environ);
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return rgt__error_set(err, RGT_EIO, "%s: cannot be started: %s", argv[0], strerror(failed));
  return RGT_OK;
}

/* Reads until the pipe closes; 0 when the limit passed first. What passes OUTPUT_MAX is read and dropped, so that the child can
 * go on writing. */
static int drain(int fd, int64_t deadline_ms, rgt__buffer *output) {
  char chunk[4096];
  for (;;) {
    int64_t left = deadline_ms - now_ms();
    if (left <= 0) return 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready = poll(&p, 1, left > 1000 ? 1000 : (int)left);
    if (ready < 0 && errno != EINTR) return 1;
    if (ready <= 0) continue;
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 1;
    size_t room = OUTPUT_MAX - output->size;
    rgt__buffer_add(output, chunk, (size_t)n < room ? (size_t)n : room);
  }
}

/* Waits for the end of a child whose pipe has closed: mostly it has ended, or does at once, but a program may close its output
 * and go on. 0 when the limit passed first. *code is -1 where the status is lost: a host that ignores SIGCHLD, or waits for
 * every child, takes it away. */
static int reap(pid_t child, int64_t deadline_ms, int *code) {
  long pause_ns = 50 * 1000;
  for (;;) {
    int status = 0;
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return 1;
    }
    if (ended < 0 && errno != EINTR) {
      *code = -1;
      return 1;
    }
    if (now_ms() >= deadline_ms) return 0;
    nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
    if (pause_ns < 20 * 1000 * 1000) pause_ns *= 2;
  }
}

static void end_group(pid_t child) {
  kill(-child, SIGKILL);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

rgt_status rgt__process_run(char *const argv[], int limit_ms, rgt__buffer *output, int *exit_status, rgt__error *err) {
  int fd[2];
  pid_t child = 0;
  if (pipe2(fd, O_CLOEXEC) != 0) return rgt__error_set(err, RGT_EIO, "%s: no pipe: %s", argv[0], strerror(errno));
  rgt_status status = start(argv, fd, &child, err);
  close(fd[1]);
  if (status == RGT_OK) {
    int64_t deadline_ms = now_ms() + limit_ms;
    int code = 0;
    if (!drain(fd[0], deadline_ms, output) || !reap(child, deadline_ms, &code)) {
      end_group(child);
      status = rgt__error_set(err, RGT_ETIMEOUT, "%s: still running after %d ms, ended", argv[0], limit_ms);
    } else if (code < 0) {
      status = rgt__error_set(err, RGT_EIO,
                              "%s: its exit status is lost: this process ignores SIGCHLD or waits for every child", argv[0]);
    } else {
      *exit_status = code;
    }
  }
  close(fd[0]);
  if (status == RGT_OK && output->failed) status = rgt__error_nomem(err, OUTPUT_MAX);
  return status;
}
