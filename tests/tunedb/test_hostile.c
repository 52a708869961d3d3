/* test_hostile.c -- files made to crash, hang or mislead whoever imports them: refused or reduced to what is right, and the
 * local database is left as it was, byte for byte.
 *
 * The local database holds all that the sound file holds, so whatever damage lets through must be known already: one new trial
 * would be a forged one.
 */
#include "random_trials.h"

#include "tunedb/connect.h"
#include "tunedb/keys.h"
#include "tunedb/migrate.h"
#include "tunedb/put.h"

#include <math.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { SEED = 7, SECONDS_A_FILE = 60 };

static char *folder;
static char local[128], sound[128], bad[128];
static char *local_bytes;
static size_t local_size;
static int n_files, n_refused;

static rgt__tunedb *open_at(const char *path) {
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_open(path, 0, &db, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  return db;
}

static int set_up(void **state) {
  (void)state;
  folder = make_folder();
  snprintf(local, sizeof local, "%s/local.db", folder);
  snprintf(sound, sizeof sound, "%s/sound.db", folder);
  snprintf(bad, sizeof bad, "%s/bad.db", folder);
  rgt__tunedb *db = open_at(local);
  put_batches(db, SEED, 0xFFFFFF);
  OK(rgt__tunedb_export(db, sound, NULL, NULL));
  put_batches(db, SEED + 1, 0xFF); /* and some of its own */
  rgt__tunedb_close(db);
  local_bytes = read_whole(local, &local_size);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  free(local_bytes);
  remove_folder(folder);
  return 0;
}

static void expect_local_unchanged(void) {
  size_t size;
  char *now = read_whole(local, &size);
  assert_int_equal(size, local_size);
  assert_memory_equal(now, local_bytes, size);
  free(now);
}

/* Merges `path` into the local database, which must not change. Returns whether it was refused; the line in err. */
static int attack(const char *path, rgt__error *err) {
  rgt__tunedb_merged m = {0};
  err->text[0] = 0;
  alarm(SECONDS_A_FILE); /* a hang ends the program */
  rgt__tunedb *db = open_at(local);
  rgt_status status = rgt__tunedb_merge(db, &path, 1, &m, err);
  rgt__tunedb_close(db);
  alarm(0);
  n_files++;
  if (status) {
    if (status != RGT_EDB) fail_msg("%s: %s", rgt_status_name(status), err->text);
    assert_true(err->text[0] != 0);
    n_refused++;
  } else if (m.n_trials_new + m.n_runs_new != 0) {
    fail_msg("%d trials of a damaged file are new", (int)m.n_trials_new);
  }
  expect_local_unchanged();
  return status != RGT_OK;
}

static void expect_refused(const char *path, const char *named) {
  rgt__error err;
  if (!attack(path, &err)) fail_msg("%s was taken; expected: %s", path, named);
  if (!strstr(err.text, named)) fail_msg("\"%s\" does not say \"%s\"", err.text, named);
}

static void copy_sound(void) {
  size_t size;
  char *data = read_whole(sound, &size);
  write_whole(bad, data, size);
  free(data);
}

/* A statement on a copy of the sound file, by a program that has SQLite's every freedom. */
static void edit(const char *path, const char *sql) {
  sqlite3 *db = NULL;
  char *message = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, "PRAGMA writable_schema = ON; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL) !=
          SQLITE_OK ||
      sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
    fail_msg("%s: %s", sql, message);
  sqlite3_close(db);
}

static void expect_edit_refused(const char *sql, const char *named) {
  copy_sound();
  edit(bad, sql);
  expect_refused(bad, named);
}

/* ---- damage ---------------------------------------------------------------------------------------------------- */

static void test_cut_at_every_page(void **state) {
  (void)state;
  size_t size;
  rgt__error err;
  char *data = read_whole(sound, &size);
  assert_int_equal(size % 4096, 0);
  for (size_t at = 0; at < size; at += 4096) {
    write_whole(bad, data, at);
    expect_refused(bad, at == 0 ? "is empty" : "is cut short");
    write_whole(bad, data, at + 1 + at / 7 % 4000);
    assert_true(attack(bad, &err));
  }
  /* the same with a first page that says so: SQLite's check finds the trees cut */
  for (size_t pages = 1; pages < size / 4096; pages++) {
    data[30] = (char)(pages >> 8);
    data[31] = (char)pages;
    write_whole(bad, data, pages * 4096);
    assert_true(attack(bad, &err));
  }
  free(data);
}

static void test_flipped(void **state) {
  (void)state;
  size_t size;
  rgt__error err;
  rgt__random r;
  char *data = read_whole(sound, &size), *sick = malloc(size);
  assert_non_null(sick);
  rgt__random_seed(&r, 11);
  const char *more = getenv("RAGTUNE_TEST_SEEDS");
  int n = more && atoi(more) > 16 ? atoi(more) * 10 : 160, n_taken = 0;
  for (int i = 0; i < n; i++) {
    memcpy(sick, data, size);
    size_t at = (size_t)rgt__random_below(&r, i % 4 == 0 ? 100 : size); /* the first page's numbers as often as the rest */
    int burst = i % 3 == 0 ? 1 : 1 + (int)rgt__random_below(&r, 200);
    for (int j = 0; j < burst && at + (size_t)j < size; j++)
      sick[at + (size_t)j] ^= (char)(i % 3 == 0 ? 1U << rgt__random_below(&r, 8) : 1 + rgt__random_below(&r, 255));
    write_whole(bad, sick, size);
    n_taken += !attack(bad, &err); /* in a free byte, a counter, a row that is then left out */
  }
  assert_true(n_taken < n * 3 / 4);
  free(sick);
  free(data);
}

static void test_pages_swapped(void **state) {
  (void)state;
  size_t size;
  rgt__error err;
  rgt__random r;
  char *data = read_whole(sound, &size), *sick = malloc(size);
  assert_non_null(sick);
  rgt__random_seed(&r, 13);
  for (int i = 0; i < 40; i++) {
    memcpy(sick, data, size);
    size_t a = 1 + (size_t)rgt__random_below(&r, size / 4096 - 1), b = 1 + (size_t)rgt__random_below(&r, size / 4096 - 1);
    memcpy(sick + a * 4096, data + b * 4096, 4096); /* one page twice: trees that share, or lead in circles */
    if (i % 2) memcpy(sick + b * 4096, data + a * 4096, 4096);
    write_whole(bad, sick, size);
    attack(bad, &err);
  }
  free(sick);
  free(data);
}

static void test_numbers_of_the_first_page(void **state) {
  (void)state;
  size_t size;
  rgt__error err;
  char *data = read_whole(sound, &size), *sick = malloc(size);
  assert_non_null(sick);
  static const unsigned char values[] = {0, 1, 0x7F, 0x80, 0xFF};
  for (size_t at = 16; at < 100; at += 4) { /* page size, counts of pages, free list, formats, versions */
    for (size_t v = 0; v < sizeof values; v++) {
      memcpy(sick, data, size);
      memset(sick + at, values[v], 4);
      write_whole(bad, sick, size);
      attack(bad, &err);
    }
  }
  memcpy(sick, data, size);
  memset(sick + 28, 0xFF, 4); /* sixteen terabytes */
  write_whole(bad, sick, size);
  expect_refused(bad, "is cut short");
  free(sick);
  free(data);
}

/* ---- what is no tuned database ----------------------------------------------------------------------------------- */

static void test_no_file(void **state) {
  (void)state;
  char path[200], target[200];
  rgt__error err;
  expect_refused(folder, "is a folder");
  expect_refused("/dev/null", "is a device");
  expect_refused("/dev/zero", "is a device");
  expect_refused("/no/such/file.db", "no such file");
  snprintf(path, sizeof path, "%s/fifo", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_refused(path, "is a FIFO");
  snprintf(target, sizeof target, "%s/loop", folder);
  assert_int_equal(symlink(target, target), 0);
  expect_refused(target, "Too many levels of symbolic links");
  snprintf(path, sizeof path, "%s/dangling", folder);
  assert_int_equal(symlink("nowhere", path), 0);
  expect_refused(path, "no such file");
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", folder);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
  expect_refused(name.sun_path, "is a socket");
  close(fd);
  static const char *const texts[] = {"x", "SQLite format 3",
                                      "SQLite format 3\n and no more of it, but long enough for a header "
                                      "of a hundred bytes, or more than that, as it happens"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_whole(bad, texts[i], strlen(texts[i]) + 1);
    assert_true(attack(bad, &err));
  }
  char *zeros = calloc(1, 1 << 20);
  write_whole(bad, zeros, 1 << 20);
  expect_refused(bad, "is no database");
  free(zeros);
}

static void test_other_schemas(void **state) {
  (void)state;
  static const char *const edits[][2] = {
      {"CREATE TABLE more (a)", "holds the table more, which is not ours"},
      {"CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM trial; END", "holds the trigger t"},
      {"CREATE VIEW v AS SELECT * FROM trial", "holds the view v"},
      {"CREATE INDEX more ON trial (code)", "holds the index more"},
      {"CREATE VIRTUAL TABLE more USING fts5 (a)", "which is not ours"},
      {"DROP TABLE claim", "lacks the table claim"},
      {"DROP INDEX run_by_signature", "lacks the index run_by_signature"},
      {"ANALYZE", "holds the table sqlite_stat1"},
      {"ALTER TABLE trial ADD COLUMN watts INTEGER", "its table trial is not made as ours is"},
      {"ALTER TABLE trial RENAME COLUMN reason TO why", "its table trial is not made as ours is"},
      {"DROP TABLE winner; CREATE VIEW winner AS SELECT * FROM trial", "lacks the table winner"},
      {"DROP TABLE variant; CREATE TABLE variant (key BLOB PRIMARY KEY NOT NULL, family TEXT AS (hex(zeroblob(1000))), "
       "revision "
       "INTEGER, params TEXT) WITHOUT ROWID",
       "its table variant is not made as ours is"},
      {"UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (final IN (0, 1))', 'CHECK (randomblob(1000000000))')",
       "its table trial is not made as ours is"},
      {"UPDATE sqlite_schema SET sql = 'CREATE TABLE trial (a' WHERE name = 'trial'", "malformed"},
      {"UPDATE sqlite_schema SET tbl_name = 'run' WHERE name = 'signature_by_shape'", ""},
      {"UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'variant'", "damaged"},
      {"UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'variant'", "damaged"},
      {"UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'run') WHERE name = 'trial'", ""},
      {"UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'trial') WHERE name = 'pin'", ""},
      {"INSERT INTO sqlite_schema VALUES ('table', 'trial', 'trial', 3, 'CREATE TABLE trial (a)')", ""},
      {"PRAGMA application_id = 0", "is another program's database (application id 0x0, ours is 0x52475444)"},
      {"PRAGMA user_version = 3", "its schema has version 3, this program reads up to 2; update it"},
      {"PRAGMA user_version = 2147483647", "has version 2147483647"},
      {"PRAGMA user_version = 0", "has version 0; the first one is 1"},
      {"PRAGMA user_version = -5", "has version -5"},
      {"PRAGMA user_version = 1", "which is not ours"},
  };
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) expect_edit_refused(edits[i][0], edits[i][1]);
  copy_sound();
  edit(bad, "PRAGMA encoding"); /* and without an edit it is taken */
  rgt__error err;
  if (attack(bad, &err)) fail_msg("%s", err.text);
}

/* Every text of a UTF-16 database is converted by SQLite; ours are never one. */
static void test_other_encoding(void **state) {
  (void)state;
  rgt__tunedb db = {.path = bad, .owner = getpid()};
  remove(bad);
  OK(rgt__connect_raw(&db, bad, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
  OK(rgt__migrate_exec(&db, "PRAGMA encoding = 'UTF-16'", "", NULL));
  OK(rgt__migrate_schema(&db, RGT_TUNEDB_VERSION, NULL));
  OK(rgt__migrate_exec(&db, "PRAGMA application_id = 1380406340; PRAGMA user_version = 2", "", NULL));
  rgt__connect_close(&db);
  expect_refused(bad, "its texts are not UTF-8");
}

/* ---- journals beside it ------------------------------------------------------------------------------------------ */

static void beside(const char *end, const void *data, size_t size) {
  char path[160];
  snprintf(path, sizeof path, "%s%s", bad, end);
  write_whole(path, data, size);
}

static void remove_beside(void) {
  char command[200];
  snprintf(command, sizeof command, "rm -f '%s'-*", bad);
  assert_int_equal(system(command), 0);
}

static void test_journals(void **state) {
  (void)state;
  rgt__error err;
  rgt__random r;
  char noise[20000], path[160];
  rgt__random_seed(&r, 3);
  for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)rgt__random_next(&r);
  for (int i = 0; i < 12; i++) { /* noise that begins like a WAL, beside a file of either mode */
    copy_sound();
    if (i % 2) edit(bad, "PRAGMA journal_mode = WAL");
    static const unsigned char magic[8] = {0x37, 0x7F, 0x06, 0x82, 0x00, 0x2D, 0xE2, 0x18};
    if (i % 3 == 0) memcpy(noise, magic, sizeof magic);
    beside("-wal", noise, i < 6 ? sizeof noise : (size_t)i);
    attack(bad, &err);
    remove_beside();
  }
  static const unsigned char journal[8] = {0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7};
  memcpy(noise, journal, sizeof journal);
  copy_sound();
  beside("-journal", noise, sizeof noise);
  attack(bad, &err);
  remove_beside();
  size_t size;
  char *now = read_whole(bad, &size), *then = read_whole(sound, &size);
  assert_memory_equal(now, then, size); /* and nothing was rolled back into it */
  free(now);
  free(then);
  snprintf(path, sizeof path, "%s-wal", bad);
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_refused(bad, "is a FIFO");
  remove_beside();
}

/* A database that was copied while in use, its WAL beside it: what is in the WAL counts, and neither file is written. */
static void test_wal_left_beside(void **state) {
  (void)state;
  char from[128], command[700];
  snprintf(from, sizeof from, "%s/live.db", folder);
  rgt__tunedb *db = open_at(from);
  put_batches(db, SEED, 0xFF);
  snprintf(command, sizeof command, "cp '%s' '%s' && cp '%s-wal' '%s-wal'", from, bad, from, bad);
  assert_int_equal(system(command), 0);
  rgt__tunedb_close(db);
  size_t size[2], after[2];
  char wal[160], *data[2], *later[2];
  snprintf(wal, sizeof wal, "%s-wal", bad);
  data[0] = read_whole(bad, &size[0]);
  data[1] = read_whole(wal, &size[1]);
  rgt__tunedb *memory = open_memory();
  rgt__tunedb_merged m;
  const char *paths[] = {bad};
  OK(rgt__tunedb_merge(memory, paths, 1, &m, NULL));
  assert_true(m.n_trials_new > 10);
  rgt__tunedb_close(memory);
  later[0] = read_whole(bad, &after[0]);
  later[1] = read_whole(wal, &after[1]);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(size[i], after[i]);
    assert_memory_equal(data[i], later[i], size[i]);
    free(data[i]);
    free(later[i]);
  }
  remove_beside();
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void test_changed_rows_are_dropped(void **state) {
  (void)state;
  static const char *const edits[] = {
      "UPDATE trial SET ratio_ppm = 1, ratio_low_ppm = 1, ratio_high_ppm = 1 WHERE outcome = 'ok'",
      "UPDATE trial SET n_samples = 2147483647",
      "UPDATE trial SET template_digest = zeroblob(32)",
      "UPDATE trial SET outcome = 'ok' WHERE outcome <> 'ok'",
      "UPDATE trial SET reason = printf('%.*c', 500000, 'x')",
      "UPDATE trial SET numeric_class = 'a' || char(0) || 'b'",
      "UPDATE variant SET params = 'n=99'",
      "UPDATE variant SET family = family || '\"; system(\"id\"); /*'",
      "UPDATE variant SET params = CAST(x'FF00FE' AS TEXT)",
      "UPDATE run SET started_utc_s = 9223372036854775807",
      "UPDATE run SET signature = (SELECT key FROM signature LIMIT 1)",
      "UPDATE run SET toolchain = ''",
      "UPDATE signature SET bucket = -1",
      "UPDATE signature SET n_in = 9223372036854775807",
      "UPDATE place SET clock = 'modelled'",
      "UPDATE place SET device_class = 'cpu:other'",
      "DELETE FROM variant",
      "DELETE FROM signature",
      "DELETE FROM place",
      "DELETE FROM run",
      "UPDATE trial SET key = randomblob(32)",
      "UPDATE run SET key = randomblob(32)",
      "UPDATE variant SET key = randomblob(32)",
      "UPDATE standing SET ratio_ppm = 1",
      "DELETE FROM winner; DELETE FROM standing; DELETE FROM history",
      "UPDATE history SET version = 77, made_by = printf('%.*c', 3000000, 'x')",
      "INSERT INTO origin SELECT key, 'evil', 1 FROM run; INSERT INTO pin SELECT signature, place, variant, 'evil', 1 FROM "
      "winner "
      "WHERE variant IS NOT NULL; INSERT INTO ban SELECT key, (SELECT key FROM place LIMIT 1), 'evil', 1 FROM variant",
  };
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    rgt__error err;
    copy_sound();
    edit(bad, edits[i]);
    if (attack(bad, &err)) fail_msg("%s: %s", edits[i], err.text);
  }
}

/* Larger than any row of ours: not even read. */
static void test_huge_rows(void **state) {
  (void)state;
  expect_edit_refused("UPDATE trial SET reason = printf('%.*c', 3000000, 'x')", "nothing was taken");
}

/* Why rows were dropped. */
static void test_counts(void **state) {
  (void)state;
  static const struct {
    const char *sql;
    size_t which;
  } edits[] = {
      {"UPDATE trial SET ratio_ppm = ratio_ppm + 1 WHERE outcome = 'ok'", offsetof(rgt__tunedb_merged, n_wrong_key)},
      {"UPDATE signature SET n_in = 11", offsetof(rgt__tunedb_merged, n_wrong_key)},
      {"UPDATE trial SET numeric_class = 'a' || char(10) || 'b'", offsetof(rgt__tunedb_merged, n_out_of_range)},
      {"UPDATE trial SET numeric_class = 'a' || char(0) || 'b'", offsetof(rgt__tunedb_merged, n_out_of_range)},
      {"UPDATE signature SET bucket = 0", offsetof(rgt__tunedb_merged, n_out_of_range)},
      {"DELETE FROM variant", offsetof(rgt__tunedb_merged, n_orphans)},
      {"DELETE FROM run", offsetof(rgt__tunedb_merged, n_orphans)},
      {"DELETE FROM place", offsetof(rgt__tunedb_merged, n_orphans)},
  };
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    copy_sound();
    edit(bad, edits[i].sql);
    rgt__tunedb *db = open_memory();
    const char *paths[] = {bad};
    rgt__tunedb_merged m;
    OK(rgt__tunedb_merge(db, paths, 1, &m, NULL));
    int64_t n = *(const int64_t *)(const void *)((const char *)&m + edits[i].which);
    if (n < 10 || n != m.n_trials_dropped || n != m.n_wrong_key + m.n_out_of_range + m.n_orphans)
      fail_msg("%s: %lld of %lld dropped", edits[i].sql, (long long)n, (long long)m.n_trials_dropped);
    OK(rgt__tunedb_check(db, NULL));
    rgt__tunedb_close(db);
  }
}

/* Rows with right keys but values beyond reason, as a program of somebody's own could write them. */
static void forge(const rgt__tunedb_run *run, const rgt__tunedb_trial *trial, const char *device_class) {
  rgt__tunedb db = {.path = bad, .owner = getpid()};
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_place place = {device_class, "warm:stream:threads=2"};
  rgt__digest signature, place_key, run_key, variant, key;
  remove(bad);
  OK(rgt__connect_raw(&db, bad, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
  OK(rgt__migrate_schema(&db, RGT_TUNEDB_VERSION, NULL));
  OK(rgt__migrate_exec(&db, "PRAGMA application_id = 1380406340; PRAGMA user_version = 2", "", NULL));
  rgt__keys_signature(&sig, &signature);
  rgt__keys_place(&place, RGT_CLOCK_MEASURED, &place_key);
  rgt__keys_run(run, &signature, &place_key, &run_key);
  OK(rgt__put_scene(&db, &sig, &signature, &place, RGT_CLOCK_MEASURED, &place_key, NULL));
  OK(rgt__put_run(&db, run, &run_key, &signature, &place_key, NULL));
  OK(rgt__put_variant(&db, &(rgt__tunedb_variant){trial->family, trial->revision, trial->params}, &variant, NULL));
  rgt__keys_trial(trial, &run_key, &variant, &key);
  OK(rgt__put_trial(&db, trial, &run_key, &variant, &key, NULL));
  rgt__connect_close(&db);
}

static rgt__tunedb_merged take(rgt__tunedb *db) {
  rgt__tunedb_merged m;
  rgt__error err = {{0}};
  const char *paths[] = {bad};
  rgt_status status = rgt__tunedb_merge(db, paths, 1, &m, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  rgt__tunedb_check(db, &err);
  assert_string_equal(err.text, "");
  return m;
}

static void expect_forged_dropped(const rgt__tunedb_run *run, const rgt__tunedb_trial *trial, const char *device_class) {
  forge(run, trial, device_class);
  rgt__tunedb *db = open_memory();
  rgt__tunedb_merged m = take(db);
  assert_int_equal(m.n_trials_new, 0);
  assert_int_equal(m.n_out_of_range, 1);
  rgt__tunedb_close(db);
}

static void test_absurd_values(void **state) {
  (void)state;
  rgt__tunedb_run run = make_run(1), odd_run;
  const rgt__tunedb_trial good = make_trial("tiles", "n=1", 500000);
  rgt__tunedb_trial t;
  char long_text[400];
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = 0;
#define DROPPED(change) (t = good, change, expect_forged_dropped(&run, &t, "cpu:test:2"))
  DROPPED(t.ratio_ppm = 0);
  DROPPED(t.ratio_ppm = -5);
  DROPPED(t.ratio_ppm = INT64_MAX);
  DROPPED(t.ratio_high_ppm = INT64_MAX);
  DROPPED(t.time_ps = INT64_MIN);
  DROPPED(t.n_samples = 0);
  DROPPED(t.p1 = -1);
  DROPPED(t.alpha = INFINITY);
  DROPPED(t.params = long_text);
  DROPPED(t.params = "n=1\n#include </etc/passwd>");
  DROPPED(t.family = "");
  DROPPED(t.family = "\x1b[2Jtiles");
  DROPPED(t.numeric_class = "\xE2\x80\xAE");
  t = good;
  odd_run = run;
  odd_run.toolchain = "gcc\r";
  expect_forged_dropped(&odd_run, &t, "cpu:test:2");
  expect_forged_dropped(&run, &t, "");
  expect_forged_dropped(&run, &t, "cpu:\x07");
#undef DROPPED
}

/* What a clamp can repair is kept, in the form that it would have been stored in here. */
static void test_clamped_values(void **state) {
  (void)state;
  rgt__tunedb_run run = make_run(1);
  rgt__tunedb_trial t = make_trial("tiles", "n=1", 500000);
  run.started_utc_s = INT64_MAX;
  run.conditions = "load 1\n/home/somebody/x \x1b[2J";
  t.time_ps = t.high_ps = INT64_MAX;
  t.is_default = 1;
  t.error_share = -1;
  forge(&run, &t, "cpu:test:2");
  rgt__tunedb *db = open_memory();
  rgt__tunedb_merged m = take(db);
  assert_int_equal(m.n_trials_new, 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM run WHERE started_utc_s = 253402300799 AND conditions = 'load 1 x  [2J'"), 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial WHERE time_ps = 1000000000000000000 AND error_share = 9e999"), 1);
  m = take(db); /* and it is known the next time */
  assert_int_equal(m.n_trials_new, 0);
  assert_int_equal(m.n_trials_known, 1);
  rgt__tunedb_close(db);
}

/* Printable texts that would break out of a template are stored as texts: only what the local space has is ever rendered, which
 * the front door's tests check. */
static void test_texts_are_texts(void **state) {
  (void)state;
  static const char *const texts[] = {
      "n=1\"; system(\"id\"); //", "*/ int x; /*", "n=1'; DROP TABLE trial; --", "$(os.exit())", "%s%n%s%n",
      "../../../../etc/passwd",    "\\x00\\\""};
  rgt__tunedb_run run = make_run(1);
  rgt__tunedb *db = open_memory();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    rgt__tunedb_trial t = make_trial("tiles", texts[i], 400000 + (int64_t)i);
    forge(&run, &t, "cpu:test:2");
    assert_int_equal(take(db).n_trials_new, 1);
  }
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  find(db, &sig, NULL, &w);
  assert_true(w.n_trials == (int)(sizeof texts / sizeof *texts));
  rgt__tunedb_close(db);
}

/* ---- names and forms that are odd but right ---------------------------------------------------------------------- */

static void test_odd_but_right(void **state) {
  (void)state;
  static const char *const names[] = {"a b.db",    "a?mode=memory.db", "a%20b.db", "a#b.db",
                                      "file:x.db", "\xC3\xA4.db",      "a'b\".db"};
  rgt__error err;
  size_t size;
  char *data = read_whole(sound, &size), path[200];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    write_whole(path, data, size);
    if (attack(path, &err)) fail_msg("%s", err.text);
  }
  free(data);
  static const char *const forms[] = {"PRAGMA page_size = 512; VACUUM", "PRAGMA page_size = 65536; VACUUM",
                                      "PRAGMA auto_vacuum = FULL; VACUUM", "PRAGMA journal_mode = WAL",
                                      "DELETE FROM standing; DELETE FROM winner"};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    copy_sound();
    edit(bad, forms[i]);
    if (attack(bad, &err)) fail_msg("%s: %s", forms[i], err.text);
  }
  char command[300], working[500];
  assert_non_null(getcwd(working, sizeof working));
  assert_int_equal(chdir(folder), 0);
  snprintf(command, sizeof command, "cp sound.db 'file:y.db'");
  assert_int_equal(system(command), 0);
  if (attack("file:y.db", &err)) fail_msg("%s", err.text); /* no URI */
  assert_int_equal(chdir(working), 0);
}

static void test_enough_files(void **state) {
  (void)state;
  print_message("%d files, %d of them refused\n", n_files, n_refused);
  assert_true(n_files >= 200);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name)
  const struct CMUnitTest tests[] = {
      TEST(test_cut_at_every_page), TEST(test_flipped),
      TEST(test_pages_swapped),     TEST(test_numbers_of_the_first_page),
      TEST(test_no_file),           TEST(test_other_schemas),
      TEST(test_other_encoding),    TEST(test_journals),
      TEST(test_wal_left_beside),   TEST(test_changed_rows_are_dropped),
      TEST(test_huge_rows),         TEST(test_counts),
      TEST(test_absurd_values),     TEST(test_clamped_values),
      TEST(test_texts_are_texts),   TEST(test_odd_but_right),
      TEST(test_enough_files),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
