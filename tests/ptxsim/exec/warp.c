/* warp.c -- the loop that runs a warp, and its fragments and joins. */
#include "exec/machine.h"

#include <stdio.h>

/* ---- fragments and joins
 * ------------------------------------------------------------------------------------------------------------- */

void sim__warp_select(sim_warp *w, sim_fragment *f) {
  w->fragment = f;
  w->regs = f->frame->regs;
  w->shadow = f->frame->shadow;
  w->undef = f->frame->undef;
}

sim_fragment *sim__fragment_add(sim_warp *w, uint32_t pc, uint32_t mask, sim_join *join, sim_frame *frame) {
  sim_fragment *f = &w->fragments[w->n_fragments++];
  *f = (sim_fragment){.pc = pc, .mask = mask, .join = join, .frame = frame};
  return f;
}

/* The last one takes its place; whoever holds a pointer looks again. */
void sim__fragment_drop(sim_warp *w, sim_fragment *f) {
  sim_fragment *last = &w->fragments[--w->n_fragments];
  if (f != last) *f = *last;
  w->fragment = NULL;
}

sim_join *sim__join_new(sim_machine *m, sim_join *parent, uint32_t pc, uint32_t expected, sim_frame *frame) {
  sim_join *j = m->free_joins;
  if (j)
    m->free_joins = j->parent;
  else
    j = sim__arena_alloc(&m->arena, sizeof *j);
  *j = (sim_join){.parent = parent, .expected = expected, .pc = pc, .frame = frame};
  return j;
}

static void join_free(sim_machine *m, sim_join *j) {
  if (j->callee) sim__frame_free(m, j->callee);
  j->parent = m->free_joins;
  m->free_joins = j;
}

static int results_back(sim_warp *w, const sim_join *j);

static void join_complete(sim_warp *w, sim_join *j) {
  if (j->arrived != j->expected) return;
  if (j->arrived) {
    if (j->callee) results_back(w, j);
    sim__fragment_add(w, j->pc, j->arrived, j->parent, j->frame);
  }
  join_free(w->machine, j);
}

void sim__join_arrive(sim_warp *w, sim_join *j, uint32_t lanes) {
  if (!j->arrived) j->since = w->executed;
  j->arrived |= lanes;
  join_complete(w, j);
}

void sim__join_leave(sim_warp *w, sim_join *j, uint32_t lanes) {
  while (j) {
    sim_join *parent = j->parent;
    j->expected &= ~lanes;
    join_complete(w, j);
    j = parent;
  }
}

/* Results of a call: from the callee's frame to the caller's, both in local memory. */
static int results_back(sim_warp *w, const sim_join *j) {
  const sim_call *c = &w->machine->function->calls[j->callee->call->extra];
  const sim_routine *r = j->callee->routine;
  for (int k = 0; k < c->n_results; k++) SIM_EACH_LANE(lane, j->arrived) {
      const size_t base = (size_t)lane * w->local_bytes;
      const size_t to = base + j->frame->local_base + c->result_offset[k],
                   from = base + j->callee->local_base + r->result_offset[k];
      memcpy(w->local + to, w->local + from, c->result_bytes[k]);
      memcpy(w->local_undefined + to, w->local_undefined + from, c->result_bytes[k]);
    }
  return 0;
}

enum { PATIENCE = 50000 };

/* Lanes that have waited for long go on without the others, which may be waiting for them: as on hardware since Volta, nobody
 * is starved by a lane of its own warp. Where all must be together, an instruction says so, and waits for it. */
static void release_patient(sim_warp *w) {
  for (int k = 0, n = w->n_fragments; k < n; k++)
    for (sim_join *j = w->fragments[k].join; j; j = j->parent) {
      if (!j->arrived || w->executed - j->since < PATIENCE) continue;
      if (j->callee) results_back(w, j);
      sim__fragment_add(w, j->pc, j->arrived, j->parent, j->frame);
      j->expected &= ~j->arrived;
      j->arrived = 0;
    }
}

void sim__warp_begin(sim_warp *w, uint32_t lanes, sim_frame *frame) {
  w->made = w->live = lanes;
  w->n_fragments = 0;
  sim__warp_select(w, sim__fragment_add(w, 0, lanes, NULL, frame));
}

/* ---- lanes that must come together
 * --------------------------------------------------------------------------------------------------- */

/* Executes a .sync or .aligned instruction for all fragments that wait at it, once their lanes cover what it wants. */
static sim_step run_together(sim_warp *w, const sim_insn *i, uint32_t all) {
  sim_fragment *self = w->fragment;
  const uint32_t pc = self->pc, wanted = self->wanted;
  const sim_frame *frame = self->frame;
  const sim_step step = i->step(w, i, all);
  if (step == SIM_FAULTED || step == SIM_MOVED) return step;
  for (int k = 0; k < w->n_fragments; k++) {
    sim_fragment *f = &w->fragments[k];
    if (f->pc != pc || f->frame != frame || f->wanted != wanted || f->state != SIM_AT_SYNC) continue;
    if (step == SIM_WAITS) {
      f->state = SIM_AT_BARRIER;
    } else {
      f->state = SIM_RUNS;
      f->pc++;
    }
  }
  return step == SIM_WAITS ? SIM_WAITS : SIM_MOVED;
}

static const char *name_lanes(uint32_t mask, char *text, size_t room) {
  size_t n = 0;
  SIM_EACH_LANE(lane, mask) if (n + 8 < room) n += (size_t)snprintf(text + n, room - n, n ? ",%u" : "%u", lane);
  return text;
}

/* Lanes that stand at a .sync instruction with unlike masks are groups of their own, which meet again right behind it. */
static sim_step split_by_mask(sim_warp *w, const sim_insn *i, uint32_t lanes, const uint32_t *masks) {
  sim_machine *m = w->machine;
  const sim_fragment f = *w->fragment;
  sim_join *join = sim__join_new(m, f.join, f.pc + 1, f.mask, f.frame);
  m->class_count[i->class]--; /* each group is counted when it runs */
  m->class_threads[i->class] -= (unsigned)__builtin_popcount(lanes);
  sim__fragment_drop(w, w->fragment);
  if (f.mask & ~lanes) sim__fragment_add(w, f.pc + 1, f.mask & ~lanes, join, f.frame);
  for (uint32_t left = lanes; left;) {
    const uint32_t first = masks[__builtin_ctz(left)];
    uint32_t same = 0;
    SIM_EACH_LANE(l, left) same |= (uint32_t)(masks[l] == first) << l;
    sim__fragment_add(w, f.pc, same, join, f.frame);
    left &= ~same;
  }
  return SIM_MOVED;
}

static sim_step meet(sim_warp *w, const sim_insn *i, uint32_t mask) {
  sim_fragment *self = w->fragment;
  uint32_t wanted = w->live;
  char text[128];
  if (i->kind == SIM_MEMBER) {
    const uint32_t lane = (uint32_t)__builtin_ctz(mask);
    const uint32_t ref = i->o[i->sync];
    const uint32_t *masks = sim__u32(w, ref);
    int unlike = 0;
    const uint32_t undefined = sim__undefined(w, ref, mask);
    if (undefined)
      return sim__fault(w, i, SIM_FAULT_UNDEFINED_BRANCH, __builtin_ctz(undefined), "the mask of lanes is undefined");
    SIM_EACH_LANE(l, mask) {
      if (!(masks[l] >> l & 1)) return sim__fault(w, i, SIM_FAULT_BAD_MASK, (int)l, "the mask is 0x%08x", masks[l]);
      unlike |= masks[l] != masks[lane];
    }
    if (unlike) return split_by_mask(w, i, mask, masks);
    wanted = masks[lane] & w->live;
    if (masks[lane] & ~w->made)
      return sim__fault(w, i, SIM_FAULT_EXITED_LANE, (int)lane, "the mask 0x%08x names lanes that the block does not have",
                        masks[lane]);
  } else if (i->step != sim__step_barrier && w->live != SIM_ALL) {
    return sim__fault(w, i, SIM_FAULT_EXITED_LANE, __builtin_ctz(~w->live), "lanes %s are gone",
                      name_lanes(~w->live, text, sizeof text));
  }
  self->here = mask;
  self->wanted = wanted;
  self->state = SIM_AT_SYNC;
  if (mask == wanted) return run_together(w, i, mask);
  uint32_t all = 0;
  for (int k = 0; k < w->n_fragments; k++) {
    const sim_fragment *f = &w->fragments[k];
    if (f->state == SIM_AT_SYNC && f->pc == self->pc && f->frame == self->frame && f->wanted == wanted) all |= f->here;
  }
  return all == wanted ? run_together(w, i, all) : SIM_WAITS;
}

void sim__warp_look_again(sim_warp *w) {
  for (int k = 0; k < w->n_fragments; k++) {
    sim_fragment *f = &w->fragments[k];
    if (f->state != SIM_AT_SYNC || !(f->wanted & ~w->live)) continue;
    const sim_insn *i = &w->machine->code[f->pc];
    f->state = SIM_RUNS; /* it is counted when it runs */
    w->machine->class_count[i->class]--;
    w->machine->class_threads[i->class] -= (unsigned)__builtin_popcount(f->here);
  }
}

/* ---- scheduling
 * ----------------------------------------------------------------------------------------------------------------------- */

/* The youngest fragment that can run; its lanes are the deepest in the branches. */
static sim_fragment *pick(sim_warp *w, int rotate) {
  const int n = w->n_fragments;
  const int from = rotate && n > 1 ? (int)(sim__random(&w->machine->random) % (uint64_t)n) : n - 1;
  for (int k = 0; k < n; k++) {
    sim_fragment *f = &w->fragments[(from + n - k) % n];
    if (f->state == SIM_RUNS) return f;
  }
  return NULL;
}

/* Nothing of the warp can run: it waits at a barrier, or lanes wait for others that never come. */
static sim_outcome stuck(sim_warp *w) {
  sim_fragment *waits = NULL;
  int at_barrier = 0;
  for (int k = 0; k < w->n_fragments; k++) {
    if (w->fragments[k].state == SIM_AT_BARRIER)
      at_barrier = 1;
    else
      waits = &w->fragments[k];
  }
  if (at_barrier || !waits) return SIM_O_BLOCKED;
  char text[128];
  sim__warp_select(w, waits);
  const uint32_t missing = waits->wanted & ~waits->here;
  sim__fault(w, &w->machine->code[waits->pc], SIM_FAULT_DIVERGED, __builtin_ctz(waits->here), "lanes %s never come to it",
             name_lanes(missing, text, sizeof text));
  return SIM_O_FAULT;
}

static inline uint32_t guarded(const sim_warp *w, const sim_insn *i, uint32_t mask) {
  uint32_t p = sim__bits(w, i->guard);
  if (i->guard_negated) p = ~p;
  return mask & p;
}

enum { TURN = 512 }; /* instructions of a fragment while its siblings wait */

/* One fragment until it ends, waits, moves or has had its turn. `defs`: definedness is tracked. */
static inline __attribute__((always_inline)) sim_step run_fragment(sim_warp *w, uint64_t *budget, const int defs) {
  sim_machine *m = w->machine;
  sim_fragment *f = w->fragment;
  const sim_insn *code = m->code;
  const uint32_t stop = f->join && !f->join->callee ? f->join->pc : UINT32_MAX;
  const uint32_t lanes = f->mask;
  const int n_lanes = __builtin_popcount(lanes);
  uint64_t left = *budget;
  uint32_t pc = f->pc;
  if (w->n_fragments > 1 && left > TURN) left = TURN;
  const uint64_t granted = left;
  sim_step step = SIM_NEXT;
  while (left > 0) {
    if (pc == stop) {
      sim_join *join = f->join;
      sim__fragment_drop(w, f);
      sim__join_arrive(w, join, lanes);
      step = SIM_MOVED;
      goto gone;
    }
    const sim_insn *i = &code[pc];
    uint32_t mask = lanes;
    int n = n_lanes;
    if (i->guard) {
      if (defs) {
        const uint32_t undefined = w->undef[i->guard / SIM_SLOT] & lanes;
        if (undefined) {
          f->pc = pc;
          step = sim__fault(w, i, SIM_FAULT_UNDEFINED_BRANCH, __builtin_ctz(undefined),
                            "the guard of the instruction is undefined");
          goto gone;
        }
      }
      mask = guarded(w, i, lanes);
      n = __builtin_popcount(mask);
    }
    left--;
    if (!i->uncounted) {
      m->class_count[i->class]++;
      m->class_threads[i->class] += (unsigned)n;
    }
    if (i->kind == SIM_ALU) {
      if (mask) {
        if (defs) {
          const uint32_t *u = w->undef;
          const uint32_t any =
              (u[i->o[2] / SIM_SLOT] | u[i->o[3] / SIM_SLOT] | u[i->o[4] / SIM_SLOT] | u[i->o[5] / SIM_SLOT]) & mask;
          if (__builtin_expect(any != 0, 0)) {
            sim__flow(w, i, mask, any);
          } else {
            w->undef[i->o[0] / SIM_SLOT] &= ~mask;
            w->undef[i->o[1] / SIM_SLOT] &= ~mask;
          }
        }
        i->alu(w->regs, i, mask);
        m->class_flop[i->class] += (unsigned)n * i->flop;
      }
      pc++;
      continue;
    }
    if (mask == 0) {
      m->counters->branches += i->target >= 0;
      pc++;
      continue;
    }
    f->pc = pc;
    step = i->kind == SIM_STEP ? i->step(w, i, mask) : meet(w, i, mask);
    if (step == SIM_NEXT) {
      pc++;
      continue;
    }
    if (step == SIM_JUMPED) {
      pc = f->pc;
      continue;
    }
    if (step == SIM_WAITS && f->state == SIM_RUNS) f->state = SIM_AT_BARRIER;
    goto gone;
  }
  f->pc = pc;
gone:
  *budget -= granted - left;
  w->executed += granted - left;
  m->executed += granted - left;
  return step;
}

sim_outcome sim__warp_run(sim_warp *w, uint64_t budget) {
  int rotate = 1; /* whoever had the last turn does not have this one by right */
  if (w->n_fragments > 0) release_patient(w);
  while (budget > 0) {
    sim_fragment *f = pick(w, rotate);
    if (!f) return w->n_fragments == 0 ? SIM_O_FINISHED : stuck(w);
    sim__warp_select(w, f);
    const sim_step step = w->undef ? run_fragment(w, &budget, 1) : run_fragment(w, &budget, 0);
    if (step == SIM_FAULTED) return SIM_O_FAULT;
    rotate = step == SIM_NEXT; /* it has had its turn */
  }
  return SIM_O_BUDGET;
}
