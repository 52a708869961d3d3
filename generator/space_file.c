/* space_file.c -- a space file narrows the spec's values; it cannot add any. */
#include "generator/space_file.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "generator/lua_table.h"

struct narrowing {
  rgt__families *f;
  const char *text, *name;
  rgt__space_mask *masks;
};

void rgt__space_mask_all(const rgt__family *family, rgt__space_mask *mask) {
  *mask = (rgt__space_mask){0};
  for (int i = 0; i < family->n_params; i++) mask->values[i] = (1u << family->params[i].n_values) - 1;
}

/* add_value -- the value on top of the stack (popped) as a bit of *bits. */
static rgt_status add_value(const rgt__table_reader *r, const rgt__family *family, const rgt__param *param, uint32_t *bits) {
  char values[256] = "";
  size_t used = 0;
  int is_int = lua_isinteger(r->L, -1);
  int64_t v = is_int ? lua_tointeger(r->L, -1) : 0;
  for (int k = 0; k < param->n_values; k++) {
    if (is_int && param->values[k] == v) {
      *bits |= 1u << k;
      lua_pop(r->L, 1);
      return RGT_OK;
    }
    if (used < sizeof values)
      used += (size_t)snprintf(values + used, sizeof values - used, "%s%" PRId64, k ? ", " : "", param->values[k]);
  }
  return rgt__table_fail(r, param->name, "%s: %s: %s is none of the values %s", family->name, param->name,
                         luaL_tolstring(r->L, -1, NULL), values);
}

/* narrow_param -- a list of values, or one, on top of the stack (left there). */
static rgt_status narrow_param(const rgt__table_reader *r, const rgt__family *family, const rgt__param *param, uint32_t *mask) {
  lua_State *L = r->L;
  uint32_t bits = 0;
  rgt_status status = RGT_OK;
  if (lua_type(L, -1) != LUA_TTABLE) {
    lua_pushvalue(L, -1);
    status = add_value(r, family, param, &bits);
  } else {
    static const char *const none[] = {NULL};
    char label[RGT_NAME_MAX * 2 + 4];
    int n = (int)lua_rawlen(L, -1);
    snprintf(label, sizeof label, "%s: %s", family->name, param->name);
    if (n == 0)
      return rgt__table_fail(r, param->name, "%s: an empty list; remove the family with %s = false", label, family->name);
    status = rgt__table_known(r, -1, label, none, n);
    for (int i = 1; i <= n && status == RGT_OK; i++) {
      rgt__table_push_at(r, -1, i);
      status = add_value(r, family, param, &bits);
    }
  }
  *mask &= bits;
  return status;
}

/* narrow_family -- { param = values, ... } on top of the stack, below it nothing that matters. */
static rgt_status narrow_family(const rgt__table_reader *r, const rgt__family *family, rgt__space_mask *mask) {
  lua_State *L = r->L;
  int table = lua_gettop(L);
  rgt_status status = rgt__table_keys(r, table, family->name);
  for (int64_t k = 1; status == RGT_OK && k <= (int64_t)lua_rawlen(L, table + 1); k++) {
    lua_settop(L, table + 1);
    rgt__table_push_at(r, table + 1, k);
    const char *key = lua_tostring(L, -1);
    int i = 0;
    while (i < family->n_params && strcmp(family->params[i].name, key)) i++;
    if (i == family->n_params) {
      char params[RGT_VARIANT_TEXT_MAX];
      rgt__variant v;
      rgt__variant_default(family, &v);
      rgt__variant_params_format(&v, params);
      return rgt__table_fail(r, key, "%s has no param '%s'; its default variant is %s", family->name, key,
                             params[0] ? params : "without params");
    }
    rgt__table_push(r, table, key);
    status = narrow_param(r, family, &family->params[i], &mask->values[i]);
  }
  lua_settop(L, table);
  return status;
}

/* narrow_named -- the families of this name, one a device at most: the value must suit one of them, and narrows each that it
 * suits. Two devices may hold a family of one name with other params. */
static rgt_status narrow_named(const rgt__table_reader *r, const struct narrowing *s, const char *name) {
  lua_State *L = r->L;
  rgt_status status = RGT_OK;
  int n_found = 0, n_good = 0, value = lua_gettop(L);
  rgt__error first = {""};
  for (int i = 0; i < rgt__families_count(s->f); i++) {
    const rgt__family *family = rgt__families_at(s->f, i);
    if (strcmp(family->name, name)) continue;
    rgt__space_mask mask = s->masks[i];
    n_found++;
    if (lua_type(L, value) == LUA_TBOOLEAN && !lua_toboolean(L, value)) {
      mask.removed = 1;
      status = RGT_OK;
    } else if (lua_type(L, value) == LUA_TTABLE) {
      status = narrow_family(r, family, &mask);
    } else {
      status = rgt__table_fail(r, name, "%s is a %s; write false, or { param = { values } }", name, luaL_typename(L, value));
    }
    lua_settop(L, value);
    if (status == RGT_OK) {
      s->masks[i] = mask;
      n_good++;
    } else if (!first.text[0] && r->err) {
      first = *r->err;
    }
  }
  if (n_found == 0) return rgt__table_fail(r, name, "unknown family '%s'", name);
  if (n_good > 0) return RGT_OK;
  if (r->err) *r->err = first;
  return RGT_ETEMPLATE;
}

static rgt_status read_file(lua_State *L, void *user, rgt__error *err) {
  struct narrowing *s = user;
  rgt__table_reader r = {L, s->name, s->text, err};
  rgt_status status = rgt__lua_load(s->f->lua, s->text, strlen(s->text), s->name, err);
  if (status != RGT_OK) return status;
  lua_call(L, 0, 1);
  if (lua_type(L, 1) != LUA_TTABLE)
    return rgt__table_fail(&r, "return", "a space file is one `return { family = { param = { values } } }`");
  status = rgt__table_keys(&r, 1, "space");
  for (int64_t k = 1; status == RGT_OK && k <= (int64_t)lua_rawlen(L, 2); k++) {
    rgt__table_push_at(&r, 2, k);               /* 3 */
    rgt__table_push(&r, 1, lua_tostring(L, 3)); /* 4 */
    status = narrow_named(&r, s, lua_tostring(L, 3));
    lua_settop(L, 2);
  }
  return status;
}

rgt_status rgt__space_file_read(rgt__families *f, const char *text, const char *name, rgt__space_mask *masks, rgt__error *err) {
  struct narrowing s = {f, text, name, masks};
  return rgt__lua_protect(f->lua, read_file, &s, err);
}
