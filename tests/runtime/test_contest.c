/* test_contest.c -- ratios, rounds and dropping, with a worker whose clock the test decides. */
#include "runtime/contest.h"

#include <limits.h>
#include <math.h>

#include "tests/support/scratch.h"

enum { N_MAX = 20, BATCH_MAX = 6, RECORD_MAX = 2000 };

/* A candidate's time is its `registers` field, in picoseconds, times what the machine does at the moment. */
typedef struct fake_worker {
  rgt__worker base;
  double step;       /* each sample is so much slower than the one before: 0.01 is 1 % of the first one */
  double batch_jump; /* every second batch takes so many times as long; 0: no jumps */
  double noise;      /* a share, uniform, both ways */
  rgt__random random;
  const rgt__candidate *invalid; /* gives -1 */
  int invalid_at;                /* only at this position of a batch; -1: any */
  int invalid_after;             /* only after so many batches */
  int fail_after;                /* batches; -1: never */
  int64_t loop_ps;
  int loop_fails;
  int n_samples, n_batches, n_loops;
  struct {
    int n;
    const rgt__candidate *c[BATCH_MAX];
  } record[RECORD_MAX];
} fake_worker;

static fake_worker worker;
static rgt__candidate *all, *baseline; /* [N_MAX]; the default variant */
static rgt__candidate *list[N_MAX];
static rgt__contest contest;
static rgt__error err;

static double wobble(void) {
  return worker.noise > 0 ? 1 + worker.noise * (2 * rgt__random_unit(&worker.random) - 1) : 1;
}

static rgt_status fake_round(rgt__worker *w, rgt__candidate *const *c, int n, rgt__worker_sample *samples, rgt__error *e) {
  assert_ptr_equal(w, &worker);
  assert_true(n >= 2 && n <= BATCH_MAX && worker.n_batches < RECORD_MAX);
  if (worker.fail_after >= 0 && worker.n_batches >= worker.fail_after) return rgt__error_set(e, RGT_EIO, "no more");
  worker.record[worker.n_batches].n = n;
  for (int i = 0; i < n; i++) {
    double factor = 1 + worker.step * worker.n_samples++;
    if (worker.batch_jump > 0 && worker.n_batches % 2) factor *= worker.batch_jump;
    worker.record[worker.n_batches].c[i] = c[i];
    samples[i] = (rgt__worker_sample){llround(c[i]->registers * factor * wobble()), 1};
    if (c[i] == worker.invalid && (worker.invalid_at < 0 || worker.invalid_at == i) && worker.n_batches >= worker.invalid_after)
      samples[i] = (rgt__worker_sample){-1, 0};
  }
  worker.n_batches++;
  return RGT_OK;
}

static rgt_status fake_loop(rgt__worker *w, rgt__worker_sample *sample, rgt__error *e) {
  assert_ptr_equal(w, &worker);
  if (worker.loop_fails) return rgt__error_set(e, RGT_EIO, "no loop");
  *sample = (rgt__worker_sample){worker.loop_ps < 0 ? -1 : worker.loop_ps + worker.n_loops, 1};
  worker.n_loops++;
  return RGT_OK;
}

static const rgt__worker_ops fake_ops = {.round = fake_round, .loop = fake_loop};

static int setup(void **state) {
  (void)state;
  memset(&worker, 0, sizeof worker);
  worker.base.ops = &fake_ops;
  worker.invalid_at = -1;
  worker.fail_after = -1;
  rgt__random_seed(&worker.random, 99);
  all = calloc(N_MAX, sizeof *all);
  baseline = calloc(1, sizeof *baseline);
  baseline->registers = 100000;
  for (int i = 0; i < N_MAX; i++) list[i] = &all[i];
  err.text[0] = 0;
  return 0;
}

static int teardown(void **state) {
  (void)state;
  rgt__contest_close(&contest);
  free(all);
  free(baseline);
  return 0;
}

static void open_contest(int n, const int *times, uint64_t seed) {
  for (int i = 0; i < n; i++) all[i].registers = times[i];
  assert_int_equal(rgt__contest_open(&worker.base, baseline, list, NULL, n, seed, &contest, &err), RGT_OK);
  assert_int_equal(contest.n, n);
}

static void rounds(int n) {
  assert_int_equal(rgt__contest_rounds(&contest, n, 0, NULL, NULL, &err), RGT_OK);
}

static int64_t ratio(int i) {
  rgt__score s;
  assert_int_equal(rgt__contest_score(&contest, i, &s), 1);
  return s.ratio.median;
}

/* ---- a modelled clock: everything is exact ---- */

static void test_exact(void **state) {
  (void)state;
  static const int times[] = {50000, 100000, 200000, 333333, 1, 77000};
  rgt__score s;
  rgt__interval base;
  open_contest(6, times, 5);
  rounds(5);
  for (int i = 0; i < 6; i++) {
    assert_int_equal(rgt__contest_score(&contest, i, &s), 1);
    assert_int_equal(s.time.n, 5);
    assert_int_equal(s.time.median, times[i]);
    assert_int_equal(s.time.low, times[i]);
    assert_int_equal(s.time.high, times[i]);
    assert_int_equal(s.ratio.n, 5);
    assert_int_equal(s.ratio.median, times[i] * 10);
    assert_int_equal(s.ratio.low, times[i] * 10);
    assert_int_equal(s.ratio.high, times[i] * 10);
  }
  assert_int_equal(rgt__contest_baseline(&contest, &base), 1);
  assert_int_equal(base.median, 100000);
  assert_int_equal(base.n, 10); /* two batches a round */
  assert_int_equal(rgt__contest_loop(&contest), 0);
}

/* The default is 2 ps before and 1 ps after: their mean is 1.5 ps, and a ratio is rounded, not cut off. */
static void test_rounding(void **state) {
  (void)state;
  static const int times[] = {2};
  rgt__interval base;
  baseline->registers = 2;
  worker.step = -0.25; /* factors 1, 0.75, 0.5: 2, 1.5 rounded to 2, 1 */
  open_contest(1, times, 1);
  rounds(1);
  assert_int_equal(contest.entrants[0].time_ps[0], 2);
  assert_int_equal(contest.entrants[0].ratio_ppm[0], 1333333);
  assert_int_equal(rgt__contest_baseline(&contest, &base), 1);
  assert_int_equal(base.median, 2);
}

static void test_clock_at_zero(void **state) {
  (void)state;
  static const int times[] = {5};
  baseline->registers = 0;
  open_contest(1, times, 1);
  rounds(1);
  assert_int_equal(ratio(0), 1000000); /* not infinite: nothing is known */
}

/* ---- a machine that changes its speed ---- */

static void test_jumps_cancel(void **state) {
  (void)state;
  static const int times[] = {50000, 120000, 80000, 100000, 250000};
  rgt__score s;
  worker.batch_jump = 3;
  open_contest(5, times, 7);
  rounds(8);
  int spread = 0;
  for (int i = 0; i < 5; i++) {
    assert_int_equal(rgt__contest_score(&contest, i, &s), 1);
    assert_int_equal(s.ratio.low, times[i] * 10);
    assert_int_equal(s.ratio.high, times[i] * 10);
    spread += s.time.high == 3 * s.time.low;
  }
  assert_true(spread >= 4); /* while the times themselves say nothing */
}

/* Ten times slower in the end than in the beginning. Within a batch the drift does not cancel in one round, but the order is
 * new each time, and the default stands on both sides. */
static void test_drift_cancels(void **state) {
  (void)state;
  static const int times[] = {50000, 100000, 98000, 200000};
  rgt__score s;
  worker.step = 0.005;
  open_contest(4, times, 11);
  rounds(120);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(rgt__contest_score(&contest, i, &s), 1);
    assert_true(fabs((double)s.ratio.median - times[i] * 10.0) < 0.01 * times[i] * 10.0);
    assert_true(s.time.high > s.time.low * 6 / 5);
  }
  assert_true(ratio(2) < ratio(1));
}

static void test_noise(void **state) {
  (void)state;
  static const int times[] = {80000, 90000, 80000, 160000};
  worker.noise = 0.1;
  open_contest(4, times, 3);
  rounds(100);
  for (int i = 0; i < 4; i++) assert_true(fabs((double)ratio(i) / (times[i] * 10.0) - 1) < 0.03);
  assert_true(ratio(0) < ratio(1) && ratio(2) < ratio(1) && ratio(1) < ratio(3));
  assert_int_equal(rgt__contest_settled(&contest), 0); /* two are equal: no number of rounds parts them */
  assert_int_equal(rgt__contest_drop(&contest, 1.5), 3);
  assert_int_equal(contest.entrants[3].alive, 0);
}

/* ---- order ---- */

/* Each round has everyone alive once, at most four between two samples of the default. */
static void test_order(void **state) {
  (void)state;
  int times[10], n_different = 0;
  int order[2][10];
  for (int i = 0; i < 10; i++) times[i] = 1000 + i;
  open_contest(10, times, 42);
  for (int round = 0; round < 20; round++) {
    int first = worker.n_batches, seen[10] = {0}, at = 0;
    rounds(1);
    assert_int_equal(worker.n_batches - first, 3); /* 4, 4, 2 */
    for (int b = first; b < worker.n_batches; b++) {
      int n = worker.record[b].n;
      assert_int_equal(n, b < first + 2 ? 6 : 4);
      assert_ptr_equal(worker.record[b].c[0], baseline);
      assert_ptr_equal(worker.record[b].c[n - 1], baseline);
      for (int i = 1; i < n - 1; i++) {
        int who = (int)(worker.record[b].c[i] - all);
        assert_true(who >= 0 && who < 10);
        seen[who]++;
        order[round % 2][at++] = who;
      }
    }
    for (int i = 0; i < 10; i++) assert_int_equal(seen[i], 1);
    if (round > 0) n_different += memcmp(order[0], order[1], sizeof order[0]) != 0;
  }
  assert_int_equal(n_different, 19);
  for (int i = 0; i < 10; i++) assert_int_equal(contest.entrants[i].time_ps[19], 1000 + i); /* each got its own sample */
}

static void test_seed(void **state) {
  (void)state;
  static const int times[] = {1, 2, 3, 4, 5, 6, 7};
  const rgt__candidate *first[3][BATCH_MAX];
  static const uint64_t seeds[] = {8, 8, 9};
  for (int t = 0; t < 3; t++) {
    worker.n_batches = 0;
    open_contest(7, times, seeds[t]);
    rounds(1);
    memcpy(first[t], worker.record[0].c, sizeof first[t]);
    if (t < 2) rgt__contest_close(&contest);
  }
  assert_memory_equal(first[0], first[1], sizeof first[0]);
  assert_memory_not_equal(first[0], first[2], sizeof first[0]);
}

static void test_indices(void **state) {
  (void)state;
  static const int indices[] = {30, 7};
  assert_int_equal(rgt__contest_open(&worker.base, baseline, list, indices, 2, 1, &contest, &err), RGT_OK);
  assert_int_equal(contest.entrants[0].index, 30);
  assert_int_equal(contest.entrants[1].index, 7);
  rgt__contest_close(&contest);
  assert_int_equal(rgt__contest_open(&worker.base, baseline, list, NULL, 2, 1, &contest, &err), RGT_OK);
  assert_int_equal(contest.entrants[1].index, 1);
}

/* ---- nobody, nothing yet ---- */

static void test_nobody(void **state) {
  (void)state;
  rgt__interval base;
  open_contest(0, NULL, 1);
  assert_int_equal(rgt__contest_baseline(&contest, &base), 0);
  rounds(0);
  assert_int_equal(worker.n_batches, 0);
  rounds(3); /* the default alone */
  assert_int_equal(worker.n_batches, 3);
  assert_int_equal(worker.record[0].n, 2);
  assert_int_equal(rgt__contest_baseline(&contest, &base), 1);
  assert_int_equal(base.n, 3);
  assert_int_equal(base.median, 100000);
  assert_int_equal(rgt__contest_drop(&contest, 1.0), 0);
  assert_int_equal(rgt__contest_settled(&contest), 1);
}

static void test_before_any_round(void **state) {
  (void)state;
  static const int times[] = {1, 2};
  rgt__score s;
  open_contest(2, times, 1);
  assert_int_equal(rgt__contest_score(&contest, 0, &s), 0);
  assert_int_equal(rgt__contest_drop(&contest, 1.0), 2); /* nobody is out without a sample */
  assert_int_equal(rgt__contest_settled(&contest), 1);
}

/* ---- what does not run ---- */

static void test_unusable(void **state) {
  (void)state;
  static const int times[] = {50000, 100, 90000};
  rgt__score s;
  worker.invalid = &all[1];
  open_contest(3, times, 2);
  rounds(3);
  assert_int_equal(contest.entrants[1].unusable, 1);
  assert_int_equal(contest.entrants[1].alive, 0);
  assert_int_equal(contest.entrants[1].n, 0);
  assert_int_equal(rgt__contest_score(&contest, 1, &s), 0);
  int asked = 0;
  for (int b = 0; b < worker.n_batches; b++)
    for (int i = 0; i < worker.record[b].n; i++) asked += worker.record[b].c[i] == &all[1];
  assert_int_equal(asked, 1);
  assert_int_equal(ratio(0), 500000);
  assert_int_equal(ratio(2), 900000);
  assert_int_equal(rgt__contest_drop(&contest, 2.0), 2);
}

/* One that ran and then does not any more (its memory went away) sets no bar for the others. */
static void test_unusable_later(void **state) {
  (void)state;
  static const int times[] = {50000, 100, 90000};
  worker.invalid = &all[1];
  worker.invalid_after = 2;
  open_contest(3, times, 2);
  rounds(4);
  assert_int_equal(contest.entrants[1].n, 2);
  assert_int_equal(contest.entrants[1].unusable, 1);
  assert_int_equal(rgt__contest_drop(&contest, 2.0), 2);
  assert_int_equal(contest.entrants[0].alive, 1);
}

static void test_default_invalid(void **state) {
  (void)state;
  static const int times[] = {5, 6};
  for (int at = 0; at <= 3; at += 3) { /* before, or after the two */
    worker.invalid = baseline;
    worker.invalid_at = at;
    open_contest(2, times, 1);
    assert_int_equal(rgt__contest_rounds(&contest, 1, 0, NULL, NULL, &err), RGT_EINTERNAL);
    assert_string_equal(err.text, "the default variant is not valid for this problem");
    assert_int_equal(contest.entrants[0].n, 0);
    assert_int_equal(contest.n_baseline, 0);
    rgt__contest_close(&contest);
  }
}

/* A worker whose child died of the default says so in its outcome. */
static void test_default_crashes(void **state) {
  (void)state;
  static const int times[] = {5, 6};
  worker.invalid = baseline;
  open_contest(2, times, 1);
  baseline->outcome = RGT_TRIAL_CRASHED;
  snprintf(baseline->text, sizeof baseline->text, "plain");
  snprintf(baseline->reason, sizeof baseline->reason, "SIGSEGV in timing");
  assert_int_equal(rgt__contest_rounds(&contest, 1, 0, NULL, NULL, &err), RGT_ECRASH);
  assert_string_equal(err.text, "the default variant plain: SIGSEGV in timing");
  assert_int_equal(contest.n_baseline, 0);
  baseline->outcome = RGT_TRIAL_OK;
}

static void test_worker_fails(void **state) {
  (void)state;
  static const int times[] = {5, 6};
  worker.fail_after = 3;
  open_contest(2, times, 1);
  assert_int_equal(rgt__contest_rounds(&contest, 10, 0, NULL, NULL, &err), RGT_EIO);
  assert_string_equal(err.text, "no more");
  assert_int_equal(contest.entrants[0].n, 3);
}

/* ---- stopping ---- */

static int stop_after(void *user) {
  int *left = user;
  return (*left)-- == 0;
}

static void test_stop(void **state) {
  (void)state;
  int times[10], left = 4; /* three batches a round: it stops after the first batch of the second round */
  rgt__score s;
  for (int i = 0; i < 10; i++) times[i] = 50000;
  open_contest(10, times, 4);
  assert_int_equal(rgt__contest_rounds(&contest, 5, 1, stop_after, &left, &err), RGT_EINTERRUPTED);
  assert_int_equal(worker.n_batches, 4);
  assert_int_equal(worker.n_loops, 1);
  int n_samples = 0;
  for (int i = 0; i < 10; i++) {
    n_samples += contest.entrants[i].n;
    assert_int_equal(rgt__contest_score(&contest, i, &s), 1);
    assert_int_equal(s.ratio.median, 500000);
  }
  assert_int_equal(n_samples, 14);
  assert_int_equal(contest.n_baseline, 4);
  left = 0;
  assert_int_equal(rgt__contest_rounds(&contest, 5, 0, stop_after, &left, &err), RGT_EINTERRUPTED);
  assert_int_equal(worker.n_batches, 4); /* at once */
  left = 0;
  assert_int_equal(rgt__contest_rounds(&contest, 0, 0, stop_after, &left, &err), RGT_OK); /* nothing to stop */
  rounds(1);                                                                              /* and it goes on */
  assert_int_equal(worker.n_batches, 7);
}

/* ---- dropping ---- */

static void test_drop(void **state) {
  (void)state;
  static const int times[] = {100000, 50000, 99999, 50001, 100001, 500000};
  open_contest(6, times, 6);
  rounds(3);
  assert_int_equal(rgt__contest_drop(&contest, 2.0), 4);
  assert_int_equal(contest.entrants[0].alive, 1); /* exactly twice the best is not above */
  assert_int_equal(contest.entrants[4].alive, 0);
  assert_int_equal(contest.entrants[5].alive, 0);
  assert_int_equal(contest.entrants[5].unusable, 0);
  rounds(2);
  assert_int_equal(contest.entrants[5].n, 3); /* out of the rounds, its samples kept */
  assert_int_equal(contest.entrants[0].n, 5);
  assert_int_equal(rgt__contest_drop(&contest, 1.0), 1); /* the best is never out */
  assert_int_equal(contest.entrants[1].alive, 1);
}

/* ---- settled ---- */

static void test_settled(void **state) {
  (void)state;
  static const int apart[] = {50000, 200000}, equal[] = {50000, 50000};
  worker.noise = 0.05;
  open_contest(2, apart, 1);
  rounds(20);
  assert_int_equal(rgt__contest_settled(&contest), 1);
  rgt__contest_close(&contest);
  open_contest(2, equal, 1);
  rounds(20);
  assert_int_equal(rgt__contest_settled(&contest), 0);
  contest.entrants[0].alive = contest.entrants[1].alive = 0; /* nobody left to part from */
  assert_int_equal(rgt__contest_settled(&contest), 1);
  rgt__contest_close(&contest);
  worker.noise = 0;
  open_contest(2, equal, 1);
  rounds(2);
  assert_int_equal(rgt__contest_settled(&contest), 0);
  rounds(1); /* three equal samples: a modelled clock, more of them say nothing new */
  assert_int_equal(rgt__contest_settled(&contest), 1);
}

/* ---- limits ---- */

static void test_most_rounds(void **state) {
  (void)state;
  static const int times[] = {50000, 60000, 70000, 80000, 90000};
  open_contest(5, times, 1);
  assert_int_equal(rgt__contest_rounds(&contest, RGT_CONTEST_ROUNDS_MAX + 72, 1, NULL, NULL, &err), RGT_OK);
  for (int i = 0; i < 5; i++) assert_int_equal(contest.entrants[i].n, RGT_CONTEST_ROUNDS_MAX);
  assert_true(contest.n_baseline <= contest.baseline_capacity);
  assert_int_equal(contest.n_baseline, 2 * RGT_CONTEST_ROUNDS_MAX + 72);
  assert_int_equal(contest.n_loop, RGT_CONTEST_ROUNDS_MAX);
  assert_int_equal(ratio(4), 900000);
}

static void test_loop(void **state) {
  (void)state;
  static const int times[] = {5};
  worker.loop_ps = 700;
  open_contest(1, times, 1);
  assert_int_equal(rgt__contest_rounds(&contest, 5, 1, NULL, NULL, &err), RGT_OK);
  assert_int_equal(contest.n_loop, 5);
  assert_int_equal(rgt__contest_loop(&contest), 702); /* of 700 .. 704 */
  rounds(1);
  assert_int_equal(worker.n_loops, 5);
  rgt__contest_close(&contest);
  worker.loop_ps = -1; /* there is none */
  open_contest(1, times, 1);
  assert_int_equal(rgt__contest_rounds(&contest, 3, 1, NULL, NULL, &err), RGT_OK);
  assert_int_equal(contest.n_loop, 0);
  assert_int_equal(rgt__contest_loop(&contest), 0);
  worker.loop_fails = 1;
  assert_int_equal(rgt__contest_rounds(&contest, 3, 1, NULL, NULL, &err), RGT_EIO);
  assert_string_equal(err.text, "no loop");
}

static void test_no_memory(void **state) {
  (void)state;
  int failures = 0;
  rgt__contest opened;
  memset(&opened, 0x33, sizeof opened);
  rgt__contest before = opened;
  for (int n = 0; n < 50; n++) {
    scratch_fail_after(n);
    rgt_status status = rgt__contest_open(&worker.base, baseline, list, NULL, 3, 1, &opened, &err);
    scratch_fail_never();
    if (status == RGT_OK) break;
    assert_int_equal(status, RGT_ENOMEM);
    assert_memory_equal(&opened, &before, sizeof opened);
    failures++;
  }
  assert_int_equal(failures, 4 + 3 * 2);
  scratch_fail_after(0);
  assert_int_equal(rgt__contest_rounds(&opened, 1, 0, NULL, NULL, &err), RGT_ENOMEM);
  scratch_fail_never();
  rgt__contest_close(&opened);
  rgt__contest_close(&opened); /* closed already: nothing happens */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_exact),
                                     TEST(test_rounding),
                                     TEST(test_clock_at_zero),
                                     TEST(test_jumps_cancel),
                                     TEST(test_drift_cancels),
                                     TEST(test_noise),
                                     TEST(test_order),
                                     TEST(test_seed),
                                     TEST(test_indices),
                                     TEST(test_nobody),
                                     TEST(test_before_any_round),
                                     TEST(test_unusable),
                                     TEST(test_unusable_later),
                                     TEST(test_default_invalid),
                                     TEST(test_default_crashes),
                                     TEST(test_worker_fails),
                                     TEST(test_stop),
                                     TEST(test_drop),
                                     TEST(test_settled),
                                     TEST(test_most_rounds),
                                     TEST(test_loop),
                                     TEST(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
