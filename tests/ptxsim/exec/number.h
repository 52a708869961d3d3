/* number.h -- bits and values of the number types, for one value; written so that compilers turn loops over them into vectors.
 */
#ifndef PTXSIM_NUMBER_H
#define PTXSIM_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float sim__f32_of_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline uint32_t sim__bits_of_f32(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static inline double sim__f64_of_bits(uint64_t u) {
  double f;
  memcpy(&f, &u, 8);
  return f;
}
static inline uint64_t sim__bits_of_f64(double f) {
  uint64_t u;
  memcpy(&u, &f, 8);
  return u;
}

/* f32 arithmetic gives one NaN. */
static inline float sim__canonical_f32(float f) {
  return f != f ? sim__f32_of_bits(0x7FFFFFFF) : f;
}

static inline float sim__bf16_to_f32(uint16_t h) {
  return sim__f32_of_bits((uint32_t)h << 16);
}

static inline uint16_t sim__f32_to_bf16(float f) {
  const uint32_t u = sim__bits_of_f32(f);
  const uint32_t rounded = (u + 0x7FFF + (u >> 16 & 1)) >> 16;
  return (uint16_t)(f != f ? 0x7FFF : rounded);
}

/* Normal halves by their exponent moved; subnormal ones as a whole number of 2^-24; Inf and NaN keep their bits. */
static inline float sim__f16_to_f32(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7FFF;
  const uint32_t normal = (rest << 13) + (112u << 23);
  const uint32_t special = (rest << 13) + (224u << 23);
  const uint32_t small = sim__bits_of_f32((float)(int32_t)rest * 0x1p-24f);
  const uint32_t u = rest >= 0x7C00 ? special : rest < 0x0400 ? small : normal;
  return sim__f32_of_bits(sign | u);
}

/* To the nearest, ties to even. Small ones: the sum with 2^-1 * 2^-... lets the f32 adder round at the half's last place. */
static inline uint16_t sim__f32_to_f16(float f) {
  const uint32_t u = sim__bits_of_f32(f), sign = u >> 16 & 0x8000, a = u & 0x7FFFFFFF;
  const uint32_t normal = (a + 0xFFF + (a >> 13 & 1) - (112u << 23)) >> 13;
  const uint32_t small = sim__bits_of_f32(sim__f32_of_bits(a) + 0.5f) - 0x3F000000u;
  uint32_t h = a < 0x38800000u ? small : normal;
  h = a >= 0x477FF000u ? 0x7C00 : h;
  h = a > 0x7F800000u ? 0x7FFF : h;
  return (uint16_t)(h | (a > 0x7F800000u ? 0 : sign));
}

#endif
