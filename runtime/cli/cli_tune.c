/* cli_tune.c -- ragtune tune: search, and remember. */
#include "cli.h"
#include "data_files.h"
#include "env_facts.h"
#include "interrupt.h"
#include "progress.h"
#include "session.h"
#include "tune_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t default_rows[] = {8, 64, 512, 4096, 32768};
#define N_DEFAULT_ROWS ((int)(sizeof default_rows / sizeof *default_rows))

typedef struct work {
  const rgt__options *o;
  rgt__session session;
  rgt__npy index;
  rgt__int_list rows;
  rgt_tune_result results[RGT_LIST_MAX];
  rgt__env_facts facts;
  rgt_status status; /* of rgt_tune */
} work;

static int64_t bucket_of(int64_t rows) {
  int64_t bucket = 1;
  while (bucket < rows) bucket *= 2;
  return bucket;
}

/* The row counts in the order given; one of those that share a bucket is enough, since buckets are what is tuned. */
static void settle_rows(work *w) {
  const int64_t *from = w->o->row_list.n ? w->o->row_list.v : default_rows;
  int n = w->o->row_list.n ? w->o->row_list.n : N_DEFAULT_ROWS;
  w->rows.n = 0;
  for (int i = 0; i < n; i++) {
    int j = 0;
    while (j < w->rows.n && bucket_of(w->rows.v[j]) != bucket_of(from[i])) j++;
    if (j == w->rows.n) {
      w->rows.v[w->rows.n++] = from[i];
    } else if (!w->o->quiet) {
      rgt__message_note("ragtune: --rows %" PRId64 " and %" PRId64 " share the bucket %" PRId64 "; it is tuned once",
                        w->rows.v[j], from[i], bucket_of(from[i]));
    }
  }
}

static rgt_status check_options(const rgt__options *o, rgt__message *m) {
  if (o->index && o->row_list.n)
    return rgt__message_set(m, RGT_EINVAL,
                            "--rows stands beside --index, whose length is the number of rows; give one of the two");
  if (o->index && o->skew >= 0)
    return rgt__message_set(m, RGT_EINVAL, "--skew stands beside --index, which has a skew of its own; give one of the two");
  if (o->space && access(o->space, R_OK) != 0) return rgt__message_set(m, RGT_EIO, "--space %s: %s", o->space, strerror(errno));
  return RGT_OK;
}

static rgt_status prepare(work *w, rgt__message *m) {
  rgt_status s = check_options(w->o, m);
  if (s != RGT_OK) return s;
  if ((s = rgt__session_start(&w->session, w->o, NULL, NULL, m)) != RGT_OK) return s;
  if (!w->o->index) {
    settle_rows(w);
    return RGT_OK;
  }
  if ((s = rgt__data_files_index(w->o->index, &w->session.desc, &w->index, m)) != RGT_OK) return s;
  if (w->index.elems == 0) return rgt__message_set(m, RGT_EINVAL, "--index %s: holds no rows to tune with", w->o->index);
  w->rows = (rgt__int_list){1, {(int64_t)w->index.elems}};
  return RGT_OK;
}

static void search(work *w, rgt__message *m) {
  const rgt__options *o = w->o;
  rgt_tune_options t = {.struct_size = sizeof t, .rows = w->rows.v, .n_rows = w->rows.n};
  t.skew = o->skew < 0 ? RGT_SKEW_UNKNOWN : (rgt_skew)o->skew;
  t.index = w->index.data;
  t.n_index = (int64_t)w->index.elems;
  t.budget_s = o->budget < 0 ? 0 : o->budget;
  t.policy = o->policy < 0 ? RGT_POLICY_WARM : (rgt_policy)o->policy;
  t.space = o->space;
  t.force = o->force;
  t.progress = rgt__progress_show;
  t.stop = &rgt__interrupt_flag;
  rgt__interrupt_catch();
  rgt__progress_start(o->quiet);
  w->status = rgt_tune(w->session.op, &t, w->results);
  rgt__progress_clear();
  if (w->status != RGT_OK) rgt__message_from(m, w->status, w->session.ctx);
}

/* The answer is yes if some bucket has a winner and none was found infeasible. */
static int answer(const work *w) {
  int winners = 0, infeasible = 0;
  for (int i = 0; i < w->rows.n; i++) {
    winners += w->results[i].status == RGT_OK;
    infeasible += w->results[i].status == RGT_EINFEASIBLE;
  }
  return winners && !infeasible ? RGT_EXIT_DONE : RGT_EXIT_NO;
}

static int report(work *w, rgt__message *m) {
  rgt__tune_report r = {.op = w->session.text,
                        .device_class = w->facts.device_class,
                        .toolchain = w->facts.toolchain,
                        .database = rgt_db_path(w->session.ctx),
                        .out_from_in = w->session.out_from_in,
                        .quiet = w->o->quiet,
                        .interrupted = w->status == RGT_EINTERRUPTED,
                        .stored = w->status != RGT_EDB,
                        .results = w->results,
                        .n = w->rows.n};
  rgt__message print_m;
  rgt_status s = w->o->json ? rgt__tune_report_json(&r, &print_m) : rgt__tune_report_text(&r, &print_m);
  if (s != RGT_OK) return rgt__message_print(&print_m);
  fflush(stdout);
  if (r.interrupted) {
    rgt__message_note("ragtune: interrupted; what was measured is kept in %s, and the same command goes on from there",
                      r.database);
    return rgt__message_exit(RGT_EINTERRUPTED);
  }
  return w->status == RGT_OK ? answer(w) : rgt__message_print(m);
}

int rgt__cli_tune(const rgt__options *o) {
  work *w = calloc(1, sizeof *w);
  rgt__message m;
  int status;
  if (!w) {
    rgt__message_set(&m, RGT_ENOMEM, "out of memory");
    return rgt__message_print(&m);
  }
  w->o = o;
  if (prepare(w, &m) != RGT_OK) {
    status = rgt__message_print(&m);
  } else {
    rgt__env_facts_get(w->session.ctx, &w->facts);
    if (!o->json) {
      rgt__tune_report head = {.op = w->session.text, .device_class = w->facts.device_class, .toolchain = w->facts.toolchain};
      head.out_from_in = w->session.out_from_in;
      head.quiet = o->quiet;
      rgt__tune_report_head(&head);
      fflush(stdout);
    }
    search(w, &m);
    /* With any other failure there are no results. */
    status =
        w->status == RGT_OK || w->status == RGT_EINTERRUPTED || w->status == RGT_EDB ? report(w, &m) : rgt__message_print(&m);
  }
  rgt__npy_free(&w->index);
  rgt__session_close(&w->session);
  free(w);
  return status;
}
