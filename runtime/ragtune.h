/* ragtune.h -- linear layers and two-layer MLPs over rows that belong to groups, each group with its own weights.
 *
 *     linear   y[r] = act( W1[g] . x[r] + b1[g] )                      g = index[r]
 *     mlp      y[r] = W2[g] . act( W1[g] . x[r] + b1[g] ) + b2[g]
 *
 * The only public header. Simple first, expert last. Five calls do the work:
 *
 *     rgt_open -> rgt_op_new -> rgt_op_prepare -> rgt_op_run ... -> rgt_op_free -> rgt_close
 *
 * Conventions
 *   Sizes      every leading dimension and stride is in elements; 0 means packed.
 *   Returns    a rgt_status; outputs are written only on RGT_OK, except where a declaration says otherwise.
 *   Errors     rgt_errmsg(ctx) holds one line about the last failed call on ctx: what, which value, what would be right.
 *   Memory     pointer parameters are borrowed for the call; nothing consumes its argument; *_free takes NULL.
 *   Threads    one context per thread; objects made from a context belong to that context's thread. Contexts are
 *              independent, and share compiled code and the worker threads of the process.
 *   Pointers   one that a call needs and that is NULL is RGT_EINVAL; handles (ctx, op, config) are not looked at. A context
 *              that failed to open takes rgt_errmsg and rgt_close; what needs its device is RGT_EINVAL.
 *   Structs    begin with struct_size: set it to sizeof; zero in every other field is a valid default.
 *   The library never exits and never prints.
 */
#ifndef RAGTUNE_H
#define RAGTUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGT_VERSION "0.1.0"

#if defined RGT_BUILD_SHARED && defined __GNUC__
#define RGT_API __attribute__((visibility("default")))
#else
#define RGT_API
#endif

/* ---- statuses ---------------------------------------------------------------------------------------------- */

#define RGT_STATUS_LIST(X)                                       \
  X(RGT_OK, "done")                                              \
  X(RGT_EINVAL, "an argument is not what the call accepts")      \
  X(RGT_EINDEX, "an index lies outside [-1, groups)")            \
  X(RGT_ESIZE, "more than was prepared for")                     \
  X(RGT_ENOTREADY, "the op was not prepared")                    \
  X(RGT_EMISS, "nothing stored for this signature")              \
  X(RGT_ENOMEM, "out of memory")                                 \
  X(RGT_EIO, "a file could not be read or written")              \
  X(RGT_EDB, "the database could not be used")                   \
  X(RGT_ETEMPLATE, "a template, spec, space or config is wrong") \
  X(RGT_ECOMPILE, "a generated source did not compile")          \
  X(RGT_ENOCOMPILER, "no compiler was found")                    \
  X(RGT_ENODEVICE, "the device was not found")                   \
  X(RGT_ENOWORKER, "the worker program was not found")           \
  X(RGT_EUNSUPPORTED, "not supported by this version")           \
  X(RGT_EWRONG, "a variant's result is wrong")                   \
  X(RGT_EINFEASIBLE, "no variant is feasible")                   \
  X(RGT_ETIMEOUT, "a time limit was reached")                    \
  X(RGT_ECRASH, "a candidate crashed")                           \
  X(RGT_EINTERRUPTED, "stopped on request")                      \
  X(RGT_EINTERNAL, "an internal check failed")

typedef enum rgt_status {
#define RGT_STATUS_ENUM(name, text) name,
  RGT_STATUS_LIST(RGT_STATUS_ENUM)
#undef RGT_STATUS_ENUM
      RGT_N_STATUSES
} rgt_status;

/* rgt_status_name -- "RGT_EINDEX"; rgt_status_text -- its one-line meaning.
 * Returns a static string, never NULL. Threads: any. */
RGT_API const char *rgt_status_name(rgt_status status);
RGT_API const char *rgt_status_text(rgt_status status);

/* ---- the op ------------------------------------------------------------------------------------------------ */

typedef enum rgt_op_kind { RGT_LINEAR, RGT_MLP } rgt_op_kind;
typedef enum rgt_dtype { RGT_F32, RGT_F16, RGT_BF16 } rgt_dtype; /* storage of x, w, b and y; sums are f32 */
typedef enum rgt_act { RGT_ACT_NONE, RGT_ACT_RELU, RGT_ACT_GELU, RGT_ACT_GELU_TANH, RGT_ACT_SILU, RGT_ACT_TANH } rgt_act;
typedef enum rgt_layout {
  RGT_NK, /* w: [groups, out_features, in_features], as torch.nn.Linear keeps it */
  RGT_KN  /* w: [groups, in_features, out_features] */
} rgt_layout;
typedef enum rgt_index_type { RGT_I32, RGT_I64 } rgt_index_type;

enum { RGT_BIAS_NONE = 0, RGT_BIAS_1 = 1, RGT_BIAS_2 = 2 }; /* bits of rgt_op_desc.bias */

/* rgt_op_desc -- what is computed, without the number of rows. n_hidden is 0 for RGT_LINEAR.
 * Text form (rgt_op_parse, rgt_op_format): "mlp:10-20-5:g3:f32:relu:b12:nk:i64", "linear:4-8:g4:bf16:none:b0:kn:i32". */
typedef struct rgt_op_desc {
  size_t struct_size;
  rgt_op_kind kind;
  int64_t n_in, n_hidden, n_out; /* 1 .. RGT_DIM_MAX */
  int64_t groups;                /* 1 .. 2^31-1: what it is tuned for; a call may use another number */
  rgt_dtype dtype;
  rgt_act act;
  int bias; /* RGT_BIAS_1 | RGT_BIAS_2 */
  rgt_layout layout;
  rgt_index_type index_type;
} rgt_op_desc;

#define RGT_DIM_MAX ((int64_t)1 << 24)
#define RGT_COUNT_MAX ((int64_t)2147483647) /* rows and groups */
#define RGT_OP_TEXT_MAX 128                 /* bytes of an op's text form, with the final NUL */

typedef enum rgt_skew { RGT_SKEW_UNKNOWN, RGT_SKEW_UNIFORM, RGT_SKEW_ZIPF, RGT_SKEW_ONE } rgt_skew;
typedef enum rgt_weight_form { RGT_STACKED, RGT_POINTERS } rgt_weight_form;

/* rgt_order -- how the rows of a call come, and what says which group each is of. A promise of the op's, for variants that do
 * less where it holds.
 *   RGT_ORDER_RAW      in any order, by index
 *   RGT_ORDER_SORTED   by index, groups rising; masked rows, and any with an index out of range, come last. Not checked:
 *                      where index is not so, what y holds is not said, but nothing outside the arrays is read or written
 *   RGT_ORDER_OFFSETS  by offsets, groups + 1 numbers of the op's index type: group g has rows offsets[g] to
 *                      offsets[g + 1] - 1, and rows from offsets[groups] on are masked. They begin with 0, never fall, and
 *                      end at rows or before. The CPU device checks that: RGT_EINVAL names the first that is wrong, and y
 *                      is untouched. CUDA does not: what y holds is not said then, but nothing outside the arrays is read
 *                      or written (any group may be taken, so no pointer to weights may be NULL); rows that are found to be
 *                      of no group are 0 and counted, as rgt_sync tells */
typedef enum rgt_order { RGT_ORDER_RAW, RGT_ORDER_SORTED, RGT_ORDER_OFFSETS } rgt_order;

/* rgt_y_mode -- what becomes of y.
 *   RGT_Y_SET  y[r] is the op's; masked rows and rows with an index out of range are 0
 *   RGT_Y_ADD  y[r] = round( y[r] + the op's f32 value ): one f32 addition, then the rounding to storage. Masked rows and rows
 *              with an index out of range stay as they are */
typedef enum rgt_y_mode { RGT_Y_SET, RGT_Y_ADD } rgt_y_mode;
typedef enum rgt_policy { RGT_POLICY_WARM, RGT_POLICY_COLD, RGT_POLICY_GRAPH } rgt_policy;

/* ---- context ----------------------------------------------------------------------------------------------- */

typedef struct rgt_ctx rgt_ctx;
typedef struct rgt_op rgt_op;

typedef enum rgt_log_level { RGT_LOG_DEBUG, RGT_LOG_INFO, RGT_LOG_WARNING } rgt_log_level;
typedef void (*rgt_log_fn)(void *user, rgt_log_level level, const char *line);

typedef struct rgt_options {
  size_t struct_size;
  const char *device;       /* "auto" (NULL), "cpu", "cuda", "cuda:N" */
  const char *database;     /* file of the tuned database; NULL: RAGTUNE_DB, else the user's data folder; ":memory:" */
  const char *cache_dir;    /* compiled code; NULL: RAGTUNE_CACHE, else the user's cache folder */
  const char *template_dir; /* families from this folder instead of the built-in ones; NULL: RAGTUNE_TEMPLATES, else built in */
  const char *mode;         /* "cache", "tune", "replay", "off"; NULL: RAGTUNE_MODE, else "cache" */
  int threads;              /* CPU threads a call may use; 0: RAGTUNE_THREADS, else all that the affinity allows */
  rgt_log_fn log;           /* NULL: silent */
  void *log_user;
  const char *bundle;   /* folder that rgt_compile_bundle wrote: prepare takes code from it; NULL: RAGTUNE_BUNDLE, else none */
  const char *site_dbs; /* files of tuned databases to read after the user's own, the first first, separated by ':'; never
                           written; NULL: RAGTUNE_SITE_DBS, else none */
} rgt_options;

/* rgt_open -- a context. options may be NULL.
 * "auto" takes CUDA where a driver with a device and NVRTC are found, else the CPU. On CUDA the context is the calling thread's
 * current one where it has one on that device (it must outlive ctx), else the device's primary context; every call leaves the
 * thread's current context as it found it. RAGTUNE_LIBCUDA and RAGTUNE_LIBNVRTC name the libraries. A CUDA device does not
 * survive a fork: open it in the process that uses it.
 * Returns RGT_OK; RGT_EINVAL (an option or environment variable is wrong), RGT_ENODEVICE, RGT_ENOMEM. An unusable
 * database is not an error: work goes on in memory and a warning is logged; one of site_dbs is left out, likewise.
 * *ctx is set also on failure (unless memory ran out, then NULL) so that rgt_errmsg can be read; close it all the same.
 * Threads: the context belongs to the calling thread from now on. */
RGT_API rgt_status rgt_open(const rgt_options *options, rgt_ctx **ctx);
/* rgt_close -- frees the context and every op still open on it; what is compiled in the background is given up. NULL is
 * allowed. */
RGT_API void rgt_close(rgt_ctx *ctx);
/* rgt_errmsg -- the text of the last failure on ctx, "" if none. Borrowed until the next call on ctx. */
RGT_API const char *rgt_errmsg(const rgt_ctx *ctx);

/* rgt_set_alloc -- the one allocation hook, for the whole process; call it before rgt_open. realloc_fn(user, p, 0) frees,
 * realloc_fn(user, NULL, n) allocates. NULL restores the C library's. */
typedef void *(*rgt_realloc_fn)(void *user, void *p, size_t bytes);
RGT_API void rgt_set_alloc(rgt_realloc_fn realloc_fn, void *user);

/* ---- device memory ----------------------------------------------------------------------------------------- */

/* rgt_mem_alloc, rgt_mem_free, rgt_mem_write, rgt_mem_read -- memory of the context's device: on the CPU plain memory, on CUDA
 * what cuMemAlloc gives. Arrays of a call may come from here or from anywhere else on the device (a CUDA context, a framework).
 * bytes   of the block, or of the copy; 0 is allowed
 * to, from   the one on the device may lie anywhere in a block
 * A write is complete when it returns. A read sees what was queued in the default stream and in streams that wait for it; wait
 * for any other one first (rgt_sync).
 * Returns RGT_OK; RGT_ENOMEM; RGT_EINVAL (CUDA does not take the address), RGT_ECRASH (a kernel went wrong before: no call on
 * this device can succeed in this process).
 * Memory: rgt_mem_free, before rgt_close; NULL is allowed. Threads: that of ctx. */
RGT_API rgt_status rgt_mem_alloc(rgt_ctx *ctx, size_t bytes, void **p);
RGT_API void rgt_mem_free(rgt_ctx *ctx, void *p);
RGT_API rgt_status rgt_mem_write(rgt_ctx *ctx, void *to, const void *from_host, size_t bytes);
RGT_API rgt_status rgt_mem_read(rgt_ctx *ctx, void *to_host, const void *from, size_t bytes);

/* ---- op handles -------------------------------------------------------------------------------------------- */

/* rgt_op_parse -- text form to description. Returns RGT_OK or RGT_EINVAL (ctx's message names the field; ctx may be NULL). */
RGT_API rgt_status rgt_op_parse(rgt_ctx *ctx, const char *text, rgt_op_desc *desc);
/* rgt_op_format -- description to text form. Returns RGT_OK or RGT_EINVAL. */
RGT_API rgt_status rgt_op_format(rgt_ctx *ctx, const rgt_op_desc *desc, char text[RGT_OP_TEXT_MAX]);

typedef struct rgt_op_options {
  size_t struct_size;
  rgt_skew skew; /* declared class of the group sizes; a call may not look */
  rgt_weight_form weight_form;
  int align_bytes;     /* promise: divides every base address and stride in bytes; 0: the element's size; up to 16 */
  rgt_order order;     /* of every call's rows */
  double max_error;    /* admits p1, p2, u_h, alpha, beta up to this; 0: the default admission of the dtype */
  int batch_invariant; /* all row counts in one numeric class */
} rgt_op_options;

/* rgt_op_new -- a handle for one op on the context's device. options may be NULL.
 * Returns RGT_OK, RGT_EINVAL, RGT_EUNSUPPORTED (the device cannot do this dtype yet), RGT_ENOMEM.
 * Memory: free with rgt_op_free before rgt_close, or let rgt_close do it; on CUDA when its calls are over (rgt_sync), and so
 * are the graphs that captured them. */
RGT_API rgt_status rgt_op_new(rgt_ctx *ctx, const rgt_op_desc *desc, const rgt_op_options *options, rgt_op **op);
RGT_API void rgt_op_free(rgt_op *op);

enum {                        /* rgt_op_prepare flags, a sum */
       RGT_PREPARE_EXACT = 1, /* the stored winner of this very shape, verified, or RGT_EMISS: no near, second or default one */
       RGT_PREPARE_WAIT = 2   /* return only when everything chosen is loaded, or was found to be unusable */
};

/* rgt_op_prepare -- makes calls of up to max_rows rows ready: finds the stored winners of every bucket up to there (else the
 * nearest, else the default variant), loads what the code cache holds and allocates one workspace for the op. What is not
 * cached is compiled and verified in a thread of the context and taken over by a later rgt_op_run: until then the default
 * answers, and on the CPU before that the built-in kernel, which has the default's bits. Where nothing is built in (CUDA), the
 * default is waited for. RGT_PREPARE_EXACT, mode "replay" and batch_invariant wait for everything.
 * A variant that proves wrong, crashes or does not compile is reported to the log once and not tried again for this handle: its
 * runner-up takes its place, else the default, else the built-in kernel; rgt_why says what answers.
 * After it rgt_op_run allocates nothing and never compiles. In mode "tune" a miss is tuned first. A prepared op can be prepared
 * again, for more rows too; what is loaded or on its way stays.
 * Returns RGT_OK, RGT_EINVAL, RGT_EMISS (mode "replay" or RGT_PREPARE_EXACT), RGT_ECOMPILE, RGT_ENOMEM; after a failure the op
 * is as before its first prepare.
 * With neither a compiler nor a bundle's code the built-in kernel stays in use on the CPU and RGT_OK is returned; rgt_why says
 * so.
 * Threads: log lines about what the other thread did come on the calling thread, from the next call on the op. A child made by
 * fork has no such thread: what was on its way is given up there, until its own rgt_op_prepare. */
RGT_API rgt_status rgt_op_prepare(rgt_op *op, int64_t max_rows, unsigned flags);

/* rgt_op_wait -- until everything that rgt_op_prepare chose is loaded or found unusable, at most timeout_s seconds (below 0: no
 * limit; 0: only takes over what is finished).
 * Returns RGT_OK, RGT_ETIMEOUT (the op goes on as it was), RGT_ENOTREADY (not prepared), RGT_EINVAL (NaN). */
RGT_API rgt_status rgt_op_wait(rgt_op *op, double timeout_s);

/* rgt_op_prepare_variant -- the same with one named variant for every row count, as rgt_show and `ragtune verify` name it;
 * "builtin" on the CPU. For comparing by hand: it is verified like any other, and nothing is looked up or stored. Returns
 * RGT_OK, RGT_EINVAL (no such variant, or not for this op), RGT_EWRONG, RGT_EINFEASIBLE, RGT_ECOMPILE, RGT_ENOCOMPILER,
 * RGT_ENOMEM. */
RGT_API rgt_status rgt_op_prepare_variant(rgt_op *op, const char *variant, int64_t max_rows);

/* rgt_layer -- one layer's weights and bias for every group, stacked or by pointers; nothing is copied.
 * w       stacked: base of [groups, ...] in the op's layout;  ld_w >= the inner dimension, stride_w between groups
 * w_ptrs  pointers: `groups` pointers to one matrix each (NULL for groups that no row uses); ld_w as above
 *         On CUDA the array itself lies in host memory for rgt_weights_new, which uploads it, and in device memory in rgt_args.
 * b       stacked: base of [groups, features], stride_b between groups;   b_ptrs: or one pointer per group
 * Exactly one of w and w_ptrs, as the op's weight_form says; b or b_ptrs if the op has that bias, else both NULL. */
typedef struct rgt_layer {
  const void *w;
  const void *const *w_ptrs;
  int64_t ld_w, stride_w;
  const void *b;
  const void *const *b_ptrs;
  int64_t stride_b;
} rgt_layer;

typedef struct rgt_weights rgt_weights;

/* rgt_weights_new -- checks a set of weights for op once and keeps its description: on CUDA uploads the pointer lists, on the
 * CPU copies them. The weights themselves stay the caller's and must outlive the handle. layer2 is NULL for RGT_LINEAR.
 * Returns RGT_OK, RGT_EINVAL, RGT_ENOMEM, RGT_ECRASH (CUDA: lost). Memory: rgt_weights_free, before the op is freed, and on
 * CUDA when no call that uses it is under way. */
RGT_API rgt_status rgt_weights_new(rgt_op *op, int64_t groups, const rgt_layer *layer1, const rgt_layer *layer2,
                                   rgt_weights **weights);
RGT_API void rgt_weights_free(rgt_weights *weights);

typedef struct rgt_args {
  size_t struct_size;
  int64_t rows;   /* 0 .. max_rows; 0 launches nothing and every pointer may be NULL */
  int64_t groups; /* groups of this call's weights; 0: the op's (or those of `weights`) */
  const void *x;  /* [rows, n_in], row-major; with x_div [ceil(rows / x_div), n_in] */
  int64_t ld_x;
  const void *index; /* [rows], of the op's index type, in the op's order; -1 masks a row. Not looked at with offsets */
  void *y;           /* [rows, n_out], row-major, columns past n_out untouched; overlaps no input */
  int64_t ld_y;
  rgt_layer layer1, layer2; /* used where weights is NULL */
  const rgt_weights *weights;
  rgt_order order;     /* must equal the op's */
  const void *offsets; /* [groups + 1], of the op's index type, with RGT_ORDER_OFFSETS; else NULL */
  int64_t x_div;       /* row r reads x[r / x_div]: so many rows share one x; 0 is 1, up to 2^31-1 */
  rgt_y_mode y_mode;
  rgt_layer layer3;      /* reserved for the gated MLP: all zero */
  const void *row_scale; /* reserved: NULL */
} rgt_args;

/* rgt_op_run -- y = op(x, index, weights), or y += that.
 * stream: a CUstream (or cudaStream_t) of the context that rgt_open found, NULL for the default stream; NULL on the CPU device.
 * The CPU device returns when y is complete. CUDA queues the call and waits for nothing: it can be captured into a graph, which
 * must not outlive the op, and what args points to must stay until the stream has come past the call.
 * Returns RGT_OK; RGT_EINDEX (CPU: y is complete, the rows in question are 0, the message names the first one; CUDA: see
 * rgt_sync); RGT_EINVAL (on CUDA also: an array of the op's first call is the host's alone); RGT_ESIZE (rows > max_rows of
 * prepare); RGT_ENOTREADY (CUDA before prepare); RGT_EUNSUPPORTED (nothing that was prepared is valid for so many rows and
 * groups); RGT_ECRASH (CUDA: this or an earlier kernel went wrong). Before prepare the CPU device uses its built-in kernel and
 * may allocate. Masked rows give exactly 0 (RGT_Y_ADD: stay as they are) whatever x holds. y[r] depends on x[r], index[r] and
 * that group's weights only.
 * Threads: calls on one op one after the other, from its context's thread; on CUDA in one stream, or ordered by events. */
RGT_API rgt_status rgt_op_run(rgt_op *op, const rgt_args *args, void *stream);

/* rgt_sync -- waits for the stream and reports what the op's calls in it counted since the last rgt_sync: how many rows had an
 * index out of range, and the first of them (its row in its call). The count starts anew. CPU: RGT_OK at once, since each call
 * reports its own.
 * Returns RGT_OK; RGT_EINDEX (every y is complete, those rows are 0); RGT_EINVAL (the stream is being captured, or is none);
 * RGT_ECRASH (a kernel went wrong; the message has the driver's word for it). */
RGT_API rgt_status rgt_sync(rgt_op *op, void *stream);

/* ---- tuning ------------------------------------------------------------------------------------------------ */

#define RGT_VARIANT_TEXT_MAX 256 /* "family:param=value,param=value" */
#define RGT_PATH_TEXT_MAX 512    /* bytes of a path that is reported; longer ones are cut */
#define RGT_REASON_MAX 256

typedef enum rgt_outcome {
  RGT_TRIAL_OK,
  RGT_TRIAL_INFEASIBLE, /* static limits: registers, shared bytes, spills, or the program's `valid` */
  RGT_TRIAL_COMPILE_ERROR,
  RGT_TRIAL_WRONG,
  RGT_TRIAL_CRASHED,
  RGT_TRIAL_TIMED_OUT,
  RGT_N_OUTCOMES
} rgt_outcome;

typedef enum rgt_phase {
  RGT_PHASE_GENERATE,
  RGT_PHASE_COMPILE,
  RGT_PHASE_VERIFY,
  RGT_PHASE_TIME,
  RGT_PHASE_DUEL,
  RGT_PHASE_STORE
} rgt_phase;

typedef struct rgt_progress {
  rgt_phase phase;
  int64_t bucket;           /* rows bucket in work, 0 in phases common to all */
  int64_t done, total;      /* within the phase */
  double elapsed_s, left_s; /* of the whole search; left_s < 0: not known yet */
  const char *line;         /* what is in work, borrowed */
} rgt_progress;

typedef struct rgt_tune_options {
  size_t struct_size;
  const int64_t *rows; /* row counts, rounded up to powers of two; NULL: 8, 64, 512, 4096, 32768 */
  int n_rows;
  rgt_skew skew;     /* tuned with; RGT_SKEW_UNKNOWN: uniform */
  const void *index; /* or a real index of the op's type, in any order; its class becomes the skew; needs n_rows <= 1 (rows =
                        n_index) */
  int64_t n_index;
  double budget_s; /* 0: 60 */
  rgt_policy policy;
  const char *space; /* path of a Lua space file, NULL: the whole space */
  int force;         /* tune again although a winner is stored: adds a run */
  uint64_t seed;     /* of data and order; 0: a fixed one */
  void (*progress)(void *user, const rgt_progress *progress);
  void *progress_user;
  const volatile int *stop; /* polled; non-zero ends the search, keeping what was measured */
  int exhaustive;           /* try every variant; else of a space of more than 60 a fifth (40 at least): a sample in the order
                               of the families' priors, then neighbours of the best */
} rgt_tune_options;

typedef struct rgt_tune_result { /* one signature */
  int64_t bucket;
  rgt_skew skew;
  rgt_status status; /* RGT_OK; RGT_EINFEASIBLE; RGT_EINTERRUPTED; RGT_ESIZE: skipped, reason says why */
  int hit;           /* stored before: nothing was compiled or timed */
  char winner[RGT_VARIANT_TEXT_MAX];
  char runner_up[RGT_VARIANT_TEXT_MAX];
  int64_t time_ps, low_ps, high_ps; /* median of the winner and its confidence interval (95 %) */
  int64_t default_ps;               /* the default variant in the same run */
  int64_t loop_ps;                  /* the plain per-group loop in the same run; 0: not measured */
  double flops, bytes;              /* of one call */
  double peak_share;                /* of the device's measured peak (flops or bytes, whichever bounds); 0: unknown */
  double error_share;               /* largest |y - y64| over its bound */
  int n_tried, n_ok, n_infeasible, n_compile_error, n_wrong, n_crashed, n_timed_out;
  int n_resumed; /* of n_tried: taken from an interrupted search */
  char reason[RGT_REASON_MAX];
} rgt_tune_result;

/* rgt_tune -- searches the op's space for each rows bucket and stores every trial; results[i] is for rows[i].
 * results holds n_rows entries (5 with the default list).
 * Returns RGT_OK (also when single buckets failed: see their status), RGT_EINTERRUPTED (what was measured is stored),
 * RGT_EINVAL, RGT_ETEMPLATE, RGT_ENOCOMPILER, RGT_ENOWORKER (candidates are compiled and run in children, ragtune-worker;
 * the message names where it was looked for), RGT_ECRASH (the worker itself does not stay alive), RGT_EDB (results are
 * complete, but could not be stored), RGT_ENOMEM. A candidate that crashes, hangs or eats memory is a result, not an error.
 * Threads: compiles in others; callbacks come on the calling thread. */
RGT_API rgt_status rgt_tune(rgt_op *op, const rgt_tune_options *options, rgt_tune_result *results);

/* rgt_op_shard -- to which of n_shards the tuning of one signature belongs, where many machines share a list of them without
 * talking to each other.
 *     *shard = the s in [0, n_shards) with the largest hash(signature, s)
 * rows is rounded up to its bucket; skew unknown stands for uniform, as in rgt_tune. The device, its threads and the policy do
 * not matter: every machine gives the same answer. With one shard more about one signature in n_shards + 1 moves, to the new
 * one.
 * Returns RGT_OK; RGT_EINVAL (rows, skew; n_shards is not in [1, RGT_SHARDS_MAX]).
 * Threads: that of the op's context. */
#define RGT_SHARDS_MAX 10000
RGT_API rgt_status rgt_op_shard(rgt_op *op, int64_t rows, rgt_skew skew, int n_shards, int *shard);

/* rgt_config -- a config file: many ops to tune, with the row counts and skews that go with each of them.
 *
 *     return { ops = { "mlp:10-20-5:g3:f32:relu:b12:nk:i64", { n_in = { 64, 128 }, n_hidden = 256, groups = { 8, 64 } } },
 *              rows = { 8, 64 }, skew = { "uniform", "zipf" }, device = "auto", budget_s = 600 }
 *
 * An op is a text, or a table whose lists are multiplied out; only ops is required. It says what to tune; the caller tunes. */
typedef struct rgt_config rgt_config;

/* rgt_config_open -- reads and checks the file at path, a Lua table as above, of up to 1 MiB. ctx is for the message alone: its
 * device and database are not touched.
 * Returns RGT_OK; RGT_EIO (path cannot be read); RGT_ETEMPLATE (the message begins "path:line: "); RGT_ENOMEM.
 * Memory: free with rgt_config_free, before rgt_close or after it.
 * Threads: rgt_config_open that of ctx; the others any, since nothing changes a config. */
RGT_API rgt_status rgt_config_open(rgt_ctx *ctx, const char *path, rgt_config **config);
RGT_API void rgt_config_free(rgt_config *config);
/* rgt_config_count -- number of ops, 1 or more, each there once. */
RGT_API int rgt_config_count(const rgt_config *config);
/* rgt_config_op -- op i of 0 .. count - 1, in the file's order, the last field of a table turning fastest.
 * Returns RGT_OK or RGT_EINVAL (i lies outside). */
RGT_API rgt_status rgt_config_op(const rgt_config *config, int i, rgt_op_desc *desc);
/* rgt_config_rows, rgt_config_skews -- the lists; *n is 0 where the file has none. Borrowed from config. */
RGT_API const int64_t *rgt_config_rows(const rgt_config *config, int *n);
RGT_API const rgt_skew *rgt_config_skews(const rgt_config *config, int *n);
/* rgt_config_device -- "auto", "cpu", "cuda" or "cuda:N"; "auto" where the file has none. Borrowed from config. */
RGT_API const char *rgt_config_device(const rgt_config *config);
/* rgt_config_budget_s -- seconds for all of it together; 0 where the file has none. */
RGT_API double rgt_config_budget_s(const rgt_config *config);

/* ---- inspection -------------------------------------------------------------------------------------------- */

/* Where an answer comes from. All layers are asked for an exact one first: pins, the user's database, the site databases in
 * their order, the shipped one (share/ragtune/tuned.db of the installation); then for another number of threads; then the
 * bundle; then for the nearest shape; then for the nearest device of the same kind, measured and modelled ones apart; then
 * it is the default. */
typedef enum rgt_layer_kind {
  RGT_FROM_USER_DB,
  RGT_FROM_MEMORY,
  RGT_FROM_DEFAULT,
  RGT_FROM_BUILTIN,
  RGT_FROM_BUNDLE,
  RGT_FROM_NOTHING, /* rgt_op_prepare would fail: mode "replay", and nothing is stored */
  RGT_FROM_PIN,     /* rgt_db_pin, in the user's database or in the one that layer_path names */
  RGT_FROM_SITE_DB,
  RGT_FROM_SHIPPED_DB
} rgt_layer_kind;

typedef enum rgt_match {
  RGT_MATCH_NONE,    /* nothing that is stored answers */
  RGT_MATCH_EXACT,   /* this signature */
  RGT_MATCH_BUCKET,  /* this op, tuned for another number of rows */
  RGT_MATCH_THREADS, /* this op, tuned with another number of threads */
  RGT_MATCH_SHAPE,   /* another op of the same kind: the one at the smallest distance */
  RGT_MATCH_DEVICE   /* this op, tuned on another device class of the same kind */
} rgt_match;

typedef struct rgt_why_info {
  size_t struct_size;                 /* set by the caller */
  char variant[RGT_VARIANT_TEXT_MAX]; /* "builtin" where neither a compiler nor code is, or none is ready yet; "" for
                                         RGT_FROM_NOTHING */
  rgt_layer_kind from;
  int exact;           /* 1: this signature; 0: another one, named in stored_signature, or another place (see match) */
  char signature[256]; /* asked for */
  char stored_signature[256];
  char device_class[256]; /* of the context's device */
  char runner_up[RGT_VARIANT_TEXT_MAX];
  int64_t time_ps, low_ps, high_ps;
  double ratio;  /* t(winner) / t(default), median over runs */
  double margin; /* t(runner-up) / t(winner) - 1; below 0 where the winner won as the simpler one of a tie */
  double waste;  /* share of the arithmetic that is padding, 0 if the family has none or it is unknown */
  double peak_share;
  int n_runs; /* that timed this variant */
  char note[RGT_REASON_MAX];
  rgt_match match;
  double distance;                    /* of RGT_MATCH_SHAPE: octaves, summed over in, hidden, out and groups */
  int layer;                          /* position in the list of site databases, from 1; 0: none of them */
  char layer_path[RGT_PATH_TEXT_MAX]; /* the database that answers; "": none */
  char stored_device_class[256];      /* where it was timed, and how; "": nowhere */
  char stored_policy[128];
  int verified;      /* its code was compiled and verified on this machine; 0: it will be, before its first use */
  char outdated[64]; /* what is another one now than when it was timed: "toolchain", "driver", "template", with commas; then it
                        is to be timed again: rgt_tune does that, and rgt_op_prepare in mode "tune". "": nothing */
} rgt_why_info;

/* rgt_why -- what rgt_op_run would use for `rows` rows, and why: of a prepared op what answers now, and in `note` what is on
 * its way or was refused; else what rgt_op_prepare would choose. Compiles nothing.
 * Returns RGT_OK, RGT_EINVAL (rows, struct_size), RGT_EDB, RGT_ENOMEM. */
RGT_API rgt_status rgt_why(rgt_op *op, int64_t rows, rgt_why_info *info);

typedef enum rgt_emit { RGT_EMIT_SOURCE, RGT_EMIT_PTX, RGT_EMIT_CUBIN, RGT_EMIT_ASM } rgt_emit;

/* rgt_show -- source or code of one variant. variant NULL: what dispatch would use for `rows` (0: the default variant).
 * target: "cpu" (this machine) or "sm_90"; NULL: the context's device.
 * *data is malloc'ed by the library: free it with rgt_free. Text is NUL-terminated; *bytes excludes the NUL.
 * Returns RGT_OK, RGT_EINVAL, RGT_ETEMPLATE, RGT_ENOCOMPILER, RGT_ECOMPILE, RGT_ENOMEM. */
RGT_API rgt_status rgt_show(rgt_op *op, const char *variant, int64_t rows, const char *target, rgt_emit emit, char **data,
                            size_t *bytes);
RGT_API void rgt_free(void *p);

typedef struct rgt_compile_info {
  const char *variant; /* borrowed for the callback */
  rgt_outcome outcome;
  const char *reason;                                    /* compiler's first error or the static limit; "" */
  int registers, shared_bytes, spill_bytes, stack_bytes; /* largest over the steps; 0 on the CPU */
  double milliseconds;                                   /* rendering and compiling, alone on its thread */
  size_t code_bytes;
  const char *digest; /* of the source, hex */
} rgt_compile_info;

/* rgt_compile -- compiles variants for a target without running them. variant NULL: the whole space, or `sample` of it drawn
 * with `seed` if sample > 0. Each result goes to fn, in the order of the space. fn returning non-zero stops.
 * Returns RGT_OK, RGT_EINVAL, RGT_ETEMPLATE, RGT_ENOCOMPILER, RGT_EINFEASIBLE (none compiled), RGT_EINTERRUPTED. */
typedef int (*rgt_compile_fn)(void *user, const rgt_compile_info *info);
RGT_API rgt_status rgt_compile(rgt_op *op, const char *target, const char *variant, int sample, uint64_t seed,
                               rgt_compile_fn fn, void *user);

typedef struct rgt_bundle_options {
  size_t struct_size;
  const char *target;  /* as for rgt_compile; NULL: the context's device */
  const char *variant; /* this one beside the default variant */
  int sample;          /* > 0: so many of the space, drawn with seed, beside the default variant */
  uint64_t seed;
  rgt_compile_fn fn; /* called for each variant; non-zero stops; may be NULL */
  void *user;
} rgt_bundle_options;

/* rgt_compile_bundle -- compiles variants of op and writes them into a folder from which other machines, without a compiler,
 * can load them: rgt_options.bundle, RAGTUNE_BUNDLE.
 * Always in it: the default variant. With it, where options name neither variant nor sample, the winner and the runner-up of
 * every bucket and skew that the context's database has for this very op on this device (in mode "off": nothing). They are
 * what is dispatched to wherever the bundle is used, after the user's own results for the op and before all else.
 * On the context's own device each variant is verified first, and a wrong one left out, as a banned one is, which cannot be
 * named either; for other targets, whose device class nobody knows, it cannot be done.
 * folder   is made, in one step; where it is a bundle, the op's code is added, in place of what it had for the same
 * options  may be NULL
 * Returns RGT_OK; RGT_EINVAL (an option; folder is no bundle and not empty), RGT_EIO (folder, with what is wrong),
 * RGT_ETEMPLATE, RGT_ENOCOMPILER, RGT_EINTERRUPTED, RGT_EDB, RGT_ENOMEM; of the default variant RGT_EINFEASIBLE, RGT_ECOMPILE,
 * RGT_EWRONG, RGT_ECRASH, RGT_ETIMEOUT. Then folder is as it was, but for files that a bundle's table does not name. */
RGT_API rgt_status rgt_compile_bundle(rgt_op *op, const rgt_bundle_options *options, const char *folder);

/* rgt_case -- one problem with its data, for rgt_verify. Arrays are the op's storage type, packed, stacked, in the op's layout.
 * index is [rows] whatever the op's order is, and must be in that order (else RGT_EINVAL); offsets are made from it. y64 may be
 * NULL; where given, [rows, n_out], it is compared too: within the bound, and bit for bit as round(y64) if `exact`.
 */
typedef struct rgt_case {
  size_t struct_size;
  int64_t rows;
  const void *x, *index, *w1, *b1, *w2, *b2;
  const double *y64;
  int exact;
} rgt_case;

typedef struct rgt_verdict {
  const char *variant; /* borrowed for the callback */
  rgt_outcome outcome;
  const char *pass;    /* where it failed: "exact", "bound", "case", "poison", "masked", "canary", "permute", "status" */
  int64_t row, column; /* of the first wrong element, -1 if it is no single element */
  double value, expected, bound;
  double error_share; /* largest |y - y64| / bound seen */
  const char *reason; /* one line, "" when right */
} rgt_verdict;

typedef int (*rgt_verify_fn)(void *user, const rgt_verdict *verdict);

typedef struct rgt_verify_options {
  size_t struct_size;
  const char *variant; /* NULL: all; "builtin": the CPU's built-in kernel */
  int sample;          /* > 0: so many, drawn with seed */
  uint64_t seed;
  const rgt_case *data; /* NULL: generated problems only */
  int64_t rows;         /* of the generated bound pass; 0: 256 */
} rgt_verify_options;

/* rgt_verify -- every variant against the float64 reference: exact pass, bound pass, poison, canaries, masked rows, and the
 * metamorphic rule, and on `data` where it is given; in a child, ragtune-worker, where it is found, with unreadable pages
 * around every buffer on the CPU. Each verdict goes to fn (non-zero stops). A banned variant is not run: among others its
 * verdict is RGT_TRIAL_INFEASIBLE, with a reason that begins with "banned"; by its name it is refused with RGT_EINVAL.
 * Returns RGT_OK (all right), RGT_EWRONG (some wrong), else RGT_ECRASH (some crashed), RGT_ETIMEOUT, RGT_EINVAL, RGT_ETEMPLATE,
 * RGT_ENOCOMPILER, RGT_EINTERRUPTED, RGT_EDB. */
RGT_API rgt_status rgt_verify(rgt_op *op, const rgt_verify_options *options, rgt_verify_fn fn, void *user);

/* rgt_round -- float to the storage type and back to what it holds; for callers that make 16-bit data.
 * rgt_from_float writes n elements of dtype, rounded to nearest even, NaN kept. rgt_to_float reads them. Threads: any. */
RGT_API void rgt_from_float(rgt_dtype dtype, const float *from, void *to, size_t n);
RGT_API void rgt_to_float(rgt_dtype dtype, const void *from, float *to, size_t n);

/* rgt_env -- devices, compilers, versions, files and environment variables, as "name" / "value" lines through fn.
 * section   "ragtune", "device", "compiler", "cuda", "files" or "environment": that one alone, and nothing is opened for the
 *           others; NULL: all of them. "compiler" starts the compiler to ask its version, "cuda" loads NVRTC and the driver.
 * Returns RGT_OK, RGT_EINVAL (no such section, fn is NULL). The texts are borrowed for the callback. */
typedef void (*rgt_env_fn)(void *user, const char *section, const char *name, const char *value);
RGT_API rgt_status rgt_env(rgt_ctx *ctx, const char *section, rgt_env_fn fn, void *user);

/* ---- the tuned database ------------------------------------------------------------------------------------ */

typedef struct rgt_db_row {
  const char *signature, *device_class, *policy, *winner, *runner_up; /* borrowed for the callback */
  int64_t time_ps;
  double ratio;
  int n_runs, n_trials;
} rgt_db_row;
typedef int (*rgt_db_fn)(void *user, const rgt_db_row *row);

/* rgt_db_list -- every stored winner. Returns RGT_OK, RGT_EDB, RGT_EINTERRUPTED. */
RGT_API rgt_status rgt_db_list(rgt_ctx *ctx, rgt_db_fn fn, void *user);
typedef struct rgt_db_miss {
  const char *signature, *device_class, *policy; /* borrowed for the callback */
  int64_t n, last_utc_s;                         /* how often rgt_op_prepare looked for it in vain, and when last */
} rgt_db_miss;
typedef int (*rgt_db_miss_fn)(void *user, const rgt_db_miss *miss);

/* rgt_db_misses -- what was asked for and has no winner yet, the most wanted first: what to tune next.
 * Returns RGT_OK, RGT_EDB, RGT_EINTERRUPTED. */
RGT_API rgt_status rgt_db_misses(rgt_ctx *ctx, rgt_db_miss_fn fn, void *user);
/* rgt_db_check -- integrity of the file and of every key. Returns RGT_OK or RGT_EDB (rgt_errmsg says what). */
RGT_API rgt_status rgt_db_check(rgt_ctx *ctx);
/* rgt_db_rebuild -- derives the winners again from the trials. Returns RGT_OK or RGT_EDB. */
RGT_API rgt_status rgt_db_rebuild(rgt_ctx *ctx);

typedef struct rgt_db_counts {
  int64_t n_runs_new, n_runs_known, n_runs_dropped; /* known: they were there before */
  int64_t n_trials_new, n_trials_known, n_trials_dropped;
  /* why trials were dropped, for their own sake or for what they refer to */
  int64_t n_wrong_key;    /* the fields do not give the key that is stored beside them: they were changed */
  int64_t n_out_of_range; /* a text or number that is never stored */
  int64_t n_orphans;      /* the run, signature, place or variant is not there */
  int64_t n_signatures;   /* whose winners were derived anew, counted once for each device class and policy */
} rgt_db_counts;

/* rgt_db_merge -- the union of the trials in use and those of n other tuned databases; winners are derived anew, so that any order,
 * repetition and grouping end alike. All or nothing over all files. They are foreign: opened for reading alone, checked whole, and
 * refused where their schema is not word for word one of ours; what is wrong with single trials is counted. Nothing of them is
 * compiled or run here. A variant that this build does not know is kept, and never taken.
 * paths      [n]: exports, or other machines' databases, also such as are in use; n >= 1
 * counts     may be NULL
 * rgt_db_import -- the same with one file.
 * Returns RGT_OK, RGT_EINVAL (no path; the database itself), RGT_EDB (which file, what is wrong with it; the database in use cannot
 * be written), RGT_ENOMEM. Writers of other processes wait while trials are stored (a million take under a minute). */
RGT_API rgt_status rgt_db_merge(rgt_ctx *ctx, const char *const *paths, int n, rgt_db_counts *counts);
RGT_API rgt_status rgt_db_import(rgt_ctx *ctx, const char *path, rgt_db_counts *counts);

#define RGT_DB_DIGEST_MAX 65
typedef struct rgt_db_exported {
  int64_t n_runs, n_trials, n_trials_dropped, n_bytes;
  char digest[RGT_DB_DIGEST_MAX]; /* of the set of trials, in hex: equal sets, equal digests, whatever the file's form */
} rgt_db_exported;

/* rgt_db_export -- every trial in use, and what follows from them, into one file for others: to import, to merge, or to name in a
 * list of databases that are only read. Made under another name, synced, then renamed. No misses, pins, bans, dates of imports, no
 * names of hosts, no paths. Equal sets of trials give equal bytes with one version of SQLite (it writes its number into the file).
 * path       is made with the usual mode; an empty file or a tuned database that lies there is replaced
 * exported   may be NULL
 * Returns RGT_OK, RGT_EINVAL (no path; the database itself), RGT_EDB (what lies there is something else, or in use), RGT_EIO (it
 * cannot be written), RGT_ENOMEM. */
RGT_API rgt_status rgt_db_export(rgt_ctx *ctx, const char *path, rgt_db_exported *exported);


typedef struct rgt_gc_item {
  const char *path, *why; /* borrowed for the callback; of code: the first file of its entry */
  int64_t bytes;
} rgt_gc_item;
typedef int (*rgt_gc_fn)(void *user, const rgt_gc_item *item);

typedef struct rgt_gc_total {
  size_t struct_size;
  int64_t n_removed, removed_bytes;             /* of everything; of a dry run: what would be */
  int64_t cache_bytes, kept_bytes, quota_bytes; /* of the code cache, before and after; -1: no quota */
  int64_t n_entries, n_pinned;                  /* of the code cache, before; n_pinned of them stay whatever the quota */
} rgt_gc_total;

/* rgt_cache_gc -- removes what nobody needs any more, and tells of each: compiled code over the quota (RAGTUNE_CACHE_QUOTA_MIB,
 * else 1024), least recently used first; and, an hour old, what processes left that were ended in the midst of it: half
 * entries, temporary files and folders, locks, half bundles beside the context's bundle. Damaged databases that were moved
 * aside go after 30 days, their empty journals at once. What stays whatever the quota: code of every winner and runner-up in
 * the database, of pinned variants, code that this process has loaded, and what somebody compiles just now. The quota is kept
 * without this call too, when a search or a context that compiled something ends.
 * dry_run   non-zero: nothing is removed; fn is told what would be
 * fn        may be NULL; non-zero stops, and the item it was told of stays
 * total     may be NULL; struct_size is set by the caller
 * Returns RGT_OK, RGT_EINVAL (struct_size), RGT_EDB (the database cannot be used, so nobody knows whose code to keep: nothing is
 * removed), RGT_EINTERRUPTED (fn), RGT_ENOMEM. What cannot be removed stays, and is no failure.
 * Threads: that of ctx. */
RGT_API rgt_status rgt_cache_gc(rgt_ctx *ctx, int dry_run, rgt_gc_fn fn, void *user, rgt_gc_total *total);

/* rgt_db_pin -- `variant` for calls of `rows` rows (their bucket) of this op: whatever was measured, on this device class, with
 * any number of threads. An op handle without a skew pins for all of them. The variant is verified before its first use like
 * any other, and only where the handle admits it; if it proves wrong, what was measured answers.
 * rows     1 .. RGT_COUNT_MAX
 * reason   one line to remember, may be NULL
 * Returns RGT_OK; RGT_EINVAL (no such family, param or value; not for this op; a named constraint; not admitted under
 * op's max_error; banned; rows), RGT_EDB (cannot be stored), RGT_ENOMEM. rgt_db_unpin: RGT_EMISS where nothing is pinned.
 * Threads: those of ctx. It holds from the next rgt_op_prepare on, in every process. */
RGT_API rgt_status rgt_db_pin(rgt_op *op, int64_t rows, const char *variant, const char *reason);
RGT_API rgt_status rgt_db_unpin(rgt_op *op, int64_t rows);
/* rgt_db_ban -- this variant is never run on this device class: not dispatched to, whoever names it (a database, a bundle, a
 * caller), not searched, not verified; for all ops. The default variant, which everything is measured against, cannot be
 * banned. In mode "off" no database is asked: there calls run the default alone, and what is verified or prepared by name runs
 * whatever is banned.
 * Returns RGT_OK, RGT_EINVAL (no such variant, the default), RGT_EDB, RGT_ENOMEM. rgt_db_unban: RGT_EMISS where it is not
 * banned. */
RGT_API rgt_status rgt_db_ban(rgt_ctx *ctx, const char *variant, const char *reason);
RGT_API rgt_status rgt_db_unban(rgt_ctx *ctx, const char *variant);

typedef struct rgt_db_wish { /* borrowed for the callback */
  const char *signature;     /* of a pin; "" of a ban */
  const char *device_class, *variant, *reason;
  int64_t made_utc_s;
} rgt_db_wish;
typedef int (*rgt_db_wish_fn)(void *user, const rgt_db_wish *wish);
/* rgt_db_pins, rgt_db_bans -- all of the user's database, for every device class.
 * Returns RGT_OK, RGT_EDB, RGT_EINTERRUPTED (fn returned non-zero). */
RGT_API rgt_status rgt_db_pins(rgt_ctx *ctx, rgt_db_wish_fn fn, void *user);
RGT_API rgt_status rgt_db_bans(rgt_ctx *ctx, rgt_db_wish_fn fn, void *user);
/* rgt_db_path -- file in use, ":memory:" when none. Borrowed. */
RGT_API const char *rgt_db_path(const rgt_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
