/* render.c -- runs a template: its chunk is compiled once and kept, its lines go to a buffer with #line where they jump. */
#include "generator/render.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "generator/families.h"
#include "generator/prelude.h"
#include "generator/steps.h"
#include "generator/template.h"
#include "runtime/base/alloc.h"

#define TEXT_MAX ((size_t)16 << 20) /* bytes of a rendered file */
#define INCLUDE_DEPTH_MAX 16

struct rendering {
  rgt__families *f;
  const rgt__variant *v;
  const rgt_op_desc *op;
  const rgt__target *target;
  const char *digest, *order;
  rgt__program program;
  rgt__buffer text;
  const rgt__source_file *file;      /* whose lines come now */
  const rgt__source_file *next_file; /* where the compiler thinks that it is: this line of this file comes next */
  lua_Integer next_line;
  const rgt__source_file **included; /* room for all files of the family */
  int n_included, depth;
};

/* The compiled chunks of all templates: one table of the registry, by file name. */
static const char chunks_key;

static void push_chunks(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &chunks_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &chunks_key);
}

/* push_chunk -- the file's function. The translation is freed before anything can raise. */
static void push_chunk(lua_State *L, rgt__families *f, const rgt__source_file *file) {
  luaL_checkstack(L, 12, "include");
  push_chunks(L);
  if (lua_getfield(L, -1, file->name) == LUA_TFUNCTION) {
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);
  char shown[RGT_SHOWN_NAME_MAX];
  rgt__error err;
  rgt__buffer lua = {0};
  snprintf(shown, sizeof shown, RGT_TEMPLATE_ROOT "%s", file->name);
  rgt_status status = rgt__template_translate(file, shown, &lua, &err);
  if (status == RGT_OK && lua.failed) status = rgt__error_nomem(&err, file->size);
  if (status == RGT_OK) status = rgt__lua_load(f->lua, lua.data, lua.size, shown, &err);
  rgt__buffer_free(&lua);
  if (status != RGT_OK) rgt__lua_raise(L, status, err.text);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, file->name);
  lua_remove(L, -2);
}

/* add_value -- the value of $(expression) at stack place `at`. */
static void add_value(lua_State *L, struct rendering *s, int at) {
  size_t n;
  int is_int;
  const char *expression = lua_tostring(L, at + 1);
  int type = lua_type(L, at);
  if (type == LUA_TSTRING) {
    const char *text = lua_tolstring(L, at, &n);
    rgt__buffer_add(&s->text, text, n);
    if (memchr(text, '\n', n)) s->next_line = -1; /* whatever comes, the compiler must be told where it is */
    return;
  }
  if (type != LUA_TNUMBER) {
    luaL_error(L, "$(%s) is %s%s; it must be a text or a whole number", expression, type == LUA_TNIL ? "" : "a ",
               luaL_typename(L, at));
  }
  lua_Integer v = lua_tointegerx(L, at, &is_int); /* 4.0 is 4 */
  if (!is_int)
    luaL_error(L, "$(%s) is %f, no whole number; make a text of it with string.format", expression, lua_tonumber(L, at));
  rgt__buffer_format(&s->text, "%" PRId64, (int64_t)v);
}

static int emit(lua_State *L) { /* (line, text [, value, expression, text]...); upvalue: rendering */
  struct rendering *s = lua_touserdata(L, lua_upvalueindex(1));
  lua_Integer line = lua_tointeger(L, 1);
  int n_args = lua_gettop(L);
  size_t n;
  if (s->file != s->next_file || line != s->next_line) {
    rgt__buffer_format(&s->text, "#line %d \"" RGT_TEMPLATE_ROOT "%s\"\n", (int)line, s->file->name);
  }
  s->next_file = s->file;
  s->next_line = line + 1;
  for (int at = 2;; at += 3) {
    const char *text = lua_tolstring(L, at, &n);
    rgt__buffer_add(&s->text, text, n);
    if (at == n_args) break;
    add_value(L, s, at + 1);
  }
  rgt__buffer_add(&s->text, "\n", 1);
  if (s->text.size > TEXT_MAX) luaL_error(L, "the text passes %d MiB: an endless loop?", (int)(TEXT_MAX >> 20));
  return 0;
}

/* run_file -- the file's lines here. From stack place `first` on: environment, op, p, device, emit, include. */
static void run_file(lua_State *L, struct rendering *s, const rgt__source_file *file, int first) {
  const rgt__source_file *outer = s->file;
  s->included[s->n_included++] = file;
  push_chunk(L, s->f, file);
  lua_pushvalue(L, first);
  lua_setupvalue(L, -2, 1); /* a chunk's first upvalue is its _ENV; each file runs once at most in a rendering */
  for (int i = 1; i <= 5; i++) lua_pushvalue(L, first + i);
  s->file = file;
  s->depth++;
  lua_call(L, 5, 0);
  s->depth--;
  s->file = outer;
}

static int include(lua_State *L) { /* (name); upvalues: rendering, environment, op, p, device, emit */
  struct rendering *s = lua_touserdata(L, lua_upvalueindex(1));
  const char *reason;
  if (lua_type(L, 1) != LUA_TSTRING || lua_gettop(L) != 1)
    return luaL_error(L, "include takes one name: include(\"lib/kargs.h\")");
  const char *name = lua_tostring(L, 1);
  const rgt__source_file *file = rgt__family_files_get(s->f, name, &reason);
  if (!file) return luaL_error(L, "include(\"%s\"): %s", name, reason);
  for (int i = 0; i < s->n_included; i++) {
    if (s->included[i] == file) return 0; /* once is enough */
  }
  if (s->depth == INCLUDE_DEPTH_MAX) return luaL_error(L, "include(\"%s\"): more than %d files deep", name, INCLUDE_DEPTH_MAX);
  for (int i = 2; i <= 6; i++) lua_pushvalue(L, lua_upvalueindex(i)); /* 2 .. 6 */
  for (int i = 1; i <= 6; i++) lua_pushvalue(L, lua_upvalueindex(i));
  lua_pushcclosure(L, include, 6); /* 7 */
  run_file(L, s, file, 2);
  return 0;
}

static rgt_status run_template(lua_State *L, void *user, rgt__error *err) {
  struct rendering *s = user;
  const rgt__family_entry *e = rgt__families_entry(s->v->family);
  rgt_status status = rgt__steps_read(L, s->v, s->op, s->order, s->target, s->digest, &s->program, err);
  if (status != RGT_OK) return status;
  lua_settop(L, 0);
  s->included = lua_newuserdatauv(L, (size_t)e->n_files * sizeof *s->included, 0); /* 1 */
  rgt__facts_push_environment(L, s->op, s->v, s->target);                          /* 2 */
  rgt__facts_push_op(L, s->op, s->order);                                          /* 3 */
  rgt__facts_push_params(L, s->v);                                                 /* 4 */
  rgt__facts_push_device(L, s->target);                                            /* 5 */
  lua_pushlightuserdata(L, s);
  lua_pushcclosure(L, emit, 1); /* 6 */
  lua_pushlightuserdata(L, s);
  for (int i = 2; i <= 6; i++) lua_pushvalue(L, i);
  lua_pushcclosure(L, include, 6); /* 7 */
  run_file(L, s, e->body, 2);
  return RGT_OK;
}

static rgt_status check_arguments(const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                                  const rgt__render_facts *facts, rgt__error *err) {
  const rgt__family *family = v->family;
  rgt_status status = rgt__op_check(op, err);
  if (status != RGT_OK) return status;
  if (strcmp(family->device, target->device)) {
    return rgt__error_set(err, RGT_EINVAL, "render: %s is a family of %s, and the target is %s %s", family->name,
                          family->device, target->device, target->name);
  }
  int align = facts->align_bytes;
  if (align < 1 || align > 16 || (align & (align - 1))) {
    return rgt__error_set(err, RGT_EINVAL, "render: align_bytes = %d is none of 1, 2, 4, 8, 16", align);
  }
  if (*rgt__op_order_word(facts->order) == '?')
    return rgt__error_set(err, RGT_EINVAL, "render: order = %d is none of raw, sorted, offsets", (int)facts->order);
  for (int i = 0; i < target->n_facts; i++) {
    if (rgt__variant_get(v, target->facts[i].name) < 0) continue;
    return rgt__error_set(err, RGT_ETEMPLATE, RGT_TEMPLATE_ROOT "%s: param %s has the name of a device fact; choose another",
                          rgt__families_entry(family)->spec->name, target->facts[i].name);
  }
  return RGT_OK;
}

rgt_status rgt__render(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                       const rgt__render_facts *facts, rgt__rendered *out, rgt__error *err) {
  char digest[RGT_ENTRY_DIGEST_MAX];
  struct rendering s = {
      .f = f, .v = v, .op = op, .target = target, .digest = digest, .order = rgt__op_order_word(facts->order)};
  rgt_status status = check_arguments(v, op, target, facts, err);
  if (status == RGT_OK) status = rgt__prelude_digest(v, op, target, facts, digest, err);
  if (status == RGT_OK) status = rgt__prelude_write(v, op, target, facts, digest, &s.text, err);
  if (status == RGT_OK) status = rgt__families_protect(f, v->family, run_template, &s, err);
  if (status == RGT_OK && s.text.failed) status = rgt__error_nomem(err, s.text.size);
  if (status != RGT_OK) {
    rgt__buffer_free(&s.text);
    return status;
  }
  rgt__rendered made = {.program = s.program, .size = s.text.size};
  rgt__digest_of(s.text.data, s.text.size, &made.digest);
  made.text = rgt__buffer_take(&s.text, NULL);
  if (!made.text) return rgt__error_nomem(err, made.size);
  *out = made;
  return RGT_OK;
}

void rgt__rendered_free(rgt__rendered *r) {
  if (!r) return;
  rgt__free(r->text);
  r->text = NULL;
  r->size = 0;
}
