/* test_cli_order.c -- --order of every verb that takes it: what it changes, and what is refused in one line. */
#include "runtime/cli/message.c"
#include "runtime/cli/npy.c"
#include "runtime/cli/out_file.c"
#include "runtime/cli/progress.c"
#include "runtime/cli/units.c"

#include "child.h"

#define CASES RGT_TESTS_DIR "/cases"
#define OP "--op mlp:4-6-4:g2:f32:relu:b12:nk:i64 --device cpu"
#define LINEAR "run --in 4 --out 8 --groups 4 --layout kn --bias b0 --device cpu --variant builtin "
#define LINEAR_FILES "--x " CASES "/question_linear/x.npy --w1 " CASES "/question_linear/w1.npy "

static const char *const orders[] = {"raw", "sorted", "offsets"};

static json_t *string_of(json_t *o, const char *key, const char *words) {
  const char *text = json_string_value(json_object_get(o, key));
  if (!text || !strstr(text, words)) fail_msg("%s is \"%s\"; wanted \"%s\" in it", key, text ? text : "no text", words);
  return o;
}

static void a_word_that_is_none(void **unused) {
  static const char *const lines[] = {"tune " OP " --rows 8", "why " OP " --rows 8", "verify " OP,
                                      "compile --op mlp:4-6-4:g2:f32:relu:b12:nk:i64 --target cpu",
                                      "run --case " CASES "/one_row --y y.npy"};
  (void)unused;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    expect_refusal(run("%s --order upside", lines[i]), 2, "--order: 'upside' is none of raw|sorted|offsets");
  expect_refusal(run("env --order raw"), 2, "--order is not an option of env");
}

/* A case's y is the same in every order, for the built-in kernel and for compiled code: rows are put in order and back. */
static void run_of_a_case(void **unused) {
  static const char *const variants[] = {"builtin", "row_gather:fused=1,lanes=4,vectors=4"};
  char command[600];
  (void)unused;
  for (int i = 0; i < 6; i++) {
    const char *y = i ? at("y.npy") : at("raw.npy");
    expect(run("run --case " CASES "/masked_anywhere --device cpu --variant %s --order %s --y %s", variants[i / 3],
               orders[i % 3], y),
           0);
    snprintf(command, sizeof command, "cmp %s %s", at("raw.npy"), y);
    assert_int_equal(system(command), 0);
  }
}

/* Single files are in the order already; what is not in it is named, and nothing is written. */
static void run_of_files(void **unused) {
  static const int64_t shapes[2][1] = {{12}, {5}};
  static const int64_t falls[12] = {0, 0, 1, 0, 3, 3, -1, -1, -1, -1, -1, -1}, past[5] = {0, 3, 6, 9, 13};
  int64_t begins[5] = {0};
  char command[600];
  rgt__npy index;
  rgt__message m;
  (void)unused;
  memset(&index, 0, sizeof index);
  assert_int_equal(rgt__npy_read(CASES "/question_linear/index.npy", &index, &m), RGT_OK);
  assert_int_equal(index.elems, 12);
  for (int r = 0; r < 12; r++)
    for (int64_t g = ((const int64_t *)index.data)[r] + 1; g > 0 && g < 5; g++) begins[g]++;
  rgt__npy_free(&index);
  assert_int_equal(begins[4], 9); /* three rows are masked */
  assert_int_equal(rgt__npy_write(at("begins.npy"), RGT_NPY_I8, 1, shapes[1], begins, &m), RGT_OK);
  expect(run(LINEAR LINEAR_FILES "--index " CASES "/question_linear/index.npy --y %s", at("raw.npy")), 0);
  expect(run(LINEAR LINEAR_FILES "--order sorted --index " CASES "/question_linear/index.npy --y %s", at("sorted.npy")), 0);
  expect(run(LINEAR LINEAR_FILES "--order offsets --index %s --y %s", at("begins.npy"), at("offsets.npy")), 0);
  snprintf(command, sizeof command, "cd %s && cmp raw.npy sorted.npy && cmp raw.npy offsets.npy", home);
  assert_int_equal(system(command), 0);
  assert_int_equal(rgt__npy_write(at("falls.npy"), RGT_NPY_I8, 1, shapes[0], falls, &m), RGT_OK);
  assert_int_equal(rgt__npy_write(at("past.npy"), RGT_NPY_I8, 1, shapes[1], past, &m), RGT_OK);
  expect_refusal(run(LINEAR LINEAR_FILES "--order sorted --index %s --y %s", at("falls.npy"), at("none.npy")), 2,
                 "falls.npy: row 3 has index 0 after 1");
  expect_refusal(run(LINEAR LINEAR_FILES "--order offsets --index %s --y %s", at("past.npy"), at("none.npy")), 2,
                 "past.npy: offset 4 is 13; want 9 to 12");
  expect_refusal(run(LINEAR LINEAR_FILES "--order offsets --index %s --y %s", at("falls.npy"), at("none.npy")), 2,
                 "holds <i8 (12,), wanted <i8 offsets (--index-type i64) (5,)");
  assert_int_equal(files_like("none.npy"), 0);
}

static void verify_in_every_order(void **unused) {
  (void)unused;
  for (int i = 1; i < 3; i++) {
    expect(run("verify " OP " --sample 1 --order %s", orders[i]), 0);
    assert_non_null(strstr(text_out, " 0 wrong, 0 infeasible, 0 compile errors\n"));
    expect(run("verify --case " CASES "/masked_anywhere --device cpu --variant builtin --order %s", orders[i]), 0);
    assert_non_null(strstr(text_out, "1 variants: 1 right"));
  }
}

/* What is tuned for one order is stored for it, and neither asked nor told for another. */
static void tune_and_why(void **unused) {
  (void)unused;
  put_text(at("space.lua"), "return { row_gather = { lanes = 4, vectors = 4 }, group_tiles = false }\n");
  expect(run("tune " OP " --rows 8 --budget 600 --space %s --order sorted --quiet --json", at("space.lua")), 0);
  json_decref(expect_json("tune", (const char *const[]){"results", NULL}));
  expect(run("why " OP " --rows 8 --order sorted --json"), 0);
  json_t *o = expect_json("why", (const char *const[]){"signature", "stored_signature", "from", "exact", NULL});
  string_of(o, "signature", "sorted");
  string_of(o, "stored_signature", "sorted");
  assert_true(json_is_true(json_object_get(o, "exact")));
  json_decref(o);
  expect(run("why " OP " --rows 8 --json"), 0);
  o = expect_json("why", (const char *const[]){"signature", "from", "exact", NULL});
  string_of(o, "signature", "raw");
  assert_false(json_is_true(json_object_get(o, "exact")));
  json_decref(o);
}

/* The order is in the code: the digests of the three differ. */
static void compile_for_each(void **unused) {
  char digests[3][80];
  (void)unused;
  for (int i = 0; i < 3; i++) {
    expect(run("compile --op mlp:4-6-4:g2:f32:relu:b12:nk:i64 --target cpu --variant row_gather:fused=1,lanes=4,vectors=4 "
               "--order %s --json",
               orders[i]),
           0);
    json_t *o = expect_json("compile", (const char *const[]){"variants", NULL});
    json_t *one = json_array_get(json_object_get(o, "variants"), 0);
    snprintf(digests[i], sizeof digests[i], "%s", json_string_value(json_object_get(one, "digest")));
    assert_true(digests[i][0]);
    json_decref(o);
  }
  assert_string_not_equal(digests[0], digests[1]);
  assert_string_not_equal(digests[0], digests[2]);
  assert_string_not_equal(digests[1], digests[2]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_word_that_is_none),   cmocka_unit_test(run_of_a_case), cmocka_unit_test(run_of_files),
      cmocka_unit_test(verify_in_every_order), cmocka_unit_test(tune_and_why),  cmocka_unit_test(compile_for_each),
  };
  return cmocka_run_group_tests(tests, make_home, remove_home);
}
