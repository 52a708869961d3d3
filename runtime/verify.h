/* verify.h -- is a loaded variant right? Both passes of verify.md, poison, canaries, masked rows, rule 7b. */
#ifndef RGT_RUNTIME_VERIFY_H
#define RGT_RUNTIME_VERIFY_H

#include "runtime/device.h"
#include "runtime/problem.h"

/* Something that computes y for a problem: a loaded variant on a device, or the built-in kernel. */
typedef struct rgt__callable {
  rgt__device *device;
  void *self;
  /* run -- fills in what k lacks (nothing of the data); k's pointers are device memory; rows and groups in k may be any. */
  rgt_status (*run)(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *err);
} rgt__callable;

typedef struct rgt__verify_plan { /* which problems: made once for an op, used for every variant */
  rgt_op_desc op;
  rgt_weight_form form;
  rgt_order order;
  int64_t rows; /* of the bound pass, at least 256 */
  uint64_t seed;
  const rgt_case *data; /* NULL or the caller's case; borrowed until the verify is freed */
  int align_bytes;      /* what the callable was compiled to be promised: divides every base, ld and stride in bytes; 0: the
                           element's size */
} rgt__verify_plan;

typedef struct rgt__verify_result { /* see rgt_verdict */
  rgt_status status;                /* RGT_OK or RGT_EWRONG */
  const char *pass;
  int64_t row, column;
  double value, expected, bound, error_share;
  char reason[RGT_REASON_MAX];
} rgt__verify_result;

typedef struct rgt__verify rgt__verify; /* problems and their references, made once and reused */

rgt_status rgt__verify_open(const rgt__verify_plan *plan, rgt__verify **out, rgt__error *err);
void rgt__verify_free(rgt__verify *v);
/* rgt__verify_bound -- bound pass, case, metamorphic rule, poison, canaries, masked rows, status of an index out of range.
 * rgt__verify_exact -- exact pass: callable must compute the op's relu twin where the op has another activation.
 * Both: RGT_OK and the verdict in *result, right or wrong; else why no verdict could be had (memory, launch failure). */
rgt_status rgt__verify_bound(rgt__verify *v, const rgt__callable *c, const rgt__numeric *numeric, rgt__verify_result *result,
                             rgt__error *err);
rgt_status rgt__verify_exact(rgt__verify *v, const rgt__callable *c, rgt__verify_result *result, rgt__error *err);

#endif
