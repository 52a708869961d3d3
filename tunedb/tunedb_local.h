/* tunedb_local.h -- what one machine adds to what is measured: pins, bans, and what was checked here.
 *
 * Pins and bans are a person's wishes, checked rows this machine's experience; none of them is ever exported. They hold for a
 * device class under any policy.
 */
#ifndef RGT_TUNEDB_LOCAL_H
#define RGT_TUNEDB_LOCAL_H

#include "tunedb/tunedb.h"

/* rgt__tunedb_variant_key -- what tells variants apart everywhere in the database. */
void rgt__tunedb_variant_key(const rgt__tunedb_variant *v, rgt__digest *key);

/* A pin: this variant for this signature. A ban: never this variant. Texts are borrowed. */
typedef struct rgt__tunedb_wish {
  rgt__tunedb_signature signature; /* of a pin; found ones have text, bucket, skew, form, order and align_bytes */
  const char *device_class;
  rgt__tunedb_variant variant;
  const char *reason; /* "" if none was given; cut at 1,023 bytes */
  int64_t made_utc_s; /* to be stored: 0 for now */
} rgt__tunedb_wish;

/* rgt__tunedb_pin, rgt__tunedb_ban -- stores the wish, in place of one for the same signature (pin) or variant (ban).
 * rgt__tunedb_unpin, rgt__tunedb_unban -- takes it back; the variant of an unpin, and the signature of an unban, do not matter.
 * RGT_OK, RGT_EMISS (there is none), RGT_EINVAL, RGT_EDB, RGT_ENOMEM. */
rgt_status rgt__tunedb_pin(rgt__tunedb *db, const rgt__tunedb_wish *pin, rgt__error *err);
rgt_status rgt__tunedb_unpin(rgt__tunedb *db, const rgt__tunedb_wish *pin, rgt__error *err);
rgt_status rgt__tunedb_ban(rgt__tunedb *db, const rgt__tunedb_wish *ban, rgt__error *err);
rgt_status rgt__tunedb_unban(rgt__tunedb *db, const rgt__tunedb_wish *ban, rgt__error *err);

/* rgt__tunedb_pins, rgt__tunedb_bans -- those of an op and a device class (NULL: all), by text. fn returning non-zero stops
 * (RGT_OK); it must not use the database; texts are borrowed for the callback. RGT_OK, RGT_EINVAL, RGT_EDB, RGT_ENOMEM. */
typedef int (*rgt__tunedb_wish_fn)(void *user, const rgt__tunedb_wish *wish);
rgt_status rgt__tunedb_pins(rgt__tunedb *db, const char *op_text, const char *device_class, rgt__tunedb_wish_fn fn, void *user,
                            rgt__error *err);
rgt_status rgt__tunedb_bans(rgt__tunedb *db, const char *device_class, rgt__tunedb_wish_fn fn, void *user, rgt__error *err);

/* What was compiled and verified on this machine, and what came of it. */
typedef struct rgt__tunedb_checked {
  rgt__digest subject; /* digest of all that the code depends on beside the variant and the device class */
  const char *device_class;
  rgt__digest variant; /* rgt__tunedb_variant_key */
  rgt__digest template_digest;
  const char *toolchain, *driver;
  rgt_outcome outcome;
} rgt__tunedb_checked;

/* rgt__tunedb_check_put -- remembers it, in place of what was known of the same. rgt__tunedb_check_list -- all that is known
 * of a subject; fn as above. RGT_OK, RGT_EINVAL, RGT_EDB, RGT_ENOMEM. */
rgt_status rgt__tunedb_check_put(rgt__tunedb *db, const rgt__tunedb_checked *checked, rgt__error *err);
typedef int (*rgt__tunedb_checked_fn)(void *user, const rgt__tunedb_checked *checked);
rgt_status rgt__tunedb_check_list(rgt__tunedb *db, const rgt__digest *subject, const char *device_class,
                                  rgt__tunedb_checked_fn fn, void *user, rgt__error *err);

/* rgt__tunedb_conditions -- with which toolchain, driver and template the variant was timed for this signature and place; fn as
 * above. */
typedef int (*rgt__tunedb_conditions_fn)(void *user, const char *toolchain, const char *driver,
                                         const rgt__digest *template_digest);
rgt_status rgt__tunedb_conditions(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                                  const rgt__tunedb_variant *v, rgt__tunedb_conditions_fn fn, void *user, rgt__error *err);

/* rgt__tunedb_devices -- the places on other device classes where this signature, whatever its bucket, has a winner; fn as
 * above. */
typedef int (*rgt__tunedb_place_fn)(void *user, const rgt__tunedb_place *place);
rgt_status rgt__tunedb_devices(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                               rgt__tunedb_place_fn fn, void *user, rgt__error *err);

#endif
