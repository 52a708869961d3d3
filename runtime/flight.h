/* flight.h -- one maker at a time: of several processes, or threads, that want the same thing made, one makes it and the others
 * wait, with a limit, and then take what it made or go on alone.
 *
 * The lock is a file, held by flock: the system lets go of it when its holder ends, however it ends, so that none is ever
 * stale.
 */
#ifndef RGT_RUNTIME_FLIGHT_H
#define RGT_RUNTIME_FLIGHT_H

#include "runtime/base/stop.h"

typedef enum rgt__flight_turn {
  RGT_FLIGHT_MINE,   /* nobody else makes it now */
  RGT_FLIGHT_ALONE,  /* no lock can be had here, or the other one took too long: nothing is known of others */
  RGT_FLIGHT_STOPPED /* the stop came first */
} rgt__flight_turn;

typedef struct rgt__flight {
  int fd; /* -1: nothing is held */
  char path[1024];
} rgt__flight;

/* rgt__flight_begin -- waits up to limit_s for the lock at `path`, whose folder is there. What was looked for must be looked
 * for again on RGT_FLIGHT_MINE and RGT_FLIGHT_ALONE: somebody may have made it meanwhile. */
rgt__flight_turn rgt__flight_begin(const char *path, double limit_s, const rgt__stop *stop, rgt__flight *out);
/* rgt__flight_end -- lets the next one have it; the file is removed. Nothing happens where nothing is held. */
void rgt__flight_end(rgt__flight *f);
/* rgt__flight_clear -- 1 if nobody held the lock at `path`, and its file is removed now. */
int rgt__flight_clear(const char *path);

#endif
