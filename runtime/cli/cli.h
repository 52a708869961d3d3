/* cli.h -- the verbs: each takes the options and returns the exit status. */
#ifndef RGT_CLI_CLI_H
#define RGT_CLI_CLI_H

#include "options.h"

int rgt__cli_tune(const rgt__options *o);
int rgt__cli_tune_config(const rgt__options *o); /* tune --config */
int rgt__cli_run(const rgt__options *o);
int rgt__cli_verify(const rgt__options *o);
int rgt__cli_compile(const rgt__options *o);
int rgt__cli_show(const rgt__options *o);
int rgt__cli_why(const rgt__options *o);
int rgt__cli_db(const rgt__options *o);
int rgt__cli_env(const rgt__options *o);

/* cli_words.c -- what enums of ragtune.h are called in print */
const char *rgt__cli_outcome_word(rgt_outcome outcome);
const char *rgt__cli_skew_word(rgt_skew skew);
const char *rgt__cli_from_word(rgt_layer_kind from);
const char *rgt__cli_match_word(rgt_match match);

#endif
