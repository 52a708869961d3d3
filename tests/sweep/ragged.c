/* ragged.c -- problems whose groups have the sizes that go wrong. */
#include "ragged.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/base/random.h"
#include "runtime/problem_parts.h"
#include "runtime/verify_parts.h"

typedef struct drawing {
  rgt__random r;
  int64_t rows, groups;
  int index_is_64;
  int64_t *index; /* owned; [rows] */
} drawing;

static int64_t below(drawing *d, int64_t n) {
  return (int64_t)rgt__random_below(&d->r, (uint64_t)(n < 1 ? 1 : n));
}

/* ---- one function a kind: writes every entry of the index ---- */

static void uniform(drawing *d) {
  for (int64_t i = 0; i < d->rows; i++) d->index[i] = below(d, d->groups);
}

/* every second group has no row, nor has the first or the last */
static void empty_groups(drawing *d) {
  for (int64_t i = 0; i < d->rows; i++)
    d->index[i] = d->groups < 3 ? below(d, d->groups) : 1 + 2 * below(d, (d->groups - 1) / 2);
}

static void one_takes_all(drawing *d) {
  int64_t g = below(d, d->groups);
  for (int64_t i = 0; i < d->rows; i++) d->index[i] = g;
}

static void one_takes_most(drawing *d) {
  int64_t g = below(d, d->groups);
  for (int64_t i = 0; i < d->rows; i++) d->index[i] = below(d, 16) ? g : below(d, d->groups);
}

static void zipf(drawing *d) {
  for (int64_t i = 0; i < d->rows; i++) {
    double u = rgt__random_unit(&d->r); /* the inverse of a continuous law of exponent 1.1, cut to the groups */
    int64_t rank = (int64_t)pow(1 - u * (1 - pow((double)d->groups + 1, -0.1)), -10) - 1;
    d->index[i] = rank < 0 ? 0 : rank >= d->groups ? d->groups - 1 : rank;
  }
}

static void all_masked(drawing *d) {
  for (int64_t i = 0; i < d->rows; i++) d->index[i] = -1;
}

static void half_masked(drawing *d) {
  for (int64_t i = 0; i < d->rows; i++) d->index[i] = below(d, 2) ? -1 : below(d, d->groups);
}

static void out_of_range(drawing *d) {
  const int64_t two32 = (int64_t)1 << 32;
  const int64_t bad[] = {d->groups, -2,     d->groups + 7, INT_MAX,   INT_MIN,  two32,
                         two32 - 1, -two32, two32 + 1,     INT64_MAX, INT64_MIN};
  int n = d->index_is_64 ? (int)(sizeof bad / sizeof *bad) : 5;
  for (int64_t i = 0; i < d->rows; i++) {
    d->index[i] = below(d, d->groups);
    if (!below(d, 4)) d->index[i] = bad[below(d, n)];
    if (!below(d, 8)) d->index[i] = -1;
  }
}

static void runs(drawing *d) { /* neighbours alike, as sorted callers have them, but not in order */
  for (int64_t i = 0; i < d->rows;) {
    int64_t g = below(d, d->groups), n = 1 + below(d, 21);
    for (; n-- && i < d->rows; i++) d->index[i] = g;
  }
}

static void round_robin(drawing *d) { /* each group as large as the others, its rows far apart */
  for (int64_t i = 0; i < d->rows; i++) d->index[i] = i % d->groups;
}

static void last_group(drawing *d) { /* the ends of the range alone */
  for (int64_t i = 0; i < d->rows; i++) d->index[i] = below(d, 2) ? d->groups - 1 : 0;
}

typedef struct kind {
  const char *name;
  void (*fill)(drawing *d);
  int64_t rows, groups; /* up to; rows 0: none at all */
} kind;

static const kind kinds[SWEEP_RAGGED_KINDS] = {
    {"uniform", uniform, 700, 64},
    {"empty groups", empty_groups, 400, 40},
    {"one group takes all", one_takes_all, 300, 50},
    {"zipf", zipf, 900, 100},
    {"indices out of range", out_of_range, 300, 20},
    {"more groups than rows", uniform, 60, 3000},
    {"all masked", all_masked, 300, 30},
    {"one group takes most", one_takes_most, 600, 33},
    {"half masked", half_masked, 500, 12},
    {"no rows", uniform, 0, 5},
    {"runs", runs, 600, 48},
    {"one row", uniform, 1, 9},
    {"round robin", round_robin, 512, 70},
    {"first and last group", last_group, 260, 200},
};

#define MACS_MAX 6e6 /* a problem's, so that the largest dims take about as long as the small ones */
#define WEIGHTS_MAX ((int64_t)4 << 20)

/* Sizes up to the kind's: as often as not one that is next to a multiple of 8 or 32. */
static int64_t draw_rows(drawing *d, const rgt_op_desc *op, int64_t most) {
  double macs = (double)(rgt__op_weight_elems(op, 1) + rgt__op_weight_elems(op, 2));
  if ((double)most * macs > MACS_MAX) most = (int64_t)(MACS_MAX / macs);
  int64_t n = most < 2 ? most : 1 + below(d, most);
  if (n > 40 && below(d, 2)) n = n / 32 * 32 - 1 + below(d, 3);
  return n < 1 && most > 0 ? 1 : n;
}

static int64_t draw_groups(drawing *d, const rgt_op_desc *op, int64_t most) {
  int64_t elems = rgt__op_weight_elems(op, 1) + rgt__op_weight_elems(op, 2);
  if (most > WEIGHTS_MAX / elems) most = WEIGHTS_MAX / elems;
  return most < 2 ? 1 : 1 + below(d, most);
}

static rgt_status draw(const sweep_row *row, const kind *k, drawing *d, rgt__error *err) {
  d->groups = draw_groups(d, &row->op, k->groups);
  d->rows = draw_rows(d, &row->op, k->rows);
  d->index_is_64 = row->op.index_type == RGT_I64;
  d->index = rgt__alloc_zero((size_t)d->rows + 1, sizeof *d->index);
  if (!d->index) return rgt__error_nomem(err, (size_t)d->rows * sizeof *d->index);
  k->fill(d);
  return RGT_OK;
}

/* The index in its own width. */
static void *narrowed(const drawing *d, void *room) {
  for (int64_t i = 0; i < d->rows; i++) {
    int64_t g = d->index[i];
    if (d->index_is_64)
      ((int64_t *)room)[i] = g;
    else
      ((int32_t *)room)[i] = (int32_t)g;
  }
  return room;
}

static rgt_status make_set(const sweep_row *row, const drawing *d, int exact, rgt__verify_set *set, rgt__error *err) {
  rgt_op_desc op = exact ? rgt__op_relu_twin(&row->op) : row->op;
  rgt__problem_options o = {.kind = exact ? RGT_PROBLEM_EXACT : RGT_PROBLEM_BOUND, .rows = d->rows, .nan_unused = 1};
  rgt__problem problem;
  void *room = rgt__alloc_zero((size_t)d->rows + 1, sizeof(int64_t));
  if (!room) return rgt__error_nomem(err, (size_t)d->rows * sizeof(int64_t));
  op.groups = d->groups;
  o.form = row->form;
  o.order = row->order;
  o.x_div = row->x_div;
  o.seed = d->r.state;
  o.index = narrowed(d, room);
  rgt_status status = rgt__problem_make(&op, &o, &problem, err);
  rgt__free(room);
  return status == RGT_OK ? rgt__verify_set_make(&problem, d->r.state + 1, set, err) : status;
}

static rgt_status call(const sweep_row *row, rgt__verify_set *set, const rgt__verify_layout *layout, int exact,
                       const rgt__callable *c, const rgt__numeric *numeric, rgt__verify_result *result, rgt__error *err) {
  const rgt__problem *p = &set->problem;
  rgt__verify_data data = {0};
  rgt__verify_call call = {
      .rows = p->rows, .nan_row = -1, .nulls = p->rows == 0, .shares_x = row->x_div > 1, .adds = row->y_mode == RGT_Y_ADD};
  rgt__verify_output out = {0};
  size_t bytes = (size_t)p->rows * (size_t)p->op.n_out * rgt__number_bytes(p->op.dtype);
  out.y = rgt__alloc(bytes);
  if (!out.y) return rgt__error_nomem(err, bytes);
  rgt_status status = exact ? RGT_OK : rgt__verify_set_bounds(set, numeric, err);
  if (status == RGT_OK) status = rgt__verify_data_open(c->device, p, layout, &data, err);
  if (status == RGT_OK) status = rgt__verify_data_run(&data, c, &call, &out, err);
  if (status == RGT_OK &&
      rgt__verify_check_elements(set, &call, &out, layout->fill, exact ? RGT_VERIFY_EXACT : RGT_VERIFY_BOUND,
                                 exact ? "exact" : "bound", result))
    rgt__verify_check_rest(p, &call, &out, result);
  rgt__verify_data_close(&data);
  rgt__free(out.y);
  return status;
}

rgt_status sweep_ragged_run(const sweep_row *row, uint64_t seed, int number, int exact, const rgt__callable *c,
                            const rgt__numeric *numeric, sweep_ragged *about, rgt__verify_result *result, rgt__error *err) {
  const kind *k = &kinds[number % SWEEP_RAGGED_KINDS];
  drawing d = {.rows = 0};
  rgt__verify_set set = {0};
  rgt__random_seed(&d.r, seed + (uint64_t)number * 1000003);
  *result = (rgt__verify_result){.status = RGT_OK, .pass = "", .row = -1, .column = -1};
  rgt__verify_layout layout = {.align_bytes = row->align_bytes};
  layout.padded = below(&d, 4) > 0;
  layout.bias_pointers = (int)below(&d, 2);
  layout.fill = (int)below(&d, 2);
  if (below(&d, 3)) layout.wide = (unsigned)below(&d, 1 << (RGT_VERIFY_Y + 1)); /* some wide, some not */
  rgt_status status = draw(row, k, &d, err);
  *about = (sweep_ragged){.rows = d.rows, .groups = d.groups};
  snprintf(about->about, sizeof about->about, "%s, %lld rows, %lld groups, %s, wide %#x, %s", k->name, (long long)d.rows,
           (long long)d.groups, layout.padded ? "padded" : "tight", layout.wide, exact ? "exact" : "bound");
  if (status == RGT_OK) status = make_set(row, &d, exact, &set, err);
  if (status == RGT_OK) status = call(row, &set, &layout, exact, c, numeric, result, err);
  rgt__verify_set_free(&set);
  rgt__free(d.index);
  return status;
}
