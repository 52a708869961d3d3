/* test_wishes.c -- which pin answers, and which variants may not run: a person's bans of every layer, and what proved unusable
 * here, as long as what made it so is as it was. */
#include "runtime/fresh.h"
#include "runtime/wishes.h"
#include "tests/support/planted.h"

static front f;
static char tiles[RGT_VARIANT_TEXT_MAX], user_db[150], site_db[150];

static void open_with_site(const char *site) {
  rgt_options o = front_options(&f);
  o.database = user_db;
  o.site_dbs = site;
  front_ok(&f, front_open_with(&f, &o));
}

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  snprintf(user_db, sizeof user_db, "%s/user.db", f.s.folder);
  snprintf(site_db, sizeof site_db, "%s/site.db", f.s.folder);
  open_with_site(NULL);
  planted_tiles(&f, tiles);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static rgt__variant parse(const char *text) {
  rgt__families *families = NULL;
  rgt__variant v;
  front_ok(&f, rgt__context_families(f.ctx, &families));
  front_ok(&f, rgt__variant_parse(families, "cpu", text, &v, &f.ctx->error));
  return v;
}

static rgt_op *loaded(rgt_skew skew) {
  rgt_op *op = front_op_with(&f, FRONT_MLP, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .skew = skew});
  front_ok(&f, rgt__wishes_load(op));
  return op;
}

static const char *ban_of(rgt_op *op, const char *variant) {
  rgt__variant v = parse(variant);
  return rgt__wishes_ban(op, &v);
}

static const char *bar_of(rgt_op *op, const char *variant) {
  rgt__variant v = parse(variant);
  return rgt__wishes_bar(op, &v);
}

/* ---- bans ---- */

static void bans_of_every_layer(void **state) {
  (void)state;
  rgt_op *op = loaded(RGT_SKEW_UNKNOWN);
  assert_null(ban_of(op, tiles));
  front_ok(&f, rgt_db_ban(f.ctx, tiles, "mine"));
  assert_null(ban_of(op, tiles)); /* until the next load */
  front_ok(&f, rgt__wishes_load(op));
  assert_string_equal(ban_of(op, tiles), "mine");
  assert_string_equal(bar_of(op, tiles), "mine");
  assert_null(ban_of(op, FRONT_FUSED));
  rgt_options o = front_options(&f);
  o.database = site_db; /* the site's own hand */
  front_ok(&f, front_open_with(&f, &o));
  front_ok(&f, rgt_db_ban(f.ctx, FRONT_FUSED, "theirs"));
  open_with_site(site_db);
  op = loaded(RGT_SKEW_ONE);
  assert_string_equal(ban_of(op, tiles), "mine");
  assert_string_equal(ban_of(op, FRONT_FUSED), "theirs");
  front_ok(&f, rgt_db_unban(f.ctx, tiles));
  front_ok(&f, rgt__wishes_load(op));
  assert_null(ban_of(op, tiles));
  f.ctx->mode = RGT_MODE_OFF; /* asks no database */
  front_ok(&f, rgt__wishes_load(op));
  assert_null(ban_of(op, FRONT_FUSED));
}

/* Even where a database from elsewhere says otherwise. */
static void the_default_is_never_banned(void **state) {
  rgt__tunedb *db = NULL;
  char params[RGT_VARIANT_TEXT_MAX];
  (void)state;
  rgt__variant v = parse(FRONT_DEFAULT), other = parse(FRONT_FUSED);
  assert_true(rgt__wishes_is_default(f.ctx, &v));
  assert_false(rgt__wishes_is_default(f.ctx, &other));
  front_ok(&f, rgt__context_db(f.ctx, &db));
  rgt__variant_params_format(&v, params);
  front_ok(&f, rgt__tunedb_ban(db,
                               &(rgt__tunedb_wish){.device_class = f.ctx->device->info.class_text,
                                                   .variant = {v.family->name, v.family->revision, params},
                                                   .reason = "malice"},
                               &f.ctx->error));
  rgt_op *op = loaded(RGT_SKEW_UNKNOWN);
  assert_null(ban_of(op, FRONT_DEFAULT));
  assert_null(bar_of(op, FRONT_DEFAULT));
}

static void refused_and_dropped(void **state) {
  rgt__error err = {""};
  (void)state;
  front_ok(&f, rgt_db_ban(f.ctx, tiles, "it burns"));
  rgt_op *op = loaded(RGT_SKEW_UNKNOWN);
  rgt__variant list[] = {parse(FRONT_DEFAULT), parse(tiles), parse(FRONT_FUSED)};
  rgt__space space = {.variants = list, .n = 3};
  assert_int_equal(rgt__wishes_refuse(op, &list[0], &err), RGT_OK);
  assert_int_equal(rgt__wishes_refuse(op, &list[1], &err), RGT_EINVAL);
  assert_has(err.text, "is banned: it burns; ragtune db ban --remove allows it");
  assert_int_equal(rgt__wishes_drop_banned(op, &space, "left alone"), 1);
  assert_int_equal(space.n, 2);
  char text[RGT_VARIANT_TEXT_MAX];
  rgt__variant_format(&list[1], text);
  assert_string_equal(text, FRONT_FUSED); /* in order */
  assert_has(f.log, "is banned: it burns: left alone");
  assert_int_equal(rgt__wishes_drop_banned(op, &space, "left alone"), 0);
}

/* ---- verdicts ---- */

static void put_verdict(rgt_op *op, rgt_outcome outcome, const char *toolchain, const char *driver, int other_template) {
  rgt__tunedb *db = NULL;
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__variant v = parse(tiles);
  rgt__tunedb_checked c = {.device_class = f.ctx->device->info.class_text,
                           .template_digest = v.family->template_digest,
                           .toolchain = toolchain,
                           .driver = driver,
                           .outcome = outcome};
  if (other_template) c.template_digest.bytes[0] ^= 1;
  rgt__wishes_subject(op, &c.subject);
  rgt__variant_params_format(&v, params);
  rgt__tunedb_variant_key(&(rgt__tunedb_variant){v.family->name, v.family->revision, params}, &c.variant);
  front_ok(&f, rgt__context_db(f.ctx, &db));
  front_ok(&f, rgt__tunedb_check_put(db, &c, &f.ctx->error));
}

/* Wrong code stays wrong with its template; a failed compile is one of that toolchain and driver; who was late is asked again.
 */
static void verdicts_hold_as_long_as_their_cause(void **state) {
  static const struct {
    rgt_outcome outcome;
    int other_toolchain, other_driver, other_template, bars;
  } cases[] = {
      {RGT_TRIAL_OK, 0, 0, 0, 0},         {RGT_TRIAL_TIMED_OUT, 0, 0, 0, 0},     {RGT_TRIAL_WRONG, 0, 0, 0, 1},
      {RGT_TRIAL_WRONG, 1, 1, 0, 1},      {RGT_TRIAL_WRONG, 0, 0, 1, 0},         {RGT_TRIAL_CRASHED, 1, 1, 0, 1},
      {RGT_TRIAL_CRASHED, 0, 0, 1, 0},    {RGT_TRIAL_COMPILE_ERROR, 0, 0, 0, 1}, {RGT_TRIAL_COMPILE_ERROR, 1, 0, 0, 0},
      {RGT_TRIAL_INFEASIBLE, 0, 1, 0, 0}, {RGT_TRIAL_INFEASIBLE, 0, 0, 0, 1},    {RGT_TRIAL_INFEASIBLE, 0, 0, 1, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    unlink(user_db);
    open_with_site(NULL);
    const char *here = NULL;
    front_ok(&f, rgt__context_toolchain(f.ctx, &here));
    rgt_op *op = loaded(RGT_SKEW_UNKNOWN);
    put_verdict(op, cases[i].outcome, cases[i].other_toolchain ? "another" : here, cases[i].other_driver ? "another" : "",
                cases[i].other_template);
    front_ok(&f, rgt__wishes_load(op));
    if ((bar_of(op, tiles) != NULL) != cases[i].bars) fail_msg("case %zu", i);
    assert_null(ban_of(op, tiles)); /* nobody's wish */
    assert_null(bar_of(op, FRONT_FUSED));
  }
}

/* A verdict is of the code: other groups have the same, other promises of addresses do not. */
static void what_a_verdict_is_about(void **state) {
  rgt__digest a, b;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  rgt__wishes_subject(op, &a);
  rgt__wishes_subject(front_op(&f, "mlp:10-20-5:g9:f32:relu:b12:nk:i64"), &b);
  assert_true(rgt__digest_equal(&a, &b));
  rgt__wishes_subject(front_op(&f, "mlp:10-21-5:g4:f32:relu:b12:nk:i64"), &b);
  assert_false(rgt__digest_equal(&a, &b));
  const rgt_op_options others[] = {{.struct_size = sizeof others[0], .align_bytes = 16},
                                   {.struct_size = sizeof others[0], .weight_form = RGT_POINTERS},
                                   {.struct_size = sizeof others[0], .order = RGT_ORDER_SORTED}};
  for (int i = 0; i < 3; i++) {
    rgt__wishes_subject(front_op_with(&f, FRONT_MLP, &others[i]), &b);
    assert_false(rgt__digest_equal(&a, &b));
  }
}

/* ---- pins ---- */

static const char *pin_of(rgt_op *op, int64_t bucket) {
  const rgt__pin *p = rgt__wishes_pin(op, bucket);
  return p ? p->variant : "";
}

/* The user's before the site's; in one database the one for this very skew before the one for all. */
static void which_pin_answers(void **state) {
  (void)state;
  rgt_options o = front_options(&f);
  o.database = site_db;
  front_ok(&f, front_open_with(&f, &o));
  front_ok(&f, rgt_db_pin(loaded(RGT_SKEW_ONE), 8, FRONT_DEFAULT, NULL));
  front_ok(&f, rgt_db_pin(loaded(RGT_SKEW_ONE), 64, FRONT_DEFAULT, NULL));
  open_with_site(site_db);
  assert_string_equal(pin_of(loaded(RGT_SKEW_ONE), 8), FRONT_DEFAULT);
  assert_int_equal(rgt__wishes_pin(loaded(RGT_SKEW_ONE), 8)->layer, 1);
  front_ok(&f, rgt_db_pin(loaded(RGT_SKEW_UNKNOWN), 5, tiles, NULL)); /* its bucket: 8 */
  assert_string_equal(pin_of(loaded(RGT_SKEW_ONE), 8), tiles);
  assert_string_equal(pin_of(loaded(RGT_SKEW_UNKNOWN), 8), tiles);
  front_ok(&f, rgt_db_pin(loaded(RGT_SKEW_ZIPF), 8, FRONT_FUSED, NULL));
  assert_string_equal(pin_of(loaded(RGT_SKEW_ZIPF), 8), FRONT_FUSED);
  assert_string_equal(pin_of(loaded(RGT_SKEW_ONE), 8), tiles);
  assert_string_equal(pin_of(loaded(RGT_SKEW_UNKNOWN), 8), tiles); /* who does not say gets what is for all */
  assert_string_equal(pin_of(loaded(RGT_SKEW_ONE), 64), FRONT_DEFAULT);
  assert_string_equal(pin_of(loaded(RGT_SKEW_ZIPF), 64), "");
  assert_string_equal(pin_of(loaded(RGT_SKEW_ONE), 16), "");
  rgt_op *other = front_op_with(&f, FRONT_MLP, &(rgt_op_options){.struct_size = sizeof(rgt_op_options), .align_bytes = 16});
  front_ok(&f, rgt__wishes_load(other));
  assert_string_equal(pin_of(other, 8), ""); /* other code */
}

static void memory_ends_anywhere(void **state) {
  (void)state;
  front_ok(&f, rgt_db_ban(f.ctx, tiles, NULL));
  rgt_op *op = loaded(RGT_SKEW_UNKNOWN);
  front_ok(&f, rgt_db_pin(op, 8, FRONT_FUSED, NULL));
  int n = 0;
  for (rgt_status status = RGT_ENOMEM; status != RGT_OK; n++) {
    rgt__wishes_free(op);
    scratch_fail_after(n);
    status = rgt__wishes_load(op);
    scratch_fail_never();
    assert_true(status == RGT_OK || status == RGT_ENOMEM);
    assert_true(n < 1000);
  }
  assert_true(n > 3);
  assert_non_null(ban_of(op, tiles));
  assert_string_equal(pin_of(op, 8), FRONT_FUSED);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(bans_of_every_layer),     TEST(the_default_is_never_banned),
      TEST(refused_and_dropped),     TEST(verdicts_hold_as_long_as_their_cause),
      TEST(what_a_verdict_is_about), TEST(which_pin_answers),
      TEST(memory_ends_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
