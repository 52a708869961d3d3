/* search_compile.c -- the code of the candidates that a search is about to try: compiled in parallel, when they are wanted. */
#include "runtime/base/alloc.h"
#include "runtime/search_state.h"
#include "runtime/thread_pool.h"

typedef struct compiling {
  const rgt__search *s;
  rgt__candidate *const *list;
  int n_done;
  int late;
} compiling;

static int compiled_one(void *user, int i) {
  compiling *c = user;
  rgt__search_report(c->s, RGT_PHASE_COMPILE, c->s->n_done + c->n_done++, c->s->limit, c->list[i]->text);
  return rgt__search_stopped(c->s) || (!c->late && rgt__search_now() > c->s->deadline_s);
}

rgt_status rgt__search_compile(const rgt__search *s, const int *indices, int n, int late, rgt__error *err) {
  rgt__searched *all = s->setup->all;
  rgt__candidate **list = rgt__alloc_zero((size_t)n, sizeof *list);
  if (!list) return rgt__error_nomem(err, (size_t)n * sizeof *list);
  int n_wanted = 0;
  for (int i = 0; i < n; i++)
    if (!rgt__candidate_has_code(&all[indices[i]].candidate)) list[n_wanted++] = &all[indices[i]].candidate;
  compiling c = {s, list, 0, late};
  s->setup->stop->deadline_s = late ? 0 : s->deadline_s;
  rgt_status status =
      rgt__candidate_compile_list(s->setup->maker, list, n_wanted, rgt__pool_affinity(), 0, compiled_one, &c, err);
  s->setup->stop->deadline_s = 0;
  rgt__free(list);
  return status;
}
