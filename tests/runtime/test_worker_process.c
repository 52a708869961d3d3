/* test_worker_process.c -- what happens when candidates, compilers and the worker itself crash, hang, or do worse: the search
 * ends well, says which and why, stores it, and leaves no process, no zombie and no file behind.
 *
 *     runtime_test_worker_process [rounds]     the searches with planted faults so often; ends with a table of what was broken
 *
 * Longer than most tests: time limits have to pass.
 */
#include "tests/support/folder.h"
#include "tests/support/front.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static front f;
static char templates[200], tmp[200];
static int rounds = 1;

#define FAULTY "mlp:10-20-5:g4:f32:relu:b12:nk:i64"

/* ---- what is planted, and what must come of it ---- */

typedef struct planted {
  int fault;
  const char *what, *outcome;
  const char *reasons[3]; /* one of them stands in the trial's */
} planted;

static const planted faults[] = {
    {1, "writes to NULL", "crashed", {"SIGSEGV in verification"}},
    {2, "runs an illegal instruction", "crashed", {"SIGILL in verification", "SIGTRAP in verification"}},
    {3, "divides by zero", "crashed", {"SIGFPE in verification"}},
    {4, "aborts", "crashed", {"SIGABRT in verification"}},
    {5, "loops for ever", "timed_out", {"still running after 2 s in verification"}},
    {6, "exits with status 0", "crashed", {"exit status"}},
    {7, "closes every descriptor", "crashed", {"it closed its connection in verification", "exit status", "SIG"}},
    {8, "kills its process group", "crashed", {"SIGKILL in verification"}},
    {9, "writes one element past a row", "wrong", {"canary", "column", "written"}},
    {10, "writes 1 MiB past y", "crashed", {"SIGSEGV in verification", "SIGBUS in verification"}},
    {11, "reads 8 KiB past w1", "crashed", {"SIGSEGV in verification", "SIGBUS in verification"}},
    {12, "takes memory without end", "crashed", {"took over 128 MiB of memory in verification", "SIG"}},
    {13, "is wrong by 1", "wrong", {"bound", "is "}},
    {14, "overflows the stack", "crashed", {"SIGSEGV in verification"}},
    {15, "crashes in timing, verified right", "crashed", {"SIGSEGV in timing"}},
    {16, "hangs in timing, verified right", "timed_out", {"still running after 2 s in timing"}},
    {17, "exits when it is loaded", "crashed", {"exit status 3 in loading", "exit status"}},
    {18, "smashes the heap", "crashed", {"in verification"}},
    {19, "kills itself", "crashed", {"SIGKILL in verification"}},
    {20, "sleeps for ever", "timed_out", {"still running after 2 s in verification"}},
    {21, "stops itself", "timed_out", {"still running after 2 s in verification"}},
    {22, "reads 64 KiB before x", "crashed", {"SIGSEGV in verification", "SIGBUS in verification"}},
    {23, "its compiler hangs", "timed_out", {"still compiling after 4 s"}},
    {24, "its compiler crashes", "compile_error", {"was ended by SIGSEGV"}},
    {25, "its compiler takes memory without end", "compile_error", {"memory", "exhausted"}},
    {26, "its compiler kills the worker", "crashed", {"the compiler ended its process: SIGKILL"}},
};
enum { N_FAULTS = sizeof faults / sizeof faults[0] };

/* ---- the table that is printed at the end: what was broken, how often, what happened ---- */

enum { ROWS_MAX = 64 };
static struct row {
  char what[60], happened[RGT_REASON_MAX + 40];
  int n;
} table[ROWS_MAX];
static int n_rows;

static void record(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void record(const char *what, const char *format, ...) {
  char happened[sizeof table[0].happened];
  va_list args;
  va_start(args, format);
  vsnprintf(happened, sizeof happened, format, args);
  va_end(args);
  int i = 0;
  while (i < n_rows && (strcmp(table[i].what, what) != 0 || strcmp(table[i].happened, happened) != 0)) i++;
  assert_true(i < ROWS_MAX);
  if (i == n_rows) {
    snprintf(table[i].what, sizeof table[i].what, "%s", what);
    snprintf(table[i].happened, sizeof table[i].happened, "%s", happened);
    n_rows++;
  }
  table[i].n++;
}

static void print_table(void) {
  printf("\n%-45s  %5s  %s\n", "what was broken on purpose", "times", "what happened");
  for (int i = 0; i < n_rows; i++) printf("%-45s  %5d  %s\n", table[i].what, table[i].n, table[i].happened);
}

/* A compiler that does what the source asks for. */
#define FAULTY_CC                                                                             \
  "#!/bin/sh\n"                                                                               \
  "for a; do case $a in *.c) in=$a;; esac; done\n"                                            \
  "case $(grep -o 'THE_COMPILER_[A-Z]*' \"$in\" 2>/dev/null) in\n"                            \
  "*HANGS) echo >\"$in.left\"; sleep 1000;;\n"                                                \
  "*CRASHES) kill -SEGV $$;;\n"                                                               \
  "*EATS) sleep 0.3; head -c 2000000000 /dev/zero | tail -n 1 | wc -c >/dev/null; exit 1;;\n" \
  "*KILLS) echo >\"$in.left\"; kill -9 $PPID;;\n"                                             \
  "esac\n"                                                                                    \
  "exec cc \"$@\"\n"

/* ---- the house ---- */

static int open_house(void **state) {
  (void)state;
  front_begin(&f);
  snprintf(templates, sizeof templates, "%s/templates", f.s.folder);
  snprintf(tmp, sizeof tmp, "%s/tmp", f.s.folder);
  assert_int_equal(mkdir(tmp, 0700), 0);
  setenv("TMPDIR", tmp, 1);
  folder_copy(templates, RGT_TESTS_DIR "/fixtures/faulty");
  scratch_write(&f.s, "faulty-cc", FAULTY_CC, 0755);
  setenv("RAGTUNE_CC", f.s.path, 1);
  return 0;
}

/* Each test sets the limits that it wants. */
static int no_limits(void **state) {
  (void)state;
  unsetenv("RAGTUNE_RUN_LIMIT_S");
  unsetenv("RAGTUNE_COMPILE_LIMIT_S");
  unsetenv("RAGTUNE_MEMORY_LIMIT_MIB");
  unsetenv("RAGTUNE_TEMPLATES");
  setenv("RAGTUNE_WORKER", RGT_WORKER, 1);
  return 0;
}

static int close_house(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static void fresh_database(void) {
  static int n;
  snprintf(f.db, sizeof f.db, "%s/tuned-%d.db", f.s.folder, n++);
}

/* The variants of `list` (of the family faulty, as Lua) beside row_gather's; the file's path. */
static const char *space_of(const char *list) {
  char text[400];
  snprintf(text, sizeof text, "return { row_gather = { lanes = 8, vectors = 4 }, group_tiles = false, faulty = %s }\n", list);
  return scratch_write(&f.s, "faulty.lua", text, 0644);
}

static rgt_op *begin(const char *list, rgt_tune_options *o) {
  static const int64_t rows = 8;
  fresh_database();
  front_open_mode(&f, NULL, templates);
  *o = front_tune_options(&f, &rows, 1);
  o->space = space_of(list);
  snprintf(f.space, sizeof f.space, "%s", o->space);
  o->space = f.space;
  o->budget_s = 120;
  return front_op(&f, FAULTY);
}

/* ---- what is left behind ---- */

/* Processes that were started in this house: TMPDIR tells; itself apart. Fills pids with those of the worker program. */
static int count_processes(pid_t *workers, int *n_workers) {
  DIR *proc = opendir("/proc");
  int n = 0;
  *n_workers = 0;
  assert_non_null(proc);
  for (struct dirent *e; (e = readdir(proc));) {
    char path[300], text[16384], want[220], exe[400];
    pid_t pid = (pid_t)atoi(e->d_name);
    if (pid <= 0 || pid == getpid()) continue;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    snprintf(want, sizeof want, "TMPDIR=%s", tmp);
    if (size <= 0 || !memmem(text, (size_t)size, want, strlen(want))) continue;
    n++;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    size = readlink(path, exe, sizeof exe - 1);
    exe[size > 0 ? size : 0] = 0;
    if (strstr(exe, "ragtune-worker") && *n_workers < 64) workers[(*n_workers)++] = pid;
  }
  closedir(proc);
  return n;
}

static void pause_ms(int ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void nothing_is_left(void) {
  pid_t workers[64];
  int n_workers = 0, n = 0;
  for (int turn = 0; turn < 100 && (n = count_processes(workers, &n_workers)) > 0; turn++) pause_ms(50);
  if (n) fail_msg("%d processes are left, %d of them workers", n, n_workers);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, so no zombie */
  for (int turn = 0; turn < 40 && scratch_count(tmp) > 0; turn++) pause_ms(50);
  assert_int_equal(scratch_count(tmp), 0);
}

/* ---- one search with all of them ---- */

static int trial_of(int fault, char *outcome, char *reason) {
  sqlite3 *db = NULL;
  sqlite3_stmt *s = NULL;
  char params[60];
  snprintf(params, sizeof params, "fault=%d,more=%d", fault % 16, fault / 16 * 16);
  assert_int_equal(sqlite3_open_v2(f.db, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db,
                                      "SELECT t.outcome, t.reason FROM trial t JOIN variant v ON v.key = t.variant "
                                      "WHERE v.family = 'faulty' AND v.params = ? AND t.outcome <> 'ok'",
                                      -1, &s, NULL),
                   SQLITE_OK);
  sqlite3_bind_text(s, 1, params, -1, SQLITE_STATIC);
  int found = 0;
  for (; sqlite3_step(s) == SQLITE_ROW; found++) {
    snprintf(outcome, 40, "%s", (const char *)sqlite3_column_text(s, 0));
    snprintf(reason, RGT_REASON_MAX, "%s", (const char *)sqlite3_column_text(s, 1));
  }
  sqlite3_finalize(s);
  sqlite3_close(db);
  return found;
}

static int judge(int i) {
  const planted *p = &faults[i];
  char outcome[40] = "", reason[RGT_REASON_MAX] = "";
  int found = trial_of(p->fault, outcome, reason), said = 0;
  for (int n = 0; n < 3; n++) said |= p->reasons[n] && strstr(reason, p->reasons[n]);
  record(p->what, "%s: %s", outcome, reason);
  if (found == 1 && strcmp(outcome, p->outcome) == 0 && said) return 1;
  print_error("a candidate that %s: %d trials, \"%s\": \"%s\"; want \"%s\": \"%s\"\n", p->what, found, outcome, reason,
              p->outcome, p->reasons[0]);
  return 0;
}

static void every_planted_fault_is_an_outcome(void **state) {
  rgt_tune_result r;
  rgt_tune_options o;
  (void)state;
  setenv("RAGTUNE_RUN_LIMIT_S", "2", 1);
  setenv("RAGTUNE_COMPILE_LIMIT_S", "4", 1);
  setenv("RAGTUNE_MEMORY_LIMIT_MIB", "128", 1);
  for (int round = 0; round < rounds; round++) {
    snprintf(f.cache, sizeof f.cache, "%s/cache-%d", f.s.folder, round);
    rgt_op *op = begin("{}", &o);
    o.seed = (uint64_t)round + 1;
    front_ok(&f, rgt_tune(op, &o, &r));
    assert_int_equal(r.status, RGT_OK);
    assert_int_equal(strncmp(r.winner, "row_gather:", 11), 0);
    int all_right = 1, n_crashed = 0, n_timed_out = 0, n_wrong = 0, n_compile_error = 0;
    for (int i = 0; i < N_FAULTS; i++) {
      all_right &= judge(i);
      n_crashed += strcmp(faults[i].outcome, "crashed") == 0;
      n_timed_out += strcmp(faults[i].outcome, "timed_out") == 0;
      n_wrong += strcmp(faults[i].outcome, "wrong") == 0;
      n_compile_error += strcmp(faults[i].outcome, "compile_error") == 0;
    }
    assert_true(all_right);
    assert_int_equal(r.n_crashed, n_crashed);
    assert_int_equal(r.n_timed_out, n_timed_out);
    assert_int_equal(r.n_wrong, n_wrong);
    assert_int_equal(r.n_compile_error, n_compile_error);
    assert_int_equal(r.n_ok, 3); /* row_gather twice, and the fixture with fault 0 */
    front_ok(&f, rgt_db_check(f.ctx));
    nothing_is_left();
  }
}

/* ---- rgt_verify ---- */

typedef struct verdicts {
  rgt_outcome outcome;
  char reason[RGT_REASON_MAX];
  int n;
} verdicts;

static int take(void *user, const rgt_verdict *v) {
  verdicts *out = user;
  out->outcome = v->outcome;
  snprintf(out->reason, sizeof out->reason, "%s", v->reason);
  out->n++;
  return 0;
}

static void verify_names_a_crash(void **state) {
  (void)state;
  setenv("RAGTUNE_RUN_LIMIT_S", "1", 1);
  fresh_database();
  front_open_mode(&f, NULL, templates);
  rgt_op *op = front_op(&f, FAULTY);
  verdicts d = {.n = 0};
  rgt_verify_options o = {.struct_size = sizeof o, .variant = "faulty:fault=1,more=0"};
  front_fails(&f, rgt_verify(op, &o, take, &d), RGT_ECRASH, "1 variant crashed");
  assert_int_equal(d.outcome, RGT_TRIAL_CRASHED);
  assert_string_equal(d.reason, "SIGSEGV in verification");
  o.variant = "faulty:fault=5,more=0";
  front_fails(&f, rgt_verify(op, &o, take, &d), RGT_ETIMEOUT, "1 variant did not end in time");
  assert_int_equal(d.outcome, RGT_TRIAL_TIMED_OUT);
  o.variant = "faulty:fault=0,more=0";
  front_ok(&f, rgt_verify(op, &o, take, &d));
  assert_int_equal(d.outcome, RGT_TRIAL_OK);
  assert_int_equal(d.n, 3);
  nothing_is_left();
}

/* ---- stops ---- */

static volatile int stop;

static void *stop_soon(void *unused) {
  (void)unused;
  pause_ms(700);
  stop = 1;
  return NULL;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void stop_set_in(void *user, const rgt_progress *p) {
  pthread_t *thread = user;
  if (p->phase == RGT_PHASE_COMPILE && p->done == p->total && !*thread) pthread_create(thread, NULL, stop_soon, NULL);
}

/* A stop ends what hangs at once, not at its limit, which is a minute. */
static void a_stop_ends_a_run_that_hangs(void **state) {
  rgt_tune_result r;
  rgt_tune_options o;
  pthread_t thread = 0;
  (void)state;
  setenv("RAGTUNE_RUN_LIMIT_S", "60", 1);
  rgt_op *op = begin("{ fault = 5, more = 0 }", &o);
  stop = 0;
  o.stop = &stop;
  o.progress = stop_set_in;
  o.progress_user = &thread;
  double began = now_s();
  front_fails(&f, rgt_tune(op, &o, &r), RGT_EINTERRUPTED, "stopped");
  assert_true(now_s() - began < 30);
  assert_int_equal(r.n_timed_out, 0);
  record("a stop while a candidate hangs", "ended at once, not after its 60 s");
  pthread_join(thread, NULL);
  nothing_is_left();
}

static void a_stop_ends_a_compiler_that_hangs(void **state) {
  rgt_tune_result r;
  rgt_tune_options o;
  pthread_t thread;
  (void)state;
  rgt_op *op = begin("{ fault = 7, more = 16 }", &o);
  stop = 0;
  o.stop = &stop;
  double began = now_s();
  assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
  front_fails(&f, rgt_tune(op, &o, &r), RGT_EINTERRUPTED, "stopped while compiling");
  assert_true(now_s() - began < 30);
  record("a stop while a compiler hangs", "ended at once, not after its 60 s");
  pthread_join(thread, NULL);
  nothing_is_left();
}

/* The budget too: what hangs is left out, and the rest is measured. */
static void a_budget_ends_a_compiler_that_hangs(void **state) {
  rgt_tune_result r;
  rgt_tune_options o;
  (void)state;
  rgt_op *op = begin("{ fault = 7, more = 16 }", &o);
  o.budget_s = 8;
  double began = now_s();
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_true(now_s() - began < 40);
  assert_int_equal(r.status, RGT_OK);
  if (r.n_ok != 2) fail_msg("%d ok of %d tried; %s; %s", r.n_ok, r.n_tried, r.reason, f.log);
  assert_has(f.log, "ended compiling after 2 of 3 variants");
  record("a budget that ends while a compiler hangs", "that one is left out, the rest is measured");
  nothing_is_left();
}

/* ---- the worker itself ---- */

typedef struct killer {
  rgt_phase phase;
  int most, n;
} killer;

static void kill_workers(void *user, const rgt_progress *p) {
  killer *k = user;
  pid_t workers[64];
  int n;
  if (p->phase != k->phase || k->n >= k->most) return;
  k->n++;
  count_processes(workers, &n);
  for (int i = 0; i < n; i++) {
    kill(workers[i], SIGKILL);
    record("a worker killed from outside", "another one goes on; nobody is to blame");
  }
}

/* Somebody kills the worker between two questions: nobody is to blame, and the search goes on. */
static void a_worker_killed_from_outside(void **state) {
  static const rgt_phase phases[] = {RGT_PHASE_GENERATE, RGT_PHASE_COMPILE, RGT_PHASE_VERIFY, RGT_PHASE_TIME, RGT_PHASE_DUEL};
  (void)state;
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    rgt_tune_result r;
    rgt_tune_options o;
    killer k = {.phase = phases[i], .most = 2};
    rgt_op *op = begin("{ fault = 0, more = 0 }", &o);
    o.progress = kill_workers;
    o.progress_user = &k;
    front_ok(&f, rgt_tune(op, &o, &r));
    assert_true(k.n > 0);
    assert_int_equal(r.status, RGT_OK);
    assert_int_equal(r.n_ok, 3);
    assert_int_equal(r.n_crashed, 0);
    nothing_is_left();
  }
}

static void fails_to_tune(const char *worker, const char *word) {
  rgt_tune_result r;
  rgt_tune_options o;
  setenv("RAGTUNE_WORKER", worker, 1);
  rgt_op *op = begin("false", &o);
  front_fails(&f, rgt_tune(op, &o, &r), RGT_ENOWORKER, word);
  record("a worker that is none", "RGT_ENOWORKER: %s", word);
  front_ok(&f, rgt_op_prepare(op, 8, 0)); /* dispatch goes on */
  setenv("RAGTUNE_WORKER", RGT_WORKER, 1);
  nothing_is_left();
}

static void what_is_no_worker(void **state) {
  char path[240];
  (void)state;
  fails_to_tune("none", "RAGTUNE_WORKER=none");
  fails_to_tune("/nowhere/ragtune-worker", "/nowhere/ragtune-worker");
  fails_to_tune("/usr", "RAGTUNE_WORKER=/usr");
  fails_to_tune("/bin/true", "/bin/true is no ragtune-worker: instead of a hello: exit status 0");
  fails_to_tune("/bin/cat", "/bin/cat is no ragtune-worker: instead of a hello: exit status 1");
  snprintf(path, sizeof path, "%s", scratch_write(&f.s, "garbage", "#!/bin/sh\nyes garbage | head -c 4096 >&3\n", 0755));
  fails_to_tune(path, "it answered with garbage");
  snprintf(path, sizeof path, "%s", scratch_write(&f.s, "short", "#!/bin/sh\nprintf RGTM >&3\n", 0755));
  fails_to_tune(path, "instead of a hello: exit status 0");
  snprintf(path, sizeof path, "%s", scratch_write(&f.s, "not-executable", "#!/bin/sh\n", 0644));
  fails_to_tune(path, "is no program");
  snprintf(path, sizeof path, "%s", scratch_write(&f.s, "no-interpreter", "#!/nowhere/sh\n", 0755));
  fails_to_tune(path, "cannot be started");
}

/* A limit in the environment that is none is said, not taken for another. */
static void bad_limits(void **state) {
  static const char *const names[] = {"RAGTUNE_RUN_LIMIT_S", "RAGTUNE_COMPILE_LIMIT_S", "RAGTUNE_MEMORY_LIMIT_MIB"};
  static const char *const words[] = {"0", "-1", "fast", "3x", "nan", "inf"};
  (void)state;
  for (int n = 0; n < 3; n++)
    for (int w = 0; w < 6; w++) {
      rgt_tune_result r;
      rgt_tune_options o;
      setenv(names[n], words[w], 1);
      rgt_op *op = begin("false", &o);
      front_fails(&f, rgt_tune(op, &o, &r), RGT_EINVAL, names[n]);
      unsetenv(names[n]);
    }
  nothing_is_left();
}

/* The parent is killed while a candidate hangs in one worker and a compiler in others: none of them outlives it. */
static void no_worker_outlives_its_parent(void **state) {
  static const char *const lists[] = {"{ fault = 5, more = 0 }", "{ fault = 7, more = 16 }"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    char space[240], db[240];
    pid_t pid, workers[64];
    int n = 0, status;
    snprintf(space, sizeof space, "%s", space_of(lists[i]));
    fresh_database();
    snprintf(db, sizeof db, "%s", f.db);
    setenv("RAGTUNE_TEMPLATES", templates, 1);
    char *argv[] = {(char *)(uintptr_t)RGT_CLI,
                    (char *)(uintptr_t) "--op",
                    (char *)(uintptr_t)FAULTY,
                    (char *)(uintptr_t) "--rows",
                    (char *)(uintptr_t) "8",
                    (char *)(uintptr_t) "--space",
                    space,
                    (char *)(uintptr_t) "--db",
                    db,
                    (char *)(uintptr_t) "--quiet",
                    NULL};
    assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
    unsetenv("RAGTUNE_TEMPLATES");
    for (int turn = 0; turn < 600 && n == 0; turn++) {
      pause_ms(50);
      count_processes(workers, &n);
    }
    assert_true(n > 0);
    pause_ms(1500); /* long enough for something to hang, mostly; whatever it does, it is ended */
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    nothing_is_left();
    record("a program killed while it tunes", "no worker, compiler or file outlives it");
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup(every_planted_fault_is_an_outcome, no_limits),
                                     cmocka_unit_test_setup(verify_names_a_crash, no_limits),
                                     cmocka_unit_test_setup(a_stop_ends_a_run_that_hangs, no_limits),
                                     cmocka_unit_test_setup(a_stop_ends_a_compiler_that_hangs, no_limits),
                                     cmocka_unit_test_setup(a_budget_ends_a_compiler_that_hangs, no_limits),
                                     cmocka_unit_test_setup(a_worker_killed_from_outside, no_limits),
                                     cmocka_unit_test_setup(what_is_no_worker, no_limits),
                                     cmocka_unit_test_setup(bad_limits, no_limits),
                                     cmocka_unit_test_setup(no_worker_outlives_its_parent, no_limits)};
  if (argc > 1) rounds = atoi(argv[1]);
  int failed = cmocka_run_group_tests(tests, open_house, close_house);
  print_table();
  return failed;
}
