/* test_broken_templates.c -- families that are wrong in one way each: rgt_verify names the pass and the element, and rgt_tune
 * never lets one win. Some are the fixture broken.c; some are copies of row_gather with one line patched. */
#include "tests/support/folder.h"
#include "tests/support/front.h"

enum { N_FAULTS = 22, COMPILE_FAULT = 22 }; /* of broken.c; 0 is right */

static front f;
static char templates[200];

static int open_house(void **state) {
  (void)state;
  front_begin(&f);
  snprintf(templates, sizeof templates, "%s/templates", f.s.folder);
  folder_copy(templates, RGT_TESTS_DIR "/fixtures/broken");
  return 0;
}

static int close_house(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

typedef struct verdict {
  rgt_verdict v;
  char pass[40], reason[RGT_REASON_MAX];
  int n;
} verdict;

static int take(void *user, const rgt_verdict *v) {
  verdict *out = user;
  out->v = *v;
  snprintf(out->pass, sizeof out->pass, "%s", v->pass);
  snprintf(out->reason, sizeof out->reason, "%s", v->reason);
  out->n++;
  return 0;
}

static rgt_status verify(rgt_op *op, const char *variant, verdict *out) {
  rgt_verify_options o = {.struct_size = sizeof o, .variant = variant};
  memset(out, 0, sizeof *out);
  return rgt_verify(op, &o, take, out);
}

/* A wrong verdict with this pass; where it names an element, the element is wrong by the verdict's own numbers. */
static void wrong_in(rgt_op *op, const char *variant, const char *pass, int64_t row, int64_t column) {
  verdict d;
  front_fails(&f, verify(op, variant, &d), RGT_EWRONG, "1 variant is wrong");
  if (d.n != 1 || d.v.outcome != RGT_TRIAL_WRONG || strcmp(d.pass, pass) != 0)
    fail_msg("%s: %d verdict(s), outcome %d, pass \"%s\", not \"%s\": %s", variant, d.n, (int)d.v.outcome, d.pass, pass,
             d.reason);
  assert_true(d.reason[0] && !strchr(d.reason, '\n'));
  if (row >= -1) assert_int_equal(d.v.row, row);
  if (column >= -1) assert_int_equal(d.v.column, column);
  if (strcmp(pass, "bound") != 0) return;
  assert_true(d.v.row >= 0 && d.v.column >= 0 && d.v.column < 5);
  assert_false(fabs(d.v.value - d.v.expected) <= d.v.bound);
}

/* ---- the fixture ---- */

enum { ANY = -2 };

static const struct {
  const char *pass;
  int64_t row, column;
} faults[N_FAULTS] = {
    [1] = {"bound", ANY, 0},     /* dropped k tail */
    [2] = {"bound", 100, ANY},   /* wrong group: row 100, or the next live one */
    [3] = {"canary", ANY, ANY},  /* past the row */
    [4] = {"masked", ANY, 0},    /* masked alone */
    [5] = {"bound", ANY, ANY},   /* half sums */
    [6] = {"bound", ANY, ANY},   /* bias of another group */
    [7] = {"permute", ANY, ANY}, /* row order */
    [8] = {"masked", ANY, 0},    /* reads masked x */
    [9] = {"bound", ANY, ANY},   /* hidden dropped */
    [10] = {"bound", ANY, ANY},  /* relu eats NaN */
    [11] = {"bound", ANY, ANY},  /* no second bias */
    [12] = {"poison", 1, 4},     /* one unwritten */
    [13] = {"bound", ANY, ANY},  /* half hidden */
    [14] = {"status", ANY, ANY}, /* no error count */
    [15] = {"masked", ANY, 0},   /* minus zero */
    [16] = {"poison", 1, 0},     /* packed x: what lies between the rows */
    [17] = {"canary", ANY, ANY}, /* before y */
    [18] = {"canary", ANY, ANY}, /* in the input */
    [19] = {"exact", ANY, ANY},  /* all x own */
    [20] = {"bound", ANY, ANY},  /* not added */
    [21] = {"masked", ANY, 0},   /* none is zero */
};

static void variant_of(int fault, char text[RGT_VARIANT_TEXT_MAX]) {
  snprintf(text, RGT_VARIANT_TEXT_MAX, "broken:fault=%d,more=%d", fault % 16, fault / 16 * 16);
}

static void the_fixture_itself_is_right(void **state) {
  verdict d;
  (void)state;
  front_open_mode(&f, NULL, templates);
  static const char *const texts[] = {FRONT_MLP, "linear:9-6:g4:f32:relu:b1:kn:i32"};
  for (int i = 0; i < 2; i++) {
    rgt_op *op = front_op(&f, texts[i]);
    front_ok(&f, verify(op, "broken:fault=0,more=0", &d));
    assert_int_equal(d.n, 1);
    assert_int_equal(d.v.outcome, RGT_TRIAL_OK);
    assert_string_equal(d.reason, "");
  }
}

static void every_fault_is_named(void **state) {
  char text[RGT_VARIANT_TEXT_MAX];
  (void)state;
  front_open_mode(&f, NULL, templates);
  rgt_op *op = front_op(&f, FRONT_MLP);
  for (int fault = 1; fault < N_FAULTS; fault++) {
    variant_of(fault, text);
    wrong_in(op, text, faults[fault].pass, faults[fault].row, faults[fault].column);
  }
}

static void what_does_not_compile_is_an_outcome(void **state) {
  verdict d;
  char text[RGT_VARIANT_TEXT_MAX];
  (void)state;
  front_open_mode(&f, NULL, templates);
  rgt_op *op = front_op(&f, FRONT_MLP);
  variant_of(COMPILE_FAULT, text);
  verify(op, text, &d);
  assert_int_equal(d.n, 1);
  assert_int_equal(d.v.outcome, RGT_TRIAL_COMPILE_ERROR);
  assert_has(d.reason, "broken.c:");
  assert_has(d.reason, "this variant does not compile");
  front_fails(&f, rgt_op_prepare_variant(op, text, 8), RGT_ECOMPILE, "this variant does not compile");
  variant_of(5, text);
  front_fails(&f, rgt_op_prepare_variant(op, text, 8), RGT_EWRONG, "broken:fault=5");
}

/* Every wrong variant at once: all of them recorded, none of them the winner. */
static void a_wrong_variant_never_wins(void **state) {
  rgt_tune_result r;
  const int64_t rows = 64;
  (void)state;
  front_open_mode(&f, NULL, templates);
  rgt_op *op = front_op(&f, FRONT_MLP);
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.space = scratch_write(&f.s, "broken-space.lua",
                          "return { row_gather = { fused = 0, lanes = 8, vectors = 4 }, group_tiles = false,\n"
                          "         broken = { fault = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } } }\n",
                          0644); /* fault 16 alone is left out: with fault = 0 the right variant would come too */
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_int_equal(r.status, RGT_OK);
  assert_string_equal(r.winner, FRONT_DEFAULT);
  assert_string_equal(r.runner_up, "");
  assert_int_equal(r.n_wrong, N_FAULTS - 2);
  assert_int_equal(r.n_compile_error, 1);
  assert_int_equal(r.n_ok, 1);
  assert_int_equal(r.n_tried, N_FAULTS);
  front_ok(&f, rgt_db_check(f.ctx));
  front_open_mode(&f, NULL, templates); /* as it was stored */
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_true(r.hit);
  assert_string_equal(r.winner, FRONT_DEFAULT);
  assert_int_equal(r.n_wrong, N_FAULTS - 2);
}

/* ---- row_gather with one line patched ---- */

static const struct {
  const char *name, *file, *from, *to, *pass;
} patches[] = {
    {"drops_k", "cpu/lib/drops_k_row.h", "if (k < n_k) {\n    vf xk = ours", "if (0) {\n    vf xk = ours", "bound"},
    {"other_group", "cpu/other_group.c", "live_row(k, workspace, step, r, g, block);",
     "live_row(k, workspace, step, r, r >= 100 ? (g + 1) % k->groups : g, block);", "bound"},
    {"past_row", "cpu/past_row.c", "call_none(k, r, N_OUT);", "call_none(k, r, N_OUT + 1);", "canary"},
    {"leaves_masked", "cpu/leaves_masked.c", "call_none(k, r, N_OUT);", ";", "masked"},
    {"half_sums", "cpu/lib/half_sums_row.h", "sum[i] = vf_fma(ve_load(row[i] + k), xk, sum[i]);",
     "sum[i] = vf_fma(ve_load(row[i] + k), xk, sum[i]), sum[i] = sum[i] * 8193.0f - (sum[i] * 8193.0f - sum[i]);", "bound"},
};
enum { N_PATCHES = sizeof patches / sizeof patches[0] };

static void make_patched(char folder[200]) {
  snprintf(folder, 200, "%s/patched", f.s.folder);
  folder_copy(folder, NULL);
  for (int i = 0; i < N_PATCHES; i++) {
    char name[100], include[120], copy[100];
    folder_clone(folder, "row_gather", patches[i].name);
    snprintf(name, sizeof name, "cpu/%s.c", patches[i].name);
    snprintf(copy, sizeof copy, "cpu/lib/%s_row.h", patches[i].name);
    char *text = folder_read(folder, "cpu/lib/layer_row.h");
    folder_write(folder, copy, text);
    free(text);
    snprintf(include, sizeof include, "include(\"%s\")", copy);
    folder_patch(folder, name, "include(\"cpu/lib/layer_row.h\")", include);
    folder_patch(folder, patches[i].file, patches[i].from, patches[i].to);
  }
}

static void patched_copies_are_caught(void **state) {
  char folder[200], text[RGT_VARIANT_TEXT_MAX],
      space[1200] = "return { row_gather = { fused = 0, lanes = 8, vectors = 4 }, group_tiles = false";
  rgt_tune_result r;
  const int64_t rows = 8;
  (void)state;
  make_patched(folder);
  front_open_mode(&f, NULL, folder);
  rgt_op *op = front_op(&f, FRONT_MLP);
  for (int i = 0; i < N_PATCHES; i++) {
    size_t at = strlen(space);
    snprintf(text, sizeof text, "%s:fused=0,lanes=8,vectors=4", patches[i].name);
    wrong_in(op, text, patches[i].pass, ANY, ANY);
    snprintf(space + at, sizeof space - at, ", %s = { fused = 0, lanes = 8, vectors = 4 }", patches[i].name);
  }
  strcat(space, " }\n");
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.space = scratch_write(&f.s, "patched-space.lua", space, 0644);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_string_equal(r.winner, FRONT_DEFAULT);
  assert_int_equal(r.n_wrong, N_PATCHES);
  assert_int_equal(r.n_ok, 1);
}

/* Compiled, and no code all the same; and a workspace that no machine has: outcomes of those variants, by name. */
static void what_cannot_be_loaded_or_held_is_an_outcome(void **state) {
  static const char *const reasons[] = {"undefined symbol: nowhere", "over half of the free memory"};
  static const char *const names[] = {"lost", "hungry"};
  char folder[200], text[RGT_VARIANT_TEXT_MAX];
  verdict d;
  rgt_tune_result r;
  const int64_t rows = 8;
  (void)state;
  snprintf(folder, sizeof folder, "%s/outcomes", f.s.folder);
  folder_copy(folder, NULL);
  for (int i = 0; i < 2; i++) folder_clone(folder, "row_gather", names[i]);
  folder_patch(folder, "cpu/lost.c", "const rgt_int64 n_n = last_step",
               "extern int nowhere(int);\n  const rgt_int64 n_n = nowhere(step) ? N_OUT : last_step");
  folder_patch(folder, "cpu/hungry.lua", "\"4 * rows * n_hidden\"", "\"100000000000 * rows\"");
  front_open_mode(&f, NULL, folder);
  rgt_op *op = front_op(&f, FRONT_MLP);
  for (int i = 0; i < 2; i++) {
    snprintf(text, sizeof text, "%s:fused=0,lanes=8,vectors=4", names[i]);
    front_ok(&f, verify(op, text, &d));
    assert_int_equal(d.n, 1);
    assert_int_equal(d.v.outcome, RGT_TRIAL_INFEASIBLE);
    assert_has(d.reason, reasons[i]);
  }
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.space = scratch_write(&f.s, "outcomes.lua",
                          "return { row_gather = { fused = 0, lanes = 8, vectors = 4 }, group_tiles = false,\n"
                          "lost = { fused = 0, lanes = 8, vectors = 4 }, hungry = { fused = 0, lanes = 8, vectors = 4 } }\n",
                          0644);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_string_equal(r.winner, FRONT_DEFAULT);
  assert_int_equal(r.n_infeasible, 2);
  assert_int_equal(r.n_ok, 1);
}

/* ---- templates that do not even give a source ---- */

static void broken_lua_in(const char *name, const char *ending, const char *from, const char *to, const char *word) {
  char folder[200];
  verdict d;
  problem p;
  rgt_tune_result r;
  const int64_t rows = 8;
  snprintf(folder, sizeof folder, "%s/%s", f.s.folder, name);
  folder_copy(folder, NULL);
  folder_clone(folder, "row_gather", name);
  char file[100];
  snprintf(file, sizeof file, "cpu/%s%s", name, ending);
  folder_patch(folder, file, from, to);
  front_open_mode(&f, NULL, folder);
  rgt_op *op = front_op(&f, FRONT_MLP);
  char named[100];
  front_ok(&f, verify(op, NULL, &d)); /* the others are verified, and the log names file and line, once */
  assert_has(f.log, file);
  assert_has(f.log, word);
  assert_has(f.log, "; this family is left out");
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  o.force = 1;
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_int_equal(r.status, RGT_OK);
  assert_null(strstr(strstr(f.log, "left out") + 1, "left out"));
  snprintf(named, sizeof named, "%s:fused=0,lanes=8,vectors=4", name);
  front_fails(&f, rgt_op_prepare_variant(op, named, 8), RGT_ETEMPLATE, word); /* asked for by name, it is an error */
  assert_has(rgt_errmsg(f.ctx), file);
  problem_make(&p, FRONT_MLP, 8, 0); /* dispatch goes on, by the default or the built-in kernel */
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  problem_free(&p);
}

static void broken_lua(const char *name, const char *from, const char *to, const char *word) {
  broken_lua_in(name, ".lua", from, to, word);
}

static void lua_that_does_not_end(void **state) {
  (void)state;
  broken_lua("endless", "return p.fused == 0 or op.kind == \"mlp\" end", "while true do end return p.fused == 0 end",
             "instructions");
}

static void lua_that_fails_in_the_template(void **state) {
  (void)state;
  broken_lua_in("no_template", ".c", "//% include(\"cpu/lib/vec.h\")", "//% include(\"cpu/lib/nothing.h\")", "nothing.h");
}

static void lua_that_is_no_lua(void **state) {
  (void)state;
  broken_lua("no_lua", "revision = 1,", "revision = = 1,", "near");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fixture_itself_is_right),
      cmocka_unit_test(every_fault_is_named),
      cmocka_unit_test(what_does_not_compile_is_an_outcome),
      cmocka_unit_test(a_wrong_variant_never_wins),
      cmocka_unit_test(patched_copies_are_caught),
      cmocka_unit_test(what_cannot_be_loaded_or_held_is_an_outcome),
      cmocka_unit_test(lua_that_does_not_end),
      cmocka_unit_test(lua_that_is_no_lua),
      cmocka_unit_test(lua_that_fails_in_the_template),
  };
  return cmocka_run_group_tests(tests, open_house, close_house);
}
