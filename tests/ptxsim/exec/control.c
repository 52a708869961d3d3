/* control.c -- branches, calls, returns, exits. */
#include "exec/machine.h"

/* Where lanes that part now meet again: the join that is there already, or a new one. */
static sim_join *join_at(sim_warp *w, const sim_fragment *f, int32_t pc) {
  sim_join *j = f->join;
  if (pc < 0) return j;
  if (j && !j->callee && j->pc == (uint32_t)pc && j->frame == f->frame) return j;
  return sim__join_new(w->machine, j, (uint32_t)pc, f->mask, f->frame);
}

sim_step sim__step_branch(sim_warp *w, const sim_insn *i, uint32_t mask) {
  sim_fragment *f = w->fragment;
  w->machine->counters->branches++;
  if (mask == f->mask) {
    f->pc = (uint32_t)i->target;
    return SIM_JUMPED;
  }
  w->machine->counters->branches_divergent++;
  f->join = join_at(w, f, i->join);
  const uint32_t rest = f->mask & ~mask, next = f->pc + 1;
  const int taken_first = (int)(sim__random(&w->machine->random) & 1);
  f->mask = taken_first ? rest : mask;
  f->pc = taken_first ? next : (uint32_t)i->target;
  sim__fragment_add(w, taken_first ? (uint32_t)i->target : next, taken_first ? mask : rest, f->join, f->frame);
  return SIM_MOVED;
}

sim_step sim__step_branch_table(sim_warp *w, const sim_insn *i, uint32_t mask) {
  sim_fragment *f = w->fragment;
  const sim_call *table = &w->machine->function->calls[i->extra];
  const uint32_t *index = sim__u32(w, i->o[0]);
  const uint32_t undefined = sim__undefined(w, i->o[0], mask);
  w->machine->counters->branches++;
  if (undefined)
    return sim__fault(w, i, SIM_FAULT_UNDEFINED_BRANCH, __builtin_ctz(undefined), "the index of the branch is undefined");
  SIM_EACH_LANE(lane, mask)
  if (index[lane] >= (uint32_t)table->n_targets)
    return sim__fault(w, i, SIM_FAULT_BAD_CALL, (int)lane, "index %u in a table of %d targets", index[lane], table->n_targets);
  const uint32_t rest = f->mask & ~mask, first = index[__builtin_ctz(mask)];
  uint32_t same = 0;
  SIM_EACH_LANE(lane, mask) same |= (uint32_t)(index[lane] == first) << lane;
  if (same == f->mask) {
    f->pc = (uint32_t)table->targets[first];
    return SIM_JUMPED;
  }
  w->machine->counters->branches_divergent++;
  sim_join *join = f->join = join_at(w, f, i->join);
  sim_frame *frame = f->frame;
  const uint32_t next = f->pc + 1;
  f->mask = same;
  f->pc = (uint32_t)table->targets[first];
  for (uint32_t left = mask & ~same; left;) {
    const uint32_t at = index[__builtin_ctz(left)];
    same = 0;
    SIM_EACH_LANE(lane, left) same |= (uint32_t)(index[lane] == at) << lane;
    sim__fragment_add(w, (uint32_t)table->targets[at], same, join, frame);
    left &= ~same;
  }
  if (rest) sim__fragment_add(w, next, rest, join, frame);
  return SIM_MOVED;
}

/* ---- calls
 * -------------------------------------------------------------------------------------------------------------------------- */

static void pass_arguments(sim_warp *w, const sim_call *c, const sim_frame *callee, uint32_t lanes) {
  const sim_routine *r = callee->routine;
  SIM_EACH_LANE(lane, lanes) {
    unsigned char *data = w->local + (size_t)lane * w->local_bytes,
                  *undefined = w->local_undefined + (size_t)lane * w->local_bytes;
    memset(undefined + callee->local_base, 0xFF, r->local_bytes); /* whatever an earlier call left there */
    for (int k = 0; k < c->n_args; k++) {
      const uint32_t to = callee->local_base + r->param_offset[k], from = callee->caller->local_base + c->arg_offset[k];
      memcpy(data + to, data + from, c->arg_bytes[k]);
      memcpy(undefined + to, undefined + from, c->arg_bytes[k]);
    }
  }
}

static int fits(const sim_call *c, const sim_routine *r) {
  if (c->n_args != r->n_params || c->n_results != r->n_results) return 0;
  for (int k = 0; k < c->n_args; k++)
    if (c->arg_bytes[k] != r->param_bytes[k]) return 0;
  for (int k = 0; k < c->n_results; k++)
    if (c->result_bytes[k] != r->result_bytes[k]) return 0;
  return 1;
}

/* These lanes enter the routine; they come back to `back` and go on to `parent`. */
static sim_step enter(sim_warp *w, const sim_insn *i, const sim_call *c, int routine, uint32_t lanes, sim_join *parent,
                      sim_frame *caller, uint32_t back) {
  const sim_routine *r = &w->machine->function->routines[routine];
  if (caller->depth + 1 >= SIM_MAX_DEPTH)
    return sim__fault(w, i, SIM_FAULT_STACK, __builtin_ctz(lanes), "%d calls within each other", SIM_MAX_DEPTH);
  if (sim__local_room(w, caller->local_base + caller->routine->local_bytes + r->local_bytes) != 0)
    return sim__fault(w, i, SIM_FAULT_STACK, __builtin_ctz(lanes), "more than 512 KiB of local memory");
  sim_frame *callee = sim__frame_new(w, routine, caller);
  callee->call = i;
  pass_arguments(w, c, callee, lanes);
  sim_join *j = sim__join_new(w->machine, parent, back, lanes, caller);
  j->callee = callee;
  sim__fragment_add(w, r->first, lanes, j, callee);
  return SIM_MOVED;
}

sim_step sim__step_call(sim_warp *w, const sim_insn *i, uint32_t mask) {
  const sim_fragment f = *w->fragment;
  const sim_call *c = &w->machine->function->calls[i->extra];
  w->machine->counters->calls++;
  const uint32_t back = f.pc + 1, rest = f.mask & ~mask;
  uint64_t address[SIM_LANES];
  if (c->routine < 0) {
    const uint32_t undefined = sim__undefined(w, i->o[0], mask);
    if (undefined)
      return sim__fault(w, i, SIM_FAULT_UNDEFINED_BRANCH, __builtin_ctz(undefined), "the address of the function is undefined");
    SIM_EACH_LANE(lane, mask) {
      address[lane] = sim__u64(w, i->o[0])[lane] - SIM_WINDOW_CODE;
      if (address[lane] >= (uint64_t)w->machine->function->n_routines ||
          !fits(c, &w->machine->function->routines[address[lane]]))
        return sim__fault(w, i, SIM_FAULT_BAD_CALL, (int)lane, "no function of that signature has the address 0x%llx",
                          (unsigned long long)(address[lane] + SIM_WINDOW_CODE));
    }
  }
  sim_join *join = f.join;
  if (rest || c->routine < 0) join = sim__join_new(w->machine, f.join, back, f.mask, f.frame);
  sim__fragment_drop(w, w->fragment);
  if (rest) sim__fragment_add(w, back, rest, join, f.frame);
  for (uint32_t left = mask; left;) {
    uint32_t same = left;
    int routine = c->routine;
    if (routine < 0) {
      routine = (int)address[__builtin_ctz(left)];
      same = 0;
      SIM_EACH_LANE(lane, left) same |= (uint32_t)(address[lane] == (uint64_t)routine) << lane;
    }
    if (enter(w, i, c, routine, same, join, f.frame, back) == SIM_FAULTED) return SIM_FAULTED;
    left &= ~same;
  }
  return SIM_MOVED;
}

/* The lanes leave; what is left of the fragment goes on behind the instruction. */
static void leave_fragment(sim_warp *w, uint32_t mask) {
  sim_fragment *f = w->fragment;
  f->mask &= ~mask;
  if (f->mask)
    f->pc++;
  else
    sim__fragment_drop(w, f);
}

sim_step sim__step_return(sim_warp *w, const sim_insn *i, uint32_t mask) {
  (void)i;
  sim_join *j = w->fragment->join;
  leave_fragment(w, mask);
  while (j && !j->callee) { /* joins that a path around them made pointless */
    sim_join *parent = j->parent;
    j->expected &= ~mask;
    if (j->arrived == j->expected) sim__join_arrive(w, j, 0);
    j = parent;
  }
  if (j) sim__join_arrive(w, j, mask);
  return SIM_MOVED;
}

sim_step sim__step_exit(sim_warp *w, const sim_insn *i, uint32_t mask) {
  (void)i;
  sim_join *j = w->fragment->join;
  leave_fragment(w, mask);
  sim__join_leave(w, j, mask);
  sim__threads_left(w, mask);
  sim__warp_look_again(w);
  return SIM_MOVED;
}

sim_step sim__step_trap(sim_warp *w, const sim_insn *i, uint32_t mask) {
  return sim__fault(w, i, SIM_FAULT_TRAP, __builtin_ctz(mask), "the kernel gave up");
}

sim_step sim__step_clock(sim_warp *w, const sim_insn *i, uint32_t mask) {
  const uint64_t now = w->machine->executed * 4 + w->executed;
  uint64_t value = i->op == SIM_S_CLOCK_HI || i->op == SIM_S_TIMER_HI ? now >> 32 : now;
  SIM_EACH_LANE(lane, mask) {
    if (i->dst_wide)
      sim__u64(w, i->o[0])[lane] = value;
    else
      sim__u32(w, i->o[0])[lane] = (uint32_t)value;
  }
  sim__mark_defined(w, i->o[0], mask);
  return SIM_NEXT;
}

sim_step sim__step_nothing(sim_warp *w, const sim_insn *i, uint32_t mask) {
  (void)w;
  (void)i;
  (void)mask;
  return SIM_NEXT;
}
