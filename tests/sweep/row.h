/* row.h -- one row of the sweep: a variant, for an op, on a target, called in one way; and its text, which repeats it. */
#ifndef RGT_SWEEP_ROW_H
#define RGT_SWEEP_ROW_H

#include "generator/op.h"

enum { SWEEP_ROW_MAX = 640, SWEEP_CASE_MAX = 48 };

typedef struct sweep_row {
  char target[16]; /* "sm_90" */
  rgt_op_desc op;
  char variant[RGT_VARIANT_TEXT_MAX];
  rgt_weight_form form;
  rgt_order order;
  int align_bytes; /* promised; 0: the element's size */
  int x_div;
  rgt_y_mode y_mode;
  char case_name[SWEEP_CASE_MAX]; /* a folder of tests/cases; "": generated data alone */
} sweep_row;

/* Text form: "sm_90 mlp:10-20-5:g3:f32:relu:b12:nk:i64 row_gather:... stacked raw a0 x1 set -", nine words; the last one is the
 * case, or "-". */
void sweep_row_format(const sweep_row *row, char text[SWEEP_ROW_MAX]);
rgt_status sweep_row_parse(const char *text, sweep_row *row, rgt__error *err); /* RGT_EINVAL names the word */

/* sweep_row_seed -- what all that is drawn for a row hangs on: the sweep's seed and the row's text. */
uint64_t sweep_row_seed(const sweep_row *row, uint64_t seed);

/* A list of rows that grows. */
typedef struct sweep_rows {
  sweep_row *row; /* owned */
  int n, capacity;
} sweep_rows;
rgt_status sweep_rows_add(sweep_rows *list, const sweep_row *row, rgt__error *err);
void sweep_rows_free(sweep_rows *list);
/* a file of rows, one a line; lines that begin with '#' are remarks */
rgt_status sweep_rows_read(const char *path, sweep_rows *list, rgt__error *err);
rgt_status sweep_rows_write(const char *path, const char *remark, const sweep_rows *list, rgt__error *err);

#endif
