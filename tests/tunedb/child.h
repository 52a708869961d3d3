/* child.h -- parts of a test that run in a forked child, where cmocka's assertions cannot report. */
#ifndef RGT_TESTS_TUNEDB_CHILD_H
#define RGT_TESTS_TUNEDB_CHILD_H

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define CHILD_SKIPPED 251

/* In a child: ends it with the line's number, which the parent reports. */
#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition); \
      _exit(250);                                                                   \
    }                                                                               \
  } while (0)

typedef void (*child_fn)(void *user);

static inline pid_t start_child(child_fn fn, void *user) {
  fflush(NULL);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    alarm(300); /* a child that hangs does not outlive the test run */
    fn(user);
    _exit(0);
  }
  return pid;
}

static inline int end_child(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) assert_int_equal(errno, EINTR);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static inline void run_child(child_fn fn, void *user) {
  assert_int_equal(end_child(start_child(fn, user)), 0);
}

/* Root may write anything: be nobody. */
static inline void be_nobody(void) {
  if (geteuid() == 0) CHECK(setgid(65534) == 0 && setuid(65534) == 0);
}

#endif
