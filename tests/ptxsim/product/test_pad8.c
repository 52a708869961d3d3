/* test_pad8.c -- what pad8 asks of the machine, on ptxsim: the figures that the family is built for, as counters; and that
 * variants of one numeric class give the same bits, however they find, share and stage their rows.
 *
 * Whether results are right is other tests' business. */
#include "figures.h"

#include "../tests/support/nvrtc.h"

#include <stdlib.h>
#include <string.h>

static counted_lab lab;

static void at_most(const char *what, double got, double limit) {
  print_message("    %s %.3f of the least, at most %.2f\n", what, got, limit);
  if (!(got <= limit)) fail_msg("%s: %.3f of the least; at most %.2f", what, got, limit);
}

#define VARIANT_OF(tokens, parts, shared, plan, run, share, stage, tiles, warps)                               \
  "pad8:hidden_parts=" #parts ",hidden_shared=" #shared ",plan=" #plan ",product=0,run=" #run ",share=" #share \
  ",stage_x=" #stage ",sub_tiles=" #tiles ",tokens=" #tokens ",warps=" #warps
#define VARIANT(...) VARIANT_OF(0, __VA_ARGS__)      /* tokens on n */
#define VARIANT_OF_M(...) VARIANT_OF(1, __VA_ARGS__) /* and on m */

static void check_few_rows(const char *variant) {
  figures f;
  counted_rows r = counted_rows_make(64, 1, 8, 0);
  print_message("  %s\n", variant);
  figures_of(&lab, "mlp:64-128-64:g64:bf16:relu:b12:nk:i64", variant, &r, 1, &f);
  at_most("weight sectors", f.weight_sectors, 1.05);
  at_most("mma", f.mma, 1.05);
  at_most("bank passes", f.bank_passes, 1.02);
  counted_rows_free(&r);
}

static void test_few_rows(void **state) {
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  check_few_rows(VARIANT(1, 0, 0, 4, 0, 0, 1, 1));
  check_few_rows(VARIANT(1, 0, 1, 4, 0, 0, 1, 1));
  check_few_rows(VARIANT(1, 0, 0, 4, 1, 0, 1, 4));
  check_few_rows(VARIANT(1, 1, 0, 4, 1, 0, 1, 4));
  check_few_rows(VARIANT(1, 1, 0, 8, 1, 0, 1, 4));
  check_few_rows(VARIANT(1, 0, 1, 4, 1, 0, 4, 2));
}

static void test_one_launch(void **state) {
  figures f;
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  counted_rows r = counted_rows_make(3, 2, 3, 0);
  figures_of(&lab, "mlp:10-20-5:g3:bf16:relu:b12:nk:i64", VARIANT(1, 0, 0, 4, 0, 0, 1, 1), &r, 0, &f);
  assert_int_equal(f.n_launches, 1);
  counted_rows_free(&r);
}

static void check_many_rows(const char *variant) {
  figures f;
  counted_rows r = counted_rows_make(64, 1, 1023, 0);
  print_message("  %s\n", variant);
  figures_of(&lab, "mlp:64-128-64:g64:bf16:relu:b12:nk:i64", variant, &r, 0, &f);
  at_most("DRAM bytes", f.dram_bytes, 1.15);
  at_most("bank passes", f.bank_passes, 1.02);
  counted_rows_free(&r);
}

static void test_many_rows(void **state) {
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  check_many_rows(VARIANT(1, 0, 1, 4, 0, 0, 4, 1));
  check_many_rows(VARIANT(1, 1, 1, 4, 1, 0, 4, 4));
  check_many_rows(VARIANT_OF_M(1, 0, 1, 4, 0, 0, 2, 1));
  check_many_rows(VARIANT_OF_M(1, 1, 1, 4, 1, 0, 2, 4));
}

/* ---- one class, one result ---------------------------------------------------------------------------------- */

static void test_a_class_has_one_result(void **state) {
  static const char *const variants[] = {VARIANT(1, 0, 0, 4, 0, 0, 1, 1), VARIANT(1, 0, 1, 4, 0, 0, 4, 1),
                                         VARIANT(1, 0, 0, 4, 0, 0, 2, 4), VARIANT(1, 1, 1, 4, 1, 1, 2, 2),
                                         VARIANT(1, 1, 0, 4, 1, 0, 1, 4)};
  enum { N = sizeof variants / sizeof variants[0], OUT = 12 };
  uint16_t *first = NULL, *y = NULL;
  char class_name[RGT_NAME_MAX] = "";
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  counted_rows r = counted_rows_make(5, 0, 37, 0);
  first = calloc((size_t)r.n * OUT, sizeof *first);
  y = calloc((size_t)r.n * OUT, sizeof *y);
  assert_true(first && y);
  for (int i = 0; i < N; i++) {
    ptxsim_launches sum, last;
    rgt__variant v;
    rgt__numeric numeric;
    counted_code c;
    counted_code_open(&lab, "mlp:20-40-12:g5:bf16:gelu:b12:nk:i64", variants[i], &c);
    assert_int_equal(rgt__variant_parse(lab.families, "cuda", variants[i], &v, NULL), RGT_OK);
    assert_int_equal(rgt__variant_numeric(lab.families, &v, &c.op, &numeric, NULL), RGT_OK);
    if (i == 0) strcpy(class_name, numeric.class_name);
    assert_string_equal(numeric.class_name, class_name);
    counted_run(&lab, &c, &r, &sum, &last, i == 0 ? first : y);
    if (i > 0 && memcmp(first, y, (size_t)r.n * OUT * sizeof *y) != 0)
      fail_msg("%s: other bits than %s", variants[i], variants[0]);
    counted_code_close(&lab, &c);
  }
  free(first);
  free(y);
  counted_rows_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_rows), cmocka_unit_test(test_one_launch),
                                     cmocka_unit_test(test_many_rows), cmocka_unit_test(test_a_class_has_one_result)};
  if (sim_nvrtc_missing() != NULL) print_message("skipped: %s\n", sim_nvrtc_missing());
  counted_lab_open(&lab);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  counted_lab_close(&lab);
  return failed;
}
