/* test_formula.c -- values, saturation, refusals, and random formulas against a second evaluator in 128 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "generator/formula.h"
#include "runtime/base/random.h"

static const int64_t vars[RGT_N_VARS] = {1000, 3, 4, 132, 2}; /* rows groups n_threads sm_count occupancy */
static const rgt__constant constants[] = {{"n_in", 10},         {"device.cores", 8}, {"rows_per_block", 4},
                                          {"least", INT64_MIN}, {"rows", 5},         {"_x9", -6}};
enum { N_CONSTANTS = sizeof constants / sizeof *constants };

static rgt__formula parsed(const char *text) {
  rgt__formula f;
  rgt__error err = {{0}};
  memset(&f, 0x55, sizeof f);
  if (rgt__formula_parse(text, constants, N_CONSTANTS, &f, &err)) fail_msg("%s: %s", text, err.text);
  return f;
}

static int64_t value(const char *text) {
  rgt__formula f = parsed(text);
  return rgt__formula_eval(&f, vars);
}

static void assert_same(const rgt__formula *a, const rgt__formula *b) {
  assert_int_equal(a->n, b->n);
  for (int i = 0; i < a->n; i++) {
    assert_int_equal(a->code[i].op, b->code[i].op);
    assert_int_equal(a->code[i].var, b->code[i].var);
    assert_true(a->code[i].value == b->code[i].value);
  }
}

static void assert_format(const rgt__formula *f, const char *expected) {
  rgt__buffer b = {0};
  rgt__formula_format(f, &b);
  assert_string_equal(b.data, expected);
  rgt__formula back = parsed(b.data);
  assert_same(f, &back);
  rgt__buffer_free(&b);
}

static void values(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t value;
  } cases[] = {
      {"0", 0},
      {"7", 7},
      {"007", 7},
      {"rows", 1000},
      {" ( groups )\n", 3},
      {"n_threads", 4},
      {"sm_count * occupancy", 264},
      {"n_in + device.cores * rows_per_block", 42},
      {"_x9", -6},
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"rows - 1 - 2", 997},
      {"rows - (1 - 2)", 1001},
      {"rows / 10 / 3", 33},
      {"rows / (10 / 3)", 333},
      {"rows / 7 * 7", 994},
      {"rows / 7", 142},
      {"(0 - rows) / 7", -142},
      {"rows / (0 - 7)", -142},
      {"(0 - rows) / (0 - 7)", 142},
      {"ceil_div(rows, 7)", 143},
      {"ceil_div(rows, 10)", 100},
      {"ceil_div(0 - rows, 7)", -142},
      {"ceil_div(rows, 0 - 7)", -142},
      {"ceil_div(0 - rows, 0 - 7)", 143},
      {"ceil_div(0 - 7, 2)", -3},
      {"ceil_div(7, 0 - 2)", -3},
      {"ceil_div(0, 0 - 2)", 0},
      {"rows / 0", 0},
      {"ceil_div(rows, 0)", 0},
      {"rows / (groups - 3) + 5", 5},
      {"1 / 0", 0},
      {"min(rows, 5, groups)", 3},
      {"max(rows, 5, groups)", 1000},
      {"min(rows)", 1000},
      {"max(0 - 5, 0 - 6)", -5},
      {"rows <= 1000", 1},
      {"rows < 1000", 0},
      {"rows >= 1000", 1},
      {"rows > 1000", 0},
      {"rows == 1000", 1},
      {"rows == 999", 0},
      {"rows<=999", 0},
      {"(rows <= 1000) + 1", 2},
      {"(1 < 2) == (3 < 4)", 1},
      {"rows and groups", 1},
      {"rows and groups - 3", 0},
      {"rows > 1 and groups > 1 and n_threads > 1", 1},
      {"rows > 1 and groups > 3", 0},
      {"groups > 3 and rows > 1", 0},
      {"0 - 5 and 1", 1},
      {"least", -INT64_MAX},
      {"0 - least", INT64_MAX},
      {"9223372036854775807", INT64_MAX},
      {"9223372036854775807 + rows", INT64_MAX},
      {"0 - 9223372036854775807 - rows", -INT64_MAX},
      {"9223372036854775807 * rows", INT64_MAX},
      {"9223372036854775807 * (0 - rows)", -INT64_MAX},
      {"(0 - 9223372036854775807) * (0 - rows)", INT64_MAX},
      {"0 - 9223372036854775807 - 1", -INT64_MAX},
      {"ceil_div(9223372036854775807, 2)", 4611686018427387904},
      {"3037000500 * 3037000500", INT64_MAX},
      {"2147483647 * 2147483647", 4611686014132420609},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (value(cases[i].text) != cases[i].value) fail_msg("%s = %lld", cases[i].text, (long long)value(cases[i].text));
}

static void checked(void **state) {
  (void)state;
  int64_t v = 1;
  rgt__formula f = parsed("rows / (groups - 3) + 5");
  assert_int_equal(rgt__formula_eval_checked(&f, vars, &v), 0);
  assert_int_equal(v, 5);
  f = parsed("1 / 0");
  assert_int_equal(rgt__formula_eval_checked(&f, vars, &v), 0);
  f = parsed("ceil_div(rows, groups)");
  assert_int_equal(rgt__formula_eval_checked(&f, vars, &v), 1);
  assert_int_equal(v, 334);
}

static void extreme_variables(void **state) {
  (void)state;
  static const int64_t least[RGT_N_VARS] = {INT64_MIN, INT64_MIN, -1, INT64_MAX, -1};
  rgt__formula f = parsed("groups / n_threads");
  assert_true(rgt__formula_eval(&f, least) == INT64_MAX);
  f = parsed("0 - groups");
  assert_true(rgt__formula_eval(&f, least) == INT64_MAX);
  f = parsed("groups");
  assert_true(rgt__formula_eval(&f, least) == -INT64_MAX);
  f = parsed("ceil_div(sm_count, n_threads) * occupancy");
  assert_true(rgt__formula_eval(&f, least) == INT64_MAX);
}

static void zero_formula(void **state) {
  (void)state;
  rgt__formula f = {0};
  assert_int_equal(rgt__formula_eval(&f, vars), 0);
  assert_int_equal(rgt__formula_is_constant(&f), 1);
  assert_format(&f, "0");
}

static void folding(void **state) {
  (void)state;
  rgt__formula f = parsed("ceil_div(n_in * 4, 3) * 2 + min(3, 4, 5)");
  assert_int_equal(f.n, 1);
  assert_int_equal(rgt__formula_is_constant(&f), 1);
  assert_format(&f, "31");
  f = parsed("n_in - 3 * 5");
  assert_int_equal(f.n, 1);
  assert_format(&f, "(0 - 5)");
  f = parsed("rows + n_in * 2");
  assert_int_equal(f.n, 3);
  assert_int_equal(rgt__formula_is_constant(&f), 0);
  assert_format(&f, "rows + 20");
  f = parsed("n_in / 0"); /* kept, so that eval_checked sees it */
  assert_int_equal(f.n, 3);
  assert_int_equal(rgt__formula_is_constant(&f), 1);
  assert_format(&f, "10 / 0");
}

static void uses(void **state) {
  (void)state;
  rgt__formula f = parsed("sm_count * occupancy + 4");
  assert_int_equal(rgt__formula_uses(&f, RGT_VAR_OCCUPANCY), 1);
  assert_int_equal(rgt__formula_uses(&f, RGT_VAR_SM_COUNT), 1);
  assert_int_equal(rgt__formula_uses(&f, RGT_VAR_ROWS), 0); /* the first variable, as zeroed places of code have it */
  f = parsed("0");
  assert_int_equal(rgt__formula_uses(&f, RGT_VAR_ROWS), 0);
}

static void formats(void **state) {
  (void)state;
  static const char *const same[] = {"rows",
                                     "rows - (groups - 1)",
                                     "rows - groups - 1",
                                     "rows * (groups + 1) / 2",
                                     "rows / (groups * 2)",
                                     "rows / groups * 2",
                                     "ceil_div(rows, groups + 1)",
                                     "min(rows, groups)",
                                     "max(rows, (0 - 5))",
                                     "rows <= 5 and groups > 2 and sm_count == 1",
                                     "rows and (groups and 1)",
                                     "(rows < 5) + 1",
                                     "(rows < 5) < groups",
                                     "rows < (groups < 5)",
                                     "rows >= groups + 1",
                                     "(rows and groups) * 2",
                                     "rows * (0 - 3)",
                                     "min((rows and 1), 2)"};
  for (size_t i = 0; i < sizeof same / sizeof *same - 1; i++) {
    rgt__formula f = parsed(same[i]);
    assert_format(&f, same[i]);
  }
  rgt__formula f = parsed("min((rows and 1), 2)");
  assert_format(&f, "min(rows and 1, 2)");
  f = parsed("max(rows, groups, 3)");
  assert_format(&f, "max(max(rows, groups), 3)");
}

static void refuses(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "formula \"\", column 1: expected a number, a name or a parenthesis"},
      {"rows +", "formula \"rows +\", column 7: expected a number, a name or a parenthesis"},
      {"rows + n_out", "formula \"rows + n_out\", column 8: unknown name \"n_out\""},
      {"Rows", "column 1: unknown name \"Rows\""},
      {"device", "unknown name \"device\""},
      {"device.cores.x", "unknown name \"device.cores.x\""},
      {"rows rows", "column 6: expected an operator or the end, not \"r\""},
      {"(rows", "column 6: expected \")\""},
      {"rows)", "column 5: expected an operator or the end, not \")\""},
      {"-5", "column 1: expected a number"},
      {"rows * -5", "column 8: expected a number"},
      {"1 < 2 < 3", "column 7: expected an operator or the end, not \"<\""},
      {"1 = 1", "column 3: expected an operator or the end, not \"=\""},
      {"rows % 2", "not \"%\""},
      {"rows and", "expected a number"},
      {"and", "column 1: expected a number"},
      {"12abc", "column 1: not a whole number: \"12a\""},
      {"1.5", "column 1: not a whole number: \"1.\""},
      {"0x10", "column 1: not a whole number: \"0x\""},
      {"9223372036854775808", "column 1: a number past 9223372036854775807"},
      {"99999999999999999999999", "a number past"},
      {"ceil_div(1)", "ceil_div takes two arguments"},
      {"ceil_div(1, 2, 3)", "ceil_div takes two arguments"},
      {"ceil_div", "expected \"(\""},
      {"min()", "column 5: expected a number"},
      {"max(1,)", "column 7: expected a number"},
      {"min(1; 2)", "expected \")\""},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    rgt__formula f, before;
    rgt__error err = {{0}};
    memset(&f, 0x55, sizeof f);
    memcpy(&before, &f, sizeof f);
    assert_int_equal(rgt__formula_parse(bad[i].text, constants, N_CONSTANTS, &f, &err), RGT_ETEMPLATE);
    assert_memory_equal(&f, &before, sizeof f);
    if (!strstr(err.text, bad[i].message)) fail_msg("%s: \"%s\" lacks \"%s\"", bad[i].text, err.text, bad[i].message);
  }
}

static void limits(void **state) {
  (void)state;
  char text[4096] = "rows";
  rgt__formula f;
  rgt__error err;
  for (int i = 0; i < 31; i++) strcat(text, " + rows"); /* 32 names, 31 operators: 63 */
  f = parsed(text);
  assert_int_equal(f.n, 63);
  assert_int_equal(rgt__formula_eval(&f, vars), 32000);
  strcat(text, " + rows");
  assert_int_equal(rgt__formula_parse(text, NULL, 0, &f, &err), RGT_ETEMPLATE);
  assert_non_null(strstr(err.text, "too long: a formula has at most 64 numbers, names and operators"));
  for (int depth = 63; depth <= 64; depth++) { /* the whole is a level too */
    memset(text, '(', (size_t)depth);
    text[depth] = '1';
    memset(text + depth + 1, ')', (size_t)depth);
    text[2 * depth + 1] = 0;
    assert_int_equal(rgt__formula_parse(text, NULL, 0, &f, &err), depth == 63 ? RGT_OK : RGT_ETEMPLATE);
  }
  assert_non_null(strstr(err.text, "nested too deeply: at most 64 levels"));
  memset(text, '(', sizeof text - 1);
  text[sizeof text - 1] = 0;
  assert_int_equal(rgt__formula_parse(text, NULL, 0, &f, &err), RGT_ETEMPLATE);
  /* the deepest code there is formats and parses back: nothing but right operands, calls, negative numbers */
  strcpy(text, "");
  for (int i = 0; i < 31; i++) strcat(text, "min(rows, ");
  strcat(text, "(0 - 5)");
  for (int i = 0; i < 31; i++) strcat(text, ")");
  f = parsed(text);
  assert_format(&f, text);
}

static void names(void **state) {
  (void)state;
  static const char *const expected[] = {"rows", "groups", "n_threads", "sm_count", "occupancy"};
  for (int i = 0; i < RGT_N_VARS; i++) assert_string_equal(rgt__formula_var_name((rgt__formula_var)i), expected[i]);
  assert_string_equal(rgt__formula_var_name(RGT_N_VARS), "?");
}

/* ---- random formulas: text and value made side by side ------------------------------------------------------- */

static int64_t saturate(__int128 v) {
  return v > INT64_MAX ? INT64_MAX : v < -INT64_MAX ? -INT64_MAX : (int64_t)v;
}

/* Rounded up by way of rounding down: floor((a + b - 1) / b) for a positive divisor. */
static int64_t up(__int128 a, __int128 b) {
  if (!b) return 0;
  if (b < 0) a = -a, b = -b;
  __int128 n = a + b - 1, q = n / b;
  return saturate(n % b < 0 ? q - 1 : q);
}

static int64_t random_formula(rgt__random *r, int depth, rgt__buffer *out) {
  static const int64_t numbers[] = {0, 1, 2, 3, 7, 64, 1000, 2147483647, 4611686018427387904, INT64_MAX};
  if (!depth || !rgt__random_below(r, 5)) {
    if (rgt__random_below(r, 2)) {
      int i = (int)rgt__random_below(r, RGT_N_VARS);
      rgt__buffer_text(out, rgt__formula_var_name((rgt__formula_var)i));
      return vars[i];
    }
    int64_t n = numbers[rgt__random_below(r, sizeof numbers / sizeof *numbers)];
    rgt__buffer_format(out, "%lld", (long long)n);
    return n;
  }
  static const char *const between[] = {" + ",  " - ", " * ",  " / ", ", ",   ", ",   ", ",
                                        " <= ", " < ", " >= ", " > ", " == ", " and "};
  static const char *const before[] = {"(", "(", "(", "(", "ceil_div(", "min(", "max(", "(", "(", "(", "(", "(", "("};
  int op = (int)rgt__random_below(r, 13);
  rgt__buffer_text(out, before[op]);
  int64_t a = random_formula(r, depth - 1, out);
  rgt__buffer_text(out, between[op]);
  int64_t b = random_formula(r, depth - 1, out);
  rgt__buffer_text(out, ")");
  switch (op) {
  case 0:
    return saturate((__int128)a + b);
  case 1:
    return saturate((__int128)a - b);
  case 2:
    return saturate((__int128)a * b);
  case 3:
    return b ? a / b : 0;
  case 4:
    return up(a, b);
  case 5:
    return b < a ? b : a;
  case 6:
    return b > a ? b : a;
  case 7:
    return a <= b;
  case 8:
    return a < b;
  case 9:
    return a >= b;
  case 10:
    return a > b;
  case 11:
    return a == b;
  default:
    return a != 0 && b != 0;
  }
}

static void random_formulas(void **state) {
  (void)state;
  rgt__random r;
  rgt__random_seed(&r, 20240601);
  int long_ones = 0;
  for (int i = 0; i < 20000; i++) {
    rgt__buffer text = {0}, again = {0};
    int64_t expected = random_formula(&r, 5, &text); /* at most 2^5 leaves: 63 places */
    rgt__formula f = parsed(text.data), back;
    if (rgt__formula_eval(&f, vars) != expected) fail_msg("%s", text.data);
    rgt__formula_format(&f, &again);
    assert_int_equal(rgt__formula_parse(again.data, NULL, 0, &back, NULL), RGT_OK);
    assert_same(&f, &back);
    long_ones += f.n > 20;
    rgt__buffer_free(&text);
    rgt__buffer_free(&again);
  }
  assert_true(long_ones > 1000); /* folding has not made it all trivial */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values),  cmocka_unit_test(checked), cmocka_unit_test(extreme_variables), cmocka_unit_test(zero_formula),
      cmocka_unit_test(folding), cmocka_unit_test(uses),    cmocka_unit_test(formats),           cmocka_unit_test(refuses),
      cmocka_unit_test(limits),  cmocka_unit_test(names),   cmocka_unit_test(random_formulas)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
