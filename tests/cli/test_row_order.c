/* test_row_order.c -- a problem's rows put in the op's order and back, offsets for them, and the checks of what files hold. */
#include "runtime/cli/message.c"
#include "runtime/cli/npy.c"
#include "runtime/cli/out_file.c"
#include "runtime/cli/progress.c"
#include "runtime/cli/row_order.c"
#include "runtime/cli/units.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ROWS = 9, GROUPS = 4, N_IN = 2 }; /* group 1 has no rows */
static const int64_t mixed[ROWS] = {2, -1, 0, 3, 2, -1, 0, 3, 2};
static const int64_t by_group[ROWS] = {0, 0, 2, 2, 2, 3, 3, -1, -1}, rows_by_group[ROWS] = {2, 6, 0, 4, 8, 3, 7, 1, 5};
static const int64_t begins[GROUPS + 1] = {0, 2, 2, 5, 7};

static rgt__npy array(rgt__npy_type type, int n_dims, int64_t n, int64_t width) {
  rgt__npy a = {.type = type, .n_dims = n_dims, .shape = {n, width}};
  a.elems = (size_t)(n * (n_dims == 1 ? 1 : width));
  a.bytes = a.elems * rgt__npy_type_bytes(type);
  a.data = aligned_alloc(64, (a.bytes + 64) / 64 * 64);
  assert_non_null(a.data);
  return a;
}

static rgt__npy index_of(rgt__npy_type type, const int64_t *values, int64_t n) {
  rgt__npy a = array(type, 1, n, 0);
  for (int64_t i = 0; i < n; i++)
    if (type == RGT_NPY_I4)
      ((int32_t *)a.data)[i] = (int32_t)values[i];
    else
      ((int64_t *)a.data)[i] = values[i];
  return a;
}

static void assert_values(const rgt__npy *a, const int64_t *values, size_t n) {
  assert_int_equal(a->elems, n);
  for (size_t i = 0; i < n; i++) {
    int64_t v = a->type == RGT_NPY_I4 ? ((const int32_t *)a->data)[i] : ((const int64_t *)a->data)[i];
    if (v != values[i]) fail_msg("element %zu is %lld, not %lld", i, (long long)v, (long long)values[i]);
  }
}

/* x[r] = { r, r + 100 }, y[r] = 10 r: what a row holds says where it was. */
static rgt__data problem(rgt__npy_type type, const int64_t *values, int64_t rows) {
  rgt__data d = {.desc = {.groups = GROUPS, .n_in = N_IN, .n_out = 1}, .rows = rows};
  d.index = index_of(type, values, rows);
  d.x = array(RGT_NPY_F4, 2, rows, N_IN);
  d.y = array(RGT_NPY_F8, 2, rows, 1);
  for (int64_t r = 0; r < rows; r++) {
    ((float *)d.x.data)[r * N_IN] = (float)r;
    ((float *)d.x.data)[r * N_IN + 1] = (float)r + 100;
    ((double *)d.y.data)[r] = (double)r * 10;
  }
  return d;
}

static void free_problem(rgt__data *d) {
  rgt__npy_free(&d->x);
  rgt__npy_free(&d->y);
  rgt__npy_free(&d->index);
  free(d->from);
}

static void assert_rows(const rgt__data *d, const int64_t *from) {
  for (int64_t i = 0; i < d->rows; i++) {
    assert_true(((const float *)d->x.data)[i * N_IN] == (float)from[i]);
    assert_true(((const float *)d->x.data)[i * N_IN + 1] == (float)from[i] + 100);
    assert_true(((const double *)d->y.data)[i] == (double)from[i] * 10);
  }
}

static void raw_stays_as_it_is(void **unused) {
  static const int64_t own[ROWS] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  rgt__message m = {0};
  rgt__data d = problem(RGT_NPY_I8, mixed, ROWS);
  (void)unused;
  assert_int_equal(rgt__row_order_sort(RGT_ORDER_RAW, &d, &m), RGT_OK);
  assert_null(d.from);
  assert_values(&d.index, mixed, ROWS);
  assert_rows(&d, own);
  assert_int_equal(rgt__row_order_undo(&d, d.y.data, sizeof(double), &m), RGT_OK);
  assert_rows(&d, own);
  free_problem(&d);
}

/* Rows of a group keep their order, masked ones come last; y goes back to where its rows were. */
static void sorted_and_back(void **unused) {
  static const rgt__npy_type wide[] = {RGT_NPY_I4, RGT_NPY_I8};
  (void)unused;
  for (int t = 0; t < 4; t++) {
    rgt__message m = {0};
    rgt__data d = problem(wide[t % 2], mixed, ROWS);
    assert_int_equal(rgt__row_order_sort(t < 2 ? RGT_ORDER_SORTED : RGT_ORDER_OFFSETS, &d, &m), RGT_OK);
    assert_values(&d.index, by_group, ROWS); /* offsets are made of it later */
    assert_memory_equal(d.from, rows_by_group, sizeof rows_by_group);
    assert_rows(&d, rows_by_group);
    assert_int_equal(rgt__row_order_check_index("i.npy", &d.index, GROUPS, &m), RGT_OK);
    assert_int_equal(rgt__row_order_undo(&d, d.y.data, sizeof(double), &m), RGT_OK);
    for (int64_t r = 0; r < ROWS; r++) assert_true(((const double *)d.y.data)[r] == (double)r * 10);
    free_problem(&d);
  }
}

static void offsets_say_the_same(void **unused) {
  static const rgt__npy_type wide[] = {RGT_NPY_I4, RGT_NPY_I8};
  (void)unused;
  for (int t = 0; t < 2; t++) {
    rgt__message m = {0};
    rgt__data d = problem(wide[t], mixed, ROWS);
    assert_int_equal(rgt__row_order_sort(RGT_ORDER_OFFSETS, &d, &m), RGT_OK);
    assert_int_equal(rgt__row_order_offsets(&d, &m), RGT_OK);
    assert_int_equal(d.index.type, wide[t]);
    assert_int_equal(d.index.shape[0], GROUPS + 1);
    assert_int_equal(d.index.bytes, (GROUPS + 1) * rgt__npy_type_bytes(wide[t]));
    assert_values(&d.index, begins, GROUPS + 1);
    assert_int_equal(rgt__row_order_check_offsets("o.npy", &d.index, ROWS, &m), RGT_OK);
    free_problem(&d);
  }
}

static void no_rows_and_all_masked(void **unused) {
  static const int64_t masked[3] = {-1, -1, -1}, none[GROUPS + 1] = {0}, own[3] = {0, 1, 2};
  (void)unused;
  for (int64_t rows = 0; rows <= 3; rows += 3) {
    rgt__message m = {0};
    rgt__data d = problem(RGT_NPY_I8, masked, rows);
    assert_int_equal(rgt__row_order_sort(RGT_ORDER_SORTED, &d, &m), RGT_OK);
    assert_rows(&d, own);
    assert_int_equal(rgt__row_order_undo(&d, d.y.data, sizeof(double), &m), RGT_OK);
    assert_int_equal(rgt__row_order_offsets(&d, &m), RGT_OK);
    assert_values(&d.index, none, GROUPS + 1);
    free_problem(&d);
  }
}

static void refused(rgt_status status, const rgt__message *m, const char *words) {
  assert_int_equal(status, RGT_EINVAL);
  if (!strstr(m->text, words)) fail_msg("\"%s\" is not in \"%s\"", words, m->text);
}

static void an_index_out_of_order(void **unused) {
  static const int64_t falls[4] = {0, 2, 1, 3}, masked_first[3] = {0, -1, 2}, rises[4] = {0, 0, 3, -1};
  rgt__message m = {0};
  (void)unused;
  rgt__npy a = index_of(RGT_NPY_I8, falls, 4);
  refused(rgt__row_order_check_index("i.npy", &a, GROUPS, &m), &m,
          "i.npy: row 2 has index 1 after 2; with --order sorted groups must rise, and -1 (masked) comes last");
  rgt__npy_free(&a);
  a = index_of(RGT_NPY_I4, masked_first, 3);
  refused(rgt__row_order_check_index("i.npy", &a, GROUPS, &m), &m, "row 2 has index 2 after -1");
  rgt__npy_free(&a);
  a = index_of(RGT_NPY_I4, rises, 4);
  assert_int_equal(rgt__row_order_check_index("i.npy", &a, GROUPS, &m), RGT_OK);
  rgt__npy_free(&a);
}

static void offsets_that_are_wrong(void **unused) {
  static const struct {
    int64_t list[4];
    const char *words; /* NULL: they are right, with 8 rows */
  } cases[] = {
      {{0, 3, 3, 8}, NULL},
      {{0, 0, 0, 0}, NULL},
      {{1, 3, 3, 8}, "o.npy: offset 0 is 1; want 0 to 0 (offsets begin with 0, never fall, and end at the number of rows or"},
      {{-1, 3, 3, 8}, "offset 0 is -1; want 0 to 0"},
      {{0, 3, 2, 8}, "offset 2 is 2; want 3 to 8"},
      {{0, 3, 3, 9}, "offset 3 is 9; want 3 to 8"},
      {{0, 9, 3, 8}, "offset 1 is 9; want 0 to 8"},
  };
  (void)unused;
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    rgt__message m = {0};
    rgt__npy a = index_of(i % 2 ? RGT_NPY_I8 : RGT_NPY_I4, cases[i / 2].list, 4);
    rgt_status status = rgt__row_order_check_offsets("o.npy", &a, 8, &m);
    if (cases[i / 2].words)
      refused(status, &m, cases[i / 2].words);
    else
      assert_int_equal(status, RGT_OK);
    rgt__npy_free(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(raw_stays_as_it_is),    cmocka_unit_test(sorted_and_back),
      cmocka_unit_test(offsets_say_the_same),  cmocka_unit_test(no_rows_and_all_masked),
      cmocka_unit_test(an_index_out_of_order), cmocka_unit_test(offsets_that_are_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
