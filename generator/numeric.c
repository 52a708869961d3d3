/* numeric.c -- what a family's functions say about a variant: may it be, what does it compute in, how much work is it. */
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "generator/families.h"
#include "runtime/base/number.h"

struct question {
  const rgt__family *family;
  const rgt__variant *v;
  const rgt_op_desc *op;
  const rgt__target *target;
  rgt__numeric *numeric;
  int64_t rows, groups;
  double *flops, *bytes;
};

static rgt_status ask_constraints(lua_State *L, void *user, rgt__error *err) {
  const struct question *q = user;
  rgt__table_reader r;
  char shown[RGT_SHOWN_NAME_MAX];
  rgt__spec_reader(L, q->family, shown, &r, err);
  rgt__facts_push_op(L, q->op, NULL);   /* 1 */
  rgt__facts_push_params(L, q->v);      /* 2 */
  rgt__facts_push_device(L, q->target); /* 3 */
  lua_rawgeti(L, LUA_REGISTRYINDEX, q->family->lua_ref);
  if (rgt__table_push(&r, -1, "constraints") != LUA_TTABLE) return RGT_OK;
  for (int64_t i = 1; i <= (int64_t)lua_rawlen(L, 5); i++) {
    rgt__table_push_at(&r, 5, i); /* 6 */
    rgt__table_push_at(&r, 6, 1); /* 7: name */
    rgt__table_push_at(&r, 6, 2);
    for (int k = 1; k <= 3; k++) lua_pushvalue(L, k);
    lua_call(L, 3, 1); /* 8 */
    const char *name = lua_tostring(L, 7);
    if (!lua_isboolean(L, 8)) {
      return rgt__table_fail(&r, name, "constraint \"%s\" gave a %s, not true or false", name, luaL_typename(L, 8));
    }
    if (!lua_toboolean(L, 8))
      return rgt__error_set(err, RGT_EINFEASIBLE, "%s: constraint \"%s\" does not hold", q->family->name, name);
    lua_settop(L, 5);
  }
  return RGT_OK;
}

rgt_status rgt__variant_check(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                              rgt__error *err) {
  if (!rgt__family_fits(v->family, op)) {
    return rgt__error_set(err, RGT_EINFEASIBLE, "%s does no %s op in %s", v->family->name,
                          op->kind == RGT_MLP ? "mlp" : "linear", rgt__op_dtype_word(op->dtype));
  }
  struct question q = {.family = v->family, .v = v, .op = op, .target = target};
  return rgt__families_protect(f, v->family, ask_constraints, &q, err);
}

/* How the hidden layer may be stored, with verify.md's u_h; x2 is a high and a low part. */
static const struct {
  const char *word;
  double u;
  rgt_dtype type;
} hiddens[] = {{"f32", 0, RGT_F32},
               {"f16", 0x1p-11, RGT_F16},
               {"bf16", 0x1p-8, RGT_BF16},
               {"f16x2", 0x1p-21, RGT_F16},
               {"bf16x2", 0x1p-16, RGT_BF16}};

static rgt_status read_hidden(const rgt__table_reader *r, rgt__numeric *out) {
  const char *word = NULL;
  rgt_status status = rgt__table_text(r, -1, "numeric", "hidden", 1, &word);
  if (status != RGT_OK) return status;
  for (size_t i = 0; i < sizeof hiddens / sizeof *hiddens; i++) {
    if (strcmp(word, hiddens[i].word)) continue;
    out->hidden_16bit = i > 0;
    out->u_h = hiddens[i].u;
    out->eta_h = i > 0 ? rgt__number_eta(hiddens[i].type) : 0;
    return RGT_OK;
  }
  return rgt__table_fail(r, "hidden", "numeric: hidden = \"%s\" is none of f32, f16, bf16, f16x2, bf16x2", word);
}

static rgt_status ask_numeric(lua_State *L, void *user, rgt__error *err) {
  static const char *const known[] = {"p1", "p2", "hidden", "class", "alpha", "beta", "mma", NULL};
  const struct question *q = user;
  rgt__table_reader r;
  char shown[RGT_SHOWN_NAME_MAX];
  const char *class_name = NULL;
  rgt__numeric n = {.alpha = -1, .beta = -1};
  rgt__spec_reader(L, q->family, shown, &r, err);
  int type = rgt__spec_push(L, q->family, "numeric", q->op, NULL, q->v, NULL);
  if (type != LUA_TTABLE) return rgt__table_fail(&r, "numeric", "numeric gave a %s, not a table", lua_typename(L, type));
  rgt_status status = rgt__table_known(&r, -1, "numeric", known, 0);
  if (status == RGT_OK) status = rgt__table_number(&r, -1, "numeric", "p1", 1, 0, 1, &n.p1);
  if (status == RGT_OK) status = rgt__table_number(&r, -1, "numeric", "p2", 1, 0, 1, &n.p2);
  if (status == RGT_OK) status = rgt__table_number(&r, -1, "numeric", "alpha", 0, 0, 1, &n.alpha);
  if (status == RGT_OK) status = rgt__table_number(&r, -1, "numeric", "beta", 0, 0, 1, &n.beta);
  if (status == RGT_OK) status = rgt__table_flag(&r, -1, "numeric", "mma", &n.mma);
  if (status == RGT_OK) status = read_hidden(&r, &n);
  if (status == RGT_OK) status = rgt__table_text(&r, -1, "numeric", "class", 1, &class_name);
  if (status != RGT_OK) return status;
  if (strlen(class_name) >= sizeof n.class_name)
    return rgt__table_fail(&r, "class", "numeric: class \"%s\" is longer than %d", class_name, RGT_NAME_MAX - 1);
  if (q->op->act > RGT_ACT_RELU && n.alpha < 0 && n.beta < 0) {
    return rgt__table_fail(&r, "numeric", "numeric: alpha or beta is missing: how exact is %s evaluated?",
                           rgt__op_act_word(q->op->act));
  }
  snprintf(n.class_name, sizeof n.class_name, "%s", class_name);
  n.alpha = fmax(n.alpha, 0);
  n.beta = fmax(n.beta, 0);
  *q->numeric = n;
  return RGT_OK;
}

rgt_status rgt__variant_numeric(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, rgt__numeric *out,
                                rgt__error *err) {
  struct question q = {.family = v->family, .v = v, .op = op, .numeric = out};
  return rgt__families_protect(f, v->family, ask_numeric, &q, err);
}

static rgt_status ask_work(lua_State *L, void *user, rgt__error *err) {
  static const char *const known[] = {"flops", "bytes", NULL};
  const struct question *q = user;
  rgt__table_reader r;
  char shown[RGT_SHOWN_NAME_MAX];
  rgt__constant constants[RGT_CONSTANTS_MAX];
  rgt__formula formula;
  rgt__spec_reader(L, q->family, shown, &r, err);
  int n_constants = rgt__facts_constants(q->op, NULL, NULL, constants),
      type = rgt__spec_push(L, q->family, "work", q->op, NULL, NULL, NULL);
  if (type != LUA_TTABLE) return rgt__table_fail(&r, "work", "work gave a %s, not a table", lua_typename(L, type));
  rgt_status status = rgt__table_known(&r, -1, "work", known, 0);
  double values[2];
  for (int i = 0; i < 2 && status == RGT_OK; i++) {
    char label[16];
    snprintf(label, sizeof label, "work: %s", known[i]);
    if (rgt__table_push(&r, -1, known[i]) == LUA_TNIL)
      return rgt__table_fail(&r, "work", "work: field '%s' is missing: a formula", known[i]);
    status = rgt__spec_formula(&r, label, "0", constants, n_constants, &formula);
    int64_t vars[RGT_N_VARS] = {[RGT_VAR_ROWS] = q->rows, [RGT_VAR_GROUPS] = q->groups, [RGT_VAR_THREADS] = 1};
    if (status == RGT_OK) values[i] = (double)rgt__formula_eval(&formula, vars);
  }
  if (status != RGT_OK) return status;
  *q->flops = values[0];
  *q->bytes = values[1];
  return RGT_OK;
}

rgt_status rgt__family_work(rgt__families *f, const rgt__family *family, const rgt_op_desc *op, int64_t rows, int64_t groups,
                            double *flops, double *bytes, rgt__error *err) {
  struct question q = {.family = family, .op = op, .rows = rows, .groups = groups, .flops = flops, .bytes = bytes};
  return rgt__families_protect(f, family, ask_work, &q, err);
}

/* By default f32 storage asks for products and activation almost as exact as f32 and an f32 hidden; 16-bit storage for exact
 * products, and a hidden and an activation no worse than the storage type. A stated limit replaces all of that. */
int rgt__numeric_admits(const rgt__numeric *n, rgt_dtype dtype, double max_error) {
  double max_p = max_error, max_u_h = max_error, max_act = max_error;
  if (max_error <= 0 && dtype == RGT_F32) {
    max_p = 0x1p-20;
    max_u_h = 0;
    max_act = 0x1p-21;
  } else if (max_error <= 0) {
    max_p = 0;
    max_u_h = max_act = rgt__number_u(dtype);
  }
  return n->p1 <= max_p && n->p2 <= max_p && n->u_h <= max_u_h && n->alpha <= max_act && n->beta <= max_act;
}
