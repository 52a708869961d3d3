/* frame.c -- register frames of kernels and called functions, and the lanes' local memory. */
#include "exec/machine.h"

#include <stdlib.h>

static void fill32(char *at, uint32_t value) {
  uint32_t *p = (uint32_t *)(void *)at;
  for (int l = 0; l < SIM_LANES; l++) p[l] = value;
}

static void fill64(char *at, uint64_t value) {
  uint64_t *p = (uint64_t *)(void *)at;
  for (int l = 0; l < SIM_LANES; l++) p[l] = value;
}

static void fill(const sim_constant *c, char *regs, uint64_t value) {
  if (c->bits == 64)
    fill64(regs + c->offset, value);
  else if (c->bits == 1)
    *(uint32_t *)(void *)(regs + c->offset) = value ? SIM_ALL : 0;
  else
    fill32(regs + c->offset, (uint32_t)value);
}

/* What is the same for all lanes of all blocks; 0: it is not. */
static int of_launch(const sim_machine *m, const sim_constant *c, uint64_t *value) {
  const sim_launch *l = m->launch;
  switch (c->special) {
  case SIM_S_NONE:
    *value = c->value;
    return 1;
  case SIM_S_VAR:
    *value = c->var->address + c->value;
    return 1;
  case SIM_S_NTID_X:
    *value = l->block[0];
    return 1;
  case SIM_S_NTID_Y:
    *value = l->block[1];
    return 1;
  case SIM_S_NTID_Z:
    *value = l->block[2];
    return 1;
  case SIM_S_NCTAID_X:
    *value = l->grid[0];
    return 1;
  case SIM_S_NCTAID_Y:
    *value = l->grid[1];
    return 1;
  case SIM_S_NCTAID_Z:
    *value = l->grid[2];
    return 1;
  case SIM_S_NWARPID:
    *value = m->n_warps;
    return 1;
  case SIM_S_NSMID:
    *value = l->profile ? (uint64_t)l->profile->sm_count : 1;
    return 1;
  case SIM_S_GRIDID:
    *value = m->serial;
    return 1;
  case SIM_S_DYNAMIC_SMEM:
    *value = l->dynamic_shared;
    return 1;
  case SIM_S_TOTAL_SMEM:
    *value = m->shared_bytes;
    return 1;
  case SIM_S_ZERO:
    *value = 0;
    return 1;
  case SIM_S_ONE:
    *value = 1;
    return 1;
  default:
    return 0;
  }
}

static void of_lanes(const sim_machine *m, const sim_constant *c, char *regs) {
  uint32_t *p = (uint32_t *)(void *)(regs + c->offset);
  (void)m;
  for (uint32_t l = 0; l < SIM_LANES; l++) {
    const uint32_t eq = 1u << l;
    switch (c->special) {
    case SIM_S_LANEID:
      p[l] = l;
      break;
    case SIM_S_MASK_EQ:
      p[l] = eq;
      break;
    case SIM_S_MASK_LT:
      p[l] = eq - 1;
      break;
    case SIM_S_MASK_LE:
      p[l] = (eq - 1) | eq;
      break;
    case SIM_S_MASK_GT:
      p[l] = ~((eq - 1) | eq);
      break;
    case SIM_S_MASK_GE:
      p[l] = ~(eq - 1);
      break;
    default:
      break;
    }
  }
}

/* What depends on the block, the warp or the frame. */
static void of_warp(const sim_warp *w, const sim_constant *c, char *regs, uint32_t local_base) {
  const sim_launch *l = w->machine->launch;
  const uint32_t *block = w->block->index, first = w->number * SIM_LANES;
  uint32_t *p = (uint32_t *)(void *)(regs + c->offset);
  switch (c->special) {
  case SIM_S_CTAID_X:
    fill32(regs + c->offset, block[0]);
    break;
  case SIM_S_CTAID_Y:
    fill32(regs + c->offset, block[1]);
    break;
  case SIM_S_CTAID_Z:
    fill32(regs + c->offset, block[2]);
    break;
  case SIM_S_WARPID:
    fill32(regs + c->offset, w->number);
    break;
  case SIM_S_SMID:
    fill32(regs + c->offset, (uint32_t)w->block->slot);
    break;
  case SIM_S_LOCAL:
    fill(c, regs, local_base + c->value);
    break;
  case SIM_S_TID_X:
    for (uint32_t k = 0; k < SIM_LANES; k++) p[k] = (first + k) % l->block[0];
    break;
  case SIM_S_TID_Y:
    for (uint32_t k = 0; k < SIM_LANES; k++) p[k] = (first + k) / l->block[0] % l->block[1];
    break;
  case SIM_S_TID_Z:
    for (uint32_t k = 0; k < SIM_LANES; k++) p[k] = (first + k) / l->block[0] / l->block[1];
    break;
  default:
    break;
  }
}

void sim__templates_make(sim_machine *m) {
  const sim_function *f = m->function;
  m->templates = sim__alloc((size_t)f->n_routines * sizeof *m->templates);
  for (int r = 0; r < f->n_routines; r++) {
    const sim_routine *routine = &f->routines[r];
    m->templates[r] = sim__alloc((size_t)routine->n_slots * SIM_SLOT);
    for (uint32_t k = 0; k < routine->n_constants; k++) {
      uint64_t value;
      const sim_constant *c = &routine->constants[k];
      if (of_launch(m, c, &value))
        fill(c, m->templates[r], value);
      else
        of_lanes(m, c, m->templates[r]);
    }
  }
}

void sim__templates_free(sim_machine *m) {
  for (int r = 0; m->templates && r < m->function->n_routines; r++) free(m->templates[r]);
  free(m->templates);
  while (m->all_frames) {
    sim_frame *f = m->all_frames;
    m->all_frames = f->next_made;
    free(f->regs);
    free(f->shadow);
    free(f->undef);
    free(f);
  }
}

static sim_frame *take_free(sim_machine *m, const sim_routine *routine) {
  for (sim_frame **at = &m->free_frames; *at; at = &(*at)->caller)
    if ((*at)->routine == routine) {
      sim_frame *f = *at;
      *at = f->caller;
      return f;
    }
  return NULL;
}

sim_frame *sim__frame_new(sim_warp *w, int routine, sim_frame *caller) {
  sim_machine *m = w->machine;
  const sim_routine *r = &m->function->routines[routine];
  const size_t bytes = (size_t)r->n_slots * SIM_SLOT;
  const int defs = (m->checks & SIM_CHECK_DEFINED) != 0;
  sim_frame *f = take_free(m, r);
  if (!f) {
    f = sim__alloc(sizeof *f);
    f->routine = r;
    f->next_made = m->all_frames;
    m->all_frames = f;
    f->regs = sim__alloc(bytes);
    if (defs) f->shadow = sim__alloc(bytes);
    if (defs) f->undef = sim__alloc((size_t)r->n_slots * 4);
    memcpy(f->regs, m->templates[routine], bytes);
  }
  f->caller = caller;
  f->depth = caller ? caller->depth + 1 : 0;
  f->local_base = caller ? caller->local_base + caller->routine->local_bytes : 0;
  for (uint32_t k = 0; k < r->n_constants; k++) of_warp(w, &r->constants[k], f->regs, f->local_base);
  if (defs) {
    memset(f->undef, 0, (size_t)r->n_slots * 4);
    for (uint32_t k = 0; k < r->n_unset; k++) {
      f->undef[r->unset[k]] = SIM_ALL;
      memset(f->shadow + (size_t)r->unset[k] * SIM_SLOT, 0xFF, SIM_SLOT);
      if (r->unset[k] + 1 < r->n_slots) memset(f->shadow + (size_t)(r->unset[k] + 1) * SIM_SLOT, 0xFF, SIM_SLOT);
    }
  }
  return f;
}

void sim__frame_free(sim_machine *m, sim_frame *f) {
  f->caller = m->free_frames;
  m->free_frames = f;
}

/* Grows every lane's local memory; what was there stays. */
int sim__local_room(sim_warp *w, uint32_t bytes) {
  if (bytes <= w->local_bytes) return 0;
  if (bytes > 512 * 1024) return -1;
  unsigned char *data = sim__alloc((size_t)bytes * SIM_LANES), *undefined = sim__alloc((size_t)bytes * SIM_LANES);
  memset(undefined, 0xFF, (size_t)bytes * SIM_LANES);
  for (size_t lane = 0; lane < SIM_LANES && w->local_bytes; lane++) {
    memcpy(data + lane * bytes, w->local + lane * w->local_bytes, w->local_bytes);
    memcpy(undefined + lane * bytes, w->local_undefined + lane * w->local_bytes, w->local_bytes);
  }
  free(w->local);
  free(w->local_undefined);
  w->local = data;
  w->local_undefined = undefined;
  w->local_bytes = bytes;
  return 0;
}
