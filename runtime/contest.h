/* contest.h -- candidates timed against each other and the default variant, interleaved in rounds. */
#ifndef RGT_RUNTIME_CONTEST_H
#define RGT_RUNTIME_CONTEST_H

#include "runtime/base/random.h"
#include "runtime/stats.h"
#include "runtime/worker.h"

enum { RGT_CONTEST_ROUNDS_MAX = 320 };

typedef struct rgt__entrant {
  rgt__candidate *candidate;
  int index;    /* the caller's number for it */
  int alive;    /* still in the rounds */
  int unusable; /* program not valid for the problem, its workspace does not fit, or its candidate has an outcome */
  int n;
  int64_t *time_ps;   /* [RGT_CONTEST_ROUNDS_MAX], owned */
  int64_t *ratio_ppm; /* to the default, of samples next to each other */
} rgt__entrant;

typedef struct rgt__contest {
  rgt__worker *worker;
  rgt__candidate *baseline; /* the default variant */
  int n;
  rgt__entrant *entrants;
  int64_t *baseline_ps; /* [n_baseline], owned */
  int n_baseline, baseline_capacity;
  int64_t *loop_ps; /* [n_loop]: the plain loop */
  int n_loop;
  int64_t *sorted_ps; /* [baseline_capacity]: where samples are put in order */
  rgt__random random;
} rgt__contest;

typedef struct rgt__score { /* of one entrant, or of the default */
  rgt__interval time, ratio;
} rgt__score;

rgt_status rgt__contest_open(rgt__worker *w, rgt__candidate *baseline, rgt__candidate *const *candidates, const int *indices,
                             int n, uint64_t seed, rgt__contest *out, rgt__error *err);
void rgt__contest_close(rgt__contest *c);
/* rgt__contest_rounds -- n more rounds of those alive, each in a new order, a sample of the default before and after every few
 * of them. stop is asked before each batch of few. RGT_EINTERRUPTED when it says so; samples so far are kept. with_loop: one
 * sample of the plain loop a round. One that crashes or does not end is left out, with its outcome; RGT_ECRASH: the default. */
typedef int (*rgt__contest_stop)(void *user);
rgt_status rgt__contest_rounds(rgt__contest *c, int n, int with_loop, rgt__contest_stop stop, void *user, rgt__error *err);
/* rgt__contest_drop -- ends those whose ratio's low end is above `factor` times the smallest median ratio. Returns how many are
 * alive. */
int rgt__contest_drop(rgt__contest *c, double factor);
int rgt__contest_score(const rgt__contest *c, int i, rgt__score *out); /* 0: no samples */
int rgt__contest_baseline(const rgt__contest *c, rgt__interval *out);
int64_t rgt__contest_loop(const rgt__contest *c); /* median, 0 if there is none */
/* rgt__contest_settled -- the best is apart from the second by their intervals, or the clock is modelled. */
int rgt__contest_settled(const rgt__contest *c);

#endif
