/* test_share.c -- several processes on one file: writers at once, writers killed, a lock that is kept, a full disk. */
#include "child.h"
#include "tests/faults/tally.h"

#include <sched.h>
#include <sys/mount.h>

enum { BATCH = 5 };

static char *folder;
static char path[256];
static unsigned open_flags;

static int set_up(void **state) {
  (void)state;
  folder = make_folder();
  snprintf(path, sizeof path, "%s/new/tuned.db", folder);
  open_flags = 0;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static rgt_status put_batch(rgt__tunedb *db, unsigned run, rgt__error *err) {
  static const char *const params[BATCH] = {"", "a", "b", "c", "d"};
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_run r = make_run(run);
  rgt__tunedb_trial t[BATCH] = {make_default()};
  for (int i = 1; i < BATCH; i++) t[i] = make_trial("tiles", params[i], 500000 + 50000 * i + (int)run % 1000);
  return rgt__tunedb_put(db, &r, &sig, &cpu_place, t, BATCH, err);
}

typedef struct writer {
  unsigned first, n; /* runs */
  int report;        /* a byte goes here for each run that was stored; 0: none does */
} writer;

static void write_runs(void *user) {
  const writer *w = user;
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_open(path, open_flags, &db, &err);
  for (unsigned i = 0; i < w->n && !status; i++) {
    status = put_batch(db, w->first + i, &err);
    if (!status && w->report) CHECK(write(w->report, "x", 1) == 1);
  }
  if (status) fprintf(stderr, "%s\n", err.text);
  CHECK(status == RGT_OK);
  rgt__tunedb_close(db);
}

static void expect_whole(int64_t n_runs) {
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  OK(rgt__tunedb_open(path, open_flags, &db, NULL));
  assert_string_equal(rgt__tunedb_notice(db), "");
  rgt_status status = rgt__tunedb_check(db, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  if (n_runs >= 0) assert_int_equal(ask(db, "SELECT count(*) FROM run"), n_runs);
  assert_int_equal(ask(db, "SELECT count(*) FROM (SELECT run FROM trial GROUP BY run HAVING count(*) <> 5)"), 0);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), BATCH * ask(db, "SELECT count(*) FROM run"));
  rgt__tunedb_close(db);
}

/* From the making of the folder on. */
static void test_writers_at_once(void **state) {
  (void)state;
  for (int journal = 0; journal < 2; journal++) {
    pid_t pids[4];
    writer writers[4];
    open_flags = journal ? RGT_TUNEDB_ROLLBACK_JOURNAL : 0;
    for (unsigned i = 0; i < 4; i++) {
      writers[i] = (writer){1000 * (i + 1), 12, 0};
      pids[i] = start_child(write_runs, &writers[i]);
    }
    for (int i = 0; i < 4; i++) assert_int_equal(end_child(pids[i]), 0);
    expect_whole(48);
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s/new'", folder);
    assert_int_equal(system(command), 0);
  }
}

/* Sees whole batches only, whatever the writers are at. */
static void read_for_ever(void *user) {
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  const int *report = user;
  CHECK(rgt__tunedb_open(path, open_flags, &db, &err) == RGT_OK);
  for (int i = 0;; i++) {
    rgt__tunedb_signature sig = make_signature();
    rgt__tunedb_winner w;
    rgt_status status = rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, &err);
    if (status != RGT_OK && status != RGT_EMISS) fprintf(stderr, "%s\n", err.text);
    CHECK(status == RGT_OK || status == RGT_EMISS);
    CHECK(status == RGT_EMISS || (w.n_trials > 0 && w.n_trials % BATCH == 0));
    if (i == 0) CHECK(write(*report, "r", 1) == 1);
  }
}

/* Four writers and a reader, all killed at a random moment. The last rounds without WAL. */
static void test_writers_killed(void **state) {
  (void)state;
  enum { N = 5 };
  const char *word = getenv("FAULTS");
  unsigned rounds = word && strcmp(word, "all") == 0 ? 200 : 14;
  int64_t before = 0, n_reported = 0;
  rgt__random random;
  rgt__random_seed(&random, 17);
  for (unsigned round = 0; round < rounds; round++) {
    pid_t pids[N];
    writer writers[N - 1];
    int done[2], readers = 0;
    char c;
    assert_int_equal(pipe(done), 0);
    open_flags = round < rounds * 7 / 10 ? 0 : RGT_TUNEDB_ROLLBACK_JOURNAL;
    for (unsigned i = 0; i < N - 1; i++) {
      writers[i] = (writer){10000 * round + 1000 * i, 1000, done[1]};
      pids[i] = start_child(write_runs, &writers[i]);
    }
    pids[N - 1] = start_child(read_for_ever, &done[1]);
    int64_t n = 0;
    while (n < 4 + round % 8 || !readers) { /* they are in the midst of it */
      assert_int_equal(read(done[0], &c, 1), 1);
      readers += c == 'r';
      n += c == 'x';
    }
    usleep((useconds_t)rgt__random_below(&random, 5000));
    for (int i = 0; i < N; i++) assert_int_equal(kill(pids[i], SIGKILL), 0);
    for (int i = 0; i < N; i++) assert_int_equal(end_child(pids[i]), 1000 + SIGKILL);
    close(done[1]);
    while (read(done[0], &c, 1) == 1) n += c == 'x';
    close(done[0]);
    expect_whole(-1);
    rgt__tunedb *db = NULL;
    OK(rgt__tunedb_open(path, open_flags, &db, NULL));
    int64_t now = ask(db, "SELECT count(*) FROM run");
    assert_true(now >= before + n); /* what was reported stays */
    n_reported += n;
    before = now;
    rgt__tunedb_close(db);
  }
  tally("kill -9 of four writers and a reader of one database\t%u\t%lld batches were reported as stored, none is lost, none is "
        "half",
        rounds, (long long)n_reported);
}

typedef struct locker {
  int to_parent, from_parent;
} locker;

/* Holds the write lock from the first byte it sends until the one it gets. */
static void hold_lock(void *user) {
  const locker *l = user;
  char c = 'x';
  sqlite3 *sql;
  CHECK(sqlite3_open(path, &sql) == SQLITE_OK);
  CHECK(sqlite3_exec(sql, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
  CHECK(write(l->to_parent, &c, 1) == 1);
  CHECK(read(l->from_parent, &c, 1) == 1);
  CHECK(sqlite3_exec(sql, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
  sqlite3_close(sql);
}

static void test_lock_that_is_kept(void **state) {
  (void)state;
  int up[2], down[2];
  char c;
  assert_int_equal(pipe(up), 0);
  assert_int_equal(pipe(down), 0);
  run_child(write_runs, &(writer){1, 1, 0});
  locker l = {up[1], down[0]};
  pid_t pid = start_child(hold_lock, &l);
  assert_int_equal(read(up[0], &c, 1), 1);
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  OK(rgt__tunedb_open(path, 0, &db, NULL));
  db->busy_limit_ms = 30;
  assert_int_equal(put_batch(db, 2, &err), RGT_EDB);
  assert_non_null(strstr(err.text, "another process keeps it locked"));
  assert_non_null(strstr(err.text, path));
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  find(db, &sig, NULL, &w);                         /* readers do not wait */
  OK(rgt__tunedb_miss(db, &sig, &cpu_place, NULL)); /* not counted, and no failure */
  db->busy_limit_ms = 60000;
  assert_int_equal(write(down[1], "x", 1), 1);
  OK(put_batch(db, 2, NULL)); /* waits until the other one lets go */
  assert_int_equal(end_child(pid), 0);
  assert_int_equal(ask(db, "SELECT count(*) FROM miss"), 0);
  rgt__tunedb_close(db);
  expect_whole(2);
  for (int i = 0; i < 2; i++) close(up[i]), close(down[i]);
}

/* A small file system of our own, seen by this child alone. */
static void fill_a_disk(void *user) {
  char where[300];
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  (void)user;
  snprintf(where, sizeof where, "%s/small", folder);
  CHECK(mkdir(where, 0700) == 0);
  if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", where, "tmpfs", 0, "size=512k") != 0)
    _exit(CHILD_SKIPPED);
  snprintf(path, sizeof path, "%s/small/tuned.db", folder);
  CHECK(rgt__tunedb_open(path, open_flags, &db, &err) == RGT_OK);
  unsigned n = 0;
  rgt_status status = RGT_OK;
  while (n < 2000 && !(status = put_batch(db, n, &err))) n++;
  CHECK(status == RGT_EDB);
  CHECK(n > 10 && n < 2000);
  if (!strstr(err.text, "disk is full")) fprintf(stderr, "%s\n", err.text);
  CHECK(strstr(err.text, "disk is full"));
  CHECK(rgt__tunedb_check(db, &err) == RGT_OK);
  CHECK(ask(db, "SELECT count(*) FROM run") == n); /* whole batches, all of them */
  CHECK(ask(db, "SELECT count(*) FROM trial") == BATCH * n);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  CHECK(rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, &err) == RGT_OK);
  rgt__tunedb_close(db);
  CHECK(rgt__tunedb_open(path, open_flags, &db, &err) == RGT_OK);
  CHECK(ask(db, "SELECT count(*) FROM run") == n);
  rgt__tunedb_close(db);
  /* no room for as much as the schema: refused, not crashed */
  char filler[300];
  snprintf(filler, sizeof filler, "%s/small/filler", folder);
  int fd = open(filler, O_CREAT | O_WRONLY, 0600);
  char zeros[4096] = {0};
  while (write(fd, zeros, sizeof zeros) > 0) {
  }
  close(fd);
  snprintf(path, sizeof path, "%s/small/second.db", folder);
  CHECK(rgt__tunedb_open(path, open_flags, &db, &err) == RGT_EDB);
  CHECK(strstr(err.text, "second.db"));
}

static void test_full_disk(void **state) {
  (void)state;
  for (int journal = 0; journal < 2; journal++) {
    open_flags = journal ? RGT_TUNEDB_ROLLBACK_JOURNAL : 0;
    int code = end_child(start_child(fill_a_disk, NULL));
    if (code == CHILD_SKIPPED) {
      print_message("full disk: no small file system may be mounted here\n");
      skip();
    }
    assert_int_equal(code, 0);
    char where[300];
    snprintf(where, sizeof where, "%s/small", folder);
    assert_int_equal(rmdir(where), 0);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_writers_at_once),
      TEST(test_writers_killed),
      TEST(test_lock_that_is_kept),
      TEST(test_full_disk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
