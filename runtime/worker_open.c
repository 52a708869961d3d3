/* worker_open.c -- a child process to run candidates in, or this one. */
#include "runtime/worker.h"
#include "runtime/worker_find.h"

rgt_status rgt__worker_open(const rgt__candidate_maker *maker, const rgt_op_desc *op, const rgt_case *data,
                            uint64_t verify_seed, int64_t verify_rows, rgt__worker **out, rgt__error *err) {
  return rgt__worker_open_local(maker, op, data, verify_seed, verify_rows, out, err);
}
