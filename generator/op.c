/* op.c -- the op's text form and its limits. */
#include "generator/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"linear", "mlp"};
static const char *const dtypes[] = {"f32", "f16", "bf16"};
static const char *const acts[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "tanh"};
static const char *const layouts[] = {"nk", "kn"};
static const char *const index_types[] = {"i32", "i64"};
static const char *const skews[] = {"unknown", "uniform", "zipf", "one"};
static const char *const forms[] = {"stacked", "pointers"};
static const char *const orders[] = {"raw", "sorted", "offsets"};
static const char *const policies[] = {"warm", "cold", "graph"};

#define COUNT(words) ((int)(sizeof(words) / sizeof *(words)))
#define WORD(words, v) ((unsigned)(v) < (unsigned)COUNT(words) ? (words)[v] : "?")

static int find_word(const char *const *words, int n, const char *text, size_t length) {
  for (int i = 0; i < n; i++)
    if (strlen(words[i]) == length && !memcmp(words[i], text, length)) return i;
  return -1;
}

/* A pair of functions for each field: number to word ("?" for a number that is none), word to number. */
#define FIELD(field, type, words)                               \
  const char *rgt__op_##field##_word(type v) {                  \
    return WORD(words, v);                                      \
  }                                                             \
  int rgt__op_##field##_parse(const char *word, type *v) {      \
    int i = find_word(words, COUNT(words), word, strlen(word)); \
    if (i >= 0) *v = (type)i;                                   \
    return i >= 0;                                              \
  }
FIELD(dtype, rgt_dtype, dtypes)
FIELD(act, rgt_act, acts)
FIELD(layout, rgt_layout, layouts)
FIELD(index, rgt_index_type, index_types)
FIELD(skew, rgt_skew, skews)
FIELD(form, rgt_weight_form, forms)
FIELD(order, rgt_order, orders)
FIELD(policy, rgt_policy, policies)

static rgt_status check_number(const char *field, int64_t v, int64_t max, rgt__error *err) {
  if (v >= 1 && v <= max) return RGT_OK;
  return rgt__error_set(err, RGT_EINVAL, "op: %s is %" PRId64 "; it must be from 1 to %" PRId64, field, v, max);
}

static rgt_status check_enum(const char *field, unsigned v, int n, rgt__error *err) {
  if (v < (unsigned)n) return RGT_OK;
  return rgt__error_set(err, RGT_EINVAL, "op: %s is %d; it must be from 0 to %d", field, (int)v, n - 1);
}

rgt_status rgt__op_check(const rgt_op_desc *op, rgt__error *err) {
  const struct {
    const char *name;
    unsigned value;
    int n;
  } enums[] = {{"kind", (unsigned)op->kind, COUNT(kinds)},
               {"dtype", (unsigned)op->dtype, COUNT(dtypes)},
               {"act", (unsigned)op->act, COUNT(acts)},
               {"layout", (unsigned)op->layout, COUNT(layouts)},
               {"index type", (unsigned)op->index_type, COUNT(index_types)}};
  rgt_status status = RGT_OK;
  for (int i = 0; !status && i < COUNT(enums); i++) status = check_enum(enums[i].name, enums[i].value, enums[i].n, err);
  if (!status) status = check_number("in", op->n_in, RGT_DIM_MAX, err);
  if (!status && op->kind == RGT_MLP) status = check_number("hidden", op->n_hidden, RGT_DIM_MAX, err);
  if (!status) status = check_number("out", op->n_out, RGT_DIM_MAX, err);
  if (!status) status = check_number("groups", op->groups, RGT_COUNT_MAX, err);
  if (status) return status;
  if (op->kind == RGT_LINEAR && op->n_hidden)
    return rgt__error_set(err, RGT_EINVAL, "op: hidden is %" PRId64 "; a linear layer has none, so it must be 0", op->n_hidden);
  if (op->kind == RGT_LINEAR && (op->bias & ~RGT_BIAS_1))
    return rgt__error_set(err, RGT_EINVAL, "op: bias is %d; a linear layer has 0 (b0) or 1 (b1)", op->bias);
  if (op->bias & ~(RGT_BIAS_1 | RGT_BIAS_2))
    return rgt__error_set(err, RGT_EINVAL, "op: bias is %d; it must be 0 (b0), 1 (b1), 2 (b2) or 3 (b12)", op->bias);
  return RGT_OK;
}

static const char *const biases[] = {"b0", "b1", "b2", "b12"}; /* by the bits of rgt_op_desc.bias */

enum { KIND, DIMS, GROUPS, DTYPE, ACT, BIAS, LAYOUT, INDEX, N_FIELDS };
#define FORM "mlp:IN-HIDDEN-OUT:gGROUPS:DTYPE:ACT:BIAS:LAYOUT:INDEX or linear:IN-OUT:gGROUPS:DTYPE:ACT:BIAS:LAYOUT:INDEX"

typedef struct field {
  const char *text;
  size_t length;
} field;

/* How much of a value that is wrong goes into a message. */
#define SHOWN(f) (int)((f).length < 60 ? (f).length : 60), (f).text

static rgt_status split(const char *text, field fields[N_FIELDS], rgt__error *err) {
  int n = 0;
  for (const char *p = text;; p++) {
    size_t length = strcspn(p, ":");
    if (n < N_FIELDS) fields[n] = (field){p, length};
    n++;
    p += length;
    if (!*p) break;
  }
  if (n == N_FIELDS) return RGT_OK;
  return rgt__error_set(err, RGT_EINVAL, "op \"%.80s\": %d field%s, but an op has %d: " FORM, text, n, n == 1 ? "" : "s",
                        N_FIELDS);
}

/* Digits alone, no leading zero, 1 to max: one text for each number. Moves *p past it; 0 if there is none. */
static int64_t take_number(const char **p, const char *end, int64_t max) {
  int64_t v = 0;
  const char *q = *p;
  if (q == end || *q == '0') return 0;
  for (; q < end && *q >= '0' && *q <= '9'; q++) {
    v = v * 10 + (*q - '0');
    if (v > max) return 0;
  }
  *p = q;
  return v;
}

static rgt_status parse_dims(field f, rgt_op_desc *op, rgt__error *err) {
  const char *p = f.text, *end = f.text + f.length;
  int64_t dims[3] = {0};
  int n = op->kind == RGT_MLP ? 3 : 2, good = 1;
  for (int i = 0; good && i < n; i++) {
    if (i) good = p < end && *p++ == '-';
    good = good && (dims[i] = take_number(&p, end, RGT_DIM_MAX));
  }
  if (!good || p != end)
    return rgt__error_set(err, RGT_EINVAL, "op: dims \"%.*s\": %s has %s, each from 1 to %" PRId64 " without leading zeros",
                          SHOWN(f), n == 3 ? "an mlp" : "a linear layer", n == 3 ? "three, IN-HIDDEN-OUT" : "two, IN-OUT",
                          RGT_DIM_MAX);
  op->n_in = dims[0];
  op->n_hidden = n == 3 ? dims[1] : 0;
  op->n_out = dims[n - 1];
  return RGT_OK;
}

static rgt_status parse_groups(field f, rgt_op_desc *op, rgt__error *err) {
  const char *p = f.text, *end = f.text + f.length;
  if (p < end && *p == 'g') {
    p++;
    op->groups = take_number(&p, end, RGT_COUNT_MAX);
    if (op->groups && p == end) return RGT_OK;
  }
  return rgt__error_set(err, RGT_EINVAL, "op: groups \"%.*s\": must be g and a number from 1 to %" PRId64 ", as in g3",
                        SHOWN(f), RGT_COUNT_MAX);
}

/* The position of a field's word in `words`, or -1 with a message that lists them all. */
static int parse_word(const char *name, field f, const char *const *words, int n, rgt__error *err) {
  int found = find_word(words, n, f.text, f.length);
  if (found >= 0) return found;
  char list[128] = "";
  size_t used = 0;
  for (int i = 0; i < n; i++) used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
  rgt__error_set(err, RGT_EINVAL, "op: %s \"%.*s\": must be one of %s", name, SHOWN(f), list);
  return -1;
}

rgt_status rgt__op_parse(const char *text, rgt_op_desc *op, rgt__error *err) {
  field f[N_FIELDS];
  rgt_op_desc d = {.struct_size = sizeof d};
  if (split(text, f, err)) return RGT_EINVAL;
  int kind = parse_word("kind", f[KIND], kinds, COUNT(kinds), err);
  if (kind < 0) return RGT_EINVAL;
  d.kind = (rgt_op_kind)kind;
  if (parse_dims(f[DIMS], &d, err) || parse_groups(f[GROUPS], &d, err)) return RGT_EINVAL;
  int dtype = parse_word("dtype", f[DTYPE], dtypes, COUNT(dtypes), err);
  int act = dtype < 0 ? -1 : parse_word("act", f[ACT], acts, COUNT(acts), err);
  int n_biases = d.kind == RGT_MLP ? COUNT(biases) : 2;
  int bias = act < 0 ? -1 : parse_word(d.kind == RGT_MLP ? "bias" : "bias of a linear layer", f[BIAS], biases, n_biases, err);
  int layout = bias < 0 ? -1 : parse_word("layout", f[LAYOUT], layouts, COUNT(layouts), err);
  int index_type = layout < 0 ? -1 : parse_word("index type", f[INDEX], index_types, COUNT(index_types), err);
  if (index_type < 0) return RGT_EINVAL;
  d.dtype = (rgt_dtype)dtype;
  d.act = (rgt_act)act;
  d.bias = bias;
  d.layout = (rgt_layout)layout;
  d.index_type = (rgt_index_type)index_type;
  *op = d;
  return RGT_OK;
}

rgt_status rgt__op_format(const rgt_op_desc *op, char text[RGT_OP_TEXT_MAX], rgt__error *err) {
  rgt_status status = rgt__op_check(op, err);
  if (status) return status;
  char hidden[24] = "";
  if (op->kind == RGT_MLP) snprintf(hidden, sizeof hidden, "-%" PRId64, op->n_hidden);
  snprintf(text, RGT_OP_TEXT_MAX, "%s:%" PRId64 "%s-%" PRId64 ":g%" PRId64 ":%s:%s:%s:%s:%s", kinds[op->kind], op->n_in, hidden,
           op->n_out, op->groups, dtypes[op->dtype], acts[op->act], biases[op->bias], layouts[op->layout],
           index_types[op->index_type]);
  return RGT_OK;
}

rgt_op_desc rgt__op_relu_twin(const rgt_op_desc *op) {
  rgt_op_desc twin = *op;
  if (twin.act != RGT_ACT_NONE) twin.act = RGT_ACT_RELU;
  return twin;
}

int64_t rgt__op_weight_elems(const rgt_op_desc *op, int layer) {
  int mlp = op->kind == RGT_MLP;
  if (layer != 1 && !(mlp && layer == 2)) return 0;
  int64_t from = layer == 1 ? op->n_in : op->n_hidden, to = layer == 1 && mlp ? op->n_hidden : op->n_out, elems;
  return __builtin_mul_overflow(from, to, &elems) ? INT64_MAX : elems;
}
