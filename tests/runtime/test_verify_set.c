/* test_verify_set.c -- which elements of a large problem are compared, and that their references are those of their rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "runtime/verify_set.h"

static rgt__problem made(const char *text, rgt__problem_kind kind) {
  rgt_op_desc op;
  rgt__problem p;
  rgt__error err = {{0}};
  rgt__problem_options o = {.kind = kind, .skew = RGT_SKEW_ZIPF, .masked = 0.1, .seed = 4};
  if (rgt__op_parse(text, &op, &err) != RGT_OK || rgt__problem_make(&op, &o, &p, &err) != RGT_OK) fail_msg("%s", err.text);
  return p;
}

static rgt__verify_set set_of(const char *text, rgt__problem_kind kind) {
  rgt__problem p = made(text, kind);
  rgt__verify_set s;
  rgt__error err = {{0}};
  if (rgt__verify_set_make(&p, 1, &s, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_null(p.x); /* taken over */
  return s;
}

static void small_problems_are_compared_whole(void **state) {
  (void)state;
  rgt__verify_set s = set_of("mlp:10-20-5:g3:f32:relu:b12:nk:i64", RGT_PROBLEM_BOUND);
  int64_t at = 0;
  assert_null(s.columns);
  for (int64_t row = 0; row <= s.problem.rows; row++) assert_int_equal(s.starts[row], 5 * row);
  assert_int_equal(rgt__verify_set_find(&s, 7, 3, &at), 38);
  rgt__verify_set_free(&s);
  rgt__verify_set_free(&s); /* empty now */
}

/* First and last row of the first, last, largest and smallest group: found here by looking at each group in turn. */
static int is_edge(const rgt__problem *p, int64_t row) {
  int64_t g = rgt__problem_index_at(p, row), size[64] = {0}, first[64], last[64], low = -1, high = -1, big = -1, few = -1;
  for (int64_t r = p->rows - 1; r >= 0; r--) {
    int64_t i = rgt__problem_index_at(p, r);
    if (i < 0) continue;
    if (!size[i]++) last[i] = r;
    first[i] = r;
  }
  for (int64_t i = 0; i < p->op.groups; i++) {
    if (!size[i]) continue;
    if (low < 0) low = i;
    high = i;
    if (big < 0 || size[i] > size[big]) big = i;
    if (few < 0 || size[i] < size[few]) few = i;
  }
  return g >= 0 && (g == low || g == high || g == big || g == few) && (row == first[g] || row == last[g]);
}

static void check_sample(const char *text, rgt__problem_kind kind) {
  rgt__verify_set s = set_of(text, kind);
  const rgt__problem *p = &s.problem;
  int64_t n_out = p->op.n_out, n_edges = 0, n_rows = 0, seeded = 0;
  double *scratch = malloc((size_t)rgt__reference_scratch(&p->op) * sizeof *scratch), *y = malloc((size_t)n_out * sizeof *y);
  assert_non_null(s.columns);
  for (int64_t row = 0; row < p->rows; row++) {
    int64_t n = s.starts[row + 1] - s.starts[row], edge = is_edge(p, row), at = 0, found = 0;
    const int64_t *c = s.columns + s.starts[row];
    if (rgt__problem_index_at(p, row) < 0) assert_int_equal(n, 0);
    n_edges += edge;
    if (edge) assert_int_equal(n, n_out);
    if (!n) continue;
    n_rows++;
    if (!edge) seeded += n;
    assert_int_equal(c[n - 1], n_out - 1);
    for (int64_t i = 1; i < n; i++) assert_true(c[i] > c[i - 1]);
    for (int64_t column = 0; column < n_out; column++) {
      int64_t e = rgt__verify_set_find(&s, row, column, &at);
      if (e < 0) continue;
      assert_int_equal(s.columns[e], column);
      found++;
    }
    assert_int_equal(found, n);
    if (row % 32 && !edge) continue;
    rgt__reference_row(p, NULL, row, y, NULL, NULL, scratch);
    for (int64_t i = 0; i < n; i++) assert_true(fabs(s.y64[s.starts[row] + i] - y[c[i]]) < 1e-12);
  }
  assert_true(n_edges >= 3 && n_edges <= 8);
  assert_true(n_rows > 200); /* here every live row takes part */
  assert_true(seeded >= 4096 && seeded < 3 * 4096);
  free(scratch);
  free(y);
  rgt__verify_set_free(&s);
}

static void large_problems_are_compared_in_part(void **state) {
  (void)state;
  check_sample("linear:1024-1024:g5:f32:none:b1:nk:i64", RGT_PROBLEM_BOUND);
  check_sample("linear:1000-1030:g4:bf16:none:b1:kn:i32", RGT_PROBLEM_EXACT);
  check_sample("mlp:600-700-800:g3:f16:relu:b12:nk:i64", RGT_PROBLEM_EXACT);
  check_sample("mlp:600-700-800:g3:f32:gelu:b12:nk:i64", RGT_PROBLEM_BOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_problems_are_compared_whole),
      cmocka_unit_test(large_problems_are_compared_in_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
