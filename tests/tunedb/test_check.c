/* test_check.c -- whatever is changed behind the library's back is found, and derived rows can be made anew. */
#include "fixture.h"

#include "runtime/base/random.h"

static rgt__tunedb *filled(void) {
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[4] = {make_default(), make_trial("tiles", "a", 500000), make_trial("tiles", "b", 600000),
                            make_trial("tiles", "c", 700000)};
  t[3].outcome = RGT_TRIAL_COMPILE_ERROR;
  t[1].p1 = 0x1p-22;
  put(db, 1, &sig, t, 4);
  put(db, 2, &sig, t, 3);
  OK(rgt__tunedb_check(db, NULL));
  return db;
}

static void expect_found(const char *change, const char *named) {
  rgt__tunedb *db = filled();
  rgt__error err = {{0}};
  tell(db, "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
  tell(db, change);
  assert_int_equal(rgt__tunedb_check(db, &err), RGT_EDB);
  if (!strstr(err.text, named)) fail_msg("after %s: \"%s\" does not name \"%s\"", change, err.text, named);
  rgt__tunedb_close(db);
}

static void test_changed_trials(void **state) {
  (void)state;
  static const char *const changes[] = {
      "time_ps = time_ps - 1",
      "low_ps = 5",
      "high_ps = 5",
      "default_ps = 5",
      "ratio_ppm = 1",
      "ratio_low_ppm = 5",
      "ratio_high_ppm = 5",
      "n_samples = 5",
      "rank = 5",
      "is_default = 1 - is_default",
      "final = 1 - final",
      "outcome = 'infeasible'",
      "reason = 'x'",
      "error_share = 0.26",
      "p1 = 1e-9",
      "p2 = 1e-9",
      "u_h = 1e-9",
      "alpha = 1e-9",
      "beta = 1e-9",
      "numeric_class = 'x'",
      "template_digest = zeroblob(32)",
      "code = zeroblob(32)",
      "key = zeroblob(32)",
  };
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    char sql[256];
    snprintf(sql, sizeof sql, "UPDATE trial SET %s WHERE key = (SELECT max(key) FROM trial WHERE outcome = 'ok')", changes[i]);
    expect_found(sql, "trial");
  }
}

static void test_changed_rows(void **state) {
  (void)state;
  expect_found("UPDATE signature SET n_in = 11", "signature");
  expect_found("UPDATE signature SET text = 'x'", "signature");
  expect_found("UPDATE signature SET bucket = 16", "signature");
  expect_found("UPDATE place SET policy = 'cold'", "place");
  expect_found("UPDATE place SET clock = 'modelled'", "place");
  expect_found("UPDATE run SET toolchain = 'x'", "run");
  expect_found("UPDATE run SET started_utc_s = 1", "run");
  expect_found("UPDATE run SET id = zeroblob(32)", "run");
  expect_found("UPDATE variant SET params = 'x' WHERE params = 'a'", "variant");
  expect_found("UPDATE variant SET revision = 9 WHERE params = 'a'", "variant");
  expect_found("DELETE FROM variant WHERE params = 'a'", "table variant");
  expect_found("DELETE FROM run WHERE started_utc_s = 1700000001", "table run");
  expect_found("INSERT INTO pin SELECT signature, place, zeroblob(32), '', 0 FROM winner", "table pin");
}

static void test_changed_winners(void **state) {
  (void)state;
  expect_found("UPDATE winner SET variant = runner_up", "rebuild");
  expect_found("UPDATE winner SET variant = NULL", "rebuild");
  expect_found("UPDATE winner SET runner_up = NULL", "rebuild");
  expect_found("UPDATE winner SET n_trials = 5", "rebuild");
  expect_found("UPDATE winner SET complete = 1", "rebuild");
  expect_found("DELETE FROM winner", "rebuild");
  expect_found("DELETE FROM standing", "rebuild");
  expect_found("DELETE FROM standing WHERE ratio_ppm = 1000000", "rebuild");
  expect_found("UPDATE standing SET ratio_ppm = 1 WHERE ratio_ppm = 600000", "rebuild");
  expect_found("UPDATE standing SET ratio_low_ppm = 1", "rebuild");
  expect_found("UPDATE standing SET n_runs = 1", "rebuild");
  expect_found("UPDATE standing SET rank = 0", "rebuild");
  expect_found("UPDATE standing SET is_default = 1", "rebuild");
  expect_found("UPDATE standing SET p1 = 0", "rebuild");
  expect_found("UPDATE standing SET numeric_class = 'x'", "rebuild");
  expect_found("DELETE FROM trial WHERE ratio_ppm = 500000", "refers to");
  expect_found("DELETE FROM trial WHERE outcome = 'compile_error'", "rebuild");
}

static void test_foreign_objects(void **state) {
  (void)state;
  expect_found("CREATE TRIGGER gotcha AFTER INSERT ON trial BEGIN DELETE FROM trial; END", "the trigger gotcha");
  expect_found("CREATE VIEW peek AS SELECT * FROM trial", "the view peek");
}

/* Such a trigger is not run either. */
static void test_triggers_do_not_run(void **state) {
  (void)state;
  rgt__tunedb *db = filled();
  tell(db, "CREATE TRIGGER gotcha AFTER INSERT ON trial BEGIN UPDATE winner SET n_trials = 99; END");
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("tiles", "z", 900000);
  put(db, 1, &sig, &t, 1);
  assert_int_equal(ask(db, "SELECT n_trials FROM winner"), 8);
  rgt__tunedb_close(db);
}

static void test_rebuild(void **state) {
  (void)state;
  rgt__tunedb *db = filled();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  tell(db, "PRAGMA foreign_keys = OFF; DELETE FROM standing; UPDATE winner SET variant = runner_up, n_trials = 0, place = "
           "zeroblob(32); PRAGMA foreign_keys = ON");
  assert_int_equal(rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, NULL), RGT_EMISS);
  OK(rgt__tunedb_rebuild(db, NULL));
  OK(rgt__tunedb_check(db, NULL));
  find(db, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "a");
  assert_int_equal(w.winner.n_runs, 2);
  assert_int_equal(w.n_trials, 7);
  assert_int_equal(rgt__tunedb_rebuild(NULL, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_check(NULL, NULL), RGT_EINVAL);
  rgt__tunedb_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_changed_trials),      cmocka_unit_test(test_changed_rows),
      cmocka_unit_test(test_changed_winners),     cmocka_unit_test(test_foreign_objects),
      cmocka_unit_test(test_triggers_do_not_run), cmocka_unit_test(test_rebuild),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
