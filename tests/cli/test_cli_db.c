/* test_cli_db.c -- ragtune db export, import, merge: files, counts, JSON, refusals. */
#include "child.h"

static const char *database(const char *name) {
  static char paths[4][200];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", home, name);
  return path;
}

/* A database of version 1 with 9 trials of 3 runs; its first use brings it up to date. */
static void take_database(const char *name) {
  char command[600];
  snprintf(command, sizeof command, "cp '%s/fixtures/tunedb/v1.db' '%s'", RGT_TESTS_DIR, database(name));
  assert_int_equal(system(command), 0);
}

static int64_t number(const json_t *o, const char *a, const char *b) {
  const json_t *v = json_object_get(json_object_get(o, a), b);
  if (!json_is_integer(v)) fail_msg("no %s.%s in\n%s", a, b, text_out);
  return json_integer_value(v);
}

static void export_and_import(void **unused) {
  char digest[80];
  json_t *o;
  (void)unused;
  take_database("a.db");
  expect(run("db export %s --db %s --json", database("e.db"), database("a.db")), 0);
  o = expect_json("db",
                  (const char *const[]){"action", "database", "file", "runs", "trials", "dropped", "bytes", "digest", NULL});
  assert_int_equal(json_integer_value(json_object_get(o, "trials")), 9);
  assert_int_equal(json_integer_value(json_object_get(o, "runs")), 3);
  snprintf(digest, sizeof digest, "%s", json_string_value(json_object_get(o, "digest")));
  assert_int_equal(strlen(digest), 64);
  json_decref(o);

  expect(run("db import %s --db %s --json", database("e.db"), database("new.db")), 0); /* made by it */
  o = expect_json("db", (const char *const[]){"files", "runs", "trials", "dropped_for", "signatures", NULL});
  assert_int_equal(number(o, "trials", "new"), 9);
  assert_int_equal(number(o, "trials", "known"), 0);
  assert_int_equal(number(o, "trials", "dropped"), 0);
  assert_int_equal(number(o, "runs", "new"), 3);
  assert_int_equal(number(o, "runs", "known") + number(o, "runs", "dropped"), 0);
  assert_int_equal(number(o, "dropped_for", "wrong_key") + number(o, "dropped_for", "out_of_range"), 0);
  assert_int_equal(number(o, "dropped_for", "orphans"), 0);
  assert_int_equal(json_integer_value(json_object_get(o, "signatures")), 2);
  json_decref(o);

  expect(run("db export %s --db %s", database("e2.db"), database("new.db")), 0);
  assert_non_null(strstr(text_out, "9 trials of 3 runs in "));
  assert_non_null(strstr(text_out, digest));
  expect(run("db check --db %s", database("new.db")), 0);
  expect(run("db check --db %s", database("e2.db")), 0);
  expect(run("db list --db %s", database("e2.db")), 0);
  assert_non_null(strstr(text_out, "2 winners in "));
}

static void merge(void **unused) {
  (void)unused;
  take_database("b.db");
  expect(run("db merge %s %s --db %s", database("b.db"), database("e.db"), database("all.db")), 0);
  assert_non_null(strstr(text_out, "trials: 9 new, 9 known, 0 left out; runs: 3 new, 3 known, 0 left out\n"));
  assert_non_null(strstr(text_out, "winners of 2 signatures were derived anew in "));
  assert_string_equal(text_err, "");
}

static void what_is_refused(void **unused) {
  (void)unused;
  expect_refusal(run("db export %s --db %s", database("a.db"), database("a.db")), 2, "is the database itself");
  expect_refusal(run("db import %s --db %s", database("a.db"), database("a.db")), 2, "is the database itself");
  expect_refusal(run("db import %s", home), 3, "is a folder");
  expect_refusal(run("db import /nonexistent/t.db"), 3, "/nonexistent/t.db: no such file");
  expect_refusal(run("db export %s --db /nonexistent/t.db", database("x.db")), 3, "--db /nonexistent/t.db: No such file");
  expect_refusal(run("db export /nonexistent/x.db"), 3, "/nonexistent/x.db: cannot be written: No such file");
  expect_refusal(run("db export %s --db %s", database("e.db"), home), 3, "nothing was exported"); /* e.db stays what it was */
  expect_refusal(run("db gc --db %s", home), 3, "nothing was removed");
  expect(run("db merge %s --db %s", database("e.db"), database("again.db")), 0);
  assert_non_null(strstr(text_out, "trials: 9 new"));
  FILE *file = fopen(database("notes.txt"), "w");
  assert_non_null(file);
  fputs("my notes\n", file);
  fclose(file);
  expect_refusal(run("db export %s", database("notes.txt")), 3, "stays as it is");
  expect_refusal(run("db merge %s %s", database("e.db"), database("notes.txt")), 3, "notes.txt: is no database");
  expect(run("db list"), 0); /* the good one of the two was not taken either */
  assert_non_null(strstr(text_out, "0 winners in "));
}

#define OP "--in 10 --hidden 20 --out 5 --groups 3 --device cpu"
#define PINNED "row_gather:fused=1,lanes=8,vectors=4"

/* Pins and bans: stored, listed, shown by why, taken back, refused. */
static void wishes(void **unused) {
  json_t *o;
  (void)unused;
  expect(run("db pin " OP " --rows 8 --variant " PINNED " --reason because --db %s", database("w.db")), 0);
  expect(run("db pin --list --json --db %s", database("w.db")), 0);
  o = expect_json("db", (const char *const[]){"action", "database", "pins", NULL});
  assert_int_equal(json_array_size(json_object_get(o, "pins")), 1);
  const json_t *pin = json_array_get(json_object_get(o, "pins"), 0);
  assert_string_equal(json_string_value(json_object_get(pin, "variant")), PINNED);
  assert_string_equal(json_string_value(json_object_get(pin, "reason")), "because");
  json_decref(o);
  expect(run("why " OP " --rows 7 --json --db %s", database("w.db")), 0);
  o = expect_json("why", (const char *const[]){"variant", "from", "match", "distance", "layer", "layer_path",
                                               "stored_device_class", "stored_policy", "verified", "outdated", NULL});
  assert_string_equal(json_string_value(json_object_get(o, "from")), "pin");
  assert_string_equal(json_string_value(json_object_get(o, "match")), "exact");
  assert_string_equal(json_string_value(json_object_get(o, "variant")), PINNED);
  assert_false(json_boolean_value(json_object_get(o, "verified")));
  json_decref(o);
  expect(run("db ban --variant " PINNED " --device cpu --db %s", database("w.db")), 0);
  expect(run("why " OP " --rows 7 --db %s", database("w.db")), 0);
  assert_non_null(strstr(text_out, "not used: it is banned"));
  expect(run("db pin " OP " --rows 8 --variant " PINNED " --db %s", database("w.db")), 2);
  assert_non_null(strstr(text_err, "is banned"));
  expect_refusal(run("verify " OP " --variant " PINNED " --db %s", database("w.db")), 2, "is banned; ragtune db ban --remove");
  expect(run("db ban --variant nobody:x=1 --device cpu --db %s", database("w.db")), 2);
  assert_non_null(strstr(text_err, "no family \"nobody\""));
  expect(run("db ban --db %s", database("w.db")), 2);
  expect(run("db pin " OP " --variant " PINNED " --db %s", database("w.db")), 2);
  assert_non_null(strstr(text_err, "db pin needs --rows N"));
  expect(run("db list --rows 8 --db %s", database("w.db")), 2);
  assert_non_null(strstr(text_err, "db list takes no --rows"));
  expect(run("db ban --variant " PINNED " --remove --device cpu --db %s", database("w.db")), 0);
  expect(run("db pin " OP " --rows 8 --remove --db %s", database("w.db")), 0);
  expect(run("db pin --list --db %s", database("w.db")), 0);
  assert_non_null(strstr(text_out, "0 pins in "));
}

/* A database that lies in the installation's share folder is asked last, wherever the tree was moved. */
static void shipped(void **unused) {
  char command[1500];
  (void)unused;
  expect(run("db pin " OP " --rows 8 --variant " PINNED " --db %s", database("s.db")), 0);
  snprintf(command, sizeof command,
           "mkdir -p '%s/tree/bin' '%s/tree/share/ragtune' && cp '%s' '%s/tree/bin/ragtune' && cp '%s' "
           "'%s/tree/share/ragtune/tuned.db' && '%s/tree/bin/ragtune' why " OP
           " --rows 8 --db :memory: >'%s/why.txt' && grep -q "
           "'^variant    " PINNED "' '%s/why.txt' && grep -q '^file .*/tree/.*share/ragtune/tuned.db' '%s/why.txt'",
           home, home, RGT_CLI, home, database("s.db"), home, home, home, home, home);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(export_and_import), cmocka_unit_test(wishes), cmocka_unit_test(shipped),
                                     cmocka_unit_test(merge), cmocka_unit_test(what_is_refused)};
  return cmocka_run_group_tests(tests, make_home, remove_home);
}
