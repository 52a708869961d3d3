/* fuzz_import.c -- libFuzzer's target for what comes from elsewhere: files that `db import` is given.
 *
 * An input is a file's bytes, or, behind the letter 'F', a recipe: fields of a trial, its run, signature and place, that a file
 * is made of with right keys, so that what looks at values is reached and not only what looks at pages. The file is merged into
 * a database in memory; whatever it held, that one must be sound afterwards, and hold nothing that could not have been put
 * there.
 */
#include "tunedb/accept.h"
#include "tunedb/clean.h"
#include "tunedb/connect.h"
#include "tunedb/keys.h"
#include "tunedb/load.h"
#include "tunedb/migrate.h"
#include "tunedb/put.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/dev/shm/ragtune-fuzz-XXXXXX";
static char path[64];

static void fail(const char *what, const rgt__error *err) {
  fprintf(stderr, "fuzz_import: %s: %s\n", what, err->text);
  abort();
}

static void clean_up(void) {
  unlink(path);
  rmdir(folder);
}

static void set_up(void) {
  if (path[0]) return;
  if (!mkdtemp(folder)) {
    strcpy(folder, "/tmp/rt-fuzz-XXXXXX");
    if (!mkdtemp(folder)) abort();
  }
  snprintf(path, sizeof path, "%s/in.db", folder);
  atexit(clean_up);
}

/* ---- a recipe ----------------------------------------------------------------------------------------------- */

typedef struct recipe {
  const uint8_t *data;
  size_t size;
  char texts[16][300];
  int n_texts;
} recipe;

static uint8_t take_byte(recipe *r) {
  if (r->size == 0) return 0;
  r->size--;
  return *r->data++;
}

/* Small, or all 64 bits. */
static int64_t take_int(recipe *r) {
  uint8_t first = take_byte(r);
  uint64_t v = 0;
  if (first < 0xF0) return first;
  for (int i = 0; i < 8; i++) v = v << 8 | take_byte(r);
  return (int64_t)v;
}

static double take_real(recipe *r) {
  int64_t v = take_int(r);
  double d;
  if (v >= 0 && v < 0xF0) return (double)v / 1024;
  memcpy(&d, &v, sizeof d);
  return d == d ? d : 0; /* a column that must not be NULL takes no NaN */
}

/* Up to 299 bytes and no NUL; an empty recipe gives `otherwise`. */
static const char *take_text(recipe *r, const char *otherwise) {
  size_t n = take_byte(r), i = 0;
  if (n == 0 || r->n_texts == 16) return otherwise;
  char *text = r->texts[r->n_texts++];
  for (; i < n && r->size > 0 && i < sizeof r->texts[0] - 1; i++) {
    text[i] = (char)take_byte(r);
    if (!text[i]) break;
  }
  text[i] = 0;
  return text;
}

static rgt__tunedb_trial take_trial(recipe *r) {
  rgt__tunedb_trial t = {.family = take_text(r, "tiles"), .params = take_text(r, "n=1"), .reason = take_text(r, "")};
  t.numeric_class = take_text(r, "fma");
  t.revision = (int)take_int(r);
  t.rank = (int)take_int(r);
  t.is_default = take_byte(r) & 1;
  t.final = take_byte(r) & 1;
  t.outcome = (rgt_outcome)(take_byte(r) % RGT_N_OUTCOMES);
  int64_t *const numbers[] = {&t.time_ps,   &t.low_ps,        &t.high_ps,       &t.default_ps,
                              &t.ratio_ppm, &t.ratio_low_ppm, &t.ratio_high_ppm};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = take_int(r);
  t.n_samples = (int)take_int(r);
  double *const reals[] = {&t.error_share, &t.p1, &t.p2, &t.u_h, &t.alpha, &t.beta};
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) *reals[i] = take_real(r);
  return t;
}

/* Several trials of one run. What SQLite itself refuses to store makes no file worth looking at. */
static void store_recipe(rgt__tunedb *db, recipe *r) {
  rgt__digest signature, place_key, run_key, variant, key;
  rgt__tunedb_signature sig = {
      .text = take_text(r, "v1|x|r8"), .op_text = take_text(r, "x"), .op_class = "x", .skew = "uniform"};
  sig.form = "stacked";
  sig.order = take_text(r, "raw");
  int64_t *const sizes[] = {&sig.n_in, &sig.n_hidden, &sig.n_out, &sig.groups, &sig.bucket};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *sizes[i] = take_int(r);
  sig.align_bytes = (int)take_int(r);
  rgt__tunedb_place place = {take_text(r, "cpu:test"), take_text(r, "warm")};
  rgt__tunedb_run run = {.toolchain = take_text(r, "cc"), .driver = take_text(r, ""), .conditions = take_text(r, "")};
  run.version = "9";
  run.started_utc_s = take_int(r);
  rgt__keys_signature(&sig, &signature);
  rgt__keys_place(&place, RGT_CLOCK_MEASURED, &place_key);
  rgt__keys_run(&run, &signature, &place_key, &run_key);
  if (rgt__put_scene(db, &sig, &signature, &place, RGT_CLOCK_MEASURED, &place_key, NULL) ||
      rgt__put_run(db, &run, &run_key, &signature, &place_key, NULL))
    return;
  for (int i = 0; i < 8 && r->size > 0; i++) {
    rgt__tunedb_trial t = take_trial(r);
    if (rgt__put_variant(db, &(rgt__tunedb_variant){t.family, t.revision, t.params}, &variant, NULL)) return;
    rgt__keys_trial(&t, &run_key, &variant, &key);
    if (rgt__put_trial(db, &t, &run_key, &variant, &key, NULL)) return;
  }
}

static void write_recipe(const uint8_t *data, size_t size) {
  static const char begin[] = "PRAGMA page_size = 512; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN; "
                              "PRAGMA application_id = 1380406340; PRAGMA user_version = 2";
  recipe r = {.data = data, .size = size};
  rgt__tunedb db = {.path = path, .owner = getpid()};
  rgt__error err = {{0}};
  unlink(path);
  if (rgt__connect_raw(&db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &err) ||
      rgt__migrate_exec(&db, begin, "", &err) || rgt__migrate_schema(&db, RGT_TUNEDB_VERSION, &err))
    fail("making a file", &err);
  store_recipe(&db, &r);
  if (rgt__migrate_exec(&db, "COMMIT", "", &err)) fail("making a file", &err);
  rgt__connect_close(&db);
}

static void write_bytes(const uint8_t *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0) abort();
}

/* ---- what must hold ----------------------------------------------------------------------------------------- */

/* Each text that came in may be printed, and each trial may be stored again as it is. */
static int look(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  rgt__accepted_run r;
  rgt__accepted_trial a;
  const char *const texts[] = {t->family, t->params, t->reason, t->numeric_class, run->toolchain, run->driver, run->conditions};
  (void)user;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (!rgt__clean_is(texts[i])) abort();
  if (rgt__accept_run(run, &r, NULL) || r.run.conditions != run->conditions || r.run.started_utc_s != run->started_utc_s)
    abort();
  if (rgt__accept_trial(t, &a, NULL) || memcmp(&a.trial, t, sizeof *t) != 0) abort();
  return 0;
}

static void check_trials(rgt__tunedb *db) {
  rgt__error err = {{0}};
  sqlite3_stmt *s = NULL;
  if (sqlite3_prepare_v2(db->sql,
                         "SELECT DISTINCT " RGT_SQL_SIGNATURE_COLUMNS ", p.device_class, p.policy FROM run r JOIN "
                         "signature g ON g.key = r.signature JOIN place p ON p.key = r.place",
                         -1, &s, NULL) != SQLITE_OK)
    abort();
  while (sqlite3_step(s) == SQLITE_ROW) {
    rgt__reader r = {.s = s};
    rgt__digest key;
    rgt__tunedb_signature sig;
    rgt__load_signature_row(&r, NULL, &key, &sig);
    rgt__tunedb_place place = {rgt__read_text(&r), NULL};
    place.policy = rgt__read_text(&r);
    rgt__tunedb_winner winner;
    rgt_status status = rgt__tunedb_trials(db, &sig, &place, look, NULL, &err);
    if (status) fail("reading trials", &err);
    status = rgt__tunedb_find(db, &sig, &place, NULL, &winner, &err);
    if (status && status != RGT_EMISS) fail("finding a winner", &err);
  }
  sqlite3_finalize(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static rgt__tunedb *db; /* empty, and kept as long as nothing came in */
  rgt__tunedb_merged m = {0};
  rgt__error err = {{0}};
  const char *const paths[] = {path};
  set_up();
  if (size > 0 && data[0] == 'F')
    write_recipe(data + 1, size - 1);
  else
    write_bytes(data, size);
  if (!db && rgt__tunedb_open(NULL, 0, &db, &err)) fail("opening", &err);
  rgt_status status = rgt__tunedb_merge(db, paths, 1, &m, &err);
  if (status && (status != RGT_EDB || !err.text[0])) fail("merging", &err);
  err.text[0] = 0;
  if (m.n_trials_new == 0) {
    int64_t n = 1;
    if (rgt__migrate_number(db, "SELECT (SELECT count(*) FROM trial) + (SELECT count(*) FROM run)", &n, &err) || n != 0)
      fail("something was stored", &err);
    return 0;
  }
  if (rgt__tunedb_check(db, &err)) fail("checking", &err);
  check_trials(db);
  rgt__tunedb_close(db);
  db = NULL;
  return 0;
}
