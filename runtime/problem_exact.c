/* problem_exact.c -- the values of the exact pass: every product, sum and hidden value exact, every k met.
 *
 * All values are whole numbers over 4, so products of layer 1 count in units of 1/16 and those of layer 2 (a hidden value in
 * 1/16 times a weight in 1/4) in units of 1/64. What follows speaks of the whole numbers.
 *
 * Hidden. It must be exact in 16 bits, and the shortest significand is bf16's 8 bits: |z| <= 255 for the MLP. A row of x has
 * `pairs` pairs of non-zeros, +a at k and -a at k + n_in/2 (either way round), and every w1 is base + d, 0 <= d <= spread. So a
 * pair adds a (d - d'), at most x_max * spread, while its products are as large as a * (base + spread): with base 240 they pass
 * 2^11 for a of 9 and more, so that sums held in f16 go wrong here too, and a lost k is off by thousands. The base's sign
 * changes with k, and x's with it, so the products keep this form. For the linear op z may reach 4096: y then has to be
 * rounded. |z| <= pairs * x_max * spread + 4 b1_max <= z1_max          (b1 is b1_max/4, hence 4 b1_max in 1/16) For more pairs
 * than z1_max allows, w1 differs from its base only where k is a multiple of `thin`. A row's first k's are `pairs` running ones
 * (modulo n_in), so at most 2 (pairs/thin + 2) differences count, each at most x_max * spread = 1.
 *
 * Sums of layer 1, in whatever order: 2 pairs * x_max * (base + spread) + 4 b1_max, far under 2^24 units (plan checks it).
 * Sums of layer 2: n_hidden * z1_max * w2_max + 16 b2_max <= 2^22: exact in f32 and in adders that keep two bits less. With
 * over 2^18 hidden units 2^24 has to do.
 *
 * Every k: the first k's of the live rows run on through 0 .. n_in-1, live * pairs >= n_in. Every hidden unit: a pair's
 * difference is as often positive as negative, and that of k = 0 and its partner is never 0, which matters where there are few
 * other pairs. A bias that a pair's largest x could not outweigh is never negative. w2 is never 0. */
#include <math.h>

#include "runtime/base/number.h"
#include "runtime/problem_parts.h"

#define LINEAR_Z_MAX 4096
#define MLP_Z_MAX 255
#define SUM_MAX ((int64_t)1 << 24) /* whole numbers that f32 holds */
#define SAFE_MAX ((int64_t)1 << 22)

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

/* Limits that do not depend on the number of rows. */
static void plan_limits(const rgt_op_desc *op, rgt__problem_exact *e) {
  e->z1_max = LINEAR_Z_MAX;
  if (op->kind == RGT_MLP) {
    e->z1_max = least(MLP_Z_MAX, SAFE_MAX / 4 / op->n_hidden);
    if (e->z1_max < 4) e->z1_max = most(1, least(4, SUM_MAX / op->n_hidden - 1));
    e->w2_max = most(1, least(64, SAFE_MAX / op->n_hidden / e->z1_max));
    e->b2_max = least(8, most(0, (SUM_MAX - op->n_hidden * e->z1_max * e->w2_max) / 16));
  }
  e->b1_max = e->z1_max < 8 ? 0 : most(1, least(3, e->z1_max / 64));
  if (op->kind == RGT_LINEAR) e->b1_max = 100;
}

/* What the pairs of a row may add up to. */
static int64_t pair_room(const rgt_op_desc *op, const rgt__problem_exact *e) {
  return e->z1_max - (rgt__problem_has_bias(op, 1) ? 4 * e->b1_max : 0);
}

static int64_t pairs_wanted(const rgt_op_desc *op, int64_t live) {
  return least(op->n_in / 2, most(ceil_div(op->n_in, most(live, 1)), 2));
}

int64_t rgt__problem_exact_rows(const rgt_op_desc *op, int64_t rows, double masked) {
  rgt__problem_exact e = {0};
  plan_limits(op, &e);
  if (pair_room(op, &e) >= 6 || op->n_in < 2) return rows; /* thinning allows any number of pairs */
  int64_t pairs = most(1, least(op->n_in / 2, pair_room(op, &e)));
  double share = masked < 0.9 ? 1 - masked : 0.1;
  int64_t need = (int64_t)((double)ceil_div(op->n_in, pairs) / share) + 2;
  return most(rows, need);
}

rgt_status rgt__problem_exact_plan(const rgt_op_desc *op, int64_t live, rgt__problem_exact *e, rgt__error *err) {
  *e = (rgt__problem_exact){.thin = 1};
  plan_limits(op, e);
  int64_t room = pair_room(op, e), sum1, z;
  if (op->n_in == 1) { /* one product: a * w */
    e->x_max = least(15, room);
    e->w1_base = 1;
    e->w1_spread = least(127, room / e->x_max) - 1;
    z = sum1 = e->x_max * (e->w1_base + e->w1_spread);
  } else {
    e->w1_base = 240;
    e->pairs = pairs_wanted(op, live);
    if (e->pairs > room && room < 6) e->pairs = room;
    e->w1_spread = most(1, least(8, room / e->pairs));
    e->x_max = most(1, least(31, room / e->pairs / e->w1_spread));
    z = e->pairs * e->x_max * e->w1_spread;
    if (e->pairs > room) {
      e->thin = ceil_div(e->pairs, room / 2 - 2);
      z = 2 * (e->pairs / e->thin + 2);
    }
    sum1 = 2 * e->pairs * e->x_max * (e->w1_base + e->w1_spread);
  }
  int64_t bias1 = rgt__problem_has_bias(op, 1) ? 4 * e->b1_max : 0, sum2 = 0;
  if (op->kind == RGT_MLP) sum2 = op->n_hidden * e->z1_max * e->w2_max + 16 * e->b2_max;
  if (z + bias1 > e->z1_max || sum1 + bias1 > SUM_MAX || sum2 > SUM_MAX)
    return rgt__error_set(err, RGT_EINTERNAL, "exact pass: sums of %lld and %lld units, a hidden value of %lld: not exact",
                          (long long)(sum1 + bias1), (long long)sum2, (long long)(z + bias1));
  return RGT_OK;
}

static int sign_of(int64_t k) { /* of w1's base */
  return (uint64_t)k * 0x9e3779b97f4a7c15u >> 63 ? -1 : 1;
}

static int sign(rgt__random *r) {
  return rgt__random_next(r) >> 63 ? -1 : 1;
}

/* low .. high, all but unbiased (the range is small) and without a division: it is called for every weight. */
static int64_t between(rgt__random *r, int64_t low, int64_t high) {
  return low + (int64_t)((rgt__random_next(r) >> 32) * (uint64_t)(high - low + 1) >> 32);
}

static void store(const rgt__problem *p, void *array, int64_t i, int64_t quarters) {
  rgt__number_store(p->op.dtype, array, i, (double)quarters / 4);
}

static void fill_x(rgt__problem *p, const rgt__problem_exact *e, rgt__random *r) {
  int64_t n = p->op.n_in, next = 0;
  for (int64_t row = 0; row < rgt__problem_x_rows(p); row++) {
    if (!rgt__problem_x_row_is_used(p, row)) continue;
    if (!e->pairs) store(p, p->x, row, sign(r) * between(r, 1, e->x_max));
    for (int64_t i = 0; i < e->pairs; i++) {
      int64_t k = next, partner = (k + n / 2) % n, a = sign(r) * between(r, 1, e->x_max);
      store(p, p->x, row * n + k, sign_of(k) * a);
      store(p, p->x, row * n + partner, -sign_of(partner) * a);
      next = next + 1 == n ? 0 : next + 1;
    }
  }
}

/* A difference unlike that of the weight at `first`, which is its feature's k = 0. */
static int64_t other_than(const rgt__problem *p, const rgt__problem_exact *e, int64_t first, rgt__random *r) {
  int64_t taken = (int64_t)(4 * fabs(rgt__number_load(p->op.dtype, p->w1, first))) - e->w1_base;
  int64_t d = between(r, 0, e->w1_spread - 1);
  return d >= taken ? d + 1 : d;
}

static void fill_w1(rgt__problem *p, const rgt__problem_exact *e, rgt__random *r) {
  int64_t n_k = p->op.n_in, n_f = rgt__problem_layer_out(&p->op, 1), i = 0;
  int nk = p->op.layout == RGT_NK;
  for (int64_t g = 0; g < p->op.groups; g++) {
    for (int64_t a = 0; a < (nk ? n_f : n_k); a++) {
      for (int64_t b = 0; b < (nk ? n_k : n_f); b++, i++) {
        int64_t k = nk ? b : a, d = k % e->thin ? 0 : between(r, 0, e->w1_spread);
        if (k && k == n_k / 2 && e->thin == 1) d = other_than(p, e, nk ? i - k : i - k * n_f, r);
        store(p, p->w1, i, (n_k == 1 ? sign(r) : sign_of(k)) * (e->w1_base + d));
      }
    }
  }
}

static void fill_whole(const rgt__problem *p, void *array, int64_t n, int64_t high, int positive, rgt__random *r) {
  for (int64_t i = 0; array && i < n; i++) store(p, array, i, (positive ? 1 : sign(r)) * between(r, high > 0, high));
}

void rgt__problem_exact_fill(rgt__problem *p, const rgt__problem_exact *e, rgt__random *r) {
  int64_t groups = p->op.groups;
  fill_x(p, e, r);
  fill_w1(p, e, r);
  fill_whole(p, p->b1, groups * rgt__problem_layer_out(&p->op, 1), e->b1_max, e->pairs && 4 * e->b1_max >= e->x_max, r);
  fill_whole(p, p->w2, p->w2 ? groups * rgt__op_weight_elems(&p->op, 2) : 0, e->w2_max, 0, r);
  fill_whole(p, p->b2, groups * p->op.n_out, e->b2_max, 0, r);
}
