/* load.c -- ld. */
#include "exec/machine.h"

static inline uint64_t extend(uint64_t value, uint32_t bytes, int sign) {
  if (!sign || bytes == 8) return value;
  const int shift = 64 - 8 * (int)bytes;
  return (uint64_t)((int64_t)(value << shift) >> shift);
}

/* One element of every lane into its register, as wide as that is. */
static void take(sim_warp *w, const sim_insn *i, const sim_access *a, uint32_t dst, uint32_t at) {
  const unsigned char *from = a->data + at;
  const uint32_t bytes = i->element_bytes, mask = a->mask;
  if (bytes == 4 && i->bits == 32) {
    uint32_t *d = sim__u32(w, dst);
    if (mask == SIM_ALL)
      for (int l = 0; l < SIM_LANES; l++) memcpy(&d[l], from + a->offset[l], 4);
    else
      SIM_EACH_LANE(l, mask) memcpy(&d[l], from + a->offset[l], 4);
    return;
  }
  if (bytes == 8 && i->bits == 64) {
    uint64_t *d = sim__u64(w, dst);
    SIM_EACH_LANE(l, mask) memcpy(&d[l], from + a->offset[l], 8);
    return;
  }
  SIM_EACH_LANE(l, mask) {
    uint64_t value = 0;
    memcpy(&value, from + a->offset[l], bytes);
    value = extend(value, bytes, i->sign);
    if (i->bits == 64)
      sim__u64(w, dst)[l] = value;
    else
      sim__u32(w, dst)[l] = i->bits == 16 ? (uint32_t)(value & 0xFFFF) : (uint32_t)value;
  }
}

static void take_undefined(sim_warp *w, const sim_insn *i, const sim_access *a, uint32_t dst, uint32_t at) {
  const uint32_t bytes = i->element_bytes;
  uint32_t any = 0;
  if (a->undefined) SIM_EACH_LANE(l, a->mask) {
      uint64_t bits = 0;
      memcpy(&bits, a->undefined + a->offset[l] + at, bytes);
      if (!bits) continue;
      any |= 1u << l;
      bits = extend(bits, bytes, i->sign);
      if (i->bits == 64)
        sim__shadow64(w, dst)[l] = bits;
      else
        sim__shadow32(w, dst)[l] = i->bits == 16 ? (uint32_t)(bits & 0xFFFF) : (uint32_t)bits;
    }
  uint32_t *undef = &w->undef[dst / SIM_SLOT];
  *undef = (*undef & ~a->mask) | any;
}

static void count(sim_warp *w, const sim_access *a) {
  sim_machine *m = w->machine;
  if (a->space == PTX_GLOBAL) {
    m->counters->global_load_requests++;
    m->counters->global_load_bytes += (uint64_t)a->bytes * (unsigned)__builtin_popcount(a->mask);
    if (m->checks & (SIM_COUNT_BANKS | SIM_COUNT_CACHE)) sim__count_sectors(m, a, SIM_READS);
  } else if (a->space == PTX_SHARED) {
    m->counters->shared_load_requests++;
    if (m->checks & SIM_COUNT_BANKS) sim__count_banks(m, a);
  } else if (a->space == PTX_LOCAL) {
    m->counters->local_load_requests++;
  }
}

sim_step sim__step_load(sim_warp *w, const sim_insn *i, uint32_t mask) {
  uint64_t address[SIM_LANES];
  sim_access a;
  const uint32_t bytes = (uint32_t)i->element_bytes * i->n_elements;
  const int what = SIM_READS | (i->order & SIM_M_STRONG ? SIM_IS_STRONG : 0);
  if (sim__access_addresses(w, i, mask, i->o[i->n_dst], i->address_kind, i->offset, address) != 0) return SIM_FAULTED;
  for (uint32_t left = mask; left; left &= ~a.mask) {
    if (sim__access_group(w, i, &a, address, left, i->space, bytes, what) != 0 ||
        sim__access_conflicts(w, i, &a, what, NULL) != 0)
      return SIM_FAULTED;
    for (uint32_t e = 0; e < i->n_elements; e++) {
      take(w, i, &a, i->o[e], e * i->element_bytes);
      if (w->undef) take_undefined(w, i, &a, i->o[e], e * i->element_bytes);
    }
    count(w, &a);
  }
  if (i->order & SIM_M_STRONG) {
    sim__strong_read(w->block);
    if (i->order & SIM_M_ACQUIRE) sim__fence(w->block, SIM_M_ACQUIRE);
  }
  return SIM_NEXT;
}

/* A parameter of the kernel at a known place: the same for all lanes. */
sim_step sim__step_load_param(sim_warp *w, const sim_insn *i, uint32_t mask) {
  const sim_launch *l = w->machine->launch;
  const uint32_t bytes = i->element_bytes;
  for (uint32_t e = 0; e < i->n_elements; e++) {
    const uint64_t at = (uint64_t)i->offset + (uint64_t)e * bytes;
    if (at + bytes > l->param_bytes || at % bytes) {
      const sim_fault_kind kind = at % bytes ? SIM_FAULT_MISALIGNED : SIM_FAULT_BOUNDS;
      return sim__fault_at(w, i, kind, __builtin_ctz(mask), PTX_PARAM, at, bytes, "there are %llu bytes of parameters",
                           (unsigned long long)l->param_bytes);
    }
    uint64_t value = 0;
    memcpy(&value, (const char *)l->params + at, bytes);
    value = extend(value, bytes, i->sign);
    if (i->bits == 16) value &= 0xFFFF;
    if (i->bits == 64)
      SIM_EACH_LANE(lane, mask) sim__u64(w, i->o[e])[lane] = value;
    else
      SIM_EACH_LANE(lane, mask) sim__u32(w, i->o[e])[lane] = (uint32_t)value;
    sim__mark_defined(w, i->o[e], mask);
  }
  return SIM_NEXT;
}
