/* db_report.c -- rgt_db_*: the tuned database through the front door. */
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"

typedef struct listing {
  rgt_db_fn fn;
  void *user;
  int stopped;
} listing;

static int list_one(void *user, const rgt__tunedb_winner *w) {
  listing *l = user;
  char winner[RGT_VARIANT_TEXT_MAX], second[RGT_VARIANT_TEXT_MAX] = "";
  const rgt__tunedb_standing *s = &w->winner, *r = &w->runner_up;
  rgt__context_variant_text(s, winner);
  if (w->has_runner_up) rgt__context_variant_text(r, second);
  rgt_db_row row = {.signature = w->signature,
                    .device_class = w->device_class,
                    .policy = w->policy,
                    .winner = winner,
                    .runner_up = second,
                    .time_ps = s->time_ps,
                    .ratio = (double)s->ratio_ppm / 1e6,
                    .n_runs = s->n_runs,
                    .n_trials = w->n_trials};
  return l->stopped = l->fn(l->user, &row);
}

rgt_status rgt_db_list(rgt_ctx *ctx, rgt_db_fn fn, void *user) {
  rgt__tunedb *db = NULL;
  listing l = {.fn = fn, .user = user};
  rgt_status status = fn ? rgt__context_db(ctx, &db) : rgt__error_null(&ctx->error, "fn");
  if (status == RGT_OK) status = rgt__tunedb_list(db, list_one, &l, &ctx->error);
  return status == RGT_OK && l.stopped ? rgt__error_set(&ctx->error, RGT_EINTERRUPTED, "stopped on request") : status;
}

typedef struct missing {
  rgt_db_miss_fn fn;
  void *user;
  int stopped;
} missing;

static int list_miss(void *user, const rgt__tunedb_missed *m) {
  missing *l = user;
  rgt_db_miss miss = {m->signature, m->device_class, m->policy, m->n, m->last_utc_s};
  return l->stopped = l->fn(l->user, &miss);
}

rgt_status rgt_db_misses(rgt_ctx *ctx, rgt_db_miss_fn fn, void *user) {
  rgt__tunedb *db = NULL;
  missing l = {.fn = fn, .user = user};
  rgt_status status = rgt__context_db(ctx, &db);
  if (status == RGT_OK) status = rgt__tunedb_misses(db, list_miss, &l, &ctx->error);
  return status == RGT_OK && l.stopped ? rgt__error_set(&ctx->error, RGT_EINTERRUPTED, "stopped on request") : status;
}

/* A file that is found damaged when it is opened is moved aside, and an empty one checked: that is no answer. One that can only
 * be read is as sound as any. */
rgt_status rgt_db_check(rgt_ctx *ctx) {
  rgt__tunedb *db = NULL;
  char before[1024] = "";
  if (ctx->db) snprintf(before, sizeof before, "%s", rgt__tunedb_notice(ctx->db));
  rgt_status status = rgt__context_db(ctx, &db);
  if (status == RGT_OK) status = rgt__tunedb_check(db, &ctx->error);
  if (status == RGT_OK && !rgt__tunedb_is_read_only(db) && rgt__tunedb_notice(db)[0] &&
      strcmp(before, rgt__tunedb_notice(db)) != 0)
    status = rgt__error_set(&ctx->error, RGT_EDB, "%s was not sound: %s", rgt__tunedb_path(db), rgt__tunedb_notice(db));
  return status;
}

rgt_status rgt_db_rebuild(rgt_ctx *ctx) {
  rgt__tunedb *db = NULL;
  rgt_status status = rgt__context_db(ctx, &db);
  return status == RGT_OK ? rgt__tunedb_rebuild(db, &ctx->error) : status;
}
