/* absent.h -- what the command line knows but this version does not do. */
#ifndef RGT_CLI_ABSENT_H
#define RGT_CLI_ABSENT_H

#include "options.h"

/* rgt__absent_check -- what: an option or an action of the verb; value: what was given with it, or NULL.
 * RGT_OK, or RGT_EUNSUPPORTED with one line. */
rgt_status rgt__absent_check(rgt__verb verb, const char *what, const char *value, rgt__message *m);

#endif
