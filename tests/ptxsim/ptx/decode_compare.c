/* decode_compare.c -- setp and set: one comparison, its combination with a predicate, and what becomes of the result. */
#include "ptx/decode.h"

#include <stdio.h>

static const char *const compares[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi", "hs",
                                       "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", NULL};
static const char *const bools[] = {"and", "or", "xor", NULL};

typedef struct comparison {
  int combine; /* of `bools`; -1: none */
  ptx_type type;
  char letter, row[48];
} comparison;

/* What is compared, how, and the row that does it: a predicate, or a mask of 16 bits for each half of pairs. */
static int take_comparison(ptx_decoder *d, comparison *c) {
  const char *type_name = "";
  c->combine = ptx__take_any(d, bools);
  const int compare = ptx__take_any(d, compares), ftz = ptx__take(d, "ftz");
  c->type = ptx__take_type(d);
  if (compare < 0 || c->type.bits == 0) return ptx__bad(d, "a comparison and a type are needed");
  for (int k = 0; k < d->s->n_modifiers; k++)
    if (ptx__type_of(d->s->modifiers[k]).bits) type_name = d->s->modifiers[k];
  const int real = c->type.base == PTX_REAL && !c->type.pair && c->type.bits >= 32;
  c->letter = !real ? ptx__letter(c->type.bits) : c->type.bits == 64 ? 'g' : 'f';
  snprintf(c->row, sizeof c->row, "set%s.%s%s%s.%s", c->type.pair ? "" : "p", compares[compare], ftz ? ".ftz" : "",
           c->type.pair ? ".u32" : "", type_name);
  if (!sim__alu_find(c->row)) return ptx__bad(d, "the comparison %s is not known", c->row);
  if (ptx__all_taken(d) != 0) return -1;
  return ptx__count(d, c->combine < 0 ? 3 : 4, c->combine < 0 ? 3 : 4);
}

static int take_sources(ptx_decoder *d, const comparison *c, uint32_t *a, uint32_t *b, uint32_t *with) {
  *with = 0;
  if (ptx__source(d, &d->s->operands[1], c->letter, a) != 0 || ptx__source(d, &d->s->operands[2], c->letter, b) != 0) return -1;
  return c->combine >= 0 ? ptx__source(d, &d->s->operands[3], 'p', with) : 0;
}

static int emit_compare(ptx_decoder *d, const comparison *c, uint32_t dst, uint32_t a, uint32_t b) {
  if (ptx__emit_alu(d, c->row, dst, a, b, 0) != 0) return -1;
  d->code[d->n_code - 1].uncounted = 0;
  return 0;
}

static int emit_combine(ptx_decoder *d, const comparison *c, const char *type, uint32_t dst, uint32_t a, uint32_t b) {
  char name[16];
  snprintf(name, sizeof name, "%s.%s", bools[c->combine], type);
  return ptx__emit_alu(d, name, dst, a, b, 0);
}

/* p = x, q = y (q 0: p alone). The guard may be either; it is written last. */
static int write_predicates(ptx_decoder *d, uint32_t p, uint32_t x, uint32_t q, uint32_t y) {
  const uint32_t guard = d->s->guard ? 1 + (uint32_t)d->s->guard->id : 0;
  if (q && guard == p)
    return ptx__emit_alu(d, "mov.p1", q, y, 0, 0) != 0 || ptx__emit_alu(d, "mov.p1", p, x, 0, 0) != 0 ? -1 : 0;
  if (ptx__emit_alu(d, "mov.p1", p, x, 0, 0) != 0) return -1;
  return q ? ptx__emit_alu(d, "mov.p1", q, y, 0, 0) : 0;
}

/* The halves of a mask as predicates: x the lower one's, y the upper one's. */
static int split_mask(ptx_decoder *d, uint32_t mask, uint32_t x, uint32_t y) {
  const uint32_t low = ptx__temporary(d, 32), high = ptx__temporary(d, 32);
  return ptx__emit_alu(d, "and.b32", low, mask, ptx__constant(d, 32, 0xFFFF), 0) != 0 ||
                 ptx__emit_alu(d, "shr.u32", high, mask, ptx__constant(d, 32, 16), 0) != 0 ||
                 ptx__emit_alu(d, "setp.ne.s32", x, low, 0, 0) != 0 || ptx__emit_alu(d, "setp.ne.s32", y, high, 0, 0) != 0
             ? -1
             : 0;
}

/* setp.CMP{.BOOL}.TYPE p{|q}, a, b{, c}: q is for what does not hold, and for the upper half of pairs. */
static int decode_setp(ptx_decoder *d) {
  comparison c;
  uint32_t p, q = 0, a, b, with;
  if (take_comparison(d, &c) != 0) return -1;
  const ptx_operand *to = &d->s->operands[0];
  const int two = to->kind == PTX_O_PAIR;
  if (ptx__dest(d, two ? &to->elements[0] : to, 'p', &p) != 0) return -1;
  if (two && ptx__dest(d, &to->elements[1], 'p', &q) != 0) return -1;
  if (take_sources(d, &c, &a, &b, &with) != 0) return -1;
  if (c.type.pair && !two) return ptx__bad(d, "a comparison of pairs needs p|q");
  const uint32_t guard = d->s->guard ? 1 + (uint32_t)d->s->guard->id : 0;
  if (!two && c.combine < 0 && guard != p) return emit_compare(d, &c, p, a, b);
  /* the guard or c may be a destination: both results come before either is written */
  const uint32_t x = ptx__temporary(d, 1), y = two ? ptx__temporary(d, 1) : 0;
  if (c.type.pair) {
    const uint32_t mask = ptx__temporary(d, 32);
    if (emit_compare(d, &c, mask, a, b) != 0 || split_mask(d, mask, x, y) != 0) return -1;
  } else {
    if (emit_compare(d, &c, x, a, b) != 0 || (two && ptx__emit_alu(d, "not.pred", y, x, 0, 0) != 0)) return -1;
  }
  if (c.combine >= 0)
    if (emit_combine(d, &c, "pred", x, x, with) != 0 || (two && emit_combine(d, &c, "pred", y, y, with) != 0)) return -1;
  return write_predicates(d, p, x, q, y);
}

/* Which results of set go with which sources. */
static int set_allowed(ptx_type to, ptx_type from) {
  const int whole = to.base == PTX_SIGNED || to.base == PTX_UNSIGNED;
  const int of_halves = from.bits == 16 && (from.base == PTX_REAL || from.base == PTX_BFLOAT);
  if (to.pair) return !whole && from.pair && from.base == to.base;
  if (whole && to.bits == 32) return 1;
  if (from.pair) return 0;
  if (whole) return to.bits == 16 && of_halves;
  if (to.base == PTX_BFLOAT) return 1;
  if (to.base != PTX_REAL) return 0;
  return to.bits == 16 ? from.base != PTX_BFLOAT : to.bits == 32 && !of_halves;
}

/* What set gives where the comparison holds: 1.0, or all ones. */
static uint64_t set_value(ptx_type to) {
  const uint64_t half = to.base == PTX_BFLOAT ? 0x3F80 : 0x3C00;
  if (to.base == PTX_SIGNED || to.base == PTX_UNSIGNED) return to.bits == 16 ? 0xFFFF : 0xFFFFFFFF;
  return to.pair ? half << 16 | half : to.bits == 16 ? half : 0x3F800000;
}

/* Pairs: the mask itself for whole numbers, what it leaves of two 1.0 for floats. */
static int set_halves(ptx_decoder *d, const comparison *c, ptx_type to, uint32_t dst, uint32_t a, uint32_t b, uint32_t with) {
  const uint32_t mask = ptx__temporary(d, 32);
  if (emit_compare(d, c, mask, a, b) != 0) return -1;
  if (c->combine >= 0) {
    const uint32_t both = ptx__temporary(d, 32);
    if (ptx__emit_alu(d, "selp.b32", both, ptx__constant(d, 32, 0xFFFFFFFF), 0, with) != 0) return -1;
    if (emit_combine(d, c, "b32", mask, mask, both) != 0) return -1;
  }
  return ptx__emit_alu(d, "and.b32", dst, mask, ptx__constant(d, 32, set_value(to)), 0);
}

/* set.CMP{.BOOL}.RESULT.TYPE d, a, b{, c} */
static int decode_set(ptx_decoder *d) {
  comparison c;
  uint32_t dst, a, b, with;
  const ptx_type to = ptx__take_type(d);
  if (take_comparison(d, &c) != 0) return -1;
  if (!set_allowed(to, c.type)) return ptx__bad(d, "set does not give this type from that one");
  if (ptx__dest(d, &d->s->operands[0], to.bits == 16 ? 'h' : 'w', &dst) != 0) return -1;
  if (take_sources(d, &c, &a, &b, &with) != 0) return -1;
  if (c.type.pair) return set_halves(d, &c, to, dst, a, b, with);
  const uint32_t holds = ptx__temporary(d, 1);
  if (emit_compare(d, &c, holds, a, b) != 0) return -1;
  if (c.combine >= 0 && emit_combine(d, &c, "pred", holds, holds, with) != 0) return -1;
  return ptx__emit_alu(d, "selp.b32", dst, ptx__constant(d, 32, set_value(to)), 0, holds);
}

const ptx_decode_row ptx__decode_compare[] = {{"setp", decode_setp}, {"set", decode_set}, {0}};
