/* family.c -- every family of the sources: pairs of a spec and a template, opened once, sorted by device, rank and name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "generator/families.h"
#include "runtime/base/alloc.h"

/* split_name -- "cpu/row_gather.lua" into device and family. 1 if the source is a family's spec. */
static int split_name(const char *source, char device[8], char family[RGT_NAME_MAX * 2]) {
  const char *slash = strchr(source, '/'), *dot = strrchr(source, '.');
  if (!slash || !dot || dot < slash || strchr(slash + 1, '/') || strcmp(dot, ".lua")) return 0;
  if (slash - source >= 8 || dot - slash - 1 >= RGT_NAME_MAX * 2) return 0;
  snprintf(device, 8, "%.*s", (int)(slash - source), source);
  snprintf(family, RGT_NAME_MAX * 2, "%.*s", (int)(dot - slash - 1), slash + 1);
  return strcmp(device, "cpu") == 0 || strcmp(device, "cuda") == 0;
}

struct opening {
  rgt__families *f;
  rgt__family_entry *e;
};

static rgt_status read_spec(lua_State *L, void *user, rgt__error *err) {
  struct opening *o = user;
  char shown[RGT_SHOWN_NAME_MAX];
  snprintf(shown, sizeof shown, RGT_TEMPLATE_ROOT "%s", o->e->spec->name);
  rgt_status status = rgt__lua_load(o->f->lua, o->e->spec->text, o->e->spec->size, shown, err);
  if (status != RGT_OK) return status;
  lua_call(L, 0, 1);
  return rgt__spec_read(L, o->e, err);
}

static rgt_status open_family(rgt__families *f, const rgt__source_file *spec, const char *device, const char *name,
                              rgt__error *err) {
  rgt__family_entry *e = &f->entries[f->n++]; /* counted at once: rgt__families_free frees what a failure leaves */
  const char *ending = strcmp(device, "cuda") == 0 ? "cu" : "c";
  char body[RGT_SHOWN_NAME_MAX];
  snprintf(body, sizeof body, "%s/%s.%s", device, name, ending);
  if (!rgt__table_is_name(name, RGT_NAME_MAX)) {
    return rgt__error_set(err, RGT_ETEMPLATE,
                          RGT_TEMPLATE_ROOT
                          "%s:1: a family's name is a lower-case letter, then lower-case letters, digits and _, at most %d",
                          spec->name, RGT_NAME_MAX - 1);
  }
  e->family.lua_ref = LUA_NOREF;
  e->spec = spec;
  e->body = rgt__sources_find(f->sources, body);
  if (!e->body) {
    return rgt__error_set(err, RGT_ETEMPLATE, RGT_TEMPLATE_ROOT "%s:1: its template " RGT_TEMPLATE_ROOT "%s is missing",
                          spec->name, body);
  }
  memcpy(e->family.name, name, strlen(name) + 1);
  snprintf(e->family.device, sizeof e->family.device, "%s", device);
  rgt_status status = rgt__family_files_find(f->sources, e, err);
  struct opening o = {f, e};
  return status == RGT_OK ? rgt__families_protect(f, &e->family, read_spec, &o, err) : status;
}

rgt_status rgt__families_protect(rgt__families *f, const rgt__family *family, rgt__lua_fn fn, void *user, rgt__error *err) {
  f->current = rgt__families_entry(family);
  f->n_running = 0;
  rgt_status status = rgt__lua_protect(f->lua, fn, user, err);
  f->current = NULL;
  return status;
}

static int by_order(const void *a, const void *b) {
  const rgt__family *x = &((const rgt__family_entry *)a)->family, *y = &((const rgt__family_entry *)b)->family;
  int device = strcmp(x->device, y->device);
  if (device) return device;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return strcmp(x->name, y->name);
}

static void add_fault(rgt__families *f, const char *device, const char *name, const char *why) {
  rgt__family_fault *fault = &f->faults[f->n_faults++];
  snprintf(fault->device, sizeof fault->device, "%s", device);
  snprintf(fault->name, sizeof fault->name, "%.*s", (int)sizeof fault->name - 1, name);
  snprintf(fault->text, sizeof fault->text, "%.*s", (int)sizeof fault->text - 1, why);
}

static void free_entry(rgt__family_entry *e) {
  rgt__free(e->family.about);
  rgt__free(e->family.source);
  rgt__free(e->files);
  memset(e, 0, sizeof *e);
}

void rgt__families_leave_out(rgt__families *f, const rgt__family *family, const char *why) {
  rgt__family *own = &f->entries[rgt__families_entry(family) - f->entries].family;
  if (own->left_out) return;
  own->left_out = 1;
  add_fault(f, own->device, own->name, why);
}

const char *rgt__families_fault(const rgt__families *f, int i) {
  return i >= 0 && i < f->n_faults ? f->faults[i].text : NULL;
}

static rgt_status open_all(rgt__families *f, rgt__error *err) {
  rgt_status status = rgt__lua_open(NULL, &f->lua, err);
  if (status != RGT_OK) return status;
  rgt__lua_set_shared(f->lua, rgt__family_files_shared, f);
  int n = rgt__sources_count(f->sources);
  f->entries = rgt__alloc_zero((size_t)n + 1, sizeof *f->entries);
  if (!f->entries) return rgt__error_nomem(err, (size_t)n * sizeof *f->entries);
  f->faults = rgt__alloc_zero((size_t)n + 1, sizeof *f->faults);
  if (!f->faults) return rgt__error_nomem(err, (size_t)n * sizeof *f->faults);
  for (int i = 0; i < n && status == RGT_OK; i++) {
    const rgt__source_file *file = rgt__sources_at(f->sources, i);
    char device[8], name[RGT_NAME_MAX * 2];
    rgt__error why = {""};
    if (!split_name(file->name, device, name)) continue;
    status = open_family(f, file, device, name, &why);
    if (status == RGT_ETEMPLATE) {
      add_fault(f, device, name, why.text);
      free_entry(&f->entries[--f->n]);
      status = RGT_OK;
    } else if (status != RGT_OK) {
      rgt__error_set(err, status, "%s", why.text);
    }
  }
  if (status == RGT_OK && f->n == 0 && f->n_faults > 0) status = rgt__error_set(err, RGT_ETEMPLATE, "%s", f->faults[0].text);
  if (status == RGT_OK) qsort(f->entries, (size_t)f->n, sizeof *f->entries, by_order);
  return status;
}

rgt_status rgt__families_open(const rgt__sources *sources, rgt__families **out, rgt__error *err) {
  rgt__families *f = rgt__alloc_zero(1, sizeof *f);
  if (!f) return rgt__error_nomem(err, sizeof *f);
  f->sources = sources;
  rgt_status status = open_all(f, err);
  if (status != RGT_OK) {
    rgt__families_free(f);
    return status;
  }
  *out = f;
  return RGT_OK;
}

void rgt__families_free(rgt__families *f) {
  if (!f) return;
  for (int i = 0; i < f->n; i++) free_entry(&f->entries[i]);
  rgt__free(f->entries);
  rgt__free(f->faults);
  rgt__lua_free(f->lua);
  rgt__free(f);
}

int rgt__families_count(const rgt__families *f) {
  return f->n;
}
const rgt__family *rgt__families_at(const rgt__families *f, int i) {
  return i >= 0 && i < f->n ? &f->entries[i].family : NULL;
}
const rgt__sources *rgt__families_sources(const rgt__families *f) {
  return f->sources;
}

const rgt__family *rgt__families_find(const rgt__families *f, const char *device, const char *name) {
  for (int i = 0; i < f->n; i++) {
    const rgt__family *family = &f->entries[i].family;
    if (strcmp(family->device, device) == 0 && strcmp(family->name, name) == 0) return family;
  }
  return NULL;
}

int rgt__family_fits(const rgt__family *family, const rgt_op_desc *op) {
  return !family->left_out && (family->op_kinds >> op->kind & 1) && (family->dtypes >> op->dtype & 1);
}
