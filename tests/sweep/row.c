/* row.c -- one row of the sweep, and its text. */
#include "row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"

void sweep_row_format(const sweep_row *row, char text[SWEEP_ROW_MAX]) {
  char op[RGT_OP_TEXT_MAX] = "";
  rgt__op_format(&row->op, op, NULL);
  snprintf(text, SWEEP_ROW_MAX, "%s %s %s %s %s a%d x%d %s %s", row->target, op, row->variant, rgt__op_form_word(row->form),
           rgt__op_order_word(row->order), row->align_bytes, row->x_div, row->y_mode == RGT_Y_ADD ? "add" : "set",
           row->case_name[0] ? row->case_name : "-");
}

static int take_number(const char *word, char letter, int *out) {
  char *end;
  if (word[0] != letter || !word[1]) return 0;
  long v = strtol(word + 1, &end, 10);
  *out = (int)v;
  return !*end && v >= 0 && v <= 1024;
}

rgt_status sweep_row_parse(const char *text, sweep_row *row, rgt__error *err) {
  enum { N_WORDS = 9 };
  static const char *const names[N_WORDS] = {"target",    "op",    "variant", "weight form", "order",
                                             "alignment", "x_div", "y_mode",  "case"};
  char copy[SWEEP_ROW_MAX], *word[N_WORDS], *rest = copy, *next;
  int n = 0, bad = -1;
  *row = (sweep_row){.x_div = 1};
  if (strlen(text) >= sizeof copy) return rgt__error_set(err, RGT_EINVAL, "row: longer than %d bytes", SWEEP_ROW_MAX - 1);
  strcpy(copy, text);
  while ((next = strtok_r(n ? NULL : copy, " \n", &rest)) && n < N_WORDS) word[n++] = next;
  if (n < N_WORDS) return rgt__error_set(err, RGT_EINVAL, "row \"%s\": no %s; a row has %d words", text, names[n], N_WORDS);
  rgt_status status = rgt__op_parse(word[1], &row->op, err);
  if (status != RGT_OK) return status;
  snprintf(row->target, sizeof row->target, "%s", word[0]);
  snprintf(row->variant, sizeof row->variant, "%s", word[2]);
  if (!rgt__op_form_parse(word[3], &row->form)) bad = 3;
  if (!rgt__op_order_parse(word[4], &row->order)) bad = 4;
  if (!take_number(word[5], 'a', &row->align_bytes)) bad = 5;
  if (!take_number(word[6], 'x', &row->x_div) || row->x_div < 1) bad = 6;
  if (strcmp(word[7], "add") && strcmp(word[7], "set")) bad = 7;
  row->y_mode = strcmp(word[7], "add") ? RGT_Y_SET : RGT_Y_ADD;
  if (strcmp(word[8], "-")) snprintf(row->case_name, sizeof row->case_name, "%s", word[8]);
  return bad < 0 ? RGT_OK : rgt__error_set(err, RGT_EINVAL, "row: %s is \"%s\"", names[bad], word[bad]);
}

uint64_t sweep_row_seed(const sweep_row *row, uint64_t seed) {
  char text[SWEEP_ROW_MAX];
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  sweep_row_format(row, text);
  for (const char *p = text; *p; p++) hash = (hash ^ (unsigned char)*p) * 1099511628211u;
  hash ^= seed * 0x9e3779b97f4a7c15u;
  return hash ? hash : 1;
}

rgt_status sweep_rows_add(sweep_rows *list, const sweep_row *row, rgt__error *err) {
  if (list->n == list->capacity) {
    int capacity = list->capacity ? 2 * list->capacity : 256;
    sweep_row *grown = rgt__realloc(list->row, (size_t)capacity * sizeof *grown);
    if (!grown) return rgt__error_nomem(err, (size_t)capacity * sizeof *grown);
    list->row = grown;
    list->capacity = capacity;
  }
  list->row[list->n++] = *row;
  return RGT_OK;
}

void sweep_rows_free(sweep_rows *list) {
  rgt__free(list->row);
  memset(list, 0, sizeof *list);
}

rgt_status sweep_rows_read(const char *path, sweep_rows *list, rgt__error *err) {
  char line[SWEEP_ROW_MAX];
  sweep_row row;
  FILE *f = fopen(path, "re");
  if (!f) return rgt__error_set(err, RGT_EIO, "%s: %s", path, strerror(errno));
  rgt_status status = RGT_OK;
  while (status == RGT_OK && fgets(line, sizeof line, f)) {
    if (line[0] == '#' || line[0] == '\n') continue;
    status = sweep_row_parse(line, &row, err);
    if (status == RGT_OK) status = sweep_rows_add(list, &row, err);
  }
  fclose(f);
  return status;
}

rgt_status sweep_rows_write(const char *path, const char *remark, const sweep_rows *list, rgt__error *err) {
  char text[SWEEP_ROW_MAX];
  FILE *f = fopen(path, "we");
  if (!f) return rgt__error_set(err, RGT_EIO, "%s: %s", path, strerror(errno));
  fprintf(f, "# %s\n", remark);
  for (int i = 0; i < list->n; i++) {
    sweep_row_format(&list->row[i], text);
    fprintf(f, "%s\n", text);
  }
  return fclose(f) == 0 ? RGT_OK : rgt__error_set(err, RGT_EIO, "%s: %s", path, strerror(errno));
}
