/* tunedb.h -- remembers what was measured. Trials are append-only and the only truth; winners are derived from them.
 *
 * Knows texts and numbers, nothing of generators or devices. Keys are digests of length-prefixed canonical bytes, recomputed
 * here from the fields. Times are integer picoseconds, ratios parts per million.
 * Threads: one handle per thread; no handle crosses a fork. Processes may share a file.
 */
#ifndef RGT_TUNEDB_H
#define RGT_TUNEDB_H

#include "runtime/base/digest.h"
#include "runtime/base/error.h"

typedef struct rgt__tunedb rgt__tunedb;

enum { RGT_TUNEDB_READ_ONLY = 1, RGT_TUNEDB_MUST_EXIST = 2, RGT_TUNEDB_OWN_PLACE = 4, RGT_TUNEDB_SITE = 8 };

/* rgt__tunedb_open -- path NULL or ":memory:": in memory. Makes file (0600) and folder (0700), migrates an older schema in one
 * transaction after a backup. Local file systems use WAL, others (statfs) a rollback journal.
 * A damaged database is moved aside to "<path>.corrupt-<UTC time>" and a new one begun (trials that can still be read are
 * salvaged into it). A file with nothing of a database in it is somebody's own, named by mistake: it is refused and left as it
 * is, unless RGT_TUNEDB_OWN_PLACE says that the path is one where only we keep files. A newer schema, or one that cannot be
 * written, opens read-only: rgt__tunedb_notice says so. Damage that only a later call meets is treated the same way within that
 * call, and so is a file that was deleted or replaced. With RGT_TUNEDB_READ_ONLY nothing is moved or made. RGT_TUNEDB_SITE says
 * that the file is somebody else's: it is read only, no journal is made beside it, an older schema is read as it is, a newer
 * one and damage are refused. Another program's database is refused, never moved. RGT_EDB: path and reason. RGT_ENOMEM.
 * RGT_EINVAL: out is NULL. */
rgt_status rgt__tunedb_open(const char *path, unsigned flags, rgt__tunedb **out, rgt__error *err);
void rgt__tunedb_close(rgt__tunedb *db);
const char *rgt__tunedb_path(const rgt__tunedb *db);   /* ":memory:" if none */
const char *rgt__tunedb_notice(const rgt__tunedb *db); /* one line to show the user once, "" if all is well */
int rgt__tunedb_is_read_only(const rgt__tunedb *db);

/* ---- what is stored ---------------------------------------------------------------------------------------- */

/* All texts are borrowed by calls that take these structs. */
typedef struct rgt__tunedb_signature {
  const char *text; /* canonical signature, the key's content */
  const char *op_text;
  const char
      *op_class; /* the op text without its dims and groups, e.g. "mlp:f32:relu:b12:nk:i64": nearest looks within one class */
  int64_t n_in, n_hidden, n_out, groups;
  int64_t bucket;
  const char *skew, *form, *order; /* words */
  int align_bytes;
} rgt__tunedb_signature;

typedef struct rgt__tunedb_place { /* where and how it was timed: what makes ratios of a variant comparable over runs */
  const char *device_class;
  const char *policy; /* "warm:stream:threads=2" */
} rgt__tunedb_place;

typedef struct rgt__tunedb_variant {
  const char *family;
  int revision;
  const char *params; /* canonical, "" if none */
} rgt__tunedb_variant;

typedef struct rgt__tunedb_run { /* one search of one signature on one device by one process */
  rgt__digest id;                /* random; set by rgt__tunedb_run_new */
  const char *toolchain;         /* compiler version, build-id, options: no paths, no times */
  const char *driver;            /* "" on the CPU */
  const char *conditions;        /* load, frequency governor, ...: free text without host names */
  const char *version;           /* RGT_VERSION */
  int64_t started_utc_s;
} rgt__tunedb_run;

typedef struct rgt__tunedb_trial {
  const char *family;
  int revision;
  int rank;           /* of the family: simpler first */
  const char *params; /* canonical, "" if none */
  int is_default;     /* the op's default variant on that device */
  rgt__digest template_digest;
  rgt__digest code; /* code key; zero where nothing was compiled */
  rgt_outcome outcome;
  const char *reason; /* "" if ok */
  int final;          /* of the closing duel */
  /* of RGT_TRIAL_OK */
  int64_t time_ps, low_ps, high_ps; /* median and its interval */
  int64_t default_ps;               /* the default variant in the same run and round */
  int64_t ratio_ppm;                /* time / default, parts per million, of interleaved samples */
  int64_t ratio_low_ppm, ratio_high_ppm;
  int n_samples;
  double error_share;
  /* what it computes in, for admission */
  double p1, p2, u_h, alpha, beta;
  const char *numeric_class;
} rgt__tunedb_trial;

/* rgt__tunedb_run_new -- fills run->id from the system's random source, nothing else. RGT_EIO. */
rgt_status rgt__tunedb_run_new(rgt__tunedb_run *run, rgt__error *err);

/* rgt__tunedb_put -- one batch in one short immediate transaction (busy timeout with jitter): run, signature, place and trials,
 * and the derived winners of that signature and place. All or nothing. Repeating a trial changes nothing. One run id may be
 * used for several signatures. Times of trials that are not ok are stored as 0; reason and conditions lose control characters
 * and the folders of paths, and are cut at 1,023 bytes.
 * RGT_EINVAL (a NULL or too long text, a time or ratio that is none: which trial, which field, what would be right),
 * RGT_EDB (path, what failed, what to do: disk full, read-only, locked), RGT_ENOMEM. */
rgt_status rgt__tunedb_put(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__tunedb_signature *sig,
                           const rgt__tunedb_place *place, const rgt__tunedb_trial *trials, int n, rgt__error *err);

/* ---- what is found ----------------------------------------------------------------------------------------- */

typedef struct rgt__tunedb_limits { /* admission of the op handle; negative: no limit; what equals a limit is admitted */
  double max_p, max_u_h, max_alpha, max_beta;
  const char *numeric_class; /* only this class; NULL: any */
  /* admit -- non-zero where the caller knows this variant (its family and revision are there, its params in the space); NULL:
   * any */
  int (*admit)(void *user, const char *family, int revision, const char *params);
  void *admit_user;
  int admit_is_fixed; /* what admit says follows from its arguments alone while the handle is open: answers may be kept */
  int may_lose; /* where the default is not admitted and all that is is slower: the fastest of it, not RGT_EMISS */
} rgt__tunedb_limits;

typedef struct rgt__tunedb_standing { /* one variant's place among the trials; texts owned by the result */
  char family[64], params[192], numeric_class[64];
  int revision, rank, is_default;
  rgt__digest template_digest, code;
  char toolchain[256], driver[256];                 /* of its newest run */
  int64_t time_ps, low_ps, high_ps, default_ps;     /* of its newest run */
  int64_t ratio_ppm, ratio_low_ppm, ratio_high_ppm; /* median over runs; the interval of the newest */
  double error_share;
  double p1, p2, u_h, alpha, beta;
  int n_runs;
} rgt__tunedb_standing;

typedef struct rgt__tunedb_winner {
  char signature[256], device_class[256], policy[128];
  char skew[64];   /* of that signature */
  double distance; /* from rgt__tunedb_nearest: octaves */
  rgt__tunedb_standing winner, runner_up;
  int has_runner_up;
  int exact;    /* 0: from rgt__tunedb_nearest */
  int n_trials; /* of that signature and place, all outcomes */
  int complete; /* a final duel is among them: the search ended; else it was cut short */
} rgt__tunedb_winner;

/* Winner (winner.h has the rules in full) = smallest median ratio over runs (of an even number the lower one of the middle two;
 * a run's ratio: its ok trial with most samples); ties go to the default, then the smaller rank, then canonical text: within 2
 * % of the best, and for the default and smaller ranks also where one's interval holds the other's ratio, but never over 5 %. A
 * variant with a ratio above 1,000,000 ppm never wins unless it is the default; code that was wrong or crashed in any run never
 * wins. A pure function of the set of trials, whatever their order. The runner-up is the fastest of the others.
 *
 * rgt__tunedb_find -- exact signature. skew "unknown" in sig: the variant with the smallest worst ratio over the skews stored
 * (those with a usable time; the variant must stand in each), out->signature then names the one where it is worst.
 * RGT_OK, RGT_EMISS (nothing stored that limits admit), RGT_EINVAL, RGT_EDB. limits may be NULL. */
rgt_status rgt__tunedb_find(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                            const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__error *err);
/* rgt__tunedb_nearest -- same op class, bucket, form, order, an alignment not above sig's, same device class and policy;
 * smallest sum of |log2| differences over n_in, n_hidden, n_out and groups; of equal ones the same skew, then by signature
 * text; where skew is "unknown", one shape's skews are looked at together as in find. Never over rows. Shapes without a winner
 * that limits admit are passed over. */
rgt_status rgt__tunedb_nearest(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                               const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__error *err);
/* rgt__tunedb_buckets -- buckets with trials for this signature whatever its own bucket, ascending; at most max. Returns how
 * many in *n. */
rgt_status rgt__tunedb_buckets(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                               int64_t *buckets, int max, int *n, rgt__error *err);

/* rgt__tunedb_policies -- the policies under which this signature, whatever its bucket, has a winner on the place's device
 * class; at most max, by text. Returns how many in *n. */
typedef char rgt__tunedb_policy[128];
rgt_status rgt__tunedb_policies(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                                rgt__tunedb_policy *policies, int max, int *n, rgt__error *err);

/* rgt__tunedb_trials -- every trial of one signature and place, oldest run first; for resuming. fn returning non-zero stops
 * (that is RGT_OK too); it may use the database. Texts are borrowed for the callback. */
typedef int (*rgt__tunedb_trial_fn)(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *trial);
rgt_status rgt__tunedb_trials(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                              rgt__tunedb_trial_fn fn, void *user, rgt__error *err);

/* rgt__tunedb_miss -- counts a lookup that found nothing (best effort: RGT_OK also where the database is read-only, locked or
 * full). */
rgt_status rgt__tunedb_miss(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place, rgt__error *err);

/* rgt__tunedb_misses -- what was looked for in vain and has no winner yet, the most wanted first; fn as above. */
typedef struct rgt__tunedb_missed {
  char signature[256], device_class[256], policy[128];
  int64_t n, last_utc_s;
} rgt__tunedb_missed;
typedef int (*rgt__tunedb_missed_fn)(void *user, const rgt__tunedb_missed *missed);
rgt_status rgt__tunedb_misses(rgt__tunedb *db, rgt__tunedb_missed_fn fn, void *user, rgt__error *err);

/* rgt__tunedb_shard -- to which of n shards (1 to RGT_SHARDS_MAX) a signature belongs, from 0: the same on every machine. With
 * one shard more nothing moves but to that one. Opens nothing. RGT_OK, RGT_EINVAL. Threads: any. */
rgt_status rgt__tunedb_shard(const rgt__tunedb_signature *sig, int n, int *shard, rgt__error *err);

/* ---- who tunes what just now --------------------------------------------------------------------------------- */

typedef struct rgt__tunedb_claimed { /* who has it */
  int64_t pid, left_s;               /* of his lease */
  int elsewhere;                     /* another machine, or another container: his process cannot be looked at */
} rgt__tunedb_claimed;

/* rgt__tunedb_claim -- a lease of lease_s seconds (up to RGT_TUNEDB_LEASE_MAX_S) on tuning n signatures at one place: all of
 * them or none. `holder` is a random id, as a run has one; claiming again renews. A lease that ran out, or whose process of
 * this machine ended, is taken over. In memory and where nothing can be written nobody else is met: RGT_OK. RGT_OK: they are
 * the holder's; RGT_EMISS: *other has one of them; RGT_EINVAL, RGT_EDB, RGT_ENOMEM. rgt__tunedb_unclaim -- gives back all that
 * the holder has; best effort. */
enum { RGT_TUNEDB_LEASE_MAX_S = 600 };
rgt_status rgt__tunedb_claim(rgt__tunedb *db, const rgt__tunedb_signature *const *sigs, int n, const rgt__tunedb_place *place,
                             const rgt__digest *holder, int lease_s, rgt__tunedb_claimed *other, rgt__error *err);
void rgt__tunedb_unclaim(rgt__tunedb *db, const rgt__digest *holder);

/* rgt__tunedb_list -- every signature and place with a winner, by text; fn as above. */
typedef int (*rgt__tunedb_winner_fn)(void *user, const rgt__tunedb_winner *winner);
rgt_status rgt__tunedb_list(rgt__tunedb *db, rgt__tunedb_winner_fn fn, void *user, rgt__error *err);

/* ---- from file to file: export, import, merge --------------------------------------------------------------- */

typedef struct rgt__tunedb_merged {
  int64_t n_runs_new, n_runs_known;     /* of runs with trials that could be taken */
  int64_t n_trials_new, n_trials_known; /* known: stored before */
  int64_t n_runs_dropped, n_trials_dropped;
  /* why trials were dropped, theirs or of what they refer to: the fields give another key; a field is none that may be stored;
   * a row that is referred to is not there */
  int64_t n_wrong_key, n_out_of_range, n_orphans;
  int64_t n_scenes; /* signatures and places whose winners were derived anew */
} rgt__tunedb_merged;

/* rgt__tunedb_merge -- takes every trial of other tuned databases in: a union, winners derived anew, so that any order,
 * repetition and grouping end alike. All or nothing, in one transaction. The files are foreign: opened for reading alone,
 * checked whole, refused where their schema is not one of ours; rows whose key is not that of their fields are dropped and
 * counted. Runs that got trials are noted with the path they came by. RGT_EDB (which file, what is wrong with it; nothing was
 * changed), RGT_EINVAL (no path; the database itself), RGT_ENOMEM. */
rgt_status rgt__tunedb_merge(rgt__tunedb *db, const char *const *paths, int n, rgt__tunedb_merged *out, rgt__error *err);

typedef struct rgt__tunedb_exported {
  rgt__tunedb_merged copied; /* what is in the file: n_runs_new, n_trials_new; what was dropped as on import */
  rgt__digest digest;        /* of the set of trials, whatever the file's form: equal sets, equal digests */
  int64_t n_bytes;
} rgt__tunedb_exported;

/* rgt__tunedb_export -- every trial, and what follows from them, into a file of its own, made under another name, synced and
 * then renamed: a database that a read-only folder can serve (no WAL). Not in it: misses, pins, bans, origins, checks, claims,
 * history, paths. Equal sets of trials give equal bytes, with one version of SQLite (which writes its number into the file).
 * path is made with the caller's umask; a tuned database or an empty file that lies there is replaced, anything else refused.
 * RGT_EDB, RGT_EIO (path: why it cannot be written), RGT_EINVAL (no path; the database itself), RGT_ENOMEM. */
rgt_status rgt__tunedb_export(rgt__tunedb *db, const char *path, rgt__tunedb_exported *out, rgt__error *err);

/* rgt__tunedb_leftover -- what a file beside the database at db_path is, by its name. Threads: any. */
typedef enum rgt__tunedb_leftover {
  RGT_LEFTOVER_NONE,   /* none of ours, or in use */
  RGT_LEFTOVER_TEMP,   /* was being written */
  RGT_LEFTOVER_ASIDE,  /* a damaged database that was moved aside */
  RGT_LEFTOVER_JOURNAL /* the journal of such a one */
} rgt__tunedb_leftover;
rgt__tunedb_leftover rgt__tunedb_leftover_of(const char *db_path, const char *name);

rgt_status rgt__tunedb_check(rgt__tunedb *db,
                             rgt__error *err); /* quick_check, foreign keys, every key recomputed, winners as derived */
rgt_status rgt__tunedb_rebuild(rgt__tunedb *db, rgt__error *err); /* winners from trials */

#endif
