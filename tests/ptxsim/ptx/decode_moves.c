/* decode_moves.c -- mov, cvta, cvt, carries, lop3: what the tables of full names do not cover. */
#include "exec/convert.h"
#include "exec/steps.h"
#include "ptx/decode.h"

#include <stdio.h>
#include <string.h>

/* ---- mov
 * ------------------------------------------------------------------------------------------------------------------------------
 */

static int clock_special(const char *name) {
  static const struct {
    const char *name;
    int special;
  } clocks[] = {{"%clock", SIM_S_CLOCK},       {"%clock64", SIM_S_CLOCK64},         {"%clock_hi", SIM_S_CLOCK_HI},
                {"%globaltimer", SIM_S_TIMER}, {"%globaltimer_lo", SIM_S_TIMER_LO}, {"%globaltimer_hi", SIM_S_TIMER_HI}};
  for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
    if (strcmp(clocks[i].name, name) == 0) return clocks[i].special;
  return 0;
}

/* mov.b32 %r, {%h0, %h1}: parts, the lowest first. */
static int move_pack(ptx_decoder *d, const ptx_operand *from, int bits) {
  const int n = from->n_elements, part = n ? bits / n : 0;
  if ((n != 2 && n != 4) || (part != 16 && part != 32 && part != 8))
    return ptx__bad(d, "a vector of %d parts for %d bits", n, bits);
  if (part == 8) return ptx__bad(d, "parts of 8 bits are not known here");
  uint32_t dst, src;
  char name[16];
  if (ptx__dest(d, &d->s->operands[0], ptx__letter(bits), &dst) != 0) return -1;
  snprintf(name, sizeof name, "pack%dx%d", n, part);
  const sim_alu_row *row = sim__alu_find(name);
  if (!row) return ptx__bad(d, "the simulator lacks %s", name);
  uint32_t parts[4] = {0};
  for (int k = 0; k < n; k++) {
    if (ptx__source(d, &from->elements[k], ptx__letter(part), &src) != 0) return -1;
    parts[k] = src;
  }
  ptx__begin(d);
  d->insn.alu = row->alu;
  d->insn.kind = SIM_ALU;
  d->insn.class = SIM_C_INTEGER;
  d->insn.flow = SIM_F_PACK;
  d->insn.from_bits = (uint8_t)part;
  d->insn.bits = (uint8_t)bits;
  d->insn.n_dst = 1;
  d->insn.n_src = (uint8_t)n;
  d->insn.o[0] = dst;
  d->insn.dst_wide = bits == 64;
  for (int k = 0; k < n; k++) d->insn.o[2 + k] = parts[k];
  ptx__emit(d);
  return 0;
}

/* mov.b32 {%h0, %h1}, %r: one instruction for each part; the first that overwrote the source would be wrong, so it is kept
 * apart. */
static int move_unpack(ptx_decoder *d, const ptx_operand *to, int bits) {
  const int n = to->n_elements, part = n ? bits / n : 0;
  if ((n != 2 && n != 4) || (part != 16 && part != 32)) return ptx__bad(d, "a vector of %d parts for %d bits", n, bits);
  uint32_t src;
  if (ptx__source(d, &d->s->operands[1], ptx__letter(bits), &src) != 0) return -1;
  char name[16];
  snprintf(name, sizeof name, "part%dof%d", part, bits);
  const sim_alu_row *row = sim__alu_find(name);
  if (!row) return ptx__bad(d, "the simulator lacks %s", name);
  int counted = 0, last = -1;
  for (int k = 0; k < n; k++) { /* a part that is the source itself goes last */
    const ptx_operand *e = &to->elements[k];
    if (e->kind == PTX_O_REG && 1 + (uint32_t)e->reg->id == src) last = k;
  }
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < n; k++) {
      if ((k == last) != (pass == 1) || to->elements[k].kind == PTX_O_SINK) continue;
      uint32_t dst;
      if (ptx__dest(d, &to->elements[k], ptx__letter(part), &dst) != 0) return -1;
      ptx__begin(d);
      d->insn.alu = row->alu;
      d->insn.kind = SIM_ALU;
      d->insn.class = SIM_C_INTEGER;
      d->insn.flow = SIM_F_UNPACK;
      d->insn.bits = (uint8_t)part;
      d->insn.from_bits = (uint8_t)bits;
      d->insn.n_dst = d->insn.n_src = 1;
      d->insn.o[0] = dst;
      d->insn.o[2] = src;
      d->insn.src_wide = bits == 64;
      d->insn.offset = k * part;
      d->insn.uncounted = (uint8_t)(counted++ > 0);
      ptx__emit(d);
    }
  return 0;
}

static int find_routine(const ptx_decoder *d, const char *name) {
  for (int i = 0; i < d->n_reachable; i++)
    if (strcmp(d->reachable[i]->name, name) == 0) return i;
  return -1;
}

static int decode_mov(ptx_decoder *d) {
  const ptx_type type = ptx__take_type(d);
  if (type.bits == 0 || type.bits == 8) return ptx__bad(d, "mov needs a type of 16, 32, 64 or 128 bits or .pred");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 2, 2) != 0) return -1;
  const ptx_operand *to = &d->s->operands[0], *from = &d->s->operands[1];
  if (type.bits == 128) return ptx__move_wide(d, to, from);
  if (from->kind == PTX_O_VECTOR) return move_pack(d, from, type.bits);
  if (to->kind == PTX_O_VECTOR) return move_unpack(d, to, type.bits);
  uint32_t dst, src;
  if (ptx__dest(d, to, ptx__letter(type.bits), &dst) != 0) return -1;
  if (from->kind == PTX_O_SPECIAL && clock_special(from->name)) {
    ptx__set_step(d, sim__step_clock, SIM_STEP, SIM_C_INTEGER);
    d->insn.op = (uint8_t)clock_special(from->name);
    ptx__add_dst(d, dst);
    ptx__emit(d);
    return 0;
  }
  if (from->kind == PTX_O_NAME && find_routine(d, from->name) >= 0 && type.bits == 64)
    src = ptx__constant(d, 64, SIM_WINDOW_CODE + (unsigned)find_routine(d, from->name));
  else if (ptx__source(d, from,
                       type.base == PTX_REAL && !type.pair && type.bits >= 32 && from->kind == PTX_O_FLOAT
                           ? (type.bits == 64 ? 'g' : 'f')
                           : ptx__letter(type.bits),
                       &src) != 0)
    return -1;
  char name[16];
  snprintf(name, sizeof name, "mov.%s%d", type.bits == 1 ? "p" : "b", type.bits);
  const sim_alu_row *row = sim__alu_find(name);
  ptx__begin(d);
  d->insn.alu = row->alu;
  d->insn.kind = SIM_ALU;
  d->insn.class = SIM_C_INTEGER;
  d->insn.flow = SIM_F_MOVE;
  d->insn.bits = (uint8_t)type.bits;
  d->insn.n_dst = d->insn.n_src = 1;
  d->insn.o[0] = dst;
  d->insn.o[2] = src;
  d->insn.dst_wide = d->insn.src_wide = type.bits == 64;
  ptx__emit(d);
  return 0;
}

/* ---- cvta
 * -------------------------------------------------------------------------------------------------------------------------------
 */

static int decode_cvta(ptx_decoder *d) {
  static const char *const spaces[] = {"global", "const", "shared", "shared::cta", "local", "param", NULL};
  static const uint64_t windows[] = {0, 0, SIM_WINDOW_SHARED, SIM_WINDOW_SHARED, SIM_WINDOW_LOCAL, SIM_WINDOW_PARAM};
  const int to = ptx__take(d, "to"), space = ptx__take_any(d, spaces);
  if (space < 0) return ptx__bad(d, "cvta needs a state space");
  if (!ptx__take(d, "u64")) return ptx__bad(d, "cvta needs .u64");
  ptx__take(d, "entry");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 2, 2) != 0) return -1;
  uint32_t dst, src;
  if (ptx__dest(d, &d->s->operands[0], 'd', &dst) != 0 || ptx__source(d, &d->s->operands[1], 'd', &src) != 0) return -1;
  /* a parameter of a device function lies in its frame */
  const ptx_operand *from = &d->s->operands[1];
  uint64_t window = windows[space];
  if (space == 5 && from->kind == PTX_O_VAR && !from->var->of_kernel) window = SIM_WINDOW_LOCAL;
  if (ptx__emit_alu(d, to ? "sub.s64" : "add.s64", dst, src, ptx__constant(d, 64, window), 0) != 0) return -1;
  d->code[d->n_code - 1].uncounted = 0;
  return 0;
}

/* ---- cvt
 * --------------------------------------------------------------------------------------------------------------------------------
 */

static int cvt_type(ptx_type t, int *out) {
  static const struct {
    ptx_base base;
    int bits, pair, type;
  } known[] = {{PTX_UNSIGNED, 8, 0, SIM_V_U8},   {PTX_UNSIGNED, 16, 0, SIM_V_U16},  {PTX_UNSIGNED, 32, 0, SIM_V_U32},
               {PTX_UNSIGNED, 64, 0, SIM_V_U64}, {PTX_SIGNED, 8, 0, SIM_V_S8},      {PTX_SIGNED, 16, 0, SIM_V_S16},
               {PTX_SIGNED, 32, 0, SIM_V_S32},   {PTX_SIGNED, 64, 0, SIM_V_S64},    {PTX_REAL, 16, 0, SIM_V_F16},
               {PTX_REAL, 32, 0, SIM_V_F32},     {PTX_REAL, 64, 0, SIM_V_F64},      {PTX_BFLOAT, 16, 0, SIM_V_BF16},
               {PTX_REAL, 32, 1, SIM_V_F16X2},   {PTX_BFLOAT, 32, 1, SIM_V_BF16X2}, {PTX_TF32, 32, 0, SIM_V_TF32}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].base == t.base && known[i].bits == t.bits && known[i].pair == t.pair) {
      *out = known[i].type;
      return 0;
    }
  return -1;
}

static int decode_cvt(ptx_decoder *d) {
  static const char *const roundings[] = {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna", NULL};
  const int rounding = ptx__take_any(d, roundings), ftz = ptx__take(d, "ftz"), sat = ptx__take(d, "sat");
  const int relu = ptx__take(d, "relu"), finite = ptx__take(d, "satfinite");
  const ptx_type to = ptx__take_type(d), from = ptx__take_type(d);
  int to_type, from_type;
  if (to.bits == 0 || from.bits == 0) return ptx__bad(d, "cvt needs two types that are known here");
  if (cvt_type(to, &to_type) != 0 || cvt_type(from, &from_type) != 0 || from_type == SIM_V_TF32)
    return ptx__bad(d, "cvt between such types is not known");
  if (ptx__all_taken(d) != 0) return -1;
  const char *why = sim__convert_allowed(to_type, from_type, rounding < 0 ? SIM_R_NONE : rounding, ftz, sat, relu, finite);
  if (why) return ptx__bad(d, "%s", why);
  const int pair = to.pair;
  if (ptx__count(d, pair ? 3 : 2, pair ? 3 : 2) != 0) return -1;
  int to_bits = to.bits, from_bits = from.bits;
  uint32_t dst, a, b = 0;
  if (ptx__dest_any(d, &d->s->operands[0], &to_bits, &dst) != 0) return -1;
  if (ptx__source_any(d, &d->s->operands[1], from, &from_bits, &a) != 0) return -1;
  if (pair && ptx__source_any(d, &d->s->operands[2], from, &from_bits, &b) != 0) return -1;
  ptx__begin(d);
  sim_insn *i = &d->insn;
  i->kind = SIM_ALU;
  i->class = SIM_C_CONVERT;
  i->type = (uint8_t)to_type;
  i->op = (uint8_t)from_type;
  i->order = (uint8_t)(rounding < 0 ? SIM_R_NONE : rounding);
  i->sign = (uint8_t)(ftz * SIM_V_FTZ + sat * SIM_V_SAT + relu * SIM_V_RELU + finite * SIM_V_FINITE);
  i->bits = (uint8_t)to_bits;
  i->from_bits = (uint8_t)from.bits;
  i->n_dst = 1;
  i->n_src = pair ? 2 : 1;
  i->o[0] = dst;
  i->o[2] = a;
  i->o[3] = b;
  i->dst_wide = ptx__ref_class(d, dst) == 2;
  i->src_wide = (uint8_t)((ptx__ref_class(d, a) == 2) | (pair && ptx__ref_class(d, b) == 2) << 1);
  sim__convert_choose(i);
  ptx__emit(d);
  return 0;
}

/* ---- lop3, carries
 * ---------------------------------------------------------------------------------------------------------------------- */

static int decode_lop3(ptx_decoder *d) {
  static const char *const bools[] = {"and", "or", NULL};
  const int combine = ptx__take_any(d, bools);
  if (!ptx__take(d, "b32")) return ptx__bad(d, "lop3 needs .b32");
  if (ptx__all_taken(d) != 0 || ptx__count(d, combine < 0 ? 5 : 6, combine < 0 ? 5 : 6) != 0) return -1;
  const ptx_operand *to = &d->s->operands[0];
  const int pair = to->kind == PTX_O_PAIR;
  if (pair != (combine >= 0)) return ptx__bad(d, "d|p goes with .and or .or");
  uint32_t dst, p = 0, src[3], q = 0;
  int64_t table;
  if (ptx__dest(d, pair ? &to->elements[0] : to, 'w', &dst) != 0) return -1;
  if (pair && ptx__dest(d, &to->elements[1], 'p', &p) != 0) return -1;
  for (int k = 0; k < 3; k++)
    if (ptx__source(d, &d->s->operands[1 + k], 'w', &src[k]) != 0) return -1;
  if (ptx__immediate(d, &d->s->operands[4], &table) != 0) return -1;
  if (table < 0 || table > 255) return ptx__bad(d, "lop3's table must be 0 .. 255");
  if (pair && ptx__source(d, &d->s->operands[5], 'p', &q) != 0) return -1;
  if (ptx__emit_alu(d, "lop3.b32", dst, src[0], src[1], src[2]) != 0) return -1;
  sim_insn *i = &d->code[d->n_code - 1];
  i->offset = table;
  i->uncounted = 0;
  if (!pair) return 0;
  const uint32_t t = ptx__temporary(d, 1);
  if (ptx__emit_alu(d, "setp.ne.s32", t, dst, 0, 0) != 0) return -1;
  return ptx__emit_alu(d, combine == 0 ? "and.pred" : "or.pred", p, t, q, 0);
}

/* add.cc, addc{.cc}, sub.cc, subc{.cc}, mad.{lo,hi}.cc, madc.{lo,hi}{.cc}: the carry is a predicate of the routine. */
static int decode_carry(ptx_decoder *d) {
  const char *op = d->s->opcode;
  const int out = ptx__take(d, "cc"), in = op[strlen(op) - 1] == 'c';
  const int mad = op[0] == 'm', low = mad && ptx__take(d, "lo"), high = mad && !low && ptx__take(d, "hi");
  if (!in && !out) return ptx__decode_alu(d);
  if (mad && !low && !high) return ptx__bad(d, "mad with a carry needs .lo or .hi");
  const ptx_type type = ptx__take_type(d);
  if ((type.bits != 32 && type.bits != 64) || (type.base != PTX_SIGNED && type.base != PTX_UNSIGNED))
    return ptx__bad(d, "carries need 32 or 64 bits");
  if (ptx__all_taken(d) != 0 || ptx__count(d, mad ? 4 : 3, mad ? 4 : 3) != 0) return -1;
  const char letter = type.bits == 64 ? 'd' : 'w';
  uint32_t dst, a, b, c = 0;
  if (ptx__dest(d, &d->s->operands[0], letter, &dst) != 0 || ptx__source(d, &d->s->operands[1], letter, &a) != 0 ||
      ptx__source(d, &d->s->operands[2], letter, &b) != 0 || (mad && ptx__source(d, &d->s->operands[3], letter, &c) != 0))
    return -1;
  if (!d->carry) d->carry = ptx__temporary(d, 1);
  if (mad) { /* the product first, then a sum with the carry */
    char name[24];
    snprintf(name, sizeof name, "mul.%s.%c%d", low ? "lo" : "hi", type.base == PTX_SIGNED ? 's' : 'u', type.bits);
    const uint32_t t = ptx__temporary(d, type.bits);
    if (ptx__emit_alu(d, name, t, a, b, 0) != 0) return -1;
    a = t;
    b = c;
  }
  char name[32];
  snprintf(name, sizeof name, "%s.carry.b%d", op[0] == 's' ? "sub" : "add", type.bits);
  const sim_alu_row *row = sim__alu_find(name);
  if (!row) return ptx__bad(d, "the simulator lacks %s", name);
  ptx__begin(d);
  sim_insn *i = &d->insn;
  i->alu = row->alu;
  i->kind = SIM_ALU;
  i->class = SIM_C_INTEGER;
  i->flow = SIM_F_ALL;
  i->n_dst = 2;
  i->n_src = 3;
  i->o[0] = dst;
  i->o[1] = out ? d->carry : ptx__temporary(d, 1);
  i->o[2] = a;
  i->o[3] = b;
  i->o[4] = in ? d->carry : ptx__constant(d, 1, 0);
  i->bits = (uint8_t)type.bits;
  i->dst_wide = type.bits == 64;
  i->src_wide = type.bits == 64 ? 3 : 0;
  ptx__emit(d);
  return 0;
}

/* not.pred and the like come by name; bfind and others with both orders of modifiers too. */
const ptx_decode_row ptx__decode_moves[] = {{"mov", decode_mov},
                                            {"cvta", decode_cvta},
                                            {"cvt", decode_cvt},
                                            {"lop3", decode_lop3},
                                            {"add", decode_carry},
                                            {"addc", decode_carry},
                                            {"sub", decode_carry},
                                            {"subc", decode_carry},
                                            {"mad", decode_carry},
                                            {"madc", decode_carry},
                                            {0}};
