/* page.c -- ragtune(1): verbs, options, exit statuses and environment from their tables, the rest written here. */
#include "manual/manual.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/base/environment.h"

enum { WIDTH = 78 };

/* A character as roff takes it for itself: a hyphen is one that can be copied, and no line begins with a control character. */
static int roff_char(char c, int begins, FILE *out) {
  if (c == '-') return fprintf(out, "\\-");
  if (c == '\\') return fprintf(out, "\\e");
  if (begins && (c == '.' || c == '\'')) return fprintf(out, "\\&%c", c);
  fputc(c, out);
  return 1;
}

static void roff(const char *text, FILE *out) {
  for (int begins = 1; *text; text++, begins = 0) roff_char(*text, begins, out);
}

/* One line that stays one. */
static void line(const char *text, FILE *out) {
  roff(text, out);
  fputc('\n', out);
}

/* A word's length as roff_char writes it. */
static int word_width(const char *text) {
  int n = 0;
  for (; *text && *text != ' '; text++) n += *text == '-' || *text == '\\' ? 2 : 1;
  return n;
}

/* A paragraph, whose lines roff fills: broken at blanks, since lint and readers want short ones. */
static void paragraph(const char *text, FILE *out) {
  int column = 0;
  for (; *text; text++) {
    if (*text == ' ' && column + word_width(text + 1) >= WIDTH) {
      fputc('\n', out);
      column = 0;
    } else {
      column += roff_char(*text, column == 0, out);
    }
  }
  fputc('\n', out);
}

static void bold(const char *text, FILE *out) {
  fputs("\\fB", out);
  roff(text, out);
  fputs("\\fR", out);
}

static void italic(const char *text, FILE *out) {
  fputs("\\fI", out);
  roff(text, out);
  fputs("\\fR", out);
}

static void range(const rgt__option *e, char *text, size_t size) {
  text[0] = 0;
  if (e->kind == RGT_OPTION_INTEGER || e->kind == RGT_OPTION_POWER || e->kind == RGT_OPTION_LIST)
    snprintf(text, size, " [%" PRId64 " .. %" PRId64 "]", e->low, e->high);
  if (e->kind == RGT_OPTION_REAL) snprintf(text, size, " [above 0, %s %" PRId64 "]", e->low == 1 ? "below" : "up to", e->high);
}

static void option(const rgt__option *e, FILE *out) {
  char limits[80], text[1024];
  fputs(".TP\n", out);
  bold(e->name, out);
  if (e->value) {
    fputc(' ', out);
    if (rgt__manual_values_of(e) == RGT_VALUES_WORDS)
      roff(e->value, out);
    else
      italic(e->value, out);
  }
  fputc('\n', out);
  range(e, limits, sizeof limits);
  snprintf(text, sizeof text, "%s%s", e->about, limits);
  paragraph(text, out);
}

/* Entries 0 .. first - 1 of the table say what the op is, alike for every verb that takes one. */
static size_t end_of_op(void) {
  size_t i = 1;
  while (i < rgt__option_table_n && !rgt__option_table[i].heading) i++;
  return i;
}

static void head(FILE *out) {
  fputs(".\\\" Made from the program's own tables; edit those.\n", out);
  fprintf(out, ".TH RAGTUNE 1 %s \"ragtune %s\" \"User Commands\"\n", RGT_MANUAL_DATE, RGT_VERSION);
  fputs(".SH NAME\nragtune \\- tune and run linear layers and two\\-layer MLPs over grouped rows\n", out);
  fputs(".SH SYNOPSIS\n.nf\n", out);
  for (int v = 0; v < RGT_N_VERBS; v++) {
    bold("ragtune", out);
    fputc(' ', out);
    line(rgt__verb_table[v].usage, out);
  }
  fputs(".fi\n.SH DESCRIPTION\n", out);
  paragraph(
      "Rows of a matrix belong to groups, and every group has its own weights: mixture of experts, many LoRAs, typed graph "
      "layers, thousands of tiny MLPs. This program generates the kernels that could do it for the dims at hand, checks each "
      "against a float64 reference, times them side by side, and remembers the winner; programs that use its library "
      "dispatch to it.",
      out);
  fputs(".PP\n.nf\n", out);
  line("linear   y[r] = act( W1[g] . x[r] + b1[g] )            g = index[r]", out);
  line("mlp      y[r] = W2[g] . act( W1[g] . x[r] + b1[g] ) + b2[g]", out);
  fputs(".fi\n.PP\n", out);
  paragraph("The index is unsorted; a row whose index is -1 is masked, and its y is 0. Without a verb, tune is meant.", out);
}

static void op_section(FILE *out) {
  fputs(".SH THE OP\n", out);
  paragraph("Every verb but db and env takes an op, written out by these options or as one text.", out);
  for (size_t i = 0; i < end_of_op(); i++) option(&rgt__option_table[i], out);
}

static void verb_sections(FILE *out) {
  fputs(".SH VERBS\n", out);
  for (int v = 0; v < RGT_N_VERBS; v++) {
    fprintf(out, ".SS %s\n", rgt__verb_table[v].name);
    bold("ragtune", out);
    fputc(' ', out);
    paragraph(rgt__verb_table[v].usage, out);
    fputs(".PP\n", out);
    paragraph(rgt__verb_table[v].about, out);
    for (size_t i = end_of_op(); i < rgt__option_table_n; i++)
      if (rgt__manual_has(&rgt__option_table[i], v)) option(&rgt__option_table[i], out);
  }
}

static void exit_section(FILE *out) {
  fputs(".SH EXIT STATUS\n", out);
  for (int i = 0; i < RGT_N_EXITS; i++) {
    fprintf(out, ".TP\n.B %d\n", i);
    paragraph(rgt__exit_table[i], out);
  }
}

static void environment_section(FILE *out) {
  static const char *const table[][2] = {
#define ENTRY(name, about) {#name, about},
      RGT_ENVIRONMENT_LIST(ENTRY)
#undef ENTRY
  };
  fputs(".SH ENVIRONMENT\nAn option given goes before its variable.\n", out);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    fprintf(out, ".TP\n.B %s\n", table[i][0]);
    paragraph(table[i][1], out);
  }
}

static void files_section(FILE *out) {
  static const char *const table[][2] = {
      {"$XDG_DATA_HOME/ragtune/tuned.db, else ~/.local/share/ragtune/tuned.db",
       "the tuned database: every trial, and the winners that follow from them"},
      {"$XDG_CACHE_HOME/ragtune/, else ~/.cache/ragtune/", "compiled code; it may be removed at any time"},
      {"DIR/ragtune-bundle, DIR/manifest.json, DIR/code/",
       "a bundle, as compile -o writes it: what it holds, the same for other tools, the code"},
  };
  fputs(".SH FILES\n", out);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    fputs(".TP\n", out);
    italic(table[i][0], out);
    fputc('\n', out);
    paragraph(table[i][1], out);
  }
}

static void examples_section(FILE *out) {
  static const char *const table[][2] = {
      {"Tune an MLP 10-20-10 for three groups at five row counts:", "ragtune --in 10 --hidden 20 --groups 3"},
      {"What would a call of 100 rows run, and why?", "ragtune why --in 10 --hidden 20 --groups 3 --rows 100"},
      {"Compute y from files:", "ragtune run --case tests/cases/question_mlp --y y.npy"},
      {"Code for a machine without a compiler, and its use there:",
       "ragtune compile --in 10 --hidden 20 --groups 3 -o bundle\nragtune run --bundle bundle --case tests/cases/question_mlp "
       "--y "
       "y.npy"},
  };
  fputs(".SH EXAMPLES\n", out);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    fputs(i ? ".PP\n" : "", out);
    paragraph(table[i][0], out);
    fputs(".PP\n.RS 4\n.nf\n", out);
    line(table[i][1], out);
    fputs(".fi\n.RE\n", out);
  }
}

void rgt__manual_page(FILE *out) {
  head(out);
  op_section(out);
  verb_sections(out);
  exit_section(out);
  environment_section(out);
  files_section(out);
  examples_section(out);
  fputs(".SH SEE ALSO\nThe header\n.I ragtune.h\ndescribes the library.\n", out);
}
