/* worker_child.c -- the parent's hand on one ragtune-worker process: start it, ask it, watch it, end it.
 *
 * While it waits the parent sleeps in poll and looks up every LOOK_MS: at the stop, at the journal, at the child's memory. The
 * child is ended as a group, so that a compiler that it started goes with it.
 */
#include "runtime/worker_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/process.h"
#include "runtime/worker_message.h"

enum {
  LOOK_MS = 20,
  HELLO_S = 10,
  STALL_S = 60, /* without a moment of processor time while it owes an answer: it waits for what never comes */
  GOODBYE_MS = 2000,
  FD_LEAST = 10 /* descriptors meant for the child lie above those that it gets */
};

#define REPLY_MAX ((uint64_t)1 << 30)

extern char **environ;

/* ---- start ---- */

static rgt_status spawn(const char *program, char *scratch, int socket_fd, int journal_fd, pid_t *pid, rgt__error *err) {
  static const int defaults[] = {SIGINT,  SIGTERM, SIGPIPE, SIGCHLD, SIGHUP,  SIGQUIT,
                                 SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGABRT, SIGALRM};
  char path[1024];
  char *argv[] = {path, (char *)(uintptr_t) "--serve", scratch, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  sigset_t none, set;
  snprintf(path, sizeof path, "%s", program);
  sigemptyset(&none);
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) sigaddset(&set, defaults[i]);
  if (posix_spawn_file_actions_init(&actions) != 0) return rgt__error_nomem(err, sizeof actions);
  if (posix_spawnattr_init(&attr) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return rgt__error_nomem(err, sizeof attr);
  }
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, socket_fd, RGT_WORKER_SOCKET_FD);
  posix_spawn_file_actions_adddup2(&actions, journal_fd, RGT_WORKER_JOURNAL_FD);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &set);
  int failed = posix_spawn(pid, path, &actions, &attr, argv, environ);
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return rgt__error_set(err, RGT_ENOWORKER, "%s: cannot be started: %s", program, strerror(failed));
  return RGT_OK;
}

/* The descriptor again, above those that the child gets; the old one is closed. -1 if there are no more. */
static int lift(int fd) {
  int lifted = fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);
  close(fd);
  return lifted;
}

static rgt_status connect_child(const char *program, rgt__worker_child *c, rgt__error *err) {
  int pair[2], journal_fd = -1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return rgt__error_set(err, RGT_EIO, "%s: no socket: %s", program, strerror(errno));
  c->fd = pair[0];
  int theirs = lift(pair[1]);
  c->journal = rgt__worker_journal_make(&journal_fd);
  if (journal_fd >= 0) journal_fd = lift(journal_fd);
  rgt_status status = RGT_OK;
  if (theirs < 0 || !c->journal || journal_fd < 0 || fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
    status = rgt__error_set(err, RGT_EIO, "%s: no descriptors for it: %s", program, strerror(errno));
  if (status == RGT_OK) status = spawn(program, c->scratch, theirs, journal_fd, &c->pid, err);
  if (theirs >= 0) close(theirs);
  if (journal_fd >= 0) close(journal_fd);
  return status;
}

/* ---- how it ended ---- */

static void kill_group(const rgt__worker_child *c) {
  kill(-c->pid, SIGKILL);
  kill(c->pid, SIGKILL);
}

/* Waits for its end, for so long; the group is ended before it is reaped, while its number is still its own. 1: it ended.
 * *code as waitpid gives it; -1: the host took it. */
static int reap(rgt__worker_child *c, int wait_ms, int *code) {
  for (int64_t end = rgt__worker_journal_now() + (int64_t)wait_ms * 1000000;;) {
    siginfo_t info = {.si_pid = 0};
    int r = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (r != 0 && errno == EINTR) continue;
    if (r != 0 || info.si_pid == c->pid) break;
    if (rgt__worker_journal_now() >= end) return 0;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  kill(-c->pid, SIGKILL);
  *code = -1;
  while (waitpid(c->pid, code, 0) < 0)
    if (errno != EINTR) {
      *code = -1;
      break;
    }
  return 1;
}

static void release(rgt__worker_child *c) {
  if (c->fd >= 0) close(c->fd);
  rgt__worker_journal_close(c->journal);
  if (c->scratch[0]) rgt__worker_sweep(c->scratch);
  rgt__wire_message_free(&c->reply);
  *c = (rgt__worker_child){.fd = -1};
}

static void kill_now(rgt__worker_child *c) {
  int code;
  kill_group(c);
  reap(c, 60000, &code);
}

static void note(const rgt__worker_child *c, rgt__worker_death *death) {
  death->candidate = atomic_load(&c->journal->candidate);
  death->phase = (rgt__worker_phase)atomic_load(&c->journal->phase);
}

/* Its connection is closed, so it has ended or is ending; one that goes on all the same is ended. */
static void bury(rgt__worker_child *c, rgt__worker_death *death) {
  char name[24];
  int code = 0;
  note(c, death);
  death->how = RGT_DEATH_ITS_OWN;
  if (!reap(c, GOODBYE_MS, &code)) {
    snprintf(death->text, sizeof death->text, "it closed its connection");
    kill_now(c);
  } else if (code == -1) {
    snprintf(death->text, sizeof death->text, "it ended, and the host took its status");
  } else if (WIFSIGNALED(code)) {
    snprintf(death->text, sizeof death->text, "%s", rgt__process_signal(WTERMSIG(code), name));
    if (WTERMSIG(code) == SIGKILL) death->how = RGT_DEATH_KILLED;
  } else {
    snprintf(death->text, sizeof death->text, "exit status %d", WEXITSTATUS(code));
  }
  release(c);
}

/* ---- watching ---- */

typedef struct watching {
  rgt__worker_child *c;
  const rgt__worker_patience *patience;
  int64_t asked_ns, looked_ns, moved_ns; /* moved: when it last had processor time */
  int64_t turn, base_bytes;              /* the turn of the journal that base_bytes was read in; -1: none */
  int64_t ticks;
} watching;

static int read_proc(pid_t pid, const char *name, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = 0;
  return n > 0;
}

static int64_t resident_bytes(pid_t pid) {
  char text[128];
  long long pages = 0;
  if (!read_proc(pid, "statm", text, sizeof text) || sscanf(text, "%*d %lld", &pages) != 1) return 0;
  return pages * (int64_t)sysconf(_SC_PAGESIZE);
}

/* Processor time in ticks, its reaped children's too; -1: not to be had. */
static int64_t used_ticks(pid_t pid) {
  char text[512];
  long long t[4] = {0};
  const char *rest = read_proc(pid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
  if (!rest) return -1;
  sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &t[0], &t[1], &t[2], &t[3]);
  return t[0] + t[1] + t[2] + t[3];
}

static int over_memory(watching *w, int64_t turn) {
  if (!w->patience->memory_bytes) return 0;
  int64_t now = resident_bytes(w->c->pid);
  if (turn != w->turn) {
    w->turn = turn;
    int64_t before = atomic_load(&w->c->journal->bytes);
    w->base_bytes = before > 0 ? before : now;
  }
  return now - w->base_bytes > w->patience->memory_bytes;
}

static int stalled(watching *w, int64_t now) {
  int64_t ticks = used_ticks(w->c->pid);
  if (ticks != w->ticks || ticks < 0) w->moved_ns = now;
  w->ticks = ticks;
  return now - w->moved_ns > (int64_t)STALL_S * 1000000000;
}

/* One look: RGT_OK, go on; RGT_EINTERRUPTED; RGT_ECRASH: over a limit, and death says which. */
static rgt_status look(watching *w, rgt__worker_death *death) {
  const rgt__worker_patience *p = w->patience;
  int64_t now = rgt__worker_journal_now();
  if (rgt__stop_now(p->stop)) return RGT_EINTERRUPTED;
  if (now - w->looked_ns < (int64_t)LOOK_MS * 500000) return RGT_OK;
  w->looked_ns = now;
  int64_t turn = atomic_load(&w->c->journal->turn), since = atomic_load(&w->c->journal->since_ns);
  death->text[0] = 0;
  death->over_time = 0;
  if (p->run_s > 0 && since && (double)(now - since) > p->run_s * 1e9) {
    snprintf(death->text, sizeof death->text, "still running after %g s", p->run_s);
    death->over_time = 1;
  } else if (p->whole_s > 0 && (double)(now - w->asked_ns) > p->whole_s * 1e9) {
    snprintf(death->text, sizeof death->text, "no answer after %g s", p->whole_s);
    death->over_time = 1;
  } else if ((since || p->whole_s > 0) && over_memory(w, turn)) {
    snprintf(death->text, sizeof death->text, "took over %lld MiB of memory", (long long)(p->memory_bytes >> 20));
  } else if (!since && !(p->whole_s > 0) && stalled(w, now)) {
    snprintf(death->text, sizeof death->text, "it did nothing for %d s", STALL_S);
    death->over_time = 1;
  }
  if (!death->text[0]) return RGT_OK;
  note(w->c, death);
  death->how = RGT_DEATH_BY_LIMIT;
  return RGT_ECRASH;
}

static rgt_status talk(watching *w, rgt__wire_sending *sending, rgt__worker_death *death, rgt__error *err) {
  rgt__worker_child *c = w->c;
  rgt__wire_state sent = sending ? RGT_WIRE_MORE : RGT_WIRE_WHOLE;
  rgt__wire_message_clear(&c->reply);
  for (;;) {
    if (sent == RGT_WIRE_MORE) sent = rgt__wire_send(c->fd, sending);
    rgt__wire_state got = sent == RGT_WIRE_WHOLE ? rgt__wire_receive(c->fd, REPLY_MAX, &c->reply) : sent;
    if (got == RGT_WIRE_WHOLE) return RGT_OK;
    if (got == RGT_WIRE_NOMEM) {
      kill_now(c);
      release(c);
      return rgt__error_nomem(err, 0);
    }
    if (got != RGT_WIRE_MORE) { /* an end, or garbage: from a process that is no longer itself */
      if (got == RGT_WIRE_GARBAGE) kill_group(c);
      bury(c, death);
      if (got == RGT_WIRE_GARBAGE) snprintf(death->text, sizeof death->text, "it answered with garbage");
      if (got == RGT_WIRE_GARBAGE) death->how = RGT_DEATH_ITS_OWN;
      return RGT_ECRASH;
    }
    struct pollfd p = {.fd = c->fd, .events = sent == RGT_WIRE_WHOLE ? POLLIN : POLLOUT};
    poll(&p, 1, LOOK_MS);
    rgt_status status = look(w, death);
    if (status != RGT_OK) {
      kill_now(c);
      release(c);
      return status == RGT_EINTERRUPTED ? rgt__error_set(err, status, "stopped on request") : status;
    }
  }
}

static watching watch(rgt__worker_child *c, const rgt__worker_patience *patience) {
  int64_t now = rgt__worker_journal_now();
  return (watching){.c = c, .patience = patience, .asked_ns = now, .looked_ns = now, .moved_ns = now, .turn = -1};
}

rgt_status rgt__worker_child_ask(rgt__worker_child *c, rgt__wire_kind kind, const rgt__buffer *body,
                                 const rgt__worker_patience *patience, rgt__worker_death *death, rgt__error *err) {
  rgt__wire_sending sending;
  watching w = watch(c, patience);
  if (body && body->failed) {
    rgt__worker_child_end(c);
    return rgt__error_nomem(err, body->size);
  }
  memset(death, 0, sizeof *death);
  rgt__wire_send_begin(&sending, kind, body);
  rgt_status status = talk(&w, &sending, death, err);
  if (status == RGT_OK && c->reply.kind != RGT_WIRE_REPLY) {
    note(c, death);
    kill_now(c);
    release(c);
    snprintf(death->text, sizeof death->text, "it answered with garbage");
    return RGT_ECRASH;
  }
  return status;
}

void rgt__worker_child_tell(rgt__worker_child *c, rgt__wire_kind kind, const rgt__buffer *body) {
  rgt__wire_sending sending;
  rgt__wire_send_begin(&sending, kind, body);
  while (rgt__wire_send(c->fd, &sending) == RGT_WIRE_MORE) {
    struct pollfd p = {.fd = c->fd, .events = POLLOUT};
    if (poll(&p, 1, GOODBYE_MS) == 0) return; /* the next question finds it out */
  }
}

void rgt__worker_child_end(rgt__worker_child *c) {
  int code;
  if (c->pid) {
    close(c->fd);
    c->fd = -1;
    if (!reap(c, GOODBYE_MS, &code)) kill_now(c);
  }
  release(c);
}

/* ---- hello ---- */

static rgt_status check_hello(const char *program, rgt__worker_child *c, rgt__error *err) {
  rgt__worker_death death = {.text = ""};
  rgt__worker_patience patience = {.whole_s = HELLO_S};
  rgt__digest mine, theirs;
  watching w = watch(c, &patience);
  rgt_status status = talk(&w, NULL, &death, err);
  if (status == RGT_ECRASH)
    return rgt__error_set(err, RGT_ENOWORKER, "%s is no ragtune-worker: instead of a hello: %s", program, death.text);
  if (status != RGT_OK) return status;
  rgt__wire_reader r = rgt__wire_read(&c->reply);
  const char *version = rgt__wire_get_text(&r);
  rgt__wire_get_struct(&r, &theirs, sizeof theirs);
  rgt__worker_abi(&mine);
  if (c->reply.kind != RGT_WIRE_HELLO || !rgt__wire_done(&r) || !version)
    return rgt__error_set(err, RGT_ENOWORKER, "%s is no ragtune-worker: its hello is garbage", program);
  if (!rgt__digest_equal(&mine, &theirs))
    return rgt__error_set(err, RGT_ENOWORKER, "%s belongs to another build of the library: it says version %.40s, this is %s",
                          program, version, RGT_VERSION);
  return RGT_OK;
}

rgt_status rgt__worker_child_start(const char *program, const char *scratch_parent, rgt__worker_child *out, rgt__error *err) {
  rgt__worker_child c = {.fd = -1};
  snprintf(c.scratch, sizeof c.scratch, "%s/" RGT_SCRATCH_NAME "%d-XXXXXX", scratch_parent, (int)getpid());
  if (!mkdtemp(c.scratch)) return rgt__error_set(err, RGT_EIO, "%s: no temporary folder: %s", scratch_parent, strerror(errno));
  rgt_status status = connect_child(program, &c, err);
  if (status == RGT_OK) status = check_hello(program, &c, err);
  if (status != RGT_OK) {
    rgt__worker_child_end(&c);
    return status;
  }
  *out = c;
  return RGT_OK;
}
