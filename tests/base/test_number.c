/* test_number.c -- both 16-bit types over all their values, ties and their neighbours, against values built with ldexp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "runtime/base/number.h"

typedef struct format {
  rgt_dtype dtype;
  int n_exponent, n_fraction;
} format;
static const format f16 = {RGT_F16, 5, 10}, bf16 = {RGT_BF16, 8, 7};

/* The value of a finite pattern without its sign, exactly, by arithmetic alone. The pattern after the largest gives the next
 * power of two, which is where rounding to infinity begins to be measured from. */
static double value_of(format f, unsigned magnitude) {
  int exponent = (int)(magnitude >> f.n_fraction), bias = (1 << (f.n_exponent - 1)) - 1;
  double fraction = magnitude & ((1u << f.n_fraction) - 1);
  if (!exponent) return ldexp(fraction, 1 - bias - f.n_fraction);
  return ldexp(fraction + ldexp(1, f.n_fraction), exponent - bias - f.n_fraction);
}

static unsigned store(format f, double v) {
  uint16_t out[3] = {0xdead, 0xdead, 0xdead};
  rgt__number_store(f.dtype, out, 1, v);
  assert_int_equal(out[0], 0xdead);
  assert_int_equal(out[2], 0xdead);
  return out[1];
}

static float from_bits(format f, uint16_t bits) {
  return f.dtype == RGT_F16 ? rgt__number_from_f16(bits) : rgt__number_from_bf16(bits);
}

/* Every finite value both ways; between each and the next: the tie, and the doubles beside it, which a rounding by way of
 * float would get wrong. */
static void all_values(format f) {
  unsigned infinity = ((1u << f.n_exponent) - 1) << f.n_fraction;
  for (unsigned m = 0; m < infinity; m++) {
    double v = value_of(f, m), next = value_of(f, m + 1), tie = (v + next) / 2;
    unsigned even = m & 1 ? m + 1 : m;
    assert_true((double)from_bits(f, (uint16_t)m) == v);
    assert_int_equal(store(f, v), m);
    assert_int_equal(store(f, nextafter(v, INFINITY)), m);
    assert_int_equal(store(f, tie), even);
    assert_int_equal(store(f, nextafter(tie, 0)), m);
    assert_int_equal(store(f, nextafter(tie, INFINITY)), m + 1);
    assert_int_equal(store(f, nextafter(next, 0)), m + 1);
    assert_int_equal(store(f, -v), m | 0x8000);
    assert_int_equal(store(f, -tie), even | 0x8000);
    assert_int_equal(store(f, -nextafter(tie, INFINITY)), (m + 1) | 0x8000);
    float negative = from_bits(f, (uint16_t)(m | 0x8000));
    assert_true(negative == -v && signbit(negative));
  }
}

static void all_f16(void **state) {
  (void)state;
  all_values(f16);
}

static void all_bf16(void **state) {
  (void)state;
  all_values(bf16);
}

static void specials(format f) {
  unsigned infinity = ((1u << f.n_exponent) - 1) << f.n_fraction;
  assert_int_equal(store(f, INFINITY), infinity);
  assert_int_equal(store(f, -INFINITY), infinity | 0x8000);
  assert_int_equal(store(f, 1e308), infinity);
  assert_int_equal(store(f, 0.0), 0);
  assert_int_equal(store(f, -0.0), 0x8000);
  assert_int_equal(store(f, 5e-324), 0); /* a subnormal double */
  assert_int_equal(store(f, -1e-200), 0x8000);
  for (unsigned m = infinity + 1; m < 0x8000; m++) { /* every NaN stays one, both ways */
    assert_true(isnan(from_bits(f, (uint16_t)m)));
    assert_true(isnan(from_bits(f, (uint16_t)(m | 0x8000))));
    assert_true((store(f, from_bits(f, (uint16_t)m)) & 0x7fff) > infinity);
  }
  uint64_t bits = 0x7ff0000000000001; /* its only set fraction bit is lost */
  double nan;
  memcpy(&nan, &bits, sizeof nan);
  assert_true((store(f, nan) & 0x7fff) > infinity);
  assert_true((store(f, -nan) & 0x7fff) > infinity);
  assert_true(isinf(from_bits(f, (uint16_t)infinity)));
  assert_true(isnan(rgt__number_round(f.dtype, nan)));
}

static void f16_specials(void **state) {
  (void)state;
  specials(f16);
  assert_int_equal(store(f16, 65504), 0x7bff);
  assert_int_equal(store(f16, 65519.99), 0x7bff);
  assert_int_equal(store(f16, 65520), 0x7c00);
  assert_int_equal(store(f16, 1), 0x3c00);
  assert_int_equal(store(f16, 0x1p-24), 1);
  assert_int_equal(store(f16, 0x1p-25), 0);
  assert_int_equal(store(f16, 1 + 0x1p-11 + 0x1p-40), 0x3c01); /* by way of float: 0x3c00 */
}

static void bf16_specials(void **state) {
  (void)state;
  specials(bf16);
  assert_int_equal(store(bf16, 1), 0x3f80);
  assert_int_equal(store(bf16, 0x1p-133), 1);
  assert_int_equal(store(bf16, 0x1p-134), 0);
  assert_int_equal(store(bf16, 0x1.ffp127), 0x7f80);
  assert_int_equal(store(bf16, 1 + 0x1p-8 + 0x1p-40), 0x3f81);
}

static void f32(void **state) {
  (void)state;
  float a[3] = {9, 9, 9};
  rgt__number_store(RGT_F32, a, 1, 1 + 0x1p-24); /* a tie */
  assert_true(a[0] == 9 && a[1] == 1 && a[2] == 9);
  rgt__number_store(RGT_F32, a, 1, 1 + 0x1p-24 + 0x1p-50);
  assert_true(a[1] == 1 + 0x1p-23f);
  assert_true(rgt__number_load(RGT_F32, a, 1) == 1 + 0x1p-23);
  assert_true(isinf(rgt__number_round(RGT_F32, 1e39)));
  assert_true(rgt__number_round(RGT_F32, 0x1p-150) == 0);
  assert_true(isnan(rgt__number_round(RGT_F32, NAN)));
}

static void arrays(void **state) {
  (void)state;
  const float from[4] = {1.5f, -0.1f, 70000.0f, NAN};
  uint16_t half[4], brain[4];
  float back[4], same[4];
  rgt_from_float(RGT_F16, from, half, 4);
  rgt_from_float(RGT_BF16, from, brain, 4);
  rgt_from_float(RGT_F32, from, same, 4);
  assert_memory_equal(same, from, sizeof from);
  assert_int_equal(half[0], 0x3e00);
  assert_int_equal(half[1], 0xae66);
  assert_int_equal(half[2], 0x7c00);
  assert_int_equal(brain[0], 0x3fc0);
  assert_int_equal(brain[1], 0xbdcd);
  assert_int_equal(brain[2], 0x4789);
  rgt_to_float(RGT_F16, half, back, 4);
  assert_true(back[0] == 1.5f && back[1] == -0x1.998p-4f && isinf(back[2]) && isnan(back[3]));
  rgt_to_float(RGT_BF16, brain, back, 4);
  assert_true(back[0] == 1.5f && back[1] == -0x1.9ap-4f && back[2] == 70144.0f && isnan(back[3]));
  rgt_to_float(RGT_F32, same, back, 4);
  assert_memory_equal(back, from, sizeof from);
  assert_true(rgt__number_load(RGT_F16, half, 1) == -0x1.998p-4);
  assert_true(rgt__number_load(RGT_BF16, brain, 2) == 70144.0);
  rgt_from_float(RGT_F16, NULL, NULL, 0);
  rgt_from_float(RGT_F32, NULL, NULL, 0);
}

/* The constants from their definitions: u is half the step above 1, eta half the smallest subnormal, max the largest finite. */
static void constants(void **state) {
  (void)state;
  const format formats[] = {f16, bf16};
  for (int i = 0; i < 2; i++) {
    format f = formats[i];
    unsigned one = store(f, 1), infinity = ((1u << f.n_exponent) - 1) << f.n_fraction;
    assert_true(rgt__number_u(f.dtype) == (value_of(f, one + 1) - 1) / 2);
    assert_true(rgt__number_eta(f.dtype) == value_of(f, 1) / 2);
    assert_true(rgt__number_max(f.dtype) == value_of(f, infinity - 1));
    assert_int_equal(rgt__number_bytes(f.dtype), 2);
  }
  assert_true(rgt__number_u(RGT_F32) == (nextafterf(1, 2) - 1.0) / 2);
  assert_true(rgt__number_eta(RGT_F32) == (double)nextafterf(0, 1) / 2);
  assert_true(rgt__number_max(RGT_F32) == (double)nextafterf(INFINITY, 0));
  assert_int_equal(rgt__number_bytes(RGT_F32), 4);
}

static void buckets(void **state) {
  (void)state;
  static const int64_t pairs[][2] = {{0, 1},
                                     {1, 1},
                                     {2, 2},
                                     {3, 4},
                                     {4, 4},
                                     {5, 8},
                                     {4096, 4096},
                                     {4097, 8192},
                                     {RGT_COUNT_MAX, (int64_t)1 << 31},
                                     {-5, 1},
                                     {INT64_MAX, (int64_t)1 << 62}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) assert_true(rgt__number_bucket(pairs[i][0]) == pairs[i][1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_f16), cmocka_unit_test(all_bf16), cmocka_unit_test(f16_specials), cmocka_unit_test(bf16_specials),
      cmocka_unit_test(f32),     cmocka_unit_test(arrays),   cmocka_unit_test(constants),    cmocka_unit_test(buckets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
