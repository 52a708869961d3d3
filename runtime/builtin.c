/* builtin.c -- the kernel that needs no compiler: picks the compiled loop for a target. */
#include "runtime/builtin.h"

#include <string.h>

#include "runtime/builtin_rows.h"

int rgt__builtin_supports(const rgt_op_desc *op) {
  return op->dtype == RGT_F32;
}

void rgt__builtin_run(const rgt_op_desc *op, rgt_weight_form form, const char *cpu, const rgt_kargs *k, int64_t first,
                      int64_t n, float *hidden) {
  const rgt__builtin_call call = {
      .n_in = op->n_in,
      .n_hidden = op->n_hidden,
      .n_out = op->n_out,
      .mlp = op->kind == RGT_MLP,
      .act = (int)op->act,
      .layout_kn = op->layout == RGT_KN,
      .index_bits = op->index_type == RGT_I64 ? 64 : 32,
      .pointers = form == RGT_POINTERS,
      .bias1 = (op->bias & RGT_BIAS_1) != 0,
      .bias2 = (op->bias & RGT_BIAS_2) != 0,
      .k = k,
      .hidden = hidden,
  };
#ifdef __x86_64__
  if (strcmp(cpu, "x86-64-avx512") == 0) {
    rgt__builtin_rows_avx512(&call, first, first + n);
    return;
  }
  if (strcmp(cpu, "x86-64-avx2") == 0) {
    rgt__builtin_rows_avx2(&call, first, first + n);
    return;
  }
#endif
  rgt__builtin_rows_plain(&call, first, first + n);
}
