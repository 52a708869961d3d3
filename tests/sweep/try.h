/* try.h -- one row tried: compiled, verified, on its case and on ragged problems; on the device of this process. */
#ifndef RGT_SWEEP_TRY_H
#define RGT_SWEEP_TRY_H

#include "row.h"
#include "runtime/context.h"

typedef enum sweep_state {
  SWEEP_WAITING,
  SWEEP_TRYING,
  SWEEP_RIGHT,
  SWEEP_WRONG,
  SWEEP_REPORTED,   /* right, but the simulator reports something */
  SWEEP_NOT_VALID,  /* its program is not valid for the problems of verify */
  SWEEP_NO_COMPILE, /* a named constraint after all, or a compile error */
  SWEEP_FAILED,     /* no verdict: memory, a launch */
  SWEEP_CRASHED,
  SWEEP_TIMED_OUT,
  SWEEP_N_STATES
} sweep_state;
const char *sweep_state_word(sweep_state state);

typedef struct sweep_result { /* plain data: it lies in memory that processes share */
  sweep_state state;
  char where[160], reason[RGT_REASON_MAX]; /* of a failure */
  char family[RGT_NAME_MAX];
  int n_compiled, n_cached, n_ragged, n_ragged_not_valid, has_case, spilled, admitted;
  double error_share, seconds;
} sweep_result;

typedef struct sweep_try_options {
  uint64_t seed;
  int n_ragged;     /* problems of a row */
  int first_ragged; /* number of its first: the kind of group sizes */
} sweep_try_options;

/* sweep_try -- ctx's device is the row's target. Never fails: what goes wrong is in *result. */
void sweep_try(rgt_ctx *ctx, const sweep_row *row, const sweep_try_options *o, sweep_result *result);

#endif
