/* vars.c -- declarations of variables and parameters, with initial values. */
#include "ptx/parser.h"

#include <string.h>

static int elements_of(ptx_parser *p, uint64_t *count, int *open) {
  *count = 1;
  *open = 0;
  while (ptx__accept(p, '[')) {
    int64_t n = 0;
    if (ptx__is(p, ']'))
      *open = 1;
    else if (ptx__expect_int(p, &n) != 0)
      return -1;
    if (n < 0) return ptx__fail(p, "an array of a negative size");
    *count *= (uint64_t)n;
    if (ptx__expect(p, ']') != 0) return -1;
  }
  return 0;
}

static void put(ptx_var *v, uint64_t at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) v->initial[at + (uint64_t)i] = (unsigned char)(value >> (8 * i));
}

static int real_bits(ptx_type type, const ptx_token *t, uint64_t *bits) {
  if (t->float_bits == type.bits) {
    *bits = t->value;
    return 0;
  }
  if (t->float_bits == 64 && type.bits == 32) {
    double d;
    memcpy(&d, &t->value, 8);
    const float f = (float)d;
    uint32_t u;
    memcpy(&u, &f, 4);
    *bits = u;
    return 0;
  }
  return -1;
}

/* One value of an initialiser: a number, a variable's address, or generic(variable). */
static int initial_value(ptx_parser *p, ptx_var *v, ptx_type type, uint64_t at) {
  const int bytes = type.bits / 8;
  if (at + (uint64_t)bytes > v->bytes) return ptx__fail(p, "more initial values than elements");
  const int minus = ptx__accept(p, '-');
  if (type.bits > 64) return ptx__fail(p, "initial values of 128 bits are not known here");
  if (p->token.kind == PTX_INT) {
    put(v, at, minus ? 0 - p->token.value : p->token.value, bytes);
  } else if (p->token.kind == PTX_FLOAT) {
    uint64_t bits;
    if (real_bits(type, &p->token, &bits) != 0) return ptx__fail(p, "an initial value of another width");
    put(v, at, minus ? bits ^ (uint64_t)1 << (type.bits - 1) : bits, bytes);
  } else if (p->token.kind == PTX_WORD) {
    const int generic = ptx__is_word(p, "generic");
    if (generic) {
      ptx__next(p);
      if (ptx__expect(p, '(') != 0) return -1;
    }
    struct ptx_patch *patch = sim__arena_alloc(&p->module->arena, sizeof *patch);
    *patch = (struct ptx_patch){.at = at, .bytes = bytes, .name = p->token.text, .next = v->patches};
    v->patches = patch;
    if (ptx__peek(p)->kind == PTX_PUNCT && ptx__peek(p)->punct == '+') {
      ptx__next(p);
      ptx__next(p);
      if (p->token.kind != PTX_INT) return ptx__fail(p, "an offset is missing");
      patch->add = (int64_t)p->token.value;
    }
    if (generic) {
      ptx__next(p);
      if (!ptx__is(p, ')')) return ptx__fail(p, "generic(...) is not closed");
    }
  } else {
    return ptx__fail(p, "an initial value is missing");
  }
  ptx__next(p);
  return 0;
}

static int initial_values(ptx_parser *p, ptx_var *v, ptx_type type, uint64_t *at) {
  if (!ptx__accept(p, '{')) {
    if (initial_value(p, v, type, *at) != 0) return -1;
    *at += (uint64_t)type.bits / 8;
    return 0;
  }
  while (!ptx__is(p, '}')) {
    if (initial_values(p, v, type, at) != 0) return -1;
    if (!ptx__accept(p, ',')) break;
  }
  return ptx__expect(p, '}');
}

static int attributes(ptx_parser *p, ptx_var *v, ptx_type *type, int *vector) {
  *vector = 1;
  while (p->token.kind == PTX_WORD && p->token.text[0] == '.') {
    const char *word = p->token.text;
    int64_t n;
    ptx__next(p);
    if (strcmp(word, ".align") == 0) {
      if (ptx__expect_int(p, &n) != 0) return -1;
      if (n < 1 || n > 4096 || (n & (n - 1))) return ptx__fail(p, ".align needs a power of two up to 4096");
      if (!v->align || type->bits == 0) v->align = (uint32_t)n;
    } else if (strcmp(word, ".ptr") == 0) { /* .ptr .global .align 16: of what the parameter points to */
      if (ptx__is_word(p, ".global") || ptx__is_word(p, ".const") || ptx__is_word(p, ".shared") || ptx__is_word(p, ".local"))
        ptx__next(p);
      if (ptx__is_word(p, ".align")) {
        ptx__next(p);
        if (ptx__expect_int(p, &n) != 0) return -1;
      }
    } else if (strcmp(word, ".v2") == 0 || strcmp(word, ".v4") == 0) {
      *vector = word[2] - '0';
    } else if (strcmp(word, ".attribute") == 0) {
      while (!ptx__is(p, ')') && p->token.kind != PTX_END) ptx__next(p);
      if (ptx__expect(p, ')') != 0) return -1;
    } else if (ptx__type_of(word).bits) {
      *type = ptx__type_of(word);
    } else {
      return ptx__error(p->module, p->token.line, "%s is not known in a declaration", word);
    }
  }
  return 0;
}

ptx_var *ptx__parse_var(ptx_parser *p, ptx_space space, int list) {
  ptx_var *v = sim__arena_alloc(&p->module->arena, sizeof *v);
  ptx_type type = {PTX_BITS, 0, 0};
  int vector, open;
  uint64_t count;
  v->space = space;
  v->line = p->token.line;
  v->owner = p->function;
  if (attributes(p, v, &type, &vector) != 0) return NULL;
  if (type.bits < 8) return ptx__fail(p, "a variable without a type of whole bytes"), NULL;
  if (p->token.kind != PTX_WORD) return ptx__fail(p, "a variable's name is missing"), NULL;
  v->name = p->token.text;
  ptx__next(p);
  if (elements_of(p, &count, &open) != 0) return NULL;
  const uint64_t unit = (uint64_t)type.bits / 8 * (uint64_t)vector;
  if (!v->align) v->align = (uint32_t)unit;
  if (count > ((uint64_t)1 << 40) / unit) return ptx__fail(p, "a variable of more than 2^40 bytes"), NULL;
  v->bytes = unit * count;
  if (open) v->external = 1;
  if (!list && ptx__accept(p, '=')) {
    if (v->bytes > ((uint64_t)1 << 30)) return ptx__fail(p, "an initialised variable of more than 2^30 bytes"), NULL;
    v->initial = sim__arena_alloc(&p->module->arena, v->bytes);
    uint64_t at = 0;
    if (initial_values(p, v, type, &at) != 0) return NULL;
  }
  return v;
}
