/* space.h -- the variants that the specs, and a space file, allow for an op on a target. */
#ifndef RGT_GENERATOR_SPACE_H
#define RGT_GENERATOR_SPACE_H

#include "generator/spec.h"

typedef struct rgt__space {
  int n;
  rgt__variant
      *variants;  /* families by rank, then params in canonical order; a family's default variant comes first of its family */
  int n_rejected; /* by named constraints */
} rgt__space;

/* rgt__space_enumerate -- every variant of every family of target->device that fits op. narrow: text of a space file or NULL
 * (narrow_name names it in messages). RGT_ETEMPLATE: unknown family, param or value in the space file, with its line.
 * A family whose constraints fail is left out (rgt__families_fault); RGT_ETEMPLATE where it was the last.
 * More than limit variants is RGT_ETEMPLATE too (limit 0: 10,000). */
rgt_status rgt__space_enumerate(rgt__families *f, const rgt_op_desc *op, const rgt__target *target, const char *narrow,
                                const char *narrow_name, int limit, rgt__space *out, rgt__error *err);
/* rgt__space_sample -- keeps `n` of them, drawn with seed, in their order; the default of each family stays. */
void rgt__space_sample(rgt__space *s, int n, uint64_t seed);
/* rgt__space_drop -- without the variants of a family that was left out. */
void rgt__space_drop(rgt__space *s, const rgt__family *family);
void rgt__space_free(rgt__space *s);

#endif
