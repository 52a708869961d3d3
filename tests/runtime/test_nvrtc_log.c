/* test_nvrtc_log.c -- reading the compiler's log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/nvrtc_log.h"

static void test_largest_of_all_kernels(void **state) {
  static const char log[] = "a.cu(1): warning #177-D: variable \"999 registers\" was declared but never referenced\n"
                            "ptxas info    : 0 bytes gmem\n"
                            "ptxas info    : Compiling entry function 'k2' for 'sm_90'\n"
                            "ptxas         .     16 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
                            "ptxas info    : Used 8 registers, used 1 barriers, 400 bytes smem\n"
                            "ptxas         .     0 bytes stack frame, 8 bytes spill stores, 0 bytes spill loads\n"
                            "ptxas info    : Used 70 registers, used 0 barriers, 24 bytes cumulative stack size\n";
  rgt__compiled out = {0};
  (void)state;
  assert_int_equal(rgt__nvrtc_log_resources(log, &out), 1);
  assert_int_equal(out.registers, 70);
  assert_int_equal(out.shared_bytes, 400);
  assert_int_equal(out.spill_bytes, 12);
  assert_int_equal(out.stack_bytes, 24);
}

static void test_no_report(void **state) {
  rgt__compiled out = {.registers = 7};
  (void)state;
  assert_int_equal(rgt__nvrtc_log_resources("", &out), 0);
  assert_int_equal(rgt__nvrtc_log_resources("ptxas info    : 0 bytes gmem\n", &out), 0);
  assert_int_equal(out.registers, 7);
}

static void check_error(const char *log, const char *want) {
  char line[128];
  rgt__nvrtc_log_first_error(log, line, sizeof line);
  assert_string_equal(line, want);
}

static void test_first_error(void **state) {
  (void)state;
  check_error("x.cu(6): warning #1: w\nx.cu(7): error: identifier \"q\" is undefined\n  a = q;\n\nx.cu(8): error: second\n",
              "x.cu(7): error: identifier \"q\" is undefined");
  check_error("ptxas application ptx input, line 23; error   : Unknown modifier '.bar'\nptxas fatal   : aborted\n",
              "ptxas application ptx input, line 23; error   : Unknown modifier '.bar'");
  check_error("nvrtc: error: invalid value for --gpu-architecture (-arch)",
              "nvrtc: error: invalid value for --gpu-architecture (-arch)");
  check_error("ptxas fatal   : no kernel", "ptxas fatal   : no kernel");
}

static void test_no_error_line(void **state) {
  (void)state;
  check_error("", "refused without a message");
  check_error("ptxas info    : Used 10 registers, 400000 bytes smem\n",
              "refused without a message: a kernel takes 10 registers and 400000 bytes of static shared memory");
}

static void test_a_long_line_is_cut(void **state) {
  char line[8];
  (void)state;
  rgt__nvrtc_log_first_error("error: far too long", line, sizeof line);
  assert_string_equal(line, "error: ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_largest_of_all_kernels),
      cmocka_unit_test(test_no_report),
      cmocka_unit_test(test_first_error),
      cmocka_unit_test(test_no_error_line),
      cmocka_unit_test(test_a_long_line_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
