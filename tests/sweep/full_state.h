/* full_state.h -- what a full sweep has found so far, in a file that the next one goes on with.
 *
 * A line for each row tried: its source's digest, the outcome, the row. A source that is tried again, or a line that is torn,
 * counts by its last whole line. */
#ifndef RGT_SWEEP_FULL_STATE_H
#define RGT_SWEEP_FULL_STATE_H

#include <stdio.h>

#include "full_rows.h"
#include "try.h"

typedef struct sweep_known {
  char digest[SWEEP_DIGEST_SIZE];
  sweep_state state;
  int line;
} sweep_known;

typedef struct sweep_full_state {
  sweep_known *known; /* owned; sorted by digest once read */
  int n, capacity;
  FILE *file; /* appended to */
} sweep_full_state;

rgt_status sweep_full_state_open(const char *path, sweep_full_state *s, rgt__error *err); /* RGT_EIO, RGT_ENOMEM */
void sweep_full_state_close(sweep_full_state *s);
sweep_state sweep_full_state_find(const sweep_full_state *s, const char *digest); /* SWEEP_WAITING: not known */
rgt_status sweep_full_state_add(sweep_full_state *s, const char *digest, const sweep_row *row, const sweep_result *r,
                                rgt__error *err);

#endif
