/* bundle_table.h -- what a bundle holds, as one text that dispatch reads and one that people and their tools read.
 *
 *   <folder>/ragtune-bundle   "ragtune-bundle 1 <hash of the rest>", then one line for each code and each choice, fields
 *                             separated by tabs; written last, so that it publishes what lies beside it. A code's order
 *                             stands at its line's end, where it is not raw: bundles from before it was known read so
 *   <folder>/manifest.json    the same for others; never read here
 *   <folder>/code/            binaries, PTX and programs, as in the code cache (code_cache.h)
 */
#ifndef RGT_RUNTIME_BUNDLE_TABLE_H
#define RGT_RUNTIME_BUNDLE_TABLE_H

#include "generator/op.h"
#include "runtime/base/buffer.h"
#include "runtime/base/digest.h"

#define RGT_BUNDLE_TABLE "ragtune-bundle"
#define RGT_BUNDLE_MANIFEST "manifest.json"
#define RGT_BUNDLE_VERSION 1

/* What code was made for; op texts keep the groups that were named, but code is the same for any number of them. */
typedef struct rgt__bundle_for {
  char target[64];
  char op[RGT_OP_TEXT_MAX];
  rgt_weight_form form;
  int align_bytes;
  rgt_order order;
} rgt__bundle_for;

typedef struct rgt__bundle_code {
  rgt__bundle_for made_for;
  char variant[RGT_VARIANT_TEXT_MAX];
  int revision;
  rgt__digest local; /* candidate.h's local key, without a compiler's stamp */
  rgt__digest key;   /* of the code entry */
  rgt__digest binary, ptx;
  int has_ptx;
  int64_t bytes;
  int verified; /* against the reference, on a device of its target */
  char toolchain[256];
  int spoilt; /* found damaged since it was read: not asked for again */
} rgt__bundle_code;

/* Where the bundle was made, this variant won this bucket. */
typedef struct rgt__bundle_choice {
  rgt__bundle_for made_for;
  char device_class[256];
  rgt_skew skew;
  int64_t bucket;
  char variant[RGT_VARIANT_TEXT_MAX], runner_up[RGT_VARIANT_TEXT_MAX]; /* runner_up "" if none is in the bundle */
  int64_t time_ps, low_ps, high_ps, ratio_ppm, second_ppm;
  int n_runs;
} rgt__bundle_choice;

typedef struct rgt__bundle_table {
  rgt__bundle_code *code;
  rgt__bundle_choice *choices;
  int n_code, n_choices, code_room, choices_room;
} rgt__bundle_table; /* all zero is an empty one */

void rgt__bundle_table_free(rgt__bundle_table *t);
/* Adding replaces what stands for the same: the local key; the choice's target, device, op, form, alignment, order, skew and
 * bucket. RGT_ENOMEM. */
rgt_status rgt__bundle_table_add_code(rgt__bundle_table *t, const rgt__bundle_code *code, rgt__error *err);
rgt_status rgt__bundle_table_add_choice(rgt__bundle_table *t, const rgt__bundle_choice *choice, rgt__error *err);

/* rgt__bundle_table_read -- the table of the bundle at folder, into *t, which is empty. RGT_EIO: one line that names the folder
 * and says what is wrong: not there, damaged, of a newer version. RGT_ENOMEM. */
rgt_status rgt__bundle_table_read(const char *folder, rgt__bundle_table *t, rgt__error *err);
/* rgt__bundle_table_write -- manifest and table, each in one step, the table last. RGT_EIO, RGT_ENOMEM. */
rgt_status rgt__bundle_table_write(const char *folder, const rgt__bundle_table *t, rgt__error *err);

#endif
