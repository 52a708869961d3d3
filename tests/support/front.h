/* front.h -- what tests of ragtune.h share: a house of their own (home, database, code cache, a compiler that writes down its
 * calls), contexts whose log is kept, and problems whose right y is known exactly. */
#ifndef RGT_TESTS_FRONT_H
#define RGT_TESTS_FRONT_H

#include "tests/support/scratch.h"

#include <math.h>

#include "runtime/ragtune.h"

#define FRONT_MLP "mlp:10-20-5:g4:f32:relu:b12:nk:i64"
#define FRONT_LINEAR "linear:9-6:g4:f32:none:b1:kn:i32"

/* A few variants on every CPU: the fused and the unfused row_gather, one or two group_tiles. */
#define FRONT_SPACE                                     \
  "return { row_gather = { lanes = 8, vectors = 4 },\n" \
  "         group_tiles = { over = 0, packed = 0, lanes = { 4, 8 }, vectors = 1, block = 4 } }\n"
#define FRONT_DEFAULT "row_gather:fused=0,lanes=8,vectors=4"
#define FRONT_FUSED "row_gather:fused=1,lanes=8,vectors=4"

typedef struct front {
  scratch s;
  char home[100], db[100], cache[100], compiler[100], compiler_log[100], space[100];
  rgt_ctx *ctx;
  char log[8192]; /* every line of the context's log */
} front;

/* ---- the house ---- */

static SCRATCH_UNUSED void front_clear_environment(void) {
  static const char *const names[] = {"RAGTUNE_DEVICE",
                                      "RAGTUNE_DB",
                                      "RAGTUNE_SITE_DBS",
                                      "RAGTUNE_CACHE",
                                      "RAGTUNE_MODE",
                                      "RAGTUNE_THREADS",
                                      "RAGTUNE_CC",
                                      "RAGTUNE_TEMPLATES",
                                      "RAGTUNE_CPU",
                                      "RAGTUNE_LIBCUDA",
                                      "RAGTUNE_LIBNVRTC",
                                      "RAGTUNE_WORKER",
                                      "RAGTUNE_BUNDLE",
                                      "XDG_DATA_HOME",
                                      "XDG_CACHE_HOME",
                                      "TMPDIR",
                                      "RAGTUNE_RUN_LIMIT_S",
                                      "RAGTUNE_COMPILE_LIMIT_S",
                                      "RAGTUNE_WAIT_LIMIT_S",
                                      "RAGTUNE_CACHE_QUOTA_MIB",
                                      "RAGTUNE_MEMORY_LIMIT_MIB"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unsetenv(names[i]);
  setenv("RAGTUNE_WORKER", RGT_WORKER, 1); /* as it is looked for beside a program, and tests lie elsewhere */
}

static SCRATCH_UNUSED void front_begin(front *f) {
  char script[600];
  memset(f, 0, sizeof *f);
  front_clear_environment();
  scratch_open(&f->s);
  snprintf(f->home, sizeof f->home, "%s/home", f->s.folder);
  assert_int_equal(mkdir(f->home, 0700), 0);
  setenv("HOME", f->home, 1);
  snprintf(f->db, sizeof f->db, "%s/tuned.db", f->s.folder);
  snprintf(f->cache, sizeof f->cache, "%s/cache", f->s.folder);
  snprintf(f->compiler_log, sizeof f->compiler_log, "%s/compiler.log", f->s.folder);
  snprintf(script, sizeof script, "#!/bin/sh\necho \"$*\" >>%s\nexec cc \"$@\"\n", f->compiler_log);
  snprintf(f->compiler, sizeof f->compiler, "%s", scratch_write(&f->s, "logging-cc", script, 0755));
  snprintf(f->space, sizeof f->space, "%s", scratch_write(&f->s, "space.lua", FRONT_SPACE, 0644));
  setenv("RAGTUNE_CC", f->compiler, 1);
}

static SCRATCH_UNUSED void front_end(front *f) {
  rgt_close(f->ctx);
  f->ctx = NULL;
  scratch_close(&f->s);
}

/* How often a compiler was started since the last call, questions for its version among them. */
static SCRATCH_UNUSED int front_compiles(front *f) {
  int n = 0;
  FILE *log = fopen(f->compiler_log, "re");
  if (!log) return 0;
  for (int c; (c = fgetc(log)) != EOF;) n += c == '\n';
  fclose(log);
  unlink(f->compiler_log);
  return n;
}

static SCRATCH_UNUSED void front_log(void *user, rgt_log_level level, const char *line) {
  front *f = user;
  size_t at = strlen(f->log);
  (void)level;
  snprintf(f->log + at, sizeof f->log - at, "%s\n", line);
}

static SCRATCH_UNUSED rgt_options front_options(front *f) {
  return (rgt_options){.struct_size = sizeof(rgt_options),
                       .device = "cpu",
                       .database = f->db,
                       .cache_dir = f->cache,
                       .log = front_log,
                       .log_user = f};
}

/* A new context in the house; the one before is closed. */
static SCRATCH_UNUSED rgt_status front_open_with(front *f, const rgt_options *o) {
  rgt_close(f->ctx);
  f->ctx = NULL;
  f->log[0] = 0;
  return rgt_open(o, &f->ctx);
}

static SCRATCH_UNUSED void front_open_mode(front *f, const char *mode, const char *templates) {
  rgt_options o = front_options(f);
  o.mode = mode;
  o.template_dir = templates;
  rgt_status status = front_open_with(f, &o);
  if (status != RGT_OK) fail_msg("rgt_open: %s", rgt_errmsg(f->ctx));
}

static SCRATCH_UNUSED void front_open(front *f) {
  front_open_mode(f, NULL, NULL);
}

static SCRATCH_UNUSED rgt_op *front_op_with(front *f, const char *text, const rgt_op_options *o) {
  rgt_op_desc d;
  rgt_op *op = NULL;
  assert_int_equal(rgt_op_parse(f->ctx, text, &d), RGT_OK);
  if (rgt_op_new(f->ctx, &d, o, &op) != RGT_OK) fail_msg("rgt_op_new: %s", rgt_errmsg(f->ctx));
  return op;
}

static SCRATCH_UNUSED rgt_op *front_op(front *f, const char *text) {
  return front_op_with(f, text, NULL);
}

static SCRATCH_UNUSED void front_ok_at(front *f, rgt_status status, const char *file, int line) {
  if (status != RGT_OK) fail_msg("%s:%d: %s: %s", file, line, rgt_status_name(status), rgt_errmsg(f->ctx));
}
#define front_ok(f, status) front_ok_at((f), (status), __FILE__, __LINE__)

/* A failure: its status, one line of text, and the word in it that a user needs. */
static SCRATCH_UNUSED void front_fails_at(front *f, rgt_status got, rgt_status want, const char *word, const char *file,
                                          int line) {
  const char *text = rgt_errmsg(f->ctx);
  if (got != want || !text[0] || strchr(text, '\n') || !strstr(text, word))
    fail_msg("%s:%d: %s, not %s; \"%s\" should be one line with \"%s\"", file, line, rgt_status_name(got),
             rgt_status_name(want), text, word);
}
#define front_fails(f, got, want, word) front_fails_at((f), (got), (want), (word), __FILE__, __LINE__)

#define assert_has(text, word)                                                        \
  do {                                                                                \
    if (!strstr((text), (word))) fail_msg("\"%s\" is not in \"%s\"", (word), (text)); \
  } while (0)

/* Tunes row counts over the small space, quickly. */
static SCRATCH_UNUSED rgt_tune_options front_tune_options(front *f, const int64_t *rows, int n_rows) {
  return (rgt_tune_options){
      .struct_size = sizeof(rgt_tune_options), .rows = rows, .n_rows = n_rows, .budget_s = 600, .space = f->space};
}

static SCRATCH_UNUSED void front_tune(front *f, rgt_op *op, int64_t rows, rgt_tune_result *r) {
  rgt_tune_options o = front_tune_options(f, &rows, 1);
  front_ok(f, rgt_tune(op, &o, r));
  assert_int_equal(r->status, RGT_OK);
}

/* ---- problems: small multiples of 1/4, so that y is exact whatever the order of its sums ---- */

typedef struct problem {
  rgt_op_desc d;
  int64_t rows, ld_x, ld_y;
  float *x, *y;
  void *index;
  float *w[2], *b[2];
  int64_t n_k[2], n_f[2], ld_w[2], stride_w[2], stride_b[2];
  const void **w_list[2], **b_list[2];
  double *expected; /* [rows, n_out] */
  rgt_args args;    /* stacked; a test changes what it wants */
} problem;

enum { PROBLEM_UNTOUCHED = 0x7fa5a5a5 }; /* a NaN that no kernel makes */

static SCRATCH_UNUSED void problem_fill(float *p, size_t n, uint32_t bits) {
  for (size_t i = 0; i < n; i++) memcpy(&p[i], &bits, sizeof bits);
}

static SCRATCH_UNUSED float problem_value(int64_t i) {
  return (float)((i * 7 + i / 5 + 3) % 9 - 4) / 4;
}

static SCRATCH_UNUSED int64_t problem_group(const problem *p, int64_t row) {
  return p->d.index_type == RGT_I64 ? ((const int64_t *)p->index)[row] : ((const int32_t *)p->index)[row];
}

static SCRATCH_UNUSED void problem_set_group(problem *p, int64_t row, int64_t g) {
  if (p->d.index_type == RGT_I64)
    ((int64_t *)p->index)[row] = g;
  else
    ((int32_t *)p->index)[row] = (int32_t)g;
}

static SCRATCH_UNUSED float *problem_weight(const problem *p, int layer, int64_t g, int64_t f, int64_t k) {
  int64_t at = p->d.layout == RGT_NK ? f * p->ld_w[layer] + k : k * p->ld_w[layer] + f;
  return p->w[layer] + g * p->stride_w[layer] + at;
}

static SCRATCH_UNUSED void problem_expect(problem *p) {
  int layers = p->d.kind == RGT_MLP ? 2 : 1;
  double *in = calloc((size_t)(p->d.n_in + p->d.n_hidden + p->d.n_out), sizeof *in), *out = in + p->d.n_in;
  for (int64_t r = 0; r < p->rows; r++) {
    int64_t g = problem_group(p, r);
    double *from = in, *to = out;
    for (int64_t o = 0; o < p->d.n_out; o++) p->expected[r * p->d.n_out + o] = 0;
    if (g < 0 || g >= p->d.groups) continue;
    for (int64_t k = 0; k < p->d.n_in; k++) in[k] = (double)p->x[r * p->ld_x + k];
    for (int l = 0; l < layers; l++, from = to, to += p->d.n_hidden)
      for (int64_t f = 0; f < p->n_f[l]; f++) {
        double z = p->b[l] ? (double)p->b[l][g * p->stride_b[l] + f] : 0;
        for (int64_t k = 0; k < p->n_k[l]; k++) z += (double)*problem_weight(p, l, g, f, k) * from[k];
        to[f] = l == 0 && p->d.act == RGT_ACT_RELU && z < 0 ? 0 : z;
        if (l == layers - 1) p->expected[r * p->d.n_out + f] = to[f];
      }
  }
  free(in);
}

static SCRATCH_UNUSED void problem_reset_y(problem *p) {
  problem_fill(p->y, (size_t)(p->rows * p->ld_y) + 8, PROBLEM_UNTOUCHED);
}

/* padded: leading dimensions and strides of their own, NaN in all padding. Every fifth row is masked and holds NaN; the last of
 * three or more groups is unused and holds NaN. */
static SCRATCH_UNUSED void problem_make(problem *p, const char *text, int64_t rows, int padded) {
  memset(p, 0, sizeof *p);
  assert_int_equal(rgt_op_parse(NULL, text, &p->d), RGT_OK);
  int64_t groups = p->d.groups, used = groups >= 3 ? groups - 1 : groups;
  int layers = p->d.kind == RGT_MLP ? 2 : 1;
  p->rows = rows;
  p->ld_x = p->d.n_in + (padded ? 3 : 0);
  p->ld_y = p->d.n_out + (padded ? 2 : 0);
  p->x = malloc(((size_t)(rows * p->ld_x) + 1) * sizeof *p->x);
  p->y = malloc(((size_t)(rows * p->ld_y) + 8) * sizeof *p->y);
  p->index = malloc(((size_t)rows + 1) * 8);
  p->expected = calloc((size_t)(rows * p->d.n_out) + 1, sizeof *p->expected);
  problem_fill(p->x, (size_t)(rows * p->ld_x) + 1, 0x7fc00000);
  for (int64_t r = 0; r < rows; r++) {
    int64_t g = r % 5 == 4 ? -1 : (r * 5 + r / 3) % used;
    problem_set_group(p, r, g);
    for (int64_t k = 0; k < p->d.n_in && g >= 0; k++) p->x[r * p->ld_x + k] = problem_value(r * 31 + k);
  }
  for (int l = 0; l < layers; l++) {
    p->n_k[l] = l == 0 ? p->d.n_in : p->d.n_hidden;
    p->n_f[l] = l == layers - 1 ? p->d.n_out : p->d.n_hidden;
    int64_t inner = p->d.layout == RGT_NK ? p->n_k[l] : p->n_f[l], outer = p->d.layout == RGT_NK ? p->n_f[l] : p->n_k[l];
    p->ld_w[l] = inner + (padded ? 4 : 0);
    p->stride_w[l] = outer * p->ld_w[l] + (padded ? 5 : 0);
    p->stride_b[l] = p->n_f[l] + (padded ? 1 : 0);
    p->w[l] = malloc((size_t)(groups * p->stride_w[l]) * sizeof(float));
    problem_fill(p->w[l], (size_t)(groups * p->stride_w[l]), 0x7fc00000);
    p->w_list[l] = calloc((size_t)groups, sizeof(void *));
    p->b_list[l] = calloc((size_t)groups, sizeof(void *));
    if (p->d.bias & (l == 0 ? RGT_BIAS_1 : RGT_BIAS_2)) {
      p->b[l] = malloc((size_t)(groups * p->stride_b[l]) * sizeof(float));
      problem_fill(p->b[l], (size_t)(groups * p->stride_b[l]), 0x7fc00000);
    }
    for (int64_t g = 0; g < used; g++) {
      for (int64_t f = 0; f < p->n_f[l]; f++) {
        for (int64_t k = 0; k < p->n_k[l]; k++) *problem_weight(p, l, g, f, k) = problem_value(g * 1009 + f * 13 + k * 3 + l);
        if (p->b[l]) p->b[l][g * p->stride_b[l] + f] = problem_value(g * 17 + f + l);
      }
      p->w_list[l][g] = p->w[l] + g * p->stride_w[l];
      if (p->b[l]) p->b_list[l][g] = p->b[l] + g * p->stride_b[l];
    }
  }
  rgt_layer layer[2] = {{0}};
  for (int l = 0; l < layers; l++)
    layer[l] = (rgt_layer){.w = p->w[l],
                           .ld_w = padded ? p->ld_w[l] : 0,
                           .stride_w = padded ? p->stride_w[l] : 0,
                           .b = p->b[l],
                           .stride_b = padded ? p->stride_b[l] : 0};
  p->args = (rgt_args){.struct_size = sizeof p->args,
                       .rows = rows,
                       .x = p->x,
                       .ld_x = padded ? p->ld_x : 0,
                       .index = p->index,
                       .y = p->y,
                       .ld_y = padded ? p->ld_y : 0,
                       .layer1 = layer[0],
                       .layer2 = layer[1]};
  problem_expect(p);
  problem_reset_y(p);
}

static SCRATCH_UNUSED void problem_use_pointers(problem *p, int weights, int biases) {
  rgt_layer *layers[2] = {&p->args.layer1, &p->args.layer2};
  for (int l = 0; l < (p->d.kind == RGT_MLP ? 2 : 1); l++) {
    if (weights) layers[l]->w = NULL, layers[l]->w_ptrs = p->w_list[l];
    if (biases && p->b[l]) layers[l]->b = NULL, layers[l]->b_ptrs = p->b_list[l];
  }
}

/* Every element, the padding of every row, and what lies behind the last one. */
static SCRATCH_UNUSED void problem_check(const problem *p) {
  static const uint32_t untouched = PROBLEM_UNTOUCHED;
  for (int64_t r = 0; r < p->rows; r++)
    for (int64_t o = 0; o < p->ld_y; o++) {
      const float *y = &p->y[r * p->ld_y + o];
      if (o >= p->d.n_out) {
        if (memcmp(y, &untouched, 4)) fail_msg("row %lld: written past its %lld outputs", (long long)r, (long long)p->d.n_out);
      } else if ((double)*y != p->expected[r * p->d.n_out + o] || (problem_group(p, r) == -1 && signbit(*y))) {
        fail_msg("y[%lld, %lld] is %.9g, not %.9g", (long long)r, (long long)o, (double)*y, p->expected[r * p->d.n_out + o]);
      }
    }
  for (int i = 0; i < 8; i++) assert_memory_equal(&p->y[p->rows * p->ld_y + i], &untouched, 4);
}

static SCRATCH_UNUSED void problem_untouched(const problem *p) {
  static const uint32_t untouched = PROBLEM_UNTOUCHED;
  for (int64_t i = 0; i < p->rows * p->ld_y + 8; i++) assert_memory_equal(&p->y[i], &untouched, 4);
}

static SCRATCH_UNUSED void problem_free(problem *p) {
  free(p->x);
  free(p->y);
  free(p->index);
  free(p->expected);
  for (int l = 0; l < 2; l++) {
    free(p->w[l]);
    free(p->b[l]);
    free(p->w_list[l]);
    free(p->b_list[l]);
  }
}

#endif
