/* cli_words.c -- what enums of ragtune.h are called in print. */
#include "cli.h"

const char *rgt__cli_outcome_word(rgt_outcome outcome) {
  static const char *const words[RGT_N_OUTCOMES] = {"right", "infeasible", "compile error", "wrong", "crashed", "timed out"};
  return (unsigned)outcome < RGT_N_OUTCOMES ? words[outcome] : "unknown";
}

const char *rgt__cli_skew_word(rgt_skew skew) {
  static const char *const words[] = {"unknown", "uniform", "zipf", "one"};
  return (unsigned)skew < sizeof words / sizeof *words ? words[skew] : "unknown";
}

const char *rgt__cli_from_word(rgt_layer_kind from) {
  static const char *const words[] = {"database", "memory", "default", "builtin", "bundle",
                                      "nothing",  "pin",    "site",    "shipped"};
  return (unsigned)from < sizeof words / sizeof *words ? words[from] : "unknown";
}

const char *rgt__cli_match_word(rgt_match match) {
  static const char *const words[] = {"none", "exact", "bucket", "threads", "shape", "device"};
  return (unsigned)match < sizeof words / sizeof *words ? words[match] : "unknown";
}
