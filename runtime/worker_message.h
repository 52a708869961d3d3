/* worker_message.h -- what the messages of ragtune-worker say: each thing put and got by one pair of functions. */
#ifndef RGT_RUNTIME_WORKER_MESSAGE_H
#define RGT_RUNTIME_WORKER_MESSAGE_H

#include "runtime/wire.h"
#include "runtime/worker.h"
#include "runtime/worker_journal.h"

/* the child's descriptors */
enum { RGT_WORKER_SOCKET_FD = 3, RGT_WORKER_JOURNAL_FD = 4 };

/* rgt__worker_abi -- of the library's version and the layout of everything sent as it lies: equal on both ends or no talk. */
void rgt__worker_abi(rgt__digest *out);

/* How the child opens the device, and what it verifies there. */
typedef struct rgt__worker_opening {
  rgt__environment env; /* owned by a received one */
  char kind[16];
  int ordinal, threads;
  char scratch[300];    /* folder for temporary files */
  int64_t memory_bytes; /* of each process of a compiler */
  rgt__target target;
  int compiles; /* it only compiles, for target: no op */
  rgt__render_facts facts;
  rgt_op_desc op;
  uint64_t seed;
  int64_t rows;
  const rgt_case *data; /* NULL or a case; a received one points to the next field */
  rgt_case received;    /* arrays owned */
} rgt__worker_opening;

/* put takes the environment from env, which may be another's. Getters return 0 where the message is damaged, or memory ran out;
 * what they have taken by then is freed. */
void rgt__worker_put_opening(rgt__buffer *b, const rgt__worker_opening *o, const rgt__environment *env);
int rgt__worker_get_opening(rgt__wire_reader *r, rgt__worker_opening *out);
void rgt__worker_opening_free(rgt__worker_opening *o); /* a received one */

/* A task; a received one owns its index (rgt__free). */
void rgt__worker_put_task(rgt__buffer *b, const rgt__worker_task *task);
int rgt__worker_get_task(rgt__wire_reader *r, rgt__worker_task *out);

/* A candidate as it is loaded and verified: text, numeric facts, op, program, and the path or bytes of its code. */
void rgt__worker_put_candidate(rgt__buffer *b, int64_t number, const rgt__candidate *c);
int rgt__worker_get_candidate(rgt__wire_reader *r, int64_t *number, rgt__candidate *out); /* freed by rgt__candidate_free */

void rgt__worker_put_result(rgt__buffer *b, const rgt__verify_result *result);
int rgt__worker_get_result(rgt__wire_reader *r, rgt__verify_result *out);

void rgt__worker_put_compiled(rgt__buffer *b, const rgt__compiled *c);
int rgt__worker_get_compiled(rgt__wire_reader *r, rgt__compiled *out); /* freed by rgt__compiled_free */

/* Every reply begins with a status and its message. */
void rgt__worker_put_status(rgt__buffer *b, rgt_status status, const rgt__error *err);
int rgt__worker_get_status(rgt__wire_reader *r, rgt_status *status, rgt__error *err);

#endif
