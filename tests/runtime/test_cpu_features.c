/* test_cpu_features.c -- targets by limit and by name, and the device class. */
#include "runtime/cpu_features.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
  const char *word, *name;
  int lanes, fma;
} levels[] = {{"plain", "plain", 4, 0}, {"avx2", "x86-64-avx2", 8, 1}, {"avx512", "x86-64-avx512", 16, 1}};

static void check_target(const rgt__target *t, int level) {
  assert_string_equal(t->device, "cpu");
  assert_string_equal(t->name, levels[level].name);
  assert_int_equal(t->n_facts, 2);
  assert_string_equal(t->facts[0].name, "lanes_max");
  assert_int_equal(t->facts[0].value, levels[level].lanes);
  assert_string_equal(t->facts[1].name, "has_fma");
  assert_int_equal(t->facts[1].value, levels[level].fma);
}

static int level_of(const rgt__target *t) {
  for (int i = 0; i < 3; i++)
    if (strcmp(t->name, levels[i].name) == 0) return i;
  return -1;
}

static void test_by_name(void **state) {
  (void)state;
  rgt__target t;
  rgt__error err = {""};
  for (int i = 0; i < 3; i++) {
    memset(&t, 0xAA, sizeof t);
    assert_int_equal(rgt__cpu_target_by_name(levels[i].name, &t, &err), RGT_OK);
    check_target(&t, i);
  }
  assert_int_equal(rgt__cpu_target_by_name("avx2", &t, &err), RGT_EINVAL); /* the limit's word is no target */
  assert_string_equal(err.text, "target \"avx2\" is no CPU target: plain, x86-64-avx2 or x86-64-avx512");
  check_target(&t, 2); /* as it was */
}

/* A limit lowers what this processor has, and never raises it. */
static void test_limit(void **state) {
  (void)state;
  rgt__target most, t;
  rgt__error err = {""};
  assert_int_equal(rgt__cpu_target(NULL, &most, &err), RGT_OK);
  int here = level_of(&most);
  assert_true(here >= 0);
  check_target(&most, here);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(rgt__cpu_target(levels[i].word, &t, &err), RGT_OK);
    check_target(&t, i < here ? i : here);
  }
  assert_int_equal(rgt__cpu_target("sse9", &t, &err), RGT_EINVAL);
  assert_string_equal(err.text, "RAGTUNE_CPU is \"sse9\"; it can be plain, avx2 or avx512");
#if defined __x86_64__
  int wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq");
  int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  assert_int_equal(here, !avx2 ? 0 : wide ? 2 : 1);
#else
  assert_int_equal(here, 0);
#endif
}

static void test_class(void **state) {
  (void)state;
  rgt__target most, plain;
  char full[256], limited[256], cut[8], other[256];
  assert_int_equal(rgt__cpu_target(NULL, &most, NULL), RGT_OK);
  assert_int_equal(rgt__cpu_target("plain", &plain, NULL), RGT_OK);
  rgt__cpu_class(&most, 3, full, sizeof full);
  rgt__cpu_class(&most, 4, other, sizeof other);
  char who[64], model[64], version[8], features[128], cores[32], rest[2];
  assert_int_equal(sscanf(full, "cpu:%63[^:]:%63[^:]:%7[^:]:%127[^:]:%31[^:]%1s", who, model, version, features, cores, rest),
                   5);
  assert_string_equal(version, "f1");
  assert_string_equal(cores, "cores=3");
  assert_string_equal(other + strlen(other) - 7, "cores=4");
  assert_memory_equal(full, other, strlen(full) - 1);
#if defined __x86_64__
  unsigned numbers[3];
  assert_int_equal(sscanf(model, "%u-%u-%u", &numbers[0], &numbers[1], &numbers[2]), 3);
  int has_avx2 = 0;
  for (char *word = strtok(features, "+"); word; word = strtok(NULL, "+")) has_avx2 |= strcmp(word, "avx2") == 0;
  assert_int_equal(has_avx2, __builtin_cpu_supports("avx2") != 0);
#endif
  rgt__cpu_class(&plain, 3, limited, sizeof limited);
  if (strcmp(most.name, "plain") != 0) { /* a limited processor is another device */
    assert_non_null(strstr(limited, ":only-plain:cores=3"));
    assert_string_not_equal(limited, full);
  } else {
    assert_string_equal(limited, full);
  }
  rgt__cpu_class(&most, 3, cut, sizeof cut);
  assert_memory_equal(cut, full, 7);
  assert_int_equal(cut[7], 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_name), cmocka_unit_test(test_limit),
                                     cmocka_unit_test(test_class)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
