/* process.h -- runs a program to its end, with limits; no shell. */
#ifndef RGT_RUNTIME_PROCESS_H
#define RGT_RUNTIME_PROCESS_H

#include "runtime/base/buffer.h"
#include "runtime/base/error.h"
#include "runtime/base/stop.h"

typedef struct rgt__process_limits {
  int ms;
  size_t memory_bytes;   /* of each process; 0: none */
  const rgt__stop *stop; /* NULL, or what ends it early */
  int same_group;        /* it stays in this process's group, whose leader ends it: no limit in ms then */
} rgt__process_limits;

/* rgt__process_run -- argv[0] is a path. What it writes to stdout and stderr together goes to output (at most 1 MiB of it).
 * *exit_status: 0..255, or 128 + signal. Returns RGT_OK when it ran to an end, RGT_ETIMEOUT (killed with its children after
 * limits->ms), RGT_EINTERRUPTED (killed likewise: limits->stop), RGT_EIO (could not be started, or its exit status is lost to
 * the host), RGT_ENOMEM. Threads: any. */
rgt_status rgt__process_run(char *const argv[], const rgt__process_limits *limits, rgt__buffer *output, int *exit_status,
                            rgt__error *err);

/* rgt__process_signal -- "SIGSEGV", or "signal 40" for one that has no name here, written to text, which is returned. */
const char *rgt__process_signal(int number, char text[24]);

#endif
