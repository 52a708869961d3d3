/* pairs.c -- two values of two factors: which can meet in a row, and which have. */
#include "pairs.h"

#include <string.h>

#include "runtime/base/alloc.h"

enum { FAMILY_GROUP = SWEEP_N_GLOBAL, FIRST_PARAM_GROUP };

static void name_groups(sweep_pairs *p) {
  const sweep_factors *f = p->f;
  for (int v = 0; v < f->n_values; v++) {
    p->group[v] = (short)sweep_value_factor(f, v);
    p->owner[v] = -1;
  }
  for (int i = 0; i < f->n_families; i++) {
    p->group[f->first_family + i] = FAMILY_GROUP;
    p->owner[f->first_family + i] = (short)i;
    for (int j = 0; j < f->family[i]->n_params; j++)
      for (int v = 0; v < f->family[i]->params[j].n_values; v++) {
        p->group[f->first_param[i][j] + v] = (short)(FIRST_PARAM_GROUP + i * RGT_PARAMS_MAX + j);
        p->owner[f->first_param[i][j] + v] = (short)i;
      }
  }
}

/* A family and its own param's value are no pair: one says the other. */
static int is_pair(const sweep_pairs *p, int a, int b) {
  if (p->group[a] == p->group[b]) return 0;
  if (p->owner[a] < 0 || p->owner[b] < 0) return 1;
  return p->owner[a] == p->owner[b] && p->group[a] != FAMILY_GROUP && p->group[b] != FAMILY_GROUP;
}

static void set(sweep_pairs *p, int a, int b, int state) {
  p->state[a * p->f->n_values + b] = p->state[b * p->f->n_values + a] = (unsigned char)state;
}

static void open_pair(sweep_pairs *p, int a, int b) {
  if (sweep_pair_state(p, a, b) != SWEEP_PAIR_NEVER || !is_pair(p, a, b)) return;
  set(p, a, b, SWEEP_PAIR_OPEN);
  p->n_feasible++;
}

static int is_free(const sweep_pairs *p, int value) {
  return p->group[value] >= SWEEP_N_SEEN && p->group[value] < SWEEP_N_GLOBAL;
}

static void open_what_the_pool_shows(sweep_pairs *p, const sweep_pool *pool) {
  int values[SWEEP_ROW_VALUES], kept;
  for (int64_t e = 0; e < pool->n; e++) {
    int n = sweep_point_values(p->f, &pool->point[e], values);
    kept = 0;
    for (int i = 0; i < n; i++)
      if (!is_free(p, values[i])) values[kept++] = values[i];
    for (int i = 0; i < kept; i++)
      for (int j = 0; j < i; j++) open_pair(p, values[i], values[j]);
  }
}

/* The free factors meet whatever there is. */
static void open_free(sweep_pairs *p) {
  int n = p->f->n_values;
  for (int a = 0; a < n; a++) {
    if (!is_free(p, a)) continue;
    for (int b = 0; b < n; b++) {
      int seen = is_free(p, b);
      for (int c = 0; !seen && c < n; c++) seen = sweep_pair_state(p, b, c) != SWEEP_PAIR_NEVER && !is_free(p, c);
      if (seen) open_pair(p, a, b);
    }
  }
}

static int is_drawn(const sweep_pairs *p, int value) {
  return p->group[value] == SWEEP_ACT || p->group[value] == SWEEP_BIAS || p->group[value] == SWEEP_INDEX;
}

static int has(const sweep_pairs *p, const sweep_point *point, int value) {
  int values[SWEEP_ROW_VALUES], n = sweep_point_values(p->f, point, values);
  for (int i = 0; i < n; i++)
    if (values[i] == value) return 1;
  return 0;
}

static int can_meet(const sweep_pairs *p, const sweep_pool *pool, int drawn, int other) {
  enum { TRIES = 2000 };
  int tries = 0;
  for (int64_t e = 0; e < pool->n && tries < TRIES; e++) {
    sweep_point point = pool->point[sweep_pool_spread(pool, e)];
    if (is_drawn(p, other)) {
      point.value[p->group[other]] = (unsigned char)(other - p->f->first[p->group[other]]);
    } else if (!has(p, &point, other)) {
      continue;
    }
    tries++;
    point.value[p->group[drawn]] = (unsigned char)(drawn - p->f->first[p->group[drawn]]);
    if (sweep_pool_feasible(pool, &point)) return 1;
  }
  return 0;
}

static void look_for_drawn(sweep_pairs *p, const sweep_pool *pool) {
  for (int a = 0; a < p->f->n_values; a++) {
    if (!is_drawn(p, a)) continue;
    for (int b = 0; b < p->f->n_values; b++) {
      if (is_free(p, b) || !is_pair(p, a, b) || sweep_pair_state(p, a, b) != SWEEP_PAIR_NEVER) continue;
      if (can_meet(p, pool, a, b)) open_pair(p, a, b);
    }
  }
}

rgt_status sweep_pairs_make(const sweep_factors *f, const sweep_pool *pool, sweep_pairs *out, rgt__error *err) {
  size_t n = (size_t)f->n_values * (size_t)f->n_values;
  memset(out, 0, sizeof *out);
  out->f = f;
  out->state = rgt__alloc_zero(n, 1);
  if (!out->state) return rgt__error_nomem(err, n);
  name_groups(out);
  open_what_the_pool_shows(out, pool);
  look_for_drawn(out, pool);
  open_free(out);
  return RGT_OK;
}

void sweep_pairs_free(sweep_pairs *p) {
  rgt__free(p->state);
  memset(p, 0, sizeof *p);
}

int sweep_pairs_gain(const sweep_pairs *p, const int *values, int n) {
  int gain = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) gain += sweep_pair_state(p, values[i], values[j]) == SWEEP_PAIR_OPEN;
  return gain;
}

/* A feasible row's pairs are feasible, even one that nothing had shown to be. */
void sweep_pairs_cover(sweep_pairs *p, const int *values, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) {
      open_pair(p, values[i], values[j]);
      if (sweep_pair_state(p, values[i], values[j]) != SWEEP_PAIR_OPEN) continue;
      set(p, values[i], values[j], SWEEP_PAIR_COVERED);
      p->n_covered++;
    }
}

void sweep_pairs_forget(sweep_pairs *p) {
  for (int i = 0; i < p->f->n_values * p->f->n_values; i++)
    if (p->state[i] == SWEEP_PAIR_COVERED) p->state[i] = SWEEP_PAIR_OPEN;
  p->n_covered = 0;
}
