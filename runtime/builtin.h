/* builtin.h -- the CPU kernel that needs no compiler: any op, dims at run time, the bits of the default variant. */
#ifndef RGT_RUNTIME_BUILTIN_H
#define RGT_RUNTIME_BUILTIN_H

#include "generator/op.h"
#include "templates/lib/kargs.h"

/* rgt__builtin_supports -- every op in every storage type. */
int rgt__builtin_supports(const rgt_op_desc *op);
/* rgt__builtin_run -- rows [first, first + n) of the call, in k->order. cpu: a target name ("plain", "x86-64-avx2", "x86-64-avx512").
 * hidden: scratch of op->n_hidden floats for the MLP. Bits do not depend on how rows are split. Threads: any. */
void rgt__builtin_run(const rgt_op_desc *op, rgt_weight_form form, const char *cpu, const rgt_kargs *k, int64_t first,
                      int64_t n, float *hidden);

#endif
