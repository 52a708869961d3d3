/* config.c -- config files: read in a Lua state of their own, lists multiplied out into ops. */
#include "generator/config.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "generator/lua_host.h"
#include "generator/lua_table.h"
#include "generator/op.h"
#include "runtime/base/alloc.h"

struct reading {
  const char *text, *name;
  rgt__lua *lua;
  rgt__config config;
  int capacity;
};

/* The fields of an op's table, in the order in which they are multiplied out. */
enum { N_IN, N_HIDDEN, N_OUT, GROUPS, DTYPE, ACT, BIAS, LAYOUT, INDEX, N_FIELDS };
static const char *const op_fields[N_FIELDS + 1] = {"n_in", "n_hidden", "n_out",  "groups",     "dtype",
                                                    "act",  "bias",     "layout", "index_type", NULL};

static int same_op(const rgt_op_desc *a, const rgt_op_desc *b) {
  return a->kind == b->kind && a->n_in == b->n_in && a->n_hidden == b->n_hidden && a->n_out == b->n_out &&
         a->groups == b->groups && a->dtype == b->dtype && a->act == b->act && a->bias == b->bias && a->layout == b->layout &&
         a->index_type == b->index_type;
}

static rgt_status add_op(struct reading *s, const rgt__table_reader *r, const rgt_op_desc *op) {
  rgt__config *c = &s->config;
  rgt__error why = {""};
  if (rgt__op_check(op, &why) != RGT_OK) return rgt__table_fail(r, "ops", "%s", why.text);
  for (int i = 0; i < c->n_ops; i++) {
    if (same_op(&c->ops[i], op)) return RGT_OK;
  }
  if (c->n_ops == RGT_CONFIG_OPS_MAX) {
    return rgt__table_fail(r, "ops", "ops: more than %d after multiplying the lists out", RGT_CONFIG_OPS_MAX);
  }
  if (c->n_ops == s->capacity) {
    int capacity = s->capacity ? s->capacity * 2 : 16;
    rgt_op_desc *grown = rgt__realloc(c->ops, (size_t)capacity * sizeof *grown);
    if (!grown) return rgt__error_nomem(r->err, (size_t)capacity * sizeof *grown);
    c->ops = grown;
    s->capacity = capacity;
  }
  c->ops[c->n_ops++] = *op;
  return RGT_OK;
}

static int parse_bias(const char *word, int *bias) {
  static const char *const words[] = {"b0", "b1", "b2", "b12"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(words[i], word) == 0) {
      *bias = i;
      return 1;
    }
  }
  return 0;
}

/* set_field -- the value on top of the stack (left there) into the op. */
static rgt_status set_field(const rgt__table_reader *r, int field, rgt_op_desc *op) {
  int64_t *const numbers[] = {&op->n_in, &op->n_hidden, &op->n_out, &op->groups};
  if (field <= GROUPS) {
    int64_t most = field == GROUPS ? RGT_COUNT_MAX : RGT_DIM_MAX;
    if (lua_isinteger(r->L, -1) && lua_tointeger(r->L, -1) >= 1 && lua_tointeger(r->L, -1) <= most) {
      *numbers[field] = lua_tointeger(r->L, -1);
      return RGT_OK;
    }
    return rgt__table_fail(r, op_fields[field], "ops: %s = %s is no whole number from 1 to %" PRId64, op_fields[field],
                           luaL_tolstring(r->L, -1, NULL), most);
  }
  const char *word = lua_type(r->L, -1) == LUA_TSTRING ? lua_tostring(r->L, -1) : "";
  int known = 0;
  if (field == DTYPE) known = rgt__op_dtype_parse(word, &op->dtype);
  if (field == ACT) known = rgt__op_act_parse(word, &op->act);
  if (field == BIAS) known = parse_bias(word, &op->bias);
  if (field == LAYOUT) known = rgt__op_layout_parse(word, &op->layout);
  if (field == INDEX) known = rgt__op_index_parse(word, &op->index_type);
  if (known) return RGT_OK;
  return rgt__table_fail(r, op_fields[field], "ops: %s = %s is not known", op_fields[field], luaL_tolstring(r->L, -1, NULL));
}

/* count -- how many values a field has: a list's length, 1 for one value, 0 if it is absent. */
static int64_t count(const rgt__table_reader *r, int index, const char *field) {
  int type = rgt__table_push(r, index, field);
  int64_t n = type == LUA_TNIL ? 0 : type == LUA_TTABLE ? (int64_t)lua_rawlen(r->L, -1) : 1;
  lua_pop(r->L, 1);
  return n;
}

static int is_given(const rgt__table_reader *r, int index, const char *field) {
  int given = rgt__table_push(r, index, field) != LUA_TNIL;
  lua_pop(r->L, 1);
  return given;
}

/* push_value -- value `at` (from 0) of a field. */
static void push_value(const rgt__table_reader *r, int index, const char *field, int64_t at) {
  if (rgt__table_push(r, index, field) != LUA_TTABLE) return;
  rgt__table_push_at(r, -1, at + 1);
  lua_remove(r->L, -2);
}

/* one_op -- the op that the digits choose from the lists of the table at `index`. */
static rgt_status one_op(const rgt__table_reader *r, int index, const int64_t n[N_FIELDS], const int64_t at[N_FIELDS],
                         rgt_op_desc *out) {
  int mlp = n[N_HIDDEN] > 0;
  rgt_op_desc op = {.struct_size = sizeof op,
                    .kind = mlp ? RGT_MLP : RGT_LINEAR,
                    .act = mlp ? RGT_ACT_RELU : RGT_ACT_NONE,
                    .bias = mlp ? RGT_BIAS_1 | RGT_BIAS_2 : RGT_BIAS_1,
                    .index_type = RGT_I64};
  for (int i = 0; i < N_FIELDS; i++) {
    if (n[i] == 0) continue;
    push_value(r, index, op_fields[i], at[i]);
    rgt_status status = set_field(r, i, &op);
    lua_pop(r->L, 1);
    if (status != RGT_OK) return status;
  }
  if (n[N_OUT] == 0) op.n_out = op.n_in;
  *out = op;
  return RGT_OK;
}

/* multiply -- every combination of the table on top of the stack. */
static rgt_status multiply(struct reading *s, const rgt__table_reader *r) {
  int64_t n[N_FIELDS], at[N_FIELDS] = {0};
  int index = lua_gettop(r->L);
  rgt_status status = rgt__table_known(r, index, "ops", op_fields, 0);
  if (status != RGT_OK) return status;
  for (int i = 0; i < N_FIELDS; i++) {
    n[i] = count(r, index, op_fields[i]);
    if (n[i] == 0 && rgt__table_push(r, index, op_fields[i]) != LUA_TNIL)
      return rgt__table_fail(r, op_fields[i], "ops: %s is an empty list", op_fields[i]);
    lua_settop(r->L, index);
  }
  if (n[N_IN] == 0 || n[GROUPS] == 0)
    return rgt__table_fail(r, "ops", "ops: an op's table needs %s", n[N_IN] == 0 ? "n_in" : "groups");
  if (n[N_HIDDEN] == 0 && n[N_OUT] == 0)
    return rgt__table_fail(r, "ops", "ops: an op's table needs n_out, or n_hidden for an MLP");
  for (int more = 1; more;) {
    rgt_op_desc op;
    status = one_op(r, index, n, at, &op);
    if (status == RGT_OK) status = add_op(s, r, &op);
    if (status != RGT_OK) return status;
    more = 0;
    for (int i = N_FIELDS - 1; i >= 0 && !more; i--) {
      at[i]++;
      if (at[i] < n[i]) {
        more = 1;
      } else {
        at[i] = 0;
      }
    }
  }
  return RGT_OK;
}

static rgt_status read_op(struct reading *s, const rgt__table_reader *r) {
  if (lua_type(r->L, -1) == LUA_TTABLE) return multiply(s, r);
  if (lua_type(r->L, -1) != LUA_TSTRING)
    return rgt__table_fail(r, "ops", "ops: a %s; an op is a text or a table", luaL_typename(r->L, -1));
  const char *text = lua_tostring(r->L, -1);
  rgt_op_desc op;
  rgt__error why = {""};
  if (rgt__op_parse(text, &op, &why) != RGT_OK) return rgt__table_fail(r, text, "%s", why.text);
  return add_op(s, r, &op);
}

static rgt_status read_ops(struct reading *s, const rgt__table_reader *r) {
  static const char *const none[] = {NULL};
  if (rgt__table_push(r, 1, "ops") != LUA_TTABLE)
    return rgt__table_fail(r, "ops", "config: ops must be a list of ops: texts and tables");
  int ops = lua_gettop(r->L), n = (int)lua_rawlen(r->L, ops);
  if (n == 0) return rgt__table_fail(r, "ops", "config: ops has no op in its list");
  rgt_status status = rgt__table_known(r, ops, "ops", none, n);
  for (int i = 1; i <= n && status == RGT_OK; i++) {
    rgt__table_push_at(r, ops, i);
    status = read_op(s, r);
    lua_settop(r->L, ops);
  }
  return status;
}

static rgt_status read_rows(struct reading *s, const rgt__table_reader *r) {
  int64_t n = count(r, 1, "rows");
  if (n == 0 && is_given(r, 1, "rows"))
    return rgt__table_fail(r, "rows", "config: rows is no list of numbers, or an empty one");
  if (n > RGT_CONFIG_ROWS_MAX)
    return rgt__table_fail(r, "rows", "config: rows has %" PRId64 " entries; at most %d", n, RGT_CONFIG_ROWS_MAX);
  for (int64_t i = 0; i < n; i++) {
    push_value(r, 1, "rows", i);
    int64_t v = lua_isinteger(r->L, -1) ? lua_tointeger(r->L, -1) : 0;
    if (v < 1 || v > RGT_COUNT_MAX) {
      return rgt__table_fail(r, "rows", "config: rows: %s is no whole number from 1 to %" PRId64,
                             luaL_tolstring(r->L, -1, NULL), RGT_COUNT_MAX);
    }
    s->config.rows[s->config.n_rows++] = v;
    lua_pop(r->L, 1);
  }
  return RGT_OK;
}

static rgt_status read_skews(struct reading *s, const rgt__table_reader *r) {
  int64_t n = count(r, 1, "skew");
  if (n == 0 && is_given(r, 1, "skew")) return rgt__table_fail(r, "skew", "config: skew is no list of words, or an empty one");
  for (int64_t i = 0; i < n; i++) {
    rgt_skew skew = RGT_SKEW_UNKNOWN;
    push_value(r, 1, "skew", i);
    const char *word = lua_type(r->L, -1) == LUA_TSTRING ? lua_tostring(r->L, -1) : luaL_typename(r->L, -1);
    if (!rgt__op_skew_parse(word, &skew) || skew == RGT_SKEW_UNKNOWN)
      return rgt__table_fail(r, "skew", "config: skew: '%s' is none of uniform, zipf, one", word);
    for (int k = 0; k < s->config.n_skews; k++) {
      if (s->config.skews[k] == skew) return rgt__table_fail(r, "skew", "config: skew: '%s' is there twice", word);
    }
    s->config.skews[s->config.n_skews++] = skew;
    lua_pop(r->L, 1);
  }
  return RGT_OK;
}

static rgt_status read_config(lua_State *L, void *user, rgt__error *err) {
  static const char *const known[] = {"ops", "rows", "skew", "device", "budget_s", NULL};
  struct reading *s = user;
  rgt__table_reader r = {L, s->name, s->text, err};
  const char *device = "auto";
  rgt_status status = rgt__lua_load(s->lua, s->text, strlen(s->text), s->name, err);
  if (status != RGT_OK) return status;
  lua_call(L, 0, 1); /* 1 */
  if (lua_type(L, 1) != LUA_TTABLE) return rgt__table_fail(&r, "return", "a config file is one `return { ops = { ... } }`");
  status = rgt__table_known(&r, 1, "config", known, 0);
  if (status == RGT_OK) status = read_ops(s, &r);
  if (status == RGT_OK) status = read_rows(s, &r);
  if (status == RGT_OK) status = read_skews(s, &r);
  if (status == RGT_OK) status = rgt__table_text(&r, 1, "config", "device", 0, &device);
  if (status == RGT_OK) status = rgt__table_number(&r, 1, "config", "budget_s", 0, 0.001, 1e9, &s->config.budget_s);
  if (status == RGT_OK && strlen(device) >= sizeof s->config.device)
    return rgt__table_fail(&r, "device", "config: device = \"%.40s\" is none of auto, cpu, cuda, cuda:N", device);
  if (status == RGT_OK) snprintf(s->config.device, sizeof s->config.device, "%s", device);
  return status;
}

rgt_status rgt__config_read(const char *text, const char *name, rgt__config *out, rgt__error *err) {
  struct reading s = {.text = text, .name = name};
  rgt_status status = rgt__lua_open(NULL, &s.lua, err);
  if (status == RGT_OK) status = rgt__lua_protect(s.lua, read_config, &s, err);
  rgt__lua_free(s.lua);
  if (status != RGT_OK) {
    rgt__config_free(&s.config);
    return status;
  }
  *out = s.config;
  return RGT_OK;
}

void rgt__config_free(rgt__config *config) {
  if (!config) return;
  rgt__free(config->ops);
  *config = (rgt__config){0};
}
