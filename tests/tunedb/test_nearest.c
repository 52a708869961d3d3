/* test_nearest.c -- the closest shape, and the buckets of one. */
#include "fixture.h"

/* Stores a default and a variant named after the shape. */
static void put_shape(rgt__tunedb *db, const char *text, int64_t n_in, int64_t n_hidden, int64_t n_out, int64_t groups,
                      const char *skew, int align, int64_t bucket) {
  static unsigned run;
  char op_text[64];
  rgt__tunedb_signature sig = make_signature();
  snprintf(op_text, sizeof op_text, "op %lld %lld %lld %lld", (long long)n_in, (long long)n_hidden, (long long)n_out,
           (long long)groups);
  sig.text = text;
  sig.op_text = op_text;
  sig.n_in = n_in;
  sig.n_hidden = n_hidden;
  sig.n_out = n_out;
  sig.groups = groups;
  sig.skew = skew;
  sig.align_bytes = align;
  sig.bucket = bucket;
  rgt__tunedb_trial t[2] = {make_default(), make_trial("tiles", text, 500000)};
  put(db, ++run, &sig, t, 2);
}

static void expect_nearest(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_limits *limits,
                           const char *text) {
  rgt__error err = {{0}};
  rgt__tunedb_winner w;
  rgt_status status = rgt__tunedb_nearest(db, sig, &cpu_place, limits, &w, &err);
  assert_string_equal(err.text, "");
  assert_int_equal(status, RGT_OK);
  assert_string_equal(w.signature, text);
  assert_string_equal(w.device_class, "cpu:test:2");
  assert_string_equal(w.policy, "warm:stream:threads=2");
  assert_int_equal(w.exact, 0);
  assert_int_equal(w.n_trials, 2);
}

static void test_smallest_distance(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature(); /* 10-20-5, 3 groups */
  rgt__tunedb_winner w;
  rgt__error err = {{0}};
  assert_int_equal(rgt__tunedb_nearest(db, &sig, &cpu_place, NULL, &w, &err), RGT_EMISS);
  assert_non_null(strstr(err.text, sig.text));
  put_shape(db, "far", 1280, 20, 5, 3, "uniform", 4, 8); /* 7 octaves */
  expect_nearest(db, &sig, NULL, "far");
  put_shape(db, "all", 20, 40, 10, 6, "uniform", 4, 8); /* 4 octaves */
  expect_nearest(db, &sig, NULL, "all");
  put_shape(db, "groups", 10, 20, 5, 24, "uniform", 4, 8); /* 3 octaves */
  expect_nearest(db, &sig, NULL, "groups");
  put_shape(db, "smaller", 5, 10, 5, 3, "uniform", 4, 8); /* 2 octaves, downwards */
  expect_nearest(db, &sig, NULL, "smaller");
  put_shape(db, "hidden", 10, 41, 5, 3, "uniform", 4, 8); /* 1.04 octaves */
  expect_nearest(db, &sig, NULL, "hidden");
  put_shape(db, "out", 10, 20, 10, 3, "uniform", 4, 8); /* 1 octave */
  expect_nearest(db, &sig, NULL, "out");
  put_shape(db, "in", 20, 20, 5, 3, "uniform", 4, 8); /* 1 octave too: the smaller text */
  expect_nearest(db, &sig, NULL, "in");
  put_shape(db, "exactly", 10, 20, 5, 3, "uniform", 4, 8);
  expect_nearest(db, &sig, NULL, "exactly");
  rgt__tunedb_close(db);
}

static void test_linear_has_no_hidden(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  sig.n_hidden = 0;
  put_shape(db, "two", 10, 0, 20, 3, "uniform", 4, 8);
  put_shape(db, "one", 10, 0, 10, 3, "uniform", 4, 8);
  expect_nearest(db, &sig, NULL, "one");
  rgt__tunedb_close(db);
}

/* What must be equal, and what may be smaller. */
static void test_what_does_not_fit(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature(), other;
  rgt__tunedb_winner w;
  put_shape(db, "stored", 20, 20, 5, 3, "uniform", 4, 8);
  expect_nearest(db, &sig, NULL, "stored");
  sig.align_bytes = 16; /* asks for less than is promised: fits */
  expect_nearest(db, &sig, NULL, "stored");
#define MISSES(field, value)                                                                  \
  do {                                                                                        \
    other = sig;                                                                              \
    other.field = value;                                                                      \
    assert_int_equal(rgt__tunedb_nearest(db, &other, &cpu_place, NULL, &w, NULL), RGT_EMISS); \
  } while (0)
  MISSES(align_bytes, 2);
  MISSES(bucket, 16);
  MISSES(op_class, "mlp:f16:relu:b12:nk:i64");
  MISSES(form, "pointers");
  MISSES(order, "sorted");
#undef MISSES
  rgt__tunedb_place place = cpu_place;
  place.policy = "cold";
  assert_int_equal(rgt__tunedb_nearest(db, &sig, &place, NULL, &w, NULL), RGT_EMISS);
  place = cpu_place;
  place.device_class = "gpu";
  assert_int_equal(rgt__tunedb_nearest(db, &sig, &place, NULL, &w, NULL), RGT_EMISS);
  assert_int_equal(rgt__tunedb_nearest(db, &sig, &cpu_place, NULL, NULL, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_nearest(db, NULL, &cpu_place, NULL, &w, NULL), RGT_EINVAL);
  rgt__tunedb_close(db);
}

static void test_equal_distance_prefers_the_skew(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  put_shape(db, "z", 20, 20, 5, 3, "uniform", 4, 8);
  put_shape(db, "y", 20, 20, 5, 3, "zipf", 4, 8);
  expect_nearest(db, &sig, NULL, "z");
  sig.skew = "zipf";
  expect_nearest(db, &sig, NULL, "y");
  sig.skew = "one";
  expect_nearest(db, &sig, NULL, "y"); /* neither: by text */
  rgt__tunedb_close(db);
}

/* Any skew: the nearest shape's skews together, as in find. */
static void test_unknown_skew(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature(), near = make_signature();
  rgt__tunedb_trial u[3] = {make_default(), make_trial("tiles", "a", 300000), make_trial("tiles", "b", 600000)};
  rgt__tunedb_trial z[3] = {make_default(), make_trial("tiles", "a", 900000), make_trial("tiles", "b", 700000)};
  rgt__tunedb_winner w;
  sig.skew = "unknown";
  near.op_text = "near";
  near.n_in = 20;
  near.text = "near, uniform";
  put(db, 1, &near, u, 3);
  near.skew = "zipf";
  near.text = "near, zipf";
  put(db, 1, &near, z, 3);
  near.align_bytes = 2; /* fits too, but not as well */
  near.text = "near, zipf, 2";
  put(db, 1, &near, u, 3);
  OK(rgt__tunedb_nearest(db, &sig, &cpu_place, NULL, &w, NULL));
  assert_string_equal(w.winner.params, "b");
  assert_int_equal(w.winner.ratio_ppm, 700000);
  assert_string_equal(w.signature, "near, zipf");
  assert_int_equal(w.n_trials, 6);
  sig.align_bytes = 2;
  OK(rgt__tunedb_nearest(db, &sig, &cpu_place, NULL, &w, NULL));
  assert_string_equal(w.signature, "near, zipf, 2");
  assert_string_equal(w.winner.params, "a");
  rgt__tunedb_close(db);
}

static int only_b(void *user, const char *family, int revision, const char *params) {
  (void)user, (void)family, (void)revision;
  return strcmp(params, "b") == 0;
}

/* A close shape without an admitted winner is passed over. */
static void test_limits_reach_further(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  put_shape(db, "a", 20, 20, 5, 3, "uniform", 4, 8);
  put_shape(db, "b", 40, 20, 5, 3, "uniform", 4, 8);
  expect_nearest(db, &sig, NULL, "a");
  rgt__tunedb_limits limits = {.max_p = -1, .max_u_h = -1, .max_alpha = -1, .max_beta = -1, .admit = only_b};
  expect_nearest(db, &sig, &limits, "b");
  rgt__tunedb_close(db);
}

static void test_buckets(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  int64_t buckets[8] = {0};
  int n = 99;
  put_shape(db, "t512", 10, 20, 5, 3, "uniform", 4, 512);
  put_shape(db, "t8", 10, 20, 5, 3, "uniform", 4, 8);
  put_shape(db, "t64", 10, 20, 5, 3, "zipf", 4, 64);
  put_shape(db, "z8", 10, 20, 5, 3, "zipf", 4, 8);
  put_shape(db, "other", 11, 20, 5, 3, "uniform", 4, 4096);
  put_shape(db, "aligned", 10, 20, 5, 3, "uniform", 16, 4096);
  rgt__tunedb_signature sig = make_signature();
  sig.op_text = "op 10 20 5 3";
  sig.bucket = 1;
  OK(rgt__tunedb_miss(db, &sig, &cpu_place, NULL)); /* has no trials */
  OK(rgt__tunedb_buckets(db, &sig, &cpu_place, buckets, 8, &n, NULL));
  assert_int_equal(n, 2);
  assert_int_equal(buckets[0], 8);
  assert_int_equal(buckets[1], 512);
  sig.skew = "unknown";
  OK(rgt__tunedb_buckets(db, &sig, &cpu_place, buckets, 8, &n, NULL));
  assert_int_equal(n, 3);
  assert_int_equal(buckets[1], 64);
  OK(rgt__tunedb_buckets(db, &sig, &cpu_place, buckets, 1, &n, NULL));
  assert_int_equal(n, 1);
  OK(rgt__tunedb_buckets(db, &sig, &cpu_place, NULL, 0, &n, NULL));
  assert_int_equal(n, 0);
  rgt__tunedb_place place = {"gpu", "warm"};
  OK(rgt__tunedb_buckets(db, &sig, &place, buckets, 8, &n, NULL));
  assert_int_equal(n, 0);
  assert_int_equal(rgt__tunedb_buckets(db, &sig, &cpu_place, NULL, 3, &n, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_buckets(db, &sig, &cpu_place, buckets, 3, NULL, NULL), RGT_EINVAL);
  rgt__tunedb_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_smallest_distance), cmocka_unit_test(test_linear_has_no_hidden),
      cmocka_unit_test(test_what_does_not_fit), cmocka_unit_test(test_equal_distance_prefers_the_skew),
      cmocka_unit_test(test_unknown_skew),      cmocka_unit_test(test_limits_reach_further),
      cmocka_unit_test(test_buckets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
