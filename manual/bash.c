/* bash.c -- completion for bash, which needs nothing but bash itself. */
#include "manual/manual.h"

static void verb_list(const char *between, FILE *out) {
  for (int v = 0; v < RGT_N_VERBS; v++) fprintf(out, "%s%s", v ? between : "", rgt__verb_table[v].name);
}

/* "run:--x|run:--w1": whatever options of a kind there are, for the pattern of a case; 0 if there is none. */
static int patterns(rgt__manual_values kind, FILE *out) {
  int n = 0;
  for (size_t i = 0; i < rgt__option_table_n; i++)
    for (int v = 0; v < RGT_N_VERBS; v++)
      if (rgt__manual_values_of(&rgt__option_table[i]) == kind && rgt__manual_has(&rgt__option_table[i], v))
        fprintf(out, "%s%s:%s", n++ ? " | " : "  ", rgt__verb_table[v].name, rgt__option_table[i].name);
  return n;
}

static void values(FILE *out) {
  char words[256];
  for (size_t i = 0; i < rgt__option_table_n; i++) {
    const rgt__option *e = &rgt__option_table[i];
    int n = 0;
    rgt__manual_words(e, words, sizeof words);
    for (int v = 0; v < RGT_N_VERBS && words[0]; v++)
      if (rgt__manual_has(e, v)) fprintf(out, "%s%s:%s", n++ ? " | " : "  ", rgt__verb_table[v].name, e->name);
    if (n) fprintf(out, ")\n    COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n    return\n    ;;\n", words);
  }
  if (patterns(RGT_VALUES_FILE, out))
    fputs(")\n    compopt -o filenames 2>/dev/null\n    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n    return\n    ;;\n",
          out);
  if (patterns(RGT_VALUES_FOLDER, out))
    fputs(")\n    compopt -o filenames 2>/dev/null\n    mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n    return\n    ;;\n",
          out);
  if (patterns(RGT_VALUES_FREE, out)) fputs(")\n    return\n    ;;\n", out);
}

void rgt__manual_bash(FILE *out) {
  char words[256];
  fputs("# bash completion for ragtune, made from the program's own table of options\n"
        "_ragtune() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=tune\n"
        "  COMPREPLY=()\n"
        "  if ((COMP_CWORD > 1)); then\n"
        "    case ${COMP_WORDS[1]} in\n    ",
        out);
  verb_list(" | ", out);
  fputs(") verb=${COMP_WORDS[1]} ;;\n"
        "    esac\n"
        "  fi\n"
        "  # --option=value is three words to bash\n"
        "  if [[ $cur == = ]]; then\n    cur=\n"
        "  elif [[ $prev == = ]]; then\n    prev=${COMP_WORDS[COMP_CWORD - 2]}\n  fi\n"
        "  case $verb:$prev in\n",
        out);
  values(out);
  fputs("  esac\n  case $verb in\n", out);
  for (int v = 0; v < RGT_N_VERBS; v++) {
    rgt__manual_actions((rgt__verb)v, words, sizeof words);
    fprintf(out, "  %s) COMPREPLY=($(compgen -W '", rgt__verb_table[v].name);
    for (size_t i = 0; i < rgt__option_table_n; i++)
      if (rgt__manual_has(&rgt__option_table[i], v)) fprintf(out, "%s ", rgt__option_table[i].name);
    fprintf(out, "%s' -- \"$cur\")) ;;\n", words);
  }
  fputs("  esac\n  if ((COMP_CWORD == 1)); then COMPREPLY+=($(compgen -W '", out);
  verb_list(" ", out);
  fputs(" --version' -- \"$cur\")); fi\n}\ncomplete -F _ragtune ragtune\n", out);
}
