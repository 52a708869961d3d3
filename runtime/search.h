/* search.h -- the search of one signature: waves of candidates, then a duel of the best; every batch of trials stored at once.
 */
#ifndef RGT_RUNTIME_SEARCH_H
#define RGT_RUNTIME_SEARCH_H

#include "runtime/contest.h"
#include "runtime/context.h"
#include "runtime/worker.h"

typedef struct rgt__searched { /* a candidate and what is known of it beyond one signature */
  rgt__candidate candidate;
  rgt__candidate twin; /* its relu twin; text "" while it is not made */
  int is_default;
  int bound_checked, exact_checked;
  double error_share;
} rgt__searched;

/* What a call of rgt_tune works with, common to its signatures. */
typedef struct rgt__search_setup {
  rgt_op *op;
  const rgt_tune_options *options;
  rgt__candidate_maker *maker;
  rgt__worker *worker;
  rgt__tunedb *db;
  rgt__searched *all;
  int n;
  int default_index;
  rgt_policy policy;
  uint64_t seed;
  rgt__stop *stop;  /* what ends compilers early; its deadline is the search's to set */
  double started_s; /* of the whole call, rgt__search_now */
  void (*report)(void *user, rgt_phase phase, int64_t bucket, int64_t done, int64_t total, const char *line);
  void *report_user;
} rgt__search_setup;

/* seed of data and order where the caller names none: a signature is always tuned on the same rows */
#define RGT_SEARCH_SEED ((uint64_t)20260101)

/* rgt__search_limit -- how many of n candidates are tried: all of a small space, a fifth of a large one. */
int rgt__search_limit(const rgt_tune_options *o, int n);

double rgt__search_now(void); /* seconds, monotonic */

enum { RGT_SEARCH_FINALISTS = 6 };

/* The candidates of a signature's duel, by number: those that a rematch takes. */
typedef struct rgt__finalists {
  int index[RGT_SEARCH_FINALISTS];
  int n;
} rgt__finalists;

/* rgt__search_run -- one signature until deadline_s (rgt__search_now's clock). Fills counts, times, status and reason of
 * *result; the winner itself is read from the database afterwards. Returns RGT_OK, RGT_EINTERRUPTED, RGT_EDB (measured, but not
 * stored), RGT_ENOMEM, RGT_EIO, RGT_EINTERNAL. */
rgt_status rgt__search_run(const rgt__search_setup *s, int64_t bucket, rgt_skew skew, const void *index, double deadline_s,
                           rgt_tune_result *result, rgt__finalists *finalists, rgt__error *err);
/* rgt__search_rematch -- the finalists against each other and the default once more, as a run of its own: winners are medians
 * over runs, and a shared machine is another one some seconds later. Same returns; *result keeps its counts. */
rgt_status rgt__search_rematch(const rgt__search_setup *s, int64_t bucket, rgt_skew skew, const void *index, double deadline_s,
                               rgt_tune_result *result, rgt__finalists *finalists, rgt__error *err);

#endif
