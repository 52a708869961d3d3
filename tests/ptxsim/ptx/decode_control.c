/* decode_control.c -- branches, calls, exits, barriers. */
#include "exec/steps.h"
#include "ptx/decode.h"

#include <string.h>

static int emit_control(ptx_decoder *d, sim_stepper step) {
  if (ptx__all_taken(d) != 0) return -1;
  ptx__set_step(d, step, SIM_STEP, SIM_C_CONTROL);
  ptx__emit(d);
  return 0;
}

static int decode_bra(ptx_decoder *d) {
  ptx__take(d, "uni");
  if (ptx__count(d, 1, 1) != 0) return -1;
  const ptx_operand *o = &d->s->operands[0];
  const ptx_label *label = o->name ? ptx__find_label(d->s->scope, o->name) : NULL;
  if (!label || label->statement < 0) return ptx__bad(d, "there is no label %s here", o->name ? o->name : "of that kind");
  d->insn.target = label->statement;
  return emit_control(d, sim__step_branch);
}

static sim_call *add_call(ptx_decoder *d) {
  d->calls = sim__grow(d->calls, d->n_calls, &d->calls_room, sizeof *d->calls);
  d->insn.extra = (uint32_t)d->n_calls;
  sim_call *c = &d->calls[d->n_calls++];
  memset(c, 0, sizeof *c);
  c->routine = -1;
  return c;
}

/* What a call or branch holds lives as long as the module. */
static void *room_for(ptx_decoder *d, int n) {
  return sim__arena_alloc(&d->module->arena, (size_t)(n + 1) * 4);
}

static int decode_brx(ptx_decoder *d) {
  if (!ptx__take(d, "idx")) return ptx__bad(d, "brx needs .idx");
  ptx__take(d, "uni");
  if (ptx__count(d, 2, 2) != 0) return -1;
  const ptx_operand *o = d->s->operands;
  const ptx_label *table = o[1].name ? ptx__find_label(d->s->scope, o[1].name) : NULL;
  uint32_t index;
  if (!table || !table->targets) return ptx__bad(d, "there is no table of branch targets %s here", o[1].name ? o[1].name : "");
  if (ptx__source(d, &o[0], 'w', &index) != 0) return -1;
  ptx__begin(d);
  sim_call *c = add_call(d);
  c->targets = room_for(d, table->n_targets);
  c->n_targets = table->n_targets;
  for (int k = 0; k < table->n_targets; k++) {
    const ptx_label *label = ptx__find_label(d->s->scope, table->targets[k]);
    if (!label || label->statement < 0) return ptx__bad(d, "there is no label %s here", table->targets[k]);
    c->targets[k] = label->statement;
  }
  ptx__add_src(d, index);
  return emit_control(d, sim__step_branch_table);
}

/* ---- calls
 * ------------------------------------------------------------------------------------------------------------------------------
 */

static int frame_places(ptx_decoder *d, const ptx_operand *list, uint32_t **offset, uint32_t **bytes, int *n) {
  *n = list ? list->n_elements : 0;
  *offset = room_for(d, *n);
  *bytes = room_for(d, *n);
  for (int k = 0; k < *n; k++) {
    const ptx_operand *e = &list->elements[k];
    if (e->kind != PTX_O_VAR || e->var->space != PTX_PARAM || e->var->of_kernel)
      return ptx__bad(d, "an argument of a call must be a .param variable of the function's own");
    (*offset)[k] = (uint32_t)e->var->offset;
    (*bytes)[k] = (uint32_t)e->var->bytes;
  }
  return 0;
}

static int check_signature(ptx_decoder *d, const sim_call *c, const ptx_function *f) {
  if (c->n_args != f->n_params || c->n_results != f->n_results)
    return ptx__bad(d, "%s takes %d arguments and gives %d results, not %d and %d", f->name, f->n_params, f->n_results,
                    c->n_args, c->n_results);
  const ptx_var *v = f->params;
  for (int k = 0; k < c->n_args; k++, v = v->next)
    if (v->bytes != c->arg_bytes[k])
      return ptx__bad(d, "argument %d of %s has %d bytes, not %d", k + 1, f->name, (int)v->bytes, (int)c->arg_bytes[k]);
  return 0;
}

/* call (results), f, (arguments);  call (results), %rd, (arguments), prototype; */
static int decode_call(ptx_decoder *d) {
  ptx__take(d, "uni");
  const ptx_operand *o = d->s->operands, *results = NULL, *args = NULL;
  int n = d->s->n_operands, k = 0;
  if (n > 0 && o[0].kind == PTX_O_LIST) results = &o[k++];
  if (k >= n) return ptx__bad(d, "a call of nothing");
  const ptx_operand *callee = &o[k++];
  if (k < n && o[k].kind == PTX_O_LIST) args = &o[k++];
  uint32_t address = 0;
  const ptx_function *f = NULL;
  if (callee->kind == PTX_O_NAME) {
    f = ptx__find_function(d->module, callee->name);
    if (!f || !f->has_body) return ptx__bad(d, "the function %s has no body here", callee->name);
    if (f->is_entry) return ptx__bad(d, "%s is a kernel, not a function", callee->name);
  } else if (ptx__source(d, callee, 'd', &address) != 0) {
    return -1;
  }
  ptx__begin(d);
  sim_call *c = add_call(d);
  if (frame_places(d, results, &c->result_offset, &c->result_bytes, &c->n_results) != 0 ||
      frame_places(d, args, &c->arg_offset, &c->arg_bytes, &c->n_args) != 0)
    return -1;
  if (f) {
    if (check_signature(d, c, f) != 0) return -1;
    for (int r = 0; r < d->n_reachable; r++)
      if (d->reachable[r] == f) c->routine = r;
  } else {
    ptx__add_src(d, address);
  }
  return emit_control(d, sim__step_call);
}

static int decode_ret(ptx_decoder *d) {
  ptx__take(d, "uni");
  if (ptx__count(d, 0, 0) != 0) return -1;
  return emit_control(d, d->routine->function->is_entry ? sim__step_exit : sim__step_return);
}

static int decode_exit(ptx_decoder *d) {
  return ptx__count(d, 0, 0) != 0 ? -1 : emit_control(d, sim__step_exit);
}
static int decode_trap(ptx_decoder *d) {
  return ptx__count(d, 0, 0) != 0 ? -1 : emit_control(d, sim__step_trap);
}

static int decode_nothing(ptx_decoder *d) { /* nanosleep, pmevent: no effect that could be seen */
  d->used = (1u << d->s->n_modifiers) - 1;
  if (ptx__count(d, 0, 1) != 0) return -1;
  ptx__set_step(d, sim__step_nothing, SIM_STEP, SIM_C_CONTROL);
  ptx__emit(d);
  return 0;
}

/* ---- barriers
 * -----------------------------------------------------------------------------------------------------------------------------
 */

static int decode_warp_sync(ptx_decoder *d) {
  uint32_t mask;
  if (!ptx__take(d, "sync")) return ptx__bad(d, "bar.warp needs .sync");
  if (ptx__all_taken(d) != 0 || ptx__count(d, 1, 1) != 0 || ptx__source(d, &d->s->operands[0], 'w', &mask) != 0) return -1;
  ptx__begin(d);
  ptx__set_step(d, sim__step_warp_sync, SIM_MEMBER, SIM_C_BARRIER);
  ptx__add_src(d, mask);
  d->insn.sync = 0;
  ptx__emit(d);
  return 0;
}

static void note_barrier(ptx_decoder *d, const ptx_operand *id) {
  int *n = &d->f->facts.barriers;
  const int used = id->kind == PTX_O_INT ? (int)id->value + 1 : 16;
  if (used > *n) *n = used;
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.popc.u32 d, a{, b}, {!}p; barrier.* are the same, without .aligned in any
 * convergence. */
static int decode_bar(ptx_decoder *d) {
  static const char *const reductions[] = {"popc", "and", "or", NULL};
  const int unaligned = strcmp(d->s->opcode, "barrier") == 0 && !ptx__take(d, "aligned");
  if (ptx__take(d, "warp")) return decode_warp_sync(d);
  if (ptx__take(d, "cluster")) return ptx__bad(d, "clusters are not known here");
  ptx__take(d, "cta");
  int op = ptx__take(d, "sync") ? SIM_BAR_SYNC : ptx__take(d, "arrive") ? SIM_BAR_ARRIVE : -1, reduction = -1;
  if (op < 0 && ptx__take(d, "red")) {
    reduction = ptx__take_any(d, reductions);
    if (reduction < 0 || !ptx__take(d, reduction == 0 ? "u32" : "pred"))
      return ptx__bad(d, "bar.red needs .popc.u32, .and.pred or .or.pred");
    op = SIM_BAR_POPC + reduction;
  }
  if (op < 0) return ptx__bad(d, "a barrier needs .sync, .arrive or .red");
  const ptx_operand *o = d->s->operands;
  const int red = reduction >= 0, n = d->s->n_operands;
  if (ptx__all_taken(d) != 0 || ptx__count(d, red ? 3 : op == SIM_BAR_ARRIVE ? 2 : 1, red ? 4 : 2) != 0) return -1;
  const ptx_operand *id = &o[red], *count = n - 2 * red > 1 ? &o[red + 1] : NULL;
  uint32_t dst = 0, a, b = ptx__constant(d, 32, 0), c = ptx__constant(d, 1, 0);
  if (red && ptx__dest(d, &o[0], reduction == 0 ? 'w' : 'p', &dst) != 0) return -1;
  if (ptx__source(d, id, 'w', &a) != 0 || (count && ptx__source(d, count, 'w', &b) != 0) ||
      (red && ptx__source(d, &o[n - 1], 'p', &c) != 0))
    return -1;
  note_barrier(d, id);
  ptx__begin(d);
  ptx__set_step(d, sim__step_barrier, unaligned ? SIM_STEP : SIM_ALIGNED, SIM_C_BARRIER);
  d->insn.op = (uint8_t)op;
  d->insn.sign = count != NULL; /* a count is given */
  d->insn.type = (uint8_t)unaligned;
  if (red) ptx__add_dst(d, dst);
  ptx__add_src(d, a);
  ptx__add_src(d, b);
  ptx__add_src(d, c);
  ptx__emit(d);
  return 0;
}

const ptx_decode_row ptx__decode_control[] = {
    {"bra", decode_bra},         {"brx", decode_brx},   {"call", decode_call},   {"ret", decode_ret},
    {"exit", decode_exit},       {"trap", decode_trap}, {"brkpt", decode_trap},  {"nanosleep", decode_nothing},
    {"pmevent", decode_nothing}, {"bar", decode_bar},   {"barrier", decode_bar}, {0}};
