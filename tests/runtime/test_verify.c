/* test_verify.c -- right kernels pass on thousands of problems, wrong ones are caught and named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "runtime/base/alloc.h"
#include "runtime/base/random.h"
#include "tests/support/fake_device.h"

static rgt_op_desc op_of(const char *text) {
  rgt_op_desc op;
  rgt__error err;
  if (rgt__op_parse(text, &op, &err) != RGT_OK) fail_msg("%s: %s", text, err.text);
  return op;
}

static rgt__verify *open_plan(const char *text, rgt_weight_form form, const rgt_case *data) {
  rgt__verify_plan plan = {.op = op_of(text), .form = form, .rows = 256, .seed = 11, .data = data};
  rgt__verify *v = NULL;
  rgt__error err = {{0}};
  if (rgt__verify_open(&plan, &v, &err) != RGT_OK) fail_msg("%s: %s", text, err.text);
  return v;
}

/* What the fake kernels compute in: f32 sums without FMA or with, activations in double or by libm's float functions. */
static rgt__numeric numeric_of(const fake_kernel *f) {
  rgt__numeric n = {0};
  if (f->op.act > RGT_ACT_RELU) n.alpha = 0x1p-22;
  if (f->op.kind == RGT_MLP && f->hidden_16bit) {
    n.hidden_16bit = 1;
    n.u_h = rgt__number_u(f->op.dtype);
    n.eta_h = rgt__number_eta(f->op.dtype);
  }
  return n;
}

static rgt__verify_result bound_of(rgt__verify *v, fake_kernel *f) {
  rgt__verify_result r;
  rgt__error err = {{0}};
  rgt__callable c = fake_callable(f);
  rgt__numeric n = numeric_of(f);
  f->other_group = 2; /* group 0 of 3 has no rows */
  if (rgt__verify_bound(v, &c, &n, &r, &err) != RGT_OK) fail_msg("%s", err.text);
  return r;
}

static rgt__verify_result exact_of(rgt__verify *v, fake_kernel *f) {
  rgt__verify_result r;
  rgt__error err = {{0}};
  rgt__callable c = fake_callable(f);
  rgt_op_desc op = f->op;
  f->op = rgt__op_relu_twin(&op);
  f->other_group = 0; /* group 2 of 3 has no rows */
  if (rgt__verify_exact(v, &c, &r, &err) != RGT_OK) fail_msg("%s", err.text);
  f->op = op;
  return r;
}

static void assert_right(const rgt__verify_result *r, const char *what) {
  if (r->status != RGT_OK)
    fail_msg("%s: %s at %lld, %lld: %s", what, r->pass, (long long)r->row, (long long)r->column, r->reason);
  assert_string_equal(r->pass, "");
  assert_string_equal(r->reason, "");
  assert_int_equal(r->row, -1);
  assert_int_equal(r->column, -1);
}

/* ---- no false alarm ---- */

static int64_t draw_dim(rgt__random *r) {
  static const int64_t dims[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 20, 33};
  return dims[rgt__random_below(r, sizeof dims / sizeof *dims)];
}

static void draw_kernel(rgt__random *r, fake_kernel *f) {
  *f = (fake_kernel){.sum = (fake_sum)rgt__random_below(r, FAKE_N_SUMS)};
  f->op = (rgt_op_desc){.struct_size = sizeof f->op, .n_in = draw_dim(r), .n_out = draw_dim(r), .groups = draw_dim(r)};
  f->op.kind = rgt__random_below(r, 2) ? RGT_MLP : RGT_LINEAR;
  if (f->op.kind == RGT_MLP) f->op.n_hidden = draw_dim(r);
  f->op.dtype = (rgt_dtype)rgt__random_below(r, 3);
  f->op.act = (rgt_act)rgt__random_below(r, 6);
  f->op.bias = (int)rgt__random_below(r, f->op.kind == RGT_MLP ? 4 : 2);
  f->op.layout = (rgt_layout)rgt__random_below(r, 2);
  f->op.index_type = (rgt_index_type)rgt__random_below(r, 2);
  f->form = (rgt_weight_form)rgt__random_below(r, 2);
  f->hidden_16bit = f->op.dtype != RGT_F32 && rgt__random_below(r, 2);
}

static void right_kernels_pass(void **state) {
  (void)state;
  rgt__random r;
  rgt__random_seed(&r, 5);
  for (int i = 0; i < 1500; i++) {
    fake_kernel f;
    char text[RGT_OP_TEXT_MAX];
    rgt__verify *v;
    rgt__error err = {{0}};
    draw_kernel(&r, &f);
    rgt__verify_plan plan = {.op = f.op, .form = f.form, .rows = 1, .seed = (uint64_t)i};
    plan.align_bytes = 1 << rgt__random_below(&r, 5);
    plan.order = (rgt_order)rgt__random_below(&r, 3);
    if (rgt__verify_open(&plan, &v, &err) != RGT_OK) fail_msg("%s", err.text);
    rgt__op_format(&f.op, text, NULL);
    rgt__verify_result b = bound_of(v, &f), e = exact_of(v, &f);
    assert_right(&b, text);
    assert_right(&e, text);
    assert_true(b.error_share >= 0 && b.error_share <= 1);
    rgt__verify_free(v);
  }
  assert_int_equal(fake_live_buffers, 0);
}

/* ---- faults ---- */

typedef struct planted {
  fake_fault fault;
  const char *op;
  const char *exact, *bound; /* the pass that must name it; NULL: must pass; "any": whichever; "maybe": need not be caught */
  rgt_weight_form form;
} planted;

#define MLP "mlp:10-20-5:g3:f32:relu:b12:nk:i64"
#define LINEAR "linear:10-6:g3:f32:none:b1:kn:i32"

static const planted planted_faults[] = {
    {FAKE_LIVE_MINUS_ZERO, MLP, NULL, NULL, RGT_STACKED},
    {FAKE_DROP_LAST_K, "linear:1000-16:g3:f32:none:b1:nk:i64", "exact", "bound", RGT_STACKED},
    {FAKE_DROP_LAST_K, "linear:1000-16:g3:bf16:none:b1:kn:i64", "exact", "bound", RGT_STACKED},
    {FAKE_DROP_LAST_8, "linear:1000-16:g3:f16:relu:b1:nk:i64", "exact", "bound", RGT_POINTERS},
    {FAKE_DROP_LAST_8, "mlp:1000-24-8:g3:f16:relu:b12:nk:i64", "exact", "maybe", RGT_STACKED},
    {FAKE_DROP_LAST_8, "mlp:1000-24-8:g3:bf16:gelu:b12:kn:i64", "exact", "maybe", RGT_STACKED},
    {FAKE_WRONG_GROUP, MLP, "exact", "bound", RGT_STACKED},
    {FAKE_WRONG_GROUP, LINEAR, "exact", "bound", RGT_POINTERS},
    {FAKE_WRITE_PAST_ROW, MLP, "canary", "canary", RGT_STACKED},
    {FAKE_WRITE_PAST_END, MLP, "canary", "canary", RGT_STACKED},
    {FAKE_WRITE_PAST_END, LINEAR, "canary", "canary", RGT_POINTERS},
    {FAKE_WRITE_BEFORE, LINEAR, "canary", "canary", RGT_STACKED},
    {FAKE_WRITE_INPUT, LINEAR, "canary", "canary", RGT_STACKED},
    {FAKE_MASKED_ALONE, MLP, "masked", "masked", RGT_STACKED},
    {FAKE_OWN_X, MLP, "exact", NULL, RGT_STACKED},
    {FAKE_OWN_X, LINEAR, "exact", NULL, RGT_POINTERS},
    {FAKE_NOT_ADDED, MLP, "exact", "bound", RGT_STACKED},
    {FAKE_NOT_ADDED, "linear:10-6:g3:bf16:gelu:b1:kn:i32", "exact", "bound", RGT_STACKED},
    {FAKE_ADDED_ROUNDED, "linear:10-6:g3:bf16:none:b1:nk:i64", "exact", "maybe", RGT_STACKED},
    {FAKE_NONE_ADDED, MLP, "masked", "masked", RGT_STACKED},
    {FAKE_MASKED_MINUS_ZERO, LINEAR, "masked", "masked", RGT_STACKED},
    {FAKE_MASKED_LEAK, MLP, "poison", "poison", RGT_STACKED},
    {FAKE_F16_SUMS, MLP, "exact", "bound", RGT_STACKED},
    {FAKE_F16_SUMS, "linear:10-6:g3:f16:none:b1:nk:i64", "exact", "bound", RGT_STACKED},
    {FAKE_F16_SUMS, "mlp:64-64-16:g3:f16:relu:b12:nk:i64", "exact", "bound", RGT_STACKED},
    {FAKE_F16_SUMS, "mlp:64-64-16:g3:bf16:silu:b12:nk:i64", "exact", "maybe", RGT_STACKED},
    {FAKE_NO_BIAS_1, MLP, "exact", "bound", RGT_STACKED},
    {FAKE_NO_BIAS_2, MLP, "exact", "bound", RGT_STACKED},
    {FAKE_NO_BIAS_1, "linear:10-6:g3:bf16:tanh:b1:kn:i32", "exact", "bound", RGT_STACKED},
    {FAKE_DROP_HIDDEN, MLP, "exact", "bound", RGT_STACKED},
    {FAKE_DROP_HIDDEN, "mlp:10-500-5:g3:bf16:relu:b12:nk:i64", "exact", "maybe", RGT_STACKED},
    {FAKE_NEIGHBOUR, MLP, NULL, "permute", RGT_STACKED},
    {FAKE_NEIGHBOUR, LINEAR, NULL, "permute", RGT_STACKED},
    {FAKE_ROW_COUNT, MLP, NULL, "permute", RGT_STACKED},
    {FAKE_INDEX_32, MLP, NULL, "status", RGT_STACKED},
    {FAKE_READ_PADDING, LINEAR, "poison", "poison", RGT_STACKED},
    {FAKE_UNUSED_TIMES_ZERO, MLP, NULL, "poison", RGT_STACKED},
    {FAKE_NO_ERROR_COUNT, LINEAR, NULL, "status", RGT_STACKED},
    {FAKE_NO_FIRST_ERROR, MLP, NULL, "status", RGT_STACKED},
    {FAKE_BAD_ROW_ALONE, MLP, NULL, "status", RGT_STACKED},
    {FAKE_BAD_ROW_CLAMPED, LINEAR, NULL, "status", RGT_POINTERS},
    {FAKE_TF32, "linear:64-16:g3:f32:none:b1:nk:i64", NULL, "bound", RGT_STACKED},
    {FAKE_TF32, MLP, NULL, "bound", RGT_STACKED},
    {FAKE_BF16_HIDDEN, MLP, NULL, "bound", RGT_STACKED},
    {FAKE_BF16_HIDDEN, "mlp:10-20-5:g3:f16:relu:b12:nk:i64", NULL, "bound", RGT_STACKED},
    {FAKE_RELU_EATS_NAN, MLP, NULL, "bound", RGT_STACKED},
    {FAKE_UNWRITTEN, MLP, "poison", "poison", RGT_STACKED},
    {FAKE_PACKED_X, MLP, "any", "any", RGT_STACKED},
    {FAKE_PACKED_W, LINEAR, "any", "any", RGT_STACKED},
    {FAKE_STACKED_BIAS, MLP, "any", "any", RGT_STACKED},
    {FAKE_STACKED_BIAS, LINEAR, "any", "any", RGT_POINTERS},
    {FAKE_Y_TRUNCATED, "linear:64-16:g3:bf16:none:b1:nk:i64", "exact", "bound", RGT_STACKED},
};

static void assert_caught(const planted *p, const char *in, const char *pass, const rgt__verify_result *r) {
  char what[160];
  snprintf(what, sizeof what, "fault %d on %s, %s pass", p->fault, p->op, in);
  if (!pass) {
    assert_right(r, what);
    return;
  }
  if (r->status != RGT_EWRONG) fail_msg("%s: not caught", what);
  if (strcmp(pass, "any") && strcmp(pass, r->pass)) fail_msg("%s: caught as %s: %s", what, r->pass, r->reason);
  if (!r->reason[0]) fail_msg("%s: no reason", what);
  if (strchr(r->reason, '\n')) fail_msg("%s: reason has several lines", what);
}

static void faults_are_caught_and_named(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof planted_faults / sizeof *planted_faults; i++) {
    const planted *p = &planted_faults[i];
    for (fake_sum sum = 0; sum < FAKE_N_SUMS; sum++) {
      if ((p->fault == FAKE_NEIGHBOUR || p->fault == FAKE_ROW_COUNT) && sum == FAKE_BACKWARD) continue; /* no fault then */
      rgt__verify *v = open_plan(p->op, p->form, NULL);
      fake_kernel f = {.op = op_of(p->op), .form = p->form, .fault = p->fault, .sum = sum};
      f.hidden_16bit = f.op.dtype != RGT_F32 && p->fault != FAKE_BF16_HIDDEN;
      f.wrong_row = 8;
      rgt__verify_result e = exact_of(v, &f), b = bound_of(v, &f);
      assert_caught(p, "exact", p->exact, &e);
      if (!p->bound || strcmp(p->bound, "maybe")) assert_caught(p, "bound", p->bound, &b);
      rgt__verify_free(v);
    }
  }
  assert_int_equal(fake_live_buffers, 0);
}

/* ---- the verdict ---- */

static void first_wrong_element_is_named(void **state) {
  (void)state;
  rgt__verify *v = open_plan(MLP, RGT_STACKED, NULL);
  fake_kernel f = {.op = op_of(MLP), .fault = FAKE_UNWRITTEN};
  rgt__verify_result r = bound_of(v, &f);
  assert_int_equal(r.status, RGT_EWRONG);
  assert_string_equal(r.pass, "poison");
  assert_int_equal(r.row, 1);
  assert_int_equal(r.column, 4);
  assert_true(isnan(r.value) && isfinite(r.expected) && r.bound > 0);
  assert_string_equal(r.reason, "y[1, 4] was never written");
  f.fault = FAKE_WRONG_GROUP;
  f.wrong_row = 8;
  r = bound_of(v, &f);
  assert_string_equal(r.pass, "bound");
  assert_int_equal(r.row, 8);
  assert_int_equal(r.column, 0);
  assert_true(fabs(r.value - r.expected) > r.bound && r.bound > 0);
  assert_true(r.error_share > 1);
  f.fault = FAKE_WRITE_PAST_ROW;
  r = bound_of(v, &f);
  assert_string_equal(r.pass, "canary");
  assert_int_equal(r.column, 5);
  f.fault = FAKE_WRITE_INPUT;
  r = exact_of(v, &f);
  assert_string_equal(r.pass, "canary");
  assert_non_null(strstr(r.reason, "input x"));
  f.fault = FAKE_ROW_COUNT;
  r = bound_of(v, &f);
  assert_string_equal(r.pass, "permute");
  assert_true(r.row >= 0 && r.row < 8 && r.column >= 0 && r.column < 5 && r.value != r.expected);
  f.fault = FAKE_NO_ERROR_COUNT;
  r = bound_of(v, &f);
  assert_string_equal(r.pass, "status");
  assert_int_equal(r.row, 3);
  assert_true(r.value == 0 && r.expected == 11);
  rgt__verify_free(v);
}

/* Bounds are kept from variant to variant, but not beyond a change of the numeric facts. */
static void bounds_follow_the_numeric_facts(void **state) {
  (void)state;
  rgt__verify *v = open_plan(MLP, RGT_STACKED, NULL);
  fake_kernel f = {.op = op_of(MLP), .fault = FAKE_TF32};
  rgt__callable c = fake_callable(&f);
  rgt__numeric strict = {0}, loose = {.p1 = 0x1p-10, .p2 = 0x1p-10};
  rgt__verify_result r;
  rgt__error err;
  for (int i = 0; i < 4; i++) {
    assert_int_equal(rgt__verify_bound(v, &c, i % 2 ? &strict : &loose, &r, &err), RGT_OK);
    assert_int_equal(r.status, i % 2 ? RGT_EWRONG : RGT_OK);
  }
  rgt__verify_free(v);
}

/* ---- the caller's case ---- */

#define CASE "linear:2-1:g2:f32:none:b1:nk:i64"
static const float case_x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, case_w[] = {0.5f, 0.25f, -1, 2}, case_b[] = {1, 0};
static const int64_t case_index[] = {0, 1, -1, 2, 1}; /* 2 is out of range */
static double case_y[] = {2, 5, 0, 0, 11};

static rgt_case case_data(int exact) {
  return (rgt_case){.struct_size = sizeof(rgt_case),
                    .rows = 5,
                    .x = case_x,
                    .index = case_index,
                    .w1 = case_w,
                    .b1 = case_b,
                    .y64 = case_y,
                    .exact = exact};
}

/* Right but for the case's own call, told by its number of rows: there y[1] is off by a little, or by much. */
static float case_off;

static rgt_status off_in_the_case(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *err) {
  rgt_status status = fake_run(self, device, k, err);
  if (k->rows == 5) ((float *)k->y)[k->ld_y] *= 1 + case_off;
  return status;
}

static void cases_are_compared(void **state) {
  (void)state;
  rgt__numeric n = {0};
  rgt__verify_result r;
  rgt__error err = {{0}};
  fake_kernel f = {.op = op_of(CASE)};
  rgt__callable c = {.device = &fake_device, .self = &f, .run = off_in_the_case};
  for (int exact = 0; exact < 2; exact++) {
    rgt_case data = case_data(exact);
    rgt__verify *v = open_plan(CASE, RGT_STACKED, &data);
    case_off = 0;
    assert_int_equal(rgt__verify_bound(v, &c, &n, &r, &err), RGT_OK);
    assert_right(&r, "case");
    case_off = 0x1p-23f; /* within the bound */
    assert_int_equal(rgt__verify_bound(v, &c, &n, &r, &err), RGT_OK);
    assert_int_equal(r.status, exact ? RGT_EWRONG : RGT_OK);
    case_off = 0x1p-18f;
    assert_int_equal(rgt__verify_bound(v, &c, &n, &r, &err), RGT_OK);
    assert_int_equal(r.status, RGT_EWRONG);
    assert_string_equal(r.pass, "case");
    assert_int_equal(r.row, 1);
    assert_int_equal(r.column, 0);
    assert_true(r.expected == 5);
    rgt__verify_free(v);
  }
}

static void a_wrong_case_blames_itself(void **state) {
  (void)state;
  rgt_case data = case_data(0);
  rgt__verify_plan plan = {.op = op_of(CASE), .data = &data};
  rgt__verify *v = NULL;
  rgt__error err = {{0}};
  static const double wrong[] = {5 + 1e-7, -5, NAN, INFINITY};
  for (int i = 0; i < 4; i++) {
    case_y[1] = wrong[i];
    assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_EINVAL);
    assert_null(v);
    assert_non_null(strstr(err.text, "case"));
    assert_non_null(strstr(err.text, "y[1, 0]"));
  }
  case_y[1] = 5 + 1e-14; /* another order of sums in float64 */
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_OK);
  rgt__verify_free(v);
  case_y[1] = 5;
  data.w1 = NULL;
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "w1"));
  data = case_data(0);
  data.rows = 0; /* no rows: right, nothing to compare */
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_OK);
  fake_kernel f = {.op = plan.op};
  rgt__verify_result r = bound_of(v, &f);
  assert_right(&r, "no rows");
  rgt__verify_free(v);
}

/* ---- what a kernel is given ---- */

typedef struct watcher {
  fake_kernel kernel;
  size_t align;
  int n_loose, n_packed, n_nulls, n_null_groups, n_bias_pointers, n_none, n_shared, n_added; /* what was seen */
} watcher;

static void look_at(watcher *w, const void *p, size_t align) {
  assert_int_equal((uintptr_t)p % align, 0);
  if ((uintptr_t)p % (2 * align)) w->n_loose++;
}

static rgt_status watch(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *err) {
  watcher *w = self;
  const rgt_op_desc *op = &w->kernel.op;
  size_t element = rgt__number_bytes(op->dtype), align = w->align > element ? w->align : element;
  int64_t unit = (int64_t)(align / element);
  assert_true(k->x_div == 1 || k->x_div == 2);
  assert_true((k->y_mode == RGT_Y_SET || k->y_mode == RGT_Y_ADD) && k->order == 0 && !k->w3 && !k->row_scale);
  w->n_shared += k->x_div == 2;
  w->n_added += k->y_mode == RGT_Y_ADD;
  assert_true(*k->n_index_errors == 0 && *k->first_index_error == INT64_MAX);
  if (!k->rows) {
    assert_true(!k->x && !k->index && !k->y && !k->w1 && !k->b1 && !k->w2 && !k->b2);
    w->n_none++;
    return fake_run(&w->kernel, device, k, err);
  }
  look_at(w, k->x, align);
  look_at(w, k->y, align);
  look_at(w, k->index, align > 8 ? align : op->index_type == RGT_I64 ? 8 : 4);
  const int64_t strides[] = {k->ld_x, k->ld_y, k->ld_w1, k->ld_w2, k->stride_w1, k->stride_w2, k->stride_b1, k->stride_b2};
  for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) assert_true(strides[i] > 0 && strides[i] % unit == 0);
  int64_t packed = (op->n_in + unit - 1) / unit * unit;
  assert_true(k->ld_x >= packed);
  w->n_packed += k->ld_x == packed;
  w->n_bias_pointers += (k->flags & RGT_KARGS_B1_POINTERS) != 0;
  if (w->kernel.form == RGT_POINTERS) {
    const void *const *p = k->w1;
    for (int64_t g = 0; g < k->groups; g++) {
      if (p[g]) {
        look_at(w, p[g], align);
      } else {
        w->n_null_groups++;
      }
    }
  } else {
    look_at(w, k->w1, align);
  }
  return fake_run(&w->kernel, device, k, err);
}

static void layouts_keep_the_promise_and_no_more(void **state) {
  (void)state;
  static const int aligns[] = {0, 4, 8, 16};
  for (int i = 0; i < 8; i++) {
    watcher w = {
        .kernel = {.op = op_of("mlp:10-20-5:g4:f16:relu:b12:nk:i64"), .form = (rgt_weight_form)(i / 4), .hidden_16bit = 1}};
    rgt__verify_plan plan = {.op = w.kernel.op, .form = w.kernel.form, .align_bytes = aligns[i % 4]};
    rgt__callable c = {.device = &fake_device, .self = &w, .run = watch};
    rgt__numeric n = numeric_of(&w.kernel);
    rgt__verify_result r;
    rgt__verify *v;
    rgt__error err = {{0}};
    w.align = (size_t)plan.align_bytes;
    assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_OK);
    assert_int_equal(rgt__verify_bound(v, &c, &n, &r, &err), RGT_OK);
    assert_right(&r, "bound");
    assert_int_equal(w.n_none, 1);
    assert_int_equal(w.n_shared, 0);
    assert_int_equal(w.n_added, 1);
    assert_int_equal(rgt__verify_exact(v, &c, &r, &err), RGT_OK);
    assert_right(&r, "exact");
    assert_int_equal(w.n_shared, 1);
    assert_int_equal(w.n_added, 2);
    assert_true(w.n_loose > 10); /* not aligned by chance to more than was promised */
    assert_true(w.n_packed >= 3 && w.n_packed < w.kernel.n_calls);
    assert_true(w.n_bias_pointers >= 3 && w.n_bias_pointers < w.kernel.n_calls);
    assert_int_equal(w.n_null_groups > 0, w.kernel.form == RGT_POINTERS);
    rgt__verify_free(v);
  }
}

/* ---- rows that come in order ---- */

/* What every call of an ordered op must be. */
static rgt_status watch_order(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *err) {
  watcher *w = self;
  int64_t before = 0;
  assert_true(k->order == RGT_ORDER_SORTED || k->order == RGT_ORDER_OFFSETS);
  for (int64_t row = 0; k->order == RGT_ORDER_SORTED && row < k->rows; row++) {
    int64_t g = fake_index(&w->kernel, k, row), rank = g >= 0 && g < k->groups ? g : k->groups;
    assert_true(rank >= before);
    before = rank;
  }
  w->n_none += k->rows && k->order == RGT_ORDER_OFFSETS && fake_index_value(&w->kernel, k, 0) != 0; /* wild ones */
  return fake_run(&w->kernel, device, k, err);
}

static void calls_keep_the_order(void **state) {
  (void)state;
  for (int order = RGT_ORDER_SORTED; order <= RGT_ORDER_OFFSETS; order++) {
    for (int fault = 0; fault < 3; fault++) {
      watcher w = {.kernel = {.op = op_of(MLP), .fault = fault == 1 ? FAKE_OFFSET_LATE : fault == 2 ? FAKE_OWN_X : FAKE_RIGHT}};
      rgt__verify_plan plan = {.op = w.kernel.op, .order = (rgt_order)order};
      rgt__callable c = {.device = &fake_device, .self = &w, .run = watch_order};
      rgt__numeric n = numeric_of(&w.kernel);
      rgt__verify_result r;
      rgt__verify *v;
      rgt__error err = {{0}};
      assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_OK);
      assert_int_equal(rgt__verify_bound(v, &c, &n, &r, &err), RGT_OK);
      int late = fault == 1 && order == RGT_ORDER_OFFSETS;
      assert_int_equal(r.status, late ? RGT_EWRONG : RGT_OK);
      if (fault == 0) assert_int_equal(w.n_none > 0, order == RGT_ORDER_OFFSETS);
      assert_int_equal(rgt__verify_exact(v, &c, &r, &err), RGT_OK);
      assert_int_equal(r.status, late || fault == 2 ? RGT_EWRONG : RGT_OK);
      rgt__verify_free(v);
    }
  }
  assert_int_equal(fake_live_buffers, 0);
}

static void a_case_must_be_in_order(void **state) {
  (void)state;
  rgt_op_desc op = op_of("linear:2-1:g3:f32:none:b0:nk:i32");
  const float x[] = {1, 2, 3, 4, 5, 6}, w[] = {5, 6, 7, 8, 9, 10};
  int32_t index[] = {0, 2, -1};
  rgt_case data = {.struct_size = sizeof data, .rows = 3, .x = x, .index = index, .w1 = w};
  rgt__verify_plan plan = {.op = op, .order = RGT_ORDER_OFFSETS, .data = &data};
  rgt__verify *v;
  rgt__error err = {{0}};
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_OK);
  rgt__verify_free(v);
  index[0] = -1;
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "index[1] is 2 after -1, and the op's rows are offsets"));
  plan.order = RGT_ORDER_RAW;
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_OK);
  rgt__verify_free(v);
  plan.order = (rgt_order)3;
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_EINVAL);
}

/* ---- failures that are no verdict ---- */

static rgt_status fail_status;

static rgt_status fails(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *err) {
  if (fail_status == RGT_EINDEX) {
    rgt_status status = fake_run(self, device, k, err);
    return status == RGT_OK && k->rows && *k->n_index_errors ? RGT_EINDEX : status;
  }
  return rgt__error_set(err, fail_status, "launch refused");
}

static void a_failed_launch_is_no_verdict(void **state) {
  (void)state;
  fake_kernel f = {.op = op_of(MLP)};
  rgt__verify *v = open_plan(MLP, RGT_STACKED, NULL);
  rgt__callable c = {.device = &fake_device, .self = &f, .run = fails};
  rgt__numeric n = {0};
  rgt__verify_result r = {.row = 77};
  rgt__error err = {{0}};
  fail_status = RGT_ECRASH;
  assert_int_equal(rgt__verify_bound(v, &c, &n, &r, &err), RGT_ECRASH);
  assert_int_equal(rgt__verify_exact(v, &c, &r, &err), RGT_ECRASH);
  assert_string_equal(err.text, "launch refused");
  assert_int_equal(r.row, 77); /* nothing is written */
  fail_status = RGT_EINDEX;    /* a call that reports bad indices itself is complete */
  assert_int_equal(rgt__verify_bound(v, &c, &n, &r, &err), RGT_OK);
  assert_right(&r, "EINDEX");
  rgt__verify_free(v);
  assert_int_equal(fake_live_buffers, 0);
}

static void device_memory_can_run_out(void **state) {
  (void)state;
  fake_kernel f = {.op = op_of(MLP)};
  rgt__verify *v = open_plan(MLP, RGT_POINTERS, NULL);
  f.form = RGT_POINTERS;
  rgt__callable c = fake_callable(&f);
  rgt__numeric n = {0};
  rgt__verify_result r;
  rgt__error err;
  for (int pass = 0; pass < 2; pass++) {
    rgt_status status = RGT_ENOMEM;
    for (int i = 0; status != RGT_OK; i++) {
      fake_allocs_left = i;
      status = pass ? rgt__verify_exact(v, &c, &r, &err) : rgt__verify_bound(v, &c, &n, &r, &err);
      if (status != RGT_OK) assert_int_equal(status, RGT_ENOMEM);
      assert_int_equal(fake_live_buffers, 0);
    }
    fake_allocs_left = -1;
    assert_right(&r, "memory");
  }
  rgt__verify_free(v);
}

static int64_t blocks, allocs_left;

static void *counting(void *user, void *p, size_t bytes) {
  (void)user;
  if (!bytes) {
    if (p) blocks--;
    free(p);
    return NULL;
  }
  if (allocs_left-- <= 0) return NULL;
  if (!p) blocks++;
  return realloc(p, bytes);
}

static void host_memory_can_run_out(void **state) {
  (void)state;
  rgt_case data = case_data(1);
  rgt__verify_plan plan = {.op = op_of(CASE), .data = &data};
  fake_kernel f = {.op = plan.op};
  rgt__callable c = fake_callable(&f);
  rgt__numeric n = {0};
  rgt__verify *v = NULL;
  rgt__verify_result r = {0};
  rgt__error err;
  rgt_set_alloc(counting, NULL);
  rgt_status status = RGT_ENOMEM;
  int64_t i;
  for (i = 0; status != RGT_OK; i++) {
    allocs_left = i;
    status = rgt__verify_open(&plan, &v, &err);
    if (status != RGT_OK) assert_int_equal(blocks, 0);
  }
  assert_true(i > 20);
  int64_t kept = blocks;
  for (int pass = 0; pass < 2; pass++) {
    for (i = 0, status = RGT_ENOMEM; status != RGT_OK; i++) {
      allocs_left = i;
      status = pass ? rgt__verify_exact(v, &c, &r, &err) : rgt__verify_bound(v, &c, &n, &r, &err);
      if (status != RGT_OK) assert_int_equal(status, RGT_ENOMEM);
      assert_int_equal(blocks, kept);
      assert_int_equal(fake_live_buffers, 0);
    }
    assert_right(&r, "memory");
    assert_true(i > 20);
  }
  rgt__verify_free(v);
  assert_int_equal(blocks, 0);
  rgt_set_alloc(NULL, NULL);
}

static void plans_are_checked(void **state) {
  (void)state;
  rgt__verify *v = NULL;
  rgt__error err = {{0}};
  rgt__verify_plan plan = {.op = op_of(MLP), .rows = -1};
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "rows is -1"));
  plan.rows = 1;
  plan.align_bytes = 12;
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "12"));
  plan.align_bytes = 0;
  plan.op.n_in = 0;
  assert_int_equal(rgt__verify_open(&plan, &v, &err), RGT_EINVAL);
  assert_null(v);
  rgt__verify_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_kernels_pass),
      cmocka_unit_test(faults_are_caught_and_named),
      cmocka_unit_test(first_wrong_element_is_named),
      cmocka_unit_test(bounds_follow_the_numeric_facts),
      cmocka_unit_test(cases_are_compared),
      cmocka_unit_test(a_wrong_case_blames_itself),
      cmocka_unit_test(layouts_keep_the_promise_and_no_more),
      cmocka_unit_test(calls_keep_the_order),
      cmocka_unit_test(a_case_must_be_in_order),
      cmocka_unit_test(a_failed_launch_is_no_verdict),
      cmocka_unit_test(device_memory_can_run_out),
      cmocka_unit_test(host_memory_can_run_out),
      cmocka_unit_test(plans_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
