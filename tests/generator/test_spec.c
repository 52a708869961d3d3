/* test_spec.c -- specs into C: fields, params, variants' texts, constraints, numeric, work; and one clear line for each
 * mistake. */
#include "fixture.h"

#include "runtime/base/alloc.h"

static fixture x;

static int open_fixture(void **state) {
  (void)state;
  fixture_open(&x);
  return 0;
}

static int close_fixture(void **state) {
  (void)state;
  fixture_close(&x);
  return 0;
}

static void reads_families(void **state) {
  (void)state;
  assert_int_equal(rgt__families_count(x.families), 3);
  static const char *const order[] = {"rows", "tiles", "rows"}; /* cpu by rank, then cuda */
  for (int i = 0; i < 3; i++) assert_string_equal(rgt__families_at(x.families, i)->name, order[i]);
  assert_string_equal(rgt__families_at(x.families, 2)->device, "cuda");
  assert_null(rgt__families_at(x.families, 3));
  assert_null(rgt__families_find(x.families, "cuda", "tiles"));
  assert_ptr_equal(rgt__families_sources(x.families), x.sources);

  const rgt__family *rows = fixture_family(&x, "cpu", "rows");
  assert_string_equal(rows->about, "a fixture: every row by itself");
  assert_string_equal(rows->source, "nowhere");
  assert_int_equal(rows->revision, 3);
  assert_int_equal(rows->rank, 1);
  assert_int_equal(rows->op_kinds, 1 << RGT_LINEAR | 1 << RGT_MLP);
  assert_int_equal(rows->dtypes, 1 << RGT_F32 | 1 << RGT_BF16);
  assert_int_equal(rows->n_params, 2);
  assert_string_equal(rows->params[0].name, "lanes"); /* sorted by name */
  assert_int_equal(rows->params[0].n_values, 2);
  assert_int_equal(rows->params[0].values[1], 8);
  assert_int_equal(rows->params[0].default_value, 1);
  assert_string_equal(rows->params[1].name, "threads");
  assert_int_equal(rows->params[1].values[2], 8);
  assert_int_equal(rows->params[1].default_value, 1);

  const rgt__family *tiles = fixture_family(&x, "cpu", "tiles");
  assert_int_equal(tiles->rank, 100);
  assert_int_equal(tiles->n_params, 0);
  assert_int_equal(tiles->op_kinds, 1 << RGT_MLP);
}

static void fits(void **state) {
  (void)state;
  const rgt__family *tiles = fixture_family(&x, "cpu", "tiles");
  rgt_op_desc op = op_of("mlp:10-20-5:g3:f32:relu:b12:nk:i64");
  assert_true(rgt__family_fits(tiles, &op));
  op.dtype = RGT_F16;
  assert_false(rgt__family_fits(tiles, &op));
  op = op_of("linear:4-8:g4:f32:none:b0:kn:i32");
  assert_false(rgt__family_fits(tiles, &op));
}

static void digests_cover_included_files(void **state) {
  (void)state;
  fixture a, b, c, d;
  const char *spec = "local e = shared 'lib/e.lua'\n" SPEC("");
  const char *body = "//% include(\"lib/a.h\")\n";
  fixture_write(&a, "cpu/f.lua", spec, "cpu/f.c", body, "lib/a.h", "//% include('lib/b.h')\n", "lib/b.h", "b", "lib/e.lua",
                "return 1", "lib/other.h", "1", NULL);
  fixture_write(&b, "cpu/f.lua", spec, "cpu/f.c", body, "lib/a.h", "//% include('lib/b.h')\n", "lib/b.h", "b", "lib/e.lua",
                "return 1", "lib/other.h", "2", NULL);
  fixture_write(&c, "cpu/f.lua", spec, "cpu/f.c", body, "lib/a.h", "//% include('lib/b.h')\n", "lib/b.h", "B", "lib/e.lua",
                "return 1", "lib/other.h", "1", NULL);
  fixture_write(&d, "cpu/f.lua", spec, "cpu/f.c", body, "lib/a.h", "//% include('lib/b.h')\n", "lib/b.h", "b", "lib/e.lua",
                "return 2", "lib/other.h", "1", NULL);
  assert_int_equal(a.status | b.status | c.status | d.status, RGT_OK);
  const rgt__digest *digest = &fixture_family(&a, "cpu", "f")->template_digest;
  assert_true(rgt__digest_equal(digest, &fixture_family(&b, "cpu", "f")->template_digest));  /* a file that it does not use */
  assert_false(rgt__digest_equal(digest, &fixture_family(&c, "cpu", "f")->template_digest)); /* included by an included one */
  assert_false(rgt__digest_equal(digest, &fixture_family(&d, "cpu", "f")->template_digest)); /* shared data */
  fixture_close(&a);
  fixture_close(&b);
  fixture_close(&c);
  fixture_close(&d);
}

/* ---- variants' texts ---- */

static void formats_variants(void **state) {
  (void)state;
  char text[RGT_VARIANT_TEXT_MAX];
  rgt__variant v;
  rgt__variant_default(fixture_family(&x, "cpu", "rows"), &v);
  rgt__variant_format(&v, text);
  assert_string_equal(text, "rows:lanes=8,threads=4");
  rgt__variant_params_format(&v, text);
  assert_string_equal(text, "lanes=8,threads=4");
  assert_int_equal(rgt__variant_get(&v, "threads"), 4);
  assert_int_equal(rgt__variant_get(&v, "thread"), -1);
  rgt__variant_default(fixture_family(&x, "cpu", "tiles"), &v);
  rgt__variant_format(&v, text);
  assert_string_equal(text, "tiles");
  rgt__variant_params_format(&v, text);
  assert_string_equal(text, "");
}

static void parses_variants(void **state) {
  (void)state;
  rgt__variant v = fixture_variant(&x, "cpu", "rows:threads=8,lanes=4");
  char text[RGT_VARIANT_TEXT_MAX];
  rgt__variant_format(&v, text);
  assert_string_equal(text, "rows:lanes=4,threads=8");
  v = fixture_variant(&x, "cpu", "rows"); /* its default */
  rgt__variant_format(&v, text);
  assert_string_equal(text, "rows:lanes=8,threads=4");
  v = fixture_variant(&x, "cuda", "rows:block=64");
  assert_string_equal(v.family->device, "cuda");
  static const char *const wrong[][2] = {
      {"row", "variant \"row\": no family \"row\" for cpu; there are rows, tiles"},
      {"", "variant \"\": no family \"\" for cpu; there are rows, tiles"},
      {"rows:lanes=8", "variant \"rows:lanes=8\": threads is missing"},
      {"rows:lanes=8,threads=3", "variant \"rows:lanes=8,threads=3\": threads=3 is none of the values 2, 4, 8"},
      {"rows:lanes=08,threads=4", "variant \"rows:lanes=08,threads=4\": lanes=08 is none of the values 4, 8"},
      {"rows:lanes=8,lanes=8", "variant \"rows:lanes=8,lanes=8\": lanes is there twice"},
      {"rows:lane=8", "variant \"rows:lane=8\": \"lane=8\" is no param of rows; write rows:lanes=8,threads=4"},
      {"rows:", "variant \"rows:\": \"\" is no param of rows; write rows:lanes=8,threads=4"},
      {"rows:lanes", "variant \"rows:lanes\": \"lanes\" is no param of rows; write rows:lanes=8,threads=4"},
      {"rows:lanes=8,threads=4,",
       "variant \"rows:lanes=8,threads=4,\": \"\" is no param of rows; write rows:lanes=8,threads=4"},
      {"tiles:a=1", "variant \"tiles:a=1\": \"a=1\" is no param of tiles; write tiles"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(rgt__variant_parse(x.families, "cpu", wrong[i][0], &v, &x.err), RGT_EINVAL);
    assert_string_equal(x.err.text, wrong[i][1]);
  }
}

/* ---- what functions of a spec say ---- */

static void checks_constraints(void **state) {
  (void)state;
  rgt_op_desc op = op_of("mlp:32-20-5:g3:f32:relu:b12:nk:i64");
  rgt__variant v = fixture_variant(&x, "cpu", "rows:lanes=8,threads=4");
  assert_int_equal(rgt__variant_check(x.families, &v, &op, &cpu_target, &x.err), RGT_OK);
  op.n_in = 33; /* 33 * 8 > 64 * 4 */
  assert_int_equal(rgt__variant_check(x.families, &v, &op, &cpu_target, &x.err), RGT_EINFEASIBLE);
  assert_string_equal(x.err.text, "rows: constraint \"work of a thread\" does not hold");
  rgt__target narrow = cpu_target;
  narrow.facts[0].value = 4;
  assert_int_equal(rgt__variant_check(x.families, &v, &op, &narrow, &x.err), RGT_EINFEASIBLE);
  assert_string_equal(x.err.text, "rows: constraint \"lanes of the target\" does not hold"); /* the first one */
  op.dtype = RGT_F16;
  assert_int_equal(rgt__variant_check(x.families, &v, &op, &cpu_target, &x.err), RGT_EINFEASIBLE);
  assert_string_equal(x.err.text, "rows does no mlp op in f16");
  narrow.n_facts = 0;
  op.dtype = RGT_F32;
  assert_int_equal(rgt__variant_check(x.families, &v, &op, &narrow, &x.err), RGT_ETEMPLATE);
  assert_string_equal(x.err.text, "templates/cpu/rows.lua:17: device.lanes_max: no such field; there are name");
}

static void reads_numeric(void **state) {
  (void)state;
  rgt__numeric n;
  rgt_op_desc op = op_of("mlp:10-20-5:g3:f32:gelu:b12:nk:i64");
  rgt__variant v = fixture_variant(&x, "cpu", "rows:lanes=4,threads=2");
  assert_int_equal(rgt__variant_numeric(x.families, &v, &op, &n, &x.err), RGT_OK);
  assert_true(n.p1 == 0 && n.p2 == 0 && !n.mma && !n.hidden_16bit && n.u_h == 0 && n.eta_h == 0);
  assert_true(n.alpha == 0x1p-22 && n.beta == 0x1p-23);
  assert_string_equal(n.class_name, "seq4");
  op.act = RGT_ACT_TANH;
  assert_int_equal(rgt__variant_numeric(x.families, &v, &op, &n, &x.err), RGT_ETEMPLATE);
  assert_string_equal(x.err.text, "templates/cpu/rows.lua:21: shared.tanh: no such field; there are gelu, none, relu");
  v = fixture_variant(&x, "cpu", "tiles"); /* plain data */
  assert_int_equal(rgt__variant_numeric(x.families, &v, &op, &n, &x.err), RGT_OK);
  assert_true(n.p2 == 0x1p-21 && n.mma && n.hidden_16bit && n.u_h == 0x1p-16 && n.eta_h == 0x1p-134 && n.alpha == 0x1p-24);
}

static void reads_hidden(void **state) {
  (void)state;
  static const struct {
    const char *word;
    double u_h, eta_h;
  } hiddens[] = {{"f32", 0, 0},
                 {"f16", 0x1p-11, 0x1p-25},
                 {"bf16", 0x1p-8, 0x1p-134},
                 {"f16x2", 0x1p-21, 0x1p-25},
                 {"bf16x2", 0x1p-16, 0x1p-134}};
  rgt_op_desc op = op_of("mlp:10-20-5:g3:f32:relu:b12:nk:i64");
  for (size_t i = 0; i < sizeof hiddens / sizeof *hiddens; i++) {
    fixture f;
    char spec[1024];
    rgt__numeric n;
    snprintf(spec, sizeof spec,
             "local h = '%s'\nreturn family { about = 'a', source = 's', revision = 1, device = 'cpu', ops = { 'mlp' }, dtypes "
             "= { 'f32' },\n"
             "numeric = function(op, p) return { p1 = 0, p2 = 0, hidden = h, class = 'c' } end, work = { flops = 1, bytes = 1 "
             "}, steps = { { kernel = 'k' } } }",
             hiddens[i].word);
    fixture_write(&f, "cpu/f.lua", spec, "cpu/f.c", "x", NULL);
    assert_int_equal(f.status, RGT_OK);
    rgt__variant v = fixture_variant(&f, "cpu", "f");
    assert_int_equal(rgt__variant_numeric(f.families, &v, &op, &n, &f.err), RGT_OK);
    assert_true(n.u_h == hiddens[i].u_h && n.eta_h == hiddens[i].eta_h && n.hidden_16bit == (i > 0));
    fixture_close(&f);
  }
}

static void reads_work(void **state) {
  (void)state;
  double flops, bytes;
  rgt_op_desc op = op_of("mlp:10-20-5:g3:bf16:relu:b12:nk:i64");
  const rgt__family *rows = fixture_family(&x, "cpu", "rows");
  assert_int_equal(rgt__family_work(x.families, rows, &op, 100, 3, &flops, &bytes, &x.err), RGT_OK);
  assert_true(flops == 2.0 * 100 * 20 * 15 && bytes == 2.0 * 100 * 15);
  op = op_of("linear:4-8:g4:f32:none:b0:kn:i32");
  assert_int_equal(rgt__family_work(x.families, rows, &op, 10, 3, &flops, &bytes, &x.err), RGT_OK);
  assert_true(flops == 2.0 * 10 * 4 * 8 && bytes == 4.0 * 10 * 12);
  assert_int_equal(rgt__family_work(x.families, fixture_family(&x, "cpu", "tiles"), &op, 10, 3, &flops, &bytes, &x.err),
                   RGT_OK);
  assert_true(flops == 10 && bytes == 7);
}

static void admits(void **state) {
  (void)state;
  rgt__numeric n = {0};
  assert_true(rgt__numeric_admits(&n, RGT_F32, 0) && rgt__numeric_admits(&n, RGT_F16, 0) &&
              rgt__numeric_admits(&n, RGT_BF16, 0));
  n.p1 = 0x1p-21; /* 3xtf32 */
  assert_true(rgt__numeric_admits(&n, RGT_F32, 0));
  assert_false(rgt__numeric_admits(&n, RGT_F16, 0)); /* 16-bit storage asks for exact products */
  n.p1 = 0x1p-20;
  assert_true(rgt__numeric_admits(&n, RGT_F32, 0));
  n.p1 = 0x1p-19;
  assert_false(rgt__numeric_admits(&n, RGT_F32, 0));
  n = (rgt__numeric){.p2 = 0x1p-15};
  assert_false(rgt__numeric_admits(&n, RGT_F32, 0));
  n = (rgt__numeric){.u_h = 0x1p-21, .hidden_16bit = 1};
  assert_false(rgt__numeric_admits(&n, RGT_F32, 0)); /* hidden in f32, whatever the other is worth */
  assert_true(rgt__numeric_admits(&n, RGT_F32, 0x1p-21));
  assert_false(rgt__numeric_admits(&n, RGT_F32, 0x1p-22));
  n = (rgt__numeric){.u_h = 0x1p-11, .hidden_16bit = 1};
  assert_true(rgt__numeric_admits(&n, RGT_F16, 0) && rgt__numeric_admits(&n, RGT_BF16, 0));
  n.u_h = 0x1p-8;
  assert_false(rgt__numeric_admits(&n, RGT_F16, 0));
  assert_true(rgt__numeric_admits(&n, RGT_BF16, 0));
  n = (rgt__numeric){.alpha = 0x1p-21, .beta = 0x1p-21};
  assert_true(rgt__numeric_admits(&n, RGT_F32, 0));
  n.beta = 0x1p-20;
  assert_false(rgt__numeric_admits(&n, RGT_F32, 0));
  assert_true(rgt__numeric_admits(&n, RGT_F32, 0x1p-20));
  n = (rgt__numeric){.alpha = 0x1p-10};
  assert_false(rgt__numeric_admits(&n, RGT_F16, 0));
  assert_true(rgt__numeric_admits(&n, RGT_BF16, 0));
}

/* ---- mistakes ---- */

static void expect_refused(const char *spec, const char *message) {
  fixture f;
  fixture_write(&f, "cpu/f.lua", spec, "cpu/f.c", "x", "lib/a.lua", "return shared 'lib/b.lua'", "lib/b.lua",
                "\nreturn shared 'lib/a.lua'", "lib/nil.lua", "", "lib/bad.lua", "\n= 1", NULL);
  assert_int_equal(f.status, RGT_ETEMPLATE);
  assert_null(f.families);
  assert_string_equal(f.err.text, message);
  fixture_close(&f);
}

static void refuses_fields(void **state) {
  (void)state;
  expect_refused("return { about = 'x' }", "templates/cpu/f.lua:1: a spec is one `return family { ... }`");
  expect_refused("\nfamily { }", "templates/cpu/f.lua:1: a spec is one `return family { ... }`");
  expect_refused("\nreturn family {\n}", "templates/cpu/f.lua:2: family: field 'about' is missing: a text");
  expect_refused(SPEC("  -- colour\n  colour = 1, apples = 2,\n"),
                 "templates/cpu/f.lua:7: family: unknown field 'apples'; there are about, source, revision, rank, device, ops, "
                 "dtypes, params, constraints, numeric, "
                 "work, prior, valid, workspace, steps");
  expect_refused(SPEC("  5,\n"), "templates/cpu/f.lua:1: family: a value without a name; the fields are about, source, "
                                 "revision, rank, device, ops, dtypes, params, "
                                 "constraints, numeric, work, prior, valid, workspace, steps");
  expect_refused(SPEC("  revision = 0,\n"), "templates/cpu/f.lua:2: family: revision = 0 is no whole number from 1 to 1000000");
  expect_refused(SPEC("  rank = -1,\n"), "templates/cpu/f.lua:6: family: rank = -1 is no whole number from 0 to 1000000");
  expect_refused(SPEC("  rank = 'low',\n"), "templates/cpu/f.lua:6: family: rank is a string, not a whole number");
  expect_refused(SPEC("  about = '',\n"), "templates/cpu/f.lua:2: family: about is an empty text");
  expect_refused(SPEC("  device = 'cuda',\n"),
                 "templates/cpu/f.lua:2: family: device = \"cuda\", but the file lies in templates/cpu");
  expect_refused(SPEC("  ops = 'mlp',\n"),
                 "templates/cpu/f.lua:2: family: ops must be a list of words, such as { \"linear\" }");
  expect_refused(SPEC("  dtypes = { 'f32', 'f64' },\n"), "templates/cpu/f.lua:3: family: dtypes: 'f64' is not known");
  expect_refused(SPEC("  dtypes = { 'f32', 'f32' },\n"), "templates/cpu/f.lua:3: family: dtypes: 'f32' is named twice");
  expect_refused(SPEC("  numeric = 5,\n"), "templates/cpu/f.lua:3: family: numeric is a number, not a function or a table");
  expect_refused(SPEC("  valid = {},\n"),
                 "templates/cpu/f.lua:6: family: valid is a table, not a function, a text or a whole number");
  expect_refused(SPEC_WITHOUT_STEPS "}\n", "templates/cpu/f.lua:1: family: field 'steps' is missing: a function or a table");
}

static void refuses_params(void **state) {
  (void)state;
  expect_refused(SPEC("  params = 3,\n"), "templates/cpu/f.lua:6: family: params is a number, not a list");
  expect_refused(SPEC("  params = { threads = { 1 } },\n"),
                 "templates/cpu/f.lua:6: params is a list: 'threads =' does not belong there");
  expect_refused(SPEC("  params = { 'threads' },\n"), "templates/cpu/f.lua:6: params[1]: first comes the param's name: a "
                                                      "lower-case letter, then lower-case letters, digits and _");
  expect_refused(SPEC("  params = {\n    { 'Threads', { 1 } } },\n"),
                 "templates/cpu/f.lua:6: params[1]: first comes the param's name: a lower-case letter, then lower-case "
                 "letters, digits and _");
  expect_refused(SPEC("  params = {\n    { 'threads', 4 } },\n"),
                 "templates/cpu/f.lua:7: param threads: second comes its list of 1 to 16 values");
  expect_refused(SPEC("  params = {\n    { 'threads', {} } },\n"),
                 "templates/cpu/f.lua:7: param threads: second comes its list of 1 to 16 values");
  expect_refused(SPEC("  params = {\n    { 'threads', { 1, 2.5 } } },\n"),
                 "templates/cpu/f.lua:7: param threads: value 2 is no whole number from 0 up");
  expect_refused(SPEC("  params = {\n    { 'threads', { 1, -1 } } },\n"),
                 "templates/cpu/f.lua:7: param threads: value 2 is no whole number from 0 up");
  expect_refused(SPEC("  params = {\n    { 'threads', { 1, 2, 1 } } },\n"),
                 "templates/cpu/f.lua:7: param threads: value 1 is there twice");
  expect_refused(SPEC("  params = {\n    { 'threads', { 1 }, about = 'a' } },\n"),
                 "templates/cpu/f.lua:7: param threads: field 'default' is missing: a whole number");
  expect_refused(SPEC("  params = {\n    { 'threads', { 1 }, default = 1 } },\n"),
                 "templates/cpu/f.lua:7: param threads: field 'about' is missing: a text");
  expect_refused(SPEC("  params = {\n    { 'threads', { 1, 2 }, default = 3, about = 'a' } },\n"),
                 "templates/cpu/f.lua:7: param threads: default = 3 is not among its values");
  expect_refused(SPEC("  params = {\n    { 'threads', { 1 }, standard = 1 } },\n"),
                 "templates/cpu/f.lua:7: param threads: unknown field 'standard'; there are default, about");
  expect_refused(
      SPEC("  params = { { 'a', { 1 }, default = 1, about = 'a' },\n    { 'a', { 1 }, default = 1, about = 'a' } },\n"),
      "templates/cpu/f.lua:2: param a: there are two of that name");
  static const char *const taken[] = {"rows",      "n_in",   "act", "act_relu",  "device_x",
                                      "occupancy", "kernel", "max", "index_bits"};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    char spec[1024], message[256];
    snprintf(spec, sizeof spec, SPEC("  rank = 1, params = {\n    { '%s', { 1 }, default = 1, about = 'a' } },\n"), taken[i]);
    snprintf(message, sizeof message, "param %s: the name has a meaning in formulas or in the prelude; choose another",
             taken[i]);
    fixture f;
    fixture_write(&f, "cpu/f.lua", spec, "cpu/f.c", "x", NULL);
    assert_int_equal(f.status, RGT_ETEMPLATE);
    assert_non_null(strstr(f.err.text, message));
    fixture_close(&f);
  }
  expect_refused(
      SPEC("  params = {\n    { 'a_name_that_is_quite_long_as_names_go_in_here_1', { 1000000000000000 }, default = "
           "1000000000000000, about = 'a' },\n"
           "    { 'a_name_that_is_quite_long_as_names_go_in_here_2', { 1000000000000000 }, default = 1000000000000000, about = "
           "'a' },\n"
           "    { 'a_name_that_is_quite_long_as_names_go_in_here_3', { 1000000000000000 }, default = 1000000000000000, about = "
           "'a' },\n"
           "    { 'a_name_that_is_quite_long_as_names_go_in_here_4', { 1000000000000000 }, default = 1000000000000000, about = "
           "'a' } },\n"),
      "templates/cpu/f.lua:6: family: a variant's text takes 262 characters, and 255 is the limit: shorten the params' names");
}

static void refuses_the_rest(void **state) {
  (void)state;
  expect_refused(SPEC("  constraints = { function() return true end },\n"),
                 "templates/cpu/f.lua:6: constraints[1] must be { \"its name\", function(op, p, device) ... end }");
  expect_refused(SPEC("  constraints = { { 'name', true } },\n"),
                 "templates/cpu/f.lua:6: constraints[1] must be { \"its name\", function(op, p, device) ... end }");
  expect_refused(SPEC("  constraints = 1,\n"), "templates/cpu/f.lua:6: family: constraints is a number, not a list");
  expect_refused("return family {\n  about = \n}", "templates/cpu/f.lua:3: unexpected symbol near '}'");
  expect_refused(
      "local x = os.time()\n" SPEC(""),
      "templates/cpu/f.lua:1: unknown name 'os'; there are assert, error, family, ipairs, math, select, shared, string, "
      "table, tonumber, tostring, type, and what `local` declares");
  expect_refused("while true do end", "templates/cpu/f.lua:1: more than 50000000 instructions in one call: an endless loop?");
  expect_refused("\nlocal s = ('x'):rep(1 << 30)", "templates/cpu/f.lua:2: more than 65536 KiB of memory");
  expect_refused("\nlocal s = shared 'lib/none.lua'",
                 "templates/cpu/f.lua:2: shared \"lib/none.lua\": there is no such file below templates/");
  expect_refused("\nlocal s = shared('lib/' .. 'b.lua')", "templates/cpu/f.lua:2: shared \"lib/b.lua\": write the name as one "
                                                          "literal text, so that the family's digest covers the file");
  expect_refused("\nlocal s = shared 'lib/a.lua'", "templates/lib/b.lua:2: shared \"lib/a.lua\": the file asks for itself");
  expect_refused("\nlocal s = shared 'lib/nil.lua'",
                 "templates/cpu/f.lua:2: shared \"lib/nil.lua\": the file must return a value");
  expect_refused("\nlocal s = shared 'lib/bad.lua'",
                 "templates/cpu/f.lua:2: templates/lib/bad.lua:2: unexpected symbol near '='");
}

static void refuses_files(void **state) {
  (void)state;
  fixture f;
  fixture_write(&f, "cpu/f.lua", SPEC(""), "cpu/g.c", "x", NULL);
  assert_int_equal(f.status, RGT_ETEMPLATE);
  assert_string_equal(f.err.text, "templates/cpu/f.lua:1: its template templates/cpu/f.c is missing");
  fixture_close(&f);
  fixture_write(&f, "cpu/F-1.lua", SPEC(""), "cpu/F-1.c", "x", NULL);
  assert_int_equal(f.status, RGT_ETEMPLATE);
  assert_string_equal(
      f.err.text,
      "templates/cpu/F-1.lua:1: a family's name is a lower-case letter, then lower-case letters, digits and _, at most 47");
  fixture_close(&f);
  fixture_write(&f, "other/f.lua", "no Lua", "cpu/lib/x.lua", "no Lua", "f.lua", "no Lua", NULL); /* none of them a family */
  assert_int_equal(f.status, RGT_OK);
  assert_int_equal(rgt__families_count(f.families), 0);
  fixture_close(&f);
}

/* Functions that fail only when they are asked. */
static void refuses_answers(void **state) {
  (void)state;
  static const char *const wrong[][3] = {
      {"n", "  numeric = function(op, p)\n return p.x end,\n", "templates/cpu/f.lua:7: p.x: no such field; there are "},
      {"n", "  numeric = function(op)\n return op.groups end,\n",
       "templates/cpu/f.lua:7: op.groups: no such field; there are act, bias, bias1, bias2, dtype, elem_bytes, index_type, "
       "kind, layout, n_hidden, n_in, n_out"},
      {"n", "  numeric = function() return 1 end,\n", "templates/cpu/f.lua:3: numeric gave a number, not a table"},
      {"n", "  numeric = function() return { p1 = 2 } end,\n",
       "templates/cpu/f.lua:3: numeric: p1 = 2 is no number from 0 to 1"},
      {"n", "  numeric = function() return { p2 = 0 } end,\n",
       "templates/cpu/f.lua:3: numeric: field 'p1' is missing: a number"},
      {"n", "  numeric = function() return { p3 = 0 } end,\n",
       "templates/cpu/f.lua:6: numeric: unknown field 'p3'; there are p1, p2, hidden, class, alpha, beta, mma"},
      {"n", "  numeric = function() return { p1 = 0, p2 = 0, hidden = 'f64' } end,\n",
       "templates/cpu/f.lua:3: numeric: hidden = \"f64\" is none of f32, f16, bf16, f16x2, bf16x2"},
      {"n", "  numeric = function() return { p1 = 0, p2 = 0, hidden = 'f32' } end,\n",
       "templates/cpu/f.lua:3: numeric: field 'class' is missing: a text"},
      {"n", "  numeric = function() return { p1 = 0, p2 = 0, hidden = 'f32', class = 'c', mma = 1 } end,\n",
       "templates/cpu/f.lua:6: numeric: mma is a number, not true or false"},
      {"n", "  numeric = function() return { p1 = 0, p2 = 0, hidden = 'f32', class = 'c' } end,\n",
       "templates/cpu/f.lua:3: numeric: alpha or beta is missing: how exact is gelu evaluated?"},
      {"w", "  work = function() return 1 end,\n", "templates/cpu/f.lua:4: work gave a number, not a table"},
      {"w", "  work = { flops = 'rows' },\n", "templates/cpu/f.lua:4: work: field 'bytes' is missing: a formula"},
      {"w", "  work = { flops = 1, bytes = true },\n",
       "templates/cpu/f.lua:4: work: bytes is a boolean, not a formula (a text or a whole number)"},
      {"c", "  constraints = {\n { 'forgot to return', function(op) end } },\n",
       "templates/cpu/f.lua:7: constraint \"forgot to return\" gave a nil, not true or false"},
      {"c", "  constraints = {\n { 'writes', function(op) op.n_in = 3 end } },\n",
       "templates/cpu/f.lua:7: op.n_in cannot be set: op is read-only"},
  };
  rgt_op_desc op = op_of("mlp:10-20-5:g3:f32:gelu:b12:nk:i64");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fixture f;
    char spec[2048];
    double flops, bytes;
    rgt__numeric n;
    snprintf(spec, sizeof spec, SPEC("%s"), wrong[i][1]);
    fixture_write(&f, "cpu/f.lua", spec, "cpu/f.c", "x", NULL);
    if (f.status != RGT_OK) fail_msg("%s", f.err.text);
    rgt__variant v = fixture_variant(&f, "cpu", "f");
    rgt_status status = RGT_OK;
    if (wrong[i][0][0] == 'n') status = rgt__variant_numeric(f.families, &v, &op, &n, &f.err);
    if (wrong[i][0][0] == 'w') status = rgt__family_work(f.families, v.family, &op, 1, 1, &flops, &bytes, &f.err);
    if (wrong[i][0][0] == 'c') status = rgt__variant_check(f.families, &v, &op, &cpu_target, &f.err);
    assert_int_equal(status, RGT_ETEMPLATE);
    assert_string_equal(f.err.text, wrong[i][2]);
    fixture_close(&f);
  }
}

/* ---- out of memory ---- */

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
  rgt__sources *sources;
  rgt_set_alloc(failing_realloc, NULL);
  allocations_left = 100000;
  assert_int_equal(rgt__sources_open(RGT_TESTS_DIR "/fixtures/templates", &sources, NULL), RGT_OK);
  rgt_status status = RGT_ENOMEM;
  long n = 0;
  for (; status != RGT_OK && n < 20000; n += n < 300 ? 1 : 7) {
    rgt__families *families = NULL;
    rgt__error e = {""};
    allocations_left = n;
    status = rgt__families_open(sources, &families, &e);
    if (status != RGT_OK) {
      assert_int_equal(status, RGT_ENOMEM);
      assert_null(families);
    }
    rgt__families_free(families);
  }
  rgt__sources_free(sources);
  rgt_set_alloc(NULL, NULL);
  assert_int_equal(status, RGT_OK);
  assert_true(n > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_families),
      cmocka_unit_test(fits),
      cmocka_unit_test(digests_cover_included_files),
      cmocka_unit_test(formats_variants),
      cmocka_unit_test(parses_variants),
      cmocka_unit_test(checks_constraints),
      cmocka_unit_test(reads_numeric),
      cmocka_unit_test(reads_hidden),
      cmocka_unit_test(reads_work),
      cmocka_unit_test(admits),
      cmocka_unit_test(refuses_fields),
      cmocka_unit_test(refuses_params),
      cmocka_unit_test(refuses_the_rest),
      cmocka_unit_test(refuses_files),
      cmocka_unit_test(refuses_answers),
      cmocka_unit_test(survives_no_memory),
  };
  return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
