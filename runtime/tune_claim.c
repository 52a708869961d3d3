/* tune_claim.c -- of two tuners of one signature one works and one waits: leases in the database on what a call is to search.
 *
 * All buckets of a call are claimed at once or none, so that nobody waits with something in hands, and two calls with some
 * buckets in common do not measure beside each other. Where the database cannot hold leases, each works for itself: their
 * trials are united all the same.
 */
#include <time.h>

#include "runtime/base/alloc.h"
#include "runtime/tune_state.h"

enum { LEASE_S = 60, RENEW_S = 15, LOOK_MS = 50 };

static double wait_limit_s(const rgt__tuning *t) {
  double set = t->ctx->wait_s;
  return set >= 0 ? set : 1.5 * t->budget_s + 10;
}

static rgt_status list_keys(rgt__tuning *t, const int *hits) {
  t->n_claimed = 0;
  for (int i = 0; i < t->o.n_rows; i++) {
    if (hits[i] || t->results[i].status == RGT_ESIZE) continue;
    rgt_status status =
        rgt__op_key_make(t->op, t->results[i].bucket, t->skew, t->o.policy, &t->claimed[t->n_claimed], &t->ctx->error);
    if (status != RGT_OK) return status;
    t->n_claimed++;
  }
  return RGT_OK;
}

/* RGT_OK, RGT_EMISS: another has some of it; else no leases are to be had. */
static rgt_status claim_now(rgt__tuning *t, rgt__tunedb_claimed *other) {
  const rgt__tunedb_signature *signatures[RGT_BUCKETS_MAX];
  for (int i = 0; i < t->n_claimed; i++) signatures[i] = &t->claimed[i].signature;
  t->renewed_s = rgt__search_now();
  return rgt__tunedb_claim(t->db, signatures, t->n_claimed, &t->claimed[0].place, &t->holder, LEASE_S, other, NULL);
}

static void say_waiting(const rgt__tuning *t, const rgt__tunedb_claimed *other, double limit_s) {
  rgt__context_log(t->ctx, RGT_LOG_WARNING, "process %lld%s tunes the same just now; waiting for it, up to %.0f s",
                   (long long)other->pid, other->elsewhere ? " of another machine" : "", limit_s);
}

/* RGT_OK: it has the leases, or none and goes on alone. */
static rgt_status wait_for_turn(rgt__tuning *t) {
  rgt__tunedb_claimed other = {0};
  double limit_s = wait_limit_s(t), began_s = rgt__search_now();
  rgt_status status;
  for (int told = 0; (status = claim_now(t, &other)) == RGT_EMISS; told = 1) {
    if (rgt__search_now() >= began_s + limit_s) {
      rgt__context_log(t->ctx, RGT_LOG_WARNING, "process %lld still tunes the same after %.0f s; going on alone",
                       (long long)other.pid, limit_s);
      break;
    }
    if (!told) say_waiting(t, &other, limit_s);
    if (rgt__tune_stopped(t))
      return rgt__error_set(&t->ctx->error, RGT_EINTERRUPTED, "stopped while waiting for process %lld, which tunes the same",
                            (long long)other.pid);
    nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    t->started_s = rgt__search_now(); /* the budget counts from when the wait is over */
  }
  if (status != RGT_OK) t->n_claimed = 0;
  return RGT_OK;
}

rgt_status rgt__tune_claim(rgt__tuning *t, int *hits, int *n_hits) {
  rgt__tunedb_run random;
  rgt_status status = rgt__tunedb_run_new(&random, &t->ctx->error);
  if (status != RGT_OK) return status;
  t->holder = random.id;
  t->claimed = rgt__alloc_zero((size_t)t->o.n_rows, sizeof *t->claimed);
  if (!t->claimed) return rgt__error_nomem(&t->ctx->error, (size_t)t->o.n_rows * sizeof *t->claimed);
  status = list_keys(t, hits);
  if (status == RGT_OK && t->n_claimed > 0) status = wait_for_turn(t);
  if (status != RGT_OK) return status;
  status = rgt__tune_look_up_all(t, hits, n_hits); /* what others stored meanwhile */
  return status == RGT_EDB ? RGT_OK : status;      /* the search does without it, as with what it cannot store */
}

void rgt__tune_renew(rgt__tuning *t) {
  rgt__tunedb_claimed other;
  if (t->n_claimed > 0 && rgt__search_now() > t->renewed_s + RENEW_S) claim_now(t, &other);
}

void rgt__tune_unclaim(rgt__tuning *t) {
  if (t->claimed) rgt__tunedb_unclaim(t->db, &t->holder);
  rgt__free(t->claimed);
  t->claimed = NULL;
  t->n_claimed = 0;
}
