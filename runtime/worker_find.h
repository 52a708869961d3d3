/* worker_find.h -- where the program ragtune-worker is, and what candidates may take in it. */
#ifndef RGT_RUNTIME_WORKER_FIND_H
#define RGT_RUNTIME_WORKER_FIND_H

#include "runtime/base/environment.h"

typedef enum rgt__worker_where {
  RGT_WORKER_CHILD, /* a program was found */
  RGT_WORKER_INSIDE /* RAGTUNE_WORKER=inside: in this process, for debuggers */
} rgt__worker_where;

/* rgt__worker_find -- RAGTUNE_WORKER, else the installed one, else beside this library, else beside the running program. The
 * path of a program in path. RGT_ENOWORKER: the message names every place. */
rgt_status rgt__worker_find(const rgt__environment *env, rgt__worker_where *where, char *path, size_t path_size,
                            rgt__error *err);

typedef struct rgt__worker_limits {
  double run_s;     /* of one batch or one call of a candidate */
  double compile_s; /* of one source */
  int64_t memory;   /* bytes that a candidate's run, or a process of a compiler, may add */
} rgt__worker_limits;

/* rgt__worker_limits_read -- 10 s, 60 s, 2 GiB, where the environment says nothing else. RGT_EINVAL names the variable. */
rgt_status rgt__worker_limits_read(const rgt__environment *env, rgt__worker_limits *out, rgt__error *err);

#endif
