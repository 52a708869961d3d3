/* test_pad8.c -- what pad8 asks of the machine, on ptxsim: the figures that the family is built for, as counters; and that
 * variants of one numeric class give the same bits, however they find, share and stage their rows.
 *
 * Whether results are right is other tests' business. */
#include "../tests/support/device.h"
#include "../tests/support/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/render.h"
#include "runtime/device.h"

static struct {
  rgt__environment env;
  rgt__sources *sources;
  rgt__families *families;
  rgt__device *device;
} t;

static rgt__error err;

#define OK(call)                                               \
  do {                                                         \
    err.text[0] = '\0';                                        \
    if ((call) != RGT_OK) fail_msg("%s: %s", #call, err.text); \
  } while (0)

/* ---- a variant and a call ---------------------------------------------------------------------------------- */

typedef struct code {
  rgt_op_desc op;
  rgt__rendered rendered;
  rgt__module *module;
} code;

static void code_open(code *c, const char *op, const char *variant) {
  rgt__variant v;
  rgt__compiled compiled;
  rgt__render_facts facts = {RGT_STACKED, 2, RGT_ORDER_RAW};
  memset(c, 0, sizeof *c);
  OK(rgt__op_parse(op, &c->op, &err));
  OK(rgt__variant_parse(t.families, "cuda", variant, &v, &err));
  OK(rgt__variant_check(t.families, &v, &c->op, &t.device->info.target, &err));
  OK(rgt__render(t.families, &v, &c->op, &t.device->info.target, &facts, &c->rendered, &err));
  OK(t.device->ops->compile(t.device, c->rendered.text, c->rendered.size, &t.device->info.target, 0, &compiled, &err));
  if (compiled.spill_bytes > 0 || compiled.stack_bytes > 0) fail_msg("%s spills %d bytes", variant, compiled.spill_bytes);
  OK(t.device->ops->load(t.device, NULL, compiled.ptx, compiled.ptx_bytes, &c->rendered.program, &c->module, &err));
  rgt__compiled_free(&compiled);
}

static void code_close(code *c) {
  t.device->ops->unload(t.device, c->module);
  rgt__rendered_free(&c->rendered);
}

typedef struct rows { /* of a call: so many of each group, in an order that mixes them */
  int64_t n, groups, *index;
  int64_t *of_group;
} rows;

static uint64_t random_state;
static int64_t random_from(int64_t low, int64_t high) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return low + (int64_t)((random_state >> 33) % (uint64_t)(high - low + 1));
}

static rows rows_make(int64_t groups, int64_t low, int64_t high) {
  rows r = {.groups = groups, .of_group = calloc((size_t)groups, sizeof *r.of_group)};
  random_state = 20261201;
  assert_non_null(r.of_group);
  for (int64_t g = 0; g < groups; g++) r.n += r.of_group[g] = random_from(low, high);
  r.index = calloc((size_t)r.n, sizeof *r.index);
  assert_non_null(r.index);
  for (int64_t g = 0, at = 0; g < groups; g++)
    for (int64_t i = 0; i < r.of_group[g]; i++) r.index[at++] = g;
  for (int64_t i = r.n - 1; i > 0; i--) {
    int64_t j = random_from(0, i), g = r.index[i];
    r.index[i] = r.index[j];
    r.index[j] = g;
  }
  return r;
}

static void rows_free(rows *r) {
  free(r->index);
  free(r->of_group);
}

static void *on_device(const void *data, size_t bytes) {
  void *p = NULL;
  OK(t.device->ops->mem_alloc(t.device, bytes, &p, &err));
  OK(t.device->ops->mem_write(t.device, p, data, bytes, &err));
  return p;
}

static void *numbers_on_device(int64_t n) { /* bf16, from 2^-8 to 2 in size, of both signs */
  uint16_t *v = calloc((size_t)n, sizeof *v);
  assert_non_null(v);
  for (int64_t i = 0; i < n; i++) v[i] = (uint16_t)(random_from(0, 1) << 15 | random_from(119 << 7, (128 << 7) - 1));
  void *p = on_device(v, (size_t)n * sizeof *v);
  free(v);
  return p;
}

/* Runs the call; *sum has the counters of all its launches, *last those of the last one. `flat`: every row of every matrix lies
 * at one address, so that a load of rows touches what a load of one row does. `y`: NULL, or room for the result. */
static void run(const code *c, const rows *r, int flat, ptxsim_launches *sum, ptxsim_launches *last, uint16_t *y) {
  static const rgt_int64 none[2] = {0, INT64_MAX};
  const rgt_op_desc *op = &c->op;
  const int64_t in = op->n_in, hidden = op->n_hidden, out = op->n_out;
  ptxsim_reports reports;
  rgt__plan plan;
  void *workspace = NULL;
  rgt__plan_make_on(t.device, c->module, &c->rendered.program, r->n, r->groups, &plan);
  assert_int_equal(plan.valid, 1);
  random_state = 4711;
  rgt_kargs k = {.rows = r->n, .groups = r->groups, .ld_x = in, .ld_y = out, .x_div = 1};
  k.x = numbers_on_device(r->n * in);
  k.y = numbers_on_device(r->n * out);
  k.index = on_device(r->index, (size_t)r->n * 8);
  k.w1 = numbers_on_device(r->groups * hidden * in);
  k.w2 = numbers_on_device(r->groups * hidden * out);
  k.b1 = numbers_on_device(r->groups * hidden);
  k.b2 = numbers_on_device(r->groups * out);
  k.ld_w1 = flat ? 0 : in;
  k.ld_w2 = flat ? 0 : hidden;
  k.stride_w1 = hidden * in;
  k.stride_w2 = hidden * out;
  k.stride_b1 = hidden;
  k.stride_b2 = out;
  k.n_index_errors = on_device(none, sizeof none);
  k.first_index_error = k.n_index_errors + 1;
  OK(t.device->ops->mem_alloc(t.device, (size_t)plan.workspace_bytes + 16, &workspace, &err));
  cu.ptxsim_reset();
  OK(t.device->ops->launch(t.device, c->module, &c->rendered.program, &plan, &k, workspace, t.device->stream, &err));
  OK(t.device->ops->sync(t.device, t.device->stream, &err));
  assert_int_equal(cu.ptxsim_total(NULL, sum), 0);
  assert_int_equal(cu.ptxsim_last_launch(last), 0);
  cu.ptxsim_report(&reports);
  if (reports.misuses + reports.findings + reports.faults > 0) fail_msg("ptxsim reports: %s", reports.last);
  if (y) OK(t.device->ops->mem_read(t.device, y, k.y, (size_t)(r->n * out) * sizeof *y, &err));
  void *const used[] = {(void *)(uintptr_t)k.x,
                        k.y,
                        (void *)(uintptr_t)k.index,
                        (void *)(uintptr_t)k.w1,
                        (void *)(uintptr_t)k.w2,
                        (void *)(uintptr_t)k.b1,
                        (void *)(uintptr_t)k.b2,
                        k.n_index_errors,
                        workspace};
  for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) t.device->ops->mem_free(t.device, used[i]);
}

/* ---- the figures ------------------------------------------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/* mma instructions that rows padded to 8, and k and outputs padded to 16, need. */
static int64_t mma_needed(const rgt_op_desc *op, const rows *r) {
  int64_t n = 0;
  for (int64_t g = 0; g < r->groups; g++)
    n += ceil_div(r->of_group[g], 8) * ceil_div(op->n_hidden, 16) * (ceil_div(op->n_in, 16) + ceil_div(op->n_out, 16));
  return n;
}

static void at_most(const char *what, double got, double limit) {
  print_message("    %s %.0f, at most %.0f\n", what, got, limit);
  if (got > limit) fail_msg("%s: %.0f; at most %.0f", what, got, limit);
}

/* Each matrix row that a load touches is 32 bytes of its own; flat, 8 of them are one. So what all of them ask for is 8/7 of
 * the difference. */
static void check_few_rows(const char *variant) {
  ptxsim_launches sum, last, flat;
  code c;
  rows r = rows_make(64, 1, 8);
  print_message("  %s\n", variant);
  code_open(&c, "mlp:64-128-64:g64:bf16:relu:b12:nk:i64", variant);
  run(&c, &r, 1, &sum, &flat, NULL);
  run(&c, &r, 0, &sum, &last, NULL);
  const double asked = (double)(last.counters.global_load_sectors - flat.counters.global_load_sectors) * 8 / 7;
  at_most("weight sectors", asked, 1.05 * 64 * 2 * 64 * 128 * 2 / 32);
  at_most("mma", (double)last.counters.inst_mma, 1.05 * (double)mma_needed(&c.op, &r));
  at_most("bank passes", (double)last.counters.shared_passes, 1.02 * (double)last.counters.shared_passes_least);
  print_message("    %llu warp instructions, %llu sectors, %.1f us modelled\n", (unsigned long long)sum.counters.inst_executed,
                (unsigned long long)sum.counters.global_load_sectors, (double)sum.time_ps / 1e6);
  code_close(&c);
  rows_free(&r);
}

#define VARIANT_OF(tokens, parts, shared, plan, run, share, stage, tiles, warps)                               \
  "pad8:hidden_parts=" #parts ",hidden_shared=" #shared ",plan=" #plan ",product=0,run=" #run ",share=" #share \
  ",stage_x=" #stage ",sub_tiles=" #tiles ",tokens=" #tokens ",warps=" #warps
#define VARIANT(...) VARIANT_OF(0, __VA_ARGS__)      /* tokens on n */
#define VARIANT_OF_M(...) VARIANT_OF(1, __VA_ARGS__) /* and on m */

static void test_few_rows(void **state) {
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  check_few_rows(VARIANT(1, 0, 0, 4, 0, 0, 1, 1));
  check_few_rows(VARIANT(1, 0, 1, 4, 0, 0, 1, 1));
  check_few_rows(VARIANT(1, 0, 0, 4, 1, 0, 1, 4));
  check_few_rows(VARIANT(1, 1, 0, 4, 1, 0, 1, 4));
  check_few_rows(VARIANT(1, 1, 0, 8, 1, 0, 1, 4));
  check_few_rows(VARIANT(1, 0, 1, 4, 1, 0, 4, 2));
}

static void test_one_launch(void **state) {
  ptxsim_launches sum, last;
  code c;
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  rows r = rows_make(3, 2, 3);
  code_open(&c, "mlp:10-20-5:g3:bf16:relu:b12:nk:i64", VARIANT(1, 0, 0, 4, 0, 0, 1, 1));
  run(&c, &r, 0, &sum, &last, NULL);
  assert_int_equal(sum.n_launches, 1);
  print_message("    %llu warp instructions\n", (unsigned long long)sum.counters.inst_executed);
  code_close(&c);
  rows_free(&r);
}

/* x, y, the index and the weights and biases of every group, once each. */
static void check_many_rows(const char *variant) {
  ptxsim_launches sum, last;
  code c;
  rows r = rows_make(64, 1, 1023);
  print_message("  %s\n", variant);
  code_open(&c, "mlp:64-128-64:g64:bf16:relu:b12:nk:i64", variant);
  run(&c, &r, 0, &sum, &last, NULL);
  const double compulsory = (double)(r.n * (64 + 64) * 2 + r.n * 8) + 64.0 * 2 * (2 * 64 * 128 + 128 + 64);
  at_most("DRAM bytes", (double)(sum.counters.dram_read_bytes + sum.counters.dram_write_bytes), 1.15 * compulsory);
  at_most("bank passes", (double)last.counters.shared_passes, 1.02 * (double)last.counters.shared_passes_least);
  print_message("    %llu warp instructions, %llu sectors, %.1f us modelled, %.1f of them the last launch's\n",
                (unsigned long long)sum.counters.inst_executed, (unsigned long long)sum.counters.global_load_sectors,
                (double)sum.time_ps / 1e6, (double)last.time_ps / 1e6);
  code_close(&c);
  rows_free(&r);
}

static void test_many_rows(void **state) {
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  check_many_rows(VARIANT(1, 0, 1, 4, 0, 0, 4, 1));
  check_many_rows(VARIANT(1, 1, 1, 4, 1, 0, 4, 4));
  check_many_rows(VARIANT_OF_M(1, 0, 1, 4, 0, 0, 2, 1));
  check_many_rows(VARIANT_OF_M(1, 1, 1, 4, 1, 0, 2, 4));
}

/* ---- one class, one result ---------------------------------------------------------------------------------- */

static void test_a_class_has_one_result(void **state) {
  static const char *const variants[] = {VARIANT(1, 0, 0, 4, 0, 0, 1, 1), VARIANT(1, 0, 1, 4, 0, 0, 4, 1),
                                         VARIANT(1, 0, 0, 4, 0, 0, 2, 4), VARIANT(1, 1, 1, 4, 1, 1, 2, 2),
                                         VARIANT(1, 1, 0, 4, 1, 0, 1, 4)};
  enum { N = sizeof variants / sizeof variants[0], OUT = 12 };
  uint16_t *first = NULL, *y = NULL;
  char class_name[RGT_NAME_MAX] = "";
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  rows r = rows_make(5, 0, 37);
  first = calloc((size_t)r.n * OUT, sizeof *first);
  y = calloc((size_t)r.n * OUT, sizeof *y);
  assert_true(first && y);
  for (int i = 0; i < N; i++) {
    ptxsim_launches sum, last;
    rgt__variant v;
    rgt__numeric numeric;
    code c;
    code_open(&c, "mlp:20-40-12:g5:bf16:gelu:b12:nk:i64", variants[i]);
    OK(rgt__variant_parse(t.families, "cuda", variants[i], &v, &err));
    OK(rgt__variant_numeric(t.families, &v, &c.op, &numeric, &err));
    if (i == 0) strcpy(class_name, numeric.class_name);
    assert_string_equal(numeric.class_name, class_name);
    run(&c, &r, 0, &sum, &last, i == 0 ? first : y);
    if (i > 0 && memcmp(first, y, (size_t)r.n * OUT * sizeof *y) != 0)
      fail_msg("%s: other bits than %s", variants[i], variants[0]);
    code_close(&c);
  }
  free(first);
  free(y);
  rows_free(&r);
}

/* ---- setup ------------------------------------------------------------------------------------------------- */

static int setup(void **state) {
  (void)state;
  if (sim_nvrtc_missing() != NULL) print_message("skipped: %s\n", sim_nvrtc_missing());
  if (sim_calls_load(SIM_LIBCUDA) != NULL) return -1;
  setenv("RAGTUNE_LIBCUDA", SIM_LIBCUDA, 1);
  OK(rgt__environment_read(&t.env, &err));
  OK(rgt__sources_open(SIM_SOURCE_DIR "/templates", &t.sources, &err));
  OK(rgt__families_open(t.sources, &t.families, &err));
  rgt__device_options options = {.env = &t.env};
  OK(rgt__device_cuda_open(&options, &t.device, &err));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  t.device->ops->close(t.device);
  rgt__families_free(t.families);
  rgt__sources_free(t.sources);
  rgt__environment_free(&t.env);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_launch), cmocka_unit_test(test_few_rows),
                                     cmocka_unit_test(test_many_rows), cmocka_unit_test(test_a_class_has_one_result)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
