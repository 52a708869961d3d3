/* test_device_near.c -- how far device classes are apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/device_near.h"

#define H200 "cuda:NVIDIA-H200:sm_90:sms=132:mem=144GiB:clock=1980MHz"
#define H100 "cuda:NVIDIA-H100:sm_90:sms=132:mem=80GiB:clock=1980MHz"
#define A100 "cuda:NVIDIA-A100:sm_80:sms=108:mem=80GiB:clock=1410MHz"
#define MODEL "cuda:ptxsim-h200--modelled-:sm_90:sms=132:mem=144GiB:clock=1980MHz"
#define EPYC "cpu:AuthenticAMD:25-17-1:f1:avx2+fma+avx512f:cores=2"

static void near_ones_first(void **state) {
  (void)state;
  assert_true(rgt__device_near(H200, H200) == 0);
  assert_true(rgt__device_near(H200, H100) > 0);
  assert_true(rgt__device_near(H200, H100) < rgt__device_near(H200, A100));
  assert_true(rgt__device_near(H200, A100) == rgt__device_near(A100, H200));
  const char *more_cores = "cpu:AuthenticAMD:25-17-1:f1:avx2+fma+avx512f:cores=4",
             *fewer_features = "cpu:AuthenticAMD:25-17-1:f1:avx2+fma:cores=2",
             *other_vendor = "cpu:GenuineIntel:6-167-1:f1:avx2+fma+avx512f:cores=2";
  assert_true(rgt__device_near(EPYC, more_cores) > 0.7 && rgt__device_near(EPYC, more_cores) < 0.8);
  assert_true(rgt__device_near(EPYC, fewer_features) == 1);
  assert_true(rgt__device_near(EPYC, other_vendor) == 4);
  assert_true(rgt__device_near(EPYC, "cpu") > 4);
}

static void what_never_stands_in(void **state) {
  (void)state;
  assert_true(rgt__device_near(EPYC, H200) < 0);
  assert_true(rgt__device_near(H200, MODEL) < 0);
  assert_true(rgt__device_near(MODEL, H200) < 0);
  assert_true(rgt__device_near(MODEL, MODEL) == 0);
  assert_true(rgt__device_near("", H200) < 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(near_ones_first), cmocka_unit_test(what_never_stands_in)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
