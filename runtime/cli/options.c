/* options.c -- the command line: parsed from the option table. */
#include "options.h"
#include "nearest.h"
#include "option_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

rgt_order rgt__options_order(const rgt__options *o) {
  return o->order < 0 ? RGT_ORDER_RAW : (rgt_order)o->order;
}

int rgt__options_integer(const char *text, int64_t low, int64_t high, int64_t *out) {
  int64_t v = 0;
  if (!*text) return 0;
  for (; *text; text++) {
    int digit = *text - '0';
    if (digit < 0 || digit > 9 || v > (INT64_MAX - digit) / 10) return 0;
    v = 10 * v + digit;
  }
  if (v < low || v > high) return 0;
  *out = v;
  return 1;
}

/* Only decimal digits, one point and an exponent: strtod alone would take blanks, signs, hexadecimals, inf and nan. */
int rgt__options_real(const char *text, double high, double *out) {
  char *end;
  double v;
  if (strspn(text, "0123456789.eE+-") != strlen(text) || !(isdigit((unsigned char)*text) || *text == '.')) return 0;
  v = strtod(text, &end);
  if (end == text || *end || !(v > 0) || v > high) return 0;
  *out = v;
  return 1;
}

static const rgt__option *find_option(rgt__verb verb, const char *name, size_t length) {
  for (size_t i = 0; i < rgt__option_table_n; i++) {
    const rgt__option *e = &rgt__option_table[i];
    if (e->verbs >> verb & 1 && strncmp(e->name, name, length) == 0 && e->name[length] == 0) return e;
  }
  return NULL;
}

const char *rgt__options_verb_name(rgt__verb verb) {
  return (unsigned)verb < RGT_N_VERBS ? rgt__verb_table[verb].name : "";
}

/* An option that this verb lacks: whose it is, or which one it looks like. */
static rgt_status unknown_option(rgt__verb verb, const char *name, int length, rgt__message *m) {
  char owners[128] = "";
  const char *near = NULL;
  int best = INT32_MAX;
  for (int v = 0; v < RGT_N_VERBS; v++) {
    if (!find_option((rgt__verb)v, name, (size_t)length)) continue;
    size_t n = strlen(owners);
    snprintf(owners + n, sizeof owners - n, "%s%s", n ? ", " : "", rgt__verb_table[v].name);
  }
  if (owners[0])
    return rgt__message_set(m, RGT_EINVAL, "%.*s is not an option of %s (it belongs to %s)", length, name,
                            rgt__verb_table[verb].name, owners);
  for (size_t i = 0; i < rgt__option_table_n; i++)
    if (rgt__option_table[i].verbs >> verb & 1) rgt__nearest_try(name, (size_t)length, rgt__option_table[i].name, &best, &near);
  if (near) return rgt__message_set(m, RGT_EINVAL, "unknown option %.*s; did you mean %s?", length, name, near);
  return rgt__message_set(m, RGT_EINVAL, "unknown option %.*s (ragtune %s --help lists the options)", length, name,
                          rgt__verb_table[verb].name);
}

static int parse_word(const rgt__option *e, const char *text, int *out) {
  const char *word = e->value;
  size_t n = strlen(text);
  for (int i = 0;; i++) {
    size_t length = strcspn(word, "|");
    if (length == n && strncmp(word, text, n) == 0) {
      *out = (int)e->low + i;
      return 1;
    }
    if (!word[length]) return 0;
    word += length + 1;
  }
}

static int parse_device(const char *text) {
  int64_t n;
  if (strcmp(text, "auto") == 0 || strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0) return 1;
  return strncmp(text, "cuda:", 5) == 0 && rgt__options_integer(text + 5, 0, 1023, &n);
}

static rgt_status parse_list(const rgt__option *e, const char *text, rgt__int_list *list, rgt__message *m) {
  char part[32];
  for (list->n = 0;; text++) {
    size_t length = strcspn(text, ",");
    int known = length < sizeof part;
    snprintf(part, sizeof part, "%.*s", (int)length, text);
    if (list->n == RGT_LIST_MAX) return rgt__message_set(m, RGT_EINVAL, "%s: more than %d numbers", e->name, RGT_LIST_MAX);
    if (!known || !rgt__options_integer(part, e->low, e->high, &list->v[list->n]))
      return rgt__message_set(m, RGT_EINVAL,
                              "%s: '%.*s' is not a whole number from %" PRId64 " to %" PRId64 " (numbers separated by commas)",
                              e->name, (int)length, text, e->low, e->high);
    list->n++;
    text += length;
    if (!*text) return RGT_OK;
  }
}

static rgt_status parse_integer(const rgt__option *e, const char *text, int64_t *out, rgt__message *m) {
  int ok = rgt__options_integer(text, e->low, e->high, out);
  if (ok && e->kind == RGT_OPTION_POWER) ok = (*out & (*out - 1)) == 0;
  if (ok) return RGT_OK;
  return rgt__message_set(m, RGT_EINVAL, "%s: '%s' is not a %s from %" PRId64 " to %" PRId64, e->name, text,
                          e->kind == RGT_OPTION_POWER ? "power of two" : "whole number", e->low, e->high);
}

static rgt_status parse_value(const rgt__option *e, const char *text, rgt__options *o, rgt__message *m) {
  void *field = (char *)o + e->field;
  double real;
  switch (e->kind) {
  case RGT_OPTION_FLAG:
    *(int *)field = 1;
    return RGT_OK;
  case RGT_OPTION_INTEGER:
  case RGT_OPTION_POWER:
    return parse_integer(e, text, field, m);
  case RGT_OPTION_REAL:
    if (rgt__options_real(text, (double)e->high, &real) && !(e->low == 1 && real >= (double)e->high)) {
      *(double *)field = real;
      return RGT_OK;
    }
    return rgt__message_set(m, RGT_EINVAL, "%s: '%s' is not a number above 0 and %s %" PRId64, e->name, text,
                            e->low == 1 ? "below" : "up to", e->high);
  case RGT_OPTION_WORD:
    if (parse_word(e, text, field)) return RGT_OK;
    return rgt__message_set(m, RGT_EINVAL, "%s: '%s' is none of %s", e->name, text, e->value);
  case RGT_OPTION_LIST:
    return parse_list(e, text, field, m);
  case RGT_OPTION_DEVICE:
    if (!parse_device(text))
      return rgt__message_set(m, RGT_EINVAL, "%s: '%s' is none of auto, cpu, cuda, cuda:N", e->name, text);
    break;
  case RGT_OPTION_TEXT:
    if (!*text) return rgt__message_set(m, RGT_EINVAL, "%s: the value is empty; want %s", e->name, e->value);
    if (strlen(text) > (size_t)e->high)
      return rgt__message_set(m, RGT_EINVAL, "%s: the value has %zu bytes; at most %" PRId64 " are taken", e->name,
                              strlen(text), e->high);
    break;
  }
  *(const char **)field = text;
  return RGT_OK;
}

/* One option at argv[i]; its value is behind '=' or the next argument. *used is set to the arguments taken. */
static rgt_status parse_option(int argc, char **argv, int i, unsigned char *given, rgt__options *o, int *used,
                               rgt__message *m) {
  const char *arg = argv[i], *text = NULL;
  size_t length = strcspn(arg, "=");
  const rgt__option *e = find_option(o->verb, arg, length);
  if (!e) return unknown_option(o->verb, arg, (int)length, m);
  if (given[e - rgt__option_table]++) return rgt__message_set(m, RGT_EINVAL, "%s is given twice", e->name);
  *used = 1;
  if (e->kind == RGT_OPTION_FLAG) {
    if (arg[length]) return rgt__message_set(m, RGT_EINVAL, "%s takes no value, '%s' is given", e->name, arg + length + 1);
  } else if (arg[length]) {
    text = arg + length + 1;
  } else if (i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0) {
    text = argv[i + 1];
    *used = 2;
  } else {
    return rgt__message_set(m, RGT_EINVAL, "%s needs a value: %s", e->name, e->value);
  }
  return parse_value(e, text, o, m);
}

static rgt_status parse_verb(const char *word, rgt__verb *verb, rgt__message *m) {
  const char *near = NULL;
  int best = INT32_MAX;
  for (int v = 0; v < RGT_N_VERBS; v++) {
    if (strcmp(word, rgt__verb_table[v].name) == 0) {
      *verb = (rgt__verb)v;
      return RGT_OK;
    }
    rgt__nearest_try(word, strlen(word), rgt__verb_table[v].name, &best, &near);
  }
  if (near) return rgt__message_set(m, RGT_EINVAL, "unknown verb '%s'; did you mean %s?", word, near);
  return rgt__message_set(m, RGT_EINVAL, "unknown verb '%s' (ragtune --help lists the verbs)", word);
}

static void set_unset(rgt__options *o) {
  memset(o, 0, sizeof *o);
  o->n_in = o->n_hidden = o->n_out = o->groups = -1;
  o->dtype = o->act = o->bias = o->layout = o->index_type = -1;
  o->skew = o->weights = o->order = o->policy = o->emit = -1;
  o->rows = o->align = o->threads = o->sample = o->seed = -1;
  o->max_error = o->budget = -1;
}

rgt_status rgt__options_parse(int argc, char **argv, const char **words, rgt__options *o, rgt__message *m) {
  unsigned char given[RGT_OPTION_ENTRIES_MAX] = {0};
  int i = 1, used = 0;
  rgt_status s;
  set_unset(o);
  o->words = words;
  o->verb = RGT_VERB_TUNE;
  if (argc > 1 && strcmp(argv[1], "--version") == 0) {
    o->version = 1;
    return RGT_OK;
  }
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    o->verb = RGT_N_VERBS;
    o->help = 1;
    return RGT_OK;
  }
  if (argc > 1 && argv[1][0] != '-') {
    if ((s = parse_verb(argv[1], &o->verb, m)) != RGT_OK) return s;
    i = 2;
  }
  for (int j = i; j < argc; j++) /* help helps also where the rest is wrong */
    if (strcmp(argv[j], "--help") == 0 || strcmp(argv[j], "-h") == 0) {
      o->help = 1;
      return RGT_OK;
    }
  for (; i < argc; i += used) {
    if (argv[i][0] == '-' && argv[i][1]) {
      if ((s = parse_option(argc, argv, i, given, o, &used, m)) != RGT_OK) return s;
    } else if (o->verb == RGT_VERB_DB) {
      words[o->n_words++] = argv[i];
      used = 1;
    } else {
      return rgt__message_set(m, RGT_EINVAL,
                              "'%s' stands without an option; %s takes no such words (an op's text goes after --op)", argv[i],
                              rgt__verb_table[o->verb].name);
    }
  }
  return RGT_OK;
}
