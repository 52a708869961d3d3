/* fake_device.h -- a device in the process itself: memory of exact size (so that a sanitizer sees a read too far), and a
 * callable whose kernel is a plain C loop that sums in one of several orders, and errs on request. */
#ifndef RGT_TESTS_FAKE_DEVICE_H
#define RGT_TESTS_FAKE_DEVICE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/number.h"
#include "runtime/verify.h"

typedef enum fake_sum { FAKE_SEQ, FAKE_SEQ_FMA, FAKE_BACKWARD, FAKE_DOT8, FAKE_N_SUMS } fake_sum;

typedef enum fake_fault {
  FAKE_RIGHT,
  FAKE_LIVE_MINUS_ZERO, /* allowed */
  FAKE_DROP_LAST_K,
  FAKE_DROP_LAST_8,
  FAKE_WRONG_GROUP,
  FAKE_WRITE_PAST_ROW,
  FAKE_WRITE_PAST_END,
  FAKE_WRITE_BEFORE,
  FAKE_WRITE_INPUT,
  FAKE_MASKED_ALONE,
  FAKE_MASKED_MINUS_ZERO,
  FAKE_MASKED_LEAK,
  FAKE_F16_SUMS,
  FAKE_NO_BIAS_1,
  FAKE_NO_BIAS_2,
  FAKE_DROP_HIDDEN,
  FAKE_NEIGHBOUR, /* sums the other way round after a masked row */
  FAKE_ROW_COUNT, /* and in calls of a few rows */
  FAKE_INDEX_32,
  FAKE_READ_PADDING,
  FAKE_UNUSED_TIMES_ZERO,
  FAKE_NO_ERROR_COUNT,
  FAKE_NO_FIRST_ERROR,
  FAKE_BAD_ROW_ALONE,
  FAKE_BAD_ROW_CLAMPED,
  FAKE_TF32,
  FAKE_BF16_HIDDEN, /* undeclared */
  FAKE_RELU_EATS_NAN,
  FAKE_UNWRITTEN,
  FAKE_PACKED_X, /* takes leading dimensions for the packed ones */
  FAKE_PACKED_W,
  FAKE_STACKED_BIAS, /* ignores the pointer flags */
  FAKE_Y_TRUNCATED,  /* rounds y toward zero */
  FAKE_OWN_X,        /* takes rows to have an x each */
  FAKE_NOT_ADDED,
  FAKE_ADDED_ROUNDED, /* rounds before it adds */
  FAKE_NONE_ADDED,    /* 0 in rows without a group though y is added to */
  FAKE_OFFSET_LATE    /* the first row of a group is taken for one of the group before */
} fake_fault;

typedef struct fake_kernel {
  rgt_op_desc op;
  rgt_weight_form form;
  fake_sum sum;
  fake_fault fault;
  int hidden_16bit;
  int64_t wrong_row;
  int64_t other_group; /* FAKE_WRONG_GROUP: a group in use besides group 1 */
  int n_calls;
} fake_kernel;

/* ---- device ---- */

static int fake_live_buffers;     /* allocations not freed */
static int fake_allocs_left = -1; /* so many allocations more, then RGT_ENOMEM; -1: no end */

static inline rgt_status fake_alloc(rgt__device *d, size_t bytes, void **p, rgt__error *err) {
  (void)d;
  if (!fake_allocs_left) return rgt__error_nomem(err, bytes);
  if (fake_allocs_left > 0) fake_allocs_left--;
  *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!*p) return rgt__error_nomem(err, bytes);
  fake_live_buffers++;
  return RGT_OK;
}

static inline void fake_free(rgt__device *d, void *p) {
  (void)d;
  free(p);
  fake_live_buffers--;
}

static inline rgt_status fake_write(rgt__device *d, void *to, const void *from, size_t bytes, rgt__error *err) {
  (void)d, (void)err;
  memcpy(to, from, bytes);
  return RGT_OK;
}

static inline rgt_status fake_read(rgt__device *d, void *to, const void *from, size_t bytes, rgt__error *err) {
  return fake_write(d, to, from, bytes, err);
}

static const rgt__device_ops fake_ops = {
    .kind = "fake", .mem_alloc = fake_alloc, .mem_free = fake_free, .mem_write = fake_write, .mem_read = fake_read};
static rgt__device fake_device = {.ops = &fake_ops};

/* ---- kernel ---- */

static inline float fake_round_to(float v, int bits) { /* significand of so many bits, to nearest */
  int e;
  float m = frexpf(v, &e);
  return isfinite(v) ? ldexpf(nearbyintf(ldexpf(m, bits)), e - bits) : v;
}

static inline float fake_act(const fake_kernel *f, float z) {
  if (f->op.act == RGT_ACT_RELU && f->fault == FAKE_RELU_EATS_NAN) return fmaxf(z, 0);
  switch (f->op.act) {
  case RGT_ACT_NONE:
    return z;
  case RGT_ACT_RELU:
    return z > 0 || isnan(z) ? z : 0;
  case RGT_ACT_TANH:
    return tanhf(z);
  case RGT_ACT_SILU:
    return z < -200 ? -0.0f : z / (1 + expf(-z));
  case RGT_ACT_GELU:
    return (float)(0.5 * z * erfc(-(double)z / sqrt(2.0)));
  case RGT_ACT_GELU_TANH:
    return (float)(0.5 * z * (1 + tanh(0.7978845608028654 * (z + 0.044715 * z * (double)z * z))));
  }
  return z;
}

typedef struct fake_layer {
  const unsigned char *w, *b;
  int64_t n_k, n_f, step_k, step_f;
} fake_layer;

static inline fake_layer fake_layer_of(const fake_kernel *f, const rgt_kargs *k, int which, int64_t g) {
  const rgt_op_desc *op = &f->op;
  size_t element = rgt__number_bytes(op->dtype);
  int mlp = op->kind == RGT_MLP, second = which == 2;
  const unsigned char *w = second ? k->w2 : k->w1, *b = second ? k->b2 : k->b1;
  int64_t ld = second ? k->ld_w2 : k->ld_w1, stride = second ? k->stride_w2 : k->stride_w1;
  int64_t flag = k->flags & (second ? RGT_KARGS_B2_POINTERS : RGT_KARGS_B1_POINTERS);
  fake_layer l = {.n_k = second ? op->n_hidden : op->n_in, .n_f = mlp && !second ? op->n_hidden : op->n_out};
  if (f->fault == FAKE_PACKED_W) ld = op->layout == RGT_NK ? l.n_k : l.n_f;
  l.step_k = op->layout == RGT_NK ? 1 : ld;
  l.step_f = op->layout == RGT_NK ? ld : 1;
  l.w = f->form == RGT_POINTERS ? ((const unsigned char *const *)(const void *)w)[g] : w + (size_t)(g * stride) * element;
  if (!b) return l;
  if (flag && f->fault == FAKE_STACKED_BIAS) b = l.w, flag = 0; /* wrong data, and no read too far */
  l.b = flag ? ((const unsigned char *const *)(const void *)b)[g]
             : b + (b == l.w ? 0 : (size_t)(g * (second ? k->stride_b2 : k->stride_b1)) * element);
  return l;
}

static inline float fake_dot(const fake_kernel *f, const fake_layer *l, int64_t feature, const float *in, fake_sum sum,
                             int drop) {
  float acc[8] = {0};
  int64_t n = l->n_k > drop ? l->n_k - drop : 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t k = sum == FAKE_BACKWARD ? n - 1 - i : i;
    float *a = &acc[sum == FAKE_DOT8 ? k % 8 : 0];
    float w = (float)rgt__number_load(f->op.dtype, l->w, feature * l->step_f + k * l->step_k), x = in[k];
    if (f->fault == FAKE_TF32) w = fake_round_to(w, 11), x = fake_round_to(x, 11);
    *a = sum == FAKE_SEQ_FMA ? fmaf(w, x, *a) : *a + (float)(w * x);
    if (f->fault == FAKE_F16_SUMS) *a = fake_round_to(*a, 11);
  }
  return ((acc[0] + acc[4]) + (acc[1] + acc[5])) + ((acc[2] + acc[6]) + (acc[3] + acc[7]));
}

static inline int64_t fake_index_value(const fake_kernel *f, const rgt_kargs *k, int64_t i) {
  if (f->op.index_type == RGT_I32) return ((const int32_t *)k->index)[i];
  int64_t g = ((const int64_t *)k->index)[i];
  return f->fault == FAKE_INDEX_32 ? (int32_t)g : g;
}

static inline int64_t fake_index(const fake_kernel *f, const rgt_kargs *k, int64_t row) {
  int64_t late = f->fault == FAKE_OFFSET_LATE && row > 0;
  if (k->order != RGT_ORDER_OFFSETS) return fake_index_value(f, k, row);
  for (int64_t g = 0; g < k->groups; g++)
    if (fake_index_value(f, k, g) <= row - late && fake_index_value(f, k, g + 1) > row - late) return g;
  return row < fake_index_value(f, k, k->groups) ? -2 : -1; /* a row of no group, or a masked one */
}

static inline void fake_zero_row(const fake_kernel *f, const rgt_kargs *k, int64_t row, double zero) {
  if (k->y_mode == RGT_Y_ADD && f->fault != FAKE_NONE_ADDED && row < k->rows) return;
  for (int64_t c = 0; c < f->op.n_out; c++) rgt__number_store(f->op.dtype, k->y, row * k->ld_y + c, zero);
}

static inline void fake_store(const fake_kernel *f, const rgt_kargs *k, int64_t row, int64_t column, float v) {
  if (f->fault == FAKE_UNWRITTEN && row == 1 && column == f->op.n_out - 1) return;
  if (f->fault == FAKE_LIVE_MINUS_ZERO && v == 0) v = -0.0f;
  if (k->y_mode == RGT_Y_ADD && f->fault == FAKE_ADDED_ROUNDED) v = (float)rgt__number_round(f->op.dtype, v);
  if (k->y_mode == RGT_Y_ADD && f->fault != FAKE_NOT_ADDED)
    v = (float)rgt__number_load(f->op.dtype, k->y, row * k->ld_y + column) + v;
  double r = rgt__number_round(f->op.dtype, v);
  if (f->fault == FAKE_Y_TRUNCATED && fabs(r) > fabs(v)) r = nextafter(v, 0) * (1 - rgt__number_u(f->op.dtype));
  rgt__number_store(f->op.dtype, k->y, row * k->ld_y + column, r);
}

static inline void fake_live_row(const fake_kernel *f, const rgt_kargs *k, int64_t row, int64_t g, float *x, float *h) {
  const rgt_op_desc *op = &f->op;
  size_t element = rgt__number_bytes(op->dtype);
  int64_t ld_x = f->fault == FAKE_PACKED_X ? op->n_in : k->ld_x;
  int mlp = op->kind == RGT_MLP, drop = f->fault == FAKE_DROP_LAST_K ? 1 : f->fault == FAKE_DROP_LAST_8 ? 8 : 0;
  fake_sum sum = f->sum;
  float extra = 0;
  if (f->fault == FAKE_NEIGHBOUR && row && fake_index(f, k, row - 1) == -1) sum = FAKE_BACKWARD;
  if (f->fault == FAKE_ROW_COUNT && k->rows < 16) sum = FAKE_BACKWARD;
  if (f->fault == FAKE_WRONG_GROUP && k->rows > 200 && row == f->wrong_row) g = g == 1 ? f->other_group : 1;
  int64_t x_row = f->fault == FAKE_OWN_X ? row % ((k->rows - 1) / k->x_div + 1) : row / k->x_div;
  for (int64_t i = 0; i < op->n_in; i++) x[i] = (float)rgt__number_load(op->dtype, k->x, x_row * ld_x + i);
  if (f->fault == FAKE_READ_PADDING && k->ld_x > op->n_in)
    extra = 0 * (float)rgt__number_load(op->dtype, k->x, x_row * k->ld_x + op->n_in);
  if (f->fault == FAKE_MASKED_LEAK && row && fake_index(f, k, row - 1) == -1)
    extra = 0 * (float)rgt__number_load(op->dtype, k->x, (row - 1) / k->x_div * k->ld_x);
  if (f->fault == FAKE_UNUSED_TIMES_ZERO) extra = 0 * (float)rgt__number_load(op->dtype, k->w1, 0);
  fake_layer l = fake_layer_of(f, k, 1, g);
  float *out = h;
  for (int64_t j = 0; j < l.n_f; j++) {
    float z = fake_dot(f, &l, j, x, sum, drop) + extra;
    if (l.b && f->fault != FAKE_NO_BIAS_1) z += (float)rgt__number_load(op->dtype, l.b, j);
    out[j] = fake_act(f, z);
    if (mlp && f->hidden_16bit) out[j] = (float)rgt__number_round(op->dtype, out[j]);
    if (mlp && f->fault == FAKE_BF16_HIDDEN) out[j] = fake_round_to(out[j], 8);
  }
  if (mlp) {
    l = fake_layer_of(f, k, 2, g);
    for (int64_t o = 0; o < l.n_f; o++) {
      float y = fake_dot(f, &l, o, h, sum, f->fault == FAKE_DROP_HIDDEN);
      if (l.b && f->fault != FAKE_NO_BIAS_2) y += (float)rgt__number_load(op->dtype, l.b, o);
      fake_store(f, k, row, o, y);
    }
  } else {
    for (int64_t o = 0; o < l.n_f; o++) fake_store(f, k, row, o, h[o]);
  }
  if (f->fault == FAKE_WRITE_PAST_ROW && k->ld_y > op->n_out) rgt__number_store(op->dtype, k->y, row * k->ld_y + op->n_out, 0);
  if (f->fault == FAKE_WRITE_BEFORE) memset((unsigned char *)k->y - element, 0, element);
  if (f->fault == FAKE_WRITE_INPUT && row == 3) memset((unsigned char *)(uintptr_t)k->x, 0, element);
}

static inline rgt_status fake_run(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *err) {
  fake_kernel *f = self;
  const rgt_op_desc *op = &f->op;
  (void)device;
  f->n_calls++;
  if (!k->rows) return RGT_OK;
  float *x = malloc((size_t)op->n_in * sizeof *x), *h = malloc((size_t)(op->n_hidden + op->n_out) * sizeof *h);
  if (!x || !h) {
    free(x);
    free(h);
    return rgt__error_nomem(err, sizeof *x);
  }
  for (int64_t row = 0; row < k->rows; row++) {
    int64_t g = fake_index(f, k, row);
    if (g == -1) {
      if (f->fault != FAKE_MASKED_ALONE) fake_zero_row(f, k, row, f->fault == FAKE_MASKED_MINUS_ZERO ? -0.0 : 0);
      continue;
    }
    if (g < -1 || g >= k->groups) {
      if (f->fault != FAKE_NO_ERROR_COUNT) ++*k->n_index_errors;
      if (f->fault != FAKE_NO_FIRST_ERROR && row < *k->first_index_error) *k->first_index_error = row;
      if (f->fault != FAKE_BAD_ROW_ALONE) fake_zero_row(f, k, row, 0);
      if (f->fault != FAKE_BAD_ROW_CLAMPED) continue;
      g = k->groups - 1;
    }
    fake_live_row(f, k, row, g, x, h);
  }
  if (f->fault == FAKE_WRITE_PAST_END) fake_zero_row(f, k, k->rows, 0);
  free(x);
  free(h);
  return RGT_OK;
}

static inline rgt__callable fake_callable(fake_kernel *f) {
  return (rgt__callable){.device = &fake_device, .self = f, .run = fake_run};
}

#endif
