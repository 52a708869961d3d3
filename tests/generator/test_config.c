/* test_config.c -- config files: lists multiplied out into ops, the other fields, and one clear line for each mistake. */
#include "fixture.h"

#include "generator/config.h"
#include "runtime/base/alloc.h"

static rgt__error err;

static rgt__config read_config(const char *text) {
  rgt__config c;
  if (rgt__config_read(text, "c.lua", &c, &err) != RGT_OK) fail_msg("%s", err.text);
  return c;
}

static void expect_ops(const rgt__config *c, const char *const *texts) {
  for (int i = 0; i < c->n_ops; i++) {
    char text[RGT_OP_TEXT_MAX];
    assert_int_equal(rgt__op_format(&c->ops[i], text, &err), RGT_OK);
    assert_int_equal(c->ops[i].struct_size, sizeof(rgt_op_desc));
    assert_non_null(texts[i]);
    assert_string_equal(text, texts[i]);
  }
  assert_null(texts[c->n_ops]);
}

static void multiplies(void **state) {
  (void)state;
  rgt__config c = read_config(
      "return { ops = { 'mlp:10-20-5:g3:f32:relu:b12:nk:i64', { n_in = { 64, 128 }, n_hidden = 256, groups = { 8, 64 } } },\n"
      "rows = { 8, 64 }, skew = { 'uniform', 'zipf' }, device = 'auto', budget_s = 600 }");
  expect_ops(&c, (const char *[]){"mlp:10-20-5:g3:f32:relu:b12:nk:i64", "mlp:64-256-64:g8:f32:relu:b12:nk:i64",
                                  "mlp:64-256-64:g64:f32:relu:b12:nk:i64", "mlp:128-256-128:g8:f32:relu:b12:nk:i64",
                                  "mlp:128-256-128:g64:f32:relu:b12:nk:i64", NULL});
  assert_int_equal(c.n_rows, 2);
  assert_int_equal(c.rows[0], 8);
  assert_int_equal(c.rows[1], 64);
  assert_int_equal(c.n_skews, 2);
  assert_int_equal(c.skews[0], RGT_SKEW_UNIFORM);
  assert_int_equal(c.skews[1], RGT_SKEW_ZIPF);
  assert_string_equal(c.device, "auto");
  assert_true(c.budget_s == 600);
  rgt__config_free(&c);
  assert_null(c.ops);
  rgt__config_free(&c);
}

static void defaults(void **state) {
  (void)state;
  rgt__config c = read_config("return { ops = { { n_in = 4, n_out = 8, groups = 2 } } }");
  expect_ops(&c, (const char *[]){"linear:4-8:g2:f32:none:b1:nk:i64", NULL});
  assert_int_equal(c.n_rows, 0);
  assert_int_equal(c.n_skews, 0);
  assert_string_equal(c.device, "auto");
  assert_true(c.budget_s == 0);
  rgt__config_free(&c);
  c = read_config("return { ops = { { n_in = 4, n_hidden = 5, n_out = 6, groups = 2, dtype = { 'bf16', 'f16' }, act = 'silu', "
                  "bias = { 'b0', 'b2' }, layout = 'kn', "
                  "index_type = 'i32' } }, rows = 4096, skew = 'one', device = 'cuda:1', budget_s = 0.5 }");
  expect_ops(&c, (const char *[]){"mlp:4-5-6:g2:bf16:silu:b0:kn:i32", "mlp:4-5-6:g2:bf16:silu:b2:kn:i32",
                                  "mlp:4-5-6:g2:f16:silu:b0:kn:i32", "mlp:4-5-6:g2:f16:silu:b2:kn:i32", NULL});
  assert_int_equal(c.n_rows, 1);
  assert_int_equal(c.rows[0], 4096);
  assert_int_equal(c.skews[0], RGT_SKEW_ONE);
  assert_string_equal(c.device, "cuda:1");
  assert_true(c.budget_s == 0.5);
  rgt__config_free(&c);
}

static void keeps_each_once(void **state) {
  (void)state;
  rgt__config c = read_config("local ops = {} for i = 1, 3 do ops[i] = { n_in = { i, 2 }, n_out = 1, groups = 1 } end\n"
                              "ops[4] = 'linear:3-1:g1:f32:none:b1:nk:i64'\nreturn { ops = ops }");
  expect_ops(&c, (const char *[]){"linear:1-1:g1:f32:none:b1:nk:i64", "linear:2-1:g1:f32:none:b1:nk:i64",
                                  "linear:3-1:g1:f32:none:b1:nk:i64", NULL});
  rgt__config_free(&c);
}

static void refuses(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"return 1", "c.lua:1: a config file is one `return { ops = { ... } }`"},
      {"return {\n}", "c.lua:1: config: ops must be a list of ops: texts and tables"},
      {"return {\n ops = {} }", "c.lua:2: config: ops has no op in its list"},
      {"return {\n op = {} }", "c.lua:2: config: unknown field 'op'; there are ops, rows, skew, device, budget_s"},
      {"return { ops = { 5 } }", "c.lua:1: ops: a number; an op is a text or a table"},
      {"return { ops = { first = 'x' } }", "c.lua:1: config: ops has no op in its list"},
      {"return { ops = { {\n n = 5 } } }",
       "c.lua:2: ops: unknown field 'n'; there are n_in, n_hidden, n_out, groups, dtype, act, bias, layout, index_type"},
      {"return { ops = { { n_in = 5 } } }", "c.lua:1: ops: an op's table needs groups"},
      {"return { ops = { { groups = 5 } } }", "c.lua:1: ops: an op's table needs n_in"},
      {"return { ops = { { groups = 5, n_in = 4 } } }", "c.lua:1: ops: an op's table needs n_out, or n_hidden for an MLP"},
      {"return { ops = { { groups = 5,\n n_in = { 4, 0 }, n_out = 1 } } }",
       "c.lua:2: ops: n_in = 0 is no whole number from 1 to 16777216"},
      {"return { ops = { { groups = 1 << 31, n_in = 4, n_out = 1 } } }",
       "c.lua:1: ops: groups = 2147483648 is no whole number from 1 to 2147483647"},
      {"return { ops = { { groups = 5, n_in = {}, n_out = 1 } } }", "c.lua:1: ops: n_in is an empty list"},
      {"return { rows = {}, ops = { { groups = 5, n_in = 2, n_out = 1 } } }",
       "c.lua:1: config: rows is no list of numbers, or an empty one"},
      {"return { rows = { a = 8 }, ops = { { groups = 5, n_in = 2, n_out = 1 } } }",
       "c.lua:1: config: rows is no list of numbers, or an empty one"},
      {"return { skew = {}, ops = { { groups = 5, n_in = 2, n_out = 1 } } }",
       "c.lua:1: config: skew is no list of words, or an empty one"},
      {"return { ops = { { groups = 5, n_in = 4, n_out = 1,\n\n dtype = 'f64' } } }", "c.lua:3: ops: dtype = f64 is not known"},
      {"return { ops = { { groups = 5, n_in = 4, n_out = 1, bias = 'b3' } } }", "c.lua:1: ops: bias = b3 is not known"},
      {"return { ops = { { groups = 5, n_in = 4, n_out = 1, bias = 'b2' } } }",
       "c.lua:1: op: bias is 2; a linear layer has 0 (b0) or 1 (b1)"},
      {"return { ops = { 'linear:1-1:g1:f32:none:b1:nk:i64' },\n rows = 0 }",
       "c.lua:2: config: rows: 0 is no whole number from 1 to 2147483647"},
      {"return { ops = { 'linear:1-1:g1:f32:none:b1:nk:i64' },\n rows = { 1, 'x' } }",
       "c.lua:2: config: rows: x is no whole number from 1 to 2147483647"},
      {"return { ops = { 'linear:1-1:g1:f32:none:b1:nk:i64' },\n skew = 'unknown' }",
       "c.lua:2: config: skew: 'unknown' is none of uniform, zipf, one"},
      {"return { ops = { 'linear:1-1:g1:f32:none:b1:nk:i64' },\n skew = { 'zipf', 'zipf' } }",
       "c.lua:2: config: skew: 'zipf' is there twice"},
      {"return { ops = { 'linear:1-1:g1:f32:none:b1:nk:i64' },\n budget_s = -1 }",
       "c.lua:2: config: budget_s = -1 is no number from 0.001 to 1e+09"},
      {"return { ops = { 'linear:1-1:g1:f32:none:b1:nk:i64' },\n device = 5 }",
       "c.lua:2: config: device is a number, not a text"},
      {"\nreturn { ops = os.time() }", "c.lua:2: unknown name 'os'; there are assert, error, family, ipairs, math, select, "
                                       "shared, string, table, tonumber, tostring, type, and what `local` declares"},
      {"local n = {} for i = 1, 101 do n[i] = i end return { ops = { { n_in = n, n_out = n, groups = 1 } } }",
       "c.lua:1: ops: more than 10000 after multiplying the lists out"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    rgt__config c = {0};
    assert_int_equal(rgt__config_read(wrong[i][0], "c.lua", &c, &err), RGT_ETEMPLATE);
    assert_string_equal(err.text, wrong[i][1]);
    assert_null(c.ops);
  }
  rgt__config c;
  assert_int_equal(rgt__config_read("return { ops = {\n 'mlp:10-20-5' } }", "c.lua", &c, &err), RGT_ETEMPLATE);
  assert_memory_equal(err.text, "c.lua:2: op \"mlp:10-20-5\": ", 27); /* the rest is the op's own message */
  assert_int_equal(rgt__config_read("return { ops = 1", "c.lua", &c, NULL), RGT_ETEMPLATE);
}

static long allocations_left;

static void *failing_realloc(void *user, void *p, size_t bytes) {
  (void)user;
  if (bytes == 0) {
    free(p);
    return NULL;
  }
  if (allocations_left-- <= 0) return NULL;
  return realloc(p, bytes);
}

static void survives_no_memory(void **state) {
  (void)state;
  rgt_status status = RGT_ENOMEM;
  long n = 0;
  rgt_set_alloc(failing_realloc, NULL);
  for (; status != RGT_OK && n < 5000; n++) {
    rgt__config c = {0};
    allocations_left = n;
    status = rgt__config_read("return { ops = { { n_in = { 1, 2, 3, 4, 5 }, n_out = { 1, 2, 3, 4 }, groups = 1 } } }", "c.lua",
                              &c, &err);
    assert_int_equal(c.n_ops, status == RGT_OK ? 20 : 0);
    if (status != RGT_OK) assert_int_equal(status, RGT_ENOMEM);
    rgt__config_free(&c);
  }
  rgt_set_alloc(NULL, NULL);
  assert_int_equal(status, RGT_OK);
  assert_true(n > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(multiplies), cmocka_unit_test(defaults),           cmocka_unit_test(keeps_each_once),
      cmocka_unit_test(refuses),    cmocka_unit_test(survives_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
