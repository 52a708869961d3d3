/* claim.c -- who tunes what just now: a lease in the database, renewed while its holder lives.
 *
 * A holder is dead when his process is not there any more, which can be seen on the same machine since the same boot, in the
 * same container; else when his lease ran out. A number that a new process took over looks alive until then. Wherever this
 * errs, two tuners do the same work: nothing is lost by it.
 */
#include "tunedb/accept.h"
#include "tunedb/handle.h"
#include "tunedb/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BOOT_TEXT = 128, CLAIM_BUSY_MS = 1000 }; /* a lease is worth no longer wait */

/* "<boot id> pid:[4026531836]": where a process number means the same. "" where the system does not say. */
static void read_boot(char text[BOOT_TEXT]) {
  char boot[64] = "", space[48] = "";
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, boot, sizeof boot - 1);
  if (fd >= 0) close(fd);
  ssize_t m = readlink("/proc/self/ns/pid", space, sizeof space - 1);
  text[0] = 0;
  if (n <= 0 || m <= 0) return;
  boot[n] = 0;
  boot[strcspn(boot, "\n")] = 0;
  space[m] = 0;
  snprintf(text, BOOT_TEXT, "%s %s", boot, space);
}

/* Which holders of this process still work: a lease that could not be given back, for want of a disk, must not stop the next
 * call. With more of them than there is room for, leases end with their time. */
enum { HOLDERS_MAX = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rgt__digest holders[HOLDERS_MAX];
static int n_holders;

static int find_holder(const rgt__digest *holder) {
  for (int i = 0; i < n_holders; i++)
    if (rgt__digest_equal(&holders[i], holder)) return i;
  return -1;
}

static void set_works(const rgt__digest *holder, int works) {
  pthread_mutex_lock(&lock);
  int at = find_holder(holder);
  if (works && at < 0 && n_holders < HOLDERS_MAX)
    holders[n_holders++] = *holder;
  else if (!works && at >= 0)
    holders[at] = holders[--n_holders];
  pthread_mutex_unlock(&lock);
}

static int works(const rgt__digest *holder) {
  pthread_mutex_lock(&lock);
  int yes = find_holder(holder) >= 0 || n_holders == HOLDERS_MAX;
  pthread_mutex_unlock(&lock);
  return yes;
}

typedef struct claim {
  rgt__digest holder;
  int64_t pid, expires_utc_s;
  int same_boot;
} claim;

static int is_live(const claim *c, int64_t now) {
  if (c->expires_utc_s <= now || c->expires_utc_s > now + 2 * RGT_TUNEDB_LEASE_MAX_S) return 0;
  if (!c->same_boot || c->pid <= 0 || c->pid > INT32_MAX) return !c->same_boot;
  if ((pid_t)c->pid == getpid()) return works(&c->holder);
  return kill((pid_t)c->pid, 0) == 0 || errno != ESRCH;
}

/* RGT_OK: it may be taken; RGT_EMISS: it is another's. */
static rgt_status look(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, const rgt__digest *holder,
                       const char *boot, rgt__tunedb_claimed *other, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row = 0;
  claim c = {.same_boot = 0};
  rgt_status status = rgt__bind_scene(db, RGT_SQL_CLAIM, signature, place, &s, err);
  if (!status) status = rgt__statement_step(db, s, &has_row, err);
  if (status || !has_row) return status;
  rgt__reader r = {.s = s};
  rgt__read_digest(&r, &c.holder);
  c.pid = rgt__read_int(&r);
  c.same_boot = boot[0] && strcmp(rgt__read_text(&r), boot) == 0;
  r.column = 3;
  c.expires_utc_s = rgt__read_int(&r);
  status = rgt__read_end(db, &r, "claim", err);
  sqlite3_reset(s);
  int64_t now = (int64_t)time(NULL);
  if (status || rgt__digest_equal(&c.holder, holder) || !is_live(&c, now)) return status;
  *other = (rgt__tunedb_claimed){.pid = c.pid, .left_s = c.expires_utc_s - now, .elsewhere = !c.same_boot};
  return RGT_EMISS;
}

static rgt_status take(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, const rgt__digest *holder,
                       const char *boot, int lease_s, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt_status status = rgt__bind_scene(db, RGT_SQL_PUT_CLAIM, signature, place, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s, .column = 2};
  rgt__bind_digest(&b, holder);
  rgt__bind_int(&b, getpid());
  rgt__bind_text(&b, boot);
  rgt__bind_int(&b, (int64_t)time(NULL) + lease_s);
  status = rgt__bind_end(db, &b, err);
  return status ? status : rgt__statement_run(db, s, err);
}

static rgt_status look_at_all(rgt__tunedb *db, const rgt__tunedb_signature *const *sigs, int n, const rgt__digest *place,
                              const rgt__digest *holder, const char *boot, rgt__tunedb_claimed *other, rgt__error *err) {
  rgt_status status = RGT_OK;
  for (int i = 0; i < n && !status; i++) {
    rgt__digest signature;
    rgt__keys_signature(sigs[i], &signature);
    status = look(db, &signature, place, holder, boot, other, err);
  }
  return status;
}

/* Those who wait only read: the write lock is asked for when it seems free. */
static rgt_status claim_once(rgt__tunedb *db, const rgt__tunedb_signature *const *sigs, int n, const rgt__tunedb_place *place,
                             const rgt__digest *holder, int lease_s, rgt__tunedb_claimed *other, rgt__error *err) {
  rgt__digest place_key;
  char boot[BOOT_TEXT];
  read_boot(boot);
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &place_key);
  rgt_status status = look_at_all(db, sigs, n, &place_key, holder, boot, other, err);
  if (status) return status;
  status = rgt__statement_begin(db, RGT_SQL_BEGIN_IMMEDIATE, err);
  if (status) return status;
  status = look_at_all(db, sigs, n, &place_key, holder, boot, other, err);
  for (int i = 0; i < n && !status; i++) {
    rgt__digest signature;
    rgt__keys_signature(sigs[i], &signature);
    status = take(db, &signature, &place_key, holder, boot, lease_s, err);
  }
  return rgt__statement_end(db, status, err);
}

rgt_status rgt__tunedb_claim(rgt__tunedb *db, const rgt__tunedb_signature *const *sigs, int n, const rgt__tunedb_place *place,
                             const rgt__digest *holder, int lease_s, rgt__tunedb_claimed *other, rgt__error *err) {
  rgt_status status = rgt__open_usable(db, err);
  if (!status && (!holder || !other || lease_s < 1 || lease_s > RGT_TUNEDB_LEASE_MAX_S))
    status = rgt__error_set(err, RGT_EINVAL, "tuned database: a lease of %d s; it can be 1 to %d, and has a holder", lease_s,
                            RGT_TUNEDB_LEASE_MAX_S);
  if (!status) status = rgt__accept_place(place, err);
  for (int i = 0; i < n && !status; i++) status = rgt__accept_signature(sigs[i], err);
  if (status || db->in_memory || db->read_only) return status;
  db->busy_limit_ms = CLAIM_BUSY_MS;
  status = claim_once(db, sigs, n, place, holder, lease_s, other, err);
  for (int tries = 0; status && status != RGT_EMISS && rgt__open_again(db, tries, err); tries++)
    status = claim_once(db, sigs, n, place, holder, lease_s, other, err);
  db->busy_limit_ms = RGT_TUNEDB_BUSY_MS;
  if (!status) set_works(holder, 1);
  return status;
}

/* And what ran out: the table stays as small as what is tuned just now. */
void rgt__tunedb_unclaim(rgt__tunedb *db, const rgt__digest *holder) {
  sqlite3_stmt *s = NULL;
  set_works(holder, 0);
  if (rgt__open_usable(db, NULL) || db->in_memory || db->read_only || rgt__statement_get(db, RGT_SQL_DROP_CLAIMS, &s, NULL))
    return;
  rgt__binder b = {.s = s};
  rgt__bind_digest(&b, holder);
  rgt__bind_int(&b, (int64_t)time(NULL));
  db->busy_limit_ms = CLAIM_BUSY_MS;
  if (!rgt__bind_end(db, &b, NULL)) rgt__statement_run(db, s, NULL);
  db->busy_limit_ms = RGT_TUNEDB_BUSY_MS;
}
