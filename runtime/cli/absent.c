/* absent.c -- what the command line knows but this version does not do: the one list of it. */
#include "absent.h"

#include <string.h>

#define ANY RGT_N_VERBS

static const struct {
  rgt__verb verb;
  const char *what;
  const char *value; /* NULL: any */
  const char *instead;
} absent[] = {
    {RGT_VERB_TUNE, "--shard", NULL, "tune single --rows instead"},
};

/* "cuda" stands for "cuda:1" too */
static int same_value(const char *listed, const char *value) {
  size_t n = strlen(listed);
  return value && strncmp(value, listed, n) == 0 && (value[n] == 0 || value[n] == ':');
}

rgt_status rgt__absent_check(rgt__verb verb, const char *what, const char *value, rgt__message *m) {
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    if ((absent[i].verb != ANY && absent[i].verb != verb) || strcmp(absent[i].what, what) != 0) continue;
    if (absent[i].value && !same_value(absent[i].value, value)) continue;
    return rgt__message_set(m, RGT_EUNSUPPORTED, "%s %s%s%s: not in this version (%s)", rgt__options_verb_name(verb), what,
                            absent[i].value ? " " : "", absent[i].value ? absent[i].value : "", absent[i].instead);
  }
  return RGT_OK;
}
