/* worker_journal.h -- one page that a worker's child and its parent share: which candidate is being touched, how, and since
 * when. The child writes it before it touches the candidate, so that the page tells the truth however the child ends. */
#ifndef RGT_RUNTIME_WORKER_JOURNAL_H
#define RGT_RUNTIME_WORKER_JOURNAL_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum rgt__worker_phase {
  RGT_WORKER_NOTHING, /* making data, waiting */
  RGT_WORKER_LOADING,
  RGT_WORKER_VERIFYING,
  RGT_WORKER_TIMING
} rgt__worker_phase;

typedef struct rgt__worker_journal {
  _Atomic int64_t candidate; /* number of the one in work, 0: none. It stays until the next, or until the task is done */
  _Atomic int64_t phase;     /* rgt__worker_phase */
  _Atomic int64_t since_ns;  /* CLOCK_MONOTONIC; 0: its code does not run now */
  _Atomic int64_t turn;      /* counts how often a candidate's code was entered */
  _Atomic int64_t bytes;     /* resident when it was entered for verification; 0: not looked at */
} rgt__worker_journal;

int64_t rgt__worker_journal_now(void); /* ns of CLOCK_MONOTONIC, above 0 */
/* enter: its code runs from now on; leave: it has returned; clear: it is no longer in work. */
void rgt__worker_journal_enter(rgt__worker_journal *j, int64_t candidate, rgt__worker_phase phase);
void rgt__worker_journal_leave(rgt__worker_journal *j);
void rgt__worker_journal_clear(rgt__worker_journal *j);
const char *rgt__worker_phase_word(rgt__worker_phase phase); /* "verification" */

/* make: a descriptor of a new page, closed on exec, and the page; open: the page of a descriptor. NULL on failure. */
rgt__worker_journal *rgt__worker_journal_make(int *fd);
rgt__worker_journal *rgt__worker_journal_open(int fd);
void rgt__worker_journal_close(rgt__worker_journal *j); /* takes NULL */

#endif
