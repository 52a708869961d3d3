/* cache.c -- the modelled L2: lines of 128 bytes with four sectors, 16 ways, the least recently used line goes. */
#include "exec/machine.h"
#include "ptx/arena.h"

#include <stdlib.h>

enum { WAYS = 16, LINE_SECTORS = 4 };

typedef struct set {
  uint32_t tag[WAYS];               /* line number + 1, its low 32 bits; 0: empty */
  uint32_t used[WAYS];              /* when, within the cache's life */
  uint8_t valid[WAYS], dirty[WAYS]; /* a bit for each sector */
  uint32_t last, pad[7];            /* the way that was used last */
} set;

struct sim_cache {
  uint64_t n_sets;
  uint32_t now;
  set *sets;
};

sim_cache *sim__cache_new(uint64_t bytes) {
  sim_cache *c = sim__alloc(sizeof *c);
  c->n_sets = bytes / (WAYS * LINE_SECTORS * 32);
  if (c->n_sets == 0) c->n_sets = 1;
  c->sets = sim__alloc(c->n_sets * sizeof *c->sets);
  return c;
}

void sim__cache_free(sim_cache *c) {
  if (!c) return;
  free(c->sets);
  free(c);
}

static void evict(sim_machine *m, set *s, uint32_t way) {
  m->counters->dram_write_bytes += 32ull * (unsigned)__builtin_popcount(s->dirty[way]);
  s->tag[way] = 0;
  s->used[way] = 0;
  s->valid[way] = s->dirty[way] = 0;
}

static uint32_t way_of(const set *s, uint32_t tag) {
  uint32_t found = 0;
  for (uint32_t k = 0; k < WAYS; k++) found |= (uint32_t)(s->tag[k] == tag) << k;
  return found ? (uint32_t)__builtin_ctz(found) : WAYS;
}

static uint32_t oldest_way(const set *s) { /* empty ones were used at 0 */
  uint32_t oldest = 0;
  for (uint32_t k = 1; k < WAYS; k++)
    if (s->used[k] < s->used[oldest]) oldest = k;
  return oldest;
}

void sim__cache_sector(sim_machine *m, uint64_t sector, int write) {
  sim_cache *c = m->cache;
  const uint64_t number = sector / LINE_SECTORS;
  const uint32_t tag = (uint32_t)number + 1;
  const uint8_t bit = (uint8_t)(1u << (sector % LINE_SECTORS));
  set *s = &c->sets[(uint32_t)(number ^ number >> 17) % (uint32_t)c->n_sets];
  uint32_t way = s->tag[s->last] == tag ? s->last : way_of(s, tag);
  if (way == WAYS) {
    way = oldest_way(s);
    evict(m, s, way);
    s->tag[way] = tag;
  }
  s->last = way;
  s->used[way] = ++c->now;
  if (s->valid[way] & bit) {
    m->counters->l2_hit_sectors++;
  } else {
    m->counters->l2_miss_sectors++;
    if (!write) m->counters->dram_read_bytes += 32; /* a store fills its sector without reading it */
    s->valid[way] |= bit;
  }
  if (write) s->dirty[way] |= bit;
}

void sim__cache_flush(sim_machine *m) {
  sim_cache *c = m->cache;
  for (uint64_t k = 0; c && k < c->n_sets; k++)
    for (uint32_t way = 0; way < WAYS; way++)
      if (c->sets[k].tag[way]) evict(m, &c->sets[k], way);
}
