/* test_cuda_target.c -- targets by number and by name. */
#include "runtime/cuda_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_names(void **state) {
  static const char *const none[] = {"", "cpu", "sm_", "sm_0", "sm_9x", "sm_-90", "sm90", "compute_90", "sm_900000000000"};
  (void)state;
  assert_int_equal(rgt__cuda_target_number("sm_90"), 90);
  assert_int_equal(rgt__cuda_target_number("sm_120"), 120);
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) assert_int_equal(rgt__cuda_target_number(none[i]), 0);
}

static void test_facts(void **state) {
  static const int known[][2] = {{75, 65536}, {80, 166912}, {86, 101376}, {90, 232448}, {120, 101376}, {777, 49152}};
  rgt__target t;
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    rgt__cuda_target_make(known[i][0], &t);
    assert_string_equal(t.device, "cuda");
    assert_int_equal(rgt__cuda_target_number(t.name), known[i][0]);
    assert_int_equal(rgt__cuda_target_fact(&t, "sm"), known[i][0]);
    assert_int_equal(rgt__cuda_target_fact(&t, "shared_static_max"), 49152);
    assert_int_equal(rgt__cuda_target_fact(&t, "shared_optin_max"), known[i][1]);
    assert_int_equal(rgt__cuda_target_fact(&t, "nothing"), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_facts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
