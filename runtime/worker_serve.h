/* worker_serve.h -- the child's side: answers the parent's messages, with a local worker underneath. */
#ifndef RGT_RUNTIME_WORKER_SERVE_H
#define RGT_RUNTIME_WORKER_SERVE_H

#include "runtime/worker_journal.h"

/* rgt__worker_serve -- says hello on fd (blocking) and answers until it closes. 0: it was closed between two messages; 1: it
 * broke off, or what came was no message of ours. */
int rgt__worker_serve(int fd, rgt__worker_journal *journal);

#endif
