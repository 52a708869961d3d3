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
  uint64_t highest = 0, maybe = 0; /* maybe: a bit for the low bits of each sector seen */
  if (m->checks & SIM_COUNT_CACHE && a->range->sectors_serial != m->serial) sim__range_sectors(a->range, m->serial);
  SIM_EACH_LANE(l, a->mask) {
    const uint64_t first = a->offset[l] / 32, last = (a->offset[l] + a->bytes - 1) / 32;
    for (uint64_t s = first; s <= last; s++) {
      int old = 0;
      if (n > 0 && s <= highest && maybe >> (s & 63) & 1)
        for (uint32_t k = n; k-- > 0 && !old;) old = seen[k] == s;
      if (old) continue;
      seen[n++] = s;
      maybe |= (uint64_t)1 << (s & 63);
      if (s > highest) highest = s;
      one_sector(m, a, s, what);
    }
  }
}

/* Units are what a lane wants, words at least; a group is the banks that a unit lies in. One pass serves a unit of each group.
 */
static uint32_t passes_of(const uint32_t *unit, uint32_t lanes, uint32_t groups) {
  uint32_t taken = 0, collide = 0;
  SIM_EACH_LANE(l, lanes) {
    const uint32_t bit = 1u << (unit[l] % groups);
    collide |= taken & bit;
    taken |= bit;
  }
  if (!collide) return 1;
  uint32_t most = 1;
  SIM_EACH_LANE(group, collide) { /* of such a group: the distinct units */
    uint32_t seen[SIM_LANES], n = 0;
    SIM_EACH_LANE(l, lanes) {
      if (unit[l] % groups != group) continue;
      uint32_t s = 0;
      while (s < n && seen[s] != unit[l]) s++;
      if (s == n) seen[n++] = unit[l];
    }
    most = n > most ? n : most;
  }
  return most;
}

static uint32_t distinct_units(const uint32_t *unit, uint32_t lanes) {
  uint32_t seen[SIM_LANES], n = 0;
  SIM_EACH_LANE(l, lanes) {
    if (n == 0 || unit[l] > seen[n - 1]) { /* mostly they rise */
      seen[n++] = unit[l];
      continue;
    }
    uint32_t s = 0;
    while (s < n && seen[s] != unit[l]) s++;
    if (s < n) continue;
    for (s = n++; s > 0 && seen[s - 1] > unit[l]; s--) seen[s] = seen[s - 1];
    seen[s] = unit[l];
  }
  return n;
}

/* Lanes of 8 bytes pass in two halves, of 16 bytes in four quarters; within each, lanes that want unlike units of a group wait
 * for one another. The least is what the same bytes need when nothing collides. */
void sim__count_banks(sim_machine *m, const sim_access *a) {
  const uint32_t bytes = a->bytes < 4    ? 4
                         : a->bytes > 16 ? 16
                                         : a->bytes,
                 shift = (uint32_t)__builtin_ctz(bytes), groups = 128 / bytes;
  const uint32_t pass = groups == 32 ? SIM_ALL : (1u << groups) - 1;
  uint32_t unit[SIM_LANES];
  for (int l = 0; l < SIM_LANES; l++) unit[l] = (uint32_t)(a->offset[l] >> shift);
  for (uint32_t from = 0; from < SIM_LANES; from += groups) {
    const uint32_t part = a->mask & (pass << from);
    if (part) m->counters->shared_passes += passes_of(unit, part, groups);
  }
  m->counters->shared_passes_least += (distinct_units(unit, a->mask) + groups - 1) / groups;
}
