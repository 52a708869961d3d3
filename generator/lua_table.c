/* lua_table.c -- reading tables written in Lua. Raw access only: the tables' own metatables are ours (views) and are thawed. */
#include "generator/lua_table.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "generator/lua_library.h"

static int is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* in_comment -- does a `--` stand before `at` on its line? Texts that hold "--" mislead it, which costs a less exact line only.
 */
static int in_comment(const char *text, const char *at) {
  for (const char *p = at; p > text && p[-1] != '\n'; p--) {
    if (p[0] == '-' && p[-1] == '-') return 1;
  }
  return 0;
}

int rgt__table_line(const char *text, const char *word) {
  size_t n = strlen(word);
  const char *first = NULL, *assigned = NULL;
  for (const char *at = n ? strstr(text, word) : NULL; at && !assigned; at = strstr(at + 1, word)) {
    if ((at > text && is_word(at[-1])) || is_word(at[n]) || in_comment(text, at)) continue;
    if (!first) first = at;
    const char *after = at + n + strspn(at + n, " \t");
    if (after[0] == '=' && after[1] != '=') assigned = at;
  }
  const char *found = assigned ? assigned : first;
  int line = 1;
  for (const char *p = text; found && p < found; p++) line += *p == '\n';
  return line;
}

rgt_status rgt__table_fail(const rgt__table_reader *r, const char *word, const char *format, ...) {
  char what[768];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return rgt__error_set(r->err, RGT_ETEMPLATE, "%s:%d: %s", r->file, rgt__table_line(r->text, word), what);
}

int rgt__table_push(const rgt__table_reader *r, int index, const char *field) {
  index = lua_absindex(r->L, index);
  luaL_checkstack(r->L, 8, "table");
  lua_pushstring(r->L, field);
  lua_rawget(r->L, index);
  rgt__lua_thaw(r->L, -1);
  return lua_type(r->L, -1);
}

int rgt__table_push_at(const rgt__table_reader *r, int index, int64_t position) {
  luaL_checkstack(r->L, 8, "table");
  lua_rawgeti(r->L, index, position);
  rgt__lua_thaw(r->L, -1);
  return lua_type(r->L, -1);
}

static void join(char *out, size_t size, const char *const *words) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; words[i] && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", words[i]);
}

/* Lua walks in hash order, so the smallest unknown key is looked for: one table, one message. */
rgt_status rgt__table_known(const rgt__table_reader *r, int index, const char *label, const char *const *known,
                            int n_positions) {
  lua_State *L = r->L;
  const char *unknown = NULL;
  int other = 0;
  index = lua_absindex(L, index);
  luaL_checkstack(L, 8, "table");
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      const char *key = lua_tostring(L, -2);
      int i = 0;
      while (known[i] && strcmp(known[i], key)) i++;
      if (!known[i] && (!unknown || strcmp(key, unknown) < 0)) unknown = key;
    } else if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 || lua_tointeger(L, -2) > n_positions) {
      other = 1;
    }
  }
  if (!unknown && !other) return RGT_OK;
  char names[512];
  join(names, sizeof names, known);
  if (unknown && !known[0]) return rgt__table_fail(r, unknown, "%s is a list: '%s =' does not belong there", label, unknown);
  if (unknown) return rgt__table_fail(r, unknown, "%s: unknown field '%s'; there are %s", label, unknown, names);
  if (!known[0]) return rgt__table_fail(r, label, "%s: a list with gaps", label);
  return rgt__table_fail(r, "", "%s: a value without a name; the fields are %s", label, names);
}

rgt_status rgt__table_keys(const rgt__table_reader *r, int index, const char *label) {
  lua_State *L = r->L;
  index = lua_absindex(L, index);
  luaL_checkstack(L, 8, "table");
  lua_newtable(L);
  int list = lua_gettop(L), n = 0;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      lua_settop(L, list - 1);
      return rgt__table_fail(r, "", "%s: a value without a name", label);
    }
    int at = n++;
    for (; at > 0; at--) { /* insertion: these tables are small */
      lua_rawgeti(L, list, at);
      int after = strcmp(lua_tostring(L, -1), lua_tostring(L, -3)) > 0;
      if (after) {
        lua_rawseti(L, list, at + 1);
      } else {
        lua_pop(L, 1);
        break;
      }
    }
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, at + 1);
  }
  return RGT_OK;
}

/* A missing field has no line: the table's own word does, which is the last word of its label ("param threads", "steps[2]"). */
static rgt_status missing(const rgt__table_reader *r, const char *label, const char *field, const char *what) {
  const char *space = strrchr(label, ' ');
  char word[64];
  snprintf(word, sizeof word, "%s", space ? space + 1 : label);
  word[strcspn(word, "[.")] = '\0';
  return rgt__table_fail(r, word, "%s: field '%s' is missing: %s", label, field, what);
}

static rgt_status wrong_type(const rgt__table_reader *r, const char *label, const char *field, const char *what) {
  return rgt__table_fail(r, field, "%s: %s is a %s, not %s", label, field, luaL_typename(r->L, -1), what);
}

rgt_status rgt__table_text(const rgt__table_reader *r, int index, const char *label, const char *field, int required,
                           const char **out) {
  rgt_status status = RGT_OK;
  int type = rgt__table_push(r, index, field);
  if (type == LUA_TSTRING) {
    *out = lua_tostring(r->L, -1);
    if (!(*out)[0]) status = rgt__table_fail(r, field, "%s: %s is an empty text", label, field);
  } else if (type != LUA_TNIL) {
    status = wrong_type(r, label, field, "a text");
  } else if (required) {
    status = missing(r, label, field, "a text");
  }
  lua_pop(r->L, 1);
  return status;
}

rgt_status rgt__table_int(const rgt__table_reader *r, int index, const char *label, const char *field, int required,
                          int64_t least, int64_t most, int64_t *out) {
  rgt_status status = RGT_OK;
  int type = rgt__table_push(r, index, field), is_int = 0;
  lua_Integer v = type == LUA_TNUMBER ? lua_tointegerx(r->L, -1, &is_int) : 0;
  if (is_int && v >= least && v <= most) {
    *out = v;
  } else if (type == LUA_TNUMBER) {
    status = rgt__table_fail(r, field, "%s: %s = %s is no whole number from %lld to %lld", label, field,
                             luaL_tolstring(r->L, -1, NULL), (long long)least, (long long)most);
    lua_pop(r->L, 1);
  } else if (type != LUA_TNIL) {
    status = wrong_type(r, label, field, "a whole number");
  } else if (required) {
    status = missing(r, label, field, "a whole number");
  }
  lua_pop(r->L, 1);
  return status;
}

rgt_status rgt__table_number(const rgt__table_reader *r, int index, const char *label, const char *field, int required,
                             double least, double most, double *out) {
  rgt_status status = RGT_OK;
  int type = rgt__table_push(r, index, field);
  double v = type == LUA_TNUMBER ? lua_tonumber(r->L, -1) : 0;
  if (type == LUA_TNUMBER && v >= least && v <= most) {
    *out = v;
  } else if (type == LUA_TNUMBER) {
    status = rgt__table_fail(r, field, "%s: %s = %g is no number from %g to %g", label, field, v, least, most);
  } else if (type != LUA_TNIL) {
    status = wrong_type(r, label, field, "a number");
  } else if (required) {
    status = missing(r, label, field, "a number");
  }
  lua_pop(r->L, 1);
  return status;
}

rgt_status rgt__table_flag(const rgt__table_reader *r, int index, const char *label, const char *field, int *out) {
  rgt_status status = RGT_OK;
  int type = rgt__table_push(r, index, field);
  if (type == LUA_TBOOLEAN) {
    *out = lua_toboolean(r->L, -1);
  } else if (type != LUA_TNIL) {
    status = wrong_type(r, label, field, "true or false");
  }
  lua_pop(r->L, 1);
  return status;
}

int rgt__table_is_name(const char *text, size_t most) {
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
  return n > 0 && n < most && text[n] == '\0' && text[0] >= 'a' && text[0] <= 'z';
}
