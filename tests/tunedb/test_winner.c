/* test_winner.c -- the winner is a function of the set of trials: rules one by one, then properties on random sets. */
#include "fixture.h"

#include "runtime/base/random.h"
#include "tunedb/keys.h"
#include "tunedb/winner.h"

#define MAX 256

typedef struct set {
  rgt__tunedb_trial fields[MAX];
  rgt__winner_trial trials[MAX];
  int n;
} set;

static void add(set *s, unsigned run, rgt__tunedb_trial t) {
  rgt__digest run_id = make_digest(run);
  s->fields[s->n] = t;
  rgt__winner_trial *w = &s->trials[s->n];
  rgt__keys_variant(t.family, t.revision, t.params, &w->variant);
  rgt__keys_trial(&t, &run_id, &w->variant, &w->key);
  w->run = run_id;
  w->started_utc_s = 1700000000 + (int)run;
  w->trial = &s->fields[s->n];
  s->n++;
}

static int stand(const set *s, rgt__winner_standing *standings) {
  int n = -1;
  OK(rgt__winner_standings(s->trials, s->n, standings, &n));
  return n;
}

static rgt__tunedb_trial trial(const char *params, int64_t ratio, int n_samples) {
  rgt__tunedb_trial t = make_trial("f", params, ratio);
  t.n_samples = n_samples;
  return t;
}

static void test_no_trials(void **state) {
  (void)state;
  set s = {.n = 0};
  rgt__winner_standing standings[1];
  assert_int_equal(stand(&s, standings), 0);
  int winner = 7, runner_up = 7;
  rgt__winner_choose(NULL, 0, &winner, &runner_up);
  assert_int_equal(winner, -1);
  assert_int_equal(runner_up, -1);
}

static void test_most_samples_count(void **state) {
  (void)state;
  set s = {.n = 0};
  rgt__winner_standing standings[MAX];
  add(&s, 1, trial("a", 900000, 10));
  add(&s, 1, trial("a", 800000, 30));
  add(&s, 1, trial("a", 700000, 20));
  assert_int_equal(stand(&s, standings), 1);
  assert_int_equal(standings[0].ratio_ppm, 800000);
  assert_int_equal(standings[0].n_runs, 1);
  assert_int_equal(standings[0].newest, 1);
  rgt__tunedb_trial duel = trial("a", 600000, 30);
  duel.final = 1;
  add(&s, 1, duel);
  stand(&s, standings);
  assert_int_equal(standings[0].ratio_ppm, 600000); /* of equal samples the final one */
  rgt__tunedb_trial second = trial("a", 500000, 30);
  second.final = 1;
  add(&s, 1, second);
  stand(&s, standings);
  int smaller = memcmp(s.trials[3].key.bytes, s.trials[4].key.bytes, 32) < 0 ? 3 : 4; /* then the smaller key */
  assert_int_equal(standings[0].newest, smaller);
}

static void test_median_over_runs(void **state) {
  (void)state;
  set s = {.n = 0};
  rgt__winner_standing standings[MAX];
  add(&s, 4, trial("a", 400000, 10));
  add(&s, 2, trial("a", 300000, 10));
  assert_int_equal(stand(&s, standings), 1);
  assert_int_equal(standings[0].ratio_ppm, 300000); /* lower one of two */
  assert_int_equal(standings[0].newest, 0);         /* the later run */
  add(&s, 3, trial("a", 900000, 99));
  stand(&s, standings);
  assert_int_equal(standings[0].ratio_ppm, 400000);
  add(&s, 5, trial("a", 950000, 1));
  stand(&s, standings);
  assert_int_equal(standings[0].ratio_ppm, 400000);
  assert_int_equal(standings[0].n_runs, 4);
  assert_int_equal(standings[0].newest, 3);
  assert_int_equal(standings[0].ratio_low_ppm, 950000);
}

static void test_newest_of_equal_starts(void **state) {
  (void)state;
  set s = {.n = 0};
  rgt__winner_standing standings[MAX];
  add(&s, 9, trial("a", 400000, 10));
  add(&s, 8, trial("a", 300000, 10));
  s.trials[0].started_utc_s = s.trials[1].started_utc_s = 5;
  stand(&s, standings);
  assert_int_equal(standings[0].newest, 0);
}

static void test_only_ok_trials_count(void **state) {
  (void)state;
  for (int outcome = 0; outcome < RGT_N_OUTCOMES; outcome++) {
    set s = {.n = 0};
    rgt__winner_standing standings[MAX];
    rgt__tunedb_trial t = trial("a", 500000, 10);
    t.outcome = (rgt_outcome)outcome;
    add(&s, 1, t);
    assert_int_equal(stand(&s, standings), outcome == RGT_TRIAL_OK);
  }
}

/* Wrong or crashed once, in any run: that code never wins again. A new template or code is another matter. */
static void test_exclusion(void **state) {
  (void)state;
  for (int outcome = RGT_TRIAL_INFEASIBLE; outcome < RGT_N_OUTCOMES; outcome++) {
    int bad = outcome == RGT_TRIAL_WRONG || outcome == RGT_TRIAL_CRASHED;
    set s = {.n = 0};
    rgt__winner_standing standings[MAX];
    rgt__tunedb_trial t = trial("a", 500000, 10);
    add(&s, 1, t);
    t.outcome = (rgt_outcome)outcome;
    add(&s, 9, t);
    assert_int_equal(stand(&s, standings), !bad);
    rgt__tunedb_trial fixed = trial("a", 600000, 10);
    fixed.template_digest = make_digest(5);
    add(&s, 2, fixed);
    assert_int_equal(stand(&s, standings), 1);
    assert_int_equal(standings[0].ratio_ppm, bad ? 600000 : 500000);
    assert_int_equal(standings[0].n_runs, bad ? 1 : 2);
    assert_int_equal(standings[0].newest, 2);
  }
  set s = {.n = 0};
  rgt__winner_standing standings[MAX];
  rgt__tunedb_trial t = trial("a", 500000, 10), wrong = t;
  wrong.outcome = RGT_TRIAL_WRONG;
  add(&s, 1, t);
  wrong.code = make_digest(77);
  add(&s, 1, wrong); /* other code */
  wrong = t;
  wrong.outcome = RGT_TRIAL_WRONG;
  wrong.revision = 2;
  add(&s, 1, wrong); /* other revision: another variant */
  assert_int_equal(stand(&s, standings), 1);
  memset(&wrong.code, 0, 32);
  wrong.revision = 1;
  wrong.outcome = RGT_TRIAL_CRASHED;
  add(&s, 3, wrong); /* crashed before there was code: any code of that template */
  assert_int_equal(stand(&s, standings), 0);
}

static rgt__winner_candidate candidate(const char *text, int64_t ratio, int rank) {
  rgt__winner_candidate c = {.rank = rank, .revision = 1, .ratio_ppm = ratio};
  c.ratio_low_ppm = c.ratio_high_ppm = ratio;
  snprintf(c.text, sizeof c.text, "%s", text);
  rgt__keys_variant(text, 1, "", &c.variant);
  return c;
}

static void expect(const rgt__winner_candidate *c, int n, int winner, int runner_up) {
  int w = 99, r = 99;
  rgt__winner_choose(c, n, &w, &r);
  assert_int_equal(w, winner);
  assert_int_equal(r, runner_up);
}

static void test_smallest_ratio_wins(void **state) {
  (void)state;
  rgt__winner_candidate c[] = {candidate("a", 700000, 0), candidate("b", 500000, 9), candidate("c", 600000, 0)};
  expect(c, 3, 1, 2);
}

static void test_two_percent_ties(void **state) {
  (void)state;
  rgt__winner_candidate c[] = {candidate("b", 500000, 2), candidate("a", 510000, 1)};
  expect(c, 2, 1, 0); /* exactly 2 %: the smaller rank */
  c[1].ratio_ppm = c[1].ratio_low_ppm = c[1].ratio_high_ppm = 510001;
  expect(c, 2, 0, 1);
  c[1] = candidate("a", 505000, 2);
  expect(c, 2, 1, 0); /* equal rank: the smaller text */
  c[1].is_default = 1;
  c[1].rank = 99;
  expect(c, 2, 1, 0); /* the default before any rank */
  c[1] = candidate("b", 505000, 2);
  c[1].revision = 2;
  expect(c, 2, 1, 0); /* equal text: the newer revision */
}

static void test_intervals_tie(void **state) {
  (void)state;
  rgt__winner_candidate c[] = {candidate("b", 500000, 2), candidate("a", 520000, 1)};
  expect(c, 2, 0, 1);
  c[0].ratio_high_ppm = 520000; /* the best's interval holds the other */
  expect(c, 2, 1, 0);
  c[0].ratio_high_ppm = 519999;
  expect(c, 2, 0, 1);
  c[1].ratio_low_ppm = 500000; /* the other's interval holds the best */
  expect(c, 2, 1, 0);
  c[1].ratio_low_ppm = 500001;
  expect(c, 2, 0, 1);
  c[1].ratio_low_ppm = 0; /* not measured */
  expect(c, 2, 0, 1);
  c[1] = candidate("a", 525000, 1);
  c[1].ratio_low_ppm = 1;
  c[0].ratio_high_ppm = 900000;
  expect(c, 2, 1, 0); /* 5 % at most */
  c[1].ratio_ppm = 525001;
  expect(c, 2, 0, 1);
}

/* Noise is a reason to take the default or the simpler family, and none to choose between equals by their names. */
static void test_intervals_tie_only_what_is_simpler(void **state) {
  (void)state;
  rgt__winner_candidate c[] = {candidate("b", 500000, 2), candidate("a", 520000, 2)};
  c[0].ratio_high_ppm = 900000;
  c[1].ratio_low_ppm = 1;
  expect(c, 2, 0, 1);
  c[1].rank = 3;
  expect(c, 2, 0, 1);
  c[1].is_default = 1;
  expect(c, 2, 1, 0);
}

static void test_never_slower_than_the_default(void **state) {
  (void)state;
  rgt__winner_candidate c[] = {candidate("slow", 1000001, 0), candidate("default", 1000000, 0)};
  expect(c, 1, -1, 0);
  c[1].is_default = 1;
  expect(c, 2, 1, 0);
  c[1].ratio_ppm = 1003000; /* measured against itself: still the default */
  expect(c, 2, 1, 0);
  c[0].ratio_ppm = 1000000;
  expect(c, 2, 1, 0); /* not slower, but ties */
  c[0].ratio_ppm = 900000;
  expect(c, 2, 0, 1);
}

/* A tie is with the best alone: it is not handed on from one to the next. */
static void test_ties_do_not_chain(void **state) {
  (void)state;
  rgt__winner_candidate c[] = {candidate("c", 500000, 3), candidate("b", 509000, 2), candidate("a", 518000, 1)};
  expect(c, 3, 1, 0);
}

/* ---- properties -------------------------------------------------------------------------------------------- */

static void random_set(rgt__random *r, set *s) {
  static const char *const params[] = {"a", "b", "c", "d", "e"};
  s->n = 0;
  int n = 1 + (int)rgt__random_below(r, 60);
  for (int i = 0; i < n; i++) {
    int which = (int)rgt__random_below(r, 5);
    rgt__tunedb_trial t =
        trial(params[which], 400000 + (int64_t)rgt__random_below(r, 30) * 25000, 1 + (int)rgt__random_below(r, 3));
    t.rank = (int)rgt__random_below(r, 3);
    t.is_default = which == 0;
    t.final = rgt__random_below(r, 4) == 0;
    t.code = make_digest((unsigned)rgt__random_below(r, 3));
    t.ratio_low_ppm -= (int64_t)rgt__random_below(r, 40000);
    t.ratio_high_ppm += (int64_t)rgt__random_below(r, 40000);
    if (rgt__random_below(r, 12) == 0) t.outcome = (rgt_outcome)(1 + rgt__random_below(r, RGT_N_OUTCOMES - 1));
    add(s, (unsigned)rgt__random_below(r, 5), t);
  }
}

/* Everything that is stored of a standing, without positions in the input. */
static void print_result(const set *s, char *text, size_t size) {
  rgt__winner_standing standings[MAX];
  rgt__winner_candidate c[MAX];
  int n = stand(s, standings), winner, runner_up;
  size_t used = 0;
  for (int i = 0; i < n; i++) {
    const rgt__winner_trial *newest = &s->trials[standings[i].newest];
    char hex[RGT_DIGEST_HEX_MAX];
    rgt__digest_hex(&newest->key, hex);
    c[i] = candidate(newest->trial->params, standings[i].ratio_ppm, newest->trial->rank);
    c[i].is_default = newest->trial->is_default;
    c[i].ratio_low_ppm = standings[i].ratio_low_ppm;
    c[i].ratio_high_ppm = standings[i].ratio_high_ppm;
    used += (size_t)snprintf(text + used, size - used, "%s %.8s %lld %lld %lld %d\n", newest->trial->params, hex,
                             (long long)standings[i].ratio_ppm, (long long)standings[i].ratio_low_ppm,
                             (long long)standings[i].ratio_high_ppm, standings[i].n_runs);
    assert_true(used < size);
  }
  rgt__winner_choose(c, n, &winner, &runner_up);
  snprintf(text + used, size - used, "%s %s", winner < 0 ? "-" : c[winner].text, runner_up < 0 ? "-" : c[runner_up].text);
  for (int i = 0; i < n; i++) {
    if (winner < 0) assert_true(!c[i].is_default && c[i].ratio_ppm > 1000000);
    if (winner >= 0 && !c[winner].is_default) assert_true(c[winner].ratio_ppm <= 1000000);
    /* the 5 % bound holds against everything that might have won */
    if (winner >= 0 && c[i].ratio_ppm <= 1000000) assert_true(c[winner].ratio_ppm * 100 <= c[i].ratio_ppm * 105);
  }
  assert_true(winner != runner_up || winner < 0);
}

static void shuffle(rgt__random *r, set *s) {
  for (int i = s->n - 1; i > 0; i--) {
    int j = (int)rgt__random_below(r, (uint64_t)i + 1);
    rgt__winner_trial t = s->trials[i];
    s->trials[i] = s->trials[j];
    s->trials[j] = t;
  }
}

static void test_any_order_with_repeats(void **state) {
  (void)state;
  rgt__random r;
  rgt__random_seed(&r, 20240607);
  for (int round = 0; round < 400; round++) {
    static set s;
    char want[8192], got[8192];
    random_set(&r, &s);
    print_result(&s, want, sizeof want);
    for (int i = 0; i < 5; i++) {
      if (s.n < MAX) s.trials[s.n] = s.trials[rgt__random_below(&r, (uint64_t)s.n)], s.n++; /* a repetition */
      shuffle(&r, &s);
      print_result(&s, got, sizeof got);
      assert_string_equal(got, want);
    }
  }
}

/* The same trials stored in batches of any size and order, some of them twice, by way of the database. */
static void test_any_batches(void **state) {
  (void)state;
  rgt__random r;
  rgt__random_seed(&r, 7);
  rgt__tunedb_signature sig = make_signature();
  for (int round = 0; round < 12; round++) {
    static set s;
    random_set(&r, &s);
    char want[512] = "", got[512];
    for (int way = 0; way < 4; way++) {
      rgt__tunedb *db = open_memory();
      shuffle(&r, &s);
      for (int i = 0; i < s.n;) {
        unsigned run = s.trials[i].run.bytes[0];
        rgt__tunedb_trial batch[MAX];
        int n = 0, most = 1 + (int)rgt__random_below(&r, 6);
        for (; i < s.n && n < most && s.trials[i].run.bytes[0] == run; i++) batch[n++] = *s.trials[i].trial;
        put(db, run, &sig, batch, n);
        if (rgt__random_below(&r, 3) == 0) put(db, run, &sig, batch, n);
      }
      rgt__tunedb_winner w;
      rgt_status status = rgt__tunedb_find(db, &sig, &cpu_place, NULL, &w, NULL);
      if (status == RGT_EMISS)
        strcpy(got, "none");
      else
        snprintf(got, sizeof got, "%s %lld %d %s %d", w.winner.params, (long long)w.winner.ratio_ppm, w.winner.n_runs,
                 w.has_runner_up ? w.runner_up.params : "-", w.n_trials);
      if (way == 0) strcpy(want, got);
      assert_string_equal(got, want);
      OK(rgt__tunedb_check(db, NULL));
      OK(rgt__tunedb_rebuild(db, NULL));
      OK(rgt__tunedb_check(db, NULL));
      rgt__tunedb_close(db);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_trials),
      cmocka_unit_test(test_most_samples_count),
      cmocka_unit_test(test_median_over_runs),
      cmocka_unit_test(test_newest_of_equal_starts),
      cmocka_unit_test(test_only_ok_trials_count),
      cmocka_unit_test(test_exclusion),
      cmocka_unit_test(test_smallest_ratio_wins),
      cmocka_unit_test(test_two_percent_ties),
      cmocka_unit_test(test_intervals_tie),
      cmocka_unit_test(test_intervals_tie_only_what_is_simpler),
      cmocka_unit_test(test_never_slower_than_the_default),
      cmocka_unit_test(test_ties_do_not_chain),
      cmocka_unit_test(test_any_order_with_repeats),
      cmocka_unit_test(test_any_batches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
