/* test_bundle_write.c -- rgt_compile_bundle: what goes into a bundle, and that nothing is half written. */
#include "runtime/bundle_table.h"
#include "tests/support/folder.h"
#include "tests/support/stored.h"

static front f;
static char place[100], bundle[120]; /* the folder in which bundles are made, and one */
static rgt__bundle_table t;

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  front_open(&f);
  snprintf(place, sizeof place, "%s/place", f.s.folder);
  snprintf(bundle, sizeof bundle, "%s/bundle", place);
  return mkdir(place, 0700);
}

static int end(void **state) {
  (void)state;
  rgt__bundle_table_free(&t);
  front_end(&f);
  return 0;
}

static void read_table(void) {
  rgt__error err = {""};
  rgt__bundle_table_free(&t);
  if (rgt__bundle_table_read(bundle, &t, &err) != RGT_OK) fail_msg("%s", err.text);
}

static const rgt__bundle_code *code_of(const char *variant) {
  for (int i = 0; i < t.n_code; i++)
    if (strcmp(t.code[i].variant, variant) == 0) return &t.code[i];
  return NULL;
}

static const rgt__bundle_choice *choice_of(rgt_skew skew, int64_t bucket) {
  for (int i = 0; i < t.n_choices; i++)
    if (t.choices[i].skew == skew && t.choices[i].bucket == bucket) return &t.choices[i];
  return NULL;
}

typedef struct seen {
  int n, stop_after, n_of[RGT_N_OUTCOMES];
  char variants[40][RGT_VARIANT_TEXT_MAX], reason[RGT_REASON_MAX];
} seen;

static int take(void *user, const rgt_compile_info *i) {
  seen *s = user;
  assert_true(s->n < 40);
  s->n_of[i->outcome]++;
  if (i->reason[0]) snprintf(s->reason, sizeof s->reason, "%s", i->reason);
  snprintf(s->variants[s->n++], RGT_VARIANT_TEXT_MAX, "%s", i->variant);
  return s->n == s->stop_after;
}

/* ---- what is in it ---- */

static void an_untuned_op_has_its_default(void **state) {
  (void)state;
  front_ok(&f, rgt_compile_bundle(front_op(&f, FRONT_MLP), NULL, bundle));
  read_table();
  assert_int_equal(t.n_code, 1);
  assert_int_equal(t.n_choices, 0);
  assert_string_equal(t.code[0].variant, FRONT_DEFAULT);
  assert_string_equal(t.code[0].made_for.op, FRONT_MLP);
  assert_string_equal(t.code[0].made_for.target, f.ctx->device->info.target.name);
  assert_true(t.code[0].verified);
  assert_int_equal(t.code[0].made_for.align_bytes, 4);
  assert_false(t.code[0].has_ptx);
  assert_true(t.code[0].toolchain[0]);
  assert_int_equal(scratch_count(place), 7); /* bundle, its table, manifest, code, ab, binary, program */
}

static void a_tuned_op_has_what_dispatch_would_take(void **state) {
  char tiles[RGT_VARIANT_TEXT_MAX];
  (void)state;
  stored_tiles(&f, tiles);
  rgt_op *op = front_op(&f, FRONT_MLP);
  stored_run(op, 8, RGT_SKEW_UNIFORM, (const stored_trial[]){{FRONT_DEFAULT, 1000000}, {FRONT_FUSED, 500000}, {tiles, 800000}},
             3);
  stored_run(op, 8, RGT_SKEW_ZIPF, (const stored_trial[]){{FRONT_DEFAULT, 1000000}, {FRONT_FUSED, 900000}, {tiles, 600000}}, 3);
  stored_run(op, 64, RGT_SKEW_ZIPF, (const stored_trial[]){{FRONT_DEFAULT, 1000000}}, 1);
  stored_winner(front_op(&f, "mlp:12-20-5:g4:f32:relu:b12:nk:i64"), 512, tiles); /* another op's */
  front_ok(&f, rgt_compile_bundle(op, NULL, bundle));
  read_table();
  assert_int_equal(t.n_code, 3);
  assert_non_null(code_of(FRONT_DEFAULT));
  assert_non_null(code_of(FRONT_FUSED));
  assert_non_null(code_of(tiles));
  assert_string_equal(choice_of(RGT_SKEW_UNIFORM, 8)->variant, FRONT_FUSED);
  assert_string_equal(choice_of(RGT_SKEW_UNIFORM, 8)->runner_up, tiles);
  assert_int_equal(choice_of(RGT_SKEW_UNIFORM, 8)->ratio_ppm, 500000);
  assert_int_equal(choice_of(RGT_SKEW_UNIFORM, 8)->second_ppm, 800000);
  assert_string_equal(choice_of(RGT_SKEW_UNIFORM, 8)->device_class, f.ctx->device->info.class_text);
  assert_string_equal(choice_of(RGT_SKEW_ZIPF, 8)->variant, tiles);
  assert_string_equal(choice_of(RGT_SKEW_ZIPF, 64)->variant, FRONT_DEFAULT);
  assert_string_equal(choice_of(RGT_SKEW_ZIPF, 64)->runner_up, "");
  assert_string_equal(choice_of(RGT_SKEW_UNKNOWN, 8)->variant, tiles); /* the smallest worst ratio: 0.8 against 0.9 */
  assert_null(choice_of(RGT_SKEW_ONE, 8));
  assert_null(choice_of(RGT_SKEW_UNIFORM, 512));
  assert_int_equal(t.n_choices, 5);
}

static void named_and_sampled_variants(void **state) {
  seen s = {0};
  rgt_bundle_options o = {.struct_size = sizeof o, .variant = FRONT_FUSED, .fn = take, .user = &s};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  stored_winner(op, 8, FRONT_FUSED);
  front_ok(&f, rgt_compile_bundle(op, &o, bundle));
  read_table();
  assert_int_equal(t.n_code, 2);
  assert_int_equal(t.n_choices, 0); /* named, not chosen */
  assert_int_equal(s.n, 2);
  assert_string_equal(s.variants[0], FRONT_DEFAULT);
  assert_string_equal(s.variants[1], FRONT_FUSED);
  o = (rgt_bundle_options){.struct_size = sizeof o, .target = "cpu", .sample = 4, .seed = 3, .fn = take, .user = &s};
  memset(&s, 0, sizeof s);
  front_ok(&f, rgt_compile_bundle(op, &o, bundle)); /* added */
  assert_true(s.n >= 4 && s.n <= 5);
  assert_int_equal(s.n_of[RGT_TRIAL_OK], s.n);
  assert_string_equal(s.variants[0], FRONT_DEFAULT);
  read_table();
  for (int i = 0; i < s.n; i++) assert_non_null(code_of(s.variants[i]));
  assert_non_null(code_of(FRONT_FUSED));
}

/* Neither as a winner nor in a sample, nor by its name; for other devices it does not count. */
static void what_is_banned_stays_out(void **state) {
  char tiles[RGT_VARIANT_TEXT_MAX];
  seen s = {0};
  rgt_bundle_options o = {.struct_size = sizeof o, .variant = FRONT_FUSED, .fn = take, .user = &s};
  (void)state;
  stored_tiles(&f, tiles);
  rgt_op *op = front_op(&f, FRONT_MLP);
  stored_run(op, 8, RGT_SKEW_UNIFORM, (const stored_trial[]){{FRONT_DEFAULT, 1000000}, {FRONT_FUSED, 500000}, {tiles, 800000}},
             3);
  front_ok(&f, rgt_db_ban(f.ctx, FRONT_FUSED, "it burns"));
  front_fails(&f, rgt_compile_bundle(op, &o, bundle), RGT_EINVAL, "is banned: it burns");
  assert_int_equal(scratch_count(place), 0);
  front_ok(&f, rgt_compile_bundle(op, NULL, bundle));
  read_table();
  assert_int_equal(t.n_code, 2);
  assert_null(code_of(FRONT_FUSED));
  assert_string_equal(choice_of(RGT_SKEW_UNIFORM, 8)->variant, tiles);
  assert_string_equal(choice_of(RGT_SKEW_UNIFORM, 8)->runner_up, FRONT_DEFAULT);
  o = (rgt_bundle_options){.struct_size = sizeof o, .sample = 2, .seed = 3, .fn = take, .user = &s};
  front_ok(&f, rgt_compile_bundle(op, &o, bundle));
  char *drawn = strcmp(s.variants[1], FRONT_DEFAULT) != 0 ? s.variants[1] : s.variants[2];
  front_ok(&f, rgt_db_ban(f.ctx, drawn, NULL));
  seen fewer = {0};
  o.user = &fewer;
  front_ok(&f, rgt_compile_bundle(op, &o, bundle));
  assert_int_equal(fewer.n, s.n - 1);
  for (int i = 0; i < fewer.n; i++) assert_string_not_equal(fewer.variants[i], drawn);
  assert_has(f.log, "is banned: not in the bundle");
}

static void several_ops_in_one(void **state) {
  (void)state;
  rgt_op *mlp = front_op(&f, FRONT_MLP), *linear = front_op(&f, FRONT_LINEAR);
  rgt_op *pointers =
      front_op_with(&f, FRONT_LINEAR, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .weight_form = RGT_POINTERS});
  stored_winner(mlp, 8, FRONT_FUSED);
  front_ok(&f, rgt_compile_bundle(mlp, NULL, bundle));
  front_ok(&f, rgt_compile_bundle(linear, NULL, bundle));
  front_ok(&f, rgt_compile_bundle(pointers, NULL, bundle));
  read_table();
  assert_int_equal(t.n_code, 4);
  int files = scratch_count(place);
  front_ok(&f, rgt_compile_bundle(linear, NULL, bundle)); /* again: nothing new */
  read_table();
  assert_int_equal(t.n_code, 4);
  assert_int_equal(scratch_count(place), files);
  assert_non_null(choice_of(RGT_SKEW_UNIFORM, 8));
}

/* Code for rows by group lies beside the one for rows as they come, and each has its own winner. */
static void every_order_has_its_own(void **state) {
  char tiles[RGT_VARIANT_TEXT_MAX];
  (void)state;
  stored_tiles(&f, tiles);
  rgt_op *raw = front_op(&f, FRONT_MLP);
  rgt_op *sorted =
      front_op_with(&f, FRONT_MLP, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .order = RGT_ORDER_SORTED});
  stored_winner(raw, 8, FRONT_FUSED);
  stored_winner(sorted, 8, tiles);
  front_ok(&f, rgt_compile_bundle(raw, NULL, bundle));
  front_ok(&f, rgt_compile_bundle(sorted, NULL, bundle));
  read_table();
  assert_int_equal(t.n_code, 4); /* the default and the winner of each */
  int n_sorted = 0;
  for (int i = 0; i < t.n_code; i++) {
    n_sorted += t.code[i].made_for.order == RGT_ORDER_SORTED;
    if (strcmp(t.code[i].variant, tiles) == 0) assert_int_equal(t.code[i].made_for.order, RGT_ORDER_SORTED);
    if (strcmp(t.code[i].variant, FRONT_FUSED) == 0) assert_int_equal(t.code[i].made_for.order, RGT_ORDER_RAW);
  }
  assert_int_equal(n_sorted, 2);
  for (int i = 0; i < t.n_choices; i++)
    assert_string_equal(t.choices[i].variant, t.choices[i].made_for.order == RGT_ORDER_SORTED ? tiles : FRONT_FUSED);
  assert_int_equal(t.n_choices, 4); /* uniform and unknown */
  setenv("RAGTUNE_CC", "none", 1);
  rgt_options elsewhere = front_options(&f);
  snprintf(f.db, sizeof f.db, "%s/other.db", f.s.folder);
  elsewhere.bundle = bundle;
  elsewhere.database = f.db;
  front_ok(&f, front_open_with(&f, &elsewhere));
  for (int i = 0; i < 2; i++) {
    rgt_op_options o = {.struct_size = sizeof o, .order = i ? RGT_ORDER_SORTED : RGT_ORDER_RAW};
    rgt_op *op = front_op_with(&f, FRONT_MLP, &o);
    front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
    assert_non_null(op->by_bucket[3]);
    assert_string_equal(op->by_bucket[3]->variant, i ? tiles : FRONT_FUSED);
  }
  assert_string_equal(f.log, "");
}

/* An activation that is no polynomial is verified by a twin of the variant, which is no part of the bundle. */
static void an_activation_with_a_twin(void **state) {
  (void)state;
  front_ok(&f, rgt_compile_bundle(front_op(&f, "mlp:10-20-5:g4:f32:gelu:b12:nk:i64"), NULL, bundle));
  read_table();
  assert_int_equal(t.n_code, 1);
  assert_true(t.code[0].verified);
  assert_int_equal(scratch_count(place), 7);
}

static void what_is_wrong_stays_out(void **state) {
  char folder[200];
  seen s = {0};
  rgt_bundle_options o = {.struct_size = sizeof o, .variant = "broken:fault=1,more=0", .fn = take, .user = &s};
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, RGT_TESTS_DIR "/fixtures/broken");
  front_open_mode(&f, NULL, folder);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_compile_bundle(op, &o, bundle));
  assert_int_equal(s.n_of[RGT_TRIAL_WRONG], 1);
  assert_true(s.reason[0]);
  read_table();
  assert_int_equal(t.n_code, 1);
  assert_string_equal(t.code[0].variant, FRONT_DEFAULT);
  o.variant = "broken:fault=6,more=16";
  front_ok(&f, rgt_compile_bundle(op, &o, bundle));
  assert_int_equal(s.n_of[RGT_TRIAL_COMPILE_ERROR], 1);
}

/* The default variant must be right: it is what runs where nothing else fits. */
static void a_wrong_default_ends_it(void **state) {
  char folder[200];
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, RGT_TESTS_DIR "/fixtures/broken");
  folder_patch(folder, "cpu/broken.lua", "default = 0, about = \"which one", "default = 1, about = \"which one");
  folder_patch(folder, "cpu/broken.lua", "rank = 50,", "rank = 0,"); /* before row_gather by its name */
  front_open_mode(&f, NULL, folder);
  front_fails(&f, rgt_compile_bundle(front_op(&f, FRONT_MLP), NULL, bundle), RGT_EWRONG, "the default variant broken");
  assert_int_equal(scratch_count(place), 0);
}

/* A context that keeps no compiled code writes straight into the bundle. */
static void without_a_cache(void **state) {
  (void)state;
  rgt_options o = front_options(&f);
  o.cache_dir = "";
  front_ok(&f, front_open_with(&f, &o));
  front_ok(&f, rgt_compile_bundle(front_op(&f, FRONT_MLP), NULL, bundle));
  read_table();
  assert_int_equal(t.n_code, 1);
  assert_int_equal(scratch_count(place), 7);
  setenv("RAGTUNE_CC", "none", 1);
  o.bundle = bundle;
  front_ok(&f, front_open_with(&f, &o));
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_non_null(op->by_bucket[3]);
  assert_string_equal(f.log, "");
}

/* For a GPU that is not here: cubin and PTX, unverified; the database knows nothing of it. */
static void for_a_gpu(void **state) {
  rgt_bundle_options o = {.struct_size = sizeof o, .target = "sm_90"};
  char path[400], hex[RGT_DIGEST_HEX_MAX];
  rgt__buffer ptx = {0};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  stored_winner(op, 8, FRONT_FUSED);
  rgt_status status = rgt_compile_bundle(op, &o, bundle);
  if (status == RGT_ENOCOMPILER) {
    print_message("skipped: sm_90: %s\n", rgt_errmsg(f.ctx));
    skip();
  }
  front_ok(&f, status);
  read_table();
  assert_int_equal(t.n_code, 1);
  assert_int_equal(t.n_choices, 0);
  assert_string_equal(t.code[0].made_for.target, "sm_90");
  assert_true(t.code[0].has_ptx);
  assert_false(t.code[0].verified);
  rgt__digest_hex(&t.code[0].key, hex);
  snprintf(path, sizeof path, "%s/code/%.2s/%s.ptx", bundle, hex, hex);
  assert_int_equal(rgt__file_read(path, 1 << 24, &ptx, NULL), RGT_OK);
  assert_non_null(strstr(ptx.data, ".target sm_90"));
  rgt__buffer_free(&ptx);
  setenv("RAGTUNE_CC", "none", 1); /* and to the CPU it is of no use, in one line */
  rgt_options cpu = front_options(&f);
  cpu.bundle = bundle;
  front_ok(&f, front_open_with(&f, &cpu));
  front_ok(&f, rgt_op_prepare(front_op(&f, FRONT_MLP), 8, RGT_PREPARE_WAIT));
  assert_has(f.log, "holds code for sm_90");
}

/* ---- what is refused, and what it leaves ---- */

static void refusals(void **state) {
  char path[300];
  rgt_bundle_options o = {.struct_size = 1};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_compile_bundle(op, &o, bundle), RGT_EINVAL, "struct_size is 1");
  front_fails(&f, rgt_compile_bundle(op, NULL, NULL), RGT_EINVAL, "folder is NULL");
  front_fails(&f, rgt_compile_bundle(op, NULL, ""), RGT_EINVAL, "0 bytes");
  o = (rgt_bundle_options){.struct_size = sizeof o, .target = "vax"};
  front_fails(&f, rgt_compile_bundle(op, &o, bundle), RGT_EINVAL, "target \"vax\"");
  o = (rgt_bundle_options){.struct_size = sizeof o, .variant = "wax"};
  front_fails(&f, rgt_compile_bundle(op, &o, bundle), RGT_EINVAL, "wax");
  snprintf(path, sizeof path, "%s/no/such/bundle", place);
  front_fails(&f, rgt_compile_bundle(op, NULL, path), RGT_EIO, path);
  assert_int_equal(scratch_count(place), 0);
  snprintf(path, sizeof path, "%s/mine", place);
  assert_int_equal(mkdir(path, 0755), 0);
  snprintf(path, sizeof path, "%s/mine/letter", place);
  FILE *letter = fopen(path, "we");
  assert_non_null(letter);
  fclose(letter);
  front_fails(&f, rgt_compile_bundle(op, NULL, path), RGT_EIO, "letter"); /* a file */
  snprintf(path, sizeof path, "%s/mine", place);
  front_fails(&f, rgt_compile_bundle(op, NULL, path), RGT_EINVAL, "is not empty and no bundle");
  assert_int_equal(scratch_count(place), 2);
  setenv("RAGTUNE_CC", "none", 1);
  front_open(&f);
  front_fails(&f, rgt_compile_bundle(front_op(&f, FRONT_MLP), NULL, bundle), RGT_ENOCOMPILER, "RAGTUNE_CC=none");
  assert_int_equal(scratch_count(place), 2);
}

static void an_empty_folder_and_a_slash(void **state) {
  char path[200];
  (void)state;
  assert_int_equal(mkdir(bundle, 0755), 0);
  snprintf(path, sizeof path, "%s//", bundle);
  front_ok(&f, rgt_compile_bundle(front_op(&f, FRONT_MLP), NULL, path));
  assert_int_equal(scratch_count(place), 7);
}

static void a_damaged_bundle_is_not_added_to(void **state) {
  char path[200], text[64] = "";
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_compile_bundle(op, NULL, bundle));
  snprintf(path, sizeof path, "%s/" RGT_BUNDLE_TABLE, bundle);
  FILE *table = fopen(path, "we");
  assert_non_null(table);
  fputs("ragtune-bundle 9 x\n", table);
  fclose(table);
  front_fails(&f, rgt_compile_bundle(op, NULL, bundle), RGT_EIO, "of version 9");
  table = fopen(path, "re");
  assert_non_null(fgets(text, sizeof text, table));
  fclose(table);
  assert_string_equal(text, "ragtune-bundle 9 x\n");
}

static void stopped_on_the_way(void **state) {
  seen s = {.stop_after = 1};
  rgt_bundle_options o = {.struct_size = sizeof o, .sample = 4, .fn = take, .user = &s};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  assert_int_equal(rgt_compile_bundle(op, &o, bundle), RGT_EINTERRUPTED);
  assert_int_equal(scratch_count(place), 0);
  front_ok(&f, rgt_compile_bundle(front_op(&f, FRONT_LINEAR), NULL, bundle));
  s = (seen){.stop_after = 2};
  assert_int_equal(rgt_compile_bundle(op, &o, bundle), RGT_EINTERRUPTED);
  read_table();
  assert_int_equal(t.n_code, 1); /* as it was */
}

/* Where code shall go there is a file, which root cannot pass either: an error that names it, and the bundle is as it was. */
static void a_place_that_cannot_be_written(void **state) {
  char command[500];
  (void)state;
  front_ok(&f, rgt_compile_bundle(front_op(&f, FRONT_LINEAR), NULL, bundle));
  snprintf(command, sizeof command, "mv %s/code %s/kept && : >%s/code", bundle, place, bundle);
  assert_int_equal(system(command), 0);
  front_fails(&f, rgt_compile_bundle(front_op(&f, FRONT_MLP), NULL, bundle), RGT_EIO, bundle);
  read_table();
  assert_int_equal(t.n_code, 1);
  assert_string_equal(t.code[0].made_for.op, FRONT_LINEAR);
}

static void memory_ends_anywhere(void **state) {
  rgt_status status = RGT_ENOMEM;
  int tries = 0;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_compile_bundle(op, NULL, bundle)); /* what is opened once is open, and the code is cached */
  rgt__file_remove_tree(bundle);
  for (int n = 0; status != RGT_OK; n += 1 + n / 3, tries++) {
    scratch_fail_after(n);
    status = rgt_compile_bundle(op, NULL, bundle);
    scratch_fail_never();
    if (status == RGT_OK) break;
    assert_int_equal(status, RGT_ENOMEM);
    assert_int_equal(scratch_count(place), 0);
    assert_true(tries < 200);
  }
  assert_true(tries > 5);
  read_table();
  assert_int_equal(t.n_code, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(an_untuned_op_has_its_default),
      TEST(a_tuned_op_has_what_dispatch_would_take),
      TEST(named_and_sampled_variants),
      TEST(several_ops_in_one),
      TEST(every_order_has_its_own),
      TEST(an_activation_with_a_twin),
      TEST(what_is_wrong_stays_out),
      TEST(what_is_banned_stays_out),
      TEST(a_wrong_default_ends_it),
      TEST(without_a_cache),
      TEST(for_a_gpu),
      TEST(refusals),
      TEST(an_empty_folder_and_a_slash),
      TEST(a_damaged_bundle_is_not_added_to),
      TEST(stopped_on_the_way),
      TEST(a_place_that_cannot_be_written),
      TEST(memory_ends_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
