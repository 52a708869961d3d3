/* verb_array.c -- the covering array, written down and counted again from what was written. */
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "cases.h"
#include "verbs.h"

typedef struct making {
  rgt__sources *sources;
  rgt__families *families;
  sweep_factors factors;
  sweep_pool pool;
  sweep_pairs pairs;
  sweep_rows rows, again;
} making;

/* Every pair that no row has; returns how many. */
static int64_t name_open(const sweep_pairs *p) {
  char a[96], b[96];
  int64_t n = 0;
  for (int i = 0; i < p->f->n_values; i++)
    for (int j = 0; j < i; j++) {
      if (sweep_pair_state(p, i, j) != SWEEP_PAIR_OPEN) continue;
      sweep_value_name(p->f, i, a, sizeof a);
      sweep_value_name(p->f, j, b, sizeof b);
      if (n++ < 50) printf("not covered: %s with %s\n", b, a);
    }
  return n;
}

static rgt_status make(making *m, const sweep_options *o, int *n_cases, rgt__error *err) {
  const char *folder = getenv("RAGTUNE_TEMPLATES");
  char remark[128];
  rgt_status status = rgt__sources_open(folder && *folder ? folder : NULL, &m->sources, err);
  if (status == RGT_OK) status = rgt__families_open(m->sources, &m->families, err);
  if (status == RGT_OK && rgt__families_fault(m->families, 0))
    status = rgt__error_set(err, RGT_ETEMPLATE, "%s", rgt__families_fault(m->families, 0));
  if (status == RGT_OK) status = sweep_factors_make(m->families, o->family, &m->factors, err);
  if (status == RGT_OK) status = sweep_pool_make(m->families, &m->factors, &m->pool, err);
  if (status == RGT_OK) status = sweep_pairs_make(&m->factors, &m->pool, &m->pairs, err);
  if (status == RGT_OK) status = sweep_cases_rows(&m->pool, &m->factors, o->seed, &m->rows, n_cases, err);
  int used = 0;
  for (int i = 0; i < m->rows.n; i++) used += sweep_row_compiles(&m->rows.row[i]);
  if (status == RGT_OK) status = sweep_array_make(&m->pool, &m->pairs, o->seed, o->limit - used, &m->rows, err);
  snprintf(remark, sizeof remark, "ragtune_sweep array --seed %llu", (unsigned long long)o->seed);
  if (status == RGT_OK) status = sweep_rows_write(o->word, remark, &m->rows, err);
  if (status == RGT_OK) status = sweep_rows_read(o->word, &m->again, err);
  return status == RGT_OK ? sweep_array_count(&m->pool, &m->again, &m->pairs, err) : status;
}

static void print_counts(const making *m, const sweep_options *o, int n_cases) {
  int compiles = 0, by_family[SWEEP_FAMILIES_MAX] = {0};
  for (int i = 0; i < m->again.n; i++) {
    rgt__variant v;
    compiles += sweep_row_compiles(&m->again.row[i]);
    if (rgt__variant_parse(m->families, "cuda", m->again.row[i].variant, &v, NULL) == RGT_OK)
      by_family[sweep_family_place(&m->factors, v.family)]++;
  }
  printf("seed %llu; %d cases; %lld feasible variants, over all ops and targets\n", (unsigned long long)o->seed, n_cases,
         (long long)m->pool.n);
  for (int i = 0; i < m->factors.n_families; i++) printf("  %-20s %4d rows\n", m->factors.family[i]->name, by_family[i]);
  printf("%lld of %lld feasible pairs covered by %d rows, %d compiles\n", (long long)m->pairs.n_covered,
         (long long)m->pairs.n_feasible, m->again.n, compiles);
}

int sweep_verb_array(const sweep_options *o) {
  static making m; /* tables of some size */
  rgt__error err = {""};
  int n_cases = 0, wrong = 1;
  puts("[==========] Running 1 test(s).");
  rgt_status status = make(&m, o, &n_cases, &err);
  if (status == RGT_OK) {
    print_counts(&m, o, n_cases);
    wrong = name_open(&m.pairs) > 0 || m.pairs.n_covered == 0;
  } else {
    printf("%s\n", err.text);
  }
  puts(wrong ? "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] sweep_array" : "[  PASSED  ] 1 test(s).");
  sweep_rows_free(&m.again);
  sweep_rows_free(&m.rows);
  sweep_pairs_free(&m.pairs);
  sweep_pool_free(&m.pool);
  rgt__families_free(m.families);
  rgt__sources_free(m.sources);
  return wrong ? SWEEP_EXIT_WRONG : SWEEP_EXIT_RIGHT;
}
