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

/* Eight rows of 16 bytes, one behind the other. */
static void gather_rows(const unsigned char *data, const uint64_t *offset, uint16_t rows[8][8]) {
  for (int r = 0; r < 8; r++) memcpy(rows[r], data + offset[r], 16);
}

static void spread(uint16_t rows[8][8], int trans, uint32_t *d) {
  if (!trans) {
    memcpy(d, rows, 128);
    return;
  }
  for (uint32_t c = 0; c < 8; c++)
    for (uint32_t t = 0; t < 4; t++) d[4 * c + t] = rows[2 * t][c] | (uint32_t)rows[2 * t + 1][c] << 16;
}

static void load_undefined(sim_warp *w, const sim_insn *i, const sim_access *a, uint32_t m) {
  uint16_t rows[8][8];
  uint64_t words[16], any = 0;
  gather_rows(a->undefined, a->offset + 8 * m, rows);
  memcpy(words, rows, sizeof words);
  for (int k = 0; k < 16; k++) any |= words[k];
  w->undef[i->o[m] / SIM_SLOT] = 0;
  if (!any) return;
  uint32_t bits[SIM_LANES];
  spread(rows, i->op, bits);
  for (int l = 0; l < SIM_LANES; l++) sim__set_undefined_bits(w, i->o[m], 0, l, bits[l]);
}

sim_step sim__step_ldmatrix(sim_warp *w, const sim_insn *i, uint32_t mask) {
  sim_access a;
  (void)mask;
  if (open_rows(w, i, &a, i->o[i->n_dst], SIM_READS) != 0 || sim__access_conflicts(w, i, &a, SIM_READS, NULL) != 0)
    return SIM_FAULTED;
  for (uint32_t m = 0; m < i->n_elements; m++) {
    uint16_t rows[8][8];
    gather_rows(a.data, a.offset + 8 * m, rows);
    spread(rows, i->op, sim__u32(w, i->o[m]));
    if (w->undef) load_undefined(w, i, &a, m);
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
