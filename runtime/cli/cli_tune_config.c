/* cli_tune_config.c -- ragtune tune --config: one search after the other, for every op and skew of a file.
 *
 * A search that fails ends its own op alone: types that the device lacks may stand in a list beside those that it has. What
 * concerns all of them ends the run: the surroundings, and a failure that two ops share word for word, since it is not about
 * the op then.
 *
 * With --shard only the signatures of one part are searched, and an op and skew without any of them is no search at all.
 */
#include "cli.h"
#include "env_facts.h"
#include "interrupt.h"
#include "op_args.h"
#include "shard.h"
#include "tune_report.h"
#include "tune_search.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_SHARE_S 1.0 /* of the budget for one search, while any of it is left */

typedef struct work {
  const rgt__options *o;
  rgt__options one; /* the options of the search in work: its skew and its share of the budget */
  rgt_config *config;
  rgt__session session;
  rgt__env_facts facts;
  rgt__int_list rows;
  int skews[RGT_SKEW_ONE + 1], n_skews; /* -1: not said */
  double started_s, budget_s;           /* budget of the whole run; 0: each search has the default one */
  rgt__shard shard;
  int n_listed;                /* ops times skews: search i is of op i / n_skews, skew i % n_skews */
  uint64_t *mine;              /* [n_listed] bit i: rows.v[i] is searched, owned */
  int64_t n_signatures, n_all; /* to be searched; of the whole file */
  int at;                      /* search in work, of those listed */
  rgt__int_list searched;      /* its row counts */
  int n, begun, failed;        /* searches */
  int failed_op;               /* of the latest failure */
  int out_of_budget, interrupted, unstored, stopped;
  rgt__tune_counts counts;
  rgt__message failure, last_failure; /* the first and the latest */
  rgt_tune_result results[RGT_LIST_MAX];
  json_t *object, *list; /* with --json */
} work;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what to do -------------------------------------------------------------------------------------------- */

static rgt_status check_options(const rgt__options *o, rgt__message *m) {
  const char *op = rgt__op_args_first(o);
  if (op)
    return rgt__message_set(m, RGT_EINVAL, "%s stands beside --config, whose file names the ops; give one of the two", op);
  if (o->index)
    return rgt__message_set(m, RGT_EINVAL,
                            "--index stands beside --config: a real index belongs to one op; give one of the two");
  return rgt__tune_search_space(o, m);
}

/* The file may name the device, so that it is read by a context that has nothing to do with the one that tunes. */
static rgt_status read_config(work *w, rgt__message *m) {
  rgt_options options = {.struct_size = sizeof options, .device = "cpu", .database = ":memory:"};
  rgt_ctx *ctx = NULL;
  rgt_status status = rgt_open(&options, &ctx);
  if (status == RGT_OK) status = rgt_config_open(ctx, w->o->config, &w->config);
  if (status != RGT_OK) rgt__message_from(m, status, ctx);
  rgt_close(ctx);
  return status;
}

/* What the command line says goes before what the file says. */
static void settle(work *w) {
  const rgt__options *o = w->o;
  int n_rows = 0, n_skews = 0;
  const int64_t *rows = rgt_config_rows(w->config, &n_rows);
  const rgt_skew *skews = rgt_config_skews(w->config, &n_skews);
  const char *name = o->row_list.n ? "--rows" : "rows";
  if (o->row_list.n) {
    rows = o->row_list.v;
    n_rows = o->row_list.n;
  }
  rgt__tune_search_rows(n_rows ? rows : NULL, n_rows, o->quiet ? NULL : name, &w->rows);
  w->n_skews = 1;
  w->skews[0] = o->skew;
  if (o->skew < 0 && n_skews > 0) {
    w->n_skews = n_skews;
    for (int i = 0; i < n_skews; i++) w->skews[i] = (int)skews[i];
  }
  w->budget_s = o->budget >= 0 ? o->budget : rgt_config_budget_s(w->config);
  w->n_listed = rgt_config_count(w->config) * w->n_skews;
}

static int count_bits(uint64_t bits) {
  int n = 0;
  for (; bits; bits &= bits - 1) n++;
  return n;
}

/* An op that cannot be opened here has no signatures: the first shard has its searches, and says why. */
static rgt_status plan_one(work *w, int i, rgt__message *m) {
  rgt__message unused;
  rgt_status status = rgt_config_op(w->config, i / w->n_skews, &w->session.desc);
  w->one.skew = w->skews[i % w->n_skews];
  if (status == RGT_OK) status = rgt__session_op(&w->session, &w->one, &unused);
  if (status == RGT_OK)
    status = rgt__shard_rows(&w->shard, &w->session, w->one.skew, &w->rows, &w->mine[i], m);
  else {
    w->mine[i] = w->shard.at == 1 ? ~(uint64_t)0 >> (64 - w->rows.n) : 0;
    status = RGT_OK;
  }
  rgt_op_free(w->session.op);
  w->session.op = NULL;
  return status;
}

static rgt_status plan(work *w, rgt__message *m) {
  rgt_status status = RGT_OK;
  w->n_all = (int64_t)w->n_listed * w->rows.n;
  w->mine = malloc((size_t)w->n_listed * sizeof *w->mine);
  if (!w->mine) return rgt__message_set(m, RGT_ENOMEM, "out of memory");
  for (int i = 0; i < w->n_listed && status == RGT_OK; i++) {
    if (w->shard.of)
      status = plan_one(w, i, m);
    else
      w->mine[i] = ~(uint64_t)0 >> (64 - w->rows.n);
    w->n += w->mine[i] != 0;
    w->n_signatures += count_bits(w->mine[i]);
  }
  return status;
}

static rgt_status prepare(work *w, rgt__message *m) {
  const char *device;
  rgt_status status = check_options(w->o, m);
  if (status == RGT_OK) status = rgt__shard_parse(w->o->shard, &w->shard, m);
  if (status == RGT_OK) status = read_config(w, m);
  if (status != RGT_OK) return status;
  settle(w);
  device = rgt_config_device(w->config);
  if (strcmp(device, "auto") == 0) device = NULL; /* then RAGTUNE_DEVICE may say */
  status = rgt__session_open(&w->session, w->o, device, NULL, m);
  if (status == RGT_OK) rgt__env_facts_get(w->session.ctx, &w->facts);
  return status == RGT_OK ? plan(w, m) : status;
}

/* ---- one search -------------------------------------------------------------------------------------------- */

static rgt__tune_report as_report(const work *w, rgt_status status) {
  return (rgt__tune_report){.op = w->session.text,
                            .device_class = w->facts.device_class,
                            .toolchain = w->facts.toolchain,
                            .database = rgt_db_path(w->session.ctx),
                            .skew = w->one.skew < 0 ? NULL : rgt__cli_skew_word((rgt_skew)w->one.skew),
                            .at = w->begun,
                            .of = w->n,
                            .quiet = w->o->quiet,
                            .stored = status != RGT_EDB,
                            .results = w->results,
                            .n = rgt__tune_search_answered(status) ? w->searched.n : 0};
}

static void show_head(const work *w) {
  rgt__tune_report r = as_report(w, RGT_OK);
  if (!w->object) {
    rgt__tune_report_head(&r);
    fflush(stdout);
  } else if (!w->o->quiet) {
    rgt__message_note("ragtune: %d of %d: %s%s%s", r.at, r.of, r.op, r.skew ? ", skew " : "", r.skew ? r.skew : "");
  }
}

static void add_json(work *w, const rgt__tune_report *r, rgt_status status, const rgt__message *m) {
  json_t *one = json_object();
  rgt__json_text(one, "op", r->op);
  rgt__json_text(one, "skew", r->skew);
  rgt__json_text(one, "status", rgt_status_name(status));
  rgt__json_text(one, "reason", status == RGT_OK ? "" : m->text);
  rgt__tune_report_results(r, one);
  rgt__json_append(w->list, one);
}

/* What a failure means for the rest. Its line is printed unless it was just printed, as for the other skews of one op. */
static void take_failure(work *w, const rgt__message *m) {
  int again = w->failed && strcmp(m->text, w->last_failure.text) == 0, op = w->at / w->n_skews;
  if (!w->failed++) w->failure = *m;
  w->stopped = (again && op != w->failed_op) || rgt__message_exit(m->status) == RGT_EXIT_SURROUNDINGS;
  w->last_failure = *m;
  w->failed_op = op;
  if (!again) rgt__message_note("ragtune: %s: %s", w->session.text, m->text);
}

static rgt_status report(work *w, rgt_status status, const rgt__message *m, rgt__message *print_m) {
  rgt__tune_report r = as_report(w, status);
  rgt_status printed = RGT_OK;
  rgt__tune_report_count(&r, &w->counts);
  if (w->object)
    add_json(w, &r, status, m);
  else if (rgt__tune_search_answered(status))
    printed = rgt__tune_report_text(&r, print_m);
  fflush(stdout);
  w->interrupted |= status == RGT_EINTERRUPTED;
  w->unstored |= status == RGT_EDB;
  if (status != RGT_OK && status != RGT_EINTERRUPTED) take_failure(w, m);
  return printed;
}

static rgt_status search(work *w, rgt__message *print_m) {
  rgt__message m = {0};
  rgt_status status = rgt_config_op(w->config, w->at / w->n_skews, &w->session.desc);
  w->one.skew = w->skews[w->at % w->n_skews];
  w->searched.n = 0;
  for (int i = 0; i < w->rows.n; i++)
    if (w->mine[w->at] >> i & 1) w->searched.v[w->searched.n++] = w->rows.v[i];
  w->begun++;
  if (status == RGT_OK) status = rgt__session_op(&w->session, &w->one, &m);
  show_head(w);
  if (status == RGT_OK) status = rgt__tune_search_run(&w->session, &w->one, &w->searched, NULL, w->results, &m);
  status = report(w, status, &m, print_m);
  rgt_op_free(w->session.op);
  w->session.op = NULL;
  return status;
}

/* Each search has an equal share of the time that is left; what is stored takes none, and leaves its share to the others. */
static rgt_status search_all(work *w, rgt__message *print_m) {
  rgt_status status = RGT_OK;
  for (w->at = 0; status == RGT_OK && w->at < w->n_listed && !w->stopped; w->at++) {
    if (!w->mine[w->at]) continue;
    double left_s = w->started_s + w->budget_s - now_s(), share_s = left_s / (w->n - w->begun);
    if (rgt__interrupt_flag) w->interrupted = 1;
    w->out_of_budget = w->budget_s > 0 && left_s <= 0;
    if (w->interrupted || w->out_of_budget) break;
    if (w->budget_s > 0) w->one.budget = share_s > LEAST_SHARE_S ? share_s : LEAST_SHARE_S;
    status = search(w, print_m);
  }
  return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static rgt_status begin(work *w, rgt__message *m) {
  rgt__tune_report r = as_report(w, RGT_OK);
  if (!w->o->json) {
    rgt__tune_report_place(&r);
    if (w->shard.of)
      printf("shard      %d/%d: %lld of %lld signatures\n", w->shard.at, w->shard.of, (long long)w->n_signatures,
             (long long)w->n_all);
    return RGT_OK;
  }
  if (!(w->object = rgt__json_object("tune"))) return rgt__message_set(m, RGT_ENOMEM, "out of memory");
  rgt__json_text(w->object, "config", w->o->config);
  rgt__json_text(w->object, "device_class", w->facts.device_class);
  rgt__json_text(w->object, "toolchain", w->facts.toolchain);
  rgt__json_text(w->object, "shard", w->o->shard);
  rgt__json_int(w->object, "signatures", w->n_signatures);
  rgt__json_int(w->object, "signatures_listed", w->n_all);
  w->list = rgt__json_array(w->object, "ops");
  return RGT_OK;
}

static rgt_status summary_json(work *w, const rgt__tune_report *r, rgt__message *m) {
  json_t *o = w->object;
  rgt_status status;
  rgt__json_text(o, "database", r->database);
  rgt__json_bool(o, "stored", r->stored);
  rgt__json_bool(o, "interrupted", w->interrupted);
  rgt__json_bool(o, "out_of_budget", w->out_of_budget);
  rgt__json_real(o, "seconds", now_s() - w->started_s);
  rgt__json_int(o, "n", w->n);
  rgt__json_int(o, "failed", w->failed);
  rgt__json_int(o, "not_begun", w->n - w->begun);
  rgt__json_int(o, "buckets_tuned", w->counts.tuned);
  rgt__json_int(o, "buckets_hit", w->counts.hits);
  rgt__json_int(o, "buckets_infeasible", w->counts.infeasible);
  rgt__json_int(o, "buckets_skipped", w->counts.skipped);
  rgt__json_int(o, "buckets_interrupted", w->counts.interrupted);
  status = rgt__json_print(o, m);
  w->object = NULL;
  return status;
}

static rgt_status summary(work *w, rgt__message *m) {
  rgt__tune_report r = as_report(w, w->unstored ? RGT_EDB : RGT_OK);
  const rgt__tune_counts *c = &w->counts;
  char time[32];
  if (w->object) return summary_json(w, &r, m);
  if (w->o->quiet) return RGT_OK;
  printf("\n%d of %d searches (", w->begun, w->n);
  if (w->shard.of)
    printf("shard %d/%d, %lld signatures", w->shard.at, w->shard.of, (long long)w->n_signatures);
  else
    printf("%d ops, %d skew%s, %d row counts", w->n / w->n_skews, w->n_skews, w->n_skews == 1 ? "" : "s", w->rows.n);
  printf(") in %s: ", rgt__units_seconds(now_s() - w->started_s, time, sizeof time));
  printf("%lld buckets tuned, %lld stored before, %lld infeasible, %lld skipped", (long long)c->tuned, (long long)c->hits,
         (long long)c->infeasible, (long long)c->skipped);
  if (c->interrupted) printf(", %lld interrupted", (long long)c->interrupted);
  if (w->failed) printf("; %d searches failed", w->failed);
  putchar('\n');
  if (w->unstored || c->tuned + c->hits + c->interrupted > 0) rgt__tune_report_stored(&r);
  return RGT_OK;
}

static int stop_at_once(void *user, const rgt_db_row *row) {
  (void)user, (void)row;
  return 1;
}

/* A part without signatures makes its database all the same: whoever merges the parts' finds each of them. */
static rgt_status touch_database(work *w, rgt__message *m) {
  rgt_status status = w->n == 0 ? rgt_db_list(w->session.ctx, stop_at_once, NULL) : RGT_OK;
  return status == RGT_OK || status == RGT_EINTERRUPTED ? RGT_OK : rgt__message_from(m, status, w->session.ctx);
}

static int finish(work *w, rgt_status status, rgt__message *print_m) {
  const char *database = rgt_db_path(w->session.ctx);
  if (status == RGT_OK) status = summary(w, print_m);
  if (status != RGT_OK) return rgt__message_print(print_m);
  fflush(stdout);
  if (w->interrupted) {
    rgt__tune_search_note_interrupted(database);
    return rgt__message_exit(RGT_EINTERRUPTED);
  }
  if (w->out_of_budget)
    rgt__message_note(
        "ragtune: the budget of %g s ran out: %d of %d searches were not begun; the same command goes on from there",
        w->budget_s, w->n - w->begun, w->n);
  if (w->failed) return rgt__message_exit(w->failure.status);
  if (w->n == 0) return RGT_EXIT_DONE; /* a small list has no signature for some shards */
  return w->begun < w->n ? RGT_EXIT_NO : rgt__tune_report_answer(&w->counts);
}

static int tune(work *w) {
  rgt__message m;
  rgt_status status = prepare(w, &m);
  if (status != RGT_OK) return rgt__message_print(&m);
  rgt__interrupt_catch();
  w->started_s = now_s();
  status = begin(w, &m);
  if (status == RGT_OK) status = touch_database(w, &m);
  if (status == RGT_OK) status = search_all(w, &m);
  return finish(w, status, &m);
}

int rgt__cli_tune_config(const rgt__options *o) {
  rgt__message m;
  work *w = calloc(1, sizeof *w);
  int status;
  if (!w) {
    rgt__message_set(&m, RGT_ENOMEM, "out of memory");
    return rgt__message_print(&m);
  }
  w->o = o;
  w->one = *o;
  status = tune(w);
  json_decref(w->object);
  free(w->mine);
  rgt_config_free(w->config);
  rgt__session_close(&w->session);
  free(w);
  return status;
}
