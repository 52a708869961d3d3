/* op_args.h -- the op that the options spell out. */
#ifndef RGT_CLI_OP_ARGS_H
#define RGT_CLI_OP_ARGS_H

#include "options.h"

/* rgt__op_args_given -- 1 if the options name an op (--op, or anything of --in ... but --dtype alone, which a case takes too).
 */
int rgt__op_args_given(const rgt__options *o);
/* rgt__op_args_first -- the first option that says something of an op, --dtype too; NULL if there is none. */
const char *rgt__op_args_first(const rgt__options *o);
/* rgt__op_args_make -- the op: --op by the library (ctx gives its message), else from --in and the others with the defaults.
 * *out_from_in is set where --out was left out. RGT_EINVAL. */
rgt_status rgt__op_args_make(const rgt__options *o, rgt_ctx *ctx, rgt_op_desc *desc, int *out_from_in, rgt__message *m);
/* rgt__op_args_handle -- what the options say about the handle: skew, weights, alignment, order, error. */
rgt_op_options rgt__op_args_handle(const rgt__options *o);

#endif
