/* test_code_pair.c -- cubin and PTX in one piece: both come back, and what was never joined stays whole. */
#include "runtime/code_pair.h"

#include "tests/support/scratch.h"

static char cubin[] = "\x7f"
                      "ELF\0cubin",
            ptx[] = ".version 9.0\n";

static void test_both(void **state) {
  rgt__compiled c = {.code = cubin, .code_bytes = sizeof cubin, .ptx = ptx, .ptx_bytes = strlen(ptx)};
  rgt__code_pair pair;
  void *piece = NULL;
  size_t bytes = 0;
  (void)state;
  assert_int_equal(rgt__code_pair_join(&c, &piece, &bytes, NULL), RGT_OK);
  rgt__code_pair_split(piece, bytes, &pair);
  assert_int_equal(pair.code_bytes, sizeof cubin);
  assert_memory_equal(pair.code, cubin, sizeof cubin);
  assert_int_equal(pair.ptx_bytes, strlen(ptx));
  assert_string_equal(pair.ptx, ptx);
  for (size_t cut = 1; cut < bytes; cut++) { /* a piece cut short is no pair */
    rgt__code_pair_split(piece, bytes - cut, &pair);
    assert_null(pair.ptx);
    assert_int_equal(pair.code_bytes, bytes - cut);
  }
  for (size_t i = bytes - 24; i < bytes; i++) { /* nor is one whose lengths or mark are others */
    ((char *)piece)[i] ^= 1;
    rgt__code_pair_split(piece, bytes, &pair);
    assert_null(pair.ptx);
    ((char *)piece)[i] ^= 1;
  }
  rgt__free(piece);
}

static void test_code_alone(void **state) {
  rgt__compiled c = {.code = cubin, .code_bytes = sizeof cubin};
  rgt__code_pair pair;
  void *piece = NULL;
  size_t bytes = 0;
  (void)state;
  assert_int_equal(rgt__code_pair_join(&c, &piece, &bytes, NULL), RGT_OK);
  assert_int_equal(bytes, sizeof cubin);
  rgt__code_pair_split(piece, bytes, &pair);
  assert_int_equal(pair.code_bytes, sizeof cubin);
  assert_null(pair.ptx);
  rgt__free(piece);
  rgt__code_pair_split("", 0, &pair);
  assert_int_equal(pair.code_bytes, 0);
  assert_null(pair.ptx);
}

static void test_no_memory(void **state) {
  rgt__compiled c = {.code = cubin, .code_bytes = sizeof cubin, .ptx = ptx, .ptx_bytes = strlen(ptx)};
  void *piece = NULL;
  size_t bytes = 7;
  rgt__error err = {""};
  (void)state;
  scratch_fail_after(0);
  assert_int_equal(rgt__code_pair_join(&c, &piece, &bytes, &err), RGT_ENOMEM);
  scratch_fail_never();
  assert_null(piece);
  assert_int_equal(bytes, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both),
      cmocka_unit_test(test_code_alone),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
