/* array.c -- rows in which every feasible pair of values meets.
 *
 * Greedy: take a pair that is still open, some of the pool's points that have it, of these the one with most open pairs, and
 * then value by value for what may still be chosen the one that covers most. */
#include "array.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/random.h"

enum { CANDIDATES = 250, ROUTES = 6 };

typedef struct making {
  const sweep_pool *pool;
  sweep_pairs *pairs;
  const sweep_factors *f;
  rgt__random random;
} making;

static int position(const making *m, int value) {
  return value - m->f->first[sweep_value_factor(m->f, value)];
}

static int is_global(const making *m, int value, int from) {
  int factor = sweep_value_factor(m->f, value);
  return factor >= from;
}

/* What of the pair must be in the pool's point: all that is neither drawn there nor free. */
static int fits(const making *m, const sweep_point *p, const int pair[2]) {
  int values[SWEEP_ROW_VALUES], n = sweep_point_values(m->f, p, values), found = 0;
  for (int k = 0; k < 2; k++) {
    int here = is_global(m, pair[k], SWEEP_ACT);
    for (int i = 0; !here && i < n; i++) here = values[i] == pair[k];
    found += here;
  }
  return found == 2;
}

static int gain_of(const making *m, const sweep_point *p) {
  int values[SWEEP_ROW_VALUES], n = sweep_point_values(m->f, p, values);
  return sweep_pairs_gain(m->pairs, values, n);
}

/* The value of one factor that covers most beside the others; ties by chance. Factors of the pair stay. */
static void choose_value(making *m, sweep_point *p, int factor) {
  int n = sweep_factor_values(factor), best = -1, start = (int)rgt__random_below(&m->random, (uint64_t)n);
  sweep_point chosen = *p;
  for (int i = 0; i < n; i++) {
    sweep_point tried = *p;
    tried.value[factor] = (unsigned char)((start + i) % n);
    int gain = gain_of(m, &tried);
    if (gain <= best || (factor < SWEEP_N_SEEN && !sweep_pool_feasible(m->pool, &tried))) continue;
    best = gain;
    chosen = tried;
  }
  *p = chosen;
}

/* Makes the most of a point of the pool. 0: the pair cannot be had with it. */
static int complete(making *m, sweep_point *p, const int pair[2]) {
  int order[SWEEP_N_GLOBAL], n = 0, kept[2] = {-1, -1};
  for (int k = 0; k < 2; k++) {
    if (!is_global(m, pair[k], SWEEP_ACT)) continue;
    kept[k] = sweep_value_factor(m->f, pair[k]);
    p->value[kept[k]] = (unsigned char)position(m, pair[k]);
  }
  if (!sweep_pool_feasible(m->pool, p)) return 0;
  for (int factor = SWEEP_ACT; factor < SWEEP_N_GLOBAL; factor++)
    if (factor != kept[0] && factor != kept[1]) order[n++] = factor;
  for (int i = n - 1; i > 0; i--) {
    int j = (int)rgt__random_below(&m->random, (uint64_t)i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < n; i++) choose_value(m, p, order[i]);
  return 1;
}

/* The best few of the pool's points that fit the pair, as they are in the pool, are completed; the best of them is taken. */
static int find_point(making *m, const int pair[2], sweep_point *out) {
  sweep_point best[ROUTES];
  int gains[ROUTES], n_best = 0, seen = 0, most = -1;
  int64_t start = (int64_t)rgt__random_below(&m->random, (uint64_t)m->pool->n);
  for (int64_t i = 0; i < m->pool->n && seen < CANDIDATES; i++) {
    const sweep_point *p = &m->pool->point[sweep_pool_spread(m->pool, start + i)];
    if (!fits(m, p, pair)) continue;
    int gain = gain_of(m, p), at = n_best;
    seen++;
    while (at > 0 && gains[at - 1] < gain) at--;
    if (at == ROUTES) continue;
    if (n_best < ROUTES) n_best++;
    for (int k = n_best - 1; k > at; k--) {
      best[k] = best[k - 1];
      gains[k] = gains[k - 1];
    }
    best[at] = *p;
    gains[at] = gain;
  }
  for (int i = 0; i < n_best; i++) {
    if (!complete(m, &best[i], pair)) continue;
    int gain = gain_of(m, &best[i]);
    if (gain <= most) continue;
    most = gain;
    *out = best[i];
  }
  return most > 0;
}

/* An open pair, from a random place on; 0: none. */
static int open_pair(making *m, int pair[2]) {
  int n = m->f->n_values, all = n * n, start = (int)rgt__random_below(&m->random, (uint64_t)all);
  for (int i = 0; i < all; i++) {
    int at = (start + i) % all;
    if (m->pairs->state[at] != SWEEP_PAIR_OPEN) continue;
    pair[0] = at / n;
    pair[1] = at % n;
    return 1;
  }
  return 0;
}

int sweep_row_compiles(const sweep_row *row) {
  return row->op.act == RGT_ACT_NONE || row->op.act == RGT_ACT_RELU ? 1 : 2;
}

rgt_status sweep_array_make(const sweep_pool *pool, sweep_pairs *pairs, uint64_t seed, int limit, sweep_rows *rows,
                            rgt__error *err) {
  enum { FAILURES_MAX = 100 };
  making m = {.pool = pool, .pairs = pairs, .f = pairs->f};
  int pair[2], compiles = 0, failures = 0;
  rgt__random_seed(&m.random, seed);
  if (!pool->n) return rgt__error_set(err, RGT_EINVAL, "no variant is feasible for anything");
  while (open_pair(&m, pair) && failures < FAILURES_MAX) {
    sweep_point p;
    sweep_row row;
    int values[SWEEP_ROW_VALUES];
    if (!find_point(&m, pair, &p)) {
      failures++;
      continue;
    }
    sweep_point_row(&p, rgt__random_next(&m.random), &row);
    compiles += sweep_row_compiles(&row);
    if (compiles > limit) break;
    sweep_pairs_cover(pairs, values, sweep_point_values(m.f, &p, values));
    rgt_status status = sweep_rows_add(rows, &row, err);
    if (status != RGT_OK) return status;
  }
  return RGT_OK;
}

rgt_status sweep_array_count(const sweep_pool *pool, const sweep_rows *rows, sweep_pairs *pairs, rgt__error *err) {
  sweep_pairs_forget(pairs);
  for (int i = 0; i < rows->n; i++) {
    const sweep_row *row = &rows->row[i];
    sweep_point p;
    int values[SWEEP_ROW_VALUES];
    char text[SWEEP_ROW_MAX];
    if (row->case_name[0]) continue;
    if (!sweep_point_of(pool->families, row, &p) || !sweep_pool_feasible(pool, &p)) {
      sweep_row_format(row, text);
      return rgt__error_set(err, RGT_EINVAL, "row \"%s\" is not feasible", text);
    }
    sweep_pairs_cover(pairs, values, sweep_point_values(pairs->f, &p, values));
  }
  return RGT_OK;
}
