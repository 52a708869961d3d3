/* process.c -- runs a program to its end, with limits; no shell.
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
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUT_MAX = 1 << 20, LOOK_MS = 20 /* how often a stop is asked for */ };

extern char **environ;

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static rgt_status start(char *const argv[], const rgt__process_limits *limits, const int pipe_fd[2], pid_t *child,
                        rgt__error *err) {
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
  int group = limits->same_group ? 0 : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attr, (short)(group | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &defaults);
  int failed = posix_spawn(child, argv[0], &actions, &attr, argv, environ);
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return rgt__error_set(err, RGT_EIO, "%s: cannot be started: %s", argv[0], strerror(failed));
  if (limits->memory_bytes) { /* it has hardly begun: its own children inherit the limit */
    struct rlimit most = {limits->memory_bytes, limits->memory_bytes};
    prlimit(*child, RLIMIT_DATA, &most, NULL);
  }
  return RGT_OK;
}

/* Why to end it now: RGT_ETIMEOUT or RGT_EINTERRUPTED; RGT_OK: not yet. */
static rgt_status over(const rgt__process_limits *limits, int64_t deadline_ms) {
  if (rgt__stop_now(limits->stop)) return RGT_EINTERRUPTED;
  return !limits->same_group && now_ms() >= deadline_ms ? RGT_ETIMEOUT : RGT_OK;
}

enum { RUNS, ENDED, LOST };

/* Of a child that ended nobody has waited for yet, and its number is still its own; of one that is lost the host has. */
static int state_of(pid_t child) {
  siginfo_t info = {0};
  int failed;
  do failed = waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT);
  while (failed && errno == EINTR);
  return failed ? LOST : info.si_pid == child ? ENDED : RUNS;
}

/* Reads until the pipe closes, or it is over. What passes OUTPUT_MAX is read and dropped, so that the child can go on writing.
 * The pipe need not close at the child's end: a process that the host forked while it was made has it too, and lives on. So
 * once the child has ended and nothing more comes, that is all; what it left behind in its group ends with it. */
static rgt_status drain(int fd, pid_t child, const rgt__process_limits *limits, int64_t deadline_ms, rgt__buffer *output) {
  char chunk[4096];
  int state = RUNS;
  for (;;) {
    rgt_status status = over(limits, deadline_ms);
    if (status != RGT_OK) return status;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready = poll(&p, 1, state == RUNS ? LOOK_MS : 0);
    if (ready < 0 && errno != EINTR) return RGT_OK;
    if (ready == 0 && state != RUNS) {
      if (state == ENDED && !limits->same_group) kill(-child, SIGKILL);
      return RGT_OK;
    }
    if (ready == 0) state = state_of(child); /* what it wrote before is looked for once more */
    if (ready <= 0) continue;
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return RGT_OK;
    size_t room = OUTPUT_MAX - output->size;
    rgt__buffer_add(output, chunk, (size_t)n < room ? (size_t)n : room);
  }
}

/* Waits for the end of a child whose pipe has closed: mostly it has ended, or does at once, but a program may close its output
 * and go on. *code is -1 where the status is lost: a host that ignores SIGCHLD, or waits for every child, takes it away. */
static rgt_status reap(pid_t child, const rgt__process_limits *limits, int64_t deadline_ms, int *code) {
  long pause_ns = 50 * 1000;
  for (;;) {
    int ended_with = 0;
    pid_t ended = waitpid(child, &ended_with, WNOHANG);
    if (ended == child) {
      *code = WIFEXITED(ended_with) ? WEXITSTATUS(ended_with) : 128 + WTERMSIG(ended_with);
      return RGT_OK;
    }
    if (ended < 0 && errno != EINTR) {
      *code = -1;
      return RGT_OK;
    }
    rgt_status status = over(limits, deadline_ms);
    if (status != RGT_OK) return status;
    nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
    if (pause_ns < 20 * 1000 * 1000) pause_ns *= 2;
  }
}

static void end_it(pid_t child, const rgt__process_limits *limits) {
  kill(limits->same_group ? child : -child, SIGKILL);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

rgt_status rgt__process_run(char *const argv[], const rgt__process_limits *limits, rgt__buffer *output, int *exit_status,
                            rgt__error *err) {
  int fd[2], code = 0;
  pid_t child = 0;
  if (pipe2(fd, O_CLOEXEC) != 0) return rgt__error_set(err, RGT_EIO, "%s: no pipe: %s", argv[0], strerror(errno));
  rgt_status status = start(argv, limits, fd, &child, err);
  close(fd[1]);
  if (status == RGT_OK) {
    int64_t deadline_ms = now_ms() + limits->ms;
    status = drain(fd[0], child, limits, deadline_ms, output);
    if (status == RGT_OK) status = reap(child, limits, deadline_ms, &code);
    if (status != RGT_OK) end_it(child, limits);
    if (status == RGT_ETIMEOUT) rgt__error_set(err, status, "%s: still running after %d ms, ended", argv[0], limits->ms);
    if (status == RGT_EINTERRUPTED) rgt__error_set(err, status, "%s: ended on request", argv[0]);
    if (status == RGT_OK && code < 0)
      status = rgt__error_set(err, RGT_EIO,
                              "%s: its exit status is lost: this process ignores SIGCHLD or waits for every child", argv[0]);
    if (status == RGT_OK) *exit_status = code;
  }
  close(fd[0]);
  if (status == RGT_OK && output->failed) status = rgt__error_nomem(err, OUTPUT_MAX);
  return status;
}

const char *rgt__process_signal(int number, char text[24]) {
  static const struct {
    int number;
    const char *name;
  } known[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},   {SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"},
               {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGPIPE, "SIGPIPE"}, {SIGINT, "SIGINT"},
               {SIGHUP, "SIGHUP"},   {SIGQUIT, "SIGQUIT"}, {SIGXCPU, "SIGXCPU"}, {SIGSYS, "SIGSYS"},   {SIGALRM, "SIGALRM"}};
  snprintf(text, 24, "signal %d", number);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (known[i].number == number) snprintf(text, 24, "%s", known[i].name);
  return text;
}
