/* operand.c -- what stands behind an opcode. */
#include "ptx/parser.h"

#include <string.h>

enum { MAX_ELEMENTS = 256 };

static int parse_elements(ptx_parser *p, char close, ptx_operand *out) {
  ptx_operand found[MAX_ELEMENTS];
  int n = 0;
  while (!ptx__is(p, close)) {
    if (n == MAX_ELEMENTS) return ptx__fail(p, "too many elements");
    if (ptx__parse_operand(p, &found[n++]) != 0) return -1;
    if (!ptx__accept(p, ',')) break;
  }
  out->elements = sim__arena_alloc(&p->module->arena, (size_t)(n ? n : 1) * sizeof *found);
  memcpy(out->elements, found, (size_t)n * sizeof *found);
  out->n_elements = n;
  return ptx__expect(p, close);
}

/* "+ 8", "+-4", "-4" behind an address or a variable. */
static int parse_offset(ptx_parser *p, int64_t *offset) {
  *offset = 0;
  while (ptx__is(p, '+') || ptx__is(p, '-')) {
    int minus = ptx__is(p, '-');
    ptx__next(p);
    if (ptx__accept(p, '-')) minus = !minus;
    if (p->token.kind != PTX_INT) return ptx__fail(p, "an offset must be a number");
    const int64_t value = (int64_t)p->token.value;
    *offset += minus ? -value : value;
    ptx__next(p);
  }
  return 0;
}

static int parse_memory(ptx_parser *p, ptx_operand *out) {
  out->kind = PTX_O_MEMORY;
  out->elements = sim__arena_alloc(&p->module->arena, 2 * sizeof *out->elements);
  out->n_elements = 1;
  if (ptx__parse_operand(p, &out->elements[0]) != 0) return -1;
  if (ptx__accept(p, ',')) {
    out->n_elements = 2;
    if (ptx__parse_operand(p, &out->elements[1]) != 0) return -1;
  } else if (parse_offset(p, &out->offset) != 0) {
    return -1;
  }
  return ptx__expect(p, ']');
}

static int parse_word(ptx_parser *p, ptx_operand *out) {
  out->name = p->token.text;
  ptx__next(p);
  if (strcmp(out->name, "_") == 0) {
    out->kind = PTX_O_SINK;
    return 0;
  }
  if (strcmp(out->name, "WARP_SZ") == 0) {
    out->kind = PTX_O_INT;
    out->value = 32;
    return 0;
  }
  if ((out->reg = ptx__find_reg(p->scope, out->name))) {
    out->kind = PTX_O_REG;
    return 0;
  }
  if (ptx__is_special(out->name)) {
    out->kind = PTX_O_SPECIAL;
    return 0;
  }
  if ((out->var = ptx__find_scoped_var(p->scope, out->name))) {
    out->kind = PTX_O_VAR;
    return parse_offset(p, &out->offset);
  }
  out->kind = PTX_O_NAME;
  if (out->name[0] == '%') return ptx__error(p->module, p->token.line, "%s is no register that was declared", out->name);
  return 0;
}

int ptx__parse_operand(ptx_parser *p, ptx_operand *out) {
  *out = (ptx_operand){0};
  if (ptx__accept(p, '{')) {
    out->kind = PTX_O_VECTOR;
    return parse_elements(p, '}', out);
  }
  if (ptx__accept(p, '(')) {
    out->kind = PTX_O_LIST;
    return parse_elements(p, ')', out);
  }
  if (ptx__accept(p, '[')) return parse_memory(p, out);
  if (ptx__accept(p, '!')) out->negated = 1;
  const int minus = ptx__accept(p, '-');
  if (!minus) ptx__accept(p, '+');
  if (p->token.kind == PTX_INT) {
    out->kind = PTX_O_INT;
    out->value = minus ? 0 - p->token.value : p->token.value;
    ptx__next(p);
    return 0;
  }
  if (p->token.kind == PTX_FLOAT) {
    out->kind = PTX_O_FLOAT;
    out->float_bits = p->token.float_bits;
    out->value = p->token.value ^ (minus ? (uint64_t)1 << (p->token.float_bits - 1) : 0);
    ptx__next(p);
    return 0;
  }
  if (minus || p->token.kind != PTX_WORD) return ptx__fail(p, "an operand is missing or wrong");
  if (parse_word(p, out) != 0) return -1;
  if (ptx__accept(p, '|')) {
    ptx_operand *pair = sim__arena_alloc(&p->module->arena, 2 * sizeof *pair);
    pair[0] = *out;
    if (ptx__parse_operand(p, &pair[1]) != 0) return -1;
    *out = (ptx_operand){.kind = PTX_O_PAIR, .elements = pair, .n_elements = 2};
  }
  return 0;
}
