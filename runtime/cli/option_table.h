/* option_table.h -- every option of every verb: what it takes, where it goes, what it means. */
#ifndef RGT_CLI_OPTION_TABLE_H
#define RGT_CLI_OPTION_TABLE_H

#include "options.h"

typedef enum rgt__option_kind {
  RGT_OPTION_FLAG,
  RGT_OPTION_INTEGER, /* low .. high, into int64_t */
  RGT_OPTION_POWER,   /* the same, powers of two only */
  RGT_OPTION_REAL,    /* above 0 and up to high (below it where low is 1), into double */
  RGT_OPTION_WORD,    /* one of value's words, into int: low for the first, low + 1 for the next */
  RGT_OPTION_LIST,    /* whole numbers low .. high, separated by commas, into rgt__int_list */
  RGT_OPTION_TEXT,    /* not empty, up to high bytes, into const char * */
  RGT_OPTION_DEVICE   /* auto, cpu, cuda or cuda:N, into const char * */
} rgt__option_kind;

typedef struct rgt__option {
  const char *name;  /* "--in", "-o" */
  const char *value; /* how the value is written in --help; the words of RGT_OPTION_WORD; NULL for a flag */
  const char *about;
  rgt__option_kind kind;
  unsigned verbs; /* bits 1 << rgt__verb */
  size_t field;   /* offset in rgt__options */
  int64_t low, high;
  const char *heading; /* of the part of --help that begins here, else NULL */
} rgt__option;

typedef struct rgt__verb_entry {
  const char *name, *usage, *about;
} rgt__verb_entry;

#define RGT_OPTION_ENTRIES_MAX 64 /* room enough for the table, checked where it stands */

extern const rgt__option rgt__option_table[];
extern const size_t rgt__option_table_n;
extern const rgt__verb_entry rgt__verb_table[RGT_N_VERBS];

#define RGT_N_EXITS (RGT_EXIT_SURROUNDINGS + 1)
extern const char *const rgt__exit_table[RGT_N_EXITS]; /* what each exit status means */

#endif
