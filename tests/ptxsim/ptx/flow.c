/* flow.c -- control flow of a routine: its blocks, and where lanes that a branch splits come together again: the branch's
 * immediate post-dominator (the nearest place that every path from it passes). */
#include "exec/steps.h"
#include "ptx/decode.h"

#include <stdlib.h>
#include <string.h>

enum { END = -2, UNSEEN = -3 };

static int ends_block(const sim_insn *i) {
  return i->kind == SIM_STEP && (i->step == sim__step_branch || i->step == sim__step_branch_table ||
                                 i->step == sim__step_return || i->step == sim__step_exit || i->step == sim__step_trap);
}

static const sim_call *table_of(const ptx_decoder *d, const sim_insn *i) {
  return i->kind == SIM_STEP && i->step == sim__step_branch_table ? &d->calls[i->extra] : NULL;
}

static void mark_leaders(const ptx_decoder *d, char *leader) {
  const uint32_t first = d->routine->first;
  leader[0] = 1;
  for (uint32_t pc = first; pc < d->n_code; pc++) {
    const sim_insn *i = &d->code[pc];
    if (i->target >= 0) leader[(uint32_t)i->target - first] = 1;
    const sim_call *table = table_of(d, i);
    for (int t = 0; table && t < table->n_targets; t++) leader[(uint32_t)table->targets[t] - first] = 1;
    if (ends_block(i) && pc + 1 < d->n_code) leader[pc + 1 - first] = 1;
  }
}

static void add_next(ptx_block *b, int to) {
  for (int k = 0; k < b->n_next; k++)
    if (b->next[k] == to) return;
  b->next[b->n_next++] = to;
}

static void link_block(const ptx_decoder *d, ptx_blocks *blocks, ptx_block *b) {
  const sim_insn *last = &d->code[b->end - 1];
  const sim_call *table = table_of(d, last);
  const uint32_t first = d->routine->first;
  b->next = sim__alloc((size_t)(3 + (table ? table->n_targets : 0)) * sizeof *b->next);
  if (last->target >= 0) add_next(b, blocks->of[(uint32_t)last->target - first]);
  for (int t = 0; table && t < table->n_targets; t++) add_next(b, blocks->of[(uint32_t)table->targets[t] - first]);
  const int leaves = ends_block(last) && last->target < 0 && !table;
  if (leaves) add_next(b, END);
  if (!ends_block(last) || last->guard) add_next(b, b->end < d->n_code ? blocks->of[b->end - first] : END);
}

void ptx__blocks_make(const ptx_decoder *d, ptx_blocks *blocks) {
  const uint32_t first = d->routine->first, n = (uint32_t)d->n_code - first;
  char *leader = sim__alloc(n + 1);
  blocks->of = sim__alloc(n * sizeof *blocks->of);
  mark_leaders(d, leader);
  blocks->n = 0;
  for (uint32_t k = 0; k < n; k++) {
    blocks->n += leader[k];
    blocks->of[k] = blocks->n - 1;
  }
  blocks->all = sim__alloc((size_t)blocks->n * sizeof *blocks->all);
  for (uint32_t k = 0; k < n; k++) {
    ptx_block *b = &blocks->all[blocks->of[k]];
    if (leader[k]) b->first = first + k;
    b->end = first + k + 1;
  }
  for (int b = 0; b < blocks->n; b++) link_block(d, blocks, &blocks->all[b]);
  free(leader);
}

void ptx__blocks_free(ptx_blocks *blocks) {
  for (int b = 0; b < blocks->n; b++) free(blocks->all[b].next);
  free(blocks->all);
  free(blocks->of);
}

/* ---- immediate post-dominators: Cooper, Harvey and Kennedy's iteration on the reversed graph
 * -------------------------------------------- */

typedef struct reversed {
  int n, *from, *count, *start; /* predecessors of the reversed graph are successors here; node n is the end */
  int *order, *rank, *dom;
} reversed;

/* Post-order of the reversed graph from the end, without recursion. */
static void number(reversed *r, const ptx_blocks *blocks) {
  int *head = sim__alloc((size_t)(r->n + 1) * sizeof *head), *stack = sim__alloc((size_t)(r->n + 1) * sizeof *stack);
  int edges = 0, at = 0, depth = 0;
  for (int b = 0; b < r->n; b++) edges += blocks->all[b].n_next;
  r->count = sim__alloc((size_t)(r->n + 1) * sizeof *r->count);
  r->start = sim__alloc((size_t)(r->n + 2) * sizeof *r->start);
  r->from = sim__alloc((size_t)(edges + 1) * sizeof *r->from);
  for (int b = 0; b < r->n; b++)
    for (int k = 0; k < blocks->all[b].n_next; k++) r->count[blocks->all[b].next[k] == END ? r->n : blocks->all[b].next[k]]++;
  for (int b = 0; b <= r->n; b++) r->start[b + 1] = r->start[b] + r->count[b];
  memcpy(head, r->start, (size_t)(r->n + 1) * sizeof *head);
  for (int b = 0; b < r->n; b++)
    for (int k = 0; k < blocks->all[b].n_next; k++)
      r->from[head[blocks->all[b].next[k] == END ? r->n : blocks->all[b].next[k]]++] = b;
  memcpy(head, r->start, (size_t)(r->n + 1) * sizeof *head);
  for (int b = 0; b <= r->n; b++) r->rank[b] = -1;
  stack[depth++] = r->n;
  r->rank[r->n] = -2;
  while (depth > 0) {
    const int b = stack[depth - 1];
    if (head[b] < r->start[b + 1]) {
      const int p = r->from[head[b]++];
      if (r->rank[p] == -1) {
        r->rank[p] = -2;
        stack[depth++] = p;
      }
    } else {
      depth--;
      r->rank[b] = at;
      r->order[at++] = b;
    }
  }
  for (int b = 0; b <= r->n; b++)
    if (r->rank[b] < 0) r->rank[b] = -1;
  r->order[at] = -1;
  free(head);
  free(stack);
}

static int meet(const reversed *r, int a, int b) {
  while (a != b) {
    while (r->rank[a] < r->rank[b]) a = r->dom[a];
    while (r->rank[b] < r->rank[a]) b = r->dom[b];
  }
  return a;
}

static void dominate(reversed *r, const ptx_blocks *blocks) {
  int n_order = 0, changed = 1;
  while (r->order[n_order] >= 0) n_order++;
  for (int b = 0; b <= r->n; b++) r->dom[b] = UNSEEN;
  r->dom[r->n] = r->n;
  while (changed) {
    changed = 0;
    for (int k = n_order - 2; k >= 0; k--) { /* reverse post-order, the end left out */
      const int b = r->order[k];
      int found = UNSEEN;
      for (int s = 0; s < blocks->all[b].n_next; s++) {
        const int to = blocks->all[b].next[s] == END ? r->n : blocks->all[b].next[s];
        if (r->rank[to] < 0 || r->dom[to] == UNSEEN) continue;
        found = found == UNSEEN ? to : meet(r, found, to);
      }
      if (found != r->dom[b]) {
        r->dom[b] = found;
        changed = 1;
      }
    }
  }
}

int ptx__find_joins(ptx_decoder *d) {
  ptx_blocks blocks;
  ptx__blocks_make(d, &blocks);
  reversed r = {.n = blocks.n};
  r.order = sim__alloc((size_t)(r.n + 2) * sizeof *r.order);
  r.rank = sim__alloc((size_t)(r.n + 1) * sizeof *r.rank);
  r.dom = sim__alloc((size_t)(r.n + 1) * sizeof *r.dom);
  number(&r, &blocks);
  dominate(&r, &blocks);
  for (int b = 0; b < blocks.n; b++) {
    sim_insn *last = &d->code[blocks.all[b].end - 1];
    if (blocks.all[b].n_next < 2) continue;
    const int dom = r.rank[b] < 0 ? UNSEEN : r.dom[b];
    last->join = dom == UNSEEN || dom == r.n ? -1 : (int32_t)blocks.all[dom].first;
  }
  free(r.order);
  free(r.rank);
  free(r.dom);
  free(r.count);
  free(r.start);
  free(r.from);
  ptx__blocks_free(&blocks);
  return 0;
}
