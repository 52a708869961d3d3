/* test_elf.c -- the GNU build-id of a loaded library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/elf.h"

/* Another owner's note with an odd size, then the build-id 01 ab ff. Words are little endian, as on every target of ours. */
static const unsigned char notes[] = {
    4, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 'X', 'Y', 'Z', 0,   9,   0, /* name XYZ, one byte, type 3, padded */
    0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0,   0,   'G', 'N', 'U', 0, 0x01, 0xab, 0xff, 0,
};

static void test_finds_the_note(void **state) {
  char hex[RGT_BUILD_ID_MAX];
  (void)state;
  assert_int_equal(rgt__elf_note_build_id(notes, sizeof notes, hex), 1);
  assert_string_equal(hex, "01abff");
}

static void test_cut_notes_hold_none(void **state) {
  char hex[RGT_BUILD_ID_MAX];
  (void)state;
  for (size_t n = 0; n < sizeof notes; n++) {
    strcpy(hex, "old");
    assert_int_equal(rgt__elf_note_build_id(notes, n, hex), 0);
    assert_string_equal(hex, "");
  }
}

static void test_sizes_that_wrap_are_refused(void **state) {
  unsigned char bad[sizeof notes];
  char hex[RGT_BUILD_ID_MAX];
  (void)state;
  memcpy(bad, notes, sizeof notes);
  memset(bad, 0xff, 8); /* both sizes 2^32 - 1 */
  assert_int_equal(rgt__elf_note_build_id(bad, sizeof bad, hex), 0);
  memcpy(bad, notes, sizeof notes);
  bad[24] = 200; /* an id longer than the segment */
  assert_int_equal(rgt__elf_note_build_id(bad, sizeof bad, hex), 0);
}

/* The C library of every distribution has one: 20 bytes of SHA-1 or 16 of another hash, in hex. */
static void test_id_of_a_loaded_library(void **state) {
  char hex[RGT_BUILD_ID_MAX], again[RGT_BUILD_ID_MAX];
  (void)state;
  size_t (*function)(const char *) = strlen;
  const void *address;
  memcpy(&address, &function, sizeof address);
  if (!rgt__elf_build_id(address, hex)) skip();
  assert_true(strlen(hex) >= 16 && strlen(hex) % 2 == 0);
  assert_int_equal(strspn(hex, "0123456789abcdef"), strlen(hex));
  assert_int_equal(rgt__elf_build_id((const char *)address + 1, again), 1);
  assert_string_equal(hex, again);
}

static void test_no_library_at_an_address(void **state) {
  char hex[RGT_BUILD_ID_MAX];
  (void)state;
  assert_int_equal(rgt__elf_build_id((const void *)8, hex), 0);
  assert_string_equal(hex, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_finds_the_note),
      cmocka_unit_test(test_cut_notes_hold_none),
      cmocka_unit_test(test_sizes_that_wrap_are_refused),
      cmocka_unit_test(test_id_of_a_loaded_library),
      cmocka_unit_test(test_no_library_at_an_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
