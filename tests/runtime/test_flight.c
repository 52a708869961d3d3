/* test_flight.c -- of many processes that want the same code one compiles; none hangs when that one is killed or stands still.
 */
#include "runtime/candidate.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/faults/tally.h"
#include "tests/support/paced_device.h"

enum { N_PROCESSES = 16, KILL_ROUNDS = 40 };

/* What the processes of a test share. */
typedef struct shared {
  atomic_int n_begun, n_compiled; /* compiles */
  atomic_int n_right;             /* processes that got the code */
  atomic_int compiler;            /* the process that compiles just now */
  atomic_int stands;              /* the first compile stands still until it is killed */
} shared;

static scratch s;
static shared *all;
static char folder[240], lock[280];
static double wait_s;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int setup(void **state) {
  (void)state;
  scratch_open(&s);
  snprintf(folder, sizeof folder, "%s", scratch_path(&s, "cache"));
  snprintf(lock, sizeof lock, "%s", scratch_path(&s, "a.lock"));
  all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  wait_s = 30;
  return all == MAP_FAILED;
}

static int teardown(void **state) {
  (void)state;
  munmap(all, sizeof *all);
  scratch_close(&s);
  return 0;
}

/* ---- the lock itself ---- */

static void test_one_has_it(void **state) {
  (void)state;
  rgt__flight a, b;
  assert_int_equal(rgt__flight_begin(lock, 1, NULL, &a), RGT_FLIGHT_MINE);
  double began = now_s();
  assert_int_equal(rgt__flight_begin(lock, 0.05, NULL, &b), RGT_FLIGHT_ALONE);
  assert_true(now_s() - began >= 0.05);
  assert_int_equal(b.fd, -1);
  rgt__flight_end(&b); /* holds nothing */
  assert_int_equal(rgt__flight_clear(lock), 0);
  rgt__flight_end(&a);
  rgt__flight_end(&a);
  assert_int_not_equal(access(lock, F_OK), 0);
  assert_int_equal(rgt__flight_begin(lock, 0, NULL, &b), RGT_FLIGHT_MINE);
  rgt__flight_end(&b);
}

static void test_stop(void **state) {
  (void)state;
  rgt__flight a, b;
  const volatile int flag = 1;
  rgt__stop stop = {.flag = &flag};
  assert_int_equal(rgt__flight_begin(lock, 1, &stop, &a), RGT_FLIGHT_MINE); /* nothing to wait for */
  assert_int_equal(rgt__flight_begin(lock, 60, &stop, &b), RGT_FLIGHT_STOPPED);
  assert_int_equal(b.fd, -1);
  rgt__flight_end(&a);
}

static void test_no_lock_to_be_had(void **state) {
  (void)state;
  rgt__flight a;
  char path[1100];
  assert_int_equal(rgt__flight_begin(scratch_path(&s, "nowhere/a.lock"), 60, NULL, &a), RGT_FLIGHT_ALONE);
  memset(path, 'x', sizeof path);
  path[sizeof path - 1] = 0;
  assert_int_equal(rgt__flight_begin(path, 60, NULL, &a), RGT_FLIGHT_ALONE);
  assert_int_equal(symlink("/etc/passwd", lock), 0); /* what others put there is not followed */
  assert_int_equal(rgt__flight_begin(lock, 60, NULL, &a), RGT_FLIGHT_ALONE);
}

/* The file of a process that was killed stays, its lock does not. */
static void test_left_behind(void **state) {
  (void)state;
  rgt__flight a;
  scratch_write(&s, "a.lock", "", 0600);
  assert_int_equal(rgt__flight_begin(lock, 0, NULL, &a), RGT_FLIGHT_MINE);
  rgt__flight_end(&a);
  scratch_write(&s, "a.lock", "", 0600);
  assert_int_equal(rgt__flight_clear(lock), 1);
  assert_int_not_equal(access(lock, F_OK), 0);
  assert_int_equal(rgt__flight_clear(lock), 0);
}

/* A child that the host forks has the descriptor too, and lives on. */
static void test_fork_with_the_lock(void **state) {
  (void)state;
  rgt__flight a, b;
  assert_int_equal(rgt__flight_begin(lock, 0, NULL, &a), RGT_FLIGHT_MINE);
  pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  rgt__flight_end(&a);
  assert_int_equal(rgt__flight_begin(lock, 0, NULL, &b), RGT_FLIGHT_MINE);
  rgt__flight_end(&b);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

static atomic_int n_inside, n_turns;

static void *take_turns(void *unused) {
  (void)unused;
  for (int i = 0; i < 50; i++) {
    rgt__flight f;
    if (rgt__flight_begin(lock, 60, NULL, &f) != RGT_FLIGHT_MINE) continue;
    if (atomic_fetch_add(&n_inside, 1) != 0) continue; /* two at once: n_turns falls short */
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    atomic_fetch_sub(&n_inside, 1);
    atomic_fetch_add(&n_turns, 1);
    rgt__flight_end(&f);
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, take_turns, NULL), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&n_turns), 200);
  assert_int_not_equal(access(lock, F_OK), 0);
}

/* ---- processes ---- */

static rgt_status counted_compile(rgt__device *d, const char *source, size_t bytes, const rgt__target *target, int want_asm,
                                  rgt__compiled *out, rgt__error *err) {
  atomic_store(&all->compiler, (int)getpid());
  if (atomic_fetch_add(&all->n_begun, 1) == 0)
    while (atomic_load(&all->stands)) pause();
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  rgt_status status = paced_compile(d, source, bytes, target, want_asm, out, err);
  atomic_fetch_add(&all->n_compiled, 1);
  return status;
}

/* One process of the host: wants this code, and says whether it got it. */
static void want(const char *source) {
  paced_device device;
  rgt__device_ops ops = paced_cpu_ops;
  rgt__code_cache *cache = NULL;
  rgt__candidate c = {.outcome = RGT_TRIAL_OK};
  rgt__error err = {""};
  paced_open(&device, "cpu");
  ops.compile = counted_compile;
  device.base.ops = &ops;
  if (rgt__code_cache_open(folder, &cache, &err) != RGT_OK) _exit(3);
  rgt__code_cache_wait(cache, wait_s);
  rgt__candidate_maker maker = {.device = &device.base, .target = device.base.info.target, .cache = cache, .toolchain = "1"};
  c.source = rgt__strdup(source);
  c.source_bytes = strlen(source);
  rgt__digest_of(source, strlen(source), &c.source_digest);
  rgt__code_cache_key(&c.source_digest, maker.toolchain, maker.target.name, &c.code);
  paced_program(&c.program, "valid 1\nworkspace 16\n");
  if (rgt__candidate_compile(&maker, &c, 0, &err) != RGT_OK || c.outcome != RGT_TRIAL_OK) _exit(4);
  if (rgt__candidate_load(&maker, &c, &err) != RGT_OK) _exit(5);
  atomic_fetch_add(&all->n_right, 1);
  rgt__candidate_free(&device.base, &c);
  rgt__code_cache_free(cache);
  _exit(0);
}

static pid_t start(const char *source) {
  fflush(NULL);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    alarm(60);
    want(source);
  }
  return pid;
}

static int end(pid_t pid) {
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void reset(void) {
  memset(all, 0, sizeof *all);
}

static void test_one_compiles(void **state) {
  (void)state;
  enum { ROUNDS = 5 };
  for (int round = 0; round < ROUNDS; round++) {
    char source[40];
    pid_t pids[N_PROCESSES];
    reset();
    snprintf(source, sizeof source, "good %d", round);
    for (int i = 0; i < N_PROCESSES; i++) pids[i] = start(source);
    for (int i = 0; i < N_PROCESSES; i++) assert_int_equal(end(pids[i]), 0);
    assert_int_equal(all->n_right, N_PROCESSES);
    assert_int_equal(all->n_compiled, 1);
  }
  tally("%d processes want the same code at once\t%d\tone compiled it each time, all got it", N_PROCESSES, ROUNDS);
}

/* The compiler's process is killed in the middle: another one compiles, at once and not after the limit. */
static void test_killed_compiler(void **state) {
  (void)state;
  for (int round = 0; round < KILL_ROUNDS; round++) {
    enum { N = 4 };
    char source[40];
    pid_t pids[N];
    int killed = 0;
    reset();
    all->stands = 1;
    snprintf(source, sizeof source, "good %d", 1000 + round);
    double began = now_s();
    for (int i = 0; i < N; i++) pids[i] = start(source);
    while (!atomic_load(&all->n_begun)) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 130000L * round}, NULL); /* the others wait by now, or are just coming */
    pid_t victim = (pid_t)atomic_load(&all->compiler);
    atomic_store(&all->stands, 0);
    assert_int_equal(kill(victim, SIGKILL), 0);
    for (int i = 0; i < N; i++) {
      int code = end(pids[i]);
      if (pids[i] == victim) assert_int_equal(code, 1000 + SIGKILL);
      if (pids[i] != victim) assert_int_equal(code, 0);
      killed += pids[i] == victim;
    }
    assert_int_equal(killed, 1);
    assert_int_equal(all->n_right, N - 1);
    assert_int_equal(all->n_compiled, 1);
    assert_true(now_s() - began < wait_s);
  }
  tally("kill -9 of the process that compiles what three others wait for\t%d\tone of them compiled it at once, all got it",
        KILL_ROUNDS);
}

static void test_compiler_stands_still(void **state) {
  (void)state;
  reset();
  all->stands = 1;
  wait_s = 0.2;
  pid_t first = start("good still");
  while (!atomic_load(&all->n_begun)) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  pid_t second = start("good still");
  assert_int_equal(end(second), 0); /* alone, after the limit */
  assert_int_equal(all->n_right, 1);
  assert_int_equal(all->n_compiled, 1);
  assert_int_equal(kill(first, SIGKILL), 0);
  assert_int_equal(end(first), 1000 + SIGKILL);
  tally("the process that compiles stands still\t%d\tanother one waited up to its limit and went on alone", 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_one_has_it),
      TEST(test_stop),
      TEST(test_no_lock_to_be_had),
      TEST(test_left_behind),
      TEST(test_fork_with_the_lock),
      TEST(test_threads),
      TEST(test_one_compiles),
      TEST(test_killed_compiler),
      TEST(test_compiler_stands_still),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
