/* search_pick.c -- which candidates a search tries, and in which order.
 *
 * A small space is tried whole. Of a large one a fifth: half of that is a sample, whose first half are the cheapest by the
 * families' priors and whose other half is spread evenly over all the rest, since a prior knows nothing of the machine; then
 * come the neighbours of the best that were measured (one param another step up or down), the best one's first; and where no
 * good one has neighbours left, what the priors put next.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/search_state.h"

enum { WHOLE_MAX = 60, SHARE = 5, PART_MIN = 40 };

#define GOOD 1.25 /* neighbours are worth trying of what is not slower than this many times the best */

int rgt__search_limit(const rgt_tune_options *o, int n) {
  if (o->exhaustive || n <= WHOLE_MAX) return n;
  return n / SHARE > PART_MIN ? n / SHARE : PART_MIN;
}

/* ---- the order of the priors ---- */

typedef struct cost {
  double cost;
  int index;
} cost;

static int by_cost(const void *a, const void *b) {
  const cost *x = a, *y = b;
  if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
  return x->index - y->index;
}

static rgt_status rank(const rgt__search *s, rgt__search_pick *p, rgt__error *err) {
  const rgt__search_setup *setup = s->setup;
  const rgt_op *op = setup->op;
  const rgt__device_info *info = &setup->maker->device->info;
  const int64_t vars[RGT_N_VARS] = {[RGT_VAR_ROWS] = s->bucket,
                                    [RGT_VAR_GROUPS] = op->desc.groups,
                                    [RGT_VAR_THREADS] = info->n_threads,
                                    [RGT_VAR_SM_COUNT] = info->sm_count,
                                    [RGT_VAR_OCCUPANCY] = 1};
  cost *costs = rgt__alloc_zero((size_t)p->n + 1, sizeof *costs);
  rgt_status status = costs ? RGT_OK : rgt__error_nomem(err, (size_t)p->n * sizeof *costs);
  for (int i = 0; i < p->n && status == RGT_OK; i++) {
    costs[i].index = i;
    status = rgt__variant_prior(setup->maker->families, &setup->all[i].candidate.variant, &op->desc,
                                rgt__op_order_word(op->options.order), &setup->maker->target, vars, &costs[i].cost, err);
  }
  if (status == RGT_OK) {
    qsort(costs, (size_t)p->n, sizeof *costs, by_cost);
    for (int i = 0; i < p->n; i++) p->ranked[i] = costs[i].index;
  }
  rgt__free(costs);
  return status;
}

static int take(rgt__search_pick *p, int i) {
  if (p->picked[i]) return 0;
  p->picked[i] = 1;
  p->n_picked++;
  return 1;
}

/* The cheapest, and as many more spread over the rest. */
static void draw_sample(rgt__search_pick *p, int limit) {
  int half = limit < p->n ? limit / 4 : limit;
  for (int at = 0; at < p->n && p->n_sample < half && p->n_picked < limit; at++)
    if (take(p, p->ranked[at])) p->sample[p->n_sample++] = p->ranked[at];
  for (int k = 0; k < half && limit < p->n && p->n_picked < limit; k++) {
    int at = (int)(((int64_t)2 * k + 1) * p->n / (2 * half));
    while (at < p->n && p->picked[p->ranked[at]]) at++;
    if (at < p->n && take(p, p->ranked[at])) p->sample[p->n_sample++] = p->ranked[at];
  }
}

rgt_status rgt__search_pick_open(const rgt__search *s, rgt__search_pick *p, rgt__error *err) {
  size_t n = (size_t)s->setup->n;
  memset(p, 0, sizeof *p);
  p->n = s->setup->n;
  p->ranked = rgt__alloc_zero(n + 1, sizeof *p->ranked);
  p->sample = rgt__alloc_zero(n + 1, sizeof *p->sample);
  p->picked = rgt__alloc_zero(n + 1, 1);
  p->expanded = rgt__alloc_zero(n + 1, 1);
  rgt_status status = p->ranked && p->sample && p->picked && p->expanded ? rank(s, p, err) : RGT_ENOMEM;
  if (status != RGT_OK) {
    rgt__search_pick_close(p);
    return status == RGT_ENOMEM ? rgt__error_nomem(err, n * sizeof *p->ranked) : status;
  }
  for (int i = 0; i < p->n; i++)
    if (s->done[i] || i == s->setup->default_index) take(p, i);
  draw_sample(p, s->limit);
  return RGT_OK;
}

void rgt__search_pick_close(rgt__search_pick *p) {
  rgt__free(p->ranked);
  rgt__free(p->sample);
  rgt__free(p->picked);
  rgt__free(p->expanded);
  memset(p, 0, sizeof *p);
}

/* ---- neighbours ---- */

/* How many steps b lies from a along the one param in which they differ, which goes to *param; 0: in none, or in several. */
static int steps_between(const rgt__variant *a, const rgt__variant *b, int *param) {
  int steps = 0;
  if (a->family != b->family) return 0;
  for (int i = 0; i < a->family->n_params; i++) {
    if (a->value[i] == b->value[i]) continue;
    if (steps != 0) return 0;
    steps = (int)b->value[i] - (int)a->value[i];
    *param = i;
  }
  return steps;
}

/* The nearest variants of the space up and down along each param of `of`: those that were not handed out go to wave. */
static int neighbours(const rgt__search *s, rgt__search_pick *p, int of, int *wave, int room) {
  const rgt__variant *center = &s->setup->all[of].candidate.variant;
  int nearest[RGT_PARAMS_MAX][2], reach[RGT_PARAMS_MAX][2], n = 0;
  memset(reach, 0, sizeof reach);
  for (int i = 0; i < p->n; i++) {
    int param = 0, steps = steps_between(center, &s->setup->all[i].candidate.variant, &param), up = steps > 0;
    if (steps == 0) continue;
    if (reach[param][up] == 0 || abs(steps) < reach[param][up]) {
      reach[param][up] = abs(steps);
      nearest[param][up] = i;
    }
  }
  for (int param = 0; param < center->family->n_params; param++)
    for (int up = 0; up < 2; up++) {
      if (reach[param][up] == 0 || p->picked[nearest[param][up]]) continue;
      if (n == room) return n; /* it is not expanded yet: the rest comes with the next wave */
      take(p, nearest[param][up]);
      wave[n++] = nearest[param][up];
    }
  p->expanded[of] = 1;
  return n;
}

/* The fastest whose neighbours were not handed out; -1: none is good. */
static int best_unexpanded(const rgt__search *s, const rgt__search_pick *p) {
  int best = -1;
  int64_t least = INT64_MAX;
  for (int i = 0; i < p->n; i++) {
    if (s->ratio_ppm[i] == 0 || s->setup->all[i].candidate.outcome != RGT_TRIAL_OK) continue;
    if (s->ratio_ppm[i] < least) least = s->ratio_ppm[i];
    if (!p->expanded[i] && (best < 0 || s->ratio_ppm[i] < s->ratio_ppm[best])) best = i;
  }
  return best >= 0 && (double)s->ratio_ppm[best] <= GOOD * (double)least ? best : -1;
}

static int room_left(const rgt__search *s, const rgt__search_pick *p, int n) {
  int room = RGT_SEARCH_WAVE - n, left = s->limit - p->n_picked;
  return room < left ? room : left;
}

int rgt__search_pick_next(const rgt__search *s, rgt__search_pick *p, int *wave) {
  int n = 0;
  while (p->at < p->n_sample && n < RGT_SEARCH_WAVE) wave[n++] = p->sample[p->at++];
  if (n > 0) return n;
  for (int of; n < RGT_SEARCH_WAVE / 2 && room_left(s, p, n) > 0 && (of = best_unexpanded(s, p)) >= 0;)
    n += neighbours(s, p, of, wave + n, room_left(s, p, n));
  if (n > 0) return n;
  for (int at = 0; at < p->n && n < RGT_SEARCH_WAVE / 2; at++)
    if (room_left(s, p, n) > 0 && take(p, p->ranked[at])) wave[n++] = p->ranked[at];
  return n;
}
