/* words.c -- what the table of options says, as completions want it. */
#include "manual/manual.h"

#include <string.h>

int rgt__manual_has(const rgt__option *e, int verb) {
  return (int)(e->verbs >> verb & 1);
}

/* Names of files are written F, FILE or OUT, with what they end in; names of folders DIR. */
rgt__manual_values rgt__manual_values_of(const rgt__option *e) {
  if (e->kind == RGT_OPTION_FLAG) return RGT_VALUES_NONE;
  if (e->kind == RGT_OPTION_WORD || e->kind == RGT_OPTION_DEVICE) return RGT_VALUES_WORDS;
  if (e->kind != RGT_OPTION_TEXT) return RGT_VALUES_FREE;
  if (strcmp(e->value, "DIR") == 0) return RGT_VALUES_FOLDER;
  size_t n = strcspn(e->value, ".");
  static const char *const files[] = {"F", "FILE", "OUT"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (strlen(files[i]) == n && strncmp(files[i], e->value, n) == 0) return RGT_VALUES_FILE;
  return RGT_VALUES_FREE;
}

static void split_words(const char *list, size_t length, char *text, size_t size) {
  size_t n = 0;
  for (size_t i = 0; i < length && n + 1 < size; i++) text[n++] = list[i] == '|' ? ' ' : list[i];
  text[n] = 0;
}

/* "auto|cpu|cuda[:N]" stands for auto, cpu, cuda, cuda:0 and so on. */
void rgt__manual_words(const rgt__option *e, char *text, size_t size) {
  text[0] = 0;
  if (rgt__manual_values_of(e) != RGT_VALUES_WORDS) return;
  split_words(e->value, strcspn(e->value, "["), text, size);
  if (strchr(e->value, '[') && strlen(text) + 8 < size) strcat(text, " cuda:0");
}

/* The usage of `db` is "db list|misses|check|rebuild ...". */
void rgt__manual_actions(rgt__verb verb, char *text, size_t size) {
  const char *usage = rgt__verb_table[verb].usage;
  const char *second = usage + strcspn(usage, " ");
  text[0] = 0;
  second += strspn(second, " ");
  size_t length = strcspn(second, " ");
  if (memchr(second, '|', length) && second[0] != '(' && second[0] != '[') split_words(second, length, text, size);
}
