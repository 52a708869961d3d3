/* decode_operand.c -- modifiers and operands of one statement. */
#include "ptx/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ptx__bad(ptx_decoder *d, const char *format, ...) {
  char why[400];
  va_list list;
  va_start(list, format);
  vsnprintf(why, sizeof why, format, list);
  va_end(list);
  return ptx__error(d->module, d->s->line, "%s", why);
}

/* ---- modifiers
 * ---------------------------------------------------------------------------------------------------------------------- */

int ptx__take(ptx_decoder *d, const char *word) {
  for (int i = 0; i < d->s->n_modifiers; i++)
    if (!(d->used >> i & 1) && strcmp(d->s->modifiers[i], word) == 0) {
      d->used |= 1u << i;
      return 1;
    }
  return 0;
}

int ptx__take_any(ptx_decoder *d, const char *const *words) {
  for (int i = 0; words[i]; i++)
    if (ptx__take(d, words[i])) return i;
  return -1;
}

ptx_type ptx__take_type(ptx_decoder *d) {
  for (int i = 0; i < d->s->n_modifiers; i++) {
    const ptx_type type = ptx__type_of(d->s->modifiers[i]);
    if (!(d->used >> i & 1) && type.bits) {
      d->used |= 1u << i;
      return type;
    }
  }
  return (ptx_type){PTX_BITS, 0, 0};
}

int ptx__all_taken(ptx_decoder *d) {
  for (int i = 0; i < d->s->n_modifiers; i++)
    if (!(d->used >> i & 1)) return ptx__bad(d, "the modifier .%s is not known here", d->s->modifiers[i]);
  return 0;
}

int ptx__count(ptx_decoder *d, int low, int high) {
  const int n = d->s->n_operands;
  if (n >= low && n <= high) return 0;
  if (low == high) return ptx__bad(d, "%d operands where %d are needed", n, low);
  return ptx__bad(d, "%d operands where %d to %d are needed", n, low, high);
}

/* ---- constants and registers
 * -------------------------------------------------------------------------------------------------------- */

uint32_t ptx__constant_of(ptx_decoder *d, sim_constant c) {
  for (size_t i = 0; i < d->n_constants; i++) {
    const sim_constant *old = &d->constants[i];
    if (old->bits == c.bits && old->special == c.special && old->value == c.value && old->var == c.var)
      return DECODE_CONSTANT | (uint32_t)i;
  }
  d->constants = sim__grow(d->constants, d->n_constants, &d->constants_room, sizeof *d->constants);
  d->constants[d->n_constants] = c;
  return DECODE_CONSTANT | (uint32_t)d->n_constants++;
}

uint32_t ptx__constant(ptx_decoder *d, int bits, uint64_t value) {
  if (bits < 64) value &= ((uint64_t)1 << bits) - 1;
  return ptx__constant_of(d, (sim_constant){.bits = (uint8_t)(bits == 64 ? 64 : bits == 1 ? 1 : 32), .value = value});
}

static uint8_t class_of_bits(int bits) {
  return bits == 1 ? 0 : bits == 64 ? 2 : 1;
}

uint32_t ptx__temporary(ptx_decoder *d, int bits) {
  d->reg_class = sim__grow(d->reg_class, d->n_regs, &d->regs_room, 1);
  d->reg_class[d->n_regs] = class_of_bits(bits);
  return 1 + (uint32_t)d->n_regs++;
}

int ptx__ref_class(const ptx_decoder *d, uint32_t ref) {
  if (ref & DECODE_CONSTANT) return class_of_bits(d->constants[ref & ~DECODE_CONSTANT].bits);
  return ref == 0 ? 1 : d->reg_class[ref - 1];
}

static const struct {
  const char *name;
  uint8_t special, bits;
} specials[] = {{"%tid.x", SIM_S_TID_X, 32},
                {"%tid.y", SIM_S_TID_Y, 32},
                {"%tid.z", SIM_S_TID_Z, 32},
                {"%ntid.x", SIM_S_NTID_X, 32},
                {"%ntid.y", SIM_S_NTID_Y, 32},
                {"%ntid.z", SIM_S_NTID_Z, 32},
                {"%ctaid.x", SIM_S_CTAID_X, 32},
                {"%ctaid.y", SIM_S_CTAID_Y, 32},
                {"%ctaid.z", SIM_S_CTAID_Z, 32},
                {"%nctaid.x", SIM_S_NCTAID_X, 32},
                {"%nctaid.y", SIM_S_NCTAID_Y, 32},
                {"%nctaid.z", SIM_S_NCTAID_Z, 32},
                {"%laneid", SIM_S_LANEID, 32},
                {"%warpid", SIM_S_WARPID, 32},
                {"%nwarpid", SIM_S_NWARPID, 32},
                {"%smid", SIM_S_SMID, 32},
                {"%nsmid", SIM_S_NSMID, 32},
                {"%gridid", SIM_S_GRIDID, 64},
                {"%lanemask_eq", SIM_S_MASK_EQ, 32},
                {"%lanemask_le", SIM_S_MASK_LE, 32},
                {"%lanemask_lt", SIM_S_MASK_LT, 32},
                {"%lanemask_ge", SIM_S_MASK_GE, 32},
                {"%lanemask_gt", SIM_S_MASK_GT, 32},
                {"%dynamic_smem_size", SIM_S_DYNAMIC_SMEM, 32},
                {"%total_smem_size", SIM_S_TOTAL_SMEM, 32},
                {"%clusterid.x", SIM_S_CTAID_X, 32},
                {"%clusterid.y", SIM_S_CTAID_Y, 32},
                {"%clusterid.z", SIM_S_CTAID_Z, 32},
                {"%nclusterid.x", SIM_S_NCTAID_X, 32},
                {"%nclusterid.y", SIM_S_NCTAID_Y, 32},
                {"%nclusterid.z", SIM_S_NCTAID_Z, 32},
                {"%cluster_ctaid.x", SIM_S_ZERO, 32},
                {"%cluster_ctaid.y", SIM_S_ZERO, 32},
                {"%cluster_ctaid.z", SIM_S_ZERO, 32},
                {"%cluster_nctaid.x", SIM_S_ONE, 32},
                {"%cluster_nctaid.y", SIM_S_ONE, 32},
                {"%cluster_nctaid.z", SIM_S_ONE, 32},
                {"%cluster_ctarank", SIM_S_ZERO, 32},
                {"%cluster_nctarank", SIM_S_ONE, 32},
                {"%clock", SIM_S_CLOCK, 32},
                {"%clock64", SIM_S_CLOCK64, 64},
                {"%clock_hi", SIM_S_CLOCK_HI, 32},
                {"%globaltimer", SIM_S_TIMER, 64},
                {"%globaltimer_lo", SIM_S_TIMER_LO, 32},
                {"%globaltimer_hi", SIM_S_TIMER_HI, 32}};

static int special_ref(ptx_decoder *d, const char *name, uint32_t *ref, int *bits) {
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
    if (strcmp(specials[i].name, name) == 0) {
      if (specials[i].special >= SIM_S_CLOCK && specials[i].special <= SIM_S_TIMER_HI)
        return ptx__bad(d, "%s can be read by mov alone", name);
      *bits = specials[i].bits;
      *ref = ptx__constant_of(d, (sim_constant){.bits = specials[i].bits, .special = specials[i].special});
      return 0;
    }
  return ptx__bad(d, "the special register %s is not known", name);
}

/* The address of a variable as a value; 64 bits, or 32 for shared and local offsets. */
static int var_ref(ptx_decoder *d, const ptx_operand *o, int bits, uint32_t *ref) {
  const ptx_var *v = o->var;
  sim_constant c = {.bits = (uint8_t)bits, .special = SIM_S_VAR, .value = (uint64_t)o->offset, .var = v};
  const int in_frame = v->space == PTX_LOCAL || (v->space == PTX_PARAM && !v->of_kernel);
  if (v->space == PTX_SHARED) {
    c = (sim_constant){.bits = (uint8_t)bits, .value = v->offset + (uint64_t)o->offset};
  } else if (in_frame) {
    c = (sim_constant){.bits = (uint8_t)bits, .special = SIM_S_LOCAL, .value = v->offset + (uint64_t)o->offset};
  } else if (v->of_kernel) {
    c = (sim_constant){.bits = (uint8_t)bits, .value = v->offset + (uint64_t)o->offset};
  } else if (bits == 32) {
    return ptx__bad(d, "the address of %s does not fit 32 bits", v->name);
  }
  *ref = ptx__constant_of(d, c);
  return 0;
}

static const char *letter_text(char letter) {
  switch (letter) {
  case 'p':
    return "a predicate";
  case 'h':
    return "16 bits";
  case 'd':
  case 'g':
    return "64 bits";
  default:
    return "32 bits";
  }
}

char ptx__letter(int bits) {
  return bits == 1 ? 'p' : bits == 16 ? 'h' : bits == 64 ? 'd' : 'w';
}

static int letter_bits(char letter) {
  return letter == 'p' ? 1 : letter == 'h' ? 16 : letter == 'd' || letter == 'g' ? 64 : 32;
}

static int immediate_bits(ptx_decoder *d, const ptx_operand *o, int bits, int real, uint64_t *value) {
  *value = o->value;
  if (o->kind == PTX_O_INT) {
    if (real) return ptx__bad(d, "a whole number where a float such as 0f3F800000 or 1.0 is needed");
    return 0;
  }
  if (o->float_bits == bits) return 0;
  if (o->float_bits == 64 && bits == 32) {
    double x;
    memcpy(&x, &o->value, 8);
    const float y = (float)x;
    uint32_t u;
    memcpy(&u, &y, 4);
    *value = u;
    return 0;
  }
  return ptx__bad(d, "a float of %d bits where %d are needed", o->float_bits, bits);
}

int ptx__source(ptx_decoder *d, const ptx_operand *o, char letter, uint32_t *ref) {
  const int bits = letter_bits(letter);
  uint64_t value;
  int found;
  switch (o->kind) {
  case PTX_O_REG:
    if (o->reg->type.bits != bits) return ptx__bad(d, "%s is no register of %s", o->name, letter_text(letter));
    *ref = 1 + (uint32_t)o->reg->id;
    if (o->negated) {
      if (letter != 'p') return ptx__bad(d, "! needs a predicate");
      *ref = ptx__temporary(d, 1);
      return ptx__emit_alu(d, "not.pred", *ref, 1 + (uint32_t)o->reg->id, 0, 0);
    }
    return 0;
  case PTX_O_INT:
  case PTX_O_FLOAT:
    if (immediate_bits(d, o, bits, letter == 'f' || letter == 'g', &value) != 0) return -1;
    *ref = ptx__constant(d, bits, bits == 1 ? (value ? 1 : 0) : value);
    return 0;
  case PTX_O_SPECIAL:
    if (special_ref(d, o->name, ref, &found) != 0) return -1;
    return found == bits ? 0 : ptx__bad(d, "%s is no register of %s", o->name, letter_text(letter));
  case PTX_O_VAR:
    if (bits < 32) return ptx__bad(d, "an address does not fit %d bits", bits);
    return var_ref(d, o, bits, ref);
  case PTX_O_NAME:
    return ptx__bad(d, "%s is not declared", o->name);
  default:
    return ptx__bad(d, "an operand of a kind that %s does not take", d->s->text);
  }
}

int ptx__dest(ptx_decoder *d, const ptx_operand *o, char letter, uint32_t *ref) {
  const int bits = letter_bits(letter);
  if (o->kind == PTX_O_SINK) {
    *ref = ptx__temporary(d, bits);
    return 0;
  }
  if (o->kind != PTX_O_REG || o->negated) return ptx__bad(d, "the destination must be a register");
  if (o->reg->type.bits != bits) return ptx__bad(d, "%s is no register of %s", o->name, letter_text(letter));
  *ref = 1 + (uint32_t)o->reg->id;
  return 0;
}

int ptx__source_any(ptx_decoder *d, const ptx_operand *o, ptx_type type, int *bits, uint32_t *ref) {
  if (o->kind == PTX_O_REG && !o->negated) {
    if (o->reg->type.bits < type.bits && !(type.bits == 8 && o->reg->type.bits == 16))
      return ptx__bad(d, "%s is narrower than %d bits", o->name, type.bits);
    if (o->reg->type.base == PTX_PRED) return ptx__bad(d, "%s is a predicate", o->name);
    if (o->reg->type.bits > 64) return ptx__bad(d, "%s has 128 bits: .b128 is needed", o->name);
    *bits = o->reg->type.bits;
    *ref = 1 + (uint32_t)o->reg->id;
    return 0;
  }
  if (o->kind == PTX_O_SPECIAL) return special_ref(d, o->name, ref, bits);
  *bits = type.bits < 32 ? 32 : type.bits;
  if (o->kind == PTX_O_INT && type.base != PTX_REAL) {
    *ref = ptx__constant(d, *bits, o->value);
    return 0;
  }
  const int real = type.bits >= 32 && type.base == PTX_REAL && !type.pair;
  return ptx__source(d, o, type.bits == 64 ? (real ? 'g' : 'd') : real ? 'f' : 'w', ref);
}

int ptx__dest_any(ptx_decoder *d, const ptx_operand *o, int *bits, uint32_t *ref) {
  if (o->kind == PTX_O_SINK) {
    *bits = *bits < 32 ? 32 : *bits;
    *ref = ptx__temporary(d, *bits);
    return 0;
  }
  if (o->kind != PTX_O_REG || o->negated || o->reg->type.base == PTX_PRED)
    return ptx__bad(d, "the destination must be a register of numbers");
  if (o->reg->type.bits < *bits && !(*bits == 8)) return ptx__bad(d, "%s is narrower than %d bits", o->name, *bits);
  if (o->reg->type.bits > 64) return ptx__bad(d, "%s has 128 bits: .b128 is needed", o->name);
  *bits = o->reg->type.bits;
  *ref = 1 + (uint32_t)o->reg->id;
  return 0;
}

int ptx__immediate(ptx_decoder *d, const ptx_operand *o, int64_t *value) {
  if (o->kind != PTX_O_INT) return ptx__bad(d, "a number is needed that is known before the run");
  *value = (int64_t)o->value;
  return 0;
}

/* ---- addresses
 * ---------------------------------------------------------------------------------------------------------------------- */

int ptx__address(ptx_decoder *d, const ptx_operand *o, int space, uint32_t *ref) {
  if (o->kind != PTX_O_MEMORY || o->n_elements != 1) return ptx__bad(d, "an address in [ ] is needed");
  const ptx_operand *e = &o->elements[0];
  sim_insn *i = &d->insn;
  i->offset = o->offset;
  *ref = 0;
  if (e->kind == PTX_O_REG) {
    if (e->reg->type.bits != 32 && e->reg->type.bits != 64) return ptx__bad(d, "%s is no register of 32 or 64 bits", e->name);
    i->address_kind = e->reg->type.bits == 64 ? SIM_A_REG64 : SIM_A_REG32;
    if (i->address_kind == SIM_A_REG32 && (space == PTX_GLOBAL || space == PTX_GENERIC))
      return ptx__bad(d, "an address of 32 bits, %s, in a module of 64-bit addresses", e->name);
    *ref = 1 + (uint32_t)e->reg->id;
    return 0;
  }
  if (e->kind == PTX_O_INT) {
    i->address_kind = SIM_A_REG64;
    *ref = ptx__constant(d, 64, e->value);
    return 0;
  }
  if (e->kind != PTX_O_VAR) return ptx__bad(d, "%s is not declared", e->name ? e->name : "the address");
  const ptx_space at = e->var->space;
  if (space == PTX_GENERIC && at != PTX_GLOBAL && at != PTX_CONST)
    return ptx__bad(d, "the generic address of %s must come from cvta", e->var->name);
  if (space != PTX_GENERIC && at != (ptx_space)space) return ptx__bad(d, "%s lies in another state space", e->var->name);
  if (e->var->of_kernel) {
    i->address_kind = SIM_A_CONST;
    i->offset += (int64_t)e->var->offset + e->offset;
    if (i->offset < 0) return ptx__bad(d, "an address before the parameters");
    return 0;
  }
  i->address_kind = at == PTX_SHARED || at == PTX_LOCAL || at == PTX_PARAM ? SIM_A_REG32 : SIM_A_REG64;
  if (at == PTX_PARAM) i->space = PTX_LOCAL; /* of a call or a device function: in the frame */
  return var_ref(d, e, i->address_kind == SIM_A_REG32 ? 32 : 64, ref);
}
