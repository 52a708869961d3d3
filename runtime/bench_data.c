/* bench_data.c -- one problem on the device, ready to be called again and again. */
#include "runtime/bench_data.h"

#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"

/* All tensors lie in one block that begins at a page, each at a cache line: what conflicts between loads and stores there are
 * (they go by address modulo a page) is then ours to choose, and to vary. */
enum { PAGE = 4096, LINE = 64 };

static size_t round_up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

/* Adds up sizes at first; places, once there is memory. */
static rgt_status put(rgt__device *d, rgt__bench_data *b, const void *host, size_t bytes, const void **out, rgt__error *err) {
  char *p = b->placed ? b->placed + b->used : NULL;
  b->used += round_up(bytes + 1, LINE);
  *out = p;
  return p && host && bytes ? d->ops->mem_write(d, p, host, bytes, err) : RGT_OK;
}

static rgt_status page_aligned(rgt__device *d, size_t bytes, void **memory, void **aligned, rgt__error *err) {
  rgt_status status = d->ops->mem_alloc(d, bytes + 2 * PAGE, memory, err); /* one to begin at, one to move within */
  if (status == RGT_OK) *aligned = (void *)round_up((uintptr_t)*memory, PAGE);
  return status;
}

/* One tensor of `groups` blocks, stacked, or as an array of pointers into the stacked copy. */
static rgt_status put_groups(rgt__device *d, rgt__bench_data *b, const void *host, int64_t elems, int pointers,
                             const void **out, rgt__error *err) {
  size_t block = (size_t)elems * rgt__number_bytes(b->problem.op.dtype), groups = (size_t)b->problem.op.groups;
  const void *base = NULL;
  *out = NULL;
  if (!host) return RGT_OK;
  rgt_status status = put(d, b, host, block * groups, &base, err);
  *out = base;
  if (status != RGT_OK || !pointers) return status;
  if (!b->placed) return put(d, b, NULL, groups * sizeof base, out, err);
  const void **list = rgt__alloc_zero(groups, sizeof *list);
  if (!list) return rgt__error_nomem(err, groups * sizeof *list);
  for (size_t g = 0; g < groups; g++) list[g] = (const char *)base + g * block;
  status = put(d, b, list, groups * sizeof *list, out, err);
  rgt__free(list);
  return status;
}

static void fill_strides(const rgt_op_desc *op, rgt_kargs *k) {
  int64_t mid = op->kind == RGT_MLP ? op->n_hidden : op->n_out;
  k->ld_x = op->n_in;
  k->ld_y = op->n_out;
  k->ld_w1 = op->layout == RGT_NK ? op->n_in : mid;
  k->stride_w1 = op->n_in * mid;
  k->stride_b1 = mid;
  k->ld_w2 = op->layout == RGT_NK ? op->n_hidden : op->n_out;
  k->stride_w2 = op->n_hidden * op->n_out;
  k->stride_b2 = op->n_out;
  k->x_div = 1;
}

/* The index, or the offsets that say the same. */
static rgt_status put_index(rgt__device *d, rgt__bench_data *b, size_t rows, size_t element, rgt__error *err) {
  const rgt__problem *p = &b->problem;
  size_t bytes = ((size_t)p->op.groups + 1) * element;
  if (p->order != RGT_ORDER_OFFSETS) return put(d, b, p->index, rows * element, &b->k.index, err);
  if (!b->placed) return put(d, b, NULL, bytes, &b->k.index, err);
  void *offsets = rgt__alloc(bytes);
  if (!offsets) return rgt__error_nomem(err, bytes);
  rgt__problem_offsets(p, offsets);
  rgt_status status = put(d, b, offsets, bytes, &b->k.index, err);
  rgt__free(offsets);
  return status;
}

static rgt_status fill(rgt__device *d, const rgt__worker_task *task, rgt__bench_data *b, rgt__error *err) {
  const rgt_op_desc *op = &b->problem.op;
  rgt_kargs *k = &b->k;
  const rgt__problem *p = &b->problem;
  size_t elem = rgt__number_bytes(op->dtype), rows = (size_t)p->rows, index_elem = op->index_type == RGT_I64 ? 8 : 4;
  int pointers = task->form == RGT_POINTERS;
  int64_t mid = op->kind == RGT_MLP ? op->n_hidden : op->n_out;
  const void *errors = NULL, *y = NULL;
  static const rgt_int64 no_errors[2] = {0, INT64_MAX};
  fill_strides(op, k);
  k->order = p->order;
  k->rows = p->rows;
  k->groups = op->groups;
  k->flags = pointers ? (p->b1 ? RGT_KARGS_B1_POINTERS : 0) | (p->b2 ? RGT_KARGS_B2_POINTERS : 0) : 0;
  rgt_status status = put(d, b, p->x, rows * (size_t)op->n_in * elem, &k->x, err);
  if (status == RGT_OK) status = put_index(d, b, rows, index_elem, err);
  if (status == RGT_OK) status = put(d, b, NULL, rows * (size_t)op->n_out * elem, &y, err);
  if (status == RGT_OK) status = put(d, b, no_errors, sizeof no_errors, &errors, err);
  if (status == RGT_OK) status = put_groups(d, b, p->w1, op->n_in * mid, pointers, &k->w1, err);
  if (status == RGT_OK) status = put_groups(d, b, p->b1, mid, pointers, &k->b1, err);
  if (status == RGT_OK) status = put_groups(d, b, p->w2, op->n_hidden * op->n_out, pointers, &k->w2, err);
  if (status == RGT_OK) status = put_groups(d, b, p->b2, op->n_out, pointers, &k->b2, err);
  if (status != RGT_OK) return status;
  k->y = (void *)(uintptr_t)y;
  k->n_index_errors = (rgt_int64 *)(uintptr_t)errors;
  k->first_index_error = k->n_index_errors + 1;
  return RGT_OK;
}

rgt_status rgt__bench_data_open(rgt__device *d, const rgt__worker_task *task, rgt__bench_data *out, rgt__error *err) {
  rgt__bench_data b;
  memset(&b, 0, sizeof b);
  rgt__problem_options o = {.kind = RGT_PROBLEM_BENCH,
                            .rows = task->rows,
                            .skew = task->skew,
                            .form = task->form,
                            .order = task->order,
                            .seed = task->seed,
                            .index = task->index};
  rgt_status status = rgt__problem_make(&task->op, &o, &b.problem, err);
  void *placed = NULL;
  if (status == RGT_OK) status = fill(d, task, &b, err); /* sizes */
  if (status == RGT_OK) status = page_aligned(d, b.used, &b.memory, &placed, err);
  b.placed = placed;
  b.used = 0;
  if (status == RGT_OK) status = fill(d, task, &b, err);
  if (status != RGT_OK) {
    rgt__bench_data_close(d, &b);
    return status;
  }
  *out = b;
  return RGT_OK;
}

rgt_status rgt__bench_data_place(rgt__device *d, const rgt__worker_task *task, rgt__bench_data *b, size_t offset,
                                 rgt__error *err) {
  if (b->used > RGT_BENCH_DATA_MOVABLE) return RGT_OK;
  b->placed = (char *)round_up((uintptr_t)b->memory, PAGE) + offset % PAGE / LINE * LINE;
  b->used = 0;
  return fill(d, task, b, err);
}

rgt_status rgt__bench_data_workspace(rgt__device *d, rgt__bench_data *b, int64_t bytes, rgt__error *err) {
  void *memory = NULL, *p = NULL;
  if (bytes <= b->workspace_bytes) return RGT_OK;
  void *fill_bytes = rgt__alloc_zero(1, (size_t)bytes);
  if (!fill_bytes) return rgt__error_nomem(err, (size_t)bytes);
  rgt_status status = page_aligned(d, (size_t)bytes, &memory, &p, err);
  if (status == RGT_OK) status = d->ops->mem_write(d, p, fill_bytes, (size_t)bytes, err);
  rgt__free(fill_bytes);
  if (status != RGT_OK) {
    d->ops->mem_free(d, memory);
    return status;
  }
  d->ops->mem_free(d, b->workspace_memory);
  b->workspace_memory = memory;
  b->workspace = p;
  b->workspace_bytes = bytes;
  return RGT_OK;
}

void rgt__bench_data_close(rgt__device *d, rgt__bench_data *b) {
  d->ops->mem_free(d, b->memory);
  d->ops->mem_free(d, b->workspace_memory);
  rgt__problem_free(&b->problem);
  memset(b, 0, sizeof *b);
}
