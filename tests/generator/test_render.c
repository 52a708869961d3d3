/* test_render.c -- templates to text: golden files, #line, values, includes, the program; and one clear line for each mistake.
 */
#include "fixture.h"

#include "runtime/base/alloc.h"
#include "templates/lib/kargs.h"

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

#define MLP "mlp:10-20-5:g3:f32:relu:b12:nk:i64"

static rgt__rendered render(const fixture *f, const char *device, const char *variant, const char *op_text,
                            const rgt__render_facts *facts) {
  rgt__rendered r;
  rgt__error err = {""};
  rgt_op_desc op = op_of(op_text);
  rgt__variant v = fixture_variant(f, device, variant);
  const rgt__target *target = strcmp(device, "cpu") ? &cuda_target : &cpu_target;
  if (rgt__render(f->families, &v, &op, target, facts, &r, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(strlen(r.text), r.size);
  return r;
}

/* expect_golden -- the text is that of golden/<name>; else it is kept in the build folder, to look at or to take over. */
static void expect_golden(const char *name, const char *text, size_t size) {
  char path[512];
  rgt__buffer golden = {0};
  snprintf(path, sizeof path, RGT_TESTS_DIR "/fixtures/golden/%s", name);
  rgt_status status = rgt__file_read(path, 1 << 20, &golden, NULL);
  int same = status == RGT_OK && golden.size == size && memcmp(golden.data, text, size) == 0;
  rgt__buffer_free(&golden);
  if (same) return;
  snprintf(path, sizeof path, RGT_BUILD_DIR "/%s", name);
  assert_int_equal(rgt__file_write(path, text, size, 0600, NULL), RGT_OK);
  fail_msg("differs from tests/fixtures/golden/%s: see %s", name, path);
}

static void golden(void **state) {
  (void)state;
  static const struct {
    const char *name, *device, *variant, *op;
    rgt__render_facts facts;
  } cases[] = {
      {"cpu_rows_mlp.c", "cpu", "rows:lanes=8,threads=4", MLP, {RGT_STACKED, 4, RGT_ORDER_RAW}},
      {"cpu_rows_linear.c",
       "cpu",
       "rows:lanes=4,threads=2",
       "linear:7-3:g1000:bf16:none:b0:kn:i32",
       {RGT_POINTERS, 16, RGT_ORDER_RAW}},
      {"cpu_tiles.c", "cpu", "tiles", MLP, {RGT_STACKED, 4, RGT_ORDER_RAW}},
      {"cuda_rows.cu", "cuda", "rows", "linear:7-3:g9:f16:gelu_tanh:b1:nk:i64", {RGT_STACKED, 2, RGT_ORDER_RAW}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rgt__rendered r = render(&x, cases[i].device, cases[i].variant, cases[i].op, &cases[i].facts);
    rgt__buffer all = {0};
    rgt__buffer_text(&all, r.text);
    rgt__buffer_text(&all, "--- program\n");
    rgt__program_format(&r.program, &all);
    expect_golden(cases[i].name, all.data, all.size);
    rgt__buffer_free(&all);
    rgt__rendered_free(&r);
    assert_null(r.text);
    rgt__rendered_free(&r);
  }
}

/* What the text depends on: the same in another Lua state, whatever was rendered before, and for every number of groups. */
static void repeats(void **state) {
  (void)state;
  fixture y;
  fixture_open(&y);
  rgt__rendered a = render(&y, "cpu", "rows", MLP, &stacked4),
                other = render(&x, "cpu", "rows:lanes=4,threads=8", MLP, &stacked4);
  rgt__rendered b = render(&x, "cpu", "rows", MLP, &stacked4),
                c = render(&x, "cpu", "rows", "mlp:10-20-5:g2147483647:f32:relu:b12:nk:i64", &stacked4);
  assert_string_equal(a.text, b.text);
  assert_string_equal(a.text, c.text);
  assert_true(rgt__digest_equal(&a.digest, &c.digest));
  assert_string_not_equal(a.text, other.text);
  rgt__digest whole;
  rgt__digest_of(a.text, a.size, &whole);
  assert_true(rgt__digest_equal(&a.digest, &whole));
  rgt__rendered_free(&a);
  rgt__rendered_free(&b);
  rgt__rendered_free(&c);
  rgt__rendered_free(&other);
  fixture_close(&y);
}

/* Entry names differ wherever anything differs that the code could depend on. */
static void names_entries(void **state) {
  (void)state;
  rgt__render_facts pointers = {RGT_POINTERS, 4, RGT_ORDER_RAW}, aligned = {RGT_STACKED, 16, RGT_ORDER_RAW},
                    sorted = {RGT_STACKED, 4, RGT_ORDER_SORTED};
  rgt__rendered all[] = {
      render(&x, "cpu", "rows", MLP, &stacked4),
      render(&x, "cpu", "rows", MLP, &pointers),
      render(&x, "cpu", "rows", MLP, &aligned),
      render(&x, "cpu", "rows", MLP, &sorted),
      render(&x, "cpu", "rows:lanes=8,threads=2", MLP, &stacked4),
      render(&x, "cpu", "rows", "mlp:10-20-5:g3:f32:relu:b12:nk:i32", &stacked4),
      render(&x, "cpu", "rows", "mlp:10-20-6:g3:f32:relu:b12:nk:i64", &stacked4),
  };
  int n = sizeof all / sizeof *all;
  for (int i = 0; i < n; i++) {
    const char *name = all[i].program.steps[1].kernel;
    assert_memory_equal(name, "rows_", 5);
    assert_int_equal(strlen(name), 5 + 16);
    assert_int_equal(strspn(name + 5, "0123456789abcdef"), 16);
    char define[64];
    snprintf(define, sizeof define, "#define KERNEL(name) RGT_JOIN(name, _%s)\n", name + 5);
    assert_non_null(strstr(all[i].text, define));
    for (int k = 0; k < i; k++) assert_string_not_equal(name, all[k].program.steps[1].kernel);
  }
  rgt_op_desc op = op_of(MLP);
  rgt__target other = cpu_target;
  rgt__variant v = fixture_variant(&x, "cpu", "rows");
  rgt__rendered r;
  other.facts[1].value = 64;
  assert_int_equal(rgt__render(x.families, &v, &op, &other, &stacked4, &r, &x.err), RGT_OK);
  assert_string_not_equal(r.program.steps[1].kernel, all[0].program.steps[1].kernel);
  rgt__rendered_free(&r);
  for (int i = 0; i < n; i++) rgt__rendered_free(&all[i]);
}

static void makes_programs(void **state) {
  (void)state;
  rgt__rendered r = render(&x, "cpu", "rows", MLP, &stacked4);
  int64_t vars[RGT_N_VARS] = {[RGT_VAR_ROWS] = 17, [RGT_VAR_GROUPS] = 8000};
  assert_int_equal(r.program.kargs_version, RGT_KARGS_VERSION);
  assert_int_equal(r.program.n_steps, 2);
  assert_int_equal(rgt__formula_eval(&r.program.workspace, vars), 4 * 17 * 20);
  assert_int_equal(rgt__formula_eval(&r.program.valid, vars), 1); /* groups <= 1000 * lanes_max, a device fact */
  vars[RGT_VAR_GROUPS] = 8001;
  assert_int_equal(rgt__formula_eval(&r.program.valid, vars), 0);
  const rgt__step *s = r.program.steps;
  assert_int_equal(s[0].kind, RGT_STEP_MEMSET);
  assert_int_equal(rgt__formula_eval(&s[0].offset, vars), 16);
  assert_int_equal(rgt__formula_eval(&s[0].bytes, vars), 4 * 8001);
  assert_int_equal(s[0].value, 255);
  assert_int_equal(s[1].kind, RGT_STEP_KERNEL);
  assert_int_equal(rgt__formula_eval(&s[1].grid, vars), 3); /* a param: ceil_div(17, 8) */
  assert_int_equal(rgt__formula_eval(&s[1].shared, vars), 8);
  assert_int_equal(rgt__formula_eval(&s[1].block, vars), 0);
  rgt__rendered_free(&r);
  r = render(&x, "cpu", "rows", "linear:4-8:g4:f32:none:b0:kn:i32", &stacked4);
  assert_int_equal(r.program.n_steps, 1);
  assert_int_equal(rgt__formula_eval(&r.program.workspace, vars), 0);
  rgt__rendered_free(&r);
  r = render(&x, "cpu", "tiles", MLP, &stacked4); /* nothing said: valid always, no workspace */
  assert_int_equal(rgt__formula_eval(&r.program.valid, vars), 1);
  assert_int_equal(rgt__formula_eval(&r.program.workspace, vars), 0);
  rgt__rendered_free(&r);
}

/* The text below the prelude. */
static const char *body_of(const char *text) {
  const char *body = strstr(text, "#line 1 ");
  if (!body) body = strstr(text, "#line ");
  assert_non_null(body);
  return body;
}

static void expect_body(const char *template, const char *body) {
  fixture f;
  fixture_write(&f, "cpu/f.lua", SPEC("  params = { { 'width', { 4 }, default = 4, about = 'a' } },\n"), "cpu/f.c", template,
                "lib/a.h", "a1 $(width)\n//% include 'lib/b.h'\na3\n", "lib/b.h",
                "b1\n//% include('lib/a.h')\n//% include('cpu/f.c')\nb4\n", "lib/t.lua", "return { 'x', 'y', name = 'z' }",
                NULL);
  if (f.status != RGT_OK) fail_msg("%s", f.err.text);
  rgt__rendered r = render(&f, "cpu", "f", MLP, &stacked4);
  assert_string_equal(body_of(r.text), body);
  rgt__rendered_free(&r);
  fixture_close(&f);
}

#define AT(line) "#line " #line " \"templates/cpu/f.c\"\n"

static void follows_lines(void **state) {
  (void)state;
  expect_body("one\ntwo\n\nfour", AT(1) "one\ntwo\n\nfour\n");
  expect_body("//% local a = 1\n//% local b = 2\nthree $(a + b)\n", AT(3) "three 3\n");
  expect_body("//% for i = 1, 3 do\nx$(i)\ny\n//% end\nz\n", AT(2) "x1\ny\n" AT(2) "x2\ny\n" AT(2) "x3\ny\n" AT(5) "z\n");
  expect_body("a\n//% if width > 4 then\nb\n//% else\nc\n//% end\nd\n", AT(1) "a\n" AT(5) "c\n" AT(7) "d\n");
  expect_body("a\n  \t//% -- a comment\nb // % is none\nc //% nor this\n",
              AT(1) "a\n" AT(3) "b // % is none\nc //% nor this\n");
  expect_body("//% local t = {\n//%   1, 2,\n//% }\n//% for _, v in ipairs(t) do\n$(v)\n//% end", AT(5) "1\n" AT(5) "2\n");
  expect_body(
      "a\n//% include('lib/a.h')\nb\n//% include('lib/b.h')\n//% include('lib/a.h')\nc\n",
      AT(1) "a\n#line 1 \"templates/lib/a.h\"\na1 4\n#line 1 \"templates/lib/b.h\"\nb1\n#line 4 \"templates/lib/b.h\"\nb4\n"
            "#line 3 \"templates/lib/a.h\"\na3\n" AT(3) "b\n" AT(6) "c\n");
}

static void inserts_values(void **state) {
  (void)state;
  expect_body("$(1)$(2.0)$(-3) $('a' .. 1) $(op.n_in) $(p.width) $(width * 2) $(device.lanes_max) $(lanes_max) $(n_hidden)",
              AT(1) "12-3 a1 10 4 8 8 8 20\n");
  expect_body("$(2^31) $(1 << 62) $(math.mininteger) $(7 // 2)",
              AT(1) "2147483648 4611686018427387904 -9223372036854775808 3\n");
  expect_body("$(')') $(\"(\") $((1 + (2)) * 3) $('\\'') $('a\\\\') $ (1) $1 \\$('x')", AT(1) ") ( 9 ' a\\ $ (1) $1 \\x\n");
  expect_body("tab\there \"q\" 'q' \\n \x7f \xc3\xa4 %d %%\r\n", AT(1) "tab\there \"q\" 'q' \\n \x7f \xc3\xa4 %d %%\r\n");
  expect_body("$('a\\nb')\nc\n", AT(1) "a\nb\n" AT(2) "c\n");
  expect_body("$('')\n$(string.format('%.3e', 0.5))\n", AT(1) "\n5.000e-01\n");
  expect_body("//% local t = shared 'lib/t.lua'\n$(t[2])$(#t)$(t.name)\n", AT(2) "y2z\n");
}

static void expect_refused(const char *template, const char *message) {
  fixture f;
  rgt__rendered r = {0};
  fixture_write(&f, "cpu/f.lua", SPEC("  params = { { 'width', { 4 }, default = 4, about = 'a' } },\n"), "cpu/f.c", template,
                "lib/bad.h", "\n$(nothing)\n", "lib/syntax.h", "\n\n$(1 +)", NULL);
  if (f.status != RGT_OK) fail_msg("%s", f.err.text);
  rgt_op_desc op = op_of(MLP);
  rgt__variant v = fixture_variant(&f, "cpu", "f");
  for (int again = 0; again < 2; again++) { /* a failure leaves nothing behind that would change the next one */
    assert_int_equal(rgt__render(f.families, &v, &op, &cpu_target, &stacked4, &r, &f.err), RGT_ETEMPLATE);
    assert_string_equal(f.err.text, message);
    assert_null(r.text);
  }
  fixture_close(&f);
}

static void refuses_templates(void **state) {
  (void)state;
  expect_refused("a\n//% for i = 1, 3 do\nb\nc\n", "templates/cpu/f.c:4: 'end' expected (to close 'for' at line 2) near <eof>");
  expect_refused("a\n//% end\n", "templates/cpu/f.c:2: <eof> expected near 'end'");
  expect_refused("a\nb $(p.n)\n", "templates/cpu/f.c:2: p.n: no such field; there are width");
  expect_refused("a\nb $(depth)\n", "templates/cpu/f.c:2: unknown name 'depth'; there are elem_bytes, lanes_max, n_hidden, "
                                    "n_in, n_out, vector_bytes, width, the libraries, and what "
                                    "`local` declares");
  expect_refused("\n\n$(nil)", "templates/cpu/f.c:3: $(nil) is nil; it must be a text or a whole number");
  expect_refused("//% local t = {}\n$(t.x) $(t)", "templates/cpu/f.c:2: $(t.x) is nil; it must be a text or a whole number");
  expect_refused("$({})", "templates/cpu/f.c:1: $({}) is a table; it must be a text or a whole number");
  expect_refused("$(1 == 1)", "templates/cpu/f.c:1: $(1 == 1) is a boolean; it must be a text or a whole number");
  expect_refused("$(1 / 2)", "templates/cpu/f.c:1: $(1 / 2) is 0.5, no whole number; make a text of it with string.format");
  expect_refused("$(1 / 0)", "templates/cpu/f.c:1: $(1 / 0) is inf, no whole number; make a text of it with string.format");
  expect_refused("\n$(1, 2)", "templates/cpu/f.c:2: ')' expected near ','");
  expect_refused("\n$()", "templates/cpu/f.c:2: unexpected symbol near ')'");
  expect_refused("\nint x = $(1 + (2);\n", "templates/cpu/f.c:2: $( without a ) on its line");
  expect_refused("\n$('x)\n", "templates/cpu/f.c:2: a quoted text inside $( ) does not end on its line");
  expect_refused("\n$(1 -- one)\n", "templates/cpu/f.c:2: no comment inside $( ): write - -x for a double minus");
  expect_refused("\n//% width = 5\n", "templates/cpu/f.c:2: 'width' is not declared: write `local width = ...`");
  expect_refused("\n//% op.n_in = 5\n", "templates/cpu/f.c:2: op.n_in cannot be set: op is read-only");
  expect_refused("\n//% error('by choice')\n", "templates/cpu/f.c:2: by choice");
  expect_refused("\n//% error({})\n", "templates/cpu/f.c:2: error() was given a table, not a text");
  expect_refused("\n//% assert(width == 5, 'width is 5')\n", "templates/cpu/f.c:2: width is 5");
  expect_refused("\n//% while true do end\n",
                 "templates/cpu/f.c:2: more than 50000000 instructions in one call: an endless loop?");
  expect_refused("//% while true do\nagain and again and again and again and again and again and again and again\n//% end\n",
                 "templates/cpu/f.c:2: the text passes 16 MiB: an endless loop?");
  expect_refused("\n//% local s = ('x'):rep(1 << 30)\n", "templates/cpu/f.c:2: more than 65536 KiB of memory");
  expect_refused("//% local s = 'x'\n//% while true do\n//% s = s .. s\n//% end\n",
                 "templates/cpu/f.c:3: more than 65536 KiB of memory");
}

static void refuses_includes(void **state) {
  (void)state;
  expect_refused("\n//% include('lib/none.h')\n",
                 "templates/cpu/f.c:2: include(\"lib/none.h\"): there is no such file below templates/");
  expect_refused("\n//% include('lib/' .. 'bad.h')\n", "templates/cpu/f.c:2: include(\"lib/bad.h\"): write the name as one "
                                                       "literal text, so that the family's digest covers the file");
  expect_refused("\n//% include(5)\n", "templates/cpu/f.c:2: include takes one name: include(\"lib/kargs.h\")");
  expect_refused("\n//% include('lib/bad.h')\n", "templates/lib/bad.h:2: unknown name 'nothing'; there are elem_bytes, "
                                                 "lanes_max, n_hidden, n_in, n_out, vector_bytes, width, the libraries, and "
                                                 "what `local` declares");
  expect_refused("\n//% include('lib/syntax.h')\n",
                 "templates/cpu/f.c:2: templates/lib/syntax.h:3: unexpected symbol near ')'");

  fixture f; /* 20 files, each of which includes the next */
  fixture_write(&f, "cpu/f.lua", SPEC(""), "cpu/f.c", "//% include('lib/1.h')\n", NULL);
  rgt__families_free(f.families);
  rgt__sources_free(f.sources);
  for (int i = 1; i <= 20; i++) {
    char name[32], text[64];
    snprintf(name, sizeof name, "lib/%d.h", i);
    snprintf(text, sizeof text, "%d\n//%% include('lib/%d.h')\n", i, i + 1);
    fixture_put(&f, name, i == 20 ? "20\n" : text);
  }
  fixture_open_folder(&f, f.folder);
  rgt_op_desc op = op_of(MLP);
  rgt__variant v = fixture_variant(&f, "cpu", "f");
  rgt__rendered r;
  assert_int_equal(rgt__render(f.families, &v, &op, &cpu_target, &stacked4, &r, &f.err), RGT_ETEMPLATE);
  assert_string_equal(f.err.text, "templates/lib/15.h:2: include(\"lib/16.h\"): more than 16 files deep");
  fixture_close(&f);
}

static void expect_steps_refused(const char *fields, const char *message) {
  fixture f;
  rgt__rendered r;
  char spec[2048];
  snprintf(spec, sizeof spec, SPEC("%s"), fields);
  fixture_write(&f, "cpu/f.lua", spec, "cpu/f.c", "x", NULL);
  if (f.status != RGT_OK) fail_msg("%s", f.err.text);
  rgt_op_desc op = op_of(MLP);
  rgt__variant v = fixture_variant(&f, "cpu", "f");
  assert_int_equal(rgt__render(f.families, &v, &op, &cpu_target, &stacked4, &r, &f.err), RGT_ETEMPLATE);
  assert_string_equal(f.err.text, message);
  fixture_close(&f);
}

/* The order shapes what a program does, and is no part of what a space may ask. */
static void renders_by_order(void **state) {
  (void)state;
  static const rgt_order orders[] = {RGT_ORDER_RAW, RGT_ORDER_SORTED, RGT_ORDER_OFFSETS};
  fixture f;
  fixture_write(&f, "cpu/f.lua",
                SPEC("  valid = function(op) return op.order == 'offsets' and 'groups <= 7' or '1' end,\n"
                     "  workspace = function(op) return op.order == 'raw' and '4 * rows' or '0' end,\n"),
                "cpu/f.c", "$(op.order)\n", NULL);
  assert_int_equal(f.status, RGT_OK);
  for (int i = 0; i < 3; i++) {
    rgt__render_facts facts = {RGT_STACKED, 4, orders[i]};
    int64_t vars[RGT_N_VARS] = {[RGT_VAR_ROWS] = 5, [RGT_VAR_GROUPS] = 8};
    rgt__rendered r = render(&f, "cpu", "f", MLP, &facts);
    assert_non_null(strstr(r.text, rgt__op_order_word(orders[i])));
    assert_int_equal(rgt__formula_eval(&r.program.valid, vars), orders[i] != RGT_ORDER_OFFSETS);
    assert_int_equal(rgt__formula_eval(&r.program.workspace, vars), orders[i] == RGT_ORDER_RAW ? 20 : 0);
    rgt__rendered_free(&r);
  }
  fixture_close(&f);
  fixture_write(&f, "cpu/f.lua", SPEC("  constraints = { { 'c', function(op) return op.order == 'raw' end } },\n"), "cpu/f.c",
                "x\n", NULL);
  rgt_op_desc op = op_of(MLP);
  rgt__variant v = fixture_variant(&f, "cpu", "f");
  assert_int_equal(rgt__variant_check(f.families, &v, &op, &cpu_target, &f.err), RGT_ETEMPLATE);
  assert_non_null(strstr(f.err.text, "op.order: no such field"));
  fixture_close(&f);
}

static void refuses_steps(void **state) {
  (void)state;
  expect_steps_refused("  steps = {},\n", "templates/cpu/f.lua:5: steps: a list of 0; it must be 1 to 8");
  expect_steps_refused("  steps = function() return 'k' end,\n", "templates/cpu/f.lua:5: steps gave a string, not a list");
  expect_steps_refused("  steps = function()\n return op end,\n",
                       "templates/cpu/f.lua:7: unknown name 'op'; there are assert, error, family, ipairs, math, select, "
                       "shared, string, table, tonumber, tostring, "
                       "type, and what `local` declares");
  expect_steps_refused("  steps = { 5 },\n", "templates/cpu/f.lua:5: steps[1] is a number, not a table");
  expect_steps_refused("  steps = { { grid = 1 } },\n", "templates/cpu/f.lua:5: steps[1]: field 'kernel' is missing: a text");
  expect_steps_refused(
      "  steps = { { kernel = 'k' }, { kernel = 'k', blocks = 1 } },\n",
      "templates/cpu/f.lua:6: steps[2]: unknown field 'blocks'; there are kernel, grid, block, shared, cluster");
  expect_steps_refused("  steps = { { kernel = 'K 1' } },\n",
                       "templates/cpu/f.lua:5: steps[1]: kernel = \"K 1\" is no name of lower-case letters, digits and _");
  expect_steps_refused("  steps = { { memset = 5 } },\n",
                       "templates/cpu/f.lua:6: steps[1]: memset is a number, not { offset =, bytes =, value = }");
  expect_steps_refused("  steps = { { memset = { value = 256 } } },\n",
                       "templates/cpu/f.lua:6: steps[1]: value = 256 is no whole number from 0 to 255");
  expect_steps_refused("  steps = { { memset = { size = 1 } } },\n",
                       "templates/cpu/f.lua:6: steps[1]: unknown field 'size'; there are offset, bytes, value");
  expect_steps_refused("  steps = { { memset = { bytes = 1 }, kernel = 'k' } },\n",
                       "templates/cpu/f.lua:5: steps[1]: unknown field 'kernel'; there are memset");
  expect_steps_refused("  steps = { { kernel = 'k', grid = {} } },\n",
                       "templates/cpu/f.lua:5: steps[1]: grid is a table, not a formula (a text or a whole number)");
  expect_steps_refused("  workspace = function() return true end,\n",
                       "templates/cpu/f.lua:6: family: workspace is a boolean, not a formula (a text or a whole number)");
  expect_steps_refused("  steps = { {kernel='k'}, {kernel='k'}, {kernel='k'}, {kernel='k'}, {kernel='k'}, {kernel='k'}, "
                       "{kernel='k'}, {kernel='k'}, {kernel='k'} },\n",
                       "templates/cpu/f.lua:5: steps: a list of 9; it must be 1 to 8");

  fixture f; /* a formula with a name that nobody knows: the message is the formula's, after file, line and field */
  fixture_write(&f, "cpu/f.lua", SPEC("  valid = 'rows <= blocks',\n"), "cpu/f.c", "x", NULL);
  rgt_op_desc op = op_of(MLP);
  rgt__variant v = fixture_variant(&f, "cpu", "f");
  rgt__rendered r;
  assert_int_equal(rgt__render(f.families, &v, &op, &cpu_target, &stacked4, &r, &f.err), RGT_ETEMPLATE);
  assert_memory_equal(f.err.text, "templates/cpu/f.lua:6: family: valid: ", 38);
  assert_non_null(strstr(f.err.text, "blocks"));
  fixture_close(&f);
}

static void refuses_arguments(void **state) {
  (void)state;
  rgt__rendered r;
  rgt_op_desc op = op_of(MLP);
  rgt__variant v = fixture_variant(&x, "cpu", "rows");
  assert_int_equal(rgt__render(x.families, &v, &op, &cuda_target, &stacked4, &r, &x.err), RGT_EINVAL);
  assert_string_equal(x.err.text, "render: rows is a family of cpu, and the target is cuda sm_90");
  static const int wrong[] = {0, -4, 3, 32};
  for (int i = 0; i < 4; i++) {
    rgt__render_facts facts = {RGT_STACKED, wrong[i], RGT_ORDER_RAW};
    assert_int_equal(rgt__render(x.families, &v, &op, &cpu_target, &facts, &r, &x.err), RGT_EINVAL);
  }
  assert_string_equal(x.err.text, "render: align_bytes = 32 is none of 1, 2, 4, 8, 16");
  rgt__render_facts no_order = {RGT_STACKED, 4, (rgt_order)3};
  assert_int_equal(rgt__render(x.families, &v, &op, &cpu_target, &no_order, &r, &x.err), RGT_EINVAL);
  assert_string_equal(x.err.text, "render: order = 3 is none of raw, sorted, offsets");
  rgt__target clash = cpu_target;
  strcpy(clash.facts[1].name, "threads");
  assert_int_equal(rgt__render(x.families, &v, &op, &clash, &stacked4, &r, &x.err), RGT_ETEMPLATE);
  assert_string_equal(x.err.text, "templates/cpu/rows.lua: param threads has the name of a device fact; choose another");
  op.n_out = 0;
  assert_int_equal(rgt__render(x.families, &v, &op, &cpu_target, &stacked4, &r, &x.err), RGT_EINVAL);
}

/* The prelude's own contract: every constant is a macro with a number, so that #if sees it. */
static void writes_the_prelude(void **state) {
  (void)state;
  rgt__render_facts facts = {RGT_POINTERS, 8, RGT_ORDER_OFFSETS};
  rgt__rendered r = render(&x, "cpu", "rows:lanes=4,threads=2", "linear:7-3:g5:bf16:none:b1:kn:i32", &facts);
  static const char *const lines[] = {"N_IN 7",
                                      "N_HIDDEN 0",
                                      "N_OUT 3",
                                      "IS_MLP 0",
                                      "BIAS1 1",
                                      "BIAS2 0",
                                      "ELEM_BYTES 2",
                                      "INDEX_BITS 32",
                                      "ALIGN_BYTES 8",
                                      "DTYPE_F32 0",
                                      "DTYPE_F16 1",
                                      "DTYPE_BF16 2",
                                      "DTYPE 2",
                                      "ACT_NONE 0",
                                      "ACT_RELU 1",
                                      "ACT_GELU 2",
                                      "ACT_GELU_TANH 3",
                                      "ACT_SILU 4",
                                      "ACT_TANH 5",
                                      "ACT 0",
                                      "LAYOUT_NK 0",
                                      "LAYOUT_KN 1",
                                      "LAYOUT 1",
                                      "WEIGHTS_STACKED 0",
                                      "WEIGHTS_POINTERS 1",
                                      "WEIGHTS 1",
                                      "LANES 4",
                                      "THREADS 2",
                                      "DEVICE_LANES_MAX 8",
                                      "DEVICE_VECTOR_BYTES 32",
                                      "ORDER_RAW 0",
                                      "ORDER_SORTED 1",
                                      "ORDER_OFFSETS 2",
                                      "ORDER 2"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    char line[64];
    snprintf(line, sizeof line, "\n#define %s\n", lines[i]);
    if (!strstr(r.text, line)) fail_msg("no %s", lines[i]);
  }
  assert_memory_equal(r.text, "/* ", 3);
  assert_non_null(strstr(
      r.text, "linear:7-3:bf16:none:b1:kn:i32, weights pointers, rows offsets, addresses and strides multiples of 8 bytes"));
  assert_null(strstr(r.text, "g5"));
  rgt__rendered_free(&r);
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
  fixture y;
  fixture_open(&y);
  rgt_op_desc op = op_of(MLP);
  rgt__variant v = fixture_variant(&y, "cpu", "rows");
  rgt_status status = RGT_ENOMEM;
  long n = 0;
  rgt_set_alloc(failing_realloc, NULL);
  for (; status != RGT_OK && n < 20000; n++) {
    rgt__rendered r = {0};
    allocations_left = n;
    status = rgt__render(y.families, &v, &op, &cpu_target, &stacked4, &r, &y.err);
    if (status != RGT_OK) assert_int_equal(status, RGT_ENOMEM);
    rgt__rendered_free(&r);
  }
  rgt_set_alloc(NULL, NULL);
  assert_int_equal(status, RGT_OK);
  assert_true(n > 100);
  rgt__rendered a = render(&x, "cpu", "rows", MLP, &stacked4), b = render(&y, "cpu", "rows", MLP, &stacked4);
  assert_string_equal(a.text, b.text);
  rgt__rendered_free(&a);
  rgt__rendered_free(&b);
  fixture_close(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden),
      cmocka_unit_test(repeats),
      cmocka_unit_test(names_entries),
      cmocka_unit_test(makes_programs),
      cmocka_unit_test(follows_lines),
      cmocka_unit_test(inserts_values),
      cmocka_unit_test(refuses_templates),
      cmocka_unit_test(refuses_includes),
      cmocka_unit_test(renders_by_order),
      cmocka_unit_test(refuses_steps),
      cmocka_unit_test(refuses_arguments),
      cmocka_unit_test(writes_the_prelude),
      cmocka_unit_test(survives_no_memory),
  };
  return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
