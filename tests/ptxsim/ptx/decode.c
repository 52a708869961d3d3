/* decode.c -- a module's kernels: each with all the functions that it can reach, as one array of instructions. */
#include "ptx/decode.h"
#include "exec/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- instructions
 * ------------------------------------------------------------------------------------------------------------------- */

void ptx__begin(ptx_decoder *d) {
  memset(&d->insn, 0, sizeof d->insn);
  d->insn.target = d->insn.join = -1;
  d->insn.sync = 255;
}

void ptx__add_dst(ptx_decoder *d, uint32_t ref) {
  if (ptx__ref_class(d, ref) == 2) d->insn.dst_wide |= (uint8_t)(1u << d->insn.n_dst);
  d->insn.o[d->insn.n_dst++] = ref;
}

void ptx__add_src(ptx_decoder *d, uint32_t ref) {
  if (ptx__ref_class(d, ref) == 2) d->insn.src_wide |= (uint8_t)(1u << d->insn.n_src);
  d->insn.o[d->insn.n_dst + d->insn.n_src++] = ref;
}

void ptx__set_step(ptx_decoder *d, sim_stepper step, sim_insn_kind kind, sim_class class) {
  d->insn.step = step;
  d->insn.kind = (uint8_t)kind;
  d->insn.class = (uint8_t) class;
}

void ptx__emit(ptx_decoder *d) {
  sim_insn *i = &d->insn;
  i->line = d->s->line;
  i->source_line = d->s->source_line;
  i->source_file = d->s->source_file;
  i->guard = d->s->guard ? 1 + (uint32_t)d->s->guard->id : 0;
  i->guard_negated = (uint8_t)d->s->guard_negated;
  d->code = sim__grow(d->code, d->n_code, &d->code_room, sizeof *d->code);
  d->code[d->n_code++] = *i;
}

static int letter_wide(char c) {
  return c == 'd' || c == 'g';
}

static void set_alu(ptx_decoder *d, const sim_alu_row *row) {
  sim_insn *i = &d->insn;
  i->alu = row->alu;
  i->kind = SIM_ALU;
  i->class = row->class;
  i->flow = row->flow;
  i->flop = row->flop;
  const char *s = row->signature, *colon = strchr(s, ':');
  i->bits = (uint8_t)(*s == 'p' ? 1 : *s == 'h' ? 16 : letter_wide(*s) ? 64 : 32);
  for (int k = 0; s + k < colon; k++) i->dst_wide |= (uint8_t)(letter_wide(s[k]) << k);
  for (int k = 0; colon[1 + k]; k++) i->src_wide |= (uint8_t)(letter_wide(colon[1 + k]) << k);
}

/* Lane-by-lane instructions have their sources at o[2], whatever the number of destinations. */
int ptx__emit_alu(ptx_decoder *d, const char *name, uint32_t dst, uint32_t a, uint32_t b, uint32_t c) {
  const sim_insn kept = d->insn;
  const sim_alu_row *row = sim__alu_find(name);
  if (!row) return ptx__bad(d, "the simulator lacks %s", name);
  ptx__begin(d);
  set_alu(d, row);
  d->insn.n_dst = 1;
  d->insn.n_src = 3;
  d->insn.o[0] = dst;
  d->insn.o[2] = a;
  d->insn.o[3] = b;
  d->insn.o[4] = c;
  d->insn.uncounted = 1;
  ptx__emit(d);
  d->insn = kept;
  return 0;
}

/* ---- lane-by-lane instructions, by their full name
 * ------------------------------------------------------------------------------------- */

int ptx__decode_alu(ptx_decoder *d) {
  const sim_alu_row *row = sim__alu_find(d->s->text);
  if (!row) return ptx__bad(d, "the instruction %s is not known", d->s->text);
  const char *colon = strchr(row->signature, ':');
  const int n_dst = (int)(colon - row->signature), n_src = (int)strlen(colon + 1);
  if (ptx__count(d, n_dst + n_src, n_dst + n_src) != 0) return -1;
  ptx__begin(d);
  uint32_t refs[8] = {0};
  for (int k = 0; k < n_dst + n_src; k++) {
    const char *at = k < n_dst ? row->signature + k : colon + 1 + (k - n_dst);
    const ptx_operand *o = &d->s->operands[k];
    if ((k < n_dst ? ptx__dest(d, o, *at, &refs[k]) : ptx__source(d, o, *at, &refs[k])) != 0) return -1;
  }
  set_alu(d, row);
  d->insn.n_dst = (uint8_t)n_dst;
  d->insn.n_src = (uint8_t)n_src;
  for (int k = 0; k < n_dst; k++) d->insn.o[k] = refs[k];
  for (int k = 0; k < n_src; k++) d->insn.o[2 + k] = refs[n_dst + k];
  ptx__emit(d);
  return 0;
}

static const ptx_decode_row *special_row(const char *opcode) {
  static const ptx_decode_row *const tables[] = {ptx__decode_moves, ptx__decode_compare, ptx__decode_memory,
                                                 ptx__decode_warp,  ptx__decode_control, ptx__decode_matrix};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const ptx_decode_row *r = tables[t]; r->opcode; r++)
      if (strcmp(r->opcode, opcode) == 0) return r;
  return NULL;
}

static int decode_statement(ptx_decoder *d, const ptx_statement *s) {
  d->s = s;
  d->used = 0;
  ptx__begin(d);
  const ptx_decode_row *special = special_row(s->opcode);
  if (!special) return ptx__decode_alu(d);
  return special->decode(d);
}

/* ---- a routine
 * ------------------------------------------------------------------------------------------------------------------------ */

static int resolve_branches(ptx_decoder *d, const uint32_t *pc_of, uint32_t first) {
  const ptx_function *f = d->routine->function;
  for (size_t k = first; k < d->n_code; k++)
    if (d->code[k].target >= 0) d->code[k].target = (int32_t)pc_of[d->code[k].target];
  for (size_t k = first; k < d->n_code; k++)
    if (d->code[k].step == sim__step_branch_table && d->code[k].kind == SIM_STEP) {
      sim_call *c = &d->calls[d->code[k].extra];
      for (int t = 0; t < c->n_targets; t++) c->targets[t] = (int)pc_of[c->targets[t]];
    }
  (void)f;
  return 0;
}

static void declare_registers(ptx_decoder *d, const ptx_function *f) {
  d->n_regs = 0;
  for (size_t i = 0; i < f->n_regs; i++) {
    const int bits = f->regs[i]->type.bits;
    ptx__temporary(d, bits == 16 ? 32 : bits == 128 ? 64 : bits);
  }
  for (size_t i = 0; i < f->n_regs; i++)
    if (f->regs[i]->type.bits == 128) f->regs[i]->upper = (int)ptx__temporary(d, 64) - 1;
}

static void keep(sim_function *f, void *p) {
  f->kept = sim__grow(f->kept, f->n_kept, &f->kept_room, sizeof *f->kept);
  f->kept[f->n_kept++] = p;
}

static void list_params(ptx_decoder *d, const ptx_var *list, int n, uint32_t **offset, uint32_t **bytes) {
  *offset = sim__alloc((size_t)n * 4 + 4);
  *bytes = sim__alloc((size_t)n * 4 + 4);
  keep(d->f, *offset);
  keep(d->f, *bytes);
  int k = 0;
  for (const ptx_var *v = list; v && k < n; v = v->next, k++) {
    (*offset)[k] = (uint32_t)v->offset;
    (*bytes)[k] = (uint32_t)v->bytes;
  }
}

static int decode_routine(ptx_decoder *d, int index) {
  const ptx_function *f = d->reachable[index];
  sim_routine *r = d->routine = &d->f->routines[index];
  r->function = f;
  r->first = (uint32_t)d->n_code;
  r->local_bytes = (f->local_bytes + 15) / 16 * 16;
  declare_registers(d, f);
  d->n_constants = 0;
  d->carry = 0;
  list_params(d, f->params, f->n_params, &r->param_offset, &r->param_bytes);
  list_params(d, f->results, f->n_results, &r->result_offset, &r->result_bytes);
  r->n_params = f->n_params;
  r->n_results = f->n_results;
  uint32_t *pc_of = sim__alloc((f->n_statements + 1) * sizeof *pc_of);
  int bad = 0;
  for (size_t k = 0; k < f->n_statements && !bad; k++) {
    pc_of[k] = (uint32_t)d->n_code;
    bad = decode_statement(d, &f->statements[k]);
  }
  if (!bad) { /* running off the end returns */
    static const ptx_statement end = {.opcode = "ret", .text = "ret"};
    ptx_statement s = end;
    pc_of[f->n_statements] = (uint32_t)d->n_code;
    s.line = f->n_statements ? f->statements[f->n_statements - 1].line : f->line;
    bad = decode_statement(d, &s);
    d->code[d->n_code - 1].uncounted = 1;
  }
  if (!bad) bad = resolve_branches(d, pc_of, r->first);
  free(pc_of);
  r->end = (uint32_t)d->n_code;
  if (bad || ptx__find_joins(d) != 0 || ptx__assign_slots(d) != 0) return -1;
  return 0;
}

/* ---- a kernel
 * ------------------------------------------------------------------------------------------------------------------------- */

static void reach(ptx_decoder *d, const ptx_function *f, int *room) {
  for (int i = 0; i < d->n_reachable; i++)
    if (d->reachable[i] == f) return;
  if (d->n_reachable == *room) {
    *room = *room ? 2 * *room : 8;
    d->reachable = sim__resize(d->reachable, (size_t)*room * sizeof *d->reachable);
  }
  d->reachable[d->n_reachable++] = f;
  for (size_t k = 0; k < f->n_statements; k++) {
    const ptx_statement *s = &f->statements[k];
    for (int o = 0; o < s->n_operands; o++) {
      if (s->operands[o].kind != PTX_O_NAME) continue;
      const ptx_function *g = ptx__find_function(d->module, s->operands[o].name);
      if (g && g->has_body && !g->is_entry) reach(d, g, room);
    }
  }
}

static uint32_t align_up(uint64_t n, uint32_t align) {
  return (uint32_t)((n + align - 1) / align * align);
}

static void place_shared(const ptx_operand *o, sim_function *f, ptx_var **seen, int *n_seen, int room) {
  for (int e = 0; e < o->n_elements; e++) place_shared(&o->elements[e], f, seen, n_seen, room);
  ptx_var *v = o->kind == PTX_O_VAR ? o->var : NULL;
  if (!v || v->space != PTX_SHARED) return;
  for (int i = 0; i < *n_seen; i++)
    if (seen[i] == v) return;
  if (*n_seen == room) return;
  seen[(*n_seen)++] = v;
  if (v->external) {
    if (v->align > f->facts.dynamic_shared_align) f->facts.dynamic_shared_align = v->align;
  } else {
    f->shared_static = align_up(f->shared_static, v->align);
    v->offset = f->shared_static;
    f->shared_static += (uint32_t)v->bytes;
  }
}

/* Every shared array that the kernel can reach, in the order of first use; the dynamic part lies behind all of them. */
static int lay_out_shared(ptx_decoder *d) {
  enum { ROOM = 4096 };
  ptx_var **seen = sim__alloc(ROOM * sizeof *seen);
  int n = 0;
  for (int r = 0; r < d->n_reachable; r++)
    for (size_t k = 0; k < d->reachable[r]->n_statements; k++) {
      const ptx_statement *s = &d->reachable[r]->statements[k];
      for (int o = 0; o < s->n_operands; o++) place_shared(&s->operands[o], d->f, seen, &n, ROOM);
    }
  d->f->shared_base_dynamic = align_up(d->f->shared_static, d->f->facts.dynamic_shared_align);
  for (int i = 0; i < n; i++)
    if (seen[i]->external) seen[i]->offset = d->f->shared_base_dynamic;
  free(seen);
  return 0;
}

static void fill_facts(ptx_decoder *d) {
  sim_function *f = d->f;
  sim_function_facts *x = &f->facts;
  const ptx_function *k = f->function;
  x->name = k->name;
  x->n_params = k->n_params;
  x->param_bytes = k->param_bytes;
  x->param_offset = f->routines[0].param_offset;
  x->param_size = f->routines[0].param_bytes;
  x->static_shared_bytes = f->shared_static;
  x->local_bytes = f->routines[0].local_bytes;
  memcpy(x->maxntid, k->maxntid, sizeof x->maxntid);
  memcpy(x->reqntid, k->reqntid, sizeof x->reqntid);
  x->minnctapersm = k->minnctapersm;
  x->maxnreg = k->maxnreg;
}

static int decode_kernel(ptx_decoder *d, const ptx_function *entry) {
  int room = 0;
  d->n_reachable = 0;
  d->n_code = d->n_calls = 0;
  d->f->function = entry;
  d->f->facts.dynamic_shared_align = 1;
  d->f->shared_granule = 4;
  reach(d, entry, &room);
  d->f->routines = sim__alloc((size_t)d->n_reachable * sizeof *d->f->routines);
  d->f->n_routines = d->n_reachable;
  int bad = lay_out_shared(d);
  for (int r = 0; r < d->n_reachable && !bad; r++) bad = decode_routine(d, r);
  d->f->code = d->code;
  d->f->n_code = (uint32_t)d->n_code;
  d->f->calls = d->calls;
  d->f->n_calls = (uint32_t)d->n_calls;
  d->code = NULL;
  d->calls = NULL;
  d->code_room = d->calls_room = 0;
  if (!bad) fill_facts(d);
  return bad;
}

int ptx__decode_module(sim_module *module) {
  int n = 0, bad = 0;
  for (const ptx_function *f = module->ptx.functions; f; f = f->next) n += f->is_entry && f->has_body;
  module->functions = sim__alloc((size_t)(n + 1) * sizeof *module->functions);
  ptx_decoder d = {.module = &module->ptx};
  for (const ptx_function *f = module->ptx.functions; f && !bad; f = f->next) {
    if (!f->is_entry || !f->has_body) continue;
    d.f = &module->functions[module->n_functions++];
    d.f->module = module;
    bad = decode_kernel(&d, f);
  }
  free(d.reg_class);
  free(d.constants);
  free(d.reachable);
  return bad;
}
