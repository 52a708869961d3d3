/* matrix.c -- ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements between a warp's registers and shared memory. */
#include "exec/machine.h"

/* Rows' addresses: lane 8i + r names row r of matrix i. Opens them as 16-byte accesses; fills a with their places. */
static int open_rows(sim_warp *w, const sim_insn *i, sim_access *a, uint32_t ref, int what) {
  uint64_t address[SIM_LANES];
  const uint32_t lanes = i->n_elements == 4 ? SIM_ALL : (1u << 8 * i->n_elements) - 1;
  if (sim__access_addresses(w, i, lanes, ref, i->address_kind, i->offset, address) != 0) return -1;
  if (sim__access_group(w, i, a, address, lanes, i->space, 16, what) != 0) return -1;
  if (a->mask != lanes || a->space != PTX_SHARED) {
    sim__fault(w, i, SIM_FAULT_BOUNDS, __builtin_ctz(lanes), "a row's address lies outside of shared memory");
    return -1;
  }
  return 0;
}

/* Register m of lane l: row l / 4, elements 2 (l % 4) and the next; transposed: rows 2 (l % 4) and the next, element l / 4. */
static inline void places(uint32_t m, uint32_t l, int trans, uint32_t row[2], uint32_t byte[2]) {
  for (uint32_t k = 0; k < 2; k++) {
    row[k] = 8 * m + (trans ? 2 * (l % 4) + k : l / 4);
    byte[k] = 2 * (trans ? l / 4 : 2 * (l % 4) + k);
  }
}

sim_step sim__step_ldmatrix(sim_warp *w, const sim_insn *i, uint32_t mask) {
  sim_access a;
  (void)mask;
  if (open_rows(w, i, &a, i->o[i->n_dst], SIM_READS) != 0 || sim__access_conflicts(w, i, &a, SIM_READS, NULL) != 0)
    return SIM_FAULTED;
  for (uint32_t m = 0; m < i->n_elements; m++) {
    uint32_t *d = sim__u32(w, i->o[m]), any = 0;
    for (uint32_t l = 0; l < SIM_LANES; l++) {
      uint32_t row[2], byte[2];
      uint16_t part[2], undefined[2] = {0, 0};
      places(m, l, i->op, row, byte);
      for (int k = 0; k < 2; k++) {
        memcpy(&part[k], a.data + a.offset[row[k]] + byte[k], 2);
        if (w->undef) memcpy(&undefined[k], a.undefined + a.offset[row[k]] + byte[k], 2);
      }
      d[l] = part[0] | (uint32_t)part[1] << 16;
      if (!w->undef) continue;
      const uint32_t bits = undefined[0] | (uint32_t)undefined[1] << 16;
      sim__shadow32(w, i->o[m])[l] = bits;
      any |= (uint32_t)(bits != 0) << l;
    }
    if (w->undef) w->undef[i->o[m] / SIM_SLOT] = any;
  }
  w->machine->counters->shared_load_requests++;
  if (w->machine->checks & SIM_COUNT_BANKS) sim__count_banks(w->machine, &a);
  return SIM_NEXT;
}

sim_step sim__step_stmatrix(sim_warp *w, const sim_insn *i, uint32_t mask) {
  sim_access a;
  unsigned char values[SIM_LANES * 16], undefined[SIM_LANES * 16];
  (void)mask;
  if (open_rows(w, i, &a, i->o[0], SIM_WRITES) != 0) return SIM_FAULTED;
  for (uint32_t m = 0; m < i->n_elements; m++)
    for (uint32_t l = 0; l < SIM_LANES; l++) {
      uint32_t row[2], byte[2];
      places(m, l, i->op, row, byte);
      const uint32_t value = sim__u32(w, i->o[1 + m])[l], bits = (uint32_t)sim__undefined_bits(w, i->o[1 + m], 0, (int)l);
      for (int k = 0; k < 2; k++) {
        const uint16_t part = (uint16_t)(value >> (16 * k)), u = (uint16_t)(bits >> (16 * k) & 0xFFFF ? 0xFFFF : 0);
        memcpy(values + row[k] * 16 + byte[k], &part, 2);
        memcpy(undefined + row[k] * 16 + byte[k], &u, 2);
      }
    }
  if (sim__access_conflicts(w, i, &a, SIM_WRITES, values) != 0) return SIM_FAULTED;
  SIM_EACH_LANE(lane, a.mask) {
    memcpy(a.data + a.offset[lane], values + lane * 16, 16);
    memcpy(a.undefined + a.offset[lane], undefined + lane * 16, 16);
  }
  w->machine->counters->shared_store_requests++;
  if (w->machine->checks & SIM_COUNT_BANKS) sim__count_banks(w->machine, &a);
  return SIM_NEXT;
}

/* Row r, column c lies in half c % 2 of lane 4r + c / 2. */
sim_step sim__step_movmatrix(sim_warp *w, const sim_insn *i, uint32_t mask) {
  const uint32_t *a = sim__u32(w, i->o[1]);
  uint32_t value[SIM_LANES], bits[SIM_LANES];
  (void)mask;
  for (uint32_t l = 0; l < SIM_LANES; l++) {
    value[l] = bits[l] = 0;
    for (uint32_t k = 0; k < 2; k++) {
      const uint32_t r = l / 4, c = 2 * (l % 4) + k, from = 4 * c + r / 2, half = r % 2;
      value[l] |= (a[from] >> (16 * half) & 0xFFFF) << (16 * k);
      bits[l] |= ((uint32_t)sim__undefined_bits(w, i->o[1], 0, (int)from) >> (16 * half) & 0xFFFF) << (16 * k);
    }
  }
  for (uint32_t l = 0; l < SIM_LANES; l++) {
    sim__u32(w, i->o[0])[l] = value[l];
    sim__set_undefined_bits(w, i->o[0], 0, (int)l, bits[l]);
  }
  return SIM_NEXT;
}
