/* test_prepare.c -- which variant rgt_op_prepare makes ready for which rows, and what it costs: with trials that the test
 * writes itself, so that winners are known. */
#include "tests/support/folder.h"
#include "tests/support/planted.h"

#define NEAR "mlp:12-20-5:g4:f32:relu:b12:nk:i64"
#define BROKEN "broken:fault=1,more=0" /* drops what is left of k */

static front f;
static char tiles[RGT_VARIANT_TEXT_MAX]; /* class seq */

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  front_open(&f);
  planted_tiles(&f, tiles);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static int n_loaded(const rgt_op *op) {
  int n = 0;
  for (const rgt__ready *r = op->ready; r; r = r->next) n += r->module != NULL;
  return n;
}

static void run_right(rgt_op *op, const char *text, int64_t rows) {
  problem p;
  problem_make(&p, text, rows, 1);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  problem_free(&p);
}

/* ---- which variant ---- */

static void exact_larger_and_largest(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  store_one(op, 8, FRONT_FUSED);
  store_one(op, 64, tiles);
  front_ok(&f, rgt_op_prepare(op, 200, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 1), FRONT_FUSED); /* the next larger tuned one */
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  assert_string_equal(ready_for(op, 9), tiles);
  assert_string_equal(ready_for(op, 64), tiles);
  assert_string_equal(ready_for(op, 65), tiles); /* the largest */
  assert_string_equal(ready_for(op, 200), tiles);
  assert_int_equal(n_loaded(op), 2); /* each loaded once */
  assert_string_equal(f.log, "");
  for (int64_t rows = 1; rows <= 200; rows = rows * 3 + 1) run_right(op, FRONT_MLP, rows);
}

static void nearest_then_default(void **state) {
  rgt_why_info why = {.struct_size = sizeof why};
  (void)state;
  store_one(front_op(&f, FRONT_MLP), 8, FRONT_FUSED);
  rgt_op *op = front_op(&f, NEAR);
  front_ok(&f, rgt_op_prepare(op, 16, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  assert_string_equal(ready_for(op, 4), FRONT_DEFAULT); /* nearest never runs over rows */
  assert_string_equal(ready_for(op, 16), FRONT_DEFAULT);
  front_ok(&f, rgt_why(op, 8, &why));
  assert_false(why.exact);
  run_right(op, NEAR, 8);
  run_right(op, NEAR, 16);
}

/* Tuned with another number of threads: before another shape, and said. */
static void another_number_of_threads(void **state) {
  (void)state;
  if (f.ctx->device->info.n_threads < 2) {
    print_message("skipped: one processor has one number of threads\n");
    skip();
  }
  store_one(front_op(&f, FRONT_MLP), 8, FRONT_FUSED); /* with all of them */
  store_one(front_op(&f, NEAR), 8, tiles);
  rgt_options o = front_options(&f);
  o.threads = 1;
  front_ok(&f, front_open_with(&f, &o));
  store_one(front_op(&f, NEAR), 8, tiles);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED); /* not NEAR's, which this number of threads has */
  rgt_why_info why = {.struct_size = sizeof why};
  front_ok(&f, rgt_why(op, 8, &why));
  assert_false(why.exact);
  assert_int_equal(why.from, RGT_FROM_USER_DB);
  assert_has(why.note, "tuned with ");
  assert_has(why.note, ", not with 1;");
  front_fails(&f, rgt_op_prepare(op, 8, RGT_PREPARE_EXACT), RGT_EMISS, "nothing tuned is stored");
  run_right(op, FRONT_MLP, 8);
}

static void nothing_stored_is_the_default(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 1000, RGT_PREPARE_WAIT));
  assert_int_equal(n_loaded(op), 1);
  assert_string_equal(ready_for(op, 1000), FRONT_DEFAULT);
  run_right(op, FRONT_MLP, 1000);
}

static void mode_off_asks_nothing(void **state) {
  (void)state;
  store_one(front_op(&f, FRONT_MLP), 8, FRONT_FUSED);
  front_open_mode(&f, "off", NULL);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_DEFAULT);
  assert_null(f.ctx->db); /* not even opened */
  run_right(op, FRONT_MLP, 8);
}

static void replay_and_exact_refuse_a_miss(void **state) {
  (void)state;
  store_one(front_op(&f, FRONT_MLP), 8, FRONT_FUSED);
  rgt_op *near = front_op(&f, NEAR);
  front_fails(&f, rgt_op_prepare(near, 8, RGT_PREPARE_EXACT), RGT_EMISS, "ragtune --op " NEAR " --rows");
  run_right(near, NEAR, 8); /* as before prepare: the built-in kernel */
  assert_false(near->prepared);
  front_open_mode(&f, "replay", NULL);
  rgt_op *op = front_op(&f, FRONT_MLP);
  near = front_op(&f, NEAR);
  front_fails(&f, rgt_op_prepare(near, 8, RGT_PREPARE_WAIT), RGT_EMISS, NEAR);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  run_right(op, FRONT_MLP, 8);
}

static void limits_of_the_handle(void **state) {
  rgt_op_options loose = {.struct_size = sizeof loose, .max_error = 0x1p-9};
  (void)state;
  rgt_op *strict = front_op(&f, FRONT_MLP), *other = front_op_with(&f, FRONT_MLP, &loose);
  store(strict, 8, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {FRONT_FUSED, 400000, 0x1p-10}, {tiles, 700000, 0}}, 3);
  front_ok(&f, rgt_op_prepare(strict, 8, RGT_PREPARE_WAIT));
  front_ok(&f, rgt_op_prepare(other, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(strict, 8), tiles);
  assert_string_equal(ready_for(other, 8), FRONT_FUSED);
}

static void batch_invariance_keeps_one_class(void **state) {
  rgt_op_options one_class = {.struct_size = sizeof one_class, .batch_invariant = 1};
  (void)state;
  rgt_op *free_op = front_op(&f, FRONT_MLP), *op = front_op_with(&f, FRONT_MLP, &one_class);
  store(op, 8, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {FRONT_FUSED, 500000, 0}, {tiles, 600000, 0}}, 3);
  store(op, 64, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {FRONT_FUSED, 900000, 0}, {tiles, 200000, 0}}, 3);
  front_ok(&f, rgt_op_prepare(free_op, 64, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(free_op, 8), FRONT_FUSED);
  assert_string_equal(ready_for(free_op, 64), tiles);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), tiles); /* 0.6 * 0.2 is less than 0.5 * 0.9 */
  assert_string_equal(ready_for(op, 64), tiles);
}

/* group_tiles is not valid for far more groups than rows, and the default has other bits than it. */
static void batch_invariance_never_leaves_its_class(void **state) {
  static const char few[] = "linear:4-4:g4:f32:none:b1:nk:i64", many[] = "linear:4-4:g5000:f32:none:b1:nk:i64";
  rgt_op_options one_class = {.struct_size = sizeof one_class, .batch_invariant = 1};
  problem p;
  (void)state;
  rgt_op *free_op = front_op(&f, many), *op = front_op_with(&f, many, &one_class);
  store_one(op, 64, tiles);
  front_ok(&f, rgt_op_prepare(free_op, 2000, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(free_op, 2000), tiles);
  front_ok(&f, rgt_op_prepare(op, 2000, RGT_PREPARE_WAIT)); /* one row could not be: nothing is */
  for (int64_t rows = 1; rows <= 2000; rows *= 4)           /* the default, or what is built in, with its bits */
    assert_true(!ready_for(op, rows) || strcmp(ready_for(op, rows), FRONT_DEFAULT) == 0);
  run_right(op, many, 300);
  op = front_op_with(&f, few, &one_class);
  store_one(op, 64, tiles);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  for (int64_t rows = 1; rows <= 64; rows *= 2) assert_string_equal(ready_for(op, rows), tiles);
  run_right(op, few, 64);
  problem_make(&p, many, 1, 1);
  p.args.groups = 5000; /* more than this op was made for */
  front_fails(&f, rgt_op_run(op, &p.args, NULL), RGT_EUNSUPPORTED, "batch-invariant");
  problem_untouched(&p);
  problem_free(&p);
}

/* ---- what it costs ---- */

static void a_hit_starts_no_compiler(void **state) {
  char command[200];
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  store_one(op, 8, FRONT_FUSED);
  store_one(op, 64, tiles);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_true(front_compiles(&f) >= 2);
  for (int turn = 0; turn < 2; turn++) {
    front_open(&f);
    op = front_op(&f, FRONT_MLP);
    front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
    run_right(op, FRONT_MLP, 60);
    front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
    run_right(op, FRONT_MLP, 8);
    assert_int_equal(front_compiles(&f), 0);
    assert_string_equal(f.log, "");
  }
  snprintf(command, sizeof command, "rm -r %s/cache", f.s.folder); /* wiped: compiled again */
  assert_int_equal(system(command), 0);
  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_true(front_compiles(&f) >= 2);
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  assert_string_equal(ready_for(op, 64), tiles);
  run_right(op, FRONT_MLP, 60);
}

static void the_default_is_kept_too(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_LINEAR);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_true(front_compiles(&f) >= 1);
  front_open(&f);
  op = front_op(&f, FRONT_LINEAR);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_int_equal(front_compiles(&f), 0);
  run_right(op, FRONT_LINEAR, 8);
}

static void without_a_compiler_the_builtin_runs(void **state) {
  rgt_why_info why = {.struct_size = sizeof why};
  (void)state;
  store_one(front_op(&f, FRONT_MLP), 8, FRONT_FUSED);
  setenv("RAGTUNE_CC", "none", 1);
  static const char *const modes[] = {"cache", "off", "tune"};
  for (int i = 0; i < 3; i++) {
    front_open_mode(&f, modes[i], NULL);
    rgt_op *op = front_op(&f, FRONT_MLP), *untuned = front_op(&f, FRONT_LINEAR);
    front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
    front_ok(&f, rgt_op_prepare(untuned, 8, RGT_PREPARE_WAIT));
    assert_null(ready_for(op, 8));
    assert_has(f.log, "no C compiler");
    assert_has(f.log, "the built-in kernel is used");
    front_ok(&f, rgt_why(untuned, 8, &why));
    assert_string_equal(why.variant, "builtin");
    assert_int_equal(why.from, RGT_FROM_BUILTIN);
    run_right(op, FRONT_MLP, 8);
    run_right(untuned, FRONT_LINEAR, 8);
  }
}

/* ---- what changed since the trials ---- */

static void open_with(const char *templates, const char *cache) {
  rgt_options o = front_options(&f);
  char folder[200];
  snprintf(folder, sizeof folder, "%s/%s", f.s.folder, cache);
  o.template_dir = templates;
  o.cache_dir = folder;
  assert_int_equal(front_open_with(&f, &o), RGT_OK);
}

static void changed_templates_are_verified_again(void **state) {
  char folder[200];
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, NULL);
  open_with(folder, "cache");
  rgt_op *op = front_op(&f, FRONT_MLP);
  store_one(op, 8, tiles);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), tiles);
  folder_patch(folder, "cpu/group_tiles.c", "static void compute(", "/* as before */ static void compute(");
  open_with(folder, "cache-2");
  op = front_op(&f, FRONT_MLP);
  front_compiles(&f);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_true(front_compiles(&f) > 0);
  assert_string_equal(ready_for(op, 8), tiles);
  run_right(op, FRONT_MLP, 8);
  folder_patch(folder, "cpu/group_tiles.c", "const rgt_int64 n_tiles = s->tile_first[k->groups],",
               "const rgt_int64 n_tiles = s->tile_first[k->groups] - 1,");
  open_with(folder, "cache-3");
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_has(f.log, tiles);
  assert_has(f.log, "never written");
  assert_string_equal(ready_for(op, 8), FRONT_DEFAULT);
  run_right(op, FRONT_MLP, 8);
}

static void another_revision_was_not_tuned(void **state) {
  char folder[200];
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, NULL);
  open_with(folder, "cache");
  store_one(front_op(&f, FRONT_MLP), 8, tiles);
  folder_patch(folder, "cpu/group_tiles.lua", "revision = 1,", "revision = 2,");
  open_with(folder, "cache");
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_DEFAULT);
  run_right(op, FRONT_MLP, 8);
}

static void a_wrong_winner_gives_way_to_its_runner_up(void **state) {
  char folder[200];
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, RGT_TESTS_DIR "/fixtures/broken");
  open_with(folder, "cache");
  rgt_op *op = front_op(&f, FRONT_MLP);
  store(op, 8, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {BROKEN, 100000, 0}, {FRONT_FUSED, 700000, 0}}, 3);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_has(f.log, BROKEN);
  assert_has(f.log, "not used");
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  run_right(op, FRONT_MLP, 8);
}

/* ---- one variant by name; what is refused ---- */

static void a_named_variant(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare_variant(op, tiles, 100));
  assert_string_equal(ready_for(op, 1), tiles);
  run_right(op, FRONT_MLP, 100);
  front_ok(&f, rgt_op_prepare_variant(op, "builtin", 100));
  assert_null(ready_for(op, 1));
  run_right(op, FRONT_MLP, 100);
  front_ok(&f, rgt_op_prepare(op, 10, RGT_PREPARE_WAIT)); /* and back */
  assert_string_equal(ready_for(op, 10), FRONT_DEFAULT);
  front_fails(&f, rgt_op_prepare_variant(op, "tiles_of_wax", 100), RGT_EINVAL, "tiles_of_wax");
  front_fails(&f, rgt_op_prepare_variant(op, "row_gather:lanes=7", 100), RGT_EINVAL, "lanes");
  front_fails(&f, rgt_op_prepare_variant(op, FRONT_FUSED, 0), RGT_EINVAL, "max_rows is 0");
  rgt_op *linear = front_op(&f, FRONT_LINEAR);
  front_fails(&f, rgt_op_prepare_variant(linear, FRONT_FUSED, 8), RGT_EINFEASIBLE, "nothing to fuse");
  run_right(op, FRONT_MLP, 8);
}

static void bad_arguments(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_op_prepare(op, 0, RGT_PREPARE_WAIT), RGT_EINVAL, "max_rows is 0");
  front_fails(&f, rgt_op_prepare(op, -8, 0), RGT_EINVAL, "max_rows is -8");
  front_fails(&f, rgt_op_prepare(op, RGT_COUNT_MAX + 1, 0), RGT_EINVAL, "max_rows is 2147483648");
  front_fails(&f, rgt_op_prepare(op, 8, 6), RGT_EINVAL, "flags is 6");
  assert_int_equal(front_compiles(&f), 0);
}

/* ---- mode tune ---- */

static void mode_tune_tunes_what_is_missing(void **state) {
  char folder[200];
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, NULL);
  folder_patch(folder, "cpu/row_gather.lua", "{ 4, 8, 16 }", "{ 8 }"); /* two variants */
  folder_patch(folder, "cpu/group_tiles.lua", "ops = { \"linear\", \"mlp\" },", "ops = { \"linear\" },");
  front_open_mode(&f, "tune", folder);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 12, RGT_PREPARE_WAIT));
  assert_true(front_compiles(&f) >= 2);
  rgt_why_info why = {.struct_size = sizeof why};
  front_ok(&f, rgt_why(op, 12, &why));
  assert_true(why.exact);
  assert_string_equal(why.variant, ready_for(op, 12));
  run_right(op, FRONT_MLP, 12);
  front_open_mode(&f, "replay", folder); /* both buckets are stored: 8 of the usual list, and the 16 that holds 12 */
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 12, RGT_PREPARE_WAIT));
  assert_int_equal(front_compiles(&f), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(exact_larger_and_largest),
      TEST(nearest_then_default),
      TEST(another_number_of_threads),
      TEST(nothing_stored_is_the_default),
      TEST(mode_off_asks_nothing),
      TEST(replay_and_exact_refuse_a_miss),
      TEST(limits_of_the_handle),
      TEST(batch_invariance_keeps_one_class),
      TEST(batch_invariance_never_leaves_its_class),
      TEST(a_hit_starts_no_compiler),
      TEST(the_default_is_kept_too),
      TEST(without_a_compiler_the_builtin_runs),
      TEST(changed_templates_are_verified_again),
      TEST(another_revision_was_not_tuned),
      TEST(a_wrong_winner_gives_way_to_its_runner_up),
      TEST(a_named_variant),
      TEST(bad_arguments),
      TEST(mode_tune_tunes_what_is_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
