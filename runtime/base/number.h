/* number.h -- storage types: sizes, names, conversion, rounding. */
#ifndef RGT_BASE_NUMBER_H
#define RGT_BASE_NUMBER_H

#include "runtime/ragtune.h"

size_t rgt__number_bytes(rgt_dtype dtype); /* 4, 2, 2 */
float rgt__number_from_f16(uint16_t bits);
float rgt__number_from_bf16(uint16_t bits);
double rgt__number_load(rgt_dtype dtype, const void *array, int64_t i);
/* rgt__number_store -- double to the storage type, one rounding, to nearest even; overflow gives Inf; NaN stays NaN. */
void rgt__number_store(rgt_dtype dtype, void *array, int64_t i, double v);
double rgt__number_round(rgt_dtype dtype, double v); /* what rgt__number_store would keep */
double rgt__number_u(rgt_dtype dtype);               /* unit roundoff: 2^-24, 2^-11, 2^-8 */
double rgt__number_eta(rgt_dtype dtype);             /* half the smallest subnormal: 2^-150, 2^-25, 2^-134 */
double rgt__number_max(rgt_dtype dtype);             /* largest finite */

int64_t rgt__number_bucket(int64_t rows); /* rounded up to a power of two; 0 and 1 give 1 */

#endif
