/* verify_set.c -- a problem with its float64 reference.
 *
 * A large problem is compared in part: 4,096 seeded elements spread over its rows, the last column of each of those rows, and
 * whole rows -- so all tile edges -- for the first and last row of the first, the last, the largest and the smallest group.
 * An MLP's element costs its row's whole hidden layer, so where x is dense the seeded elements come from as many rows as
 * HIDDEN_MACS pay for, at least 16. In the exact pass x is sparse, hidden costs little and every row takes part. */
#include "runtime/verify_set.h"

#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/random.h"
#include "runtime/problem_parts.h"

#define SAMPLED 4096
#define HIDDEN_MACS 2e9
#define SAMPLED_ROWS_MIN 16
#define EDGE_GROUPS 4

static int is_live(const rgt__problem *p, int64_t row) {
  int64_t g = rgt__problem_index_at(p, row);
  return g >= 0 && g < p->op.groups;
}

/* Multiply-adds of a call; an element's bias, activation and rounding count as eight, which also bounds what is stored. */
static double cost(const rgt__problem *p) {
  const rgt_op_desc *op = &p->op;
  double row = (double)op->n_in * (double)op->n_out;
  if (op->kind == RGT_MLP) row = (double)op->n_hidden * ((double)op->n_in + (double)op->n_out);
  return (double)p->rows * (row + (op->kind == RGT_MLP ? 0 : 8 * (double)op->n_out));
}

/* First, last, largest and smallest of the groups with rows. */
static rgt_status edge_groups(const rgt__problem *p, int64_t out[EDGE_GROUPS], rgt__error *err) {
  int64_t groups = p->op.groups, *size = rgt__alloc_zero((size_t)groups, sizeof *size);
  if (!size) return rgt__error_nomem(err, (size_t)groups * sizeof *size);
  for (int i = 0; i < EDGE_GROUPS; i++) out[i] = -1;
  for (int64_t row = 0; row < p->rows; row++) {
    if (is_live(p, row)) size[rgt__problem_index_at(p, row)]++;
  }
  for (int64_t g = 0; g < groups; g++) {
    if (!size[g]) continue;
    if (out[0] < 0) out[0] = g;
    out[1] = g;
    if (out[2] < 0 || size[g] > size[out[2]]) out[2] = g;
    if (out[3] < 0 || size[g] < size[out[3]]) out[3] = g;
  }
  rgt__free(size);
  return RGT_OK;
}

/* How many elements of each live row: n_out for edge rows, else `each` seeded ones and the last column, else none. */
enum { NONE, SOME, WHOLE };

static rgt_status choose_rows(const rgt__problem *p, rgt__random *r, unsigned char *how, int64_t *n_some, rgt__error *err) {
  int64_t edges[EDGE_GROUPS], first[EDGE_GROUPS], last[EDGE_GROUPS], wanted = p->rows;
  rgt_status status = edge_groups(p, edges, err);
  if (status != RGT_OK) return status;
  if (p->op.kind == RGT_MLP && !p->sparse_x) {
    double pays = HIDDEN_MACS / ((double)p->op.n_in * (double)p->op.n_hidden);
    if (pays < (double)wanted) wanted = pays > SAMPLED_ROWS_MIN ? (int64_t)pays : SAMPLED_ROWS_MIN;
  }
  memset(first, -1, sizeof first);
  memset(last, -1, sizeof last);
  *n_some = 0;
  for (int64_t row = 0, left = wanted; row < p->rows; row++) {
    int chosen = (int64_t)rgt__random_below(r, (uint64_t)(p->rows - row)) < left;
    left -= chosen;
    how[row] = chosen && is_live(p, row) ? SOME : NONE;
    for (int i = 0; i < EDGE_GROUPS; i++) {
      if (!is_live(p, row) || rgt__problem_index_at(p, row) != edges[i]) continue;
      if (first[i] < 0) first[i] = row;
      last[i] = row;
    }
  }
  for (int i = 0; i < EDGE_GROUPS; i++) {
    if (first[i] >= 0) how[first[i]] = how[last[i]] = WHOLE;
  }
  for (int64_t row = 0; row < p->rows; row++) *n_some += how[row] == SOME;
  return RGT_OK;
}

/* Ascending columns of one row: each of n_out is taken with the chance of still needed over still to come; the last always. */
static int64_t choose_columns(int64_t n_out, int64_t each, rgt__random *r, int64_t *columns) {
  int64_t n = 0;
  if (n_out <= each) {
    for (int64_t c = 0; c < n_out; c++) columns[n++] = c;
    return n;
  }
  for (int64_t c = 0, left = each; c < n_out; c++) {
    int take = (int64_t)rgt__random_below(r, (uint64_t)(n_out - c)) < left;
    left -= take;
    if (take || c == n_out - 1) columns[n++] = c;
  }
  return n;
}

static rgt_status sample(rgt__verify_set *s, uint64_t seed, rgt__error *err) {
  const rgt__problem *p = &s->problem;
  int64_t n_out = p->op.n_out, n_some, n = 0;
  rgt__random r;
  rgt__random_seed(&r, seed);
  unsigned char *how = rgt__alloc_zero((size_t)p->rows, 1);
  if (!how) return rgt__error_nomem(err, (size_t)p->rows);
  rgt_status status = choose_rows(p, &r, how, &n_some, err);
  int64_t each = n_some ? (SAMPLED + n_some - 1) / n_some : 0;
  if (each > n_out) each = n_out;
  size_t most = (size_t)n_some * (size_t)(each + 1) + 2 * EDGE_GROUPS * (size_t)n_out;
  if (status == RGT_OK) s->columns = rgt__alloc_zero(most, sizeof *s->columns);
  if (status == RGT_OK && !s->columns) status = rgt__error_nomem(err, most * sizeof *s->columns);
  for (int64_t row = 0; status == RGT_OK && row < p->rows; row++) {
    s->starts[row] = n;
    if (how[row] != NONE) n += choose_columns(n_out, how[row] == WHOLE ? n_out : each, &r, s->columns + n);
    s->starts[row + 1] = n;
  }
  rgt__free(how);
  return status;
}

static void compute(rgt__verify_set *s, const rgt__numeric *numeric, double *scratch) {
  const rgt__problem *p = &s->problem;
  for (int64_t row = 0; row < p->rows; row++) {
    int64_t at = s->starts[row], n = s->starts[row + 1] - at;
    const int64_t *columns = s->columns && n < p->op.n_out ? s->columns + at : NULL;
    if (n) rgt__reference_elements(p, numeric, row, columns, n, s->y64 + at, s->bound + at, s->may_overflow + at, scratch);
  }
}

static rgt_status recompute(rgt__verify_set *s, const rgt__numeric *numeric, rgt__error *err) {
  size_t n = (size_t)rgt__reference_scratch(&s->problem.op);
  double *scratch = rgt__alloc_zero(n, sizeof *scratch);
  if (!scratch) return rgt__error_nomem(err, n * sizeof *scratch);
  compute(s, numeric, scratch);
  rgt__free(scratch);
  return RGT_OK;
}

rgt_status rgt__verify_set_make(rgt__problem *problem, uint64_t seed, rgt__verify_set *out, rgt__error *err) {
  rgt__verify_set s = {.problem = *problem};
  const rgt__problem *p = &s.problem;
  rgt_status status = RGT_OK;
  memset(problem, 0, sizeof *problem);
  s.starts = rgt__alloc_zero((size_t)p->rows + 1, sizeof *s.starts);
  if (!s.starts) status = rgt__error_nomem(err, ((size_t)p->rows + 1) * sizeof *s.starts);
  if (status == RGT_OK && cost(p) > (double)RGT_VERIFY_ALL_MACS) {
    status = sample(&s, seed, err);
  } else if (status == RGT_OK) {
    for (int64_t row = 0; row <= p->rows; row++) s.starts[row] = row * p->op.n_out;
  }
  if (status == RGT_OK) {
    size_t n = (size_t)s.starts[p->rows];
    s.y64 = rgt__alloc_zero(n, sizeof *s.y64);
    s.bound = rgt__alloc_zero(n, sizeof *s.bound);
    s.may_overflow = rgt__alloc_zero(n, 1);
    if (!s.y64 || !s.bound || !s.may_overflow) status = rgt__error_nomem(err, n * (2 * sizeof *s.y64 + 1));
  }
  if (status == RGT_OK) status = recompute(&s, NULL, err);
  if (status == RGT_OK) {
    *out = s;
  } else {
    rgt__verify_set_free(&s);
  }
  return status;
}

void rgt__verify_set_free(rgt__verify_set *s) {
  if (!s) return;
  rgt__problem_free(&s->problem);
  rgt__free(s->starts);
  rgt__free(s->columns);
  rgt__free(s->y64);
  rgt__free(s->bound);
  rgt__free(s->may_overflow);
  memset(s, 0, sizeof *s);
}

static int same_numeric(const rgt__numeric *a, const rgt__numeric *b) {
  return a->p1 == b->p1 && a->p2 == b->p2 && a->mma == b->mma && a->hidden_16bit == b->hidden_16bit && a->u_h == b->u_h &&
         a->eta_h == b->eta_h && a->alpha == b->alpha && a->beta == b->beta;
}

rgt_status rgt__verify_set_bounds(rgt__verify_set *s, const rgt__numeric *numeric, rgt__error *err) {
  if (s->have_bounds && same_numeric(&s->numeric, numeric)) return RGT_OK;
  rgt_status status = recompute(s, numeric, err);
  s->have_bounds = status == RGT_OK;
  s->numeric = *numeric;
  return status;
}

int64_t rgt__verify_set_find(const rgt__verify_set *s, int64_t row, int64_t column, int64_t *at) {
  int64_t first = s->starts[row], end = s->starts[row + 1];
  if (!s->columns) return first + column;
  while (first + *at < end && s->columns[first + *at] < column) ++*at;
  return first + *at < end && s->columns[first + *at] == column ? first + *at : -1;
}
