/* process.h -- runs a program to its end, with a time limit; no shell. */
#ifndef RGT_RUNTIME_PROCESS_H
#define RGT_RUNTIME_PROCESS_H

#include "runtime/base/buffer.h"
#include "runtime/base/error.h"

/* rgt__process_run -- argv[0] is a path. What it writes to stdout and stderr together goes to output (at most 1 MiB of it).
 * *exit_status: 0..255, or 128 + signal. Returns RGT_OK when it ran to an end, RGT_ETIMEOUT (killed with its children after
 * limit_ms), RGT_EIO (could not be started, or its
 * exit status is lost to the host), RGT_ENOMEM. Threads: any. */
rgt_status rgt__process_run(char *const argv[], int limit_ms, rgt__buffer *output, int *exit_status, rgt__error *err);

#endif
