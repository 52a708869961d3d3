/* barrier.c -- barriers of a block, whole or by name, and bar.warp.sync. */
#include "exec/machine.h"

static void give(sim_warp *w, const sim_insn *i, const sim_barrier *b, uint32_t lanes) {
  if (i->op < SIM_BAR_POPC) return;
  if (i->op == SIM_BAR_POPC) {
    uint32_t *d = (uint32_t *)(void *)(w->fragment->frame->regs + i->o[0]);
    SIM_EACH_LANE(lane, lanes) d[lane] = b->popc;
  } else {
    sim__set_bits(w, i->o[0], lanes, (i->op == SIM_BAR_AND ? b->all : b->any) ? SIM_ALL : 0);
  }
  sim__mark_defined(w, i->o[0], lanes);
}

/* Everyone who waits at it goes on. `self` is told by its return value instead. */
static void release(sim_block *block, int id, const sim_warp *self) {
  sim_barrier *b = &block->barriers[id];
  SIM_EACH_LANE(v, b->waiting) sim__order_release(&block->warps[v], b->most);
  for (int k = 0; k < block->n_warps; k++) {
    sim_warp *w = &block->warps[k];
    sim_fragment *kept = w->fragment;
    for (int f = 0; f < w->n_fragments; f++) {
      sim_fragment *at = &w->fragments[f];
      if (at->state != SIM_AT_BARRIER || w->at_barrier[__builtin_ctz(at->here)] != id) continue;
      sim__warp_select(w, at);
      give(w, &block->machine->code[at->pc], b, at->here);
      at->state = SIM_RUNS;
      at->pc++;
    }
    if (w == self && kept) sim__warp_select(w, kept);
  }
  const sim_barrier none = {0};
  *b = none;
}

static int complete(const sim_block *block, const sim_barrier *b) {
  return b->active && b->arrived >= (b->counted ? b->want : block->live_threads);
}

/* Exits may be what a barrier of all living threads waited for. */
static void look_again(sim_warp *w) {
  for (int id = 0; id < SIM_BARRIERS; id++)
    if (!w->block->barriers[id].counted && complete(w->block, &w->block->barriers[id])) release(w->block, id, w);
}

static sim_step wrong(sim_warp *w, const sim_insn *i, uint32_t mask, const char *why, uint32_t a, uint32_t b) {
  return sim__fault(w, i, SIM_FAULT_BARRIER, __builtin_ctz(mask), why, a, b);
}

sim_step sim__step_barrier(sim_warp *w, const sim_insn *i, uint32_t mask) {
  sim_block *block = w->block;
  const uint32_t *src = i->o + i->n_dst, lane = (uint32_t)__builtin_ctz(mask);
  const uint32_t id = sim__u32(w, src[0])[lane], count = sim__u32(w, src[1])[lane];
  if (sim__undefined(w, src[0], mask) | sim__undefined(w, src[1], mask))
    return sim__fault(w, i, SIM_FAULT_UNDEFINED_BRANCH, (int)lane, "the barrier's number or count is undefined");
  SIM_EACH_LANE(l, mask) {
    if (sim__u32(w, src[0])[l] != id || sim__u32(w, src[1])[l] != count)
      return wrong(w, i, mask, "lanes of a warp name unlike barriers or counts: %u and %u", id, sim__u32(w, src[0])[l]);
  }
  if (id >= SIM_BARRIERS) return wrong(w, i, mask, "barrier %u; there are %u", id, SIM_BARRIERS);
  if (i->sign && (count == 0 || count % SIM_LANES))
    return wrong(w, i, mask, "a count of %u threads is no positive multiple of %u", count, SIM_LANES);
  if (i->sign && count > w->machine->n_warps * SIM_LANES)
    return wrong(w, i, mask, "a count of %u threads in a block of %u", count, w->machine->threads);
  sim_barrier *b = &block->barriers[id];
  if (b->active && (b->counted != i->sign || b->want != count))
    return wrong(w, i, mask, "a count of %u threads where others said %u", count, b->want);
  if (b->active && b->op >= SIM_BAR_POPC && i->op >= SIM_BAR_POPC && b->op != i->op)
    return wrong(w, i, mask, "barrier %u reduces in two ways at once (%u)", id, i->op);
  if (!b->active) *b = (sim_barrier){.active = 1, .counted = i->sign, .want = count, .all = 1, .insn = i, .op = i->op};
  /* a warp counts as a whole where a number of threads is given */
  b->arrived += i->sign && !i->type ? SIM_LANES : (uint32_t)__builtin_popcount(mask);
  if (b->counted && b->arrived > b->want)
    return wrong(w, i, mask, "%u threads arrive where %u are wanted", b->arrived, b->want);
  sim__order_arrive(w, b->most);
  if (i->op == SIM_BAR_ARRIVE)
    sim__order_warp(w, 0); /* what follows is not released */
  else
    b->waiting |= 1u << w->number;
  if (i->op >= SIM_BAR_POPC) {
    const uint32_t undefined = sim__undefined(w, src[2], mask), p = sim__bits(w, src[2]);
    if (undefined)
      return sim__fault(w, i, SIM_FAULT_UNDEFINED_BRANCH, __builtin_ctz(undefined),
                        "the predicate of the reduction is undefined");
    b->popc += (uint32_t)__builtin_popcount(p & mask);
    b->all &= (p & mask) == mask;
    b->any |= (p & mask) != 0;
    b->op = i->op;
  }
  SIM_EACH_LANE(l, mask) w->at_barrier[l] = (uint8_t)id;
  w->fragment->here = mask;
  w->machine->counters->barriers++;
  if (!complete(block, b)) return i->op == SIM_BAR_ARRIVE ? SIM_NEXT : SIM_WAITS;
  const sim_barrier done = *b;
  release(block, (int)id, w);
  give(w, i, &done, mask);
  return SIM_NEXT;
}

sim_step sim__step_warp_sync(sim_warp *w, const sim_insn *i, uint32_t mask) {
  (void)i;
  sim__order_warp(w, mask);
  w->machine->counters->warp_syncs++;
  return SIM_NEXT;
}

void sim__threads_left(sim_warp *w, uint32_t lanes) {
  w->live &= ~lanes;
  w->block->live_threads -= (uint32_t)__builtin_popcount(lanes);
  if (w->live == 0) w->block->n_done++;
  look_again(w);
}
