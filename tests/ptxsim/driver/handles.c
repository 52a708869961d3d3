/* handles.c -- the registry of handles: a growing table, indexed by the serial number within the handle. */
#include "handles.h"

#include "call.h"

#include <stdlib.h>

/* | 0x5a | kind | serial << 4 |: no address that a process of this machine can have. */
#define MARK ((uint64_t)0x5a << 56)

typedef struct entry {
  void *object; /* NULL: destroyed */
  sim_kind kind;
} entry;

static entry *table;
static size_t n_entries, capacity;

/* With their articles. */
static const char *const kind_names[] = {"a nothing", "a context", "a module", "a function",   "a library",
                                         "a stream",  "an event",  "a graph",  "a graph node", "an executable graph"};

static const char *bare(sim_kind kind) {
  return kind_names[kind] + (kind_names[kind][1] == 'n' ? 3 : 2);
}

static uint64_t number_of(const void *handle) {
  return (uint64_t)(uintptr_t)handle;
}

void *sim_handle_new(sim_kind kind, void *object) {
  if (n_entries == capacity) {
    size_t more = capacity == 0 ? 256 : 2 * capacity;
    entry *grown = realloc(table, more * sizeof *grown);
    if (grown == NULL) return NULL;
    table = grown;
    capacity = more;
  }
  table[n_entries] = (entry){object, kind};
  uint64_t number = MARK | (uint64_t)kind << 48 | (uint64_t)n_entries << 4;
  n_entries++;
  return (void *)(uintptr_t)number; /* NOLINT: a number in a pointer's clothes */
}

static entry *entry_of(const void *handle) {
  uint64_t number = number_of(handle), serial = (number & 0xffffffffffffULL) >> 4;
  if ((number & ((uint64_t)0xff << 56)) != MARK || (number & 15) != 0 || serial >= n_entries) return NULL;
  entry *e = &table[serial];
  return (number >> 48 & 0xff) == (uint64_t)e->kind ? e : NULL;
}

void sim_handle_end(void *handle) {
  entry *e = entry_of(handle);
  if (e != NULL) e->object = NULL;
}

void *sim_handle_object(const void *handle, sim_kind kind) {
  const entry *e = entry_of(handle);
  return e == NULL || e->kind != kind ? NULL : e->object;
}

void *sim_handle_find(const void *handle, sim_kind kind, CUresult *result) {
  const entry *e = entry_of(handle);
  int context = kind == SIM_KIND_CONTEXT;
  CUresult invalid = context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
  if (e != NULL && e->kind == kind && e->object != NULL) return e->object;
  if (handle == NULL)
    *result = sim_refuse(invalid, "the %s is NULL", bare(kind));
  else if (e == NULL)
    *result = sim_refuse(invalid, "%p is no handle that this driver made; %s is needed", handle, kind_names[kind]);
  else if (e->kind != kind)
    *result = sim_refuse(invalid, "%p is %s; %s is needed", handle, kind_names[e->kind], kind_names[kind]);
  else
    *result =
        sim_refuse(context ? CUDA_ERROR_CONTEXT_IS_DESTROYED : invalid, "the %s %p was destroyed before", bare(kind), handle);
  return NULL;
}
