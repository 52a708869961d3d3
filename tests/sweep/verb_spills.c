/* verb_spills.c -- each family keeps variants that do not spill: for an op and a target its default must not, and, of the
 * others in a seeded order, as many are compiled as it takes to have WANTED. Sizes of spaces stand beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "factors.h"
#include "named_ops.h"
#include "runtime/base/alloc.h"
#include "runtime/base/random.h"
#include "runtime/context.h"
#include "verbs.h"

enum { WANTED = 10, SPACE_MAX = 1000 };

typedef struct looking {
  rgt_ctx *ctx;
  rgt__device *device; /* compiles alone */
  rgt__candidate_maker maker;
  char toolchain[256];
  uint64_t seed;
  int n_rows, n_wrong;
} looking;

typedef struct tally {
  int free, spilled, failed, default_spills, registers_most;
  double milliseconds; /* of those compiled, not cached */
  int compiled;
} tally;

static rgt_status compile_one(looking *l, const rgt__variant *v, const rgt_op_desc *op, int is_default, tally *t) {
  rgt__candidate c;
  rgt_status status = rgt__candidate_render(&l->maker, v, op, &c, &l->ctx->error);
  if (status == RGT_OK) status = rgt__candidate_compile(&l->maker, &c, 0, &l->ctx->error);
  if (status != RGT_OK) return status;
  int spills = c.spill_bytes + c.stack_bytes > 0, failed = c.outcome != RGT_TRIAL_OK && !spills;
  if (failed) printf("%s: %s\n", c.text, c.reason);
  t->failed += failed;
  t->spilled += spills;
  t->free += !spills && !failed;
  if (is_default && (spills || failed)) t->default_spills = 1;
  if (c.registers > t->registers_most) t->registers_most = c.registers;
  t->compiled += c.milliseconds > 0;
  t->milliseconds += c.milliseconds;
  rgt__candidate_free(l->device, &c);
  return RGT_OK;
}

/* The n variants of one family, its default first; the others are taken in a drawn order. */
static rgt_status look_at_family(looking *l, const char *op_text, const rgt_op_desc *op, rgt__variant *v, int n) {
  rgt__random r;
  tally t = {0};
  rgt__random_seed(&r, l->seed);
  for (int i = n - 1; i > 1; i--) {
    int j = 1 + (int)rgt__random_below(&r, (uint64_t)i);
    rgt__variant swap = v[i];
    v[i] = v[j];
    v[j] = swap;
  }
  rgt_status status = RGT_OK;
  for (int i = 0; i < n && t.free < WANTED && status == RGT_OK; i++) status = compile_one(l, &v[i], op, i == 0, &t);
  int wrong = status != RGT_OK || t.free < WANTED || t.default_spills || t.failed;
  printf("%-7s %-44s %-20s %6d %6d %7d %9d %9d%s\n", l->maker.target.name, op_text, v->family->name, n, t.free, t.spilled,
         t.registers_most, t.compiled ? (int)(t.milliseconds / t.compiled) : 0,
         t.default_spills ? "  its default spills or fails"
         : wrong          ? "  too few, or a failure"
                          : "");
  fflush(stdout);
  l->n_rows++;
  l->n_wrong += wrong;
  return status;
}

static rgt_status look_at_op(looking *l, const char *text, const char *family) {
  rgt_op_desc op;
  rgt__space space = {0};
  rgt__error *err = &l->ctx->error;
  rgt_status status = rgt__op_parse(text, &op, err);
  if (status == RGT_OK) status = rgt__space_enumerate(l->maker.families, &op, &l->maker.target, NULL, NULL, 0, &space, err);
  if (status == RGT_OK && space.n > SPACE_MAX) {
    printf("%-7s %-44s has %d variants, more than %d\n", l->maker.target.name, text, space.n, SPACE_MAX);
    l->n_wrong++;
  }
  for (int i = 0, next; status == RGT_OK && i < space.n; i = next) {
    for (next = i; next < space.n && space.variants[next].family == space.variants[i].family;) next++;
    if (family && strcmp(space.variants[i].family->name, family)) continue;
    status = look_at_family(l, text, &op, &space.variants[i], next - i);
  }
  rgt__space_free(&space);
  return status;
}

static rgt_status look_at_target(looking *l, const char *target, const sweep_options *o) {
  int owned = 0;
  rgt_status status = rgt__context_device(l->ctx, target, &l->device, &owned);
  if (status != RGT_OK) return status;
  l->maker = (rgt__candidate_maker){
      .device = l->device, .target = l->device->info.target, .cache = l->ctx->cache, .toolchain = l->toolchain};
  status = rgt__context_families(l->ctx, &l->maker.families);
  if (status == RGT_OK) status = l->device->ops->toolchain(l->device, l->toolchain, sizeof l->toolchain, &l->ctx->error);
  int n = o->all ? SWEEP_N_NAMED : SWEEP_N_NAMED_IN_CI;
  for (int i = 0; i < n && status == RGT_OK; i++) {
    rgt_op_desc op;
    status = rgt__op_parse(sweep_named_ops[i], &op, &l->ctx->error);
    l->maker.facts = (rgt__render_facts){RGT_STACKED, op.dtype == RGT_F32 ? 4 : 2, RGT_ORDER_RAW};
    if (status == RGT_OK) status = look_at_op(l, sweep_named_ops[i], o->family);
  }
  if (owned) l->device->ops->close(l->device);
  return status;
}

int sweep_verb_spills(const sweep_options *o) {
  rgt_options options = {.struct_size = sizeof options, .device = "cpu", .database = ":memory:"};
  looking l = {.seed = o->seed};
  rgt_status status = rgt_open(&options, &l.ctx);
  puts("[==========] Running 1 test(s).");
  printf("%-7s %-44s %-20s %6s %6s %7s %9s %9s\n", "target", "op", "family", "space", "free", "spilled", "registers",
         "ms each");
  for (int t = 0; t < SWEEP_TARGETS && status == RGT_OK; t++)
    if (!o->target || !strcmp(o->target, sweep_target_name(t))) status = look_at_target(&l, sweep_target_name(t), o);
  if (status != RGT_OK) printf("%s%s\n", status == RGT_ENOCOMPILER ? "skipped: " : "", l.ctx ? rgt_errmsg(l.ctx) : "no memory");
  rgt_close(l.ctx);
  if (status == RGT_ENOCOMPILER) {
    puts("[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] sweep_spills");
    return SWEEP_EXIT_RIGHT;
  }
  int wrong = status != RGT_OK || l.n_wrong || !l.n_rows;
  printf("%d of %d have %d variants without a spill, the default among them\n", l.n_rows - l.n_wrong, l.n_rows, WANTED);
  puts(wrong ? "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] sweep_spills" : "[  PASSED  ] 1 test(s).");
  return wrong ? SWEEP_EXIT_WRONG : SWEEP_EXIT_RIGHT;
}
