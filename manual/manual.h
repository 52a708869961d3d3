/* manual.h -- the man page and the shells' completions, printed from the command line's own table. */
#ifndef RGT_MANUAL_MANUAL_H
#define RGT_MANUAL_MANUAL_H

#include <stdio.h>

#include "runtime/cli/option_table.h"

/* Each prints one whole file. */
void rgt__manual_page(FILE *out);
void rgt__manual_bash(FILE *out);
void rgt__manual_zsh(FILE *out);
void rgt__manual_fish(FILE *out);

/* ---- words.c: what the table says, as completions want it ---- */

typedef enum rgt__manual_values {
  RGT_VALUES_NONE,   /* a flag */
  RGT_VALUES_WORDS,  /* some of a list: rgt__manual_words */
  RGT_VALUES_FILE,   /* a file's name */
  RGT_VALUES_FOLDER, /* a folder's name */
  RGT_VALUES_FREE    /* a number or a text of the user's */
} rgt__manual_values;

rgt__manual_values rgt__manual_values_of(const rgt__option *e);
/* rgt__manual_words -- the words of an option, or of a verb (the actions of `db`), separated by blanks; "" if there are none.
 */
void rgt__manual_words(const rgt__option *e, char *text, size_t size);
void rgt__manual_actions(rgt__verb verb, char *text, size_t size);
/* rgt__manual_has -- 1 if the option belongs to the verb. */
int rgt__manual_has(const rgt__option *e, int verb);

#endif
