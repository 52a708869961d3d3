/* test_error.c -- the message is one line, whole or visibly cut, and may be made of itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runtime/base/error.h"

static void set_and_prefix(void **state) {
  (void)state;
  rgt__error e = {{0}};
  assert_int_equal(rgt__error_set(&e, RGT_EINVAL, "--in: %s is no number from 1 to %d", "x", 7), RGT_EINVAL);
  assert_string_equal(e.text, "--in: x is no number from 1 to 7");
  assert_int_equal(rgt__error_prefix(&e, RGT_EIO, "file %s", "a"), RGT_EIO);
  assert_string_equal(e.text, "file a: --in: x is no number from 1 to 7");
  rgt__error_set(&e, RGT_EIO, "again (%s)", e.text);
  assert_string_equal(e.text, "again (file a: --in: x is no number from 1 to 7)");
  e.text[0] = 0;
  rgt__error_prefix(&e, RGT_EIO, "alone");
  assert_string_equal(e.text, "alone");
}

static void null_is_allowed(void **state) {
  (void)state;
  assert_int_equal(rgt__error_set(NULL, RGT_EDB, "x %d", 1), RGT_EDB);
  assert_int_equal(rgt__error_prefix(NULL, RGT_EDB, "x"), RGT_EDB);
  assert_int_equal(rgt__error_nomem(NULL, 5), RGT_ENOMEM);
}

static void nomem(void **state) {
  (void)state;
  rgt__error e;
  assert_int_equal(rgt__error_nomem(&e, 123), RGT_ENOMEM);
  assert_string_equal(e.text, "out of memory: 123 bytes were asked for");
}

static void one_line(void **state) {
  (void)state;
  rgt__error e;
  rgt__error_set(&e, RGT_EIO, "%s", "a\nb\r\n\nc\td\x1b[1me\n");
  assert_string_equal(e.text, "a; b; c d [1me");
  rgt__error_set(&e, RGT_EIO, "%s", "\n");
  assert_string_equal(e.text, "");
  rgt__error_set(&e, RGT_EIO, "%s",
                 "gr\xc3\xb6\xc3\x9f"
                 "e"); /* UTF-8 stays */
  assert_string_equal(e.text, "gr\xc3\xb6\xc3\x9f"
                              "e");
}

static void cut(void **state) {
  (void)state;
  rgt__error e;
  char exact[1021], more[5001];
  memset(exact, 'x', 1020);
  exact[1020] = 0;
  memset(more, 'y', 5000);
  more[5000] = 0;
  rgt__error_set(&e, RGT_EIO, "%s", exact);
  assert_string_equal(e.text, exact);
  rgt__error_set(&e, RGT_EIO, "%s", more);
  assert_int_equal(strlen(e.text), 1023);
  assert_string_equal(e.text + 1018, "yy...");
  rgt__error_prefix(&e, RGT_EIO, "%s", more);
  assert_int_equal(strlen(e.text), 1023);
  assert_string_equal(e.text + 1018, "yy...");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(set_and_prefix), cmocka_unit_test(null_is_allowed),
                                     cmocka_unit_test(nomem), cmocka_unit_test(one_line), cmocka_unit_test(cut)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
