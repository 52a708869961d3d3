/* fish.c -- completion for fish. */
#include "manual/manual.h"

static void quoted(const char *text, FILE *out) {
  fputc('\'', out);
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\') fputc('\\', out);
    fputc(*text, out);
  }
  fputc('\'', out);
}

/* tune is meant where no verb is named. */
static void condition(int verb, FILE *out) {
  fputs(" -n '", out);
  if (verb == RGT_VERB_TUNE) {
    fputs("not __fish_seen_subcommand_from", out);
    for (int v = 0; v < RGT_N_VERBS; v++)
      if (v != RGT_VERB_TUNE) fprintf(out, " %s", rgt__verb_table[v].name);
  } else {
    fprintf(out, "__fish_seen_subcommand_from %s", rgt__verb_table[verb].name);
  }
  fputs("'", out);
}

static void option(const rgt__option *e, int verb, FILE *out) {
  char words[256];
  fputs("complete -c ragtune", out);
  condition(verb, out);
  if (e->name[1] == '-')
    fprintf(out, " -l %s", e->name + 2);
  else
    fprintf(out, " -s %s", e->name + 1);
  switch (rgt__manual_values_of(e)) {
  case RGT_VALUES_NONE:
    break;
  case RGT_VALUES_WORDS:
    rgt__manual_words(e, words, sizeof words);
    fputs(" -x -a ", out);
    quoted(words, out);
    break;
  case RGT_VALUES_FILE:
    fputs(" -r -F", out);
    break;
  case RGT_VALUES_FOLDER:
    fputs(" -x -a '(__fish_complete_directories)'", out);
    break;
  case RGT_VALUES_FREE:
    fputs(" -x", out);
    break;
  }
  fputs(" -d ", out);
  quoted(e->about, out);
  fputs("\n", out);
}

void rgt__manual_fish(FILE *out) {
  char words[256];
  fputs("# fish completion for ragtune, made from the program's own table of options\ncomplete -c ragtune -f\n", out);
  for (int v = 0; v < RGT_N_VERBS; v++) {
    fprintf(out, "complete -c ragtune -n __fish_use_subcommand -a %s -d ", rgt__verb_table[v].name);
    quoted(rgt__verb_table[v].about, out);
    fputs("\n", out);
    rgt__manual_actions((rgt__verb)v, words, sizeof words);
    if (words[0]) {
      fputs("complete -c ragtune", out);
      condition(v, out);
      fprintf(out, " -a '%s'\n", words);
    }
  }
  fputs("complete -c ragtune -n __fish_use_subcommand -l version -d 'print the version'\n", out);
  for (int v = 0; v < RGT_N_VERBS; v++)
    for (size_t i = 0; i < rgt__option_table_n; i++)
      if (rgt__manual_has(&rgt__option_table[i], v)) option(&rgt__option_table[i], v, out);
}
