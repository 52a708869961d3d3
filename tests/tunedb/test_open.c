/* test_open.c -- what open makes, accepts and refuses. */
#include "child.h"

#include <dirent.h>

static char *folder;
static char path[256];

static int set_up(void **state) {
  (void)state;
  folder = make_folder();
  snprintf(path, sizeof path, "%s/tuned.db", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static rgt__tunedb *open_at(const char *where, unsigned flags) {
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_open(where, flags, &db, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  assert_non_null(db);
  return db;
}

static void expect_refused(const char *where, unsigned flags, const char *named) {
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  assert_int_equal(rgt__tunedb_open(where, flags, &db, &err), RGT_EDB);
  assert_null(db);
  if (!strstr(err.text, named) || !strstr(err.text, where)) fail_msg("\"%s\" does not name \"%s\"", err.text, named);
}

static void fill(const char *where) {
  rgt__tunedb *db = open_at(where, 0);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[2] = {make_default(), make_trial("tiles", "a", 500000)};
  put(db, 1, &sig, t, 2);
  rgt__tunedb_close(db);
}

static void expect_filled(rgt__tunedb *db) {
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  find(db, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "a");
}

/* Files in the folder whose names begin so. */
static int count_files(const char *prefix) {
  DIR *d = opendir(folder);
  int n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
  closedir(d);
  return n;
}

static unsigned mode_of(const char *where) {
  struct stat st;
  assert_int_equal(stat(where, &st), 0);
  return st.st_mode & 07777;
}

static void test_memory(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    rgt__tunedb *db = open_at(i ? ":memory:" : NULL, 0);
    assert_string_equal(rgt__tunedb_path(db), ":memory:");
    assert_string_equal(rgt__tunedb_notice(db), "");
    assert_int_equal(rgt__tunedb_is_read_only(db), 0);
    assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 0);
    rgt__tunedb_close(db);
  }
  rgt__tunedb_close(NULL);
  assert_int_equal(rgt__tunedb_open(NULL, 0, NULL, NULL), RGT_EINVAL);
}

static void test_makes_file_and_folders(void **state) {
  (void)state;
  char deep[256], inner[256];
  mode_t before = umask(0);
  snprintf(inner, sizeof inner, "%s/a/b", folder);
  snprintf(deep, sizeof deep, "%s/a/b/tuned.db", folder);
  fill(deep);
  rgt__tunedb *db = open_at(deep, 0);
  assert_string_equal(rgt__tunedb_path(db), deep);
  assert_string_equal(rgt__tunedb_notice(db), "");
  assert_int_equal(mode_of(inner), 0700);
  assert_int_equal(mode_of(deep), 0600);
  expect_filled(db);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("tiles", "b", 600000);
  put(db, 2, &sig, &t, 1);
  char wal[300];
  snprintf(wal, sizeof wal, "%s-wal", deep);
  assert_int_equal(mode_of(wal), 0600);
  assert_int_equal(ask(db, "PRAGMA application_id"), 0x52475444);
  assert_int_equal(ask(db, "PRAGMA user_version"), RGT_TUNEDB_VERSION);
  assert_int_equal(ask(db, "PRAGMA foreign_keys"), 1);
  assert_int_equal(ask(db, "PRAGMA synchronous"), 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM history WHERE version = 2 AND made_by = 'ragtune 0.1.0'"), 1);
  assert_int_equal(ask(db, "SELECT (SELECT * FROM pragma_journal_mode) = 'wal'"), 1);
  /* every table is strict: a wrong kind is refused */
  assert_int_equal(ask(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%STRICT%'"), 0);
  rgt__tunedb_close(db);
  assert_int_equal(access(wal, F_OK), -1); /* a clean close leaves one file */
  umask(before);
}

static void test_strange_names(void **state) {
  (void)state;
  static const char *const names[] = {"file:x?mode=memory", "a b#c?d%41.db", "\xC3\xA4.db"};
  char was[256];
  assert_non_null(getcwd(was, sizeof was));
  assert_int_equal(chdir(folder), 0); /* relative ones, too */
  for (int i = 0; i < 3; i++) {
    fill(names[i]);
    assert_int_equal(access(names[i], R_OK), 0);
    rgt__tunedb *db = open_at(names[i], RGT_TUNEDB_MUST_EXIST);
    expect_filled(db);
    rgt__tunedb_close(db);
  }
  assert_int_equal(chdir(was), 0);
}

static void test_must_exist(void **state) {
  (void)state;
  expect_refused(path, RGT_TUNEDB_MUST_EXIST, "no such file");
  expect_refused(path, RGT_TUNEDB_READ_ONLY, "no such file");
  assert_int_equal(count_files("tuned"), 0);
}

static void test_wrong_kinds(void **state) {
  (void)state;
  char other[300];
  expect_refused(folder, 0, "is a folder");
  expect_refused("/dev/null", 0, "is a device");
  expect_refused("", 0, "path is empty");
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_refused(path, 0, "is a FIFO");
  snprintf(other, sizeof other, "%s/inside.db", path);
  expect_refused(other, 0, "Not a directory");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(symlink("tuned.db", path), 0);
  expect_refused(path, 0, "symbolic links");
  assert_int_equal(unlink(path), 0);
  fill(path);
  snprintf(other, sizeof other, "%s-wal", path);
  assert_int_equal(mkfifo(other, 0600), 0);
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  assert_int_equal(rgt__tunedb_open(path, 0, &db, &err), RGT_EDB);
  assert_non_null(strstr(err.text, "tuned.db-wal: is a FIFO"));
}

static void test_links(void **state) {
  (void)state;
  char link_path[300];
  snprintf(link_path, sizeof link_path, "%s/link.db", folder);
  assert_int_equal(symlink("tuned.db", link_path), 0);
  fill(link_path); /* a link to nothing yet: made where it points */
  assert_int_equal(mode_of(path), 0600);
  struct stat st;
  assert_int_equal(lstat(link_path, &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  rgt__tunedb *db = open_at(path, RGT_TUNEDB_MUST_EXIST);
  expect_filled(db);
  rgt__tunedb_close(db);
}

static void test_other_programs_database(void **state) {
  (void)state;
  sqlite3 *other;
  assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "PRAGMA application_id = 77; CREATE TABLE bookmarks (url)", NULL, NULL, NULL),
                   SQLITE_OK);
  sqlite3_close(other);
  expect_refused(path, 0, "another program's database");
  assert_int_equal(count_files("tuned"), 1); /* left as and where it was */
  assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "SELECT url FROM bookmarks", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "PRAGMA application_id = 0", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(other);
  expect_refused(path, 0, "another program's database");
}

static void test_read_only_flag(void **state) {
  (void)state;
  fill(path);
  rgt__tunedb *db = open_at(path, RGT_TUNEDB_READ_ONLY);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("tiles", "b", 600000);
  rgt__tunedb_run run = make_run(2);
  rgt__error err = {{0}};
  assert_int_equal(rgt__tunedb_is_read_only(db), 1);
  assert_string_equal(rgt__tunedb_notice(db), ""); /* as asked for */
  expect_filled(db);
  assert_int_equal(rgt__tunedb_put(db, &run, &sig, &cpu_place, &t, 1, &err), RGT_EDB);
  assert_non_null(strstr(err.text, "reading only"));
  assert_int_equal(rgt__tunedb_rebuild(db, &err), RGT_EDB);
  OK(rgt__tunedb_miss(db, &sig, &cpu_place, NULL));
  assert_int_equal(ask(db, "SELECT count(*) FROM miss"), 0);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

/* As nobody: the database must answer, say that it cannot store, and leave nothing behind. */
static void read_as_nobody(void *user) {
  const char *where = user;
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("tiles", "b", 600000);
  rgt__tunedb_run run = make_run(2);
  rgt__tunedb_winner w;
  rgt__error err = {{0}};
  rgt__tunedb *db = NULL;
  be_nobody();
  rgt_status status = rgt__tunedb_open(where, 0, &db, &err);
  if (status) fprintf(stderr, "%s\n", err.text);
  CHECK(status == RGT_OK);
  CHECK(rgt__tunedb_is_read_only(db));
  CHECK(strstr(rgt__tunedb_notice(db), "cannot be written"));
  CHECK(rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, &err) == RGT_OK);
  CHECK(strcmp(w.winner.params, "a") == 0);
  CHECK(rgt__tunedb_put(db, &run, &sig, &cpu_place, &t, 1, &err) == RGT_EDB);
  CHECK(rgt__tunedb_check(db, &err) == RGT_OK);
  rgt__tunedb_close(db);
}

static void test_read_only_places(void **state) {
  (void)state;
  static const struct {
    mode_t folder, file;
    const char *mode;
  } cases[] = {
      {0555, 0444, "PRAGMA journal_mode = WAL"},    {0555, 0666, "PRAGMA journal_mode = WAL"},
      {0777, 0444, "PRAGMA journal_mode = WAL"},    {0555, 0444, "PRAGMA journal_mode = DELETE"},
      {0555, 0666, "PRAGMA journal_mode = DELETE"}, {0777, 0444, "PRAGMA journal_mode = DELETE"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fill(path);
    sqlite3 *raw;
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, cases[i].mode, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(raw);
    assert_int_equal(chmod(path, cases[i].file), 0);
    assert_int_equal(chmod(folder, cases[i].folder), 0);
    run_child(read_as_nobody, path);
    assert_int_equal(chmod(folder, 0700), 0);
    if (cases[i].folder == 0555) assert_int_equal(count_files("tuned"), 1);
    assert_int_equal(chmod(path, 0600), 0);
    char command[800];
    snprintf(command, sizeof command, "rm -f '%s' '%s-wal' '%s-shm'", path, path, path);
    assert_int_equal(system(command), 0);
  }
}

static void fail_as_nobody(void *user) {
  rgt__error err = {{0}};
  rgt__tunedb *db = NULL;
  be_nobody();
  CHECK(rgt__tunedb_open(user, 0, &db, &err) == RGT_EDB);
  CHECK(strstr(err.text, user));
  CHECK(strstr(err.text, "Permission denied") || strstr(err.text, "cannot be written") || strstr(err.text, "unable to open"));
  CHECK(!db);
}

static void test_unusable_places(void **state) {
  (void)state;
  char deep[300];
  snprintf(deep, sizeof deep, "%s/new/tuned.db", folder);
  assert_int_equal(chmod(folder, 0555), 0);
  run_child(fail_as_nobody, path); /* cannot be made */
  run_child(fail_as_nobody, deep); /* nor its folder */
  assert_int_equal(chmod(folder, 0700), 0);
  int fd = open(path, O_CREAT | O_WRONLY, 0444);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(chmod(folder, 0555), 0);
  run_child(fail_as_nobody, path); /* empty and not to be written */
  assert_int_equal(chmod(folder, 0700), 0);
  fill(path);
  assert_int_equal(chmod(path, 0), 0);
  assert_int_equal(chmod(folder, 0777), 0);
  run_child(fail_as_nobody, path); /* not to be read: nothing is moved aside for that */
  assert_int_equal(chmod(folder, 0700), 0);
  assert_int_equal(count_files("tuned.db.corrupt"), 0);
}

static void test_newer_schema(void **state) {
  (void)state;
  fill(path);
  rgt__tunedb *db = open_at(path, 0);
  tell(db, "ALTER TABLE trial ADD COLUMN watts INTEGER NOT NULL DEFAULT 0; PRAGMA user_version = 1000; INSERT INTO history "
           "VALUES (1000, 0, 'ragtune 9')");
  rgt__tunedb_close(db);
  db = open_at(path, 0);
  assert_int_equal(rgt__tunedb_is_read_only(db), 1);
  assert_non_null(strstr(rgt__tunedb_notice(db), "version 1000, newer than this program's 2"));
  expect_filled(db);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("tiles", "b", 600000);
  rgt__tunedb_run run = make_run(2);
  assert_int_equal(rgt__tunedb_put(db, &run, &sig, &cpu_place, &t, 1, NULL), RGT_EDB);
  tell(db, "ALTER TABLE trial RENAME COLUMN ratio_ppm TO ratio_ppb");
  rgt__tunedb_close(db);
  expect_refused(path, 0, "reads up to 2");
  assert_int_equal(count_files("tuned.db.corrupt"), 0);
}

static void in_forked_child(void *user) {
  rgt__tunedb *db = user;
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  rgt__error err = {{0}};
  CHECK(rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, &err) == RGT_EDB);
  CHECK(strstr(err.text, "fork"));
  rgt__tunedb_close(db); /* must not disturb the parent's */
}

static void test_fork(void **state) {
  (void)state;
  fill(path);
  rgt__tunedb *db = open_at(path, 0);
  expect_filled(db);
  run_child(in_forked_child, db);
  expect_filled(db);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("tiles", "b", 600000);
  put(db, 2, &sig, &t, 1);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void move_journals(void) {
  char from[300];
  snprintf(from, sizeof from, "%s-wal", path);
  assert_int_equal(unlink(from), 0);
  snprintf(from, sizeof from, "%s-shm", path);
  assert_int_equal(unlink(from), 0);
}

static void test_file_replaced(void **state) {
  (void)state;
  char other[300];
  snprintf(other, sizeof other, "%s/other.db", folder);
  rgt__tunedb *db = open_at(path, 0);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  fill(other);
  assert_int_equal(rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, NULL), RGT_EMISS);
  move_journals(); /* they belong to the old file: SQLite would take them for the new one's */
  assert_int_equal(rename(other, path), 0);
  expect_filled(db); /* the new file answers */
  assert_int_equal(unlink(path), 0);
  rgt__tunedb_trial t[2] = {make_default(), make_trial("tiles", "a", 500000)};
  put(db, 3, &sig, t, 2); /* nothing is written into a file without a name */
  rgt__tunedb_close(db);
  db = open_at(path, RGT_TUNEDB_MUST_EXIST);
  expect_filled(db);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void test_journal_modes(void **state) {
  (void)state;
  static const char is_delete[] = "SELECT (SELECT * FROM pragma_journal_mode) = 'delete'";
  fill(path);
  rgt__tunedb *db = open_at(path, RGT_TUNEDB_ROLLBACK_JOURNAL);
  assert_int_equal(ask(db, is_delete), 1);
  assert_int_equal(ask(db, "PRAGMA synchronous"), 2);
  expect_filled(db);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("tiles", "b", 600000);
  put(db, 2, &sig, &t, 1);
  rgt__tunedb_close(db);
  db = open_at(path, 0);
  assert_int_equal(ask(db, is_delete), 0);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 3);
  rgt__tunedb_close(db);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_memory),
      TEST(test_makes_file_and_folders),
      TEST(test_strange_names),
      TEST(test_must_exist),
      TEST(test_wrong_kinds),
      TEST(test_links),
      TEST(test_other_programs_database),
      TEST(test_read_only_flag),
      TEST(test_read_only_places),
      TEST(test_unusable_places),
      TEST(test_newer_schema),
      TEST(test_fork),
      TEST(test_file_replaced),
      TEST(test_journal_modes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
