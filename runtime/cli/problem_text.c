/* problem_text.c -- the first line of a case's problem.txt. */
#include "problem_text.h"
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEY_IN, KEY_HIDDEN, KEY_OUT, KEY_GROUPS, KEY_ROWS, KEY_ACT, KEY_BIAS, KEY_LAYOUT, KEY_INDEX, KEY_EXACT, N_KEYS };

static const struct {
  const char *name;
  int64_t low, high; /* of a number */
  const char *words[7];
} keys[N_KEYS] = {
    [KEY_IN] = {"in", 1, RGT_DIM_MAX, {NULL}},
    [KEY_HIDDEN] = {"hidden", 0, RGT_DIM_MAX, {NULL}},
    [KEY_OUT] = {"out", 1, RGT_DIM_MAX, {NULL}},
    [KEY_GROUPS] = {"groups", 1, RGT_COUNT_MAX, {NULL}},
    [KEY_ROWS] = {"rows", 0, RGT_COUNT_MAX, {NULL}},
    [KEY_ACT] = {"act", 0, 0, {"none", "relu", "gelu", "gelu_tanh", "silu", "tanh", NULL}},
    [KEY_BIAS] = {"bias", 0, 1, {NULL}},
    [KEY_LAYOUT] = {"layout", 0, 0, {"nk", "kn", NULL}},
    [KEY_INDEX] = {"index", 0, 0, {"int32", "int64", NULL}},
    [KEY_EXACT] = {"exact", 0, 1, {NULL}},
};

/* The value of keys[k], a number or the place of a word; -1 if it is neither. */
static int64_t value_of(int k, const char *text) {
  int64_t v;
  if (!keys[k].words[0]) return rgt__options_integer(text, keys[k].low, keys[k].high, &v) ? v : -1;
  for (int i = 0; keys[k].words[i]; i++)
    if (strcmp(text, keys[k].words[i]) == 0) return i;
  return -1;
}

static rgt_status parse_item(char *item, const char *name, int64_t *values, rgt__message *m) {
  char *equals = strchr(item, '=');
  if (!equals) return rgt__message_set(m, RGT_EINVAL, "%s: '%s' is no key=value", name, item);
  *equals = 0;
  for (int k = 0; k < N_KEYS; k++) {
    if (strcmp(item, keys[k].name) != 0) continue;
    if (values[k] >= 0) return rgt__message_set(m, RGT_EINVAL, "%s: %s is given twice", name, item);
    values[k] = value_of(k, equals + 1);
    if (values[k] >= 0) return RGT_OK;
    if (keys[k].words[0])
      return rgt__message_set(m, RGT_EINVAL, "%s: %s=%s is not a known word (such as %s)", name, item, equals + 1,
                              keys[k].words[0]);
    return rgt__message_set(m, RGT_EINVAL, "%s: %s=%s is not a whole number from %" PRId64 " to %" PRId64, name, item,
                            equals + 1, keys[k].low, keys[k].high);
  }
  return rgt__message_set(m, RGT_EINVAL, "%s: unknown key '%s'", name, item);
}

rgt_status rgt__problem_text_parse(const char *text, const char *name, rgt__problem_text *p, rgt__message *m) {
  int64_t v[N_KEYS];
  char line[1024], *item, *rest = NULL;
  size_t length = strcspn(text, "\r\n");
  int mlp;
  if (length >= sizeof line) return rgt__message_set(m, RGT_EINVAL, "%s: its first line is longer than 1023 bytes", name);
  memcpy(line, text, length);
  line[length] = 0;
  for (int k = 0; k < N_KEYS; k++) v[k] = -1;
  for (item = strtok_r(line, " \t", &rest); item; item = strtok_r(NULL, " \t", &rest)) {
    rgt_status s = parse_item(item, name, v, m);
    if (s != RGT_OK) return s;
  }
  for (int k = 0; k < N_KEYS; k++)
    if (v[k] < 0) return rgt__message_set(m, RGT_EINVAL, "%s: its first line lacks %s=", name, keys[k].name);
  mlp = v[KEY_HIDDEN] > 0;
  memset(p, 0, sizeof *p);
  p->desc = (rgt_op_desc){.struct_size = sizeof p->desc,
                          .kind = mlp ? RGT_MLP : RGT_LINEAR,
                          .n_in = v[KEY_IN],
                          .n_hidden = v[KEY_HIDDEN],
                          .n_out = v[KEY_OUT],
                          .groups = v[KEY_GROUPS],
                          .dtype = RGT_F32,
                          .act = (rgt_act)v[KEY_ACT],
                          .bias = !v[KEY_BIAS] ? RGT_BIAS_NONE
                                  : mlp        ? RGT_BIAS_1 | RGT_BIAS_2
                                               : RGT_BIAS_1,
                          .layout = (rgt_layout)v[KEY_LAYOUT],
                          .index_type = (rgt_index_type)v[KEY_INDEX]};
  p->rows = v[KEY_ROWS];
  p->exact = (int)v[KEY_EXACT];
  return RGT_OK;
}

rgt_status rgt__problem_text_read(const char *path, rgt__problem_text *p, rgt__message *m) {
  char text[2048];
  size_t n;
  FILE *file = fopen(path, "re");
  if (!file) return rgt__message_set(m, RGT_EIO, "%s: %s", path, strerror(errno));
  n = fread(text, 1, sizeof text - 1, file);
  if (ferror(file)) {
    int why = errno;
    fclose(file);
    return rgt__message_set(m, RGT_EIO, "%s: %s", path, strerror(why));
  }
  fclose(file);
  text[n] = 0;
  return rgt__problem_text_parse(text, path, p, m);
}
