/* test_list.c -- going through trials (to resume a search) and winners. */
#include "fixture.h"

typedef struct seen {
  char text[1024];
  int n, stop_at;
  rgt__tunedb *db;
} seen;

static int see_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  seen *s = user;
  size_t n = strlen(s->text);
  snprintf(s->text + n, sizeof s->text - n, "%lld %s:%s %d %lld;", (long long)run->started_utc_s - 1700000000, t->family,
           t->params, (int)t->outcome, (long long)t->time_ps);
  s->n++;
  return s->n == s->stop_at;
}

static void test_trials_oldest_run_first(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature(), other = make_signature();
  rgt__tunedb_trial a = make_trial("tiles", "a", 500000), b = make_trial("tiles", "b", 600000), c = a;
  c.outcome = RGT_TRIAL_CRASHED;
  c.params = "c";
  c.reason = "signal 11";
  other.bucket = 16;
  put(db, 5, &sig, &b, 1);
  put(db, 2, &sig, &c, 1);
  put(db, 3, &other, &b, 1);
  put(db, 4, &sig, &a, 1);
  seen s = {.n = 0};
  OK(rgt__tunedb_trials(db, &sig, &cpu_place, see_trial, &s, NULL));
  assert_string_equal(s.text, "2 tiles:c 4 0;4 tiles:a 0 500000;5 tiles:b 0 600000;");
  s = (seen){.stop_at = 2};
  OK(rgt__tunedb_trials(db, &sig, &cpu_place, see_trial, &s, NULL));
  assert_int_equal(s.n, 2);
  s = (seen){.n = 0};
  sig.bucket = 32;
  OK(rgt__tunedb_trials(db, &sig, &cpu_place, see_trial, &s, NULL));
  assert_int_equal(s.n, 0);
  assert_int_equal(rgt__tunedb_trials(db, &sig, &cpu_place, NULL, &s, NULL), RGT_EINVAL);
  sig.text = NULL;
  assert_int_equal(rgt__tunedb_trials(db, &sig, &cpu_place, see_trial, &s, NULL), RGT_EINVAL);
  rgt__tunedb_close(db);
}

/* Every field comes back as it went in. */
static rgt__tunedb_trial wanted;
static int compare_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  rgt__tunedb_run want = make_run(6);
  assert_memory_equal(&run->id, &want.id, 32);
  assert_string_equal(run->toolchain, want.toolchain);
  assert_string_equal(run->driver, want.driver);
  assert_string_equal(run->conditions, want.conditions);
  assert_string_equal(run->version, want.version);
  assert_int_equal(run->started_utc_s, want.started_utc_s);
  assert_string_equal(t->family, wanted.family);
  assert_string_equal(t->params, wanted.params);
  assert_string_equal(t->reason, wanted.reason);
  assert_string_equal(t->numeric_class, wanted.numeric_class);
  rgt__tunedb_trial same = *t;
  same.family = wanted.family;
  same.params = wanted.params;
  same.reason = wanted.reason;
  same.numeric_class = wanted.numeric_class;
#define SAME(field) assert_memory_equal(&same.field, &wanted.field, sizeof same.field)
  SAME(revision), SAME(rank), SAME(is_default), SAME(template_digest), SAME(code), SAME(outcome), SAME(final);
  SAME(time_ps), SAME(low_ps), SAME(high_ps), SAME(default_ps), SAME(ratio_ppm), SAME(ratio_low_ppm), SAME(ratio_high_ppm);
  SAME(n_samples), SAME(error_share), SAME(p1), SAME(p2), SAME(u_h), SAME(alpha), SAME(beta);
#undef SAME
  (*(int *)user)++;
  return 0;
}

static void test_fields_come_back(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  int n = 0;
  wanted = make_trial("tiles", "", 123);
  wanted.revision = -7;
  wanted.rank = 2147483647;
  wanted.final = 1;
  wanted.time_ps = 1000000000000000000;
  wanted.low_ps = 1;
  wanted.high_ps = 1000000000000000000;
  wanted.default_ps = 77;
  wanted.ratio_low_ppm = 121;
  wanted.ratio_high_ppm = 1000000000000;
  wanted.n_samples = 2147483647;
  wanted.error_share = 0.1;
  wanted.p1 = 5e-324; /* the smallest double */
  wanted.p2 = 1.7976931348623157e308;
  wanted.u_h = 3; /* a whole number: kept as one in the file, a double again when read */
  wanted.alpha = 1.0 / 3;
  wanted.numeric_class = "";
  put(db, 6, &sig, &wanted, 1);
  OK(rgt__tunedb_trials(db, &sig, &cpu_place, compare_trial, &n, NULL));
  assert_int_equal(n, 1);
  OK(rgt__tunedb_check(db, NULL));
  rgt__tunedb_close(db);
}

/* A callback may store. */
static int put_in_callback(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  (void)run;
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial more = make_trial("tiles", "more", t->ratio_ppm + 1000);
  put(user, 9, &sig, &more, 1);
  return 0;
}

static void test_callback_may_store(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial t[2] = {make_trial("tiles", "a", 500000), make_trial("tiles", "b", 600000)};
  put(db, 1, &sig, t, 2);
  OK(rgt__tunedb_trials(db, &sig, &cpu_place, put_in_callback, db, NULL));
  assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 4);
  rgt__tunedb_close(db);
}

static int see_winner(void *user, const rgt__tunedb_winner *w) {
  seen *s = user;
  size_t n = strlen(s->text);
  snprintf(s->text + n, sizeof s->text - n, "%s %s %s %lld;", w->signature, w->device_class, w->winner.params,
           (long long)w->winner.ratio_ppm);
  assert_int_equal(w->exact, 1);
  s->n++;
  return s->n == s->stop_at;
}

static void test_winners_by_text(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_run run = make_run(1);
  rgt__tunedb_place gpu = {"gpu:test", "warm:stream"};
  rgt__tunedb_trial a = make_trial("tiles", "a", 500000), b = make_trial("tiles", "b", 400000), bad = b;
  sig.text = "2nd";
  OK(rgt__tunedb_put(db, &run, &sig, &gpu, &b, 1, NULL));
  put(db, 1, &sig, &a, 1);
  sig.text = "1st";
  put(db, 1, &sig, &a, 1);
  put(db, 2, &sig, &b, 1);
  sig.text = "3rd, without a winner";
  bad.outcome = RGT_TRIAL_INFEASIBLE;
  put(db, 1, &sig, &bad, 1);
  seen s = {.n = 0};
  OK(rgt__tunedb_list(db, see_winner, &s, NULL));
  assert_string_equal(s.text, "1st cpu:test:2 b 400000;2nd cpu:test:2 a 500000;2nd gpu:test b 400000;");
  s = (seen){.stop_at = 1};
  OK(rgt__tunedb_list(db, see_winner, &s, NULL));
  assert_int_equal(s.n, 1);
  assert_int_equal(rgt__tunedb_list(db, NULL, NULL, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_list(NULL, see_winner, &s, NULL), RGT_EINVAL);
  rgt__tunedb_close(db);
}

static int see_miss(void *user, const rgt__tunedb_missed *m) {
  seen *s = user;
  size_t n = strlen(s->text);
  snprintf(s->text + n, sizeof s->text - n, "%s %s %lld;", m->signature, m->device_class, (long long)m->n);
  assert_true(m->last_utc_s > 1700000000);
  s->n++;
  return s->n == s->stop_at;
}

/* The most wanted first; what has a winner by now is wanted no more. */
static void test_misses(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_signature a = make_signature(), b = make_signature(), c = make_signature();
  a.text = "1st";
  b.text = "2nd";
  c.text = "3rd";
  for (int i = 0; i < 2; i++) OK(rgt__tunedb_miss(db, &a, &cpu_place, NULL));
  for (int i = 0; i < 3; i++) OK(rgt__tunedb_miss(db, &b, &cpu_place, NULL));
  for (int i = 0; i < 9; i++) OK(rgt__tunedb_miss(db, &c, &cpu_place, NULL));
  rgt__tunedb_trial won = make_trial("tiles", "a", 500000);
  put(db, 1, &c, &won, 1);
  seen s = {.n = 0};
  OK(rgt__tunedb_misses(db, see_miss, &s, NULL));
  assert_string_equal(s.text, "2nd cpu:test:2 3;1st cpu:test:2 2;");
  s = (seen){.stop_at = 1};
  OK(rgt__tunedb_misses(db, see_miss, &s, NULL));
  assert_int_equal(s.n, 1);
  assert_int_equal(rgt__tunedb_misses(db, NULL, NULL, NULL), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_misses(NULL, see_miss, &s, NULL), RGT_EINVAL);
  rgt__tunedb_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trials_oldest_run_first),
      cmocka_unit_test(test_fields_come_back),
      cmocka_unit_test(test_callback_may_store),
      cmocka_unit_test(test_winners_by_text),
      cmocka_unit_test(test_misses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
