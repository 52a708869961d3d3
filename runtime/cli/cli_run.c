/* cli_run.c -- ragtune run: y from .npy files. */
#include "cli.h"
#include "data_files.h"
#include "json_out.h"
#include "op_args.h"
#include "row_order.h"
#include "session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { X, INDEX, W1, B1, W2, B2, Y, N_ARRAYS };

static int same_file(const char *a, const char *b) {
  struct stat sa, sb;
  return a && b && stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* y must not take the place of what it is computed from, nor of a case's right answer. */
static rgt_status check_y(const rgt__options *o, rgt__message *m) {
  static const char *const names[] = {"problem.txt", "x.npy", "index.npy", "w1.npy", "b1.npy", "w2.npy", "b2.npy", "y.npy"};
  const char *single[] = {o->x, o->index, o->w1, o->b1, o->w2, o->b2};
  char path[4200];
  for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
    if (same_file(o->y, single[i])) return rgt__message_set(m, RGT_EINVAL, "--y %s is an input; name another file", o->y);
  for (size_t i = 0; i < sizeof names / sizeof names[0] && o->case_dir; i++) {
    snprintf(path, sizeof path, "%s/%s", o->case_dir, names[i]);
    if (same_file(o->y, path)) return rgt__message_set(m, RGT_EINVAL, "--y %s is a file of the case; name another", o->y);
  }
  return RGT_OK;
}

/* One problem: either a folder or single files, and a place for y. */
static rgt_status check_options(const rgt__options *o, rgt__message *m) {
  const char *single = o->x       ? "--x"
                       : o->index ? "--index"
                       : o->w1    ? "--w1"
                       : o->b1    ? "--b1"
                       : o->w2    ? "--w2"
                       : o->b2    ? "--b2"
                                  : NULL;
  if (!o->y) return rgt__message_set(m, RGT_EINVAL, "--y is missing: where shall y go?");
  if (o->case_dir && single)
    return rgt__message_set(m, RGT_EINVAL, "%s stands beside --case, whose files are used; give one of the two", single);
  if (!o->case_dir && !single && !rgt__op_args_given(o))
    return rgt__message_set(m, RGT_EINVAL, "run needs --case DIR, or an op with --x, --index and --w1");
  return check_y(o, m);
}

/* the op of the options, where they spell one out, and the data */
static rgt_status load(const rgt__options *o, rgt__session *s, rgt__data *d, rgt__message *m) {
  rgt_status status;
  int given = rgt__op_args_given(o);
  if (given || !o->case_dir) {
    if ((status = rgt__op_args_make(o, s->ctx, &s->desc, &s->out_from_in, m)) != RGT_OK) return status;
    given = 1;
  }
  if (o->case_dir)
    status = rgt__data_files_case(o, given ? &s->desc : NULL, 0, d, m);
  else
    status = rgt__data_files_single(o, &s->desc, d, m);
  if (status == RGT_OK && d->from && o->order == RGT_ORDER_OFFSETS) status = rgt__row_order_offsets(d, m);
  if (status == RGT_OK) s->desc = d->desc;
  return status;
}

/* by what dispatch chooses, or by the one variant that was asked for */
static rgt_status prepare(const rgt__options *o, const rgt__session *s, const rgt__data *d) {
  int64_t max_rows = d->rows > 0 ? d->rows : 1;
  return o->variant ? rgt_op_prepare_variant(s->op, o->variant, max_rows) : rgt_op_prepare(s->op, max_rows, RGT_PREPARE_WAIT);
}

/* One array to the device; what the host had of it is given back at once. */
static rgt_status place(rgt_ctx *ctx, rgt__npy *a, void **on_device) {
  if (!a->data) return RGT_OK;
  rgt_status status = rgt_mem_alloc(ctx, a->bytes, on_device);
  if (status == RGT_OK) status = rgt_mem_write(ctx, *on_device, a->data, a->bytes);
  if (status == RGT_OK) rgt__npy_free(a);
  return status;
}

static rgt_status place_all(const rgt__session *s, rgt__data *d, size_t y_bytes, void *p[N_ARRAYS]) {
  rgt__npy *arrays[] = {&d->x, &d->index, &d->w1, &d->b1, &d->w2, &d->b2};
  rgt_status status = rgt_mem_alloc(s->ctx, y_bytes, &p[Y]);
  for (int i = 0; i < Y && status == RGT_OK; i++) status = place(s->ctx, arrays[i], &p[i]);
  return status;
}

static rgt_status compute(const rgt__options *o, const rgt__session *s, rgt__data *d, void *y, size_t y_bytes,
                          rgt__message *m) {
  rgt_args args = {.struct_size = sizeof args, .rows = d->rows, .groups = d->desc.groups};
  void *p[N_ARRAYS] = {NULL};
  rgt_status status = prepare(o, s, d);
  if (status == RGT_OK) status = place_all(s, d, y_bytes, p);
  args.x = p[X];
  args.order = rgt__options_order(o);
  *(args.order == RGT_ORDER_OFFSETS ? &args.offsets : &args.index) = p[INDEX];
  args.y = p[Y];
  args.layer1.w = p[W1];
  args.layer1.b = p[B1];
  args.layer2.w = p[W2];
  args.layer2.b = p[B2];
  if (status == RGT_OK) status = rgt_op_run(s->op, &args, NULL);
  if (status == RGT_OK) status = rgt_sync(s->op, NULL);
  if (status == RGT_OK) status = rgt_mem_read(s->ctx, y, p[Y], y_bytes);
  if (status != RGT_OK) rgt__message_from(m, status, s->ctx);
  for (int i = 0; i < N_ARRAYS; i++) rgt_mem_free(s->ctx, p[i]);
  return status;
}

static rgt__npy_type y_type(rgt_dtype dtype) {
  return dtype == RGT_F32 ? RGT_NPY_F4 : dtype == RGT_F16 ? RGT_NPY_F2 : RGT_NPY_U2;
}

static rgt_status report(const rgt__options *o, const rgt__session *s, const rgt__data *d, rgt__message *m) {
  rgt_why_info info = {.struct_size = sizeof info};
  const char *variant = o->variant, *from = "given"; /* by --variant: nothing was looked up */
  if (!variant) {
    int known = rgt_why(s->op, d->rows > 0 ? d->rows : 1, &info) == RGT_OK;
    variant = known ? info.variant : "unknown";
    from = known ? rgt__cli_from_word(info.from) : "unknown";
  }
  if (o->json) {
    json_t *object = rgt__json_object("run"), *shape;
    rgt__json_text(object, "op", s->text);
    rgt__json_int(object, "rows", d->rows);
    rgt__json_text(object, "variant", variant);
    rgt__json_text(object, "from", from);
    rgt__json_text(object, "y", o->y);
    rgt__json_text(object, "type", rgt__npy_type_name(y_type(d->desc.dtype)));
    shape = rgt__json_array(object, "shape");
    rgt__json_append(shape, json_integer(d->rows));
    rgt__json_append(shape, json_integer(d->desc.n_out));
    return rgt__json_print(object, m);
  }
  printf("op       %s%s\n", s->text, s->out_from_in ? "  (out is taken from --in)" : "");
  printf("rows     %" PRId64 "\n", d->rows);
  printf("variant  %s (%s)\n", variant, from);
  printf("y        %s: %s (%" PRId64 ", %" PRId64 ")\n", o->y, rgt__npy_type_name(y_type(d->desc.dtype)), d->rows,
         d->desc.n_out);
  return RGT_OK;
}

static rgt_status run(const rgt__options *o, rgt__session *s, rgt__data *d, void **y, rgt__message *m) {
  int64_t shape[2];
  size_t bytes;
  rgt_status status = check_options(o, m);
  if (status == RGT_OK) status = rgt__session_open(s, o, NULL, NULL, m);
  if (status == RGT_OK) status = load(o, s, d, m);
  if (status == RGT_OK) status = rgt__session_op(s, o, m);
  if (status != RGT_OK) return status;
  /* rows < 2^31, out <= 2^24: no overflow in 64 bits */
  bytes = (size_t)d->rows * (size_t)d->desc.n_out * rgt__npy_type_bytes(y_type(d->desc.dtype));
  *y = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!*y) return rgt__message_set(m, RGT_ENOMEM, "no memory for y");
  if ((status = compute(o, s, d, *y, bytes, m)) != RGT_OK) return status;
  status = rgt__row_order_undo(d, *y, d->rows ? bytes / (size_t)d->rows : 0, m);
  if (status != RGT_OK) return status;
  shape[0] = d->rows;
  shape[1] = d->desc.n_out;
  status = rgt__npy_write(o->y, y_type(d->desc.dtype), 2, shape, *y, m);
  return status == RGT_OK ? report(o, s, d, m) : status;
}

int rgt__cli_run(const rgt__options *o) {
  rgt__session s = {0};
  rgt__data d;
  rgt__message m;
  void *y = NULL;
  rgt_status status;
  memset(&d, 0, sizeof d);
  status = run(o, &s, &d, &y, &m);
  free(y);
  rgt__session_close(&s);
  rgt__data_files_free(&d);
  return status == RGT_OK ? RGT_EXIT_DONE : rgt__message_print(&m);
}
