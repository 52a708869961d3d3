/* db_report.c -- rgt_db_*: the tuned database through the front door. */
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
  rgt_status status = rgt__context_db(ctx, &db);
  if (status == RGT_OK) status = rgt__tunedb_list(db, list_one, &l, &ctx->error);
  return status == RGT_OK && l.stopped ? rgt__error_set(&ctx->error, RGT_EINTERRUPTED, "stopped on request") : status;
}

rgt_status rgt_db_check(rgt_ctx *ctx) {
  rgt__tunedb *db = NULL;
  rgt_status status = rgt__context_db(ctx, &db);
  return status == RGT_OK ? rgt__tunedb_check(db, &ctx->error) : status;
}

rgt_status rgt_db_rebuild(rgt_ctx *ctx) {
  rgt__tunedb *db = NULL;
  rgt_status status = rgt__context_db(ctx, &db);
  return status == RGT_OK ? rgt__tunedb_rebuild(db, &ctx->error) : status;
}
