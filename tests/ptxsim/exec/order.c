/* order.c -- which accesses happened before which: of lanes and warps of a block, and of blocks.
 *
 * Shared memory: each warp has a clock that moves on at its barriers and bar.warp.syncs; an access carries the clock. A barrier
 * tells every warp in it how far the others' clocks had come. Lanes of one warp are ordered only by what names both of them.
 * Global memory: a block releases by a fence and then a strong write, and acquires by a strong read and then a fence. */
#include "exec/machine.h"
#include "ptx/arena.h"

void sim__order_warp(sim_warp *w, uint32_t lanes) {
  w->history[w->n_history++ % SIM_SYNC_HISTORY] = (sim_sync){w->clock, lanes};
  if ((lanes & w->live) == w->live) w->full_sync = w->clock + 1;
  w->clock++;
}

void sim__order_arrive(const sim_warp *w, uint32_t most[SIM_MAX_WARPS]) {
  for (int v = 0; v < w->block->n_warps; v++) most[v] = w->seen[v] > most[v] ? w->seen[v] : most[v];
  if (w->clock > most[w->number]) most[w->number] = w->clock;
}

void sim__order_release(sim_warp *w, const uint32_t most[SIM_MAX_WARPS]) {
  for (int v = 0; v < w->block->n_warps; v++) w->seen[v] = w->seen[v] > most[v] ? w->seen[v] : most[v];
  sim__order_warp(w, w->live);
}

/* Follows the syncs since then: whoever one names together with a lane that is ordered, is ordered too. */
int sim__ordered_lanes(const sim_warp *w, uint32_t time, uint32_t a, uint32_t b) {
  if (a == b || time < w->full_sync) return 1;
  const uint32_t kept = w->n_history < SIM_SYNC_HISTORY ? w->n_history : SIM_SYNC_HISTORY;
  if (kept == SIM_SYNC_HISTORY && w->history[w->n_history % SIM_SYNC_HISTORY].time > time) return 1; /* too long ago to tell */
  uint32_t reached = 1u << a;
  for (uint32_t k = w->n_history - kept; k < w->n_history; k++) {
    const sim_sync *s = &w->history[k % SIM_SYNC_HISTORY];
    if (s->time >= time && s->mask & reached) reached |= s->mask;
  }
  return reached >> b & 1;
}

/* ---- between blocks
 * ------------------------------------------------------------------------------------------------------------------ */

void sim__fence(sim_block *b, int order) {
  if (order & SIM_M_RELEASE) b->fence = ++b->machine->time;
  if (order & SIM_M_ACQUIRE) b->acquired = b->seen;
}

/* Publishes the last fence, if it was not published yet. */
void sim__strong_write(sim_block *b) {
  if (b->fence == b->released) return;
  b->released = b->fence;
  const uint32_t name = sim__block_name(b);
  sim_releases *r = &b->machine->releases[name % SIM_RELEASE_BUCKETS];
  r->all = sim__grow(r->all, r->n, &r->room, sizeof *r->all);
  r->all[r->n++] = (sim_release){name, b->fence, ++b->machine->time};
}

void sim__strong_read(sim_block *b) {
  b->seen = ++b->machine->time;
}

/* Did the block `then` (its number + 1, or many) release what it did at `time`, and has this block acquired since? */
int sim__ordered_blocks(const sim_block *now, uint64_t then, uint32_t time) {
  const sim_machine *m = now->machine;
  if (!now->acquired || time >= now->acquired) return 0;
  if (then == SIM_TOUCH_MANY) return 1; /* which ones is not known */
  const sim_releases *r = &m->releases[then % SIM_RELEASE_BUCKETS];
  for (size_t k = 0; k < r->n; k++)
    if (r->all[k].block == then && r->all[k].fence > time && r->all[k].at < now->acquired) return 1;
  return 0;
}
