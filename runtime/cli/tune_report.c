/* tune_report.c -- what `ragtune tune` found, for people and as JSON. */
#include "tune_report.h"
#include "cli.h"
#include "table.h"
#include "units.h"

#include <inttypes.h>
#include <string.h>

enum { N_COUNTS = 8 };

static const char *const count_names[N_COUNTS] = {"tried", "right",   "infeasible", "compile_errors",
                                                  "wrong", "crashed", "timed_out",  "resumed"};

static void add_counts(const rgt_tune_result *r, int64_t counts[N_COUNTS]) {
  const int one[N_COUNTS] = {r->n_tried, r->n_ok,      r->n_infeasible, r->n_compile_error,
                             r->n_wrong, r->n_crashed, r->n_timed_out,  r->n_resumed};
  for (int i = 0; i < N_COUNTS; i++) counts[i] += one[i];
}

static double per_second(double amount, int64_t ps) {
  return ps > 0 ? amount * 1e12 / (double)ps : 0;
}

static const char *status_word(rgt_status status) {
  return status == RGT_OK             ? "ok"
         : status == RGT_EINFEASIBLE  ? "infeasible"
         : status == RGT_EINTERRUPTED ? "interrupted"
         : status == RGT_ESIZE        ? "skipped"
                                      : rgt_status_name(status);
}

void rgt__tune_report_place(const rgt__tune_report *r) {
  if (r->quiet) return;
  printf("device     %s\n", r->device_class);
  printf("toolchain  %s\n", r->toolchain);
}

/* One of many is named even with --quiet: nobody could tell the tables apart. */
void rgt__tune_report_head(const rgt__tune_report *r) {
  if (r->of) {
    printf("\nop         %s  (%d of %d)\n", r->op, r->at, r->of);
    if (r->skew) printf("skew       %s\n", r->skew);
    return;
  }
  if (!r->quiet) printf("op         %s%s\n", r->op, r->out_from_in ? "  (out is taken from --in)" : "");
  rgt__tune_report_place(r);
}

static void winner_row(rgt__table *t, const rgt_tune_result *r) {
  char time[32], low[32], high[32], rows[32], flops[32], peak[32], base[32], loop[32], error[32];
  rgt__table_cell(t, "%" PRId64, r->bucket);
  rgt__table_cell(t, "%s", rgt__units_ps(r->time_ps, time, sizeof time));
  rgt__table_cell(t, "%s .. %s", rgt__units_ps(r->low_ps, low, sizeof low), rgt__units_ps(r->high_ps, high, sizeof high));
  rgt__table_cell(t, "%s", rgt__units_scaled(per_second((double)r->bucket, r->time_ps), rows, sizeof rows));
  rgt__table_cell(t, "%s", rgt__units_scaled(per_second(r->flops, r->time_ps), flops, sizeof flops));
  rgt__table_cell(t, "%s", rgt__units_percent(r->peak_share, peak, sizeof peak));
  rgt__table_cell(t, "%s", rgt__units_times(r->default_ps, r->time_ps, base, sizeof base));
  rgt__table_cell(t, "%s", rgt__units_times(r->loop_ps, r->time_ps, loop, sizeof loop));
  rgt__table_cell(t, "%s", rgt__units_percent(r->error_share, error, sizeof error));
  rgt__table_cell(t, "%s%s", r->winner, r->hit ? "  (stored before)" : "");
}

static rgt_status print_winners(const rgt__tune_report *r) {
  static const char *const heads[] = {"rows",    "time",      "95 % interval", "rows/s",         "flop/s",
                                      "of peak", "x default", "x loop",        "of error bound", "winner"};
  rgt__table t;
  rgt_status s;
  int any = 0;
  rgt__table_open(&t, "rrrrrrrrrl");
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) rgt__table_cell(&t, "%s", heads[i]);
  for (int i = 0; i < r->n; i++)
    if (r->results[i].status == RGT_OK) {
      winner_row(&t, &r->results[i]);
      any = 1;
    }
  s = any ? rgt__table_print(&t, stdout) : RGT_OK;
  rgt__table_free(&t);
  return s;
}

static void print_rest(const rgt__tune_report *r) {
  int64_t c[N_COUNTS] = {0};
  int hits = 0;
  for (int i = 0; i < r->n; i++) {
    add_counts(&r->results[i], c);
    hits += r->results[i].hit;
  }
  if (hits)
    printf("%d of %d buckets were stored before: nothing was compiled or timed for them (--force tunes again)\n", hits, r->n);
  if (hits < r->n) {
    printf("tried %" PRId64 ": %" PRId64 " right, %" PRId64 " infeasible, %" PRId64 " compile errors, %" PRId64
           " wrong, %" PRId64 " crashed, %" PRId64 " timed out",
           c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
    if (c[7]) printf("; %" PRId64 " of them in an interrupted search before", c[7]);
    putchar('\n');
  }
}

void rgt__tune_report_stored(const rgt__tune_report *r) {
  if (!r->stored)
    puts("not stored");
  else if (strcmp(r->database, ":memory:") == 0)
    puts("stored in memory only: no database file is in use");
  else
    printf("stored in %s\n", r->database);
}

rgt_status rgt__tune_report_text(const rgt__tune_report *r, rgt__message *m) {
  if (print_winners(r) != RGT_OK) return rgt__message_set(m, RGT_ENOMEM, "out of memory while printing");
  for (int i = 0; i < r->n; i++) {
    const rgt_tune_result *one = &r->results[i];
    if (one->status == RGT_OK) continue;
    printf("%" PRId64 " rows: %s%s%s\n", one->bucket, status_word(one->status), one->reason[0] ? ": " : "", one->reason);
  }
  if (r->quiet) return RGT_OK;
  print_rest(r);
  if (!r->of) rgt__tune_report_stored(r);
  return RGT_OK;
}

static json_t *result_json(const rgt_tune_result *r) {
  int64_t c[N_COUNTS] = {0};
  json_t *o = json_object();
  rgt__json_int(o, "rows", r->bucket);
  rgt__json_text(o, "skew", rgt__cli_skew_word(r->skew));
  rgt__json_text(o, "status", status_word(r->status));
  rgt__json_text(o, "reason", r->reason);
  rgt__json_bool(o, "hit", r->hit);
  rgt__json_text(o, "winner", r->winner[0] ? r->winner : NULL);
  rgt__json_text(o, "runner_up", r->runner_up[0] ? r->runner_up : NULL);
  rgt__json_int(o, "time_ps", r->time_ps);
  rgt__json_int(o, "low_ps", r->low_ps);
  rgt__json_int(o, "high_ps", r->high_ps);
  rgt__json_int(o, "default_ps", r->default_ps);
  rgt__json_int(o, "loop_ps", r->loop_ps);
  rgt__json_real(o, "rows_per_s", per_second((double)r->bucket, r->time_ps));
  rgt__json_real(o, "flop_per_s", per_second(r->flops, r->time_ps));
  rgt__json_real(o, "flops", r->flops);
  rgt__json_real(o, "bytes", r->bytes);
  rgt__json_real(o, "peak_share", r->peak_share);
  rgt__json_real(o, "error_share", r->error_share);
  add_counts(r, c);
  for (int i = 0; i < N_COUNTS; i++) rgt__json_int(o, count_names[i], c[i]);
  return o;
}

void rgt__tune_report_results(const rgt__tune_report *r, json_t *object) {
  json_t *list = rgt__json_array(object, "results");
  for (int i = 0; i < r->n; i++) rgt__json_append(list, result_json(&r->results[i]));
}

rgt_status rgt__tune_report_json(const rgt__tune_report *r, rgt__message *m) {
  json_t *o = rgt__json_object("tune");
  rgt__json_text(o, "op", r->op);
  rgt__json_text(o, "device_class", r->device_class);
  rgt__json_text(o, "toolchain", r->toolchain);
  rgt__json_text(o, "database", r->database);
  rgt__json_bool(o, "stored", r->stored);
  rgt__json_bool(o, "interrupted", r->interrupted);
  rgt__tune_report_results(r, o);
  return rgt__json_print(o, m);
}

void rgt__tune_report_count(const rgt__tune_report *r, rgt__tune_counts *c) {
  for (int i = 0; i < r->n; i++) {
    const rgt_tune_result *one = &r->results[i];
    c->tuned += one->status == RGT_OK && !one->hit;
    c->hits += one->status == RGT_OK && one->hit;
    c->infeasible += one->status == RGT_EINFEASIBLE;
    c->skipped += one->status == RGT_ESIZE;
    c->interrupted += one->status == RGT_EINTERRUPTED;
  }
}

int rgt__tune_report_answer(const rgt__tune_counts *c) {
  return c->tuned + c->hits > 0 && c->infeasible == 0 ? RGT_EXIT_DONE : RGT_EXIT_NO;
}
