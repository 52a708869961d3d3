/* facts.c -- op, variant and target as Lua sees them (op, p, device) and as constants of formulas. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "generator/families.h"
#include "generator/lua_library.h"
#include "runtime/base/number.h"

static void set_text(lua_State *L, const char *field, const char *v) {
  lua_pushstring(L, v);
  lua_setfield(L, -2, field);
}

static void set_int(lua_State *L, const char *field, int64_t v) {
  lua_pushinteger(L, v);
  lua_setfield(L, -2, field);
}

static void set_flag(lua_State *L, const char *field, int v) {
  lua_pushboolean(L, v);
  lua_setfield(L, -2, field);
}

void rgt__facts_push_op(lua_State *L, const rgt_op_desc *op, const char *order) {
  static const char *const biases[] = {"b0", "b1", "b2", "b12"};
  luaL_checkstack(L, 8, "op");
  lua_createtable(L, 0, 13);
  set_text(L, "kind", op->kind == RGT_MLP ? "mlp" : "linear");
  set_int(L, "n_in", op->n_in);
  set_int(L, "n_hidden", op->n_hidden);
  set_int(L, "n_out", op->n_out);
  set_text(L, "dtype", rgt__op_dtype_word(op->dtype));
  set_text(L, "act", rgt__op_act_word(op->act));
  set_text(L, "bias", biases[op->bias & 3]);
  set_flag(L, "bias1", op->bias & RGT_BIAS_1);
  set_flag(L, "bias2", op->bias & RGT_BIAS_2);
  set_text(L, "layout", rgt__op_layout_word(op->layout));
  set_text(L, "index_type", rgt__op_index_word(op->index_type));
  set_int(L, "elem_bytes", (int64_t)rgt__number_bytes(op->dtype));
  if (order) set_text(L, "order", order);
  rgt__lua_freeze(L, "op");
}

void rgt__facts_push_params(lua_State *L, const rgt__variant *v) {
  const rgt__family *family = v->family;
  luaL_checkstack(L, 8, "p");
  lua_createtable(L, 0, family->n_params);
  for (int i = 0; i < family->n_params; i++) set_int(L, family->params[i].name, family->params[i].values[v->value[i]]);
  rgt__lua_freeze(L, "p");
}

void rgt__facts_push_device(lua_State *L, const rgt__target *target) {
  luaL_checkstack(L, 8, "device");
  lua_createtable(L, 0, target->n_facts + 1);
  for (int i = 0; i < target->n_facts; i++) set_int(L, target->facts[i].name, target->facts[i].value);
  set_text(L, "name", target->name);
  rgt__lua_freeze(L, "device");
}

int rgt__facts_constants(const rgt_op_desc *op, const rgt__variant *v, const rgt__target *target,
                         rgt__constant out[RGT_CONSTANTS_MAX]) {
  int n = 0;
  out[n++] = (rgt__constant){"n_in", op->n_in};
  out[n++] = (rgt__constant){"n_hidden", op->n_hidden};
  out[n++] = (rgt__constant){"n_out", op->n_out};
  out[n++] = (rgt__constant){"elem_bytes", (int64_t)rgt__number_bytes(op->dtype)};
  for (int i = 0; v && i < v->family->n_params; i++) {
    const rgt__param *param = &v->family->params[i];
    out[n++] = (rgt__constant){param->name, param->values[v->value[i]]};
  }
  for (int i = 0; target && i < target->n_facts; i++) out[n++] = (rgt__constant){target->facts[i].name, target->facts[i].value};
  return n;
}

void rgt__facts_push_environment(lua_State *L, const rgt_op_desc *op, const rgt__variant *v, const rgt__target *target) {
  rgt__constant constants[RGT_CONSTANTS_MAX];
  int n = rgt__facts_constants(op, v, target, constants);
  luaL_checkstack(L, 8, "environment");
  lua_createtable(L, 0, n);
  for (int i = 0; i < n; i++) set_int(L, constants[i].name, constants[i].value);
  rgt__lua_environment(L);
}

int rgt__facts_taken(const char *word) {
  static const char *const words[] = {
      "n_in",  "n_hidden", "n_out",  "elem_bytes", "ceil_div",   "min",   "max",         "and",   "is_mlp", "act",
      "bias1", "bias2",    "layout", "weights",    "index_bits", "dtype", "align_bytes", "order", "kernel", "name",
      "op",    "p",        "device", "emit",       "include",    "math",  "string",      "table", NULL};
  static const char *const starts[] = {"act_", "layout_", "weights_", "dtype_", "order_", "device_", "rgt_", NULL};
  for (int i = 0; words[i]; i++) {
    if (strcmp(words[i], word) == 0) return 1;
  }
  for (int i = 0; starts[i]; i++) {
    if (strncmp(starts[i], word, strlen(starts[i])) == 0) return 1;
  }
  for (int i = 0; i < RGT_N_VARS; i++) {
    if (strcmp(rgt__formula_var_name((rgt__formula_var)i), word) == 0) return 1;
  }
  return 0;
}
