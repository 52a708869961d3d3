/* wish.c -- pins and bans: what a person wants, whatever was measured. */
#include "tunedb/accept.h"
#include "tunedb/keys.h"
#include "tunedb/load.h"
#include "tunedb/put.h"
#include "tunedb/tunedb_local.h"

#include <string.h>
#include <time.h>

void rgt__tunedb_variant_key(const rgt__tunedb_variant *v, rgt__digest *key) {
  rgt__keys_variant(v->family, v->revision, v->params, key);
}

/* The variant is checked as a trial's would be. */
static rgt_status accept_wish(const rgt__tunedb_wish *w, int has_signature, int has_variant, rgt__accepted_trial *trial,
                              rgt__error *err) {
  rgt__tunedb_place place = rgt__keys_any_policy(w->device_class);
  rgt_status status = has_signature ? rgt__accept_signature(&w->signature, err) : RGT_OK;
  if (!status) status = rgt__accept_place(&place, err);
  if (status || !has_variant) return status;
  return rgt__accept_trial(&(rgt__tunedb_trial){.family = w->variant.family,
                                                .revision = w->variant.revision,
                                                .params = w->variant.params,
                                                .outcome = RGT_TRIAL_INFEASIBLE,
                                                .reason = w->reason,
                                                .numeric_class = ""},
                           trial, err);
}

static rgt_status put_once(rgt__tunedb *db, const rgt__tunedb_wish *w, int is_pin, const char *reason, rgt__error *err) {
  rgt__tunedb_place place = rgt__keys_any_policy(w->device_class);
  rgt__digest signature, place_key, variant;
  sqlite3_stmt *s = NULL;
  rgt__keys_place(&place, RGT_CLOCK_MEASURED, &place_key);
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN_IMMEDIATE, err);
  if (status) return status;
  if (is_pin) rgt__keys_signature(&w->signature, &signature);
  status = is_pin ? rgt__put_scene(db, &w->signature, &signature, &place, RGT_CLOCK_MEASURED, &place_key, err)
                  : rgt__put_place(db, &place, RGT_CLOCK_MEASURED, &place_key, err);
  if (!status) status = rgt__put_variant(db, &w->variant, &variant, err);
  if (!status) status = rgt__statement_get(db, is_pin ? RGT_SQL_PUT_PIN : RGT_SQL_PUT_BAN, &s, err);
  if (!status) {
    rgt__binder b = {.s = s};
    rgt__bind_digest(&b, is_pin ? &signature : &variant);
    rgt__bind_digest(&b, &place_key);
    if (is_pin) rgt__bind_digest(&b, &variant);
    rgt__bind_text(&b, reason);
    rgt__bind_int(&b, w->made_utc_s > 0 ? w->made_utc_s : (int64_t)time(NULL));
    status = rgt__bind_end(db, &b, err);
  }
  if (!status) status = rgt__statement_run(db, s, err);
  return rgt__statement_end(db, status, err);
}

static rgt_status drop_once(rgt__tunedb *db, const rgt__tunedb_wish *w, int is_pin, rgt__error *err) {
  rgt__tunedb_place place = rgt__keys_any_policy(w->device_class);
  rgt__digest first, place_key;
  sqlite3_stmt *s = NULL;
  rgt__keys_place(&place, RGT_CLOCK_MEASURED, &place_key);
  if (is_pin)
    rgt__keys_signature(&w->signature, &first);
  else
    rgt__tunedb_variant_key(&w->variant, &first);
  rgt_status status = rgt__bind_scene(db, is_pin ? RGT_SQL_DROP_PIN : RGT_SQL_DROP_BAN, &first, &place_key, &s, err);
  if (!status) status = rgt__statement_run(db, s, err);
  if (!status && sqlite3_changes(db->sql) == 0)
    status = rgt__error_set(err, RGT_EMISS, "%s: there is no such %s", db->path, is_pin ? "pin" : "ban");
  return status;
}

static rgt_status put(rgt__tunedb *db, const rgt__tunedb_wish *w, int is_pin, rgt__error *err) {
  rgt__accepted_trial accepted;
  rgt_status status = rgt__open_writable(db, err);
  if (!status) status = accept_wish(w, is_pin, 1, &accepted, err);
  if (status) return status;
  status = put_once(db, w, is_pin, accepted.trial.reason, err);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++)
    status = put_once(db, w, is_pin, accepted.trial.reason, err);
  return status;
}

static rgt_status drop(rgt__tunedb *db, const rgt__tunedb_wish *w, int is_pin, rgt__error *err) {
  rgt__accepted_trial accepted;
  rgt_status status = rgt__open_writable(db, err);
  if (!status) status = accept_wish(w, is_pin, !is_pin, &accepted, err);
  if (status) return status;
  status = drop_once(db, w, is_pin, err);
  for (int tries = 0; status == RGT_EDB && rgt__open_again(db, tries, err); tries++) status = drop_once(db, w, is_pin, err);
  return status;
}

rgt_status rgt__tunedb_pin(rgt__tunedb *db, const rgt__tunedb_wish *pin, rgt__error *err) {
  return put(db, pin, 1, err);
}

rgt_status rgt__tunedb_unpin(rgt__tunedb *db, const rgt__tunedb_wish *pin, rgt__error *err) {
  return drop(db, pin, 1, err);
}

rgt_status rgt__tunedb_ban(rgt__tunedb *db, const rgt__tunedb_wish *ban, rgt__error *err) {
  return put(db, ban, 0, err);
}

rgt_status rgt__tunedb_unban(rgt__tunedb *db, const rgt__tunedb_wish *ban, rgt__error *err) {
  return drop(db, ban, 0, err);
}

/* ---- what is wished ---- */

static void read_wish(rgt__reader *r, int is_pin, rgt__tunedb_wish *w) {
  *w = (rgt__tunedb_wish){.reason = ""};
  if (is_pin) {
    w->signature.text = rgt__read_text(r);
    w->signature.bucket = rgt__read_int(r);
    w->signature.skew = rgt__read_text(r);
    w->signature.form = rgt__read_text(r);
    w->signature.order = rgt__read_text(r);
    w->signature.align_bytes = rgt__read_small(r);
  }
  w->device_class = rgt__read_text(r);
  w->variant.family = rgt__read_text(r);
  w->variant.revision = rgt__read_small(r);
  w->variant.params = rgt__read_text(r);
  w->reason = rgt__read_text(r);
  w->made_utc_s = rgt__read_int(r);
}

static rgt_status read_wishes(rgt__tunedb *db, int is_pin, const char *op_text, const char *device_class, int *n_seen,
                              rgt__tunedb_wish_fn fn, void *user, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row = 0, stopped = 0;
  rgt_status status = rgt__statement_get(db, is_pin ? RGT_SQL_PINS : RGT_SQL_BANS, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  if (is_pin) rgt__bind_text(&b, op_text); /* NULL binds NULL */
  rgt__bind_text(&b, device_class);
  status = rgt__bind_end(db, &b, err);
  while (!status && !stopped) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    rgt__tunedb_wish w;
    read_wish(&r, is_pin, &w);
    status = rgt__read_end(db, &r, is_pin ? "pin" : "ban", err);
    if (status) break;
    ++*n_seen;
    stopped = fn(user, &w) != 0;
  }
  sqlite3_reset(s);
  return status;
}

/* Nothing is told twice: once fn has seen a wish, a failure is a failure. */
static rgt_status list(rgt__tunedb *db, int is_pin, const char *op_text, const char *device_class, rgt__tunedb_wish_fn fn,
                       void *user, rgt__error *err) {
  int n_seen = 0;
  rgt_status status = rgt__open_usable(db, err);
  if (!status && !fn) status = rgt__error_set(err, RGT_EINVAL, "tuned database: no function to give pins or bans to");
  if (status) return status;
  status = read_wishes(db, is_pin, op_text, device_class, &n_seen, fn, user, err);
  for (int tries = 0; status && !n_seen && rgt__open_again(db, tries, err); tries++)
    status = read_wishes(db, is_pin, op_text, device_class, &n_seen, fn, user, err);
  return status;
}

rgt_status rgt__tunedb_pins(rgt__tunedb *db, const char *op_text, const char *device_class, rgt__tunedb_wish_fn fn, void *user,
                            rgt__error *err) {
  return list(db, 1, op_text, device_class, fn, user, err);
}

rgt_status rgt__tunedb_bans(rgt__tunedb *db, const char *device_class, rgt__tunedb_wish_fn fn, void *user, rgt__error *err) {
  return list(db, 0, NULL, device_class, fn, user, err);
}
