/* builtin.c -- the kernel that needs no compiler: picks the compiled loop for a target. */
#include "runtime/builtin.h"

#include <string.h>

#include "runtime/builtin_rows.h"

int rgt__builtin_supports(const rgt_op_desc *op) {
  return (unsigned)op->dtype <= RGT_BF16;
}

static rgt__builtin_rows *rows_for(const char *cpu, rgt_dtype dtype) {
  static rgt__builtin_rows *const plain[] = {rgt__builtin_rows_plain_f32, rgt__builtin_rows_plain_f16,
                                             rgt__builtin_rows_plain_bf16};
#ifdef __x86_64__
  static rgt__builtin_rows *const avx2[] = {rgt__builtin_rows_avx2_f32, rgt__builtin_rows_avx2_f16,
                                            rgt__builtin_rows_avx2_bf16};
  static rgt__builtin_rows *const avx512[] = {rgt__builtin_rows_avx512_f32, rgt__builtin_rows_avx512_f16,
                                              rgt__builtin_rows_avx512_bf16};
  if (strcmp(cpu, "x86-64-avx512") == 0) return avx512[dtype];
  if (strcmp(cpu, "x86-64-avx2") == 0) return avx2[dtype];
#endif
  (void)cpu;
  return plain[dtype];
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
      .order = (int)k->order,
      .bias1 = (op->bias & RGT_BIAS_1) != 0,
      .bias2 = (op->bias & RGT_BIAS_2) != 0,
      .k = k,
      .hidden = hidden,
  };
  rows_for(cpu, op->dtype)(&call, first, first + n);
}
