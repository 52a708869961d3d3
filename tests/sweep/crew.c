/* crew.c -- rows tried in a child process.
 *
 * The child writes what it found into memory that it shares with its parent. It ends at the end of a target, since the
 * simulator is one device for the life of a process, and after a row that cost it its context. */
#include "crew.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

typedef struct board { /* shared */
  _Atomic int n_done;  /* rows of the order that have a result, from its first on */
  int no_compiler;
  char trouble[512]; /* why the child could not begin */
  sweep_result result[];
} board;

enum { CHILD_DONE = 0, CHILD_LOST = 11, CHILD_NO_START = 12 };

int sweep_state_fails(sweep_state state) {
  return state > SWEEP_RIGHT;
}

static const sweep_row *row_at(const sweep_crew *crew, int i) {
  return &crew->rows->row[crew->order[i]];
}

static void set_environment(const sweep_crew *crew, const char *target) {
  static const char *const unset[] = {"RAGTUNE_MODE", "RAGTUNE_DEVICE", "RAGTUNE_BUNDLE",
                                      "PTXSIM_SEED",  "PTXSIM_DEVICES", "PTXSIM_REPORT"};
  for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) unsetenv(unset[i]);
  setenv("RAGTUNE_LIBCUDA", crew->libcuda, 1);
  setenv("RAGTUNE_WORKER", "inside", 1);
  setenv("RAGTUNE_DB", ":memory:", 1);
  setenv("PTXSIM_PROFILE", target, 1);
  setenv("PTXSIM_CHECKS", "all", 1);
  setenv("PTXSIM_LOG", "/dev/null", 1); /* reports are asked for */
  setenv("PTXSIM_INSTRUCTION_LIMIT", "300000000", 1);
}

static rgt_ctx *open_device(board *b) {
  rgt_options o = {.struct_size = sizeof o, .device = "cuda"};
  rgt_ctx *ctx = NULL;
  char toolchain[256];
  rgt_status status = rgt_open(&o, &ctx);
  if (status == RGT_OK) status = ctx->device->ops->toolchain(ctx->device, toolchain, sizeof toolchain, &ctx->error);
  if (status == RGT_OK) return ctx;
  b->no_compiler = status == RGT_ENOCOMPILER;
  snprintf(b->trouble, sizeof b->trouble, "%.500s", ctx ? rgt_errmsg(ctx) : "out of memory");
  rgt_close(ctx);
  return NULL;
}

/* Rows from `first` to before `end`, all of one target. */
static int child(const sweep_crew *crew, board *b, int first, int end) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  set_environment(crew, row_at(crew, first)->target);
  rgt_ctx *ctx = open_device(b);
  if (!ctx) return CHILD_NO_START;
  for (int i = first; i < end; i++) {
    sweep_try_options o = {crew->seed, crew->n_ragged, crew->first_ragged + crew->order[i] * crew->n_ragged};
    b->result[i].state = SWEEP_TRYING;
    alarm((unsigned)crew->limit_s);
    sweep_try(ctx, row_at(crew, i), &o, &b->result[i]);
    alarm(0);
    atomic_store(&b->n_done, i + 1);
    if (b->result[i].state == SWEEP_CRASHED || b->result[i].state == SWEEP_FAILED) return CHILD_LOST; /* the context is gone */
  }
  rgt_close(ctx);
  return CHILD_DONE;
}

/* How a child ended that did not end by itself: the row that it was at. */
static void blame(board *b, int i, int wait_status) {
  sweep_result *r = &b->result[i];
  int signal_number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  r->state = signal_number == SIGALRM ? SWEEP_TIMED_OUT : SWEEP_CRASHED;
  snprintf(r->where, sizeof r->where, "process");
  if (signal_number)
    snprintf(r->reason, sizeof r->reason, "signal %d", signal_number);
  else
    snprintf(r->reason, sizeof r->reason, "exit status %d", WEXITSTATUS(wait_status));
  atomic_store(&b->n_done, i + 1);
}

typedef struct telling {
  int told;
  int stop; /* somebody said so, or the time is over */
  double begin;
} telling;

static void tell(const sweep_crew *crew, board *b, telling *t) {
  for (int n = atomic_load(&b->n_done); t->told < n; t->told++) {
    const sweep_result *r = &b->result[t->told];
    if (crew->done && crew->done(crew->user, row_at(crew, t->told), r)) t->stop = 1;
    if (crew->stop_at_first && sweep_state_fails(r->state)) t->stop = 1;
  }
  if (crew->budget_s > 0 && sweep_clock_s() - t->begin > crew->budget_s) t->stop = 1;
}

/* One child; *next is the first row that has no result when it has ended. */
static rgt_status one_child(const sweep_crew *crew, board *b, telling *t, int *next, rgt__error *err) {
  int first = *next, end = first, status = 0;
  while (end < crew->n && !strcmp(row_at(crew, end)->target, row_at(crew, first)->target)) end++;
  fflush(NULL);
  pid_t pid = fork();
  if (pid < 0) return rgt__error_set(err, RGT_EIO, "fork: %s", strerror(errno));
  if (pid == 0) _exit(child(crew, b, first, end));
  while (waitpid(pid, &status, WNOHANG) == 0) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    tell(crew, b, t);
    if (!t->stop) continue;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    tell(crew, b, t);
    return RGT_OK;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NO_START)
    return rgt__error_set(err, b->no_compiler ? RGT_ENOCOMPILER : RGT_EIO, "%s", b->trouble);
  int n = atomic_load(&b->n_done),
      fine = WIFEXITED(status) && (WEXITSTATUS(status) == CHILD_DONE || WEXITSTATUS(status) == CHILD_LOST);
  if (!fine && n < end) blame(b, n < first ? first : n, status);
  tell(crew, b, t);
  *next = atomic_load(&b->n_done);
  return RGT_OK;
}

rgt_status sweep_crew_run(const sweep_crew *crew, sweep_result *results, rgt__error *err) {
  size_t bytes = sizeof(board) + (size_t)crew->n * sizeof(sweep_result);
  board *b = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  telling t = {.begin = sweep_clock_s()};
  rgt_status status = RGT_OK;
  if (b == MAP_FAILED) return rgt__error_set(err, RGT_EIO, "mmap of %zu bytes: %s", bytes, strerror(errno));
  for (int next = 0; status == RGT_OK && next < crew->n && !t.stop;) status = one_child(crew, b, &t, &next, err);
  for (int i = 0; i < crew->n; i++) {
    results[i] = b->result[i];
    if (results[i].state == SWEEP_TRYING) results[i].state = SWEEP_WAITING; /* stopped in the middle of it */
  }
  munmap(b, bytes);
  return status;
}
