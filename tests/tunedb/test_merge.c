/* test_merge.c -- merge is a union of trials: any order, repetition and grouping end in the same bytes. */
#include "child.h"
#include "random_trials.h"

#include <sys/resource.h>

static char *folder;

static int set_up(void **state) {
  (void)state;
  folder = make_folder();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static const char *at(const char *name) {
  static char paths[8][128];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static rgt__tunedb *open_at(const char *name) {
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_open(at(name), 0, &db, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  return db;
}

static rgt__tunedb_exported export(rgt__tunedb *db, const char *name) {
  rgt__tunedb_exported out;
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_export(db, at(name), &out, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  return out;
}

static rgt__tunedb_merged merge(rgt__tunedb *db, const char *const *names, int n) {
  const char *paths[8];
  rgt__tunedb_merged out;
  rgt__error err = {{0}};
  for (int i = 0; i < n; i++) paths[i] = at(names[i]);
  rgt_status status = rgt__tunedb_merge(db, paths, n, &out, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  return out;
}

static rgt__tunedb_merged merge_one(rgt__tunedb *db, const char *name) {
  return merge(db, &name, 1);
}

static void expect_refused(rgt__tunedb *db, const char *path, rgt_status wanted, const char *named) {
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_merge(db, &path, 1, NULL, &err);
  if (status != wanted) fail_msg("%s: %s", rgt_status_name(status), err.text);
  if (!strstr(err.text, named)) fail_msg("\"%s\" does not say \"%s\"", err.text, named);
}

/* ---- the property -------------------------------------------------------------------------------------------- */

enum { N_SOURCES = 4 };

/* Files of random overlapping sets of batches: some databases as they are, some exports. */
static void make_sources(rgt__random *r, uint64_t seed, uint32_t *all) {
  char name[16];
  *all = 0;
  for (int i = 0; i < N_SOURCES; i++) {
    uint32_t which = (uint32_t)rgt__random_next(r) & (uint32_t)rgt__random_next(r) & ((1U << N_WORLD_BATCHES) - 1);
    snprintf(name, sizeof name, "raw%d.db", i);
    rgt__tunedb *db = open_at(name);
    put_batches(db, seed, which);
    snprintf(name, sizeof name, "s%d.db", i);
    export(db, name);
    rgt__tunedb_close(db);
    if (rgt__random_below(r, 2)) {
      snprintf(name, sizeof name, "raw%d.db", i);
      assert_int_equal(rename(at(name), at(i == 0 ? "s0.db" : i == 1 ? "s1.db" : i == 2 ? "s2.db" : "s3.db")), 0);
    }
    *all |= which;
  }
}

static void clear(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -f %s/*", folder);
  assert_int_equal(system(command), 0);
}

/* All sources into `into` in a random order, in random groups, some of them through files in between, some twice. */
static void merge_somehow(rgt__random *r, rgt__tunedb *into) {
  static const char *const names[N_SOURCES] = {"s0.db", "s1.db", "s2.db", "s3.db"};
  const char *order[2 * N_SOURCES];
  int n = 0;
  for (int i = 0; i < N_SOURCES; i++)
    for (int again = 0; again == 0 || (again == 1 && rgt__random_below(r, 3) == 0); again++) order[n++] = names[i];
  for (int i = n - 1; i > 0; i--) {
    int j = (int)rgt__random_below(r, (uint64_t)i + 1);
    const char *kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (int i = 0, size; i < n; i += size) {
    size = 1 + (int)rgt__random_below(r, (uint64_t)(n - i));
    if (rgt__random_below(r, 2)) {
      merge(into, order + i, size);
      continue;
    }
    rgt__tunedb *between = open_memory();
    merge(between, order + i, size);
    export(between, "between.db");
    rgt__tunedb_close(between);
    merge_one(into, "between.db");
  }
}

static void test_any_order_repetition_and_grouping(void **state) {
  (void)state;
  const char *more = getenv("RAGTUNE_TEST_SEEDS");
  uint64_t n_seeds = more ? strtoull(more, NULL, 10) : 12;
  for (uint64_t seed = 1; seed <= n_seeds; seed++) {
    rgt__random r;
    uint32_t all;
    rgt__random_seed(&r, seed);
    make_sources(&r, seed, &all);
    rgt__tunedb *straight = open_memory(); /* never merged: the batches themselves, in their order */
    put_batches(straight, seed, all);
    rgt__tunedb_exported wanted = export(straight, "wanted.db");
    OK(rgt__tunedb_check(straight, NULL));
    rgt__tunedb_close(straight);
    for (int way = 0; way < 3; way++) {
      rgt__tunedb *db = way == 0 ? open_at("local.db") : open_memory();
      if (way == 1) put_batches(db, seed, all & (uint32_t)rgt__random_next(&r)); /* something is there already */
      merge_somehow(&r, db);
      rgt__error err = {{0}};
      rgt__tunedb_check(db, &err);
      assert_string_equal(err.text, "");
      rgt__tunedb_exported got = export(db, "got.db");
      rgt__tunedb_close(db);
      expect_same_files(at("got.db"), at("wanted.db"));
      assert_memory_equal(&got.digest, &wanted.digest, sizeof got.digest);
      assert_int_equal(got.copied.n_trials_new, wanted.copied.n_trials_new);
    }
    clear();
  }
}

/* ---- counts, origins, and what stays here ---------------------------------------------------------------------- */

static void test_counts_and_origin(void **state) {
  (void)state;
  rgt__tunedb *a = open_at("a.db"), *b = open_at("b.db");
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[3] = {make_default(), make_trial("tiles", "n=1", 500000), make_trial("tiles", "n=2", 400000)};
  put(a, 1, &sig, t, 2);
  put(b, 1, &sig, t + 1, 2); /* the same run with one trial more, one less */
  put(b, 2, &sig, t, 3);
  rgt__tunedb_close(b);
  rgt__tunedb_merged m = merge_one(a, "b.db");
  assert_int_equal(m.n_runs_new, 1);
  assert_int_equal(m.n_runs_known, 1);
  assert_int_equal(m.n_trials_new, 4);
  assert_int_equal(m.n_trials_known, 1);
  assert_int_equal(m.n_runs_dropped + m.n_trials_dropped + m.n_wrong_key + m.n_out_of_range + m.n_orphans, 0);
  assert_int_equal(m.n_scenes, 1);
  assert_int_equal(ask(a, "SELECT count(*) FROM trial"), 6);
  assert_int_equal(ask(a, "SELECT count(*) FROM origin WHERE source LIKE '%/b.db' AND imported_utc_s > 1700000000"), 2);
  rgt__tunedb_winner w;
  find(a, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "n=2");
  m = merge_one(a, "b.db"); /* again: nothing */
  assert_int_equal(m.n_runs_new + m.n_trials_new + m.n_scenes, 0);
  assert_int_equal(m.n_trials_known, 5);
  OK(rgt__tunedb_check(a, NULL));
  rgt__tunedb_close(a);
}

/* What one machine knows, asks for and decides is nobody else's business; nor is where it lies. */
static void test_export_holds_trials_alone(void **state) {
  (void)state;
  rgt__tunedb *a = open_at("a.db"), *b = NULL;
  rgt__tunedb_signature sig = make_signature(), other = make_signature();
  other.text = "only asked for";
  other.bucket = 4096;
  rgt__tunedb_trial t[3] = {make_default(), make_trial("tiles", "n=1", 500000), make_trial("tiles", "n=2", 1)};
  t[2].outcome = RGT_TRIAL_COMPILE_ERROR;
  t[2].reason = "/home/somebody/secret/x.c:3:5: error: /etc/hosts";
  rgt__tunedb_run run = make_run(1);
  run.conditions = "load 0.1, /home/somebody/log";
  OK(rgt__tunedb_put(a, &run, &sig, &cpu_place, t, 3, NULL));
  OK(rgt__tunedb_miss(a, &other, &cpu_place, NULL));
  tell(a, "INSERT INTO pin SELECT signature, place, variant, 'mine', 1 FROM winner;"
          "INSERT INTO ban SELECT variant, place, 'mine', 1 FROM winner;"
          "INSERT INTO origin SELECT key, '/home/somebody/from.db', 1 FROM run;"
          "INSERT INTO checked SELECT zeroblob(32), place, variant, zeroblob(32), 'gcc', '', 'ok', 1 FROM winner;"
          "INSERT INTO claim SELECT signature, place, zeroblob(32), 7, 'somebody', 1 FROM winner");
  rgt__tunedb_exported e = export(a, "e.db");
  assert_int_equal(e.copied.n_trials_new, 3);
  assert_int_equal(e.copied.n_runs_new, 1);
  struct stat st;
  assert_int_equal(stat(at("e.db"), &st), 0);
  assert_int_equal(e.n_bytes, st.st_size);
  size_t size;
  char *data = read_whole(at("e.db"), &size);
  assert_null(memmem(data, size, "somebody", 8));
  assert_null(memmem(data, size, folder, strlen(folder)));
  assert_null(memmem(data, size, "mine", 4));
  assert_null(memmem(data, size, "only asked for", 14));
  assert_non_null(memmem(data, size, "x.c:3:5: error: hosts", 21));
  assert_int_equal(data[18], 1); /* neither written nor read as WAL */
  assert_int_equal(data[19], 1);
  free(data);
  OK(rgt__tunedb_open(at("e.db"), RGT_TUNEDB_READ_ONLY, &b, NULL));
  assert_int_equal(ask(b, "SELECT (SELECT count(*) FROM miss) + (SELECT count(*) FROM pin) + (SELECT count(*) FROM ban) + "
                          "(SELECT count(*) FROM origin) + (SELECT count(*) FROM checked) + (SELECT count(*) FROM claim)"),
                   0);
  assert_int_equal(ask(b, "SELECT count(*) FROM history WHERE made_utc_s = 0"), 1);
  rgt__tunedb_winner w;
  find(b, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "n=1");
  OK(rgt__tunedb_check(b, NULL));
  rgt__tunedb_close(b);
  rgt__tunedb_close(a);
  assert_int_equal(access(at("e.db-wal"), F_OK), -1);
}

/* Rows of an older program, not in today's canonical form: the same set as if today's had stored them. */
static void test_old_rows_take_todays_form(void **state) {
  (void)state;
  char command[600];
  snprintf(command, sizeof command, "cp '%s/fixtures/tunedb/v1.db' '%s'", RGT_TESTS_DIR, at("v1.db"));
  assert_int_equal(system(command), 0);
  size_t size, size_after;
  char *before = read_whole(at("v1.db"), &size);
  rgt__tunedb *db = open_at("local.db");
  rgt__tunedb_merged m = merge_one(db, "v1.db");
  assert_int_equal(m.n_trials_new, 9);
  assert_int_equal(m.n_runs_new, 3);
  rgt__tunedb_exported a = export(db, "a.db");
  rgt__tunedb_close(db);
  char *after = read_whole(at("v1.db"), &size_after); /* read, and no more */
  assert_int_equal(size, size_after);
  assert_memory_equal(before, after, size);
  free(before);
  free(after);
  assert_int_equal(access(at("v1.db-shm"), F_OK), -1);
  db = open_at("v1.db"); /* migrated */
  rgt__tunedb_exported b = export(db, "b.db");
  rgt__tunedb_close(db);
  assert_memory_equal(&a.digest, &b.digest, sizeof a.digest);
  expect_same_files(at("a.db"), at("b.db"));
}

/* ---- from a database in use ------------------------------------------------------------------------------------ */

static void test_from_one_in_use(void **state) {
  (void)state;
  rgt__tunedb *a = open_at("a.db"), *b = open_at("b.db");
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[2] = {make_default(), make_trial("tiles", "n=1", 500000)};
  put(b, 1, &sig, t, 2); /* in the WAL alone */
  assert_int_equal(access(at("b.db-wal"), F_OK), 0);
  rgt__tunedb_merged m = merge_one(a, "b.db");
  assert_int_equal(m.n_trials_new, 2);
  put(b, 2, &sig, t, 2); /* it goes on undisturbed */
  m = merge_one(a, "b.db");
  assert_int_equal(m.n_trials_new, 2);
  assert_int_equal(m.n_trials_known, 2);
  rgt__tunedb_close(b);
  rgt__tunedb_close(a);
}

static void test_itself_and_nothing(void **state) {
  (void)state;
  rgt__tunedb *a = open_at("a.db");
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_default();
  put(a, 1, &sig, &t, 1);
  char linked[160];
  snprintf(linked, sizeof linked, "%s/link.db", folder);
  assert_int_equal(symlink(at("a.db"), linked), 0);
  rgt__error err = {{0}};
  expect_refused(a, at("a.db"), RGT_EINVAL, "is the database itself");
  expect_refused(a, linked, RGT_EINVAL, "is the database itself");
  expect_refused(a, "", RGT_EINVAL, "no path is given");
  assert_int_equal(rgt__tunedb_merge(a, NULL, 1, NULL, &err), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_export(a, NULL, NULL, &err), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_export(a, at("a.db"), NULL, &err), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_export(a, linked, NULL, &err), RGT_EINVAL);
  rgt__tunedb_close(a);
  OK(rgt__tunedb_open(at("a.db"), RGT_TUNEDB_READ_ONLY, &a, NULL));
  export(a, "e.db"); /* reading is enough to export */
  expect_refused(a, at("e.db"), RGT_EDB, "open for reading only");
  rgt__tunedb_close(a);
}

/* ---- all or nothing -------------------------------------------------------------------------------------------- */

static void test_one_bad_file_of_three(void **state) {
  (void)state;
  rgt__tunedb *a = open_at("a.db"), *b = open_at("b.db");
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[2] = {make_default(), make_trial("tiles", "n=1", 500000)};
  put(b, 1, &sig, t, 2);
  export(b, "good.db");
  tell(b, "CREATE TABLE more (a INTEGER) STRICT");
  rgt__tunedb_close(b);
  const char *const paths[] = {at("good.db"), at("b.db"), at("good.db")};
  rgt__error err = {{0}};
  rgt__tunedb_merged m = {.n_runs_new = 77};
  assert_int_equal(rgt__tunedb_merge(a, paths, 3, &m, &err), RGT_EDB);
  assert_non_null(strstr(err.text, "b.db: holds the table more, which is not ours"));
  assert_int_equal(m.n_runs_new, 77); /* outputs only on success */
  assert_int_equal(ask(a, "SELECT count(*) FROM trial"), 0);
  rgt__tunedb_close(a);
}

/* ---- where an export may lie ----------------------------------------------------------------------------------- */

static void expect_no_export(rgt__tunedb *db, const char *path, rgt_status wanted, const char *named) {
  rgt__error err = {{0}};
  assert_int_equal(rgt__tunedb_export(db, path, NULL, &err), wanted);
  if (!strstr(err.text, named)) fail_msg("\"%s\" does not say \"%s\"", err.text, named);
}

static int count_parts(void) {
  char command[160];
  snprintf(command, sizeof command, "ls -d '%s'/*.part* 2>/dev/null | grep -q .", folder);
  return system(command) == 0;
}

static void test_targets(void **state) {
  (void)state;
  rgt__tunedb *a = open_at("a.db"), *b = open_at("b.db");
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_default();
  put(a, 1, &sig, &t, 1);
  write_whole(at("notes.txt"), "my own notes\n", 13);
  expect_no_export(a, at("notes.txt"), RGT_EDB, "stays as it is");
  size_t size;
  char *data = read_whole(at("notes.txt"), &size);
  assert_int_equal(size, 13);
  free(data);
  put(b, 1, &sig, &t, 1);
  expect_no_export(a, at("b.db"), RGT_EDB, "is in use"); /* its WAL would be played into the export */
  rgt__tunedb_close(b);
  export(a, "b.db"); /* closed: it is replaced */
  expect_no_export(a, folder, RGT_EDB, "is a folder");
  expect_no_export(a, "/dev/null", RGT_EDB, "is a device");
  expect_no_export(a, at("no/such/folder.db"), RGT_EIO, "No such file or directory");
  assert_int_equal(mkfifo(at("fifo"), 0600), 0);
  expect_no_export(a, at("fifo"), RGT_EDB, "is a FIFO");
  write_whole(at("empty.db"), "", 0);
  assert_int_equal(chmod(at("empty.db"), 0640), 0);
  char linked[160];
  snprintf(linked, sizeof linked, "%s/link.db", folder);
  assert_int_equal(symlink("empty.db", linked), 0);
  OK(rgt__tunedb_export(a, linked, NULL, NULL)); /* through the link, with the file's mode */
  struct stat st;
  assert_int_equal(lstat(linked, &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(stat(at("empty.db"), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
  expect_same_files(at("empty.db"), at("b.db"));
  mode_t mask = umask(022);
  export(a, "new.db");
  umask(mask);
  assert_int_equal(stat(at("new.db"), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0644);
  assert_int_equal(count_parts(), 0);
  rgt__tunedb_close(a);
}

/* ---- no room, no time ------------------------------------------------------------------------------------------ */

static void fill_and_fail(void *user) {
  rgt__tunedb *a = NULL;
  rgt__error err = {{0}};
  const char *paths[] = {at("s0.db")};
  struct rlimit limit = {40960, 40960};
  (void)user;
  CHECK(rgt__tunedb_open(at("local.db"), 0, &a, NULL) == RGT_OK);
  signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0); /* a disk that takes ten pages a file */
  rgt_status status = rgt__tunedb_export(a, at("e.db"), NULL, &err);
  CHECK((status == RGT_EDB || status == RGT_EIO) && strstr(err.text, "e.db: "));
  CHECK(access(at("e.db"), F_OK) != 0);
  err.text[0] = 0;
  CHECK(rgt__tunedb_merge(a, paths, 1, NULL, &err) == RGT_EDB);
  CHECK(strstr(err.text, "local.db: "));
  CHECK(rgt__tunedb_check(a, NULL) == RGT_OK);
  rgt__tunedb_close(a);
}

static void test_no_room(void **state) {
  (void)state;
  rgt__tunedb *a = open_at("local.db"), *b = open_at("raw.db");
  put_batches(b, 3, 0xFFFFFF);
  export(b, "s0.db");
  rgt__tunedb_close(b);
  put_batches(a, 3, 0xF);
  int64_t before = ask(a, "SELECT count(*) FROM trial");
  rgt__tunedb_close(a);
  run_child(fill_and_fail, NULL);
  a = open_at("local.db");
  assert_int_equal(ask(a, "SELECT count(*) FROM trial"), before);
  assert_int_equal(ask(a, "SELECT count(*) FROM origin"), 0);
  OK(rgt__tunedb_check(a, NULL));
  assert_int_equal(count_parts(), 0);
  rgt__tunedb_close(a);
}

static void merge_forever(void *user) {
  (void)user;
  for (;;) {
    rgt__tunedb *a = NULL;
    const char *paths[] = {at("s0.db")};
    CHECK(rgt__tunedb_open(at("local.db"), 0, &a, NULL) == RGT_OK);
    CHECK(rgt__tunedb_merge(a, paths, 1, NULL, NULL) == RGT_OK);
    CHECK(rgt__tunedb_export(a, at("e.db"), NULL, NULL) == RGT_OK);
    CHECK(sqlite3_exec(a->sql,
                       "DELETE FROM origin; DELETE FROM standing; DELETE FROM winner; DELETE FROM trial; DELETE FROM run", NULL,
                       NULL, NULL) == SQLITE_OK);
    rgt__tunedb_close(a);
  }
}

/* Killed at any point: all of the file's trials with their winners are there, or (but for the test's own DELETEs) none; and an
 * export is whole or not there. */
static void test_killed(void **state) {
  (void)state;
  rgt__tunedb *b = open_at("raw.db"), *a = NULL;
  rgt__random r;
  rgt__random_seed(&r, 17);
  put_batches(b, 3, 0xFFFFFF);
  rgt__tunedb_exported wanted = export(b, "s0.db");
  rgt__tunedb_close(b);
  for (int i = 0; i < 15; i++) {
    pid_t pid = start_child(merge_forever, NULL);
    usleep((useconds_t)(3000 + rgt__random_below(&r, 60000)));
    kill(pid, SIGKILL);
    assert_int_equal(end_child(pid), 1000 + SIGKILL);
    a = open_at("local.db");
    int64_t n = ask(a, "SELECT count(*) FROM trial"), n_winners = ask(a, "SELECT count(*) FROM winner");
    if (n != 0 && n != wanted.copied.n_trials_new) fail_msg("%d of %d trials", (int)n, (int)wanted.copied.n_trials_new);
    if (n_winners != 0) OK(rgt__tunedb_check(a, NULL));
    rgt__tunedb_close(a);
    if (access(at("e.db"), F_OK) == 0) expect_same_files(at("e.db"), at("s0.db"));
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_any_order_repetition_and_grouping),
      TEST(test_counts_and_origin),
      TEST(test_export_holds_trials_alone),
      TEST(test_old_rows_take_todays_form),
      TEST(test_from_one_in_use),
      TEST(test_itself_and_nothing),
      TEST(test_one_bad_file_of_three),
      TEST(test_targets),
      TEST(test_no_room),
      TEST(test_killed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
