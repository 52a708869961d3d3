/* random_trials.h -- databases of random trials over a small world, so that they overlap: the same seed, the same batch. */
#ifndef RGT_TESTS_TUNEDB_RANDOM_TRIALS_H
#define RGT_TESTS_TUNEDB_RANDOM_TRIALS_H

#include "fixture.h"

#include "runtime/base/random.h"

enum { N_WORLD_BATCHES = 24, N_BATCH_TRIALS = 7 };

static const char *const world_skews[] = {"uniform", "zipf"};
static const rgt__tunedb_place world_places[] = {{"cpu:test:2", "warm:stream:threads=2"},
                                                 {"cpu:test:4", "cold:stream:threads=4"}};

/* One trial of the batch: ok, failed, default or not, with ties and repeated ratios on purpose. */
static inline rgt__tunedb_trial world_trial(rgt__random *r, char params[16]) {
  static const rgt_outcome failures[] = {RGT_TRIAL_INFEASIBLE, RGT_TRIAL_WRONG, RGT_TRIAL_CRASHED, RGT_TRIAL_TIMED_OUT};
  rgt__tunedb_trial t = make_default();
  if (rgt__random_below(r, 4) != 0) {
    snprintf(params, 16, "n=%d", (int)rgt__random_below(r, 5));
    t = make_trial(rgt__random_below(r, 2) ? "tiles" : "pads", params, 500000 + 10000 * (int64_t)rgt__random_below(r, 60));
    t.rank = 1 + (int)rgt__random_below(r, 2);
  }
  t.ratio_low_ppm -= (int64_t)rgt__random_below(r, 30000);
  t.ratio_high_ppm += (int64_t)rgt__random_below(r, 30000);
  t.n_samples = 50 + 50 * (int)rgt__random_below(r, 3);
  t.final = rgt__random_below(r, 3) == 0;
  t.code = make_digest(2000 + (unsigned)rgt__random_below(r, 3));
  if (rgt__random_below(r, 6) == 0) {
    t.outcome = failures[rgt__random_below(r, 4)];
    t.reason = "64 bytes spilled";
  }
  return t;
}

/* Batch `number` of world `seed`: some trials of one run of one signature at one place. Runs have several batches. */
static inline void put_batch(rgt__tunedb *db, uint64_t seed, int number) {
  rgt__random r;
  rgt__tunedb_trial trials[N_BATCH_TRIALS];
  char params[N_BATCH_TRIALS][16], text[128];
  rgt__error err = {{0}};
  rgt__random_seed(&r, seed * 1000 + (uint64_t)number);
  int n = 1 + (int)rgt__random_below(&r, N_BATCH_TRIALS);
  for (int i = 0; i < n; i++) trials[i] = world_trial(&r, params[i]);
  rgt__random_seed(&r, seed * 1000 + 500 + (uint64_t)number / 2); /* two batches a run */
  rgt__tunedb_signature sig = make_signature();
  sig.bucket = (int64_t)8 << 3 * rgt__random_below(&r, 2);
  sig.skew = world_skews[rgt__random_below(&r, 2)];
  snprintf(text, sizeof text, "v1|%s|r%d|%s", sig.op_text, (int)sig.bucket, sig.skew);
  sig.text = text;
  rgt__tunedb_run run = make_run((unsigned)(number / 2));
  run.started_utc_s += (int64_t)rgt__random_below(&r, 3); /* some start in the same second */
  rgt_status status = rgt__tunedb_put(db, &run, &sig, &world_places[rgt__random_below(&r, 2)], trials, n, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
}

static inline void put_batches(rgt__tunedb *db, uint64_t seed, uint32_t which) {
  for (int i = 0; i < N_WORLD_BATCHES; i++)
    if (which >> i & 1) put_batch(db, seed, i);
}

/* ---- files --------------------------------------------------------------------------------------------------- */

static inline char *read_whole(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s is not there", path);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char *data = malloc(*size + 1);
  assert_non_null(data);
  assert_int_equal(fread(data, 1, *size, f), *size);
  fclose(f);
  return data;
}

static inline void write_whole(const char *path, const void *data, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

static inline void expect_same_files(const char *a, const char *b) {
  size_t n_a, n_b;
  char *data_a = read_whole(a, &n_a), *data_b = read_whole(b, &n_b);
  if (n_a != n_b) fail_msg("%s has %zu bytes, %s %zu", a, n_a, b, n_b);
  for (size_t i = 0; i < n_a; i++)
    if (data_a[i] != data_b[i]) fail_msg("%s and %s differ at byte %zu", a, b, i);
  free(data_a);
  free(data_b);
}

#endif
