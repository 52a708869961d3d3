/* tune_report.h -- what `ragtune tune` found, for people and as JSON. */
#ifndef RGT_CLI_TUNE_REPORT_H
#define RGT_CLI_TUNE_REPORT_H

#include "json_out.h"

typedef struct rgt__tune_report {
  const char *op, *device_class, *toolchain, *database;
  int out_from_in, quiet, interrupted, stored;
  const rgt_tune_result *results;
  int n;
} rgt__tune_report;

void rgt__tune_report_head(const rgt__tune_report *r); /* op, device, toolchain */
rgt_status rgt__tune_report_text(const rgt__tune_report *r, rgt__message *m);
rgt_status rgt__tune_report_json(const rgt__tune_report *r, rgt__message *m);

#endif
