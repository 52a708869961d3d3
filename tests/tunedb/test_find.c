/* test_find.c -- exact lookups: limits, places, unknown skew. */
#include "fixture.h"

#include "tunedb/winner.h"

static const rgt__tunedb_limits no_limits = {.max_p = -1, .max_u_h = -1, .max_alpha = -1, .max_beta = -1};

static void expect_miss(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_limits *limits) {
  rgt__error err = {{0}};
  rgt__tunedb_winner w, before;
  memset(&w, 0x5A, sizeof w);
  before = w;
  assert_int_equal(rgt__tunedb_find(db, sig, &cpu_place, limits, &w, &err), RGT_EMISS);
  assert_memory_equal(&w, &before, sizeof w); /* written only on success */
  assert_non_null(strstr(err.text, sig->text));
}

static void test_nothing_stored(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  expect_miss(db, &sig, NULL);
  OK(rgt__tunedb_miss(db, &sig, &cpu_place, NULL)); /* the signature is known now, and still holds nothing */
  expect_miss(db, &sig, NULL);
  sig.skew = "unknown";
  expect_miss(db, &sig, NULL);
  rgt__tunedb_trial bad = make_trial("group_tiles", "tile=16", 500000);
  bad.outcome = RGT_TRIAL_TIMED_OUT;
  sig = make_signature();
  put(db, 1, &sig, &bad, 1);
  expect_miss(db, &sig, NULL);
  assert_int_equal(ask(db, "SELECT n_trials FROM winner WHERE variant IS NULL"), 1);
  rgt__tunedb_close(db);
}

/* Every field of the signature and the place is part of the question. */
static void test_other_scenes_do_not_answer(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature(), other;
  rgt__tunedb_trial t = make_default();
  put(db, 1, &sig, &t, 1);
  other = sig, other.bucket = 16;
  expect_miss(db, &other, NULL);
  other = sig, other.skew = "zipf";
  expect_miss(db, &other, NULL);
  other = sig, other.align_bytes = 16;
  expect_miss(db, &other, NULL);
  rgt__tunedb_winner w;
  rgt__tunedb_place place = cpu_place;
  place.policy = "cold:stream:threads=2";
  assert_int_equal(rgt__tunedb_find(db, &sig, &place, NULL, &w, NULL), RGT_EMISS);
  place = cpu_place;
  place.device_class = "cpu:test:4";
  assert_int_equal(rgt__tunedb_find(db, &sig, &place, NULL, &w, NULL), RGT_EMISS);
  rgt__tunedb_close(db);
}

static void test_default_is_a_candidate(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[3] = {make_default(), make_trial("group_tiles", "tile=16", 1000001),
                            make_trial("group_tiles", "tile=32", 985000)};
  put(db, 1, &sig, t, 2);
  rgt__tunedb_winner w;
  find(db, &sig, NULL, &w);
  assert_string_equal(w.winner.family, "row_gather");
  assert_int_equal(w.winner.is_default, 1);
  assert_int_equal(w.runner_up.ratio_ppm, 1000001);
  put(db, 1, &sig, t + 2, 1); /* 1.5 % faster: not enough */
  find(db, &sig, NULL, &w);
  assert_string_equal(w.winner.family, "row_gather");
  assert_int_equal(w.runner_up.ratio_ppm, 985000);
  t[2] = make_trial("group_tiles", "tile=64", 950000);
  put(db, 1, &sig, t + 2, 1);
  find(db, &sig, NULL, &w);
  assert_string_equal(w.winner.params, "tile=64");
  rgt__tunedb_close(db);
}

static void test_slower_than_an_absent_default(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("group_tiles", "tile=16", 1000001);
  put(db, 1, &sig, &t, 1);
  expect_miss(db, &sig, NULL);
  rgt__tunedb_limits may_lose = no_limits; /* a narrowed search: the fastest of what there is, and the next */
  may_lose.may_lose = 1;
  rgt__tunedb_trial more[2] = {make_trial("group_tiles", "tile=8", 1500000), make_trial("group_tiles", "tile=32", 1200000)};
  put(db, 1, &sig, more, 2);
  expect_miss(db, &sig, NULL);
  rgt__tunedb_winner w;
  find(db, &sig, &may_lose, &w);
  assert_string_equal(w.winner.params, "tile=16");
  assert_string_equal(w.runner_up.params, "tile=32");
  rgt__tunedb_close(db);
}

static int knows_revision_1(void *user, const char *family, int revision, const char *params) {
  (*(int *)user)++;
  return revision == 1 && strcmp(family, "row_gather") >= 0 && params[0];
}

static void test_limits(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[7] = {make_default()};
  for (int i = 1; i < 7; i++) {
    static const char *const names[] = {"", "p1", "p2", "u_h", "alpha", "beta", "class"};
    t[i] = make_trial("tiles", names[i], 100000 * i);
  }
  t[1].p1 = t[2].p2 = t[3].u_h = t[4].alpha = t[5].beta = 0x1p-10;
  t[6].numeric_class = "other";
  put(db, 1, &sig, t, 7);
  rgt__tunedb_winner w;
  rgt__tunedb_limits limits = no_limits;
  find(db, &sig, &limits, &w);
  assert_string_equal(w.winner.params, "p1");
  limits.max_p = 0x1p-10;
  find(db, &sig, &limits, &w); /* the limit itself is within */
  assert_string_equal(w.winner.params, "p1");
  limits.max_p = 0x1p-11;
  find(db, &sig, &limits, &w);
  assert_string_equal(w.winner.params, "u_h");
  limits.max_u_h = 0;
  find(db, &sig, &limits, &w);
  assert_string_equal(w.winner.params, "alpha");
  limits.max_alpha = 0x1p-11;
  find(db, &sig, &limits, &w);
  assert_string_equal(w.winner.params, "beta");
  limits.max_beta = 0x1p-11;
  find(db, &sig, &limits, &w);
  assert_string_equal(w.winner.params, "class");
  assert_string_equal(w.runner_up.family, "row_gather");
  limits.numeric_class = "fma";
  find(db, &sig, &limits, &w);
  assert_string_equal(w.winner.family, "row_gather");
  assert_int_equal(w.has_runner_up, 0);
  assert_int_equal(w.n_trials, 7);
  limits.numeric_class = "none such";
  expect_miss(db, &sig, &limits);
  rgt__tunedb_close(db);
}

static void test_admit(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[3] = {make_default(), make_trial("tiles", "a", 300000), make_trial("tiles", "b", 500000)};
  t[1].revision = 2;
  put(db, 1, &sig, t, 3);
  int calls = 0;
  rgt__tunedb_limits limits = no_limits;
  limits.admit = knows_revision_1;
  limits.admit_user = &calls;
  rgt__tunedb_winner w;
  find(db, &sig, &limits, &w);
  assert_string_equal(w.winner.params, "b");
  assert_int_equal(w.has_runner_up, 1);
  assert_int_equal(calls, 3);
  rgt__tunedb_close(db);
}

/* The short way through the standings gives what the whole list gives. */
static void test_many_variants(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  enum { N = 300 };
  rgt__tunedb_trial t[N];
  char params[N][16];
  t[0] = make_default();
  for (int i = 1; i < N; i++) {
    snprintf(params[i], sizeof params[i], "n=%03d", i);
    t[i] = make_trial("tiles", params[i], 500000 + 997 * ((i * 37) % N));
    t[i].rank = 50 - i % 50;
    t[i].p1 = i % 3 ? 0 : 0x1p-8;
  }
  put(db, 1, &sig, t, N);
  for (int strict = 0; strict < 2; strict++) {
    rgt__winner_candidate c[N];
    int n = 0, winner, runner_up;
    for (int i = 0; i < N; i++) {
      if (strict && t[i].p1 > 0) continue;
      c[n] = (rgt__winner_candidate){.rank = t[i].rank,
                                     .is_default = t[i].is_default,
                                     .revision = 1,
                                     .ratio_ppm = t[i].ratio_ppm,
                                     .ratio_low_ppm = t[i].ratio_ppm,
                                     .ratio_high_ppm = t[i].ratio_ppm};
      rgt__winner_text(c[n++].text, t[i].family, t[i].params);
    }
    rgt__winner_choose(c, n, &winner, &runner_up);
    rgt__tunedb_limits limits = no_limits;
    if (strict) limits.max_p = 0;
    rgt__tunedb_winner w;
    char text[264];
    find(db, &sig, &limits, &w);
    rgt__winner_text(text, w.winner.family, w.winner.params);
    assert_string_equal(text, c[winner].text);
    rgt__winner_text(text, w.runner_up.family, w.runner_up.params);
    assert_string_equal(text, c[runner_up].text);
  }
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void put_skew(rgt__tunedb *db, const char *skew, const char *text, const rgt__tunedb_trial *trials, int n) {
  rgt__tunedb_signature sig = make_signature();
  sig.skew = skew;
  sig.text = text;
  put(db, 1, &sig, trials, n);
}

static void test_unknown_skew(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature any = make_signature();
  any.skew = "unknown";
  any.text = "...|unknown|...";
  /* a: best with uniform groups, bad with zipf; b: good in both; c: only tried with uniform */
  rgt__tunedb_trial u[4] = {make_default(), make_trial("tiles", "a", 300000), make_trial("tiles", "b", 600000),
                            make_trial("tiles", "c", 100000)};
  rgt__tunedb_trial z[3] = {make_default(), make_trial("tiles", "a", 900000), make_trial("tiles", "b", 700000)};
  u[0].final = 1;
  put_skew(db, "uniform", "U", u, 4);
  rgt__tunedb_winner w;
  find(db, &any, NULL, &w); /* one skew: its winner */
  assert_string_equal(w.winner.params, "c");
  assert_string_equal(w.signature, "U");
  assert_int_equal(w.n_trials, 4);
  assert_int_equal(w.complete, 1);
  put_skew(db, "zipf", "Z", z, 3);
  find(db, &any, NULL, &w);
  assert_string_equal(w.winner.params, "b");
  assert_int_equal(w.winner.ratio_ppm, 700000); /* the worst one, and the scene that it comes from */
  assert_string_equal(w.signature, "Z");
  assert_string_equal(w.runner_up.params, "a");
  assert_int_equal(w.runner_up.ratio_ppm, 900000);
  assert_int_equal(w.n_trials, 7);
  assert_int_equal(w.complete, 0);
  assert_int_equal(w.exact, 1);
  /* wrong in one of them: out */
  rgt__tunedb_trial bad = z[2];
  bad.outcome = RGT_TRIAL_WRONG;
  put_skew(db, "zipf", "Z", &bad, 1);
  find(db, &any, NULL, &w);
  assert_string_equal(w.winner.params, "a");
  /* a third skew, without any usable time, says nothing */
  bad = make_default();
  bad.outcome = RGT_TRIAL_TIMED_OUT;
  put_skew(db, "one", "O", &bad, 1);
  find(db, &any, NULL, &w);
  assert_string_equal(w.winner.params, "a");
  /* other buckets are not asked */
  any.bucket = 16;
  expect_miss(db, &any, NULL);
  rgt__tunedb_close(db);
}

static void test_unknown_skew_never_slower_than_the_default(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature any = make_signature();
  any.skew = "unknown";
  rgt__tunedb_trial u[2] = {make_default(), make_trial("tiles", "a", 100000)};
  rgt__tunedb_trial z[2] = {make_default(), make_trial("tiles", "a", 1100000)};
  put_skew(db, "uniform", "U", u, 2);
  put_skew(db, "zipf", "Z", z, 2);
  rgt__tunedb_winner w;
  find(db, &any, NULL, &w);
  assert_int_equal(w.winner.is_default, 1);
  assert_string_equal(w.runner_up.params, "a");
  rgt__tunedb_close(db);
}

static void test_sick_questions(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature(), sick = sig;
  rgt__tunedb_winner w;
  assert_int_equal(rgt__tunedb_find(NULL, &sig, &cpu_place, NULL, &w, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_find(db, NULL, &cpu_place, NULL, &w, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_find(db, &sig, NULL, NULL, &w, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_find(db, &sig, &cpu_place, NULL, NULL, NULL), RGT_EINVAL);
  sick.order = NULL;
  assert_int_equal(rgt__tunedb_find(db, &sick, &cpu_place, NULL, &w, NULL), RGT_EINVAL);
  rgt__tunedb_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_stored),
      cmocka_unit_test(test_other_scenes_do_not_answer),
      cmocka_unit_test(test_default_is_a_candidate),
      cmocka_unit_test(test_slower_than_an_absent_default),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_admit),
      cmocka_unit_test(test_many_variants),
      cmocka_unit_test(test_unknown_skew),
      cmocka_unit_test(test_unknown_skew_never_slower_than_the_default),
      cmocka_unit_test(test_sick_questions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
