/* measure.c -- one shape on the device, as a user calls it: dispatch by the database, y checked, then timed in a stream and as
 * a graph.
 *
 *     gpu_measure OP INDEX [--order raw|sorted|offsets] [--skew WORD] [--align N] [--variant TEXT] [--seconds S] [--y FILE]
 *
 * INDEX holds the rows' groups, int64, little endian, without a head. Weights and x are seeded, the same on every machine.
 * Prints one line of JSON. Exit status: 0 y is right; 1 it is not; 2 usage; 3 the surroundings.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/number.h"
#include "runtime/base/random.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/reference.h"

enum { BATCHES = 9, CALLS_MAX = 4096, GRAPH_CALLS = 16, TILE_ELEMS = 1048573 /* prime: no group repeats another */ };
static const double CHECKED_WORK = 2e8; /* multiply-adds of the reference */

typedef struct shape {
  const char *op_text, *index_path, *variant, *y_path;
  rgt_order order;
  rgt_skew skew;
  int align;
  double seconds;
} shape;

typedef struct work {
  shape shape;
  rgt_ctx *ctx;
  rgt_op *op;
  rgt__problem p; /* on the host */
  rgt_args args;  /* on the device */
  void *y;        /* of the first call, on the host */
  int64_t y_bytes;
  double share; /* largest |y - y64| over its bound */
  int64_t n_checked, n_wrong, stream_ps, graph_ps;
  char graph_note[256];
} work;

static int fail(const work *w, const char *what) {
  fprintf(stderr, "gpu_measure: %s: %s\n", what, w->ctx ? rgt_errmsg(w->ctx) : "out of memory");
  return 3;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- data ---- */

/* n elements from a tile of normal numbers that is laid out over and over; NULL: no memory. */
static void *filled(rgt_dtype dtype, int64_t n, double scale, uint64_t seed) {
  size_t bytes = dtype == RGT_F32 ? 4 : 2, tile = n < TILE_ELEMS ? (size_t)n : TILE_ELEMS;
  char *data = malloc((size_t)n * bytes + 1);
  float *numbers = malloc(tile * sizeof *numbers + 1);
  if (data && numbers) {
    rgt__random random;
    rgt__random_seed(&random, seed);
    for (size_t i = 0; i < tile; i++) numbers[i] = (float)(scale * rgt__random_normal(&random));
    rgt_from_float(dtype, numbers, data, tile);
    for (size_t at = tile; at < (size_t)n; at += tile)
      memcpy(data + at * bytes, data, (at + tile <= (size_t)n ? tile : (size_t)n - at) * bytes);
  } else {
    free(data);
    data = NULL;
  }
  free(numbers);
  return data;
}

static int read_index(work *w) {
  FILE *f = fopen(w->shape.index_path, "rb");
  if (!f || fseek(f, 0, SEEK_END)) return 0;
  int64_t rows = ftell(f) / 8, narrow = w->p.op.index_type == RGT_I32;
  int64_t *index = malloc((size_t)rows * 8 + 8);
  rewind(f);
  int ok = index && fread(index, 8, (size_t)rows, f) == (size_t)rows;
  fclose(f);
  for (int64_t r = 0; ok && narrow && r < rows; r++) ((int32_t *)index)[r] = (int32_t)index[r]; /* in place, front to back */
  w->p.rows = rows;
  w->p.index = index;
  return ok;
}

static int make_data(work *w) {
  rgt__problem *p = &w->p;
  const rgt_op_desc *op = &p->op;
  int mlp = op->kind == RGT_MLP;
  int64_t features = mlp ? op->n_hidden : op->n_out;
  p->form = RGT_STACKED, p->order = w->shape.order, p->x_div = 1, p->finite = 1;
  if (!read_index(w)) return 0;
  p->x = filled(op->dtype, p->rows * op->n_in, 1, 1);
  p->w1 = filled(op->dtype, op->groups * features * op->n_in, 1 / sqrt((double)op->n_in), 2);
  if (op->bias & RGT_BIAS_1) p->b1 = filled(op->dtype, op->groups * features, 0.5, 3);
  if (mlp) p->w2 = filled(op->dtype, op->groups * features * op->n_out, 1 / sqrt((double)features), 4);
  if (op->bias & RGT_BIAS_2) p->b2 = filled(op->dtype, op->groups * op->n_out, 0.5, 5);
  return p->x && p->w1 && (p->w2 || !mlp) && (p->b1 || !(op->bias & RGT_BIAS_1)) && (p->b2 || !(op->bias & RGT_BIAS_2));
}

static rgt_status upload(work *w, const void *from, int64_t bytes, const void **out) {
  void *to = NULL;
  if (!from) return RGT_OK;
  rgt_status status = rgt_mem_alloc(w->ctx, (size_t)bytes, &to);
  if (status == RGT_OK) status = rgt_mem_write(w->ctx, to, from, (size_t)bytes);
  *out = to;
  return status;
}

static rgt_status upload_all(work *w) {
  const rgt__problem *p = &w->p;
  const rgt_op_desc *op = &p->op;
  int64_t e = (int64_t)rgt__number_bytes(op->dtype), features = op->kind == RGT_MLP ? op->n_hidden : op->n_out;
  int64_t i = op->index_type == RGT_I32 ? 4 : 8;
  rgt_args *a = &w->args;
  void *offsets = NULL, *y = NULL;
  *a = (rgt_args){.struct_size = sizeof *a, .rows = p->rows, .order = p->order};
  rgt_status status = upload(w, p->x, p->rows * op->n_in * e, &a->x);
  if (status == RGT_OK) status = upload(w, p->index, p->rows * i, &a->index);
  if (status == RGT_OK && p->order == RGT_ORDER_OFFSETS) {
    offsets = malloc((size_t)((op->groups + 1) * i));
    if (!offsets) return RGT_ENOMEM;
    rgt__problem_offsets(p, offsets);
    status = upload(w, offsets, (op->groups + 1) * i, &a->offsets);
    free(offsets);
  }
  if (status == RGT_OK) status = upload(w, p->w1, op->groups * features * op->n_in * e, &a->layer1.w);
  if (status == RGT_OK) status = upload(w, p->b1, op->groups * features * e, &a->layer1.b);
  if (status == RGT_OK) status = upload(w, p->w2, op->groups * features * op->n_out * e, &a->layer2.w);
  if (status == RGT_OK) status = upload(w, p->b2, op->groups * op->n_out * e, &a->layer2.b);
  w->y_bytes = p->rows * op->n_out * e;
  w->y = malloc((size_t)w->y_bytes + 1);
  if (!w->y) return RGT_ENOMEM;
  memset(w->y, 0xff, (size_t)w->y_bytes);
  if (status == RGT_OK) status = rgt_mem_alloc(w->ctx, (size_t)w->y_bytes, &y);
  if (status == RGT_OK) status = rgt_mem_write(w->ctx, y, w->y, (size_t)w->y_bytes);
  a->y = y;
  return status;
}

/* ---- y against float64, under the bound of whatever is admitted by default (verify.md) ---- */

static rgt__numeric loosest(rgt_dtype dtype) {
  rgt__numeric n = {.mma = 1};
  double u = rgt__number_u(dtype);
  n.p1 = n.p2 = dtype == RGT_F32 ? 0x1p-20 : 0;
  n.alpha = n.beta = dtype == RGT_F32 ? 0x1p-21 : u;
  if (dtype != RGT_F32) n.hidden_16bit = 1, n.u_h = u, n.eta_h = rgt__number_eta(dtype);
  return n;
}

static void check_row(work *w, const rgt__numeric *numeric, int64_t row, double *room) {
  const rgt_op_desc *op = &w->p.op;
  int64_t n = op->n_out;
  double *y64 = room, *bound = room + n, *scratch = room + 3 * n;
  unsigned char *may = (unsigned char *)(room + 2 * n);
  rgt__reference_row(&w->p, numeric, row, y64, bound, may, scratch);
  for (int64_t o = 0; o < n; o++) {
    float y;
    rgt_to_float(op->dtype, (const char *)w->y + (row * n + o) * (int64_t)rgt__number_bytes(op->dtype), &y, 1);
    double off = fabs((double)y - y64[o]), share = off == 0 ? 0 : off / bound[o];
    w->n_checked++;
    w->n_wrong += !(share <= 1) && !(may[o] && !isfinite(y));
    if (share > w->share) w->share = share;
  }
}

static int check(work *w) {
  const rgt_op_desc *op = &w->p.op;
  double each =
      (double)op->n_in * (double)(op->kind == RGT_MLP ? op->n_hidden : op->n_out) + (double)op->n_hidden * (double)op->n_out;
  int64_t rows = w->p.rows, wanted = (int64_t)(CHECKED_WORK / each) + 2;
  rgt__numeric numeric = loosest(op->dtype);
  double *room = malloc((size_t)(3 * op->n_out + rgt__reference_scratch(op)) * sizeof *room);
  rgt__random random;
  if (!rgt__numeric_admits(&numeric, op->dtype, 0)) { /* loosest() is behind the admission's limits */
    fprintf(stderr, "gpu_measure: checks by bounds that are not admitted\n");
    free(room);
    return 0;
  }
  if (!room) return 0;
  rgt__random_seed(&random, 6);
  if (wanted >= rows)
    for (int64_t r = 0; r < rows; r++) check_row(w, &numeric, r, room);
  else
    for (int64_t k = 0; k < wanted; k++)
      check_row(w, &numeric, k == 0 ? 0 : k == 1 ? rows - 1 : (int64_t)rgt__random_below(&random, (uint64_t)rows), room);
  free(room);
  return 1;
}

/* ---- times: the median of batches between two events ---- */

static rgt_status timed(work *w, void *graph, int64_t n, int64_t *ps) {
  rgt__device *d = w->ctx->device;
  rgt__error *err = &w->ctx->error;
  rgt_status status = d->ops->time_begin(d, d->stream, err);
  for (int64_t i = 0; i < n && status == RGT_OK; i++)
    status = graph ? d->ops->graph_launch(d, graph, d->stream, err) : rgt_op_run(w->op, &w->args, d->stream);
  if (status == RGT_OK) status = d->ops->time_end(d, d->stream, ps, err);
  return status;
}

/* Batches of a few milliseconds; a modelled clock (equal samples) ends it early. */
static rgt_status median(work *w, void *graph, int64_t calls_each, int64_t *out) {
  int64_t sample[BATCHES], ps = 0, n = 1, k = 0;
  double end = now_s() + w->shape.seconds / 2;
  rgt_status status = timed(w, graph, 1, &ps); /* warm */
  if (status == RGT_OK) status = timed(w, graph, 1, &ps);
  while (status == RGT_OK && ps < 2000000000 && n < CALLS_MAX && now_s() < end) status = timed(w, graph, n *= 2, &ps);
  for (; k < BATCHES && status == RGT_OK && (k < 1 || now_s() < end); k++) {
    status = timed(w, graph, n, &ps);
    sample[k] = ps / (n * calls_each);
    if (k == 2 && sample[0] == sample[1] && sample[1] == sample[2]) break;
  }
  if (status != RGT_OK) return status;
  for (int64_t i = 1; i < k; i++)
    for (int64_t j = i; j > 0 && sample[j] < sample[j - 1]; j--) {
      int64_t t = sample[j];
      sample[j] = sample[j - 1], sample[j - 1] = t;
    }
  *out = sample[k / 2];
  return RGT_OK;
}

static rgt_status time_graph(work *w) {
  rgt__device *d = w->ctx->device;
  rgt__error *err = &w->ctx->error, ignored;
  void *stream = NULL, *graph = NULL;
  rgt_status status = d->ops->graph_begin(d, &stream, err);
  if (status != RGT_OK) return status;
  for (int i = 0; i < GRAPH_CALLS && status == RGT_OK; i++) status = rgt_op_run(w->op, &w->args, stream);
  rgt_status ended = d->ops->graph_end(d, status == RGT_OK ? &graph : NULL, status == RGT_OK ? err : &ignored);
  if (status == RGT_OK) status = ended;
  if (status == RGT_OK) status = median(w, graph, GRAPH_CALLS, &w->graph_ps);
  if (graph) d->ops->graph_free(d, graph);
  return status;
}

/* ---- all of it ---- */

static int parse(int argc, char **argv, shape *s) {
  *s = (shape){.seconds = 2};
  if (argc < 3) return 0;
  s->op_text = argv[1], s->index_path = argv[2];
  for (int i = 3; i < argc; i += 2) {
    const char *name = argv[i], *value = argv[i + 1];
    if (i + 1 >= argc) return 0;
    if (strcmp(name, "--order") == 0 && rgt__op_order_parse(value, &s->order)) continue;
    if (strcmp(name, "--skew") == 0 && rgt__op_skew_parse(value, &s->skew)) continue;
    if (strcmp(name, "--seconds") == 0 && (s->seconds = atof(value)) > 0) continue;
    if (strcmp(name, "--align") == 0 && (s->align = atoi(value)) > 0) continue;
    if (strcmp(name, "--variant") == 0)
      s->variant = value;
    else if (strcmp(name, "--y") == 0)
      s->y_path = value;
    else
      return 0;
  }
  return 1;
}

static rgt_status prepare(work *w) {
  rgt_op_options options = {
      .struct_size = sizeof options, .order = w->shape.order, .skew = w->shape.skew, .align_bytes = w->shape.align};
  rgt_status status = rgt_op_new(w->ctx, &w->p.op, &options, &w->op);
  if (status != RGT_OK) return status;
  if (w->shape.variant) return rgt_op_prepare_variant(w->op, w->shape.variant, w->p.rows);
  return rgt_op_prepare(w->op, w->p.rows, RGT_PREPARE_WAIT);
}

static void print(work *w) {
  rgt_why_info why = {.struct_size = sizeof why};
  int known = rgt_why(w->op, w->p.rows, &why) == RGT_OK;
  printf("{\"op\": \"%s\", \"rows\": %" PRId64 ", \"variant\": \"%s\", \"exact\": %s, \"device_class\": \"%s\", ",
         w->shape.op_text, w->p.rows, known ? why.variant : "", known && why.exact ? "true" : "false",
         known ? why.device_class : "");
  printf("\"stream_ps\": %" PRId64 ", \"graph_ps\": ", w->stream_ps);
  if (w->graph_note[0])
    printf("null, \"graph_note\": \"%s\"", w->graph_note);
  else
    printf("%" PRId64, w->graph_ps);
  printf(", \"checked\": %" PRId64 ", \"wrong\": %" PRId64 ", \"error_share\": %.6g}\n", w->n_checked, w->n_wrong,
         isfinite(w->share) ? w->share : 1e300);
}

static int run(work *w) {
  if (rgt_open(&(rgt_options){.struct_size = sizeof(rgt_options), .device = "cuda"}, &w->ctx) != RGT_OK) return fail(w, "open");
  w->p.op.struct_size = sizeof w->p.op;
  if (rgt_op_parse(w->ctx, w->shape.op_text, &w->p.op) != RGT_OK) return fail(w, "op");
  if (!make_data(w)) return fprintf(stderr, "gpu_measure: %s: no index, or no memory\n", w->shape.index_path), 3;
  if (prepare(w) != RGT_OK) return fail(w, "prepare");
  if (upload_all(w) != RGT_OK) return fail(w, "upload");
  void *stream = w->ctx->device->stream;
  if (rgt_op_run(w->op, &w->args, stream) != RGT_OK || rgt_sync(w->op, stream) != RGT_OK) return fail(w, "run");
  if (rgt_mem_read(w->ctx, w->y, w->args.y, (size_t)w->y_bytes) != RGT_OK) return fail(w, "read y");
  if (!check(w)) return fail(w, "check");
  if (median(w, NULL, 1, &w->stream_ps) != RGT_OK) return fail(w, "stream");
  if (time_graph(w) != RGT_OK) snprintf(w->graph_note, sizeof w->graph_note, "%s", rgt_errmsg(w->ctx));
  print(w);
  FILE *f = w->shape.y_path ? fopen(w->shape.y_path, "wb") : NULL;
  if (f) {
    fwrite(w->y, 1, (size_t)w->y_bytes, f);
    if (fclose(f)) return fprintf(stderr, "gpu_measure: %s could not be written\n", w->shape.y_path), 3;
  }
  return w->n_wrong > 0;
}

int main(int argc, char **argv) {
  work w = {0};
  if (!parse(argc, argv, &w.shape)) {
    fputs("usage: gpu_measure OP INDEX [--order raw|sorted|offsets] [--skew WORD] [--align N] [--variant TEXT] [--seconds S] "
          "[--y FILE]\n",
          stderr);
    return 2;
  }
  int status = run(&w);
  rgt_close(w.ctx); /* the device's memory goes with the process */
  return status;
}
