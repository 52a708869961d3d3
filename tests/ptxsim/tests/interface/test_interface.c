/* test_interface.c -- ptxsim's declarations against cuda.h, where that is installed: every number, size and exported symbol. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "names.h"

static void numbers(void **state) {
  (void)state;
  int i = 0;
  for (; interface_of_cuda[i].name != NULL; i++) {
    assert_string_equal(interface_of_cuda[i].name, interface_of_ptxsim[i].name);
    if (interface_of_cuda[i].number != interface_of_ptxsim[i].number)
      fail_msg("%s is %ld, and in ptxsim %ld", interface_of_cuda[i].name, interface_of_cuda[i].number,
               interface_of_ptxsim[i].number);
  }
  assert_true(i > 70);
}

static void symbols(void **state) {
  (void)state;
  void *library = dlopen(SIM_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  for (int i = 0; interface_symbols[i] != NULL; i++)
    if (dlsym(library, interface_symbols[i]) == NULL) fail_msg("ptxsim does not export %s", interface_symbols[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(symbols)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
