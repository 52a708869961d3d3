/* mma_rows.h -- the floating-point mma: a tile of 16 rows as vectors of 16, in AVX-512 where the compiler has it.
 *
 * A fragment's registers hold, in lane 4g + t, row g (and g + 8) and columns or k's of t. Reading them for one t gives 16 rows.
 */
#ifndef PTXSIM_MMA_ROWS_H
#define PTXSIM_MMA_ROWS_H

#include "exec/machine.h"
#include "exec/number.h"

enum { SIM_MMA_ROWS = 16, SIM_MMA_COLUMNS = 8, SIM_MMA_MOST_K = 16 };

typedef struct sim_tile {
  _Alignas(64) float a[SIM_MMA_MOST_K][SIM_MMA_ROWS];
  _Alignas(64) float d[SIM_MMA_COLUMNS][SIM_MMA_ROWS];
  float b[SIM_MMA_MOST_K][SIM_MMA_COLUMNS];
} sim_tile;

/* out[t][m]: row m for t = 0 .. 3, from the registers of rows g and g + 8. */
static inline void sim__rows_of(const uint32_t *low, const uint32_t *high, uint32_t out[4][SIM_MMA_ROWS]);
/* The same backwards. */
static inline void sim__rows_to(uint32_t in[4][SIM_MMA_ROWS], uint32_t *low, uint32_t *high);

#ifdef __AVX512F__
#include <immintrin.h>

static inline void sim__rows_of(const uint32_t *low, const uint32_t *high, uint32_t out[4][SIM_MMA_ROWS]) {
  const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
  const __m512i two = _mm512_set1_epi32(2);
  const __m512i l0 = _mm512_loadu_si512(low), l1 = _mm512_loadu_si512(low + 16), h0 = _mm512_loadu_si512(high),
                h1 = _mm512_loadu_si512(high + 16);
  for (int t = 0; t < 4; t += 2) {
    const __m512i pick = t ? _mm512_add_epi32(first, two) : first;
    const __m512i l = _mm512_permutex2var_epi32(l0, pick, l1), h = _mm512_permutex2var_epi32(h0, pick, h1);
    _mm512_storeu_si512(out[t], _mm512_shuffle_i64x2(l, h, 0x44));
    _mm512_storeu_si512(out[t + 1], _mm512_shuffle_i64x2(l, h, 0xEE));
  }
}

static inline void sim__rows_to(uint32_t in[4][SIM_MMA_ROWS], uint32_t *low, uint32_t *high) {
  /* lanes 4g + t of g = 0 .. 3, then 4 .. 7, out of rows 0 to 7 of pairs of t */
  const __m512i pair = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
  const __m512i four = _mm512_set1_epi32(4);
  const __m512i r0 = _mm512_loadu_si512(in[0]), r1 = _mm512_loadu_si512(in[1]), r2 = _mm512_loadu_si512(in[2]),
                r3 = _mm512_loadu_si512(in[3]);
  const __m512i l01 = _mm512_shuffle_i64x2(r0, r1, 0x44), l23 = _mm512_shuffle_i64x2(r2, r3, 0x44);
  const __m512i h01 = _mm512_shuffle_i64x2(r0, r1, 0xEE), h23 = _mm512_shuffle_i64x2(r2, r3, 0xEE);
  const __m512i second = _mm512_add_epi32(pair, four);
  _mm512_storeu_si512(low, _mm512_permutex2var_epi32(l01, pair, l23));
  _mm512_storeu_si512(low + 16, _mm512_permutex2var_epi32(l01, second, l23));
  _mm512_storeu_si512(high, _mm512_permutex2var_epi32(h01, pair, h23));
  _mm512_storeu_si512(high + 16, _mm512_permutex2var_epi32(h01, second, h23));
}

/* Both halves of 16 words. */
static inline void sim__halves(const uint32_t *words, int kind, float *low, float *high) {
  const __m512i w = _mm512_loadu_si512(words);
  if (kind == SIM_MMA_F16) {
    _mm512_storeu_ps(low, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(w)));
    _mm512_storeu_ps(high, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(w, 16))));
  } else {
    _mm512_storeu_si512(low, _mm512_slli_epi32(w, 16));
    _mm512_storeu_si512(high, _mm512_and_si512(w, _mm512_set1_epi32((int)0xFFFF0000)));
  }
}

static inline void sim__multiply(sim_tile *x, uint32_t k) {
  __m512 sum[SIM_MMA_COLUMNS];
  for (int n = 0; n < SIM_MMA_COLUMNS; n++) sum[n] = _mm512_load_ps(x->d[n]);
  for (uint32_t c = 0; c < k; c++) {
    const __m512 a = _mm512_load_ps(x->a[c]);
    for (int n = 0; n < SIM_MMA_COLUMNS; n++) sum[n] = _mm512_fmadd_ps(a, _mm512_set1_ps(x->b[c][n]), sum[n]);
  }
  for (int n = 0; n < SIM_MMA_COLUMNS; n++) _mm512_store_ps(x->d[n], sum[n]);
}

#else

static inline void sim__rows_of(const uint32_t *low, const uint32_t *high, uint32_t out[4][SIM_MMA_ROWS]) {
  for (int t = 0; t < 4; t++)
    for (int g = 0; g < 8; g++) {
      out[t][g] = low[4 * g + t];
      out[t][g + 8] = high[4 * g + t];
    }
}

static inline void sim__rows_to(uint32_t in[4][SIM_MMA_ROWS], uint32_t *low, uint32_t *high) {
  for (int t = 0; t < 4; t++)
    for (int g = 0; g < 8; g++) {
      low[4 * g + t] = in[t][g];
      high[4 * g + t] = in[t][g + 8];
    }
}

static inline void sim__halves(const uint32_t *words, int kind, float *low, float *high) {
  for (int m = 0; m < SIM_MMA_ROWS; m++) {
    low[m] = kind == SIM_MMA_F16 ? sim__f16_to_f32((uint16_t)words[m]) : sim__bf16_to_f32((uint16_t)words[m]);
    high[m] = kind == SIM_MMA_F16 ? sim__f16_to_f32((uint16_t)(words[m] >> 16)) : sim__bf16_to_f32((uint16_t)(words[m] >> 16));
  }
}

static inline void sim__multiply(sim_tile *x, uint32_t k) {
  for (uint32_t n = 0; n < SIM_MMA_COLUMNS; n++) {
    float sum[SIM_MMA_ROWS];
    for (uint32_t m = 0; m < SIM_MMA_ROWS; m++) sum[m] = x->d[n][m];
    for (uint32_t c = 0; c < k; c++)
      for (uint32_t m = 0; m < SIM_MMA_ROWS; m++) sum[m] = __builtin_fmaf(x->a[c][m], x->b[c][n], sum[m]);
    for (uint32_t m = 0; m < SIM_MMA_ROWS; m++) x->d[n][m] = sum[m];
  }
}

#endif

#endif
