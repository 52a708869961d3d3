/* bundle.h -- code that was compiled elsewhere, in a folder that `ragtune compile -o` wrote: what dispatch asks it.
 *
 * The folder is looked at when dispatch first asks. One that cannot be used (not there, damaged, of a newer version, for other
 * processors) costs one warning, and everything goes on as without it. All of it belongs to the context's own thread.
 */
#ifndef RGT_RUNTIME_BUNDLE_H
#define RGT_RUNTIME_BUNDLE_H

#include "runtime/candidate.h"
#include "runtime/context.h"
#include "runtime/prepare.h"

void rgt__bundle_close(rgt__bundle *b); /* NULL is allowed */

/* rgt__bundle_choose -- which variant the bundle knows as the winner for `rows` rows: of this op, else of the same op with
 * another number of groups; the smallest bucket that holds the rows, else the largest; a batch-invariant op takes one variant,
 * that of the largest. Under the op's limits, and only families of this revision. RGT_OK, RGT_EMISS, RGT_ENOMEM. */
rgt_status rgt__bundle_choose(rgt_op *op, int64_t rows, rgt__choice *out);
/* rgt__bundle_load -- the variant's code into the context's device: of the device's own target; where no compiler is, of a
 * lesser one too. Where one is, code that was not verified when the bundle was made is left alone. RGT_OK (out->program and
 * out->module are set), RGT_EMISS (a warning says why if there was code), RGT_ENOMEM. */
rgt_status rgt__bundle_load(rgt_op *op, const rgt__variant *v, rgt__ready *out);
/* rgt__bundle_has -- 1 if load would look at code for this variant. */
int rgt__bundle_has(rgt_op *op, const rgt__variant *v);

#endif
