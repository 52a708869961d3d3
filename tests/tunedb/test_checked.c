/* test_checked.c -- what was checked here, under which conditions something was timed, and on which other devices. */
#include "fixture.h"
#include "tunedb/tunedb_local.h"

typedef struct seen {
  int n;
  char text[1000];
} seen;

static int take_checked(void *user, const rgt__tunedb_checked *c) {
  seen *s = user;
  size_t at = strlen(s->text);
  s->n++;
  snprintf(s->text + at, sizeof s->text - at, "%s %s %d\n", c->toolchain, c->driver, (int)c->outcome);
  return 0;
}

static int take_conditions(void *user, const char *toolchain, const char *driver, const rgt__digest *digest) {
  seen *s = user;
  size_t at = strlen(s->text);
  s->n++;
  snprintf(s->text + at, sizeof s->text - at, "%s|%s|%02x\n", toolchain, driver, digest->bytes[0]);
  return 0;
}

static int take_place(void *user, const rgt__tunedb_place *p) {
  seen *s = user;
  size_t at = strlen(s->text);
  s->n++;
  snprintf(s->text + at, sizeof s->text - at, "%s|%s\n", p->device_class, p->policy);
  return 0;
}

static void the_last_verdict_stands(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__error err = {""};
  seen s = {0};
  rgt__digest subject = make_digest(7), elsewhere = make_digest(8);
  rgt__tunedb_checked c = {.subject = subject,
                           .device_class = "cpu:x",
                           .template_digest = make_digest(9),
                           .toolchain = "cc 1",
                           .driver = "",
                           .outcome = RGT_TRIAL_WRONG};
  rgt__tunedb_variant_key(&(rgt__tunedb_variant){"tiles", 1, "n=1"}, &c.variant);
  OK(rgt__tunedb_check_put(db, &c, &err));
  c.outcome = RGT_TRIAL_OK;
  OK(rgt__tunedb_check_put(db, &c, &err));
  c.toolchain = "cc 2";
  c.outcome = RGT_TRIAL_CRASHED;
  OK(rgt__tunedb_check_put(db, &c, &err));
  OK(rgt__tunedb_check_list(db, &subject, "cpu:x", take_checked, &s, &err));
  assert_string_equal(s.text, "cc 1  0\ncc 2  4\n");
  OK(rgt__tunedb_check_list(db, &elsewhere, "cpu:x", take_checked, &s, &err));
  OK(rgt__tunedb_check_list(db, &subject, "cpu:y", take_checked, &s, &err));
  assert_int_equal(s.n, 2);
  c.toolchain = NULL;
  assert_int_equal(rgt__tunedb_check_put(db, &c, &err), RGT_EINVAL);
  OK(rgt__tunedb_check(db, &err));
  rgt__tunedb_close(db);
}

static void conditions_of_usable_times(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__error err = {""};
  seen s = {0};
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_trial trials[2] = {make_default(), make_trial("tiles", "n=1", 500000)};
  rgt__tunedb_run run = make_run(1);
  OK(rgt__tunedb_put(db, &run, &sig, &cpu_place, trials, 2, &err));
  run = make_run(2);
  run.toolchain = "gcc 13";
  run.driver = "550";
  trials[1].template_digest = make_digest(0x42);
  OK(rgt__tunedb_put(db, &run, &sig, &cpu_place, trials, 2, &err));
  run = make_run(3);
  run.toolchain = "gcc 14";
  trials[1].outcome = RGT_TRIAL_TIMED_OUT;
  OK(rgt__tunedb_put(db, &run, &sig, &cpu_place, trials, 2, &err));
  OK(rgt__tunedb_conditions(db, &sig, &cpu_place, &(rgt__tunedb_variant){"tiles", 1, "n=1"}, take_conditions, &s, &err));
  assert_int_equal(s.n, 2);
  assert_non_null(strstr(s.text, "gcc 12.2.0 build-id 1234 -O3||e9\n"));
  assert_non_null(strstr(s.text, "gcc 13|550|42\n"));
  s = (seen){0};
  OK(rgt__tunedb_conditions(db, &sig, &cpu_place, &(rgt__tunedb_variant){"tiles", 2, "n=1"}, take_conditions, &s, &err));
  assert_int_equal(s.n, 0);
  rgt__tunedb_close(db);
}

static void other_devices(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__error err = {""};
  seen s = {0};
  rgt__tunedb_signature sig = make_signature(), other = make_signature(), zipf = make_signature();
  rgt__tunedb_trial trials[2] = {make_default(), make_trial("tiles", "n=1", 500000)};
  rgt__tunedb_run run = make_run(1);
  const rgt__tunedb_place there = {"cpu:other:8", "warm:stream:threads=8"};
  put(db, 1, &sig, trials, 2);
  OK(rgt__tunedb_devices(db, &sig, &cpu_place, take_place, &s, &err));
  assert_int_equal(s.n, 0); /* only here */
  OK(rgt__tunedb_put(db, &run, &sig, &there, trials, 2, &err));
  other.bucket = 64;
  OK(rgt__tunedb_devices(db, &other, &cpu_place, take_place, &s, &err)); /* whatever the bucket */
  assert_string_equal(s.text, "cpu:other:8|warm:stream:threads=8\n");
  zipf.skew = "zipf";
  OK(rgt__tunedb_devices(db, &zipf, &cpu_place, take_place, &s, &err));
  assert_int_equal(s.n, 1);
  zipf.skew = "unknown";
  OK(rgt__tunedb_devices(db, &zipf, &cpu_place, take_place, &s, &err));
  assert_int_equal(s.n, 2);
  rgt__tunedb_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_last_verdict_stands), cmocka_unit_test(conditions_of_usable_times),
                                     cmocka_unit_test(other_devices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
