/* plain_10_20_5.c -- the loop that a user would write for 10-20-5 in layout nk: dims are constants, no index checks.
 * Compiled by itself with -O3 -march=x86-64-v3 (tests/bench/CMakeLists.txt). */
#include "tests/bench/plain_10_20_5.h"

enum { IN = 10, HIDDEN = 20, OUT = 5 };

void plain_10_20_5(const float *x, const int64_t *index, const float *w1, const float *b1, const float *w2, const float *b2,
                   float *y, int64_t rows) {
  for (int64_t r = 0; r < rows; r++) {
    int64_t g = index[r];
    const float *wa = w1 + g * HIDDEN * IN, *wb = w2 + g * OUT * HIDDEN;
    float hidden[HIDDEN];
    for (int h = 0; h < HIDDEN; h++) {
      float sum = b1[g * HIDDEN + h];
      for (int i = 0; i < IN; i++) sum += wa[h * IN + i] * x[r * IN + i];
      hidden[h] = sum < 0 ? 0 : sum;
    }
    for (int o = 0; o < OUT; o++) {
      float sum = b2[g * OUT + o];
      for (int h = 0; h < HIDDEN; h++) sum += wb[o * HIDDEN + h] * hidden[h];
      y[r * OUT + o] = sum;
    }
  }
}
