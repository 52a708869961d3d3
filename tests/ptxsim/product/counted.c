/* counted.c -- variants on ptxsim for their counters. */
#include "counted.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/code_pair.h"

static rgt__error err;

#define OK(call)                                               \
  do {                                                         \
    err.text[0] = '\0';                                        \
    if ((call) != RGT_OK) fail_msg("%s: %s", #call, err.text); \
  } while (0)

void counted_lab_open(counted_lab *lab) {
  const char *why = sim_calls_load(SIM_LIBCUDA);
  if (why) fail_msg("%s", why);
  setenv("RAGTUNE_LIBCUDA", SIM_LIBCUDA, 1);
  OK(rgt__environment_read(&lab->env, &err));
  OK(rgt__sources_open(SIM_SOURCE_DIR "/templates", &lab->sources, &err));
  OK(rgt__families_open(lab->sources, &lab->families, &err));
  rgt__device_options options = {.env = &lab->env};
  OK(rgt__device_cuda_open(&options, &lab->device, &err));
}

void counted_lab_close(counted_lab *lab) {
  lab->device->ops->close(lab->device);
  rgt__families_free(lab->families);
  rgt__sources_free(lab->sources);
  rgt__environment_free(&lab->env);
}

void counted_code_open(counted_lab *lab, const char *op, const char *variant, counted_code *c) {
  const rgt__target *target = &lab->device->info.target;
  rgt__variant v;
  rgt__compiled compiled;
  memset(c, 0, sizeof *c);
  OK(rgt__op_parse(op, &c->op, &err));
  rgt__render_facts facts = {RGT_STACKED, (int)rgt__number_bytes(c->op.dtype), RGT_ORDER_RAW};
  OK(rgt__variant_parse(lab->families, "cuda", variant, &v, &err));
  OK(rgt__variant_check(lab->families, &v, &c->op, target, &err));
  OK(rgt__render(lab->families, &v, &c->op, target, &facts, &c->rendered, &err));
  OK(lab->device->ops->compile(lab->device, c->rendered.text, c->rendered.size, target, 0, &compiled, &err));
  if (compiled.spill_bytes > 0 || compiled.stack_bytes > 0) fail_msg("%s spills %d bytes", variant, compiled.spill_bytes);
  c->registers = compiled.registers;
  void *pair = NULL;
  size_t bytes = 0;
  OK(rgt__code_pair_join(&compiled, &pair, &bytes, &err)); /* the cubin has the registers */
  OK(lab->device->ops->load(lab->device, NULL, pair, bytes, &c->rendered.program, &c->module, &err));
  rgt__free(pair);
  rgt__compiled_free(&compiled);
}

void counted_code_close(counted_lab *lab, counted_code *c) {
  lab->device->ops->unload(lab->device, c->module);
  rgt__rendered_free(&c->rendered);
}

static uint64_t random_state;
static int64_t random_from(int64_t low, int64_t high) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return low + (int64_t)((random_state >> 33) % (uint64_t)(high - low + 1));
}

counted_rows counted_rows_make(int64_t groups, int64_t low, int64_t high, int64_t first) {
  counted_rows r = {.groups = groups,
                    .index = calloc((size_t)(groups * high + first + 1), sizeof *r.index),
                    .of_group = calloc((size_t)groups, sizeof *r.of_group)};
  random_state = 20261201;
  assert_true(r.index && r.of_group);
  for (int64_t g = 0; g < groups; g++) {
    r.of_group[g] = random_from(low, high) + (g == 0 ? first : 0);
    for (int64_t n = r.of_group[g]; n > 0; n--) r.index[r.n++] = g;
  }
  for (int64_t i = r.n - 1; i > 0; i--) {
    int64_t j = random_from(0, i), g = r.index[i];
    r.index[i] = r.index[j];
    r.index[j] = g;
  }
  return r;
}

void counted_rows_free(counted_rows *r) {
  free(r->index);
  free(r->of_group);
}

static void *on_device(rgt__device *d, const void *data, int64_t bytes) {
  void *p = NULL;
  OK(d->ops->mem_alloc(d, (size_t)bytes + 1, &p, &err));
  OK(d->ops->mem_write(d, p, data, (size_t)bytes, &err));
  return p;
}

/* In f32 numbers in [-1, 1); in 16 bits from 2^-8 to 2 in size, of both signs, which f16 and bf16 have in other bits. */
static void *numbers_on_device(rgt__device *d, rgt_dtype dtype, int64_t n) {
  const int mantissa = dtype == RGT_F16 ? 10 : 7, bias = dtype == RGT_F16 ? 15 : 127;
  float *v = calloc((size_t)n + 1, sizeof *v);
  uint16_t *v16 = (uint16_t *)v;
  assert_non_null(v);
  for (int64_t i = 0; i < n; i++)
    if (dtype == RGT_F32)
      v[i] = (float)random_from(-8388608, 8388607) / 8388608;
    else
      v16[i] = (uint16_t)(random_from(0, 1) << 15 | random_from((bias - 8) << mantissa, ((bias + 1) << mantissa) - 1));
  void *p = on_device(d, v, n * (int64_t)rgt__number_bytes(dtype));
  free(v);
  return p;
}

static void run(counted_lab *lab, const counted_code *c, const counted_rows *r, int flat, ptxsim_launches *sum,
                ptxsim_launches *last, void *y_host) {
  static const rgt_int64 none[2] = {0, INT64_MAX};
  rgt__device *d = lab->device;
  const int64_t in = c->op.n_in, hidden = c->op.n_hidden, out = c->op.n_out, wide = hidden > 0 ? hidden : out;
  const rgt_dtype t = c->op.dtype;
  ptxsim_reports reports;
  rgt__plan plan;
  rgt__plan_make_on(d, c->module, &c->rendered.program, r->n, r->groups, &plan);
  assert_int_equal(plan.valid, 1);
  random_state = 1;
  void *x = numbers_on_device(d, t, r->n * in), *y = numbers_on_device(d, t, r->n * out);
  void *index = on_device(d, r->index, r->n * 8), *counters = on_device(d, none, sizeof none);
  void *w1 = numbers_on_device(d, t, r->groups * wide * in), *b1 = numbers_on_device(d, t, r->groups * wide);
  void *w2 = numbers_on_device(d, t, r->groups * out * hidden), *b2 = numbers_on_device(d, t, r->groups * out);
  void *workspace = NULL;
  OK(d->ops->mem_alloc(d, (size_t)plan.workspace_bytes + 1, &workspace, &err));
  const rgt_kargs k = {.x = x,
                       .index = index,
                       .y = y,
                       .w1 = w1,
                       .b1 = b1,
                       .w2 = w2,
                       .b2 = b2,
                       .rows = r->n,
                       .groups = r->groups,
                       .ld_x = in,
                       .ld_y = out,
                       .ld_w1 = flat ? 0 : in,
                       .ld_w2 = flat ? 0 : hidden,
                       .stride_w1 = wide * in,
                       .stride_b1 = wide,
                       .stride_w2 = out * hidden,
                       .stride_b2 = out,
                       .x_div = 1,
                       .n_index_errors = counters,
                       .first_index_error = (rgt_int64 *)counters + 1};
  cu.ptxsim_reset();
  OK(d->ops->launch(d, c->module, &c->rendered.program, &plan, &k, workspace, d->stream, &err));
  OK(d->ops->sync(d, d->stream, &err));
  assert_int_equal(cu.ptxsim_total(NULL, sum), 0);
  assert_int_equal(cu.ptxsim_last_launch(last), 0);
  if (y_host) OK(d->ops->mem_read(d, y_host, y, (size_t)(r->n * out) * rgt__number_bytes(t), &err));
  cu.ptxsim_report(&reports);
  if (reports.misuses + reports.findings + reports.faults > 0) fail_msg("ptxsim reports: %s", reports.last);
  void *const used[] = {x, y, index, counters, w1, b1, w2, b2, workspace};
  for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) d->ops->mem_free(d, used[i]);
}

void counted_run(counted_lab *lab, const counted_code *c, const counted_rows *r, ptxsim_launches *sum, ptxsim_launches *last,
                 void *y) {
  run(lab, c, r, 0, sum, last, y);
}

void counted_run_flat(counted_lab *lab, const counted_code *c, const counted_rows *r, ptxsim_launches *sum,
                      ptxsim_launches *last) {
  run(lab, c, r, 1, sum, last, NULL);
}

double counted_busy(const ptxsim_launches *l) {
  return (double)l->counters.inst_executed / l->grid[0] / (double)l->counters.block_most_inst;
}

double counted_least_busy(const ptxsim_launches *l) {
  return (double)l->counters.block_least_inst / (double)l->counters.block_most_inst;
}
