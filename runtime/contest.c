/* contest.c -- candidates timed against each other and the default variant, interleaved in rounds.
 *
 * A shared machine changes speed from one millisecond to the next, so a time says little and a ratio of neighbours says much:
 * every few candidates stand between two samples of the default, and a candidate's ratio in that round is to their mean.
 * Each round has the data and the stack at other addresses, so that the median is over those too.
 */
#include "runtime/contest.h"

#include <math.h>
#include <string.h>

#include "runtime/base/alloc.h"

enum { FEW = 4 }; /* candidates between two samples of the default */

rgt_status rgt__contest_open(rgt__worker *w, rgt__candidate *baseline, rgt__candidate *const *candidates, const int *indices,
                             int n, uint64_t seed, rgt__contest *out, rgt__error *err) {
  rgt__contest c;
  memset(&c, 0, sizeof c);
  c.worker = w;
  c.baseline = baseline;
  rgt__random_seed(&c.random, seed);
  size_t rounds = RGT_CONTEST_ROUNDS_MAX, bytes = (size_t)(n + 1) * sizeof *c.entrants;
  c.baseline_capacity = RGT_CONTEST_ROUNDS_MAX * (2 + n / FEW);
  c.entrants = rgt__alloc_zero(1, bytes);
  c.baseline_ps = rgt__alloc_zero((size_t)c.baseline_capacity, sizeof *c.baseline_ps);
  c.loop_ps = rgt__alloc_zero(rounds, sizeof *c.loop_ps);
  c.sorted_ps = rgt__alloc_zero((size_t)c.baseline_capacity, sizeof *c.sorted_ps);
  int failed = !c.entrants || !c.baseline_ps || !c.loop_ps || !c.sorted_ps;
  for (int i = 0; i < n && !failed; i++) {
    rgt__entrant *e = &c.entrants[c.n++];
    *e = (rgt__entrant){.candidate = candidates[i], .index = indices ? indices[i] : i, .alive = 1};
    e->time_ps = rgt__alloc_zero(rounds, sizeof *e->time_ps);
    e->ratio_ppm = rgt__alloc_zero(rounds, sizeof *e->ratio_ppm);
    failed = !e->time_ps || !e->ratio_ppm;
  }
  if (failed) {
    rgt__contest_close(&c);
    return rgt__error_nomem(err, bytes);
  }
  *out = c;
  return RGT_OK;
}

void rgt__contest_close(rgt__contest *c) {
  for (int i = 0; i < c->n; i++) {
    rgt__free(c->entrants[i].time_ps);
    rgt__free(c->entrants[i].ratio_ppm);
  }
  rgt__free(c->entrants);
  rgt__free(c->baseline_ps);
  rgt__free(c->loop_ps);
  rgt__free(c->sorted_ps);
  memset(c, 0, sizeof *c);
}

static int shuffled_alive(rgt__contest *c, int *order) {
  int n = 0;
  for (int i = 0; i < c->n; i++)
    if (c->entrants[i].alive && c->entrants[i].n < RGT_CONTEST_ROUNDS_MAX) order[n++] = i;
  for (int i = n - 1; i > 0; i--) {
    int j = (int)rgt__random_below(&c->random, (uint64_t)i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  return n;
}

static void add_sample(rgt__entrant *e, int64_t call_ps, double default_ps) {
  if (call_ps < 0) {
    e->alive = 0;
    e->unusable = 1;
    return;
  }
  e->time_ps[e->n] = call_ps;
  e->ratio_ppm[e->n] = default_ps > 0 ? (int64_t)llround((double)call_ps / default_ps * 1e6) : 1000000;
  e->n++;
}

/* The default, up to FEW candidates, the default again. */
static rgt_status few(rgt__contest *c, const int *order, int n, rgt__error *err) {
  rgt__candidate *batch[FEW + 2];
  rgt__worker_sample samples[FEW + 2];
  batch[0] = batch[n + 1] = c->baseline;
  for (int i = 0; i < n; i++) batch[i + 1] = c->entrants[order[i]].candidate;
  rgt_status status = c->worker->ops->round(c->worker, batch, n + 2, samples, err);
  if (status != RGT_OK) return status;
  if (c->baseline->outcome != RGT_TRIAL_OK)
    return rgt__error_set(err, RGT_ECRASH, "the default variant %s: %s", c->baseline->text, c->baseline->reason);
  if (samples[0].call_ps < 0 || samples[n + 1].call_ps < 0)
    return rgt__error_set(err, RGT_EINTERNAL, "the default variant is not valid for this problem");
  double default_ps = ((double)samples[0].call_ps + (double)samples[n + 1].call_ps) / 2;
  if (c->n_baseline < c->baseline_capacity) c->baseline_ps[c->n_baseline++] = (int64_t)llround(default_ps);
  for (int i = 0; i < n; i++) add_sample(&c->entrants[order[i]], samples[i + 1].call_ps, default_ps);
  return RGT_OK;
}

static rgt_status one_round(rgt__contest *c, int *order, int with_loop, rgt__contest_stop stop, void *user, rgt__error *err) {
  int n = shuffled_alive(c, order);
  if (c->worker->ops->place) {
    rgt_status status = c->worker->ops->place(c->worker, rgt__random_next(&c->random), err);
    if (status != RGT_OK) return status;
  }
  for (int i = 0; i < n || (n == 0 && i == 0); i += FEW) {
    if (stop && stop(user)) return RGT_EINTERRUPTED;
    rgt_status status = few(c, order + i, n - i < FEW ? n - i : FEW, err);
    if (status != RGT_OK) return status;
  }
  if (with_loop && c->n_loop < RGT_CONTEST_ROUNDS_MAX) {
    rgt__worker_sample sample;
    rgt_status status = c->worker->ops->loop(c->worker, &sample, err);
    if (status != RGT_OK) return status;
    if (sample.call_ps >= 0) c->loop_ps[c->n_loop++] = sample.call_ps;
  }
  return RGT_OK;
}

rgt_status rgt__contest_rounds(rgt__contest *c, int n, int with_loop, rgt__contest_stop stop, void *user, rgt__error *err) {
  int *order = rgt__alloc_zero((size_t)c->n + 1, sizeof *order);
  if (!order) return rgt__error_nomem(err, (size_t)c->n * sizeof *order);
  rgt_status status = RGT_OK;
  for (int i = 0; i < n && status == RGT_OK; i++) status = one_round(c, order, with_loop, stop, user, err);
  rgt__free(order);
  return status;
}

/* In memory that is there: a candidate that could not be scored would be one that was never tried. */
static int interval_of(const rgt__contest *c, const int64_t *samples, int n, rgt__interval *out) {
  if (n <= 0) return 0;
  memcpy(c->sorted_ps, samples, (size_t)n * sizeof *samples);
  rgt__stats_interval(c->sorted_ps, n, out);
  return 1;
}

int rgt__contest_score(const rgt__contest *c, int i, rgt__score *out) {
  const rgt__entrant *e = &c->entrants[i];
  return interval_of(c, e->time_ps, e->n, &out->time) && interval_of(c, e->ratio_ppm, e->n, &out->ratio);
}

int rgt__contest_baseline(const rgt__contest *c, rgt__interval *out) {
  return interval_of(c, c->baseline_ps, c->n_baseline, out);
}

int64_t rgt__contest_loop(const rgt__contest *c) {
  rgt__interval loop;
  return interval_of(c, c->loop_ps, c->n_loop, &loop) ? loop.median : 0;
}

static int64_t best_ratio(const rgt__contest *c, int *best) {
  int64_t least = INT64_MAX;
  rgt__score s;
  for (int i = 0; i < c->n; i++)
    if (!c->entrants[i].unusable && rgt__contest_score(c, i, &s) && s.ratio.median < least) {
      least = s.ratio.median;
      *best = i;
    }
  return least;
}

int rgt__contest_drop(rgt__contest *c, double factor) {
  int best = -1, n_alive = 0;
  int64_t least = best_ratio(c, &best);
  rgt__score s;
  for (int i = 0; i < c->n; i++) {
    if (c->entrants[i].alive && rgt__contest_score(c, i, &s) && (double)s.ratio.low > factor * (double)least)
      c->entrants[i].alive = 0;
    n_alive += c->entrants[i].alive;
  }
  return n_alive;
}

int rgt__contest_settled(const rgt__contest *c) {
  int best = -1;
  rgt__score s, leader;
  if (best_ratio(c, &best) == INT64_MAX) return 1;
  rgt__contest_score(c, best, &leader);
  if (rgt__stats_all_equal(c->entrants[best].time_ps, c->entrants[best].n)) return 1;
  for (int i = 0; i < c->n; i++)
    if (i != best && c->entrants[i].alive && rgt__contest_score(c, i, &s) && s.ratio.low <= leader.ratio.high) return 0;
  return 1;
}
