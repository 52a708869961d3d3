/* wishes.h -- what an op's dispatch and search keep to, whatever was measured: pins and bans of every layer, and what proved
 * unusable on this machine before. */
#ifndef RGT_RUNTIME_WISHES_H
#define RGT_RUNTIME_WISHES_H

#include "generator/space.h"
#include "runtime/layers.h"
#include "tunedb/tunedb_local.h"

typedef struct rgt__pin {
  char variant[RGT_VARIANT_TEXT_MAX];
  int revision;
  int64_t bucket;
  rgt_skew skew; /* RGT_SKEW_UNKNOWN: for every skew */
  int layer;
} rgt__pin;

typedef struct rgt__barred {
  rgt__digest variant;         /* rgt__tunedb_variant_key */
  rgt__digest template_digest; /* of what proved unusable; a ban holds whatever the template */
  int is_ban;
  char reason[RGT_REASON_MAX]; /* of a ban */
} rgt__barred;

struct rgt__wishes {
  rgt__pin *pins;
  rgt__barred *barred;
  int n_pins, n_barred, pins_capacity, barred_capacity;
};

/* rgt__wishes_load -- reads the op's pins, bans and bad verdicts anew; before each prepare, why and tune. In mode "off" there
 * are none. RGT_EDB (of the user's database), RGT_ENOMEM. */
rgt_status rgt__wishes_load(rgt_op *op);
void rgt__wishes_free(rgt_op *op);
/* rgt__wishes_bar -- may this variant of family f not run? Its reason, "" for one that proved unusable before; NULL: it may.
 * Borrowed until the next load. */
const char *rgt__wishes_bar(const rgt_op *op, const rgt__variant *v);
/* rgt__wishes_ban -- the same for bans alone. */
const char *rgt__wishes_ban(const rgt_op *op, const rgt__variant *v);
/* rgt__wishes_refuse -- RGT_EINVAL, said in err, where v is banned: for what a person named. */
rgt_status rgt__wishes_refuse(const rgt_op *op, const rgt__variant *v, rgt__error *err);
/* rgt__wishes_drop_banned -- takes the banned ones out of a space of the op's own device, and tells the log of each what it
 * therefore is: "not tried". Returns how many. */
int rgt__wishes_drop_banned(const rgt_op *op, rgt__space *space, const char *what);
/* rgt__wishes_pin -- the pin for calls of this bucket: the first layer's that has one; of one layer the one for the op's own
 * skew before the one for every skew. NULL: none. */
const rgt__pin *rgt__wishes_pin(const rgt_op *op, int64_t bucket);
/* rgt__wishes_subject -- what a verdict is about, beside the variant and the device class: the op without its number of groups,
 * and the facts of its handle that generated code depends on. */
void rgt__wishes_subject(const rgt_op *op, rgt__digest *subject);
/* rgt__wishes_is_default -- the variant that everything on its device is measured against, and that calls fall back to: no ban
 * holds for it. The context's families are open. */
int rgt__wishes_is_default(rgt_ctx *ctx, const rgt__variant *v);

#endif
