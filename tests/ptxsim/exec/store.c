/* store.c -- st and fences. */
#include "exec/machine.h"

enum { MOST_BYTES = 64 }; /* of a lane: v8.b64 */

/* The lanes' values side by side, as they will lie in memory. */
static void gather(const sim_warp *w, const sim_insn *i, uint32_t mask, unsigned char *values) {
  const uint32_t bytes = i->element_bytes, all = bytes * i->n_elements;
  for (uint32_t e = 0; e < i->n_elements; e++) {
    const uint32_t src = i->o[1 + e];
    if (i->src_wide >> (1 + e) & 1) {
      const uint64_t *s = sim__u64(w, src);
      SIM_EACH_LANE(l, mask) memcpy(values + l * all + e * bytes, &s[l], bytes);
    } else if (bytes == 4) {
      const uint32_t *s = sim__u32(w, src);
      SIM_EACH_LANE(l, mask) memcpy(values + l * all + e * 4, &s[l], 4);
    } else {
      const uint32_t *s = sim__u32(w, src);
      SIM_EACH_LANE(l, mask) memcpy(values + l * all + e * bytes, &s[l], bytes);
    }
  }
}

/* Undefined bits of what is stored: to global memory a fault; elsewhere they travel. */
static int store_undefined(sim_warp *w, const sim_insn *i, const sim_access *a) {
  const uint32_t bytes = i->element_bytes;
  for (uint32_t e = 0; e < i->n_elements; e++) {
    const uint32_t src = i->o[1 + e], suspects = sim__undefined(w, src, a->mask);
    const int wide = i->src_wide >> (1 + e) & 1;
    if (!suspects) {
      if (a->undefined) SIM_EACH_LANE(l, a->mask) memset(a->undefined + a->offset[l] + e * bytes, 0, bytes);
      continue;
    }
    SIM_EACH_LANE(l, a->mask) {
      const uint64_t all = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * bytes) - 1,
                     bits = sim__undefined_bits(w, src, wide, (int)l) & all;
      if (bits && a->space == PTX_GLOBAL) {
        sim__fault_at(w, i, SIM_FAULT_UNDEFINED_STORE, (int)l, PTX_GLOBAL, a->address[l] + e * bytes, bytes,
                      "undefined bits 0x%llx", (unsigned long long)bits);
        return -1;
      }
      for (uint32_t k = 0; a->undefined && k < bytes; k++)
        a->undefined[a->offset[l] + e * bytes + k] = bits >> (8 * k) & 255 ? 0xFF : 0;
    }
  }
  return 0;
}

static void put(const sim_access *a, const unsigned char *values) {
  const uint32_t all = a->bytes;
  switch (all) {
  case 4:
    SIM_EACH_LANE(l, a->mask) memcpy(a->data + a->offset[l], values + l * 4, 4);
    break;
  case 2:
    SIM_EACH_LANE(l, a->mask) memcpy(a->data + a->offset[l], values + l * 2, 2);
    break;
  case 8:
    SIM_EACH_LANE(l, a->mask) memcpy(a->data + a->offset[l], values + l * 8, 8);
    break;
  case 16:
    SIM_EACH_LANE(l, a->mask) memcpy(a->data + a->offset[l], values + l * 16, 16);
    break;
  default:
    SIM_EACH_LANE(l, a->mask) memcpy(a->data + a->offset[l], values + l * all, all);
    break;
  }
}

static void count(sim_warp *w, const sim_access *a) {
  sim_machine *m = w->machine;
  if (a->space == PTX_GLOBAL) {
    m->counters->global_store_requests++;
    m->counters->global_store_bytes += (uint64_t)a->bytes * (unsigned)__builtin_popcount(a->mask);
    if (m->checks & (SIM_COUNT_BANKS | SIM_COUNT_CACHE)) sim__count_sectors(m, a, SIM_WRITES);
  } else if (a->space == PTX_SHARED) {
    m->counters->shared_store_requests++;
    if (m->checks & SIM_COUNT_BANKS) sim__count_banks(m, a);
  } else {
    m->counters->local_store_requests++;
  }
}

/* Lanes of one instruction that store unlike values to the same bytes of shared memory: the later one meets the earlier one's
 * bytes. */
static int shared_one_by_one(sim_warp *w, const sim_insn *i, sim_access *a, int what, const unsigned char *values) {
  const uint32_t mask = a->mask;
  if (sim__access_in_flight(w, i, a) != 0) return -1;
  SIM_EACH_LANE(l, mask) {
    if (sim__shared_touch(w, i, l, a->offset[l], a->bytes, what, values + (size_t)l * a->bytes) != 0) return -1;
    memcpy(a->data + a->offset[l], values + (size_t)l * a->bytes, a->bytes);
  }
  return 0;
}

sim_step sim__step_store(sim_warp *w, const sim_insn *i, uint32_t mask) {
  uint64_t address[SIM_LANES];
  unsigned char values[SIM_LANES * MOST_BYTES];
  sim_access a;
  const uint32_t bytes = (uint32_t)i->element_bytes * i->n_elements;
  const int what = SIM_WRITES | (i->order & SIM_M_STRONG ? SIM_IS_STRONG : 0);
  if (sim__access_addresses(w, i, mask, i->o[0], i->address_kind, i->offset, address) != 0) return SIM_FAULTED;
  if (i->order & SIM_M_RELEASE) sim__fence(w->block, SIM_M_RELEASE);
  gather(w, i, mask, values);
  for (uint32_t left = mask; left; left &= ~a.mask) {
    if (sim__access_group(w, i, &a, address, left, i->space, bytes, what) != 0) return SIM_FAULTED;
    if (w->undef && store_undefined(w, i, &a) != 0) return SIM_FAULTED;
    if (!w->undef && a.undefined) SIM_EACH_LANE(l, a.mask) memset(a.undefined + a.offset[l], 0, bytes);
    if (a.space == PTX_SHARED && w->machine->checks & SIM_CHECK_SHARED) {
      if (shared_one_by_one(w, i, &a, what, values) != 0) return SIM_FAULTED;
    } else {
      if (sim__access_conflicts(w, i, &a, what, values) != 0) return SIM_FAULTED;
      put(&a, values);
    }
    count(w, &a);
  }
  if (i->order & SIM_M_STRONG) sim__strong_write(w->block);
  return SIM_NEXT;
}

sim_step sim__step_fence(sim_warp *w, const sim_insn *i, uint32_t mask) {
  (void)mask;
  sim__fence(w->block, i->order);
  return SIM_NEXT;
}
