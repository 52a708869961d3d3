/* zsh.c -- completion for zsh, by its _arguments. */
#include "manual/manual.h"

/* Within '...' and the brackets of _arguments: quotes end and begin again, brackets and colons are escaped. */
static void quoted(const char *text, FILE *out) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", out);
    else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
      fprintf(out, "\\%c", *text);
    else
      fputc(*text, out);
  }
}

static void option(const rgt__option *e, FILE *out) {
  char words[256];
  rgt__manual_words(e, words, sizeof words);
  fprintf(out, "      '%s[", e->name);
  quoted(e->about, out);
  fputs("]", out);
  switch (rgt__manual_values_of(e)) {
  case RGT_VALUES_NONE:
    break;
  case RGT_VALUES_WORDS:
    fputs(":value:(", out);
    quoted(words, out);
    fputs(")", out);
    break;
  case RGT_VALUES_FILE:
    fputs(":file:_files", out);
    break;
  case RGT_VALUES_FOLDER:
    fputs(":folder:_files -/", out);
    break;
  case RGT_VALUES_FREE:
    fputs(":", out);
    quoted(e->value, out);
    fputs(":", out);
    break;
  }
  fputs("'", out);
}

void rgt__manual_zsh(FILE *out) {
  char words[256];
  fputs("#compdef ragtune\n# made from the program's own table of options\n\n_ragtune() {\n"
        "  local -a verbs\n  local verb=tune\n  verbs=(\n",
        out);
  for (int v = 0; v < RGT_N_VERBS; v++) {
    fprintf(out, "    '%s:", rgt__verb_table[v].name);
    quoted(rgt__verb_table[v].about, out);
    fputs("'\n", out);
  }
  fputs("  )\n"
        "  if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then\n"
        "    _describe -t verbs verb verbs\n"
        "    return\n"
        "  fi\n"
        "  if (( ${+words[2]} )) && [[ ${words[2]} != -* ]]; then\n"
        "    verb=${words[2]}\n"
        "    shift words\n"
        "    (( CURRENT-- ))\n"
        "  fi\n"
        "  case $verb in\n",
        out);
  for (int v = 0; v < RGT_N_VERBS; v++) {
    fprintf(out, "  %s)\n    _arguments -S \\\n", rgt__verb_table[v].name);
    rgt__manual_actions((rgt__verb)v, words, sizeof words);
    if (words[0]) fprintf(out, "      '1:action:(%s)' \\\n", words);
    int n = 0;
    for (size_t i = 0; i < rgt__option_table_n; i++) {
      if (!rgt__manual_has(&rgt__option_table[i], v)) continue;
      fputs(n++ ? " \\\n" : "", out);
      option(&rgt__option_table[i], out);
    }
    fputs("\n    ;;\n", out);
  }
  fputs("  esac\n}\n\n_ragtune \"$@\"\n", out);
}
