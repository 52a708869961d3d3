/* access.c -- where a warp's addresses lead, and whether they may. */
#include "exec/machine.h"

int sim__access_addresses(sim_warp *w, const sim_insn *i, uint32_t mask, uint32_t ref, int kind, int64_t offset,
                          uint64_t *address) {
  const uint32_t undefined = sim__undefined(w, ref, mask);
  if (undefined) {
    sim__fault(w, i, SIM_FAULT_UNDEFINED_ADDRESS, __builtin_ctz(undefined),
               "its register was never written, or from undefined values");
    return -1;
  }
  if (kind == SIM_A_REG64) {
    const uint64_t *r = sim__u64(w, ref);
    for (int l = 0; l < SIM_LANES; l++) address[l] = r[l] + (uint64_t)offset;
  } else {
    const uint32_t *r = sim__u32(w, ref);
    for (int l = 0; l < SIM_LANES; l++) address[l] = r[l] + (uint32_t)offset; /* in 32 bits, which may wrap */
  }
  return 0;
}

static int wrong(sim_warp *w, const sim_insn *i, sim_fault_kind kind, uint32_t lane, int space, uint64_t address,
                 uint32_t bytes, const char *why) {
  sim__fault_at(w, i, kind, (int)lane, space, address, bytes, "%s", why);
  return -1;
}

/* Which state space a generic address lies in. */
static int space_of(uint64_t address, uint64_t *within) {
  *within = address;
  if (address - SIM_WINDOW_SHARED < SIM_WINDOW_BYTES) return *within = address - SIM_WINDOW_SHARED, PTX_SHARED;
  if (address - SIM_WINDOW_LOCAL < SIM_WINDOW_BYTES) return *within = address - SIM_WINDOW_LOCAL, PTX_LOCAL;
  if (address - SIM_WINDOW_PARAM < SIM_WINDOW_BYTES) return *within = address - SIM_WINDOW_PARAM, PTX_PARAM;
  return PTX_GLOBAL;
}

static int check_range(sim_warp *w, const sim_insn *i, const sim_range *r, uint32_t lane, uint64_t address, uint32_t bytes,
                       int what) {
  if (!r) return wrong(w, i, SIM_FAULT_BOUNDS, lane, PTX_GLOBAL, address, bytes, "no allocation is there");
  if (r->a.state != SIM_LIVE) return wrong(w, i, SIM_FAULT_FREED, lane, PTX_GLOBAL, address, bytes, "the allocation was freed");
  if (address - r->a.base + bytes > r->a.bytes)
    return wrong(w, i, SIM_FAULT_BOUNDS, lane, PTX_GLOBAL, address, bytes, "it reaches past the end");
  if (what & SIM_WRITES && r->a.read_only)
    return wrong(w, i, SIM_FAULT_READ_ONLY, lane, PTX_GLOBAL, address, bytes, "a constant variable");
  return 0;
}

static int open_global(sim_warp *w, const sim_insn *i, sim_access *a, uint32_t lanes, int what) {
  const uint32_t lane = (uint32_t)__builtin_ctz(lanes), bytes = a->bytes;
  const uint64_t address = a->address[lane];
  sim_machine *m = w->machine;
  sim_range *r = m->last_range;
  if (!r || address - r->a.base >= r->a.bytes || r->a.state != SIM_LIVE) r = sim__memory_range(m->memory, address);
  if (check_range(w, i, r, lane, address, bytes, what) != 0) return -1;
  m->last_range = r;
  uint32_t inside = 0;
  const uint64_t base = r->a.base, last = r->a.bytes - bytes;
  for (uint32_t l = 0; l < SIM_LANES; l++) {
    a->offset[l] = a->address[l] - base;
    inside |= (uint32_t)(a->offset[l] <= last) << l;
  }
  const uint32_t outside = lanes & ~inside;
  if (outside) { /* of another range, or past the end of this one */
    const uint32_t l = (uint32_t)__builtin_ctz(outside);
    if (check_range(w, i, sim__memory_range(m->memory, a->address[l]), l, a->address[l], bytes, what) != 0) return -1;
  }
  a->mask = lanes & inside;
  a->range = r;
  a->data = r->data;
  a->undefined = r->undefined;
  return 0;
}

static int open_inner(sim_warp *w, const sim_insn *i, sim_access *a, uint32_t lanes, int what) {
  uint64_t room = 0;
  if (a->space == PTX_SHARED) {
    room = w->machine->shared_bytes;
    a->data = w->block->shared;
    a->undefined = w->block->shared_undefined;
  } else if (a->space == PTX_LOCAL) {
    room = w->local_bytes;
    a->data = w->local;
    a->undefined = w->local_undefined;
  } else {
    room = w->machine->launch->param_bytes;
    a->data = (unsigned char *)(uintptr_t)w->machine->launch->params;
    a->undefined = NULL;
    if (what & SIM_WRITES)
      return wrong(w, i, SIM_FAULT_READ_ONLY, (uint32_t)__builtin_ctz(lanes), PTX_PARAM, a->address[__builtin_ctz(lanes)],
                   a->bytes, "a kernel's parameters");
  }
  const uint64_t last = room - a->bytes;
  uint32_t outside = 0;
  for (uint32_t l = 0; l < SIM_LANES; l++) {
    a->offset[l] = a->address[l];
    outside |= (uint32_t)(a->address[l] > last) << l;
  }
  outside = room < a->bytes ? lanes : outside & lanes;
  if (outside) {
    const uint32_t l = (uint32_t)__builtin_ctz(outside);
    sim__fault_at(w, i, SIM_FAULT_BOUNDS, (int)l, a->space, a->address[l], a->bytes, "there are %llu bytes",
                  (unsigned long long)room);
    return -1;
  }
  if (a->space == PTX_LOCAL)
    for (uint32_t l = 0; l < SIM_LANES; l++) a->offset[l] += (uint64_t)l * w->local_bytes;
  a->mask = lanes;
  a->range = NULL;
  return 0;
}

static int check_aligned(sim_warp *w, const sim_insn *i, const sim_access *a, uint32_t lanes) {
  uint64_t low[SIM_LANES], any = 0;
  for (uint32_t l = 0; l < SIM_LANES; l++) {
    low[l] = a->address[l] & (a->bytes - 1);
    any |= low[l];
  }
  if (!any) return 0;
  SIM_EACH_LANE(l, lanes) if (low[l]) {
    sim__fault_at(w, i, SIM_FAULT_MISALIGNED, (int)l, a->space, a->address[l], a->bytes, "it must be a multiple of %u",
                  a->bytes);
    return -1;
  }
  return 0;
}

int sim__access_group(sim_warp *w, const sim_insn *i, sim_access *a, const uint64_t *address, uint32_t lanes, int space,
                      uint32_t bytes, int what) {
  a->bytes = bytes;
  memcpy(a->address, address, sizeof a->address);
  a->space = space == PTX_CONST ? PTX_GLOBAL : space;
  if (space == PTX_GENERIC) {
    uint64_t within;
    a->space = space_of(address[__builtin_ctz(lanes)], &within);
    uint32_t same = 0;
    for (uint32_t l = 0; l < SIM_LANES; l++) same |= (uint32_t)(space_of(address[l], &a->address[l]) == a->space) << l;
    lanes &= same;
  }
  if (check_aligned(w, i, a, lanes) != 0) return -1;
  return a->space == PTX_GLOBAL ? open_global(w, i, a, lanes, what) : open_inner(w, i, a, lanes, what);
}

/* ---- conflicts
 * ------------------------------------------------------------------------------------------------------------------------- */

static int global_race(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t address, uint32_t bytes, uint64_t other,
                       int writes, int was_write) {
  const unsigned block = (unsigned)(other & SIM_TOUCH_BLOCK);
  const sim_fault_kind kind = writes && was_write ? SIM_FAULT_GLOBAL_WRITE_WRITE : SIM_FAULT_GLOBAL_READ_WRITE;
  const char *did = was_write ? "wrote" : "read";
  if (block == SIM_TOUCH_MANY)
    sim__fault_at(w, i, kind, (int)lane, PTX_GLOBAL, address, bytes, "several blocks %s them before in this launch", did);
  else
    sim__fault_at(w, i, kind, (int)lane, PTX_GLOBAL, address, bytes, "block %u (by number) %s them before in this launch",
                  block - 1, did);
  return -1;
}

/* Each granule remembers its last writer and reader; block numbers count from 1 and saturate. */
static int global_conflicts(sim_warp *w, const sim_insn *i, const sim_access *a, int what) {
  sim_machine *m = w->machine;
  sim_block *b = w->block;
  sim_range *r = a->range;
  if (r->a.read_only) return 0;
  sim__range_touches(r, m->serial, a->bytes);
  const uint64_t stamp = m->serial % 255 + 1;
  const uint64_t self = sim__block_name(b);
  const uint64_t mine = (uint64_t)m->time << 32 | stamp << 24 | self;
  const uint64_t who_mask = 0xFFFFFFFF, stamped = stamp << 24;
  const int shift = r->touch_shift;
  const uint32_t n = a->bytes >> shift ? a->bytes >> shift : 1;
  SIM_EACH_LANE(lane, a->mask) {
    sim_touch *t = r->touch + (a->offset[lane] >> shift);
    for (uint32_t g = 0; g < n; g++, t++) {
      if ((t->writer & who_mask) != (stamped | self) && (t->writer & 0xFF000000) == stamped &&
          !sim__ordered_blocks(b, t->writer & SIM_TOUCH_BLOCK, (uint32_t)(t->writer >> 32)))
        return global_race(w, i, lane, a->address[lane] + ((uint64_t)g << shift), a->bytes, t->writer, what & SIM_WRITES, 1);
      if (what & SIM_WRITES) {
        if ((t->reader & who_mask) != (stamped | self) && (t->reader & 0xFF000000) == stamped &&
            !sim__ordered_blocks(b, t->reader & SIM_TOUCH_BLOCK, (uint32_t)(t->reader >> 32)))
          return global_race(w, i, lane, a->address[lane] + ((uint64_t)g << shift), a->bytes, t->reader, 1, 0);
        t->writer = mine;
      } else if ((t->reader & 0xFF000000) != stamped || (t->reader & SIM_TOUCH_BLOCK) == self) {
        t->reader = mine;
      } else {
        t->reader = mine | SIM_TOUCH_MANY;
      }
    }
  }
  return 0;
}

static int shared_race(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t at, uint32_t bytes, uint32_t other, int writes,
                       int was_write) {
  const uint32_t thread = other & 1023, pc = (other >> 10 & 0x1FFFFF) - 1;
  sim__fault_at(w, i, SIM_FAULT_SHARED_RACE, (int)lane, PTX_SHARED, at, bytes, "%s after a %s of thread %u (warp %u lane %u)",
                writes ? "a write" : "a read", was_write ? "write" : "read", thread, thread / SIM_LANES, thread % SIM_LANES);
  sim__fault_other(w, pc);
  return -1;
}

/* Is the access of `who` at `time` before what this lane does now? */
static int before(const sim_warp *w, uint32_t lane, uint32_t who, uint32_t time) {
  const uint32_t thread = who & 1023, warp = thread / SIM_LANES;
  if (warp != w->number) return w->seen[warp] >= time;
  return sim__ordered_lanes(w, time, thread % SIM_LANES, lane);
}

int sim__shared_touch(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t at, uint32_t bytes, int what,
                      const unsigned char *values) {
  sim_block *b = w->block;
  const int shift = w->machine->function->shared_granule;
  const uint32_t n = bytes >> shift ? bytes >> shift : 1, thread = w->number * SIM_LANES + lane;
  const uint32_t atomic = what & SIM_IS_ATOMIC ? 0x80000000u : 0;
  const uint32_t pc = (uint32_t)(i - w->machine->code);
  const uint32_t self = atomic | (pc + 1) << 10 | thread;
  sim_shared_touch *t = b->touches + (at >> shift);
  for (uint32_t g = 0; g < n; g++, t++) {
    const int both_atomic = atomic && t->writer >> 31;
    if (t->writer && !both_atomic && !before(w, lane, t->writer, t->write_time)) {
      const uint32_t step = 1u << shift, size = bytes < step ? bytes : step;
      const int equal =
          what & SIM_WRITES && values && !atomic && memcmp(b->shared + at + (g << shift), values + (g << shift), size) == 0;
      if (!equal) return shared_race(w, i, lane, at, bytes, t->writer, what & SIM_WRITES, 1);
    }
    if (what & SIM_WRITES) {
      const uint32_t mine = w->number,
                     others = t->reader && (t->reader & 1023) / SIM_LANES == mine ? t->read_lanes & ~(1u << lane) : 0;
      if (others && !sim__ordered_lanes(w, t->read_time, (uint32_t)__builtin_ctz(others), lane))
        return shared_race(w, i, lane, at, bytes, (t->reader & ~31u) | (uint32_t)__builtin_ctz(others), 1, 0);
      if (t->reader && (t->reader & 1023) / SIM_LANES != mine && !before(w, lane, t->reader, t->read_time))
        return shared_race(w, i, lane, at, bytes, t->reader, 1, 0);
      if (t->other_reader && !before(w, lane, t->other_reader, t->other_time))
        return shared_race(w, i, lane, at, bytes, t->other_reader, 1, 0);
      t->writer = self;
      t->write_time = w->clock;
      t->reader = t->other_reader = t->read_lanes = 0;
    } else if (t->reader && (t->reader & 1023) / SIM_LANES == w->number) {
      t->read_lanes = t->read_time == w->clock ? t->read_lanes | 1u << lane : 1u << lane;
      t->reader = self;
      t->read_time = w->clock;
    } else {
      t->other_reader = t->reader;
      t->other_time = t->read_time;
      t->reader = self;
      t->read_time = w->clock;
      t->read_lanes = 1u << lane;
    }
  }
  return 0;
}

static int shared_conflicts(sim_warp *w, const sim_insn *i, const sim_access *a, int what, const unsigned char *values) {
  SIM_EACH_LANE(lane, a->mask)
  if (sim__shared_touch(w, i, lane, a->offset[lane], a->bytes, what, values ? values + (size_t)lane * a->bytes : NULL) != 0)
    return -1;
  return 0;
}

int sim__access_in_flight(sim_warp *w, const sim_insn *i, const sim_access *a) {
  const uint32_t words = a->bytes > 4 ? a->bytes / 4 : 1;
  if (!w->block->n_in_flight || !(w->machine->checks & SIM_CHECK_ASYNC)) return 0;
  SIM_EACH_LANE(lane, a->mask) {
    const unsigned char *flag = w->block->in_flight + a->offset[lane] / 4;
    uint32_t any = 0;
    if (words == 4)
      memcpy(&any, flag, 4);
    else
      for (uint32_t k = 0; k < words; k++) any |= flag[k];
    if (!any) continue;
    sim__fault_at(w, i, SIM_FAULT_ASYNC_IN_FLIGHT, (int)lane, PTX_SHARED, a->offset[lane], a->bytes,
                  "a copy to these bytes has not been waited for");
    return -1;
  }
  return 0;
}

int sim__access_conflicts(sim_warp *w, const sim_insn *i, const sim_access *a, int what, const unsigned char *values) {
  const unsigned checks = w->machine->checks;
  if (a->space == PTX_SHARED) {
    if (sim__access_in_flight(w, i, a) != 0) return -1;
    if (checks & SIM_CHECK_SHARED) return shared_conflicts(w, i, a, what, values);
  } else if (a->space == PTX_GLOBAL && checks & SIM_CHECK_GLOBAL && !(what & (SIM_IS_ATOMIC | SIM_IS_STRONG))) {
    return global_conflicts(w, i, a, what);
  }
  return 0;
}
