/* cuda_target.c -- targets of CUDA and their facts. */
#include "runtime/cuda_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED_STATIC_MAX = 49152 };

/* Shared memory that a block may opt in to, by architecture (CUDA C++ programming guide, technical specifications). One that is
 * not known gets what every architecture has without opting in. */
static int64_t shared_optin_max(int sm) {
  static const struct {
    int sm, kib;
  } table[] = {{75, 64},   {80, 163},  {86, 99},   {87, 163},  {88, 163}, {89, 99}, {90, 227},
               {100, 227}, {101, 227}, {103, 227}, {110, 227}, {120, 99}, {121, 99}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (table[i].sm == sm) return (int64_t)table[i].kib * 1024;
  return SHARED_STATIC_MAX;
}

static void add_fact(rgt__target *t, const char *name, int64_t value) {
  snprintf(t->facts[t->n_facts].name, sizeof t->facts[0].name, "%s", name);
  t->facts[t->n_facts++].value = value;
}

void rgt__cuda_target_make(int sm, rgt__target *out) {
  memset(out, 0, sizeof *out);
  strcpy(out->device, "cuda");
  snprintf(out->name, sizeof out->name, "sm_%d", sm);
  add_fact(out, "sm", sm);
  add_fact(out, "shared_static_max", SHARED_STATIC_MAX);
  add_fact(out, "shared_optin_max", shared_optin_max(sm));
}

int rgt__cuda_target_number(const char *name) {
  char *end;
  if (strncmp(name, "sm_", 3) != 0 || name[3] < '1' || name[3] > '9' || strlen(name) > 7) return 0;
  long sm = strtol(name + 3, &end, 10);
  return *end == '\0' ? (int)sm : 0;
}

int64_t rgt__cuda_target_fact(const rgt__target *t, const char *name) {
  for (int i = 0; i < t->n_facts; i++)
    if (strcmp(t->facts[i].name, name) == 0) return t->facts[i].value;
  return 0;
}
