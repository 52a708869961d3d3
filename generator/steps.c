/* steps.c -- a spec's valid, workspace and steps as a program; every formula is parsed here, none is evaluated. */
#include "generator/steps.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "templates/lib/kargs.h"

struct reading {
  rgt__table_reader r;
  rgt__constant constants[RGT_CONSTANTS_MAX];
  int n_constants;
  const char *digest;
};

/* formula_field -- a field of the table on top of the stack; absent is 0. */
static rgt_status formula_field(struct reading *s, const char *label, const char *field, rgt__formula *out) {
  char full[64];
  snprintf(full, sizeof full, "%s: %s", label, field);
  rgt__table_push(&s->r, -1, field);
  return rgt__spec_formula(&s->r, full, "0", s->constants, s->n_constants, out);
}

static rgt_status read_kernel(struct reading *s, const char *label, rgt__step *step) {
  static const char *const known[] = {"kernel", "grid", "block", "shared", "cluster", NULL};
  const char *name = NULL;
  rgt_status status = rgt__table_known(&s->r, -1, label, known, 0);
  if (status == RGT_OK) status = rgt__table_text(&s->r, -1, label, "kernel", 1, &name);
  if (status != RGT_OK) return status;
  if (!rgt__table_is_name(name, RGT_KERNEL_NAME_MAX - 17)) {
    return rgt__table_fail(&s->r, "kernel", "%s: kernel = \"%s\" is no name of lower-case letters, digits and _", label, name);
  }
  step->kind = RGT_STEP_KERNEL;
  snprintf(step->kernel, sizeof step->kernel, "%.*s_%s", RGT_KERNEL_NAME_MAX - 18, name, s->digest);
  status = formula_field(s, label, "grid", &step->grid);
  if (status == RGT_OK) status = formula_field(s, label, "block", &step->block);
  if (status == RGT_OK) status = formula_field(s, label, "shared", &step->shared);
  if (status == RGT_OK) status = formula_field(s, label, "cluster", &step->cluster);
  return status;
}

static rgt_status read_memset(struct reading *s, const char *label, rgt__step *step) {
  static const char *const outer[] = {"memset", NULL}, *const known[] = {"offset", "bytes", "value", NULL};
  int64_t value = 0;
  rgt_status status = rgt__table_known(&s->r, -1, label, outer, 0);
  if (status != RGT_OK) return status;
  if (rgt__table_push(&s->r, -1, "memset") != LUA_TTABLE) {
    return rgt__table_fail(&s->r, "memset", "%s: memset is a %s, not { offset =, bytes =, value = }", label,
                           luaL_typename(s->r.L, -1));
  }
  step->kind = RGT_STEP_MEMSET;
  status = rgt__table_known(&s->r, -1, label, known, 0);
  if (status == RGT_OK) status = formula_field(s, label, "offset", &step->offset);
  if (status == RGT_OK) status = formula_field(s, label, "bytes", &step->bytes);
  if (status == RGT_OK) status = rgt__table_int(&s->r, -1, label, "value", 0, 0, 255, &value);
  step->value = (int)value;
  lua_pop(s->r.L, 1);
  return status;
}

static rgt_status read_step(struct reading *s, int position, rgt__step *step) {
  lua_State *L = s->r.L;
  char label[24];
  snprintf(label, sizeof label, "steps[%d]", position);
  if (rgt__table_push_at(&s->r, -1, position) != LUA_TTABLE)
    return rgt__table_fail(&s->r, "steps", "%s is a %s, not a table", label, luaL_typename(L, -1));
  int is_memset = rgt__table_push(&s->r, -1, "memset") != LUA_TNIL;
  lua_pop(L, 1);
  rgt_status status = is_memset ? read_memset(s, label, step) : read_kernel(s, label, step);
  lua_pop(L, 1);
  return status;
}

rgt_status rgt__steps_read(lua_State *L, const rgt__variant *v, const rgt_op_desc *op, const char *order,
                           const rgt__target *target, const char *digest, rgt__program *out, rgt__error *err) {
  static const char *const none[] = {NULL};
  const rgt__family *family = v->family;
  struct reading s = {.digest = digest};
  char shown[RGT_SHOWN_NAME_MAX];
  rgt__spec_reader(L, family, shown, &s.r, err);
  s.n_constants = rgt__facts_constants(op, v, target, s.constants);
  rgt__program p = {.kargs_version = RGT_KARGS_VERSION};
  rgt__spec_push(L, family, "valid", op, order, v, target);
  rgt_status status = rgt__spec_formula(&s.r, "family: valid", "1", s.constants, s.n_constants, &p.valid);
  if (status != RGT_OK) return status;
  rgt__spec_push(L, family, "workspace", op, order, v, target);
  status = rgt__spec_formula(&s.r, "family: workspace", "0", s.constants, s.n_constants, &p.workspace);
  if (status != RGT_OK) return status;
  if (rgt__spec_push(L, family, "steps", op, order, v, target) != LUA_TTABLE)
    return rgt__table_fail(&s.r, "steps", "steps gave a %s, not a list", luaL_typename(L, -1));
  int64_t n = (int64_t)lua_rawlen(L, -1);
  if (n < 1 || n > RGT_STEPS_MAX)
    return rgt__table_fail(&s.r, "steps", "steps: a list of %d; it must be 1 to %d", (int)n, RGT_STEPS_MAX);
  status = rgt__table_known(&s.r, -1, "steps", none, (int)n);
  for (p.n_steps = 0; p.n_steps < n && status == RGT_OK; p.n_steps++)
    status = read_step(&s, p.n_steps + 1, &p.steps[p.n_steps]);
  if (status == RGT_OK) *out = p;
  return status;
}
