/* async.c -- cp.async: copies that happen as late as they may, when the lane that asked for them waits. */
#include "exec/machine.h"

static sim_copy *copy_new(sim_machine *m) {
  sim_copy *c = m->free_copies;
  if (c)
    m->free_copies = c->next;
  else
    c = sim__arena_alloc(&m->arena, sizeof *c);
  return c;
}

static void copy_free(sim_machine *m, sim_copy *c) {
  c->next = m->free_copies;
  m->free_copies = c;
}

void sim__copies_drop(sim_warp *w) {
  while (w->copies) {
    sim_copy *c = w->copies;
    w->copies = c->next;
    copy_free(w->machine, c);
  }
  w->copies_end = &w->copies;
}

static void fly(sim_block *b, uint32_t at, uint32_t bytes, int on) {
  unsigned char *flag = b->in_flight + at / 4;
  for (uint32_t k = 0; k < bytes / 4; k++) flag[k] = (unsigned char)(flag[k] + (on ? 1 : -1));
  b->n_in_flight += on ? 1u : ~0u;
}

static sim_step source_size(sim_warp *w, const sim_insn *i, uint32_t mask, uint32_t *bytes) {
  const uint32_t undefined = sim__undefined(w, i->o[2], mask) | sim__undefined(w, i->o[3], mask);
  if (undefined)
    return sim__fault(w, i, SIM_FAULT_UNDEFINED_BRANCH, __builtin_ctz(undefined), "the number of bytes to copy is undefined");
  const uint32_t *size = sim__u32(w, i->o[2]), skip = sim__bits(w, i->o[3]);
  SIM_EACH_LANE(lane, mask) {
    bytes[lane] = skip >> lane & 1 ? 0 : size[lane];
    if (bytes[lane] > i->element_bytes)
      return sim__fault(w, i, SIM_FAULT_BOUNDS, (int)lane, "a source of %u bytes for a copy of %u", bytes[lane],
                        i->element_bytes);
  }
  return SIM_NEXT;
}

/* Bounds and conflicts of the bytes that will be read. Lanes that read nothing need no address of their own. */
static int check_source(sim_warp *w, const sim_insn *i, uint32_t mask, const uint64_t *from, const uint32_t *bytes) {
  uint32_t whole = 0;
  SIM_EACH_LANE(lane, mask) {
    whole |= (uint32_t)(bytes[lane] == i->element_bytes) << lane;
    if (bytes[lane] && from[lane] & (i->element_bytes - 1u)) {
      sim__fault_at(w, i, SIM_FAULT_MISALIGNED, (int)lane, PTX_GLOBAL, from[lane], bytes[lane], "it must be a multiple of %u",
                    i->element_bytes);
      return -1;
    }
  }
  sim_access a;
  for (uint32_t left = whole; left; left &= ~a.mask) {
    if (sim__access_group(w, i, &a, from, left, PTX_GLOBAL, i->element_bytes, SIM_READS) != 0) return -1;
    if (sim__access_conflicts(w, i, &a, SIM_READS, NULL) != 0) return -1;
    w->machine->counters->global_load_bytes += (uint64_t)a.bytes * (unsigned)__builtin_popcount(a.mask);
    if (w->machine->checks & (SIM_COUNT_BANKS | SIM_COUNT_CACHE)) sim__count_sectors(w->machine, &a, SIM_READS);
  }
  SIM_EACH_LANE(lane, mask & ~whole) /* a part: byte by byte, so that its end may lie anywhere */
  for (uint32_t k = 0; k < bytes[lane]; k++) {
    uint64_t at[SIM_LANES] = {0};
    at[lane] = from[lane] + k;
    if (sim__access_group(w, i, &a, at, 1u << lane, PTX_GLOBAL, 1, SIM_READS) != 0) return -1;
    if (sim__access_conflicts(w, i, &a, SIM_READS, NULL) != 0) return -1;
    w->machine->counters->global_load_bytes++;
    if (k == 0 && w->machine->checks & (SIM_COUNT_BANKS | SIM_COUNT_CACHE)) sim__count_sectors(w->machine, &a, SIM_READS);
  }
  return 0;
}

sim_step sim__step_cp_async(sim_warp *w, const sim_insn *i, uint32_t mask) {
  uint64_t to[SIM_LANES], from[SIM_LANES];
  sim_copy *c = copy_new(w->machine);
  *c = (sim_copy){.insn = i, .mask = mask};
  sim_access a;
  if (sim__access_addresses(w, i, mask, i->o[0], i->type, (int32_t)i->extra, to) != 0 ||
      sim__access_addresses(w, i, mask, i->o[1], i->address_kind, i->offset, from) != 0 ||
      source_size(w, i, mask, c->bytes) == SIM_FAULTED || check_source(w, i, mask, from, c->bytes) != 0)
    return SIM_FAULTED;
  for (uint32_t left = mask; left; left &= ~a.mask) {
    if (sim__access_group(w, i, &a, to, left, PTX_SHARED, i->element_bytes, SIM_WRITES) != 0) return SIM_FAULTED;
    if (sim__access_conflicts(w, i, &a, SIM_WRITES, NULL) != 0) return SIM_FAULTED;
    if (w->machine->checks & SIM_COUNT_BANKS) sim__count_banks(w->machine, &a);
  }
  SIM_EACH_LANE(lane, mask) {
    c->to[lane] = (uint32_t)to[lane];
    c->from[lane] = from[lane];
    c->group[lane] = w->committed[lane];
    fly(w->block, c->to[lane], i->element_bytes, 1);
  }
  w->machine->counters->cp_async_requests++;
  w->machine->counters->global_load_requests++;
  *w->copies_end = c;
  w->copies_end = &c->next;
  return SIM_NEXT;
}

sim_step sim__step_cp_async_commit(sim_warp *w, const sim_insn *i, uint32_t mask) {
  (void)i;
  SIM_EACH_LANE(lane, mask) w->committed[lane]++;
  return SIM_NEXT;
}

/* One lane's copy takes place: now the bytes are read, and the lane that waits has written them. */
static int land(sim_warp *w, const sim_copy *c, uint32_t lane) {
  sim_block *b = w->block;
  const uint32_t to = c->to[lane], bytes = c->bytes[lane], all = c->insn->element_bytes;
  fly(b, to, all, 0);
  const sim_range *r = bytes ? sim__memory_range(w->machine->memory, c->from[lane]) : NULL;
  memset(b->shared + to, 0, all);
  memset(b->shared_undefined + to, 0, all);
  if (r && r->a.state == SIM_LIVE) {
    memcpy(b->shared + to, r->data + (c->from[lane] - r->a.base), bytes);
    if (r->undefined) memcpy(b->shared_undefined + to, r->undefined + (c->from[lane] - r->a.base), bytes);
  }
  if (!(w->machine->checks & SIM_CHECK_SHARED)) return 0;
  return sim__shared_touch(w, c->insn, lane, to, all, SIM_WRITES | SIM_IS_COPY, NULL);
}

sim_step sim__step_cp_async_wait(sim_warp *w, const sim_insn *i, uint32_t mask) {
  for (sim_copy **at = &w->copies; *at;) {
    sim_copy *c = *at;
    SIM_EACH_LANE(lane, mask & c->mask) {
      const uint32_t groups_behind = w->committed[lane] - c->group[lane]; /* 0: not committed yet; 1: the newest group */
      if (i->offset >= 0 && (groups_behind == 0 || groups_behind <= (uint64_t)i->offset)) continue;
      if (land(w, c, lane) != 0) return SIM_FAULTED;
      c->mask &= ~(1u << lane);
    }
    if (c->mask) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    if (w->copies_end == &c->next) w->copies_end = at;
    copy_free(w->machine, c);
  }
  return SIM_NEXT;
}
