/* verify_parts.h -- what the passes of verify share: one outcome, one way to write it down. */
#ifndef RGT_RUNTIME_VERIFY_PARTS_H
#define RGT_RUNTIME_VERIFY_PARTS_H

#include "runtime/verify_data.h"
#include "runtime/verify_set.h"

typedef enum rgt__verify_mode { RGT_VERIFY_EXACT, RGT_VERIFY_BOUND } rgt__verify_mode;

/* rgt__verify_check_fail -- the verdict "wrong" with its place and reason; returns 0, so that a check can end with it. */
int rgt__verify_check_fail(rgt__verify_result *result, const char *pass, int64_t row, int64_t column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* rgt__verify_check_elements -- every element of a call on all rows in order, row by row: masked rows +0, or untouched where the
 * call adds; everything written, then by mode bit for bit or within the bound. pass names the failure of a compared value
 * ("exact", "bound", "case"). 1 if right. */
int rgt__verify_check_elements(const rgt__verify_set *s, const rgt__verify_call *call, const rgt__verify_output *y, int fill,
                               rgt__verify_mode mode, const char *pass, rgt__verify_result *result);
/* rgt__verify_check_rest -- fences, gaps and inputs untouched ("canary"), index errors counted as they are ("status"). 1 if
 * right. */
int rgt__verify_check_rest(const rgt__problem *p, const rgt__verify_call *call, const rgt__verify_output *y,
                           rgt__verify_result *result);
/* rgt__verify_check_none -- row of a call that has no group: +0 in every column, or what was there where the call adds. pass
 * "masked" or "status". 1 if right. */
int rgt__verify_check_none(const rgt__problem *p, const rgt__verify_call *call, const unsigned char *y, int64_t row, int fill,
                           const char *pass, rgt__verify_result *result);

/* rgt__verify_rows -- rule 7b and the odd calls: the problem's rows permuted (as far as its order lets them be), dropped, added;
 * sizes 1, 8 and odd; one group; all masked; none; indices out of range; a NaN; y added to. padded: the problem on the device, laid out padded. base: y of all of it. */
rgt_status rgt__verify_rows(const rgt__verify_set *s, rgt__verify_data *padded, const rgt__callable *c, uint64_t seed,
                            const unsigned char *base, int *right, rgt__verify_result *result, rgt__error *err);

#endif
