/* test_cli_bundle.c -- compile -o on one machine, run and why on another that has no compiler, no database and no cache. */
#include "child.h"

#define CASE RGT_TESTS_DIR "/cases/question_mlp"
#define OP "--op mlp:10-20-5:g3:f32:relu:b12:nk:i64"
#define SPACE                                           \
  "return { row_gather = { lanes = 8, vectors = 4 },\n" \
  "         group_tiles = { over = 0, packed = 0, lanes = { 4, 8 }, vectors = 1, block = 4 } }\n"
#define NO_CC "PATH=/nonexistent"

static char bundle[128], winner[RGT_VARIANT_TEXT_MAX];

static json_t *value_of(const json_t *o, const char *key) {
  json_t *v = json_object_get(o, key);
  if (!v) fail_msg("no %s in\n%s", key, text_out);
  return v;
}

static void tuned_here(void) {
  json_t *o;
  put_text(at("space.lua"), SPACE);
  expect(run("tune " OP " --rows 8 --space %s --quiet --json", at("space.lua")), 0);
  o = expect_json("tune", (const char *const[]){"results", NULL});
  snprintf(winner, sizeof winner, "%s",
           json_string_value(value_of(json_array_get(json_object_get(o, "results"), 0), "winner")));
  json_decref(o);
}

/* database and cache of this home go: another machine */
static void forget(void) {
  nftw(at("ragtune"), remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void manifest_is_json(void) {
  json_error_t why;
  char path[200];
  size_t i;
  json_t *one, *list;
  snprintf(path, sizeof path, "%s/manifest.json", bundle);
  json_t *o = json_load_file(path, 0, &why);
  if (!o) fail_msg("%s: %s", path, why.text);
  assert_string_equal(json_string_value(value_of(o, "ragtune")), RGT_VERSION);
  assert_int_equal(json_integer_value(value_of(o, "format_version")), 1);
  list = value_of(o, "code");
  assert_true(json_array_size(list) >= 2);
  json_array_foreach(list, i, one) {
    assert_string_equal(json_string_value(value_of(one, "op")), "mlp:10-20-5:g3:f32:relu:b12:nk:i64");
    assert_true(json_is_true(value_of(one, "verified")));
    assert_int_equal(strlen(json_string_value(value_of(one, "binary"))), 64);
  }
  list = value_of(o, "choices");
  json_array_foreach(list, i, one) assert_string_equal(json_string_value(value_of(one, "variant")), winner);
  assert_int_equal(i, 2); /* uniform, and unknown */
  json_decref(o);
}

static int make(void **unused) {
  if (make_home(unused) != 0) return -1;
  snprintf(bundle, sizeof bundle, "%s/bundle", home);
  tuned_here();
  expect(run("compile " OP " -o %s", bundle), 0);
  assert_non_null(strstr(text_out, winner));
  assert_non_null(strstr(text_out, "\nbundle "));
  manifest_is_json();
  forget();
  return 0;
}

/* variant and origin as `run` names them, and y of the case, which is exact: the same bytes whichever variant computes it */
static void run_case(const char *options, const char *variant, const char *from) {
  expect(run_with(NO_CC, "run --case " CASE " --device cpu --json --y %s %s", at("y.npy"), options), 0);
  json_t *o = expect_json("run", (const char *const[]){"variant", "from", NULL});
  assert_string_equal(json_string_value(json_object_get(o, "variant")), variant);
  assert_string_equal(json_string_value(json_object_get(o, "from")), from);
  json_decref(o);
}

static int same_files(const char *a, const char *b) {
  char command[512];
  snprintf(command, sizeof command, "cmp -s %s %s", a, b);
  return system(command) == 0;
}

static void dispatches_where_no_compiler_is(void **unused) {
  char options[200];
  (void)unused;
  run_case("", "builtin", "builtin");
  assert_non_null(strstr(text_err, "no C compiler"));
  assert_int_equal(rename(at("y.npy"), at("y-builtin.npy")), 0);
  snprintf(options, sizeof options, "--bundle %s", bundle);
  run_case(options, winner, "bundle");
  assert_string_equal(text_err, "");
  assert_true(same_files(at("y.npy"), at("y-builtin.npy")));
  expect(run_with(NO_CC, "why " OP " --rows 8 --device cpu --json %s", options), 0);
  json_t *o = expect_json("why", (const char *const[]){"variant", "from", NULL});
  assert_string_equal(json_string_value(json_object_get(o, "variant")), winner);
  assert_string_equal(json_string_value(json_object_get(o, "from")), "bundle");
  assert_true(json_is_true(json_object_get(o, "exact")));
  json_decref(o);
  expect(run_with(NO_CC, "why " OP " --rows 8 --device cpu %s", options), 0);
  assert_non_null(strstr(text_out, "\nfrom       the bundle\n"));
  expect(run_with(NO_CC, "run --case " CASE " --device cpu --y %s --variant %s %s", at("y.npy"), winner, options), 0);
}

static void a_damaged_one_is_said_once(void **unused) {
  char path[200], options[200];
  (void)unused;
  snprintf(path, sizeof path, "%s/damaged", home);
  assert_int_equal(mkdir(path, 0755), 0);
  snprintf(path, sizeof path, "%s/damaged/ragtune-bundle", home);
  put_text(path, "ragtune-bundle 1 and no hash\n");
  snprintf(options, sizeof options, "--bundle %s/damaged", home);
  run_case(options, "builtin", "builtin");
  char *first = strstr(text_err, "ragtune: warning: bundle: ");
  assert_non_null(first);
  assert_non_null(strstr(first, "is damaged"));
  assert_null(strstr(first + 1, "ragtune: warning: bundle: "));
}

static void usage(void **unused) {
  char path[200];
  (void)unused;
  snprintf(path, sizeof path, "%s/letters", home);
  assert_int_equal(mkdir(path, 0755), 0);
  snprintf(path, sizeof path, "%s/letters/one", home);
  put_text(path, "dear");
  expect_refusal(run("compile " OP " -o %s/letters --target cpu", home), 2, "is not empty and no bundle");
  expect_refusal(run("compile " OP " -o %s --target cpu", path), 3, "Not a directory");
  expect_refusal(run("compile " OP " -o %s/no/bundle --target cpu", home), 3, "No such file or directory");
  expect_refusal(run("tune " OP " --bundle %s", bundle), 2, "--bundle is not an option of tune");
  expect_refusal(run_with("RAGTUNE_CC=none", "compile " OP " -o %s/new", home), 3, "RAGTUNE_CC=none");
  snprintf(path, sizeof path, "%s/new", home);
  assert_int_equal(access(path, F_OK), -1);
}

static void json_of_compile(void **unused) {
  (void)unused;
  expect(run("compile " OP " -o %s/json --target cpu --json", home), 0);
  json_t *o =
      expect_json("compile", (const char *const[]){"op", "target", "bundle", "variants", "n", "compiled", "status", NULL});
  assert_int_equal(json_integer_value(json_object_get(o, "compiled")), 1); /* nothing is stored any more */
  json_decref(o);
}

static void a_bundle_for_a_gpu(void **unused) {
  (void)unused;
  int status = run("compile " OP " --target sm_90 --sample 2 -o %s/gpu", home);
  if (status == 3 && strstr(text_err, "nvrtc")) {
    print_message("skipped: %s", text_err);
    skip();
  }
  expect(status, 0);
  char command[300];
  snprintf(command, sizeof command, "ls %s/gpu/code/*/*.ptx %s/gpu/code/*/*.bin >/dev/null", home, home);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dispatches_where_no_compiler_is),
      cmocka_unit_test(a_damaged_one_is_said_once),
      cmocka_unit_test(usage),
      cmocka_unit_test(json_of_compile),
      cmocka_unit_test(a_bundle_for_a_gpu),
  };
  return cmocka_run_group_tests(tests, make, remove_home);
}
