/* test_lua_host.c -- what a Lua text can and cannot do, and that every failure is one line with file and line. */
#include "fixture.h"

#include <lauxlib.h>
#include <locale.h>

#include "generator/lua_host.h"
#include "generator/lua_library.h"
#include "runtime/base/alloc.h"

static rgt__lua *lua;
static rgt__error err;

static int open_lua(void **state) {
  (void)state;
  return rgt__lua_open(NULL, &lua, &err) != RGT_OK;
}

static int close_lua(void **state) {
  (void)state;
  rgt__lua_free(lua);
  return 0;
}

/* run -- the text as a chunk "t.lua" with one result, which stays on the stack if all went well. */
static rgt_status run(rgt__lua *l, const char *text) {
  err.text[0] = '\0';
  rgt_status status = rgt__lua_load(l, text, strlen(text), "t.lua", &err);
  return status == RGT_OK ? rgt__lua_call(l, 0, 1, &err) : status;
}

static void expect_text(const char *text, const char *result) {
  if (run(lua, text) != RGT_OK) fail_msg("%s", err.text);
  assert_string_equal(lua_tostring(rgt__lua_state(lua), -1), result);
  lua_pop(rgt__lua_state(lua), 1);
  assert_int_equal(lua_gettop(rgt__lua_state(lua)), 0);
}

static void expect_error(const char *text, const char *message) {
  assert_int_equal(run(lua, text), RGT_ETEMPLATE);
  assert_string_equal(err.text, message);
  assert_int_equal(lua_gettop(rgt__lua_state(lua)), 0);
}

static void computes(void **state) {
  (void)state;
  expect_text("return 7 // 2", "3");
  expect_text("return ('%d|%5.2f|%s'):format(3, 1.5, 'x')", "3| 1.50|x");
  expect_text("local t = {} for i, v in ipairs { 5, 6 } do t[i] = v * 2 end return table.concat(t, ',')", "10,12");
  expect_text("return math.max(3, math.tointeger(2^4))", "16");
  expect_text("return select('#', table.unpack({ 1, 2, 3 }, 2))", "2");
  expect_text("return (('a-b'):gsub('%-', '+'))", "a+b");
  expect_text("return ('key=12'):match('^(%w+)=')", "key");
  expect_text("local t = { 3, 1, 2 } table.sort(t) table.insert(t, 9) table.remove(t, 1) return table.concat(t)", "239");
  expect_text("return tostring(1.5) .. tostring(nil) .. tostring(true) .. type(tonumber('0x10'))", "1.5niltruenumber");
  expect_text("return #string.rep('ab', 3, ',')", "8");
}

static void lacks(void **state) {
  (void)state;
  static const char *const names[] = {"io",           "os",           "require",  "package", "debug",          "load",
                                      "loadstring",   "dofile",       "loadfile", "pairs",   "next",           "pcall",
                                      "setmetatable", "getmetatable", "rawset",   "rawget",  "collectgarbage", "coroutine",
                                      "utf8",         "print",        "_G",       "xpcall",  "rawequal",       "rawlen",
                                      "_VERSION",     "warn"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[64], start[64];
    snprintf(text, sizeof text, "return\n%s", names[i]);
    snprintf(start, sizeof start, "t.lua:2: unknown name '%s'; there are ", names[i]);
    assert_int_equal(run(lua, text), RGT_ETEMPLATE);
    err.text[strlen(start)] = '\0';
    assert_string_equal(err.text, start);
  }
  expect_error("return nothing",
               "t.lua:1: unknown name 'nothing'; there are assert, error, family, ipairs, math, select, shared, "
               "string, table, tonumber, tostring, type, and what `local` declares");
  expect_error("return table.move", "t.lua:1: table.move: no such field; there are concat, insert, pack, remove, sort, unpack");
  static const char *const fields[] = {"math.random", "math.randomseed", "string.dump", "string.pack", "('x').dump"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    char text[64];
    snprintf(text, sizeof text, "return %s", fields[i]);
    assert_int_equal(run(lua, text), RGT_ETEMPLATE);
    assert_non_null(strstr(err.text, ": no such field; there are "));
  }
}

static void changes_nothing(void **state) {
  (void)state;
  expect_error("x = 1", "t.lua:1: 'x' is not declared: write `local x = ...`");
  expect_error("math = nil", "t.lua:1: 'math' is not declared: write `local math = ...`");
  expect_error("math.pi = 3", "t.lua:1: math.pi cannot be set: math is read-only");
  expect_error("table.insert(string, 1)", "t.lua:1: string.1 cannot be set: string is read-only");
  expect_text("return ('%.4f'):format(math.pi)", "3.1416");
}

static void leaks_nothing(void **state) {
  (void)state;
  expect_error("return tostring({})", "t.lua:1: tostring: a table has no text");
  expect_error("return ('%s'):format(ipairs)", "t.lua:1: string.format: a function has no text");
  expect_error("return ('%d %-5p'):format(1, 'x')", "t.lua:1: string.format: %p would show an address");
  expect_text("return ('100%%p %s'):format('ok')", "100%p ok");
  expect_error("return '10' + 1", "t.lua:1: attempt to perform arithmetic on a string value (constant '10')");
}

static void names_lines(void **state) {
  (void)state;
  expect_error("local a\nreturn a.b", "t.lua:2: attempt to index a nil value (local 'a')");
  expect_error("\n\nerror('own words')", "t.lua:3: own words");
  expect_error("\nerror('no place', 0)", "t.lua:2: no place");
  expect_error("\nassert(false, 'asserted')", "t.lua:2: asserted");
  expect_error("\nassert(1 == 2)", "t.lua:2: assertion failed!");
  expect_error("\nerror({ code = 1 })", "t.lua:2: error() was given a table, not a text");
  expect_error("\nerror()", "t.lua:2: error() was given a nil, not a text");
  expect_error("error(42)", "t.lua:1: 42");
  expect_error("local t = {}\ntable.concat({ t })", "t.lua:2: invalid value (table) at index 1 in table for 'concat'");
  expect_error("return ('x'):rep(-1, 5, {})..nil", "t.lua:1: attempt to concatenate a nil value");
  expect_error("if true then\n\nreturn 1", "t.lua:3: 'end' expected (to close 'if' at line 1) near <eof>");
  expect_error("\x1bLua", "t.lua:1: compiled Lua is not accepted, only text");
  expect_error("family(1)", "t.lua:1: family takes one table: family { ... }");
  expect_error("return shared 'lib/x.lua'", "t.lua:1: shared: only specs and templates have shared files");
}

static void ends_loops(void **state) {
  (void)state;
  expect_error("local n = 0\nwhile true do n = n + 1 end",
               "t.lua:2: more than 50000000 instructions in one call: an endless loop?");
  assert_int_equal(run(lua, "\nlocal function f(n) return 1 + f(n) end\nreturn f(1)"), RGT_ETEMPLATE);
  assert_memory_equal(err.text, "t.lua:2: stack overflow", 23);
  expect_text("return 1", "1"); /* the next call has its own count */
}

static void ends_floods(void **state) {
  (void)state;
  expect_error("local s = 'x'\nwhile true do s = s .. s end", "t.lua:2: more than 65536 KiB of memory");
  expect_error("local s =\n('x'):rep(1 << 30)", "t.lua:2: more than 65536 KiB of memory");
  expect_error("local t = {}\nfor i = 1, 1 << 40 do\nt[i] = { i }\nend", "t.lua:3: more than 65536 KiB of memory");
  expect_text("return #('x'):rep(1 << 20)", "1048576");
}

/* Few instructions, much work in C: each must count. */
static void ends_long_calls(void **state) {
  (void)state;
  static const char *const bombs[] = {
      "return ('a'):rep(5000):find(('a-'):rep(20) .. 'b')",
      "local s = ('a'):rep(30000)\nreturn s:gsub('a*a*b', '')",
      "return ('('):rep(30000):match('%b()%b()x*y')",
      "local s = ('x'):rep(1 << 24)\nwhile true do local u = s .. 'y' end",
      "local t = {}\nwhile true do table.unpack(t, 1, 900000) end",
      "local t = table.pack(('x'):rep(200000):byte(1, -1))\nwhile true do table.insert(t, 1, 0) end",
      "local t = {}\nfor i = 1, 100000 do t[i] = 0 end\nwhile true do table.sort(t) end",
      "local s = ('x'):rep(1 << 22)\nwhile true do s:byte(-1) end",
  };
  rgt__lua_limits limits = {.instructions = 20000000};
  rgt__lua *l;
  assert_int_equal(rgt__lua_open(&limits, &l, &err), RGT_OK);
  for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
    if (run(l, bombs[i]) != RGT_ETEMPLATE) fail_msg("bomb %zu: %s", i, err.text);
    if (!strstr(err.text, "more than 20000000 instructions") || memcmp(err.text, "t.lua:", 6)) {
      fail_msg("bomb %zu: %s", i, err.text);
    }
  }
  rgt__lua_free(l);
}

static void keeps_limits(void **state) {
  (void)state;
  rgt__lua_limits limits = {.memory_bytes = (size_t)1 << 20, .instructions = 100000};
  rgt__lua *l;
  assert_int_equal(rgt__lua_open(&limits, &l, &err), RGT_OK);
  assert_int_equal(run(l, "for i = 1, 5000 do end"), RGT_OK);
  lua_pop(rgt__lua_state(l), 1);
  assert_int_equal(run(l, "for i = 1, 500000 do end"), RGT_ETEMPLATE);
  assert_string_equal(err.text, "t.lua:1: more than 100000 instructions in one call: an endless loop?");
  assert_int_equal(run(l, "local s = ('x'):rep(1 << 19) return s .. s"), RGT_ETEMPLATE);
  assert_string_equal(err.text, "t.lua:1: more than 1024 KiB of memory");
  for (int i = 0; i < 100; i++) { /* what a failed call left is collected */
    assert_int_equal(run(l, "return ('x'):rep(1 << 18)"), RGT_OK);
    lua_pop(rgt__lua_state(l), 1);
  }
  rgt__lua_free(l);
}

static rgt_status raise_in_c(lua_State *L, void *user, rgt__error *e) {
  (void)e;
  *(int *)user = 1;
  luaL_error(L, "raised in C");
  return RGT_OK;
}

static rgt_status refuse(lua_State *L, void *user, rgt__error *e) {
  lua_pushinteger(L, *(int *)user);
  return rgt__error_set(e, RGT_EMISS, "refused");
}

static void protects_c(void **state) {
  (void)state;
  int seen = 0;
  assert_int_equal(rgt__lua_protect(lua, raise_in_c, &seen, &err), RGT_ETEMPLATE);
  assert_int_equal(seen, 1);
  assert_string_equal(err.text, "raised in C");
  assert_int_equal(rgt__lua_protect(lua, refuse, &seen, &err), RGT_EMISS);
  assert_string_equal(err.text, "refused");
  assert_int_equal(lua_gettop(rgt__lua_state(lua)), 0);
}

static rgt_status freeze_global(lua_State *L, void *user, rgt__error *e) {
  (void)user;
  (void)e;
  assert_int_equal(luaL_dostring(L, "return { n = 1, list = { 4, 5, { deep = true } } }"), LUA_OK);
  rgt__lua_freeze_deep(L, "data");
  static const char *const texts[] = {
      "local d = ... return d.n + #d.list + d.list[2]",
      "local d = ... local s = 0 for i, v in ipairs(d.list) do s = s + i end return s",
      "local d = ... d.n = 2",
      "local d = ... d.list[3].deep = false",
      "local d = ... return d.m",
      "local d = ... return d.list.x",
      "local d = ... return d.list[4] == nil",
  };
  static const char *const results[] = {"9",
                                        "6",
                                        "t:1: data.n cannot be set: data is read-only",
                                        "t:1: data.list[3].deep cannot be set: data.list[3] is read-only",
                                        "t:1: data.m: no such field; there are list, n",
                                        "t:1: data.list.x: no such field; there are ",
                                        "true"};
  for (int i = 0; i < 7; i++) {
    assert_int_equal(luaL_loadbuffer(L, texts[i], strlen(texts[i]), "=t"), LUA_OK);
    lua_pushvalue(L, 1);
    lua_pcall(L, 1, 1, 0);
    assert_string_equal(luaL_tolstring(L, -1, NULL), results[i]);
    lua_settop(L, 1);
  }
  rgt__lua_thaw(L, 1);
  assert_int_equal(lua_getfield(L, 1, "n"), LUA_TNUMBER);
  lua_pushnil(L);
  assert_true(lua_next(L, 1)); /* the table itself, which can be walked */
  return RGT_OK;
}

static void freezes(void **state) {
  (void)state;
  assert_int_equal(rgt__lua_protect(lua, freeze_global, NULL, &err), RGT_OK);
}

static void keeps_the_locale(void **state) {
  (void)state;
  locale_t before = uselocale((locale_t)0);
  expect_text("return ('%.1f'):format(1.5)", "1.5");
  expect_error("error('x')", "t.lua:1: x");
  assert_ptr_equal(uselocale((locale_t)0), before);
}

/* ---- an allocator that fails when it is told to ---- */

static long allocations_left;

static void *failing_realloc(void *user, void *p, size_t bytes) {
  (void)user;
  if (bytes == 0) {
    free(p);
    return NULL;
  }
  if (allocations_left-- <= 0) return NULL;
  return realloc(p, bytes);
}

static void survives_no_memory(void **state) {
  (void)state;
  rgt_set_alloc(failing_realloc, NULL);
  rgt_status status = RGT_ENOMEM;
  long n = 0;
  for (; status != RGT_OK && n < 5000; n++) {
    rgt__lua *l = NULL;
    rgt__error e = {""};
    allocations_left = n;
    status = rgt__lua_open(NULL, &l, &e);
    if (status == RGT_OK)
      status = rgt__lua_load(l, "local t = {} for i = 1, 9 do t[i] = ('x'):rep(i) end return t", 61, "t.lua", &e);
    if (status == RGT_OK) status = rgt__lua_call(l, 0, 1, &e);
    if (status != RGT_OK) {
      assert_int_equal(status, RGT_ENOMEM);
      assert_true(e.text[0] != '\0');
    }
    rgt__lua_free(l);
  }
  rgt_set_alloc(NULL, NULL);
  assert_int_equal(status, RGT_OK);
  assert_true(n > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(computes, open_lua, close_lua),
      cmocka_unit_test_setup_teardown(lacks, open_lua, close_lua),
      cmocka_unit_test_setup_teardown(changes_nothing, open_lua, close_lua),
      cmocka_unit_test_setup_teardown(leaks_nothing, open_lua, close_lua),
      cmocka_unit_test_setup_teardown(names_lines, open_lua, close_lua),
      cmocka_unit_test_setup_teardown(ends_loops, open_lua, close_lua),
      cmocka_unit_test_setup_teardown(ends_floods, open_lua, close_lua),
      cmocka_unit_test(ends_long_calls),
      cmocka_unit_test(keeps_limits),
      cmocka_unit_test_setup_teardown(protects_c, open_lua, close_lua),
      cmocka_unit_test_setup_teardown(freezes, open_lua, close_lua),
      cmocka_unit_test_setup_teardown(keeps_the_locale, open_lua, close_lua),
      cmocka_unit_test(survives_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
