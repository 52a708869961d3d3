/* worker_main.c -- the program ragtune-worker: candidates are compiled and run in it, at the call of the library.
 *
 *     ragtune-worker --serve FOLDER      FOLDER: for temporary files
 *
 * Its parent gives it a socket and the journal's page, and its own process group. A thread waits for the parent's end, so that
 * a candidate that hangs, or a compiler, does not outlive it.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/worker_child.h"
#include "runtime/worker_message.h"
#include "runtime/worker_serve.h"

static const char *scratch; /* folder for temporary files: whoever ends last removes it */

/* Its side of the socket closes when the parent closes or ends. The main thread then ends by itself, or is busy for good. */
static void *wait_for_parent(void *unused) {
  struct pollfd p = {.fd = RGT_WORKER_SOCKET_FD, .events = POLLRDHUP};
  (void)unused;
  while (poll(&p, 1, -1) < 1) continue;
  nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
  rgt__worker_sweep(scratch);
  kill(0, SIGKILL);
  return NULL;
}

static int usage(void) {
  fputs("ragtune-worker " RGT_VERSION ": started by the library when it tunes or verifies; there is nothing to call it for\n",
        stderr);
  return 2;
}

/* The terminal's interrupt is the parent's to decide. What ends a candidate reaches the parent as it is, without the report of
 * a sanitizer that this program may be built with. */
static void set_signals(void) {
  static const int plain[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  signal(SIGINT, SIG_IGN);
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) signal(plain[i], SIG_DFL);
}

/* Started as the library starts it: a socket, and a folder of our own making, which will be removed with what is in it. */
static int is_started_rightly(int argc, char **argv) {
  struct stat st;
  const char *name = argc == 3 ? strrchr(argv[2], '/') : NULL;
  return name && strcmp(argv[1], "--serve") == 0 && strncmp(name, "/ragtune-", 9) == 0 &&
         fstat(RGT_WORKER_SOCKET_FD, &st) == 0 && S_ISSOCK(st.st_mode);
}

int main(int argc, char **argv) {
  pthread_t thread;
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    puts("ragtune-worker " RGT_VERSION);
    return 0;
  }
  if (!is_started_rightly(argc, argv)) return usage();
  scratch = argv[2];
  rgt__worker_journal *journal = rgt__worker_journal_open(RGT_WORKER_JOURNAL_FD);
  if (!journal) return usage();
  close(RGT_WORKER_JOURNAL_FD);
  close_range(RGT_WORKER_SOCKET_FD + 1, ~0U, 0); /* what the host left open */
  set_signals();
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  if (pthread_create(&thread, NULL, wait_for_parent, NULL) != 0) return 1;
  int status = rgt__worker_serve(RGT_WORKER_SOCKET_FD, journal);
  rgt__worker_sweep(scratch);
  rgt__worker_journal_close(journal);
  return status;
}
