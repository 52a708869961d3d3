/* prepare_note.c -- what came of a variant that was compiled and verified for use, into the user's database: at once, by the
 * thread that made it, over a connection of its own, since calls may go on for days and end by a signal.
 *
 * A variant that a database named and that is wrong here is recorded as a trial with that outcome, in a run of this machine: by
 * the winner rule it never wins again, whoever said so first. Nothing is recorded where the database is in memory.
 */
#include <string.h>
#include <time.h>

#include "runtime/background.h"
#include "runtime/prepare.h"
#include "runtime/wishes.h"

void rgt__prepare_note_for(rgt__ready *r, const rgt__choice *choice) {
  const rgt_op *op = r->op;
  const rgt_ctx *ctx = op->ctx;
  int has_file = ctx->db && !rgt__tunedb_is_read_only(ctx->db) && strcmp(rgt__tunedb_path(ctx->db), ":memory:") != 0;
  int64_t bucket = 0;
  rgt_skew skew = op->options.skew == RGT_SKEW_UNKNOWN ? RGT_SKEW_UNIFORM : op->options.skew;
  if (choice && (choice->match == RGT_MATCH_EXACT || choice->match == RGT_MATCH_BUCKET || choice->match == RGT_MATCH_THREADS)) {
    bucket = choice->from == RGT_FROM_PIN || choice->from == RGT_FROM_BUNDLE ? 0 : choice->bucket;
    rgt__op_skew_parse(choice->found.skew, &skew);
  }
  rgt__background_lock();
  r->notes_verdict = has_file;
  if (bucket > 0) r->stored_for[skew] |= (uint32_t)bucket;
  rgt__background_unlock();
}

static rgt_outcome outcome_of(rgt_status status) {
  switch (status) {
  case RGT_OK:
    return RGT_TRIAL_OK;
  case RGT_EWRONG:
    return RGT_TRIAL_WRONG;
  case RGT_ECRASH:
    return RGT_TRIAL_CRASHED;
  case RGT_ETIMEOUT:
    return RGT_TRIAL_TIMED_OUT;
  case RGT_ECOMPILE:
    return RGT_TRIAL_COMPILE_ERROR;
  case RGT_EINFEASIBLE:
    return RGT_TRIAL_INFEASIBLE;
  default:
    return RGT_N_OUTCOMES; /* no verdict */
  }
}

static void put_checked(rgt__tunedb *db, const rgt__make_place *at, const rgt__ready *r, const rgt__tunedb_variant *v,
                        rgt_outcome outcome) {
  const rgt__device_info *info = &at->ctx->device->info;
  rgt__tunedb_checked c = {.device_class = info->class_text,
                           .template_digest = r->candidate->variant.family->template_digest,
                           .toolchain = at->toolchain,
                           .driver = info->driver,
                           .outcome = outcome};
  rgt__wishes_subject(r->op, &c.subject);
  rgt__tunedb_variant_key(v, &c.variant);
  rgt__tunedb_check_put(db, &c, NULL);
}

/* Without a code key: whatever compiler made it elsewhere, it is not to be trusted. */
static void put_trials(rgt__tunedb *db, const rgt__make_place *at, const rgt__ready *r, const uint32_t *buckets,
                       const char *params, rgt_outcome outcome, const char *reason) {
  rgt__tunedb_run run = {.toolchain = at->toolchain,
                         .driver = at->ctx->device->info.driver,
                         .conditions = "checked before its first use",
                         .version = RGT_VERSION,
                         .started_utc_s = (int64_t)time(NULL)};
  rgt__tunedb_trial t = rgt__context_trial_of(r->candidate, params);
  memset(&t.code, 0, sizeof t.code);
  t.outcome = outcome;
  t.reason = reason;
  if (rgt__tunedb_run_new(&run, NULL) != RGT_OK) return;
  for (int skew = RGT_SKEW_UNIFORM; skew <= RGT_SKEW_ONE; skew++)
    for (int b = 0; b < RGT_BUCKETS_MAX; b++) {
      rgt__op_key key;
      if (!(buckets[skew] >> b & 1)) continue;
      if (rgt__op_key_make(r->op, (int64_t)1 << b, (rgt_skew)skew, RGT_POLICY_WARM, &key, NULL) == RGT_OK)
        rgt__tunedb_put(db, &run, &key.signature, &key.place, &t, 1, NULL);
    }
}

void rgt__prepare_note(const rgt__make_place *at, rgt__ready *r, rgt_status status, const rgt__error *why) {
  uint32_t buckets[RGT_SKEW_ONE + 1];
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__tunedb *db = NULL;
  rgt_outcome outcome = outcome_of(status);
  rgt__background_lock();
  int notes = r->notes_verdict;
  memcpy(buckets, r->stored_for, sizeof buckets);
  rgt__background_unlock();
  if (!notes || outcome == RGT_N_OUTCOMES) return;
  /* known to be a database: it is not opened to look at it, which would drop the locks that this process has on it */
  unsigned flags = RGT_TUNEDB_MUST_EXIST | RGT_TUNEDB_OWN_PLACE;
  if (rgt__tunedb_open(at->ctx->db_path, flags, &db, NULL) != RGT_OK) return;
  rgt__variant_params_format(&r->candidate->variant, params);
  const rgt__family *f = r->candidate->variant.family;
  rgt__tunedb_variant v = {f->name, f->revision, params};
  put_checked(db, at, r, &v, outcome);
  if (outcome == RGT_TRIAL_WRONG || outcome == RGT_TRIAL_CRASHED) put_trials(db, at, r, buckets, params, outcome, why->text);
  rgt__tunedb_close(db);
}
