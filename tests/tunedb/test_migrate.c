/* test_migrate.c -- the machinery that a second version of the schema will use, with steps of the test's own. */
#include "fixture.h"

#include "tunedb/migrate.h"

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

static rgt__tunedb *open_filled(const char *where) {
  rgt__tunedb *db = NULL;
  OK(rgt__tunedb_open(where, 0, &db, NULL));
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[2] = {make_default(), make_trial("tiles", "a", 500000)};
  put(db, 1, &sig, t, 2);
  return db;
}

/* The one file of the folder whose name begins so, "" if none. */
static int find_file(const char *prefix, char *out, size_t size) {
  DIR *d = opendir(folder);
  int n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));)
    if (strncmp(e->d_name, prefix, strlen(prefix)) == 0) snprintf(out, size, "%s/%s", folder, e->d_name), n++;
  closedir(d);
  return n;
}

static rgt_status double_ranks(rgt__tunedb *db, rgt__error *err) {
  return rgt__migrate_exec(db, "UPDATE variant SET weight = 7", "doubling", err);
}

static rgt_status refuse(rgt__tunedb *db, rgt__error *err) {
  return rgt__error_set(err, RGT_EDB, "%s: refused", db->path);
}

static const rgt__migrate_step good[] = {
    {2, "ALTER TABLE variant ADD COLUMN weight INTEGER NOT NULL DEFAULT 1", double_ranks},
    {3, "CREATE TABLE extra (a INTEGER) STRICT", NULL},
};

static void test_steps_and_backup(void **state) {
  (void)state;
  char backup[400] = "";
  rgt__tunedb *db = open_filled(path);
  OK(rgt__migrate_up(db, good, 2, 3, NULL));
  assert_int_equal(ask(db, "PRAGMA user_version"), 3);
  assert_int_equal(ask(db, "SELECT count(*) FROM history"), 3);
  assert_int_equal(ask(db, "SELECT min(weight) FROM variant"), 7);
  assert_int_equal(ask(db, "SELECT count(*) FROM extra"), 0);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 2);
  assert_int_equal(find_file("tuned.db.v1-20", backup, sizeof backup), 1);
  OK(rgt__migrate_up(db, good, 2, 3, NULL)); /* nothing to do: no second backup */
  assert_int_equal(find_file("tuned.db.v1-20", backup, sizeof backup), 1);
  assert_int_equal(find_file("tuned.db.v3", (char[400]){0}, 400), 0);
  rgt__tunedb_close(db);

  struct stat st;
  assert_int_equal(stat(backup, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  OK(rgt__tunedb_open(backup, RGT_TUNEDB_MUST_EXIST, &db, NULL)); /* as it was: version 1, whole */
  assert_int_equal(rgt__tunedb_is_read_only(db), 0);
  assert_int_equal(ask(db, "PRAGMA user_version"), 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 2);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void expect_rolled_back(const rgt__migrate_step *steps, int n, int version, const char *named) {
  rgt__tunedb *db = open_filled(path);
  rgt__error err = {{0}};
  assert_int_equal(rgt__migrate_up(db, steps, n, version, &err), RGT_EDB);
  if (!strstr(err.text, named)) fail_msg("\"%s\" does not name \"%s\"", err.text, named);
  assert_int_equal(ask(db, "PRAGMA user_version"), 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM history"), 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM pragma_table_info('variant') WHERE name = 'weight'"), 0);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void test_all_or_nothing(void **state) {
  (void)state;
  const rgt__migrate_step bad_sql[] = {good[0], {3, "CREATE TABLE trial (a INTEGER)", NULL}};
  const rgt__migrate_step bad_run[] = {good[0], {3, NULL, refuse}};
  expect_rolled_back(bad_sql, 2, 3, "table trial already exists");
  expect_rolled_back(bad_run, 2, 3, "refused");
  expect_rolled_back(good, 2, 4, "no way leads from 3 to 4");
  expect_rolled_back(good + 1, 1, 3, "no way leads from 1 to 3");
}

/* Without the backup there is no migration. */
static void test_backup_fails(void **state) {
  (void)state;
  rgt__tunedb *db = open_filled(path);
  char *kept = db->path, nowhere[300];
  rgt__error err = {{0}};
  snprintf(nowhere, sizeof nowhere, "%s/tuned.db", path); /* below a file: nobody can write there, root neither */
  db->path = nowhere;
  assert_int_equal(rgt__migrate_up(db, good, 2, 3, &err), RGT_EDB);
  db->path = kept;
  assert_int_equal(ask(db, "PRAGMA user_version"), 1);
  rgt__tunedb_close(db);
}

static void test_in_memory(void **state) {
  (void)state;
  rgt__tunedb *db = open_filled(NULL);
  OK(rgt__migrate_up(db, good, 1, 2, NULL));
  assert_int_equal(ask(db, "PRAGMA user_version"), 2);
  rgt__tunedb_close(db);
}

static void test_create_twice(void **state) {
  (void)state;
  rgt__tunedb *db = open_filled(path);
  OK(rgt__migrate_create(db, NULL)); /* as when another process was faster */
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 2);
  assert_int_equal(ask(db, "SELECT count(*) FROM history"), 1);
  rgt__tunedb_close(db);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_steps_and_backup), TEST(test_all_or_nothing), TEST(test_backup_fails),
      TEST(test_in_memory),        TEST(test_create_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
