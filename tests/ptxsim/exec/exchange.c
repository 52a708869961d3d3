/* exchange.c -- what lanes of a warp give each other: shuffles, votes, matches, reductions. The mask's lanes are all here. */
#include "exec/machine.h"

static sim_step undefined_control(sim_warp *w, const sim_insn *i, uint32_t lanes, const char *what) {
  return sim__fault(w, i, SIM_FAULT_UNDEFINED_BRANCH, __builtin_ctz(lanes), "%s is undefined", what);
}

/* c: bits 0-4 clamp, bits 8-12 the mask of segments. A source out of the segment is the lane itself, and the predicate false.
 */
sim_step sim__step_shuffle(sim_warp *w, const sim_insn *i, uint32_t mask) {
  const uint32_t *pa = sim__u32(w, i->o[2]), *pb = sim__u32(w, i->o[3]), *pc = sim__u32(w, i->o[4]);
  uint32_t value[SIM_LANES], inside = 0, *d = sim__u32(w, i->o[0]);
  uint8_t source[SIM_LANES];
  uint32_t undefined = sim__undefined(w, i->o[3], mask) | sim__undefined(w, i->o[4], mask);
  if (undefined) return undefined_control(w, i, undefined, "the lane to read from");
  SIM_EACH_LANE(lane, mask) {
    const uint32_t b = pb[lane] & 31, clamp = pc[lane] & 31, segment = pc[lane] >> 8 & 31;
    const int most = (int)((lane & segment) | (clamp & ~segment)), least = (int)(lane & segment);
    int j, ok;
    switch (i->op) {
    case SIM_SHFL_UP:
      j = (int)lane - (int)b;
      ok = j >= most;
      break;
    case SIM_SHFL_DOWN:
      j = (int)(lane + b);
      ok = j <= most;
      break;
    case SIM_SHFL_BFLY:
      j = (int)(lane ^ b);
      ok = j <= most;
      break;
    default:
      j = least | (int)(b & ~segment);
      ok = j <= most;
      break;
    }
    if (!ok) j = (int)lane;
    source[lane] = (uint8_t)j;
    value[lane] = pa[j];
    inside |= (uint32_t)ok << lane;
  }
  const uint32_t any = sim__undefined(w, i->o[2], SIM_ALL);
  if (w->undef) { /* a lane that is not here gives nothing that could be relied on */
    uint64_t bits[SIM_LANES];
    SIM_EACH_LANE(lane, mask)
    bits[lane] = !(mask >> source[lane] & 1) ? UINT32_MAX : any ? sim__undefined_bits(w, i->o[2], 0, source[lane]) : 0;
    SIM_EACH_LANE(lane, mask) sim__set_undefined_bits(w, i->o[0], 0, (int)lane, bits[lane]);
    sim__mark_defined(w, i->o[1], mask);
  }
  SIM_EACH_LANE(lane, mask) d[lane] = value[lane];
  sim__set_bits(w, i->o[1], mask, inside);
  return SIM_NEXT;
}

sim_step sim__step_vote(sim_warp *w, const sim_insn *i, uint32_t mask) {
  const uint32_t p = sim__bits(w, i->o[1]) & mask, undefined = sim__undefined(w, i->o[1], mask);
  uint32_t holds = 0;
  switch (i->op) {
  case SIM_VOTE_ALL:
    holds = p == mask;
    break;
  case SIM_VOTE_ANY:
    holds = p != 0;
    break;
  case SIM_VOTE_UNI:
    holds = p == mask || p == 0;
    break;
  default:
    SIM_EACH_LANE(lane, mask) sim__u32(w, i->o[0])[lane] = p;
    break;
  }
  if (i->op != SIM_VOTE_BALLOT) sim__set_bits(w, i->o[0], mask, holds ? SIM_ALL : 0);
  if (!w->undef) return SIM_NEXT;
  sim__mark_defined(w, i->o[0], mask);
  if (undefined && i->op == SIM_VOTE_BALLOT)
    SIM_EACH_LANE(lane, mask) sim__set_undefined_bits(w, i->o[0], 0, (int)lane, undefined);
  else if (undefined)
    w->undef[i->o[0] / SIM_SLOT] |= mask;
  return SIM_NEXT;
}

sim_step sim__step_match(sim_warp *w, const sim_insn *i, uint32_t mask) {
  uint64_t value[SIM_LANES];
  uint32_t result[SIM_LANES], all = SIM_ALL;
  const uint32_t undefined = sim__undefined(w, i->o[2], mask), first = (uint32_t)__builtin_ctz(mask);
  SIM_EACH_LANE(lane, mask) value[lane] = i->bits == 64 ? sim__u64(w, i->o[2])[lane] : sim__u32(w, i->o[2])[lane];
  SIM_EACH_LANE(lane, mask) {
    result[lane] = 0;
    SIM_EACH_LANE(other, mask) result[lane] |= (uint32_t)(value[other] == value[lane]) << other;
    if (value[lane] != value[first]) all = 0;
  }
  SIM_EACH_LANE(lane, mask) sim__u32(w, i->o[0])[lane] = i->op ? (all ? mask : 0) : result[lane];
  sim__set_bits(w, i->o[1], mask, all);
  sim__mark_defined(w, i->o[0], mask);
  sim__mark_defined(w, i->o[1], mask);
  if (undefined) {
    sim__mark_undefined(w, i->o[0], 0, mask);
    w->undef[i->o[1] / SIM_SLOT] |= mask;
  }
  return SIM_NEXT;
}

static uint32_t combine(uint32_t a, uint32_t b, int op, int is_signed) {
  switch (op) {
  case SIM_ADD:
    return a + b;
  case SIM_MIN:
    return is_signed ? ((int32_t)a < (int32_t)b ? a : b) : (a < b ? a : b);
  case SIM_MAX:
    return is_signed ? ((int32_t)a > (int32_t)b ? a : b) : (a > b ? a : b);
  case SIM_AND:
    return a & b;
  case SIM_OR:
    return a | b;
  default:
    return a ^ b;
  }
}

sim_step sim__step_redux(sim_warp *w, const sim_insn *i, uint32_t mask) {
  const uint32_t *a = sim__u32(w, i->o[1]), first = (uint32_t)__builtin_ctz(mask), undefined = sim__undefined(w, i->o[1], mask);
  uint32_t all = a[first];
  SIM_EACH_LANE(lane, mask & (mask - 1)) all = combine(all, a[lane], i->op, i->type == SIM_T_S32);
  SIM_EACH_LANE(lane, mask) sim__u32(w, i->o[0])[lane] = all;
  sim__mark_defined(w, i->o[0], mask);
  if (undefined) sim__mark_undefined(w, i->o[0], 0, mask);
  return SIM_NEXT;
}

/* The lanes that happen to be together. */
sim_step sim__step_active(sim_warp *w, const sim_insn *i, uint32_t mask) {
  SIM_EACH_LANE(lane, mask) sim__u32(w, i->o[0])[lane] = mask;
  sim__mark_defined(w, i->o[0], mask);
  return SIM_NEXT;
}

sim_step sim__step_elect(sim_warp *w, const sim_insn *i, uint32_t mask) {
  const uint32_t leader = (uint32_t)__builtin_ctz(mask);
  SIM_EACH_LANE(lane, mask) sim__u32(w, i->o[0])[lane] = leader;
  sim__set_bits(w, i->o[1], mask, 1u << leader);
  sim__mark_defined(w, i->o[0], mask);
  sim__mark_defined(w, i->o[1], mask);
  return SIM_NEXT;
}
