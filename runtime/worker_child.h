/* worker_child.h -- the parent's hand on one ragtune-worker process: start it, ask it, watch it, end it. */
#ifndef RGT_RUNTIME_WORKER_CHILD_H
#define RGT_RUNTIME_WORKER_CHILD_H

#include <sys/types.h>

#include "runtime/base/file.h"
#include "runtime/base/stop.h"
#include "runtime/wire.h"
#include "runtime/worker_journal.h"

typedef struct rgt__worker_child {
  pid_t pid; /* 0: there is none */
  int fd;
  rgt__worker_journal *journal;
  char scratch[300];       /* its folder for temporary files, swept when it ends */
  rgt__wire_message reply; /* the last one: a RGT_WIRE_REPLY */
} rgt__worker_child;       /* all zero: none */

/* rgt__worker_child_start -- a process of its own group, with a folder below scratch_parent; its hello is checked. program is a
 * path. RGT_ENOWORKER: it is no worker of this library; RGT_EIO; RGT_ENOMEM. */
rgt_status rgt__worker_child_start(const char *program, const char *scratch_parent, rgt__worker_child *out, rgt__error *err);

/* What a parent waits for, and for how long. 0: no limit. */
typedef struct rgt__worker_patience {
  double run_s;          /* while the journal says that a candidate's code runs */
  double whole_s;        /* from the question on */
  int64_t memory_bytes;  /* resident, added since the candidate's code was entered (whole_s: since the question) */
  const rgt__stop *stop; /* or NULL */
} rgt__worker_patience;

/* How a child ended, and what it was doing. */
typedef struct rgt__worker_death {
  enum {
    RGT_DEATH_ITS_OWN,
    RGT_DEATH_BY_LIMIT,
    RGT_DEATH_KILLED
  } how;             /* KILLED: SIGKILL, and not by us: maybe for want of memory */
  int64_t candidate; /* as the journal names it; 0: none */
  rgt__worker_phase phase;
  int over_time;  /* BY_LIMIT: of time, not of memory */
  char text[160]; /* "SIGSEGV", "exit status 3", "still running after 10 s", "took over 2048 MiB" */
} rgt__worker_death;

/* rgt__worker_child_ask -- sends a question and waits for its reply, which is then in c->reply. RGT_OK; RGT_ECRASH: it ended,
 * or was ended at a limit, as *death says; RGT_EINTERRUPTED: ended because of the stop; RGT_ENOMEM: ended, for the reply does
 * not fit. Whenever it is not RGT_OK the child is gone. */
rgt_status rgt__worker_child_ask(rgt__worker_child *c, rgt__wire_kind kind, const rgt__buffer *body,
                                 const rgt__worker_patience *patience, rgt__worker_death *death, rgt__error *err);
/* rgt__worker_child_tell -- a message without a reply; an end shows with the next question. */
void rgt__worker_child_tell(rgt__worker_child *c, rgt__wire_kind kind, const rgt__buffer *body);
/* rgt__worker_child_end -- asks it to end, and kills it with its group where it does not; waits for it, sweeps its folder. */
void rgt__worker_child_end(rgt__worker_child *c);

/* rgt__worker_sweep -- removes a folder with what is in it, as far as that belongs to this user; nothing is followed. */
void rgt__worker_sweep(const char *folder);

#endif
