/* verify_check.c -- is what came out of one call right? */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/number.h"
#include "runtime/verify_parts.h"

int rgt__verify_check_fail(rgt__verify_result *result, const char *pass, int64_t row, int64_t column, const char *format, ...) {
  va_list args;
  result->status = RGT_EWRONG;
  result->pass = pass;
  result->row = row;
  result->column = column;
  va_start(args, format);
  vsnprintf(result->reason, sizeof result->reason, format, args);
  va_end(args);
  return 0;
}

static void note(rgt__verify_result *result, double value, double expected, double bound) {
  result->value = value;
  result->expected = expected;
  result->bound = bound;
}

static uint32_t bits_at(rgt_dtype dtype, const unsigned char *y, int64_t i) {
  uint32_t word = 0;
  size_t element = rgt__number_bytes(dtype);
  uint16_t half;
  if (element == 4) {
    memcpy(&word, y + (size_t)i * 4, 4);
    return word;
  }
  memcpy(&half, y + (size_t)i * 2, 2);
  return half;
}

int rgt__verify_check_none(const rgt__problem *p, const rgt__verify_call *call, const unsigned char *y, int64_t row, int fill,
                           const char *pass, rgt__verify_result *result) {
  rgt_dtype dtype = p->op.dtype;
  const uint32_t untouched = rgt__verify_data_fill(dtype, fill), wanted = call->adds ? untouched : 0;
  for (int64_t c = 0; c < p->op.n_out; c++) {
    int64_t i = row * p->op.n_out + c;
    uint32_t bits = bits_at(dtype, y, i);
    if (bits == wanted) continue;
    double value = rgt__number_load(dtype, y, i);
    note(result, value, 0, 0);
    const char *kind = strcmp(pass, "status") ? "masked row" : "row with an index out of range";
    if (call->adds)
      return rgt__verify_check_fail(result, pass, row, c,
                                    "%s %lld: column %lld was written, and is %g; y is added to, so it must stay", kind,
                                    (long long)row, (long long)c, value);
    if (bits == untouched)
      return rgt__verify_check_fail(result, pass, row, c, "%s %lld was never written; its y must be +0", kind, (long long)row);
    return rgt__verify_check_fail(result, pass, row, c, "%s %lld: column %lld is %g; it must be +0", kind, (long long)row,
                                  (long long)c, value);
  }
  return 1;
}

/* What is compared: the value alone, or added to what was there. */
typedef struct expectation {
  double y64, bound;
  int may_overflow;
} expectation;

/* The sum is formed in f32, which rounds it by u32; 16 bits round that once more, in place of the value, whose own bound has
 * its rounding among its parts. In the exact pass both addends are exact, so that the f32 sum is known to the bit. */
static expectation expect(const rgt__verify_set *s, const rgt__verify_call *call, rgt__verify_mode mode, int64_t e, int64_t row,
                          int64_t column) {
  rgt_dtype dtype = s->problem.op.dtype;
  expectation x = {s->y64[e], s->bound[e], s->may_overflow[e]};
  if (!call->adds) return x;
  double old = rgt__verify_data_old(row, column), u = rgt__number_u(dtype), eta = rgt__number_eta(dtype);
  x.bound -= u * fabs(x.y64) + eta; /* 1.02 times this is in the bound */
  x.y64 += old;
  if (mode == RGT_VERIFY_EXACT) x.y64 = (double)(float)x.y64;
  x.bound += 1.02 * 0x1p-24 * fabs(x.y64);
  if (dtype != RGT_F32) x.bound += 1.02 * (u * fabs(x.y64) + eta);
  x.may_overflow |= isinf(rgt__number_round(dtype, fabs(x.y64) + x.bound));
  return x;
}

/* Bit for bit the rounded reference; zeros of either sign are alike. */
static int check_exact(rgt_dtype dtype, const unsigned char *y, int64_t i, double y64, const char *pass, int64_t row,
                       int64_t column, rgt__verify_result *result) {
  unsigned char room[4];
  rgt__number_store(dtype, room, 0, y64);
  uint32_t bits = bits_at(dtype, y, i), wanted = bits_at(dtype, room, 0);
  double value = rgt__number_load(dtype, y, i), expected = rgt__number_load(dtype, room, 0);
  if (bits == wanted || (value == 0 && expected == 0) || (isnan(value) && isnan(expected))) return 1;
  note(result, value, expected, 0);
  return rgt__verify_check_fail(result, pass, row, column, "y[%lld, %lld] is %.9g; it must be exactly %.9g", (long long)row,
                                (long long)column, value, expected);
}

/* A bound that is no number comes from an infinite intermediate: nothing is known then. */
static int check_bound(double value, double y64, double bound, int may_overflow, const char *pass, int64_t row, int64_t column,
                       rgt__verify_result *result) {
  note(result, value, y64, bound);
  if (isnan(y64)) {
    if (isnan(value)) return 1;
    return rgt__verify_check_fail(result, pass, row, column, "y[%lld, %lld] is %.9g; the reference is NaN, so it must be NaN",
                                  (long long)row, (long long)column, value);
  }
  if (!isfinite(value) && may_overflow) return 1;
  if (isnan(value))
    return rgt__verify_check_fail(
        result, "poison", row, column,
        "y[%lld, %lld] is NaN and the reference %.9g: NaN of a gap, a masked row or an unused group reached it", (long long)row,
        (long long)column, y64);
  if (isinf(y64) && isfinite(value))
    return rgt__verify_check_fail(result, pass, row, column, "y[%lld, %lld] is %.9g; the reference is %g", (long long)row,
                                  (long long)column, value, y64);
  double error = fabs(value - y64), share = error / bound;
  if (isfinite(share) && share > result->error_share) result->error_share = share;
  if (error <= bound || isnan(bound)) return 1;
  return rgt__verify_check_fail(result, pass, row, column,
                                "y[%lld, %lld] is %.9g, the reference %.9g: off by %.3g, allowed are %.3g", (long long)row,
                                (long long)column, value, y64, error, bound);
}

static int check_live(const rgt__verify_set *s, const rgt__verify_call *call, const unsigned char *y, int64_t row, int fill,
                      rgt__verify_mode mode, const char *pass, rgt__verify_result *result) {
  rgt_dtype dtype = s->problem.op.dtype;
  int64_t n_out = s->problem.op.n_out, at = 0;
  uint32_t unwritten = rgt__verify_data_fill(dtype, fill);
  for (int64_t c = 0; c < n_out; c++) {
    int64_t i = row * n_out + c, e = rgt__verify_set_find(s, row, c, &at);
    double value = rgt__number_load(dtype, y, i), y64 = e < 0 ? 0 : s->y64[e];
    if (bits_at(dtype, y, i) == unwritten) {
      note(result, value, y64, e < 0 ? 0 : s->bound[e]);
      return rgt__verify_check_fail(result, "poison", row, c, "y[%lld, %lld] was never written", (long long)row, (long long)c);
    }
    if (e < 0) {
      if (!s->problem.finite || !isnan(value)) continue;
      note(result, value, 0, 0);
      return rgt__verify_check_fail(result, "poison", row, c, "y[%lld, %lld] is NaN; no input of it is", (long long)row,
                                    (long long)c);
    }
    expectation x = expect(s, call, mode, e, row, c);
    int right = mode == RGT_VERIFY_EXACT && !isnan(value)
                    ? check_exact(dtype, y, i, x.y64, pass, row, c, result)
                    : check_bound(value, x.y64, x.bound, mode == RGT_VERIFY_BOUND && x.may_overflow, pass, row, c, result);
    if (!right) return 0;
  }
  return 1;
}

int rgt__verify_check_elements(const rgt__verify_set *s, const rgt__verify_call *call, const rgt__verify_output *y, int fill,
                               rgt__verify_mode mode, const char *pass, rgt__verify_result *result) {
  const rgt__problem *p = &s->problem;
  for (int64_t row = 0; row < p->rows; row++) {
    int64_t g = rgt__problem_index_at(p, row);
    int live = g >= 0 && g < p->op.groups;
    int right = live ? check_live(s, call, y->y, row, fill, mode, pass, result)
                     : rgt__verify_check_none(p, call, y->y, row, fill, g == -1 ? "masked" : "status", result);
    if (!right) return 0;
  }
  return 1;
}

int rgt__verify_check_rest(const rgt__problem *p, const rgt__verify_call *call, const rgt__verify_output *y,
                           rgt__verify_result *result) {
  int64_t n = 0, first = INT64_MAX, groups = call->groups ? call->groups : p->op.groups;
  if (y->damaged) {
    note(result, 0, 0, 0);
    return rgt__verify_check_fail(result, "canary", y->row, y->column, "%s", y->what);
  }
  for (int64_t row = call->rows - 1; row >= 0; row--) {
    int64_t g = rgt__verify_data_group(p, call, row);
    if (g >= -1 && g < groups) continue;
    n++;
    first = row;
  }
  note(result, (double)y->n_errors, (double)n, 0);
  if (y->n_errors != n)
    return rgt__verify_check_fail(result, "status", n ? first : -1, -1,
                                  "%lld rows with an index out of range were counted; there are %lld", (long long)y->n_errors,
                                  (long long)n);
  note(result, (double)y->first_error, (double)first, 0);
  if (y->first_error != first)
    return rgt__verify_check_fail(result, "status", n ? first : -1, -1,
                                  "the first row with an index out of range was given as %lld; it is %lld",
                                  (long long)y->first_error, n ? (long long)first : -1LL);
  note(result, 0, 0, 0);
  return 1;
}
