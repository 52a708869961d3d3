/* lua_host.h -- a Lua 5.4 state that can only compute: math, string, table, no io, os, require, load, pairs, next,
 * setmetatable; unknown globals are errors; instructions and memory are limited. */
#ifndef RGT_GENERATOR_LUA_HOST_H
#define RGT_GENERATOR_LUA_HOST_H

#include <lua.h>

#include "runtime/base/error.h"

typedef struct rgt__lua rgt__lua;

typedef struct rgt__lua_limits {
  size_t memory_bytes;  /* 0: 64 MiB */
  int64_t instructions; /* of one protected call; 0: 50,000,000. Copying and pattern matching count too, by their length */
} rgt__lua_limits;

rgt_status rgt__lua_open(const rgt__lua_limits *limits, rgt__lua **out, rgt__error *err); /* RGT_ENOMEM */
void rgt__lua_free(rgt__lua *l);
lua_State *rgt__lua_state(rgt__lua *l);
/* rgt__lua_load -- compiles text (never bytecode) as a function on the stack. RGT_ETEMPLATE: "name:line: what". */
rgt_status rgt__lua_load(rgt__lua *l, const char *text, size_t size, const char *name, rgt__error *err);
/* rgt__lua_call -- protected call under the limits. RGT_ETEMPLATE, RGT_ENOMEM. On failure the function and its arguments are
 * gone. */
rgt_status rgt__lua_call(rgt__lua *l, int n_args, int n_results, rgt__error *err);

/* rgt__lua_protect -- runs fn, C code that uses Lua's own interface, where a raised error (memory too) comes back as a status.
 * What fn owns when it calls into Lua must be reachable by the caller: a raised error does not return to fn.
 * Returns fn's status, or as rgt__lua_call. The stack is as it was before. */
typedef rgt_status (*rgt__lua_fn)(lua_State *L, void *user, rgt__error *err);
rgt_status rgt__lua_protect(rgt__lua *l, rgt__lua_fn fn, void *user, rgt__error *err);

/* rgt__lua_set_shared -- who answers `shared "lib/x.lua"`: push one value and return 1, or raise. NULL: not available. */
void rgt__lua_set_shared(rgt__lua *l, lua_CFunction push, void *user);

/* ---- for C functions that run inside a protected call ---- */
rgt__lua *rgt__lua_of(lua_State *L);
void *rgt__lua_shared_user(lua_State *L);
lua_CFunction rgt__lua_shared_push(lua_State *L);
/* rgt__lua_charge -- counts work done in C as instructions; raises when the limit is passed. */
void rgt__lua_charge(lua_State *L, int64_t steps);
/* rgt__lua_raise -- the text as a Lua error; the protected call returns `status` with it, not RGT_ETEMPLATE. */
_Noreturn void rgt__lua_raise(lua_State *L, rgt_status status, const char *text);

#endif
