/* cache.c -- the modelled L2: lines of 128 bytes with four sectors, 16 ways, the least recently used line goes. */
#include "exec/machine.h"
#include "ptx/arena.h"

#include <stdlib.h>

enum { WAYS = 16, LINE_SECTORS = 4 };

typedef struct line {
  uint64_t tag;         /* line number + 1; 0: empty */
  uint32_t used;        /* when, within the cache's life */
  uint8_t valid, dirty; /* a bit for each sector */
} line;

struct sim_cache {
  uint64_t sets;
  uint32_t now;
  line *lines;
};

sim_cache *sim__cache_new(uint64_t bytes) {
  sim_cache *c = sim__alloc(sizeof *c);
  c->sets = bytes / (WAYS * LINE_SECTORS * 32);
  if (c->sets == 0) c->sets = 1;
  c->lines = sim__alloc(c->sets * WAYS * sizeof *c->lines);
  return c;
}

void sim__cache_free(sim_cache *c) {
  if (!c) return;
  free(c->lines);
  free(c);
}

static void evict(sim_machine *m, line *l) {
  m->counters->dram_write_bytes += 32ull * (unsigned)__builtin_popcount(l->dirty);
  l->tag = 0;
  l->valid = l->dirty = 0;
}

void sim__cache_sector(sim_machine *m, uint64_t sector, int write) {
  sim_cache *c = m->cache;
  const uint64_t number = sector / LINE_SECTORS;
  const uint8_t bit = (uint8_t)(1u << (sector % LINE_SECTORS));
  line *set = c->lines + (number ^ number >> 17) % c->sets * WAYS, *found = NULL, *oldest = set;
  c->now++;
  for (int k = 0; k < WAYS; k++) {
    if (set[k].tag == number + 1) {
      found = &set[k];
      break;
    }
    if (set[k].tag == 0 || (oldest->tag != 0 && c->now - set[k].used > c->now - oldest->used)) oldest = &set[k];
  }
  if (!found) {
    evict(m, oldest);
    found = oldest;
    found->tag = number + 1;
  }
  found->used = c->now;
  if (found->valid & bit) {
    m->counters->l2_hit_sectors++;
  } else {
    m->counters->l2_miss_sectors++;
    if (!write) m->counters->dram_read_bytes += 32; /* a store fills its sector without reading it */
    found->valid |= bit;
  }
  if (write) found->dirty |= bit;
}

void sim__cache_flush(sim_machine *m) {
  sim_cache *c = m->cache;
  for (uint64_t k = 0; c && k < c->sets * WAYS; k++)
    if (c->lines[k].tag) evict(m, &c->lines[k]);
}
