/* table.h -- text in aligned columns. */
#ifndef RGT_CLI_TABLE_H
#define RGT_CLI_TABLE_H

#include "ragtune.h"

#include <stdio.h>

typedef struct rgt__table {
  const char *align; /* one letter a column: 'l' or 'r' */
  char **cells;      /* row by row, owned */
  size_t n, room;
  int failed; /* memory ran out: printing says so */
} rgt__table;

void rgt__table_open(rgt__table *t, const char *align);
void rgt__table_cell(rgt__table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* rgt__table_print -- every row, columns two blanks apart, no blanks at line ends. RGT_ENOMEM where a cell was lost. */
rgt_status rgt__table_print(const rgt__table *t, FILE *file);
void rgt__table_free(rgt__table *t);

#endif
