/* test_memo.c -- what was found is not asked for again, until the file changes by whoever's hand. */
#include "fixture.h"

#include "tunedb/memo.h"

#include <sys/wait.h>
#include <time.h>

static int n_statements;

static int count_statement(unsigned what, void *user, void *p, void *x) {
  (void)what, (void)user, (void)p, (void)x;
  n_statements++;
  return 0;
}

/* The winner's family; *asked says whether SQLite was. */
static void look(rgt__tunedb *db, const rgt__tunedb_limits *limits, const char *family, int asked) {
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  memset(&w, 0x5A, sizeof w);
  sqlite3_trace_v2(db->sql, SQLITE_TRACE_STMT, count_statement, NULL);
  n_statements = 0;
  find(db, &sig, limits, &w);
  assert_string_equal(w.winner.family, family);
  assert_string_equal(w.device_class, cpu_place.device_class);
  assert_int_equal(w.exact, 1);
  if ((n_statements > 0) != asked) fail_msg("%d statements", n_statements);
}

static rgt__tunedb *open_file(const char *path, unsigned flags) {
  rgt__tunedb *db = NULL;
  rgt__error err = {""};
  if (rgt__tunedb_open(path, flags, &db, &err) != RGT_OK) fail_msg("%s", err.text);
  return db;
}

static void store(rgt__tunedb *db, unsigned run, const char *family, int64_t ratio_ppm) {
  rgt__tunedb_signature sig = make_signature();
  const rgt__tunedb_trial trials[2] = {make_default(), make_trial(family, "a=1", ratio_ppm)};
  put(db, run, &sig, trials, 2);
}

static const char *database(const char *folder) {
  static char path[96];
  snprintf(path, sizeof path, "%s/t.db", folder);
  return path;
}

/* Every way to change it: the same handle, another one, another process. */
static void changes_are_seen(rgt__tunedb *db, const char *path, int remembers) {
  store(db, 1, "first", 900000);
  look(db, NULL, "first", 1);
  look(db, NULL, "first", !remembers);
  look(db, NULL, "first", !remembers);
  store(db, 2, "second", 800000);
  look(db, NULL, "second", 1);
  look(db, NULL, "second", !remembers);
  if (!path) return;
  rgt__tunedb *other = open_file(path, db->flags);
  store(other, 3, "third", 700000);
  look(db, NULL, "third", 1);
  look(db, NULL, "third", !remembers);
  rgt__tunedb_close(other);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    rgt__tunedb *child = open_file(path, db->flags);
    store(child, 4, "fourth", 600000);
    rgt__tunedb_close(child);
    _exit(0);
  }
  int status = 1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  look(db, NULL, "fourth", 1);
  look(db, NULL, "fourth", !remembers);
  sqlite3_wal_checkpoint_v2(db->sql, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
  look(db, NULL, "fourth", 1);
  store(db, 5, "fifth", 500000);
  look(db, NULL, "fifth", 1);
}

static void in_memory(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  changes_are_seen(db, NULL, 1);
  rgt__tunedb_close(db);
}

static void in_a_file(void **state) {
  (void)state;
  const char *folder = make_folder();
  rgt__tunedb *db = open_file(database(folder), 0);
  changes_are_seen(db, database(folder), 1);
  rgt__tunedb_close(db);
  remove_folder(folder);
}

/* Without a WAL nothing tells of changes in time. */
static void with_a_rollback_journal(void **state) {
  (void)state;
  const char *folder = make_folder();
  rgt__tunedb *db = open_file(database(folder), RGT_TUNEDB_ROLLBACK_JOURNAL);
  changes_are_seen(db, database(folder), 0);
  rgt__tunedb_close(db);
  remove_folder(folder);
}

static void other_questions(void **state) {
  const rgt__tunedb_limits any = {.max_p = -1, .max_u_h = -1, .max_alpha = -1, .max_beta = -1},
                           other = {.max_p = 1, .max_u_h = -1, .max_alpha = -1, .max_beta = -1};
  rgt__tunedb_limits class_only = any;
  rgt__tunedb_winner w;
  (void)state;
  rgt__tunedb *db = open_memory();
  store(db, 1, "first", 900000);
  look(db, NULL, "first", 1);
  look(db, &any, "first", 0); /* the same as none */
  look(db, &other, "first", 1);
  class_only.numeric_class = "fma";
  look(db, &class_only, "first", 1);
  look(db, &class_only, "first", 0);
  class_only.numeric_class = "mma";
  rgt__tunedb_signature sig = make_signature();
  assert_int_equal(rgt__tunedb_find(db, &sig, &cpu_place, &class_only, &w, NULL), RGT_EMISS);
  rgt__tunedb_place elsewhere = cpu_place;
  elsewhere.policy = "warm:stream:threads=4";
  assert_int_equal(rgt__tunedb_find(db, &sig, &elsewhere, NULL, &w, NULL), RGT_EMISS);
  sig.text = "another signature";
  assert_int_equal(rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, NULL), RGT_EMISS);
  rgt__tunedb_close(db);
}

static int admits_none(void *user, const char *family, int revision, const char *params) {
  (void)family, (void)revision, (void)params;
  return *(int *)user;
}

/* What a function admits may change, unless it is said to be fixed. */
/* Whoever asks for "unknown" may call it by the text of another skew: the answers differ all the same. */
static void an_unknown_skew_is_another_question(void **state) {
  rgt__tunedb *db = open_file(NULL, 0);
  rgt__tunedb_signature uniform = make_signature(), zipf = uniform, any = uniform;
  const rgt__tunedb_trial of_uniform[] = {make_default(), make_trial("sharp", "a=1", 500000),
                                          make_trial("even", "a=1", 800000)};
  const rgt__tunedb_trial of_zipf[] = {make_default(), make_trial("sharp", "a=1", 900000), make_trial("even", "a=1", 600000)};
  rgt__tunedb_winner w;
  (void)state;
  zipf.skew = "zipf";
  zipf.text = "mlp:10-20-5:g3:f32:relu:b12:nk:i64|8|zipf|stacked|4|raw";
  any.skew = "unknown";
  put(db, 1, &uniform, of_uniform, 3);
  put(db, 2, &zipf, of_zipf, 3);
  for (int turn = 0; turn < 2; turn++) { /* of the worst ratios 0.8 is the smallest */
    find(db, &any, NULL, &w);
    assert_string_equal(w.winner.family, "even");
    find(db, &uniform, NULL, &w);
    assert_string_equal(w.winner.family, "sharp");
  }
  rgt__tunedb_close(db);
}

static void admission_that_changes(void **state) {
  int admitted = 1;
  rgt__tunedb_limits limits = {
      .max_p = -1, .max_u_h = -1, .max_alpha = -1, .max_beta = -1, .admit = admits_none, .admit_user = &admitted};
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  (void)state;
  rgt__tunedb *db = open_memory();
  store(db, 1, "first", 900000);
  look(db, &limits, "first", 1);
  look(db, &limits, "first", 1);
  admitted = 0;
  assert_int_equal(rgt__tunedb_find(db, &sig, &cpu_place, &limits, &w, NULL), RGT_EMISS);
  admitted = 1;
  limits.admit_is_fixed = 1;
  look(db, &limits, "first", 1);
  look(db, &limits, "first", 0);
  rgt__tunedb_close(db);
}

/* A file that was deleted or replaced is noticed, if not at once. */
static void another_file(void **state) {
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  char path[96], end[128];
  (void)state;
  const char *folder = make_folder();
  snprintf(path, sizeof path, "%s", database(folder));
  rgt__tunedb *db = open_file(path, 0);
  store(db, 1, "first", 900000);
  look(db, NULL, "first", 1);
  look(db, NULL, "first", 0);
  assert_int_equal(unlink(path), 0);
  for (int i = 0; i < 2; i++) {
    snprintf(end, sizeof end, "%s%s", path, i ? "-shm" : "-wal");
    unlink(end);
  }
  nanosleep(&(struct timespec){.tv_nsec = 150 * 1000000}, NULL);
  assert_int_equal(rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, NULL), RGT_EMISS);
  rgt__tunedb_close(db);
  remove_folder(folder);
}

/* A handle of before a fork says so, though it knows the answer. */
static void across_a_fork(void **state) {
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  (void)state;
  const char *folder = make_folder();
  rgt__tunedb *db = open_file(database(folder), 0);
  store(db, 1, "first", 900000);
  look(db, NULL, "first", 1);
  look(db, NULL, "first", 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) _exit(rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, NULL) == RGT_EDB ? 0 : 1);
  int status = 1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  look(db, NULL, "first", 0);
  rgt__tunedb_close(db);
  remove_folder(folder);
}

/* More signatures than there is room for: each still gets its own answer. */
static void many_signatures(void **state) {
  enum { N = 2000 };
  (void)state;
  rgt__tunedb *db = open_memory();
  for (int turn = 0; turn < 3; turn++)
    for (int i = 0; i < N; i++) {
      char text[64], family[16];
      rgt__tunedb_signature sig = make_signature();
      rgt__tunedb_winner w;
      snprintf(text, sizeof text, "signature %d", i);
      snprintf(family, sizeof family, "f%d", i);
      sig.text = text;
      if (turn == 0) {
        const rgt__tunedb_trial trials[2] = {make_default(), make_trial(family, "", 900000)};
        put(db, (unsigned)i, &sig, trials, 2);
        continue;
      }
      find(db, &sig, NULL, &w);
      assert_string_equal(w.winner.family, family);
      assert_string_equal(w.signature, text);
    }
  rgt__tunedb_close(db);
}

/* The shapes to be near to are kept too, until a handle or another one adds some. */
static void nearest_sees_new_shapes(void **state) {
  char path[96];
  (void)state;
  const char *folder = make_folder();
  snprintf(path, sizeof path, "%s", database(folder));
  rgt__tunedb *db = open_file(path, 0), *other = open_file(path, 0);
  rgt__tunedb_signature asked = make_signature();
  rgt__tunedb_winner none;
  int first = 0;
  assert_int_equal(rgt__tunedb_nearest(db, &asked, &cpu_place, NULL, &none, NULL), RGT_EMISS);
  for (int i = 0; i < 40; i++) { /* each nearer than the one before, by this handle and the other in turns */
    char text[64], family[16];
    rgt__tunedb_signature sig = make_signature();
    rgt__tunedb_winner w;
    snprintf(text, sizeof text, "shape %d", i);
    snprintf(family, sizeof family, "f%d", i);
    sig.text = sig.op_text = text;
    sig.n_in = 100 - i;
    const rgt__tunedb_trial trials[2] = {make_default(), make_trial(family, "", 900000)};
    put(i % 2 ? db : other, (unsigned)i, &sig, trials, 2);
    for (int again = 0; again < 2; again++) {
      sqlite3_trace_v2(db->sql, SQLITE_TRACE_ROW, count_statement, NULL);
      n_statements = 0;
      OK(rgt__tunedb_nearest(db, &asked, &cpu_place, NULL, &w, NULL));
      assert_string_equal(w.winner.family, family);
      if (!again) first = n_statements;
    }
    assert_int_equal(first - n_statements, i + 1); /* rows: those of the list are read once */
  }
  rgt__tunedb_close(db);
  rgt__tunedb_close(other);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_memory),
      cmocka_unit_test(in_a_file),
      cmocka_unit_test(with_a_rollback_journal),
      cmocka_unit_test(other_questions),
      cmocka_unit_test(an_unknown_skew_is_another_question),
      cmocka_unit_test(admission_that_changes),
      cmocka_unit_test(another_file),
      cmocka_unit_test(across_a_fork),
      cmocka_unit_test(many_signatures),
      cmocka_unit_test(nearest_sees_new_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
