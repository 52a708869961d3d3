/* report.h -- what came of rows, in lines: failures as they come, each with the command that repeats it; then counts. */
#ifndef RGT_SWEEP_REPORT_H
#define RGT_SWEEP_REPORT_H

#include "try.h"

typedef struct sweep_count {
  int rows, state[SWEEP_N_STATES];
  int compiled, cached, ragged, ragged_not_valid, cases, spilled, not_admitted;
  double seconds;
} sweep_count;

void sweep_count_add(sweep_count *c, const sweep_result *r);
int sweep_count_failures(const sweep_count *c);
/* sweep_report_failure -- one line on stdout, and the command */
void sweep_report_failure(const sweep_row *row, const sweep_result *r, uint64_t seed, int n_ragged, int first_ragged);
/* sweep_report_families -- a table: each family with its rows */
typedef struct sweep_by_family {
  char name[RGT_NAME_MAX];
  sweep_count count;
} sweep_by_family;
enum { SWEEP_BY_FAMILY_MAX = 16 };
void sweep_report_add(sweep_by_family *table, const sweep_result *r);
void sweep_report_families(const sweep_by_family *table);

#endif
