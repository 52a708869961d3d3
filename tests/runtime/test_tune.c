/* test_tune.c -- rgt_tune: winners and hits, runs added, stops and resumes, budgets, real indices, what is refused and skipped.
 */
#include "runtime/context.h"
#include "tests/support/folder.h"
#include "tests/support/front.h"

#include <sqlite3.h>

static front f;

static int open_house(void **state) {
  (void)state;
  front_begin(&f);
  return 0;
}

static int close_house(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

/* A database of its own for a test; compiled code is shared by all of them. */
static rgt_op *begin(const char *text) {
  static int n;
  snprintf(f.db, sizeof f.db, "%s/tuned-%d.db", f.s.folder, n++);
  front_open(&f);
  rgt_op *op = front_op(&f, text);
  front_compiles(&f);
  return op;
}

static int64_t query(const char *sql) {
  sqlite3 *db = NULL;
  sqlite3_stmt *s = NULL;
  assert_int_equal(sqlite3_open_v2(f.db, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  int64_t value = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  sqlite3_close(db);
  return value;
}

static void execute(const char *sql) {
  sqlite3 *db = NULL;
  char *why = NULL;
  assert_int_equal(sqlite3_open(f.db, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
  sqlite3_close(db);
}

static int count_row(void *user, const rgt_db_row *row) {
  int *n = user;
  (void)row;
  ++*n;
  return 0;
}

static void complete(const rgt_tune_result *r) {
  assert_int_equal(r->status, RGT_OK);
  assert_true(r->winner[0]);
  assert_true(r->time_ps > 0 && r->low_ps <= r->time_ps && r->time_ps <= r->high_ps);
  assert_true(r->default_ps > 0);
  assert_true(r->n_tried >= 3);
  assert_int_equal(r->n_tried, r->n_ok + r->n_infeasible + r->n_compile_error + r->n_wrong + r->n_crashed + r->n_timed_out);
  assert_true(r->error_share >= 0 && r->error_share <= 1);
  assert_true(r->flops > 0 && r->bytes > 0);
}

/* ---- winner, hit, another run ---- */

static void the_second_call_is_a_hit(void **state) {
  rgt_tune_result first[2], second[2], third;
  const int64_t rows[2] = {5, 64}, one = 8;
  int n = 0;
  (void)state;
  rgt_op *op = begin(FRONT_MLP);
  rgt_tune_options o = front_tune_options(&f, rows, 2);
  front_ok(&f, rgt_tune(op, &o, first));
  assert_int_equal(first[0].bucket, 8); /* 5 rounded up */
  assert_int_equal(first[1].bucket, 64);
  assert_true(front_compiles(&f) >= 4);
  for (int i = 0; i < 2; i++) {
    complete(&first[i]);
    assert_false(first[i].hit);
    assert_int_equal(first[i].skew, RGT_SKEW_UNIFORM);
    assert_int_equal(first[i].n_ok, first[i].n_tried);
    assert_int_equal(first[i].n_resumed, 0);
    assert_true(first[i].loop_ps > 0);
    assert_true(first[i].peak_share > 0);
  }
  front_ok(&f, rgt_tune(op, &o, second));
  front_open(&f); /* and from the file */
  op = front_op(&f, FRONT_MLP);
  o.rows = &one;
  o.n_rows = 1;
  front_ok(&f, rgt_tune(op, &o, &third));
  assert_int_equal(front_compiles(&f), 0);
  for (int i = 0; i < 3; i++) {
    const rgt_tune_result *hit = i < 2 ? &second[i] : &third, *was = &first[i % 2];
    complete(hit);
    assert_true(hit->hit);
    assert_string_equal(hit->winner, was->winner);
    assert_string_equal(hit->runner_up, was->runner_up);
    assert_int_equal(hit->time_ps, was->time_ps);
    assert_int_equal(hit->default_ps, was->default_ps);
    assert_int_equal(hit->n_tried, was->n_tried);
    assert_int_equal(hit->n_ok, was->n_ok);
    assert_true(hit->flops == was->flops && hit->bytes == was->bytes);
  }
  front_ok(&f, rgt_db_list(f.ctx, count_row, &n));
  assert_int_equal(n, 2);
  front_ok(&f, rgt_db_check(f.ctx));
}

enum { RUNS = 3 }; /* of a search that comes to its end: itself and two rematches */

static void force_adds_a_run(void **state) {
  rgt_tune_result r;
  (void)state;
  rgt_op *op = begin(FRONT_MLP);
  front_tune(&f, op, 8, &r);
  assert_int_equal(query("SELECT count(*) FROM run"), RUNS);
  int64_t trials = query("SELECT count(*) FROM trial");
  const int64_t rows = 8;
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.force = 1;
  front_ok(&f, rgt_tune(op, &o, &r));
  complete(&r);
  assert_false(r.hit);
  assert_int_equal(r.n_resumed, 0);
  assert_int_equal(query("SELECT count(*) FROM run"), 2 * RUNS);
  assert_true(query("SELECT count(*) FROM trial") > trials);
  front_ok(&f, rgt_db_check(f.ctx));
}

static void rows_of_one_bucket_are_one_search(void **state) {
  rgt_tune_result r[3];
  const int64_t rows[3] = {8, 5, 7};
  (void)state;
  rgt_op *op = begin(FRONT_MLP);
  rgt_tune_options o = front_tune_options(&f, rows, 3);
  front_ok(&f, rgt_tune(op, &o, r));
  assert_int_equal(query("SELECT count(*) FROM run"), RUNS);
  for (int i = 0; i < 3; i++) {
    complete(&r[i]);
    assert_int_equal(r[i].bucket, 8);
    assert_string_equal(r[i].winner, r[0].winner);
    assert_int_equal(r[i].time_ps, r[0].time_ps);
  }
}

/* ---- stop and go on ---- */

typedef struct stopper {
  rgt_phase phase;
  int after; /* calls of that phase */
  int n;
  volatile int stop;
} stopper;

static void stop_in_phase(void *user, const rgt_progress *p) {
  stopper *s = user;
  assert_true(p->done >= 0 && p->done <= p->total && p->elapsed_s >= 0 && p->line);
  if (p->phase == s->phase && ++s->n >= s->after) s->stop = 1;
}

/* More variants than one wave holds, all of one family, so that the first wave is stored when the second is stopped. */
#define MANY                                                   \
  "return { row_gather = { lanes = { 4, 8 }, vectors = 4 },\n" \
  "  group_tiles = { over = { 0, 1 }, lanes = { 4, 8, 16 }, vectors = { 1, 2 } } }\n"

static void a_stopped_search_goes_on(void **state) {
  rgt_tune_result r, again;
  const int64_t rows = 8;
  stopper s = {.phase = RGT_PHASE_TIME, .after = 2};
  (void)state;
  rgt_op *op = begin(FRONT_MLP);
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.space = scratch_write(&f.s, "many.lua", MANY, 0644);
  o.progress = stop_in_phase;
  o.progress_user = &s;
  o.stop = &s.stop;
  front_fails(&f, rgt_tune(op, &o, &r), RGT_EINTERRUPTED, "stored");
  assert_int_equal(r.status, RGT_EINTERRUPTED);
  assert_has(r.reason, "the next run goes on from there");
  assert_true(r.n_tried >= 17); /* a wave of 16 and the default */
  int64_t stored = query("SELECT count(*) FROM trial");
  assert_true(stored >= 17);
  assert_int_equal(query("SELECT count(*) FROM trial WHERE final"), 0);

  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  front_compiles(&f);
  s = (stopper){.phase = RGT_PHASE_STORE, .after = 1 << 30};
  char path[240];
  snprintf(path, sizeof path, "%s", scratch_path(&f.s, "many.lua"));
  o.space = path;
  front_ok(&f, rgt_tune(op, &o, &again));
  complete(&again);
  assert_false(again.hit);
  assert_int_equal(again.n_resumed, r.n_tried);
  assert_true(again.n_tried > r.n_tried);
  assert_int_equal(query("SELECT count(*) FROM run"), 1 + RUNS);
  /* no variant but the default was searched in both runs, the duel apart */
  assert_int_equal(
      query(
          "SELECT count(*) FROM (SELECT 1 FROM trial WHERE NOT final AND NOT is_default GROUP BY variant HAVING count(*) > 1)"),
      0);
  front_ok(&f, rgt_tune(op, &o, &again)); /* complete now */
  assert_true(again.hit);
  front_ok(&f, rgt_db_check(f.ctx));
}

static void stopped_at_once(void **state) {
  rgt_tune_result r[2];
  const int64_t rows[2] = {8, 16};
  volatile int stop = 1;
  (void)state;
  rgt_op *op = begin("mlp:10-21-5:g4:f32:relu:b12:nk:i64"); /* nothing of it is compiled */
  rgt_tune_options o = front_tune_options(&f, rows, 2);
  o.stop = &stop;
  front_fails(&f, rgt_tune(op, &o, r), RGT_EINTERRUPTED, "stopped while compiling");
  assert_int_equal(r[0].status, RGT_EINTERRUPTED);
  assert_int_equal(r[1].status, RGT_EINTERRUPTED);
  assert_int_equal(r[0].n_tried, 0);
}

/* ---- budget ---- */

static void a_short_budget_still_answers(void **state) {
  rgt_tune_result r;
  const int64_t rows = 8;
  (void)state;
  rgt_op *op = begin("mlp:11-21-5:g4:f32:relu:b12:nk:i64");
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.budget_s = 1e-3; /* compiling ends after the first variants */
  o.space = NULL;
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_has(f.log, "ended compiling after");
  assert_true(r.status == RGT_OK || r.status == RGT_EINFEASIBLE);
  assert_true(r.n_tried < 20);
}

/* ---- real indices ---- */

static rgt_tune_result tune_index(rgt_op *op, const void *index, int64_t n) {
  rgt_tune_result r;
  rgt_tune_options o = front_tune_options(&f, NULL, 0);
  o.index = index;
  o.n_index = n;
  front_ok(&f, rgt_tune(op, &o, &r));
  complete(&r);
  return r;
}

static void an_index_gives_its_skew(void **state) {
  int64_t index[100];
  (void)state;
  rgt_op *op = begin(FRONT_MLP);
  for (int i = 0; i < 100; i++) index[i] = i % 10 == 9 ? -1 : i % 4;
  rgt_tune_result r = tune_index(op, index, 100);
  assert_int_equal(r.skew, RGT_SKEW_UNIFORM);
  assert_int_equal(r.bucket, 128);
  for (int i = 0; i < 100; i++) index[i] = i % 50 == 49 ? 1 : 2;
  r = tune_index(op, index, 100);
  assert_int_equal(r.skew, RGT_SKEW_ONE);
  assert_false(r.hit);
  for (int i = 0; i < 100; i++) index[i] = i < 70 ? 0 : i % 4;
  r = tune_index(op, index, 100);
  assert_int_equal(r.skew, RGT_SKEW_ZIPF);
  r = tune_index(op, index, 100);
  assert_true(r.hit);
}

/* ---- what is refused ---- */

static void bad_options(void **state) {
  rgt_tune_result r[40];
  int64_t rows[40] = {8}, index[4] = {0};
  (void)state;
  rgt_op *op = begin(FRONT_MLP);
  const rgt_tune_options good = front_tune_options(&f, rows, 1);
  rgt_tune_options o;
#define BAD(change, want, word)                           \
  do {                                                    \
    o = good;                                             \
    o.change;                                             \
    front_fails(&f, rgt_tune(op, &o, r), (want), (word)); \
  } while (0)
  BAD(struct_size = 8, RGT_EINVAL, "struct_size is 8");
  BAD(n_rows = -1, RGT_EINVAL, "n_rows is -1");
  BAD(n_rows = 33, RGT_EINVAL, "n_rows is 33");
  BAD(budget_s = -1, RGT_EINVAL, "budget_s is -1");
  BAD(budget_s = NAN, RGT_EINVAL, "budget_s is nan");
  BAD(skew = (rgt_skew)9, RGT_EINVAL, "skew is 9");
  BAD(policy = (rgt_policy)7, RGT_EINVAL, "policy is 7");
  BAD(policy = RGT_POLICY_GRAPH, RGT_EUNSUPPORTED, "policy graph");
  BAD(index = index, RGT_EINVAL, "n_index is 0");
  BAD(space = "/nowhere/space.lua", RGT_EIO, "/nowhere/space.lua");
  rows[0] = 0;
  BAD(n_rows = 1, RGT_EINVAL, "rows[0] is 0");
  rows[0] = RGT_COUNT_MAX + 1;
  BAD(n_rows = 1, RGT_EINVAL, "rows[0] is 2147483648");
  rows[0] = 8;
  rows[1] = -4;
  BAD(n_rows = 2, RGT_EINVAL, "rows[1] is -4");
  o = good;
  o.n_rows = 2;
  o.index = index;
  o.n_index = 4;
  front_fails(&f, rgt_tune(op, &o, r), RGT_EINVAL, "n_rows must be 0 or 1");
  BAD(space = scratch_write(&f.s, "bad.lua", "return { row_gather = { lanes = { 8, 9 } } }\n", 0644), RGT_ETEMPLATE,
      "bad.lua:1:");
  BAD(space = scratch_write(&f.s, "bad.lua", "return { pad9 = false }\n", 0644), RGT_ETEMPLATE, "unknown family 'pad9'");
  assert_int_equal(query("SELECT count(*) FROM trial"), 0);
}

static void no_compiler_no_tuning(void **state) {
  rgt_tune_result r;
  const int64_t rows = 8;
  (void)state;
  begin(FRONT_MLP);
  setenv("RAGTUNE_CC", "none", 1);
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_MLP);
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  front_fails(&f, rgt_tune(op, &o, &r), RGT_ENOCOMPILER, "RAGTUNE_CC=none");
  setenv("RAGTUNE_CC", f.compiler, 1);
}

/* ---- a database that cannot be written ---- */

static void results_outlive_a_read_only_database(void **state) {
  rgt_tune_result r[2];
  const int64_t rows[2] = {8, 64};
  (void)state;
  begin(FRONT_MLP);
  front_ok(&f, rgt_db_check(f.ctx)); /* makes the file */
  rgt_close(f.ctx);
  f.ctx = NULL;
  execute("PRAGMA user_version = 1000; INSERT INTO history VALUES (1000, 0, 'later')"); /* of a newer version: read, and never
                                                                                           written; works for root too */
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_MLP);
  rgt_tune_options o = front_tune_options(&f, rows, 2);
  front_fails(&f, rgt_tune(op, &o, r), RGT_EDB, f.db);
  for (int i = 0; i < 2; i++) complete(&r[i]);
  assert_has(f.log, "nothing is stored");
  assert_int_equal(query("SELECT count(*) FROM trial"), 0);
}

/* A file that cannot be made at all: work goes on in memory. */
static void no_database_at_all(void **state) {
  rgt_tune_result r;
  (void)state;
  snprintf(f.db, sizeof f.db, "/dev/null/tuned.db");
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_tune(&f, op, 8, &r);
  complete(&r);
  assert_has(f.log, "results are kept in memory only");
  assert_string_equal(rgt_db_path(f.ctx), ":memory:");
  front_tune(&f, op, 8, &r);
  assert_true(r.hit);
}

/* ---- what is skipped ---- */

static void too_large_a_bucket_is_skipped(void **state) {
  rgt_tune_result r[2];
  const int64_t rows[2] = {RGT_COUNT_MAX, 8};
  (void)state;
  rgt_op *op = begin("linear:300-300:g4:f32:none:b1:nk:i64");
  rgt_tune_options o = front_tune_options(&f, rows, 2);
  o.space = scratch_write(&f.s, "two.lua", "return { row_gather = { lanes = { 4, 8 } }, group_tiles = false }\n", 0644);
  front_ok(&f, rgt_tune(op, &o, r));
  assert_int_equal(r[0].status, RGT_ESIZE);
  assert_has(r[0].reason, "over half of the free memory");
  assert_int_equal(r[0].n_tried, 0);
  assert_int_equal(r[1].status, RGT_OK);
  assert_int_equal(r[1].n_ok, 2);
}

/* ---- what the handle admits ---- */

/* A copy of row_gather that says it computes in tf32: tried only where the handle's max_error admits that. */
/* Nothing is compiled for what no memory holds. */
static void far_too_large_an_op_is_skipped(void **state) {
  rgt_tune_result r;
  const int64_t rows = 8;
  (void)state;
  rgt_op *op = front_op(&f, "linear:16777216-16777216:g4:f32:none:b1:nk:i64");
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.space = NULL;
  front_compiles(&f);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_int_equal(r.status, RGT_ESIZE);
  assert_has(r.reason, "its arrays take");
  assert_int_equal(front_compiles(&f), 0);
}

/* A narrowed search answers from its own space, though something better is stored from outside it. */
static void a_space_answers_for_itself(void **state) {
  rgt_tune_result wide, narrow;
  const int64_t rows = 64;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_tune(&f, op, rows, &wide);
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.space = scratch_write(&f.s, "one.lua",
                          "return { row_gather = { lanes = 8, vectors = 4, fused = 0 }, group_tiles = false }\n", 0644);
  front_ok(&f, rgt_tune(op, &o, &narrow));
  assert_string_equal(narrow.winner, FRONT_DEFAULT);
  assert_string_equal(narrow.runner_up, "");
  assert_true(narrow.hit); /* it was tried in the search before */
  rgt_why_info i = {.struct_size = sizeof i};
  front_ok(&f, rgt_why(op, rows, &i)); /* dispatch takes the best of all */
  assert_string_equal(i.variant, wide.winner);
  o.space = scratch_write(&f.s, "none.lua", "return { row_gather = false, group_tiles = false }\n", 0644);
  front_fails(&f, rgt_tune(op, &o, &narrow), RGT_EINFEASIBLE, "none.lua leaves no variant");
}

static void max_error_admits(void **state) {
  char folder[200];
  rgt_tune_result r;
  const int64_t rows = 8;
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, NULL);
  folder_clone(folder, "row_gather", "loose");
  folder_patch(folder, "cpu/loose.lua", "p1 = 0, p2 = 0,", "p1 = 2.0 ^ -10, p2 = 2.0 ^ -10,");
  begin(FRONT_MLP);
  front_open_mode(&f, NULL, folder);
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.space = scratch_write(&f.s, "loose.lua",
                          "return { row_gather = { fused = 0, lanes = 8, vectors = 4 }, group_tiles = false, loose = { lanes = "
                          "8, vectors = 4 } }\n",
                          0644);
  rgt_op *strict = front_op(&f, FRONT_MLP);
  rgt_op_options loose = {.struct_size = sizeof loose, .max_error = 0x1p-9},
                 tight = {.struct_size = sizeof tight, .max_error = 0x1p-11};
  front_ok(&f, rgt_tune(strict, &o, &r));
  assert_int_equal(r.n_tried, 1);
  assert_string_equal(r.winner, FRONT_DEFAULT);
  o.force = 1;
  front_ok(&f, rgt_tune(front_op_with(&f, FRONT_MLP, &tight), &o, &r));
  assert_int_equal(r.n_tried, 1);
  front_ok(&f, rgt_tune(front_op_with(&f, FRONT_MLP, &loose), &o, &r));
  assert_int_equal(r.n_ok, 3);
  o.force = 0; /* what the looser handle stored never serves the stricter one */
  front_ok(&f, rgt_tune(strict, &o, &r));
  assert_true(r.hit);
  assert_string_equal(r.winner, FRONT_DEFAULT);
  assert_string_equal(r.runner_up, "");
}

/* Winners as a batch-invariant handle would take them: of one numeric class in all buckets, which prepare takes too. */
static void batch_invariance_is_told(void **state) {
  rgt_tune_result r[2];
  rgt__numeric numeric[2];
  rgt__families *families = NULL;
  rgt__error err = {""};
  const int64_t rows[2] = {4, 2048};
  rgt_op_options one_class = {.struct_size = sizeof one_class, .batch_invariant = 1};
  (void)state;
  begin(FRONT_MLP);
  front_open_mode(&f, NULL, NULL);
  rgt_op *op = front_op_with(&f, FRONT_MLP, &one_class);
  rgt_tune_options o = front_tune_options(&f, rows, 2);
  o.space = scratch_write(
      &f.s, "classes.lua",
      "return { row_gather = { fused = 0, lanes = { 4, 8 } }, group_tiles = { over = 0, block = 4, vectors = 1 } }\n", 0644);
  front_ok(&f, rgt_tune(op, &o, r));
  assert_int_equal(rgt__context_families(f.ctx, &families), RGT_OK);
  for (int i = 0; i < 2; i++) {
    rgt__variant v;
    assert_int_equal(rgt__variant_parse(families, "cpu", r[i].winner, &v, &err), RGT_OK);
    assert_int_equal(rgt__variant_numeric(families, &v, &op->desc, &numeric[i], &err), RGT_OK);
  }
  assert_string_equal(numeric[0].class_name, numeric[1].class_name);
  front_ok(&f, rgt_op_prepare(op, 2048, RGT_PREPARE_WAIT));
  assert_string_equal(op->by_bucket[2]->variant, r[0].winner);
  assert_string_equal(op->by_bucket[11]->variant, r[1].winner);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_second_call_is_a_hit),
      cmocka_unit_test(force_adds_a_run),
      cmocka_unit_test(rows_of_one_bucket_are_one_search),
      cmocka_unit_test(a_stopped_search_goes_on),
      cmocka_unit_test(stopped_at_once),
      cmocka_unit_test(a_short_budget_still_answers),
      cmocka_unit_test(an_index_gives_its_skew),
      cmocka_unit_test(bad_options),
      cmocka_unit_test(no_compiler_no_tuning),
      cmocka_unit_test(results_outlive_a_read_only_database),
      cmocka_unit_test(no_database_at_all),
      cmocka_unit_test(too_large_a_bucket_is_skipped),
      cmocka_unit_test(far_too_large_an_op_is_skipped),
      cmocka_unit_test(a_space_answers_for_itself),
      cmocka_unit_test(max_error_admits),
      cmocka_unit_test(batch_invariance_is_told),
  };
  return cmocka_run_group_tests(tests, open_house, close_house);
}
