/* test_put.c -- batches go in whole, once, and only if they are sound. */
#include "fixture.h"

#include <math.h>

static void test_put_then_find(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[3] = {make_default(), make_trial("group_tiles", "tile=16", 500000),
                            make_trial("group_tiles", "tile=32", 700000)};
  t[1].time_ps = 123456;
  t[1].low_ps = 123000;
  t[1].high_ps = 124000;
  t[1].default_ps = 246912;
  t[1].ratio_low_ppm = 498000;
  t[1].ratio_high_ppm = 502000;
  t[1].p1 = 0x1p-21;
  t[1].p2 = 0x1p-22;
  t[1].u_h = 0x1p-11;
  t[1].alpha = 0x1p-23;
  t[1].beta = 0x1p-24;
  t[1].numeric_class = "tiles16";
  put(db, 1, &sig, t, 3);

  rgt__tunedb_winner w;
  find(db, &sig, NULL, &w);
  assert_string_equal(w.signature, sig.text);
  assert_string_equal(w.device_class, "cpu:test:2");
  assert_string_equal(w.policy, "warm:stream:threads=2");
  assert_string_equal(w.winner.family, "group_tiles");
  assert_string_equal(w.winner.params, "tile=16");
  assert_string_equal(w.winner.numeric_class, "tiles16");
  assert_string_equal(w.winner.toolchain, "gcc 12.2.0 build-id 1234 -O3");
  assert_int_equal(w.winner.revision, 1);
  assert_int_equal(w.winner.rank, 3);
  assert_int_equal(w.winner.is_default, 0);
  assert_memory_equal(&w.winner.template_digest, &t[1].template_digest, 32);
  assert_memory_equal(&w.winner.code, &t[1].code, 32);
  assert_int_equal(w.winner.time_ps, 123456);
  assert_int_equal(w.winner.low_ps, 123000);
  assert_int_equal(w.winner.high_ps, 124000);
  assert_int_equal(w.winner.default_ps, 246912);
  assert_int_equal(w.winner.ratio_ppm, 500000);
  assert_int_equal(w.winner.ratio_low_ppm, 498000);
  assert_int_equal(w.winner.ratio_high_ppm, 502000);
  assert_true(w.winner.error_share == 0.25);
  assert_true(w.winner.p1 == 0x1p-21 && w.winner.p2 == 0x1p-22 && w.winner.u_h == 0x1p-11);
  assert_true(w.winner.alpha == 0x1p-23 && w.winner.beta == 0x1p-24);
  assert_int_equal(w.winner.n_runs, 1);
  assert_int_equal(w.has_runner_up, 1);
  assert_string_equal(w.runner_up.params, "tile=32");
  assert_int_equal(w.runner_up.ratio_ppm, 700000);
  assert_int_equal(w.exact, 1);
  assert_int_equal(w.n_trials, 3);
  assert_int_equal(w.complete, 0);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void test_repeats_change_nothing(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[2] = {make_default(), make_trial("group_tiles", "tile=16", 500000)};
  put(db, 1, &sig, t, 2);
  put(db, 1, &sig, t, 2);
  put(db, 1, &sig, t + 1, 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 2);
  assert_int_equal(ask(db, "SELECT count(*) FROM run"), 1);
  assert_int_equal(ask(db, "SELECT n_trials FROM winner"), 2);
  t[1].final = 1;
  put(db, 1, &sig, t, 2);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 3);
  rgt__tunedb_winner w;
  find(db, &sig, NULL, &w);
  assert_int_equal(w.n_trials, 3);
  assert_int_equal(w.complete, 1);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void expect_refused(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__tunedb_signature *sig,
                           const rgt__tunedb_place *place, const rgt__tunedb_trial *trial, const char *named) {
  rgt__error err = {{0}};
  rgt__tunedb_trial both[2] = {make_default(), *trial};
  assert_int_equal(rgt__tunedb_put(db, run, sig, place, both, 2, &err), RGT_EINVAL);
  if (!strstr(err.text, named)) fail_msg("\"%s\" does not name \"%s\"", err.text, named);
  assert_null(strchr(err.text, '\n'));
  assert_int_equal(ask(db, "SELECT (SELECT count(*) FROM trial) + (SELECT count(*) FROM signature)"), 0);
}

static void test_unsound_trials(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_run run = make_run(1);
  const rgt__tunedb_trial good = make_trial("group_tiles", "tile=16", 500000);
  char long_text[300];
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = 0;
#define REFUSED(field, value, named)                       \
  do {                                                     \
    rgt__tunedb_trial t = good;                            \
    t.field = value;                                       \
    expect_refused(db, &run, &sig, &cpu_place, &t, named); \
  } while (0)
  REFUSED(family, NULL, "family is NULL");
  REFUSED(family, "", "family is empty");
  REFUSED(family, long_text, "family has 299 bytes, at most 63");
  REFUSED(params, NULL, "params is NULL");
  REFUSED(params, long_text, "params has 299 bytes, at most 191");
  REFUSED(numeric_class, NULL, "numeric class is NULL");
  REFUSED(reason, NULL, "reason is NULL");
  REFUSED(outcome, (rgt_outcome)99, "outcome is 99");
  REFUSED(time_ps, 0, "time_ps is 0");
  REFUSED(time_ps, -5, "time_ps is -5");
  REFUSED(low_ps, -1, "low_ps is -1");
  REFUSED(ratio_ppm, 0, "ratio_ppm is 0");
  REFUSED(ratio_ppm, INT64_MAX, "ratio_ppm is 9223372036854775807");
  REFUSED(n_samples, 0, "n_samples is 0");
  REFUSED(p1, NAN, "p1 is nan");
  REFUSED(p2, -1, "p2 is -1");
  REFUSED(u_h, INFINITY, "u_h is inf");
  REFUSED(alpha, NAN, "alpha is nan");
  REFUSED(beta, NAN, "beta is nan");
  REFUSED(beta, -0x1p-60, "trial 2 of 2");
#undef REFUSED
  rgt__tunedb_close(db);
}

static void test_unsound_scenes(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  const rgt__tunedb_signature good = make_signature();
  const rgt__tunedb_run good_run = make_run(1);
  const rgt__tunedb_trial trial = make_trial("group_tiles", "tile=16", 500000);
#define REFUSED(field, value, named)                              \
  do {                                                            \
    rgt__tunedb_signature s = good;                               \
    s.field = value;                                              \
    expect_refused(db, &good_run, &s, &cpu_place, &trial, named); \
  } while (0)
  REFUSED(text, NULL, "signature text is NULL");
  REFUSED(op_text, NULL, "op text is NULL");
  REFUSED(op_class, NULL, "op class is NULL");
  REFUSED(skew, NULL, "skew is NULL");
  REFUSED(form, NULL, "form is NULL");
  REFUSED(order, "", "order is empty");
  REFUSED(n_in, 0, "n_in is 0");
  REFUSED(n_hidden, -1, "n_hidden is -1");
  REFUSED(bucket, 0, "bucket is 0");
  REFUSED(align_bytes, 0, "align_bytes is 0");
#undef REFUSED
  rgt__tunedb_place place = cpu_place;
  place.policy = NULL;
  expect_refused(db, &good_run, &good, &place, &trial, "policy is NULL");
  place = (rgt__tunedb_place){NULL, "warm"};
  expect_refused(db, &good_run, &good, &place, &trial, "device class is NULL");
  rgt__tunedb_run run = good_run;
  run.toolchain = NULL;
  expect_refused(db, &run, &good, &cpu_place, &trial, "toolchain is NULL");
  run = good_run;
  run.conditions = NULL;
  expect_refused(db, &run, &good, &cpu_place, &trial, "conditions is NULL");
  expect_refused(db, NULL, &good, &cpu_place, &trial, "no run");
  expect_refused(db, &good_run, NULL, &cpu_place, &trial, "no signature");
  expect_refused(db, &good_run, &good, NULL, &trial, "no place");
  assert_int_equal(rgt__tunedb_put(NULL, &good_run, &good, &cpu_place, &trial, 1, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_put(db, &good_run, &good, &cpu_place, NULL, 1, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_put(db, &good_run, &good, &cpu_place, &trial, -1, NULL), RGT_EINVAL);
  OK(rgt__tunedb_put(db, &good_run, &good, &cpu_place, NULL, 0, NULL));
  assert_int_equal(ask(db, "SELECT count(*) FROM run"), 0);
  rgt__tunedb_close(db);
}

/* What is only another spelling of the same trial has one key; what was not measured leaves no numbers. */
static void test_canonical_form(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("group_tiles", "tile=16", 500000);
  put(db, 1, &sig, &t, 1);
  t.p1 = -0.0;
  t.error_share = 0.25;
  put(db, 1, &sig, &t, 1);
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 1);
  rgt__tunedb_trial wrong = make_trial("group_tiles", "tile=64", 777);
  wrong.outcome = RGT_TRIAL_WRONG;
  wrong.error_share = NAN;
  wrong.reason = "exact pass, row 3";
  put(db, 1, &sig, &wrong, 1);
  assert_int_equal(ask(db, "SELECT time_ps + low_ps + high_ps + default_ps + ratio_ppm + ratio_low_ppm + ratio_high_ppm + "
                           "n_samples FROM trial WHERE outcome = 'wrong'"),
                   0);
  assert_int_equal(ask(db, "SELECT error_share = 9e999 FROM trial WHERE outcome = 'wrong'"), 1);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void test_long_free_texts_are_cut(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t = make_trial("group_tiles", "tile=16", 500000);
  char text[4001];
  for (int i = 0; i < 4000; i += 2) memcpy(text + i, "\xC3\xA4", 2); /* a-umlaut: 1023 lies within one */
  text[4000] = 0;
  t.outcome = RGT_TRIAL_COMPILE_ERROR;
  t.reason = text;
  rgt__tunedb_run run = make_run(1);
  run.conditions = text;
  OK(rgt__tunedb_put(db, &run, &sig, &cpu_place, &t, 1, NULL));
  assert_int_equal(ask(db, "SELECT length(CAST(reason AS BLOB)) FROM trial"), 1022);
  assert_int_equal(ask(db, "SELECT length(CAST(conditions AS BLOB)) FROM run"), 1022);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void test_misses_are_counted(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  for (int i = 0; i < 3; i++) OK(rgt__tunedb_miss(db, &sig, &cpu_place, NULL));
  assert_int_equal(ask(db, "SELECT n FROM miss"), 3);
  assert_true(ask(db, "SELECT last_utc_s FROM miss") > 1700000000);
  sig.skew = NULL;
  assert_int_equal(rgt__tunedb_miss(db, &sig, &cpu_place, NULL), RGT_EINVAL);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

static void test_run_ids_are_random(void **state) {
  (void)state;
  rgt__tunedb_run a = make_run(1), b = make_run(1);
  OK(rgt__tunedb_run_new(&a, NULL));
  OK(rgt__tunedb_run_new(&b, NULL));
  assert_memory_not_equal(&a.id, &b.id, 32);
  assert_string_equal(a.version, "0.1.0"); /* the rest stays the caller's */
  assert_int_equal(rgt__tunedb_run_new(NULL, NULL), RGT_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_put_then_find),      cmocka_unit_test(test_repeats_change_nothing),
      cmocka_unit_test(test_unsound_trials),     cmocka_unit_test(test_unsound_scenes),
      cmocka_unit_test(test_canonical_form),     cmocka_unit_test(test_long_free_texts_are_cut),
      cmocka_unit_test(test_misses_are_counted), cmocka_unit_test(test_run_ids_are_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
