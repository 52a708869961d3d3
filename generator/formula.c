/* formula.c -- integer formulas: text to postfix code, code to a number, code to text. */
#include "generator/formula.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum op { CONSTANT, VARIABLE, ADD, SUBTRACT, MULTIPLY, DIVIDE, CEIL_DIV, MIN, MAX, LE, LT, GE, GT, EQ, AND };

static const char *const var_names[RGT_N_VARS] = {"rows", "groups", "n_threads", "sm_count", "occupancy"};

const char *rgt__formula_var_name(rgt__formula_var v) {
  return (unsigned)v < RGT_N_VARS ? var_names[v] : "?";
}

/* ---- arithmetic: never wraps, never INT64_MIN, so that a sign can always be turned --------------------------- */

static inline int64_t clamp(int64_t v) {
  return v < -INT64_MAX ? -INT64_MAX : v;
}

static inline int64_t add(int64_t a, int64_t b) {
  int64_t v;
  return __builtin_add_overflow(a, b, &v) ? (b < 0 ? -INT64_MAX : INT64_MAX) : clamp(v);
}

static inline int64_t multiply(int64_t a, int64_t b) {
  int64_t v;
  return __builtin_mul_overflow(a, b, &v) ? ((a < 0) != (b < 0) ? -INT64_MAX : INT64_MAX) : clamp(v);
}

static inline int64_t ceil_div(int64_t a, int64_t b) {
  int64_t q = a / b; /* toward zero: already up where the quotient is negative */
  return q + (a % b && (a < 0) == (b < 0));
}

static inline int64_t apply(enum op op, int64_t a, int64_t b, int *divided_by_zero) {
  switch (op) {
  case ADD:
    return add(a, b);
  case SUBTRACT:
    return add(a, -b);
  case MULTIPLY:
    return multiply(a, b);
  case DIVIDE:
  case CEIL_DIV:
    if (!b) {
      *divided_by_zero = 1;
      return 0;
    }
    return op == DIVIDE ? a / b : ceil_div(a, b);
  case MIN:
    return a < b ? a : b;
  case MAX:
    return a > b ? a : b;
  case LE:
    return a <= b;
  case LT:
    return a < b;
  case GE:
    return a >= b;
  case GT:
    return a > b;
  case EQ:
    return a == b;
  case AND:
    return a && b;
  case CONSTANT:
  case VARIABLE:
    break;
  }
  return 0;
}

/* The newest value stays in a register; the first push puts its meaningless start on the stack, hence the extra place. */
int rgt__formula_eval_checked(const rgt__formula *f, const int64_t vars[RGT_N_VARS], int64_t *value) {
  int64_t stack[RGT_FORMULA_CODE_MAX + 1], *top = stack, v = 0;
  int divided_by_zero = 0;
  for (int i = 0; i < f->n; i++) {
    enum op op = (enum op)f->code[i].op;
    if (op == CONSTANT) {
      *top++ = v;
      v = f->code[i].value;
    } else if (op == VARIABLE) {
      *top++ = v;
      v = clamp(vars[f->code[i].var]);
    } else {
      v = apply(op, *--top, v, &divided_by_zero);
    }
  }
  *value = v;
  return !divided_by_zero;
}

int64_t rgt__formula_eval(const rgt__formula *f, const int64_t vars[RGT_N_VARS]) {
  int64_t value;
  rgt__formula_eval_checked(f, vars, &value);
  return value;
}

int rgt__formula_is_constant(const rgt__formula *f) {
  for (int i = 0; i < f->n; i++)
    if (f->code[i].op == VARIABLE) return 0;
  return 1;
}

int rgt__formula_uses(const rgt__formula *f, rgt__formula_var v) {
  for (int i = 0; i < f->n; i++)
    if (f->code[i].op == VARIABLE && f->code[i].var == v) return 1;
  return 0;
}

/* ---- text to code ------------------------------------------------------------------------------------------ */

/* Levels of parentheses and calls. More than format() can need for any code (each level there costs two places of code), and
 * few enough for a small stack. */
#define DEPTH_MAX RGT_FORMULA_CODE_MAX

typedef struct parser {
  const char *text, *at;
  const rgt__constant *constants;
  int n_constants, depth;
  rgt__formula code;
  rgt__error *err;
  rgt_status status; /* the first failure; all else stops then */
} parser;

static void fail(parser *p, const char *at, const char *what, const char *name, size_t length) {
  if (p->status) return;
  p->status =
      rgt__error_set(p->err, RGT_ETEMPLATE, "formula \"%.200s\", column %d: %s%s%.*s%s", p->text, (int)(at - p->text) + 1, what,
                     name ? " \"" : "", name ? (int)(length < 60 ? length : 60) : 0, name ? name : "", name ? "\"" : "");
}

static int is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* A dot belongs to a name: "device.cores". */
static size_t name_length(const char *s) {
  size_t n = 0;
  if (is_letter(*s))
    while (is_letter(s[n]) || is_digit(s[n]) || s[n] == '.') n++;
  return n;
}

static void skip_space(parser *p) {
  p->at += strspn(p->at, " \t\r\n");
}

/* 1 and past it, if `symbol` comes next. Longer symbols are asked for first ("<=" before "<"). */
static int take(parser *p, const char *symbol) {
  size_t n = strlen(symbol);
  skip_space(p);
  if (strncmp(p->at, symbol, n)) return 0;
  p->at += n;
  return 1;
}

static int take_name(parser *p, const char *name) {
  skip_space(p);
  size_t n = name_length(p->at);
  if (n != strlen(name) || memcmp(p->at, name, n)) return 0;
  p->at += n;
  return 1;
}

static void expect(parser *p, const char *symbol) {
  if (p->status || take(p, symbol)) return;
  fail(p, p->at, "expected", symbol, strlen(symbol));
}

static void push(parser *p, enum op op, int var, int64_t value) {
  rgt__formula *f = &p->code;
  if (p->status) return;
  if (f->n == RGT_FORMULA_CODE_MAX) {
    fail(p, p->at, "too long: a formula has at most 64 numbers, names and operators", NULL, 0);
    return;
  }
  f->code[f->n].op = (uint8_t)op;
  f->code[f->n].var = (uint8_t)var;
  f->code[f->n].value = value;
  f->n++;
}

/* An operator whose two operands are constants is computed here: in postfix they are then the last two places. */
static void push_operator(parser *p, enum op op) {
  rgt__formula *f = &p->code;
  if (p->status) return;
  if (f->code[f->n - 1].op == CONSTANT && f->code[f->n - 2].op == CONSTANT) {
    int divided_by_zero = 0;
    int64_t v = apply(op, f->code[f->n - 2].value, f->code[f->n - 1].value, &divided_by_zero);
    if (!divided_by_zero) {
      memset(&f->code[--f->n], 0, sizeof f->code[0]);
      f->code[f->n - 1].value = v;
      return;
    }
  }
  push(p, op, 0, 0);
}

static void parse_expression(parser *p);

/* After "name(": arguments up to ")", joined pairwise by op. */
static void parse_arguments(parser *p, enum op op, int least, int most) {
  const char *start = p->at;
  int n = 0;
  do {
    parse_expression(p);
    if (++n > 1) push_operator(p, op);
  } while (!p->status && take(p, ","));
  expect(p, ")");
  if (n < least || n > most) fail(p, start, "ceil_div takes two arguments", NULL, 0);
}

static void parse_number(parser *p) {
  const char *start = p->at;
  int64_t v = 0;
  for (; is_digit(*p->at); p->at++) {
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p->at - '0', &v)) {
      fail(p, start, "a number past 9223372036854775807", NULL, 0);
      return;
    }
  }
  if (is_letter(*p->at) || *p->at == '.') {
    fail(p, start, "not a whole number:", start, (size_t)(p->at - start) + 1);
    return;
  }
  push(p, CONSTANT, 0, v);
}

/* Run-time variables first: a constant cannot hide them. */
static void parse_name(parser *p, const char *name, size_t n) {
  for (int i = 0; i < RGT_N_VARS; i++) {
    if (strlen(var_names[i]) == n && !memcmp(var_names[i], name, n)) {
      push(p, VARIABLE, i, 0);
      return;
    }
  }
  for (int i = 0; i < p->n_constants; i++) {
    if (strlen(p->constants[i].name) == n && !memcmp(p->constants[i].name, name, n)) {
      push(p, CONSTANT, 0, clamp(p->constants[i].value));
      return;
    }
  }
  fail(p, name, "unknown name", name, n);
}

static void parse_atom(parser *p) {
  static const struct {
    const char *name;
    enum op op;
    int least, most;
  } calls[] = {{"ceil_div", CEIL_DIV, 2, 2}, {"min", MIN, 1, RGT_FORMULA_CODE_MAX}, {"max", MAX, 1, RGT_FORMULA_CODE_MAX}};
  skip_space(p);
  const char *start = p->at;
  if (take(p, "(")) {
    parse_expression(p);
    expect(p, ")");
    return;
  }
  if (is_digit(*start)) {
    parse_number(p);
    return;
  }
  size_t n = name_length(start);
  if (!n || (n == 3 && !memcmp(start, "and", 3))) {
    fail(p, start, "expected a number, a name or a parenthesis", NULL, 0);
    return;
  }
  p->at += n;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strlen(calls[i].name) != n || memcmp(calls[i].name, start, n)) continue;
    expect(p, "(");
    if (!p->status) parse_arguments(p, calls[i].op, calls[i].least, calls[i].most);
    return;
  }
  parse_name(p, start, n);
}

static void parse_product(parser *p) {
  parse_atom(p);
  while (!p->status) {
    enum op op = take(p, "*") ? MULTIPLY : take(p, "/") ? DIVIDE : CONSTANT;
    if (op == CONSTANT) break;
    parse_atom(p);
    push_operator(p, op);
  }
}

static void parse_sum(parser *p) {
  parse_product(p);
  while (!p->status) {
    enum op op = take(p, "+") ? ADD : take(p, "-") ? SUBTRACT : CONSTANT;
    if (op == CONSTANT) break;
    parse_product(p);
    push_operator(p, op);
  }
}

static void parse_comparison(parser *p) {
  parse_sum(p);
  if (p->status) return;
  enum op op = take(p, "<=") ? LE : take(p, ">=") ? GE : take(p, "==") ? EQ : take(p, "<") ? LT : take(p, ">") ? GT : CONSTANT;
  if (op == CONSTANT) return;
  parse_sum(p);
  push_operator(p, op);
}

static void parse_expression(parser *p) {
  if (p->depth == DEPTH_MAX) fail(p, p->at, "nested too deeply: at most 64 levels", NULL, 0);
  if (p->status) return;
  p->depth++;
  parse_comparison(p);
  while (!p->status && take_name(p, "and")) {
    parse_comparison(p);
    push_operator(p, AND);
  }
  p->depth--;
}

rgt_status rgt__formula_parse(const char *text, const rgt__constant *constants, int n_constants, rgt__formula *out,
                              rgt__error *err) {
  parser p = {.text = text, .at = text, .constants = constants, .n_constants = n_constants, .err = err};
  parse_expression(&p);
  skip_space(&p);
  if (!p.status && *p.at) fail(&p, p.at, "expected an operator or the end, not", p.at, 1);
  if (p.status) return p.status;
  if (p.code.n == 1 && p.code.code[0].op == CONSTANT && !p.code.code[0].value) p.code.n = 0; /* one form for 0 */
  *out = p.code;
  return RGT_OK;
}

/* ---- code to text ------------------------------------------------------------------------------------------ */

/* How tightly an operator binds; a call and an atom bind most. */
static int binding(enum op op) {
  switch (op) {
  case AND:
    return 1;
  case LE:
  case LT:
  case GE:
  case GT:
  case EQ:
    return 2;
  case ADD:
  case SUBTRACT:
    return 3;
  case MULTIPLY:
  case DIVIDE:
    return 4;
  default:
    return 5;
  }
}

static const char *symbol(enum op op) {
  static const char *const symbols[] = {
      [ADD] = " + ", [SUBTRACT] = " - ", [MULTIPLY] = " * ", [DIVIDE] = " / ", [CEIL_DIV] = "ceil_div",
      [MIN] = "min", [MAX] = "max",      [LE] = " <= ",      [LT] = " < ",     [GE] = " >= ",
      [GT] = " > ",  [EQ] = " == ",      [AND] = " and "};
  return symbols[op];
}

/* start[i]: where the subexpression that ends at i begins. */
static void find_starts(const rgt__formula *f, int start[RGT_FORMULA_CODE_MAX]) {
  for (int i = 0; i < f->n; i++) start[i] = f->code[i].op <= VARIABLE ? i : start[start[i - 1] - 1];
}

/* Writes the subexpression that ends at `end`, in parentheses if it binds less than `least`. The left operand may bind as its
 * operator does (but for comparisons, which do not chain), the right one must bind more: that gives the same code back. */
static void write(const rgt__formula *f, const int *start, int end, int least, rgt__buffer *out) {
  enum op op = (enum op)f->code[end].op;
  int64_t value = f->code[end].value;
  if (op == CONSTANT) {
    rgt__buffer_format(out, value < 0 ? "(0 - %" PRId64 ")" : "%" PRId64, value < 0 ? -value : value);
    return;
  }
  if (op == VARIABLE) {
    rgt__buffer_text(out, var_names[f->code[end].var]);
    return;
  }
  int right = end - 1, left = start[right] - 1, level = binding(op);
  if (level == 5) {
    rgt__buffer_format(out, "%s(", symbol(op));
    write(f, start, left, 0, out);
    rgt__buffer_text(out, ", ");
    write(f, start, right, 0, out);
    rgt__buffer_text(out, ")");
    return;
  }
  if (level < least) rgt__buffer_text(out, "(");
  write(f, start, left, level == 2 ? 3 : level, out);
  rgt__buffer_text(out, symbol(op));
  write(f, start, right, level + 1, out);
  if (level < least) rgt__buffer_text(out, ")");
}

void rgt__formula_format(const rgt__formula *f, rgt__buffer *out) {
  int start[RGT_FORMULA_CODE_MAX];
  if (!f->n) {
    rgt__buffer_text(out, "0");
    return;
  }
  find_starts(f, start);
  write(f, start, f->n - 1, 0, out);
}
