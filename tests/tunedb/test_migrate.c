/* test_migrate.c -- a file of version 1 becomes one of today's version; the machinery with further steps of the test's own. */
#include "fixture.h"

#include "runtime/base/alloc.h"
#include "tunedb/connect.h"
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

enum { NOW = RGT_TUNEDB_VERSION };

static const rgt__migrate_step good[] = {
    {NOW + 1, "ALTER TABLE variant ADD COLUMN weight INTEGER NOT NULL DEFAULT 1", double_ranks},
    {NOW + 2, "CREATE TABLE extra (a INTEGER) STRICT", NULL},
};

static void test_steps_and_backup(void **state) {
  (void)state;
  char backup[400] = "";
  rgt__tunedb *db = open_filled(path);
  OK(rgt__migrate_up(db, good, 2, NOW + 2, NULL));
  assert_int_equal(ask(db, "PRAGMA user_version"), NOW + 2);
  assert_int_equal(ask(db, "SELECT count(*) FROM history"), 3);
  assert_int_equal(ask(db, "SELECT min(weight) FROM variant"), 7);
  assert_int_equal(ask(db, "SELECT count(*) FROM extra"), 0);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 2);
  assert_int_equal(find_file("tuned.db.v2-20", backup, sizeof backup), 1);
  OK(rgt__migrate_up(db, good, 2, NOW + 2, NULL)); /* nothing to do: no second backup */
  assert_int_equal(find_file("tuned.db.v2-20", backup, sizeof backup), 1);
  assert_int_equal(find_file("tuned.db.v4", (char[400]){0}, 400), 0);
  rgt__tunedb_close(db);

  struct stat st;
  assert_int_equal(stat(backup, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  OK(rgt__tunedb_open(backup, RGT_TUNEDB_MUST_EXIST, &db, NULL)); /* as it was, whole */
  assert_int_equal(rgt__tunedb_is_read_only(db), 0);
  assert_int_equal(ask(db, "PRAGMA user_version"), NOW);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 2);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void expect_rolled_back(const rgt__migrate_step *steps, int n, int version, const char *named) {
  rgt__tunedb *db = open_filled(path);
  rgt__error err = {{0}};
  assert_int_equal(rgt__migrate_up(db, steps, n, version, &err), RGT_EDB);
  if (!strstr(err.text, named)) fail_msg("\"%s\" does not name \"%s\"", err.text, named);
  assert_int_equal(ask(db, "PRAGMA user_version"), NOW);
  assert_int_equal(ask(db, "SELECT count(*) FROM history"), 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM pragma_table_info('variant') WHERE name = 'weight'"), 0);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void test_all_or_nothing(void **state) {
  (void)state;
  const rgt__migrate_step bad_sql[] = {good[0], {NOW + 2, "CREATE TABLE trial (a INTEGER)", NULL}};
  const rgt__migrate_step bad_run[] = {good[0], {NOW + 2, NULL, refuse}};
  expect_rolled_back(bad_sql, 2, NOW + 2, "table trial already exists");
  expect_rolled_back(bad_run, 2, NOW + 2, "refused");
  expect_rolled_back(good, 2, NOW + 3, "no way leads from 4 to 5");
  expect_rolled_back(good + 1, 1, NOW + 2, "no way leads from 2 to 4");
}

/* Without the backup there is no migration. */
static void test_backup_fails(void **state) {
  (void)state;
  rgt__tunedb *db = open_filled(path);
  char *kept = db->path, nowhere[300];
  rgt__error err = {{0}};
  snprintf(nowhere, sizeof nowhere, "%s/tuned.db", path); /* below a file: nobody can write there, root neither */
  db->path = nowhere;
  assert_int_equal(rgt__migrate_up(db, good, 2, NOW + 2, &err), RGT_EDB);
  db->path = kept;
  assert_int_equal(ask(db, "PRAGMA user_version"), NOW);
  rgt__tunedb_close(db);
}

static void test_in_memory(void **state) {
  (void)state;
  rgt__tunedb *db = open_filled(NULL);
  OK(rgt__migrate_up(db, good, 1, NOW + 1, NULL));
  assert_int_equal(ask(db, "PRAGMA user_version"), NOW + 1);
  rgt__tunedb_close(db);
}

/* ---- from version 1: tests/fixtures/tunedb/v1.db was written by the program of that version ------------------ */

static void take_old_file(void) {
  char command[600];
  snprintf(command, sizeof command, "cp '%s/fixtures/tunedb/v1.db' '%s' && chmod 600 '%s'", RGT_TESTS_DIR, path, path);
  assert_int_equal(system(command), 0);
}

/* Every object of the schema as one text. */
static char *schema_of(rgt__tunedb *db) {
  sqlite3_stmt *s = NULL;
  assert_int_equal(sqlite3_prepare_v2(db->sql,
                                      "SELECT group_concat(type || name || sql, char(10)) FROM (SELECT * FROM sqlite_schema "
                                      "WHERE sql IS NOT NULL ORDER BY type, name)",
                                      -1, &s, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  char *text = strdup((const char *)sqlite3_column_text(s, 0));
  assert_non_null(text);
  sqlite3_finalize(s);
  return text;
}

static void expect_old_contents(rgt__tunedb *db) {
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  find(db, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "n=4");
  assert_int_equal(w.winner.n_runs, 2);
  assert_int_equal(w.n_trials, 6);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 9);
  assert_int_equal(ask(db, "SELECT count(*) FROM miss"), 1);
  OK(rgt__tunedb_check(db, NULL));
}

static void test_from_version_1(void **state) {
  (void)state;
  char backup[400] = "", fresh_path[300];
  rgt__tunedb *db = NULL, *fresh = NULL;
  take_old_file();
  OK(rgt__tunedb_open(path, RGT_TUNEDB_MUST_EXIST, &db, NULL));
  assert_string_equal(rgt__tunedb_notice(db), "");
  assert_int_equal(ask(db, "PRAGMA user_version"), NOW);
  assert_int_equal(ask(db, "SELECT count(*) FROM history"), 2);
  expect_old_contents(db);
  assert_int_equal(ask(db, "SELECT (SELECT count(*) FROM origin) + (SELECT count(*) FROM checked) + (SELECT count(*) FROM "
                           "claim)"),
                   0);

  snprintf(fresh_path, sizeof fresh_path, "%s/fresh.db", folder); /* no two of one version differ */
  OK(rgt__tunedb_open(fresh_path, 0, &fresh, NULL));
  char *migrated = schema_of(db), *made = schema_of(fresh);
  assert_string_equal(migrated, made);
  free(migrated);
  free(made);
  rgt__tunedb_close(fresh);
  rgt__tunedb_close(db);

  assert_int_equal(find_file("tuned.db.v1-20", backup, sizeof backup), 1);
  OK(rgt__tunedb_open(backup, RGT_TUNEDB_READ_ONLY, &db, NULL)); /* as it was, and read as it is */
  assert_int_equal(ask(db, "PRAGMA user_version"), 1);
  assert_int_equal(rgt__tunedb_is_read_only(db), 1);
  expect_old_contents(db);
  rgt__tunedb_close(db);
}

/* A foreign file is taken only where its schema is word for word the one that is made here for its version: a version that is
 * out in the world must never be changed, a comment within a table neither. What is to change comes in the next version. */
static void test_schemas_stay_as_they_are(void **state) {
  (void)state;
  static const char *const wanted[] = {"e67b31410fae16d7146dea35f51b01b0d75c98c4758f6de910fc71fd8a9f83c0",
                                       "e54354bf1006817dc52d4844a89857df61e816a04bcc2b2547fd7704658269dc"};
  for (int version = 1; version <= RGT_TUNEDB_VERSION; version++) {
    rgt__tunedb db = {.path = path, .owner = getpid()};
    rgt__digest digest;
    char hex[RGT_DIGEST_HEX_MAX];
    OK(rgt__connect_raw(&db, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
    OK(rgt__migrate_schema(&db, version, NULL));
    char *text = schema_of(&db);
    rgt__digest_of(text, strlen(text), &digest);
    rgt__digest_hex(&digest, hex);
    assert_string_equal(hex, wanted[version - 1]);
    free(text);
    rgt__connect_close(&db);
  }
}

/* What comes after an interrupted migration is the old file: nothing of the new tables is in it. */
static void test_from_version_1_interrupted(void **state) {
  (void)state;
  const rgt__migrate_step broken[] = {{2, "CREATE TABLE origin (run BLOB) STRICT", refuse}};
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  take_old_file();
  db = open_filled(NULL); /* a handle of today's, turned to the old file */
  rgt__statement_close_all(db);
  sqlite3_close(db->sql);
  assert_int_equal(sqlite3_open(path, &db->sql), SQLITE_OK);
  rgt__free(db->path);
  db->path = rgt__strdup(path);
  db->in_memory = 0;
  assert_int_equal(rgt__migrate_up(db, broken, 1, 2, &err), RGT_EDB);
  assert_non_null(strstr(err.text, "migrating from version 1: "));
  assert_int_equal(ask(db, "PRAGMA user_version"), 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'origin'"), 0);
  rgt__tunedb_close(db);
  OK(rgt__tunedb_open(path, 0, &db, NULL)); /* and the next program migrates it */
  expect_old_contents(db);
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
      TEST(test_steps_and_backup),
      TEST(test_all_or_nothing),
      TEST(test_backup_fails),
      TEST(test_in_memory),
      TEST(test_create_twice),
      TEST(test_from_version_1),
      TEST(test_schemas_stay_as_they_are),
      TEST(test_from_version_1_interrupted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
