/* search_state.h -- what the files of the search of one signature share. Private to search*.c. */
#ifndef RGT_RUNTIME_SEARCH_STATE_H
#define RGT_RUNTIME_SEARCH_STATE_H

#include "runtime/search.h"

enum { RGT_SEARCH_WAVE = 16 };

typedef struct rgt__search {
  const rgt__search_setup *setup;
  rgt_tune_result *result;
  int64_t bucket;
  double deadline_s;
  rgt__op_key key;
  rgt__tunedb_run run;
  int64_t *ratio_ppm;  /* [n] of each candidate that was timed, in this run or an unfinished one; 0: none */
  unsigned char *done; /* [n] has an outcome */
  int n_done;
  unsigned char *dueled;   /* [n] stood in a duel */
  int limit;               /* so many candidates are tried */
  rgt_status store_status; /* RGT_EDB once a batch could not be stored */
} rgt__search;

/* search.c */
int rgt__search_stopped(const rgt__search *s); /* on request */
int rgt__search_stop_on_request(void *search); /* the same, as contests ask */
void rgt__search_report(const rgt__search *s, rgt_phase phase, int64_t done, int64_t total, const char *line);

/* search_pick.c -- which candidates are tried, and in which order: all of a small space; of a large one a sample in the order
 * of the families' priors, then neighbours of the best, then what the priors put next. */
typedef struct rgt__search_pick {
  int n, n_picked;
  int *ranked;             /* [n] by prior, the cheapest first */
  unsigned char *picked;   /* [n] handed out, or done before */
  unsigned char *expanded; /* [n] its neighbours were handed out */
  int *sample;             /* [n_sample] handed out first */
  int n_sample, at;
} rgt__search_pick;
rgt_status rgt__search_pick_open(const rgt__search *s, rgt__search_pick *p, rgt__error *err);
void rgt__search_pick_close(rgt__search_pick *p);
/* rgt__search_pick_next -- the next to try, RGT_SEARCH_WAVE at most; returns how many, 0 at the end. What came before has its
 * outcome or ratio in s by then. */
int rgt__search_pick_next(const rgt__search *s, rgt__search_pick *p, int *wave);

/* search_compile.c -- compiles those of the n that have no code yet, in parallel. RGT_EINTERRUPTED: on request, or the
 * deadline, unless `late`: what is compiled then is needed however late it is. */
rgt_status rgt__search_compile(const rgt__search *s, const int *indices, int n, int late, rgt__error *err);

/* search_trials.c -- outcomes as trials: counted, stored at once, taken up again. */
typedef struct rgt__search_texts { /* what a trial borrows */
  char params[RGT_VARIANT_TEXT_MAX];
} rgt__search_texts;
rgt__tunedb_trial rgt__search_trial_of(const rgt__search *s, int i, rgt__search_texts *texts);
rgt_status rgt__search_store(rgt__search *s, const rgt__tunedb_trial *trials, int n, rgt__error *err);
void rgt__search_mark_done(rgt__search *s, int i, rgt_outcome outcome);
rgt_status rgt__search_store_failure(rgt__search *s, int i, rgt_outcome outcome, const char *reason, rgt__error *err);
/* rgt__search_store_change -- a candidate that was measured, and has another outcome now. */
rgt_status rgt__search_store_change(rgt__search *s, int i, rgt__error *err);
rgt_status rgt__search_store_contest(rgt__search *s, const rgt__contest *c, int final, rgt__error *err);
rgt_status rgt__search_take_up(rgt__search *s, rgt__error *err); /* what an unfinished search left */

/* search_check.c -- verifies candidate i; exact: both passes, for finalists. RGT_OK: *outcome says what came out, and where it
 * is not RGT_TRIAL_OK the candidate has it, with a reason. */
rgt_status rgt__search_check(rgt__search *s, int i, int exact, rgt_outcome *outcome, rgt__error *err);

/* search_duel.c -- the best of all waves against each other and the default, until the best by what is known then have all been
 * in a duel; and the same finalists once more. */
rgt_status rgt__search_run_duel(rgt__search *s, rgt__finalists *f, rgt__error *err);
rgt_status rgt__search_duel_again(rgt__search *s, const rgt__finalists *f, rgt__error *err);

#endif
