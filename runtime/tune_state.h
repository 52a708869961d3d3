/* tune_state.h -- what the files of one call of rgt_tune share. Private to tune*.c. */
#ifndef RGT_RUNTIME_TUNE_STATE_H
#define RGT_RUNTIME_TUNE_STATE_H

#include "runtime/search.h"

typedef struct rgt__space_note { /* what is known of a variant of the space */
  char params[RGT_VARIANT_TEXT_MAX];
  unsigned char admits; /* by the handle: 0 nobody asked yet, 1 no, 2 yes */
} rgt__space_note;

typedef struct rgt__tuning {
  rgt_op *op;
  rgt_ctx *ctx;
  rgt_tune_options o;
  rgt_skew skew;
  rgt_tune_result *results;
  double started_s, budget_s;
  rgt__families *families;
  rgt__tunedb *db, *scratch; /* scratch: in memory, once the file could not be written */
  rgt__candidate_maker maker;
  rgt__worker *worker;
  rgt__stop stop; /* the device's, while this call lasts */
  rgt__searched *all;
  int n, default_index;
  int n_compiled;
  int n_banned;  /* left out of the space */
  int validates; /* results are stored, and are timed again: tune_validate.c */
  rgt__space space;
  rgt__space_note *notes;                    /* [space.n], owned */
  rgt__finalists finalists[RGT_BUCKETS_MAX]; /* of each result, for the rematches */
  rgt__op_key *claimed;                      /* [n_claimed] what this call has leases on, owned */
  int n_claimed;
  rgt__digest holder;
  double renewed_s;
} rgt__tuning;

/* tune.c */
int rgt__tune_stopped(const rgt__tuning *t);
void rgt__tune_report(void *tuning, rgt_phase phase, int64_t bucket, int64_t done, int64_t total, const char *line);
rgt_status rgt__tune_look_up_all(rgt__tuning *t, int *hits, int *n_hits);
int64_t rgt__tune_problem_rows(const rgt__tuning *t, int i); /* of result i: its bucket, or the length of the given index */

/* tune_validate.c -- where everything asked for is a hit: those that are outdated are hits no more, and the space is what of it
 * is timed again. */
rgt_status rgt__tune_validate(rgt__tuning *t, int *hits, int *n_hits);

/* tune_candidates.c -- the space rendered and compiled, and a worker to run it. */
int rgt__tune_admits(const rgt_op *op, const rgt__numeric *n); /* what the handle lets in: verify.md's admission */
rgt_status rgt__tune_enumerate(rgt__tuning *t);                /* families, target and space, once */
rgt_status rgt__tune_make_candidates(rgt__tuning *t);

/* tune_claim.c -- of two tuners of one signature one works and one waits.
 * rgt__tune_claim -- leases on every bucket that is no hit; waits where another tuner has one, and looks again for hits then.
 * RGT_OK also where the wait came to its limit, which the log is told: this call then works without leases. RGT_EINTERRUPTED.
 * rgt__tune_renew -- now and then; rgt__tune_unclaim -- at the end. */
rgt_status rgt__tune_claim(rgt__tuning *t, int *hits, int *n_hits);
void rgt__tune_renew(rgt__tuning *t);
void rgt__tune_unclaim(rgt__tuning *t);

/* tune_results.c -- between the database and rgt_tune_result. */
rgt_status rgt__tune_find(rgt__tuning *t, int64_t bucket, rgt__tunedb_winner *w);
void rgt__tune_fill_from(rgt_tune_result *r, const rgt__tunedb_winner *w);
/* rgt__tune_look_up -- is a complete search stored, one that came to its duel and tried every variant of this space? Then
 * result i is filled from it. */
rgt_status rgt__tune_look_up(rgt__tuning *t, int i, int *hit);
void rgt__tune_fill_work(rgt__tuning *t);  /* operations and bytes of a call */
void rgt__tune_fill_peaks(rgt__tuning *t); /* shares of the measured peaks */

#endif
