/* prior.c -- what a family expects a variant to cost, before anything was compiled: the order in which a search tries them. */
#include "generator/families.h"

struct question {
  const rgt__variant *v;
  const rgt_op_desc *op;
  const char *order;
  const rgt__target *target;
  const int64_t *vars;
  double *cost;
};

static rgt_status ask_prior(lua_State *L, void *user, rgt__error *err) {
  const struct question *q = user;
  rgt__table_reader r;
  char shown[RGT_SHOWN_NAME_MAX];
  rgt__constant constants[RGT_CONSTANTS_MAX];
  rgt__formula formula;
  rgt__spec_reader(L, q->v->family, shown, &r, err);
  int n = rgt__facts_constants(q->op, q->v, q->target, constants);
  if (rgt__spec_push(L, q->v->family, "prior", q->op, q->order, q->v, q->target) == LUA_TNIL) return RGT_OK;
  rgt_status status = rgt__spec_formula(&r, "prior", "0", constants, n, &formula);
  if (status == RGT_OK) *q->cost = (double)rgt__formula_eval(&formula, q->vars);
  return status;
}

rgt_status rgt__variant_prior(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, const char *order,
                              const rgt__target *target, const int64_t vars[RGT_N_VARS], double *cost, rgt__error *err) {
  struct question q = {.v = v, .op = op, .order = order, .target = target, .vars = vars, .cost = cost};
  *cost = 0;
  return rgt__families_protect(f, v->family, ask_prior, &q, err);
}
