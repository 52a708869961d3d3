/* test_wish.c -- pins and bans: stored, found, taken back, refused when they make no sense. */
#include "fixture.h"
#include "tunedb/tunedb_local.h"

static rgt__tunedb_wish wish(const char *params) {
  return (rgt__tunedb_wish){.signature = make_signature(),
                            .device_class = cpu_place.device_class,
                            .variant = {"tiles", 1, params},
                            .reason = "because"};
}

typedef struct seen {
  int n, stop_after;
  char text[1000];
} seen;

static int take(void *user, const rgt__tunedb_wish *w) {
  seen *s = user;
  size_t at = strlen(s->text);
  s->n++;
  assert_true(w->made_utc_s > 1700000000);
  snprintf(s->text + at, sizeof s->text - at, "%s|%s|%s:%s|%s\n", w->signature.text ? w->signature.text : "", w->device_class,
           w->variant.family, w->variant.params, w->reason);
  if (w->signature.text) {
    assert_int_equal(w->signature.bucket, 8);
    assert_string_equal(w->signature.skew, "uniform");
    assert_string_equal(w->signature.form, "stacked");
    assert_int_equal(w->signature.align_bytes, 4);
  }
  return s->n == s->stop_after;
}

static void a_pin(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_wish w = wish("n=1"), other = wish("n=2");
  rgt__error err = {""};
  seen s = {0};
  OK(rgt__tunedb_pin(db, &w, &err));
  OK(rgt__tunedb_pin(db, &other, &err)); /* in place of the first */
  OK(rgt__tunedb_pins(db, w.signature.op_text, w.device_class, take, &s, &err));
  assert_int_equal(s.n, 1);
  assert_non_null(strstr(s.text, "tiles:n=2|because"));
  s = (seen){0};
  OK(rgt__tunedb_pins(db, "linear:4-8:g4:f32:none:b0:nk:i64", NULL, take, &s, &err));
  OK(rgt__tunedb_pins(db, NULL, "another class", take, &s, &err));
  assert_int_equal(s.n, 0);
  OK(rgt__tunedb_pins(db, NULL, NULL, take, &s, &err));
  assert_int_equal(s.n, 1);
  OK(rgt__tunedb_check(db, &err));
  OK(rgt__tunedb_unpin(db, &w, &err));
  assert_int_equal(rgt__tunedb_unpin(db, &w, &err), RGT_EMISS);
  assert_non_null(strstr(err.text, "no such pin"));
  assert_int_equal(ask(db, "SELECT count(*) FROM pin"), 0);
  rgt__tunedb_close(db);
}

static void a_ban(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_wish w = wish("n=1"), other = wish("n=2");
  rgt__error err = {""};
  seen s = {.stop_after = 1};
  OK(rgt__tunedb_ban(db, &w, &err));
  OK(rgt__tunedb_ban(db, &w, &err));
  OK(rgt__tunedb_ban(db, &other, &err));
  OK(rgt__tunedb_bans(db, NULL, take, &s, &err));
  assert_int_equal(s.n, 1); /* stopped */
  s = (seen){0};
  OK(rgt__tunedb_bans(db, w.device_class, take, &s, &err));
  assert_string_equal(s.text, "|cpu:test:2|tiles:n=1|because\n|cpu:test:2|tiles:n=2|because\n");
  other.device_class = "another class";
  assert_int_equal(rgt__tunedb_unban(db, &other, &err), RGT_EMISS);
  OK(rgt__tunedb_unban(db, &w, &err));
  assert_int_equal(ask(db, "SELECT count(*) FROM ban"), 1);
  OK(rgt__tunedb_check(db, &err));
  rgt__tunedb_close(db);
}

static void refusals(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  char longer[400];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  rgt__tunedb_wish w = wish(longer);
  rgt__error err = {""};
  assert_int_equal(rgt__tunedb_pin(db, &w, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "params has 399 bytes"));
  w = wish("n=1");
  w.device_class = "";
  assert_int_equal(rgt__tunedb_ban(db, &w, &err), RGT_EINVAL);
  w = wish("n=1");
  w.signature.bucket = 0;
  assert_int_equal(rgt__tunedb_pin(db, &w, &err), RGT_EINVAL);
  w = wish("n=1");
  w.reason = NULL;
  assert_int_equal(rgt__tunedb_ban(db, &w, &err), RGT_EINVAL);
  assert_int_equal(rgt__tunedb_pins(db, NULL, NULL, NULL, NULL, &err), RGT_EINVAL);
  assert_int_equal(ask(db, "SELECT (SELECT count(*) FROM pin) + (SELECT count(*) FROM ban) + (SELECT count(*) FROM variant)"),
                   0);
  rgt__tunedb_close(db);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_pin), cmocka_unit_test(a_ban), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
