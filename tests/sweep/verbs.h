/* verbs.h -- what ragtune_sweep can be told to do. */
#ifndef RGT_SWEEP_VERBS_H
#define RGT_SWEEP_VERBS_H

#include <stdint.h>

enum { SWEEP_EXIT_RIGHT = 0, SWEEP_EXIT_WRONG = 1, SWEEP_EXIT_USAGE = 2 };

typedef struct sweep_options {
  const char *word;    /* what stands without an option */
  const char *libcuda; /* the simulator */
  const char *target, *family;
  uint64_t seed;
  int limit;         /* compiles of the array */
  int part, n_parts; /* rows part, part + n_parts ... of the file; from 1 */
  int share;         /* only every share-th of them */
  int n_ragged, first_ragged, stop_at_first, all;
  int least;       /* ragged problems that must have been run */
  double budget_s; /* 0: no limit */
} sweep_options;

/* Each returns the exit status. */
int sweep_verb_array(const sweep_options *o);
int sweep_verb_run(const sweep_options *o);
int sweep_verb_row(const sweep_options *o);
int sweep_verb_spills(const sweep_options *o);
int sweep_verb_full(const sweep_options *o);

#endif
