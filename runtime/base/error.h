/* error.h -- the one line that says what went wrong. */
#ifndef RGT_BASE_ERROR_H
#define RGT_BASE_ERROR_H

#include "runtime/ragtune.h"

typedef struct rgt__error {
  char text[1024]; /* "" when nothing failed */
} rgt__error;

/* rgt__error_set -- writes the line and returns `status`, so that a failure is one statement:
 *     return rgt__error_set(err, RGT_EINVAL, "--in: %s is no whole number from 1 to %d", word, limit);
 * err may be NULL; line breaks inside the text become "; ". */
rgt_status rgt__error_set(rgt__error *err, rgt_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* rgt__error_prefix -- puts "what: " before the text that is there. Returns status. */
rgt_status rgt__error_prefix(rgt__error *err, rgt_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* rgt__error_null -- RGT_EINVAL: the argument `name` is NULL. */
rgt_status rgt__error_null(rgt__error *err, const char *name);
rgt_status rgt__error_nomem(rgt__error *err, size_t bytes);

#endif
