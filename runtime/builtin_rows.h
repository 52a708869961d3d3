/* builtin_rows.h -- the built-in kernel's loop over rows, compiled once for each set of CPU features and storage type. */
#ifndef RGT_RUNTIME_BUILTIN_ROWS_H
#define RGT_RUNTIME_BUILTIN_ROWS_H

#include "runtime/builtin.h"

/* What rgt__builtin_run is given, as plain numbers: what the generator makes constants of. */
typedef struct rgt__builtin_call {
  int64_t n_in, n_hidden, n_out;
  int mlp, act, layout_kn, index_bits, pointers, order; /* act: rgt_act; pointers: the weights' form; order: rgt_order */
  int bias1, bias2;
  const rgt_kargs *k;
  float *hidden; /* n_hidden floats */
} rgt__builtin_call;

/* Rows [first, last). Only where the processor has the features; rgt__builtin_run chooses. */
typedef void rgt__builtin_rows(const rgt__builtin_call *c, int64_t first, int64_t last);
rgt__builtin_rows rgt__builtin_rows_plain_f32, rgt__builtin_rows_plain_f16, rgt__builtin_rows_plain_bf16;
rgt__builtin_rows rgt__builtin_rows_avx2_f32, rgt__builtin_rows_avx2_f16, rgt__builtin_rows_avx2_bf16;
rgt__builtin_rows rgt__builtin_rows_avx512_f32, rgt__builtin_rows_avx512_f16, rgt__builtin_rows_avx512_bf16;

#endif
