/* number.c -- storage types: sizes, conversion, rounding. */
#include "runtime/base/number.h"

#include <string.h>

size_t rgt__number_bytes(rgt_dtype dtype) {
  return dtype == RGT_F32 ? 4 : 2;
}

static float float_of_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

float rgt__number_from_f16(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31) return float_of_bits(sign | 0x7f800000 | fraction << 13);
  if (exponent) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = (float)fraction * 0x1p-24f; /* subnormal or zero: exact in f32 */
  return sign ? -magnitude : magnitude;
}

float rgt__number_from_bf16(uint16_t bits) {
  return float_of_bits((uint32_t)bits << 16);
}

/* A double as a type of 1 sign, n_exponent and n_fraction bits (16 in all), rounded once to nearest even straight from the
 * double: by way of float, a value just beside a tie would be rounded twice. In the subnormal range more bits are shifted out
 * and the exponent field is 0; a carry out of the fraction runs into the exponent, which is the right next number. */
static uint16_t pack(double v, int n_exponent, int n_fraction) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7ff), bias = (1 << (n_exponent - 1)) - 1;
  uint64_t fraction = bits & 0xfffffffffffff;
  uint32_t sign = (uint32_t)(bits >> 63) << 15, infinity = ((1u << n_exponent) - 1) << n_fraction;
  if (exponent == 0x7ff && fraction) /* NaN: the quiet bit keeps it one when the low bits go */
    return (uint16_t)(sign | infinity | 1u << (n_fraction - 1) | (uint32_t)(fraction >> (52 - n_fraction)));
  int e = exponent - 1023;
  if (e > bias) return (uint16_t)(sign | infinity); /* and infinity itself */
  int shift = 52 - n_fraction, normal = e >= 1 - bias;
  if (!normal) shift += 1 - bias - e;
  if (shift > 53) return (uint16_t)sign; /* under half of the smallest subnormal; subnormal doubles too */
  uint64_t significand = fraction | (uint64_t)1 << 52, kept = significand >> shift;
  uint64_t rest = significand & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  if (normal) kept += (uint64_t)(e + bias - 1) << n_fraction; /* -1: kept holds the leading one */
  return (uint16_t)(sign | (uint32_t)kept);
}

static uint16_t pack_dtype(rgt_dtype dtype, double v) {
  return dtype == RGT_F16 ? pack(v, 5, 10) : pack(v, 8, 7);
}

static float unpack_dtype(rgt_dtype dtype, uint16_t bits) {
  return dtype == RGT_F16 ? rgt__number_from_f16(bits) : rgt__number_from_bf16(bits);
}

double rgt__number_load(rgt_dtype dtype, const void *array, int64_t i) {
  if (dtype == RGT_F32) return ((const float *)array)[i];
  return unpack_dtype(dtype, ((const uint16_t *)array)[i]);
}

void rgt__number_store(rgt_dtype dtype, void *array, int64_t i, double v) {
  if (dtype == RGT_F32) {
    ((float *)array)[i] = (float)v;
  } else {
    ((uint16_t *)array)[i] = pack_dtype(dtype, v);
  }
}

double rgt__number_round(rgt_dtype dtype, double v) {
  return dtype == RGT_F32 ? (double)(float)v : unpack_dtype(dtype, pack_dtype(dtype, v));
}

double rgt__number_u(rgt_dtype dtype) {
  return dtype == RGT_F32 ? 0x1p-24 : dtype == RGT_F16 ? 0x1p-11 : 0x1p-8;
}

double rgt__number_eta(rgt_dtype dtype) {
  return dtype == RGT_F32 ? 0x1p-150 : dtype == RGT_F16 ? 0x1p-25 : 0x1p-134;
}

double rgt__number_max(rgt_dtype dtype) {
  return dtype == RGT_F32 ? 0x1.fffffep127 : dtype == RGT_F16 ? 65504.0 : 0x1.fep127;
}

int64_t rgt__number_bucket(int64_t rows) {
  if (rows <= 1) return 1;
  int bits = 64 - __builtin_clzll((unsigned long long)(rows - 1));
  return (int64_t)1 << (bits < 62 ? bits : 62); /* beyond any row count, but no overflow */
}

void rgt_from_float(rgt_dtype dtype, const float *from, void *to, size_t n) {
  if (dtype == RGT_F32) {
    if (n) memcpy(to, from, n * sizeof *from);
    return;
  }
  uint16_t *out = to;
  for (size_t i = 0; i < n; i++) out[i] = pack_dtype(dtype, from[i]);
}

void rgt_to_float(rgt_dtype dtype, const void *from, float *to, size_t n) {
  if (dtype == RGT_F32) {
    if (n) memcpy(to, from, n * sizeof *to);
    return;
  }
  const uint16_t *in = from;
  for (size_t i = 0; i < n; i++) to[i] = unpack_dtype(dtype, in[i]);
}
