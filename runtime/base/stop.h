/* stop.h -- what ends long work early: the caller's flag, or a time that has come. */
#ifndef RGT_BASE_STOP_H
#define RGT_BASE_STOP_H

typedef struct rgt__stop {
  const volatile int *flag; /* NULL, or non-zero: stop */
  double deadline_s;        /* of CLOCK_MONOTONIC; 0: none */
} rgt__stop;                /* all zero never stops; its owner changes it only while nothing asks */

int rgt__stop_now(const rgt__stop *s); /* s may be NULL. Threads: any. */

#endif
