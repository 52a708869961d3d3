/* tune_report.h -- what `ragtune tune` found, for people and as JSON. */
#ifndef RGT_CLI_TUNE_REPORT_H
#define RGT_CLI_TUNE_REPORT_H

#include "json_out.h"

typedef struct rgt__tune_report {
  const char *op, *device_class, *toolchain, *database;
  const char *skew; /* of one search of a config; NULL: not said */
  int at, of;       /* search `at` (from 1) of a config's; of 0: the only one */
  int out_from_in, quiet, interrupted, stored;
  const rgt_tune_result *results;
  int n;
} rgt__tune_report;

/* buckets, by how they ended; all zero to begin with */
typedef struct rgt__tune_counts {
  int64_t tuned, hits, infeasible, skipped, interrupted;
} rgt__tune_counts;

void rgt__tune_report_place(const rgt__tune_report *r); /* device, toolchain */
void rgt__tune_report_head(const rgt__tune_report *r);  /* op, and the place unless it is one of many */
/* rgt__tune_report_text -- the table and the counts; where it is stored is said of the only search. RGT_ENOMEM. */
rgt_status rgt__tune_report_text(const rgt__tune_report *r, rgt__message *m);
void rgt__tune_report_stored(const rgt__tune_report *r); /* where to */
rgt_status rgt__tune_report_json(const rgt__tune_report *r, rgt__message *m);
/* rgt__tune_report_results -- the buckets as an array under "results" of object. */
void rgt__tune_report_results(const rgt__tune_report *r, json_t *object);

/* rgt__tune_report_count -- adds the buckets of r to c. */
void rgt__tune_report_count(const rgt__tune_report *r, rgt__tune_counts *c);
/* rgt__tune_report_answer -- the exit status: yes if some bucket has a winner and none was found infeasible. */
int rgt__tune_report_answer(const rgt__tune_counts *c);

#endif
