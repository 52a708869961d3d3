/* decode_warp.c -- what lanes of a warp do together: votes, shuffles, matches, reductions. */
#include "exec/steps.h"
#include "ptx/decode.h"

/* The first operand: d, or d|p. Without p the predicate goes nowhere. */
static int dest_and_predicate(ptx_decoder *d, uint32_t *dst, uint32_t *p) {
  const ptx_operand *o = &d->s->operands[0];
  *p = ptx__temporary(d, 1);
  if (o->kind != PTX_O_PAIR) return ptx__dest(d, o, 'w', dst);
  return ptx__dest(d, &o->elements[0], 'w', dst) != 0 || ptx__dest(d, &o->elements[1], 'p', p) != 0 ? -1 : 0;
}

/* The end of what lanes of a mask do together: the mask is the last source. */
static int emit_member(ptx_decoder *d, const uint32_t *dst, int n_dst, const uint32_t *src, int n_src) {
  for (int i = 0; i < n_dst; i++) ptx__add_dst(d, dst[i]);
  for (int i = 0; i < n_src; i++) ptx__add_src(d, src[i]);
  d->insn.sync = (uint8_t)(n_dst + n_src - 1);
  ptx__emit(d);
  return 0;
}

/* shfl.sync.MODE.b32 d|p, a, b, c, mask */
static int decode_shfl(ptx_decoder *d) {
  static const char *const modes[] = {"up", "down", "bfly", "idx", NULL};
  if (!ptx__take(d, "sync")) return ptx__bad(d, "shfl without .sync does not run on these targets");
  const int mode = ptx__take_any(d, modes);
  if (mode < 0 || !ptx__take(d, "b32")) return ptx__bad(d, "shfl.sync needs a mode and .b32");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 5, 5) != 0) return -1;
  const ptx_operand *o = d->s->operands;
  uint32_t dst, p, a, b, c, mask;
  if (dest_and_predicate(d, &dst, &p) != 0 || ptx__source(d, &o[1], 'w', &a) != 0 || ptx__source(d, &o[2], 'w', &b) != 0 ||
      ptx__source(d, &o[3], 'w', &c) != 0 || ptx__source(d, &o[4], 'w', &mask) != 0)
    return -1;
  ptx__begin(d);
  ptx__set_step(d, sim__step_shuffle, SIM_MEMBER, SIM_C_EXCHANGE);
  d->insn.op = (uint8_t)mode;
  return emit_member(d, (const uint32_t[]){dst, p}, 2, (const uint32_t[]){a, b, c, mask}, 4);
}

static int decode_vote(ptx_decoder *d) {
  static const char *const modes[] = {"all", "any", "uni", "ballot", NULL};
  if (!ptx__take(d, "sync")) return ptx__bad(d, "vote without .sync does not run on these targets");
  const int mode = ptx__take_any(d, modes), ballot = mode == SIM_VOTE_BALLOT;
  if (mode < 0 || !ptx__take(d, ballot ? "b32" : "pred")) return ptx__bad(d, "vote.sync needs a mode and its type");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 3, 3) != 0) return -1;
  const ptx_operand *o = d->s->operands;
  uint32_t dst, a, mask;
  if (ptx__dest(d, &o[0], ballot ? 'w' : 'p', &dst) != 0 || ptx__source(d, &o[1], 'p', &a) != 0 ||
      ptx__source(d, &o[2], 'w', &mask) != 0)
    return -1;
  ptx__begin(d);
  ptx__set_step(d, sim__step_vote, SIM_MEMBER, SIM_C_EXCHANGE);
  d->insn.op = (uint8_t)mode;
  return emit_member(d, (const uint32_t[]){dst}, 1, (const uint32_t[]){a, mask}, 2);
}

/* match.any.sync.b32 d, a, mask;  match.all.sync.b32 d|p, a, mask */
static int decode_match(ptx_decoder *d) {
  const int all = ptx__take(d, "all");
  if ((!all && !ptx__take(d, "any")) || !ptx__take(d, "sync")) return ptx__bad(d, "match needs .any or .all and .sync");
  const ptx_type type = ptx__take_type(d);
  if (type.bits != 32 && type.bits != 64) return ptx__bad(d, "match needs .b32 or .b64");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 3, 3) != 0) return -1;
  const ptx_operand *o = d->s->operands;
  if (o[0].kind == PTX_O_PAIR && !all) return ptx__bad(d, "match.any has no predicate");
  uint32_t dst, p, a, mask;
  if (dest_and_predicate(d, &dst, &p) != 0 || ptx__source(d, &o[1], type.bits == 64 ? 'd' : 'w', &a) != 0 ||
      ptx__source(d, &o[2], 'w', &mask) != 0)
    return -1;
  ptx__begin(d);
  ptx__set_step(d, sim__step_match, SIM_MEMBER, SIM_C_EXCHANGE);
  d->insn.op = (uint8_t)all;
  d->insn.bits = (uint8_t)type.bits;
  return emit_member(d, (const uint32_t[]){dst, p}, 2, (const uint32_t[]){a, mask}, 2);
}

static int decode_redux(ptx_decoder *d) {
  static const char *const ops[] = {"add", "min", "max", "and", "or", "xor", NULL};
  if (!ptx__take(d, "sync")) return ptx__bad(d, "redux needs .sync");
  const int op = ptx__take_any(d, ops);
  const ptx_type type = ptx__take_type(d);
  const int bits = op >= SIM_AND;
  if (op < 0 || type.bits != 32 || (bits ? type.base != PTX_BITS : type.base != PTX_SIGNED && type.base != PTX_UNSIGNED))
    return ptx__bad(d, "such a redux is not known");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 3, 3) != 0) return -1;
  const ptx_operand *o = d->s->operands;
  uint32_t dst, a, mask;
  if (ptx__dest(d, &o[0], 'w', &dst) != 0 || ptx__source(d, &o[1], 'w', &a) != 0 || ptx__source(d, &o[2], 'w', &mask) != 0)
    return -1;
  ptx__begin(d);
  ptx__set_step(d, sim__step_redux, SIM_MEMBER, SIM_C_EXCHANGE);
  d->insn.op = (uint8_t)op;
  d->insn.type = type.base == PTX_SIGNED ? SIM_T_S32 : SIM_T_U32;
  return emit_member(d, (const uint32_t[]){dst}, 1, (const uint32_t[]){a, mask}, 2);
}

static int decode_activemask(ptx_decoder *d) {
  uint32_t dst;
  if (!ptx__take(d, "b32")) return ptx__bad(d, "activemask needs .b32");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 1, 1) != 0 || ptx__dest(d, &d->s->operands[0], 'w', &dst) != 0) return -1;
  ptx__begin(d);
  ptx__set_step(d, sim__step_active, SIM_STEP, SIM_C_EXCHANGE);
  ptx__add_dst(d, dst);
  ptx__emit(d);
  return 0;
}

/* elect.sync d|p, mask */
static int decode_elect(ptx_decoder *d) {
  const ptx_operand *o = d->s->operands;
  uint32_t dst, p, mask;
  if (!ptx__take(d, "sync")) return ptx__bad(d, "elect needs .sync");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 2, 2) != 0) return -1;
  if (o[0].kind != PTX_O_PAIR) return ptx__bad(d, "elect.sync needs d|p");
  if (ptx__dest(d, &o[0].elements[0], 'w', &dst) != 0 || ptx__dest(d, &o[0].elements[1], 'p', &p) != 0 ||
      ptx__source(d, &o[1], 'w', &mask) != 0)
    return -1;
  ptx__begin(d);
  ptx__set_step(d, sim__step_elect, SIM_MEMBER, SIM_C_EXCHANGE);
  return emit_member(d, (const uint32_t[]){dst, p}, 2, (const uint32_t[]){mask}, 1);
}

const ptx_decode_row ptx__decode_warp[] = {{"shfl", decode_shfl},
                                           {"vote", decode_vote},
                                           {"match", decode_match},
                                           {"redux", decode_redux},
                                           {"activemask", decode_activemask},
                                           {"elect", decode_elect},
                                           {0}};
