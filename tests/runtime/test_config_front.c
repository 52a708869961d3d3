/* test_config_front.c -- config files through ragtune.h: every field comes out, and every mistake has its status and its line.
 */
#include "tests/support/scratch.h"

#include <limits.h>

#include "runtime/ragtune.h"

static scratch folder;

/* A context that needs nothing of the machine; the config is read by it and outlives it. */
static rgt_ctx *open_ctx(void) {
  rgt_options o = {.struct_size = sizeof o, .device = "cpu", .database = ":memory:", .cache_dir = folder.folder};
  rgt_ctx *ctx = NULL;
  assert_int_equal(rgt_open(&o, &ctx), RGT_OK);
  return ctx;
}

static int make(void **unused) {
  (void)unused;
  scratch_open(&folder);
  return 0;
}

static int unmake(void **unused) {
  (void)unused;
  scratch_close(&folder);
  return 0;
}

static void expect_op(const rgt_config *c, int i, const char *wanted) {
  rgt_op_desc desc;
  char text[RGT_OP_TEXT_MAX];
  assert_int_equal(rgt_config_op(c, i, &desc), RGT_OK);
  assert_int_equal(rgt_op_format(NULL, &desc, text), RGT_OK);
  assert_string_equal(text, wanted);
}

static void every_field_comes_out(void **unused) {
  rgt_ctx *ctx = open_ctx();
  rgt_config *c = NULL;
  rgt_op_desc untouched = {.groups = 77};
  int n = -1;
  (void)unused;
  scratch_write(&folder, "c.lua",
                "return { ops = { 'mlp:10-20-5:g3:f32:relu:b12:nk:i64', { n_in = { 64, 128 }, n_out = 8, groups = 9 } },\n"
                "rows = { 8, 64, 7 }, skew = { 'zipf', 'one' }, device = 'cuda:3', budget_s = 2.5 }",
                0600);
  assert_int_equal(rgt_config_open(ctx, folder.path, &c), RGT_OK);
  rgt_close(ctx);
  assert_int_equal(rgt_config_count(c), 3);
  expect_op(c, 0, "mlp:10-20-5:g3:f32:relu:b12:nk:i64");
  expect_op(c, 1, "linear:64-8:g9:f32:none:b1:nk:i64");
  expect_op(c, 2, "linear:128-8:g9:f32:none:b1:nk:i64");
  assert_int_equal(rgt_config_op(c, 3, &untouched), RGT_EINVAL);
  assert_int_equal(rgt_config_op(c, -1, &untouched), RGT_EINVAL);
  assert_int_equal(untouched.groups, 77);
  const int64_t *rows = rgt_config_rows(c, &n);
  assert_int_equal(n, 3);
  assert_int_equal(rows[0], 8);
  assert_int_equal(rows[1], 64);
  assert_int_equal(rows[2], 7);
  const rgt_skew *skews = rgt_config_skews(c, &n);
  assert_int_equal(n, 2);
  assert_int_equal(skews[0], RGT_SKEW_ZIPF);
  assert_int_equal(skews[1], RGT_SKEW_ONE);
  assert_string_equal(rgt_config_device(c), "cuda:3");
  assert_true(rgt_config_budget_s(c) == 2.5);
  rgt_config_free(c);
  rgt_config_free(NULL);
}

static void what_is_left_out(void **unused) {
  rgt_ctx *ctx = open_ctx();
  rgt_config *c = NULL;
  int n = -1;
  (void)unused;
  scratch_write(&folder, "c.lua", "return { ops = { { n_in = 4, n_hidden = 6, groups = 2 } } }\n", 0600);
  assert_int_equal(rgt_config_open(ctx, folder.path, &c), RGT_OK);
  assert_int_equal(rgt_config_count(c), 1);
  expect_op(c, 0, "mlp:4-6-4:g2:f32:relu:b12:nk:i64");
  rgt_config_rows(c, &n);
  assert_int_equal(n, 0);
  n = -1;
  rgt_config_skews(c, &n);
  assert_int_equal(n, 0);
  assert_string_equal(rgt_config_device(c), "auto");
  assert_true(rgt_config_budget_s(c) == 0);
  rgt_config_free(c);
  rgt_close(ctx);
}

/* `wanted` follows the path */
static void expect_refusal(rgt_ctx *ctx, const char *text, const char *wanted) {
  rgt_config *c = NULL;
  char message[1024];
  scratch_write(&folder, "c.lua", text, 0600);
  snprintf(message, sizeof message, "%s:%s", folder.path, wanted);
  assert_int_equal(rgt_config_open(ctx, folder.path, &c), RGT_ETEMPLATE);
  assert_string_equal(rgt_errmsg(ctx), message);
  assert_null(c);
}

static void mistakes_name_their_line(void **unused) {
#define ONE "return { ops = { 'linear:1-1:g1:f32:none:b1:nk:i64' },\n "
  rgt_ctx *ctx = open_ctx();
  (void)unused;
  expect_refusal(ctx, "", "1: a config file is one `return { ops = { ... } }`");
  expect_refusal(ctx, "return { ops = {} }", "1: config: ops has no op in its list");
  expect_refusal(ctx, "return {\n op = {} }", "2: config: unknown field 'op'; there are ops, rows, skew, device, budget_s");
  expect_refusal(ctx, ONE "device = '' }", "2: config: device is an empty text");
  expect_refusal(ctx, "return { ops = { { groups = 5,\n n_in = {}, n_out = 1 } } }", "2: ops: n_in is an empty list");
  static const char *const devices[] = {"gpu", "cuda:", "cuda:1024", "cuda:-1", "cuda:1x", "cuda1", "CPU"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    char text[128], wanted[128];
    snprintf(text, sizeof text, ONE "rows = 8,\ndevice = '%s' }", devices[i]);
    snprintf(wanted, sizeof wanted, "3: config: device is \"%s\"; it can be auto, cpu, cuda or cuda:N", devices[i]);
    expect_refusal(ctx, text, wanted);
  }
  rgt_close(ctx);
}

static void devices_are_taken(void **unused) {
  static const char *const devices[] = {"auto", "cpu", "cuda", "cuda:0", "cuda:1023"};
  rgt_ctx *ctx = open_ctx();
  (void)unused;
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    char text[128];
    rgt_config *c = NULL;
    snprintf(text, sizeof text, ONE "device = '%s' }", devices[i]);
    scratch_write(&folder, "c.lua", text, 0600);
    assert_int_equal(rgt_config_open(ctx, folder.path, &c), RGT_OK);
    assert_string_equal(rgt_config_device(c), devices[i]);
    rgt_config_free(c);
  }
  rgt_close(ctx);
}

static void files_that_are_none(void **unused) {
  static const char with_zero[] = ONE "rows = 8,\0 device = 'gpu' }";
  rgt_ctx *ctx = open_ctx();
  rgt_config *c = NULL;
  FILE *f;
  (void)unused;
  assert_int_equal(rgt_config_open(ctx, "/nonexistent/c.lua", &c), RGT_EIO);
  assert_non_null(strstr(rgt_errmsg(ctx), "/nonexistent/c.lua"));
  assert_int_equal(rgt_config_open(ctx, folder.folder, &c), RGT_EIO);
  assert_non_null(strstr(rgt_errmsg(ctx), folder.folder));
  f = fopen(scratch_path(&folder, "zero.lua"), "we");
  assert_non_null(f);
  assert_int_equal(fwrite(with_zero, 1, sizeof with_zero - 1, f), sizeof with_zero - 1);
  assert_int_equal(fclose(f), 0);
  assert_int_equal(rgt_config_open(ctx, folder.path, &c), RGT_ETEMPLATE);
  assert_non_null(strstr(rgt_errmsg(ctx), "zero.lua:2: a byte that is 0; a config file is text"));
  f = fopen(scratch_path(&folder, "long.lua"), "we");
  assert_non_null(f);
  for (int i = 0; i < (1 << 20) + 1; i++) fputc('\n', f);
  assert_int_equal(fclose(f), 0);
  assert_int_equal(rgt_config_open(ctx, folder.path, &c), RGT_EIO);
  assert_null(c);
  rgt_close(ctx);
}

/* Each allocation fails in turn; nothing is leaked (the sanitizer looks) and the last try succeeds. */
static void survives_no_memory(void **unused) {
  rgt_ctx *ctx = open_ctx();
  rgt_config *c = NULL;
  rgt_status status = RGT_ENOMEM;
  int n = 0;
  (void)unused;
  scratch_write(&folder, "c.lua", ONE "rows = { 1, 2 } }", 0600);
  for (; status == RGT_ENOMEM && n < 5000; n++) {
    assert_null(c);
    scratch_fail_after(n);
    status = rgt_config_open(ctx, folder.path, &c);
  }
  scratch_fail_never();
  assert_int_equal(status, RGT_OK);
  assert_true(n > 3);
  assert_int_equal(rgt_config_count(c), 1);
  rgt_config_free(c);
  rgt_close(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_field_comes_out),    cmocka_unit_test(what_is_left_out),
      cmocka_unit_test(mistakes_name_their_line), cmocka_unit_test(devices_are_taken),
      cmocka_unit_test(files_that_are_none),      cmocka_unit_test(survives_no_memory),
  };
  return cmocka_run_group_tests(tests, make, unmake);
}
