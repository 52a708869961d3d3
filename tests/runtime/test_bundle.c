/* test_bundle.c -- dispatch from a bundle: which variant, from which code, and what a bundle that is of no use costs. */
#include "runtime/bundle.h"
#include "runtime/bundle_table.h"
#include "tests/support/folder.h"
#include "tests/support/stored.h"

#define MORE_GROUPS "mlp:10-20-5:g9:f32:relu:b12:nk:i64"
#define NEAR "mlp:12-20-5:g4:f32:relu:b12:nk:i64"

static front f;
static char tiles[RGT_VARIANT_TEXT_MAX], bundle[200];

/* The bundle, made once: at 8 rows the fused variant wins, at 64 group_tiles. Each test has a copy on what is another machine:
 * an empty database and cache, and no compiler. */
static char made[] = "/tmp/rgt-bundle-XXXXXX";

static int make_bundle(void **state) {
  char folder[100];
  (void)state;
  assert_non_null(mkdtemp(made));
  front_begin(&f);
  front_open(&f);
  stored_tiles(&f, tiles);
  rgt_op *op = front_op(&f, FRONT_MLP);
  stored_winner(op, 8, FRONT_FUSED);
  stored_winner(op, 64, tiles);
  snprintf(folder, sizeof folder, "%s/bundle", made);
  front_ok(&f, rgt_compile_bundle(op, NULL, folder));
  front_end(&f);
  return 0;
}

static int remove_bundle(void **state) {
  (void)state;
  rgt__file_remove_tree(made);
  return access(made, F_OK) == 0;
}

static void open_elsewhere(const char *mode, const char *templates) {
  rgt_options o = front_options(&f);
  o.bundle = bundle;
  o.mode = mode;
  o.template_dir = templates;
  if (front_open_with(&f, &o) != RGT_OK) fail_msg("%s", rgt_errmsg(f.ctx));
}

static int begin(void **state) {
  char command[400];
  (void)state;
  front_begin(&f);
  snprintf(command, sizeof command, "cp -r %s/bundle %s/bundle", made, f.s.folder);
  assert_int_equal(system(command), 0);
  snprintf(bundle, sizeof bundle, "%s/bundle", f.s.folder);
  setenv("RAGTUNE_CC", "none", 1);
  open_elsewhere(NULL, NULL);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

/* What is ready for `rows`: "builtin" for the built-in kernel. */
static const char *ready_for(const rgt_op *op, int64_t rows) {
  int bucket = 0;
  while (((int64_t)1 << bucket) < rows) bucket++;
  return op->by_bucket[bucket] ? op->by_bucket[bucket]->variant : "builtin";
}

static void run_right(rgt_op *op, const char *text, int64_t rows) {
  problem p;
  problem_make(&p, text, rows, 1);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  problem_free(&p);
}

/* Lines of the log that are about the bundle. */
static int bundle_lines(void) {
  int n = strncmp(f.log, "bundle: ", 8) == 0;
  for (const char *at = f.log; (at = strstr(at, "\nbundle: ")); at++) n++;
  return n;
}

static rgt_why_info why(rgt_op *op, int64_t rows) {
  rgt_why_info i = {.struct_size = sizeof i};
  front_ok(&f, rgt_why(op, rows, &i));
  return i;
}

/* ---- which variant ---- */

static void winners_without_a_compiler(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  rgt_why_info before = why(op, 64);
  front_ok(&f, rgt_op_prepare(op, 1000, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  assert_string_equal(ready_for(op, 3), FRONT_FUSED);
  assert_string_equal(ready_for(op, 64), tiles);
  assert_string_equal(ready_for(op, 1000), tiles);
  rgt_why_info after = why(op, 64);
  assert_int_equal(after.from, RGT_FROM_BUNDLE);
  assert_true(after.exact);
  assert_string_equal(after.variant, tiles);
  assert_string_equal(after.variant, before.variant);
  assert_string_equal(after.runner_up, FRONT_DEFAULT);
  assert_int_equal(after.time_ps, 500000);
  assert_has(after.note, bundle);
  assert_false(why(op, 65).exact); /* the largest tuned bucket, not its own */
  for (int64_t rows = 1; rows <= 1000; rows = rows * 3 + 1) run_right(op, FRONT_MLP, rows);
  assert_string_equal(f.log, "");
  assert_int_equal(scratch_count(f.cache), 0); /* nothing was compiled or copied */
}

static void without_it_the_built_in_kernel(void **state) {
  (void)state;
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 64), "builtin");
  assert_int_equal(why(op, 64).from, RGT_FROM_BUILTIN);
  run_right(op, FRONT_MLP, 64);
}

static void the_environment_names_it(void **state) {
  (void)state;
  setenv("RAGTUNE_BUNDLE", bundle, 1);
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_MLP);
  assert_int_equal(why(op, 8).from, RGT_FROM_BUNDLE);
  unsetenv("RAGTUNE_BUNDLE");
}

static void a_hit_costs_no_compile(void **state) {
  (void)state;
  setenv("RAGTUNE_CC", f.compiler, 1);
  open_elsewhere(NULL, NULL);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 64), tiles);
  assert_int_equal(front_compiles(&f), 0);
  run_right(op, FRONT_MLP, 64);
}

static void own_results_go_before_it(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  stored_winner(op, 64, FRONT_FUSED);
  rgt_why_info i = why(op, 64);
  assert_int_equal(i.from, RGT_FROM_USER_DB);
  assert_string_equal(i.variant, FRONT_FUSED);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT)); /* its code is in the bundle all the same */
  assert_string_equal(ready_for(op, 64), FRONT_FUSED);
  run_right(op, FRONT_MLP, 64);
}

static void what_is_banned_is_not_chosen(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_db_ban(f.ctx, tiles, NULL));
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 64), FRONT_FUSED); /* the winner of fewer rows */
  assert_string_equal(why(op, 64).variant, FRONT_FUSED);
  front_ok(&f, rgt_db_ban(f.ctx, FRONT_FUSED, NULL));
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 64), FRONT_DEFAULT);
  assert_int_equal(why(op, 64).from, RGT_FROM_DEFAULT);
  run_right(op, FRONT_MLP, 64);
  front_ok(&f, rgt_db_unban(f.ctx, tiles));
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 64), tiles);
}

static void it_goes_before_what_is_near(void **state) {
  (void)state;
  stored_winner(front_op(&f, NEAR), 64, FRONT_FUSED);
  rgt_why_info i = why(front_op(&f, FRONT_MLP), 64);
  assert_int_equal(i.from, RGT_FROM_BUNDLE);
  assert_string_equal(i.variant, tiles);
}

static void the_code_serves_any_number_of_groups(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, MORE_GROUPS);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  rgt_why_info i = why(op, 64);
  assert_int_equal(i.from, RGT_FROM_BUNDLE);
  assert_false(i.exact);
  assert_has(i.note, "another signature");
  assert_has(i.stored_signature, FRONT_MLP);
  assert_string_equal(ready_for(op, 64), tiles);
  run_right(op, MORE_GROUPS, 64);
}

static void promises_and_forms(void **state) {
  (void)state;
  rgt_op *op = front_op_with(&f, FRONT_MLP, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .align_bytes = 16});
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT)); /* code that asks less of addresses does for more */
  assert_string_equal(ready_for(op, 64), tiles);
  assert_false(why(op, 64).exact);
  op = front_op_with(&f, FRONT_MLP, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .weight_form = RGT_POINTERS});
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT)); /* other code, which is not there */
  assert_string_equal(ready_for(op, 64), "builtin");
  assert_int_equal(why(op, 64).from, RGT_FROM_BUILTIN);
  op = front_op_with(&f, FRONT_MLP, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .skew = RGT_SKEW_ONE});
  assert_int_equal(why(op, 64).from, RGT_FROM_BUNDLE); /* tuned for another skew: better than nothing, and said */
  assert_false(why(op, 64).exact);
}

/* Code for rows as they come is none for rows by group: neither stale nor a choice, only not what is asked for. */
static void other_orders(void **state) {
  (void)state;
  for (int order = RGT_ORDER_SORTED; order <= RGT_ORDER_OFFSETS; order++) {
    rgt_op *op =
        front_op_with(&f, FRONT_MLP, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .order = (rgt_order)order});
    front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
    assert_string_equal(ready_for(op, 64), "builtin");
    assert_int_equal(why(op, 64).from, RGT_FROM_BUILTIN);
  }
  assert_int_equal(bundle_lines(), 0);
}

static void an_op_that_it_lacks(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, NEAR);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_int_equal(why(op, 64).from, RGT_FROM_BUILTIN);
  assert_int_equal(bundle_lines(), 0);
  run_right(op, NEAR, 64);
}

static void one_variant_where_bits_shall_not_vary(void **state) {
  (void)state;
  rgt_op *op = front_op_with(&f, FRONT_MLP, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .batch_invariant = 1});
  front_ok(&f, rgt_op_prepare(op, 100, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 1), tiles);
  assert_string_equal(ready_for(op, 100), tiles);
  run_right(op, FRONT_MLP, 100);
}

static void modes(void **state) {
  (void)state;
  open_elsewhere("off", NULL);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT)); /* no lookup: the default variant, whose code is in the bundle */
  assert_string_equal(ready_for(op, 64), FRONT_DEFAULT);
  assert_int_equal(why(op, 64).from, RGT_FROM_DEFAULT);
  run_right(op, FRONT_MLP, 64);
  open_elsewhere("replay", NULL);
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT)); /* it stands for this very signature */
  assert_string_equal(ready_for(op, 64), tiles);
  front_fails(&f, rgt_op_prepare(front_op(&f, MORE_GROUPS), 64, RGT_PREPARE_WAIT), RGT_EMISS, "nothing tuned is stored");
}

static void a_variant_by_name(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare_variant(op, tiles, 64));
  assert_string_equal(ready_for(op, 8), tiles);
  run_right(op, FRONT_MLP, 64);
  front_fails(&f, rgt_op_prepare_variant(op, "row_gather:fused=1,lanes=4,vectors=1", 64), RGT_ENOCOMPILER, "RAGTUNE_CC=none");
}

/* ---- bundles that are of no use, or of little ---- */

/* One warning with `word`, right results, and `variant` for 64 rows. */
static void goes_on_at(const char *word, const char *variant, int line) {
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  if (bundle_lines() != 1 || !strstr(f.log, word))
    fail_msg("line %d: the log should have one line with \"%s\": %s", line, word, f.log);
  if (strcmp(ready_for(op, 64), variant) != 0) fail_msg("line %d: %s, not %s", line, ready_for(op, 64), variant);
  run_right(op, FRONT_MLP, 64);
  run_right(op, FRONT_MLP, 8);
}
#define goes_on(word, variant) goes_on_at(word, variant, __LINE__)

static void breaks(const char *command, const char *word, const char *variant) {
  char text[1200];
  snprintf(text, sizeof text, "cd %s && T=%s && %s", f.s.folder, "bundle/ragtune-bundle", command);
  assert_int_equal(system(text), 0);
  open_elsewhere(NULL, NULL);
  goes_on_at(word, variant, __LINE__);
}

static void a_folder_that_is_none(void **state) {
  (void)state;
  breaks("mv bundle kept", "is no bundle", "builtin");
  breaks("echo text >bundle", "is no bundle", "builtin");
  breaks("rm bundle && mkdir bundle", "is no bundle", "builtin");
  breaks("mkfifo $T", "is no bundle", "builtin");
  breaks("rm $T && mkdir $T", "is no bundle", "builtin");
  breaks("rm -r bundle && cp -r kept bundle && sed -i 's/^ragtune-bundle 1/ragtune-bundle 7/' $T", "is a bundle of version 7",
         "builtin");
  breaks("cp kept/ragtune-bundle bundle/ && sed -i 's/fused=1/fused=0/' $T", "is damaged", "builtin");
  breaks("head -c 300 kept/ragtune-bundle >$T", "is damaged", "builtin");
  breaks(": >$T", "is no table of a bundle", "builtin");
  breaks("cp kept/ragtune-bundle bundle/ && chmod o+w bundle", "everybody can write to it", "builtin");
}

/* The winner's code is spoilt: its runner-up is in the bundle, whole. */
static void code_that_is_damaged(void **state) {
  static const char *const commands[] = {
      "truncate -s 100 $F",
      ": >$F",
      "rm $F",
      "rm $F && mkdir $F",
      "rm $F && ln -s /dev/zero $F",
      "printf x | dd of=$F bs=1 seek=5000 conv=notrunc 2>/dev/null",
      "printf x >>$F",
      "P=${F%.bin}.program && sed -i 's/valid/invalid/' $P",
      "P=${F%.bin}.program && : >$P",
      "P=${F%.bin}.program && head -c 50 $P >$P.cut && mv $P.cut $P",
      "P=${F%.bin}.program && rm $P",
      "O=$(ls code/*/*.bin | grep -v $F | head -1) && cp $O $F && cp ${O%.bin}.program ${F%.bin}.program", /* whole, but
                                                                                                              another's */
  };
  char text[1600];
  (void)state;
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    snprintf(text, sizeof text,
             "cd %s && { [ -d kept ] || cp -r bundle kept; } && rm -r bundle && cp -r kept bundle && cd bundle && "
             "K=$(grep '^code' ragtune-bundle | grep '%s' | cut -f9) && F=$(ls code/*/$K.bin) && %s",
             f.s.folder, tiles, commands[i]);
    if (system(text) != 0) fail_msg("%s", commands[i]);
    open_elsewhere(NULL, NULL);
    goes_on(tiles, FRONT_DEFAULT);
  }
}

static void all_code_is_gone(void **state) {
  (void)state;
  char text[400];
  snprintf(text, sizeof text, "rm -r %s/code", bundle);
  assert_int_equal(system(text), 0);
  open_elsewhere(NULL, NULL);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_int_equal(bundle_lines(), 3); /* one for each variant */
  assert_string_equal(ready_for(op, 64), "builtin");
  assert_int_equal(why(op, 64).from, RGT_FROM_BUILTIN);
  run_right(op, FRONT_MLP, 64);
}

/* With a compiler damage costs a compile. */
static void damage_where_a_compiler_is(void **state) {
  (void)state;
  char text[400];
  snprintf(text, sizeof text, "for f in %s/code/*/*.bin; do printf x >>$f; done", bundle);
  assert_int_equal(system(text), 0);
  setenv("RAGTUNE_CC", f.compiler, 1);
  open_elsewhere(NULL, NULL);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_int_equal(bundle_lines(), 3); /* the default is looked for too: it would stand in */
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  assert_string_equal(ready_for(op, 64), tiles);
  run_right(op, FRONT_MLP, 64);
}

static void made_from_other_templates(void **state) {
  char folder[200];
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, NULL);
  char *text = folder_read(folder, "cpu/group_tiles.c"), *more = NULL;
  assert_true(asprintf(&more, "%s\n/* edited */\n", text) > 0);
  folder_write(folder, "cpu/group_tiles.c", more);
  free(text);
  free(more);
  open_elsewhere(NULL, folder);
  goes_on("other templates", FRONT_DEFAULT);
}

static void for_another_processor(void **state) {
  (void)state;
  if (strcmp(f.ctx->device->info.target.name, "plain") == 0) {
    print_message("skipped: this processor has nothing that could be taken away\n");
    skip();
  }
  setenv("RAGTUNE_CPU", "plain", 1);
  open_elsewhere(NULL, NULL);
  goes_on("this device is plain", "builtin");
  unsetenv("RAGTUNE_CPU");
}

/* Code for any x86-64 serves a better one, where nothing better can be made. */
static void for_a_lesser_processor(void **state) {
  char lesser[200];
  (void)state;
  if (strcmp(f.ctx->device->info.target.name, "plain") == 0) {
    print_message("skipped: there is no lesser processor than this one\n");
    skip();
  }
  setenv("RAGTUNE_CPU", "plain", 1);
  setenv("RAGTUNE_CC", f.compiler, 1);
  snprintf(lesser, sizeof lesser, "%s/lesser", f.s.folder);
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_MLP);
  stored_winner(op, 8, "row_gather:fused=1,lanes=4,vectors=4");
  front_ok(&f, rgt_compile_bundle(op, NULL, lesser));
  unsetenv("RAGTUNE_CPU");
  setenv("RAGTUNE_CC", "none", 1);
  snprintf(bundle, sizeof bundle, "%s", lesser);
  snprintf(f.db, sizeof f.db, "%s/other.db", f.s.folder);
  open_elsewhere(NULL, NULL);
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), "row_gather:fused=1,lanes=4,vectors=4");
  assert_int_equal(why(op, 8).from, RGT_FROM_BUNDLE);
  run_right(op, FRONT_MLP, 8);
  setenv("RAGTUNE_CC", f.compiler, 1);
  open_elsewhere(NULL, NULL);
  goes_on("holds code for plain", FRONT_DEFAULT);
}

/* What no device verified is for machines that cannot do better. */
static void code_that_was_not_verified(void **state) {
  rgt__bundle_table t = {0};
  (void)state;
  assert_int_equal(rgt__bundle_table_read(bundle, &t, NULL), RGT_OK);
  for (int i = 0; i < t.n_code; i++) t.code[i].verified = 0;
  assert_int_equal(rgt__bundle_table_write(bundle, &t, NULL), RGT_OK);
  rgt__bundle_table_free(&t);
  open_elsewhere(NULL, NULL);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_int_equal(bundle_lines(), 2); /* for each of the two that are used */
  assert_has(f.log, "was not verified");
  assert_string_equal(ready_for(op, 64), tiles);
  setenv("RAGTUNE_CC", f.compiler, 1);
  open_elsewhere(NULL, NULL);
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 64), tiles);
  assert_true(front_compiles(&f) > 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(winners_without_a_compiler),
      TEST(without_it_the_built_in_kernel),
      TEST(the_environment_names_it),
      TEST(a_hit_costs_no_compile),
      TEST(own_results_go_before_it),
      TEST(it_goes_before_what_is_near),
      TEST(what_is_banned_is_not_chosen),
      TEST(the_code_serves_any_number_of_groups),
      TEST(promises_and_forms),
      TEST(other_orders),
      TEST(an_op_that_it_lacks),
      TEST(one_variant_where_bits_shall_not_vary),
      TEST(modes),
      TEST(a_variant_by_name),
      TEST(a_folder_that_is_none),
      TEST(code_that_is_damaged),
      TEST(all_code_is_gone),
      TEST(damage_where_a_compiler_is),
      TEST(made_from_other_templates),
      TEST(for_another_processor),
      TEST(for_a_lesser_processor),
      TEST(code_that_was_not_verified),
  };
  return cmocka_run_group_tests(tests, make_bundle, remove_bundle);
}
