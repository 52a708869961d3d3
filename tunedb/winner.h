/* winner.h -- which variant wins: pure functions over sets of trials. */
#ifndef RGT_TUNEDB_WINNER_H
#define RGT_TUNEDB_WINNER_H

#include "tunedb/tunedb.h"

/* One trial of one signature and place, with the keys that tell it apart. */
typedef struct rgt__winner_trial {
  rgt__digest key, variant;
  rgt__digest run; /* the run's id */
  int64_t started_utc_s;
  const rgt__tunedb_trial *trial;
} rgt__winner_trial;

/* One variant that has a usable time. */
typedef struct rgt__winner_standing {
  rgt__digest variant;
  int newest;                            /* position in trials: the trial that counts of its newest run */
  int64_t ratio_ppm;                     /* median over runs; of an even number the lower one of the middle two */
  int64_t ratio_low_ppm, ratio_high_ppm; /* of the newest run */
  int n_runs;
} rgt__winner_standing;

/* rgt__winner_standings -- every variant's standing, by (ratio, variant key). The same set gives the same result in any order,
 * with any repetition.
 *   counts    of each run and variant the ok trial with most samples; of equals the final one, then the smaller key.
 *   excluded  ok trials of a variant, template digest and code that was wrong or crashed in any run; a wrong or crashed trial
 *             without a code excludes every code of its variant and template digest.
 *   newest    the run that started last; of equals the larger id.
 * standings holds n. RGT_ENOMEM. */
rgt_status rgt__winner_standings(const rgt__winner_trial *trials, int n, rgt__winner_standing *standings, int *n_standings);

/* What the choice looks at. */
typedef struct rgt__winner_candidate {
  rgt__digest variant;
  char text[264]; /* canonical: "family:params" */
  int revision, rank, is_default;
  int64_t ratio_ppm, ratio_low_ppm, ratio_high_ppm;
} rgt__winner_candidate;

#define RGT_WINNER_DEFAULT_PPM 1000000
#define RGT_WINNER_TIE_PERCENT 2
#define RGT_WINNER_TIE_MAX_PERCENT 5

/* rgt__winner_choose -- positions of the winner and of the runner-up, -1 where there is none.
 *   may win    the default; and what is not slower than it, ratio <= 1,000,000 ppm.
 *   best       smallest ratio of those.
 *   ties       what may win and is within 2 % of the best. The default and families of a smaller rank tie too where their
 *              ratio lies in the best's interval, or their interval holds the best's ratio, but never over 5 % above the
 *              best: noise is no reason to leave the simpler one. Among equals by rank it would be no reason to prefer either.
 *   winner     of best and ties: the default, then the smaller rank, then the canonical text, then the newer revision.
 *   runner-up  smallest ratio of all the others, slower than the default or not; ties as above.
 */
void rgt__winner_choose(const rgt__winner_candidate *c, int n, int *winner, int *runner_up);

/* rgt__winner_reach -- no candidate with a larger ratio can tie with a best of this ratio. */
int64_t rgt__winner_reach(int64_t best_ppm);
void rgt__winner_text(char text[264], const char *family, const char *params);

#endif
