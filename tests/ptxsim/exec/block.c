/* block.c -- a block: its warps in a fair, seeded order, and what its lanes leave behind when they exit. */
#include "exec/machine.h"
#include "ptx/arena.h"

#include <stdlib.h>

static sim_block *block_new(sim_machine *m) {
  sim_block *b = sim__alloc(sizeof *b);
  b->machine = m;
  b->next_made = m->all_blocks;
  m->all_blocks = b;
  b->n_warps = (int)m->n_warps;
  b->warps = sim__alloc((size_t)m->n_warps * sizeof *b->warps);
  const size_t shared = m->shared_bytes + 64, granules = (shared >> m->function->shared_granule) + 1;
  b->shared = sim__alloc(shared);
  b->shared_undefined = sim__alloc(shared);
  b->in_flight = sim__alloc(shared);
  if (m->checks & SIM_CHECK_SHARED) b->touches = sim__alloc(granules * sizeof *b->touches);
  return b;
}

static void clear(sim_block *b) {
  const sim_machine *m = b->machine;
  const size_t shared = m->shared_bytes + 64;
  memset(b->shared, 0xFF, shared);
  memset(b->shared_undefined, 0xFF, shared);
  memset(b->in_flight, 0, shared);
  if (b->touches) memset(b->touches, 0, ((shared >> m->function->shared_granule) + 1) * sizeof *b->touches);
  memset(b->barriers, 0, sizeof b->barriers);
  b->n_in_flight = 0;
  b->n_done = 0;
  b->executed = 0;
  b->fence = b->seen = b->acquired = b->released = 0;
}

static void start_warp(sim_block *b, uint32_t number, uint32_t lanes) {
  sim_machine *m = b->machine;
  sim_warp *w = &b->warps[number];
  unsigned char *local = w->local, *undefined = w->local_undefined;
  const uint32_t local_bytes = w->local_bytes;
  memset(w, 0, sizeof *w);
  w->local = local; /* a used warp's memory serves again */
  w->local_undefined = undefined;
  w->local_bytes = local_bytes;
  if (local_bytes) memset(undefined, 0xFF, (size_t)local_bytes * SIM_LANES);
  w->block = b;
  w->machine = m;
  w->number = number;
  w->clock = 1;
  w->copies_end = &w->copies;
  sim__local_room(w, m->function->routines[0].local_bytes);
  w->kernel_frame = sim__frame_new(w, 0, NULL);
  sim__warp_begin(w, lanes, w->kernel_frame);
}

sim_block *sim__block_start(sim_machine *m, uint64_t linear) {
  sim_block *b = m->free_blocks;
  const sim_launch *l = m->launch;
  if (b)
    m->free_blocks = b->next_free;
  else
    b = block_new(m);
  clear(b);
  b->linear = linear;
  b->index[0] = (uint32_t)(linear % l->grid[0]);
  b->index[1] = (uint32_t)(linear / l->grid[0] % l->grid[1]);
  b->index[2] = (uint32_t)(linear / l->grid[0] / l->grid[1]);
  b->slot = (int)(linear % (uint64_t)(l->profile && l->profile->sm_count > 0 ? l->profile->sm_count : 1));
  b->live_threads = m->threads;
  for (uint32_t k = 0; k < m->n_warps; k++) {
    const uint32_t left = m->threads - k * SIM_LANES;
    start_warp(b, k, left >= SIM_LANES ? SIM_ALL : (1u << left) - 1);
  }
  m->counters->blocks++;
  m->counters->warps += m->n_warps;
  return b;
}

/* A block that ended or is given up: frames and joins go back. */
void sim__block_end(sim_block *b) {
  sim_machine *m = b->machine;
  if (m->launch->block_inst) m->launch->block_inst[b->linear] = b->executed;
  sim_counters *c = m->counters;
  if (b->executed > c->block_most_inst) c->block_most_inst = b->executed;
  if (b->executed < c->block_least_inst || c->block_least_inst == 0)
    c->block_least_inst = b->executed; /* each has one at least */
  for (int k = 0; k < b->n_warps; k++) {
    sim__copies_drop(&b->warps[k]);
    sim__frame_free(m, b->warps[k].kernel_frame);
  }
  b->next_free = m->free_blocks;
  m->free_blocks = b;
}

static sim_outcome deadlock(sim_block *b) {
  for (int k = 0; k < b->n_warps; k++) { /* lanes that wait for others of their warp say more than a barrier */
    sim_warp *w = &b->warps[k];
    for (int f = 0; f < w->n_fragments; f++) {
      if (w->fragments[f].state != SIM_AT_SYNC) continue;
      sim__warp_select(w, &w->fragments[f]);
      sim__fault(w, &b->machine->code[w->fragments[f].pc], SIM_FAULT_DIVERGED, __builtin_ctz(w->fragments[f].here),
                 "lanes 0x%08x never come to it", w->fragments[f].wanted & ~w->fragments[f].here);
      return SIM_O_FAULT;
    }
  }
  for (int k = 0; k < b->n_warps; k++) {
    sim_warp *w = &b->warps[k];
    if (w->n_fragments == 0) continue;
    sim__warp_select(w, &w->fragments[0]);
    const int id = w->at_barrier[__builtin_ctz(w->fragments[0].mask)];
    const sim_barrier *bar = &b->barriers[id];
    sim__fault(w, &b->machine->code[w->fragments[0].pc], SIM_FAULT_DEADLOCK, __builtin_ctz(w->fragments[0].mask),
               "barrier %d has %u of %u threads, and no other warp can run", id, bar->arrived,
               bar->counted ? bar->want : b->live_threads);
    return SIM_O_FAULT;
  }
  return SIM_O_FAULT;
}

static int can_run(const sim_warp *w) {
  for (int k = 0; k < w->n_fragments; k++)
    if (w->fragments[k].state == SIM_RUNS) return 1;
  return 0;
}

enum { WARP_TURN = 2000 };

/* Warps run until they wait, or had a turn of seeded length. */
sim_outcome sim__block_run(sim_block *b, uint64_t budget) {
  sim_machine *m = b->machine;
  while (budget > 0) {
    if (b->n_done == b->n_warps) return SIM_O_FINISHED;
    const uint64_t r = sim__random(&m->random);
    const int first = (int)(r % (uint64_t)b->n_warps);
    sim_warp *w = NULL;
    for (int k = 0; k < b->n_warps && !w; k++) {
      sim_warp *candidate = &b->warps[(first + k) % b->n_warps];
      if (can_run(candidate)) w = candidate;
    }
    if (!w) return deadlock(b);
    uint64_t turn = 1 + (r >> 32) % WARP_TURN;
    if (turn > budget) turn = budget;
    const uint64_t before = w->executed;
    const sim_outcome outcome = sim__warp_run(w, turn);
    const uint64_t done = w->executed - before;
    b->executed += done;
    budget -= done > budget ? budget : done;
    if (outcome == SIM_O_FAULT) return outcome;
    if (m->executed > m->limit) {
      if (w->n_fragments == 0) continue;
      if (!w->fragment) sim__warp_select(w, &w->fragments[0]);
      sim__fault(w, &m->code[w->fragment->pc], SIM_FAULT_TIME_LIMIT, __builtin_ctz(w->fragment->mask), "%llu warp instructions",
                 (unsigned long long)m->limit);
      return SIM_O_FAULT;
    }
  }
  return SIM_O_BUDGET;
}

void sim__blocks_free(sim_machine *m) {
  while (m->all_blocks) {
    sim_block *b = m->all_blocks;
    m->all_blocks = b->next_made;
    for (int k = 0; k < b->n_warps; k++) {
      free(b->warps[k].local);
      free(b->warps[k].local_undefined);
    }
    free(b->warps);
    free(b->shared);
    free(b->shared_undefined);
    free(b->in_flight);
    free(b->touches);
    free(b);
  }
}
