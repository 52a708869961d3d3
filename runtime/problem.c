/* problem.c -- makes a problem by a seed, or copies the caller's case. */
#include "runtime/problem.h"

#include <math.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/problem_parts.h"

#define TABLE 65536
#define PASS_ROWS 256 /* verify.md: fewer let f16 sums through */

int64_t rgt__problem_layer_in(const rgt_op_desc *op, int layer) {
  if (layer == 1) return op->n_in;
  return op->kind == RGT_MLP ? op->n_hidden : 0;
}

int64_t rgt__problem_layer_out(const rgt_op_desc *op, int layer) {
  if (op->kind == RGT_MLP) return layer == 1 ? op->n_hidden : op->n_out;
  return layer == 1 ? op->n_out : 0;
}

int rgt__problem_has_bias(const rgt_op_desc *op, int layer) {
  return (op->bias & (layer == 1 ? RGT_BIAS_1 : RGT_BIAS_2)) != 0 && rgt__problem_layer_out(op, layer) > 0;
}

/* Bytes of a * b * c, INT64_MAX when it does not fit. */
static int64_t product(int64_t a, int64_t b, int64_t c) {
  int64_t v;
  if (__builtin_mul_overflow(a, b, &v) || __builtin_mul_overflow(v, c, &v)) return INT64_MAX;
  return v;
}

enum { X, INDEX, W1, B1, W2, B2, N_ARRAYS };

static const char *const array_names[N_ARRAYS] = {"x", "index", "w1", "b1", "w2", "b2"};

static void **array_of(rgt__problem *p, int i) {
  void **const arrays[N_ARRAYS] = {&p->x, &p->index, &p->w1, &p->b1, &p->w2, &p->b2};
  return arrays[i];
}

int64_t rgt__problem_x_rows(const rgt__problem *p) {
  return p->rows / p->x_div + (p->rows % p->x_div != 0);
}

static void array_bytes(const rgt_op_desc *op, int64_t rows, int64_t x_rows, int64_t bytes[N_ARRAYS]) {
  int64_t element = (int64_t)rgt__number_bytes(op->dtype);
  bytes[X] = product(x_rows, op->n_in, element);
  bytes[INDEX] = product(rows, op->index_type == RGT_I64 ? 8 : 4, 1);
  for (int layer = 1; layer <= 2; layer++) {
    int64_t out = rgt__problem_layer_out(op, layer);
    bytes[layer == 1 ? W1 : W2] = product(op->groups, rgt__op_weight_elems(op, layer), element);
    bytes[layer == 1 ? B1 : B2] = rgt__problem_has_bias(op, layer) ? product(op->groups, out, element) : 0;
  }
}

int64_t rgt__problem_bytes(const rgt_op_desc *op, int64_t rows) {
  int64_t bytes[N_ARRAYS], sum = product(product(rows, op->n_out, 1), (int64_t)rgt__number_bytes(op->dtype), 1); /* y */
  array_bytes(op, rows, rows, bytes);
  for (int i = 0; i < N_ARRAYS; i++) {
    if (__builtin_add_overflow(sum, bytes[i], &sum)) return INT64_MAX;
  }
  return sum;
}

static int wanted(const rgt_op_desc *op, int i) {
  if (i == W2) return op->kind == RGT_MLP;
  if (i == B1 || i == B2) return rgt__problem_has_bias(op, i == B1 ? 1 : 2);
  return 1;
}

static rgt_status allocate(rgt__problem *p, rgt__error *err) {
  int64_t bytes[N_ARRAYS];
  char text[RGT_OP_TEXT_MAX] = "the op";
  array_bytes(&p->op, p->rows, rgt__problem_x_rows(p), bytes);
  for (int i = 0; i < N_ARRAYS; i++) {
    if (!wanted(&p->op, i)) continue;
    void *a = (uint64_t)bytes[i] < SIZE_MAX / 2 ? rgt__alloc_zero(1, (size_t)bytes[i]) : NULL;
    if (a) {
      *array_of(p, i) = a;
      continue;
    }
    rgt__op_format(&p->op, text, NULL);
    return rgt__error_set(err, RGT_ENOMEM, "out of memory: %s of %s with %lld rows takes %lld bytes", array_names[i], text,
                          (long long)p->rows, (long long)bytes[i]);
  }
  return RGT_OK;
}

void rgt__problem_free(rgt__problem *p) {
  if (!p) return;
  for (int i = 0; i < N_ARRAYS; i++) rgt__free(*array_of(p, i));
  memset(p, 0, sizeof *p);
}

/* Large arrays are drawn from a table of numbers that are already rounded: hundreds of millions of weights in a second. */
static void fill_normal(const rgt__problem *p, void *array, int64_t n, double scale, rgt__random *r) {
  size_t element = rgt__number_bytes(p->op.dtype);
  unsigned char *to = array, *table = array && n > 16 * TABLE ? rgt__alloc(TABLE * element) : NULL;
  for (int64_t i = 0; array && i < (table ? TABLE : n); i++)
    rgt__number_store(p->op.dtype, table ? table : array, i, scale * rgt__random_normal(r));
  for (int64_t i = 0; table && i < n; i += 4) {
    uint64_t v = rgt__random_next(r);
    for (int64_t j = i; j < n && j < i + 4; j++, v >>= 16)
      memcpy(to + (size_t)j * element, table + (v & 0xffff) * element, element);
  }
  rgt__free(table);
}

/* Weights by 1/sqrt(K) keep z near 1, where every activation bends. */
static void fill_random(rgt__problem *p, rgt__random *r) {
  const rgt_op_desc *op = &p->op;
  fill_normal(p, p->x, rgt__problem_x_rows(p) * op->n_in, 1, r);
  fill_normal(p, p->w1, op->groups * rgt__op_weight_elems(op, 1), 1 / sqrt((double)op->n_in), r);
  fill_normal(p, p->b1, op->groups * rgt__problem_layer_out(op, 1), 0.5, r);
  if (op->kind != RGT_MLP) return;
  fill_normal(p, p->w2, op->groups * rgt__op_weight_elems(op, 2), 1 / sqrt((double)op->n_hidden), r);
  fill_normal(p, p->b2, op->groups * op->n_out, 0.5, r);
}

int rgt__problem_x_row_is_used(const rgt__problem *p, int64_t x_row) {
  int64_t end = (x_row + 1) * p->x_div;
  for (int64_t row = x_row * p->x_div; row < end && row < p->rows; row++) {
    int64_t g = rgt__problem_index_at(p, row);
    if (g >= 0 && g < p->op.groups) return 1;
  }
  return 0;
}

/* x of rows of no group: NaN and both infinities, which a product with zero does not hide. */
static void poison_rows(rgt__problem *p) {
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  int64_t n = p->op.n_in;
  for (int64_t row = 0; row < rgt__problem_x_rows(p); row++) {
    if (rgt__problem_x_row_is_used(p, row)) continue;
    for (int64_t k = 0; k < n; k++) rgt__number_store(p->op.dtype, p->x, row * n + k, bad[(row + k) % 3]);
  }
}

static void poison_array(const rgt__problem *p, void *array, int64_t group, int64_t n) {
  for (int64_t i = 0; array && i < n; i++) rgt__number_store(p->op.dtype, array, group * n + i, NAN);
}

static rgt_status poison_unused(rgt__problem *p, rgt__error *err) {
  unsigned char *used = rgt__alloc_zero((size_t)p->op.groups, 1);
  if (!used) return rgt__error_nomem(err, (size_t)p->op.groups);
  for (int64_t row = 0; row < p->rows; row++) {
    int64_t g = rgt__problem_index_at(p, row);
    if (g >= 0 && g < p->op.groups) used[g] = 1;
  }
  for (int64_t g = 0; g < p->op.groups; g++) {
    if (used[g]) continue;
    poison_array(p, p->w1, g, rgt__op_weight_elems(&p->op, 1));
    poison_array(p, p->b1, g, rgt__problem_layer_out(&p->op, 1));
    poison_array(p, p->w2, g, rgt__op_weight_elems(&p->op, 2));
    poison_array(p, p->b2, g, p->op.n_out);
  }
  rgt__free(used);
  return RGT_OK;
}

static int64_t count_used_x(const rgt__problem *p) {
  int64_t n = 0;
  for (int64_t row = 0; row < rgt__problem_x_rows(p); row++) n += rgt__problem_x_row_is_used(p, row);
  return n;
}

static rgt_status make_index(rgt__problem *p, const rgt__problem_options *o, rgt__random *r, rgt__error *err) {
  int64_t first = 0, n = p->op.groups, n_masked = 0;
  if (o->index) {
    if (p->rows) memcpy(p->index, o->index, (size_t)p->rows * (p->op.index_type == RGT_I64 ? 8 : 4));
    if (p->order != RGT_ORDER_RAW) rgt__problem_index_sort(p);
    return RGT_OK;
  }
  if (o->kind != RGT_PROBLEM_BENCH) {
    double share = o->masked < 0 ? 0 : o->masked > 1 ? 1 : o->masked;
    n_masked = (int64_t)((double)p->rows * share);
    if (o->nan_unused && n >= 3) n--;                                /* the last group has no rows */
    if (n < p->op.groups && o->kind == RGT_PROBLEM_BOUND) first = 1; /* or the first one */
  }
  rgt_status status = rgt__problem_index_make(p, o->skew, n_masked, first, n, r, err);
  if (status == RGT_OK && p->order != RGT_ORDER_RAW) rgt__problem_index_sort(p);
  return status;
}

/* Rows of a sorted call that share their x share their group too, and say the same twice. */
static int64_t rows_of(const rgt_op_desc *op, const rgt__problem_options *o) {
  if (o->index || o->kind == RGT_PROBLEM_BENCH) return o->rows;
  int64_t div = o->x_div > 1 ? o->x_div : 1, least = o->order == RGT_ORDER_RAW ? PASS_ROWS : PASS_ROWS * div;
  int64_t rows = o->rows > least ? o->rows : least;
  if (o->kind != RGT_PROBLEM_EXACT) return rows;
  int64_t x_rows = rgt__problem_exact_rows(op, rows / div, o->masked);
  return x_rows > rows / div ? x_rows * div : rows;
}

rgt_status rgt__problem_make(const rgt_op_desc *op, const rgt__problem_options *o, rgt__problem *out, rgt__error *err) {
  rgt__problem p = {.op = *op, .rows = rows_of(op, o), .form = o->form, .order = o->order, .finite = 1};
  rgt__problem_exact exact;
  rgt__random r;
  p.x_div = o->x_div > 1 ? o->x_div : 1;
  rgt__random_seed(&r, o->seed);
  rgt_status status = allocate(&p, err);
  if (status == RGT_OK) status = make_index(&p, o, &r, err);
  if (status == RGT_OK && o->kind == RGT_PROBLEM_EXACT) {
    status = rgt__problem_exact_plan(op, count_used_x(&p), &exact, err);
    if (status == RGT_OK) rgt__problem_exact_fill(&p, &exact, &r);
    p.sparse_x = 1;
  } else if (status == RGT_OK) {
    fill_random(&p, &r);
  }
  if (status == RGT_OK && o->kind != RGT_PROBLEM_BENCH) {
    poison_rows(&p);
    if (o->nan_unused) status = poison_unused(&p, err);
  }
  if (status == RGT_OK) {
    *out = p;
  } else {
    rgt__problem_free(&p);
  }
  return status;
}

static rgt_status check_order(const rgt__problem *p, rgt__error *err) {
  int64_t row = p->order == RGT_ORDER_RAW ? -1 : rgt__problem_index_unsorted(p);
  if (row < 0) return RGT_OK;
  return rgt__error_set(
      err, RGT_EINVAL,
      "case: index[%lld] is %lld after %lld, and the op's rows are %s: groups must rise, masked rows come last", (long long)row,
      (long long)rgt__problem_index_at(p, row), (long long)rgt__problem_index_at(p, row - 1), rgt__op_order_word(p->order));
}

rgt_status rgt__problem_from_case(const rgt_op_desc *op, const rgt_case *data, rgt_weight_form form, rgt_order order,
                                  rgt__problem *out, rgt__error *err) {
  rgt__problem p = {.op = *op, .rows = data->rows, .form = form, .order = order, .x_div = 1};
  const void *const from[N_ARRAYS] = {data->x, data->index, data->w1, data->b1, data->w2, data->b2};
  int64_t bytes[N_ARRAYS];
  if (data->rows < 0 || data->rows > RGT_COUNT_MAX)
    return rgt__error_set(err, RGT_EINVAL, "case: rows is %lld: a whole number from 0 to %lld", (long long)data->rows,
                          (long long)RGT_COUNT_MAX);
  array_bytes(op, data->rows, data->rows, bytes);
  for (int i = 0; i < N_ARRAYS; i++) {
    if (wanted(op, i) && bytes[i] && !from[i])
      return rgt__error_set(err, RGT_EINVAL, "case: %s is missing, and the op needs it", array_names[i]);
  }
  rgt_status status = allocate(&p, err);
  for (int i = 0; status == RGT_OK && i < N_ARRAYS; i++) {
    if (wanted(op, i) && bytes[i]) memcpy(*array_of(&p, i), from[i], (size_t)bytes[i]);
  }
  if (status == RGT_OK) status = check_order(&p, err);
  if (status == RGT_OK) {
    *out = p;
  } else {
    rgt__problem_free(&p);
  }
  return status;
}
