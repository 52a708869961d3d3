/* derive.h -- standings and winner of one signature and place, from its trials. */
#ifndef RGT_TUNEDB_DERIVE_H
#define RGT_TUNEDB_DERIVE_H

#include "tunedb/load.h"
#include "tunedb/winner.h"

typedef struct rgt__derived {
  rgt__load_scene scene;
  rgt__winner_standing *standings; /* by (ratio, variant); newest is a position in scene.trials */
  int n_standings;
  int winner, runner_up; /* positions in standings, -1: none */
  int complete;          /* a final duel is among the trials */
} rgt__derived;

/* rgt__derive_scene -- reads and derives; writes nothing. Within the caller's transaction. */
rgt_status rgt__derive_scene(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, rgt__derived *out,
                             rgt__error *err);
void rgt__derive_free(rgt__derived *d);
/* rgt__derive_store -- derives and replaces the stored rows. Within the caller's write transaction. */
rgt_status rgt__derive_store(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, rgt__error *err);

#endif
