/* sectors.c -- what a profiler counts of an access: 32-byte sectors of global memory, passes over the banks of shared memory.
 */
#include "exec/machine.h"

static void one_sector(sim_machine *m, const sim_access *a, uint64_t sector, int what) {
  if (what & SIM_IS_ATOMIC)
    m->counters->global_atomic_sectors++;
  else if (what & SIM_WRITES)
    m->counters->global_store_sectors++;
  else
    m->counters->global_load_sectors++;
  if (!(m->checks & SIM_COUNT_CACHE)) return;
  unsigned char *byte = &a->range->sectors[sector >> 3];
  if (!(*byte >> (sector & 7) & 1)) {
    *byte = (unsigned char)(*byte | 1u << (sector & 7));
    m->counters->global_unique_sectors++;
  }
  sim__cache_sector(m, a->range->a.base / 32 + sector, (what & SIM_WRITES) != 0);
}

/* Sectors are counted from the range's base, which is aligned to more than a sector. Lanes mostly come in rising order, so that
 * the last sector is the likeliest one to see again; what rises is new, the rest is looked up among those seen. */
void sim__count_sectors(sim_machine *m, const sim_access *a, int what) {
  uint64_t seen[2 * SIM_LANES * 4];
  uint32_t n = 0;
  uint64_t highest = 0;
  if (m->checks & SIM_COUNT_CACHE && a->range->sectors_serial != m->serial) sim__range_sectors(a->range, m->serial);
  SIM_EACH_LANE(l, a->mask) {
    const uint64_t first = a->offset[l] / 32, last = (a->offset[l] + a->bytes - 1) / 32;
    for (uint64_t s = first; s <= last; s++) {
      int old = 0;
      if (n > 0 && s <= highest)
        for (uint32_t k = n; k-- > 0 && !old;) old = seen[k] == s;
      if (old) continue;
      seen[n++] = s;
      if (s > highest) highest = s;
      one_sector(m, a, s, what);
    }
  }
}

/* Lanes of 8 bytes pass in two halves, of 16 bytes in four quarters; within each, lanes that want unlike words of a bank wait
 * for one another. The least is what the same bytes need when nothing collides. */
void sim__count_banks(sim_machine *m, const sim_access *a) {
  const uint32_t words = a->bytes > 4 ? a->bytes / 4 : 1, lanes_of_pass = SIM_LANES / words;
  uint64_t passes = 0;
  for (uint32_t from = 0; from < SIM_LANES; from += lanes_of_pass) {
    const uint32_t part = words == 1 ? a->mask : a->mask & (((1u << lanes_of_pass) - 1) << from);
    if (!part) continue;
    uint32_t count[32] = {0}, word_of[32][SIM_LANES], most = 1;
    SIM_EACH_LANE(l, part)
    for (uint32_t k = 0; k < words; k++) {
      const uint32_t word = (uint32_t)(a->offset[l] / 4) + k, bank = word % 32;
      uint32_t s = 0;
      while (s < count[bank] && word_of[bank][s] != word) s++;
      if (s < count[bank]) continue;
      word_of[bank][count[bank]++] = word;
      if (count[bank] > most) most = count[bank];
    }
    passes += most;
  }
  uint64_t unlike = 0;
  { /* distinct words of all lanes */
    uint32_t seen[SIM_LANES * 4], n = 0;
    SIM_EACH_LANE(l, a->mask)
    for (uint32_t k = 0; k < words; k++) {
      const uint32_t word = (uint32_t)(a->offset[l] / 4) + k;
      uint32_t s = n;
      while (s > 0 && seen[s - 1] != word) s--;
      if (s == 0 && n < SIM_LANES * 4) seen[n++] = word;
    }
    unlike = n;
  }
  m->counters->shared_passes += passes;
  m->counters->shared_passes_least += unlike ? (unlike + 31) / 32 : 1;
}
