/* report.c -- what came of rows, in lines. */
#include "report.h"

#include <stdio.h>
#include <string.h>

void sweep_count_add(sweep_count *c, const sweep_result *r) {
  c->rows++;
  c->state[r->state]++;
  c->compiled += r->n_compiled;
  c->cached += r->n_cached;
  c->ragged += r->n_ragged;
  c->ragged_not_valid += r->n_ragged_not_valid;
  c->cases += r->has_case;
  c->spilled += r->spilled;
  c->not_admitted += !r->admitted;
  c->seconds += r->seconds;
}

int sweep_count_failures(const sweep_count *c) {
  int n = 0;
  for (int i = SWEEP_RIGHT + 1; i < SWEEP_N_STATES; i++) n += c->state[i];
  return n;
}

void sweep_report_failure(const sweep_row *row, const sweep_result *r, uint64_t seed, int n_ragged, int first_ragged) {
  char text[SWEEP_ROW_MAX];
  sweep_row_format(row, text);
  printf("%s: %s: %s\n  repeat: ragtune_sweep row --seed %llu --ragged %d --from %d '%s'\n", sweep_state_word(r->state),
         r->where, r->reason, (unsigned long long)seed, n_ragged, first_ragged, text);
  fflush(stdout);
}

void sweep_report_add(sweep_by_family *table, const sweep_result *r) {
  const char *name = r->family[0] ? r->family : "(unknown)";
  int i = 0;
  while (i < SWEEP_BY_FAMILY_MAX - 1 && table[i].name[0] && strcmp(table[i].name, name)) i++;
  snprintf(table[i].name, sizeof table[i].name, "%s", name);
  sweep_count_add(&table[i].count, r);
}

void sweep_report_families(const sweep_by_family *table) {
  printf("%-20s %6s %6s %6s %9s %7s %7s %6s %8s %13s %8s\n", "family", "rows", "right", "failed", "compiled", "cached",
         "ragged", "cases", "spilled", "not admitted", "seconds");
  for (int i = 0; i < SWEEP_BY_FAMILY_MAX && table[i].name[0]; i++) {
    const sweep_count *c = &table[i].count;
    printf("%-20s %6d %6d %6d %9d %7d %7d %6d %8d %13d %8.1f\n", table[i].name, c->rows, c->state[SWEEP_RIGHT],
           sweep_count_failures(c), c->compiled, c->cached, c->ragged, c->cases, c->spilled, c->not_admitted, c->seconds);
  }
}
