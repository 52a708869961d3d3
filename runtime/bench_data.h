/* bench_data.h -- one problem on the device, ready to be called again and again. */
#ifndef RGT_RUNTIME_BENCH_DATA_H
#define RGT_RUNTIME_BENCH_DATA_H

#include "runtime/problem.h"
#include "runtime/worker.h"

typedef struct rgt__bench_data {
  rgt__problem problem; /* on the host */
  rgt_kargs k;          /* device memory */
  void *memory;         /* one block for all that k points to; owned */
  char *placed;         /* in it, at a page's begin: NULL while sizes are added up */
  size_t used;
  void *workspace_memory, *workspace; /* the same for the workspace */
  int64_t workspace_bytes;
} rgt__bench_data;

rgt_status rgt__bench_data_open(rgt__device *d, const rgt__worker_task *task, rgt__bench_data *out, rgt__error *err);
/* rgt__bench_data_place -- the same data again, `offset` bytes into a page; for data of up to RGT_BENCH_DATA_MOVABLE bytes,
 * else nothing happens. offset is rounded down to a cache line. */
enum { RGT_BENCH_DATA_MOVABLE = 256 << 10 };
rgt_status rgt__bench_data_place(rgt__device *d, const rgt__worker_task *task, rgt__bench_data *b, size_t offset,
                                 rgt__error *err);
/* rgt__bench_data_workspace -- grows the workspace that candidates share, filled once, so that no page is touched first in a
 * timed call. RGT_ENOMEM. */
rgt_status rgt__bench_data_workspace(rgt__device *d, rgt__bench_data *b, int64_t bytes, rgt__error *err);
void rgt__bench_data_close(rgt__device *d, rgt__bench_data *b);

#endif
