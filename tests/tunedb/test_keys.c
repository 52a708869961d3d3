/* test_keys.c -- keys are pinned: a change here orphans every database. The values were computed by another program. */
#include "fixture.h"

#include "tunedb/keys.h"

static void expect_key(const rgt__digest *key, const char *hex) {
  char text[RGT_DIGEST_HEX_MAX];
  rgt__digest_hex(key, text);
  assert_string_equal(text, hex);
}

typedef struct keys {
  rgt__digest signature, place, variant, run, trial;
} keys;

static void make_keys(const rgt__tunedb_signature *sig, const rgt__tunedb_place *place, const rgt__tunedb_run *run,
                      const rgt__tunedb_trial *t, keys *k) {
  rgt__keys_signature(sig, &k->signature);
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &k->place);
  rgt__keys_variant(t->family, t->revision, t->params, &k->variant);
  rgt__keys_run(run, &k->signature, &k->place, &k->run);
  rgt__keys_trial(t, &k->run, &k->variant, &k->trial);
}

static rgt__tunedb_trial full_trial(void) {
  rgt__tunedb_trial t = make_trial("group_tiles", "tile=16", 500000);
  t.final = 1;
  t.low_ps = 490000;
  t.high_ps = 510000;
  t.ratio_low_ppm = 499000;
  t.ratio_high_ppm = 501000;
  t.p1 = 0x1p-21;
  t.p2 = 0x1p-22;
  t.u_h = 0x1p-11;
  t.alpha = 0x1p-23;
  t.beta = 0x1p-24;
  return t;
}

static void test_golden(void **state) {
  (void)state;
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_run run = make_run(7);
  rgt__tunedb_trial t = full_trial();
  keys k;
  make_keys(&sig, &cpu_place, &run, &t, &k);
  expect_key(&k.signature, "87a659a079875c625b12d94414c0400fc2353b8bedd3d1755dd3635dd73708d3");
  expect_key(&k.place, "49ea455513fa36abd44c452def002476e68e69badb7284eb0ae969e287c26469");
  expect_key(&k.variant, "9ffc13cd1f6a4edd4072e8cd1b226cdff4e42a981ad2ab196d829d7337471506");
  expect_key(&k.run, "acb278174402ccb2204193dbbca8338b1195aaeae231de7af195652cc5129f83");
  expect_key(&k.trial, "b5419d96019df29e7a1386afe956ffc5f071389d975af6f9f3c66e1c7aea96e5");
}

/* Every field counts, and counts in its own place. */
static void test_every_field_counts(void **state) {
  (void)state;
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_run run = make_run(7);
  rgt__tunedb_trial t = full_trial();
  keys base, other;
  make_keys(&sig, &cpu_place, &run, &t, &base);
#define DIFFERS(thing, field, value, key)                   \
  do {                                                      \
    __typeof__(thing) kept = thing;                         \
    thing.field = value;                                    \
    make_keys(&sig, &place, &run, &t, &other);              \
    assert_memory_not_equal(&base.key, &other.key, 32);     \
    assert_memory_not_equal(&base.trial, &other.trial, 32); \
    thing = kept;                                           \
  } while (0)
  rgt__tunedb_place place = cpu_place;
  DIFFERS(sig, text, "x", signature);
  DIFFERS(sig, op_text, "x", signature);
  DIFFERS(sig, op_class, "x", signature);
  DIFFERS(sig, n_in, 11, signature);
  DIFFERS(sig, n_hidden, 11, signature);
  DIFFERS(sig, n_out, 11, signature);
  DIFFERS(sig, groups, 11, signature);
  DIFFERS(sig, bucket, 16, signature);
  DIFFERS(sig, skew, "zipf", signature);
  DIFFERS(sig, form, "pointers", signature);
  DIFFERS(sig, order, "sorted", signature);
  DIFFERS(sig, align_bytes, 16, signature);
  DIFFERS(place, device_class, "cpu:other", place);
  DIFFERS(place, policy, "cold", place);
  DIFFERS(run, id, make_digest(8), run);
  DIFFERS(run, toolchain, "clang", run);
  DIFFERS(run, driver, "550", run);
  DIFFERS(run, conditions, "", run);
  DIFFERS(run, version, "0.2.0", run);
  DIFFERS(run, started_utc_s, 1, run);
  DIFFERS(t, family, "x", variant);
  DIFFERS(t, revision, 2, variant);
  DIFFERS(t, params, "x", variant);
  DIFFERS(t, rank, 4, trial);
  DIFFERS(t, is_default, 1, trial);
  DIFFERS(t, template_digest, make_digest(9), trial);
  DIFFERS(t, code, make_digest(9), trial);
  DIFFERS(t, outcome, RGT_TRIAL_WRONG, trial);
  DIFFERS(t, reason, "x", trial);
  DIFFERS(t, final, 0, trial);
  DIFFERS(t, time_ps, 1, trial);
  DIFFERS(t, low_ps, 1, trial);
  DIFFERS(t, high_ps, 1, trial);
  DIFFERS(t, default_ps, 1, trial);
  DIFFERS(t, ratio_ppm, 1, trial);
  DIFFERS(t, ratio_low_ppm, 1, trial);
  DIFFERS(t, ratio_high_ppm, 1, trial);
  DIFFERS(t, n_samples, 1, trial);
  DIFFERS(t, error_share, 0.5, trial);
  DIFFERS(t, p1, 0, trial);
  DIFFERS(t, p2, 0, trial);
  DIFFERS(t, u_h, 0, trial);
  DIFFERS(t, alpha, 0, trial);
  DIFFERS(t, beta, 0, trial);
  DIFFERS(t, numeric_class, "x", trial);
#undef DIFFERS
}

/* A text that ends early cannot lend its rest to its neighbour. */
static void test_fields_do_not_run_together(void **state) {
  (void)state;
  rgt__digest a, b;
  rgt__keys_variant("ab", 1, "c", &a);
  rgt__keys_variant("a", 1, "bc", &b);
  assert_memory_not_equal(&a, &b, 32);
  rgt__tunedb_place one = {"cpu", "x:warm"}, two = {"cpux:", "warm"};
  rgt__keys_place(&one, "measured", &a);
  rgt__keys_place(&two, "measured", &b);
  assert_memory_not_equal(&a, &b, 32);
}

static void test_outcome_words(void **state) {
  (void)state;
  static const char *const words[] = {"ok", "infeasible", "compile_error", "wrong", "crashed", "timed_out"};
  for (int i = 0; i < RGT_N_OUTCOMES; i++) {
    rgt_outcome outcome = RGT_N_OUTCOMES;
    assert_string_equal(rgt__keys_outcome((rgt_outcome)i), words[i]);
    assert_int_equal(rgt__keys_outcome_parse(words[i], &outcome), 1);
    assert_int_equal(outcome, i);
  }
  rgt_outcome outcome = RGT_TRIAL_WRONG;
  assert_int_equal(rgt__keys_outcome_parse("OK", &outcome), 0);
  assert_int_equal(rgt__keys_outcome_parse("", &outcome), 0);
  assert_int_equal(outcome, RGT_TRIAL_WRONG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden),
      cmocka_unit_test(test_every_field_counts),
      cmocka_unit_test(test_fields_do_not_run_together),
      cmocka_unit_test(test_outcome_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
