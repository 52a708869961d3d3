/* fault.c -- the report of the first thing that went wrong. */
#include "exec/machine.h"

#include <stdarg.h>
#include <stdio.h>

const char *sim_fault_name(sim_fault_kind kind) {
  static const char *const names[] = {
#define X(name, text) #name,
      SIM_FAULTS(X)
#undef X
  };
  return (unsigned)kind < SIM_FAULT_KINDS ? names[kind] : "?";
}

const char *sim_fault_text(sim_fault_kind kind) {
  static const char *const texts[] = {
#define X(name, text) text,
      SIM_FAULTS(X)
#undef X
  };
  return (unsigned)kind < SIM_FAULT_KINDS ? texts[kind] : "?";
}

static void copy_text(char *to, size_t room, const char *from) {
  snprintf(to, room, "%s", from ? from : "");
}

static void place(sim_warp *w, const sim_insn *i, int lane) {
  sim_machine *m = w->machine;
  sim_fault *f = m->fault;
  const ptx_module *ptx = &m->function->module->ptx;
  copy_text(f->kernel, sizeof f->kernel, m->function->facts.name);
  f->warp = (int)w->number;
  f->lane = lane;
  for (int k = 0; k < 3; k++) f->block[k] = w->block->index[k];
  const unsigned t = w->number * SIM_LANES + (lane < 0 ? 0 : (unsigned)lane);
  f->thread[0] = t % m->launch->block[0];
  f->thread[1] = t / m->launch->block[0] % m->launch->block[1];
  f->thread[2] = t / m->launch->block[0] / m->launch->block[1];
  if (!i) return;
  f->ptx_line = i->line;
  ptx__quote(ptx->text, ptx->text_bytes, i->line, f->ptx_text, sizeof f->ptx_text);
  f->source_line = i->source_line;
  for (const ptx_source_file *file = ptx->files; file; file = file->next)
    if (file->index == i->source_file) copy_text(f->source_file, sizeof f->source_file, file->name);
}

sim_step sim__fault(sim_warp *w, const sim_insn *i, sim_fault_kind kind, int lane, const char *format, ...) {
  sim_fault *f = w->machine->fault;
  if (f->kind != SIM_FAULT_NONE) return SIM_FAULTED;
  f->kind = kind;
  place(w, i, lane);
  va_list list;
  va_start(list, format);
  vsnprintf(f->detail, sizeof f->detail, format, list);
  va_end(list);
  return SIM_FAULTED;
}

static const char *space_name(int space) {
  switch (space) {
  case PTX_GLOBAL:
    return "global";
  case PTX_SHARED:
    return "shared";
  case PTX_LOCAL:
    return "local";
  case PTX_PARAM:
    return "param";
  case PTX_CONST:
    return "const";
  default:
    return "generic";
  }
}

sim_step sim__fault_at(sim_warp *w, const sim_insn *i, sim_fault_kind kind, int lane, int space, uint64_t address,
                       uint64_t bytes, const char *format, ...) {
  sim_fault *f = w->machine->fault;
  if (f->kind != SIM_FAULT_NONE) return SIM_FAULTED;
  f->kind = kind;
  place(w, i, lane);
  f->has_address = 1;
  f->address = address;
  f->bytes = bytes;
  copy_text(f->space, sizeof f->space, space_name(space));
  if (space == PTX_GLOBAL || space == PTX_GENERIC || space == PTX_CONST) {
    const sim_allocation *a = sim_memory_nearest(w->machine->memory, address);
    f->has_nearest = a != NULL;
    if (a) {
      f->nearest = *a;
      f->nearest.name = NULL;
      f->nearest_offset = (int64_t)(address - a->base);
    }
  }
  va_list list;
  va_start(list, format);
  vsnprintf(f->detail, sizeof f->detail, format, list);
  va_end(list);
  return SIM_FAULTED;
}

void sim__fault_other(sim_warp *w, uint32_t pc) {
  sim_machine *m = w->machine;
  if (pc < m->function->n_code) m->fault->other_ptx_line = m->code[pc].line;
}

static size_t add(char *text, size_t room, size_t n, const char *format, ...) __attribute__((format(printf, 4, 5)));
static size_t add(char *text, size_t room, size_t n, const char *format, ...) {
  if (n >= room) return n;
  va_list list;
  va_start(list, format);
  const int more = vsnprintf(text + n, room - n, format, list);
  va_end(list);
  return n + (size_t)(more < 0 ? 0 : more);
}

void sim__fault_finish(sim_machine *m) {
  sim_fault *f = m->fault;
  if (f->kind == SIM_FAULT_NONE) return;
  if (!f->kernel[0]) copy_text(f->kernel, sizeof f->kernel, m->function->facts.name);
  size_t n = 0, room = sizeof f->text;
  n = add(f->text, room, n, "%s: %s", sim_fault_name(f->kind), sim_fault_text(f->kind));
  if (f->detail[0]) n = add(f->text, room, n, " (%s)", f->detail);
  n = add(f->text, room, n, "\n  kernel  %s", f->kernel);
  if (f->ptx_line) n = add(f->text, room, n, "\n  ptx     line %d: %s", f->ptx_line, f->ptx_text);
  if (f->other_ptx_line) n = add(f->text, room, n, "\n  earlier line %d", f->other_ptx_line);
  if (f->source_line) n = add(f->text, room, n, "\n  source  %s:%d", f->source_file, f->source_line);
  if (f->warp >= 0)
    n = add(f->text, room, n, "\n  where   block %u,%u,%u thread %u,%u,%u warp %d lane %d", f->block[0], f->block[1],
            f->block[2], f->thread[0], f->thread[1], f->thread[2], f->warp, f->lane);
  if (f->has_address)
    n = add(f->text, room, n, "\n  address %s 0x%llx, %llu bytes", f->space, (unsigned long long)f->address,
            (unsigned long long)f->bytes);
  if (f->has_nearest)
    n = add(f->text, room, n, "\n  nearest 0x%llx, %llu bytes, %s; the address is at %+lld",
            (unsigned long long)f->nearest.base, (unsigned long long)f->nearest.bytes,
            f->nearest.state == SIM_LIVE ? "live" : "freed", (long long)f->nearest_offset);
}
