/* test_offsets.c -- offsets past 2^31 and 2^32 elements, in every array and every form: leading dimensions and group strides so
 * large that the arrays take hundreds of gigabytes of addresses, of which a few pages are touched; and 2^31 - 1 rows, all but a
 * few masked, over one block of memory that is mapped again and again.
 *
 * Values are multiples of 1/4 whose sums are exact in f32, so y must be the reference's, rounded once. A sample of the variants
 * of each family is tried; FAULTS=all tries every one, and the many rows on every kernel. */
#include "tests/support/front.h"

#include <errno.h>
#include <sys/mman.h>

#include "generator/space.h"
#include "runtime/base/number.h"
#include "runtime/builtin.h"
#include "runtime/candidate.h"
#include "runtime/cpu_features.h"
#include "tests/faults/tally.h"

enum { ROWS = 61 };

#define LD_X (((int64_t)1 << 27) + 5)
#define LD_Y (((int64_t)1 << 27) + 3)
#define LD_W (((int64_t)1 << 28) + 1)
#define STRIDE_W (((int64_t)1 << 33) + 9)
#define STRIDE_B (((int64_t)1 << 31) + 7)

static struct surroundings {
  rgt__environment env;
  rgt__device *device;
  rgt__sources *sources;
  rgt__families *families;
  rgt__code_cache *cache;
  char stamp[512], toolchain[512];
} s;

static int all_of_them(void) {
  const char *word = getenv("FAULTS");
  return word && strcmp(word, "all") == 0;
}

static int set_up(void **state) {
  rgt__error err;
  (void)state;
  front_clear_environment();
  if (rgt__environment_read(&s.env, &err) != RGT_OK) return -1;
  const rgt__device_options options = {.env = &s.env, .threads = 2};
  if (rgt__device_cpu_open(&options, &s.device, &err) != RGT_OK) return -1;
  s.device->ops->compiler_stamp(s.device, s.stamp, sizeof s.stamp);
  if (s.stamp[0] && s.device->ops->toolchain(s.device, s.toolchain, sizeof s.toolchain, &err) != RGT_OK) return -1;
  if (rgt__sources_open(NULL, &s.sources, &err) != RGT_OK || rgt__code_cache_open(NULL, &s.cache, &err) != RGT_OK) return -1;
  return rgt__families_open(s.sources, &s.families, &err) == RGT_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  rgt__families_free(s.families);
  rgt__code_cache_free(s.cache);
  rgt__sources_free(s.sources);
  s.device->ops->close(s.device);
  rgt__environment_free(&s.env);
  return 0;
}

/* ---- addresses without memory ---- */

static void *reserve(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) fail_msg("no %zu bytes of addresses: %s", bytes, strerror(errno));
  return p;
}

typedef struct far_array {
  void *p;
  size_t bytes;
} far_array;

static far_array far_new(rgt_dtype dtype, int64_t elems) {
  size_t bytes = (size_t)elems * rgt__number_bytes(dtype);
  return (far_array){reserve(bytes), bytes};
}

static void far_free(far_array *a) {
  if (a->p) munmap(a->p, a->bytes);
  *a = (far_array){0};
}

/* ---- a problem with its arrays far apart ---- */

typedef struct far_problem {
  rgt_op_desc d;
  rgt_weight_form form;
  far_array x, y, w[2], b[2];
  const void *w_list[2][16], *b_list[2][16];
  int64_t index64[ROWS];
  int32_t index32[ROWS];
  int64_t n_k[2], n_f[2];
  double expected[ROWS][32];
  rgt_int64 n_errors, first_error;
  rgt_kargs k;
  rgt_args args;
} far_problem;

static int64_t weight_at(const far_problem *p, int64_t f, int64_t k) {
  return p->d.layout == RGT_NK ? f * LD_W + k : k * LD_W + f;
}

static int64_t group_of(int row) {
  return row % 7 == 3 ? -1 : (row * 5 + row / 4) % 9;
}

static float weight_value(int layer, int64_t g, int64_t f, int64_t k) {
  return problem_value(g * 1009 + f * 13 + k * 3 + layer) / 2;
}

static void fill(far_problem *p, int layers) {
  rgt_dtype t = p->d.dtype;
  for (int r = 0; r < ROWS; r++) {
    p->index64[r] = group_of(r);
    p->index32[r] = (int32_t)group_of(r);
    for (int64_t i = 0; i < p->d.n_in && group_of(r) >= 0; i++)
      rgt__number_store(t, p->x.p, r * LD_X + i, (double)problem_value(r * 31 + i));
  }
  for (int l = 0; l < layers; l++)
    for (int64_t g = 0; g < p->d.groups; g++)
      for (int64_t f = 0; f < p->n_f[l]; f++) {
        for (int64_t i = 0; i < p->n_k[l]; i++)
          rgt__number_store(t, p->w[l].p, g * STRIDE_W + weight_at(p, f, i), (double)weight_value(l, g, f, i));
        rgt__number_store(t, p->b[l].p, g * STRIDE_B + f, (double)problem_value(g * 17 + f + l));
      }
}

static void expect(far_problem *p, int layers) {
  for (int r = 0; r < ROWS; r++) {
    double in[32], out[32];
    int64_t g = group_of(r);
    for (int64_t i = 0; i < p->d.n_in; i++) in[i] = (double)problem_value(r * 31 + i);
    for (int l = 0; l < layers && g >= 0; l++) {
      for (int64_t f = 0; f < p->n_f[l]; f++) {
        double z = (double)problem_value(g * 17 + f + l);
        for (int64_t i = 0; i < p->n_k[l]; i++) z += (double)weight_value(l, g, f, i) * in[i];
        out[f] = l == 0 && z < 0 ? 0 : z;
      }
      memcpy(in, out, sizeof in);
    }
    for (int64_t o = 0; o < p->d.n_out; o++) p->expected[r][o] = g < 0 ? 0 : rgt__number_round(p->d.dtype, in[o]);
  }
}

static void far_make(far_problem *p, const char *text, rgt_weight_form form) {
  memset(p, 0, sizeof *p);
  assert_int_equal(rgt_op_parse(NULL, text, &p->d), RGT_OK);
  const rgt_op_desc *d = &p->d;
  int layers = d->kind == RGT_MLP ? 2 : 1;
  size_t elem = rgt__number_bytes(d->dtype);
  p->form = form;
  p->x = far_new(d->dtype, ROWS * LD_X);
  p->y = far_new(d->dtype, ROWS * LD_Y);
  for (int l = 0; l < layers; l++) {
    p->n_k[l] = l == 0 ? d->n_in : d->n_hidden;
    p->n_f[l] = l == layers - 1 ? d->n_out : d->n_hidden;
    p->w[l] = far_new(d->dtype, d->groups * STRIDE_W);
    p->b[l] = far_new(d->dtype, d->groups * STRIDE_B);
    for (int64_t g = 0; g < d->groups; g++) {
      p->w_list[l][g] = (char *)p->w[l].p + (size_t)(g * STRIDE_W) * elem;
      p->b_list[l][g] = (char *)p->b[l].p + (size_t)(g * STRIDE_B) * elem;
    }
  }
  fill(p, layers);
  expect(p, layers);
  int pointers = form == RGT_POINTERS;
  p->args = (rgt_args){.struct_size = sizeof p->args, .rows = ROWS, .x = p->x.p, .ld_x = LD_X, .y = p->y.p, .ld_y = LD_Y};
  p->args.index = d->index_type == RGT_I64 ? (const void *)p->index64 : p->index32;
  rgt_layer *layer[2] = {&p->args.layer1, &p->args.layer2};
  for (int l = 0; l < layers; l++)
    *layer[l] = pointers
                    ? (rgt_layer){.w_ptrs = p->w_list[l], .b_ptrs = p->b_list[l], .ld_w = LD_W}
                    : (rgt_layer){.w = p->w[l].p, .b = p->b[l].p, .ld_w = LD_W, .stride_w = STRIDE_W, .stride_b = STRIDE_B};
  p->k = (rgt_kargs){.x = p->x.p,
                     .index = p->args.index,
                     .w1 = pointers ? (const void *)p->w_list[0] : p->w[0].p,
                     .b1 = pointers ? (const void *)p->b_list[0] : p->b[0].p,
                     .w2 = layers < 2 ? NULL
                           : pointers ? (const void *)p->w_list[1]
                                      : p->w[1].p,
                     .b2 = layers < 2 ? NULL
                           : pointers ? (const void *)p->b_list[1]
                                      : p->b[1].p,
                     .y = p->y.p,
                     .ld_x = LD_X,
                     .ld_y = LD_Y,
                     .ld_w1 = LD_W,
                     .ld_w2 = LD_W,
                     .stride_w1 = STRIDE_W,
                     .stride_w2 = STRIDE_W,
                     .stride_b1 = STRIDE_B,
                     .stride_b2 = STRIDE_B,
                     .rows = ROWS,
                     .groups = d->groups,
                     .x_div = 1,
                     .flags = !pointers    ? 0
                              : layers < 2 ? RGT_KARGS_B1_POINTERS
                                           : RGT_KARGS_B1_POINTERS | RGT_KARGS_B2_POINTERS,
                     .n_index_errors = &p->n_errors,
                     .first_index_error = &p->first_error};
}

static void far_free_all(far_problem *p) {
  far_free(&p->x);
  far_free(&p->y);
  for (int l = 0; l < 2; l++) {
    far_free(&p->w[l]);
    far_free(&p->b[l]);
  }
}

static void reset_y(far_problem *p) {
  for (int r = 0; r < ROWS; r++)
    for (int64_t o = 0; o < p->d.n_out; o++) rgt__number_store(p->d.dtype, p->y.p, r * LD_Y + o, 77);
  p->n_errors = 0;
  p->first_error = INT64_MAX;
}

static void check_y(const far_problem *p, const char *who) {
  for (int r = 0; r < ROWS; r++)
    for (int64_t o = 0; o < p->d.n_out; o++) {
      double y = rgt__number_load(p->d.dtype, p->y.p, r * LD_Y + o);
      if (y != p->expected[r][o]) fail_msg("%s: y[%d, %d] is %.9g, not %.9g", who, r, (int)o, y, p->expected[r][o]);
    }
  assert_int_equal(p->n_errors, 0);
}

/* ---- what computes it ---- */

/* The built-in kernel of every target that this processor has, and through the front door. */
static int with_builtin(far_problem *p) {
  static const char *const limits[] = {"plain", "avx2", "avx512"};
  char seen[64] = "";
  float hidden[64];
  int n = 0;
  for (int i = 0; i < 3; i++) {
    rgt__target t;
    if (rgt__cpu_target(limits[i], &t, NULL) != RGT_OK || strcmp(seen, t.name) == 0) continue;
    snprintf(seen, sizeof seen, "%s", t.name);
    reset_y(p);
    rgt__builtin_run(&p->d, p->form, t.name, &p->k, 0, ROWS, hidden);
    check_y(p, t.name);
    n++;
  }
  rgt_options o = {.struct_size = sizeof o, .device = "cpu", .database = ":memory:", .cache_dir = "/nowhere"};
  rgt_op_options form = {.struct_size = sizeof form, .weight_form = p->form};
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  assert_int_equal(rgt_open(&o, &ctx), RGT_OK);
  assert_int_equal(rgt_op_new(ctx, &p->d, &form, &op), RGT_OK);
  reset_y(p);
  if (rgt_op_run(op, &p->args, NULL) != RGT_OK) fail_msg("%s", rgt_errmsg(ctx));
  check_y(p, "rgt_op_run");
  rgt_close(ctx);
  return n + 1;
}

static void launch(const rgt__candidate *c, const rgt_kargs *k) {
  rgt__error err = {""};
  rgt__plan plan;
  rgt__plan_make(&c->program, &s.device->info, k->rows, k->groups, &plan);
  assert_true(plan.valid);
  void *workspace = reserve((size_t)plan.workspace_bytes + 64);
  if (s.device->ops->launch(s.device, c->module, &c->program, &plan, k, workspace, NULL, &err) != RGT_OK)
    fail_msg("%s: %s", c->text, err.text);
  munmap(workspace, (size_t)plan.workspace_bytes + 64);
}

/* `n` variants (0: all), each family's default among them, compiled on two threads. */
static int with_variants(far_problem *p, const char *target, int n, void (*use)(far_problem *, const rgt__candidate *)) {
  rgt__error err = {""};
  rgt__space space;
  rgt__candidate_maker m = {.families = s.families, .device = s.device, .cache = s.cache, .toolchain = s.toolchain};
  m.facts = (rgt__render_facts){.form = p->form, .align_bytes = (int)rgt__number_bytes(p->d.dtype)};
  assert_int_equal(rgt__cpu_target(target, &m.target, &err), RGT_OK);
  if (rgt__space_enumerate(s.families, &p->d, &m.target, NULL, NULL, 0, &space, &err) != RGT_OK) fail_msg("%s", err.text);
  if (n > 0) rgt__space_sample(&space, n, (uint64_t)p->d.n_in + (uint64_t)p->d.dtype);
  rgt__candidate *c = calloc((size_t)space.n, sizeof *c);
  for (int i = 0; i < space.n; i++)
    if (rgt__candidate_render(&m, &space.variants[i], &p->d, &c[i], &err) != RGT_OK) fail_msg("%s", err.text);
  if (rgt__candidate_compile_all(&m, c, space.n, 2, 0, NULL, NULL, &err) != RGT_OK) fail_msg("%s", err.text);
  for (int i = 0; i < space.n; i++) {
    if (c[i].outcome != RGT_TRIAL_OK) fail_msg("%s: %s", c[i].text, c[i].reason);
    if (rgt__candidate_load(&m, &c[i], &err) != RGT_OK) fail_msg("%s: %s", c[i].text, err.text);
    use(p, &c[i]);
    rgt__candidate_free(s.device, &c[i]);
  }
  int used = space.n;
  free(c);
  rgt__space_free(&space);
  return used;
}

static void far_variant(far_problem *p, const rgt__candidate *c) {
  reset_y(p);
  launch(c, &p->k);
  check_y(p, c->text);
}

static void far_op(const char *text, rgt_weight_form form, int n) {
  static far_problem p;
  far_make(&p, text, form);
  int kernels = with_builtin(&p), variants = s.stamp[0] ? with_variants(&p, NULL, all_of_them() ? 0 : n, far_variant) : 0;
  tally("offsets past 2^32: %s, %s\t%d kernels, %d variants\tall exact", text, form == RGT_STACKED ? "stacked" : "pointers",
        kernels, variants);
  far_free_all(&p);
  if (!s.stamp[0]) print_message("no compiler here: the built-in kernel alone\n");
}

static void far_f32(void **state) {
  (void)state;
  far_op("mlp:20-18-17:g9:f32:relu:b12:nk:i64", RGT_STACKED, 4);
  far_op("mlp:20-18-17:g9:f32:relu:b12:kn:i32", RGT_STACKED, 4);
  far_op("mlp:20-18-17:g9:f32:relu:b12:nk:i32", RGT_POINTERS, 3);
  far_op("mlp:20-18-17:g9:f32:relu:b12:kn:i64", RGT_POINTERS, 3);
  far_op("linear:20-17:g9:f32:relu:b1:nk:i32", RGT_STACKED, 3);
  far_op("linear:20-17:g9:f32:relu:b1:kn:i64", RGT_STACKED, 3);
}

static void far_16_bit(void **state) {
  (void)state;
  far_op("mlp:20-18-17:g9:f16:relu:b12:nk:i64", RGT_STACKED, 3);
  far_op("mlp:20-18-17:g9:bf16:relu:b12:kn:i32", RGT_STACKED, 3);
  far_op("linear:20-17:g9:bf16:relu:b1:nk:i32", RGT_POINTERS, 2);
  far_op("linear:20-17:g9:f16:relu:b1:kn:i64", RGT_POINTERS, 2);
}

/* ---- 2^31 - 1 rows ---- */

enum { BLOCK = 16 << 20 }; /* bytes of memory that stand for all of an array */

static const int64_t live[] = {0, (int64_t)1 << 30, RGT_COUNT_MAX - 5, RGT_COUNT_MAX - 1};
enum { N_LIVE = sizeof live / sizeof live[0] };

/* One block, again and again; the blocks of live rows are their own. */
static far_array many_new(int value, size_t elem) {
  far_array a = {NULL, ((size_t)RGT_COUNT_MAX * elem + BLOCK - 1) / BLOCK * BLOCK};
  int fd = memfd_create("rows", MFD_CLOEXEC);
  assert_true(fd >= 0 && ftruncate(fd, BLOCK) == 0);
  void *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  assert_true(block != MAP_FAILED);
  memset(block, value, BLOCK);
  munmap(block, BLOCK);
  a.p = reserve(a.bytes);
  for (size_t at = 0; at < a.bytes; at += BLOCK)
    assert_true(mmap((char *)a.p + at, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
  for (int i = 0; i < N_LIVE; i++) {
    char *own = (char *)a.p + (size_t)live[i] * elem / BLOCK * BLOCK;
    assert_true(mmap(own, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
  }
  close(fd);
  return a;
}

static void many_check(const far_problem *p, const char *who) {
  const float *y = p->y.p;
  for (int i = 0; i < N_LIVE; i++) {
    double want = (double)weight_value(0, i, 0, 0) * (i + 1);
    if ((double)y[live[i]] != want) fail_msg("%s: y[%lld] is %g, not %g", who, (long long)live[i], (double)y[live[i]], want);
    if (live[i] > 0 && live[i] - 1 != live[i ? i - 1 : 0]) assert_true(y[live[i] - 1] == 0);
  }
  assert_true(y[12345678] == 0);
  assert_int_equal(p->n_errors, 0);
}

static void many_reset(far_problem *p) {
  float *y = p->y.p;
  for (int i = 0; i < N_LIVE; i++) y[live[i]] = 77;
  y[12345678] = 77;
  p->first_error = INT64_MAX;
}

static void many_variant(far_problem *p, const rgt__candidate *c) {
  many_reset(p);
  launch(c, &p->k);
  many_check(p, c->text);
}

static void many_rows(const char *text, int n) {
  static far_problem p;
  float weights[8];
  memset(&p, 0, sizeof p);
  assert_int_equal(rgt_op_parse(NULL, text, &p.d), RGT_OK);
  size_t index_elem = p.d.index_type == RGT_I64 ? 8 : 4;
  far_array index = many_new(0xff, index_elem);
  p.y = many_new(0x55, sizeof(float));
  p.x = far_new(RGT_F32, RGT_COUNT_MAX);
  for (int i = 0; i < N_LIVE; i++) {
    ((float *)p.x.p)[live[i]] = (float)(i + 1);
    weights[i] = weight_value(0, i, 0, 0);
    if (index_elem == 8)
      ((int64_t *)index.p)[live[i]] = i;
    else
      ((int32_t *)index.p)[live[i]] = i;
  }
  p.k = (rgt_kargs){.x = p.x.p,
                    .index = index.p,
                    .w1 = weights,
                    .y = p.y.p,
                    .ld_x = 1,
                    .ld_y = 1,
                    .ld_w1 = 1,
                    .stride_w1 = 1,
                    .rows = RGT_COUNT_MAX,
                    .groups = p.d.groups,
                    .x_div = 1,
                    .n_index_errors = &p.n_errors,
                    .first_index_error = &p.first_error};
  rgt__target t;
  assert_int_equal(rgt__cpu_target(NULL, &t, NULL), RGT_OK);
  many_reset(&p);
  rgt__builtin_run(&p.d, RGT_STACKED, t.name, &p.k, 0, RGT_COUNT_MAX, NULL);
  many_check(&p, "builtin");
  int variants = s.stamp[0] ? with_variants(&p, NULL, n, many_variant) : 0;
  tally("2^31 - 1 rows: %s\t1 kernel, %d variants\tall exact", text, variants);
  far_free(&index);
  far_free(&p.x);
  far_free(&p.y);
}

static void most_rows(void **state) {
  (void)state;
  if (!all_of_them()) {
    print_message("2^31 - 1 rows take a minute: only with FAULTS=all\n");
    skip();
  }
  many_rows("linear:1-1:g4:f32:none:b0:nk:i32", 2);
  many_rows("linear:1-1:g4:f32:none:b0:nk:i64", 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(far_f32), cmocka_unit_test(far_16_bit), cmocka_unit_test(most_rows)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
