/* table.c -- the lane-by-lane instructions of all files, by name. */
#include "exec/alu.h"
#include "ptx/arena.h"

const sim_alu_table *const sim__alu_tables[] = {&sim__integer_table, &sim__bits_table, &sim__compare_table, &sim__float_table,
                                                &sim__double_table,  &sim__half_table, &sim__special_table, NULL};

enum { BUCKETS = 4096 }; /* open addressing; about a thousand rows */
static const sim_alu_row *buckets[BUCKETS];

static unsigned hash(const char *name) {
  unsigned h = 2166136261u;
  while (*name) h = (h ^ (unsigned char)*name++) * 16777619u;
  return (h ^ h >> 15) % BUCKETS;
}

static void fill(void) {
  for (const sim_alu_table *const *t = sim__alu_tables; *t; t++)
    for (size_t k = 0; k < (*t)->n; k++) {
      unsigned at = hash((*t)->rows[k].name);
      while (buckets[at]) at = (at + 1) % BUCKETS;
      buckets[at] = &(*t)->rows[k];
    }
}

const sim_alu_row *sim__alu_find(const char *name) {
  static int filled;
  if (!filled) fill();
  filled = 1;
  for (unsigned at = hash(name); buckets[at]; at = (at + 1) % BUCKETS)
    if (strcmp(buckets[at]->name, name) == 0) return buckets[at];
  return NULL;
}
