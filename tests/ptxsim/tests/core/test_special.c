/* test_special.c -- approximations: within the error that the PTX ISA documents for every seed, exact where it says so, and not
 * the same for two seeds. */
#include "arithmetic.h"

#include <math.h>

static double as_float(uint64_t bits) {
  const uint32_t u = (uint32_t)bits;
  float f;
  memcpy(&f, &u, 4);
  return (double)f;
}
static double as_half(uint64_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1, m = (double)(bits & 0x3FF);
  const int e = (int)(bits >> 10) & 31;
  if (e == 31) return m ? NAN : sign * INFINITY;
  return e ? sign * ldexp(1024 + m, e - 25) : sign * ldexp(m, -24);
}
static double as_bfloat(uint64_t bits) {
  return as_float(bits << 16);
}

typedef struct approximation {
  const char *name, *signature;
  double (*exact)(double, double);
  double (*read)(uint64_t);
  double relative, absolute; /* documented, with the last place of the result */
  double low, high;          /* arguments */
} approximation;

static double f_rcp(double a, double b) {
  return (void)b, 1 / a;
}
static double f_rsqrt(double a, double b) {
  return (void)b, 1 / sqrt(a);
}
static double f_sqrt(double a, double b) {
  return (void)b, sqrt(a);
}
static double f_ex2(double a, double b) {
  return (void)b, exp2(a);
}
static double f_lg2(double a, double b) {
  return (void)b, log2(a);
}
static double f_sin(double a, double b) {
  return (void)b, sin(a);
}
static double f_cos(double a, double b) {
  return (void)b, cos(a);
}
static double f_tanh(double a, double b) {
  return (void)b, tanh(a);
}
static double f_div(double a, double b) {
  return a / b;
}

static const approximation all[] = {
    {"rcp.approx.f32", "f:f", f_rcp, as_float, 0x1p-23, 0, 1e-30, 1e30},
    {"rcp.approx.ftz.f32", "f:f", f_rcp, as_float, 0x1p-23, 0, 1e-30, 1e30},
    {"rsqrt.approx.f32", "f:f", f_rsqrt, as_float, 0x1.12p-23, 0, 1e-30, 1e30},
    {"rsqrt.approx.ftz.f32", "f:f", f_rsqrt, as_float, 0x1.12p-23, 0, 1e-30, 1e30},
    {"sqrt.approx.f32", "f:f", f_sqrt, as_float, 0x1p-23, 0, 1e-30, 1e30},
    {"sqrt.approx.ftz.f32", "f:f", f_sqrt, as_float, 0x1p-23, 0, 1e-30, 1e30},
    {"ex2.approx.f32", "f:f", f_ex2, as_float, 0x1.6ap-23, 0, -120, 120},
    {"ex2.approx.ftz.f32", "f:f", f_ex2, as_float, 0x1.6ap-23, 0, -120, 120},
    {"lg2.approx.f32", "f:f", f_lg2, as_float, 0x1p-22, 0x1p-22, 1e-30, 1e30},
    {"lg2.approx.ftz.f32", "f:f", f_lg2, as_float, 0x1p-22, 0x1p-22, 1e-30, 1e30},
    {"sin.approx.f32", "f:f", f_sin, as_float, 0, 0x1.6ap-21, -3.14, 3.14},
    {"sin.approx.ftz.f32", "f:f", f_sin, as_float, 0, 0x1.6ap-21, -3.14, 3.14},
    {"cos.approx.f32", "f:f", f_cos, as_float, 0, 0x1.6ap-21, -3.14, 3.14},
    {"cos.approx.ftz.f32", "f:f", f_cos, as_float, 0, 0x1.6ap-21, -3.14, 3.14},
    {"tanh.approx.f32", "f:f", f_tanh, as_float, 0x1p-11, 0, -10, 10},
    {"div.approx.f32", "f:ff", f_div, as_float, 0x1p-22, 0, 1e-10, 1e10},
    {"div.approx.ftz.f32", "f:ff", f_div, as_float, 0x1p-22, 0, 1e-10, 1e10},
    {"div.full.f32", "f:ff", f_div, as_float, 0x1p-22, 0, 1e-10, 1e10},
    {"div.full.ftz.f32", "f:ff", f_div, as_float, 0x1p-22, 0, 1e-10, 1e10},
    {"ex2.approx.f16", "h:h", f_ex2, as_half, 0x1.1p-10, 0x1p-24, -10, 10},
    {"tanh.approx.f16", "h:h", f_tanh, as_half, 0x1.2p-10, 0, -10, 10},
    {"tanh.approx.bf16", "h:h", f_tanh, as_bfloat, 0x1p-7, 0, -10, 10},
    {"ex2.approx.ftz.bf16", "h:h", f_ex2, as_bfloat, 0x1p-7, 0, -10, 10},
};

enum { N = 4096 };

static uint64_t argument(const approximation *p, uint64_t *seed) {
  const double u = (double)(lab_random(seed) >> 11) * 0x1p-53;
  const float x = (float)(p->low > 0 ? p->low * pow(p->high / p->low, u) : p->low + u * (p->high - p->low));
  uint32_t bits;
  memcpy(&bits, &x, 4);
  if (p->read == as_bfloat) return bits >> 16;
  if (p->read == as_half) { /* cut, not rounded: any argument will do */
    const int e = (int)(bits >> 23 & 255) - 112;
    return e <= 0 ? bits >> 16 & 0x8000 : (bits >> 16 & 0x8000) | (uint32_t)e << 10 | (bits >> 13 & 0x3FF);
  }
  return bits;
}

static void within_error(void **state) {
  (void)state;
  uint64_t *a = malloc(N * 8), *b = malloc(N * 8), *out[2] = {malloc(N * 8), malloc(N * 8)}, seed = 77;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    const approximation *p = &all[k];
    int differ = 0;
    for (int i = 0; i < N; i++) a[i] = argument(p, &seed), b[i] = argument(p, &seed);
    for (int s = 0; s < 2; s++)
      operation_run(p->name, p->signature, NULL, (uint64_t *const[]){a, b}, N, out[s], (uint64_t)s + 3);
    for (int i = 0; i < N; i++) {
      const double exact = p->exact(p->read(a[i]), p->read(b[i]));
      differ += out[0][i] != out[1][i];
      for (int s = 0; s < 2; s++) {
        const double error = fabs(p->read(out[s][i]) - exact);
        if (!(error <= p->relative * fabs(exact) + p->absolute))
          fail_msg("%s of %a %a is %a, not %a", p->name, p->read(a[i]), p->read(b[i]), exact, p->read(out[s][i]));
      }
    }
    if (p->read == as_float && differ < N / 20) fail_msg("%s: %d of %d results hang on the seed", p->name, differ, N);
  }
  free(a), free(b), free(out[0]), free(out[1]);
}

/* What the ISA says of special arguments. */
static void special_arguments(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t in, wanted;
  } cases[] = {{"rcp.approx.f32", 0, 0x7F800000},
               {"rcp.approx.f32", 0x80000000, 0xFF800000},
               {"rcp.approx.f32", 0xFF800000, 0x80000000},
               {"rcp.approx.f32", 0x7FC00000, 0x7FFFFFFF},
               {"rcp.approx.ftz.f32", 1, 0x7F800000},
               {"rsqrt.approx.f32", 0, 0x7F800000},
               {"rsqrt.approx.f32", 0x80000000, 0xFF800000},
               {"rsqrt.approx.f32", 0x7F800000, 0},
               {"rsqrt.approx.f32", 0xBF800000, 0x7FFFFFFF},
               {"sqrt.approx.f32", 0x80000000, 0x80000000},
               {"sqrt.approx.f32", 0x7F800000, 0x7F800000},
               {"sqrt.approx.f32", 0xBF800000, 0x7FFFFFFF},
               {"ex2.approx.f32", 0, 0x3F800000},
               {"ex2.approx.f32", 0xFF800000, 0},
               {"ex2.approx.f32", 0x7F800000, 0x7F800000},
               {"ex2.approx.f32", 0x7FC00000, 0x7FFFFFFF},
               {"lg2.approx.f32", 0, 0xFF800000},
               {"lg2.approx.f32", 0x7F800000, 0x7F800000},
               {"lg2.approx.f32", 0xBF800000, 0x7FFFFFFF},
               {"lg2.approx.f32", 0x3F800000, 0},
               {"sin.approx.f32", 0x80000000, 0x80000000},
               {"sin.approx.f32", 0x7F800000, 0x7FFFFFFF},
               {"cos.approx.f32", 0, 0x3F800000},
               {"tanh.approx.f32", 0x7F800000, 0x3F800000},
               {"tanh.approx.f32", 0x80000000, 0x80000000},
               {"tanh.approx.f32", 0x7FC00000, 0x7FFFFFFF}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    uint64_t in = cases[k].in, out, *args[1] = {&in};
    operation_run(cases[k].name, "f:f", NULL, args, 1, &out, 5);
    if (out != cases[k].wanted)
      fail_msg("%s of 0x%llx is 0x%llx, not 0x%llx", cases[k].name, (unsigned long long)in, (unsigned long long)cases[k].wanted,
               (unsigned long long)out);
  }
}

static void doubles(void **state) {
  (void)state;
  static const char *const names[] = {"rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64"};
  for (int k = 0; k < 3; k++)
    for (double x = 0.001; x < 1000; x *= 1.7) {
      uint64_t in, out, *args[1] = {&in};
      memcpy(&in, &x, 8);
      operation_run(names[k], "g:g", NULL, args, 1, &out, 5);
      double got, exact = k ? 1 / sqrt(x) : 1 / x;
      memcpy(&got, &out, 8);
      assert_true(fabs(got - exact) <= 0x1p-20 * exact);
      assert_int_equal(out & 0xFFFFFFFF, 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(within_error), cmocka_unit_test(special_arguments),
                                     cmocka_unit_test(doubles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
