/* cli_tune.c -- ragtune tune: search, and remember. One op; cli_tune_config.c does many. */
#include "cli.h"
#include "data_files.h"
#include "env_facts.h"
#include "interrupt.h"
#include "tune_report.h"
#include "tune_search.h"

#include <stdlib.h>

typedef struct work {
  const rgt__options *o;
  rgt__session session;
  rgt__npy index;
  rgt__int_list rows;
  rgt_tune_result results[RGT_LIST_MAX];
  rgt__env_facts facts;
  rgt_status status; /* of rgt_tune */
} work;

static rgt_status check_options(const rgt__options *o, rgt__message *m) {
  if (o->shard)
    return rgt__message_set(m, RGT_EINVAL, "--shard %s: splits the list of a --config, and none is given", o->shard);
  if (o->index && o->row_list.n)
    return rgt__message_set(m, RGT_EINVAL,
                            "--rows stands beside --index, whose length is the number of rows; give one of the two");
  if (o->index && o->skew >= 0)
    return rgt__message_set(m, RGT_EINVAL, "--skew stands beside --index, which has a skew of its own; give one of the two");
  return rgt__tune_search_space(o, m);
}

static rgt_status prepare(work *w, rgt__message *m) {
  const rgt__options *o = w->o;
  rgt_status s = check_options(o, m);
  if (s != RGT_OK) return s;
  if ((s = rgt__session_start(&w->session, o, NULL, NULL, m)) != RGT_OK) return s;
  if (!o->index) {
    rgt__tune_search_rows(o->row_list.n ? o->row_list.v : NULL, o->row_list.n, o->quiet ? NULL : "--rows", &w->rows);
    return RGT_OK;
  }
  if ((s = rgt__data_files_index(o->index, &w->session.desc, &w->index, m)) != RGT_OK) return s;
  if (w->index.elems == 0) return rgt__message_set(m, RGT_EINVAL, "--index %s: holds no rows to tune with", o->index);
  w->rows = (rgt__int_list){1, {(int64_t)w->index.elems}};
  return RGT_OK;
}

static rgt__tune_report as_report(const work *w) {
  return (rgt__tune_report){.op = w->session.text,
                            .device_class = w->facts.device_class,
                            .toolchain = w->facts.toolchain,
                            .database = rgt_db_path(w->session.ctx),
                            .out_from_in = w->session.out_from_in,
                            .quiet = w->o->quiet,
                            .interrupted = w->status == RGT_EINTERRUPTED,
                            .stored = w->status != RGT_EDB,
                            .results = w->results,
                            .n = w->rows.n};
}

static int report(const work *w, const rgt__message *m) {
  rgt__tune_report r = as_report(w);
  rgt__message print_m;
  rgt_status s = w->o->json ? rgt__tune_report_json(&r, &print_m) : rgt__tune_report_text(&r, &print_m);
  rgt__tune_counts counts = {0};
  if (s != RGT_OK) return rgt__message_print(&print_m);
  fflush(stdout);
  if (r.interrupted) {
    rgt__tune_search_note_interrupted(r.database);
    return rgt__message_exit(RGT_EINTERRUPTED);
  }
  rgt__tune_report_count(&r, &counts);
  return w->status == RGT_OK ? rgt__tune_report_answer(&counts) : rgt__message_print(m);
}

static int tune(work *w, rgt__message *m) {
  rgt__env_facts_get(w->session.ctx, &w->facts);
  if (!w->o->json) {
    rgt__tune_report head = as_report(w);
    rgt__tune_report_head(&head);
    fflush(stdout);
  }
  rgt__interrupt_catch();
  w->status = rgt__tune_search_run(&w->session, w->o, &w->rows, w->o->index ? &w->index : NULL, w->results, m);
  return rgt__tune_search_answered(w->status) ? report(w, m) : rgt__message_print(m);
}

int rgt__cli_tune(const rgt__options *o) {
  rgt__message m;
  work *w;
  int status;
  if (o->config) return rgt__cli_tune_config(o);
  if (!(w = calloc(1, sizeof *w))) {
    rgt__message_set(&m, RGT_ENOMEM, "out of memory");
    return rgt__message_print(&m);
  }
  w->o = o;
  status = prepare(w, &m) == RGT_OK ? tune(w, &m) : rgt__message_print(&m);
  rgt__npy_free(&w->index);
  rgt__session_close(&w->session);
  free(w);
  return status;
}
