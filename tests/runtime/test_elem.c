/* test_elem.c -- the storage types of the CPU's templates in every compiled form: all 65,536 values widened and through every
 * activation, rounding of a sample of all f32 and of everything beside a tie, and no byte outside a part.
 *
 * What is right is said by runtime/base/number.c, which test_number.c checks by itself. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/number.h"
#include "tests/bench/activation_check.h"
#include "tests/bench/elem_form.h"

enum { ALL = 65536, CHUNK = 4099 }; /* no multiple of any number of lanes */

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

static int is_nan(rgt_dtype dtype, uint16_t bits) {
  return dtype == RGT_F16 ? (bits & 0x7fff) > 0x7c00 : (bits & 0x7fff) > 0x7f80;
}

static void test_every_value_is_widened(void **state) {
  int n;
  const elem_form *const *forms = elem_forms(&n);
  uint16_t *x = malloc(ALL * sizeof *x);
  float *y = malloc(ALL * sizeof *y), want;
  (void)state;
  for (int i = 0; i < ALL; i++) x[i] = (uint16_t)((unsigned)i * 40503u); /* an odd factor: every value, neighbours unalike */
  for (int f = 0; f < n; f++) {
    for (int how = 0; how < 2; how++) {
      if (how)
        forms[f]->set1(x, y, ALL);
      else
        for (int at = 0; at < ALL; at += CHUNK) forms[f]->widen(x + at, y + at, ALL - at < CHUNK ? ALL - at : CHUNK);
      for (int i = 0; i < ALL; i++) {
        rgt_to_float(forms[f]->dtype, &x[i], &want, 1);
        if (isnan(want) ? !isnan(y[i]) : bits_of(want) != bits_of(y[i]))
          fail_msg("%s: %04x gives %a, not %a", forms[f]->name, x[i], (double)y[i], (double)want);
      }
    }
  }
  free(x);
  free(y);
}

/* z[0 .. n): wanted bits, or any NaN for NaN. */
static void check_narrow(const elem_form *form, const float *z, int n) {
  uint16_t y[CHUNK], want;
  form->narrow(z, y, n);
  for (int i = 0; i < n; i++) {
    rgt_from_float(form->dtype, &z[i], &want, 1);
    if (isnan(z[i]) ? !is_nan(form->dtype, y[i]) : y[i] != want)
      fail_msg("%s: %a (%08x) gives %04x, not %04x", form->name, (double)z[i], bits_of(z[i]), y[i], want);
  }
}

static void test_sample_of_every_f32_is_rounded(void **state) {
  int n, now;
  const elem_form *const *forms = elem_forms(&n);
  float z[CHUNK];
  (void)state;
  for (int f = 0; f < n; f++) {
    uint32_t bits = 0;
    for (int64_t left = ((int64_t)1 << 32) / 509; left > 0; left -= now) {
      now = left < CHUNK ? (int)left : CHUNK;
      for (int i = 0; i < now; i++, bits += 509) z[i] = float_of(bits);
      check_narrow(forms[f], z, now);
    }
  }
}

/* Every value of the type, the middle between it and the next one, and f32's neighbours of both. The largest's next is Inf. */
static void test_ties_are_rounded(void **state) {
  int n;
  const elem_form *const *forms = elem_forms(&n);
  (void)state;
  for (int f = 0; f < n; f++) {
    const rgt_dtype dtype = forms[f]->dtype;
    float z[6];
    for (int v = 0; v < 0x7fff && !is_nan(dtype, (uint16_t)v); v++) {
      const uint16_t pair[2] = {(uint16_t)v, (uint16_t)(v + 1)};
      float a[2];
      rgt_to_float(dtype, pair, a, 2);
      if (!isfinite(a[0])) break;
      const float half_step = dtype == RGT_F16 ? 16 : 0x1p119f; /* of the largest binade */
      const float middle = isfinite(a[1]) ? (float)(0.5 * ((double)a[0] + (double)a[1])) : a[0] + half_step;
      for (int i = 0; i < 3; i++) {
        z[i] = float_of(bits_of(a[0]) + (uint32_t)i - (a[0] > 0));
        z[3 + i] = float_of(bits_of(middle) + (uint32_t)i - (middle > 0));
      }
      check_narrow(forms[f], z, 6);
      for (int i = 0; i < 6; i++) z[i] = -z[i];
      check_narrow(forms[f], z, 6);
    }
  }
}

static void test_nan_and_inf(void **state) {
  static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7fffffff, 0xffffffff, 0x7f800001, 0xff800001, 0x7f80ffff};
  static const float over[] = {INFINITY, FLT_MAX, 0x1.ffp127f, 65520, 65536, 1e9f};
  int n;
  const elem_form *const *forms = elem_forms(&n);
  (void)state;
  for (int f = 0; f < n; f++) {
    float z[16];
    for (int i = 0; i < 16; i++) z[i] = float_of(nans[i % 7]);
    check_narrow(forms[f], z, 16);
    for (int i = 0; i < 16; i++) z[i] = i % 2 ? -over[i % 6] : over[i % 6];
    check_narrow(forms[f], z, 16);
  }
}

/* Parts at an unreadable page, at addresses of two bytes' alignment, with NaN behind what may be read. */
static void test_parts_touch_nothing_else(void **state) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int n;
  const elem_form *const *forms = elem_forms(&n);
  char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)state;
  assert_true(map != MAP_FAILED);
  assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
  for (int f = 0; f < n; f++) {
    for (int count = 0; count <= 3 * 16; count++) {
      uint16_t *end = (uint16_t *)(void *)(map + page), *x = end - count, y[64];
      float wide[64], want[64];
      for (int i = 0; i < 64; i++) wide[i] = 77;
      for (int i = 0; i < count; i++) x[i] = (uint16_t)(0x3c00 + 97 * i);
      forms[f]->widen(x, wide, count);
      rgt_to_float(forms[f]->dtype, x, want, (size_t)count);
      assert_memory_equal(wide, want, (size_t)count * sizeof *wide);
      for (int i = count; i < 64; i++) assert_true(wide[i] == 77);
      memcpy(y, x, (size_t)count * sizeof *y);
      memset(end - 64, 0xab, 128);
      forms[f]->narrow(wide, x, count);
      assert_memory_equal(x, y, (size_t)count * sizeof *y);
      for (uint16_t *p = end - 64; p < x; p++) assert_int_equal(*p, 0xabab);
      memset(y, 0xab, sizeof y);
      forms[f]->narrow(wide, y + 1, count);
      assert_memory_equal(y + 1, x, (size_t)count * sizeof *y);
      assert_int_equal(y[0], 0xabab);
      for (int i = count + 1; i < 64; i++) assert_int_equal(y[i], 0xabab);
    }
  }
  munmap(map, 2 * page);
}

/* Storage's error on top of the declared one: |y - act64| <= (1 + u) (alpha |act64| + beta |z| + 2^-150) + u |act64| + eta. */
static void check_act(const elem_form *form, int act, const activation_error *e, uint16_t z_bits, uint16_t y_bits) {
  const rgt_dtype dtype = form->dtype;
  const double z = rgt__number_load(dtype, &z_bits, 0), y = rgt__number_load(dtype, &y_bits, 0);
  const double want = isnan(z) ? NAN : activation_reference(act, z), u = rgt__number_u(dtype);
  int right;
  if (isnan(want)) {
    right = isnan(y);
  } else if (isinf(rgt__number_round(dtype, want))) {
    right = y == rgt__number_round(dtype, want);
  } else {
    const double own = e->alpha * fabs(want) + (isinf(z) ? 0 : e->beta * fabs(z)) + 0x1p-150;
    right = fabs(y - want) <= (1 + u) * own + u * fabs(want) + rgt__number_eta(dtype);
    right &= z >= 0 ? y >= 0 : y <= 0;
  }
  if (!right) fail_msg("%s: %s(%a) is %a, float64 %a", form->name, activation_name(act), z, y, want);
}

static void test_every_value_through_every_activation(void **state) {
  char message[256];
  activation_error errors[N_ACTIVATIONS];
  int n;
  const elem_form *const *forms = elem_forms(&n);
  uint16_t *z = malloc(ALL * sizeof *z), *y = malloc(ALL * sizeof *y);
  (void)state;
  if (activation_errors(errors, message) != 0) fail_msg("%s", message);
  for (int i = 0; i < ALL; i++) z[i] = (uint16_t)((unsigned)i * 40503u);
  for (int f = 0; f < n; f++)
    for (int act = 0; act < N_ACTIVATIONS; act++) {
      for (int at = 0; at < ALL; at += CHUNK) forms[f]->act(act, z + at, y + at, ALL - at < CHUNK ? ALL - at : CHUNK);
      for (int i = 0; i < ALL; i++) check_act(forms[f], act, &errors[act], z[i], y[i]);
    }
  free(z);
  free(y);
}

/* Subnormals of the type are values like others: none is flushed, by widening, by rounding, or by what lies between. */
static void test_subnormals_are_kept(void **state) {
  int n;
  const elem_form *const *forms = elem_forms(&n);
  (void)state;
  for (int f = 0; f < n; f++) {
    const uint16_t z[4] = {1, 0x8001, 0x007f, 0x8040};
    uint16_t y[4] = {0};
    forms[f]->act(RGT_ACT_NONE, z, y, 4);
    assert_memory_equal(y, z, sizeof z);
    forms[f]->act(RGT_ACT_TANH, z, y, 4); /* tanh z is z there */
    assert_memory_equal(y, z, sizeof z);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_value_is_widened),   cmocka_unit_test(test_sample_of_every_f32_is_rounded),
      cmocka_unit_test(test_ties_are_rounded),         cmocka_unit_test(test_nan_and_inf),
      cmocka_unit_test(test_parts_touch_nothing_else), cmocka_unit_test(test_every_value_through_every_activation),
      cmocka_unit_test(test_subnormals_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
