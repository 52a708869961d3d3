/* test_cuda_compile.c -- the CUDA families' specs, and what NVRTC makes of their variants for each architecture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "generator/render.h"
#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/device.h"
#include "runtime/nvrtc.h"

static struct {
  rgt__environment env;
  rgt__sources *sources;
  rgt__families *families;
} t;

static rgt__error err;

#define OK(call)                                               \
  do {                                                         \
    err.text[0] = '\0';                                        \
    if ((call) != RGT_OK) fail_msg("%s: %s", #call, err.text); \
  } while (0)

static int setup(void **state) {
  (void)state;
  OK(rgt__environment_read(&t.env, &err));
  OK(rgt__sources_open(RGT_SOURCE_DIR "/templates", &t.sources, &err));
  OK(rgt__families_open(t.sources, &t.families, &err));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  rgt__families_free(t.families);
  rgt__sources_free(t.sources);
  rgt__environment_free(&t.env);
  return 0;
}

static void target_for(int sm, rgt__target *target) {
  *target = (rgt__target){.device = "cuda", .n_facts = 3};
  snprintf(target->name, sizeof target->name, "sm_%d", sm);
  strcpy(target->facts[0].name, "sm");
  target->facts[0].value = sm;
  strcpy(target->facts[1].name, "shared_static_max");
  target->facts[1].value = 49152;
  strcpy(target->facts[2].name, "shared_optin_max");
  target->facts[2].value = 101376;
}

/* ---- the spec ---------------------------------------------------------------------------------------------- */

static void test_the_default_is_valid_for_every_op(void **state) {
  static const char *const ops[] = {
      "linear:1-1:g1:f32:none:b0:nk:i32", "linear:16777216-16777216:g2147483647:bf16:gelu:b1:kn:i64",
      "mlp:1-1-1:g1:f16:relu:b12:nk:i64", "mlp:16777216-16777216-16777216:g2147483647:f32:tanh:b12:kn:i64"};
  const rgt__family *family = rgt__families_find(t.families, "cuda", "row_gather");
  rgt__device_info info = {0};
  (void)state;
  assert_non_null(family);
  assert_int_equal(family->rank, 0);
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    rgt_op_desc op;
    rgt__variant v;
    rgt__target target;
    rgt__rendered r;
    rgt__plan plan;
    rgt__render_facts facts = {RGT_STACKED, 2, RGT_ORDER_RAW};
    target_for(75, &target);
    OK(rgt__op_parse(ops[i], &op, &err));
    rgt__variant_default(family, &v);
    OK(rgt__variant_check(t.families, &v, &op, &target, &err));
    if (op.dtype == RGT_F32) facts.align_bytes = 4;
    OK(rgt__render(t.families, &v, &op, &target, &facts, &r, &err));
    rgt__plan_make(&r.program, &info, RGT_COUNT_MAX, op.groups, &plan);
    assert_int_equal(plan.valid, 1);
    for (int s = 0; s < r.program.n_steps; s++) {
      assert_int_equal(plan.steps[s].grid, op.n_in == 1 ? (RGT_COUNT_MAX + 15) / 16 : 2147483647);
      assert_int_equal(plan.steps[s].block, 128);
      assert_int_equal(plan.steps[s].shared, 0);
    }
    assert_int_equal(r.program.n_steps, op.kind == RGT_MLP ? 2 : 1);
    assert_int_equal(plan.workspace_bytes, 4 * RGT_COUNT_MAX * op.n_hidden);
    rgt__plan_make(&r.program, &info, 0, 1, &plan);
    for (int s = 0; s < r.program.n_steps; s++) assert_int_equal(plan.steps[s].grid, 0);
    rgt__rendered_free(&r);
  }
}

static void test_the_space_is_of_use(void **state) {
  static const char *const ops[] = {"mlp:10-20-5:g3:f32:relu:b12:nk:i64", "mlp:64-128-64:g8:bf16:relu:b12:nk:i64",
                                    "linear:64-64:g8:f16:none:b0:kn:i32", "mlp:6-12-2:g20000:f32:relu:b12:nk:i64",
                                    "linear:1-1:g8:f32:none:b0:nk:i32"};
  static const struct {
    const char *family;
    int n[5]; /* variants for each of the ops on sm_90 */
  } spaces[] = {{"row_gather", {40, 54, 30, 17, 9}}, {"weight_stationary", {63, 29, 46, 59, 12}}};
  (void)state;
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    rgt_op_desc op;
    rgt__target target;
    rgt__space space;
    target_for(90, &target);
    OK(rgt__op_parse(ops[i], &op, &err));
    OK(rgt__space_enumerate(t.families, &op, &target, NULL, NULL, 0, &space, &err));
    for (size_t f = 0; f < sizeof spaces / sizeof spaces[0]; f++) {
      int n = 0;
      for (int k = 0; k < space.n; k++) n += strcmp(space.variants[k].family->name, spaces[f].family) == 0;
      if (n != spaces[f].n[i]) fail_msg("%s has %d variants of %s, not %d", spaces[f].family, n, ops[i], spaces[f].n[i]);
    }
    rgt__space_free(&space);
  }
}

/* ---- NVRTC ------------------------------------------------------------------------------------------------- */

static void compile_one(rgt__nvrtc *nvrtc, const rgt__target *target, const rgt_op_desc *op, const rgt__render_facts *facts,
                        const rgt__variant *v) {
  rgt__rendered r;
  rgt__compiled out;
  char text[RGT_VARIANT_TEXT_MAX];
  rgt__variant_format(v, text);
  OK(rgt__render(t.families, v, op, target, facts, &r, &err));
  OK(rgt__nvrtc_compile(nvrtc, r.text, target->name, &out, &err));
  if (out.spill_bytes != 0 || out.stack_bytes != 0 || out.shared_bytes > 49152 || out.registers > 255)
    fail_msg("%s on %s: %d bytes spilled, stack %d, shared %d, %d registers", text, target->name, out.spill_bytes,
             out.stack_bytes, out.shared_bytes, out.registers);
  for (int s = 0; s < r.program.n_steps; s++) assert_non_null(strstr(out.ptx, r.program.steps[s].kernel));
  assert_null(strstr(out.ptx, "__local_depot"));
  assert_memory_equal(out.code, "\177ELF", 4);
  rgt__free(out.code);
  rgt__free(out.ptx);
  rgt__rendered_free(&r);
}

/* No variant spills: the default of one type or another on every architecture, and a sample of the rest on two. */
static void test_nvrtc_compiles_without_spills(void **state) {
  static const char *const ops[] = {"mlp:10-20-10:g3:f32:relu:b12:nk:i64", "mlp:64-128-64:g8:f16:gelu:b12:kn:i32",
                                    "linear:33-17:g8:bf16:silu:b1:nk:i64"};
  rgt__nvrtc *nvrtc;
  int targets[64];
  (void)state;
  if (rgt__nvrtc_open(&t.env, &nvrtc, &err) != RGT_OK) skip();
  int n_targets = rgt__nvrtc_targets(nvrtc, targets, 64);
  for (int i = 0; i < n_targets && i < 64; i++) {
    rgt__target target;
    target_for(targets[i], &target);
    int often = targets[i] == 80 || targets[i] == 90;
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
      if (!often && k != (size_t)i % 3) continue;
      rgt_op_desc op;
      rgt__space space;
      OK(rgt__op_parse(ops[k], &op, &err));
      rgt__render_facts facts = {k == 1 ? RGT_POINTERS : RGT_STACKED, k == 1 ? 16 : (int)rgt__number_bytes(op.dtype),
                                 RGT_ORDER_RAW};
      OK(rgt__space_enumerate(t.families, &op, &target, NULL, NULL, 0, &space, &err));
      rgt__space_sample(&space, often ? 4 : 1, (uint64_t)targets[i]);
      for (int v = 0; v < space.n; v++) compile_one(nvrtc, &target, &op, &facts, &space.variants[v]);
      rgt__space_free(&space);
    }
  }
  rgt__nvrtc_close(nvrtc);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_default_is_valid_for_every_op),
      cmocka_unit_test(test_the_space_is_of_use),
      cmocka_unit_test(test_nvrtc_compiles_without_spills),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
