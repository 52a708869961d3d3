/* plain_loop.c -- what people write first: for each row, a plain loop over its group's weights. */
#include "runtime/plain_loop.h"

#include <math.h>

static float activate(rgt_act act, float z) {
  switch (act) {
  case RGT_ACT_RELU:
    return z < 0 ? 0 : z;
  case RGT_ACT_GELU:
    return 0.5f * z * (1 + erff(z * 0.70710678f));
  case RGT_ACT_GELU_TANH:
    return 0.5f * z * (1 + tanhf(0.79788456f * (z + 0.044715f * z * z * z)));
  case RGT_ACT_SILU:
    return z / (1 + expf(-z));
  case RGT_ACT_TANH:
    return tanhf(z);
  default:
    return z;
  }
}

static void layer(const float *x, const float *w, int64_t ld_w, const float *b, float *y, int64_t n_in, int64_t n_out,
                  rgt_layout layout, rgt_act act) {
  for (int64_t o = 0; o < n_out; o++) {
    float sum = b ? b[o] : 0;
    if (layout == RGT_NK)
      for (int64_t i = 0; i < n_in; i++) sum += w[o * ld_w + i] * x[i];
    else
      for (int64_t i = 0; i < n_in; i++) sum += w[i * ld_w + o] * x[i];
    y[o] = activate(act, sum);
  }
}

static const float *offset(const void *base, int64_t elems) {
  return base ? (const float *)base + elems : NULL;
}

static int64_t value(const rgt_op_desc *op, const rgt_kargs *k, int64_t i) { /* of the index, or the offsets */
  return op->index_type == RGT_I64 ? ((const int64_t *)k->index)[i] : ((const int32_t *)k->index)[i];
}

/* From the group of the row before on; groups where row r is masked. */
static int64_t group_of_offsets(const rgt_op_desc *op, const rgt_kargs *k, int64_t r, int64_t g) {
  while (g < k->groups && value(op, k, g + 1) <= r) g++;
  return g;
}

void rgt__plain_loop(const rgt_op_desc *op, const rgt_kargs *k, float *hidden) {
  int64_t at = 0;
  for (int64_t r = 0; r < k->rows; r++) {
    int64_t g = k->order == RGT_ORDER_OFFSETS ? (at = group_of_offsets(op, k, r, at)) : value(op, k, r);
    float *y = (float *)k->y + r * k->ld_y;
    if (g < 0 || g >= k->groups) {
      for (int64_t o = 0; o < op->n_out; o++) y[o] = 0;
      continue;
    }
    const float *x = offset(k->x, r * k->ld_x), *w1 = offset(k->w1, g * k->stride_w1), *b1 = offset(k->b1, g * k->stride_b1);
    if (op->kind == RGT_LINEAR) {
      layer(x, w1, k->ld_w1, b1, y, op->n_in, op->n_out, op->layout, op->act);
    } else {
      layer(x, w1, k->ld_w1, b1, hidden, op->n_in, op->n_hidden, op->layout, op->act);
      layer(hidden, offset(k->w2, g * k->stride_w2), k->ld_w2, offset(k->b2, g * k->stride_b2), y, op->n_hidden, op->n_out,
            op->layout, RGT_ACT_NONE);
    }
  }
}
