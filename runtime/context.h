/* context.h -- what stands behind the handles of ragtune.h. Private to the front door and what it joins. */
#ifndef RGT_RUNTIME_CONTEXT_H
#define RGT_RUNTIME_CONTEXT_H

#include <stdatomic.h>

#include "runtime/base/environment.h"
#include "runtime/candidate.h"
#include "tunedb/tunedb.h"

typedef struct rgt__bundle rgt__bundle;
typedef struct rgt__layer rgt__layer;

typedef enum rgt__mode { RGT_MODE_CACHE, RGT_MODE_TUNE, RGT_MODE_REPLAY, RGT_MODE_OFF } rgt__mode;

struct rgt_ctx {
  rgt__error error;
  rgt__environment env;
  rgt_log_fn log;
  void *log_user;
  rgt__mode mode;
  char template_dir[512]; /* "" for the built-in families */
  rgt__device *device;
  rgt__code_cache *cache;
  char cache_folder[768];
  int64_t quota_bytes; /* of the code cache; -1: none */
  int64_t cache_added; /* bytes, since the quota was looked at */
  double wait_s;       /* for another process that makes or tunes the same; below 0: nobody said */
  rgt__tunedb *db;     /* opened at its first use: rgt__context_db */
  char db_path[768];
  int db_fell_back;   /* the file could not be used, and memory stands in */
  int db_is_default;  /* db_path was not named by the caller or the environment: only we keep files there */
  char *site_dbs;     /* owned: paths separated by ':' */
  rgt__layer *layers; /* the databases that are asked, ctx->db the first: layers.h */
  int n_layers;
  rgt__sources *sources; /* likewise: rgt__context_families */
  rgt__families *families;
  int n_faults_told;                  /* families left out that the log knows of */
  char bundle_folder[768];            /* "" for none */
  rgt__bundle *bundle;                /* likewise: bundle.h */
  char toolchain[256];                /* "" until asked for: it starts a process */
  double peak_flops, peak_bytes;      /* a second, measured at the first tuning; 0 before */
  rgt_op *ops;                        /* every op still open */
  struct rgt__background *background; /* what compiles while calls go on; made at its first use */
};

typedef enum rgt__ready_state {
  RGT_READY_RENDERED, /* its source is there, and nobody asked for more */
  RGT_READY_QUEUED,
  RGT_READY_MAKING,
  RGT_READY_LOADED,
  RGT_READY_REFUSED, /* wrong, crashed, does not compile, not here: never tried again for this handle */
  RGT_READY_FAILED   /* no verdict (no compiler, no memory, a fork): the next prepare tries again */
} rgt__ready_state;

/* One variant that an op may run: loaded, on its way, or refused. From queued to loaded it is the background's; state and what
 * depends on it are read under the background's lock then. */
typedef struct rgt__ready {
  rgt__module *module; /* of RGT_READY_LOADED */
  rgt__program program;
  rgt__plan plan; /* of the last call: kept while rows and groups stay */
  char variant[RGT_VARIANT_TEXT_MAX];
  rgt_op *op;
  struct rgt__ready *next;        /* of the op */
  struct rgt__ready *next_queued; /* of the background */
  rgt__ready_state state;
  rgt__candidate *candidate, *twin; /* what it is made from: NULL once it is loaded or refused; twin: its relu twin or NULL */
  rgt__digest local_key;            /* what the cache's map is asked with */
  rgt_status status;                /* why it was refused, or failed */
  rgt__error why;
  int told;                              /* in the log */
  int notes_verdict;                     /* what comes of it is remembered in the user's database: prepare_note.c */
  uint32_t stored_for[RGT_SKEW_ONE + 1]; /* for these buckets, as bits, a database named it: if it is wrong, it lost them */
} rgt__ready;

enum { RGT_BUCKETS_MAX = 32 }; /* powers of two up to 2^31 */

/* For one bucket, best first: the winner, its runner-up, the default; NULL: there is none, or it is not wanted. */
enum { RGT_PLACE_WINNER, RGT_PLACE_RUNNER_UP, RGT_PLACE_DEFAULT, RGT_N_PLACES };
typedef rgt__ready *rgt__preference[RGT_N_PLACES];

typedef enum rgt__prepared {
  RGT_PREPARED_NOT,
  RGT_PREPARED_PARTLY, /* something better than what answers is on its way */
  RGT_PREPARED
} rgt__prepared;

struct rgt_op {
  rgt_ctx *ctx;
  rgt_op *next;
  rgt_op_desc desc;
  rgt_op_options options;
  int uses_pointers, comes_by_offsets;
  int elem_shift, index_shift; /* bytes of an element and of an index, as powers of two */
  int64_t packed_w1_ld, packed_w1_stride, packed_w2_ld, packed_w2_stride; /* what 0 stands for in rgt_layer */
  struct rgt__wishes *wishes; /* pins and bans: wishes.h; NULL until they are asked for */
  /* after prepare */
  rgt__prepared prepared;
  int64_t max_rows;
  rgt__ready *by_bucket[RGT_BUCKETS_MAX]; /* what calls take; NULL: the built-in kernel */
  rgt__ready *ready;                      /* list, owned: every variant of `prefer`, and those refused before */
  rgt__preference prefer[RGT_BUCKETS_MAX];
  rgt__ready *
      standby; /* the default, where it is loaded and nothing is built in: for calls that a bucket's variant is not valid for */
  int n_buckets;     /* that prefer has; written under the background's lock, like prefer */
  int needs_interim; /* while a winner is made, the default is made first */
  int own_class;     /* batch-invariant, and some bucket's choice is of another numeric class than the default */
  int keeps_class;   /* so it is, and calls are answered by these: the default may not stand in */
  int is_named;      /* prepared with one variant by name: a failure is the caller's to see, not the log's */
  atomic_int n_made; /* counts what the background has finished for this op */
  int n_seen;        /* of these */
  void *workspace;   /* device memory */
  int64_t workspace_bytes;
  float *hidden;           /* built-in kernel's scratch, one row */
  rgt_int64 *index_errors; /* device memory: count, first row */
  int addresses_seen;  /* the first call's were asked for: arrays of the host's alone would end the device for the process */
  int counts_are_read; /* device memory is the host's, and a call is done when it returns: each call reports its own errors */
};

struct rgt_weights {
  rgt_op *op;
  int64_t groups;
  rgt_layer layer1, layer2; /* pointer lists are the handle's own copies */
};

/* rgt__context_families -- the specs, read at the first call. RGT_ETEMPLATE, RGT_EIO, RGT_ENOMEM. */
rgt_status rgt__context_families(rgt_ctx *ctx, rgt__families **out);
/* rgt__context_leave_out -- after `status` of rendering a variant of family: 1 where a template failed and others can go on
 * without it, which the log is told. rgt__context_tell_faults -- likewise for families that the generator left out. */
int rgt__context_leave_out(rgt_ctx *ctx, const rgt__family *family, rgt_status status);
void rgt__context_tell_faults(rgt_ctx *ctx);
/* rgt__context_db -- the tuned database; in memory with a warning where the file cannot be used. RGT_ENOMEM. */
rgt_status rgt__context_db(rgt_ctx *ctx, rgt__tunedb **out);
/* rgt__context_own_db -- the same for what makes no sense without the file: RGT_EDB, naming what was not done ("exported"),
 * where it could not be used. */
rgt_status rgt__context_own_db(rgt_ctx *ctx, const char *what, rgt__tunedb **out);
/* rgt__context_toolchain -- the compiler's identity. RGT_ENOCOMPILER, RGT_EIO. */
rgt_status rgt__context_toolchain(rgt_ctx *ctx, const char **out);
void rgt__context_log(rgt_ctx *ctx, rgt_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* rgt__context_device -- a device for `target`: the context's own for NULL, its kind or its target's name, else a compile-only
 * one, which the caller closes (*owned = 1). */
rgt_status rgt__context_device(rgt_ctx *ctx, const char *target, rgt__device **out, int *owned);

/* What the database is asked with: an op handle's signature for one bucket, and the place (device class and policy,
 * "warm:stream:threads=2"). signature and place point into the struct itself: do not copy it. */
typedef struct rgt__op_key {
  char text[RGT_SIGNATURE_TEXT_MAX], op_text[RGT_OP_TEXT_MAX], op_class[RGT_OP_TEXT_MAX], policy[128];
  rgt__tunedb_signature signature;
  rgt__tunedb_place place;
} rgt__op_key;
/* rgt__op_rows_check -- can an op have so many rows, 1 to RGT_COUNT_MAX? RGT_EINVAL, by the parameter's name. */
rgt_status rgt__op_rows_check(rgt_op *op, const char *name, int64_t rows);
rgt_status rgt__op_key_make(const rgt_op *op, int64_t bucket, rgt_skew skew, rgt_policy policy, rgt__op_key *out,
                            rgt__error *err);
/* "family:params" of what a database holds; a stored standing's */
void rgt__context_variant_join(const char *family, const char *params, char text[RGT_VARIANT_TEXT_MAX]);
void rgt__context_variant_text(const rgt__tunedb_standing *s, char text[RGT_VARIANT_TEXT_MAX]);
/* what is stored of a candidate that was not timed; params are those of its variant, its texts are borrowed */
rgt__tunedb_trial rgt__context_trial_of(const rgt__candidate *c, const char *params);
/* what of the handle reaches source */
rgt__render_facts rgt__op_facts(const rgt_op *op);
/* admission of the handle as the database wants it; bans and the like as rgt__wishes_load found them */
void rgt__op_limits(rgt_op *op, rgt__tunedb_limits *out);

#endif
