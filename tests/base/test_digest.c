/* test_digest.c -- published SHA-256 values, field prefixes, hex. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runtime/base/digest.h"

static void assert_hex(const rgt__digest *d, const char *expected) {
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__digest_hex(d, hex);
  assert_string_equal(hex, expected);
}

/* FIPS 180-4 examples */
static void plain(void **state) {
  (void)state;
  rgt__digest d;
  rgt__digest_of("abc", 3, &d);
  assert_hex(&d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  rgt__digest_of(NULL, 0, &d);
  assert_hex(&d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* The same bytes laid out by hand. */
static void fields(void **state) {
  (void)state;
  static const char bytes[] =
      "\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0c\10\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0";
  rgt__hash h;
  rgt__digest d, by_hand;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ab");
  rgt__hash_bytes(&h, "c", 1);
  rgt__hash_int(&h, -2);
  rgt__hash_bytes(&h, NULL, 0);
  rgt__hash_end(&h, &d);
  rgt__digest_of(bytes, sizeof bytes, &by_hand); /* the literal's NUL is the last byte of the length 0 */
  assert_true(rgt__digest_equal(&d, &by_hand));
}

static void boundaries_matter(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"ab", "c"}, {"a", "bc"}, {"abc", ""}, {"", "abc"}};
  rgt__digest d[4];
  for (int i = 0; i < 4; i++) {
    rgt__hash h;
    rgt__hash_init(&h);
    rgt__hash_text(&h, pairs[i][0]);
    rgt__hash_text(&h, pairs[i][1]);
    rgt__hash_end(&h, &d[i]);
    for (int j = 0; j < i; j++) assert_false(rgt__digest_equal(&d[i], &d[j]));
  }
}

static void hex(void **state) {
  (void)state;
  char text[RGT_DIGEST_HEX_MAX + 1];
  rgt__digest d, back, untouched;
  for (int i = 0; i < 32; i++) d.bytes[i] = (uint8_t)(i * 37 + 5);
  rgt__digest_hex(&d, text);
  assert_int_equal(strlen(text), 64);
  assert_memory_equal(text, "052a4f74", 8);
  assert_int_equal(rgt__digest_parse(text, &back), 1);
  assert_true(rgt__digest_equal(&d, &back));
  text[3] = 'F'; /* capitals are hex digits too */
  assert_int_equal(rgt__digest_parse(text, &back), 1);
  assert_int_equal(back.bytes[1], 0x2f);

  memset(&untouched, 0x11, sizeof untouched);
  back = untouched;
  memcpy(text + 64, "0", 2);
  assert_int_equal(rgt__digest_parse(text, &back), 0); /* 65 */
  text[63] = 0;
  assert_int_equal(rgt__digest_parse(text, &back), 0); /* 63 */
  text[62] = 0;
  assert_int_equal(rgt__digest_parse(text, &back), 0);
  assert_int_equal(rgt__digest_parse("", &back), 0);
  rgt__digest_hex(&d, text);
  static const char wrong[] = "g/:@`G -";
  for (int i = 0; wrong[i]; i++) {
    char kept = text[10];
    text[10] = wrong[i];
    assert_int_equal(rgt__digest_parse(text, &back), 0);
    text[10] = kept;
  }
  assert_true(rgt__digest_equal(&back, &untouched));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(plain), cmocka_unit_test(fields), cmocka_unit_test(boundaries_matter),
                                     cmocka_unit_test(hex)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
