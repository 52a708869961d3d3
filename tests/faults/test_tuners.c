/* test_tuners.c -- several tuners of one signature: one works, the others wait for it, and go on without it when it is killed
 * or stands still; and one tuner that is killed at random points resumes each time without repeating what it had finished.
 *
 * Every tuner is a process of its own, with the machine of machine.h and a family of 64 variants. With FAULTS=all many more
 * rounds. */
#include "tests/support/front.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/base/random.h"
#include "tests/faults/machine.h"
#include "tests/faults/tally.h"
#include "tests/support/folder.h"

enum { SPACE = 64, PART = 40, TUNERS_MAX = 4 }; /* 64 are more than the 60 that are always tried whole; 40 are tried of them */

/* What a tuner tells, in memory that all have. */
typedef struct told {
  atomic_int n_progress; /* it works */
  int ended, hit, n_tried, n_ok, n_resumed;
  double seconds;
  char winner[RGT_VARIANT_TEXT_MAX], log[2000];
} told;

static scratch s;
static told *all; /* [TUNERS_MAX] */
static char db[100], cache[100], templates[100];
static machine device;
static int exhaustive = 1;

static int all_rounds(int few, int many) {
  const char *word = getenv("FAULTS");
  return word && strcmp(word, "all") == 0 ? many : few;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* templates/ of the tests, with 64 turns in place of two. */
static void lay_templates(void) {
  char command[600];
  folder_copy(templates, NULL);
  snprintf(command, sizeof command, "rm -rf %s/cpu/* && cp -r %s/. %s/", templates, MACHINE_TEMPLATES, templates);
  assert_int_equal(system(command), 0);
  folder_patch(templates, "cpu/small.lua", "{ { \"turn\", { 1, 2 },",
               "{ { \"more\", { 0, 16, 32, 48 }, default = 0, about = \"added to it\" }, { \"turn\", { 1, 2, 3, 4, 5, 6, 7, 8, "
               "9, 10, 11, "
               "12, 13, 14, 15, 16 },");
  folder_patch(templates, "cpu/small.c", "turn=$(p.turn)", "turn=$(p.turn + p.more)");
  folder_patch(templates, "cpu/small.lua", "p.turn <= 2", "p.turn <= 16");
  folder_patch(templates, "cpu/small.lua", "class = \"turn\" .. p.turn",
               "class = p.turn + p.more == 1 and \"forwards\" or \"backwards\"");
}

static int setup(void **state) {
  (void)state;
  front_clear_environment();
  strcpy(s.folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/rgt-tuners-XXXXXX" : "/tmp/rgt-tuners-XXXXXX");
  assert_non_null(mkdtemp(s.folder)); /* where a file is synced at once: compiled code is, each time */
  snprintf(db, sizeof db, "%s/data/tuned.db", s.folder);
  snprintf(cache, sizeof cache, "%s/cache", s.folder);
  snprintf(templates, sizeof templates, "%s/templates", s.folder);
  lay_templates();
  all = mmap(NULL, TUNERS_MAX * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return all == MAP_FAILED;
}

static int teardown(void **state) {
  (void)state;
  unsetenv("RAGTUNE_WAIT_LIMIT_S");
  munmap(all, TUNERS_MAX * sizeof *all);
  scratch_close(&s);
  return 0;
}

/* ---- a tuner ---- */

static void keep_log(void *user, rgt_log_level level, const char *line) {
  told *t = user;
  size_t at = strlen(t->log);
  (void)level;
  snprintf(t->log + at, sizeof t->log - at, "%s\n", line);
}

static void on_progress(void *user, const rgt_progress *p) {
  told *t = user;
  (void)p;
  atomic_fetch_add(&t->n_progress, 1);
}

static void tune(told *t, int compile_ms, int force) {
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  rgt_op_desc d;
  rgt_tune_result r;
  const int64_t rows = 24;
  double began = now_s();
  rgt_options o = {.struct_size = sizeof o,
                   .device = "cpu",
                   .database = db,
                   .cache_dir = cache,
                   .template_dir = templates,
                   .threads = 1,
                   .log = keep_log,
                   .log_user = t};
  if (rgt_open(&o, &ctx) != RGT_OK) _exit(3);
  machine_install(&device, ctx);
  device.compile_ms = compile_ms;
  rgt_op_parse(ctx, MACHINE_OP, &d);
  device.op = d;
  rgt_tune_options tuning = {.struct_size = sizeof tuning,
                             .rows = &rows,
                             .n_rows = 1,
                             .budget_s = 600,
                             .force = force,
                             .exhaustive = exhaustive,
                             .progress = on_progress,
                             .progress_user = t};
  if (rgt_op_new(ctx, &d, NULL, &op) != RGT_OK) _exit(4);
  rgt_status status = rgt_tune(op, &tuning, &r);
  if (status != RGT_OK || r.status != RGT_OK) {
    keep_log(t, RGT_LOG_WARNING, rgt_errmsg(ctx));
    _exit(5);
  }
  t->hit = r.hit;
  t->n_tried = r.n_tried;
  t->n_ok = r.n_ok;
  t->n_resumed = r.n_resumed;
  snprintf(t->winner, sizeof t->winner, "%s", r.winner);
  t->seconds = now_s() - began;
  rgt_close(ctx);
  t->ended = 1;
}

static pid_t start(int i, int compile_ms, int force) {
  memset(&all[i], 0, sizeof all[i]);
  fflush(NULL);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    alarm(120);
    tune(&all[i], compile_ms, force);
    _exit(0);
  }
  return pid;
}

static int end(pid_t pid) {
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void ends_right(pid_t pid, int i) {
  int code = end(pid);
  if (code != 0) fail_msg("tuner %d ended with %d: %s", i, code, all[i].log);
  assert_string_equal(all[i].winner, "small:more=48,turn=15"); /* of those within 2 % of the best the first by its text */
  assert_int_equal(all[i].n_tried, SPACE);
  assert_int_equal(all[i].n_ok, SPACE);
}

static void begin_anew(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -rf %s/data %s/cache", s.folder, s.folder);
  assert_int_equal(system(command), 0);
}

static void until_it_works(int i, int progress) {
  for (double end_s = now_s() + 30; atomic_load(&all[i].n_progress) < progress && !all[i].ended;) {
    if (now_s() > end_s) fail_msg("the tuner does not work: %s", all[i].log);
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  }
}

static int64_t query(const char *sql) {
  sqlite3 *sql_db = NULL;
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_open_v2(db, &sql_db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  sqlite3_busy_timeout(sql_db, 10000);
  if (sqlite3_prepare_v2(sql_db, sql, -1, &statement, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(sql_db));
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(sql_db);
  return value;
}

/* Every variant but the default, which runs beside each wave, was tried once and no more. */
static void each_tried_once(void) {
  assert_int_equal(query("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
  assert_int_equal(query("SELECT count(DISTINCT variant) FROM trial WHERE NOT final"), SPACE);
  assert_int_equal(query("SELECT count(*) FROM trial WHERE NOT final AND NOT is_default"), SPACE - 1);
}

/* ---- two and more on one signature ---- */

static void one_works_the_others_wait(void **state) {
  (void)state;
  int rounds = all_rounds(4, 40);
  for (int round = 0; round < rounds; round++) {
    int n = 2 + round % 3, n_hits = 0;
    pid_t pids[TUNERS_MAX];
    begin_anew();
    for (int i = 0; i < n; i++) pids[i] = start(i, 2, 0);
    for (int i = 0; i < n; i++) ends_right(pids[i], i);
    for (int i = 0; i < n; i++) {
      n_hits += all[i].hit;
      if (all[i].hit && atomic_load(&all[i].n_progress)) fail_msg("it answers with a hit, and worked");
      if (!all[i].hit) continue;
      const char *waited = strstr(all[i].log, "tunes the same just now; waiting for it, up to 910 s\n");
      if (waited && strchr(waited, '\n')[1]) fail_msg("said more than once: %s", all[i].log);
    }
    assert_int_equal(n_hits, n - 1);
    each_tried_once();
    assert_int_equal(query("SELECT count(*) FROM claim"), 0);
  }
  tally("two to four tuners of one signature at once\t%d\tone worked, the others waited and answered with a hit", rounds);
}

/* The second one is told at once, and takes over what the first one left. */
static void the_worker_is_killed(void **state) {
  (void)state;
  int rounds = all_rounds(4, 40);
  rgt__random random;
  rgt__random_seed(&random, 7);
  for (int round = 0; round < rounds; round++) {
    begin_anew();
    pid_t first = start(0, 1, 0);
    until_it_works(0, 1);
    pid_t second = start(1, 1, 0);
    until_it_works(0, 10 + (int)rgt__random_below(&random, 150));
    assert_int_equal(kill(first, SIGKILL), 0);
    int code = end(first);
    assert_true(code == 1000 + SIGKILL || code == 0);
    ends_right(second, 1);
    assert_true(all[1].seconds < 50); /* not the lease's end */
    each_tried_once();
  }
  tally("kill -9 of a tuner that another one waits for\t%d\tthe other one went on from there, no trial twice", rounds);
}

static void the_worker_stands_still(void **state) {
  (void)state;
  begin_anew();
  setenv("RAGTUNE_WAIT_LIMIT_S", "0.3", 1);
  pid_t first = start(0, 5, 0);
  until_it_works(0, 3);
  assert_int_equal(kill(first, SIGSTOP), 0);
  pid_t second = start(1, 0, 0);
  ends_right(second, 1);
  assert_false(all[1].hit);
  if (!strstr(all[1].log, "still tunes the same after 0 s; going on alone")) fail_msg("%s", all[1].log);
  assert_int_equal(kill(first, SIGCONT), 0);
  ends_right(first, 0);
  assert_int_equal(query("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
  tally("a tuner that stands still\t%d\tthe other one waited up to its limit and went on alone; both ended right", 1);
}

/* Who asks for new measurements gets them, but not beside another one's. */
static void force_waits_too(void **state) {
  (void)state;
  begin_anew();
  pid_t first = start(0, 3, 0);
  until_it_works(0, 1);
  pid_t second = start(1, 3, 1);
  ends_right(first, 0);
  ends_right(second, 1);
  assert_false(all[1].hit);
  if (!strstr(all[1].log, "waiting for it")) fail_msg("%s", all[1].log);
}

/* ---- killed at random points ---- */

static void resumes_wherever_it_is_killed(void **state) {
  (void)state;
  enum { KILLS = 6 };
  int rounds = all_rounds(8, 100), n_kills = 0;
  rgt__random random;
  rgt__random_seed(&random, 11);
  begin_anew();
  ends_right(start(0, 0, 0), 0);
  int whole = atomic_load(&all[0].n_progress);
  for (int round = 0; round < rounds; round++) {
    begin_anew();
    int64_t before = 0;
    for (int i = 0; i < KILLS; i++) {
      pid_t pid = start(0, 0, 0);
      until_it_works(0, (int)rgt__random_below(&random, (uint64_t)whole)); /* and up to a millisecond on */
      nanosleep(&(struct timespec){.tv_nsec = (long)rgt__random_below(&random, 1000000)}, NULL);
      kill(pid, SIGKILL);
      n_kills += end(pid) == 1000 + SIGKILL;
      if (access(db, F_OK) != 0 || query("SELECT count(*) FROM sqlite_schema WHERE name = 'trial'") == 0) continue;
      int64_t now = query("SELECT count(*) FROM trial WHERE NOT final AND NOT is_default");
      assert_true(now >= before); /* nothing that was there is lost */
      before = now;
    }
    ends_right(start(0, 0, 0), 0);
    assert_true(all[0].hit || all[0].n_resumed >= before);
    each_tried_once();
  }
  assert_true(n_kills >= rounds / 2);
  tally("kill -9 of a tuner at a random moment, up to %d times a search\t%d\tit resumed; every variant tried once, none twice",
        KILLS, n_kills);
}

/* Of a space that is not tried whole, what an earlier search measured is compiled again only when it comes to the duel. */
static void a_part_of_the_space_resumes_too(void **state) {
  (void)state;
  rgt__random random;
  rgt__random_seed(&random, 12);
  exhaustive = 0;
  for (int round = 0; round < all_rounds(6, 60); round++) {
    begin_anew();
    pid_t pid = start(0, 0, 0);
    until_it_works(0, 60 + (int)rgt__random_below(&random, 60));
    kill(pid, SIGKILL);
    end(pid);
    pid = start(0, 0, 0);
    int code = end(pid);
    if (code != 0) fail_msg("ended with %d: %s", code, all[0].log);
    assert_int_equal(all[0].n_tried, PART);
    assert_int_equal(all[0].n_ok, PART);
    assert_int_equal(query("SELECT count(*) FROM trial WHERE NOT final AND NOT is_default"), PART - 1);
  }
  exhaustive = 1;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(one_works_the_others_wait), TEST(the_worker_is_killed),          TEST(the_worker_stands_still),
      TEST(force_waits_too),           TEST(resumes_wherever_it_is_killed), TEST(a_part_of_the_space_resumes_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
