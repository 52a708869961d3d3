/* test_shard.c -- rendezvous hashing: the same everywhere, even shares, little moves. */
#include "tests/tunedb/fixture.h"

enum { SIGNATURES = 6000 };

static rgt__tunedb_signature signature(int i, char text[64]) {
  rgt__tunedb_signature sig = make_signature();
  snprintf(text, 64, "op %d|%d", i / 5, i % 5);
  sig.text = text;
  sig.bucket = (int64_t)1 << (i % 5);
  return sig;
}

static int shard_of(int i, int n) {
  char text[64];
  rgt__tunedb_signature sig = signature(i, text);
  int shard = -1;
  rgt__error err = {""};
  if (rgt__tunedb_shard(&sig, n, &shard, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_in_range(shard, 0, n - 1);
  return shard;
}

/* Changed, a fleet in the middle of its work would repeat some of it and leave out some. */
static void answers_stay_as_they_are(void **state) {
  static const int wanted[] = {4, 4, 3, 4, 5, 1, 7, 0, 4, 4, 5, 2};
  (void)state;
  for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++)
    if (shard_of(i, 8) != wanted[i]) fail_msg("signature %d: shard %d, not %d", i, shard_of(i, 8), wanted[i]);
}

/* Six standard deviations of a binomial count. */
static void shares_are_even(void **state) {
  static const int counts[] = {1, 2, 3, 8, 100};
  (void)state;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    int n = counts[c], share[100] = {0};
    for (int i = 0; i < SIGNATURES; i++) share[shard_of(i, n)]++;
    for (int s = 0; s < n; s++) {
      double off = share[s] - (double)SIGNATURES / n, variance = (double)SIGNATURES / n;
      if (off * off > 36 * variance) fail_msg("%d of %d signatures in shard %d of %d", share[s], SIGNATURES, s, n);
    }
  }
}

/* From n to n + 1 only what goes to the new one moves. */
static void one_more_moves_few(void **state) {
  (void)state;
  for (int n = 1; n < 12; n++) {
    int moved = 0;
    for (int i = 0; i < SIGNATURES; i++) {
      int before = shard_of(i, n), after = shard_of(i, n + 1);
      if (before == after) continue;
      assert_int_equal(after, n);
      moved++;
    }
    assert_in_range(moved, SIGNATURES / (n + 1) / 2, 2 * SIGNATURES / (n + 1));
  }
}

static void refusals(void **state) {
  rgt__tunedb_signature sig = make_signature();
  int shard = 77;
  rgt__error err = {""};
  (void)state;
  assert_int_equal(rgt__tunedb_shard(&sig, 0, &shard, &err), RGT_EINVAL);
  assert_string_equal(err.text, "n_shards is 0; it can be 1 to 10000");
  assert_int_equal(rgt__tunedb_shard(&sig, RGT_SHARDS_MAX + 1, &shard, &err), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_shard(NULL, 1, &shard, &err), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_shard(&sig, 1, NULL, &err), RGT_EINVAL);
  assert_int_equal(shard, 77);
  OK(rgt__tunedb_shard(&sig, RGT_SHARDS_MAX, &shard, &err));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_stay_as_they_are),
      cmocka_unit_test(shares_are_even),
      cmocka_unit_test(one_more_moves_few),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
