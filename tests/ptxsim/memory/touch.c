/* touch.c -- shadows of a launch: which block touched which bytes, and which sectors were touched at all. */
#include "memory/memory.h"
#include "ptx/arena.h"

#include <stdlib.h>
#include <string.h>

/* The 8-bit stamp of a launch repeats, so a table is cleared before any of its stamps could be taken for a newer one. */
enum { STAMPS = 250 };

static size_t granules(const sim_range *r) {
  return (size_t)((r->a.bytes + 15) / 16 << (4 - r->touch_shift)) + 64;
}

/* A narrower access than any before: each granule becomes several, with the same history. */
static void split(sim_range *r, int shift) {
  const size_t n = granules(r), times = (size_t)1 << (r->touch_shift - shift);
  sim_touch *old = r->touch;
  r->touch_shift = shift;
  if (!old) return;
  r->touch = sim__alloc(granules(r) * sizeof *r->touch);
  for (size_t i = 0; i < n - 64; i++)
    for (size_t k = 0; k < times; k++) r->touch[i * times + k] = old[i];
  free(old);
}

void sim__range_touches(sim_range *r, uint64_t serial, unsigned bytes) {
  const int shift = bytes >= 16 ? 4 : __builtin_ctz(bytes);
  if (shift < r->touch_shift) split(r, shift);
  if (!r->touch) {
    r->touch = sim__alloc(granules(r) * sizeof *r->touch);
    r->touch_serial = serial;
  } else if (serial - r->touch_serial >= STAMPS) {
    memset(r->touch, 0, granules(r) * sizeof *r->touch);
    r->touch_serial = serial;
  }
}

void sim__range_sectors(sim_range *r, uint64_t serial) {
  const size_t bytes = (size_t)(r->a.bytes / 256 + 2);
  if (!r->sectors)
    r->sectors = sim__alloc(bytes);
  else if (r->sectors_serial != serial)
    memset(r->sectors, 0, bytes);
  r->sectors_serial = serial;
}
