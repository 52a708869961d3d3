/* tune_search.h -- the search of one op: what `tune OP` does once and `tune --config` for every op. */
#ifndef RGT_CLI_TUNE_SEARCH_H
#define RGT_CLI_TUNE_SEARCH_H

#include "npy.h"
#include "session.h"

/* rgt__tune_search_rows -- the row counts to tune, in the order given; from NULL: the default list. One of those that share a
 * bucket is enough, since buckets are what is tuned: each other one is named in a note, under `name`; NULL: no notes. */
void rgt__tune_search_rows(const int64_t *from, int n, const char *name, rgt__int_list *rows);
/* rgt__tune_search_space -- RGT_EIO where --space names a file that cannot be read. */
rgt_status rgt__tune_search_space(const rgt__options *o, rgt__message *m);
/* rgt__tune_search_run -- rgt_tune of s->op with --skew, --budget and the rest of o; index: of one bucket, or NULL.
 * Signals are the caller's to catch. Returns what rgt_tune returns; the message is set unless that is RGT_OK. */
rgt_status rgt__tune_search_run(rgt__session *s, const rgt__options *o, const rgt__int_list *rows, const rgt__npy *index,
                                rgt_tune_result *results, rgt__message *m);
/* rgt__tune_search_answered -- 1 if results are there although rgt_tune may have failed. */
int rgt__tune_search_answered(rgt_status status);

/* rgt__tune_search_note_interrupted -- what becomes of what was measured in a search that was interrupted. */
void rgt__tune_search_note_interrupted(const char *database);

#endif
