/* shadow.c -- undefined bits on their way through registers.
 *
 * A slot's mask says which lanes have any; only then does its shadow hold them. This is the slow path: it runs only for
 * instructions that read a register with undefined bits. */
#include "exec/machine.h"

void sim__mark_undefined(sim_warp *w, uint32_t offset, int wide, uint32_t mask) {
  if (!w->undef) return;
  SIM_EACH_LANE(lane, mask) {
    if (wide)
      sim__shadow64(w, offset)[lane] = UINT64_MAX;
    else
      sim__shadow32(w, offset)[lane] = SIM_ALL;
  }
  w->undef[offset / SIM_SLOT] |= mask;
}

void sim__set_undefined_bits(sim_warp *w, uint32_t offset, int wide, int lane, uint64_t bits) {
  if (!w->undef) return;
  uint32_t *any = &w->undef[offset / SIM_SLOT];
  if (bits) {
    *any |= 1u << lane;
    if (wide)
      sim__shadow64(w, offset)[lane] = bits;
    else
      sim__shadow32(w, offset)[lane] = (uint32_t)bits;
  } else {
    *any &= ~(1u << lane);
  }
}

typedef struct lane_values {
  uint64_t bits[4], value[4]; /* undefined bits and values of the sources */
} lane_values;

/* Bits of a result as wide as `width` that the undefined ones of the sources leave undefined. */
static uint64_t travel(const sim_insn *i, const lane_values *v, int width) {
  const uint64_t full = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
  const uint64_t a = v->bits[0], b = v->bits[1], c = v->bits[2];
  switch (i->flow) {
  case SIM_F_MOVE:
    return a & full;
  case SIM_F_AND:
    return (a & b) | (a & v->value[1]) | (b & v->value[0]);
  case SIM_F_OR:
    return (a & b) | (a & ~v->value[1]) | (b & ~v->value[0]);
  case SIM_F_XOR:
    return a | b;
  case SIM_F_SHL:
    if (b) return full;
    return v->value[1] >= (uint64_t)width ? 0 : a << v->value[1] & full;
  case SIM_F_SHR:
    if (b) return full;
    return v->value[1] >= (uint64_t)width ? 0 : a >> v->value[1];
  case SIM_F_SAR: {
    if (b) return full;
    const int by = v->value[1] >= (uint64_t)width ? width - 1 : (int)v->value[1];
    const int64_t top = (int64_t)(a << (64 - width));
    return (uint64_t)(top >> by) >> (64 - width) & full;
  }
  case SIM_F_SELECT:
    return c ? full : v->value[2] & 1 ? a : b;
  case SIM_F_PRMT: {
    if (c) return full;
    uint64_t out = 0;
    const uint64_t both = a | b << 32;
    for (int k = 0; k < 4; k++) {
      const unsigned selector = (unsigned)(v->value[2] >> (4 * k)) & 15;
      uint64_t byte = both >> (8 * (selector & 7)) & 255;
      if (selector & 8) byte = byte & 128 ? 255 : 0; /* the sign, eight times */
      out |= byte << (8 * k);
    }
    return out;
  }
  case SIM_F_LOP3: { /* a bit of the result hangs on an undefined one only where flipping it changes the result */
    uint64_t out = 0;
    for (int k = 0; k < 32; k++) {
      const unsigned u = (unsigned)(a >> k & 1) << 2 | (unsigned)(b >> k & 1) << 1 | (unsigned)(c >> k & 1);
      const unsigned x =
          (unsigned)(v->value[0] >> k & 1) << 2 | (unsigned)(v->value[1] >> k & 1) << 1 | (unsigned)(v->value[2] >> k & 1);
      const int first = i->offset >> (x & ~u) & 1;
      for (unsigned y = u; u && y; y = (y - 1) & u)
        if ((i->offset >> ((x & ~u) | y) & 1) != first) out |= (uint64_t)1 << k;
    }
    return out;
  }
  case SIM_F_ZEXT:
    return a & full;
  case SIM_F_SEXT:
    return a;
  case SIM_F_PACK: {
    uint64_t out = 0;
    for (int k = 0; k < i->n_src; k++) out |= (v->bits[k] & (((uint64_t)1 << i->from_bits) - 1)) << (k * i->from_bits);
    return out;
  }
  case SIM_F_UNPACK:
    return a >> i->offset & full;
  case SIM_F_CVT_PAIR:
    return (a ? 0xFFFF0000u : 0) | (b ? 0xFFFFu : 0);
  case SIM_F_CARRY: {
    const uint64_t all = a | b | c;
    return all ? ~((all & (0 - all)) - 1) & full : 0;
  }
  case SIM_F_PAIR: {
    const uint64_t all = a | b | c | v->bits[3];
    return (all & 0xFFFF ? 0xFFFF : 0) | (all >> 16 & 0xFFFF ? 0xFFFF0000u : 0);
  }
  default:
    return a | b | c | v->bits[3] ? full : 0;
  }
}

/* Predicates: their undefined lanes are what the mask says. */
static void flow_predicate(sim_warp *w, const sim_insn *i, uint32_t mask, uint32_t lanes) {
  uint32_t *any = &w->undef[i->o[0] / SIM_SLOT];
  *any = (*any & ~mask) | lanes;
}

/* A source of the lane: predicates give their bit. The slot's kind follows from the flow and the widths that the decoder noted.
 */
static void read_lane(const sim_warp *w, const sim_insn *i, int k, int lane, lane_values *v) {
  const uint32_t offset = i->o[2 + k];
  const int wide = i->src_wide >> k & 1;
  v->bits[k] = sim__undefined_bits(w, offset, wide, lane);
  v->value[k] = wide ? sim__u64(w, offset)[lane] : sim__u32(w, offset)[lane];
}

void sim__flow(sim_warp *w, const sim_insn *i, uint32_t mask, uint32_t lanes) {
  const int wide = i->dst_wide & 1;
  if (i->bits == 1) {
    flow_predicate(w, i, mask, lanes);
    return;
  }
  const int width = i->bits ? i->bits : wide ? 64 : 32;
  w->undef[i->o[0] / SIM_SLOT] &= ~(mask & ~lanes);
  if (i->n_dst > 1) { /* a carry or the like */
    uint32_t *any = &w->undef[i->o[1] / SIM_SLOT];
    *any = (*any & ~mask) | lanes;
  }
  SIM_EACH_LANE(lane, lanes) {
    lane_values v = {{0}, {0}};
    for (int k = 0; k < i->n_src && k < 4; k++) {
      if (k == 2 && i->flow == SIM_F_SELECT) {
        v.value[2] = sim__bits(w, i->o[4]) >> lane & 1;
        v.bits[2] = w->undef[i->o[4] / SIM_SLOT] >> lane & 1;
      } else if (k == 2 && i->n_dst > 1) { /* the carry in */
        v.bits[2] = w->undef[i->o[4] / SIM_SLOT] >> lane & 1;
      } else {
        read_lane(w, i, k, (int)lane, &v);
      }
    }
    uint64_t bits = travel(i, &v, width);
    if (i->flow == SIM_F_SEXT && i->from_bits < 64) { /* an undefined sign makes what it is copied to undefined */
      const uint64_t from = ((uint64_t)1 << i->from_bits) - 1;
      bits = v.bits[0] & from;
      if (bits >> (i->from_bits - 1) & 1) bits |= ~from;
    }
    if (i->flow == SIM_F_ZEXT && i->from_bits < 64) bits &= ((uint64_t)1 << i->from_bits) - 1;
    if (width < 64) bits &= ((uint64_t)1 << width) - 1;
    sim__set_undefined_bits(w, i->o[0], wide, (int)lane, bits);
  }
}
