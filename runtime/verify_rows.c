/* verify_rows.c -- rule 7b and the odd calls.
 *
 * y[r] depends on x[r], index[r] and that group's weights only. So any call on rows of the problem must give each of them the
 * bits that it had in the call on all of them, whatever the order, the neighbours, their number, the leading dimensions, how
 * biases are passed, and however many groups the call has. Where one row's x gets a NaN, that row and no other turns NaN.
 *
 * Where the op's rows come in order, those of each call are put in order first, as they would be by its caller: rows of a group
 * stay as they were drawn, rows without one come last. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/base/random.h"
#include "runtime/verify_parts.h"

#define ODD_ROWS 37
#define BAD_ROWS 61
#define MASKED_ROWS 11
#define GROUP_ROWS 256

typedef struct place { /* where a row stands in a call in order */
  int64_t group, was, from;
} place;

typedef struct work {
  const rgt__verify_set *set;
  const rgt__problem *p;
  const rgt__callable *callable;
  rgt__verify_data *data; /* of the call */
  const unsigned char *base;
  int64_t *from, *index, *live; /* room for all rows */
  struct place *places;         /* likewise */
  int64_t n_live;
  rgt__random random;
  rgt__verify_result *result;
  int right;
} work;

static int row_is_nan(work *w, const unsigned char *y, int64_t row) {
  const rgt_op_desc *op = &w->p->op;
  for (int64_t c = 0; c < op->n_out; c++) {
    double value = rgt__number_load(op->dtype, y, row * op->n_out + c);
    if (isnan(value)) continue;
    w->result->value = value;
    w->result->expected = NAN;
    w->result->bound = 0;
    return rgt__verify_check_fail(w->result, "bound", row, c, "y[%lld, %lld] is %.9g; x[%lld] holds a NaN, so it must be NaN",
                                  (long long)row, (long long)c, value, (long long)row);
  }
  return 1;
}

static int row_is_same(work *w, const rgt__verify_call *call, const unsigned char *y, int64_t row, int64_t from) {
  const rgt_op_desc *op = &w->p->op;
  size_t element = rgt__number_bytes(op->dtype), row_bytes = (size_t)op->n_out * element;
  const unsigned char *got = y + (size_t)row * row_bytes, *had = w->base + (size_t)from * row_bytes;
  if (!memcmp(got, had, row_bytes)) return 1;
  int64_t c = 0;
  while (!memcmp(got + (size_t)c * element, had + (size_t)c * element, element)) c++;
  uint32_t fill = rgt__verify_data_fill(op->dtype, w->data->layout.fill);
  rgt__verify_result *r = w->result;
  r->value = rgt__number_load(op->dtype, got, c);
  r->expected = rgt__number_load(op->dtype, had, c);
  r->bound = 0;
  uint16_t half = (uint16_t)fill;
  if (!memcmp(got + (size_t)c * element, element == 4 ? (void *)&fill : (void *)&half, element))
    return rgt__verify_check_fail(r, "poison", row, c, "y[%lld, %lld] was never written in a call of %lld rows", (long long)row,
                                  (long long)c, (long long)call->rows);
  return rgt__verify_check_fail(
      r, "permute", row, c, "column %lld of row %lld of %lld is %.9g and was %.9g as row %lld of %lld", (long long)c,
      (long long)row, (long long)call->rows, r->value, r->expected, (long long)from, (long long)w->p->rows);
}

static int check_rows(work *w, const rgt__verify_call *call, const rgt__verify_output *y) {
  int64_t groups = call->groups ? call->groups : w->p->op.groups;
  int right = 1;
  for (int64_t row = 0; right && row < call->rows; row++) {
    int64_t g = rgt__verify_data_group(w->p, call, row), from = call->from ? call->from[row] : row;
    if (g < 0 || g >= groups) {
      right = rgt__verify_check_none(w->p, call, y->y, row, w->data->layout.fill, g == -1 ? "masked" : "status", w->result);
    } else if (row == call->nan_row) {
      right = row_is_nan(w, y->y, row);
    } else {
      right = row_is_same(w, call, y->y, row, from);
    }
  }
  return right && rgt__verify_check_rest(w->p, call, y, w->result);
}

static int compare_places(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  return (x->was > y->was) - (x->was < y->was);
}

/* A call of some rows, in w->from and perhaps w->index, put in order. */
static void put_in_order(work *w, rgt__verify_call *call) {
  int64_t nan_row = -1;
  for (int64_t row = 0; row < call->rows; row++) {
    int64_t g = rgt__verify_data_group(w->p, call, row);
    int live = rgt__verify_data_is_live(w->p, call, row);
    w->places[row] = (place){live ? g : INT64_MAX, row, call->from ? call->from[row] : row};
  }
  qsort(w->places, (size_t)call->rows, sizeof *w->places, compare_places);
  for (int64_t row = 0; call->index && row < call->rows; row++) w->from[row] = call->index[w->places[row].was];
  for (int64_t row = 0; call->index && row < call->rows; row++) w->index[row] = w->from[row];
  for (int64_t row = 0; row < call->rows; row++) {
    w->from[row] = w->places[row].from;
    if (w->places[row].was == call->nan_row) nan_row = row;
  }
  call->from = w->from;
  call->nan_row = nan_row;
}

static rgt_status one_call(work *w, rgt__verify_data *data, const rgt__verify_call *wanted, rgt__error *err) {
  const rgt_op_desc *op = &w->p->op;
  rgt__verify_call in_order = *wanted;
  const rgt__verify_call *call = &in_order;
  if (w->p->order != RGT_ORDER_RAW && (wanted->from || wanted->index)) put_in_order(w, &in_order);
  size_t bytes = (size_t)call->rows * (size_t)op->n_out * rgt__number_bytes(op->dtype);
  rgt__verify_output y = {.y = rgt__alloc(bytes)};
  if (!y.y) return rgt__error_nomem(err, bytes);
  w->data = data;
  rgt_status status = rgt__verify_data_run(data, w->callable, call, &y, err);
  if (status == RGT_OK) w->right = check_rows(w, call, &y);
  rgt__free(y.y);
  return status;
}

/* Rows in another order, a quarter of them dropped, masked ones put in between: no more rows than the problem has. */
static rgt_status permuted(work *w, rgt__verify_data *data, rgt__error *err) {
  int64_t n = w->p->rows, kept = 0, dropped = 0, *order = w->index;
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = (int64_t)rgt__random_below(&w->random, (uint64_t)i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (int64_t i = 0; i < n; i++) {
    uint64_t draw = rgt__random_below(&w->random, 8);
    if (draw < 2) {
      dropped++;
    } else {
      w->from[kept++] = order[i];
    }
    if (draw == 7 && dropped > 0) {
      dropped--;
      w->from[kept++] = -1;
    }
  }
  rgt__verify_call call = {.rows = kept, .from = w->from, .nan_row = -1};
  return one_call(w, data, &call, err);
}

/* n live rows anywhere; groups: as few as hold them. */
static rgt_status some_live(work *w, rgt__verify_data *data, int64_t n, int few_groups, rgt__error *err) {
  rgt__verify_call call = {.rows = n, .from = w->from, .nan_row = -1};
  for (int64_t i = 0; i < n; i++) {
    w->from[i] = w->live[rgt__random_below(&w->random, (uint64_t)w->n_live)];
    int64_t g = rgt__problem_index_at(w->p, w->from[i]);
    if (few_groups && g >= call.groups) call.groups = g + 1;
  }
  return one_call(w, data, &call, err);
}

static rgt_status odd_number(work *w, rgt__verify_data *data, rgt__error *err) {
  int64_t n = w->p->rows < ODD_ROWS ? w->p->rows : ODD_ROWS, first = w->p->rows - n;
  for (int64_t i = 0; i < n; i++) w->from[i] = first + i;
  rgt__verify_call call = {.rows = n, .from = w->from, .nan_row = -1};
  return one_call(w, data, &call, err);
}

/* The group of the first live row, and nothing but its rows. */
static rgt_status one_group(work *w, rgt__verify_data *data, rgt__error *err) {
  int64_t n = 0, group = rgt__problem_index_at(w->p, w->live[0]);
  for (int64_t i = 0; i < w->n_live && n < GROUP_ROWS; i++) {
    if (rgt__problem_index_at(w->p, w->live[i]) == group) w->from[n++] = w->live[i];
  }
  rgt__verify_call call = {.rows = n, .from = w->from, .nan_row = -1};
  return one_call(w, data, &call, err);
}

static rgt_status all_masked(work *w, rgt__verify_data *data, rgt__error *err) {
  int64_t n = w->p->rows < MASKED_ROWS ? w->p->rows : MASKED_ROWS;
  for (int64_t i = 0; i < n; i++) w->from[i] = -1;
  rgt__verify_call call = {.rows = n, .from = w->from, .nan_row = -1};
  return one_call(w, data, &call, err);
}

/* Indices just outside, far outside, and such as are right when cut to 32 bits; and one live row with a NaN in x. */
static rgt_status bad_indices(work *w, rgt__verify_data *data, rgt__error *err) {
  int64_t groups = w->p->op.groups, n = w->p->rows < BAD_ROWS ? w->p->rows : BAD_ROWS, at = 0;
  const int64_t two32 = (int64_t)1 << 32;
  const int64_t bad[] = {
      groups, -2,        groups + 5, INT32_MIN, INT32_MAX, /* i64 only: */ two32, two32 - 1, two32 + groups - 1,
      -two32, INT64_MIN, INT64_MAX};
  int64_t n_bad = w->p->op.index_type == RGT_I64 ? (int64_t)(sizeof bad / sizeof *bad) : 5;
  if (w->p->order == RGT_ORDER_OFFSETS) n_bad = 0; /* there is no index to be wrong */
  rgt__verify_call call = {.rows = n, .index = w->index, .nan_row = -1};
  for (int64_t row = 0; row < n; row++) {
    w->index[row] = rgt__problem_index_at(w->p, row);
    if (row % 5 == 3 && at < n_bad && (bad[at] < -1 || bad[at] >= groups)) {
      w->index[row] = bad[at++];
    } else if (call.nan_row < 0 && row >= n / 3 && w->index[row] >= 0 && w->index[row] < groups) {
      call.nan_row = row;
    }
  }
  return one_call(w, data, &call, err);
}

/* y is added to: no bits to go by, but a reference and its bound. */
static rgt_status added(work *w, rgt__verify_data *data, rgt__error *err) {
  const rgt__problem *p = w->p;
  size_t bytes = (size_t)p->rows * (size_t)p->op.n_out * rgt__number_bytes(p->op.dtype);
  rgt__verify_call call = {.rows = p->rows, .nan_row = -1, .adds = 1};
  rgt__verify_output y = {.y = rgt__alloc(bytes)};
  if (!y.y) return rgt__error_nomem(err, bytes);
  rgt_status status = rgt__verify_data_run(data, w->callable, &call, &y, err);
  if (status == RGT_OK)
    w->right = rgt__verify_check_elements(w->set, &call, &y, data->layout.fill, RGT_VERIFY_BOUND, "bound", w->result) &&
               rgt__verify_check_rest(p, &call, &y, w->result);
  rgt__free(y.y);
  return status;
}

/* Offsets that mean nothing: what y holds then is nobody's affair, but nothing else may be read or written. Not where an unused
 * group's pointer is NULL, which a kernel cannot tell from others; nor on the CPU, where rgt_op_run looks first. */
static rgt_status wild_offsets(work *w, rgt__verify_data *data, rgt__error *err) {
  const rgt__problem *p = w->p;
  if (strcmp(data->device->ops->kind, "cpu") == 0 || p->form == RGT_POINTERS || data->layout.bias_pointers) return RGT_OK;
  int64_t groups = p->op.groups, n = p->rows < BAD_ROWS ? p->rows : BAD_ROWS;
  int64_t most = p->op.index_type == RGT_I64 ? INT64_MAX : INT32_MAX;
  size_t bytes = (size_t)n * (size_t)p->op.n_out * rgt__number_bytes(p->op.dtype), count = (size_t)groups + 1;
  rgt__verify_output y = {.y = rgt__alloc(bytes)};
  int64_t *offsets = rgt__alloc_zero(count, sizeof *offsets);
  rgt_status status = y.y && offsets ? RGT_OK : rgt__error_nomem(err, bytes + count * sizeof *offsets);
  for (int kind = 0; kind < 4 && status == RGT_OK && w->right; kind++) {
    rgt__verify_call call = {.rows = n, .nan_row = -1, .offsets = offsets};
    for (int64_t g = 0; g <= groups; g++) {
      int64_t random = (int64_t)rgt__random_below(&w->random, (uint64_t)most) - most / 2;
      const int64_t kinds[] = {random, groups - g, g % 2 ? most : -most - 1, random % (2 * n + 1)};
      offsets[g] = kinds[kind];
    }
    status = rgt__verify_data_run(data, w->callable, &call, &y, err);
    if (status == RGT_OK && y.damaged)
      w->right = rgt__verify_check_fail(w->result, "canary", y.row, y.column, "with offsets that do not rise: %s", y.what);
  }
  rgt__free(y.y);
  rgt__free(offsets);
  return status;
}

static rgt_status no_rows(work *w, rgt__verify_data *data, rgt__error *err) {
  rgt__verify_call call = {.nan_row = -1, .nulls = 1};
  return one_call(w, data, &call, err);
}

static rgt_status all_calls(work *w, rgt__verify_data *padded, rgt__verify_data *tight, rgt__error *err) {
  rgt_status status = permuted(w, tight, err);
  if (status == RGT_OK && w->right && w->n_live) status = some_live(w, tight, 1, 0, err);
  if (status == RGT_OK && w->right && w->n_live) status = some_live(w, tight, w->p->rows < 8 ? w->p->rows : 8, 1, err);
  if (status == RGT_OK && w->right) status = odd_number(w, padded, err);
  if (status == RGT_OK && w->right && w->n_live) status = one_group(w, padded, err);
  if (status == RGT_OK && w->right) status = all_masked(w, tight, err);
  if (status == RGT_OK && w->right) status = bad_indices(w, padded, err);
  if (status == RGT_OK && w->right) status = added(w, tight, err);
  if (status == RGT_OK && w->right && w->p->order == RGT_ORDER_OFFSETS) status = wild_offsets(w, padded, err);
  if (status == RGT_OK && w->right) status = no_rows(w, padded, err);
  return status;
}

rgt_status rgt__verify_rows(const rgt__verify_set *s, rgt__verify_data *padded, const rgt__callable *c, uint64_t seed,
                            const unsigned char *base, int *right, rgt__verify_result *result, rgt__error *err) {
  const rgt__problem *p = &s->problem;
  work w = {.set = s, .p = p, .callable = c, .base = base, .result = result, .right = 1};
  rgt__verify_data tight = {0};
  rgt__verify_layout layout = padded->layout;
  size_t rows = (size_t)p->rows;
  layout.padded = 0;
  layout.fill = !layout.fill;
  layout.bias_pointers = !layout.bias_pointers;
  rgt__random_seed(&w.random, seed);
  rgt_status status = RGT_OK;
  int64_t *room = rgt__alloc_zero(6 * rows, sizeof *room);
  if (!room) return rgt__error_nomem(err, 6 * rows * sizeof *room);
  w.from = room;
  w.index = room + rows;
  w.live = room + 2 * rows;
  w.places = (place *)(void *)(room + 3 * rows);
  for (int64_t row = 0; row < p->rows; row++) {
    int64_t g = rgt__problem_index_at(p, row);
    if (g >= 0 && g < p->op.groups) w.live[w.n_live++] = row;
  }
  status = rgt__verify_data_open(padded->device, p, &layout, &tight, err);
  if (status == RGT_OK) status = all_calls(&w, padded, &tight, err);
  rgt__verify_data_close(&tight);
  rgt__free(room);
  *right = w.right;
  return status;
}
