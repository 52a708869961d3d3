/* context.h -- what stands behind the handles of ragtune.h. Private to the front door and what it joins. */
#ifndef RGT_RUNTIME_CONTEXT_H
#define RGT_RUNTIME_CONTEXT_H

#include "generator/render.h"
#include "runtime/base/environment.h"
#include "runtime/code_cache.h"
#include "runtime/device.h"
#include "tunedb/tunedb.h"

typedef struct rgt__bundle rgt__bundle;

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
  rgt__tunedb *db; /* opened at its first use: rgt__context_db */
  char db_path[768];
  int db_is_default;     /* db_path was not named by the caller or the environment: only we keep files there */
  rgt__sources *sources; /* likewise: rgt__context_families */
  rgt__families *families;
  char bundle_folder[768];       /* "" for none */
  rgt__bundle *bundle;           /* likewise: bundle.h */
  char toolchain[256];           /* "" until asked for: it starts a process */
  double peak_flops, peak_bytes; /* a second, measured at the first tuning; 0 before */
  rgt_op *ops;                   /* every op still open */
};

/* One loaded variant, ready to be called for some buckets. */
typedef struct rgt__ready {
  rgt__module *module;
  rgt__program program;
  rgt__plan plan; /* of the last call: kept while rows and groups stay */
  char variant[RGT_VARIANT_TEXT_MAX];
} rgt__ready;

enum { RGT_BUCKETS_MAX = 32 }; /* powers of two up to 2^31 */

struct rgt_op {
  rgt_ctx *ctx;
  rgt_op *next;
  rgt_op_desc desc;
  rgt_op_options options;
  int uses_pointers;
  int64_t packed_w1_ld, packed_w1_stride, packed_w2_ld, packed_w2_stride; /* what 0 stands for in rgt_layer */
  /* after prepare */
  int prepared;
  int64_t max_rows;
  int n_ready;
  rgt__ready *ready;                      /* owned */
  rgt__ready *by_bucket[RGT_BUCKETS_MAX]; /* NULL: the built-in kernel */
  void *workspace;                        /* device memory */
  int64_t workspace_bytes;
  float *hidden;           /* built-in kernel's scratch, one row */
  rgt_int64 *index_errors; /* device memory: count, first row */
  int counts_are_read; /* device memory is the host's, and a call is done when it returns: each call reports its own errors */
};

struct rgt_weights {
  rgt_op *op;
  int64_t groups;
  rgt_layer layer1, layer2; /* pointer lists are the handle's own copies */
};

/* rgt__context_families -- the specs, read at the first call. RGT_ETEMPLATE, RGT_EIO, RGT_ENOMEM. */
rgt_status rgt__context_families(rgt_ctx *ctx, rgt__families **out);
/* rgt__context_db -- the tuned database; in memory with a warning where the file cannot be used. RGT_ENOMEM. */
rgt_status rgt__context_db(rgt_ctx *ctx, rgt__tunedb **out);
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
rgt_status rgt__op_key_make(const rgt_op *op, int64_t bucket, rgt_skew skew, rgt_policy policy, rgt__op_key *out,
                            rgt__error *err);
/* the variant text of a stored standing: "family:params" */
void rgt__context_variant_text(const rgt__tunedb_standing *s, char text[RGT_VARIANT_TEXT_MAX]);
/* admission of the handle as the database wants it */
void rgt__op_limits(const rgt_op *op, rgt__tunedb_limits *out);

#endif
