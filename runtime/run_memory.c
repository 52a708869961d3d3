/* run_memory.c -- the exact form of the address checks, for calls that the quick one suspects. */
#include "runtime/run_memory.h"

#include <stdio.h>

typedef struct named_array {
  const char *name, *step_name; /* step_name: of what lies between rows or groups; "" where it is no promise */
  const void *base;
  int64_t step, n; /* elements between n parts */
  int64_t last;    /* elements of the last part */
  int64_t bytes;   /* of an element */
} named_array;

/* From the first element to the end of the last; 0 where it passes the address space, of which nothing can be said. */
static uintptr_t extent(const named_array *a) {
  uintptr_t bytes;
  if (!a->base || a->n < 1) return 0;
  if (__builtin_mul_overflow((uintptr_t)a->step, (uintptr_t)(a->n - 1), &bytes) ||
      __builtin_add_overflow(bytes, (uintptr_t)a->last, &bytes) || __builtin_mul_overflow(bytes, (uintptr_t)a->bytes, &bytes) ||
      (uintptr_t)a->base + bytes < (uintptr_t)a->base)
    return 0;
  return bytes;
}

/* Columns of one matrix: rows of both at the same distance, and each clear of the other's. */
static int interleave(const named_array *a, const named_array *b) {
  int64_t step = a->step * a->bytes;
  if (step != b->step * b->bytes || step == 0) return 0;
  int64_t off = (int64_t)(((uintptr_t)b->base - (uintptr_t)a->base) % (uintptr_t)step);
  if ((uintptr_t)b->base < (uintptr_t)a->base) {
    off = (int64_t)(((uintptr_t)a->base - (uintptr_t)b->base) % (uintptr_t)step);
    off = off ? step - off : 0;
  }
  return off >= a->last * a->bytes && off + b->last * b->bytes <= step;
}

static rgt_status check_align(rgt_op *op, const named_array *a) {
  int64_t align = op->options.align_bytes;
  if (!a->base || !a->step_name[0]) return RGT_OK;
  if ((uintptr_t)a->base % (uintptr_t)align)
    return rgt__error_set(&op->ctx->error, RGT_EINVAL,
                          "%s is at %p, which is no multiple of %d bytes; align_bytes of the op promises that", a->name,
                          a->base, op->options.align_bytes);
  if (a->n > 1 && a->step * a->bytes % align)
    return rgt__error_set(&op->ctx->error, RGT_EINVAL,
                          "%s is %lld elements of %d bytes, no multiple of %d bytes; align_bytes of the op promises that",
                          a->step_name, (long long)a->step, (int)a->bytes, op->options.align_bytes);
  return RGT_OK;
}

rgt_status rgt__run_memory_check(rgt_op *op, const rgt_kargs *k) {
  const rgt_op_desc *d = &op->desc;
  int64_t mid = d->kind == RGT_MLP ? d->n_hidden : d->n_out, elem = 1 << op->elem_shift;
  int stacked = !op->uses_pointers, b1 = !(k->flags & RGT_KARGS_B1_POINTERS), b2 = !(k->flags & RGT_KARGS_B2_POINTERS);
  const named_array y = {"y", "ld_y", k->y, k->ld_y, k->rows, d->n_out, elem};
  const named_array inputs[] = {
      {"x", "ld_x", k->x, k->ld_x, rgt__run_memory_x_rows(k), d->n_in, elem},
      {op->comes_by_offsets ? "offsets" : "index", "", k->index, 1, op->comes_by_offsets ? k->groups + 1 : k->rows, 1,
       1 << op->index_shift},
      {"layer1.w", "stride_w of layer1", stacked ? k->w1 : NULL, k->stride_w1, k->groups,
       k->ld_w1 * (op->packed_w1_stride - 1) + op->packed_w1_ld, elem},
      {"layer1.b", "stride_b of layer1", b1 ? k->b1 : NULL, k->stride_b1, k->groups, mid, elem},
      {"layer2.w", "stride_w of layer2", stacked ? k->w2 : NULL, k->stride_w2, k->groups,
       d->kind == RGT_MLP ? k->ld_w2 * (op->packed_w2_stride - 1) + op->packed_w2_ld : 0, elem},
      {"layer2.b", "stride_b of layer2", b2 ? k->b2 : NULL, k->stride_b2, k->groups, d->n_out, elem},
  };
  const named_array lds[] = {{"layer1.w", "ld_w of layer1", stacked ? k->w1 : NULL, k->ld_w1, 2, 0, elem},
                             {"layer2.w", "ld_w of layer2", stacked ? k->w2 : NULL, k->ld_w2, 2, 0, elem}};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    uintptr_t bytes = extent(&inputs[i]), y_bytes = extent(&y);
    if (bytes && y_bytes && rgt__run_memory_meet((uintptr_t)inputs[i].base, bytes, (uintptr_t)y.base, y_bytes) &&
        !interleave(&inputs[i], &y))
      return rgt__error_set(&op->ctx->error, RGT_EINVAL,
                            "y (%p, %zu bytes) lies on %s (%p, %zu bytes); it can be memory of its own", y.base,
                            (size_t)y_bytes, inputs[i].name, inputs[i].base, (size_t)bytes);
  }
  rgt_status status = check_align(op, &y);
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs && status == RGT_OK; i++) status = check_align(op, &inputs[i]);
  for (size_t i = 0; i < sizeof lds / sizeof *lds && status == RGT_OK; i++) status = check_align(op, &lds[i]);
  return status;
}
