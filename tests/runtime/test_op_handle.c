/* test_op_handle.c -- op handles and weight handles: what they accept, what they keep, what they refuse. */
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

static rgt_op_desc desc(const char *text) {
  rgt_op_desc d;
  assert_int_equal(rgt_op_parse(f.ctx, text, &d), RGT_OK);
  return d;
}

static void texts_and_descriptions(void **state) {
  char text[RGT_OP_TEXT_MAX];
  rgt_op_desc d = {0};
  (void)state;
  d = desc(FRONT_MLP);
  front_ok(&f, rgt_op_format(f.ctx, &d, text));
  assert_string_equal(text, FRONT_MLP);
  d.n_in = 0;
  front_fails(&f, rgt_op_format(f.ctx, &d, text), RGT_EINVAL, "in is 0");
  front_fails(&f, rgt_op_parse(f.ctx, "mlp:10-20:g3", &d), RGT_EINVAL, "mlp:10-20:g3");
  assert_int_equal(rgt_op_parse(NULL, "nonsense", &d), RGT_EINVAL);
}

static void refuse(rgt_op_desc d, const rgt_op_options *o, rgt_status want, const char *word) {
  rgt_op *op = (rgt_op *)&f;
  front_fails(&f, rgt_op_new(f.ctx, &d, o, &op), want, word);
  assert_ptr_equal(op, &f); /* outputs only on success */
}

static void bad_ops(void **state) {
  (void)state;
  const rgt_op_desc good = desc(FRONT_MLP);
#define BAD(change, word)              \
  do {                                 \
    rgt_op_desc d = good;              \
    d.change;                          \
    refuse(d, NULL, RGT_EINVAL, word); \
  } while (0)
  BAD(struct_size = 3, "struct_size is 3");
  BAD(n_in = 0, "in is 0");
  BAD(n_hidden = 0, "hidden is 0");
  BAD(n_out = RGT_DIM_MAX + 1, "out is 16777217");
  BAD(groups = 0, "groups");
  BAD(groups = RGT_COUNT_MAX + 1, "groups");
  BAD(bias = 4, "bias");
  BAD(act = (rgt_act)17, "act");
  BAD(kind = RGT_LINEAR, "hidden");
#undef BAD
}

static void bad_options(void **state) {
  (void)state;
  const rgt_op_desc d = desc(FRONT_MLP);
#define BAD(change, want, word)                   \
  do {                                            \
    rgt_op_options o = {.struct_size = sizeof o}; \
    o.change;                                     \
    refuse(d, &o, want, word);                    \
  } while (0)
  BAD(struct_size = 1, RGT_EINVAL, "struct_size is 1");
  BAD(skew = (rgt_skew)9, RGT_EINVAL, "skew is 9");
  BAD(weight_form = (rgt_weight_form)2, RGT_EINVAL, "weight_form is 2");
  BAD(order = (rgt_order)3, RGT_EINVAL, "order is 3");
  BAD(align_bytes = 2, RGT_EINVAL, "align_bytes is 2; it can be a power of two from 4 to 16");
  BAD(align_bytes = 12, RGT_EINVAL, "align_bytes is 12");
  BAD(align_bytes = 32, RGT_EINVAL, "align_bytes is 32");
  BAD(max_error = -1, RGT_EINVAL, "max_error is -1");
  BAD(max_error = 1, RGT_EINVAL, "max_error is 1");
  BAD(max_error = NAN, RGT_EINVAL, "max_error is nan");
#undef BAD
}

static void no_memory_is_a_status(void **state) {
  rgt_status status = RGT_ENOMEM;
  (void)state;
  const rgt_op_desc d = desc(FRONT_MLP);
  for (int n = 0; status == RGT_ENOMEM; n++) {
    rgt_op *op = NULL;
    scratch_fail_after(n);
    status = rgt_op_new(f.ctx, &d, NULL, &op);
    scratch_fail_never();
    assert_true(n < 10 && (status == RGT_OK) == (op != NULL));
    rgt_op_free(op);
  }
  assert_int_equal(status, RGT_OK);
}

/* The lists are copied: the caller's may go at once. */
static void pointer_lists_are_copied(void **state) {
  problem p;
  rgt_weights *w = NULL;
  rgt_op_options o = {.struct_size = sizeof o, .weight_form = RGT_POINTERS};
  (void)state;
  rgt_op *op = front_op_with(&f, FRONT_MLP, &o);
  problem_make(&p, FRONT_MLP, 19, 1);
  problem_use_pointers(&p, 1, 1);
  front_ok(&f, rgt_weights_new(op, 4, &p.args.layer1, &p.args.layer2, &w));
  for (int l = 0; l < 2; l++) {
    memset(p.w_list[l], 0, 4 * sizeof(void *));
    memset(p.b_list[l], 0, 4 * sizeof(void *));
  }
  memset(&p.args.layer1, 0, sizeof p.args.layer1);
  memset(&p.args.layer2, 0, sizeof p.args.layer2);
  p.args.weights = w;
  for (int prepared = 0; prepared < 2; prepared++) {
    problem_reset_y(&p);
    front_ok(&f, rgt_op_run(op, &p.args, NULL));
    problem_check(&p);
    front_ok(&f, rgt_op_prepare(op, 19, RGT_PREPARE_WAIT));
  }
  rgt_weights_free(w);
  rgt_weights_free(NULL);
  problem_free(&p);
}

static void bad_weights(void **state) {
  problem p;
  rgt_weights *w = (rgt_weights *)&f;
  rgt_layer wrong;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP), *linear = front_op(&f, FRONT_LINEAR);
  problem_make(&p, FRONT_MLP, 3, 0);
  const rgt_layer *one = &p.args.layer1, *two = &p.args.layer2;
  front_fails(&f, rgt_weights_new(op, 0, one, two, &w), RGT_EINVAL, "groups is 0");
  front_fails(&f, rgt_weights_new(op, RGT_COUNT_MAX + 1, one, two, &w), RGT_EINVAL, "groups is 2147483648");
  front_fails(&f, rgt_weights_new(op, 4, NULL, two, &w), RGT_EINVAL, "layer1 is missing");
  front_fails(&f, rgt_weights_new(op, 4, one, NULL, &w), RGT_EINVAL, "layer2 is missing");
  front_fails(&f, rgt_weights_new(linear, 4, one, two, &w), RGT_EINVAL, "layer2 is one too many");
  wrong = *one;
  wrong.ld_w = 3;
  front_fails(&f, rgt_weights_new(op, 4, &wrong, two, &w), RGT_EINVAL, "layer1: ld_w is 3");
  wrong = *two;
  wrong.b = NULL;
  front_fails(&f, rgt_weights_new(op, 4, one, &wrong, &w), RGT_EINVAL, "layer2: the op has a bias there");
  assert_ptr_equal(w, &f);
  problem_free(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(texts_and_descriptions),   TEST(bad_ops),     TEST(bad_options), TEST(no_memory_is_a_status),
      TEST(pointer_lists_are_copied), TEST(bad_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
