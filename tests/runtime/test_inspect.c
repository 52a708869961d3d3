/* test_inspect.c -- the maker and the variants that show, compile and verify work with. */
#include "runtime/inspect.h"

#include "tests/support/scratch.h"

static scratch s;
static rgt_ctx *ctx;
static rgt_op *op;
static rgt__inspect in;

static void open_op(const char *text) {
  rgt_op_desc desc;
  assert_int_equal(rgt_op_parse(ctx, text, &desc), RGT_OK);
  if (rgt_op_new(ctx, &desc, NULL, &op) != RGT_OK) fail_msg("%s", rgt_errmsg(ctx));
}

static int setup(void **state) {
  (void)state;
  scratch_open(&s);
  rgt_options o = {.struct_size = sizeof o,
                   .device = "cpu",
                   .database = ":memory:",
                   .cache_dir = scratch_path(&s, "cache"),
                   .mode = "cache"};
  if (rgt_open(&o, &ctx) != RGT_OK) return 1;
  open_op("mlp:10-20-5:g3:f32:relu:b12:nk:i64");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  rgt__inspect_close(&in);
  rgt_close(ctx);
  scratch_close(&s);
  return 0;
}

static rgt_status open_inspect(const char *target, const char *variant, int sample, int needs_compiler) {
  rgt__inspect_close(&in);
  return rgt__inspect_open(op, target, variant, sample, 7, needs_compiler, &in);
}

static void good(const char *target, const char *variant, int sample, int needs_compiler) {
  if (open_inspect(target, variant, sample, needs_compiler) != RGT_OK) fail_msg("%s", rgt_errmsg(ctx));
}

static void test_targets(void **state) {
  (void)state;
  char own[64];
  good(NULL, NULL, 0, 0);
  assert_ptr_equal(in.device, ctx->device);
  assert_int_equal(in.owns_device, 0);
  assert_ptr_equal(in.op, op);
  assert_ptr_equal(in.maker.device, ctx->device);
  assert_ptr_equal(in.maker.cache, ctx->cache);
  assert_ptr_equal(in.maker.toolchain, in.toolchain);
  assert_string_equal(in.toolchain, ""); /* nobody asked the compiler */
  assert_int_equal(in.maker.facts.form, RGT_STACKED);
  assert_int_equal(in.maker.facts.align_bytes, 4);
  snprintf(own, sizeof own, "%s", in.maker.target.name);
  assert_string_equal(own, ctx->device->info.target.name);
  good("cpu", NULL, 0, 0);
  assert_ptr_equal(in.device, ctx->device);
  good(own, NULL, 0, 0);
  assert_ptr_equal(in.device, ctx->device);
  assert_int_equal(open_inspect("gpu", NULL, 0, 0), RGT_EINVAL);
  assert_non_null(strstr(rgt_errmsg(ctx), "target \"gpu\" is unknown"));
  assert_null(in.device);
  assert_int_equal(in.space.n, 0);
}

static void test_one_variant(void **state) {
  (void)state;
  char text[RGT_VARIANT_TEXT_MAX];
  good(NULL, "row_gather:fused=1,lanes=4,vectors=4", 0, 0);
  assert_int_equal(in.space.n, 1);
  rgt__variant_format(&in.space.variants[0], text);
  assert_string_equal(text, "row_gather:fused=1,lanes=4,vectors=4");
  good(NULL, "row_gather", 5, 0); /* a sample of one variant is that variant */
  assert_int_equal(in.space.n, 1);
  assert_int_equal(open_inspect(NULL, "row_gathr", 0, 0), RGT_EINVAL);
  assert_non_null(strstr(rgt_errmsg(ctx), "no family \"row_gathr\""));
  assert_int_equal(in.space.n, 0);
  assert_int_equal(open_inspect(NULL, "row_gather:lanes=5", 0, 0), RGT_EINVAL);
  assert_int_equal(open_inspect(NULL, "", 0, 0), RGT_EINVAL);
}

/* The whole space, every variant different; a sample is a part of it in its order, the same for the same seed. */
static void test_space(void **state) {
  (void)state;
  char all[400][RGT_VARIANT_TEXT_MAX], text[RGT_VARIANT_TEXT_MAX], first[400][RGT_VARIANT_TEXT_MAX];
  good(NULL, NULL, 0, 0);
  int n = in.space.n;
  assert_true(n > 10 && n < 400);
  for (int i = 0; i < n; i++) {
    rgt__variant_format(&in.space.variants[i], all[i]);
    for (int j = 0; j < i; j++) assert_string_not_equal(all[i], all[j]);
  }
  assert_memory_equal(all[0], "row_gather:", 11);
  for (int turn = 0; turn < 2; turn++) {
    good(NULL, NULL, 6, 0);
    assert_int_equal(in.space.n, 6);
    int at = 0;
    for (int i = 0; i < 6; i++) {
      rgt__variant_format(&in.space.variants[i], text);
      while (at < n && strcmp(all[at], text) != 0) at++;
      assert_true(at < n);
      if (turn == 0) strcpy(first[i], text);
      assert_string_equal(text, first[i]);
    }
  }
  good(NULL, NULL, n + 100, 0);
  assert_int_equal(in.space.n, n);
}

static void test_compiler(void **state) {
  (void)state;
  rgt_status status = open_inspect(NULL, "row_gather", 0, 1);
  if (status == RGT_ENOCOMPILER) skip();
  assert_int_equal(status, RGT_OK);
  assert_non_null(strstr(in.toolchain, "-O3"));
}

static void test_no_compiler(void **state) {
  (void)state;
  rgt__inspect_close(&in);
  rgt_close(ctx);
  setenv("RAGTUNE_CC", "none", 1);
  rgt_options o = {.struct_size = sizeof o,
                   .device = "cpu",
                   .database = ":memory:",
                   .cache_dir = scratch_path(&s, "cache"),
                   .mode = "cache"};
  assert_int_equal(rgt_open(&o, &ctx), RGT_OK);
  unsetenv("RAGTUNE_CC");
  open_op("linear:4-8:g4:f32:none:b0:kn:i32");
  good(NULL, NULL, 0, 0); /* rendering needs none */
  assert_true(in.space.n > 0);
  assert_int_equal(open_inspect(NULL, NULL, 0, 1), RGT_ENOCOMPILER);
  assert_int_equal(in.space.n, 0);
}

/* CUDA's families, without a GPU: where NVRTC is found a device of its own, closed with the rest; else one line that says so.
 */
static void test_cuda_target(void **state) {
  (void)state;
  rgt_status status = open_inspect("sm_90", "row_gather", 0, 0);
  if (status == RGT_OK) {
    assert_int_equal(in.owns_device, 1);
    assert_string_equal(in.device->ops->kind, "cuda");
    assert_string_equal(in.maker.target.name, "sm_90");
    assert_string_equal(in.space.variants[0].family->device, "cuda");
  } else {
    assert_int_equal(status, RGT_ENOCOMPILER);
    assert_int_equal(in.owns_device, 0);
    assert_true(rgt_errmsg(ctx)[0]);
  }
  rgt__inspect_close(&in);
  rgt__inspect_close(&in);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_targets),  TEST(test_one_variant), TEST(test_space),
                                     TEST(test_compiler), TEST(test_no_compiler), TEST(test_cuda_target)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
