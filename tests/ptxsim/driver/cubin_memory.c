/* cubin_memory.c -- the kernels of refused cubins, for the PTX of the same name that comes next. */
#include "cubin.h"

#include <stdlib.h>
#include <string.h>

enum { N_SLOTS = 1024 };

typedef struct seen {
  struct seen *next;
  sim_cubin_kernel kernel;
} seen;

static seen *slots[N_SLOTS];

static seen **slot_of(const char *name) {
  uint32_t hash = 2166136261u;
  for (const char *p = name; *p != '\0'; p++) hash = (hash ^ (unsigned char)*p) * 16777619u;
  return &slots[hash % N_SLOTS];
}

void sim_cubin_remember(const sim_cubin_kernel *kernel) {
  seen **slot = slot_of(kernel->name), *s = *slot;
  while (s != NULL && strcmp(s->kernel.name, kernel->name) != 0) s = s->next;
  if (s == NULL && (s = calloc(1, sizeof *s)) != NULL) {
    s->next = *slot;
    *slot = s;
  }
  if (s != NULL) s->kernel = *kernel;
}

const sim_cubin_kernel *sim_cubin_recall(const char *name) {
  for (const seen *s = *slot_of(name); s != NULL; s = s->next)
    if (strcmp(s->kernel.name, name) == 0) return &s->kernel;
  return NULL;
}
