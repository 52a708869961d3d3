/* search_compile.c -- the code of the candidates that a search is about to try: compiled in parallel, when they are wanted. */
#include "runtime/base/alloc.h"
#include "runtime/search_state.h"
#include "runtime/thread_pool.h"

static int has_code(const rgt__candidate *c) {
  return c->outcome != RGT_TRIAL_OK || c->module || c->entry.path[0] || c->entry.code;
}

typedef struct compiling {
  const rgt__search *s;
  const rgt__candidate *list;
  int n_done;
  int late;
} compiling;

static int compiled_one(void *user, int i) {
  compiling *c = user;
  rgt__search_report(c->s, RGT_PHASE_COMPILE, c->s->n_done + c->n_done++, c->s->limit, c->list[i].text);
  return rgt__search_stopped(c->s) || (!c->late && rgt__search_now() > c->s->deadline_s);
}

/* The pool wants one array of candidates; ours lie in larger structs. */
rgt_status rgt__search_compile(const rgt__search *s, const int *indices, int n, int late, rgt__error *err) {
  rgt__searched *all = s->setup->all;
  int n_wanted = 0;
  for (int i = 0; i < n; i++) n_wanted += !has_code(&all[indices[i]].candidate);
  if (n_wanted == 0) return RGT_OK;
  rgt__candidate *list = rgt__alloc_zero((size_t)n_wanted, sizeof *list);
  if (!list) return rgt__error_nomem(err, (size_t)n_wanted * sizeof *list);
  int at = 0;
  for (int i = 0; i < n; i++)
    if (!has_code(&all[indices[i]].candidate)) list[at++] = all[indices[i]].candidate;
  compiling c = {s, list, 0, late};
  s->setup->stop->deadline_s = late ? 0 : s->deadline_s;
  rgt_status status =
      rgt__candidate_compile_all(s->setup->maker, list, n_wanted, rgt__pool_affinity(), 0, compiled_one, &c, err);
  s->setup->stop->deadline_s = 0;
  at = 0;
  for (int i = 0; i < n; i++)
    if (!has_code(&all[indices[i]].candidate)) all[indices[i]].candidate = list[at++];
  rgt__free(list);
  return status;
}
