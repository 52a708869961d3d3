/* test_layers.c -- the databases that are asked: which of them answers, in which order, how exact, and what one that cannot be
 * used costs. */
#include "runtime/layers.h"

#include "tests/support/planted.h"

#define NEAR "mlp:12-20-5:g4:f32:relu:b12:nk:i64"
#define FAR "mlp:40-20-5:g4:f32:relu:b12:nk:i64"

static front f;
static char tiles[RGT_VARIANT_TEXT_MAX], site_1[150], site_2[150], both[310];

static int begin(void **state) {
  (void)state;
  memset(&planted_run, 0, sizeof planted_run);
  front_begin(&f);
  snprintf(site_1, sizeof site_1, "%s/one.db", f.s.folder);
  snprintf(site_2, sizeof site_2, "%s/two.db", f.s.folder);
  snprintf(both, sizeof both, "%s::%s:", site_1, site_2); /* empty ones do not count */
  front_open(&f);
  planted_tiles(&f, tiles);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static void open_db(const char *path) {
  rgt_options o = front_options(&f);
  o.database = path;
  front_ok(&f, front_open_with(&f, &o));
}

static void open_sites(const char *sites) {
  rgt_options o = front_options(&f);
  o.site_dbs = sites;
  front_ok(&f, front_open_with(&f, &o));
}

static void plant(const char *path, const char *op, int64_t rows, const char *variant) {
  open_db(path);
  store_one(front_op(&f, op), rows, variant);
}

static rgt_why_info why(const char *op, int64_t rows) {
  rgt_why_info i = {.struct_size = sizeof i};
  front_ok(&f, rgt_why(front_op(&f, op), rows, &i));
  return i;
}

static void answers(const char *op, int64_t rows, const char *variant, rgt_layer_kind from, int layer, const char *path,
                    rgt_match match) {
  rgt_why_info i = why(op, rows);
  assert_string_equal(i.variant, variant);
  assert_int_equal(i.from, from);
  assert_int_equal(i.layer, layer);
  assert_string_equal(i.layer_path, path);
  assert_int_equal(i.match, match);
  assert_int_equal(i.exact, match == RGT_MATCH_EXACT);
}

static void the_first_that_is_exact(void **state) {
  (void)state;
  plant(site_1, FRONT_MLP, 8, FRONT_FUSED);
  plant(site_2, FRONT_MLP, 8, tiles);
  plant(site_2, FRONT_MLP, 64, tiles);
  plant(f.db, FRONT_MLP, 512, tiles);
  open_sites(both);
  answers(FRONT_MLP, 512, tiles, RGT_FROM_USER_DB, 0, f.db, RGT_MATCH_EXACT);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_SITE_DB, 1, site_1, RGT_MATCH_EXACT);
  answers(FRONT_MLP, 60, tiles, RGT_FROM_SITE_DB, 2, site_2, RGT_MATCH_EXACT);
  answers(FRONT_MLP, 20, tiles, RGT_FROM_SITE_DB, 2, site_2, RGT_MATCH_BUCKET); /* 64 of layer 2, before 512 of layer 0 */
  answers(FRONT_MLP, 3, FRONT_FUSED, RGT_FROM_SITE_DB, 1, site_1, RGT_MATCH_BUCKET);
  answers(FRONT_MLP, 4096, tiles, RGT_FROM_USER_DB, 0, f.db, RGT_MATCH_BUCKET);
  plant(f.db, FRONT_MLP, 8, tiles);
  open_sites(both);
  answers(FRONT_MLP, 8, tiles, RGT_FROM_USER_DB, 0, f.db, RGT_MATCH_EXACT);
  assert_string_equal(f.log, "");
}

static void exact_before_near_whatever_the_layer(void **state) {
  (void)state;
  plant(f.db, NEAR, 8, tiles);
  plant(site_1, FAR, 8, tiles);
  plant(site_2, FRONT_MLP, 8, FRONT_FUSED);
  open_sites(both);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_SITE_DB, 2, site_2, RGT_MATCH_EXACT);
  open_sites(site_1);
  answers(FRONT_MLP, 8, tiles, RGT_FROM_USER_DB, 0, f.db, RGT_MATCH_SHAPE);
  rgt_why_info i = why(FRONT_MLP, 8);
  assert_true(fabs(i.distance - log2(12.0 / 10)) < 1e-5);
  assert_has(i.stored_signature, NEAR);
  assert_has(i.note, "0.26 octaves away");
  open_sites(both);
  answers(FAR, 8, tiles, RGT_FROM_SITE_DB, 1, site_1, RGT_MATCH_EXACT);
}

static void the_nearest_of_all_layers(void **state) {
  (void)state;
  plant(f.db, FAR, 8, tiles);
  plant(site_1, NEAR, 8, FRONT_FUSED);
  open_sites(site_1);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_SITE_DB, 1, site_1, RGT_MATCH_SHAPE);
  problem p;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  problem_make(&p, FRONT_MLP, 8, 1);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  problem_free(&p);
}

/* ---- another device ---- */

static void plant_at(const char *path, const char *device_class, const char *policy, const char *variant) {
  planted_run.device_class = device_class;
  planted_run.policy = policy;
  plant(path, FRONT_MLP, 8, variant);
  memset(&planted_run, 0, sizeof planted_run);
}

static void another_device_is_the_last_resort(void **state) {
  char own[256], other[300];
  (void)state;
  snprintf(own, sizeof own, "%s", f.ctx->device->info.class_text);
  snprintf(other, sizeof other, "%s0", own); /* ten times as many cores */
  plant_at(f.db, "cuda:NVIDIA-H200:sm_90:sms=132:mem=144GiB:clock=1980MHz", "warm:stream:threads=0", tiles);
  plant_at(f.db, "cpu:modelled:1", "warm:stream:threads=8", tiles);
  open_sites(site_1);
  rgt_why_info i = why(FRONT_MLP, 8);
  assert_int_equal(i.from, RGT_FROM_DEFAULT); /* neither another kind nor a modelled one */
  assert_int_equal(i.match, RGT_MATCH_NONE);
  plant_at(f.db, "cpu:SomebodyElse:9-9-9:f1:plain:cores=64", "warm:stream:threads=64", tiles);
  plant_at(site_1, other, "warm:stream:threads=20", FRONT_FUSED);
  open_sites(site_1);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_SITE_DB, 1, site_1, RGT_MATCH_DEVICE); /* the nearer one */
  i = why(FRONT_MLP, 8);
  assert_string_equal(i.stored_device_class, other);
  assert_string_equal(i.stored_policy, "warm:stream:threads=20");
  assert_string_equal(i.device_class, own);
  assert_has(i.note, "tuned on another device of the same kind");
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_op_prepare(op, 8, RGT_PREPARE_EXACT), RGT_EMISS, "nothing tuned is stored");
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  plant(f.db, NEAR, 8, tiles); /* a near shape of this device goes before it */
  open_sites(site_1);
  answers(FRONT_MLP, 8, tiles, RGT_FROM_USER_DB, 0, f.db, RGT_MATCH_SHAPE);
}

/* ---- what cannot be used ---- */

static void left_out(const char *word) {
  char kept[8192];
  open_sites(both);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_SITE_DB, 2, site_2, RGT_MATCH_EXACT);
  assert_has(f.log, word);
  assert_has(f.log, "this site database is left out");
  assert_int_equal(strchr(f.log, '\n') + 1 - f.log, strlen(f.log)); /* one line */
  snprintf(kept, sizeof kept, "%s", f.log);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_SITE_DB, 2, site_2, RGT_MATCH_EXACT);
  assert_string_equal(f.log, kept); /* and once */
}

static void one_that_cannot_be_used_costs_a_line(void **state) {
  char command[600];
  (void)state;
  plant(site_2, FRONT_MLP, 8, FRONT_FUSED);
  left_out("no such file");
  scratch_write(&f.s, "one.db", "no database at all", 0644);
  left_out("is no tuned database");
  unlink(site_1);
  assert_int_equal(mkfifo(site_1, 0600), 0);
  left_out("is a FIFO");
  unlink(site_1);
  snprintf(command, sizeof command, "cp %s %s && dd if=/dev/zero of=%s bs=4096 seek=3 count=4 conv=notrunc 2>/dev/null", site_2,
           site_1, site_1);
  assert_int_equal(system(command), 0);
  left_out("damaged");
  unlink(site_1);
  assert_int_equal(symlink("one.db", site_1), 0);
  left_out("one.db");
}

static void old_and_read_only_ones_are_asked(void **state) {
  char command[600];
  (void)state;
  snprintf(command, sizeof command,
           "mkdir %s/share && cp %s/fixtures/tunedb/v1.db %s/share/old.db && chmod 444 %s/share/old.db && chmod 555 %s/share",
           f.s.folder, RGT_TESTS_DIR, f.s.folder, f.s.folder, f.s.folder);
  assert_int_equal(system(command), 0);
  plant(site_2, FRONT_MLP, 8, FRONT_FUSED);
  snprintf(both, sizeof both, "%s/share/old.db:%s", f.s.folder, site_2);
  open_sites(both);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_SITE_DB, 2, site_2, RGT_MATCH_EXACT);
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(f.log, "");
  assert_int_equal(f.ctx->n_layers, 3);
  char folder[120];
  snprintf(folder, sizeof folder, "%s/share", f.s.folder);
  assert_int_equal(scratch_count(folder), 1);
}

/* The user's own under a second name, and the same one twice. */
static void each_file_once(void **state) {
  (void)state;
  plant(f.db, FRONT_MLP, 8, FRONT_FUSED);
  snprintf(both, sizeof both, "%s:%s/../%s/tuned.db", f.db, f.s.folder, strrchr(f.s.folder, '/') + 1);
  open_sites(both);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_USER_DB, 0, f.db, RGT_MATCH_EXACT);
  assert_int_equal(f.ctx->n_layers, 1);
  assert_string_equal(f.log, "");
}

static void the_environment_names_them(void **state) {
  (void)state;
  plant(site_2, FRONT_MLP, 8, FRONT_FUSED);
  setenv("RAGTUNE_SITE_DBS", site_2, 1);
  front_open(&f);
  answers(FRONT_MLP, 8, FRONT_FUSED, RGT_FROM_SITE_DB, 1, site_2, RGT_MATCH_EXACT);
  open_sites(""); /* the option goes before it */
  assert_int_equal(why(FRONT_MLP, 8).from, RGT_FROM_DEFAULT);
}

static void names_in_a_list(void **state) {
  char path[1024];
  (void)state;
  assert_int_equal(rgt__layers_named(":a::bc:", 0, path), 1);
  assert_string_equal(path, "a");
  assert_int_equal(rgt__layers_named(":a::bc:", 1, path), 1);
  assert_string_equal(path, "bc");
  assert_int_equal(rgt__layers_named(":a::bc:", 2, path), 0);
  assert_int_equal(rgt__layers_named(NULL, 0, path), 0);
  assert_int_equal(rgt__layers_named("", 0, path), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {TEST(the_first_that_is_exact),
                                     TEST(exact_before_near_whatever_the_layer),
                                     TEST(the_nearest_of_all_layers),
                                     TEST(another_device_is_the_last_resort),
                                     TEST(one_that_cannot_be_used_costs_a_line),
                                     TEST(old_and_read_only_ones_are_asked),
                                     TEST(each_file_once),
                                     TEST(the_environment_names_them),
                                     TEST(names_in_a_list)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
