/* test_prepare_note.c -- what was measured on machine A and is used on machine B: one compile and one check, a wrong winner
 * that never comes back, results that another compiler has overtaken; and what a person pinned or banned. A and B are two
 * houses: a database and a code cache each. */
#include "tests/support/folder.h"
#include "tests/support/planted.h"
#include "tunedb/tunedb_local.h"

#include "runtime/wishes.h"

#define BROKEN "broken:fault=1,more=0" /* drops what is left of k */

static front f;
static char tiles[RGT_VARIANT_TEXT_MAX], templates[200], a_db[150], shared[150], b_db[150], b_cache[150];

static void open_house(const char *db, const char *cache, const char *sites) {
  rgt_options o = front_options(&f);
  o.database = db;
  o.cache_dir = cache;
  o.site_dbs = sites;
  o.template_dir = templates;
  front_ok(&f, front_open_with(&f, &o));
}

static void open_a(void) {
  open_house(a_db, f.cache, NULL);
}

static void open_b(const char *sites) {
  open_house(b_db, b_cache, sites);
}

static int begin(void **state) {
  (void)state;
  memset(&planted_run, 0, sizeof planted_run);
  front_begin(&f);
  snprintf(templates, sizeof templates, "%s/templates", f.s.folder);
  folder_copy(templates, RGT_TESTS_DIR "/fixtures/broken");
  snprintf(a_db, sizeof a_db, "%s/a.db", f.s.folder);
  snprintf(shared, sizeof shared, "%s/shared.db", f.s.folder);
  snprintf(b_db, sizeof b_db, "%s/b.db", f.s.folder);
  snprintf(b_cache, sizeof b_cache, "%s/b-cache", f.s.folder);
  open_a();
  planted_tiles(&f, tiles);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

/* Sources that went through the compiler since the last call; its version is not one. */
static int sources_compiled(void) {
  int n = 0;
  char line[4096];
  FILE *log = fopen(f.compiler_log, "re");
  if (!log) return 0;
  while (fgets(line, sizeof line, log)) n += strstr(line, "-shared") != NULL;
  fclose(log);
  unlink(f.compiler_log);
  return n;
}

typedef struct verdicts {
  int n, n_ok, n_wrong;
} verdicts;

static int count_verdict(void *user, const rgt__tunedb_checked *c) {
  verdicts *v = user;
  v->n++;
  v->n_ok += c->outcome == RGT_TRIAL_OK;
  v->n_wrong += c->outcome == RGT_TRIAL_WRONG;
  return 0;
}

/* What was verified here for this op. */
static verdicts verdicts_of(rgt_op *op) {
  verdicts v = {0};
  rgt__digest subject;
  rgt__tunedb *db = NULL;
  rgt__wishes_subject(op, &subject);
  front_ok(&f, rgt__context_db(f.ctx, &db));
  front_ok(&f, rgt__tunedb_check_list(db, &subject, f.ctx->device->info.class_text, count_verdict, &v, &f.ctx->error));
  return v;
}

typedef struct trials {
  int n, n_ok, n_wrong;
} trials;

static int count_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  trials *c = user;
  (void)run;
  c->n++;
  c->n_ok += t->outcome == RGT_TRIAL_OK;
  c->n_wrong += t->outcome == RGT_TRIAL_WRONG;
  return 0;
}

static trials trials_of(rgt_op *op, int64_t bucket) {
  trials t = {0};
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  front_ok(&f, rgt__context_db(f.ctx, &db));
  front_ok(&f, rgt__op_key_make(op, bucket, RGT_SKEW_UNIFORM, RGT_POLICY_WARM, &key, &f.ctx->error));
  front_ok(&f, rgt__tunedb_trials(db, &key.signature, &key.place, count_trial, &t, &f.ctx->error));
  return t;
}

static rgt_why_info why(rgt_op *op) {
  rgt_why_info i = {.struct_size = sizeof i};
  front_ok(&f, rgt_why(op, 8, &i));
  return i;
}

static rgt_op *prepared(const char *variant) {
  problem p;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), variant);
  problem_make(&p, FRONT_MLP, 8, 1);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  problem_free(&p);
  return op;
}

/* ---- from A to B ---- */

/* Exported by A; B imports it, or reads it where it lies. */
static void share(const entry *list, int n, int imports) {
  open_a();
  store(front_op(&f, FRONT_MLP), 8, list, n);
  front_ok(&f, rgt_db_export(f.ctx, shared, NULL));
  open_b(imports ? NULL : shared);
  if (imports) front_ok(&f, rgt_db_import(f.ctx, shared, NULL));
  sources_compiled();
}

static void one_compile_and_one_check(void **state) {
  (void)state;
  for (int imports = 1; imports >= 0; imports--) {
    unlink(b_db);
    snprintf(b_cache, sizeof b_cache, "%s/b-cache-%d", f.s.folder, imports);
    share((const entry[]){{FRONT_DEFAULT, 1000000, 0}, {FRONT_FUSED, 500000, 0}}, 2, imports);
    rgt_op *op = front_op(&f, FRONT_MLP);
    assert_false(why(op).verified);
    assert_int_equal(why(op).from, imports ? RGT_FROM_USER_DB : RGT_FROM_SITE_DB);
    op = prepared(FRONT_FUSED);
    assert_int_equal(sources_compiled(), 1);
    assert_int_equal(verdicts_of(op).n, 1);
    assert_int_equal(verdicts_of(op).n_ok, 1);
    assert_true(why(op).verified);
    open_b(imports ? NULL : shared); /* the next process: neither */
    op = front_op(&f, FRONT_MLP);
    assert_true(why(op).verified);
    op = prepared(FRONT_FUSED);
    assert_int_equal(sources_compiled(), 0);
    assert_int_equal(verdicts_of(op).n, 1);
    assert_string_equal(f.log, "");
  }
}

static int last_winner(void *user, const rgt_db_row *row) {
  snprintf(user, RGT_VARIANT_TEXT_MAX, "%s", row->winner);
  return 0;
}

static void a_wrong_one_never_runs_twice(void **state) {
  (void)state;
  for (int imports = 1; imports >= 0; imports--) {
    char winner[RGT_VARIANT_TEXT_MAX] = "";
    unlink(b_db);
    snprintf(b_cache, sizeof b_cache, "%s/b-cache-%d", f.s.folder, imports);
    share((const entry[]){{FRONT_DEFAULT, 1000000, 0}, {BROKEN, 100000, 0}, {FRONT_FUSED, 700000, 0}}, 3, imports);
    rgt_op *op = prepared(FRONT_FUSED); /* its runner-up */
    assert_has(f.log, BROKEN);
    assert_has(f.log, "not used");
    assert_int_equal(verdicts_of(op).n_wrong, 1);
    assert_int_equal(trials_of(op, 8).n_wrong, 1); /* in a run of this machine */
    front_ok(&f, rgt_db_check(f.ctx));
    sources_compiled();
    open_b(imports ? NULL : shared);
    op = prepared(FRONT_FUSED);
    assert_int_equal(sources_compiled(), 0);
    assert_string_equal(f.log, ""); /* not even looked at */
    assert_true(why(op).exact);
    assert_int_equal(trials_of(op, 8).n_wrong, 1);
    front_ok(&f, rgt_db_list(f.ctx, last_winner, winner));
    if (imports) assert_string_equal(winner, FRONT_FUSED);
  }
}

/* The same name stands for other code here: what A measured is not to be believed, and what proves wrong is not tried again. */
static void another_template(void **state) {
  (void)state;
  planted_run.has_template_digest = 1; /* all zero */
  share((const entry[]){{FRONT_DEFAULT, 1000000, 0}, {BROKEN, 100000, 0}, {FRONT_FUSED, 700000, 0}}, 3, 1);
  memset(&planted_run, 0, sizeof planted_run);
  prepared(FRONT_FUSED);
  assert_has(f.log, BROKEN);
  open_b(NULL);
  rgt_op *op = prepared(FRONT_FUSED);
  assert_string_equal(f.log, "");
  assert_has(why(op).outdated, "template");
  assert_has(why(op).note, "to be validated again");
}

/* ---- another compiler ---- */

static void another_compiler_means_timing_again(void **state) {
  rgt_tune_result r;
  char script[600];
  int64_t rows = 8;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_tune(&f, op, 8, &r);
  assert_string_equal(why(op).outdated, "");
  trials before = trials_of(op, 8);
  snprintf(script, sizeof script, "#!/bin/sh\n# another one\necho \"$*\" >>%s\nexec cc \"$@\"\n", f.compiler_log);
  setenv("RAGTUNE_CC", scratch_write(&f.s, "other-cc", script, 0755), 1);
  open_a();
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT)); /* rightness alone */
  assert_string_equal(ready_for(op, 8), r.winner);
  assert_string_equal(why(op).outdated, "toolchain");
  assert_has(why(op).note, "to be validated again: other toolchain since");
  assert_int_equal(trials_of(op, 8).n, before.n);
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_false(r.hit);
  assert_int_equal(r.status, RGT_OK);
  assert_true(r.n_tried <= 3); /* winner, runner-up, default */
  assert_true(trials_of(op, 8).n > before.n);
  assert_true(trials_of(op, 8).n_ok >= before.n_ok);
  assert_string_equal(why(op).outdated, "");
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_true(r.hit);
}

/* ---- wishes ---- */

static int count_wish(void *user, const rgt_db_wish *w) {
  assert_true(w->variant[0] != 0);
  ++*(int *)user;
  return 0;
}

static void a_pin_goes_first(void **state) {
  int n = 0;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  store(op, 8, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {FRONT_FUSED, 500000, 0}, {tiles, 700000, 0}}, 3);
  front_ok(&f, rgt_db_pin(op, 7, tiles, "as I say"));
  rgt_why_info i = why(op);
  assert_int_equal(i.from, RGT_FROM_PIN);
  assert_true(i.exact);
  assert_string_equal(i.variant, tiles);
  assert_string_equal(i.runner_up, FRONT_FUSED);
  assert_int_equal(i.time_ps, 700000);
  assert_string_equal(i.layer_path, a_db);
  prepared(tiles);
  front_ok(&f, rgt_db_pins(f.ctx, count_wish, &n));
  assert_int_equal(n, 1);
  open_a();
  op = prepared(tiles);
  front_ok(&f, rgt_db_unpin(op, 8));
  front_fails(&f, rgt_db_unpin(op, 8), RGT_EMISS, "nothing is pinned");
  prepared(FRONT_FUSED);
  front_ok(&f, rgt_db_pin(op, 8, BROKEN, NULL)); /* wrong: what was measured answers */
  op = prepared(FRONT_FUSED);
  assert_has(f.log, BROKEN);
  assert_has(why(op).note, "not used: " BROKEN);
  open_a();
  op = prepared(FRONT_FUSED);
  assert_string_equal(f.log, ""); /* not tried again */
  assert_has(why(op).note, "not used: it was wrong or unusable here before");
}

static void pins_that_make_no_sense(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_db_pin(op, 0, tiles, NULL), RGT_EINVAL, "rows is 0");
  front_fails(&f, rgt_db_pin(op, 8, NULL, NULL), RGT_EINVAL, "variant");
  front_fails(&f, rgt_db_pin(op, 8, "nobody:x=1", NULL), RGT_EINVAL, "no family \"nobody\"");
  front_fails(&f, rgt_db_pin(op, 8, "row_gather:fused=7,lanes=8,vectors=4", NULL), RGT_EINVAL, "fused=7");
  front_fails(&f, rgt_db_pin(op, 8, tiles, "two\nlines"), RGT_EINVAL, "more than one line");
  front_fails(&f, rgt_db_ban(f.ctx, FRONT_DEFAULT, NULL), RGT_EINVAL, "cannot be banned");
  front_fails(&f, rgt_db_unban(f.ctx, tiles), RGT_EMISS, "is not banned");
  front_ok(&f, rgt_db_ban(f.ctx, tiles, "slow on Mondays"));
  front_fails(&f, rgt_db_pin(op, 8, tiles, NULL), RGT_EINVAL, "is banned: slow on Mondays");
  front_fails(&f, rgt_op_prepare_variant(op, tiles, 8), RGT_EINVAL, "is banned: slow on Mondays");
  front_ok(&f, rgt_db_unban(f.ctx, tiles));
  front_ok(&f, rgt_db_pin(op, 8, tiles, NULL));
}

static void a_ban_holds_everywhere(void **state) {
  rgt_tune_result r;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  store(op, 64, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {tiles, 300000, 0}, {FRONT_FUSED, 700000, 0}}, 3);
  front_ok(&f, rgt_db_ban(f.ctx, tiles, NULL));
  assert_string_equal(why(op).variant, FRONT_FUSED);
  prepared(FRONT_FUSED);
  front_tune(&f, op, 8, &r);
  assert_true(strcmp(r.winner, tiles) != 0 && strcmp(r.runner_up, tiles) != 0);
  assert_true(r.n_infeasible >= 1);
  assert_has(f.log, "is banned: not tried");
  int tried = r.n_tried;
  front_tune(&f, op, 8, &r); /* and it is not missed */
  assert_true(r.hit);
  front_ok(&f, rgt_db_unban(f.ctx, tiles));
  front_tune(&f, op, 8, &r); /* now it is */
  assert_false(r.hit);
  assert_int_equal(r.n_tried, tried);
  /* somebody else's ban holds too, but not for what everything is measured against */
  front_ok(&f, rgt_db_ban(f.ctx, FRONT_FUSED, NULL));
  open_b(a_db);
  op = front_op(&f, FRONT_MLP);
  assert_true(strcmp(why(op).variant, FRONT_FUSED) != 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {TEST(one_compile_and_one_check), TEST(a_wrong_one_never_runs_twice),
                                     TEST(another_template),          TEST(another_compiler_means_timing_again),
                                     TEST(a_pin_goes_first),          TEST(pins_that_make_no_sense),
                                     TEST(a_ban_holds_everywhere)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
