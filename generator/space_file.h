/* space_file.h -- a space file: `return { row_gather = { threads = { 64, 128 } }, pad8 = false }`. */
#ifndef RGT_GENERATOR_SPACE_FILE_H
#define RGT_GENERATOR_SPACE_FILE_H

#include "generator/families.h"

/* rgt__space_mask -- which values of a family's params are left: bit k of values[i] for params[i].values[k]. */
typedef struct rgt__space_mask {
  int removed;
  uint32_t values[RGT_PARAMS_MAX];
} rgt__space_mask;

void rgt__space_mask_all(const rgt__family *family, rgt__space_mask *mask);
/* rgt__space_file_read -- narrows masks[i], of family i of f. A family of another device may be named, and is checked too.
 * RGT_ETEMPLATE "name:line: ...", RGT_ENOMEM. */
rgt_status rgt__space_file_read(rgt__families *f, const char *text, const char *name, rgt__space_mask *masks, rgt__error *err);

#endif
