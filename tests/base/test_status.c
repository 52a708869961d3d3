/* test_status.c -- every status has its own name and a text; others have one too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runtime/ragtune.h"

static void named(void **state) {
  (void)state;
  assert_int_equal(RGT_OK, 0); /* callers write `if (status)` */
  assert_string_equal(rgt_status_name(RGT_OK), "RGT_OK");
  assert_string_equal(rgt_status_name(RGT_EINDEX), "RGT_EINDEX");
  assert_string_equal(rgt_status_name(RGT_EINTERNAL), "RGT_EINTERNAL");
  assert_string_equal(rgt_status_text(RGT_EINDEX), "an index lies outside [-1, groups)");
  assert_int_equal(RGT_EINTERNAL, RGT_N_STATUSES - 1);
}

static void all_differ(void **state) {
  (void)state;
  for (int i = 0; i < RGT_N_STATUSES; i++) {
    assert_memory_equal(rgt_status_name((rgt_status)i), "RGT_", 4);
    assert_true(strlen(rgt_status_text((rgt_status)i)) > 0);
    for (int j = 0; j < i; j++) {
      assert_string_not_equal(rgt_status_name((rgt_status)i), rgt_status_name((rgt_status)j));
      assert_string_not_equal(rgt_status_text((rgt_status)i), rgt_status_text((rgt_status)j));
    }
  }
}

static void unknown(void **state) {
  (void)state;
  assert_string_equal(rgt_status_name((rgt_status)RGT_N_STATUSES), "RGT_?");
  assert_string_equal(rgt_status_name((rgt_status)-1), "RGT_?");
  assert_string_equal(rgt_status_text((rgt_status)12345), "a status that this version does not know");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(named), cmocka_unit_test(all_differ), cmocka_unit_test(unknown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
