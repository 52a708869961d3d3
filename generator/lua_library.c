/* lua_library.c -- the restricted libraries. What is missing here cannot be done: no files, no clock, no code from texts, no
 * iteration in hash order, no addresses in texts; so the same input gives the same text on every machine. */
#include "generator/lua_library.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "generator/lua_host.h"

#define NAMES_MAX 64 /* listed in a message */

static const char frozen_key; /* addresses as keys of metatables */
static const char family_key;

/* ---- values that can be read but not changed ---- */

/* list_names -- pushes the text keys of the table at index, sorted, as "a, b, c". */
static void list_names(lua_State *L, int index) {
  const char *names[NAMES_MAX];
  int n = 0;
  index = lua_absindex(L, index);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || n == NAMES_MAX) continue;
    const char *name = lua_tostring(L, -2);
    int at = n++;
    for (; at > 0 && strcmp(names[at - 1], name) > 0; at--) names[at] = names[at - 1];
    names[at] = name;
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 0; i < n; i++) {
    if (i) luaL_addstring(&b, ", ");
    luaL_addstring(&b, names[i]);
  }
  luaL_pushresult(&b);
}

static int unknown_field(lua_State *L) { /* (table, key); upvalue: label */
  const char *label = lua_tostring(L, lua_upvalueindex(1));
  if (lua_isinteger(L, 2)) return 0; /* past the end of a list */
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
  list_names(L, 1);
  if (!label[0]) return luaL_error(L, "unknown name '%s'; there are %s, and what `local` declares", key, lua_tostring(L, -1));
  return luaL_error(L, "%s.%s: no such field; there are %s", label, key, lua_tostring(L, -1));
}

static int read_only(lua_State *L) { /* (view, key, value); upvalue: label */
  const char *label = lua_tostring(L, lua_upvalueindex(1));
  const char *key = lua_type(L, 2) == LUA_TSTRING || lua_type(L, 2) == LUA_TNUMBER ? lua_tostring(L, 2) : luaL_typename(L, 2);
  if (!label[0]) return luaL_error(L, "'%s' is not declared: write `local %s = ...`", key, key);
  return luaL_error(L, "%s.%s cannot be set: %s is read-only", label, key, label);
}

static int unknown_name(lua_State *L) { /* (table, key); upvalue: the globals behind their view */
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  list_names(L, 1);
  return luaL_error(L, "unknown name '%s'; there are %s, the libraries, and what `local` declares", lua_tostring(L, 2),
                    lua_tostring(L, -1));
}

static int view_length(lua_State *L) { /* upvalue: the table behind the view */
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, lua_upvalueindex(1)));
  return 1;
}

/* make_view -- replaces the table at stack place `data` (the top but one) by a view. On top: what answers for absent fields. */
static void make_view(lua_State *L, int data, const char *label) {
  lua_createtable(L, 0, 1);
  lua_insert(L, -2);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, data);

  lua_newtable(L); /* always empty, so that every access comes to its metatable */
  lua_createtable(L, 0, 4);
  lua_pushvalue(L, data);
  lua_setfield(L, -2, "__index");
  lua_pushstring(L, label);
  lua_pushcclosure(L, read_only, 1);
  lua_setfield(L, -2, "__newindex");
  lua_pushvalue(L, data);
  lua_pushcclosure(L, view_length, 1);
  lua_setfield(L, -2, "__len");
  lua_pushvalue(L, data);
  lua_rawsetp(L, -2, &frozen_key);
  lua_setmetatable(L, -2);
  lua_replace(L, data);
}

void rgt__lua_freeze(lua_State *L, const char *label) {
  luaL_checkstack(L, 8, "freeze");
  lua_pushstring(L, label);
  lua_pushcclosure(L, unknown_field, 1);
  make_view(L, lua_gettop(L) - 1, label);
}

void rgt__lua_environment(lua_State *L) {
  luaL_checkstack(L, 8, "environment");
  lua_pushglobaltable(L);
  rgt__lua_thaw(L, -1);
  lua_pushcclosure(L, unknown_name, 1);
  make_view(L, lua_gettop(L) - 1, "");
}

static void freeze_level(lua_State *L, const char *label, int depth) {
  if (depth > 16) luaL_error(L, "%s: tables nested deeper than 16, or a table inside itself", label);
  luaL_checkstack(L, 12, "freeze");
  int table = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    if (lua_type(L, -1) != LUA_TTABLE) continue;
    if (lua_getmetatable(L, -1)) { /* a view from another shared file, or done already */
      lua_pop(L, 1);
      continue;
    }
    if (lua_type(L, -2) == LUA_TSTRING) {
      lua_pushfstring(L, "%s.%s", label, lua_tostring(L, -2));
    } else {
      lua_pushfstring(L, "%s[%I]", label, (LUAI_UACINT)lua_tointeger(L, -2));
    }
    lua_pushvalue(L, -2);
    freeze_level(L, lua_tostring(L, -2), depth + 1);
    lua_pushvalue(L, -4); /* key */
    lua_pushvalue(L, -2); /* view */
    lua_rawset(L, table); /* an existing key: allowed while walking */
    lua_pop(L, 2);
  }
  rgt__lua_freeze(L, label);
}

void rgt__lua_freeze_deep(lua_State *L, const char *label) {
  freeze_level(L, label, 0);
}

void rgt__lua_thaw(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return;
  if (lua_rawgetp(L, -1, &frozen_key) == LUA_TTABLE) {
    lua_replace(L, index);
    lua_pop(L, 1);
  } else {
    lua_pop(L, 2);
  }
}

/* ---- functions that cost more than one instruction, or could leak an address ---- */

/* matching_cost -- an upper bound of the steps that the pattern at stack place 2 takes on the subject at place 1: every
 * repeated item may take every length, at every start. */
static int64_t matching_cost(lua_State *L) {
  size_t n_subject, n_pattern;
  const char *pattern = luaL_checklstring(L, 2, &n_pattern);
  luaL_checklstring(L, 1, &n_subject);
  const int64_t n = (int64_t)n_subject + 1, most = (int64_t)1 << 40;
  int64_t cost = pattern[0] == '^' ? (int64_t)n_pattern : n + (int64_t)n_pattern;
  for (size_t i = 0; i < n_pattern && cost < most; i++) {
    if (pattern[i] == '%' && i + 1 < n_pattern) {
      char c = pattern[++i];
      if (c == 'b' || (c >= '0' && c <= '9')) cost *= n;
    } else if (pattern[i] == '*' || pattern[i] == '+' || pattern[i] == '-') {
      cost *= n;
    } else if (pattern[i] == '?') {
      cost *= 2;
    }
  }
  return cost;
}

static lua_CFunction original(lua_State *L) {
  return lua_tocfunction(L, lua_upvalueindex(1));
}

static int guard_match(lua_State *L) {
  rgt__lua_charge(L, matching_cost(L));
  return original(L)(L);
}

static int guard_length(lua_State *L) { /* by the length of the first argument */
  if (lua_type(L, 1) == LUA_TSTRING || lua_type(L, 1) == LUA_TTABLE) rgt__lua_charge(L, (int64_t)lua_rawlen(L, 1));
  return original(L)(L);
}

static int guard_sort(lua_State *L) {
  int64_t n = lua_type(L, 1) == LUA_TTABLE ? (int64_t)lua_rawlen(L, 1) : 0, steps = n;
  for (int64_t i = n; i > 1; i /= 2) steps += n;
  rgt__lua_charge(L, steps);
  return original(L)(L);
}

static int guard_unpack(lua_State *L) {
  lua_Integer from = luaL_optinteger(L, 2, 1), to = luaL_opt(L, luaL_checkinteger, 3, luaL_len(L, 1));
  if (to > from) rgt__lua_charge(L, to - from < 0 ? INT64_MAX : to - from);
  return original(L)(L);
}

/* plain_value -- raises if the argument's text would show an address. */
static void plain_value(lua_State *L, int arg, const char *function) {
  int type = lua_type(L, arg);
  if (type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA || type == LUA_TLIGHTUSERDATA ||
      type == LUA_TTHREAD) {
    luaL_error(L, "%s: a %s has no text", function, luaL_typename(L, arg));
  }
}

static int guard_format(lua_State *L) {
  const char *format = luaL_checkstring(L, 1);
  for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
    at++;
    if (*at == '%') {
      at++;
      continue;
    }
    at += strspn(at, "-+ #0123456789.");
    if (*at == 'p') return luaL_error(L, "string.format: %%p would show an address");
  }
  for (int i = 2; i <= lua_gettop(L); i++) plain_value(L, i, "string.format");
  return original(L)(L);
}

static int guard_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  plain_value(L, 1, "tostring");
  return original(L)(L);
}

/* ---- family and shared ---- */

static int family(lua_State *L) {
  if (lua_type(L, 1) != LUA_TTABLE || lua_gettop(L) != 1) return luaL_error(L, "family takes one table: family { ... }");
  lua_createtable(L, 0, 1);
  lua_pushboolean(L, 1);
  lua_rawsetp(L, -2, &family_key);
  lua_setmetatable(L, 1);
  return 1;
}

int rgt__lua_is_family(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return 0;
  int yes = lua_rawgetp(L, -1, &family_key) == LUA_TBOOLEAN;
  lua_pop(L, 2);
  return yes;
}

static int shared(lua_State *L) {
  lua_CFunction push = rgt__lua_shared_push(L);
  if (!push) return luaL_error(L, "shared: only specs and templates have shared files");
  if (lua_type(L, 1) != LUA_TSTRING || lua_gettop(L) != 1) return luaL_error(L, "shared takes one name: shared \"lib/x.lua\"");
  return push(L);
}

/* ---- the tables ---- */

struct entry {
  const char *name;
  lua_CFunction guard; /* NULL: as it is */
};

static const struct entry string_entries[] = {
    {"byte", guard_length},  {"char", NULL},        {"find", guard_match}, {"format", guard_format},
    {"gmatch", guard_match}, {"gsub", guard_match}, {"len", NULL},         {"lower", guard_length},
    {"match", guard_match},  {"rep", NULL},         {"sub", NULL},         {"reverse", guard_length},
    {"upper", guard_length}, {NULL, NULL},
};
static const struct entry table_entries[] = {
    {"concat", guard_length}, {"insert", guard_length}, {"pack", NULL}, {"remove", guard_length},
    {"sort", guard_sort},     {"unpack", guard_unpack}, {NULL, NULL},
};
static const struct entry math_entries[] = {
    {"abs", NULL}, {"acos", NULL},       {"asin", NULL},  {"atan", NULL}, {"ceil", NULL}, {"cos", NULL},
    {"deg", NULL}, {"exp", NULL},        {"floor", NULL}, {"fmod", NULL}, {"huge", NULL}, {"log", NULL},
    {"max", NULL}, {"maxinteger", NULL}, {"min", NULL},   {"modf", NULL}, {"pi", NULL},   {"mininteger", NULL},
    {"rad", NULL}, {"sin", NULL},        {"sqrt", NULL},  {"tan", NULL},  {"type", NULL}, {"tointeger", NULL},
    {"ult", NULL}, {NULL, NULL},
};
static const struct entry base_entries[] = {
    {"ipairs", NULL},   {"tostring", guard_tostring},
    {"tonumber", NULL}, {"type", NULL},
    {"select", NULL},   {"error", NULL},
    {"assert", NULL},   {NULL, NULL},
};

/* copy_entries -- from the library table at `from` into the table on top. */
static void copy_entries(lua_State *L, int from, const struct entry *entries) {
  for (const struct entry *e = entries; e->name; e++) {
    lua_getfield(L, from, e->name);
    if (e->guard) lua_pushcclosure(L, e->guard, 1);
    lua_setfield(L, -2, e->name);
  }
}

static void add_library(lua_State *L, int globals, const char *name, lua_CFunction open, const struct entry *entries) {
  luaL_requiref(L, name, open, 0);
  lua_newtable(L);
  copy_entries(L, lua_gettop(L) - 1, entries);
  rgt__lua_freeze(L, name);
  lua_setfield(L, globals, name);
  lua_pop(L, 1);
}

void rgt__lua_library_open(lua_State *L) {
  lua_newtable(L);
  int globals = lua_gettop(L);
  luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
  lua_pushvalue(L, globals);
  copy_entries(L, globals + 1, base_entries);
  lua_pop(L, 2);
  add_library(L, globals, LUA_STRLIBNAME, luaopen_string, string_entries);
  add_library(L, globals, LUA_TABLIBNAME, luaopen_table, table_entries);
  add_library(L, globals, LUA_MATHLIBNAME, luaopen_math, math_entries);
  lua_pushcfunction(L, family);
  lua_setfield(L, globals, "family");
  lua_pushcfunction(L, shared);
  lua_setfield(L, globals, "shared");

  lua_pushliteral(L, ""); /* methods of strings: the restricted table, and no arithmetic on texts */
  lua_createtable(L, 0, 1);
  lua_getfield(L, globals, LUA_STRLIBNAME);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);

  rgt__lua_freeze(L, "");
  lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}
