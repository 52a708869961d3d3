/* verify_data.c -- a problem in device memory, poisoned and fenced, and calls on some of its rows.
 *
 * Inputs are surrounded by bytes 0xFF: NaN in f32, f16 and bf16. The index is surrounded by 0x7F, groups out of range. y and
 * all around it is a NaN with a payload that no arithmetic makes, so that what was never written, and what should not have
 * been, both show. Pointer arrays name the groups' matrices in reverse order, so that base + group * stride cannot be right by
 * chance, and hold NULL for groups that no row of the problem uses. */
#include "runtime/verify_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/problem_parts.h"
#include "runtime/verify_buffer.h"

#define NAN_BYTE 0xFF
#define INDEX_BYTE 0x7F
#define FENCE_BYTES 256
#define Y_FENCE_ROWS 64 /* a tile of so many rows written beyond the last one is seen */
#define Y_FENCE_MAX ((size_t)1 << 20)

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t alignment(const rgt__verify_layout *l, size_t element) {
  return l->align_bytes > (int)element ? (size_t)l->align_bytes : element;
}

/* The layout as one array has it. */
static rgt__verify_layout of_array(const rgt__verify_layout *l, int array) {
  enum { WIDE = 16 };
  rgt__verify_layout own = *l;
  if (l->wide >> array & 1 && own.align_bytes < WIDE) own.align_bytes = WIDE;
  return own;
}

/* A leading dimension for n elements: a multiple of the alignment; `extra` elements more where padded. */
static int64_t leading(const rgt__verify_layout *l, size_t element, int64_t n, int64_t extra) {
  int64_t unit = (int64_t)(alignment(l, element) / element);
  if (l->padded) n += extra;
  return (n + unit - 1) / unit * unit;
}

static rgt__verify_shape input_shape(const rgt__verify_layout *l, const char *name, size_t element, int64_t elements) {
  return (rgt__verify_shape){.name = name,
                             .body = (size_t)elements * element,
                             .front = FENCE_BYTES,
                             .behind = l->padded ? FENCE_BYTES : 0,
                             .align = alignment(l, element),
                             .fence = NAN_BYTE};
}

/* Sends an array of pointers to each group's part of `of`; groups without rows get NULL. */
static rgt_status send_pointers(rgt__verify_data *d, rgt__verify_buffer *b, const char *name, const rgt__verify_buffer *of,
                                size_t stride_bytes, const unsigned char *used, rgt__error *err) {
  int64_t groups = d->problem->op.groups;
  rgt__verify_shape shape = input_shape(&d->layout, name, sizeof(void *), groups);
  rgt_status status = rgt__verify_buffer_image(&shape, b, err);
  if (status != RGT_OK) return status;
  for (int64_t g = 0; g < groups; g++) {
    const void *p = used[g] ? (unsigned char *)rgt__verify_buffer_base(of) + (size_t)(groups - 1 - g) * stride_bytes : NULL;
    rgt__verify_buffer_place(b, (size_t)g * sizeof p, 0, &p, sizeof p, 1);
  }
  return rgt__verify_buffer_send(d->device, b, err);
}

/* One matrix (or bias: one row) for each group; *base is what the kernel is given. */
typedef struct part {
  int buffer;
  const char *name, *pointers_name;
  const void *from; /* packed, stacked */
  int64_t matrix_rows, n, ld, stride;
  int pointers;
} part;

static rgt_status send_part(rgt__verify_data *d, const part *w, const unsigned char *used, const void **base, rgt__error *err) {
  size_t element = rgt__number_bytes(d->problem->op.dtype), row_bytes = (size_t)w->n * element;
  int64_t groups = d->problem->op.groups, last;
  rgt__verify_buffer *b = &d->buffers[w->buffer], *ptrs = &d->buffers[RGT_VERIFY_PTRS + w->buffer];
  if (__builtin_mul_overflow(groups - 1, w->stride, &last) || last > INT64_MAX / 16) return rgt__error_nomem(err, SIZE_MAX);
  rgt__verify_layout own = of_array(&d->layout, w->buffer);
  rgt__verify_shape shape = input_shape(&own, w->name, element, last + (w->matrix_rows - 1) * w->ld + w->n);
  rgt_status status = rgt__verify_buffer_image(&shape, b, err);
  if (status != RGT_OK) return status;
  for (int64_t g = 0; g < groups; g++) {
    int64_t place = w->pointers ? groups - 1 - g : g;
    const unsigned char *from = (const unsigned char *)w->from + (size_t)(g * w->matrix_rows) * row_bytes;
    rgt__verify_buffer_place(b, (size_t)(place * w->stride) * element, (size_t)w->ld * element, from, row_bytes,
                             w->matrix_rows);
  }
  status = rgt__verify_buffer_send(d->device, b, err);
  *base = rgt__verify_buffer_base(b);
  if (status != RGT_OK || !w->pointers) return status;
  status = send_pointers(d, ptrs, w->pointers_name, b, (size_t)w->stride * element, used, err);
  *base = rgt__verify_buffer_base(ptrs);
  return status;
}

static rgt_status send_layer(rgt__verify_data *d, int layer, const unsigned char *used, rgt__error *err) {
  const rgt__problem *p = d->problem;
  const rgt_op_desc *op = &p->op;
  size_t element = rgt__number_bytes(op->dtype);
  int64_t in = rgt__problem_layer_in(op, layer), out = rgt__problem_layer_out(op, layer);
  if (!out) return RGT_OK;
  part w = {.buffer = layer == 1 ? RGT_VERIFY_W1 : RGT_VERIFY_W2, .from = layer == 1 ? p->w1 : p->w2};
  w.name = layer == 1 ? "w1" : "w2";
  w.pointers_name = layer == 1 ? "the pointers of w1" : "the pointers of w2";
  w.matrix_rows = op->layout == RGT_NK ? out : in;
  w.n = op->layout == RGT_NK ? in : out;
  rgt__verify_layout own = of_array(&d->layout, w.buffer), own_bias = of_array(&d->layout, w.buffer + 1);
  w.ld = leading(&own, element, w.n, 5);
  if (__builtin_mul_overflow(w.matrix_rows, w.ld, &w.stride)) return rgt__error_nomem(err, SIZE_MAX);
  w.stride = leading(&own, element, w.stride, 3);
  w.pointers = p->form == RGT_POINTERS;
  part b = {.buffer = w.buffer + 1, .from = layer == 1 ? p->b1 : p->b2, .matrix_rows = 1, .n = out};
  b.name = layer == 1 ? "b1" : "b2";
  b.pointers_name = layer == 1 ? "the pointers of b1" : "the pointers of b2";
  b.stride = b.ld = leading(&own_bias, element, out, 2);
  b.pointers = d->layout.bias_pointers;
  const void *w_base = NULL, *b_base = NULL;
  rgt_status status = send_part(d, &w, used, &w_base, err);
  int has_bias = rgt__problem_has_bias(op, layer);
  if (status == RGT_OK && has_bias) status = send_part(d, &b, used, &b_base, err);
  rgt_kargs *k = &d->kargs;
  *(layer == 1 ? &k->w1 : &k->w2) = w_base;
  *(layer == 1 ? &k->b1 : &k->b2) = b_base;
  *(layer == 1 ? &k->ld_w1 : &k->ld_w2) = w.ld;
  *(layer == 1 ? &k->stride_w1 : &k->stride_w2) = w.stride;
  *(layer == 1 ? &k->stride_b1 : &k->stride_b2) = has_bias ? b.stride : 0;
  if (has_bias && b.pointers) k->flags |= layer == 1 ? RGT_KARGS_B1_POINTERS : RGT_KARGS_B2_POINTERS;
  return status;
}

rgt_status rgt__verify_data_open(rgt__device *device, const rgt__problem *p, const rgt__verify_layout *layout,
                                 rgt__verify_data *out, rgt__error *err) {
  rgt__verify_data d = {.device = device, .problem = p, .layout = *layout};
  unsigned char *used = rgt__alloc_zero((size_t)p->op.groups, 1);
  if (!used) return rgt__error_nomem(err, (size_t)p->op.groups);
  for (int64_t row = 0; row < p->rows; row++) {
    int64_t g = rgt__problem_index_at(p, row);
    if (g >= 0 && g < p->op.groups) used[g] = 1;
  }
  rgt_status status = send_layer(&d, 1, used, err);
  if (status == RGT_OK) status = send_layer(&d, 2, used, err);
  rgt__free(used);
  if (status == RGT_OK) {
    *out = d;
  } else {
    rgt__verify_data_close(&d);
  }
  return status;
}

void rgt__verify_data_close(rgt__verify_data *d) {
  if (!d) return;
  for (int i = 0; d->device && i < RGT_VERIFY_BUFFERS; i++) rgt__verify_buffer_free(d->device, &d->buffers[i]);
  memset(d, 0, sizeof *d);
}

uint32_t rgt__verify_data_fill(rgt_dtype dtype, int fill) {
  static const uint32_t bits[3][2] = {{0x7fda5a5au, 0xffda5a5au}, {0x7e5a, 0xfe5a}, {0x7fda, 0xffda}};
  return bits[dtype][fill != 0];
}

int64_t rgt__verify_data_group(const rgt__problem *p, const rgt__verify_call *call, int64_t row) {
  if (call->index) return call->index[row];
  int64_t from = call->from ? call->from[row] : row;
  return from < 0 ? -1 : rgt__problem_index_at(p, from);
}

int rgt__verify_data_is_live(const rgt__problem *p, const rgt__verify_call *call, int64_t row) {
  int64_t g = rgt__verify_data_group(p, call, row);
  return g >= 0 && g < (call->groups ? call->groups : p->op.groups);
}

double rgt__verify_data_old(int64_t row, int64_t column) {
  uint64_t mixed = ((uint64_t)row * 31 + (uint64_t)column + 1) * 0x9e3779b97f4a7c15u;
  int quarters = (int)(mixed >> 59) % 30; /* 15 below 0, 15 above */
  return (quarters < 15 ? quarters - 15 : quarters - 14) / 4.0;
}

/* x, index and y of one call, and its counters. */
typedef struct call_buffers {
  rgt__verify_buffer x, index, y, counters;
  int64_t ld_x, ld_y;
} call_buffers;

static rgt_status send_x(rgt__verify_data *d, const rgt__verify_call *call, call_buffers *m, rgt__error *err) {
  const rgt__problem *p = d->problem;
  size_t element = rgt__number_bytes(p->op.dtype);
  int64_t n = p->op.n_in;
  rgt__verify_layout own = of_array(&d->layout, RGT_VERIFY_X);
  m->ld_x = leading(&own, element, n, 3);
  int64_t rows = call->shares_x ? rgt__problem_x_rows(p) : call->rows;
  rgt__verify_shape shape = input_shape(&own, "x", element, rows ? (rows - 1) * m->ld_x + n : 0);
  rgt_status status = rgt__verify_buffer_image(&shape, &m->x, err);
  if (status != RGT_OK) return status;
  unsigned char *base = m->x.image + m->x.front;
  for (int64_t row = 0; row < rows; row++) {
    int64_t from = call->shares_x ? row : (call->from ? call->from[row] : row);
    if (!call->shares_x) from = from < 0 || !rgt__verify_data_is_live(p, call, row) ? -1 : from / p->x_div;
    size_t offset = (size_t)(row * m->ld_x) * element; /* a row without a group keeps the fence's NaN */
    if (from >= 0)
      rgt__verify_buffer_place(&m->x, offset, 0, (const unsigned char *)p->x + (size_t)(from * n) * element,
                               (size_t)n * element, 1);
    if (row == call->nan_row) rgt__number_store(p->op.dtype, base + offset, n / 2, NAN);
  }
  return rgt__verify_buffer_send(d->device, &m->x, err);
}

static void place_index(rgt__verify_buffer *b, size_t width, int64_t at, int64_t value) {
  int32_t narrow = (int32_t)value;
  rgt__verify_buffer_place(b, (size_t)at * width, 0, width == 8 ? (void *)&value : (void *)&narrow, width, 1);
}

/* The index, or the offsets that say the same of rows in order. */
static rgt_status send_index(rgt__verify_data *d, const rgt__verify_call *call, call_buffers *m, rgt__error *err) {
  const rgt__problem *p = d->problem;
  size_t width = p->op.index_type == RGT_I64 ? 8 : 4;
  int64_t groups = call->groups ? call->groups : p->op.groups, end = 0;
  int by_offsets = p->order == RGT_ORDER_OFFSETS;
  rgt__verify_shape shape =
      input_shape(&d->layout, by_offsets ? "the offsets" : "index", width, by_offsets ? groups + 1 : call->rows);
  shape.fence = INDEX_BYTE;
  rgt_status status = rgt__verify_buffer_image(&shape, &m->index, err);
  if (status != RGT_OK) return status;
  for (int64_t row = 0; !by_offsets && row < call->rows; row++)
    place_index(&m->index, width, row, rgt__verify_data_group(p, call, row));
  for (int64_t g = 0; by_offsets && g <= groups; g++) {
    while (end < call->rows && rgt__verify_data_is_live(p, call, end) && rgt__verify_data_group(p, call, end) < g) end++;
    place_index(&m->index, width, g, call->offsets ? call->offsets[g] : end);
  }
  return rgt__verify_buffer_send(d->device, &m->index, err);
}

static void fill_elements(rgt__verify_buffer *b, size_t element, uint32_t bits) {
  uint16_t half = (uint16_t)bits;
  for (size_t i = 0; i + element <= b->bytes; i += element)
    memcpy(b->image + i, element == 4 ? (void *)&bits : (void *)&half, element);
}

static void place_old(const rgt_op_desc *op, const rgt__problem *p, const rgt__verify_call *call, call_buffers *m) {
  unsigned char *base = m->y.image + m->y.front;
  for (int64_t row = 0; row < call->rows; row++) {
    for (int64_t c = 0; rgt__verify_data_is_live(p, call, row) && c < op->n_out; c++)
      rgt__number_store(op->dtype, base, row * m->ld_y + c, rgt__verify_data_old(row, c));
  }
}

/* y has fences whatever the layout: writes are looked for, not reads; but where it is added to and the layout is tight. */
static rgt_status send_y(rgt__verify_data *d, const rgt__verify_call *call, call_buffers *m, rgt__error *err) {
  const rgt_op_desc *op = &d->problem->op;
  size_t element = rgt__number_bytes(op->dtype);
  rgt__verify_layout own = of_array(&d->layout, RGT_VERIFY_Y);
  m->ld_y = leading(&own, element, op->n_out, 7);
  rgt__verify_shape shape = input_shape(&own, "y", element, call->rows ? (call->rows - 1) * m->ld_y + op->n_out : 0);
  size_t row_bytes = (size_t)m->ld_y * element;
  shape.front = least(Y_FENCE_MAX, row_bytes + FENCE_BYTES);
  if (!call->adds || d->layout.padded) shape.behind = least(Y_FENCE_MAX, Y_FENCE_ROWS * row_bytes + FENCE_BYTES);
  rgt_status status = rgt__verify_buffer_image(&shape, &m->y, err);
  if (status != RGT_OK) return status;
  fill_elements(&m->y, element, rgt__verify_data_fill(op->dtype, d->layout.fill));
  if (call->adds) place_old(op, d->problem, call, m);
  status = d->device->ops->mem_alloc(d->device, m->y.bytes, &m->y.device, err);
  if (status == RGT_OK) status = d->device->ops->mem_write(d->device, m->y.device, m->y.image, m->y.bytes, err);
  return status; /* the image stays: y is read back into it */
}

static rgt_status send_counters(rgt__verify_data *d, call_buffers *m, rgt__error *err) {
  const rgt_int64 start[2] = {0, INT64_MAX};
  rgt__verify_layout padded = {.padded = 1};
  rgt__verify_shape shape = input_shape(&padded, "the index error counters", sizeof start[0], 2);
  rgt_status status = rgt__verify_buffer_image(&shape, &m->counters, err);
  if (status != RGT_OK) return status;
  rgt__verify_buffer_place(&m->counters, 0, 0, start, sizeof start, 1);
  return rgt__verify_buffer_send(d->device, &m->counters, err);
}

static rgt_status read_counters(rgt__verify_data *d, call_buffers *m, rgt__verify_output *out, rgt__error *err) {
  rgt_int64 got[2];
  rgt_status status = d->device->ops->mem_read(d->device, got, rgt__verify_buffer_base(&m->counters), sizeof got, err);
  if (status != RGT_OK) return status;
  out->n_errors = got[0];
  out->first_error = got[1];
  rgt__verify_buffer_place(&m->counters, 0, 0, got, sizeof got, 1); /* what they hold is right to differ */
  return RGT_OK;
}

static void damage(rgt__verify_output *out, const char *name, int64_t at, int64_t body) {
  out->damaged = 1;
  if (at < 0) {
    snprintf(out->what, sizeof out->what, "%lld bytes before %s were written", (long long)-at, name);
  } else if (at >= body) {
    snprintf(out->what, sizeof out->what, "byte %lld after the end of %s was written", (long long)(at - body), name);
  } else {
    snprintf(out->what, sizeof out->what, "byte %lld of the input %s was written", (long long)at, name);
  }
}

/* Copies y's elements out and looks whether anything else changed. */
static rgt_status read_y(rgt__verify_data *d, const rgt__verify_call *call, call_buffers *m, rgt__verify_output *out,
                         rgt__error *err) {
  const rgt_op_desc *op = &d->problem->op;
  size_t element = rgt__number_bytes(op->dtype), ld = (size_t)m->ld_y, n = (size_t)op->n_out;
  uint32_t bits = rgt__verify_data_fill(op->dtype, d->layout.fill);
  rgt_status status = d->device->ops->mem_read(d->device, m->y.image, m->y.device, m->y.bytes, err);
  if (status != RGT_OK) return status;
  const unsigned char *base = m->y.image + m->y.front;
  for (int64_t row = 0; row < call->rows; row++)
    memcpy(out->y + (size_t)row * n * element, base + (size_t)row * ld * element, n * element);
  size_t first = m->y.front / element, total = m->y.bytes / element, body = m->y.body / element;
  for (size_t i = 0; i < total; i++) {
    if (i >= first && i < first + body) {
      size_t column = (i - first) % ld;
      if (column < n) {
        i += n - 1 - column;
        continue;
      }
    }
    if (!memcmp(m->y.image + i * element, &bits, element)) continue;
    damage(out, "y", ((int64_t)i - (int64_t)first) * (int64_t)element, (int64_t)m->y.body);
    if (i < first || i >= first + body) break;
    out->row = (int64_t)((i - first) / ld);
    out->column = (int64_t)((i - first) % ld);
    snprintf(out->what, sizeof out->what, "column %lld of y was written, and y has %lld columns", (long long)out->column,
             (long long)op->n_out);
    break;
  }
  return RGT_OK;
}

static rgt_status check_inputs(rgt__verify_data *d, call_buffers *m, rgt__verify_output *out, rgt__error *err) {
  const rgt__verify_buffer *all[RGT_VERIFY_BUFFERS + 3] = {&m->x, &m->index, &m->counters};
  rgt_status status = RGT_OK;
  for (int i = 0; i < RGT_VERIFY_BUFFERS; i++) all[3 + i] = &d->buffers[i];
  for (int i = 0; status == RGT_OK && !out->damaged && i < RGT_VERIFY_BUFFERS + 3; i++) {
    int same;
    int64_t at;
    status = rgt__verify_buffer_compare(d->device, all[i], &same, &at, err);
    if (status == RGT_OK && !same) damage(out, all[i]->name, at, (int64_t)all[i]->body);
  }
  return status;
}

static rgt_status run(rgt__verify_data *d, const rgt__callable *c, const rgt_kargs *k, rgt__error *err) {
  rgt_status status = c->run(c->self, d->device, k, err);
  if (status == RGT_EINDEX) status = RGT_OK; /* y is complete then, and the counters tell */
  if (status == RGT_OK && d->device->ops->sync) status = d->device->ops->sync(d->device, d->device->stream, err);
  if (status == RGT_EINDEX) status = RGT_OK;
  return status;
}

rgt_status rgt__verify_data_run(rgt__verify_data *d, const rgt__callable *c, const rgt__verify_call *call,
                                rgt__verify_output *out, rgt__error *err) {
  call_buffers m = {0};
  rgt_kargs k = d->kargs;
  out->damaged = 0;
  out->row = out->column = -1;
  out->what[0] = 0;
  rgt_status status = send_counters(d, &m, err);
  if (status == RGT_OK) status = send_x(d, call, &m, err);
  if (status == RGT_OK) status = send_index(d, call, &m, err);
  if (status == RGT_OK) status = send_y(d, call, &m, err);
  if (status != RGT_OK) goto done;
  k.ld_x = m.ld_x;
  k.ld_y = m.ld_y;
  if (call->nulls) {
    k.w1 = k.b1 = k.w2 = k.b2 = NULL;
  } else {
    k.x = rgt__verify_buffer_base(&m.x);
    k.index = rgt__verify_buffer_base(&m.index);
    k.y = rgt__verify_buffer_base(&m.y);
  }
  k.rows = call->rows;
  k.groups = call->groups ? call->groups : d->problem->op.groups;
  k.x_div = call->shares_x ? d->problem->x_div : 1;
  k.y_mode = call->adds ? RGT_Y_ADD : RGT_Y_SET;
  k.order = d->problem->order;
  k.n_index_errors = rgt__verify_buffer_base(&m.counters);
  k.first_index_error = k.n_index_errors + 1;
  status = run(d, c, &k, err);
  if (status == RGT_OK) status = read_counters(d, &m, out, err);
  if (status == RGT_OK) status = read_y(d, call, &m, out, err);
  if (status == RGT_OK && !out->damaged) status = check_inputs(d, &m, out, err);
done:
  rgt__verify_buffer_free(d->device, &m.x);
  rgt__verify_buffer_free(d->device, &m.index);
  rgt__verify_buffer_free(d->device, &m.y);
  rgt__verify_buffer_free(d->device, &m.counters);
  return status;
}
