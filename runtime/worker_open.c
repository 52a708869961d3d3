/* worker_open.c -- a child process to run candidates in, or this one. */
#include "runtime/worker.h"
#include "runtime/worker_find.h"

rgt_status rgt__worker_open(const rgt__candidate_maker *maker, const rgt_op_desc *op, const rgt_case *data,
                            uint64_t verify_seed, int64_t verify_rows, rgt__worker **out, rgt__error *err) {
  char path[1024];
  rgt__worker_where where = RGT_WORKER_INSIDE;
  const rgt__environment *env = maker->device->opened.env;
  rgt_status status = env ? rgt__worker_find(env, &where, path, sizeof path, err) : RGT_OK;
  if (status != RGT_OK) return status;
  if (where == RGT_WORKER_INSIDE) return rgt__worker_open_local(maker, op, data, verify_seed, verify_rows, out, err);
  return rgt__worker_open_process(path, maker, op, data, verify_seed, verify_rows, out, err);
}
