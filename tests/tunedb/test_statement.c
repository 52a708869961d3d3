/* test_statement.c -- values in and out, and how failures are worded. */
#include "fixture.h"

static sqlite3_stmt *prepared(rgt__tunedb *db, const char *sql) {
  sqlite3_stmt *s = NULL;
  assert_int_equal(sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL), SQLITE_OK);
  return s;
}

static void test_values_come_back(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  sqlite3_stmt *s = prepared(db, "SELECT ?, ?, ?, ?, ?, ?");
  rgt__digest d = make_digest(700), back;
  rgt__binder b = {.s = s};
  rgt__bind_text(&b, "a text");
  rgt__bind_int(&b, INT64_MIN);
  rgt__bind_double(&b, 0x1p-1074);
  rgt__bind_digest(&b, &d);
  rgt__bind_digest(&b, NULL);
  rgt__bind_int(&b, -5);
  OK(rgt__bind_end(db, &b, NULL));
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  rgt__reader r = {.s = s};
  assert_string_equal(rgt__read_text(&r), "a text");
  assert_true(rgt__read_int(&r) == INT64_MIN);
  assert_true(rgt__read_double(&r) == 0x1p-1074);
  assert_int_equal(rgt__read_null(&r), 0);
  rgt__read_digest(&r, &back);
  assert_memory_equal(&back, &d, sizeof d);
  assert_int_equal(rgt__read_null(&r), 1);
  assert_int_equal(rgt__read_small(&r), -5);
  OK(rgt__read_end(db, &r, "some", NULL));
  rgt__error err = {{0}};
  rgt__bind_int(&b, 1); /* a seventh value */
  assert_int_equal(rgt__bind_end(db, &b, &err), RGT_EDB);
  assert_true(err.text[0] != 0);
  sqlite3_finalize(s);
  rgt__tunedb_close(db);
}

/* Every value is of a wrong kind for what is asked: nothing is made of it, and the row counts as damage. */
static void test_wrong_kinds(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  for (int column = 0; column < 7; column++) {
    sqlite3_stmt *s = prepared(db, "SELECT 1, 'x', 1, x'00', NULL, 2147483648, NULL");
    rgt__digest d, zero = {{0}};
    rgt__error err = {{0}};
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    rgt__reader r = {.s = s, .column = column};
    switch (column) {
    case 0:
      assert_string_equal(rgt__read_text(&r), "");
      break;
    case 1:
      assert_int_equal(rgt__read_int(&r), 0);
      break;
    case 2:
      assert_true(rgt__read_double(&r) == 1);
      break;
    case 3:
    case 4:
      rgt__read_digest(&r, &d);
      assert_memory_equal(&d, &zero, sizeof d);
      break;
    case 5:
      assert_int_equal(rgt__read_small(&r), 0);
      break;
    default:
      assert_string_equal(rgt__read_text(&r), "");
      break;
    }
    assert_int_equal(r.bad, 1);
    db->damaged = 0;
    assert_int_equal(rgt__read_end(db, &r, "thing", &err), RGT_EDB);
    assert_non_null(strstr(err.text, "table thing"));
    assert_int_equal(db->damaged, 1);
    sqlite3_finalize(s);
  }
  rgt__tunedb_close(db);
}

static void test_end_rolls_back(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  OK(rgt__statement_simple(db, RGT_SQL_BEGIN_IMMEDIATE, NULL));
  tell(db, "INSERT INTO variant VALUES (zeroblob(32), 'f', 1, '')");
  assert_int_equal(rgt__statement_end(db, RGT_EINVAL, NULL), RGT_EINVAL);
  assert_int_equal(sqlite3_get_autocommit(db->sql), 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM variant"), 0);
  OK(rgt__statement_simple(db, RGT_SQL_BEGIN_IMMEDIATE, NULL));
  tell(db, "INSERT INTO variant VALUES (zeroblob(32), 'f', 1, '')");
  OK(rgt__statement_end(db, RGT_OK, NULL));
  assert_int_equal(ask(db, "SELECT count(*) FROM variant"), 1);
  rgt__error err = {{0}}; /* nothing to commit: the failure is told, and leaves nothing open */
  assert_int_equal(rgt__statement_end(db, RGT_OK, &err), RGT_EDB);
  assert_non_null(strstr(err.text, "no transaction"));
  rgt__tunedb_close(db);
}

/* Every statement fits the schema. */
static void test_all_prepare(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  for (int i = 0; i < RGT_N_SQL; i++) {
    sqlite3_stmt *s = NULL, *again = NULL;
    rgt__error err = {{0}};
    rgt_status status = rgt__statement_get(db, (rgt__sql_name)i, &s, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, RGT_OK);
    OK(rgt__statement_get(db, (rgt__sql_name)i, &again, NULL));
    assert_ptr_equal(s, again); /* kept */
  }
  rgt__tunedb_close(db);
}

/* Lookups go through an index or a key, never through a whole table. */
static void test_no_scans(void **state) {
  (void)state;
  static const rgt__sql_name names[] = {RGT_SQL_RUNS,
                                        RGT_SQL_RUN_TRIALS,
                                        RGT_SQL_RUN_TRIALS_BACKWARDS,
                                        RGT_SQL_STANDINGS,
                                        RGT_SQL_WINNER,
                                        RGT_SQL_STANDING_TRIAL,
                                        RGT_SQL_SKEWS,
                                        RGT_SQL_BUCKETS,
                                        RGT_SQL_NEAR,
                                        RGT_SQL_CLEAR_STANDINGS,
                                        RGT_SQL_CLEAR_WINNER,
                                        RGT_SQL_ONE_SIGNATURE,
                                        RGT_SQL_ONE_PLACE};
  rgt__tunedb *db = open_memory();
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    sqlite3_stmt *s = NULL;
    char sql[2048];
    OK(rgt__statement_get(db, names[i], &s, NULL));
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", sqlite3_sql(s));
    sqlite3_stmt *plan = prepared(db, sql);
    int n = 0;
    for (; sqlite3_step(plan) == SQLITE_ROW; n++) {
      const char *line = (const char *)sqlite3_column_text(plan, 3);
      if (strncmp(line, "SCAN", 4) == 0 && strstr(line, "CONSTANT ROW") == NULL) fail_msg("%s: %s", sqlite3_sql(s), line);
    }
    assert_true(n > 0);
    sqlite3_finalize(plan);
  }
  rgt__tunedb_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_come_back), cmocka_unit_test(test_wrong_kinds), cmocka_unit_test(test_end_rolls_back),
      cmocka_unit_test(test_all_prepare),      cmocka_unit_test(test_no_scans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
