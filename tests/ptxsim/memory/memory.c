/* memory.c -- allocations of a context: exact bounds, gaps between them, addresses that are never used twice. */
#include "memory/memory.h"
#include "ptx/arena.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256, GAP = 4096 };
#define FIRST_ADDRESS ((uint64_t)1 << 41)
enum { N_PLACES = 16 }; /* that memories take in turn, below the host's addresses */

/* Each memory begins elsewhere, so that an address of another context is found out. */
sim_memory *sim_memory_new(int64_t limit_bytes) {
  static uint64_t n_made;
  sim_memory *memory = calloc(1, sizeof *memory);
  if (!memory) return NULL;
  memory->limit = (uint64_t)limit_bytes;
  memory->next = FIRST_ADDRESS * (1 + n_made++ % N_PLACES);
  return memory;
}

static void drop_bytes(sim_range *r) {
  if (!r->mapped) free(r->data);
  free(r->undefined);
  free(r->touch);
  free(r->sectors);
  r->data = r->undefined = r->sectors = NULL;
  r->touch = NULL;
}

void sim_memory_free(sim_memory *memory) {
  if (!memory) return;
  for (size_t i = 0; i < memory->n; i++) {
    drop_bytes(memory->ranges[i]);
    free(memory->ranges[i]);
  }
  free(memory->ranges);
  free(memory);
}

/* How many ranges begin at or below the address. */
static size_t count_below(const sim_memory *memory, uint64_t address) {
  size_t low = 0, high = memory->n;
  while (low < high) {
    const size_t mid = (low + high) / 2;
    if (memory->ranges[mid]->a.base <= address)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static void insert(sim_memory *memory, sim_range *range) {
  memory->ranges = sim__grow(memory->ranges, memory->n, &memory->room, sizeof(sim_range *));
  const size_t at = count_below(memory, range->a.base);
  memmove(memory->ranges + at + 1, memory->ranges + at, (memory->n - at) * sizeof(sim_range *));
  memory->ranges[at] = range;
  memory->n++;
}

uint64_t sim_memory_alloc(sim_memory *memory, uint64_t bytes) {
  if (bytes == 0 || bytes > memory->limit - memory->used) return 0;
  sim_range *r = calloc(1, sizeof *r);
  if (r) {
    r->data = malloc(bytes + 64); /* vector loads of the host may look past the end */
    r->undefined = malloc(bytes + 64);
  }
  if (!r || !r->data || !r->undefined) {
    if (r) drop_bytes(r);
    free(r);
    return 0;
  }
  memset(r->data, 0xFF, bytes + 64);
  memset(r->undefined, 0xFF, bytes + 64);
  r->a = (sim_allocation){.base = memory->next, .bytes = bytes, .state = SIM_LIVE};
  r->touch_shift = 4;
  memory->next += (bytes + ALIGN - 1) / ALIGN * ALIGN + GAP;
  memory->used += bytes;
  insert(memory, r);
  return r->a.base;
}

sim_range *sim__memory_range(const sim_memory *memory, uint64_t address) {
  for (size_t at = count_below(memory, address); at-- > 0;) {
    sim_range *r = memory->ranges[at];
    if (address - r->a.base < r->a.bytes) return r;
    if (r->a.state == SIM_LIVE || address - r->a.base > ((uint64_t)1 << 40)) return NULL;
  }
  return NULL;
}

/* Host addresses come back after they were freed, so a live range is looked for first. */
int sim_memory_release(sim_memory *memory, uint64_t address) {
  const size_t end = count_below(memory, address);
  for (size_t at = end; at-- > 0 && memory->ranges[at]->a.base == address;) {
    sim_range *r = memory->ranges[at];
    if (r->a.state != SIM_LIVE) return -2;
    r->a.state = SIM_FREED;
    if (!r->mapped) memory->used -= r->a.bytes;
    drop_bytes(r);
    if (!r->mapped) return 0;
    memmove(memory->ranges + at, memory->ranges + at + 1, (memory->n - at - 1) * sizeof(sim_range *));
    memory->n--; /* the host may hand the same address out again */
    free(r);
    return 0;
  }
  return -1;
}

int sim_memory_map(sim_memory *memory, void *host, uint64_t bytes) {
  const uint64_t base = (uint64_t)(uintptr_t)host;
  const size_t at = count_below(memory, base);
  if (at > 0 && base - memory->ranges[at - 1]->a.base < memory->ranges[at - 1]->a.bytes) return -2;
  if (at < memory->n && memory->ranges[at]->a.base - base < bytes) return -2;
  sim_range *r = calloc(1, sizeof *r);
  if (!r) return -1;
  r->a = (sim_allocation){.base = base, .bytes = bytes, .state = SIM_LIVE};
  r->data = host;
  r->mapped = 1;
  r->touch_shift = 4;
  insert(memory, r);
  return 0;
}

const sim_allocation *sim_memory_find(const sim_memory *memory, uint64_t address) {
  const sim_range *r = sim__memory_range(memory, address);
  return r ? &r->a : NULL;
}

const sim_allocation *sim_memory_nearest(const sim_memory *memory, uint64_t address) {
  const size_t at = count_below(memory, address);
  const sim_range *below = at > 0 ? memory->ranges[at - 1] : NULL, *above = at < memory->n ? memory->ranges[at] : NULL;
  if (!below || !above) return below ? &below->a : above ? &above->a : NULL;
  if (address - below->a.base < below->a.bytes) return &below->a;
  const uint64_t past = address - (below->a.base + below->a.bytes), before = above->a.base - address;
  return past <= before ? &below->a : &above->a;
}

uint64_t sim_memory_used(const sim_memory *memory) {
  return memory->used;
}

/* The live range that holds all of the bytes, or NULL. */
static sim_range *whole(const sim_memory *memory, uint64_t address, uint64_t bytes) {
  sim_range *r = sim__memory_range(memory, address);
  if (!r || r->a.state != SIM_LIVE || bytes > r->a.bytes - (address - r->a.base)) return NULL;
  return r;
}

static void set_defined(sim_range *r, uint64_t offset, uint64_t bytes) {
  if (!r->undefined) return;
  if (bytes == r->a.bytes) {
    free(r->undefined);
    r->undefined = NULL;
  } else {
    memset(r->undefined + offset, 0, bytes);
  }
}

int sim_memory_write(sim_memory *memory, uint64_t to, const void *from, uint64_t bytes) {
  if (bytes == 0) return 0;
  sim_range *r = whole(memory, to, bytes);
  if (!r) return -1;
  memmove(r->data + (to - r->a.base), from, bytes);
  set_defined(r, to - r->a.base, bytes);
  return 0;
}

int sim_memory_read(const sim_memory *memory, void *to, uint64_t from, uint64_t bytes) {
  if (bytes == 0) return 0;
  const sim_range *r = whole(memory, from, bytes);
  if (!r) return -1;
  memmove(to, r->data + (from - r->a.base), bytes);
  return 0;
}

int sim_memory_fill(sim_memory *memory, uint64_t to, const void *unit, int unit_bytes, uint64_t units) {
  if (units == 0) return 0;
  if (units > UINT64_MAX / 4) return -1;
  const uint64_t bytes = units * (uint64_t)unit_bytes;
  sim_range *r = whole(memory, to, bytes);
  if (!r) return -1;
  unsigned char *at = r->data + (to - r->a.base);
  if (unit_bytes == 1)
    memset(at, *(const unsigned char *)unit, bytes);
  else
    for (uint64_t i = 0; i < units; i++) memcpy(at + i * (uint64_t)unit_bytes, unit, (size_t)unit_bytes);
  set_defined(r, to - r->a.base, bytes);
  return 0;
}

int sim_memory_copy(sim_memory *memory, uint64_t to, uint64_t from, uint64_t bytes) {
  if (bytes == 0) return 0;
  sim_range *d = whole(memory, to, bytes), *s = whole(memory, from, bytes);
  if (!d || !s) return -1;
  const uint64_t at = to - d->a.base, source = from - s->a.base;
  memmove(d->data + at, s->data + source, bytes);
  if (!s->undefined)
    set_defined(d, at, bytes);
  else if (d->undefined)
    memmove(d->undefined + at, s->undefined + source, bytes);
  else if (memchr(s->undefined + source, 0xFF, bytes)) {
    d->undefined = sim__alloc(d->a.bytes + 64);
    memcpy(d->undefined + at, s->undefined + source, bytes);
  }
  return 0;
}

uint64_t sim_memory_first_undefined(const sim_memory *memory, uint64_t from, uint64_t bytes) {
  const sim_range *r = whole(memory, from, bytes);
  if (!r || !r->undefined) return UINT64_MAX;
  const unsigned char *at = memchr(r->undefined + (from - r->a.base), 0xFF, bytes);
  return at ? r->a.base + (uint64_t)(at - r->undefined) : UINT64_MAX;
}
