/* test_clean.c -- what may stand in a text, and what becomes of the rest. */
#include "fixture.h"

#include "runtime/base/random.h"
#include "tunedb/clean.h"

static void test_is(void **state) {
  (void)state;
  static const char *const good[] = {"", "row_gather:threads=64", "gcc (Debian 12.2.0-14) \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80",
                                     "*/ \" ' \\"};
  static const char *const bad[] = {"a\nb",
                                    "a\tb",
                                    "\x1b[31m",
                                    "\x7f",
                                    "\xC2\x9B"
                                    "31m", /* CSI in one character */
                                    "\xE2\x80\xAE"
                                    "txt",
                                    "\xE2\x81\xA6"
                                    "x",
                                    "\xE2\x80\xA8",
                                    "\xEF\xBB\xBF",
                                    "\xFF",
                                    "\xC3",
                                    "\xC0\xAF",
                                    "\xE0\x80\xAF",
                                    "\xED\xA0\x80",
                                    "\xF4\x90\x80\x80",
                                    "\xF8\x88\x80\x80\x80"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(rgt__clean_is(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (rgt__clean_is(bad[i])) fail_msg("text %zu passed", i);
}

static void test_text(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"64 bytes spilled, stack frame of 8 bytes", "64 bytes spilled, stack frame of 8 bytes"},
      {"/tmp/ragtune-x/a.c:3:5: error: 'x' undeclared", "a.c:3:5: error: 'x' undeclared"},
      {"in file included from /home/jo/b.h (see -I/opt/inc/z)", "in file included from b.h (see -Iz)"},
      {"\"/home/jo\"", "\"jo\""},
      {"rows/s 1/2 a/b", "rows/s 1/2 a/b"},
      {"ends in /", "ends in "},
      {"x:/a/b/c and ~/d/e", "x:c and ~e"},
      {"two\nlines\tand \x1b[0m", "two lines and  [0m"},
      {"\xFFtail", " tail"},
  };
  char room[64], again[64];
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const char *clean = rgt__clean_text(pairs[i][0], room, sizeof room);
    assert_string_equal(clean, pairs[i][1]);
    assert_ptr_equal(rgt__clean_text(clean, again, sizeof again), clean); /* once is enough */
  }
  assert_string_equal(rgt__clean_text("abc\xC3\xA4", room, 5), "abc"); /* never half a character */
  assert_string_equal(rgt__clean_text("abc\xC3\xA4", room, 6), "abc\xC3\xA4");
}

static void test_once_is_enough(void **state) {
  (void)state;
  rgt__random r;
  rgt__random_seed(&r, 5);
  static const char letters[] = "/ab. \"\n:\xC3\xA4\x80~-(";
  for (int i = 0; i < 100000; i++) {
    char text[24], room[20], again[20];
    size_t n = (size_t)rgt__random_below(&r, sizeof text);
    for (size_t j = 0; j < n; j++) text[j] = letters[rgt__random_below(&r, sizeof letters - 1)];
    text[n] = 0;
    const char *clean = rgt__clean_text(text, room, sizeof room);
    assert_true(rgt__clean_is(clean));
    assert_true(strlen(clean) < sizeof room);
    assert_ptr_equal(rgt__clean_text(clean, again, sizeof again), clean);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_is), cmocka_unit_test(test_text),
                                     cmocka_unit_test(test_once_is_enough)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
