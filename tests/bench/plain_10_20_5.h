/* plain_10_20_5.h -- the loop that a user would write, for call_overhead.c to compare with. */
#ifndef RGT_BENCH_PLAIN_10_20_5_H
#define RGT_BENCH_PLAIN_10_20_5_H

#include <stdint.h>

/* y[r] = W2[g] . relu(W1[g] . x[r] + b1[g]) + b2[g], g = index[r]; packed, nk, f32. */
void plain_10_20_5(const float *x, const int64_t *index, const float *w1, const float *b1, const float *w2, const float *b2,
                   float *y, int64_t rows);

#endif
