/* test_verify_report.c -- rgt_verify: a verdict for each variant, in the order of the space; the caller's case; what is
 * refused. Wrong variants, pass by pass: test_broken_templates.c. */
#include "tests/support/front.h"

static front f;

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  front_open(&f);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

typedef struct seen {
  int n, n_right, stop_after;
  char variants[100][RGT_VARIANT_TEXT_MAX];
  char pass[40], reason[RGT_REASON_MAX];
  rgt_verdict last;
} seen;

static seen s, again;

static int take(void *user, const rgt_verdict *v) {
  seen *t = user;
  assert_true(t->n < 100);
  snprintf(t->variants[t->n++], RGT_VARIANT_TEXT_MAX, "%s", v->variant);
  snprintf(t->pass, sizeof t->pass, "%s", v->pass);
  snprintf(t->reason, sizeof t->reason, "%s", v->reason);
  t->last = *v;
  if (v->outcome == RGT_TRIAL_OK) {
    t->n_right++;
    assert_string_equal(v->reason, "");
    assert_string_equal(v->pass, "");
    assert_true(v->error_share >= 0 && v->error_share <= 1);
    assert_true(v->row == -1 && v->column == -1);
  }
  return t->n == t->stop_after;
}

static rgt_status verify(rgt_op *op, rgt_verify_options o, seen *out) {
  int stop_after = out->stop_after;
  memset(out, 0, sizeof *out);
  out->stop_after = stop_after;
  o.struct_size = sizeof o;
  return rgt_verify(op, &o, take, out);
}

static void samples(void **state) {
  (void)state;
  static const char *const texts[] = {FRONT_MLP, FRONT_LINEAR, "mlp:7-9-3:g4:f32:gelu:b12:kn:i32"};
  for (int i = 0; i < 3; i++) {
    rgt_op *op = front_op(&f, texts[i]);
    front_ok(&f, verify(op, (rgt_verify_options){.sample = 3, .seed = 5}, &s));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_right, 3);
    front_compiles(&f);
    front_ok(&f, verify(op, (rgt_verify_options){.sample = 3, .seed = 5}, &again)); /* the same ones, from the cache */
    assert_true(front_compiles(&f) <= 1);
    for (int k = 0; k < 3; k++) assert_string_equal(s.variants[k], again.variants[k]);
  }
}

static void the_builtin_and_one_by_name(void **state) {
  (void)state;
  rgt_op_options pointers = {.struct_size = sizeof pointers, .weight_form = RGT_POINTERS};
  rgt_op *ops[] = {front_op(&f, FRONT_MLP), front_op(&f, "mlp:7-9-3:g4:f32:silu:b12:kn:i32"),
                   front_op_with(&f, FRONT_LINEAR, &pointers)};
  for (int i = 0; i < 3; i++) {
    front_ok(&f, verify(ops[i], (rgt_verify_options){.variant = "builtin"}, &s));
    assert_int_equal(s.n, 1);
    assert_string_equal(s.variants[0], "builtin");
    assert_int_equal(s.n_right, 1);
  }
  assert_int_equal(front_compiles(&f), 0);
  front_ok(&f, verify(ops[0], (rgt_verify_options){.variant = FRONT_FUSED, .rows = 300}, &s));
  assert_int_equal(s.n, 1);
  assert_string_equal(s.variants[0], FRONT_FUSED);
  assert_true(s.last.error_share > 0); /* random data rounds somewhere */
}

static void a_callback_may_stop(void **state) {
  (void)state;
  s.stop_after = 2;
  assert_int_equal(verify(front_op(&f, FRONT_MLP), (rgt_verify_options){.sample = 4, .seed = 1}, &s), RGT_EINTERRUPTED);
  assert_int_equal(s.n, 2);
  s.stop_after = 0;
}

/* The caller's own y is compared too: right, it passes; wrong by one, the case is to blame, not the variants. */
static void a_case(void **state) {
  problem p;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  problem_make(&p, FRONT_MLP, 30, 0);
  rgt_case c = {.struct_size = sizeof c,
                .rows = 30,
                .x = p.x,
                .index = p.index,
                .w1 = p.w[0],
                .b1 = p.b[0],
                .w2 = p.w[1],
                .b2 = p.b[1],
                .y64 = p.expected,
                .exact = 1};
  front_ok(&f, verify(op, (rgt_verify_options){.variant = FRONT_FUSED, .data = &c}, &s));
  assert_int_equal(s.n_right, 1);
  front_ok(&f, verify(op, (rgt_verify_options){.variant = "builtin", .data = &c}, &s));
  assert_int_equal(s.n_right, 1);
  c.struct_size = 9;
  front_fails(&f, verify(op, (rgt_verify_options){.variant = FRONT_FUSED, .data = &c}, &s), RGT_EINVAL,
              "rgt_case.struct_size is 9");
  c.struct_size = sizeof c;
  c.y64 = NULL;
  front_ok(&f, verify(op, (rgt_verify_options){.variant = FRONT_FUSED, .data = &c}, &s));
  p.expected[0] += 0.25;
  c.y64 = p.expected;
  front_fails(&f, verify(op, (rgt_verify_options){.variant = FRONT_FUSED, .data = &c}, &s), RGT_EINVAL, "y[0, 0]");
  assert_int_equal(s.n, 0);
  c.x = NULL;
  front_fails(&f, verify(op, (rgt_verify_options){.variant = FRONT_FUSED, .data = &c}, &s), RGT_EINVAL, "x is missing");
  c.rows = -2;
  front_fails(&f, verify(op, (rgt_verify_options){.variant = FRONT_FUSED, .data = &c}, &s), RGT_EINVAL, "rows is -2");
  problem_free(&p);
}

/* Not run, and said of it, whether many are asked for or it alone; in mode off nobody knows of bans. */
static void a_banned_one_is_not_run(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_LINEAR);
  front_ok(&f, verify(op, (rgt_verify_options){.sample = 3, .seed = 5}, &s));
  char banned[RGT_VARIANT_TEXT_MAX];
  int at = strcmp(s.variants[0], FRONT_DEFAULT) == 0; /* which cannot be banned */
  snprintf(banned, sizeof banned, "%s", s.variants[at]);
  front_ok(&f, rgt_db_ban(f.ctx, banned, "it burns"));
  again.reason[0] = 0;
  again.stop_after = at + 1;
  assert_int_equal(verify(op, (rgt_verify_options){.sample = 3, .seed = 5}, &again), RGT_EINTERRUPTED);
  assert_string_equal(again.variants[at], banned);
  assert_int_equal(again.last.outcome, RGT_TRIAL_INFEASIBLE);
  assert_string_equal(again.reason, "banned: it burns");
  again.stop_after = 0;
  front_ok(&f, verify(op, (rgt_verify_options){.sample = 3, .seed = 5}, &again)); /* the others are right */
  assert_int_equal(again.n, 3);
  assert_int_equal(again.n_right, 2);
  front_fails(&f, verify(op, (rgt_verify_options){.variant = banned}, &again), RGT_EINVAL, "is banned: it burns");
  assert_int_equal(again.n, 0);
  front_open_mode(&f, "off", NULL);
  front_ok(&f, verify(front_op(&f, FRONT_LINEAR), (rgt_verify_options){.variant = banned}, &again));
  assert_int_equal(again.n_right, 1);
}

static void refusals(void **state) {
  rgt_verify_options o = {.struct_size = 9};
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_verify(op, &o, take, &s), RGT_EINVAL, "struct_size is 9");
  front_fails(&f, verify(op, (rgt_verify_options){.rows = -1}, &s), RGT_EINVAL, "rows is -1");
  front_fails(&f, verify(op, (rgt_verify_options){.rows = RGT_COUNT_MAX + 1}, &s), RGT_EINVAL, "rows is 2147483648");
  front_fails(&f, verify(op, (rgt_verify_options){.variant = "wax"}, &s), RGT_EINVAL, "wax");
  setenv("RAGTUNE_CC", "none", 1);
  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  front_fails(&f, verify(op, (rgt_verify_options){.sample = 1}, &s), RGT_ENOCOMPILER, "RAGTUNE_CC=none");
  front_ok(&f, verify(op, (rgt_verify_options){.variant = "builtin"}, &s)); /* needs none */
  assert_int_equal(s.n_right, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(samples), TEST(the_builtin_and_one_by_name), TEST(a_callback_may_stop),
      TEST(a_case),  TEST(a_banned_one_is_not_run),     TEST(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
