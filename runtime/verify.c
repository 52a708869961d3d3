/* verify.c -- is a loaded variant right? Both passes of verify.md over problems that are made once for an op.
 *
 * Bound pass: random data, uniform groups, padded layout; then verify_rows.c's calls on the same rows, then the caller's case.
 * Exact pass: zipf groups, in the padded layout and in the tight one; two rows in order have the same x, which they are given
 * each in the first and once in the second, where y is added to as well. A tenth of the rows is masked. The bound
 * pass has three groups or more even where the op has fewer, so that one can be unused and hold NaN: groups never reach
 * generated source. It has fewer than the op where all the weights would take over WEIGHT_BYTES, yet two or more if the op has:
 * a call may use another number of groups than was tuned for. And never over GROUPS_MAX: a program may be valid only where rows
 * are not far fewer than groups, what runs in its place has other bits, and the calls here are of few rows. */
#include "runtime/verify.h"

#include <math.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/problem_parts.h"
#include "runtime/verify_parts.h"

#define WEIGHT_BYTES ((int64_t)256 << 20)
#define GROUPS_MAX 4096
#define MASKED_SHARE 0.1
#define X_DIV 2
#define CASE_NOISE \
  0x1p-20 /* of the f32 bound: far above float64's error, far below anything that a variant could be blamed for */

struct rgt__verify {
  rgt_weight_form form;
  int align_bytes;
  uint64_t seed;
  rgt__verify_set bound, exact, data;
  int has_data, data_is_exact;
};

static int64_t groups_limit(const rgt_op_desc *op) {
  int64_t elems, element = (int64_t)rgt__number_bytes(op->dtype);
  if (__builtin_add_overflow(rgt__op_weight_elems(op, 1), rgt__op_weight_elems(op, 2), &elems)) elems = INT64_MAX;
  int64_t limit = WEIGHT_BYTES / element / elems;
  return limit < 2 ? 2 : limit < GROUPS_MAX ? limit : GROUPS_MAX;
}

static rgt_status make_set(const rgt_op_desc *op, const rgt__problem_options *o, rgt__verify_set *set, rgt__error *err) {
  rgt__problem problem;
  rgt_status status = rgt__problem_make(op, o, &problem, err);
  return status == RGT_OK ? rgt__verify_set_make(&problem, o->seed + 1, set, err) : status;
}

static rgt_status make_generated(rgt__verify *v, const rgt__verify_plan *plan, rgt__error *err) {
  rgt_op_desc op = plan->op, twin = rgt__op_relu_twin(&plan->op);
  int64_t limit = groups_limit(&op);
  rgt__problem_options o = {.kind = RGT_PROBLEM_BOUND, .rows = plan->rows, .skew = RGT_SKEW_UNIFORM, .masked = MASKED_SHARE};
  o.nan_unused = 1;
  o.form = plan->form;
  o.order = plan->order;
  o.seed = plan->seed;
  if (op.groups > limit) op.groups = twin.groups = limit;
  if (op.groups < 3 && limit >= 3) op.groups = 3;
  rgt_status status = make_set(&op, &o, &v->bound, err);
  if (status != RGT_OK) return status;
  o.kind = RGT_PROBLEM_EXACT;
  o.x_div = X_DIV; /* not in the bound pass, whose rows are to be as many as they are */
  o.rows = 0;
  o.skew = RGT_SKEW_ZIPF;
  o.seed += 2;
  return make_set(&twin, &o, &v->exact, err);
}

/* Does the case's own y agree with the float64 reference of its inputs? A y that does not would blame every variant. */
static rgt_status check_case(rgt__verify *v, const rgt_case *data, rgt__error *err) {
  const rgt__verify_set *s = &v->data;
  const rgt__problem *p = &s->problem;
  for (int64_t row = 0; data->y64 && row < p->rows; row++) {
    for (int64_t c = 0, at = 0; c < p->op.n_out; c++) {
      int64_t e = rgt__verify_set_find(s, row, c, &at);
      if (e < 0) continue;
      double given = data->y64[row * p->op.n_out + c], own = s->y64[e];
      int same = (isnan(given) && isnan(own)) || given == own || fabs(given - own) <= CASE_NOISE * s->bound[e];
      if (same && data->exact) {
        double a = rgt__number_round(p->op.dtype, given), b = rgt__number_round(p->op.dtype, own);
        same = a == b || (isnan(a) && isnan(b));
      }
      if (!same)
        return rgt__error_set(err, RGT_EINVAL,
                              "case: its y[%lld, %lld] is %.17g, but its own inputs give %.17g in float64; the case is wrong",
                              (long long)row, (long long)c, given, own);
    }
  }
  return RGT_OK;
}

static rgt_status make_case(rgt__verify *v, const rgt__verify_plan *plan, rgt__error *err) {
  rgt__problem problem;
  rgt__numeric nothing = {0};
  rgt_status status = rgt__problem_from_case(&plan->op, plan->data, plan->form, plan->order, &problem, err);
  if (status == RGT_OK) status = rgt__verify_set_make(&problem, plan->seed, &v->data, err);
  if (status != RGT_OK) return status;
  v->has_data = 1;
  v->data_is_exact = plan->data->exact;
  status = rgt__verify_set_bounds(&v->data, &nothing, err);
  return status == RGT_OK ? check_case(v, plan->data, err) : status;
}

rgt_status rgt__verify_open(const rgt__verify_plan *plan, rgt__verify **out, rgt__error *err) {
  rgt_status status = rgt__op_check(&plan->op, err);
  if (status != RGT_OK) return status;
  if (plan->rows < 0 || plan->rows > RGT_COUNT_MAX)
    return rgt__error_set(err, RGT_EINVAL, "verify: rows is %lld: a whole number from 0 to %lld", (long long)plan->rows,
                          (long long)RGT_COUNT_MAX);
  if ((unsigned)plan->order > RGT_ORDER_OFFSETS)
    return rgt__error_set(err, RGT_EINVAL, "verify: order is %d: raw, sorted or offsets", (int)plan->order);
  if (plan->align_bytes < 0 || plan->align_bytes > 16 || (plan->align_bytes & (plan->align_bytes - 1)))
    return rgt__error_set(err, RGT_EINVAL, "verify: align_bytes is %d: 0, 1, 2, 4, 8 or 16", plan->align_bytes);
  rgt__verify *v = rgt__alloc_zero(1, sizeof *v);
  if (!v) return rgt__error_nomem(err, sizeof *v);
  v->form = plan->form;
  v->align_bytes = plan->align_bytes;
  v->seed = plan->seed;
  status = make_generated(v, plan, err);
  if (status == RGT_OK && plan->data) status = make_case(v, plan, err);
  if (status == RGT_OK) {
    *out = v;
  } else {
    rgt__verify_free(v);
  }
  return status;
}

void rgt__verify_free(rgt__verify *v) {
  if (!v) return;
  rgt__verify_set_free(&v->bound);
  rgt__verify_set_free(&v->exact);
  rgt__verify_set_free(&v->data);
  rgt__free(v);
}

/* The whole problem once: y in *y (rgt__free), and whether it is right. */
static rgt_status whole_call(const rgt__verify_set *s, rgt__verify_data *d, const rgt__callable *c,
                             const rgt__verify_call *call, rgt__verify_mode mode, const char *pass, unsigned char **y,
                             int *right, rgt__verify_result *result, rgt__error *err) {
  const rgt__problem *p = &s->problem;
  size_t bytes = (size_t)p->rows * (size_t)p->op.n_out * rgt__number_bytes(p->op.dtype);
  rgt__verify_output out = {.y = *y = rgt__alloc(bytes)};
  if (!*y) return rgt__error_nomem(err, bytes);
  rgt_status status = rgt__verify_data_run(d, c, call, &out, err);
  if (status == RGT_OK)
    *right = rgt__verify_check_elements(s, call, &out, d->layout.fill, mode, pass, result) &&
             rgt__verify_check_rest(p, call, &out, result);
  return status;
}

static rgt__verify_layout layout_of(const rgt__verify *v, int padded) {
  int by_pointer = v->form == RGT_POINTERS ? padded : !padded;
  return (rgt__verify_layout){.padded = padded, .bias_pointers = by_pointer, .align_bytes = v->align_bytes, .fill = !padded};
}

static rgt_status generated_bound(rgt__verify *v, const rgt__callable *c, int *right, rgt__verify_result *result,
                                  rgt__error *err) {
  rgt__verify_data data = {0};
  rgt__verify_layout layout = layout_of(v, 1);
  rgt__verify_call call = {.rows = v->bound.problem.rows, .nan_row = -1};
  unsigned char *y = NULL;
  rgt_status status = rgt__verify_data_open(c->device, &v->bound.problem, &layout, &data, err);
  if (status == RGT_OK) status = whole_call(&v->bound, &data, c, &call, RGT_VERIFY_BOUND, "bound", &y, right, result, err);
  if (status == RGT_OK && *right) status = rgt__verify_rows(&v->bound, &data, c, v->seed + 4, y, right, result, err);
  rgt__free(y);
  rgt__verify_data_close(&data);
  return status;
}

static rgt_status exact_layout(rgt__verify *v, int padded, const rgt__callable *c, int *right, rgt__verify_result *result,
                               rgt__error *err) {
  const rgt__verify_set *s = &v->exact;
  rgt__verify_data data = {0};
  rgt__verify_layout layout = layout_of(v, padded);
  rgt__verify_call call = {.rows = s->problem.rows, .nan_row = -1, .shares_x = !padded, .adds = !padded};
  unsigned char *y = NULL;
  rgt_status status = rgt__verify_data_open(c->device, &s->problem, &layout, &data, err);
  if (status == RGT_OK) status = whole_call(s, &data, c, &call, RGT_VERIFY_EXACT, "exact", &y, right, result, err);
  rgt__free(y);
  rgt__verify_data_close(&data);
  return status;
}

/* The caller's case; where it says that every value in it is exact, y is compared bit for bit as well. */
static rgt_status case_layout(rgt__verify *v, int padded, const rgt__callable *c, int *right, rgt__verify_result *result,
                              rgt__error *err) {
  const rgt__verify_set *s = &v->data;
  rgt__verify_data data = {0};
  rgt__verify_layout layout = layout_of(v, padded);
  rgt__verify_call call = {.rows = s->problem.rows, .nan_row = -1};
  rgt__verify_output out = {0};
  rgt_status status = rgt__verify_data_open(c->device, &s->problem, &layout, &data, err);
  if (status == RGT_OK) status = whole_call(s, &data, c, &call, RGT_VERIFY_BOUND, "case", &out.y, right, result, err);
  if (status == RGT_OK && *right && v->data_is_exact)
    *right = rgt__verify_check_elements(s, &call, &out, layout.fill, RGT_VERIFY_EXACT, "case", result);
  rgt__free(out.y);
  rgt__verify_data_close(&data);
  return status;
}

static rgt__verify_result start(void) {
  return (rgt__verify_result){.status = RGT_OK, .pass = "", .row = -1, .column = -1};
}

static void finish(const rgt__verify_result *r, int right, rgt__verify_result *out) {
  *out = *r;
  if (!right) return;
  out->value = out->expected = out->bound = 0;
  out->reason[0] = 0;
}

rgt_status rgt__verify_bound(rgt__verify *v, const rgt__callable *c, const rgt__numeric *numeric, rgt__verify_result *result,
                             rgt__error *err) {
  rgt__verify_result r = start();
  int right = 1;
  rgt_status status = rgt__verify_set_bounds(&v->bound, numeric, err);
  if (status == RGT_OK && v->has_data) status = rgt__verify_set_bounds(&v->data, numeric, err);
  if (status == RGT_OK) status = generated_bound(v, c, &right, &r, err);
  for (int padded = 1; padded >= 0 && v->has_data && status == RGT_OK && right; padded--)
    status = case_layout(v, padded, c, &right, &r, err);
  if (status == RGT_OK) finish(&r, right, result);
  return status;
}

rgt_status rgt__verify_exact(rgt__verify *v, const rgt__callable *c, rgt__verify_result *result, rgt__error *err) {
  rgt__verify_result r = start();
  int right = 1;
  rgt_status status = RGT_OK;
  for (int padded = 1; padded >= 0 && status == RGT_OK && right; padded--) status = exact_layout(v, padded, c, &right, &r, err);
  if (status == RGT_OK) finish(&r, right, result);
  return status;
}
