/* test_connect.c -- somebody else's database, opened with RGT_TUNEDB_SITE: read, whatever its age and place; never written,
 * nothing ever made beside it; refused in one line where it cannot be read. */
#include "fixture.h"

#include <fcntl.h>

static char folder[100], path[200];

static int begin(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "%s", make_folder());
  snprintf(path, sizeof path, "%s/site.db", folder);
  return 0;
}

static int end(void **state) {
  char command[200];
  (void)state;
  snprintf(command, sizeof command, "chmod u+rwx %s", folder);
  assert_int_equal(system(command), 0);
  remove_folder(folder);
  return 0;
}

static void shell(const char *format) {
  char command[900];
  snprintf(command, sizeof command, format, path, path, path);
  assert_int_equal(system(command), 0);
}

/* Name, size, times and content of all that lies there. */
static void fingerprint(char out[4096]) {
  char command[400];
  snprintf(command, sizeof command, "cd %s && for f in *; do stat -c '%%n %%s %%Y %%Z %%i' \"$f\"; cksum <\"$f\"; done",
           folder);
  FILE *p = popen(command, "r");
  assert_non_null(p);
  size_t n = fread(out, 1, 4095, p);
  out[n] = 0;
  pclose(p);
}

static void make_file(unsigned flags) {
  rgt__tunedb *db = NULL;
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial trials[2] = {make_default(), make_trial("tiles", "n=4", 500000)};
  OK(rgt__tunedb_open(path, flags, &db, NULL));
  put(db, 1, &sig, trials, 2);
  rgt__tunedb_close(db);
}

static rgt__tunedb *open_site(void) {
  rgt__tunedb *db = NULL;
  rgt__error err = {""};
  if (rgt__tunedb_open(path, RGT_TUNEDB_SITE, &db, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_string_equal(rgt__tunedb_notice(db), "");
  assert_true(rgt__tunedb_is_read_only(db));
  return db;
}

static void reads(const char *params) {
  char before[4096], after[4096];
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  rgt__error err = {""};
  fingerprint(before);
  rgt__tunedb *db = open_site();
  find(db, &sig, NULL, &w);
  assert_string_equal(w.winner.params, params);
  sig.n_in = 11;
  sig.text = "near";
  OK(rgt__tunedb_nearest(db, &sig, &cpu_place, NULL, &w, &err));
  assert_true(w.distance > 0.13 && w.distance < 0.14);
  rgt__tunedb_trial t = make_default();
  rgt__tunedb_run run = make_run(9);
  assert_int_equal(rgt__tunedb_put(db, &run, &sig, &cpu_place, &t, 1, &err), RGT_EDB);
  OK(rgt__tunedb_miss(db, &sig, &cpu_place, &err)); /* counts nothing */
  rgt__tunedb_close(db);
  fingerprint(after);
  assert_string_equal(before, after);
}

static void either_journal_mode(void **state) {
  (void)state;
  make_file(0); /* WAL: read the usual way it would leave journals there */
  reads("n=4");
  unlink(path);
  make_file(RGT_TUNEDB_ROLLBACK_JOURNAL);
  reads("n=4");
}

static void in_a_folder_that_cannot_be_written(void **state) {
  (void)state;
  make_file(0);
  assert_int_equal(chmod(path, 0444), 0);
  assert_int_equal(chmod(folder, 0555), 0);
  reads("n=4");
}

static void an_old_one_is_read_as_it_is(void **state) {
  (void)state;
  shell("cp '" RGT_TESTS_DIR "/fixtures/tunedb/v1.db' '%s' && chmod 444 '%s'");
  reads("n=4");
  rgt__tunedb *db = open_site();
  assert_int_equal(ask(db, "PRAGMA user_version"), 1);
  rgt__tunedb_close(db);
}

static void refused(const char *word) {
  char before[4096], after[4096];
  rgt__tunedb *db = NULL;
  rgt__error err = {""};
  fingerprint(before);
  assert_int_equal(rgt__tunedb_open(path, RGT_TUNEDB_SITE, &db, &err), RGT_EDB);
  assert_null(db);
  assert_null(strchr(err.text, '\n'));
  if (!strstr(err.text, word) || !strstr(err.text, path)) fail_msg("\"%s\" is not in \"%s\"", word, err.text);
  fingerprint(after);
  assert_string_equal(before, after);
}

static void refusals(void **state) {
  (void)state;
  refused("no such file");
  shell(": >'%s'");
  refused("holds nothing yet");
  shell("printf 'some text, no database' >'%s'");
  refused("no tuned database");
  unlink(path);
  make_file(0);
  shell("dd if=/dev/zero of='%s' bs=4096 seek=2 count=3 conv=notrunc 2>/dev/null");
  refused("damaged");
  unlink(path);
  make_file(0);
  rgt__tunedb *db = NULL;
  OK(rgt__tunedb_open(path, 0, &db, NULL));
  tell(db, "INSERT INTO history VALUES (1000, 1, 'later'); PRAGMA user_version = 1000");
  rgt__tunedb_close(db);
  refused("version 1000, newer than this program's");
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  rgt__error err = {""};
  assert_int_equal(rgt__tunedb_open(path, RGT_TUNEDB_SITE, &db, &err), RGT_EDB);
  assert_non_null(strstr(err.text, "a FIFO"));
}

/* Somebody who writes it goes on, and is seen. */
static void a_writer_is_seen(void **state) {
  (void)state;
  make_file(0);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  rgt__tunedb *site = open_site(), *db = NULL;
  find(site, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "n=4");
  OK(rgt__tunedb_open(path, 0, &db, NULL));
  rgt__tunedb_trial better[2] = {make_default(), make_trial("tiles", "n=8", 300000)};
  put(db, 2, &sig, better, 2);
  find(site, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "n=8");
  rgt__tunedb_close(db);
  find(site, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "n=8");
  rgt__tunedb_close(site);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {TEST(either_journal_mode), TEST(in_a_folder_that_cannot_be_written),
                                     TEST(an_old_one_is_read_as_it_is), TEST(refusals), TEST(a_writer_is_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
