/* run.c -- rgt_op_run: the hot path. Nothing here allocates after prepare, starts a compiler or asks the database.
 *
 * A call is: check what could make a wild access, fill in kargs, take the variant of the rows' bucket, launch its steps. The
 * program's formulas are evaluated only when rows or groups differ from the call before.
 */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/builtin.h"
#include "runtime/prepare.h"
#include "runtime/run_memory.h"
#include "runtime/thread_pool.h"

#define LIKELY(c) __builtin_expect(!!(c), 1)

static rgt_status bad(rgt_op *op, const char *what, int64_t value, const char *right) {
  return rgt__error_set(&op->ctx->error, RGT_EINVAL, "%s is %lld; it can be %s", what, (long long)value, right);
}

/* Offsets stay below 2^62 bytes, so that none of them wraps: n rows or groups, `step` elements apart. */
static int too_far(int64_t step, int64_t n) {
  return n > 0 && step > ((int64_t)1 << 60) / n;
}

static rgt_status check_reach(rgt_op *op, const rgt_args *a) {
  int64_t groups = a->groups ? a->groups : a->weights ? a->weights->groups : op->desc.groups;
  const rgt_layer *layers[2] = {a->weights ? &a->weights->layer1 : &a->layer1, a->weights ? &a->weights->layer2 : &a->layer2};
  const char *right = "so small that offsets stay below 2^60 elements";
  if (too_far(a->ld_x, a->rows)) return bad(op, "ld_x", a->ld_x, right);
  if (too_far(a->ld_y, a->rows)) return bad(op, "ld_y", a->ld_y, right);
  for (int i = 0; i < (op->desc.kind == RGT_MLP ? 2 : 1); i++) {
    if (too_far(layers[i]->stride_w, groups)) return bad(op, "stride_w", layers[i]->stride_w, right);
    if (too_far(layers[i]->stride_b, groups)) return bad(op, "stride_b", layers[i]->stride_b, right);
  }
  return RGT_OK;
}

/* What of a call's form is wrong: how rows come and go, and the reserved fields. */
static rgt_status wrong_form(rgt_op *op, const rgt_args *a) {
  rgt__error *err = &op->ctx->error;
  if (a->x_div < 0 || a->x_div > RGT_COUNT_MAX)
    return bad(op, "x_div", a->x_div, "0 or 1 (every row has its own x) to 2147483647");
  if ((unsigned)a->y_mode > RGT_Y_ADD)
    return rgt__error_set(err, RGT_EINVAL, "y_mode is %d; it can be %d (RGT_Y_SET) or %d (RGT_Y_ADD)", (int)a->y_mode,
                          (int)RGT_Y_SET, (int)RGT_Y_ADD);
  if (a->order != op->options.order)
    return rgt__error_set(err, RGT_EINVAL, "order is %d; the op was made with %d (%s)", (int)a->order, (int)op->options.order,
                          rgt__op_order_word(op->options.order));
  if (a->offsets && a->order != RGT_ORDER_OFFSETS)
    return rgt__error_set(err, RGT_EINVAL, "offsets is %p and the op's order %s; it can be NULL, or the op made with offsets",
                          a->offsets, rgt__op_order_word(a->order));
  if (a->row_scale) return rgt__error_set(err, RGT_EUNSUPPORTED, "row_scale is %p; this version takes NULL", a->row_scale);
  const rgt_layer *l = &a->layer3;
  return rgt__error_set(err, RGT_EUNSUPPORTED, "layer3.%s is set; this version takes all of layer3 zero",
                        l->w        ? "w"
                        : l->w_ptrs ? "w_ptrs"
                        : l->b      ? "b"
                                    : "b_ptrs");
}

/* What says which group a row is of. */
static const void *rows_come_by(const rgt_op *op, const rgt_args *a) {
  return op->comes_by_offsets ? a->offsets : a->index;
}

static rgt_status check_args(rgt_op *op, const rgt_args *a) {
  const rgt_op_desc *d = &op->desc;
  if (!a) return rgt__error_null(&op->ctx->error, "args");
  if (a->struct_size != sizeof *a)
    return rgt__error_set(&op->ctx->error, RGT_EINVAL, "rgt_args.struct_size is %zu; this library's is %zu", a->struct_size,
                          sizeof *a);
  if (a->rows < 0 || a->rows > RGT_COUNT_MAX) return bad(op, "rows", a->rows, "0 to 2147483647");
  if (a->rows == 0) return RGT_OK;
  if (a->groups < 0 || a->groups > RGT_COUNT_MAX) return bad(op, "groups", a->groups, "0 (the op's) to 2147483647");
  if (!a->x || !rows_come_by(op, a) || !a->y)
    return rgt__error_set(&op->ctx->error, RGT_EINVAL, "%s is NULL with %lld rows",
                          !a->x                  ? "x"
                          : rows_come_by(op, a)  ? "y"
                          : op->comes_by_offsets ? "offsets"
                                                 : "index",
                          (long long)a->rows);
  if (a->ld_x != 0 && a->ld_x < d->n_in) return bad(op, "ld_x", a->ld_x, "0 (packed), or n_in and more");
  if (a->ld_y != 0 && a->ld_y < d->n_out) return bad(op, "ld_y", a->ld_y, "0 (packed), or n_out and more");
  if ((uint64_t)a->x_div > RGT_COUNT_MAX || (unsigned)a->y_mode > RGT_Y_ADD || a->order != op->options.order ||
      (a->offsets && !op->comes_by_offsets) || a->row_scale || a->layer3.w || a->layer3.w_ptrs || a->layer3.b ||
      a->layer3.b_ptrs)
    return wrong_form(op, a);
  if (a->weights && a->weights->op != op)
    return rgt__error_set(&op->ctx->error, RGT_EINVAL,
                          "weights belong to another op; make them with rgt_weights_new(this op, ...)");
  rgt_status reach = check_reach(op, a);
  if (reach != RGT_OK) return reach;
  if (a->weights) return a->groups > a->weights->groups ? bad(op, "groups", a->groups, "no more than the weights'") : RGT_OK;
  rgt_status status = rgt__prepare_check_layer(op, &a->layer1, 1);
  return status == RGT_OK && d->kind == RGT_MLP ? rgt__prepare_check_layer(op, &a->layer2, 2) : status;
}

static int64_t packed(int64_t given, int64_t packed_value) {
  return given ? given : packed_value;
}

static void fill_kargs(const rgt_op *op, const rgt_args *a, rgt_kargs *k) {
  const rgt_op_desc *d = &op->desc;
  const rgt_layer *l1 = a->weights ? &a->weights->layer1 : &a->layer1, *l2 = a->weights ? &a->weights->layer2 : &a->layer2;
  int64_t mid = d->kind == RGT_MLP ? d->n_hidden : d->n_out;
  memset(k, 0, sizeof *k);
  k->x = a->x;
  k->index = rows_come_by(op, a);
  k->y = a->y;
  k->rows = a->rows;
  k->groups = a->groups ? a->groups : a->weights ? a->weights->groups : d->groups;
  k->ld_x = packed(a->ld_x, d->n_in);
  k->ld_y = packed(a->ld_y, d->n_out);
  k->x_div = a->x_div ? a->x_div : 1;
  k->y_mode = a->y_mode;
  k->order = a->order;
  k->w1 = l1->w ? l1->w : (const void *)l1->w_ptrs;
  k->b1 = l1->b ? l1->b : (const void *)l1->b_ptrs;
  k->ld_w1 = packed(l1->ld_w, op->packed_w1_ld);
  k->stride_w1 = packed(l1->stride_w, k->ld_w1 * op->packed_w1_stride);
  k->stride_b1 = packed(l1->stride_b, mid);
  k->flags = l1->b_ptrs ? RGT_KARGS_B1_POINTERS : 0;
  k->n_index_errors = op->index_errors;
  k->first_index_error = op->index_errors + 1;
  if (d->kind != RGT_MLP) return;
  k->w2 = l2->w ? l2->w : (const void *)l2->w_ptrs;
  k->b2 = l2->b ? l2->b : (const void *)l2->b_ptrs;
  k->ld_w2 = packed(l2->ld_w, op->packed_w2_ld);
  k->stride_w2 = packed(l2->stride_w, k->ld_w2 * op->packed_w2_stride);
  k->stride_b2 = packed(l2->stride_b, d->n_out);
  if (l2->b_ptrs) k->flags |= RGT_KARGS_B2_POINTERS;
}

/* ---- the built-in kernel, on all threads ---- */

typedef struct builtin_job {
  rgt_op *op;
  const rgt_kargs *k;
} builtin_job;

static void builtin_part(void *user, int64_t part, int64_t n_parts) {
  const builtin_job *job = user;
  rgt_op *op = job->op;
  int64_t rows = job->k->rows, first = rows / n_parts * part + (part < rows % n_parts ? part : rows % n_parts);
  int64_t n = rows / n_parts + (part < rows % n_parts);
  rgt__builtin_run(&op->desc, op->options.weight_form, op->ctx->device->info.target.name, job->k, first, n,
                   op->hidden + part * op->desc.n_hidden);
}

static rgt_status run_builtin(rgt_op *op, const rgt_kargs *k) {
  const rgt__device_info *info = &op->ctx->device->info;
  if (strcmp(info->target.device, "cpu") != 0 || !rgt__builtin_supports(&op->desc)) {
    if (!op->prepared)
      return rgt__error_set(&op->ctx->error, RGT_ENOTREADY, "the op is not prepared; call rgt_op_prepare first");
    return rgt__error_set(&op->ctx->error, RGT_EUNSUPPORTED,
                          "no variant that was prepared is valid for %lld rows and %lld groups", (long long)k->rows,
                          (long long)k->groups);
  }
  if (!op->hidden) { /* once, and in prepare for a prepared op */
    size_t bytes = (size_t)op->desc.n_hidden * (size_t)info->n_threads * sizeof *op->hidden;
    op->hidden = rgt__alloc(bytes);
    if (!op->hidden) return rgt__error_nomem(&op->ctx->error, bytes);
  }
  builtin_job job = {op, k};
  double work =
      (double)k->rows * (double)(op->desc.n_in + op->desc.n_out) * (double)(op->desc.n_hidden ? op->desc.n_hidden : 1);
  int64_t n_parts = work < 250000 ? 1 : info->n_threads;
  if (n_parts > k->rows) n_parts = k->rows;
  rgt__pool_run(info->n_threads, n_parts, builtin_part, &job);
  return RGT_OK;
}

static int64_t index_value(const rgt_op *op, const void *index, int64_t row) {
  return op->desc.index_type == RGT_I64 ? ((const int64_t *)index)[row] : ((const int32_t *)index)[row];
}

/* On the CPU, where they can be read: one pass, so that no kernel need doubt them. Nothing was written yet. */
static rgt_status check_offsets(rgt_op *op, const rgt_kargs *k) {
  const char *right = "0 first, each no less than the one before, and no more than rows";
  int64_t before = 0;
  for (int64_t g = 0; g <= k->groups; g++) {
    int64_t at = index_value(op, k->index, g);
    if (LIKELY(g == 0 ? at == 0 : at >= before && at <= k->rows)) {
      before = at;
      continue;
    }
    if (g == 0 || at >= before)
      return rgt__error_set(&op->ctx->error, RGT_EINVAL, "offsets[%lld] is %lld with %lld rows; offsets can be %s",
                            (long long)g, (long long)at, (long long)k->rows, right);
    return rgt__error_set(&op->ctx->error, RGT_EINVAL, "offsets[%lld] is %lld after %lld; offsets can be %s", (long long)g,
                          (long long)at, (long long)before, right);
  }
  return RGT_OK;
}

/* The counters are the device's; on the CPU they are read at once and cleared for the next call. */
static rgt_status report_index_errors(rgt_op *op, const rgt_kargs *k) {
  long long n = op->index_errors[0], first = op->index_errors[1];
  op->index_errors[0] = 0;
  op->index_errors[1] = INT64_MAX;
  return rgt__error_set(&op->ctx->error, RGT_EINDEX,
                        "index[%lld] is %lld; it can be -1 (masked) to %lld; %lld such row%s, their y is 0", first,
                        (long long)index_value(op, k->index, first), (long long)k->groups - 1, n, n == 1 ? "" : "s");
}

static int bucket_of(int64_t rows) {
  return rows <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)rows - 1);
}

/* The mistake that everybody makes once: a kernel that touches the host's memory goes wrong, and takes the context along. */
static rgt_status check_addresses(rgt_op *op, const rgt_kargs *k) {
  const struct {
    const char *name;
    const void *p;
  } arrays[] = {{"x", k->x},           {op->comes_by_offsets ? "offsets" : "index", k->index},
                {"y", k->y},           {"layer1's w", k->w1},
                {"layer1's b", k->b1}, {"layer2's w", k->w2},
                {"layer2's b", k->b2}};
  rgt__device *d = op->ctx->device;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    if (arrays[i].p && !d->ops->reaches(d, arrays[i].p))
      return rgt__error_set(
          &op->ctx->error, RGT_EINVAL,
          "%s (%p) is memory of the host's; device %s takes its own: rgt_mem_alloc and rgt_mem_write, or what "
          "the caller's framework has there",
          arrays[i].name, arrays[i].p, d->ops->kind);
  op->addresses_seen = 1;
  return RGT_OK;
}

/* The variant with its plan for this call, or NULL where it is not valid for it. */
static rgt__ready *planned(rgt_op *op, rgt__ready *r, const rgt_kargs *k) {
  if (r->plan.rows != k->rows || r->plan.groups != k->groups)
    rgt__plan_make_on(op->ctx->device, r->module, &r->program, k->rows, k->groups, &r->plan);
  return r->plan.valid && r->plan.workspace_bytes <= op->workspace_bytes ? r : NULL;
}

/* Only where a call's groups are others than the op's: prepare has seen to those. */
static rgt_status other_bits(rgt_op *op, const rgt_kargs *k) {
  return rgt__error_set(
      &op->ctx->error, RGT_EUNSUPPORTED,
      "the op is batch-invariant, and its variant is not valid for %lld rows and %lld groups; make the op for "
      "as many groups",
      (long long)k->rows, (long long)k->groups);
}

rgt_status rgt_op_run(rgt_op *op, const rgt_args *args, void *stream) {
  rgt_kargs k;
  rgt__device *d = op->ctx->device;
  rgt_status status = check_args(op, args);
  if (status != RGT_OK || args->rows == 0) return status;
  if (!LIKELY(op->prepared == RGT_PREPARED) && op->prepared == RGT_PREPARED_PARTLY) rgt__prepare_pick_up(op);
  if (op->prepared && args->rows > op->max_rows)
    return rgt__error_set(&op->ctx->error, RGT_ESIZE, "rows is %lld; the op was prepared for at most %lld",
                          (long long)args->rows, (long long)op->max_rows);
  fill_kargs(op, args, &k);
  if (rgt__run_memory_is_suspect(op, &k) && (status = rgt__run_memory_check(op, &k)) != RGT_OK) return status;
  if (!LIKELY(op->addresses_seen) && op->prepared && (status = check_addresses(op, &k)) != RGT_OK) return status;
  if (op->comes_by_offsets && op->counts_are_read && (status = check_offsets(op, &k)) != RGT_OK) return status;
  rgt__ready *ready = op->prepared ? op->by_bucket[bucket_of(k.rows)] : NULL;
  if (LIKELY(ready)) ready = planned(op, ready, &k);
  if (!LIKELY(ready) && op->keeps_class) return other_bits(op, &k);
  if (!LIKELY(ready) && op->standby) ready = planned(op, op->standby, &k);
  status = LIKELY(ready)
               ? d->ops->launch(d, ready->module, &ready->program, &ready->plan, &k, op->workspace, stream, &op->ctx->error)
               : run_builtin(op, &k);
  if (status == RGT_OK && op->counts_are_read && op->index_errors[0] != 0) status = report_index_errors(op, &k);
  return status;
}

/* The index is the caller's, and may be another by now: the row is named, its value is not. */
rgt_status rgt_sync(rgt_op *op, void *stream) {
  rgt__device *d = op->ctx->device;
  rgt_int64 counts[2] = {0, INT64_MAX};
  if (!d->ops->take_counters) return d->ops->sync(d, stream, &op->ctx->error);
  rgt_status status = d->ops->take_counters(d, op->index_errors, counts, stream, &op->ctx->error);
  if (status != RGT_OK || counts[0] == 0) return status;
  if (op->comes_by_offsets)
    return rgt__error_set(
        &op->ctx->error, RGT_EINDEX,
        "row %lld is before the offset of the group that ends past it, and is the first of %lld such row%s of the "
        "calls since the last rgt_sync; offsets can be 0 first, each no less than the one before",
        counts[1], counts[0], counts[0] == 1 ? "" : "s");
  return rgt__error_set(
      &op->ctx->error, RGT_EINDEX,
      "index[%lld] lies outside [-1, groups), and is the first of %lld such row%s of the calls since the last "
      "rgt_sync; their y is 0",
      counts[1], counts[0], counts[0] == 1 ? "" : "s");
}
