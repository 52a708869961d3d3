/* checked.c -- what was compiled and verified here, under which conditions things were timed, and where else. */
#include "tunedb/accept.h"
#include "tunedb/find.h"
#include "tunedb/keys.h"
#include "tunedb/load.h"
#include "tunedb/tunedb_local.h"

#include <string.h>
#include <time.h>

static void place_key(const char *device_class, rgt__digest *key) {
  rgt__tunedb_place place = rgt__keys_any_policy(device_class);
  rgt__keys_place(&place, RGT_CLOCK_MEASURED, key);
}

static rgt_status put_once(rgt__tunedb *db, const rgt__tunedb_checked *c, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt__digest place;
  place_key(c->device_class, &place);
  rgt_status status = rgt__statement_get(db, RGT_SQL_PUT_CHECKED, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, &c->subject);
  rgt__bind_digest(&b, &place);
  rgt__bind_digest(&b, &c->variant);
  rgt__bind_digest(&b, &c->template_digest);
  rgt__bind_text(&b, c->toolchain);
  rgt__bind_text(&b, c->driver);
  rgt__bind_text(&b, rgt__keys_outcome(c->outcome));
  rgt__bind_int(&b, (int64_t)time(NULL));
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

rgt_status rgt__tunedb_check_put(rgt__tunedb *db, const rgt__tunedb_checked *c, rgt__error *err) {
  rgt_status status = rgt__open_writable(db, err);
  if (!status && (!c || !c->device_class || !c->toolchain || !c->driver || (unsigned)c->outcome >= RGT_N_OUTCOMES))
    status = rgt__error_set(err, RGT_EINVAL, "tuned database: nothing that was checked, a text of it is NULL, or no outcome");
  if (status) return status;
  status = put_once(db, c, err);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++) status = put_once(db, c, err);
  return status;
}

static rgt_status read_checked(rgt__tunedb *db, const rgt__digest *subject, const char *device_class, int *n_seen,
                               rgt__tunedb_checked_fn fn, void *user, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt__digest place;
  int has_row = 0, stopped = 0;
  place_key(device_class, &place);
  rgt_status status = rgt__bind_scene(db, RGT_SQL_CHECKED, subject, &place, &s, err);
  while (!status && !stopped) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    rgt__tunedb_checked c = {.subject = *subject, .device_class = device_class};
    rgt__read_digest(&r, &c.variant);
    rgt__read_digest(&r, &c.template_digest);
    c.toolchain = rgt__read_text(&r);
    c.driver = rgt__read_text(&r);
    if (!rgt__keys_outcome_parse(rgt__read_text(&r), &c.outcome)) r.bad = 1;
    status = rgt__read_end(db, &r, "checked", err);
    if (status) break;
    ++*n_seen;
    stopped = fn(user, &c) != 0;
  }
  sqlite3_reset(s);
  return status;
}

/* Nothing is told twice, here and below: once fn has seen a row, a failure is a failure. */
rgt_status rgt__tunedb_check_list(rgt__tunedb *db, const rgt__digest *subject, const char *device_class,
                                  rgt__tunedb_checked_fn fn, void *user, rgt__error *err) {
  int n_seen = 0;
  rgt_status status = rgt__open_usable(db, err);
  if (status) return status;
  status = read_checked(db, subject, device_class, &n_seen, fn, user, err);
  for (int tries = 0; status && !n_seen && rgt__open_again(db, tries, err); tries++)
    status = read_checked(db, subject, device_class, &n_seen, fn, user, err);
  return status;
}

static rgt_status read_conditions(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                                  const rgt__tunedb_variant *v, int *n_seen, rgt__tunedb_conditions_fn fn, void *user,
                                  rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt__digest signature, place_digest, variant;
  int has_row = 0, stopped = 0;
  rgt__keys_signature(sig, &signature);
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &place_digest);
  rgt__tunedb_variant_key(v, &variant);
  rgt_status status = rgt__bind_scene(db, RGT_SQL_CONDITIONS, &signature, &place_digest, &s, err);
  if (!status) {
    rgt__binder b = {.s = s, .column = 2};
    rgt__bind_digest(&b, &variant);
    status = rgt__bind_end(db, &b, err);
  }
  while (!status && !stopped) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    const char *toolchain = rgt__read_text(&r), *driver = rgt__read_text(&r);
    rgt__digest template_digest;
    rgt__read_digest(&r, &template_digest);
    status = rgt__read_end(db, &r, "trial", err);
    if (status) break;
    ++*n_seen;
    stopped = fn(user, toolchain, driver, &template_digest) != 0;
  }
  sqlite3_reset(s);
  return status;
}

rgt_status rgt__tunedb_conditions(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                                  const rgt__tunedb_variant *v, rgt__tunedb_conditions_fn fn, void *user, rgt__error *err) {
  int n_seen = 0;
  rgt_status status = rgt__find_accept(db, sig, place, err);
  if (status) return status;
  status = read_conditions(db, sig, place, v, &n_seen, fn, user, err);
  for (int tries = 0; status && !n_seen && rgt__open_again(db, tries, err); tries++)
    status = read_conditions(db, sig, place, v, &n_seen, fn, user, err);
  return status;
}

static rgt_status read_devices(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place, int *n_seen,
                               rgt__tunedb_place_fn fn, void *user, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row = 0, stopped = 0;
  rgt_status status = rgt__statement_get(db, RGT_SQL_DEVICES, &s, err);
  if (status) return status;
  status = rgt__bind_shape(db, s, sig, place, err);
  while (!status && !stopped) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    rgt__tunedb_place other;
    other.device_class = rgt__read_text(&r);
    other.policy = rgt__read_text(&r);
    status = rgt__read_end(db, &r, "place", err);
    if (status) break;
    ++*n_seen;
    stopped = fn(user, &other) != 0;
  }
  sqlite3_reset(s);
  return status;
}

rgt_status rgt__tunedb_devices(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                               rgt__tunedb_place_fn fn, void *user, rgt__error *err) {
  int n_seen = 0;
  rgt_status status = rgt__find_accept(db, sig, place, err);
  if (status) return status;
  status = read_devices(db, sig, place, &n_seen, fn, user, err);
  for (int tries = 0; status && !n_seen && rgt__open_again(db, tries, err); tries++)
    status = read_devices(db, sig, place, &n_seen, fn, user, err);
  return status;
}
