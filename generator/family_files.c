/* family_files.c -- which files a family uses: named in include("...") and shared "...", always as literal texts, so that the
 * template digest covers everything that can reach a generated source. */
#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "generator/families.h"
#include "generator/lua_library.h"
#include "runtime/base/alloc.h"

static int is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* literal_after -- the text in quotes after `at`, with or without a parenthesis: its start and length, or NULL. */
static const char *literal_after(const char *at, size_t *length) {
  at += strspn(at, " \t");
  if (*at == '(') at += 1 + strspn(at + 1, " \t");
  if (*at != '"' && *at != '\'') return NULL;
  char ends[3] = {*at, '\n', '\0'};
  *length = strcspn(at + 1, ends);
  return at[1 + *length] == *at ? at + 1 : NULL;
}

static int known(const rgt__family_entry *e, const rgt__source_file *file) {
  for (int i = 0; i < e->n_files; i++) {
    if (e->files[i] == file) return 1;
  }
  return 0;
}

/* add_named -- every file that `word` names in the text and that exists. A name in a comment may add one too many, which costs
 * nothing but a digest that changes with it. */
static void add_named(const rgt__sources *sources, rgt__family_entry *e, const rgt__source_file *from, const char *word) {
  size_t n = strlen(word), length;
  for (const char *at = strstr(from->text, word); at; at = strstr(at + n, word)) {
    if ((at > from->text && is_word(at[-1])) || is_word(at[n])) continue;
    const char *literal = literal_after(at + n, &length);
    char name[RGT_SHOWN_NAME_MAX];
    if (!literal || length >= sizeof name) continue;
    memcpy(name, literal, length);
    name[length] = '\0';
    const rgt__source_file *file = rgt__sources_find(sources, name);
    if (file && !known(e, file)) e->files[e->n_files++] = file;
  }
}

rgt_status rgt__family_files_find(const rgt__sources *sources, rgt__family_entry *e, rgt__error *err) {
  size_t most = (size_t)rgt__sources_count(sources);
  e->files = rgt__alloc_zero(most, sizeof *e->files);
  if (!e->files) return rgt__error_nomem(err, most * sizeof *e->files);
  e->files[e->n_files++] = e->spec;
  e->files[e->n_files++] = e->body;
  for (int i = 0; i < e->n_files; i++) { /* the list grows while it is walked */
    add_named(sources, e, e->files[i], "include");
    add_named(sources, e, e->files[i], "shared");
  }
  rgt__hash h;
  rgt__hash_init(&h);
  for (int i = 0; i < e->n_files; i++) {
    rgt__hash_text(&h, e->files[i]->name);
    rgt__hash_bytes(&h, e->files[i]->text, e->files[i]->size);
  }
  rgt__hash_end(&h, &e->family.template_digest);
  return RGT_OK;
}

const rgt__source_file *rgt__family_files_get(const rgt__families *f, const char *name, const char **reason) {
  const rgt__source_file *file = rgt__sources_find(f->sources, name);
  if (!file) {
    *reason = "there is no such file below templates/";
    return NULL;
  }
  if (f->current && known(f->current, file)) return file;
  *reason = "write the name as one literal text, so that the family's digest covers the file";
  return NULL;
}

/* The values of shared files are kept, by name, in one table of the registry. */
static const char shared_key;

static void push_values(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &shared_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &shared_key);
}

static void run_shared(lua_State *L, rgt__families *f, const rgt__source_file *file) {
  for (int i = 0; i < f->n_running; i++) {
    if (f->running[i] == file) luaL_error(L, "shared \"%s\": the file asks for itself", file->name);
  }
  if (f->n_running == RGT_SHARED_DEPTH_MAX)
    luaL_error(L, "shared \"%s\": more than %d files deep", file->name, RGT_SHARED_DEPTH_MAX);
  rgt__error err;
  const char *name = lua_pushfstring(L, RGT_TEMPLATE_ROOT "%s", file->name);
  rgt_status status = rgt__lua_load(f->lua, file->text, file->size, name, &err);
  if (status != RGT_OK) rgt__lua_raise(L, status, err.text);
  f->running[f->n_running++] = file;
  lua_call(L, 0, 1);
  f->n_running--;
  int is_view = lua_getmetatable(L, -1);
  if (is_view) lua_pop(L, 1);
  if (lua_isnil(L, -1)) luaL_error(L, "shared \"%s\": the file must return a value", file->name);
  if (lua_type(L, -1) == LUA_TTABLE && !is_view) rgt__lua_freeze_deep(L, "shared");
}

int rgt__family_files_shared(lua_State *L) {
  rgt__families *f = rgt__lua_shared_user(L);
  const char *name = lua_tostring(L, 1), *reason;
  const rgt__source_file *file = rgt__family_files_get(f, name, &reason);
  if (!file) return luaL_error(L, "shared \"%s\": %s", name, reason);
  push_values(L);
  if (lua_getfield(L, 2, name) != LUA_TNIL) return 1;
  run_shared(L, f, file);
  lua_pushvalue(L, -1);
  lua_setfield(L, 2, name);
  return 1;
}
