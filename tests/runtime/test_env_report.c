/* test_env_report.c -- rgt_env: every line once, with the surroundings as they are and as they are not. */
#include "tests/support/front.h"

static front f;

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  front_open(&f);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

typedef struct lines {
  int n;
  char text[100][800]; /* "section/name=value" */
} lines;

static lines l;

static void take(void *user, const char *section, const char *name, const char *value) {
  lines *to = user;
  assert_true(to->n < 100 && section[0] && name[0] && value);
  assert_null(strchr(value, '\n'));
  snprintf(to->text[to->n++], sizeof to->text[0], "%s/%s=%s", section, name, value);
}

static const char *value_of(const char *key) {
  const char *found = NULL;
  size_t n = strlen(key);
  for (int i = 0; i < l.n; i++)
    if (strncmp(l.text[i], key, n) == 0 && l.text[i][n] == '=') {
      if (found) fail_msg("%s is given twice", key);
      found = l.text[i] + n + 1;
    }
  if (!found) fail_msg("%s is not given", key);
  return found;
}

static void read_all(void) {
  l.n = 0;
  front_ok(&f, rgt_env(f.ctx, NULL, take, &l));
}

static void one_section_alone(void **state) {
  (void)state;
  l.n = 0;
  front_ok(&f, rgt_env(f.ctx, "compiler", take, &l));
  assert_true(l.n > 0);
  for (int i = 0; i < l.n; i++) assert_int_equal(strncmp(l.text[i], "compiler/", 9), 0);
  l.n = 0;
  front_fails(&f, rgt_env(f.ctx, "compilers", take, &l), RGT_EINVAL, "section \"compilers\" is unknown: ragtune, device");
  assert_int_equal(l.n, 0);
}

static void the_usual_surroundings(void **state) {
  (void)state;
  read_all();
  assert_string_equal(value_of("ragtune/version"), RGT_VERSION);
  assert_string_equal(value_of("ragtune/mode"), "cache");
  assert_string_equal(value_of("device/kind"), "cpu");
  assert_true(atoi(value_of("device/threads")) >= 1);
  assert_true(atoi(value_of("device/free memory, MiB")) > 0);
  assert_true(value_of("device/class")[0] && value_of("device/target")[0]);
  assert_string_equal(value_of("compiler/program"), f.compiler);
  assert_true(value_of("compiler/toolchain")[0]);
  assert_string_equal(value_of("files/tuned database"), f.db);
  assert_string_equal(value_of("files/code cache"), f.cache);
  assert_string_equal(value_of("files/templates"), "built in");
  assert_string_equal(value_of("files/worker"), RGT_WORKER);
  for (int i = 0; i < RGT_N_ENVIRONMENT; i++) {
    char key[80];
    snprintf(key, sizeof key, "environment/%s", rgt__environment_label((rgt__environment_name)i));
    assert_true(value_of(key)[0]);
  }
  assert_string_equal(value_of("environment/HOME"), f.home);
  assert_string_equal(value_of("environment/RAGTUNE_DB"), "unset");
  assert_string_equal(rgt_errmsg(f.ctx), "");
}

static void what_is_missing_is_said(void **state) {
  (void)state;
  setenv("RAGTUNE_CC", "none", 1);
  setenv("RAGTUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  setenv("RAGTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
  setenv("RAGTUNE_WORKER", "none", 1);
  rgt_options o = front_options(&f);
  o.mode = "off";
  o.cache_dir = "/dev/null/cache";
  o.template_dir = "/some/templates";
  front_ok(&f, front_open_with(&f, &o));
  read_all();
  assert_string_equal(value_of("ragtune/mode"), "off");
  assert_has(value_of("compiler/toolchain"), "no C compiler");
  assert_has(value_of("files/worker"), "RAGTUNE_WORKER=none");
  assert_has(value_of("cuda/nvrtc"), "/nowhere/libnvrtc.so");
  assert_has(value_of("cuda/driver"), "/nowhere/libcuda.so.1");
  assert_string_equal(value_of("files/code cache"), "none");
  assert_string_equal(value_of("files/templates"), "/some/templates");
  assert_string_equal(value_of("environment/RAGTUNE_CC"), "none");
  assert_string_equal(rgt_errmsg(f.ctx), ""); /* asking is no failure */
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {TEST(the_usual_surroundings), TEST(one_section_alone), TEST(what_is_missing_is_said)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
