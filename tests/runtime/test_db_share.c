/* test_db_share.c -- rgt_db_export, import and merge: from one house to another, and what a forged file can do there (nothing).
 */
#include "tests/support/front.h"

#include "tunedb/tunedb.h"

#include <sqlite3.h>

static front f;
static char other[120], file[120], evil[120];

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  snprintf(other, sizeof other, "%s/other.db", f.s.folder);
  snprintf(file, sizeof file, "%s/export.db", f.s.folder);
  snprintf(evil, sizeof evil, "%s/evil.db", f.s.folder);
  front_open(&f);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static void open_other(void) {
  rgt_options o = front_options(&f);
  o.database = other;
  rgt_status status = front_open_with(&f, &o);
  if (status != RGT_OK) fail_msg("rgt_open: %s", rgt_errmsg(f.ctx));
}

static int take_winner(void *user, const rgt_db_row *row) {
  snprintf(user, RGT_VARIANT_TEXT_MAX, "%s", row->winner);
  return 0;
}

static void from_one_to_another(void **state) {
  rgt_tune_result r;
  char winner[RGT_VARIANT_TEXT_MAX] = "", there[RGT_VARIANT_TEXT_MAX] = "";
  rgt_db_exported a, b;
  rgt_db_counts n;
  (void)state;
  front_tune(&f, front_op(&f, FRONT_LINEAR), 8, &r);
  front_ok(&f, rgt_db_list(f.ctx, take_winner, winner));
  front_ok(&f, rgt_db_export(f.ctx, file, &a));
  assert_true(a.n_trials > 3 && a.n_runs >= 1 && a.n_bytes > 4096);
  assert_int_equal(a.n_trials_dropped, 0);
  assert_int_equal(strlen(a.digest), 64);
  open_other();
  front_ok(&f, rgt_db_import(f.ctx, file, &n));
  assert_int_equal(n.n_trials_new, a.n_trials);
  assert_int_equal(n.n_runs_new, a.n_runs);
  assert_int_equal(n.n_trials_known + n.n_trials_dropped + n.n_runs_known + n.n_runs_dropped, 0);
  assert_int_equal(n.n_signatures, 1);
  front_ok(&f, rgt_db_list(f.ctx, take_winner, there));
  assert_string_equal(there, winner);
  const char *const both[] = {file, f.db}; /* the export, and the database itself: the same trials */
  front_ok(&f, rgt_db_merge(f.ctx, both, 2, &n));
  assert_int_equal(n.n_trials_new, 0);
  assert_int_equal(n.n_trials_known, 2 * a.n_trials);
  front_ok(&f, rgt_db_check(f.ctx));
  snprintf(file, sizeof file, "%s/again.db", f.s.folder);
  front_ok(&f, rgt_db_export(f.ctx, file, &b));
  assert_string_equal(a.digest, b.digest);
  assert_int_equal(a.n_bytes, b.n_bytes);
}

static void what_is_refused(void **state) {
  (void)state;
  front_ok(&f, rgt_db_export(f.ctx, file, NULL)); /* nothing in it yet: no trials are a set too */
  front_ok(&f, rgt_db_import(f.ctx, file, NULL));
  front_fails(&f, rgt_db_export(f.ctx, NULL, NULL), RGT_EINVAL, "no path is given");
  front_fails(&f, rgt_db_import(f.ctx, NULL, NULL), RGT_EINVAL, "no path is given");
  front_fails(&f, rgt_db_merge(f.ctx, NULL, 2, NULL), RGT_EINVAL, "no path is given");
  front_fails(&f, rgt_db_merge(f.ctx, (const char *const[]){file}, 0, NULL), RGT_EINVAL, "no path is given");
  front_fails(&f, rgt_db_import(f.ctx, f.db, NULL), RGT_EINVAL, "is the database itself");
  front_fails(&f, rgt_db_export(f.ctx, f.db, NULL), RGT_EINVAL, "is the database itself");
  front_fails(&f, rgt_db_import(f.ctx, f.home, NULL), RGT_EDB, "is a folder");
  front_fails(&f, rgt_db_export(f.ctx, "/no/such/folder/x.db", NULL), RGT_EIO, "No such file or directory");
}

/* ---- a forged file ------------------------------------------------------------------------------------------------ */

static void column(sqlite3_stmt *s, int i, char *text, size_t size) {
  snprintf(text, size, "%s", (const char *)sqlite3_column_text(s, i));
}

/* One trial in evil.db for the very signature and place that was tuned here: right keys, a ratio that beats everything. */
static void forge(const char *family, int revision, const char *params) {
  static char text[256], op_text[256], op_class[256], skew[64], form[64], order[64], device_class[256], policy[128];
  sqlite3 *sql = NULL;
  sqlite3_stmt *s = NULL;
  assert_int_equal(sqlite3_open_v2(f.db, &sql, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(sql,
                                      "SELECT text, op_text, op_class, n_in, n_hidden, n_out, groups, bucket, skew, form, "
                                      "row_order, align_bytes, device_class, policy FROM signature, place",
                                      -1, &s, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  column(s, 0, text, sizeof text);
  column(s, 1, op_text, sizeof op_text);
  column(s, 2, op_class, sizeof op_class);
  column(s, 8, skew, sizeof skew);
  column(s, 9, form, sizeof form);
  column(s, 10, order, sizeof order);
  column(s, 12, device_class, sizeof device_class);
  column(s, 13, policy, sizeof policy);
  rgt__tunedb_signature sig = {.text = text,
                               .op_text = op_text,
                               .op_class = op_class,
                               .n_in = sqlite3_column_int64(s, 3),
                               .n_hidden = sqlite3_column_int64(s, 4),
                               .n_out = sqlite3_column_int64(s, 5),
                               .groups = sqlite3_column_int64(s, 6),
                               .bucket = sqlite3_column_int64(s, 7),
                               .skew = skew,
                               .form = form,
                               .order = order,
                               .align_bytes = sqlite3_column_int(s, 11)};
  rgt__tunedb_place place = {device_class, policy};
  rgt__tunedb_run run = {.toolchain = "cc", .driver = "", .conditions = "", .version = "9", .started_utc_s = 4000000000};
  rgt__tunedb_trial t = {.family = family,
                         .revision = revision,
                         .params = params,
                         .outcome = RGT_TRIAL_OK,
                         .reason = "",
                         .final = 1,
                         .time_ps = 1,
                         .low_ps = 1,
                         .high_ps = 1,
                         .default_ps = 1000000,
                         .ratio_ppm = 1,
                         .ratio_low_ppm = 1,
                         .ratio_high_ppm = 1,
                         .n_samples = 1000,
                         .numeric_class = "fma"};
  rgt__tunedb *db = NULL;
  assert_int_equal(rgt__tunedb_run_new(&run, NULL), RGT_OK);
  assert_int_equal(rgt__tunedb_open(evil, 0, &db, NULL), RGT_OK);
  assert_int_equal(rgt__tunedb_put(db, &run, &sig, &place, &t, 1, NULL), RGT_OK);
  rgt__tunedb_close(db);
  sqlite3_finalize(s);
  sqlite3_close(sql);
}

/* Texts that would break out of a template, values outside the space, families that are not here: kept as what somebody says
 * they measured, and never rendered. */
static void forged_winners_are_never_taken(void **state) {
  static const struct {
    const char *family;
    int revision;
    const char *params;
  } forged[] = {
      {"row_gather", 1, "fused=1,lanes=8,vectors=4; system(\"touch owned\")"},
      {"row_gather", 1, "fused=1,lanes=8*/ int owned; /*,vectors=4"},
      {"row_gather", 1, "fused=1,lanes=8,vectors=4,more=1"},
      {"row_gather", 1, "fused=1,lanes=7,vectors=4"},
      {"row_gather", 1, "fused=1,lanes=8"},
      {"row_gather", 1, "lanes=8,fused=1,vectors=4,lanes=4"},
      {"row_gather", 1, "fused=1,lanes=99999999999999999999,vectors=4"},
      {"row_gather", 1, "fused=1,lanes=-8,vectors=4"},
      {"row_gather", 77, "fused=1,lanes=8,vectors=4"},
      {"../../evil", 1, "fused=1,lanes=8,vectors=4"},
      {"$(os.exit())", 1, "lanes=8"},
      {"row_gather", 1, "'\"\\%s%n$(x)"},
  };
  rgt_tune_result r;
  rgt_db_counts n;
  char listed[RGT_VARIANT_TEXT_MAX];
  problem p;
  (void)state;
  front_tune(&f, front_op(&f, FRONT_MLP), 8, &r);
  rgt_close(f.ctx);
  f.ctx = NULL;
  for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) forge(forged[i].family, forged[i].revision, forged[i].params);
  front_open(&f);
  front_ok(&f, rgt_db_import(f.ctx, evil, &n));
  assert_int_equal(n.n_trials_new, sizeof forged / sizeof *forged);
  front_ok(&f, rgt_db_check(f.ctx));
  front_ok(&f, rgt_db_list(f.ctx, take_winner, listed)); /* listed as what it is */
  front_compiles(&f);

  problem_make(&p, FRONT_MLP, 8, 0);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  rgt_why_info why = {.struct_size = sizeof why};
  front_ok(&f, rgt_why(op, 8, &why));
  assert_string_equal(why.variant, r.winner); /* what was measured here */
  assert_int_equal(why.time_ps, r.time_ps);   /* by lookup, not because everything else failed */
  assert_true(why.exact && why.from != RGT_FROM_DEFAULT && why.from != RGT_FROM_BUILTIN);
  problem_free(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(from_one_to_another),
      TEST(what_is_refused),
      TEST(forged_winners_are_never_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
