/* fixture.h -- signatures, places, runs and trials for the tests of tunedb, and a scratch folder. */
#ifndef RGT_TESTS_TUNEDB_FIXTURE_H
#define RGT_TESTS_TUNEDB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tunedb/handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OK(call) assert_int_equal(call, RGT_OK)

static const rgt__tunedb_place cpu_place = {"cpu:test:2", "warm:stream:threads=2"};

static inline rgt__tunedb_signature make_signature(void) {
  return (rgt__tunedb_signature){.text = "mlp:10-20-5:g3:f32:relu:b12:nk:i64|8|uniform|stacked|4|raw",
                                 .op_text = "mlp:10-20-5:g3:f32:relu:b12:nk:i64",
                                 .op_class = "mlp:f32:relu:b12:nk:i64",
                                 .n_in = 10,
                                 .n_hidden = 20,
                                 .n_out = 5,
                                 .groups = 3,
                                 .bucket = 8,
                                 .skew = "uniform",
                                 .form = "stacked",
                                 .order = "raw",
                                 .align_bytes = 4};
}

static inline rgt__digest make_digest(unsigned n) {
  rgt__digest d = {{0}};
  d.bytes[0] = (uint8_t)n;
  d.bytes[1] = (uint8_t)(n >> 8);
  d.bytes[31] = 0xA5;
  return d;
}

static inline rgt__tunedb_run make_run(unsigned n) {
  return (rgt__tunedb_run){.id = make_digest(n),
                           .toolchain = "gcc 12.2.0 build-id 1234 -O3",
                           .driver = "",
                           .conditions = "load 0.10",
                           .version = "0.1.0",
                           .started_utc_s = 1700000000 + n};
}

/* An ok trial of `family` with `ratio` in ppm of a default that takes a microsecond. */
static inline rgt__tunedb_trial make_trial(const char *family, const char *params, int64_t ratio_ppm) {
  return (rgt__tunedb_trial){.family = family,
                             .revision = 1,
                             .rank = 3,
                             .params = params,
                             .template_digest = make_digest(1001),
                             .code = make_digest(1002),
                             .outcome = RGT_TRIAL_OK,
                             .reason = "",
                             .time_ps = ratio_ppm,
                             .low_ps = ratio_ppm,
                             .high_ps = ratio_ppm,
                             .default_ps = 1000000,
                             .ratio_ppm = ratio_ppm,
                             .ratio_low_ppm = ratio_ppm,
                             .ratio_high_ppm = ratio_ppm,
                             .n_samples = 100,
                             .error_share = 0.25,
                             .numeric_class = "fma"};
}

static inline rgt__tunedb_trial make_default(void) {
  rgt__tunedb_trial t = make_trial("row_gather", "rows_per_block=4,threads=128", 1000000);
  t.is_default = 1;
  t.rank = 0;
  return t;
}

/* A new folder of this test's own. */
static inline char *make_folder(void) {
  static char path[64];
  strcpy(path, "/tmp/ragtune-tunedb-XXXXXX");
  assert_non_null(mkdtemp(path));
  return path;
}

static inline void remove_folder(const char *path) {
  char command[128];
  assert_true(strncmp(path, "/tmp/ragtune-tunedb-", 20) == 0);
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  assert_int_equal(system(command), 0);
}

static inline rgt__tunedb *open_memory(void) {
  rgt__tunedb *db = NULL;
  OK(rgt__tunedb_open(NULL, 0, &db, NULL));
  return db;
}

static inline void put(rgt__tunedb *db, unsigned run, const rgt__tunedb_signature *sig, const rgt__tunedb_trial *trials,
                       int n) {
  rgt__tunedb_run r = make_run(run);
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_put(db, &r, sig, &cpu_place, trials, n, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
}

static inline void find(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_limits *limits,
                        rgt__tunedb_winner *out) {
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_find(db, sig, &cpu_place, limits, out, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
}

static inline int64_t ask(rgt__tunedb *db, const char *sql) {
  sqlite3_stmt *s = NULL;
  assert_int_equal(sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  int64_t v = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return v;
}

static inline void tell(rgt__tunedb *db, const char *sql) {
  char *message = NULL;
  int code = sqlite3_exec(db->sql, sql, NULL, NULL, &message);
  if (code != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

#endif
