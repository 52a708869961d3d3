/* names.c -- registers, variables and scopes by name. */
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

ptx_scope *ptx__scope_new(ptx_parser *p, ptx_scope *outer) {
  ptx_scope *scope = sim__arena_alloc(&p->module->arena, sizeof *scope);
  scope->outer = outer;
  return scope;
}

/* Length of a name without the digits at its end: "%rd12" -> 3. */
static size_t stem_of(const char *name) {
  size_t n = strlen(name);
  while (n > 1 && name[n - 1] >= '0' && name[n - 1] <= '9') n--;
  return n;
}

static unsigned bucket_of(const char *name, size_t n) {
  unsigned h = 5381;
  for (size_t i = 0; i < n; i++) h = h * 33 + (unsigned char)name[i];
  return h % 16;
}

static struct ptx_name *add_name(ptx_parser *p, const char *name) {
  struct ptx_name *entry = sim__arena_alloc(&p->module->arena, sizeof *entry);
  const unsigned b = bucket_of(name, stem_of(name));
  entry->name = name;
  entry->next = p->scope->names[b];
  p->scope->names[b] = entry;
  return entry;
}

static struct ptx_name *in_scope(const ptx_scope *scope, const char *name, size_t n, unsigned b, int range) {
  for (struct ptx_name *e = scope->names[b]; e; e = e->next)
    if ((e->count > 0) == range && strncmp(e->name, name, n) == 0 && e->name[n] == 0) return e;
  return NULL;
}

/* The register of a range (%r<9> holds %r0 .. %r8) or of the exact name, from the inner scope outwards. */
ptx_reg *ptx__find_reg(const ptx_scope *scope, const char *name) {
  const size_t n = strlen(name), stem = stem_of(name);
  const unsigned b = bucket_of(name, stem);
  for (; scope; scope = scope->outer) {
    struct ptx_name *e = in_scope(scope, name, n, b, 0);
    if (e && e->regs) return e->regs;
    if (stem == n || n - stem > 9 || (name[stem] == '0' && n - stem > 1)) continue;
    e = in_scope(scope, name, stem, b, 1);
    const int i = atoi(name + stem);
    if (e && i < e->count) return &e->regs[i];
  }
  return NULL;
}

ptx_var *ptx__find_scoped_var(const ptx_scope *scope, const char *name) {
  const unsigned b = bucket_of(name, stem_of(name));
  for (; scope; scope = scope->outer) {
    struct ptx_name *e = in_scope(scope, name, strlen(name), b, 0);
    if (e && e->var) return e->var;
  }
  return NULL;
}

int ptx__declare_var(ptx_parser *p, ptx_var *var) {
  const unsigned b = bucket_of(var->name, stem_of(var->name));
  struct ptx_name *old = in_scope(p->scope, var->name, strlen(var->name), b, 0);
  if (old && old->var && old->var->external) { /* declared extern, now defined */
    old->var = var;
    return 0;
  }
  if (old && old->var && var->external) return 0;
  if (old) return ptx__error(p->module, var->line, "%s is declared twice", var->name);
  add_name(p, var->name)->var = var;
  return 0;
}

static ptx_reg *make_regs(ptx_parser *p, const char *name, int count, ptx_type type) {
  ptx_reg *regs = sim__arena_alloc(&p->module->arena, (size_t)count * sizeof *regs);
  ptx_function *f = p->function;
  for (int i = 0; i < count; i++) {
    f->regs = sim__grow(f->regs, f->n_regs, &f->regs_room, sizeof *f->regs);
    f->regs[f->n_regs] = &regs[i];
    regs[i] = (ptx_reg){.name = name, .type = type, .id = (int)f->n_regs++};
  }
  return regs;
}

int ptx__declare_regs(ptx_parser *p) {
  if (p->token.kind != PTX_WORD) return ptx__fail(p, ".reg needs a type");
  const ptx_type type = ptx__type_of(p->token.text);
  if (type.bits == 0) return ptx__fail(p, "a register type that is not known here");
  if (!p->function) return ptx__fail(p, "a register outside of a function");
  do {
    ptx__next(p);
    if (p->token.kind != PTX_WORD) return ptx__fail(p, "a register's name is missing");
    const char *name = p->token.text;
    int64_t count = 1;
    int range = 0;
    if (ptx__peek(p)->kind == PTX_PUNCT && ptx__peek(p)->punct == '<') {
      range = 1;
      ptx__next(p);
      ptx__next(p);
      if (ptx__expect_int(p, &count) != 0 || !ptx__is(p, '>')) return ptx__fail(p, "a count of registers, <N>, is wrong");
      if (count < 1 || count > 1000000) return ptx__fail(p, "a count of registers outside 1 .. 1000000");
    }
    struct ptx_name *e = add_name(p, name);
    e->count = range ? (int)count : 0;
    e->regs = make_regs(p, name, (int)count, type);
    ptx__next(p);
  } while (ptx__is(p, ','));
  return ptx__expect(p, ';');
}

int ptx__is_special(const char *name) {
  static const char *const stems[] = {"%tid",
                                      "%ntid",
                                      "%ctaid",
                                      "%nctaid",
                                      "%laneid",
                                      "%warpid",
                                      "%nwarpid",
                                      "%smid",
                                      "%nsmid",
                                      "%gridid",
                                      "%lanemask_eq",
                                      "%lanemask_le",
                                      "%lanemask_lt",
                                      "%lanemask_ge",
                                      "%lanemask_gt",
                                      "%clock",
                                      "%clock_hi",
                                      "%clock64",
                                      "%globaltimer",
                                      "%globaltimer_lo",
                                      "%globaltimer_hi",
                                      "%dynamic_smem_size",
                                      "%total_smem_size",
                                      "%clusterid",
                                      "%nclusterid",
                                      "%cluster_ctaid",
                                      "%cluster_nctaid",
                                      "%cluster_ctarank",
                                      "%cluster_nctarank",
                                      "%is_explicit_cluster"};
  const char *dot = strchr(name, '.');
  const size_t n = dot ? (size_t)(dot - name) : strlen(name);
  for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
    if (strlen(stems[i]) == n && strncmp(stems[i], name, n) == 0) return 1;
  return 0;
}
