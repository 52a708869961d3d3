/* test_cli_config.c -- ragtune tune --config: every op and skew of a file, one budget, one summary, one line for each mistake.
 */
#include "child.h"

/* two variants of row_gather, so that a search takes a fraction of a second */
#define SPACE "return { group_tiles = false, row_gather = { fused = { 0 }, lanes = { 8, 16 }, vectors = { 4 } } }\n"
#define TWO_OPS "return { ops = { { n_in = 4, n_out = 8, groups = { 2, 3 } } },\n"
#define FIRST "linear:4-8:g2:f32:none:b1:nk:i64"
#define SECOND "linear:4-8:g3:f32:none:b1:nk:i64"

static char config[128], space[128];

static int make_files(void **state) {
  if (make_home(state) != 0) return -1;
  snprintf(config, sizeof config, "%s", at("c.lua"));
  snprintf(space, sizeof space, "%s", at("s.lua"));
  put_text(space, SPACE);
  return 0;
}

static void expect_words(const char *text, const char *words) {
  if (!strstr(text, words)) fail_msg("no '%s' in\n%s\nstderr: %s", words, text, text_err);
}

static void expect_no_words(const char *text, const char *words) {
  if (strstr(text, words)) fail_msg("'%s' stands in\n%s", words, text);
}

static const char *text_at(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

static long long number_at(const json_t *object, const char *key) {
  if (!json_is_integer(json_object_get(object, key))) fail_msg("no number %s in\n%s", key, text_out);
  return json_integer_value(json_object_get(object, key));
}

/* search i of the run and its results, which must be for `rows` in this order, -1 behind the last */
static void expect_search(const json_t *run_object, size_t i, const char *op, const char *skew, const int *rows) {
  const json_t *one = json_array_get(json_object_get(run_object, "ops"), i), *results = json_object_get(one, "results");
  size_t n = 0;
  assert_string_equal(text_at(one, "op"), op);
  assert_string_equal(text_at(one, "status"), "RGT_OK");
  assert_string_equal(text_at(one, "reason"), "");
  if (skew)
    assert_string_equal(text_at(one, "skew"), skew);
  else
    assert_true(json_is_null(json_object_get(one, "skew")));
  for (; rows[n] != -1; n++) {
    const json_t *result = json_array_get(results, n);
    assert_int_equal(number_at(result, "rows"), rows[n]);
    assert_string_equal(text_at(result, "skew"), skew ? skew : "uniform");
    assert_string_equal(text_at(result, "status"), "ok");
    assert_true(strncmp(text_at(result, "winner"), "row_gather:fused=0,lanes=", 25) == 0);
  }
  assert_int_equal(json_array_size(results), n);
}

static json_t *expect_run(void) {
  return expect_json("tune", (const char *const[]){"config", "device_class", "toolchain", "ops", "database", "stored",
                                                   "interrupted", "out_of_budget", "seconds", "n", "failed", "not_begun",
                                                   "buckets_tuned", "buckets_hit", "buckets_infeasible", "buckets_skipped",
                                                   "buckets_interrupted", NULL});
}

/* ---- what is tuned ----------------------------------------------------------------------------------------- */

static void every_op_and_skew_is_tuned(void **unused) {
  json_t *o;
  (void)unused;
  put_text(config, TWO_OPS "rows = { 8, 5, 16 }, skew = { 'uniform', 'one' }, device = 'cpu', budget_s = 4000 }");
  expect(run("--config %s --space %s --db %s --json", config, space, at("a.db")), 0);
  expect_words(text_err, " 16 min "); /* 4000 s over four, then what is left of them over three, two and one */
  expect_words(text_err, " 22 min ");
  expect_words(text_err, " 33 min ");
  expect_words(text_err, " 1 h 6 min left");
  expect_words(text_err, "ragtune: rows 8 and 5 share the bucket 8; it is tuned once\n");
  expect_words(text_err, "ragtune: 2 of 4: " FIRST ", skew one\n");
  o = expect_run();
  assert_string_equal(text_at(o, "config"), config);
  assert_string_equal(text_at(o, "database"), at("a.db"));
  assert_true(json_is_true(json_object_get(o, "stored")));
  assert_true(json_is_false(json_object_get(o, "interrupted")));
  assert_true(json_is_false(json_object_get(o, "out_of_budget")));
  assert_int_equal(json_array_size(json_object_get(o, "ops")), 4);
  expect_search(o, 0, FIRST, "uniform", (const int[]){8, 16, -1});
  expect_search(o, 1, FIRST, "one", (const int[]){8, 16, -1});
  expect_search(o, 2, SECOND, "uniform", (const int[]){8, 16, -1});
  expect_search(o, 3, SECOND, "one", (const int[]){8, 16, -1});
  assert_int_equal(number_at(o, "n"), 4);
  assert_int_equal(number_at(o, "failed"), 0);
  assert_int_equal(number_at(o, "not_begun"), 0);
  assert_int_equal(number_at(o, "buckets_tuned"), 8);
  assert_int_equal(number_at(o, "buckets_hit"), 0);
  json_decref(o);

  expect(run("tune --config %s --space %s --db %s", config, space, at("a.db")), 0); /* now all of it is stored */
  expect_words(text_out, "device     cpu:");
  expect_words(text_out, "\n\nop         " FIRST "  (1 of 4)\nskew       uniform\nrows ");
  expect_words(text_out, "\n\nop         " SECOND "  (4 of 4)\nskew       one\nrows ");
  expect_words(text_out, "2 of 2 buckets were stored before");
  expect_words(text_out, "\n\n4 of 4 searches (2 ops, 2 skews, 2 row counts) in ");
  expect_words(text_out, ": 0 buckets tuned, 8 stored before, 0 infeasible, 0 skipped\nstored in ");
  assert_null(strstr(strstr(text_out, "stored in ") + 1, "stored in ")); /* once */

  expect(run("--op %s --rows 8 --skew one --device cpu --space %s --db %s --json --quiet", FIRST, space, at("a.db")), 0);
  o = expect_json("tune", (const char *const[]){"results", NULL}); /* the same as for the single op */
  assert_true(json_is_true(json_object_get(json_array_get(json_object_get(o, "results"), 0), "hit")));
  json_decref(o);
}

static void the_command_line_goes_first(void **unused) {
  json_t *o;
  (void)unused;
  put_text(config, TWO_OPS "rows = { 8, 16, 32 }, skew = { 'uniform', 'zipf' }, device = 'cuda', budget_s = 0.001 }");
  expect(run("--config %s --space %s --device cpu --budget 60 --rows 4,3 --skew one --db %s --json", config, space, at("b.db")),
         0);
  expect_words(text_err, "ragtune: --rows 4 and 3 share the bucket 4; it is tuned once\n");
  o = expect_run();
  assert_int_equal(json_array_size(json_object_get(o, "ops")), 2);
  expect_search(o, 0, FIRST, "one", (const int[]){4, -1});
  expect_search(o, 1, SECOND, "one", (const int[]){4, -1});
  json_decref(o);
  expect(run("--config %s --space %s --budget 60 --rows 4 --skew one --db %s", config, space, at("b.db")),
         3); /* no CUDA here */
  assert_string_equal(text_out, "");
}

static void the_file_may_say_ops_alone(void **unused) {
  json_t *o;
  (void)unused;
  put_text(config, "return { ops = { '" FIRST "' } }");
  expect(run_with("RAGTUNE_DEVICE=cpu", "--config %s --space %s --rows 2 --db %s --json --quiet", config, space, at("b.db")),
         0);
  assert_string_equal(text_err, "");
  o = expect_run();
  expect_search(o, 0, FIRST, NULL, (const int[]){2, -1});
  json_decref(o);
  /* "auto" is what was not said: the environment may say */
  expect(run_with("RAGTUNE_DEVICE=nowhere", "--config %s --space %s --rows 2", config, space), 2);
}

static void quiet_names_the_ops(void **unused) {
  (void)unused;
  put_text(config, TWO_OPS "rows = 4, skew = 'one', device = 'cpu' }");
  expect(run("--config %s --space %s --db %s --quiet", config, space, at("b.db")), 0);
  assert_string_equal(text_err, "");
  assert_true(strncmp(text_out, "\nop         " FIRST "  (1 of 2)\nskew       one\nrows ", 30 + sizeof FIRST) == 0);
  expect_words(text_out, "\nop         " SECOND "  (2 of 2)\n");
  expect_no_words(text_out, "searches");
  expect_no_words(text_out, "device ");
}

/* ---- budget, interrupt, failures --------------------------------------------------------------------------- */

static void a_spent_budget_begins_nothing(void **unused) {
  json_t *o;
  (void)unused;
  put_text(config, TWO_OPS "rows = 128, device = 'cpu' }");
  expect(run("--config %s --space %s --budget 0.0000000001 --db %s --json", config, space, at("b.db")), 1);
  expect_words(text_err,
               "ragtune: the budget of 1e-10 s ran out: 2 of 2 searches were not begun; the same command goes on from there\n");
  o = expect_run();
  assert_true(json_is_true(json_object_get(o, "out_of_budget")));
  assert_int_equal(json_array_size(json_object_get(o, "ops")), 0);
  assert_int_equal(number_at(o, "not_begun"), 2);
  json_decref(o);
}

/* one signal ends all of it; it is sent once the first search says that it is at work */
static void an_interrupt_ends_the_whole(void **unused) {
  char line[512];
  child c;
  (void)unused;
  put_text(config,
           "return { ops = { { n_in = 24, n_hidden = 40, groups = { 3, 4 } } }, rows = 64, device = 'cpu', budget_s = 600 }");
  snprintf(line, sizeof line, "--config %s --db %s", config, at("b.db"));
  text_out[0] = text_err[0] = 0;
  c = start(line, NULL, NULL);
  while (!strchr(text_err, '\n') && drain(c.err, text_err, sizeof text_err)) {
  }
  assert_int_equal(kill(c.pid, SIGINT), 0);
  expect(finish(c), 1);
  expect_words(text_err, "ragtune: interrupted; what was measured is kept in ");
  expect_words(text_out, "op         mlp:24-40-24:g3:f32:relu:b12:nk:i64  (1 of 2)\n");
  expect_no_words(text_out, "(2 of 2)");
  expect_words(text_out, "\n1 of 2 searches (2 ops, 1 skew, 1 row counts) in ");
}

/* a type that the device lacks fails its own searches, said once, and the others go on */
static void a_failure_ends_its_own_op(void **unused) {
  static const char kn[] = "linear:4-8:g2:f32:none:b1:kn:i64"; /* only kn has vectors to choose */
  char narrow[200];
  json_t *o, *one;
  (void)unused;
  snprintf(narrow, sizeof narrow, "%s", at("kn.lua"));
  put_text(narrow, "return { group_tiles = false, row_gather = { lanes = 8, vectors = 2 } }");
  put_text(config, "return { ops = { { n_in = 4, n_out = 8, groups = 2, layout = { 'nk', 'kn' } } }, rows = 4,\n"
                   "skew = { 'uniform', 'one' }, device = 'cpu' }");
  expect(run("--config %s --space %s --db %s --json --quiet", config, narrow, at("b.db")), 1);
  expect_words(text_err, "ragtune: " FIRST ": ");
  expect_words(text_err, "kn.lua leaves no variant for this op");
  assert_int_equal(strchr(text_err, '\n') - text_err, strlen(text_err) - 1); /* one line */
  o = expect_run();
  assert_int_equal(number_at(o, "failed"), 2);
  assert_int_equal(number_at(o, "not_begun"), 0);
  one = json_array_get(json_object_get(o, "ops"), 0);
  assert_string_equal(text_at(one, "status"), "RGT_EINFEASIBLE");
  expect_words(text_at(one, "reason"), "leaves no variant");
  assert_int_equal(json_array_size(json_object_get(one, "results")), 0);
  expect_search(o, 2, kn, "uniform", (const int[]){4, -1});
  expect_search(o, 3, kn, "one", (const int[]){4, -1});
  json_decref(o);
}

/* what two ops fail with alike is not about the ops */
static void a_common_failure_ends_the_run(void **unused) {
  json_t *o;
  (void)unused;
  put_text(config, "return { ops = { { n_in = 4, n_out = 8, groups = { 7, 8, 9 } } }, rows = 4, device = 'cpu' }");
  put_text(at("bad.lua"), "\nreturn 3");
  expect(run("--config %s --space %s --db %s --json --quiet", config, at("bad.lua"), at("b.db")), 2);
  expect_words(text_err, "bad.lua:");
  assert_int_equal(strchr(text_err, '\n') - text_err, strlen(text_err) - 1);
  o = expect_run();
  assert_int_equal(number_at(o, "failed"), 2);
  assert_int_equal(number_at(o, "not_begun"), 1);
  json_decref(o);
  expect(run_with("RAGTUNE_CC=none", "--config %s --db %s --json --quiet", config, at("b.db")), 3);
  o = expect_run();
  assert_int_equal(number_at(o, "failed"), 1);
  assert_int_equal(number_at(o, "not_begun"), 2);
  json_decref(o);
}

/* ---- mistakes ---------------------------------------------------------------------------------------------- */

static void what_may_not_stand_beside_it(void **unused) {
  static const char *const no_shards[] = {"0/8",  "9/8", "1/0",   "1/10001", "8",    "/8",   "1/",
                                          "-1/8", "a/b", "1/8/2", "1.0/8",   "1//8", "+1/8", "01234567890123456789/8"};
  (void)unused;
  put_text(config, TWO_OPS "rows = 8 }");
  expect_refusal(run("--config %s --op %s", config, FIRST), 2, "--op stands beside --config, whose file names the ops");
  expect_refusal(run("--config %s --in 4 --groups 2", config), 2, "--in stands beside --config");
  expect_refusal(run("--config %s --dtype f16", config), 2, "--dtype stands beside --config");
  expect_refusal(run("--config %s --index i.npy", config), 2, "--index stands beside --config");
  expect_refusal(run("--op %s --shard 1/2", FIRST), 2, "--shard 1/2: splits the list of a --config, and none is given");
  for (size_t i = 0; i < sizeof no_shards / sizeof *no_shards; i++)
    expect_refusal(run("--config %s --shard %s", config, no_shards[i]), 2,
                   "' is no I/N with 1 <= I <= N <= 10000, such as 1/8");
  expect_refusal(run("why --config %s", config), 2, "--config is not an option of why (it belongs to tune)");
  expect_refusal(run("--config %s --space /nonexistent.lua", config), 3, "--space /nonexistent.lua: No such file");
}

static void wrong_files_are_one_line(void **unused) {
  static const char *const wrong[][2] = {
      {"return { ops = {} }", "c.lua:1: config: ops has no op in its list"},
      {"return { ops = { { n_in = 4, n_out = 8,\n groups = {} } } }", "c.lua:2: ops: groups is an empty list"},
      {"return {\n op = { '" FIRST "' } }", "c.lua:2: config: unknown field 'op'"},
      {"return { ops = {\n\n 'linear:4-8' } }", "c.lua:3: op \"linear:4-8\": "},
      {"return { ops = = }", "c.lua:1: "},
      {"\nreturn { ops = os.time() }", "c.lua:2: unknown name 'os'"},
      {TWO_OPS "rows = { 8, 0 } }", "c.lua:2: config: rows: 0 is no whole number"},
      {TWO_OPS "skew = 'even' }", "c.lua:2: config: skew: 'even' is none of uniform, zipf, one"},
      {TWO_OPS "device = 'gpu' }", "c.lua:2: config: device is \"gpu\"; it can be auto, cpu, cuda or cuda:N"},
      {TWO_OPS "budget_s = 'long' }", "c.lua:2: "},
  };
  (void)unused;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    put_text(config, wrong[i][0]);
    expect_refusal(run("--config %s", config), 2, wrong[i][1]);
  }
  expect_refusal(run("--config /nonexistent/c.lua"), 3, "/nonexistent/c.lua: No such file or directory");
  expect_refusal(run("--config %s", home), 3, "not a regular file");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_and_skew_is_tuned),    cmocka_unit_test(the_command_line_goes_first),
      cmocka_unit_test(the_file_may_say_ops_alone),    cmocka_unit_test(quiet_names_the_ops),
      cmocka_unit_test(a_spent_budget_begins_nothing), cmocka_unit_test(an_interrupt_ends_the_whole),
      cmocka_unit_test(a_failure_ends_its_own_op),     cmocka_unit_test(a_common_failure_ends_the_run),
      cmocka_unit_test(what_may_not_stand_beside_it),  cmocka_unit_test(wrong_files_are_one_line),
  };
  return cmocka_run_group_tests(tests, make_files, remove_home);
}
