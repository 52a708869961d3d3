/* table.c -- text in aligned columns. */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 16

void rgt__table_open(rgt__table *t, const char *align) {
  memset(t, 0, sizeof *t);
  t->align = align;
}

void rgt__table_cell(rgt__table *t, const char *format, ...) {
  va_list list;
  char *text = NULL;
  if (t->n == t->room) {
    size_t room = t->room ? 2 * t->room : 64;
    char **cells = realloc(t->cells, room * sizeof *cells);
    if (!cells) {
      t->failed = 1;
      return;
    }
    t->cells = cells;
    t->room = room;
  }
  va_start(list, format);
  if (vasprintf(&text, format, list) < 0) text = NULL;
  va_end(list);
  if (text)
    t->cells[t->n++] = text;
  else
    t->failed = 1;
}

rgt_status rgt__table_print(const rgt__table *t, FILE *file) {
  size_t n_columns = strlen(t->align), width[COLUMNS_MAX] = {0}, i;
  if (t->failed || n_columns > COLUMNS_MAX) return RGT_ENOMEM;
  for (i = 0; i < t->n; i++)
    if (strlen(t->cells[i]) > width[i % n_columns]) width[i % n_columns] = strlen(t->cells[i]);
  for (i = 0; i < t->n; i++) {
    size_t column = i % n_columns;
    int last = column + 1 == n_columns || i + 1 == t->n, pad = (int)width[column];
    if (t->align[column] == 'r')
      fprintf(file, "%*s", pad, t->cells[i]);
    else
      fprintf(file, "%-*s", last ? 0 : pad, t->cells[i]);
    fputs(last ? "\n" : "  ", file);
  }
  return RGT_OK;
}

void rgt__table_free(rgt__table *t) {
  for (size_t i = 0; i < t->n; i++) free(t->cells[i]);
  free(t->cells);
  memset(t, 0, sizeof *t);
}
