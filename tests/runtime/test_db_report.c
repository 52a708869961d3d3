/* test_db_report.c -- rgt_db_*: listing, checking and deriving anew, through the front door. */
#include "tests/support/front.h"

#include <sqlite3.h>

static front f;

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  front_open(&f);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

typedef struct seen {
  int n, stop_after, n_runs, n_trials;
  char signature[300], winner[RGT_VARIANT_TEXT_MAX], runner_up[RGT_VARIANT_TEXT_MAX], policy[130];
  int64_t time_ps;
  double ratio;
} seen;

static int take(void *user, const rgt_db_row *row) {
  seen *s = user;
  s->n++;
  s->n_runs = row->n_runs;
  s->n_trials = row->n_trials;
  s->time_ps = row->time_ps;
  s->ratio = row->ratio;
  assert_true(row->device_class[0]);
  snprintf(s->signature, sizeof s->signature, "%s", row->signature);
  snprintf(s->winner, sizeof s->winner, "%s", row->winner);
  snprintf(s->runner_up, sizeof s->runner_up, "%s", row->runner_up);
  snprintf(s->policy, sizeof s->policy, "%s", row->policy);
  return s->n == s->stop_after;
}

static void execute(const char *sql) {
  sqlite3 *db = NULL;
  char *why = NULL;
  assert_int_equal(sqlite3_open(f.db, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
  sqlite3_close(db);
}

static void an_empty_one(void **state) {
  seen s = {0};
  (void)state;
  front_ok(&f, rgt_db_list(f.ctx, take, &s));
  assert_int_equal(s.n, 0);
  front_ok(&f, rgt_db_check(f.ctx));
  front_ok(&f, rgt_db_rebuild(f.ctx));
  assert_string_equal(rgt_db_path(f.ctx), f.db);
}

static void what_was_tuned(void **state) {
  rgt_tune_result r[2];
  const int64_t rows[2] = {8, 64};
  seen s = {0};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  rgt_tune_options o = front_tune_options(&f, rows, 2);
  front_ok(&f, rgt_tune(op, &o, r));
  front_ok(&f, rgt_db_list(f.ctx, take, &s));
  assert_int_equal(s.n, 2);
  const rgt_tune_result *last = strstr(s.signature, ":64") || strstr(s.signature, "64:") ? &r[1] : &r[0];
  assert_has(s.signature, FRONT_MLP);
  assert_string_equal(s.winner, last->winner);
  assert_string_equal(s.runner_up, last->runner_up);
  assert_int_equal(s.time_ps, last->time_ps);
  assert_true(s.ratio > 0 && s.ratio <= 1.0);
  assert_int_equal(s.n_runs, 3);
  assert_true(s.n_trials >= last->n_tried);
  assert_has(s.policy, "warm:stream:threads=");
  s = (seen){.stop_after = 1};
  assert_int_equal(rgt_db_list(f.ctx, take, &s), RGT_EINTERRUPTED);
  assert_int_equal(s.n, 1);
  front_ok(&f, rgt_db_check(f.ctx));
}

/* Winners are derived: lost, they come back from the trials. */
static void winners_come_back(void **state) {
  rgt_tune_result r;
  seen before = {0}, after = {0};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_tune(&f, op, 8, &r);
  front_ok(&f, rgt_db_list(f.ctx, take, &before));
  rgt_close(f.ctx);
  f.ctx = NULL;
  execute("DELETE FROM winner; DELETE FROM standing");
  front_open(&f);
  front_fails(&f, rgt_db_check(f.ctx), RGT_EDB, f.db);
  front_ok(&f, rgt_db_rebuild(f.ctx));
  front_ok(&f, rgt_db_check(f.ctx));
  front_ok(&f, rgt_db_list(f.ctx, take, &after));
  assert_memory_equal(&before, &after, sizeof before);
}

static void a_changed_trial_is_found(void **state) {
  rgt_tune_result r;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_tune(&f, op, 8, &r);
  rgt_close(f.ctx);
  f.ctx = NULL;
  execute("UPDATE trial SET time_ps = time_ps + 1");
  front_open(&f);
  front_fails(&f, rgt_db_check(f.ctx), RGT_EDB, f.db);
}

/* One that can only be read is sound all the same; one that was found damaged is not, though an empty one took its place. */
static void sound_though_read_only(void **state) {
  rgt_tune_result r;
  char command[300];
  (void)state;
  front_tune(&f, front_op(&f, FRONT_MLP), 8, &r);
  rgt_close(f.ctx);
  f.ctx = NULL;
  execute("PRAGMA user_version = 1000; INSERT INTO history VALUES (1000, 1, 'later')"); /* from a later program: read, never
                                                                                           written */
  front_open(&f);
  front_ok(&f, rgt_db_check(f.ctx));
  assert_has(f.log, "nothing is stored");
  rgt_close(f.ctx);
  f.ctx = NULL;
  execute("PRAGMA user_version = 2; DELETE FROM history WHERE version = 1000");
  snprintf(command, sizeof command, "dd if=/dev/urandom of=%s bs=1024 seek=1 count=8 conv=notrunc 2>/dev/null", f.db);
  assert_int_equal(system(command), 0);
  front_open(&f);
  front_fails(&f, rgt_db_check(f.ctx), RGT_EDB, "was not sound");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {TEST(an_empty_one), TEST(what_was_tuned), TEST(winners_come_back),
                                     TEST(a_changed_trial_is_found), TEST(sound_though_read_only)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
