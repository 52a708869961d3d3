/* data_files.c -- a problem's arrays from .npy files, checked against its op. */
#include "data_files.h"
#include "problem_text.h"
#include "row_order.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what a file has to hold ------------------------------------------------------------------------------- */

typedef struct wanted {
  int n_dims;
  int64_t shape[RGT_NPY_DIMS_MAX]; /* -1: any up to RGT_COUNT_MAX */
} wanted;

static wanted matrix(const rgt_op_desc *op, int64_t n_in, int64_t n_out) {
  if (op->layout == RGT_NK) return (wanted){3, {op->groups, n_out, n_in}};
  return (wanted){3, {op->groups, n_in, n_out}};
}

static int type_fits(rgt_dtype dtype, rgt__npy_type type) {
  if (dtype == RGT_F32) return type == RGT_NPY_F4;
  if (dtype == RGT_F16) return type == RGT_NPY_F2;
  return type == RGT_NPY_U2 || type == RGT_NPY_V2;
}

static const char *type_words(rgt_dtype dtype) {
  return dtype == RGT_F32 ? "<f4" : dtype == RGT_F16 ? "<f2" : "<u2 or <V2 (bf16)";
}

static int shape_fits(const wanted *w, const rgt__npy *a) {
  if (a->n_dims != w->n_dims) return 0;
  for (int i = 0; i < w->n_dims; i++)
    if (w->shape[i] < 0 ? a->shape[i] > RGT_COUNT_MAX : a->shape[i] != w->shape[i]) return 0;
  return 1;
}

/* "(8, rows)": a size that may be any reads "rows" */
static void wanted_shape(const wanted *w, char *out, size_t size) {
  size_t n = (size_t)snprintf(out, size, "(");
  for (int i = 0; i < w->n_dims && n < size; i++) {
    if (w->shape[i] < 0)
      n += (size_t)snprintf(out + n, size - n, "%srows", i ? ", " : "");
    else
      n += (size_t)snprintf(out + n, size - n, "%s%" PRId64, i ? ", " : "", w->shape[i]);
  }
  if (n < size) snprintf(out + n, size - n, w->n_dims == 1 ? ",)" : ")");
}

static rgt_status misfit(const char *path, const rgt__npy *a, const wanted *w, const char *type, rgt__message *m) {
  char found[96], want[96];
  wanted_shape(w, want, sizeof want);
  return rgt__message_set(m, RGT_EINVAL, "%s holds %s %s, wanted %s %s", path, rgt__npy_type_name(a->type),
                          rgt__npy_shape(a->n_dims, a->shape, found, sizeof found), type, want);
}

/* ---- one file ---------------------------------------------------------------------------------------------- */

/* f32 to the 16-bit storage type, in a new array */
static rgt_status round_array(rgt_dtype dtype, rgt__npy *a, const char *path, rgt__message *m) {
  size_t bytes = a->elems * 2, room = (bytes + 64) / 64 * 64;
  void *rounded = aligned_alloc(64, room);
  if (!rounded) return rgt__message_set(m, RGT_ENOMEM, "%s: no memory for its %zu bytes", path, bytes);
  rgt_from_float(dtype, a->data, rounded, a->elems);
  free(a->data);
  a->data = rounded;
  a->bytes = bytes;
  a->type = dtype == RGT_F16 ? RGT_NPY_F2 : RGT_NPY_U2;
  return RGT_OK;
}

/* may_round: f32 is taken for every storage type and rounded */
static rgt_status read_values(const char *path, rgt_dtype dtype, wanted w, int may_round, rgt__npy *a, rgt__message *m) {
  int rounds;
  rgt_status s = rgt__npy_read(path, a, m);
  if (s != RGT_OK) return s;
  rounds = may_round && dtype != RGT_F32 && a->type == RGT_NPY_F4;
  if ((!type_fits(dtype, a->type) && !rounds) || !shape_fits(&w, a)) return misfit(path, a, &w, type_words(dtype), m);
  return rounds ? round_array(dtype, a, path, m) : RGT_OK;
}

/* every entry in [-1, groups) */
static rgt_status check_index(const char *path, const rgt__npy *index, int64_t groups, rgt__message *m) {
  for (size_t r = 0; r < index->elems; r++) {
    int64_t g = rgt__npy_integer(index, r);
    if (g < -1 || g >= groups)
      return rgt__message_set(m, RGT_EINDEX, "%s: row %zu has index %" PRId64 "; want -1 (masked) or 0 to %" PRId64, path, r, g,
                              groups - 1);
  }
  return RGT_OK;
}

/* n entries (-1: any number) of the op's index type; noun is "" or " offsets" */
static rgt_status read_integers(const char *path, const rgt_op_desc *op, int64_t n, const char *noun, rgt__npy *a,
                                rgt__message *m) {
  wanted w = {1, {n}};
  int is_narrow = op->index_type == RGT_I32;
  char type[48];
  rgt_status s = rgt__npy_read(path, a, m);
  if (s != RGT_OK || (a->type == (is_narrow ? RGT_NPY_I4 : RGT_NPY_I8) && shape_fits(&w, a))) return s;
  snprintf(type, sizeof type, "%s%s (--index-type %s)", is_narrow ? "<i4" : "<i8", noun, is_narrow ? "i32" : "i64");
  return misfit(path, a, &w, type, m);
}

static rgt_status read_index(const char *path, const rgt_op_desc *op, int64_t rows, rgt__npy *index, rgt__message *m) {
  rgt_status s = read_integers(path, op, rows, "", index, m);
  return s == RGT_OK ? check_index(path, index, op->groups, m) : s;
}

/* where each group's rows begin, and where the last one's end */
static rgt_status read_offsets(const char *path, const rgt_op_desc *op, int64_t rows, rgt__npy *offsets, rgt__message *m) {
  rgt_status s = read_integers(path, op, op->groups + 1, " offsets", offsets, m);
  return s == RGT_OK ? rgt__row_order_check_offsets(path, offsets, rows, m) : s;
}

rgt_status rgt__data_files_index(const char *path, const rgt_op_desc *desc, rgt__npy *index, rgt__message *m) {
  rgt_status s;
  memset(index, 0, sizeof *index);
  s = read_index(path, desc, -1, index, m);
  if (s != RGT_OK) rgt__npy_free(index);
  return s;
}

/* ---- all files of a problem -------------------------------------------------------------------------------- */

typedef struct paths {
  const char *x, *index, *w1, *b1, *w2, *b2;
  int may_round;
  rgt_order order; /* that index is in; raw where it is put in order later */
} paths;

/* d->desc is set; d->rows is -1 where x says it. Those paths are not NULL that the op needs. */
static rgt_status read_all(const paths *p, rgt__data *d, rgt__message *m) {
  const rgt_op_desc *op = &d->desc;
  int mlp = op->kind == RGT_MLP, r = p->may_round;
  int64_t middle = mlp ? op->n_hidden : op->n_out;
  rgt_status s = read_values(p->x, op->dtype, (wanted){2, {d->rows, op->n_in}}, r, &d->x, m);
  if (s != RGT_OK) return s;
  d->rows = d->x.shape[0];
  s = p->order == RGT_ORDER_OFFSETS ? read_offsets(p->index, op, d->rows, &d->index, m)
                                    : read_index(p->index, op, d->rows, &d->index, m);
  if (s == RGT_OK && p->order == RGT_ORDER_SORTED) s = rgt__row_order_check_index(p->index, &d->index, op->groups, m);
  if (s != RGT_OK) return s;
  s = read_values(p->w1, op->dtype, matrix(op, op->n_in, middle), r, &d->w1, m);
  if (s == RGT_OK && op->bias & RGT_BIAS_1) s = read_values(p->b1, op->dtype, (wanted){2, {op->groups, middle}}, r, &d->b1, m);
  if (s == RGT_OK && mlp) s = read_values(p->w2, op->dtype, matrix(op, op->n_hidden, op->n_out), r, &d->w2, m);
  if (s == RGT_OK && op->bias & RGT_BIAS_2)
    s = read_values(p->b2, op->dtype, (wanted){2, {op->groups, op->n_out}}, r, &d->b2, m);
  return s;
}

/* a file that the op needs but was not given, or the other way round */
static rgt_status check_given(const char *option, const char *path, int needed, const char *why, rgt__message *m) {
  if (needed && !path) return rgt__message_set(m, RGT_EINVAL, "%s is missing: %s", option, why);
  if (!needed && path) return rgt__message_set(m, RGT_EINVAL, "%s is given, but the op has no use for it: %s", option, why);
  return RGT_OK;
}

rgt_status rgt__data_files_single(const rgt__options *o, const rgt_op_desc *desc, rgt__data *d, rgt__message *m) {
  paths p = {o->x, o->index, o->w1, o->b1, o->w2, o->b2, 0, rgt__options_order(o)};
  int mlp = desc->kind == RGT_MLP, b1 = desc->bias & RGT_BIAS_1, b2 = desc->bias & RGT_BIAS_2;
  const char *layers = mlp ? "it has two layers" : "it is one linear layer";
  rgt_status s;
  memset(d, 0, sizeof *d);
  if ((s = check_given("--x", p.x, 1, "the rows", m)) != RGT_OK ||
      (s = check_given("--index", p.index, 1, "the group of each row", m)) != RGT_OK ||
      (s = check_given("--w1", p.w1, 1, "the weights", m)) != RGT_OK ||
      (s = check_given("--b1", p.b1, b1, b1 ? "the op has a bias 1 (--bias b0: no bias)" : "its --bias says so", m)) !=
          RGT_OK ||
      (s = check_given("--w2", p.w2, mlp, layers, m)) != RGT_OK ||
      (s = check_given("--b2", p.b2, b2, b2 ? "the op has a bias 2 (--bias b0: no bias)" : "its --bias says so", m)) != RGT_OK)
    return s;
  d->desc = *desc;
  d->rows = -1;
  s = read_all(&p, d, m);
  if (s != RGT_OK) rgt__data_files_free(d);
  return s;
}

/* ---- a case folder ----------------------------------------------------------------------------------------- */

static int is_there(const char *path) {
  return access(path, F_OK) == 0;
}

/* The files say which biases there are; problem.txt says whether there is any. */
static rgt_status settle_bias(const char *dir, const char *b1, const char *b2, rgt_op_desc *op, rgt__message *m) {
  int all = op->bias, there = (is_there(b1) ? RGT_BIAS_1 : 0) | (is_there(b2) ? RGT_BIAS_2 : 0);
  if (all && !there) return rgt__message_set(m, RGT_EIO, "%s/b1.npy: not there, though problem.txt says bias=1", dir);
  if (there & ~all)
    return rgt__message_set(m, RGT_EINVAL, "%s/%s.npy: there, though problem.txt says %s", dir,
                            there & ~all & RGT_BIAS_1 ? "b1" : "b2", all ? "hidden=0" : "bias=0");
  op->bias = there;
  return RGT_OK;
}

/* The op of the options and that of the folder: the same but for the storage type. */
static rgt_status check_same(const rgt_op_desc *asked, const rgt_op_desc *own, const char *dir, rgt__message *m) {
  rgt_op_desc a = *asked, b = *own;
  char text[RGT_OP_TEXT_MAX] = "", mine[RGT_OP_TEXT_MAX] = "";
  a.dtype = b.dtype = RGT_F32;
  (void)!rgt_op_format(NULL, &a, text);
  (void)!rgt_op_format(NULL, &b, mine);
  if (strcmp(text, mine) == 0) return RGT_OK;
  return rgt__message_set(m, RGT_EINVAL, "the op given is %s, but %s holds %s (leave the op out: the case says it)", text, dir,
                          mine);
}

static rgt_status read_y(const char *path, rgt__data *d, rgt__message *m) {
  wanted w = {2, {d->rows, d->desc.n_out}};
  rgt_status s;
  if (!is_there(path)) return RGT_OK;
  if ((s = rgt__npy_read(path, &d->y, m)) != RGT_OK) return s;
  return d->y.type == RGT_NPY_F8 && shape_fits(&w, &d->y) ? RGT_OK : misfit(path, &d->y, &w, "<f8", m);
}

static rgt_status read_case(const rgt__options *o, const rgt_op_desc *desc, int with_y, rgt__data *d, rgt__message *m) {
  static const char *const names[] = {"problem.txt", "x.npy", "index.npy", "w1.npy", "b1.npy", "w2.npy", "b2.npy", "y.npy"};
  static char path[8][PATH_MAX];
  rgt__problem_text problem;
  paths p = {path[1], path[2], path[3], path[4], path[5], path[6], 1, RGT_ORDER_RAW};
  rgt_status s;
  for (int i = 0; i < 8; i++)
    if (snprintf(path[i], PATH_MAX, "%s/%s", o->case_dir, names[i]) >= PATH_MAX)
      return rgt__message_set(m, RGT_EINVAL, "--case: the path is too long");
  if ((s = rgt__problem_text_read(path[0], &problem, m)) != RGT_OK) return s;
  if ((s = settle_bias(o->case_dir, path[4], path[6], &problem.desc, m)) != RGT_OK) return s;
  d->desc = problem.desc;
  d->rows = problem.rows;
  d->exact = problem.exact;
  if (desc) {
    if ((s = check_same(desc, &d->desc, o->case_dir, m)) != RGT_OK) return s;
    d->desc.dtype = desc->dtype;
  } else if (o->dtype >= 0) {
    d->desc.dtype = (rgt_dtype)o->dtype;
  }
  if ((s = read_all(&p, d, m)) != RGT_OK) return s;
  if (with_y && (s = read_y(path[7], d, m)) != RGT_OK) return s;
  return rgt__row_order_sort(rgt__options_order(o), d, m);
}

rgt_status rgt__data_files_case(const rgt__options *o, const rgt_op_desc *desc, int with_y, rgt__data *d, rgt__message *m) {
  rgt_status s;
  memset(d, 0, sizeof *d);
  s = read_case(o, desc, with_y, d, m);
  if (s != RGT_OK) rgt__data_files_free(d);
  return s;
}

void rgt__data_files_free(rgt__data *d) {
  rgt__npy *all[] = {&d->x, &d->index, &d->w1, &d->b1, &d->w2, &d->b2, &d->y};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) rgt__npy_free(all[i]);
  free(d->from);
  d->from = NULL;
}
