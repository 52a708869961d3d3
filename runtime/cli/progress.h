/* progress.h -- how far a search is: a bar on a terminal, plain lines otherwise, on stderr. */
#ifndef RGT_CLI_PROGRESS_H
#define RGT_CLI_PROGRESS_H

#include "ragtune.h"

/* rgt__progress_start -- from now on rgt__progress_show draws; quiet: it does not. */
void rgt__progress_start(int quiet);
/* rgt__progress_show -- rgt_tune_options.progress. */
void rgt__progress_show(void *user, const rgt_progress *progress);
/* rgt__progress_clear -- takes the bar away, so that other lines can be printed; the next show draws it again. */
void rgt__progress_clear(void);
/* rgt__progress_bar -- "[####----] 50 %  verify 36/72, 64 rows, 12 s left, LINE" cut to `width` columns; returns its length. */
int rgt__progress_bar(const rgt_progress *progress, int width, char *out, size_t out_size);
/* rgt__progress_line -- the same facts as one plain line. */
int rgt__progress_line(const rgt_progress *progress, char *out, size_t out_size);

#endif
