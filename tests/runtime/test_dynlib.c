/* test_dynlib.c -- libraries by dlopen, with reasons. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/dynlib.h"

typedef struct table {
  double (*unused)(double);
  double (*cosine)(double);
  double (*sine)(double);
} table;

static void test_symbols_into_a_table(void **state) {
  static const rgt__dynlib_symbol symbols[] = {{"sin", offsetof(table, sine)}, {"cos", offsetof(table, cosine)}};
  table t = {0};
  rgt__buffer why = {0};
  (void)state;
  void *lib = rgt__dynlib_open("libm.so.6", &why);
  assert_non_null(lib);
  assert_int_equal(why.size, 0);
  assert_null(rgt__dynlib_symbols(lib, symbols, 2, &t));
  assert_null(t.unused);
  assert_true(t.sine(0) == 0 && t.cosine(0) == 1);
  char path[1024];
  void *address;
  memcpy(&address, &t.sine, sizeof address);
  assert_int_equal(rgt__dynlib_path(address, path, sizeof path), 1);
  assert_int_equal(path[0], '/');
  assert_non_null(strstr(path, "/libm"));
  assert_int_equal(rgt__dynlib_path(address, path, strlen(path)), 0); /* no room for the NUL */
  rgt__dynlib_close(lib);
}

static void test_the_missing_symbol_is_named(void **state) {
  static const rgt__dynlib_symbol symbols[] = {{"sin", offsetof(table, sine)}, {"rgt_no_such", offsetof(table, cosine)}};
  table t = {0};
  rgt__buffer why = {0};
  (void)state;
  void *lib = rgt__dynlib_open("libm.so.6", &why);
  assert_non_null(lib);
  assert_string_equal(rgt__dynlib_symbols(lib, symbols, 2, &t), "rgt_no_such");
  rgt__dynlib_close(lib);
}

static void test_reasons_gather(void **state) {
  rgt__buffer why = {0};
  (void)state;
  assert_null(rgt__dynlib_open("librgt-none.so", &why));
  assert_string_equal(why.data, "librgt-none.so (not found)");
  assert_null(rgt__dynlib_open("/dev/null", &why));
  assert_string_equal(why.data, "librgt-none.so (not found), /dev/null (file too short)");
  rgt__dynlib_why(&why, "c", "is old");
  assert_string_equal(why.data, "librgt-none.so (not found), /dev/null (file too short), c (is old)");
  rgt__buffer_free(&why);
  rgt__dynlib_close(NULL);
}

static void test_an_address_of_no_library(void **state) {
  char path[64] = "kept";
  int on_the_stack = 0;
  (void)state;
  assert_int_equal(rgt__dynlib_path(&on_the_stack, path, sizeof path), 0);
  assert_string_equal(path, "kept");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_symbols_into_a_table),
      cmocka_unit_test(test_the_missing_symbol_is_named),
      cmocka_unit_test(test_reasons_gather),
      cmocka_unit_test(test_an_address_of_no_library),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
