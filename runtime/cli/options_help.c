/* options_help.c -- --help, printed from the option table. */
#include "option_table.h"

#include <inttypes.h>
#include <string.h>

#define LEFT 26 /* columns of "  --name VALUE" */

static void program_help(FILE *file) {
  fputs("ragtune -- linear layers and two-layer MLPs over rows that belong to groups, each group with its own weights\n\n",
        file);
  for (int v = 0; v < RGT_N_VERBS; v++)
    fprintf(file, "  ragtune %s\n      %s\n", rgt__verb_table[v].usage, rgt__verb_table[v].about);
  fputs("\nOP is --in N [--hidden N] [--out N] --groups N [--dtype T] [--act A] [--bias B] [--layout L] [--index-type I],\n"
        "or --op TEXT such as mlp:10-20-5:g3:f32:relu:b12:nk:i64.\n"
        "ragtune VERB --help lists the verb's options; ragtune --version names the version.\n\n"
        "Exit status:\n",
        file);
  for (int i = 0; i < RGT_N_EXITS; i++) fprintf(file, "  %d  %s\n", i, rgt__exit_table[i]);
}

static void range(const rgt__option *e, FILE *file) {
  if (e->kind == RGT_OPTION_INTEGER || e->kind == RGT_OPTION_POWER || e->kind == RGT_OPTION_LIST)
    fprintf(file, " [%" PRId64 " .. %" PRId64 "]", e->low, e->high);
  if (e->kind == RGT_OPTION_REAL) fprintf(file, " [above 0, %s %" PRId64 "]", e->low == 1 ? "below" : "up to", e->high);
}

void rgt__options_help(rgt__verb verb, FILE *file) {
  const char *heading = NULL, *printed = NULL;
  if ((unsigned)verb >= RGT_N_VERBS) {
    program_help(file);
    return;
  }
  fprintf(file, "usage: ragtune %s\n%s\n", rgt__verb_table[verb].usage, rgt__verb_table[verb].about);
  for (size_t i = 0; i < rgt__option_table_n; i++) {
    const rgt__option *e = &rgt__option_table[i];
    char left[80];
    if (e->heading) heading = e->heading;
    if (!(e->verbs >> verb & 1)) continue;
    if (heading && (!printed || strcmp(heading, printed) != 0)) fprintf(file, "\n%s\n", printed = heading);
    snprintf(left, sizeof left, "  %s%s%s", e->name, e->value ? " " : "", e->value ? e->value : "");
    if (strlen(left) >= LEFT)
      fprintf(file, "%s\n%*s", left, LEFT, "");
    else
      fprintf(file, "%-*s", LEFT, left);
    fputs(e->about, file);
    range(e, file);
    fputc('\n', file);
  }
}
