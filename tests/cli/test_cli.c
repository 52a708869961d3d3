/* test_cli.c -- the program itself, as a child with homes of its own: exit statuses, files, messages, JSON. */
#include "runtime/cli/message.c"
#include "runtime/cli/npy.c"
#include "runtime/cli/out_file.c"
#include "runtime/cli/progress.c"
#include "runtime/cli/units.c"

#include <math.h>
#include <sys/time.h>

#include "child.h"

#define CASES RGT_TESTS_DIR "/cases"
#define SMALL "--in 4 --hidden 6 --groups 2"

static void read_array(const char *path, rgt__npy *a) {
  rgt__message m = {0};
  memset(a, 0, sizeof *a);
  if (rgt__npy_read(path, a, &m) != RGT_OK) fail_msg("%s", m.text);
}

/* ---- usage ------------------------------------------------------------------------------------------------- */

static void version_and_help(void **unused) {
  (void)unused;
  expect(run("--version"), 0);
  assert_string_equal(text_out, "ragtune " RGT_VERSION "\n");
  expect(run("--help"), 0);
  assert_non_null(strstr(text_out, "ragtune verify (OP | --case DIR)"));
  expect(run("why --help"), 0);
  assert_non_null(strstr(text_out, "usage: ragtune why OP --rows N"));
  assert_string_equal(text_err, "");
}

static void usage_errors_are_one_line(void **unused) {
  (void)unused;
  expect_refusal(run(" "), 2, "--in is missing");
  expect_refusal(run("tun"), 2, "did you mean tune?");
  expect_refusal(run("--in 0 --groups 1 --out 1"), 2, "--in: '0' is not a whole number from 1 to 16777216");
  expect_refusal(run("why --in 4 --out 4 --groups 2"), 2, "--rows is missing");
  expect_refusal(run("why --op mlp:0-1-1:g1:f32:relu:b12:nk:i64 --rows 8"), 2, "--op 'mlp:0-1-1:g1:f32:relu:b12:nk:i64'");
  expect_refusal(run("compile " SMALL), 2, "--target is missing");
  expect_refusal(run("compile " SMALL " --target sm_999999x"), 2, "sm_999999x");
  expect_refusal(run("compile " SMALL " --target cpu --db x.db"), 2, "--db stands without -o");
  expect_refusal(run("show " SMALL " --rows 3 --variant x"), 2, "--rows stands beside --variant");
  expect_refusal(run("show " SMALL " --emit cubin --json"), 2, "--emit cubin is binary");
  expect_refusal(run("show " SMALL " --variant nobody:x=1"), 2, "nobody");
  expect_refusal(run("db"), 2, "db needs an action");
  expect_refusal(run("db export"), 2, "db export needs one file");
  expect_refusal(run("db import a b"), 2, "db import takes one file, 'b' is given too");
  expect_refusal(run("db merge"), 2, "db merge needs one or more files");
  expect_refusal(run("db list more"), 2, "'more' is given");
  expect_refusal(run("run --case %s/one_row", CASES), 2, "--y is missing");
  expect_refusal(run("run --y y.npy"), 2, "run needs --case DIR");
  expect_refusal(run("run --case %s/one_row --x a --y y.npy", CASES), 2, "--x stands beside --case");
  char copy[400];
  snprintf(copy, sizeof copy, "cp -r '%s/one_row' '%s'", CASES, at("inputs"));
  assert_int_equal(system(copy), 0);
  snprintf(copy, sizeof copy, "%s", at("inputs"));
  expect_refusal(run("run --case %s --y %s/x.npy", copy, copy), 2, "is a file of the case");
  expect_refusal(run("run --case %s --y %s/y.npy", copy, copy), 2, "is a file of the case");
  expect_refusal(run("run --in 1 --out 1 --groups 1 --x %s/x.npy --index %s/index.npy --w1 %s/w1.npy --y %s/./w1.npy", copy,
                     copy, copy, copy),
                 2, "w1.npy is an input");
  expect_refusal(run("verify --case %s/one_row --in 4 --groups 4 --out 4", CASES), 2, "the op given is linear:4-4:g4");
}

static void surroundings_end_in_3(void **unused) {
  (void)unused;
  expect(run("tune " SMALL " --device cuda"), 3);
  expect(run_with("RAGTUNE_CC=none", "tune " SMALL " --rows 8"), 3);
  expect_refusal(run("tune " SMALL " --space /nonexistent.lua"), 3, "--space /nonexistent.lua: No such file or directory");
  expect_refusal(run("db list --db /nonexistent/t.db"), 3, "--db /nonexistent/t.db: No such file or directory");
  text_out[0] = text_err[0] = 0;
  expect(finish(start("env", NULL, "/dev/full")), 3);
  assert_string_equal(text_err, "ragtune: standard output could not be written: No space left on device\n");
}

/* ---- run --------------------------------------------------------------------------------------------------- */

/* y of an exact case must be there bit for bit: a zero of either sign, but +0 in masked rows */
static void check_exact(const char *name, const char *options) {
  char path[512];
  rgt__npy y, want, index;
  expect(run("run --case %s/%s --y %s %s", CASES, name, at("y.npy"), options), 0);
  read_array(at("y.npy"), &y);
  snprintf(path, sizeof path, "%s/%s/y.npy", CASES, name);
  read_array(path, &want);
  snprintf(path, sizeof path, "%s/%s/index.npy", CASES, name);
  read_array(path, &index);
  assert_int_equal(y.type, RGT_NPY_F4);
  assert_int_equal(index.type, RGT_NPY_I8);
  assert_int_equal(y.n_dims, 2);
  assert_memory_equal(y.shape, want.shape, 2 * sizeof *y.shape);
  for (size_t i = 0; i < y.elems; i++) {
    float got = ((const float *)y.data)[i], expected = (float)((const double *)want.data)[i];
    int masked = ((const int64_t *)index.data)[i / (size_t)y.shape[1]] == -1;
    if (got != expected || (masked && signbit(got))) fail_msg("%s: element %zu is %a, wanted %a", name, i, got, expected);
  }
  rgt__npy_free(&y);
  rgt__npy_free(&want);
  rgt__npy_free(&index);
  unlink(at("y.npy"));
}

static void run_computes_the_exact_cases(void **unused) {
  static const char *const names[] = {"question_mlp", "question_linear", "all_masked",          "masked_anywhere",
                                      "no_rows",      "one_row",         "one_group_takes_all", "thousands_of_groups"};
  (void)unused;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_exact(names[i], "");
}

static void check_variant(const char *name, const char *variant) {
  char options[RGT_VARIANT_TEXT_MAX + 32];
  json_t *o;
  snprintf(options, sizeof options, "--device cpu --json --variant %s", variant);
  check_exact(name, options);
  o = expect_json("run", (const char *const[]){"op", "rows", "variant", "from", "y", "type", "shape", NULL});
  assert_string_equal(json_string_value(json_object_get(o, "variant")), variant);
  assert_string_equal(json_string_value(json_object_get(o, "from")), "given");
  json_decref(o);
}

/* what `why` and `compile` call a variant, run takes; an exact case has one right y, whichever variant computes it */
static void run_takes_a_variant(void **unused) {
  static const char *const cases[][2] = {{"question_mlp", "--op mlp:10-20-5:g3:f32:relu:b12:nk:i64"},
                                         {"question_linear", "--op linear:4-8:g4:f32:none:b0:kn:i64"}};
  (void)unused;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    json_t *why, *compiled, *one;
    size_t i;
    check_variant(cases[c][0], "builtin");
    expect(run("why %s --rows 8 --device cpu --json", cases[c][1]), 0);
    why = expect_json("why", (const char *const[]){"variant", NULL});
    check_variant(cases[c][0], json_string_value(json_object_get(why, "variant")));
    json_decref(why);
    expect(run("compile %s --target cpu --sample 3 --seed 5 --json", cases[c][1]), 0);
    compiled = expect_json("compile", (const char *const[]){"variants", NULL});
    assert_int_equal(json_array_size(json_object_get(compiled, "variants")), 3);
    json_array_foreach(json_object_get(compiled, "variants"), i, one)
        check_variant(cases[c][0], json_string_value(json_object_get(one, "variant")));
    json_decref(compiled);
  }
  check_variant("no_rows", "builtin");
  check_variant("no_rows", "row_gather");
  expect(run("run --case %s/one_row --device cpu --variant builtin --y %s", CASES, at("y.npy")), 0);
  assert_non_null(strstr(text_out, "\nvariant  builtin (given)\n"));
  unlink(at("y.npy"));
}

static void run_refuses_what_is_no_variant(void **unused) {
#define ONE_ROW "run --case " CASES "/one_row --device cpu --y %s --variant "
  (void)unused;
  expect_refusal(run(ONE_ROW "nobody:x=1", at("y.npy")), 2, "variant \"nobody:x=1\": no family \"nobody\" for cpu");
  expect_refusal(run(ONE_ROW "simt_gather", at("y.npy")), 2, "variant \"simt_gather\": no family \"simt_gather\" for cpu");
  expect_refusal(run(ONE_ROW "row_gather:lanes=3", at("y.npy")), 2, "lanes=3 is none of the values 4, 8, 16");
  expect_refusal(run(ONE_ROW "row_gather:lanes=8", at("y.npy")), 2, "fused is missing");
  expect_refusal(run(ONE_ROW "row_gather:lanes=8,unknown=1", at("y.npy")), 2, "unknown");
  expect_refusal(run(ONE_ROW "builtin:x=1", at("y.npy")), 2, "builtin");
  expect_refusal(run(ONE_ROW "''", at("y.npy")), 2, "''");
  expect_refusal(run_with("RAGTUNE_CC=none", ONE_ROW "row_gather", at("y.npy")), 3, "compiler");
  assert_int_equal(files_like("y.npy"), 0);
  expect(run_with("RAGTUNE_CC=none", ONE_ROW "builtin", at("y.npy")), 0); /* needs none */
  unlink(at("y.npy"));
}

/* Every value of the case is exact: y is y64 rounded once. */
static void run_stores_16_bits(void **unused) {
  static const struct {
    rgt_dtype dtype;
    rgt__npy_type type;
    const char *word;
  } kinds[] = {{RGT_F16, RGT_NPY_F2, "f16"}, {RGT_BF16, RGT_NPY_U2, "bf16"}};
  rgt__npy want, got;
  (void)unused;
  for (size_t t = 0; t < 2; t++) {
    expect(run("run --case %s/question_mlp --dtype %s --y %s", CASES, kinds[t].word, at("y.npy")), 0);
    read_array(CASES "/question_mlp/y.npy", &want);
    read_array(at("y.npy"), &got);
    assert_int_equal(got.type, kinds[t].type);
    assert_int_equal(got.elems, want.elems);
    for (size_t i = 0; i < got.elems; i++) {
      float y, rounded;
      uint16_t bits;
      rounded = (float)((const double *)want.data)[i]; /* a case's y64 are exact in f32 */
      rgt_from_float(kinds[t].dtype, &rounded, &bits, 1);
      rgt_to_float(kinds[t].dtype, &bits, &rounded, 1);
      rgt_to_float(kinds[t].dtype, (const uint16_t *)got.data + i, &y, 1);
      assert_true(y == rounded);
    }
    rgt__npy_free(&want);
    rgt__npy_free(&got);
    unlink(at("y.npy"));
  }
}

static void run_takes_single_files(void **unused) {
  rgt__npy a, b;
  (void)unused;
  expect(run("run --case %s/question_mlp --y %s", CASES, at("a.npy")), 0);
  expect(
      run("run --in 10 --hidden 20 --out 5 --groups 3 --x %1$s/x.npy --index %1$s/index.npy --w1 %1$s/w1.npy --b1 %1$s/b1.npy "
          "--w2 %1$s/w2.npy --b2 %1$s/b2.npy --y %2$s",
          CASES "/question_mlp", at("b.npy")),
      0);
  read_array(at("a.npy"), &a);
  read_array(at("b.npy"), &b);
  assert_int_equal(a.bytes, 8 * 5 * 4);
  assert_int_equal(b.bytes, a.bytes);
  assert_memory_equal(a.data, b.data, a.bytes);
  rgt__npy_free(&a);
  rgt__npy_free(&b);
  unlink(at("a.npy"));
  unlink(at("b.npy"));
}

#define LINEAR "run --in 4 --out 8 --groups 4 --layout kn "
#define LINEAR_FILES "--x " CASES "/question_linear/x.npy --w1 " CASES "/question_linear/w1.npy "

static void run_refuses_an_index_out_of_range(void **unused) {
  static const int64_t shape[1] = {12};
  static const int64_t too_large[12] = {0, 1, 2, 3, -1, 0, 1, 4, 9}, too_small[12] = {-1, -2},
                       wide[12] = {0, 0, (int64_t)1 << 32};
  rgt__message m;
  (void)unused;
  assert_int_equal(rgt__npy_write(at("i.npy"), RGT_NPY_I8, 1, shape, too_large, &m), RGT_OK);
  expect_refusal(run(LINEAR LINEAR_FILES "--bias b0 --index %s --y %s", at("i.npy"), at("y.npy")), 2,
                 "row 7 has index 4; want -1");
  assert_int_equal(rgt__npy_write(at("i.npy"), RGT_NPY_I8, 1, shape, too_small, &m), RGT_OK);
  expect_refusal(run(LINEAR LINEAR_FILES "--bias b0 --index %s --y %s", at("i.npy"), at("y.npy")), 2, "row 1 has index -2");
  assert_int_equal(rgt__npy_write(at("i.npy"), RGT_NPY_I8, 1, shape, wide, &m), RGT_OK);
  expect_refusal(run(LINEAR LINEAR_FILES "--bias b0 --index %s --y %s", at("i.npy"), at("y.npy")), 2,
                 "row 2 has index 4294967296");
  assert_int_equal(files_like("y.npy"), 0);
  unlink(at("i.npy"));
}

static void run_checks_its_files(void **unused) {
  static const char index[] = "--index " CASES "/question_linear/index.npy";
  static const int64_t shape[1] = {12};
  static const int32_t narrow[12] = {0};
  rgt__message m;
  (void)unused;
  expect_refusal(run(LINEAR LINEAR_FILES "%s --y %s", index, at("y.npy")), 2, "--b1 is missing");
  expect_refusal(run(LINEAR LINEAR_FILES "%s --bias b0 --w2 f --y %s", index, at("y.npy")), 2, "--w2 is given");
  expect_refusal(run(LINEAR "--x /nonexistent.npy --w1 a --bias b0 %s --y %s", index, at("y.npy")), 3,
                 "/nonexistent.npy: No such file or directory");
  expect_refusal(run("run --in 5 --out 8 --groups 4 --layout kn --bias b0 " LINEAR_FILES "%s --y %s", index, at("y.npy")), 2,
                 "/question_linear/x.npy holds <f4 (12, 4), wanted <f4 (rows, 5)");
  expect_refusal(run("run --in 4 --out 8 --groups 4 --layout nk --bias b0 " LINEAR_FILES "%s --y %s", index, at("y.npy")), 2,
                 "/question_linear/w1.npy holds <f4 (4, 4, 8), wanted <f4 (4, 8, 4)");
  expect_refusal(run(LINEAR "--dtype f16 --bias b0 " LINEAR_FILES "%s --y %s", index, at("y.npy")), 2,
                 "holds <f4 (12, 4), wanted <f2");
  assert_int_equal(rgt__npy_write(at("i.npy"), RGT_NPY_I4, 1, shape, narrow, &m), RGT_OK);
  expect_refusal(run(LINEAR "--bias b0 " LINEAR_FILES "--index %s --y %s", at("i.npy"), at("y.npy")), 2,
                 "holds <i4 (12,), wanted <i8 (--index-type i64) (12,)");
  assert_int_equal(truncate(at("i.npy"), 140), 0);
  expect_refusal(run(LINEAR "--index-type i32 --bias b0 " LINEAR_FILES "--index %s --y %s", at("i.npy"), at("y.npy")), 2,
                 "truncated: 12 bytes of data are there, 48 are needed");
  expect_refusal(run(LINEAR "--bias b0 " LINEAR_FILES "%s --y /nonexistent/y.npy", index), 3,
                 "/nonexistent/y.npy cannot be written");
  expect_refusal(run("run --case /nonexistent --y %s", at("y.npy")), 3, "/nonexistent/problem.txt: No such file");
  assert_int_equal(files_like("y.npy"), 0);
  unlink(at("i.npy"));
}

/* ---- JSON of every verb ------------------------------------------------------------------------------------ */

static void json_of_run_why_show_env(void **unused) {
  json_t *o;
  (void)unused;
  expect(run("run --case %s/question_mlp --json --y %s", CASES, at("y.npy")), 0);
  o = expect_json("run", (const char *const[]){"op", "rows", "variant", "from", "y", "type", "shape", NULL});
  assert_string_equal(json_string_value(json_object_get(o, "op")), "mlp:10-20-5:g3:f32:relu:b12:nk:i64");
  assert_int_equal(json_integer_value(json_array_get(json_object_get(o, "shape"), 1)), 5);
  json_decref(o);
  unlink(at("y.npy"));
  expect(run("why " SMALL " --rows 9 --json"), 0);
  o = expect_json("why", (const char *const[]){"op", "rows", "variant", "from", "exact", "signature", "stored_signature",
                                               "device_class", "runner_up", "time_ps", "low_ps", "high_ps", "ratio", "margin",
                                               "waste", "peak_share", "runs", "note", NULL});
  assert_int_equal(json_integer_value(json_object_get(o, "rows")), 9);
  assert_true(strlen(json_string_value(json_object_get(o, "device_class"))) > 0);
  json_decref(o);
  expect(run("show " SMALL " --json"), 0);
  o = expect_json("show", (const char *const[]){"op", "target", "variant", "emit", "bytes", "file", "text", NULL});
  assert_int_equal(json_integer_value(json_object_get(o, "bytes")), strlen(json_string_value(json_object_get(o, "text"))));
  json_decref(o);
  expect(run("env --json"), 0);
  o = expect_json("env", (const char *const[]){"lines", NULL});
  expect_members(json_object_get(o, "lines"), (const char *const[]){"section", "name", "value", NULL});
  json_decref(o);
}

static void show_writes_a_file(void **unused) {
  char text[4096] = "";
  FILE *file;
  (void)unused;
  expect(run("show " SMALL " -o %s", at("source.c")), 0);
  assert_string_equal(text_out, "");
  file = fopen(at("source.c"), "rb");
  assert_non_null(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 100);
  fclose(file);
  expect(run("show " SMALL), 0);
  assert_int_equal(strncmp(text_out, text, strlen(text)), 0);
  unlink(at("source.c"));
}

static void json_of_compile_and_verify(void **unused) {
  json_t *o;
  (void)unused;
  expect(run("compile " SMALL " --target cpu --sample 2 --seed 1 --json"), 0);
  o = expect_json("compile", (const char *const[]){"op", "target", "variants", "n", "compiled", "infeasible", "compile_errors",
                                                   "spilling", "median_ms", "total_ms", "total_code_bytes", "status", NULL});
  expect_members(json_object_get(o, "variants"),
                 (const char *const[]){"variant", "outcome", "reason", "registers", "shared_bytes", "spill_bytes",
                                       "stack_bytes", "milliseconds", "code_bytes", "digest", NULL});
  assert_int_equal(json_integer_value(json_object_get(o, "n")), 2);
  json_decref(o);
  expect(run("verify " SMALL " --device cpu --sample 2 --json"), 0);
  o = expect_json("verify", (const char *const[]){"op", "case", "variants", "n", "right", "wrong", "infeasible",
                                                  "compile_errors", "crashed", "timed_out", "status", NULL});
  expect_members(json_object_get(o, "variants"),
                 (const char *const[]){"variant", "outcome", "error_share", "pass", "reason", NULL});
  assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(o, "variants"), 0), "variant")),
                      "builtin");
  assert_int_equal(json_integer_value(json_object_get(o, "n")), 3);
  assert_int_equal(json_integer_value(json_object_get(o, "wrong")), 0);
  json_decref(o);
}

static void verify_takes_cases(void **unused) {
  (void)unused;
  expect(run("verify --case %s/masked_anywhere --device cpu --variant builtin", CASES), 0);
  assert_non_null(strstr(text_out, "1 variants: 1 right, 0 wrong, 0 infeasible, 0 compile errors\n"));
  expect(run("verify --case %s/gelu_mlp --device cpu --variant builtin", CASES), 0);
}

/* a case whose y is not what its inputs give is no case: that is said, and nothing is judged by it */
static void verify_refuses_a_wrong_case(void **unused) {
  static const char *const names[] = {"x.npy", "index.npy", "w1.npy", "problem.txt"};
  char from[512], to[512];
  rgt__npy a;
  rgt__message m;
  (void)unused;
  assert_int_equal(mkdir(at("case"), 0700), 0);
  for (int i = 0; i < 4; i++) {
    snprintf(from, sizeof from, CASES "/question_linear/%s", names[i]);
    snprintf(to, sizeof to, "%s/case/%s", home, names[i]);
    assert_int_equal(symlink(from, to), 0);
  }
  read_array(CASES "/question_linear/y.npy", &a);
  ((double *)a.data)[5] += 0.25;
  assert_int_equal(rgt__npy_write(at("case/y.npy"), a.type, a.n_dims, a.shape, a.data, &m), RGT_OK);
  rgt__npy_free(&a);
  expect_refusal(run("verify --case %s --device cpu", at("case")), 2, "y[0, 5]");
}

static void link_template(const char *name) {
  char from[512], to[512];
  snprintf(from, sizeof from, RGT_SOURCE_DIR "/templates/%s", name);
  snprintf(to, sizeof to, "%s/templates/%s", home, name);
  assert_int_equal(symlink(from, to), 0);
}

/* a family whose every y is 0 has to be found out */
static void verify_says_no(void **unused) {
  static char setting[256];
  json_t *o, *one;
  (void)unused;
  assert_int_equal(mkdir(at("templates"), 0700), 0);
  assert_int_equal(mkdir(at("templates/cpu"), 0700), 0);
  link_template("lib");
  link_template("cpu/lib");
  link_template("cpu/row_gather.c");
  link_template("cpu/row_gather.lua");
  put_text(at("templates/cpu/zeros.lua"),
           "return family { about = 'y is 0', source = 'a test', revision = 1, rank = 9, device = 'cpu',\n"
           "  ops = { 'linear', 'mlp' }, dtypes = { 'f32' }, params = { { 'none', { 0 }, default = 0, about = 'nothing' } },\n"
           "  constraints = {}, work = shared 'lib/work.lua', valid = '1', workspace = '0',\n"
           "  numeric = function() return { p1 = 0, p2 = 0, hidden = 'f32', alpha = 0, beta = 0, class = 'zeros' } end,\n"
           "  steps = { { kernel = 'zeros', grid = '1' } } }\n");
  put_text(at("templates/cpu/zeros.c"), "//% include(\"lib/kargs.h\")\n"
                                        "__attribute__((visibility(\"default\"))) void KERNEL(zeros)(const rgt_kargs *k, void "
                                        "*w, int s, rgt_int64 p, rgt_int64 n) {\n"
                                        "  for (rgt_int64 r = 0; r < k->rows; r++)\n"
                                        "    for (int i = 0; i < N_OUT; i++) ((float *)k->y)[r * k->ld_y + i] = 0;\n"
                                        "}\n");
  snprintf(setting, sizeof setting, "RAGTUNE_TEMPLATES=%s", at("templates"));
  expect(run_with(setting, "verify " SMALL " --device cpu --variant zeros:none=0"), 1);
  assert_non_null(strstr(text_out, "\nwrong                -  zeros:none=0: pass "));
  assert_non_null(strstr(text_out, "\n1 variants: 0 right, 1 wrong, 0 infeasible, 0 compile errors\n"));
  expect(run_with(setting, "verify " SMALL " --device cpu --variant zeros:none=0 --json"), 1);
  o = expect_json("verify", (const char *const[]){"variants", "wrong", NULL});
  one = json_array_get(json_object_get(o, "variants"), 0);
  assert_string_equal(json_string_value(json_object_get(one, "outcome")), "wrong");
  assert_true(strlen(json_string_value(json_object_get(one, "pass"))) > 0);
  assert_string_equal(json_string_value(json_object_get(o, "status")), "RGT_EWRONG");
  json_decref(o);
}

/* ---- tune -------------------------------------------------------------------------------------------------- */

static const char *const tune_keys[] = {"op",     "device_class", "toolchain", "database",
                                        "stored", "interrupted",  "results",   NULL};
static const char *const result_keys[] = {
    "rows",    "skew",       "status",     "reason",         "hit",        "winner",  "runner_up", "time_ps",    "low_ps",
    "high_ps", "default_ps", "loop_ps",    "rows_per_s",     "flop_per_s", "flops",   "bytes",     "peak_share", "error_share",
    "tried",   "right",      "infeasible", "compile_errors", "wrong",      "crashed", "timed_out", "resumed",    NULL};

static void tune_remembers(void **unused) {
  char winner[RGT_VARIANT_TEXT_MAX];
  json_t *o, *one;
  (void)unused;
  expect(run("tune " SMALL " --rows 8,5 --budget 600 --device cpu --json"), 0);
  assert_non_null(strstr(text_err, "ragtune: --rows 8 and 5 share the bucket 8; it is tuned once\n"));
  o = expect_json("tune", tune_keys);
  expect_members(json_object_get(o, "results"), result_keys);
  assert_int_equal(json_array_size(json_object_get(o, "results")), 1);
  one = json_array_get(json_object_get(o, "results"), 0);
  assert_string_equal(json_string_value(json_object_get(one, "status")), "ok");
  assert_int_equal(json_integer_value(json_object_get(one, "rows")), 8);
  assert_true(json_is_false(json_object_get(one, "hit")));
  assert_true(json_integer_value(json_object_get(one, "time_ps")) > 0);
  snprintf(winner, sizeof winner, "%s", json_string_value(json_object_get(one, "winner")));
  json_decref(o);

  expect(run("tune " SMALL " --rows 8 --budget 600 --device cpu --json --quiet"), 0);
  assert_string_equal(text_err, "");
  o = expect_json("tune", tune_keys);
  one = json_array_get(json_object_get(o, "results"), 0);
  assert_true(json_is_true(json_object_get(one, "hit")));
  assert_string_equal(json_string_value(json_object_get(one, "winner")), winner);
  json_decref(o);

  expect(run("tune " SMALL " --rows 8 --device cpu"), 0);
  assert_non_null(strstr(text_out, "out is taken from --in"));
  assert_non_null(strstr(text_out, "1 of 1 buckets were stored before"));
  assert_non_null(strstr(text_out, winner));

  expect(run("db list --json"), 0);
  o = expect_json("db", (const char *const[]){"action", "database", "winners", NULL});
  expect_members(json_object_get(o, "winners"), (const char *const[]){"signature", "device_class", "policy", "winner",
                                                                      "runner_up", "time_ps", "ratio", "runs", "trials", NULL});
  json_decref(o);
  expect(run("db check"), 0);
  assert_non_null(strstr(text_out, "is sound\n"));
  expect(run("db rebuild"), 0);
  expect(run("db gc --dry-run --json"), 0);
  o = expect_json("db", (const char *const[]){"action", "database", "removed", "dry_run", "removed_bytes", "cache_bytes",
                                              "kept_bytes", "quota_bytes", "entries", "pinned", NULL});
  assert_true(json_is_true(json_object_get(o, "dry_run")));
  assert_true(json_integer_value(json_object_get(o, "pinned")) >= 1);
  char left[600];
  snprintf(left, sizeof left, "%s.new-abc123", json_string_value(json_object_get(o, "database")));
  json_decref(o);
  fclose(fopen(left, "w"));
  assert_int_equal(utimes(left, (const struct timeval[2]){{.tv_sec = 1}, {.tv_sec = 1}}), 0);
  expect(run("db gc --dry-run"), 0);
  assert_non_null(strstr(text_out, ".new-abc123  was being written when its process ended"));
  assert_non_null(strstr(text_out, "would remove 1 thing, 0.0 KiB"));
  expect(run("db gc --json"), 0);
  o = expect_json("db", (const char *const[]){"action", "database", "removed", "dry_run", "removed_bytes", "cache_bytes",
                                              "kept_bytes", "quota_bytes", "entries", "pinned", NULL});
  assert_int_equal(json_array_size(json_object_get(o, "removed")), 1);
  expect_members(json_object_get(o, "removed"), (const char *const[]){"path", "why", "bytes", NULL});
  json_decref(o);
  expect(run("db gc"), 0);
  assert_non_null(strstr(text_out, "removed 0 things"));
  expect_refusal(run("db list --dry-run"), 2, "--dry-run goes with db gc alone");
  expect(run("why " SMALL " --rows 7 --device cpu"), 0);
  assert_non_null(strstr(text_out, winner));
}

/* The first interrupt ends the search in good order. It is sent once the search says that it is at work. */
static void interrupts_keep_what_was_measured(void **unused) {
  child c;
  (void)unused;
  text_out[0] = text_err[0] = 0;
  c = start("tune --in 24 --hidden 40 --groups 3 --rows 64 --budget 600 --device cpu", NULL, NULL);
  while (!strchr(text_err, '\n') && drain(c.err, text_err, sizeof text_err)) {
  }
  assert_int_equal(kill(c.pid, SIGINT), 0);
  expect(finish(c), 1);
  assert_non_null(strstr(text_err, "ragtune: interrupted; what was measured is kept in "));
}

static void broken_databases_end_in_3(void **unused) {
  FILE *file = fopen(at("broken.db"), "wb");
  (void)unused;
  assert_non_null(file);
  for (int i = 0; i < 8192; i++) fputc("SQLite format 3"[i % 16], file); /* it was one */
  fclose(file);
  expect(run("db check --db %s", at("broken.db")), 3);
  assert_string_equal(text_out, "");
  assert_non_null(strstr(text_err, "broken.db was not sound"));
  file = fopen(at("notes.txt"), "w");
  assert_non_null(file);
  fputs("my notes\n", file);
  fclose(file);
  expect(run("db check --db %s", at("notes.txt")), 3); /* somebody's own file, named by mistake */
  assert_non_null(strstr(text_err, "notes.txt: is no tuned database, and stays as it is"));
  assert_int_equal(access(at("notes.txt"), F_OK), 0);
  expect(run("db list --json --db %s", home), 3); /* a folder */
  assert_string_equal(text_out, "");
  assert_non_null(strstr(text_err, "could not be used"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(version_and_help),
      cmocka_unit_test(usage_errors_are_one_line),
      cmocka_unit_test(surroundings_end_in_3),
      cmocka_unit_test(run_computes_the_exact_cases),
      cmocka_unit_test(run_takes_a_variant),
      cmocka_unit_test(run_refuses_what_is_no_variant),
      cmocka_unit_test(run_stores_16_bits),
      cmocka_unit_test(run_takes_single_files),
      cmocka_unit_test(run_refuses_an_index_out_of_range),
      cmocka_unit_test(run_checks_its_files),
      cmocka_unit_test(json_of_run_why_show_env),
      cmocka_unit_test(show_writes_a_file),
      cmocka_unit_test(json_of_compile_and_verify),
      cmocka_unit_test(verify_takes_cases),
      cmocka_unit_test(verify_refuses_a_wrong_case),
      cmocka_unit_test(verify_says_no),
      cmocka_unit_test(tune_remembers),
      cmocka_unit_test(interrupts_keep_what_was_measured),
      cmocka_unit_test(broken_databases_end_in_3),
  };
  return cmocka_run_group_tests(tests, make_home, remove_home);
}
