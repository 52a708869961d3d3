/* derive.c -- standings and winner of one signature and place, from its trials.
 *
 * The tables standing and winner only save time: a lookup reads a few standings, fastest first, instead of every trial. They
 * are replaced whole in the transaction that adds trials.
 */
#include "tunedb/derive.h"

#include "runtime/base/alloc.h"

static rgt_status choose(rgt__derived *d, rgt__error *err) {
  size_t bytes = (size_t)d->n_standings * sizeof(rgt__winner_candidate);
  rgt__winner_candidate *c = rgt__alloc(bytes);
  if (!c) return rgt__error_nomem(err, bytes);
  for (int i = 0; i < d->n_standings; i++) {
    const rgt__winner_standing *s = &d->standings[i];
    const rgt__tunedb_trial *t = &d->scene.trials[s->newest].trial;
    c[i] = (rgt__winner_candidate){.variant = s->variant,
                                   .revision = t->revision,
                                   .rank = t->rank,
                                   .is_default = t->is_default,
                                   .ratio_ppm = s->ratio_ppm,
                                   .ratio_low_ppm = s->ratio_low_ppm,
                                   .ratio_high_ppm = s->ratio_high_ppm};
    rgt__winner_text(c[i].text, t->family, t->params);
  }
  rgt__winner_choose(c, d->n_standings, &d->winner, &d->runner_up);
  rgt__free(c);
  return RGT_OK;
}

rgt_status rgt__derive_scene(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, rgt__derived *out,
                             rgt__error *err) {
  *out = (rgt__derived){.winner = -1, .runner_up = -1};
  rgt__winner_trial *trials = NULL;
  rgt_status status = rgt__load_scene_read(db, signature, place, &out->scene, err);
  if (status) return status;
  size_t n = (size_t)out->scene.n_trials;
  trials = rgt__alloc(n * sizeof *trials);
  out->standings = rgt__alloc(n * sizeof *out->standings);
  if (!trials || !out->standings) {
    status = rgt__error_nomem(err, n * (sizeof *trials + sizeof *out->standings));
    goto done;
  }
  for (size_t i = 0; i < n; i++) {
    const rgt__load_trial *t = &out->scene.trials[i];
    const rgt__tunedb_run *run = &out->scene.runs[t->run].run;
    trials[i] = (rgt__winner_trial){t->key, t->variant, run->id, run->started_utc_s, &t->trial};
    if (t->trial.final && t->trial.outcome == RGT_TRIAL_OK) out->complete = 1;
  }
  if (rgt__winner_standings(trials, (int)n, out->standings, &out->n_standings))
    status = rgt__error_nomem(err, n * sizeof *trials);
  else
    status = choose(out, err);
done:
  rgt__free(trials);
  if (status) rgt__derive_free(out);
  return status;
}

void rgt__derive_free(rgt__derived *d) {
  rgt__load_scene_free(&d->scene);
  rgt__free(d->standings);
  *d = (rgt__derived){.winner = -1, .runner_up = -1};
}

static rgt_status store_standing(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, const rgt__derived *d,
                                 const rgt__winner_standing *standing, rgt__error *err) {
  const rgt__load_trial *newest = &d->scene.trials[standing->newest];
  const rgt__tunedb_trial *t = &newest->trial;
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, RGT_SQL_PUT_STANDING, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, signature);
  rgt__bind_digest(&b, place);
  rgt__bind_int(&b, standing->ratio_ppm);
  rgt__bind_digest(&b, &standing->variant);
  rgt__bind_digest(&b, &d->scene.runs[newest->run].key);
  rgt__bind_digest(&b, &newest->key);
  rgt__bind_int(&b, standing->ratio_low_ppm);
  rgt__bind_int(&b, standing->ratio_high_ppm);
  rgt__bind_int(&b, standing->n_runs);
  rgt__bind_int(&b, t->is_default);
  rgt__bind_int(&b, t->rank);
  rgt__bind_double(&b, t->p1);
  rgt__bind_double(&b, t->p2);
  rgt__bind_double(&b, t->u_h);
  rgt__bind_double(&b, t->alpha);
  rgt__bind_double(&b, t->beta);
  rgt__bind_text(&b, t->numeric_class);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

static rgt_status store_winner(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, const rgt__derived *d,
                               rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, RGT_SQL_PUT_WINNER, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, signature);
  rgt__bind_digest(&b, place);
  rgt__bind_digest(&b, d->winner < 0 ? NULL : &d->standings[d->winner].variant);
  rgt__bind_digest(&b, d->runner_up < 0 ? NULL : &d->standings[d->runner_up].variant);
  rgt__bind_int(&b, d->scene.n_trials);
  rgt__bind_int(&b, d->complete);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

static rgt_status clear(rgt__tunedb *db, rgt__sql_name name, const rgt__digest *signature, const rgt__digest *place,
                        rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__bind_scene(db, name, signature, place, &s, err);
  return status ? status : rgt__statement_run(db, s, err);
}

rgt_status rgt__derive_store(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, rgt__error *err) {
  rgt__derived d;
  rgt_status status = rgt__derive_scene(db, signature, place, &d, err);
  if (status) return status;
  status = clear(db, RGT_SQL_CLEAR_STANDINGS, signature, place, err);
  if (!status) status = clear(db, RGT_SQL_CLEAR_WINNER, signature, place, err);
  for (int i = 0; i < d.n_standings && !status; i++) status = store_standing(db, signature, place, &d, &d.standings[i], err);
  if (!status && d.scene.n_trials > 0) status = store_winner(db, signature, place, &d, err);
  rgt__derive_free(&d);
  return status;
}
