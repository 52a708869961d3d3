/* formula.h -- integer formulas kept as data: parsed once, evaluated in C, never by Lua.
 *
 *   expr   := sum [ ("<=" | "<" | ">=" | ">" | "==") sum ]  [ "and" expr ]
 *   sum, product: + - * /        / is division rounded toward zero; by zero gives 0 and marks the result invalid
 *   atom   := number | name | "(" expr ")" | ceil_div(a, b) | min(a, ...) | max(a, ...)
 *
 * Arithmetic saturates at +-INT64_MAX, so that a formula over 2^31 rows never wraps. Comparisons give 1 or 0; `and` is 1 where
 * both sides are not 0, and both are computed. ceil_div(a, b) is the quotient rounded up, toward +infinity, whatever the signs:
 * ceil_div(-7, 2) and ceil_div(7, -2) are -3; by zero it is as /. There is no sign before a number: write (0 - 5).
 * Parts that hold no run-time variable are computed while parsing (but a division by zero is kept).
 */
#ifndef RGT_GENERATOR_FORMULA_H
#define RGT_GENERATOR_FORMULA_H

#include "runtime/base/buffer.h"
#include "runtime/base/error.h"

/* the run-time variables; anything else in a text must be a constant given at parse time (params, dims, device facts) */
typedef enum rgt__formula_var {
  RGT_VAR_ROWS,
  RGT_VAR_GROUPS,
  RGT_VAR_THREADS,
  RGT_VAR_SM_COUNT,
  RGT_VAR_OCCUPANCY,
  RGT_N_VARS
} rgt__formula_var;
const char *rgt__formula_var_name(rgt__formula_var v); /* rows groups n_threads sm_count occupancy */

#define RGT_FORMULA_CODE_MAX 64

typedef struct rgt__formula {
  int n; /* 0: the constant 0 */
  struct {
    uint8_t op; /* private to formula.c */
    uint8_t var;
    int64_t value;
  } code[RGT_FORMULA_CODE_MAX]; /* postfix */
} rgt__formula;

typedef struct rgt__constant {
  const char *name;
  int64_t value;
} rgt__constant;

/* rgt__formula_parse -- text with `constants` folded in. A name that is neither is RGT_ETEMPLATE (column and name in the
 * message). */
rgt_status rgt__formula_parse(const char *text, const rgt__constant *constants, int n_constants, rgt__formula *out,
                              rgt__error *err);
int64_t rgt__formula_eval(const rgt__formula *f, const int64_t vars[RGT_N_VARS]);
/* rgt__formula_eval_checked -- the same, and 0 if something was divided by zero on the way, else 1. */
int rgt__formula_eval_checked(const rgt__formula *f, const int64_t vars[RGT_N_VARS], int64_t *value);
int rgt__formula_is_constant(const rgt__formula *f);               /* no run-time variable in it */
int rgt__formula_uses(const rgt__formula *f, rgt__formula_var v);  /* this one is */
void rgt__formula_format(const rgt__formula *f, rgt__buffer *out); /* infix; parses back to the same code */

#endif
