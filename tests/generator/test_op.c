/* test_op.c -- one text per op, strict parsing, limits, and messages that name the field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "generator/op.h"

static rgt_op_desc parsed(const char *text) {
  rgt_op_desc op;
  rgt__error err = {{0}};
  memset(&op, 0x55, sizeof op);
  assert_int_equal(rgt__op_parse(text, &op, &err), RGT_OK);
  assert_string_equal(err.text, "");
  return op;
}

static void fields(void **state) {
  (void)state;
  rgt_op_desc op = parsed("mlp:10-20-5:g3:f32:relu:b12:nk:i64");
  assert_int_equal(op.struct_size, sizeof op);
  assert_int_equal(op.kind, RGT_MLP);
  assert_int_equal(op.n_in, 10);
  assert_int_equal(op.n_hidden, 20);
  assert_int_equal(op.n_out, 5);
  assert_int_equal(op.groups, 3);
  assert_int_equal(op.dtype, RGT_F32);
  assert_int_equal(op.act, RGT_ACT_RELU);
  assert_int_equal(op.bias, RGT_BIAS_1 | RGT_BIAS_2);
  assert_int_equal(op.layout, RGT_NK);
  assert_int_equal(op.index_type, RGT_I64);
  op = parsed("linear:4-8:g4:bf16:none:b0:kn:i32");
  assert_int_equal(op.kind, RGT_LINEAR);
  assert_int_equal(op.n_in, 4);
  assert_int_equal(op.n_hidden, 0);
  assert_int_equal(op.n_out, 8);
  assert_int_equal(op.groups, 4);
  assert_int_equal(op.dtype, RGT_BF16);
  assert_int_equal(op.act, RGT_ACT_NONE);
  assert_int_equal(op.bias, 0);
  assert_int_equal(op.layout, RGT_KN);
  assert_int_equal(op.index_type, RGT_I32);
}

static const char *const good[] = {
    "mlp:10-20-5:g3:f32:relu:b12:nk:i64",
    "mlp:1-1-1:g1:f16:gelu:b0:kn:i32",
    "mlp:3-7-9:g2:bf16:gelu_tanh:b1:nk:i32",
    "mlp:3-7-9:g2:bf16:silu:b2:nk:i32",
    "linear:4-8:g4:bf16:none:b0:kn:i32",
    "linear:16777216-16777216:g2147483647:f32:tanh:b1:nk:i64",
    "mlp:16777216-16777216-16777216:g2147483647:bf16:gelu_tanh:b12:nk:i64",
};

static void round_trips(void **state) {
  (void)state;
  char text[RGT_OP_TEXT_MAX];
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    rgt_op_desc op = parsed(good[i]);
    assert_int_equal(rgt__op_check(&op, NULL), RGT_OK);
    op.struct_size = 0; /* need not be right inside */
    assert_int_equal(rgt__op_format(&op, text, NULL), RGT_OK);
    assert_string_equal(text, good[i]);
  }
}

typedef struct refusal {
  const char *text, *message; /* message: what it must hold */
} refusal;

static void assert_refused(const refusal *r, size_t n) {
  for (size_t i = 0; i < n; i++) {
    rgt_op_desc op, before;
    rgt__error err = {{0}};
    memset(&op, 0x55, sizeof op);
    memcpy(&before, &op, sizeof op);
    assert_int_equal(rgt__op_parse(r[i].text, &op, &err), RGT_EINVAL);
    assert_int_equal(rgt__op_parse(r[i].text, &op, NULL), RGT_EINVAL);
    assert_memory_equal(&op, &before, sizeof op);
    if (!strstr(err.text, r[i].message)) fail_msg("%s: \"%s\" lacks \"%s\"", r[i].text, err.text, r[i].message);
  }
}

static void refuses_fields(void **state) {
  (void)state;
  static const refusal r[] = {
      {"", "op \"\": 1 field, but an op has 8: mlp:IN-HIDDEN-OUT:"},
      {"mlp:10-20-5:g3:f32:relu:b12:nk", "7 fields, but an op has 8"},
      {"mlp:10-20-5:g3:f32:relu:b12:nk:i64:", "9 fields"},
      {"mpl:10-20-5:g3:f32:relu:b12:nk:i64", "op: kind \"mpl\": must be one of linear, mlp"},
      {"MLP:10-20-5:g3:f32:relu:b12:nk:i64", "op: kind \"MLP\""},
      {" mlp:10-20-5:g3:f32:relu:b12:nk:i64", "op: kind \" mlp\""},
      {"mlp:10-20-5:g3:f64:relu:b12:nk:i64", "op: dtype \"f64\": must be one of f32, f16, bf16"},
      {"mlp:10-20-5:g3:f3:relu:b12:nk:i64", "op: dtype \"f3\""},
      {"mlp:10-20-5:g3::relu:b12:nk:i64", "op: dtype \"\""},
      {"mlp:10-20-5:g3:f32:swish:b12:nk:i64", "op: act \"swish\": must be one of none, relu, gelu, gelu_tanh, silu, tanh"},
      {"mlp:10-20-5:g3:f32:relu:b21:nk:i64", "op: bias \"b21\": must be one of b0, b1, b2, b12"},
      {"linear:10-5:g3:f32:relu:b2:nk:i64", "op: bias of a linear layer \"b2\": must be one of b0, b1"},
      {"linear:10-5:g3:f32:relu:b12:nk:i64", "op: bias of a linear layer \"b12\": must be one of b0, b1"},
      {"mlp:10-20-5:g3:f32:relu:b12:nn:i64", "op: layout \"nn\": must be one of nk, kn"},
      {"mlp:10-20-5:g3:f32:relu:b12:nk:i16", "op: index type \"i16\": must be one of i32, i64"},
      {"mlp:10-20-5:g3:f32:relu:b12:nk:i64 ", "op: index type \"i64 \""},
      {"mlp:10-20-5:g3:f32:relu:b12:nk:i64\n", "op: index type"},
  };
  assert_refused(r, sizeof r / sizeof *r);
}

static void refuses_numbers(void **state) {
  (void)state;
  static const char *const dims[] = {
      "",        "10",        "10-20",    "10-20-5-6", "10-20-",   "-10-20-5", "10--20-5",      "0-20-5",
      "10-0-5",  "10-20-0",   "010-20-5", "+10-20-5",  "10-20-5 ", "1e1-20-5", "16777217-20-5", "10-20-99999999999999999999",
      "10x20x5", "0x10-20-5", "10.0-20-5"};
  static const char *const groups[] = {
      "", "g", "3", "G3", "g0", "g03", "g-3", "g+3", "g3x", "g2147483648", "g99999999999999999999", "g 3"};
  char text[200], message[200];
  refusal r = {text, message};
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    snprintf(text, sizeof text, "mlp:%s:g3:f32:relu:b12:nk:i64", dims[i]);
    snprintf(message, sizeof message, "op: dims \"%s\": an mlp has three, IN-HIDDEN-OUT, each from 1 to 16777216 without",
             dims[i]);
    assert_refused(&r, 1);
  }
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    snprintf(text, sizeof text, "linear:4-8:%s:f32:relu:b1:nk:i64", groups[i]);
    snprintf(message, sizeof message, "op: groups \"%s\": must be g and a number from 1 to 2147483647, as in g3", groups[i]);
    assert_refused(&r, 1);
  }
  static const refusal linear[] = {
      {"linear:4-8-2:g4:bf16:none:b0:kn:i32", "op: dims \"4-8-2\": a linear layer has two, IN-OUT, each from 1 to 16777216"},
      {"linear:4:g4:bf16:none:b0:kn:i32", "op: dims \"4\": a linear layer has two"}};
  assert_refused(linear, 2);
}

static void long_values_are_cut(void **state) {
  (void)state;
  char text[400], message[100];
  memset(text, 'x', sizeof text);
  strcpy(text + 300, ":1-2:g1:f32:none:b0:nk:i32");
  memset(message, 'x', sizeof message);
  memcpy(message, "op: kind \"", 10);
  strcpy(message + 70, "\": must be");
  refusal r = {text, message};
  assert_refused(&r, 1);
}

static void check_limits(void **state) {
  (void)state;
  const rgt_op_desc mlp = parsed(good[0]), linear = parsed(good[4]);
  struct {
    rgt_op_desc op;
    const char *message;
  } cases[] = {{mlp, "op: in is 0; it must be from 1 to 16777216"},
               {mlp, "op: hidden is -1; it must be from 1 to 16777216"},
               {mlp, "op: out is 16777217; it must be from 1 to 16777216"},
               {mlp, "op: groups is 2147483648; it must be from 1 to 2147483647"},
               {mlp, "op: kind is 2; it must be from 0 to 1"},
               {mlp, "op: dtype is 3; it must be from 0 to 2"},
               {mlp, "op: act is -1; it must be from 0 to 5"},
               {mlp, "op: layout is 2; it must be from 0 to 1"},
               {mlp, "op: index type is 7; it must be from 0 to 1"},
               {mlp, "op: bias is 4; it must be 0 (b0), 1 (b1), 2 (b2) or 3 (b12)"},
               {linear, "op: bias is 2; a linear layer has 0 (b0) or 1 (b1)"},
               {linear, "op: hidden is 9; a linear layer has none, so it must be 0"}};
  cases[0].op.n_in = 0;
  cases[1].op.n_hidden = -1;
  cases[2].op.n_out = RGT_DIM_MAX + 1;
  cases[3].op.groups = RGT_COUNT_MAX + 1;
  cases[4].op.kind = (rgt_op_kind)2;
  cases[5].op.dtype = (rgt_dtype)3;
  cases[6].op.act = (rgt_act)-1;
  cases[7].op.layout = (rgt_layout)2;
  cases[8].op.index_type = (rgt_index_type)7;
  cases[9].op.bias = 4;
  cases[10].op.bias = 2;
  cases[11].op.n_hidden = 9;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rgt__error err;
    char text[RGT_OP_TEXT_MAX] = "before";
    assert_int_equal(rgt__op_check(&cases[i].op, &err), RGT_EINVAL);
    assert_string_equal(err.text, cases[i].message);
    assert_int_equal(rgt__op_format(&cases[i].op, text, NULL), RGT_EINVAL);
    assert_string_equal(text, "before");
  }
}

static void twins(void **state) {
  (void)state;
  rgt_op_desc op = parsed("mlp:3-7-9:g2:bf16:gelu_tanh:b1:nk:i32"), twin = rgt__op_relu_twin(&op);
  assert_int_equal(twin.act, RGT_ACT_RELU);
  char text[RGT_OP_TEXT_MAX];
  assert_int_equal(rgt__op_format(&twin, text, NULL), RGT_OK);
  assert_string_equal(text, "mlp:3-7-9:g2:bf16:relu:b1:nk:i32");
  op.act = RGT_ACT_NONE;
  assert_int_equal(rgt__op_relu_twin(&op).act, RGT_ACT_NONE);
}

static void weights(void **state) {
  (void)state;
  rgt_op_desc mlp = parsed("mlp:3-7-9:g2:f32:relu:b1:nk:i32"), linear = parsed("linear:3-9:g2:f32:relu:b1:nk:i32");
  assert_int_equal(rgt__op_weight_elems(&mlp, 1), 21);
  assert_int_equal(rgt__op_weight_elems(&mlp, 2), 63);
  assert_int_equal(rgt__op_weight_elems(&mlp, 3), 0);
  assert_int_equal(rgt__op_weight_elems(&linear, 1), 27);
  assert_int_equal(rgt__op_weight_elems(&linear, 2), 0);
  linear.n_in = linear.n_out = RGT_DIM_MAX;
  assert_true(rgt__op_weight_elems(&linear, 1) == (int64_t)1 << 48);
  linear.n_in = linear.n_out = (int64_t)1 << 40;
  assert_true(rgt__op_weight_elems(&linear, 1) == INT64_MAX);
}

#define ASSERT_WORDS(field, type, ...)                                \
  do {                                                                \
    static const char *const words[] = {__VA_ARGS__};                 \
    const int n = (int)(sizeof words / sizeof *words);                \
    type v = (type)99;                                                \
    for (int i = 0; i < n; i++) {                                     \
      assert_string_equal(rgt__op_##field##_word((type)i), words[i]); \
      assert_int_equal(rgt__op_##field##_parse(words[i], &v), 1);     \
      assert_int_equal(v, i);                                         \
    }                                                                 \
    assert_string_equal(rgt__op_##field##_word((type)n), "?");        \
    assert_string_equal(rgt__op_##field##_word((type)-1), "?");       \
    v = (type)99;                                                     \
    assert_int_equal(rgt__op_##field##_parse("", &v), 0);             \
    assert_int_equal(rgt__op_##field##_parse("?", &v), 0);            \
    assert_int_equal(v, 99);                                          \
  } while (0)

static void words(void **state) {
  (void)state;
  ASSERT_WORDS(dtype, rgt_dtype, "f32", "f16", "bf16");
  ASSERT_WORDS(act, rgt_act, "none", "relu", "gelu", "gelu_tanh", "silu", "tanh");
  ASSERT_WORDS(layout, rgt_layout, "nk", "kn");
  ASSERT_WORDS(index, rgt_index_type, "i32", "i64");
  ASSERT_WORDS(skew, rgt_skew, "unknown", "uniform", "zipf", "one");
  ASSERT_WORDS(form, rgt_weight_form, "stacked", "pointers");
  ASSERT_WORDS(order, rgt_order, "raw", "sorted", "offsets");
  ASSERT_WORDS(policy, rgt_policy, "warm", "cold", "graph");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fields),
                                     cmocka_unit_test(round_trips),
                                     cmocka_unit_test(refuses_fields),
                                     cmocka_unit_test(refuses_numbers),
                                     cmocka_unit_test(long_values_are_cut),
                                     cmocka_unit_test(check_limits),
                                     cmocka_unit_test(twins),
                                     cmocka_unit_test(weights),
                                     cmocka_unit_test(words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
