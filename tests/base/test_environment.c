/* test_environment.c -- read once, empty counts as unset, everything copied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runtime/base/environment.h"

static void reads(void **state) {
  (void)state;
  rgt__environment env;
  setenv("RAGTUNE_DEVICE", "cuda:1", 1);
  setenv("RAGTUNE_DB", "", 1);
  unsetenv("RAGTUNE_MODE");
  setenv("HOME", "/somewhere", 1);
  assert_int_equal(rgt__environment_read(&env, NULL), RGT_OK);
  setenv("RAGTUNE_DEVICE", "cpu", 1); /* too late */
  assert_string_equal(rgt__environment_get(&env, RGT_ENV_RAGTUNE_DEVICE), "cuda:1");
  assert_null(rgt__environment_get(&env, RGT_ENV_RAGTUNE_DB));
  assert_null(rgt__environment_get(&env, RGT_ENV_RAGTUNE_MODE));
  assert_string_equal(rgt__environment_get(&env, RGT_ENV_HOME), "/somewhere");
  rgt__environment_free(&env);
  assert_null(rgt__environment_get(&env, RGT_ENV_HOME));
  rgt__environment_free(NULL);
}

static void labels(void **state) {
  (void)state;
  assert_string_equal(rgt__environment_label(RGT_ENV_RAGTUNE_DEVICE), "RAGTUNE_DEVICE");
  assert_string_equal(rgt__environment_label(RGT_ENV_TMPDIR), "TMPDIR");
  assert_string_equal(rgt__environment_about(RGT_ENV_RAGTUNE_CACHE), "folder of compiled code");
  for (int i = 0; i < RGT_N_ENVIRONMENT; i++) {
    rgt__environment env;
    const char *label = rgt__environment_label((rgt__environment_name)i);
    setenv(label, "just-this", 1);
    rgt__environment_read(&env, NULL);
    assert_string_equal(rgt__environment_get(&env, (rgt__environment_name)i), "just-this");
    rgt__environment_free(&env);
    unsetenv(label);
  }
}

static int left;
static void *limited(void *user, void *p, size_t bytes) {
  (void)user;
  if (!bytes) {
    free(p);
    return NULL;
  }
  return left-- > 0 ? realloc(p, bytes) : NULL;
}

/* The second copy fails: nothing leaks (the sanitizer looks), nothing is written. */
static void no_memory(void **state) {
  (void)state;
  rgt__environment env = {.values = {(char *)state}}, before = env;
  rgt__error err;
  setenv("RAGTUNE_DEVICE", "cpu", 1);
  setenv("RAGTUNE_DB", "abc", 1);
  left = 1;
  rgt_set_alloc(limited, NULL);
  assert_int_equal(rgt__environment_read(&env, &err), RGT_ENOMEM);
  rgt_set_alloc(NULL, NULL);
  assert_string_equal(err.text, "out of memory: 4 bytes were asked for");
  assert_memory_equal(&env, &before, sizeof env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reads), cmocka_unit_test(labels), cmocka_unit_test(no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
