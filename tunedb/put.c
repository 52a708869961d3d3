/* put.c -- adds one batch of trials, all or nothing. */
#include "tunedb/put.h"

#include "tunedb/accept.h"
#include "tunedb/derive.h"
#include "tunedb/keys.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define MISS_BUSY_MS 50 /* a count is not worth a longer wait of the caller */

static rgt_status put_signature(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__digest *key, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, RGT_SQL_PUT_SIGNATURE, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, key);
  rgt__bind_text(&b, sig->text);
  rgt__bind_text(&b, sig->op_text);
  rgt__bind_text(&b, sig->op_class);
  rgt__bind_int(&b, sig->n_in);
  rgt__bind_int(&b, sig->n_hidden);
  rgt__bind_int(&b, sig->n_out);
  rgt__bind_int(&b, sig->groups);
  rgt__bind_int(&b, sig->bucket);
  rgt__bind_text(&b, sig->skew);
  rgt__bind_text(&b, sig->form);
  rgt__bind_text(&b, sig->order);
  rgt__bind_int(&b, sig->align_bytes);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

rgt_status rgt__put_place(rgt__tunedb *db, const rgt__tunedb_place *place, const char *clock, const rgt__digest *key,
                          rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, RGT_SQL_PUT_PLACE, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, key);
  rgt__bind_text(&b, place->device_class);
  rgt__bind_text(&b, place->policy);
  rgt__bind_text(&b, clock);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

rgt_status rgt__put_scene(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__digest *signature,
                          const rgt__tunedb_place *place, const char *clock, const rgt__digest *place_key, rgt__error *err) {
  rgt_status status = put_signature(db, sig, signature, err);
  return status ? status : rgt__put_place(db, place, clock, place_key, err);
}

rgt_status rgt__put_run(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__digest *key, const rgt__digest *signature,
                        const rgt__digest *place, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, RGT_SQL_PUT_RUN, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, key);
  rgt__bind_digest(&b, signature);
  rgt__bind_digest(&b, place);
  rgt__bind_digest(&b, &run->id);
  rgt__bind_text(&b, run->toolchain);
  rgt__bind_text(&b, run->driver);
  rgt__bind_text(&b, run->conditions);
  rgt__bind_text(&b, run->version);
  rgt__bind_int(&b, run->started_utc_s);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

rgt_status rgt__put_variant(rgt__tunedb *db, const rgt__tunedb_variant *v, rgt__digest *key, rgt__error *err) {
  rgt__keys_variant(v->family, v->revision, v->params, key);
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, RGT_SQL_PUT_VARIANT, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, key);
  rgt__bind_text(&b, v->family);
  rgt__bind_int(&b, v->revision);
  rgt__bind_text(&b, v->params);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

rgt_status rgt__put_trial(rgt__tunedb *db, const rgt__tunedb_trial *t, const rgt__digest *run, const rgt__digest *variant,
                          const rgt__digest *key, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__statement_get(db, RGT_SQL_PUT_TRIAL, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, run);
  rgt__bind_digest(&b, key);
  rgt__bind_digest(&b, variant);
  rgt__bind_int(&b, t->rank);
  rgt__bind_int(&b, t->is_default);
  rgt__bind_digest(&b, &t->template_digest);
  rgt__bind_digest(&b, &t->code);
  rgt__bind_text(&b, rgt__keys_outcome(t->outcome));
  rgt__bind_text(&b, t->reason);
  rgt__bind_int(&b, t->final);
  const int64_t numbers[] = {t->time_ps,   t->low_ps,        t->high_ps,        t->default_ps,
                             t->ratio_ppm, t->ratio_low_ppm, t->ratio_high_ppm, t->n_samples};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) rgt__bind_int(&b, numbers[i]);
  const double reals[] = {t->error_share, t->p1, t->p2, t->u_h, t->alpha, t->beta};
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) rgt__bind_double(&b, reals[i]);
  rgt__bind_text(&b, t->numeric_class);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

/* Adds 1 to *n_new if the trial was not there. t is canonical (accept.h). */
static rgt_status put_one(rgt__tunedb *db, const rgt__tunedb_trial *t, const rgt__digest *run, int *n_new, rgt__error *err) {
  rgt__digest variant, key;
  rgt_status status = rgt__put_variant(db, &(rgt__tunedb_variant){t->family, t->revision, t->params}, &variant, err);
  rgt__keys_trial(t, run, &variant, &key);
  if (!status) status = rgt__put_trial(db, t, run, &variant, &key, err);
  if (!status) *n_new += sqlite3_changes(db->sql);
  return status;
}

/* What is wrong with a batch is found before the write lock is taken. */
static rgt_status accept_all(const rgt__tunedb_signature *sig, const rgt__tunedb_place *place, const rgt__tunedb_trial *trials,
                             int n, rgt__error *err) {
  rgt_status status = rgt__accept_signature(sig, err);
  if (!status) status = rgt__accept_place(place, err);
  if (!status && (n < 0 || (n > 0 && !trials)))
    status =
        rgt__error_set(err, RGT_EINVAL, "tuned database: %d trials at %s; give an array", n, trials ? "an address" : "NULL");
  rgt__accepted_trial accepted;
  for (int i = 0; i < n && !status; i++) {
    status = rgt__accept_trial(&trials[i], &accepted, err);
    if (status) rgt__error_prefix(err, status, "trial %d of %d", i + 1, n);
  }
  return status;
}

static rgt_status put_once(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__tunedb_signature *sig,
                           const rgt__tunedb_place *place, const rgt__tunedb_trial *trials, int n, rgt__error *err) {
  rgt__digest signature, place_key, run_key;
  rgt__keys_signature(sig, &signature);
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &place_key);
  rgt__keys_run(run, &signature, &place_key, &run_key);

  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN_IMMEDIATE, err);
  if (status) return status;
  int n_new = 0;
  status = rgt__put_scene(db, sig, &signature, place, RGT_CLOCK_MEASURED, &place_key, err);
  if (!status) status = rgt__put_run(db, run, &run_key, &signature, &place_key, err);
  for (int i = 0; i < n && !status; i++) {
    rgt__accepted_trial accepted;
    status = rgt__accept_trial(&trials[i], &accepted, err);
    if (!status) status = put_one(db, &accepted.trial, &run_key, &n_new, err);
  }
  if (!status && n_new > 0) status = rgt__derive_store(db, &signature, &place_key, err);
  return rgt__statement_end(db, status, err);
}

rgt_status rgt__tunedb_put(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__tunedb_signature *sig,
                           const rgt__tunedb_place *place, const rgt__tunedb_trial *trials, int n, rgt__error *err) {
  rgt__accepted_run accepted;
  rgt_status status = rgt__open_writable(db, err);
  if (!status) status = accept_all(sig, place, trials, n, err);
  if (!status) status = rgt__accept_run(run, &accepted, err);
  if (status || n == 0) return status;
  status = put_once(db, &accepted.run, sig, place, trials, n, err);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++)
    status = put_once(db, &accepted.run, sig, place, trials, n, err);
  if (status) rgt__error_prefix(err, status, "storing %d trial%s", n, n == 1 ? "" : "s");
  return status;
}

static rgt_status miss_once(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place) {
  rgt__digest signature, place_key;
  rgt__keys_signature(sig, &signature);
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &place_key);
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN_IMMEDIATE, NULL);
  if (status) return status;
  sqlite3_stmt *s = NULL;
  status = rgt__put_scene(db, sig, &signature, place, RGT_CLOCK_MEASURED, &place_key, NULL);
  if (!status) status = rgt__bind_scene(db, RGT_SQL_PUT_MISS, &signature, &place_key, &s, NULL);
  if (!status) {
    rgt__binder b = {.s = s, .column = 2};
    rgt__bind_int(&b, (int64_t)time(NULL));
    status = rgt__bind_end(db, &b, NULL);
  }
  if (!status) status = rgt__statement_run(db, s, NULL);
  return rgt__statement_end(db, status, NULL);
}

/* A lookup must not fail, nor wait, because it could not be counted. */
rgt_status rgt__tunedb_miss(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                            rgt__error *err) {
  rgt_status status = rgt__open_usable(db, err);
  if (!status) status = rgt__accept_signature(sig, err);
  if (!status) status = rgt__accept_place(place, err);
  if (status || db->read_only) return status;
  db->busy_limit_ms = MISS_BUSY_MS;
  status = miss_once(db, sig, place);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++) status = miss_once(db, sig, place);
  db->busy_limit_ms = RGT_TUNEDB_BUSY_MS;
  return RGT_OK;
}

rgt_status rgt__tunedb_run_new(rgt__tunedb_run *run, rgt__error *err) {
  rgt__digest id;
  if (!run) return rgt__error_set(err, RGT_EINVAL, "tuned database: no run");
  size_t n = 0;
  while (n < sizeof id.bytes) {
    ssize_t got = getrandom(id.bytes + n, sizeof id.bytes - n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return rgt__error_set(err, RGT_EIO, "the system's random source: %s", strerror(errno));
    n += (size_t)got;
  }
  run->id = id;
  return RGT_OK;
}
