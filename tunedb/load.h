/* load.h -- rows of the database as the structs of tunedb.h. */
#ifndef RGT_TUNEDB_LOAD_H
#define RGT_TUNEDB_LOAD_H

#include "tunedb/handle.h"

/* Copies of texts, freed together. All zero is an empty arena. */
typedef struct rgt__load_block rgt__load_block;
typedef struct rgt__load_arena {
  rgt__load_block *blocks;
  int failed; /* out of memory: some copies are "" */
} rgt__load_arena;

const char *rgt__load_copy(rgt__load_arena *arena, const char *text);
void rgt__load_arena_free(rgt__load_arena *arena);

typedef struct rgt__load_run {
  rgt__digest key;
  rgt__tunedb_run run;
} rgt__load_run;

typedef struct rgt__load_trial {
  rgt__digest key, variant;
  int run; /* position in runs */
  rgt__tunedb_trial trial;
} rgt__load_trial;

/* Every run and trial of one signature and place: runs oldest first, trials in the order of their runs, then keys. */
typedef struct rgt__load_scene {
  rgt__load_arena arena;
  rgt__load_run *runs;
  rgt__load_trial *trials;
  int n_runs, n_trials, runs_capacity, trials_capacity;
} rgt__load_scene;

rgt_status rgt__load_scene_read(rgt__tunedb *db, const rgt__digest *signature, const rgt__digest *place, rgt__load_scene *out,
                                rgt__error *err);
void rgt__load_scene_free(rgt__load_scene *scene);

/* Columns of RGT_SQL_RUN_COLUMNS, RGT_SQL_SIGNATURE_COLUMNS and RGT_SQL_TRIAL_COLUMNS; of a place: key, class, policy, clock.
 * With arena NULL texts are borrowed from the statement until its next step. */
void rgt__load_run_row(rgt__reader *r, rgt__load_arena *arena, rgt__load_run *out);
void rgt__load_signature_row(rgt__reader *r, rgt__load_arena *arena, rgt__digest *key, rgt__tunedb_signature *out);
void rgt__load_place_row(rgt__reader *r, rgt__load_arena *arena, rgt__digest *key, rgt__tunedb_place *out, const char **clock);
void rgt__load_trial_row(rgt__reader *r, rgt__load_arena *arena, rgt__load_trial *out);
/* rgt__load_run_trials -- appends what `name` (RGT_SQL_RUN_TRIALS or its backwards form) finds for scene->runs[run]. On failure
 * keeps what was read before it. */
rgt_status rgt__load_run_trials(rgt__tunedb *db, rgt__sql_name name, int run, rgt__load_scene *scene, rgt__error *err);
/* rgt__load_grow -- room for one more item in an array that doubles. */
rgt_status rgt__load_grow(void **items, int n, int *capacity, size_t item_bytes, rgt__error *err);

#endif
