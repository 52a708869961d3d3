/* plain_loop.h -- what people write first: for each row, a plain loop over its group's weights. The yardstick that results are
 * compared with; never dispatched to. */
#ifndef RGT_RUNTIME_PLAIN_LOOP_H
#define RGT_RUNTIME_PLAIN_LOOP_H

#include "generator/op.h"
#include "templates/lib/kargs.h"

/* rgt__plain_loop -- f32, stacked weights, dims at run time; hidden: op->n_hidden floats. */
void rgt__plain_loop(const rgt_op_desc *op, const rgt_kargs *k, float *hidden);

#endif
