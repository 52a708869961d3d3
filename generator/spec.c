/* spec.c -- a family's Lua table, read once into C: every field known, typed, in range; the functions stay in Lua. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/families.h"
#include "generator/lua_library.h"
#include "runtime/base/alloc.h"

static const char *const fields[] = {"about",       "source",  "revision", "rank",  "device", "ops",       "dtypes", "params",
                                     "constraints", "numeric", "work",     "prior", "valid",  "workspace", "steps",  NULL};

void rgt__spec_reader(lua_State *L, const rgt__family *family, char shown[RGT_SHOWN_NAME_MAX], rgt__table_reader *r,
                      rgt__error *err) {
  const rgt__source_file *spec = rgt__families_entry(family)->spec;
  snprintf(shown, RGT_SHOWN_NAME_MAX, RGT_TEMPLATE_ROOT "%s", spec->name);
  *r = (rgt__table_reader){L, shown, spec->text, err};
}

int rgt__spec_push(lua_State *L, const rgt__family *family, const char *field, const rgt_op_desc *op, const char *order,
                   const rgt__variant *v, const rgt__target *target) {
  luaL_checkstack(L, 12, "spec");
  lua_rawgeti(L, LUA_REGISTRYINDEX, family->lua_ref);
  lua_pushstring(L, field);
  int type = lua_rawget(L, -2);
  lua_remove(L, -2);
  if (type == LUA_TFUNCTION) {
    int n = 0;
    rgt__facts_push_op(L, op, order);
    n++;
    if (v) {
      rgt__facts_push_params(L, v);
      n++;
    }
    if (v && target) {
      rgt__facts_push_device(L, target);
      n++;
    }
    lua_call(L, n, 1);
  }
  rgt__lua_thaw(L, -1);
  return lua_type(L, -1);
}

rgt_status rgt__spec_formula(const rgt__table_reader *r, const char *label, const char *absent, const rgt__constant *constants,
                             int n_constants, rgt__formula *out) {
  const char *text = absent, *word = strrchr(label, ' ');
  int type = lua_type(r->L, -1);
  word = word ? word + 1 : label;
  if (type == LUA_TSTRING || lua_isinteger(r->L, -1)) {
    text = lua_tostring(r->L, -1);
  } else if (type != LUA_TNIL) {
    rgt_status status =
        rgt__table_fail(r, word, "%s is a %s, not a formula (a text or a whole number)", label, luaL_typename(r->L, -1));
    lua_pop(r->L, 1);
    return status;
  }
  rgt__error why = {""};
  rgt_status status = rgt__formula_parse(text, constants, n_constants, out, &why);
  if (status != RGT_OK) status = rgt__table_fail(r, word, "%s: %s", label, why.text);
  lua_pop(r->L, 1);
  return status;
}

/* read_words -- a list of words, each among `words`, as bits. */
static rgt_status read_words(const rgt__table_reader *r, int spec, const char *field, const char *const *words, int n_words,
                             unsigned *bits) {
  lua_State *L = r->L;
  if (rgt__table_push(r, spec, field) != LUA_TTABLE || lua_rawlen(L, -1) == 0) {
    return rgt__table_fail(r, field, "family: %s must be a list of words, such as { \"%s\" }", field, words[0]);
  }
  for (int64_t i = 1; i <= (int64_t)lua_rawlen(L, -1); i++) {
    int type = rgt__table_push_at(r, -1, i), at = 0;
    const char *word = type == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
    while (at < n_words && strcmp(words[at], word)) at++;
    if (at == n_words || (*bits >> at & 1)) {
      return rgt__table_fail(r, field, "family: %s: '%s' is %s", field, word, at < n_words ? "named twice" : "not known");
    }
    *bits |= 1u << at;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return RGT_OK;
}

/* read_values -- the list on top of the stack (left there) into a param's values, which are whole, not negative and distinct.
 */
static rgt_status read_values(const rgt__table_reader *r, rgt__param *param) {
  lua_State *L = r->L;
  int64_t n = lua_type(L, -1) == LUA_TTABLE ? (int64_t)lua_rawlen(L, -1) : 0;
  if (n < 1 || n > RGT_VALUES_MAX) {
    return rgt__table_fail(r, param->name, "param %s: second comes its list of 1 to %d values", param->name, RGT_VALUES_MAX);
  }
  for (int64_t i = 1; i <= n; i++) {
    rgt__table_push_at(r, -1, i);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0) {
      return rgt__table_fail(r, param->name, "param %s: value %d is no whole number from 0 up", param->name, (int)i);
    }
    int64_t v = lua_tointeger(L, -1);
    for (int k = 0; k < param->n_values; k++) {
      if (param->values[k] == v)
        return rgt__table_fail(r, param->name, "param %s: value %lld is there twice", param->name, (long long)v);
    }
    param->values[param->n_values++] = v;
    lua_pop(L, 1);
  }
  return RGT_OK;
}

/* read_param -- { "threads", { 32, 64 }, default = 32, about = "..." } on top of the stack (left there). */
static rgt_status read_param(const rgt__table_reader *r, rgt__family *family, int position) {
  static const char *const known[] = {"default", "about", NULL};
  lua_State *L = r->L;
  rgt__param *param = &family->params[family->n_params];
  char label[RGT_NAME_MAX + 8];
  if (lua_type(L, -1) != LUA_TTABLE || rgt__table_push_at(r, -1, 1) != LUA_TSTRING ||
      !rgt__table_is_name(lua_tostring(L, -1), RGT_NAME_MAX)) {
    return rgt__table_fail(
        r, "params", "params[%d]: first comes the param's name: a lower-case letter, then lower-case letters, digits and _",
        position);
  }
  snprintf(param->name, sizeof param->name, "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
  snprintf(label, sizeof label, "param %s", param->name);
  if (rgt__facts_taken(param->name))
    return rgt__table_fail(r, param->name, "%s: the name has a meaning in formulas or in the prelude; choose another", label);
  for (int i = 0; i < family->n_params; i++) {
    if (strcmp(family->params[i].name, param->name) == 0)
      return rgt__table_fail(r, param->name, "%s: there are two of that name", label);
  }
  rgt_status status = rgt__table_known(r, -1, label, known, 2);
  if (status != RGT_OK) return status;
  rgt__table_push_at(r, -1, 2);
  status = read_values(r, param);
  if (status != RGT_OK) return status;
  lua_pop(L, 1);
  const char *about;
  int64_t value = 0;
  status = rgt__table_text(r, -1, label, "about", 1, &about);
  if (status == RGT_OK) status = rgt__table_int(r, -1, label, "default", 1, 0, INT64_MAX, &value);
  if (status != RGT_OK) return status;
  while (param->default_value < param->n_values && param->values[param->default_value] != value) param->default_value++;
  if (param->default_value == param->n_values) {
    return rgt__table_fail(r, param->name, "%s: default = %lld is not among its values", label, (long long)value);
  }
  family->n_params++;
  return RGT_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const rgt__param *)a)->name, ((const rgt__param *)b)->name);
}

/* check_text -- the longest variant's text fits where texts are kept. */
static rgt_status check_text(const rgt__table_reader *r, const rgt__family *family) {
  size_t n = strlen(family->name) + 1;
  for (int i = 0; i < family->n_params; i++) {
    size_t widest = 0;
    for (int k = 0; k < family->params[i].n_values; k++) {
      size_t width = (size_t)snprintf(NULL, 0, "%lld", (long long)family->params[i].values[k]);
      if (width > widest) widest = width;
    }
    n += strlen(family->params[i].name) + widest + 2;
  }
  if (n < RGT_VARIANT_TEXT_MAX) return RGT_OK;
  return rgt__table_fail(r, "params",
                         "family: a variant's text takes %zu characters, and %d is the limit: shorten the params' names", n,
                         RGT_VARIANT_TEXT_MAX - 1);
}

static rgt_status read_params(const rgt__table_reader *r, int spec, rgt__family *family) {
  int type = rgt__table_push(r, spec, "params");
  int64_t n = type == LUA_TTABLE ? (int64_t)lua_rawlen(r->L, -1) : 0;
  static const char *const none[] = {NULL};
  if (type != LUA_TTABLE && type != LUA_TNIL)
    return rgt__table_fail(r, "params", "family: params is a %s, not a list", luaL_typename(r->L, -1));
  if (n > RGT_PARAMS_MAX) return rgt__table_fail(r, "params", "family: %d params; at most %d", (int)n, RGT_PARAMS_MAX);
  if (type == LUA_TTABLE && rgt__table_known(r, -1, "params", none, (int)n) != RGT_OK) return RGT_ETEMPLATE;
  for (int64_t i = 1; i <= n; i++) {
    rgt__table_push_at(r, -1, i);
    rgt_status status = read_param(r, family, (int)i);
    if (status != RGT_OK) return status;
    lua_pop(r->L, 1);
  }
  lua_pop(r->L, 1);
  qsort(family->params, (size_t)family->n_params, sizeof *family->params, by_name); /* canonical order */
  return check_text(r, family);
}

/* check_constraints -- a list of { "name", function }. */
static rgt_status check_constraints(const rgt__table_reader *r, int spec) {
  lua_State *L = r->L;
  int type = rgt__table_push(r, spec, "constraints");
  if (type != LUA_TTABLE && type != LUA_TNIL)
    return rgt__table_fail(r, "constraints", "family: constraints is a %s, not a list", luaL_typename(L, -1));
  static const char *const none[] = {NULL};
  int n = type == LUA_TTABLE ? (int)lua_rawlen(L, -1) : 0;
  if (type == LUA_TTABLE && rgt__table_known(r, -1, "constraints", none, n) != RGT_OK) return RGT_ETEMPLATE;
  for (int i = 1; i <= n; i++) {
    int good = rgt__table_push_at(r, -1, i) == LUA_TTABLE && lua_rawlen(L, -1) == 2 &&
               rgt__table_known(r, -1, "constraints", none, 2) == RGT_OK;
    good = good && rgt__table_push_at(r, -1, 1) == LUA_TSTRING && lua_rawlen(L, -1) > 0 &&
           rgt__table_push_at(r, -2, 2) == LUA_TFUNCTION;
    if (!good)
      return rgt__table_fail(r, "constraints", "constraints[%d] must be { \"its name\", function(op, p, device) ... end }", i);
    lua_pop(L, 3);
  }
  lua_pop(L, 1);
  return RGT_OK;
}

/* check_kinds -- the fields that are read later are there, as function or data. */
static rgt_status check_kinds(const rgt__table_reader *r, int spec) {
  static const struct {
    const char *field;
    int required, table, text;
  } kinds[] = {{"numeric", 1, 1, 0}, {"work", 1, 1, 0},      {"prior", 0, 0, 1},
               {"valid", 0, 0, 1},   {"workspace", 0, 0, 1}, {"steps", 1, 1, 0}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const char *what = kinds[i].table ? "a function or a table" : "a function, a text or a whole number";
    int type = rgt__table_push(r, spec, kinds[i].field);
    int good = type == LUA_TFUNCTION || (kinds[i].table && type == LUA_TTABLE) ||
               (kinds[i].text && (type == LUA_TSTRING || lua_isinteger(r->L, -1)));
    if (type == LUA_TNIL && kinds[i].required)
      return rgt__table_fail(r, "family", "family: field '%s' is missing: %s", kinds[i].field, what);
    if (type != LUA_TNIL && !good) {
      return rgt__table_fail(r, kinds[i].field, "family: %s is a %s, not %s", kinds[i].field, luaL_typename(r->L, -1), what);
    }
    lua_pop(r->L, 1);
  }
  return RGT_OK;
}

static rgt_status read_head(const rgt__table_reader *r, int spec, rgt__family *family) {
  const char *about = NULL, *source = NULL, *device = NULL;
  int64_t revision = 0, rank = 100;
  rgt_status status = rgt__table_known(r, spec, "family", fields, 0);
  if (status == RGT_OK) status = rgt__table_text(r, spec, "family", "about", 1, &about);
  if (status == RGT_OK) status = rgt__table_text(r, spec, "family", "source", 1, &source);
  if (status == RGT_OK) status = rgt__table_int(r, spec, "family", "revision", 1, 1, 1000000, &revision);
  if (status == RGT_OK) status = rgt__table_int(r, spec, "family", "rank", 0, 0, 1000000, &rank);
  if (status == RGT_OK) status = rgt__table_text(r, spec, "family", "device", 1, &device);
  if (status != RGT_OK) return status;
  if (strcmp(device, family->device)) {
    return rgt__table_fail(r, "device", "family: device = \"%s\", but the file lies in " RGT_TEMPLATE_ROOT "%s", device,
                           family->device);
  }
  family->about = rgt__strdup(about);
  family->source = rgt__strdup(source);
  if (!family->about || !family->source) return rgt__error_nomem(r->err, strlen(about) + strlen(source));
  family->revision = (int)revision;
  family->rank = (int)rank;
  return RGT_OK;
}

rgt_status rgt__spec_read(lua_State *L, rgt__family_entry *e, rgt__error *err) {
  static const char *const kinds[] = {"linear", "mlp"};
  const char *dtypes[3];
  for (int i = 0; i < 3; i++) dtypes[i] = rgt__op_dtype_word((rgt_dtype)i);
  rgt__table_reader r;
  char shown[RGT_SHOWN_NAME_MAX];
  rgt__spec_reader(L, &e->family, shown, &r, err);
  int spec = lua_gettop(L);
  if (!rgt__lua_is_family(L, spec)) return rgt__table_fail(&r, "return", "a spec is one `return family { ... }`");
  rgt_status status = read_head(&r, spec, &e->family);
  if (status == RGT_OK) status = read_words(&r, spec, "ops", kinds, 2, &e->family.op_kinds);
  if (status == RGT_OK) status = read_words(&r, spec, "dtypes", dtypes, 3, &e->family.dtypes);
  if (status == RGT_OK) status = read_params(&r, spec, &e->family);
  if (status == RGT_OK) status = check_constraints(&r, spec);
  if (status == RGT_OK) status = check_kinds(&r, spec);
  if (status != RGT_OK) return status;
  lua_settop(L, spec);
  e->family.lua_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  return RGT_OK;
}
