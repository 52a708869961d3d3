/* test_modes.c -- RAGTUNE_MODE cache, tune, replay and off: what prepare, run and why do for a hit, a near shape, a miss, and
 * where something is amiss: no compiler, a wrong stored winner, a database that cannot be written, damaged code. */
#include "tests/support/folder.h"
#include "tests/support/planted.h"

#define NEAR "mlp:12-20-5:g4:f32:relu:b12:nk:i64"
#define BROKEN "broken:fault=1,more=0" /* drops what is left of k */

static front f;
static char templates[200];

/* Two variants for an MLP, so that mode tune is soon done. */
static int begin(void **state) {
  (void)state;
  front_begin(&f);
  snprintf(templates, sizeof templates, "%s/templates", f.s.folder);
  folder_copy(templates, NULL);
  folder_patch(templates, "cpu/row_gather.lua", "{ 4, 8, 16 }", "{ 8 }");
  folder_patch(templates, "cpu/group_tiles.lua", "ops = { \"linear\", \"mlp\" },", "ops = { \"linear\" },");
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static void open_mode(const char *mode) {
  front_open_mode(&f, mode, templates);
}

static void run_right(rgt_op *op, const char *text) {
  problem p;
  problem_make(&p, text, 8, 1);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  problem_free(&p);
}

static rgt_why_info why(rgt_op *op) {
  rgt_why_info info = {.struct_size = sizeof info};
  front_ok(&f, rgt_why(op, 8, &info));
  return info;
}

/* A stored winner for FRONT_MLP at 8 rows. */
static void store_hit(void) {
  open_mode("cache");
  store_one(front_op(&f, FRONT_MLP), 8, FRONT_FUSED);
}

/* Prepared in `mode`, an op answers by `variant` (NULL: the built-in kernel), and is right. */
static rgt_op *answers(const char *mode, const char *text, const char *variant) {
  open_mode(mode);
  rgt_op *op = front_op(&f, text);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  const char *ready = ready_for(op, 8);
  if (variant ? !ready || strcmp(ready, variant) != 0 : ready != NULL)
    fail_msg("mode %s: %s answers, not %s", mode, ready ? ready : "the built-in kernel",
             variant ? variant : "the built-in kernel");
  assert_string_equal(why(op).variant, variant ? variant : "builtin");
  run_right(op, text);
  return op;
}

/* Refused in mode replay; calls go on by the built-in kernel. */
static rgt_op *refuses(const char *text, const char *word) {
  open_mode("replay");
  rgt_op *op = front_op(&f, text);
  front_fails(&f, rgt_op_prepare(op, 8, 0), RGT_EMISS, word);
  run_right(op, text);
  return op;
}

typedef struct missed {
  char text[600];
  int n;
} missed;

static int note_miss(void *user, const rgt_db_miss *m) {
  missed *to = user;
  snprintf(to->text, sizeof to->text, "%s", m->signature);
  to->n += (int)m->n;
  assert_true(m->last_utc_s > 1700000000);
  return 0;
}

static missed misses(void) {
  missed m = {"", 0};
  front_ok(&f, rgt_db_misses(f.ctx, note_miss, &m));
  return m;
}

/* ---- what is stored ---- */

static void a_hit(void **state) {
  (void)state;
  store_hit();
  answers("cache", FRONT_MLP, FRONT_FUSED);
  assert_int_equal(why(f.ctx->ops).from, RGT_FROM_USER_DB);
  assert_true(why(f.ctx->ops).exact);
  answers("replay", FRONT_MLP, FRONT_FUSED);
  assert_int_equal(misses().n, 0);
  answers("off", FRONT_MLP, FRONT_DEFAULT);
  assert_has(why(f.ctx->ops).note, "mode off");
  open_mode("replay");
  assert_string_equal(why(front_op(&f, FRONT_MLP)).variant, FRONT_FUSED);
}

static void a_near_shape(void **state) {
  (void)state;
  store_hit();
  answers("cache", NEAR, FRONT_FUSED);
  rgt_why_info i = why(f.ctx->ops);
  assert_false(i.exact);
  assert_has(i.stored_signature, FRONT_MLP);
  missed m = misses();
  assert_int_equal(m.n, 1);
  assert_has(m.text, NEAR);
  refuses(NEAR, "nothing tuned is stored for " NEAR);
  assert_int_equal(misses().n, 2);
  i = why(f.ctx->ops);
  assert_int_equal(i.from, RGT_FROM_NOTHING);
  assert_string_equal(i.variant, "");
  assert_has(i.note, "mode replay: rgt_op_prepare fails with RGT_EMISS");
  answers("off", NEAR, FRONT_DEFAULT);
}

static void a_miss(void **state) {
  (void)state;
  answers("off", FRONT_MLP, FRONT_DEFAULT);
  assert_int_equal(misses().n, 0);
  answers("cache", FRONT_MLP, FRONT_DEFAULT);
  assert_int_equal(misses().n, 1);
  refuses(FRONT_MLP, "ragtune --op " FRONT_MLP " --rows 8");
  assert_int_equal(why(f.ctx->ops).from, RGT_FROM_NOTHING);
  assert_int_equal(misses().n, 2);
  open_mode("tune");
  rgt_why_info i = why(front_op(&f, FRONT_MLP));
  assert_string_equal(i.variant, FRONT_DEFAULT);
  assert_has(i.note, "tunes it first");
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  assert_true(why(op).exact);
  run_right(op, FRONT_MLP);
  assert_int_equal(misses().n, 0); /* it has a winner now */
  char winner[RGT_VARIANT_TEXT_MAX];
  snprintf(winner, sizeof winner, "%s", ready_for(op, 8));
  answers("replay", FRONT_MLP, winner);
  answers("cache", FRONT_MLP, winner);
}

/* ---- what is amiss ---- */

static void no_compiler(void **state) {
  (void)state;
  store_hit();
  setenv("RAGTUNE_CC", "none", 1);
  static const char *const modes[] = {"cache", "tune", "off"};
  for (int i = 0; i < 3; i++) {
    answers(modes[i], FRONT_MLP, NULL);
    assert_has(f.log, "no C compiler");
    assert_has(f.log, "the built-in kernel is used");
  }
  refuses(FRONT_MLP, "cannot be used: no C compiler");
}

static void a_wrong_stored_winner(void **state) {
  (void)state;
  folder_copy(templates, RGT_TESTS_DIR "/fixtures/broken");
  folder_patch(templates, "cpu/row_gather.lua", "{ 4, 8, 16 }", "{ 8 }");
  folder_patch(templates, "cpu/group_tiles.lua", "ops = { \"linear\", \"mlp\" },", "ops = { \"linear\" },");
  open_mode("cache");
  store(front_op(&f, FRONT_MLP), 8, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {BROKEN, 100000, 0}, {FRONT_FUSED, 700000, 0}},
        3);
  rgt_op *op = refuses(FRONT_MLP, BROKEN); /* found out just now */
  assert_has(f.log, BROKEN);
  front_compiles(&f);
  front_ok(&f, rgt_op_prepare(op, 8, 0)); /* and it is not run to find out again: it lost, and another one is the winner */
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  answers("replay", FRONT_MLP, FRONT_FUSED);
  op = answers("cache", FRONT_MLP, FRONT_FUSED);
  assert_string_equal(f.log, "");
  assert_true(why(op).exact);
  answers("off", FRONT_MLP, FRONT_DEFAULT);
}

static void a_database_that_cannot_be_written(void **state) {
  (void)state;
  snprintf(f.db, sizeof f.db, "/proc/nowhere/tuned.db");
  static const char *const modes[] = {"cache", "off"};
  for (int i = 0; i < 2; i++) answers(modes[i], FRONT_MLP, FRONT_DEFAULT);
  refuses(FRONT_MLP, "nothing tuned is stored");
  assert_has(f.log, "in memory only");
  open_mode("tune");
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  assert_int_equal(why(op).from, RGT_FROM_MEMORY);
  run_right(op, FRONT_MLP);
}

static void damage_all(const char *what) {
  char command[400];
  snprintf(command, sizeof command, "for f in %s/code/*/*.%s; do printf x >>$f; done", f.cache, what);
  assert_int_equal(system(command), 0);
}

/* Found by its hash, compiled and verified again; nothing of it is run. */
static void damaged_code(void **state) {
  static const char *const parts[] = {"bin", "program"};
  (void)state;
  store_hit();
  answers("cache", FRONT_MLP, FRONT_FUSED);
  answers("off", FRONT_MLP, FRONT_DEFAULT);
  for (int i = 0; i < 2; i++) {
    damage_all(parts[i]);
    open_mode("cache");
    rgt_op *op = front_op(&f, FRONT_MLP);
    front_ok(&f, rgt_op_prepare(op, 8, 0)); /* does not wait: the built-in kernel answers */
    run_right(op, FRONT_MLP);
    answers("cache", FRONT_MLP, FRONT_FUSED);
    damage_all(parts[i]);
    answers("replay", FRONT_MLP, FRONT_FUSED);
    damage_all(parts[i]);
    front_compiles(&f);
    answers("off", FRONT_MLP, FRONT_DEFAULT);
    assert_true(front_compiles(&f) > 0);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(a_hit),        TEST(a_near_shape),          TEST(a_miss),
      TEST(no_compiler),  TEST(a_wrong_stored_winner), TEST(a_database_that_cannot_be_written),
      TEST(damaged_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
