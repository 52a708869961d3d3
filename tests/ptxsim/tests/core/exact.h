/* exact.h -- floats by whole numbers alone: the reference that the instructions are compared with. A value is m 2^e, a little
 * more in magnitude where `more` is set (by less than any bit that matters). Infinities and NaN are flags. */
#ifndef SIM_TESTS_EXACT_H
#define SIM_TESTS_EXACT_H

#include <stdint.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* GCC 12 sees a signed __int128 in literals cast to the unsigned one */
typedef unsigned __int128 big;
typedef struct exact {
  int nan, inf, neg, more, e;
  big m;
} exact;
typedef enum mode { RN, RZ, RM, RP } mode;
typedef struct format {
  int digits, exponent_bits;
} format;
static const format F16 = {11, 5}, BF16 = {8, 8}, F32 = {24, 8}, F64 = {53, 11};

static inline int top_of(big m) { /* position of the highest bit; -1 for 0 */
  int n = -1;
  for (; m; m >>= 1) n++;
  return n;
}

static inline exact exact_of(uint64_t bits, format f) {
  const int stored = f.digits - 1, top = (1 << f.exponent_bits) - 1, bias = top >> 1;
  const int e = (int)(bits >> stored) & top;
  const uint64_t m = bits & (((uint64_t)1 << stored) - 1);
  exact x = {.neg = (int)(bits >> (stored + f.exponent_bits)) & 1};
  if (e == top) {
    x.nan = m != 0;
    x.inf = m == 0;
    return x;
  }
  x.m = e ? m | (uint64_t)1 << stored : m;
  x.e = (e ? e : 1) - bias - stored;
  return x;
}

/* m 2^e as a whole multiple of 2^to, rounded. */
static inline big round_at(exact x, int to, mode how) {
  if (to <= x.e) return x.m << (x.e - to);
  const int n = to - x.e;
  const big kept = n > 127 ? 0 : x.m >> n, half = n > 127 ? 0 : (big)1 << (n - 1);
  const big rest = n > 127 ? x.m : x.m & (((big)1 << n) - 1);
  const int inexact = rest != 0 || x.more;
  int up = 0;
  if (how == RN && n <= 127) up = rest > half || (rest == half && (x.more || (kept & 1)));
  if (how == RM) up = inexact && x.neg;
  if (how == RP) up = inexact && !x.neg;
  return kept + (big)up;
}

static inline uint64_t exact_round(exact x, format f, mode how) {
  const int stored = f.digits - 1, top = (1 << f.exponent_bits) - 1, bias = top >> 1, lowest = 1 - bias - stored;
  const uint64_t sign = (uint64_t)x.neg << (stored + f.exponent_bits), inf = (uint64_t)top << stored;
  if (x.nan) return inf | (((uint64_t)1 << stored) - 1);
  if (x.inf) return sign | inf;
  if (x.m == 0 && !x.more) return sign;
  int to = x.e + top_of(x.m) - stored;
  if (to < lowest) to = lowest;
  big m = round_at(x, to, how);
  if (m >> f.digits) {
    m >>= 1;
    to++;
  }
  if (!(m >> stored)) return sign | (uint64_t)m;
  const int biased = to - lowest + 1;
  if (biased >= top) return sign | (how == RN || (how == RM && x.neg) || (how == RP && !x.neg) ? inf : inf - 1);
  return sign | (uint64_t)biased << stored | ((uint64_t)m & (((uint64_t)1 << stored) - 1));
}

static inline exact exact_nan(void) {
  return (exact){.nan = 1};
}

static inline exact exact_mul(exact a, exact b) {
  if (a.nan || b.nan) return exact_nan();
  const int neg = a.neg ^ b.neg;
  if (a.inf || b.inf) return (a.inf ? !b.inf && b.m == 0 : a.m == 0) ? exact_nan() : (exact){.inf = 1, .neg = neg};
  return (exact){.neg = neg, .m = a.m * b.m, .e = a.e + b.e};
}

static inline exact exact_add(exact a, exact b, mode how) {
  if (a.nan || b.nan || (a.inf && b.inf && a.neg != b.neg)) return exact_nan();
  if (a.inf) return a;
  if (b.inf) return b;
  if (a.m == 0 && b.m == 0) return (exact){.neg = a.neg == b.neg ? a.neg : how == RM};
  if (a.m == 0) return b;
  if (b.m == 0) return a;
  if (top_of(a.m) + a.e < top_of(b.m) + b.e) {
    const exact t = a;
    a = b;
    b = t;
  }
  const int up = 125 - top_of(a.m); /* the larger one as high as it goes; the smaller one beside it */
  a.m <<= up;
  a.e -= up;
  const int n = a.e - b.e;
  int more = 0;
  if (n <= 0) {
    b.m <<= -n;
  } else {
    more = n > 127 ? b.m != 0 : (b.m & (((big)1 << n) - 1)) != 0;
    b.m = n > 127 ? 0 : b.m >> n;
  }
  exact r = {.neg = a.neg, .e = a.e, .more = more};
  if (a.neg == b.neg) {
    r.m = a.m + b.m;
  } else if (a.m >= b.m + (big)more) {
    r.m = a.m - b.m - (big)more; /* what was shifted out is taken off too: a little less, so one less and a little more */
  } else {
    r.m = b.m - a.m;
    r.neg = b.neg;
  }
  if (r.m == 0 && !more) r.neg = how == RM;
  return r;
}

static inline exact exact_div(exact a, exact b) {
  const int neg = a.neg ^ b.neg;
  if (a.nan || b.nan || (a.inf && b.inf)) return exact_nan();
  if (a.inf) return (exact){.inf = 1, .neg = neg};
  if (b.inf) return (exact){.neg = neg};
  if (b.m == 0) return a.m == 0 ? exact_nan() : (exact){.inf = 1, .neg = neg};
  if (a.m == 0) return (exact){.neg = neg};
  const int up = 126 - top_of(a.m);
  const big m = a.m << up;
  return (exact){.neg = neg, .m = m / b.m, .e = a.e - up - b.e, .more = m % b.m != 0};
}

static inline exact exact_sqrt(exact a) {
  if (a.nan || (a.neg && (a.inf || a.m))) return exact_nan();
  if (a.inf || a.m == 0) return a;
  int up = 124 - top_of(a.m);
  if ((a.e - up) & 1) up++;
  const big m = a.m << up;
  big root = 0;
  for (int k = 63; k >= 0; k--) {
    const big t = root | (big)1 << k;
    if (t * t <= m) root = t;
  }
  return (exact){.m = root, .e = (a.e - up) / 2, .more = root * root != m};
}

static inline double exact_double(exact x) { /* near enough for bounds */
  const uint64_t bits = exact_round(x, F64, RN);
  double d;
  __builtin_memcpy(&d, &bits, 8);
  return d;
}

#pragma GCC diagnostic pop
#endif
