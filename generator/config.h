/* config.h -- a config file of `ragtune tune --config`: what to tune, lists multiplied out.
 *
 *     return { ops = { "mlp:10-20-5:g3:f32:relu:b12:nk:i64", { n_in = { 64, 128 }, n_hidden = 256, groups = { 8, 64 } } },
 *              rows = { 8, 64 }, skew = { "uniform", "zipf" }, device = "auto", budget_s = 600 }
 *
 * An op is a text, or a table of values and lists of values: n_in, n_hidden, n_out, groups, dtype, act, bias, layout,
 * index_type. With n_hidden it is an MLP, and n_out, where it is absent, is n_in; without it is a linear layer. The rest
 * defaults to f32, relu (none for a linear layer), every bias, nk, i64. Only ops is required. */
#ifndef RGT_GENERATOR_CONFIG_H
#define RGT_GENERATOR_CONFIG_H

#include "runtime/base/error.h"

#define RGT_CONFIG_OPS_MAX 10000
#define RGT_CONFIG_ROWS_MAX 64
#define RGT_CONFIG_SKEWS_MAX 3

typedef struct rgt__config {
  int n_ops;
  rgt_op_desc *ops; /* owned; in the file's order, the last field turning fastest; each op once */
  int n_rows;       /* 0: not given */
  int64_t rows[RGT_CONFIG_ROWS_MAX];
  int n_skews; /* 0: not given */
  rgt_skew skews[RGT_CONFIG_SKEWS_MAX];
  char device[32]; /* "auto" if not given */
  double budget_s; /* 0: not given */
} rgt__config;

/* rgt__config_read -- text is the file, name names it in messages. RGT_ETEMPLATE "name:line: ...", RGT_ENOMEM. */
rgt_status rgt__config_read(const char *text, const char *name, rgt__config *out, rgt__error *err);
void rgt__config_free(rgt__config *config);

#endif
