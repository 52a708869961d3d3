/* prepare.h -- from what is stored to code that is loaded: which variant runs for which bucket. */
#ifndef RGT_RUNTIME_PREPARE_H
#define RGT_RUNTIME_PREPARE_H

#include "runtime/context.h"

/* One answer of the lookup: which variant, and where it comes from. */
typedef struct rgt__choice {
  rgt_layer_kind from;
  rgt_match match;
  int layer;                      /* which of the context's layers, where from is one of them or a pin */
  rgt__tunedb_winner found;       /* of those, and of RGT_FROM_BUNDLE */
  int64_t bucket;                 /* the tuned bucket that answers */
  int threads;                    /* it was tuned with so many, not with the device's; 0: with those */
  char pin[RGT_VARIANT_TEXT_MAX]; /* pinned, and not to be used: "" for none */
  const char *pin_problem;        /* why; static */
} rgt__choice;

/* rgt__prepare_choose -- what is pinned, else exact, else another number of threads, else nearest, else default, for calls of
 * `rows` rows, under the op's limits and numeric class ("" for a batch-invariant op: the default alone; NULL: any), after
 * rgt__wishes_load. Never fails for want of data; RGT_EDB and RGT_ENOMEM. */
rgt_status rgt__prepare_choose(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out);
/* rgt__prepare_class -- the numeric class to which a batch-invariant op keeps all its buckets: the one with the smallest
 * product of ratios over the tuned buckets; "" when nothing is stored. */
rgt_status rgt__prepare_class(rgt_op *op, char *name, size_t size);
/* rgt__prepare_default -- the default variant of the op on a device's kind. RGT_ETEMPLATE when no family fits. */
rgt_status rgt__prepare_default(rgt_op *op, const char *device, rgt__variant *out);

/* ---- prepare_ready.c: an op's variants, and which of them answers ---- */

/* rgt__prepare_ready_of -- the op's entry for a variant: the one that it has, else a new one, loaded where the cache's map
 * leads to code that was verified here, else rendered, else refused. revision: that of the stored trials, 0 for whatever is
 * here. RGT_ENOMEM. */
rgt_status rgt__prepare_ready_of(rgt_op *op, const char *variant, int revision, rgt__ready **out);
/* rgt__prepare_keep -- gives up and frees every entry that stands in none of the preferences, those refused apart. */
void rgt__prepare_keep(rgt_op *op, const rgt__preference *prefer, int n_buckets);
/* rgt__prepare_reset -- the op is as before prepare, but that it knows what it refused. */
void rgt__prepare_reset(rgt_op *op);
void rgt__prepare_free(rgt_op *op); /* reset, and forgets that too */
/* rgt__prepare_pick_up -- takes over what the background has finished since the last time, and tells the log what it refused.
 * Allocates nothing. */
void rgt__prepare_pick_up(rgt_op *op);
/* rgt__prepare_wait -- until nothing is on its way, or only (NULL: all) has come to an end. RGT_ETIMEOUT. */
rgt_status rgt__prepare_wait(rgt_op *op, const rgt__ready *only, double timeout_s);
/* rgt__prepare_has_builtin -- calls are answered whatever is loaded. */
int rgt__prepare_has_builtin(const rgt_op *op);
/* rgt__prepare_needs_standby -- may a call come that this variant is not valid for, and is nothing built in to take it? Then
 * the default is made ready beside it. r may be NULL. */
int rgt__prepare_needs_standby(const rgt_op *op, const rgt__ready *r);

/* ---- prepare_make.c: from a rendered variant to loaded code, on any thread ---- */

typedef struct rgt__make_place {
  rgt_ctx *ctx;
  const rgt__stop *stop; /* give up, RGT_EINTERRUPTED */
  rgt__device *device;   /* the thread's own, to compile and verify on; opened at its first use */
  char toolchain[256];   /* likewise */
} rgt__make_place;

/* rgt__prepare_make -- compiles r's candidate, verifies it and loads it into the context's device. RGT_EWRONG, RGT_ECOMPILE,
 * RGT_EINFEASIBLE, RGT_ECRASH, RGT_ETIMEOUT: not to be used; RGT_ENOCOMPILER, RGT_EINTERRUPTED, RGT_ENOMEM, RGT_EIO. */
rgt_status rgt__prepare_make(rgt__make_place *at, rgt__ready *r, rgt__error *err);
void rgt__prepare_make_end(rgt__make_place *at);
/* rgt__prepare_load_mapped -- through the cache's map alone. RGT_EMISS where the chain breaks; RGT_ENOMEM. */
rgt_status rgt__prepare_load_mapped(rgt_ctx *ctx, const rgt__digest *local_key, rgt__program *program, rgt__module **module,
                                    rgt__error *err); /* program may be NULL */

/* ---- prepare_note.c: what came of a variant, into the user's database ---- */

/* rgt__prepare_note_for -- before r is made: its verdict is to be remembered, and choice named it (NULL: nothing did). On the
 * context's thread. */
void rgt__prepare_note_for(rgt__ready *r, const rgt__choice *choice);
/* rgt__prepare_note -- r's candidate was compiled and verified: status says what came of it. On any thread, best effort: a
 * verdict that cannot be stored is found again. */
void rgt__prepare_note(const rgt__make_place *at, rgt__ready *r, rgt_status status, const rgt__error *why);

/* rgt__prepare_local_key -- what the cache's map is asked with for a variant; 0 where no compiler is. */
int rgt__prepare_local_key(rgt_op *op, const rgt__variant *v, rgt__digest *key);

/* rgt__prepare_check_layer -- fields of a layer against the op: form, leading dimension, stride, bias. number: 1 or 2.
 * RGT_EINVAL. */
rgt_status rgt__prepare_check_layer(const rgt_op *op, const rgt_layer *layer, int number);

#endif
