/* lua_host.c -- the Lua state: its memory, its instruction count, its errors as one line with file and line. */
#include "generator/lua_host.h"

#include <lauxlib.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "generator/lua_library.h"
#include "runtime/base/alloc.h"

#define DEFAULT_MEMORY ((size_t)64 << 20)
#define DEFAULT_INSTRUCTIONS 50000000
#define HOOK_STEP 1000    /* instructions between two looks at the count */
#define BYTES_PER_STEP 64 /* a block of memory is charged as if it took one instruction for so many bytes */
#define SMALL_BLOCK 1024  /* smaller blocks are free: the instruction that asked for them was counted */
#define WHERE_MAX (LUA_IDSIZE + 32)

struct rgt__lua {
  lua_State *state;
  size_t used_bytes, limit_bytes;
  int64_t instructions, left; /* of a protected call; left goes below 0 when they are used up */
  int depth;                  /* of protected calls: the outermost one sets left */
  int denied;                 /* the last failed allocation was refused by the limits, not by the system */
  char where[WHERE_MAX];      /* "file:line: " of that refusal */
  rgt_status raised;          /* by rgt__lua_raise, on its way through Lua */
  locale_t c_locale;          /* texts must not depend on the host program's locale */
  lua_CFunction shared_push;
  void *shared_user;
};

rgt__lua *rgt__lua_of(lua_State *L) {
  return *(rgt__lua **)lua_getextraspace(L);
}
lua_State *rgt__lua_state(rgt__lua *l) {
  return l->state;
}
void *rgt__lua_shared_user(lua_State *L) {
  return rgt__lua_of(L)->shared_user;
}
lua_CFunction rgt__lua_shared_push(lua_State *L) {
  return rgt__lua_of(L)->shared_push;
}

void rgt__lua_set_shared(rgt__lua *l, lua_CFunction push, void *user) {
  l->shared_push = push;
  l->shared_user = user;
}

/* find_where -- "file:line: " of the innermost Lua function that runs, "" if there is none. Reads only, so that the allocator
 * may ask too: with a count hook set, Lua saves the place of every instruction. */
static void find_where(lua_State *L, char where[WHERE_MAX]) {
  lua_Debug ar;
  where[0] = '\0';
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    if (lua_getinfo(L, "Sl", &ar) && ar.currentline > 0) {
      snprintf(where, WHERE_MAX, "%s:%d: ", ar.short_src, ar.currentline);
      return;
    }
  }
}

/* allocate -- lua_Alloc under the memory limit. Big blocks also cost instructions, which bounds what a few instructions can do
 * with very long strings (string.rep, .., table.concat). A refused request is tried again by Lua after a full collection. */
static void *allocate(void *user, void *p, size_t old_bytes, size_t bytes) {
  rgt__lua *l = user;
  if (!p) old_bytes = 0; /* then it holds the kind of object */
  if (bytes == 0) {
    l->used_bytes -= old_bytes;
    rgt__free(p);
    return NULL;
  }
  if (bytes > old_bytes) {
    int counts = l->depth > 0 && bytes >= SMALL_BLOCK;
    if (counts) l->left -= (int64_t)(bytes / BYTES_PER_STEP);
    if (bytes - old_bytes > l->limit_bytes - l->used_bytes || (counts && l->left < 0)) {
      l->denied = 1;
      if (l->state) find_where(l->state, l->where);
      return NULL;
    }
  }
  void *q = p ? rgt__realloc(p, bytes) : rgt__alloc(bytes);
  if (!q && bytes > old_bytes) {
    l->denied = 0;
    return NULL;
  }
  l->used_bytes = l->used_bytes - old_bytes + bytes;
  return q ? q : p; /* a block that could not shrink serves as it is: Lua must not see that fail */
}

static void raise_steps(lua_State *L) {
  luaL_error(L, "more than %I instructions in one call: an endless loop?", (LUAI_UACINT)rgt__lua_of(L)->instructions);
}

static void count_hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  rgt__lua_charge(L, HOOK_STEP);
}

void rgt__lua_charge(lua_State *L, int64_t steps) {
  rgt__lua *l = rgt__lua_of(L);
  l->left = steps > l->left ? -1 : l->left - steps;
  if (l->left < 0) raise_steps(L);
}

/* has_place -- does the text begin with "file:" of a function on the stack? assert and error(text, 0) give none. */
static int has_place(lua_State *L, const char *text) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "S", &ar)) continue;
    size_t n = strlen(ar.short_src);
    if (strncmp(text, ar.short_src, n) == 0 && text[n] == ':') return 1;
  }
  return 0;
}

/* explain -- message handler: any error value becomes a text with file and line. */
static int explain(lua_State *L) {
  char where[WHERE_MAX];
  find_where(L, where);
  int type = lua_type(L, 1);
  if (type != LUA_TSTRING && type != LUA_TNUMBER) {
    lua_pushfstring(L, "%serror() was given a %s, not a text", where, luaL_typename(L, 1));
    return 1;
  }
  const char *text = lua_tostring(L, 1);
  if (!has_place(L, text)) lua_pushfstring(L, "%s%s", where, text);
  return 1;
}

void rgt__lua_raise(lua_State *L, rgt_status status, const char *text) {
  rgt__lua_of(L)->raised = status;
  lua_pushstring(L, text);
  lua_error(L);
  __builtin_unreachable();
}

/* fail -- a Lua status, and the error value on top (which is popped), as a status and a line. */
static rgt_status fail(rgt__lua *l, int status, const char *name, rgt__error *err) {
  lua_State *L = l->state;
  rgt_status result = RGT_ETEMPLATE;
  const char *where = l->where[0] || !name ? l->where : name;
  const char *gap = l->where[0] || !name ? "" : ": ";
  if (status == LUA_ERRMEM && !l->denied) {
    result = rgt__error_set(err, RGT_ENOMEM, "out of memory while Lua ran");
  } else if (status == LUA_ERRMEM && l->left < 0) {
    rgt__error_set(err, result, "%s%smore than %lld instructions in one call: very long texts?", where, gap,
                   (long long)l->instructions);
  } else if (status == LUA_ERRMEM) {
    rgt__error_set(err, result, "%s%smore than %zu KiB of memory", where, gap, l->limit_bytes / 1024);
  } else if (lua_type(L, -1) == LUA_TSTRING) {
    if (l->raised) result = l->raised;
    rgt__error_set(err, result, "%s", lua_tostring(L, -1));
  } else {
    rgt__error_set(err, result, "%s%sLua failed without a message", where, gap);
  }
  lua_pop(L, 1);
  return result;
}

/* enter, leave -- around everything that may raise: fresh limits for the outermost call, and the C locale. */
static locale_t enter(rgt__lua *l) {
  if (l->depth++ == 0) {
    l->left = l->instructions;
    l->raised = RGT_OK;
    lua_sethook(l->state, count_hook, LUA_MASKCOUNT, HOOK_STEP);
  }
  l->denied = 0;
  l->where[0] = '\0';
  return uselocale(l->c_locale);
}

static void leave(rgt__lua *l, locale_t old) {
  l->depth--;
  uselocale(old);
}

rgt_status rgt__lua_load(rgt__lua *l, const char *text, size_t size, const char *name, rgt__error *err) {
  char chunk_name[LUA_IDSIZE * 4];
  if (size && text[0] == LUA_SIGNATURE[0]) {
    return rgt__error_set(err, RGT_ETEMPLATE, "%s:1: compiled Lua is not accepted, only text", name);
  }
  snprintf(chunk_name, sizeof chunk_name, "@%s", name);
  if (!lua_checkstack(l->state, 4)) return rgt__error_set(err, RGT_ENOMEM, "%s: out of memory for Lua's stack", name);
  locale_t old = enter(l);
  int status = luaL_loadbufferx(l->state, text, size, chunk_name, "t");
  leave(l, old);
  return status == LUA_OK ? RGT_OK : fail(l, status, name, err);
}

rgt_status rgt__lua_call(rgt__lua *l, int n_args, int n_results, rgt__error *err) {
  lua_State *L = l->state;
  int base = lua_gettop(L) - n_args;
  if (!lua_checkstack(L, 4 + (n_results > 0 ? n_results : 0))) {
    lua_settop(L, base - 1);
    return rgt__error_set(err, RGT_ENOMEM, "out of memory for Lua's stack");
  }
  lua_pushcfunction(L, explain);
  lua_insert(L, base);
  locale_t old = enter(l);
  int status = lua_pcall(L, n_args, n_results, base);
  leave(l, old);
  lua_remove(L, base);
  return status == LUA_OK ? RGT_OK : fail(l, status, NULL, err);
}

struct protected_call {
  rgt__lua_fn fn;
  void *user;
  rgt__error *err;
  rgt_status status;
};

static int run_protected(lua_State *L) {
  struct protected_call *c = lua_touserdata(L, 1);
  lua_settop(L, 0);
  c->status = c->fn(L, c->user, c->err);
  return 0;
}

rgt_status rgt__lua_protect(rgt__lua *l, rgt__lua_fn fn, void *user, rgt__error *err) {
  struct protected_call c = {fn, user, err, RGT_OK};
  if (!lua_checkstack(l->state, 4)) return rgt__error_set(err, RGT_ENOMEM, "out of memory for Lua's stack");
  lua_pushcfunction(l->state, run_protected);
  lua_pushlightuserdata(l->state, &c);
  rgt_status status = rgt__lua_call(l, 1, 0, err);
  return status == RGT_OK ? c.status : status;
}

static rgt_status open_library(lua_State *L, void *user, rgt__error *err) {
  (void)user;
  (void)err;
  rgt__lua_library_open(L);
  return RGT_OK;
}

rgt_status rgt__lua_open(const rgt__lua_limits *limits, rgt__lua **out, rgt__error *err) {
  rgt__lua *l = rgt__alloc_zero(1, sizeof *l);
  if (!l) return rgt__error_nomem(err, sizeof *l);
  l->limit_bytes = limits && limits->memory_bytes ? limits->memory_bytes : DEFAULT_MEMORY;
  l->instructions = limits && limits->instructions ? limits->instructions : DEFAULT_INSTRUCTIONS;
  l->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  l->state = l->c_locale ? lua_newstate(allocate, l) : NULL;
  if (!l->state) {
    rgt__lua_free(l);
    return rgt__error_set(err, RGT_ENOMEM, "out of memory for a Lua state");
  }
  *(rgt__lua **)lua_getextraspace(l->state) = l;
  rgt_status status = rgt__lua_protect(l, open_library, NULL, err);
  if (status != RGT_OK) {
    rgt__lua_free(l);
    return rgt__error_set(err, RGT_ENOMEM, "out of memory for a Lua state");
  }
  *out = l;
  return RGT_OK;
}

void rgt__lua_free(rgt__lua *l) {
  if (!l) return;
  if (l->state) lua_close(l->state);
  if (l->c_locale) freelocale(l->c_locale);
  rgt__free(l);
}
