/* test_leftover.c -- names beside a database: what they are, and what looks like one and is none. */
#include "fixture.h"

static void is(const char *name, rgt__tunedb_leftover kind) {
  if (rgt__tunedb_leftover_of("/a/b/tuned.db", name) != kind || rgt__tunedb_leftover_of("tuned.db", name) != kind)
    fail_msg("%s", name);
}

static void test_names(void **state) {
  (void)state;
  static const char *const none[] = {"tuned.db",
                                     "tuned.db-wal",
                                     "tuned.db-shm",
                                     "tuned.db.corrupt-",
                                     "tuned.db.corrupt-20260101",
                                     "tuned.db.corrupt-20260101T000000Zx",
                                     "tuned.db.corrupt-20260101T000000Z-",
                                     "tuned.db.corrupt-20260101T000000Z-2-db",
                                     "tuned.dbx.corrupt-20260101T000000Z",
                                     "uned.db.corrupt-20260101T000000Z",
                                     "tuned.db.new-",
                                     "tuned.db.new-1234567",
                                     "tuned.db.v1-20260101T000000Z",
                                     "tuned.db.part",
                                     ""};
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) is(none[i], RGT_LEFTOVER_NONE);
  is("tuned.db.corrupt-20260101T000000Z", RGT_LEFTOVER_ASIDE);
  is("tuned.db.corrupt-20260101T000000Z-12", RGT_LEFTOVER_ASIDE);
  is("tuned.db.corrupt-20260101T000000Z-wal", RGT_LEFTOVER_JOURNAL);
  is("tuned.db.corrupt-20260101T000000Z-12-shm", RGT_LEFTOVER_JOURNAL);
  is("tuned.db.corrupt-20260101T000000Z-journal", RGT_LEFTOVER_JOURNAL);
  is("tuned.db.new-a1B2c3", RGT_LEFTOVER_TEMP);
  is("tuned.db.v1-20260101T000000Z.part", RGT_LEFTOVER_TEMP);
}

/* The names that are really given. */
static void test_real_names(void **state) {
  (void)state;
  char path[200], command[300], name[200];
  char *folder = make_folder();
  rgt__tunedb *db = NULL;
  snprintf(path, sizeof path, "%s/tuned.db", folder);
  for (int i = 0; i < 2; i++) {
    FILE *f = fopen(path, "w");
    fputs("SQLite format 3, and then nothing that is any", f);
    fclose(f);
    OK(rgt__tunedb_open(path, RGT_TUNEDB_OWN_PLACE, &db, NULL));
    rgt__tunedb_close(db);
  }
  snprintf(command, sizeof command, "ls %s | grep corrupt", folder);
  FILE *p = popen(command, "r");
  int n = 0;
  for (; fscanf(p, "%199s", name) == 1; n++) is(name, RGT_LEFTOVER_ASIDE);
  pclose(p);
  assert_int_equal(n, 2);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_real_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
