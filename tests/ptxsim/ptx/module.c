/* module.c -- modules as the driver half sees them. */
#include "exec/insn.h"
#include "memory/memory.h"
#include "ptx/decode.h"

#include <stdlib.h>
#include <string.h>

int sim_module_parse(const char *ptx, size_t bytes, sim_module **out, char *log, size_t log_bytes) {
  sim_module *m = calloc(1, sizeof *m);
  if (log_bytes) log[0] = 0;
  if (!m) return -1;
  const char *end = memchr(ptx, 0, bytes);
  m->ptx.text_bytes = end ? (size_t)(end - ptx) : bytes;
  m->ptx.text = sim__arena_text(&m->ptx.arena, ptx, m->ptx.text_bytes);
  m->ptx.log = log;
  m->ptx.log_bytes = log_bytes;
  const int bad = ptx__parse(&m->ptx) != 0 || ptx__decode_module(m) != 0;
  m->ptx.log = NULL;
  m->ptx.log_bytes = 0;
  if (bad) {
    sim_module_free(m);
    return -1;
  }
  *out = m;
  return 0;
}

void sim_module_free(sim_module *m) {
  if (!m) return;
  for (int k = 0; k < m->n_functions; k++) {
    sim_function *f = &m->functions[k];
    for (size_t j = 0; j < f->n_kept; j++) free(f->kept[j]);
    free(f->kept);
    free(f->code);
    free(f->calls);
    free(f->routines);
  }
  free(m->functions);
  for (ptx_function *f = m->ptx.functions; f; f = f->next) {
    free(f->statements);
    free(f->regs);
  }
  sim__arena_clear(&m->ptx.arena);
  free(m);
}

/* Addresses of other variables within initial values. */
static void patch(const ptx_module *m, ptx_var *v) {
  for (const struct ptx_patch *p = v->patches; p; p = p->next) {
    const ptx_var *to = ptx__find_var(m, p->name);
    const uint64_t value = (to ? to->address : 0) + (uint64_t)p->add;
    for (int k = 0; k < p->bytes; k++) v->initial[p->at + (uint64_t)k] = (unsigned char)(value >> (8 * k));
  }
}

int sim_module_place(sim_module *m, sim_memory *memory) {
  for (ptx_var *v = m->ptx.vars; v; v = v->next) {
    v->address = sim_memory_alloc(memory, v->bytes ? v->bytes : 1);
    if (!v->address) return -1;
  }
  m->placed_in = memory;
  for (ptx_var *v = m->ptx.vars; v; v = v->next) {
    static const unsigned char zero;
    patch(&m->ptx, v);
    if (v->initial)
      sim_memory_write(memory, v->address, v->initial, v->bytes);
    else
      sim_memory_fill(memory, v->address, &zero, 1, v->bytes ? v->bytes : 1);
    sim_range *r = sim__memory_range(memory, v->address);
    r->a.read_only = v->space == PTX_CONST;
    r->a.name = v->name;
  }
  return 0;
}

void sim_module_remove(sim_module *m, sim_memory *memory) {
  if (m->placed_in != memory) return;
  for (ptx_var *v = m->ptx.vars; v; v = v->next) {
    sim_range *r = sim__memory_range(memory, v->address);
    if (r) r->a.name = NULL; /* the text goes with the module */
    sim_memory_release(memory, v->address);
  }
  m->placed_in = NULL;
}

const sim_function *sim_module_function(const sim_module *m, const char *name) {
  for (int k = 0; k < m->n_functions; k++)
    if (strcmp(m->functions[k].facts.name, name) == 0) return &m->functions[k];
  return NULL;
}

int sim_module_function_count(const sim_module *m) {
  return m->n_functions;
}
const sim_function *sim_module_function_at(const sim_module *m, int i) {
  return i >= 0 && i < m->n_functions ? &m->functions[i] : NULL;
}

int sim_module_global(const sim_module *m, const char *name, uint64_t *address, uint64_t *bytes) {
  const ptx_var *v = ptx__find_var(&m->ptx, name);
  if (!v || !m->placed_in) return -1;
  *address = v->address;
  *bytes = v->bytes;
  return 0;
}

int sim_module_target(const sim_module *m, int *suffix) {
  if (suffix) *suffix = m->ptx.suffix;
  return m->ptx.target;
}

int sim_module_version(const sim_module *m) {
  return m->ptx.version;
}

const sim_function_facts *sim_function_get_facts(const sim_function *f) {
  return &f->facts;
}
