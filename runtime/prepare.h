/* prepare.h -- from what is stored to code that is loaded: which variant runs for which bucket. */
#ifndef RGT_RUNTIME_PREPARE_H
#define RGT_RUNTIME_PREPARE_H

#include "runtime/context.h"

/* One answer of the lookup: which variant, and where it comes from. */
typedef struct rgt__choice {
  rgt_layer_kind from;
  rgt__tunedb_winner found; /* of RGT_FROM_USER_DB and RGT_FROM_MEMORY */
  int64_t bucket;           /* the tuned bucket that answers */
  int use_runner_up;        /* the winner could not be used; its runner-up is */
} rgt__choice;

/* rgt__prepare_choose -- exact, else nearest, else default, for calls of `rows` rows, under the op's limits and numeric class
 * (NULL: any). Never fails for want of data; RGT_EDB and RGT_ENOMEM. */
rgt_status rgt__prepare_choose(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out);
/* rgt__prepare_class -- the numeric class to which a batch-invariant op keeps all its buckets: the one with the smallest
 * product of ratios over the tuned buckets; "" when nothing is stored. */
rgt_status rgt__prepare_class(rgt_op *op, char *name, size_t size);
/* rgt__prepare_default -- the default variant of the op on a device's kind. RGT_ETEMPLATE when no family fits. */
rgt_status rgt__prepare_default(rgt_op *op, const char *device, rgt__variant *out);
/* Loads, into *out (zeroed by the caller): a stored standing by the cache's map alone where that leads to code, else compiled;
 * a variant compiled and, unless its code is the `known` one (NULL: none), verified; the default. RGT_EMISS (another revision
 * is here), RGT_EWRONG, RGT_ECOMPILE, RGT_EINFEASIBLE, RGT_EINVAL: not to be used; RGT_ENOCOMPILER, RGT_ETEMPLATE, RGT_ENOMEM,
 * RGT_EIO. */
rgt_status rgt__prepare_load_standing(rgt_op *op, const rgt__tunedb_standing *s, rgt__ready *out);
rgt_status rgt__prepare_load_compiled(rgt_op *op, const rgt__variant *v, const rgt__digest *known, rgt__ready *out);
rgt_status rgt__prepare_load_default(rgt_op *op, rgt__ready *out);
/* rgt__prepare_reset -- unloads everything; the op is as before prepare. */
void rgt__prepare_reset(rgt_op *op);
/* rgt__prepare_check_layer -- fields of a layer against the op: form, leading dimension, stride, bias. number: 1 or 2.
 * RGT_EINVAL. */
rgt_status rgt__prepare_check_layer(const rgt_op *op, const rgt_layer *layer, int number);

#endif
