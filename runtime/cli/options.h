/* options.h -- the command line: one table that parses it and prints --help. */
#ifndef RGT_CLI_OPTIONS_H
#define RGT_CLI_OPTIONS_H

#include "message.h"

#include <stdio.h>

typedef enum rgt__verb {
  RGT_VERB_TUNE,
  RGT_VERB_RUN,
  RGT_VERB_VERIFY,
  RGT_VERB_COMPILE,
  RGT_VERB_SHOW,
  RGT_VERB_WHY,
  RGT_VERB_DB,
  RGT_VERB_ENV,
  RGT_N_VERBS
} rgt__verb;

#define RGT_LIST_MAX 64 /* numbers in one --rows */

typedef struct rgt__int_list {
  int n;
  int64_t v[RGT_LIST_MAX];
} rgt__int_list;

/* What was typed. Numbers and words that were not given are -1, texts NULL, flags 0, lists empty. Texts are argv's own. */
typedef struct rgt__options {
  rgt__verb verb;
  int help, version;
  int64_t n_in, n_hidden, n_out, groups;
  int dtype, act, bias, layout, index_type;
  const char *op;
  rgt__int_list row_list;
  int64_t rows;
  int skew, weights, order, policy, emit;
  int64_t align, threads, sample, seed;
  double max_error, budget;
  int batch_invariant, force, exhaustive, quiet, json, list, remove, dry_run;
  const char *device, *index, *x, *w1, *b1, *w2, *b2, *y, *case_dir;
  const char *variant, *reason, *target, *output, *bundle, *space, *config, *shard, *db;
  const char **words; /* what stands without an option: the action of `db` and its files */
  int n_words;
} rgt__options;

/* rgt__options_parse -- argv[1..] into *o. words holds the pointers of o->words: room for argc of them.
 * Returns RGT_OK (look at o->help and o->version first), RGT_EINVAL. */
rgt_status rgt__options_parse(int argc, char **argv, const char **words, rgt__options *o, rgt__message *m);

/* rgt__options_help -- help of one verb; RGT_N_VERBS: of the program. */
void rgt__options_help(rgt__verb verb, FILE *file);
const char *rgt__options_verb_name(rgt__verb verb);

rgt_order rgt__options_order(const rgt__options *o); /* raw where none was given */

/* rgt__options_integer -- a whole number in [low, high], decimal digits only. 1 if text is one. */
int rgt__options_integer(const char *text, int64_t low, int64_t high, int64_t *out);
/* rgt__options_real -- a decimal number above 0 and up to high. 1 if text is one. */
int rgt__options_real(const char *text, double high, double *out);

#endif
