/* crew.h -- rows tried in a child process, which a kernel may bring down: it is then started again behind the row that did. */
#ifndef RGT_SWEEP_CREW_H
#define RGT_SWEEP_CREW_H

#include "try.h"

typedef struct sweep_crew {
  const sweep_rows *rows;
  const int *order; /* [n] rows to try, those of one target together */
  int n;
  uint64_t seed;
  int n_ragged, first_ragged; /* problems of a row; number of the first row's first */
  int limit_s;                /* of a row, in seconds; then it is timed out */
  double budget_s;            /* of all; 0: no limit. What is left then stays waiting */
  int stop_at_first;          /* failure */
  const char *libcuda;        /* the simulator */
  /* told in the parent, as each row ends; non-zero stops */
  int (*done)(void *user, const sweep_row *row, const sweep_result *result);
  void *user;
} sweep_crew;

int sweep_state_fails(sweep_state state);
/* sweep_crew_run -- results: [n], in the order of `order`. RGT_EIO: no process, no shared memory. RGT_ENOCOMPILER: NVRTC is not
 * here. */
rgt_status sweep_crew_run(const sweep_crew *crew, sweep_result *results, rgt__error *err);

#endif
