/* test_activations.c -- our activations in every compiled form: a sample of all f32, and everything near a break point.
 *
 * tests/bench/activations_all.c tries every f32; this is the part of it that fits a test run. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/bench/activation_check.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static activation_error errors[N_ACTIVATIONS];

static int read_errors(void **state) {
  char message[256];
  (void)state;
  if (activation_errors(errors, message) == 0) return 0;
  print_error("%s\n", message);
  return -1;
}

static uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static void assert_right(const activation_result *result) {
  if (result->n_wrong) fail_msg("%lld wrong, the first: %s", (long long)result->n_wrong, result->first_wrong);
}

/* What verify.md admits by default for f32 storage. */
static void test_declared_errors_are_admitted(void **state) {
  (void)state;
  for (int act = 0; act < N_ACTIVATIONS; act++) {
    int exact = act == RGT_ACT_NONE || act == RGT_ACT_RELU;
    assert_true(exact ? errors[act].alpha == 0 : errors[act].alpha > 0);
    assert_true(exact ? errors[act].beta == 0 : errors[act].beta >= 0);
    assert_true(errors[act].alpha <= 0x1p-21);
    assert_true(errors[act].beta <= 0x1p-21);
  }
}

/* Every 1021st bit pattern: a prime, so the low bits vary too. */
static void test_sample_of_every_f32(void **state) {
  (void)state;
  const uint32_t step = 1021;
  for (int act = 0; act < N_ACTIVATIONS; act++) {
    activation_result result = {0};
    activation_check(act, &errors[act], 0, step, ((int64_t)1 << 32) / step + 1, &result);
    assert_right(&result);
  }
}

/* Where the code clamps, changes 2^n, or a float changes its kind: the patterns around it, of either sign. */
static void test_around_break_points(void **state) {
  static const float points[] = {0,       FLT_TRUE_MIN, FLT_MIN,  0x1p-64f, 0x1p-24f, 0x1p-12f, 0.5f,    1.0f,     4.0f,
                                 5.0f,    6.0f,         7.0505f,  8.0f,     9.0f,     10.0f,    10.06f,  16.6355f, 0x1p23f,
                                 0x1p24f, 88.0f,        88.3763f, 88.7f,    88.75f,   104.0f,   0x1p64f, FLT_MAX,  INFINITY};
  const uint32_t sign = 0x80000000u, around = 1500;
  (void)state;
  for (int act = 0; act < N_ACTIVATIONS; act++) {
    activation_result result = {0};
    for (int i = 0; i < COUNT(points); i++) {
      activation_check(act, &errors[act], bits_of(points[i]) - around, 1, 2 * around + 1, &result);
      activation_check(act, &errors[act], (bits_of(points[i]) | sign) - around, 1, 2 * around + 1, &result);
    }
    for (int k = -128; k <= 128; k++) {
      float turn = (float)((k + 0.5) * 0.69314718055994530942); /* of n, for silu; half of it for tanh */
      activation_check(act, &errors[act], bits_of(turn) - 100, 1, 201, &result);
      activation_check(act, &errors[act], bits_of(turn / 2) - 100, 1, 201, &result);
    }
    assert_right(&result);
  }
}

static void assert_all_forms(int act, float z, float want) {
  int n_forms;
  const activation_form *forms = activation_forms(&n_forms);
  for (int f = 0; f < n_forms; f++) {
    float y;
    forms[f].run(act, &z, &y, 1);
    if (bits_of(y) != bits_of(want))
      fail_msg("%s(%a), %s: %a instead of %a", activation_name(act), (double)z, forms[f].name, (double)y, (double)want);
  }
}

static void test_exact_values(void **state) {
  static const struct {
    int act;
    float z, want;
  } cases[] = {
      {RGT_ACT_NONE, -0.0f, -0.0f},
      {RGT_ACT_NONE, -INFINITY, -INFINITY},
      {RGT_ACT_NONE, FLT_TRUE_MIN, FLT_TRUE_MIN},
      {RGT_ACT_RELU, -1.5f, 0.0f},
      {RGT_ACT_RELU, -FLT_TRUE_MIN, 0.0f},
      {RGT_ACT_RELU, -0.0f, -0.0f},
      {RGT_ACT_RELU, FLT_TRUE_MIN, FLT_TRUE_MIN},
      {RGT_ACT_RELU, -INFINITY, 0.0f},
      {RGT_ACT_RELU, INFINITY, INFINITY},
      {RGT_ACT_GELU, 0.0f, 0.0f},
      {RGT_ACT_GELU, -INFINITY, -0.0f},
      {RGT_ACT_GELU, -20.0f, -0.0f},
      {RGT_ACT_GELU, 20.0f, 20.0f},
      {RGT_ACT_GELU, FLT_MAX, FLT_MAX},
      {RGT_ACT_GELU, INFINITY, INFINITY},
      {RGT_ACT_GELU, 0x1p-140f, 0x1p-141f},
      {RGT_ACT_GELU_TANH, -INFINITY, -0.0f},
      {RGT_ACT_GELU_TANH, -FLT_MAX, -0.0f},
      {RGT_ACT_GELU_TANH, INFINITY, INFINITY},
      {RGT_ACT_GELU_TANH, -0x1p-140f, -0x1p-141f},
      {RGT_ACT_SILU, -INFINITY, -0.0f},
      {RGT_ACT_SILU, -1000.0f, -0.0f},
      {RGT_ACT_SILU, 1000.0f, 1000.0f},
      {RGT_ACT_SILU, INFINITY, INFINITY},
      {RGT_ACT_SILU, 0x1p-140f, 0x1p-141f},
      {RGT_ACT_TANH, 0.0f, 0.0f},
      {RGT_ACT_TANH, -0.0f, -0.0f},
      {RGT_ACT_TANH, FLT_TRUE_MIN, FLT_TRUE_MIN},
      {RGT_ACT_TANH, -0x1p-130f, -0x1p-130f},
      {RGT_ACT_TANH, 0x1p-30f, 0x1p-30f},
      {RGT_ACT_TANH, 10.0f, 1.0f},
      {RGT_ACT_TANH, -FLT_MAX, -1.0f},
      {RGT_ACT_TANH, INFINITY, 1.0f},
      {RGT_ACT_TANH, -INFINITY, -1.0f},
  };
  (void)state;
  for (int i = 0; i < COUNT(cases); i++) assert_all_forms(cases[i].act, cases[i].z, cases[i].want);
}

static void test_nan_stays_nan(void **state) {
  static const uint32_t nans[] = {0x7fc00000u, 0xffc00000u, 0x7fffffffu, 0xffffffffu, 0x7f800001u, 0xff800001u, 0x7fc12345u};
  int n_forms;
  const activation_form *forms = activation_forms(&n_forms);
  (void)state;
  for (int f = 0; f < n_forms; f++)
    for (int act = 0; act < N_ACTIVATIONS; act++)
      for (int i = 0; i < COUNT(nans); i++) {
        float z = float_of(nans[i]), y = 0;
        forms[f].run(act, &z, &y, 1);
        assert_true(isnan(y));
      }
}

/* A value's bits do not depend on its lane, nor on what its neighbours are. */
static void test_lanes_do_not_meet(void **state) {
  static const float values[] = {-3.25f, -0.7f, 0.19f, 1.2f, 5.5f, -88.2f, 0x1p-140f};
  static const float others[] = {NAN, INFINITY, -INFINITY, -1e30f, FLT_TRUE_MIN, -0.0f, 2.5f};
  int n_forms;
  const activation_form *forms = activation_forms(&n_forms);
  (void)state;
  for (int f = 0; f < n_forms; f++)
    for (int act = 0; act < N_ACTIVATIONS; act++)
      for (int v = 0; v < COUNT(values); v++) {
        float alone, z[19], y[19];
        forms[f].run(act, &values[v], &alone, 1);
        for (int place = 0; place < COUNT(z); place++) {
          for (int i = 0; i < COUNT(z); i++) z[i] = i == place ? values[v] : others[(i + v) % COUNT(others)];
          forms[f].run(act, z, y, COUNT(z));
          assert_int_equal(bits_of(y[place]), bits_of(alone));
        }
      }
}

/* The check itself must be able to say no: a quarter of the declared error is too little, somewhere. */
static void test_check_can_fail(void **state) {
  (void)state;
  for (int act = RGT_ACT_GELU; act < N_ACTIVATIONS; act++) {
    activation_error less = {errors[act].alpha / 4, errors[act].beta / 4};
    activation_result result = {0};
    activation_check(act, &less, bits_of(0.25f), 101, 100000, &result);
    assert_true(result.n_wrong > 0);
    assert_int_equal(result.n_checked, 100000);
    assert_non_null(strstr(result.first_wrong, "over the declared error"));
    assert_non_null(strstr(result.first_wrong, activation_name(act)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_declared_errors_are_admitted),
      cmocka_unit_test(test_exact_values),
      cmocka_unit_test(test_nan_stays_nan),
      cmocka_unit_test(test_lanes_do_not_meet),
      cmocka_unit_test(test_around_break_points),
      cmocka_unit_test(test_sample_of_every_f32),
      cmocka_unit_test(test_check_can_fail),
  };
  return cmocka_run_group_tests(tests, read_errors, NULL);
}
