/* tune_search.c -- the search of one op: what `tune OP` does once and `tune --config` for every op. */
#include "tune_search.h"
#include "interrupt.h"
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const int64_t default_rows[] = {8, 64, 512, 4096, 32768};
#define N_DEFAULT_ROWS ((int)(sizeof default_rows / sizeof *default_rows))

static int64_t bucket_of(int64_t rows) {
  int64_t bucket = 1;
  while (bucket < rows) bucket *= 2;
  return bucket;
}

void rgt__tune_search_rows(const int64_t *from, int n, const char *name, rgt__int_list *rows) {
  if (!from) {
    from = default_rows;
    n = N_DEFAULT_ROWS;
  }
  rows->n = 0;
  for (int i = 0; i < n; i++) {
    int j = 0;
    while (j < rows->n && bucket_of(rows->v[j]) != bucket_of(from[i])) j++;
    if (j == rows->n)
      rows->v[rows->n++] = from[i];
    else if (name)
      rgt__message_note("ragtune: %s %" PRId64 " and %" PRId64 " share the bucket %" PRId64 "; it is tuned once", name,
                        rows->v[j], from[i], bucket_of(from[i]));
  }
}

rgt_status rgt__tune_search_space(const rgt__options *o, rgt__message *m) {
  if (o->space && access(o->space, R_OK) != 0) return rgt__message_set(m, RGT_EIO, "--space %s: %s", o->space, strerror(errno));
  return RGT_OK;
}

rgt_status rgt__tune_search_run(rgt__session *s, const rgt__options *o, const rgt__int_list *rows, const rgt__npy *index,
                                rgt_tune_result *results, rgt__message *m) {
  rgt_tune_options t = {.struct_size = sizeof t, .rows = rows->v, .n_rows = rows->n};
  rgt_status status;
  t.skew = o->skew < 0 ? RGT_SKEW_UNKNOWN : (rgt_skew)o->skew;
  t.index = index ? index->data : NULL;
  t.n_index = index ? (int64_t)index->elems : 0;
  t.budget_s = o->budget < 0 ? 0 : o->budget;
  t.policy = o->policy < 0 ? RGT_POLICY_WARM : (rgt_policy)o->policy;
  t.space = o->space;
  t.force = o->force;
  t.exhaustive = o->exhaustive;
  t.progress = rgt__progress_show;
  t.stop = &rgt__interrupt_flag;
  rgt__progress_start(o->quiet);
  status = rgt_tune(s->op, &t, results);
  rgt__progress_clear();
  if (status == RGT_OK && strcmp(s->database, rgt_db_path(s->ctx)) != 0) /* gone with this process */
    return rgt__message_set(m, RGT_EDB, "results could not be stored in %s, as the warning says", s->database);
  return status == RGT_OK ? RGT_OK : rgt__message_from(m, status, s->ctx);
}

int rgt__tune_search_answered(rgt_status status) {
  return status == RGT_OK || status == RGT_EINTERRUPTED || status == RGT_EDB;
}

void rgt__tune_search_note_interrupted(const char *database) {
  if (strcmp(database, ":memory:") == 0)
    rgt__message_note("ragtune: interrupted; there is no database (:memory:), so what was measured is gone");
  else
    rgt__message_note("ragtune: interrupted; what was measured is kept in %s, and the same command goes on from there",
                      database);
}
