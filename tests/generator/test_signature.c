/* test_signature.c -- one text per signature, and nothing else is taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "generator/op.h"

#define OP "mlp:10-20-5:g3:f32:relu:b12:nk:i64"
#define TEXT "v1|" OP "|r64|uniform|stacked|a4|raw"

static void fields(void **state) {
  (void)state;
  rgt__signature s;
  memset(&s, 0x55, sizeof s);
  assert_int_equal(rgt__signature_parse("v1|" OP "|r2147483648|zipf|pointers|a16|offsets", &s, NULL), RGT_OK);
  assert_int_equal(s.op.n_hidden, 20);
  assert_int_equal(s.op.struct_size, sizeof s.op);
  assert_true(s.bucket == (int64_t)1 << 31);
  assert_int_equal(s.skew, RGT_SKEW_ZIPF);
  assert_int_equal(s.form, RGT_POINTERS);
  assert_int_equal(s.align_bytes, 16);
  assert_int_equal(s.order, RGT_ORDER_OFFSETS);
}

static void round_trips(void **state) {
  (void)state;
  static const char *const good[] = {
      TEXT, "v1|linear:4-8:g4:bf16:none:b0:kn:i32|r1|one|pointers|a1|sorted", "v1|" OP "|r32768|unknown|stacked|a2|raw",
      "v1|mlp:16777216-16777216-16777216:g2147483647:bf16:gelu_tanh:b12:nk:i64|r2147483648|unknown|pointers|a16|offsets",
      "v1|" OP "|r1024|zipf|stacked|a8|offsets"};
  char text[RGT_SIGNATURE_TEXT_MAX];
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    rgt__signature s;
    assert_int_equal(rgt__signature_parse(good[i], &s, NULL), RGT_OK);
    assert_int_equal(rgt__signature_format(&s, text, NULL), RGT_OK);
    assert_string_equal(text, good[i]);
  }
}

static void parse_refuses(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "signature \"\": must be v1|OP|rROWS|SKEW|FORM|aALIGN|ORDER"},
      {TEXT "|", "must be v1|OP|rROWS|SKEW|FORM|aALIGN|ORDER"},
      {"v1|" OP "|r64|uniform|stacked|a4", "must be v1|OP|rROWS|SKEW|FORM|aALIGN|ORDER"},
      {"v2|" OP "|r64|uniform|stacked|a4|raw", "signature: version \"v2\": must be v1"},
      {"v1|mlp:10-20-5:g3:f32:relu:b12:nk:i63|r64|uniform|stacked|a4|raw", "signature: op: index type \"i63\""},
      {"v1|" OP "|64|uniform|stacked|a4|raw", "signature: bucket \"64\": must be r and a power of two"},
      {"v1|" OP "|r0|uniform|stacked|a4|raw", "signature: bucket \"r0\""},
      {"v1|" OP "|r|uniform|stacked|a4|raw", "signature: bucket \"r\""},
      {"v1|" OP "|r63|uniform|stacked|a4|raw", "signature: bucket \"r63\""},
      {"v1|" OP "|r064|uniform|stacked|a4|raw", "signature: bucket \"r064\""},
      {"v1|" OP "|r64x|uniform|stacked|a4|raw", "signature: bucket \"r64x\""},
      {"v1|" OP "|r4294967296|uniform|stacked|a4|raw", "signature: bucket \"r4294967296\""},
      {"v1|" OP "|r18446744073709551680|uniform|stacked|a4|raw", "signature: bucket \"r18446744073709551680\""},
      {"v1|" OP "|r64|even|stacked|a4|raw", "signature: skew \"even\": must be unknown, uniform, zipf or one"},
      {"v1|" OP "|r64|uniform|list|a4|raw", "signature: weight form \"list\": must be stacked or pointers"},
      {"v1|" OP "|r64|uniform|stacked|a32|raw", "signature: alignment \"a32\": must be a1, a2, a4, a8 or a16"},
      {"v1|" OP "|r64|uniform|stacked|a3|raw", "signature: alignment \"a3\""},
      {"v1|" OP "|r64|uniform|stacked|4|raw", "signature: alignment \"4\""},
      {"v1|" OP "|r64|uniform|stacked|a4|raw ", "signature: order \"raw \": must be raw, sorted or offsets"},
      {"v1|" OP "|r64|uniform|stacked|a4|RAW", "signature: order \"RAW\""},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    rgt__signature s, before;
    rgt__error err = {{0}};
    memset(&s, 0x55, sizeof s);
    memcpy(&before, &s, sizeof s);
    assert_int_equal(rgt__signature_parse(bad[i].text, &s, &err), RGT_EINVAL);
    assert_memory_equal(&s, &before, sizeof s);
    if (!strstr(err.text, bad[i].message)) fail_msg("%s: \"%s\" lacks \"%s\"", bad[i].text, err.text, bad[i].message);
  }
  char text[400];
  rgt__signature s;
  rgt__error err;
  memset(text, '|', sizeof text);
  text[sizeof text - 1] = 0;
  assert_int_equal(rgt__signature_parse(text, &s, &err), RGT_EINVAL);
  assert_non_null(strstr(err.text, "longer than 255 bytes"));
}

static void format_refuses(void **state) {
  (void)state;
  rgt__signature good, s;
  rgt__error err;
  char text[RGT_SIGNATURE_TEXT_MAX] = "before";
  assert_int_equal(rgt__signature_parse(TEXT, &good, NULL), RGT_OK);
  s = good, s.bucket = 48;
  assert_int_equal(rgt__signature_format(&s, text, &err), RGT_EINVAL);
  assert_string_equal(err.text, "signature: bucket is 48; it must be a power of two from 1 to 2147483648");
  s = good, s.bucket = 0;
  assert_int_equal(rgt__signature_format(&s, text, &err), RGT_EINVAL);
  s = good, s.bucket = INT64_MIN;
  assert_int_equal(rgt__signature_format(&s, text, &err), RGT_EINVAL);
  s = good, s.align_bytes = 32;
  assert_int_equal(rgt__signature_format(&s, text, &err), RGT_EINVAL);
  assert_string_equal(err.text, "signature: alignment is 32; it must be 1, 2, 4, 8 or 16");
  s = good, s.skew = (rgt_skew)4;
  assert_int_equal(rgt__signature_format(&s, text, &err), RGT_EINVAL);
  s = good, s.form = (rgt_weight_form)2;
  assert_int_equal(rgt__signature_format(&s, text, &err), RGT_EINVAL);
  s = good, s.order = (rgt_order)3;
  assert_int_equal(rgt__signature_format(&s, text, &err), RGT_EINVAL);
  assert_string_equal(err.text, "signature: skew 1, weight form 0 or order 3 is none of ragtune.h's");
  s = good, s.op.n_in = 0;
  assert_int_equal(rgt__signature_format(&s, text, &err), RGT_EINVAL);
  assert_string_equal(err.text, "op: in is 0; it must be from 1 to 16777216");
  assert_string_equal(text, "before");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fields), cmocka_unit_test(round_trips), cmocka_unit_test(parse_refuses),
                                     cmocka_unit_test(format_refuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
