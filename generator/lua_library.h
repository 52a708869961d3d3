/* lua_library.h -- what a Lua text can see: restricted libraries, and values that it can read but not change. */
#ifndef RGT_GENERATOR_LUA_LIBRARY_H
#define RGT_GENERATOR_LUA_LIBRARY_H

#include <lua.h>

/* All of these may raise a Lua error: call them inside rgt__lua_protect. */

/* rgt__lua_library_open -- makes the globals: math string table ipairs tostring tonumber type select error assert family
 * shared. */
void rgt__lua_library_open(lua_State *L);
/* rgt__lua_freeze -- replaces the table on top of the stack by a view of it: a field that is not there is an error that names
 * it
 * ("op.n_inn: no such field; there are ..."), and so is every assignment. Positions past the end of a list give nil. */
void rgt__lua_freeze(lua_State *L, const char *label);
/* rgt__lua_freeze_deep -- the same for every table inside, too. */
void rgt__lua_freeze_deep(lua_State *L, const char *label);
/* rgt__lua_thaw -- replaces a view at `index` by the table behind it, so that C can walk it; other values stay. */
void rgt__lua_thaw(lua_State *L, int index);
/* rgt__lua_environment -- replaces the table on top of the stack by an environment for chunks: its fields are names of their
 * own beside the globals; other names are errors, and so is every assignment. */
void rgt__lua_environment(lua_State *L);
/* rgt__lua_is_family -- is the value at index what family { ... } returned? */
int rgt__lua_is_family(lua_State *L, int index);

#endif
