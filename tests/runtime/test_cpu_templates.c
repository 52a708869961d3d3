/* test_cpu_templates.c -- variants of the CPU's families: right by both passes, and one set of bits for each numeric class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/number.h"
#include "runtime/callable.h"
#include "runtime/cpu_features.h"

enum { SAMPLE_F32 = 5, SAMPLE_16_BIT = 3, ROWS = 300 };

struct surroundings {
  rgt__environment env;
  rgt__device *device;
  rgt__sources *sources;
  rgt__families *families;
  rgt__code_cache *cache;
  char stamp[512], toolchain[512];
};

static int open_all(void **state) {
  struct surroundings *s = calloc(1, sizeof *s);
  rgt__error err;
  if (!s || rgt__environment_read(&s->env, &err) != RGT_OK) return -1;
  const rgt__device_options options = {.env = &s->env, .threads = 2};
  if (rgt__device_cpu_open(&options, &s->device, &err) != RGT_OK) return -1;
  s->device->ops->compiler_stamp(s->device, s->stamp, sizeof s->stamp);
  if (s->stamp[0] && s->device->ops->toolchain(s->device, s->toolchain, sizeof s->toolchain, &err) != RGT_OK) return -1;
  if (rgt__sources_open(NULL, &s->sources, &err) != RGT_OK || rgt__code_cache_open(NULL, &s->cache, &err) != RGT_OK) return -1;
  if (rgt__families_open(s->sources, &s->families, &err) != RGT_OK) return -1;
  *state = s;
  return 0;
}

static int close_all(void **state) {
  struct surroundings *s = *state;
  rgt__families_free(s->families);
  rgt__code_cache_free(s->cache);
  rgt__sources_free(s->sources);
  s->device->ops->close(s->device);
  rgt__environment_free(&s->env);
  free(s);
  return 0;
}

/* ---- one variant on one problem ---- */

struct run {
  rgt__problem problem;
  rgt_int64 n_errors, first_error;
  rgt_kargs k;
};

static void run_new(struct run *r, const rgt_op_desc *op) {
  rgt__error err;
  const rgt__problem_options o = {.kind = RGT_PROBLEM_BOUND, .rows = ROWS, .skew = RGT_SKEW_ZIPF, .masked = 0.1, .seed = 5};
  memset(r, 0, sizeof *r);
  assert_int_equal(rgt__problem_make(op, &o, &r->problem, &err), RGT_OK);
  const int mlp = op->kind == RGT_MLP, kn = op->layout == RGT_KN;
  const int64_t n1 = mlp ? op->n_hidden : op->n_out;
  r->k = (rgt_kargs){.x = r->problem.x,
                     .index = r->problem.index,
                     .w1 = r->problem.w1,
                     .b1 = r->problem.b1,
                     .w2 = r->problem.w2,
                     .b2 = r->problem.b2,
                     .ld_x = op->n_in,
                     .ld_y = op->n_out,
                     .ld_w1 = kn ? n1 : op->n_in,
                     .ld_w2 = kn ? op->n_out : op->n_hidden,
                     .stride_w1 = op->n_in * n1,
                     .stride_w2 = op->n_hidden * op->n_out,
                     .stride_b1 = n1,
                     .stride_b2 = op->n_out,
                     .rows = r->problem.rows,
                     .groups = op->groups,
                     .x_div = 1,
                     .n_index_errors = &r->n_errors,
                     .first_index_error = &r->first_error};
}

static unsigned char *run_y(struct run *r, const rgt__callable *c, size_t bytes) {
  rgt__error err;
  unsigned char *y = malloc(bytes);
  assert_non_null(y);
  memset(y, 0xff, bytes);
  r->k.y = y;
  r->first_error = INT64_MAX;
  if (c->run(c->self, c->device, &r->k, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(r->n_errors, 0);
  return y;
}

static void make(struct surroundings *s, const rgt__candidate_maker *m, const rgt__variant *v, const rgt_op_desc *op,
                 rgt__candidate *c) {
  rgt__error err;
  if (rgt__candidate_render(m, v, op, c, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(c->outcome, RGT_TRIAL_OK);
  if (rgt__candidate_compile(m, c, 0, &err) != RGT_OK) fail_msg("%s: %s", c->text, err.text);
  if (c->outcome != RGT_TRIAL_OK) fail_msg("%s: %s", c->text, c->reason);
  if (rgt__candidate_load(m, c, &err) != RGT_OK) fail_msg("%s: %s", c->text, err.text);
  assert_ptr_equal(m->device, s->device);
}

/* Bits of y by class, of the first variant of that class. */
struct class_bits {
  char name[RGT_NAME_MAX];
  unsigned char *y;
};

static void check_class(struct class_bits seen[8], const rgt__candidate *c, unsigned char *y, size_t bytes) {
  int i = 0;
  while (seen[i].y && strcmp(seen[i].name, c->numeric.class_name) != 0) i++;
  assert_true(i < 7);
  if (seen[i].y) {
    if (memcmp(seen[i].y, y, bytes) != 0) fail_msg("%s: other bits than class %s", c->text, seen[i].name);
    free(y);
    return;
  }
  snprintf(seen[i].name, sizeof seen[i].name, "%s", c->numeric.class_name);
  seen[i].y = y;
}

static void check_right(rgt__verify *verify, rgt__candidate *c, rgt_weight_form form, rgt__device *device) {
  rgt__error err;
  rgt__verify_result result;
  rgt__candidate_callable self = {.candidate = c, .form = form};
  rgt__callable callable = rgt__callable_candidate(&self, device);
  if (rgt__verify_exact(verify, &callable, &result, &err) != RGT_OK) fail_msg("%s: %s", c->text, err.text);
  if (result.status != RGT_OK) fail_msg("%s: exact: %s", c->text, result.reason);
  if (rgt__verify_bound(verify, &callable, &c->numeric, &result, &err) != RGT_OK) fail_msg("%s: %s", c->text, err.text);
  if (result.status != RGT_OK) fail_msg("%s: bound: %s", c->text, result.reason);
  assert_true(self.n_runs > 0);
}

/* check_space -- the default and a seeded sample of the op's space on a target; or all that a space file leaves of it. The
 * activation is none or relu: the exact pass takes it as it is. */
static void check_space(struct surroundings *s, const char *text, const char *target_name, rgt_weight_form form,
                        const char *narrow) {
  rgt__error err;
  rgt_op_desc op;
  rgt__space space;
  rgt__verify *verify;
  struct class_bits seen[8] = {{.y = NULL}};
  struct run r;
  rgt__candidate_maker m = {
      .families = s->families, .device = s->device, .cache = s->cache, .toolchain = s->toolchain, .facts = {.form = form}};
  assert_int_equal(rgt__op_parse(text, &op, &err), RGT_OK);
  m.facts.align_bytes = (int)rgt__number_bytes(op.dtype);
  const size_t y_bytes = (size_t)ROWS * (size_t)op.n_out * rgt__number_bytes(op.dtype);
  assert_int_equal(rgt__cpu_target_by_name(target_name, &m.target, &err), RGT_OK);
  if (rgt__space_enumerate(s->families, &op, &m.target, narrow, narrow ? "narrow" : NULL, 0, &space, &err) != RGT_OK)
    fail_msg("%s", err.text);
  assert_in_range(space.n, narrow ? 3 : 10, narrow ? 12 : 90);
  if (!narrow) rgt__space_sample(&space, op.dtype == RGT_F32 ? SAMPLE_F32 : SAMPLE_16_BIT, 11);
  const rgt__verify_plan plan = {.op = op, .form = form, .rows = 256, .seed = 3};
  assert_int_equal(rgt__verify_open(&plan, &verify, &err), RGT_OK);
  run_new(&r, &op);
  for (int i = 0; i < space.n; i++) {
    rgt__candidate c = {0};
    make(s, &m, &space.variants[i], &op, &c);
    check_right(verify, &c, form, s->device);
    if (form == RGT_STACKED) {
      rgt__candidate_callable self = {.candidate = &c, .form = form};
      rgt__callable callable = rgt__callable_candidate(&self, s->device);
      check_class(seen, &c, run_y(&r, &callable, y_bytes), y_bytes);
      assert_int_equal(self.n_runs, 1);
    }
    rgt__candidate_free(s->device, &c);
  }
  for (int i = 0; i < 8; i++) free(seen[i].y);
  rgt__problem_free(&r.problem);
  rgt__verify_free(verify);
  rgt__space_free(&space);
}

static void check_op(struct surroundings *s, const char *text, const char *target_name, rgt_weight_form form) {
  check_space(s, text, target_name, form, NULL);
}

/* On the richest target of this processor; f32 on the AVX2 one too. `texts` are alike but for the storage type, f32 first. */
static void on_targets(struct surroundings *s, const char *const *texts, rgt_weight_form form) {
  rgt__error err;
  rgt__target here;
  if (!s->stamp[0]) skip(); /* no compiler */
  assert_int_equal(rgt__cpu_target(NULL, &here, &err), RGT_OK);
  for (int i = 0; i < 3; i++) check_op(s, texts[i], here.name, form);
  if (strcmp(here.name, "x86-64-avx512") == 0) check_op(s, texts[0], "x86-64-avx2", form);
}

#define IN_EACH_TYPE(dims, rest)                             \
  (const char *const[]) {                                    \
    dims ":f32:" rest, dims ":f16:" rest, dims ":bf16:" rest \
  }

static void test_question(void **state) {
  on_targets(*state, IN_EACH_TYPE("mlp:10-20-5:g3", "relu:b12:nk:i64"), RGT_STACKED);
}
static void test_question_kn(void **state) {
  on_targets(*state, IN_EACH_TYPE("mlp:10-20-5:g3", "relu:b12:kn:i64"), RGT_POINTERS);
}
static void test_odd_dims(void **state) {
  on_targets(*state, IN_EACH_TYPE("mlp:13-37-3:g40", "none:b2:kn:i32"), RGT_STACKED);
}
static void test_tiny(void **state) {
  on_targets(*state, IN_EACH_TYPE("linear:1-1:g2", "none:b0:nk:i64"), RGT_STACKED);
}

/* More values than a tile takes at a time, more outputs than a chunk or a panel, weights past what is packed whole. */
static void test_blocked(void **state) {
  on_targets(*state, IN_EACH_TYPE("linear:1100-70:g2", "relu:b1:nk:i32"), RGT_STACKED);
}
static void test_blocked_kn(void **state) {
  on_targets(*state, IN_EACH_TYPE("mlp:9-530-131:g2", "relu:b1:kn:i64"), RGT_STACKED);
}

/* Two families, each with its own way to the same sums: one class for each number of lanes. */
static void test_sums_over_k(void **state) {
  static const char narrow[] = "return { row_gather = { fused = { 0 } }, group_tiles = { over = { 2 } } }";
  struct surroundings *s = *state;
  rgt__error err;
  rgt__target here;
  if (!s->stamp[0]) skip(); /* no compiler */
  assert_int_equal(rgt__cpu_target(NULL, &here, &err), RGT_OK);
  for (int i = 0; i < 3; i++)
    check_space(s, IN_EACH_TYPE("mlp:37-71-6:g5", "relu:b12:nk:i64")[i], here.name, RGT_STACKED, narrow);
}

static void test_avx2(void **state) {
  struct surroundings *s = *state;
  rgt__error err;
  rgt__target here;
  assert_int_equal(rgt__cpu_target(NULL, &here, &err), RGT_OK);
  if (!s->stamp[0] || strcmp(here.name, "x86-64-avx512") != 0) skip(); /* no compiler; or these ran above, or cannot run */
  for (int i = 1; i < 3; i++) {
    check_op(s, IN_EACH_TYPE("mlp:10-20-5:g3", "relu:b12:nk:i64")[i], "x86-64-avx2", RGT_STACKED);
    check_op(s, IN_EACH_TYPE("mlp:9-530-131:g2", "relu:b1:kn:i64")[i], "x86-64-avx2", RGT_STACKED);
  }
}

static void test_plain(void **state) {
  struct surroundings *s = *state;
  if (!s->stamp[0]) skip();
  for (int i = 0; i < 3; i++) {
    check_op(s, IN_EACH_TYPE("mlp:10-20-5:g3", "relu:b12:nk:i64")[i], "plain", RGT_STACKED);
    check_op(s, IN_EACH_TYPE("mlp:9-17-6:g3", "relu:b12:kn:i64")[i], "plain", RGT_STACKED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_question),    cmocka_unit_test(test_question_kn), cmocka_unit_test(test_odd_dims),
      cmocka_unit_test(test_tiny),        cmocka_unit_test(test_blocked),     cmocka_unit_test(test_blocked_kn),
      cmocka_unit_test(test_sums_over_k), cmocka_unit_test(test_avx2),        cmocka_unit_test(test_plain),
  };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
