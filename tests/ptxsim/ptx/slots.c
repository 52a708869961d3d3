/* slots.c -- virtual registers share slots where they are never alive at once (linear scan over live intervals).
 *
 * Predicates, 32-bit and 64-bit registers have slots of their own kinds: lanes of a split warp stand at different places, and
 * registers of unlike widths would overlay the lanes differently. A source stays alive through its instruction, so that no
 * destination lies on it. What may be read before it is written gets a slot to itself, which begins undefined. */
#include "ptx/decode.h"

#include <stdlib.h>
#include <string.h>

typedef struct interval {
  uint32_t reg, from, to;
  int unset;
} interval;

typedef struct liveness {
  size_t words;
  uint64_t *use, *def, *in, *out; /* a row of bits for each block */
} liveness;

static int has(const uint64_t *row, uint32_t reg) {
  return (int)(row[reg / 64] >> (reg % 64) & 1);
}
static void put(uint64_t *row, uint32_t reg) {
  row[reg / 64] |= (uint64_t)1 << (reg % 64);
}

/* Calls visit(reg, is_write) for each register of the instruction, reads before writes. ALU sources are at o[2]. */
typedef void (*visitor)(void *state, uint32_t reg, int is_write);

static void visit_registers(const sim_insn *i, visitor visit, void *state) {
  const int base = i->kind == SIM_ALU ? 2 : i->n_dst;
  if (i->guard) visit(state, i->guard - 1, 0);
  for (int k = 0; k < i->n_src; k++) {
    const uint32_t ref = i->o[base + k];
    if (ref && !(ref & DECODE_CONSTANT)) visit(state, ref - 1, 0);
  }
  for (int k = 0; k < i->n_dst; k++) {
    const uint32_t ref = i->o[k];
    if (!ref || ref & DECODE_CONSTANT) continue;
    if (i->guard) visit(state, ref - 1, 2); /* some lanes may keep what was there */
    visit(state, ref - 1, 1);
  }
}

typedef struct block_sets {
  uint64_t *use, *def;
} block_sets;

/* A guarded write keeps what the other lanes had, but does not need it to be defined. */
static void note(void *state, uint32_t reg, int is_write) {
  block_sets *s = state;
  if (is_write == 1)
    put(s->def, reg);
  else if (!has(s->def, reg))
    put(s->use, reg);
}

static void solve(const ptx_decoder *d, const ptx_blocks *blocks, liveness *l) {
  for (int b = 0; b < blocks->n; b++) {
    block_sets s = {l->use + (size_t)b * l->words, l->def + (size_t)b * l->words};
    for (uint32_t pc = blocks->all[b].first; pc < blocks->all[b].end; pc++) visit_registers(&d->code[pc], note, &s);
  }
  for (int changed = 1; changed;) {
    changed = 0;
    for (int b = blocks->n - 1; b >= 0; b--) {
      uint64_t *in = l->in + (size_t)b * l->words, *out = l->out + (size_t)b * l->words;
      for (int k = 0; k < blocks->all[b].n_next; k++) {
        const int to = blocks->all[b].next[k];
        if (to < 0) continue;
        for (size_t w = 0; w < l->words; w++) out[w] |= l->in[(size_t)to * l->words + w];
      }
      for (size_t w = 0; w < l->words; w++) {
        const uint64_t now = l->use[(size_t)b * l->words + w] | (out[w] & ~l->def[(size_t)b * l->words + w]);
        if (now != in[w]) {
          in[w] = now;
          changed = 1;
        }
      }
    }
  }
}

typedef struct extent {
  interval *all;
  uint32_t pc;
} extent;

static void stretch(interval *v, uint32_t pc) {
  if (v->from == UINT32_MAX) v->from = v->to = pc;
  if (pc < v->from) v->from = pc;
  if (pc > v->to) v->to = pc;
}

static void note_extent(void *state, uint32_t reg, int is_write) {
  extent *e = state;
  (void)is_write;
  stretch(&e->all[reg], e->pc);
}

static void measure(const ptx_decoder *d, const ptx_blocks *blocks, const liveness *l, interval *all) {
  extent e = {all, 0};
  for (int b = 0; b < blocks->n; b++) {
    const ptx_block *block = &blocks->all[b];
    for (e.pc = block->first; e.pc < block->end; e.pc++) visit_registers(&d->code[e.pc], note_extent, &e);
    for (uint32_t r = 0; r < d->n_regs; r++) {
      if (has(l->in + (size_t)b * l->words, r)) stretch(&all[r], block->first);
      if (has(l->out + (size_t)b * l->words, r)) stretch(&all[r], block->end - 1);
    }
  }
  for (uint32_t r = 0; r < d->n_regs; r++)
    if (has(l->in, r)) {
      all[r].unset = 1;
      all[r].from = d->routine->first;
      all[r].to = (uint32_t)d->n_code;
    }
}

static int by_start(const void *a, const void *b) {
  const interval *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x->reg < y->reg ? -1 : x->reg > y->reg;
}

/* Slot numbers within each kind, then the kinds one behind the other. Returns how many of each kind there are. */
static void scan(const ptx_decoder *d, interval *all, uint32_t n, uint32_t *number, uint32_t peak[3]) {
  uint32_t *free_list[3], n_list[3] = {0};
  for (int c = 0; c < 3; c++) free_list[c] = sim__alloc((n + 1) * sizeof(uint32_t));
  interval **active = sim__alloc((n + 1) * sizeof *active);
  uint32_t n_active = 0;
  for (uint32_t k = 0; k < n; k++) {
    interval *v = &all[k];
    if (v->from == UINT32_MAX) continue;
    for (uint32_t a = 0; a < n_active;) {
      if (active[a]->to >= v->from) {
        a++;
        continue;
      }
      const int c = d->reg_class[active[a]->reg];
      if (!active[a]->unset) free_list[c][n_list[c]++] = number[active[a]->reg];
      active[a] = active[--n_active];
    }
    const int c = d->reg_class[v->reg];
    number[v->reg] = n_list[c] && !v->unset ? free_list[c][--n_list[c]] : peak[c]++;
    active[n_active++] = v;
  }
  for (int c = 0; c < 3; c++) free(free_list[c]);
  free(active);
}

static void patch(uint32_t *ref, const uint32_t *place, const uint32_t *constant) {
  if (*ref == 0) return;
  *ref = *ref & DECODE_CONSTANT ? constant[*ref & ~DECODE_CONSTANT] : place[*ref - 1];
}

static void patch_all(ptx_decoder *d, const uint32_t *place, const uint32_t *constant) {
  for (uint32_t pc = d->routine->first; pc < d->n_code; pc++) {
    sim_insn *i = &d->code[pc];
    const int base = i->kind == SIM_ALU ? 2 : i->n_dst;
    patch(&i->guard, place, constant);
    for (int k = 0; k < i->n_dst; k++) patch(&i->o[k], place, constant);
    for (int k = 0; k < i->n_src; k++) patch(&i->o[base + k], place, constant);
  }
}

static void *kept(ptx_decoder *d, size_t bytes) {
  return sim__arena_alloc(&d->module->arena, bytes + 16);
}

/* Slot 0 is zero, constants follow, then predicates, 32-bit and 64-bit registers. */
static void lay_out(ptx_decoder *d, const interval *by_reg, const uint32_t *number, const uint32_t peak[3]) {
  sim_routine *r = d->routine;
  uint32_t *constant = sim__alloc((d->n_constants + 1) * sizeof *constant),
           *place = sim__alloc((d->n_regs + 1) * sizeof *place);
  uint32_t slot = 1;
  r->constants = kept(d, d->n_constants * sizeof *r->constants);
  r->n_constants = (uint32_t)d->n_constants;
  for (size_t k = 0; k < d->n_constants; k++) {
    r->constants[k] = d->constants[k];
    r->constants[k].offset = constant[k] = slot * SIM_SLOT;
    slot += d->constants[k].bits == 64 ? 2 : 1;
  }
  const uint32_t first[3] = {slot, slot + peak[0], slot + peak[0] + peak[1]};
  r->n_slots = first[2] + 2 * peak[2];
  r->unset = kept(d, 2 * d->n_regs * sizeof *r->unset);
  for (uint32_t v = 0; v < d->n_regs; v++) {
    if (by_reg[v].from == UINT32_MAX) continue;
    const int c = d->reg_class[v];
    const uint32_t at = first[c] + (c == 2 ? 2 : 1) * number[v];
    place[v] = at * SIM_SLOT;
    if (by_reg[v].unset) r->unset[r->n_unset++] = at;
  }
  patch_all(d, place, constant);
  const uint32_t registers = peak[1] + 2 * peak[2];
  if ((int)registers > d->f->facts.virtual_registers) d->f->facts.virtual_registers = (int)registers;
  free(constant);
  free(place);
}

int ptx__assign_slots(ptx_decoder *d) {
  ptx_blocks blocks;
  ptx__blocks_make(d, &blocks);
  const uint32_t n = (uint32_t)d->n_regs;
  liveness l = {.words = n / 64 + 1};
  const size_t bytes = (size_t)blocks.n * l.words * 8;
  l.use = sim__alloc(bytes);
  l.def = sim__alloc(bytes);
  l.in = sim__alloc(bytes);
  l.out = sim__alloc(bytes);
  solve(d, &blocks, &l);
  interval *all = sim__alloc((n + 1) * sizeof *all), *sorted = sim__alloc((n + 1) * sizeof *sorted);
  for (uint32_t r = 0; r < n; r++) all[r] = (interval){.reg = r, .from = UINT32_MAX};
  measure(d, &blocks, &l, all);
  memcpy(sorted, all, n * sizeof *all);
  qsort(sorted, n, sizeof *sorted, by_start);
  uint32_t *slot_number = sim__alloc((n + 1) * sizeof *slot_number), peak[3] = {0};
  scan(d, sorted, n, slot_number, peak);
  lay_out(d, all, slot_number, peak);
  free(slot_number);
  free(sorted);
  free(all);
  free(l.use);
  free(l.def);
  free(l.in);
  free(l.out);
  ptx__blocks_free(&blocks);
  return 0;
}
