/* test_threads.c -- contexts in threads of their own, and what they share: the process's thread pool, the allocation hook, one
 * code cache, one database's file. Meant for ThreadSanitizer (RAGTUNE_SANITIZE=thread); it runs without it as well. */
#include "tests/support/front.h"

#include <ftw.h>
#include <pthread.h>
#include <sys/wait.h>

#include "runtime/thread_pool.h"
#include "tests/faults/machine.h"
#include "tests/faults/tally.h"

enum { THREADS = 4, TURNS = 6 };

/* The test forks while the pool's threads live; the child makes its own. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
  return "die_after_fork=0";
}

static char folder[64], shared_db[100], shared_cache[100];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
  (void)st, (void)kind, (void)where;
  return remove(path);
}

static int set_up(void **state) {
  (void)state;
  front_clear_environment();
  strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/rgt-threads-XXXXXX" : "/tmp/rgt-threads-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(shared_db, sizeof shared_db, "%s/tuned.db", folder);
  snprintf(shared_cache, sizeof shared_cache, "%s/cache", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What went wrong in a thread: cmocka's assertions belong to the main one. */
typedef struct worker_thread {
  pthread_t thread;
  int number;
  char wrong[300];
} worker_thread;

__attribute__((format(printf, 2, 3))) static void *wrong(worker_thread *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(t->wrong, sizeof t->wrong, format, args);
  va_end(args);
  return t;
}

static void in_threads(void *(*run)(void *)) {
  worker_thread t[THREADS];
  for (int i = 0; i < THREADS; i++) {
    t[i] = (worker_thread){.number = i};
    assert_int_equal(pthread_create(&t[i].thread, NULL, run, &t[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(t[i].thread, NULL), 0);
  for (int i = 0; i < THREADS; i++)
    if (t[i].wrong[0]) fail_msg("thread %d: %s", i, t[i].wrong);
}

static int is_right(const problem *p) {
  for (int64_t i = 0; i < p->rows * p->d.n_out; i++)
    if ((double)p->y[i] != p->expected[i]) return 0;
  return 1;
}

static int count_row(void *user, const rgt_db_row *row) {
  (void)row;
  ++*(int *)user;
  return 0;
}

/* ---- four contexts, one database, one cache ---- */

static rgt_status open_machine(machine *m, rgt_ctx **ctx) {
  rgt_options o = {.struct_size = sizeof o,
                   .device = "cpu",
                   .database = shared_db,
                   .cache_dir = shared_cache,
                   .template_dir = MACHINE_TEMPLATES,
                   .threads = 2};
  rgt_status status = rgt_open(&o, ctx);
  if (status == RGT_OK) machine_install(m, *ctx);
  return status;
}

static void *whole_way(void *user) {
  worker_thread *t = user;
  for (int turn = 0; turn < TURNS; turn++) {
    char text[RGT_OP_TEXT_MAX];
    const int64_t rows = 24;
    int n = 0;
    machine m;
    rgt_ctx *ctx = NULL;
    rgt_op *op = NULL;
    rgt_tune_result r;
    problem p;
    snprintf(text, sizeof text, "mlp:4-3-2:g%d:f32:relu:b12:nk:i64", 3 + (t->number + turn) % 3); /* some meet, some do not */
    problem_make(&p, text, rows, 0);
    rgt_tune_options o = {.struct_size = sizeof o, .rows = &rows, .n_rows = 1, .budget_s = 600, .force = turn % 2};
    rgt_status status = open_machine(&m, &ctx);
    if (status == RGT_OK) m.op = p.d;
    if (status == RGT_OK) status = rgt_op_new(ctx, &p.d, NULL, &op);
    if (status == RGT_OK) status = rgt_tune(op, &o, &r);
    if (status == RGT_OK) status = r.status;
    if (status == RGT_OK) status = rgt_op_prepare(op, 32, 0);
    if (status == RGT_OK) status = rgt_op_run(op, &p.args, NULL);
    if (status == RGT_OK) status = rgt_db_list(ctx, count_row, &n);
    if (status != RGT_OK) wrong(t, "turn %d: %s: %s", turn, rgt_status_name(status), rgt_errmsg(ctx));
    if (status == RGT_OK && strcmp(r.winner, MACHINE_WINNER) != 0) wrong(t, "turn %d: the winner is %s", turn, r.winner);
    if (status == RGT_OK && !is_right(&p)) wrong(t, "turn %d: y is wrong", turn);
    if (status == RGT_OK && n < 1) wrong(t, "turn %d: nothing is stored", turn);
    rgt_close(ctx);
    problem_free(&p);
  }
  return NULL;
}

static void contexts_in_threads(void **state) {
  machine m;
  rgt_ctx *ctx = NULL;
  int n = 0;
  (void)state;
  in_threads(whole_way);
  assert_int_equal(open_machine(&m, &ctx), RGT_OK);
  if (rgt_db_check(ctx) != RGT_OK) fail_msg("%s", rgt_errmsg(ctx));
  assert_int_equal(rgt_db_list(ctx, count_row, &n), RGT_OK);
  assert_int_equal(n, 3);
  rgt_close(ctx);
  tally("threads: four contexts open, tune, prepare, run, close at once, one database, one cache\t%d\tall right, the database "
        "sound",
        THREADS * TURNS);
}

/* ---- variants made in the background ---- */

static void *in_the_background(void *user) {
  worker_thread *t = user;
  for (int turn = 0; turn < TURNS; turn++) {
    char cache[120];
    machine m;
    rgt_ctx *ctx = NULL;
    rgt_op *op = NULL;
    problem p;
    problem_make(&p, MACHINE_OP, 24, 0);
    snprintf(cache, sizeof cache, "%s/cold-%d-%d", folder, t->number % 2, turn); /* two threads make the same at once */
    rgt_options o = {.struct_size = sizeof o,
                     .device = "cpu",
                     .database = ":memory:",
                     .cache_dir = cache,
                     .template_dir = MACHINE_TEMPLATES,
                     .threads = 2};
    rgt_status status = rgt_open(&o, &ctx);
    if (status == RGT_OK) machine_install(&m, ctx);
    m.compile_ms = 5;
    if (status == RGT_OK) status = rgt_op_new(ctx, &p.d, NULL, &op);
    if (status == RGT_OK) status = rgt_op_prepare(op, 32, 0);
    for (int run = 0; run < 20 && status == RGT_OK; run++) {
      problem_reset_y(&p);
      status = rgt_op_run(op, &p.args, NULL);
      if (status == RGT_OK && !is_right(&p)) wrong(t, "turn %d: y is wrong in run %d", turn, run);
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (status == RGT_OK && turn % 2) status = rgt_op_wait(op, 60); /* else it is closed in the middle of it */
    if (status == RGT_OK && !(turn % 2) && turn % 3 == 0) rgt_op_free(op);
    if (status != RGT_OK) wrong(t, "turn %d: %s: %s", turn, rgt_status_name(status), rgt_errmsg(ctx));
    rgt_close(ctx);
    problem_free(&p);
  }
  return NULL;
}

static void background_in_threads(void **state) {
  (void)state;
  in_threads(in_the_background);
  tally("threads: variants made in the background of four contexts, runs meanwhile, closed in the middle\t%d\tall right",
        THREADS * TURNS);
}

/* ---- the thread pool ---- */

typedef struct sum {
  _Atomic int64_t total;
  int64_t parts[64];
} sum;

static void add_part(void *user, int64_t part, int64_t n_parts) {
  sum *s = user;
  s->parts[part] = part + n_parts;
  atomic_fetch_add(&s->total, part);
}

enum { POOL_RUNS = 300, PARTS = 64 };

static void *pool_runs(void *user) {
  worker_thread *t = user;
  for (int i = 0; i < POOL_RUNS; i++) {
    sum s = {.total = 0};
    rgt__pool_run(3, PARTS, add_part, &s);
    if (s.total != PARTS * (PARTS - 1) / 2) wrong(t, "run %d: the parts add up to %lld", i, (long long)s.total);
    for (int part = 0; part < PARTS; part++)
      if (s.parts[part] != part + PARTS) wrong(t, "run %d: part %d was not run", i, part);
  }
  return NULL;
}

static void the_pool_in_threads(void **state) {
  (void)state;
  in_threads(pool_runs);
  tally("threads: the pool asked by four threads at once\t%d\tevery part run once", THREADS * POOL_RUNS);
}

/* ---- the built-in kernel on all threads ---- */

static void *builtin_runs(void *user) {
  worker_thread *t = user;
  rgt_options o = {.struct_size = sizeof o, .device = "cpu", .database = ":memory:", .cache_dir = shared_cache, .threads = 2};
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  problem p;
  problem_make(&p, "mlp:16-24-8:g4:f32:relu:b12:nk:i64", 2000, 0);
  rgt_status status = rgt_open(&o, &ctx);
  if (status == RGT_OK) status = rgt_op_new(ctx, &p.d, NULL, &op);
  for (int turn = 0; turn < TURNS && status == RGT_OK; turn++) {
    problem_reset_y(&p);
    status = rgt_op_run(op, &p.args, NULL);
    if (status == RGT_OK && !is_right(&p)) wrong(t, "turn %d: y is wrong", turn);
  }
  if (status != RGT_OK) wrong(t, "%s: %s", rgt_status_name(status), rgt_errmsg(ctx));
  rgt_close(ctx);
  problem_free(&p);
  return NULL;
}

static void kernels_in_threads(void **state) {
  (void)state;
  in_threads(builtin_runs);
  tally("threads: the built-in kernel in four contexts at once\t%d\tall right", THREADS * TURNS);
}

/* ---- fork ---- */

enum { FORKS = 20 };

static void a_fork_while_the_pool_lives(void **state) {
  (void)state;
  for (int i = 0; i < FORKS; i++) {
    worker_thread t = {.number = 0};
    sum s = {.total = 0};
    int status = 0;
    rgt__pool_run(3, PARTS, add_part, &s);
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      pool_runs(&t);
      _exit(t.wrong[0] != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) fail_msg("fork %d: the child ended with %d", i, status);
    assert_int_equal(s.total, PARTS * (PARTS - 1) / 2);
  }
  tally("threads: fork while the pool lives\t%d\tparent and child go on, each with threads of its own", FORKS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(contexts_in_threads), cmocka_unit_test(background_in_threads),
                                     cmocka_unit_test(the_pool_in_threads), cmocka_unit_test(kernels_in_threads),
                                     cmocka_unit_test(a_fork_while_the_pool_lives)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
