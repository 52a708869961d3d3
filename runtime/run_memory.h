/* run_memory.h -- what the addresses of a call may not be: y lies on no input, and the promised alignment holds. */
#ifndef RGT_RUNTIME_RUN_MEMORY_H
#define RGT_RUNTIME_RUN_MEMORY_H

#include "runtime/context.h"

/* rgt__run_memory_check -- RGT_EINVAL with what lies on what, or which address or stride breaks align_bytes. Slow and exact. */
rgt_status rgt__run_memory_check(rgt_op *op, const rgt_kargs *k);

static inline int rgt__run_memory_meet(uintptr_t a, uintptr_t a_bytes, uintptr_t b, uintptr_t b_bytes) {
  return (a < b + b_bytes) & (b < a + a_bytes);
}

/* n parts of `step` elements from a on, against [y, y_end). A call's arrays lie in one order each time, so that the branch is
 * foreseen. */
static inline int rgt__run_memory_is_below(const void *a, rgt_int64 step, rgt_int64 n, uintptr_t y, uintptr_t y_end,
                                           int shift) {
  if ((uintptr_t)a >= y) return (uintptr_t)a < y_end;
  uintptr_t elems;
  return __builtin_mul_overflow((uintptr_t)step, (uintptr_t)n, &elems) || (y - (uintptr_t)a) >> shift < elems;
}

static inline rgt_int64 rgt__run_memory_x_rows(const rgt_kargs *k) {
  return __builtin_expect(k->x_div == 1, 1) ? k->rows : (k->rows - 1) / k->x_div + 1;
}

/* rgt__run_memory_is_suspect -- a few compares for every call: 0 where nothing can be wrong, else the slow check decides.
 * Everything is taken with its padding; an input above y is clear of it, one below it must end before. */
static inline int rgt__run_memory_is_suspect(const rgt_op *op, const rgt_kargs *k) {
  const int shift = op->elem_shift;
  const uintptr_t y = (uintptr_t)k->y, y_end = y + ((uintptr_t)(k->rows * k->ld_y) << shift);
  const void *b1 = k->flags & RGT_KARGS_B1_POINTERS ? NULL : k->b1, *b2 = k->flags & RGT_KARGS_B2_POINTERS ? NULL : k->b2;
  rgt_int64 strides = k->ld_x | k->ld_y | k->ld_w1 | k->ld_w2;
  uintptr_t bits = (uintptr_t)k->x | y;
  if (rgt__run_memory_is_below(k->x, k->ld_x, rgt__run_memory_x_rows(k), y, y_end, shift) ||
      rgt__run_memory_is_below(k->index, 1, op->comes_by_offsets ? k->groups + 1 : k->rows, y, y_end, op->index_shift))
    return 1;
  if (b1) {
    if (rgt__run_memory_is_below(b1, k->stride_b1, k->groups, y, y_end, shift)) return 1;
    bits |= (uintptr_t)b1;
    strides |= k->stride_b1;
  }
  if (b2) {
    if (rgt__run_memory_is_below(b2, k->stride_b2, k->groups, y, y_end, shift)) return 1;
    bits |= (uintptr_t)b2;
    strides |= k->stride_b2;
  }
  if (!op->uses_pointers) {
    if (rgt__run_memory_is_below(k->w1, k->stride_w1, k->groups, y, y_end, shift)) return 1;
    if (k->w2 && rgt__run_memory_is_below(k->w2, k->stride_w2, k->groups, y, y_end, shift)) return 1;
    bits |= (uintptr_t)k->w1 | (uintptr_t)k->w2;
    strides |= k->stride_w1 | k->stride_w2;
  }
  bits |= (uintptr_t)strides << shift;
  return (bits & (uintptr_t)(op->options.align_bytes - 1)) != 0;
}

#endif
