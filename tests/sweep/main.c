/* main.c -- ragtune_sweep: the CUDA families swept on ptxsim.
 *
 *     ragtune_sweep array FILE [--seed N] [--limit N] [--family NAME]     the covering array and the cases' rows, into FILE
 *     ragtune_sweep run FILE [--seed N] [--part I/N] [--target sm_XX] [--ragged N] [--least N]
 *                        [--share N] [--family NAME] [--stop] [--budget S]
 *     ragtune_sweep row 'ROW' [--seed N] [--ragged N] [--from N]           one row again, as a failure's line spells it
 *     ragtune_sweep spills [--target sm_XX] [--family NAME] [--all]       ten spill-free variants a family and target
 *     ragtune_sweep full STATE [--seed N] [--shard I/N] [--budget S] [--ragged N]
 *
 * RAGTUNE_TEMPLATES, RAGTUNE_CACHE and RAGTUNE_LIBNVRTC are heeded; RAGTUNE_LIBCUDA names another build of the simulator.
 * Exit status: 0 all right, or NVRTC is not here (a line says so), 1 something is wrong, 2 usage. */
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void) {
  fputs("usage: ragtune_sweep array FILE | run FILE | row 'ROW' | spills | full STATE   [options: see tests/sweep/README.md]\n",
        stderr);
  return SWEEP_EXIT_USAGE;
}

static int take_pair(const char *text, int *i, int *n) {
  return sscanf(text, "%d/%d", i, n) == 2 && *n >= 1 && *i >= 1 && *i <= *n;
}

static int take_option(const char *name, const char *value, sweep_options *o) {
  char *end = NULL;
  if (!strcmp(name, "--part") || !strcmp(name, "--shard")) return take_pair(value, &o->part, &o->n_parts);
  if (!strcmp(name, "--target")) return (o->target = value) != NULL;
  if (!strcmp(name, "--family")) return (o->family = value) != NULL;
  double v = strtod(value, &end);
  if (!*value || *end || v < 0) return 0;
  if (!strcmp(name, "--seed"))
    o->seed = strtoull(value, NULL, 10);
  else if (!strcmp(name, "--limit"))
    o->limit = (int)v;
  else if (!strcmp(name, "--ragged"))
    o->n_ragged = (int)v;
  else if (!strcmp(name, "--from"))
    o->first_ragged = (int)v;
  else if (!strcmp(name, "--least"))
    o->least = (int)v;
  else if (!strcmp(name, "--share"))
    o->share = (int)v;
  else if (!strcmp(name, "--budget"))
    o->budget_s = v;
  else
    return 0;
  return 1;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int (*run)(const sweep_options *o);
    int takes_word;
  } verbs[] = {{"array", sweep_verb_array, 1},
               {"run", sweep_verb_run, 1},
               {"row", sweep_verb_row, 1},
               {"spills", sweep_verb_spills, 0},
               {"full", sweep_verb_full, 1}};
  sweep_options o = {.seed = 1, .limit = 1000, .part = 1, .n_parts = 1, .n_ragged = 2, .share = 1};
  const char *library = getenv("RAGTUNE_LIBCUDA");
  o.libcuda = library && *library ? library : SWEEP_LIBCUDA;
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "--stop")) {
      o.stop_at_first = 1;
    } else if (!strcmp(argv[i], "--all")) {
      o.all = 1;
    } else if (!strncmp(argv[i], "--", 2)) {
      if (i + 1 == argc || !take_option(argv[i], argv[i + 1], &o)) {
        fprintf(stderr, "ragtune_sweep: %s %s is not understood\n", argv[i], i + 1 < argc ? argv[i + 1] : "");
        return usage();
      }
      i++;
    } else if (o.word) {
      return usage();
    } else {
      o.word = argv[i];
    }
  }
  for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof *verbs; i++)
    if (!strcmp(argv[1], verbs[i].name) && !!o.word == verbs[i].takes_word) return verbs[i].run(&o);
  return usage();
}
