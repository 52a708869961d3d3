/* test_salvage.c -- cut, overwritten and made-up files: work goes on, and what can be read is kept. */
#include "child.h"

#include "runtime/base/random.h"
#include "tunedb/tunedb_local.h"

#include <dirent.h>

enum { N_RUNS = 6, N_PER_RUN = 12 };

static char *folder;
static char path[256];

static int set_up(void **state) {
  (void)state;
  folder = make_folder();
  snprintf(path, sizeof path, "%s/tuned.db", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static rgt__tunedb *open_at(void) {
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_open(path, RGT_TUNEDB_OWN_PLACE, &db, &err); /* whatever lies there was ours */
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  return db;
}

static void put_run_of(rgt__tunedb *db, unsigned run, int64_t bucket, int n) {
  rgt__tunedb_signature sig = make_signature();
  sig.bucket = bucket;
  char params[64][16];
  rgt__tunedb_trial t[64];
  t[0] = make_default();
  for (int i = 1; i < n; i++) {
    snprintf(params[i], sizeof params[i], "n=%d", i);
    t[i] = make_trial("tiles", params[i], 400000 + 10000 * i);
  }
  put(db, run, &sig, t, n);
}

static void put_run(rgt__tunedb *db, unsigned run, int n) {
  put_run_of(db, run, make_signature().bucket, n);
}

static void make_database(int n_runs, int n_per_run) {
  rgt__tunedb *db = open_at();
  for (int i = 0; i < n_runs; i++) put_run(db, (unsigned)i, n_per_run);
  rgt__tunedb_close(db);
}

static char *read_file(size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char *data = malloc(*size);
  assert_non_null(data);
  assert_int_equal(fread(data, 1, *size, f), *size);
  fclose(f);
  return data;
}

static void write_file(const char *data, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  fclose(f);
}

static int count_aside(void) {
  DIR *d = opendir(folder);
  int n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    size_t length = strlen(e->d_name);
    n += strncmp(e->d_name, "tuned.db.corrupt-", 17) == 0 && e->d_name[length - 1] != 'l' && e->d_name[length - 1] != 'm';
  }
  closedir(d);
  return n;
}

static void remove_all(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -f '%s'*", path);
  assert_int_equal(system(command), 0);
}

/* Opens, looks, stores, looks again: whatever the file is. Returns how many of the old trials are there. */
static int64_t use(int *was_moved) {
  rgt__tunedb *db = open_at();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner w;
  rgt__error err = {{0}};
  rgt_status status = rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, &err);
  if (status != RGT_OK && status != RGT_EMISS) fail_msg("%s", err.text);
  int64_t kept = ask(db, "SELECT count(*) FROM trial");
  put_run(db, 999, 3);
  find(db, &sig, NULL, &w);
  *was_moved = strstr(rgt__tunedb_notice(db), "was damaged: moved to ") != NULL;
  assert_int_equal(*was_moved, count_aside());
  if (*was_moved) OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
  return kept;
}

static void test_no_database_at_all(void **state) {
  (void)state;
  static const struct {
    const char *data;
    size_t size;
    int moved;
  } files[] = {
      {"", 0, 0},
      {"x", 1, 0 /* empty to SQLite */},
      {"xy", 2, 1},
      {"SQLite format 3", 16, 1},
      {"not a database, but a text that somebody wrote\n", 47, 1},
  };
  int moved;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    write_file(files[i].data, files[i].size);
    assert_int_equal(use(&moved), 0);
    assert_int_equal(moved, files[i].moved);
    remove_all();
  }
  char zeros[20000] = {0};
  write_file(zeros, sizeof zeros);
  assert_int_equal(use(&moved), 0);
  assert_int_equal(moved, 1);
}

/* The path may be anything that a user types: a file with nothing of a database in it must survive. */
static void test_a_stranger_s_file_is_left_alone(void **state) {
  (void)state;
  static const char *const texts[] = {"x", "root:x:0:0:root:/root:/bin/sh\n", "nonsense, nonsense, nonsense"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    rgt__tunedb *db = NULL;
    rgt__error err = {{0}};
    size_t size;
    write_file(texts[i], strlen(texts[i]));
    assert_int_equal(rgt__tunedb_open(path, 0, &db, &err), RGT_EDB);
    assert_non_null(strstr(err.text, "is no tuned database, and stays as it is"));
    assert_null(db);
    assert_int_equal(count_aside(), 0);
    char *data = read_file(&size);
    assert_int_equal(size, strlen(texts[i]));
    assert_memory_equal(data, texts[i], size);
    free(data);
    remove_all();
  }
}

static void test_read_only_is_left_alone(void **state) {
  (void)state;
  write_file("nonsense, nonsense, nonsense", 28);
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  assert_int_equal(rgt__tunedb_open(path, RGT_TUNEDB_READ_ONLY | RGT_TUNEDB_OWN_PLACE, &db, &err), RGT_EDB);
  assert_non_null(strstr(err.text, "damaged"));
  assert_int_equal(count_aside(), 0);
  size_t size;
  char *data = read_file(&size);
  assert_int_equal(size, 28);
  free(data);
}

static void test_cut_anywhere(void **state) {
  (void)state;
  size_t size;
  make_database(N_RUNS, N_PER_RUN);
  char *data = read_file(&size);
  assert_true(size > 16 * 4096 && size % 4096 == 0);
  const size_t cuts[] = {0,    1,    50,   99,       100,      512,           1024,        4095,
                         4096, 4097, 8192, 5 * 4096, size / 2, size / 2 + 77, size - 4096, size - 4097};
  int64_t most = 0;
  for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
    int moved;
    remove_all();
    write_file(data, cuts[i]);
    int64_t kept = use(&moved);
    assert_int_equal(moved, cuts[i] > 1); /* an empty file is a new one, and so is one byte to SQLite */
    assert_in_range(kept, 0, N_RUNS * N_PER_RUN);
    if (kept > most) most = kept;
  }
  /* the last page alone: nearly everything is there */
  assert_true(most >= (N_RUNS - 2) * N_PER_RUN);
  free(data);
}

static void test_bytes_flipped(void **state) {
  (void)state;
  size_t size;
  make_database(N_RUNS, N_PER_RUN);
  char *data = read_file(&size), *sick = malloc(size);
  assert_non_null(sick);
  rgt__random r;
  rgt__random_seed(&r, 99);
  int n_moved = 0;
  for (int i = 0; i < 60; i++) {
    int moved, burst = 1 + (int)rgt__random_below(&r, 64);
    memcpy(sick, data, size);
    size_t at = (size_t)rgt__random_below(&r, i < 20 ? 200 : size - 64); /* the header as often as the rest */
    for (int j = 0; j < burst; j++) sick[at + (size_t)j] ^= (char)(1 + rgt__random_below(&r, 255));
    remove_all();
    write_file(sick, size);
    rgt__tunedb *db = NULL;
    rgt__error err = {{0}};
    rgt_status status = rgt__tunedb_open(path, 0, &db, &err);
    if (status) { /* the application's id alone: might be somebody else's */
      assert_int_equal(status, RGT_EDB);
      assert_true(err.text[0] != 0);
      continue;
    }
    rgt__tunedb_close(db);
    if (rgt__tunedb_open(path, 0, &db, NULL) == RGT_OK && rgt__tunedb_is_read_only(db)) {
      rgt__tunedb_close(db);
      continue;
    }
    rgt__tunedb_close(db);
    n_moved += count_aside();
    if (count_aside() == 0) use(&moved);
  }
  assert_true(n_moved > 5);
  free(sick);
  free(data);
}

/* A key out of order hides the rows behind it from the statement that replaces them; SQLite's quick check says ok. */
static void test_a_key_out_of_order(void **state) {
  (void)state;
  int64_t n_kept;
  int moved;
  rgt__tunedb *db = open_at();
  put_run(db, 1, N_PER_RUN);
  sqlite3_stmt *s = NULL;
  assert_int_equal(sqlite3_prepare_v2(db->sql, "SELECT signature FROM standing ORDER BY ratio_ppm LIMIT 1", -1, &s, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  char key[32];
  memcpy(key, sqlite3_column_blob(s, 0), sizeof key);
  sqlite3_finalize(s);
  int64_t page_bytes = ask(db, "PRAGMA page_size"),
          root = ask(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'standing'");
  rgt__tunedb_close(db);
  size_t size;
  char *data = read_file(&size), *page = data + (root - 1) * page_bytes;
  char *middle = page + ((unsigned char)page[8 + 2 * 4] << 8 | (unsigned char)page[8 + 2 * 4 + 1]); /* the fifth cell */
  char *found = memmem(middle, (size_t)(page + page_bytes - middle), key, sizeof key);
  assert_non_null(found);
  found[0] ^= 0x55;
  write_file(data, size);
  free(data);
  n_kept = use(&moved);
  assert_int_equal(n_kept, N_PER_RUN);
  assert_int_equal(moved, 1);
}

/* Larger than what is checked when opened: the damage is met by a call, which then goes on with what could be kept. */
static void test_met_in_a_call(void **state) {
  (void)state;
  rgt__tunedb *db = open_at();
  for (int i = 0; i < 60; i++) put_run_of(db, (unsigned)i, 1 + i, 60);
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_winner before, after;
  find(db, &sig, NULL, &before);
  int64_t n_pages = ask(db, "PRAGMA page_count"), n_trials = ask(db, "SELECT count(*) FROM trial");
  int64_t standing = ask(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'standing'");
  assert_true(n_pages > 256);
  assert_int_equal(n_trials, 60 * 60);
  rgt__tunedb_close(db);
  size_t size;
  char *data = read_file(&size);
  for (int way = 0; way < 3; way++) {
    char *sick = malloc(size);
    assert_non_null(sick);
    memcpy(sick, data, size);
    int64_t page = way == 0 ? standing : n_pages / (way + 1); /* derived rows; the midst of the trials */
    memset(sick + (page - 1) * 4096, 0xFF, 4096);
    remove_all();
    write_file(sick, size);
    db = open_at();
    if (way == 0) {
      assert_string_equal(rgt__tunedb_notice(db), "");
      find(db, &sig, NULL, &after);
      assert_string_equal(after.winner.params, before.winner.params);
      assert_int_equal(after.n_trials, 60);
      assert_int_equal(ask(db, "SELECT count(*) FROM trial"), n_trials); /* no trial was lost */
      assert_int_equal(after.winner.n_runs, 1);
      assert_non_null(strstr(rgt__tunedb_notice(db), "3600 trials of it kept"));
      assert_int_equal(count_aside(), 1);
    }
    for (int i = 0; i < 60; i++) put_run_of(db, 999, 1 + i, 3); /* one of them meets the damage */
    find(db, &sig, NULL, &after);
    assert_int_equal(count_aside(), 1);
    OK(rgt__tunedb_check(db, NULL));
    int64_t kept = ask(db, "SELECT count(*) FROM trial");
    assert_true(kept >= n_trials / 2); /* one page of hundreds */
    rgt__tunedb_close(db);
    free(sick);
  }
  free(data);
}

/* A page that reads well but whose numbers changed: such rows are not taken along. */
static void test_changed_rows_are_dropped(void **state) {
  (void)state;
  make_database(2, 5);
  rgt__tunedb *db = open_at();
  tell(db, "UPDATE trial SET time_ps = 1 WHERE ratio_ppm = 410000");
  tell(db, "UPDATE variant SET params = 'n=77' WHERE params = 'n=2'");
  int64_t standing = ask(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'standing'");
  rgt__tunedb_close(db);
  size_t size;
  char *data = read_file(&size);
  memset(data + (standing - 1) * 4096, 0xFF, 4096);
  remove_all();
  write_file(data, size);
  free(data);
  db = open_at();
  assert_non_null(strstr(rgt__tunedb_notice(db), "6 trials of it kept"));
  assert_int_equal(ask(db, "SELECT count(*) FROM trial WHERE ratio_ppm = 410000"), 0);
  assert_int_equal(ask(db, "SELECT count(*) FROM variant WHERE params IN ('n=77', 'n=2')"), 0);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static int note_wish(void *user, const rgt__tunedb_wish *w) {
  char *text = user;
  size_t at = strlen(text);
  snprintf(text + at, 1000 - at, "%s|%s|%s:%s|%s|%lld\n", w->signature.text ? w->signature.text : "", w->device_class,
           w->variant.family, w->variant.params, w->reason, (long long)w->made_utc_s);
  return 0;
}

/* Pins and bans come along with their reasons and dates, those of other devices too; one that the damage changed does not, nor
 * does one whose variant it changed. */
static void test_wishes_are_kept(void **state) {
  (void)state;
  char before[1000] = "", after[1000] = "";
  make_database(2, 5);
  rgt__tunedb *db = open_at();
  rgt__tunedb_wish pin = {.signature = make_signature(),
                          .device_class = cpu_place.device_class,
                          .variant = {"tiles", 1, "n=3"},
                          .reason = "because",
                          .made_utc_s = 1700000001},
                   ban = {.device_class = "another class", .variant = {"tiles", 1, "n=4"}, .reason = ""}, later = ban;
  OK(rgt__tunedb_pin(db, &pin, NULL));
  OK(rgt__tunedb_ban(db, &ban, NULL));
  ban.device_class = cpu_place.device_class;
  OK(rgt__tunedb_ban(db, &ban, NULL));
  OK(rgt__tunedb_pins(db, NULL, NULL, note_wish, before, NULL));
  OK(rgt__tunedb_bans(db, NULL, note_wish, before, NULL));
  assert_non_null(strstr(before, "tiles:n=3|because|1700000001"));
  pin.signature.bucket = 64;
  pin.variant.params = "n=5";
  OK(rgt__tunedb_pin(db, &pin, NULL));
  tell(db, "UPDATE variant SET params = 'n=66' WHERE params = 'n=5'");
  later.variant.params = "n=9";
  later.made_utc_s = INT64_MAX / 2;
  OK(rgt__tunedb_ban(db, &later, NULL));
  int64_t standing = ask(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'standing'");
  rgt__tunedb_close(db);
  size_t size;
  char *data = read_file(&size);
  memset(data + (standing - 1) * 4096, 0xFF, 4096);
  remove_all();
  write_file(data, size);
  free(data);
  db = open_at();
  assert_non_null(strstr(rgt__tunedb_notice(db), "10 trials of it kept, and 4 pins or bans"));
  OK(rgt__tunedb_check(db, NULL));
  assert_int_equal(ask(db, "SELECT count(*) FROM ban WHERE made_utc_s > 4000000000"), 0);
  OK(rgt__tunedb_unban(db, &later, NULL));
  OK(rgt__tunedb_pins(db, NULL, NULL, note_wish, after, NULL));
  OK(rgt__tunedb_bans(db, NULL, note_wish, after, NULL));
  assert_string_equal(after, before);
  rgt__tunedb_close(db);
}

static void open_and_put(void *user) {
  rgt__tunedb *db = NULL;
  rgt__error err = {{0}};
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_default();
  rgt__tunedb_run run = make_run(*(unsigned *)user);
  rgt_status status = rgt__tunedb_open(path, 0, &db, &err);
  if (!status) status = rgt__tunedb_put(db, &run, &sig, &cpu_place, &t, 1, &err);
  if (status) fprintf(stderr, "%s\n", err.text);
  CHECK(status == RGT_OK);
  rgt__tunedb_close(db);
}

/* Several processes find the damage at once: one moves the file, nobody moves the new one, nothing that was stored is lost. */
static void test_several_find_it(void **state) {
  (void)state;
  make_database(N_RUNS, N_PER_RUN);
  size_t size;
  char *data = read_file(&size);
  memset(data + 4096, 0xFF, 4096);
  for (int round = 0; round < 5; round++) {
    remove_all();
    write_file(data, size);
    pid_t pids[4];
    unsigned runs[4];
    for (unsigned i = 0; i < 4; i++) {
      runs[i] = 500 + i;
      pids[i] = start_child(open_and_put, &runs[i]);
    }
    for (int i = 0; i < 4; i++) assert_int_equal(end_child(pids[i]), 0);
    assert_int_equal(count_aside(), 1);
    rgt__tunedb *db = open_at();
    assert_string_equal(rgt__tunedb_notice(db), "");
    assert_int_equal(ask(db, "SELECT count(*) FROM run WHERE started_utc_s >= 1700000500"), 4);
    OK(rgt__tunedb_check(db, NULL));
    rgt__tunedb_close(db);
  }
  free(data);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_no_database_at_all),      TEST(test_a_stranger_s_file_is_left_alone),
      TEST(test_read_only_is_left_alone), TEST(test_cut_anywhere),
      TEST(test_bytes_flipped),           TEST(test_a_key_out_of_order),
      TEST(test_met_in_a_call),           TEST(test_changed_rows_are_dropped),
      TEST(test_several_find_it),         TEST(test_wishes_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
