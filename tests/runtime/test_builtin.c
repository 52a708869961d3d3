/* test_builtin.c -- the built-in kernel: every form of the op against float64, bounds of memory, and the default variant's
 * bits. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "generator/render.h"
#include "runtime/base/number.h"
#include "runtime/builtin.h"
#include "runtime/cpu_features.h"
#include "runtime/reference.h"

static const char *const cpus[] = {"plain", "x86-64-avx2", "x86-64-avx512"};

static int cpu_here(const char *cpu) {
#ifdef __x86_64__
  if (strcmp(cpu, "x86-64-avx2") == 0)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (strcmp(cpu, "x86-64-avx512") == 0) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq");
  }
#endif
  return strcmp(cpu, "plain") == 0;
}

/* ---- buffers that end where memory ends ---- */

typedef struct block {
  char *map;
  size_t map_bytes, bytes;
  void *p;
} block;

static block block_new(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  block b = {.map_bytes = (bytes + page - 1) / page * page + page, .bytes = bytes};
  b.map = mmap(NULL, b.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(b.map != MAP_FAILED);
  assert_int_equal(mprotect(b.map + b.map_bytes - page, page, PROT_NONE), 0);
  b.p = b.map + b.map_bytes - page - bytes;
  return b;
}

static void block_free(block *b) {
  if (b->map) munmap(b->map, b->map_bytes);
  b->map = NULL;
}

/* ---- a call with its data: multiples of 1/4, so that f32 sums of up to 70 products are exact in any order ---- */

enum { X, INDEX, W1, B1, W2, B2, Y, W1_LIST, B1_LIST, W2_LIST, B2_LIST, HIDDEN, N_BLOCKS };
static const double canary = 12288; /* in every type */

typedef struct call {
  rgt_op_desc op;
  rgt_weight_form form;
  rgt_kargs k;
  block b[N_BLOCKS];
  rgt_int64 n_errors, first_error;
} call;

static uint32_t random_state;
static uint32_t draw(uint32_t n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % n;
}

/* Values of the call's storage type. */
static int64_t n_values(const call *c, int which) {
  return (int64_t)(c->b[which].bytes / rgt__number_bytes(c->op.dtype));
}
static double value(const call *c, int which, int64_t i) {
  return rgt__number_load(c->op.dtype, c->b[which].p, i);
}
static void value_set(call *c, int which, int64_t i, double v) {
  rgt__number_store(c->op.dtype, c->b[which].p, i, v);
}

static void quarters(call *c, int which, int64_t n) {
  c->b[which] = block_new((size_t)n * rgt__number_bytes(c->op.dtype));
  for (int64_t i = 0; i < n; i++) value_set(c, which, i, ((int)draw(9) - 4) * 0.25);
}

static block list_of(const call *c, int base, int64_t stride, int64_t groups) {
  block b = block_new((size_t)groups * sizeof(void *));
  const size_t bytes = (size_t)stride * rgt__number_bytes(c->op.dtype);
  for (int64_t g = 0; g < groups; g++) ((const void **)b.p)[g] = (const char *)c->b[base].p + (size_t)g * bytes;
  return b;
}

static int64_t index_at(const call *c, int64_t r) {
  return c->op.index_type == RGT_I64 ? ((const int64_t *)c->b[INDEX].p)[r] : ((const int32_t *)c->b[INDEX].p)[r];
}

static void index_set(call *c, int64_t r, int64_t g) {
  if (c->op.index_type == RGT_I64)
    ((int64_t *)c->b[INDEX].p)[r] = g;
  else
    ((int32_t *)c->b[INDEX].p)[r] = (int32_t)g;
}

/* matrix -- one layer's weights; returns the group stride. Odd ld and stride, and nothing behind the last value. */
static int64_t matrix(call *c, int which, int64_t n_k, int64_t n_n, int pad, rgt_int64 *ld) {
  const int64_t height = c->op.layout == RGT_KN ? n_k : n_n, width = c->op.layout == RGT_KN ? n_n : n_k;
  *ld = width + pad;
  const int64_t one = (height - 1) * *ld + width, stride = one + pad;
  quarters(c, which, (c->k.groups - 1) * stride + one);
  return stride;
}

static void lists_make(call *c) {
  rgt_kargs *k = &c->k;
  const struct {
    int base, list, flag;
    int64_t stride;
    const void **field;
  } all[] = {{W1, W1_LIST, 0, k->stride_w1, &k->w1},
             {W2, W2_LIST, 0, k->stride_w2, &k->w2},
             {B1, B1_LIST, RGT_KARGS_B1_POINTERS, k->stride_b1, &k->b1},
             {B2, B2_LIST, RGT_KARGS_B2_POINTERS, k->stride_b2, &k->b2}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!c->b[all[i].base].map) continue;
    c->b[all[i].list] = list_of(c, all[i].base, all[i].stride, k->groups);
    *all[i].field = c->b[all[i].list].p;
    k->flags |= all[i].flag;
  }
}

static void call_new(call *c, const char *text, rgt_weight_form form, int64_t rows, int pad) {
  memset(c, 0, sizeof *c);
  rgt__error err;
  assert_int_equal(rgt__op_parse(text, &c->op, &err), RGT_OK);
  rgt_op_desc *op = &c->op;
  rgt_kargs *k = &c->k;
  const int mlp = op->kind == RGT_MLP;
  const int64_t first_out = mlp ? op->n_hidden : op->n_out;
  random_state = 7;
  c->form = form;
  k->rows = rows;
  k->groups = op->groups;
  k->ld_x = op->n_in + pad;
  k->ld_y = op->n_out + 2 * pad;
  quarters(c, X, rows ? (rows - 1) * k->ld_x + op->n_in : 0);
  quarters(c, Y, rows ? (rows - 1) * k->ld_y + op->n_out : 0);
  for (int64_t i = 0; i < n_values(c, Y); i++) value_set(c, Y, i, canary);
  c->b[INDEX] = block_new((size_t)rows * (op->index_type == RGT_I64 ? 8 : 4));
  for (int64_t r = 0; r < rows; r++) index_set(c, r, draw(5) == 0 ? -1 : (int64_t)draw((uint32_t)op->groups));
  k->stride_w1 = matrix(c, W1, op->n_in, first_out, pad, &k->ld_w1);
  if (mlp) k->stride_w2 = matrix(c, W2, op->n_hidden, op->n_out, pad, &k->ld_w2);
  k->stride_b1 = first_out + pad;
  k->stride_b2 = op->n_out + pad;
  if (op->bias & RGT_BIAS_1) quarters(c, B1, (k->groups - 1) * k->stride_b1 + first_out);
  if (op->bias & RGT_BIAS_2) quarters(c, B2, (k->groups - 1) * k->stride_b2 + op->n_out);
  if (mlp) c->b[HIDDEN] = block_new((size_t)op->n_hidden * 4);
  k->x = c->b[X].p;
  k->index = c->b[INDEX].p;
  k->y = c->b[Y].p;
  k->w1 = c->b[W1].p;
  k->w2 = c->b[W2].p;
  k->b1 = c->b[B1].p;
  k->b2 = c->b[B2].p;
  k->x_div = 1;
  if (form == RGT_POINTERS) lists_make(c);
  c->first_error = INT64_MAX;
  k->n_index_errors = &c->n_errors;
  k->first_index_error = &c->first_error;
}

static void call_free(call *c) {
  for (int i = 0; i < N_BLOCKS; i++) block_free(&c->b[i]);
}

static void run(call *c, const char *cpu, int64_t first, int64_t n) {
  rgt__builtin_run(&c->op, c->form, cpu, &c->k, first, n, c->b[HIDDEN].p);
}

static double y_at(const call *c, int64_t r, int64_t o) {
  return value(c, Y, r * c->k.ld_y + o);
}
static double x_at(const call *c, int64_t r, int64_t i) {
  return value(c, X, r * c->k.ld_x + i);
}

static double weight(const call *c, int which, int64_t g, int64_t n, int64_t k) {
  const int64_t ld = which == W1 ? c->k.ld_w1 : c->k.ld_w2, stride = which == W1 ? c->k.stride_w1 : c->k.stride_w2;
  return value(c, which, g * stride + (c->op.layout == RGT_KN ? k * ld + n : n * ld + k));
}

static double bias(const call *c, int which, int64_t g, int64_t n) {
  const int64_t stride = which == B1 ? c->k.stride_b1 : c->k.stride_b2;
  return c->b[which].map ? value(c, which, g * stride + n) : 0;
}

/* Checks one live row. Sums are exact, and y rounded once; an activation other than relu may err by 2^-21 of its value and of
 * its argument, and what that does to an MLP's sum is bounded by verify.md's formula. */
static void check_live(const call *c, int64_t r, int64_t g) {
  double h[128], h_error[128];
  const int mlp = c->op.kind == RGT_MLP, exact = c->op.act <= RGT_ACT_RELU;
  const int64_t n1 = mlp ? c->op.n_hidden : c->op.n_out;
  for (int64_t n = 0; n < n1; n++) {
    double z = bias(c, B1, g, n);
    for (int64_t i = 0; i < c->op.n_in; i++) z += weight(c, W1, g, n, i) * x_at(c, r, i);
    h[n] = rgt__reference_act(c->op.act, z);
    h_error[n] = exact ? 0 : 0x1p-21 * (fabs(h[n]) + fabs(z));
  }
  for (int64_t o = 0; o < c->op.n_out; o++) {
    double y = mlp ? bias(c, B2, g, o) : h[o], bound = mlp ? 0 : h_error[o], sum = fabs(y);
    for (int64_t n = 0; mlp && n < n1; n++) {
      const double w = weight(c, W2, g, o, n);
      y += w * h[n];
      bound += fabs(w) * h_error[n];
      sum += fabs(w * h[n]);
    }
    if (mlp && !exact) bound += (double)(n1 + 8) * 0x1p-24 * sum;
    if (exact)
      y = rgt__number_round(c->op.dtype, y);
    else
      bound += rgt__number_u(c->op.dtype) * fabs(y) + rgt__number_eta(c->op.dtype);
    if (!(fabs(y_at(c, r, o) - y) <= bound)) fail_msg("row %d column %d: %.9g, not %.9g", (int)r, (int)o, y_at(c, r, o), y);
  }
}

static void check(const call *c) {
  for (int64_t r = 0; r < c->k.rows; r++) {
    const int64_t g = index_at(c, r);
    if (g >= 0 && g < c->k.groups) {
      check_live(c, r, g);
    } else {
      for (int64_t o = 0; o < c->op.n_out; o++) {
        assert_true(y_at(c, r, o) == 0 && !signbit(y_at(c, r, o)));
      }
    }
    for (int64_t o = c->op.n_out; o < c->k.ld_y && r + 1 < c->k.rows; o++) assert_true(y_at(c, r, o) == canary);
  }
}

/* ---- tests ---- */

/* typed -- an op's text with another storage type. */
static const char *typed(const char *text, int dtype, char out[RGT_OP_TEXT_MAX]) {
  const char *at = strstr(text, ":f32:");
  snprintf(out, RGT_OP_TEXT_MAX, "%.*s:%s:%s", (int)(at - text), text, rgt__op_dtype_word((rgt_dtype)dtype), at + 5);
  return out;
}

static const char *const dims[] = {"mlp:10-20-5", "mlp:1-1-1",   "mlp:7-9-8",   "mlp:8-16-32", "mlp:33-70-31",
                                   "linear:1-1",  "linear:70-1", "linear:1-70", "linear:9-65"};

static void test_matrix(void **state) {
  (void)state;
  static const char *const acts[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "tanh"};
  int n = 0;
  for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
    for (int i = 0; i < 6 * 2 * 2 * 4; i++) {
      const char *act = acts[i % 6], *layout = i / 6 % 2 ? "kn" : "nk", *index = i / 12 % 2 ? "i32" : "i64";
      const char *biases[] = {"b0", "b1", "b2", "b12"}, *b = biases[i / 24];
      if (dims[d][0] == 'l' && i / 24 > 1) continue;
      char text[RGT_OP_TEXT_MAX];
      snprintf(text, sizeof text, "%s:g3:f32:%s:%s:%s:%s", dims[d], act, b, layout, index);
      for (int p = 0; p < 9; p++) {
        if (!cpu_here(cpus[p % 3])) continue;
        call c;
        char of_type[RGT_OP_TEXT_MAX];
        call_new(&c, typed(text, p / 3, of_type), n % 2 ? RGT_POINTERS : RGT_STACKED, 23, n % 3);
        run(&c, cpus[p % 3], 0, 23);
        check(&c);
        assert_int_equal(c.n_errors, 0);
        call_free(&c);
        n++;
      }
    }
  }
  assert_true(n >= 3 * 6 * 2 * 2 * 28);
}

/* More outputs than the widest block of registers or of sums: 600 and 1100 take several blocks and a tail. */
static void test_many_outputs(void **state) {
  (void)state;
  static const char *const texts[] = {"linear:11-1100:g2:f32:relu:b1:kn:i64", "linear:11-600:g2:f32:relu:b1:nk:i64",
                                      "linear:3-129:g2:f32:none:b0:kn:i32", "linear:70-128:g2:f32:none:b1:kn:i32"};
  for (size_t i = 0; i < 4; i++) {
    for (int p = 0; p < 9; p++) {
      if (!cpu_here(cpus[p % 3])) continue;
      call c;
      char text[RGT_OP_TEXT_MAX];
      call_new(&c, typed(texts[i], p / 3, text), RGT_STACKED, 5, 1);
      for (int64_t r = 0; r < 5; r++) index_set(&c, r, r == 3 ? -1 : r % 2);
      run(&c, cpus[p % 3], 0, 5);
      for (int64_t r = 0; r < 5; r++) {
        for (int64_t o = 0; o < c.op.n_out; o++) {
          double y = r == 3 ? 0 : bias(&c, B1, r % 2, o);
          for (int64_t k = 0; r != 3 && k < c.op.n_in; k++) y += weight(&c, W1, r % 2, o, k) * x_at(&c, r, k);
          if (c.op.act == RGT_ACT_RELU && y < 0) y = 0;
          assert_true(y_at(&c, r, o) == rgt__number_round(c.op.dtype, y));
        }
      }
      call_free(&c);
    }
  }
}

static void test_wrong_indices(void **state) {
  (void)state;
  call c;
  call_new(&c, "mlp:5-6-7:g4:f32:relu:b12:nk:i64", RGT_STACKED, 9, 1);
  const int64_t indices[] = {0, -1, 3, INT64_C(4294967296), 2, 4, -2, INT64_MIN, 1};
  for (int64_t r = 0; r < 9; r++) index_set(&c, r, indices[r]);
  run(&c, "plain", 0, 9);
  check(&c);
  assert_int_equal(c.n_errors, 4);
  assert_int_equal(c.first_error, 3);
  run(&c, "plain", 5, 3); /* counts add up, the first row stays the smallest */
  assert_int_equal(c.n_errors, 7);
  assert_int_equal(c.first_error, 3);
  call_free(&c);
}

static void test_no_rows(void **state) {
  (void)state;
  rgt__error err;
  rgt_op_desc op;
  assert_int_equal(rgt__op_parse("linear:5-7:g4:f32:relu:b1:nk:i64", &op, &err), RGT_OK);
  rgt_kargs k = {.groups = 4};
  for (size_t p = 0; p < 3; p++)
    if (cpu_here(cpus[p])) rgt__builtin_run(&op, RGT_STACKED, cpus[p], &k, 0, 0, NULL);
}

/* NaN in a masked row, in an unused group and in a live row: only the last reaches y, and only its own row. */
static void test_nan(void **state) {
  (void)state;
  for (int p = 0; p < 9; p++) {
    if (!cpu_here(cpus[p % 3])) continue;
    call c;
    char text[RGT_OP_TEXT_MAX];
    call_new(&c, typed("mlp:9-13-6:g3:f32:relu:b12:nk:i32", p / 3, text), RGT_POINTERS, 6, 2);
    const int64_t indices[] = {0, -1, 2, 0, 2, -1};
    for (int64_t r = 0; r < 6; r++) index_set(&c, r, indices[r]);
    for (int i = 0; i < 9; i++) value_set(&c, X, c.k.ld_x + i, i % 2 ? NAN : INFINITY);
    value_set(&c, X, 3 * c.k.ld_x + 4, NAN);
    ((void **)c.b[W1_LIST].p)[1] = NULL; /* group 1 has no row */
    ((void **)c.b[W2_LIST].p)[1] = NULL;
    run(&c, cpus[p % 3], 0, 6);
    for (int64_t o = 0; o < 6; o++) assert_true(isnan(y_at(&c, 3, o)));
    index_set(&c, 3, -1);
    for (int64_t o = 0; o < 6; o++) value_set(&c, Y, 3 * c.k.ld_y + o, 0);
    check(&c);
    call_free(&c);
  }
}

static void test_split_is_free(void **state) {
  (void)state;
  for (int p = 0; p < 9; p++) {
    const char *cpu = cpus[p % 3];
    if (!cpu_here(cpu)) continue;
    call whole, parts;
    char text[RGT_OP_TEXT_MAX];
    typed("mlp:33-70-31:g3:f32:tanh:b12:nk:i64", p / 3, text);
    call_new(&whole, text, RGT_STACKED, 23, 1);
    call_new(&parts, text, RGT_STACKED, 23, 1);
    for (int64_t i = 0; i < n_values(&whole, X); i++) { /* inexact sums, so that another order would show */
      value_set(&whole, X, i, 1.0 / (1 + draw(1000)));
      value_set(&parts, X, i, value(&whole, X, i));
    }
    run(&whole, cpu, 0, 23);
    run(&parts, cpu, 11, 12);
    run(&parts, cpu, 0, 1);
    run(&parts, cpu, 1, 10);
    assert_memory_equal(whole.b[Y].p, parts.b[Y].p, whole.b[Y].bytes);
    call_free(&whole);
    call_free(&parts);
  }
}

static void test_supports(void **state) {
  (void)state;
  for (int dtype = RGT_F32; dtype <= RGT_BF16; dtype++) {
    rgt_op_desc op = {.dtype = (rgt_dtype)dtype};
    assert_true(rgt__builtin_supports(&op));
  }
}

/* ---- the default variant's bits ---- */

struct generated {
  rgt__environment env;
  rgt__device *device;
  rgt__sources *sources;
  rgt__families *families;
};

/* default_run -- generates, compiles and runs the default variant of row_gather on c's data. */
static void default_run(struct generated *s, const rgt__target *target, call *c) {
  rgt__error err;
  rgt__variant v;
  rgt__rendered r;
  rgt__compiled code = {0};
  rgt__module *module;
  rgt__plan plan;
  const rgt__render_facts facts = {.form = c->form, .align_bytes = (int)rgt__number_bytes(c->op.dtype)};
  rgt__variant_default(rgt__families_find(s->families, "cpu", "row_gather"), &v);
  assert_int_equal(rgt__variant_check(s->families, &v, &c->op, target, &err), RGT_OK);
  if (rgt__render(s->families, &v, &c->op, target, &facts, &r, &err) != RGT_OK) fail_msg("%s", err.text);
  if (s->device->ops->compile(s->device, r.text, r.size, target, 0, &code, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(s->device->ops->load(s->device, NULL, code.code, code.code_bytes, &r.program, &module, &err), RGT_OK);
  rgt__plan_make(&r.program, &s->device->info, c->k.rows, c->k.groups, &plan);
  assert_true(plan.valid);
  void *workspace;
  assert_int_equal(s->device->ops->mem_alloc(s->device, (size_t)plan.workspace_bytes + 64, &workspace, &err), RGT_OK);
  assert_int_equal(s->device->ops->launch(s->device, module, &r.program, &plan, &c->k, workspace, NULL, &err), RGT_OK);
  s->device->ops->mem_free(s->device, workspace);
  s->device->ops->unload(s->device, module);
  rgt__compiled_free(&code);
  rgt__rendered_free(&r);
}

static void fill_inexact(call *c, int which) {
  for (int64_t i = 0; i < n_values(c, which); i++) value_set(c, which, i, ((double)draw(2001) - 1000) / 777);
}

static void test_default_bits(void **state) {
  (void)state;
  static const char *const texts[] = {"mlp:10-20-5:g3:f32:gelu:b12:nk:i64",  "mlp:10-20-5:g3:f32:relu:b12:kn:i64",
                                      "mlp:33-70-31:g4:f32:silu:b2:nk:i32",  "linear:70-600:g2:f32:tanh:b1:nk:i64",
                                      "linear:70-600:g2:f32:tanh:b1:kn:i64", "mlp:1-131-1:g2:f32:gelu_tanh:b0:kn:i32"};
  enum { N_TEXTS = sizeof texts / sizeof *texts };
  struct generated s = {0};
  rgt__error err;
  assert_int_equal(rgt__environment_read(&s.env, &err), RGT_OK);
  const rgt__device_options options = {.env = &s.env};
  if (rgt__device_cpu_open(&options, &s.device, &err) != RGT_OK) fail_msg("%s", err.text);
  char stamp[512];
  s.device->ops->compiler_stamp(s.device, stamp, sizeof stamp);
  if (!stamp[0]) skip();
  assert_int_equal(rgt__sources_open(NULL, &s.sources, &err), RGT_OK);
  if (rgt__families_open(s.sources, &s.families, &err) != RGT_OK) fail_msg("%s", err.text);
  for (size_t p = 0; p < 3; p++) {
    rgt__target target;
    if (!cpu_here(cpus[p])) continue;
    assert_int_equal(rgt__cpu_target_by_name(cpus[p], &target, &err), RGT_OK);
    for (int i = 0; i < 2 * N_TEXTS; i++) { /* each text in f32 and in one of 16 bits: both layouts in each type */
      const int t = i % N_TEXTS, dtype = i < N_TEXTS ? RGT_F32 : t % 2 ? RGT_BF16 : RGT_F16;
      char text[RGT_OP_TEXT_MAX];
      call mine, theirs;
      call *both[] = {&mine, &theirs};
      for (int j = 0; j < 2; j++) {
        call_new(both[j], typed(texts[t], dtype, text), t % 2 ? RGT_STACKED : RGT_POINTERS, 19, 1);
        for (int which = W1; which <= B2; which++)
          if (both[j]->b[which].map) fill_inexact(both[j], which);
        fill_inexact(both[j], X);
      }
      run(&mine, cpus[p], 0, 19);
      default_run(&s, &target, &theirs);
      assert_memory_equal(mine.b[Y].p, theirs.b[Y].p, mine.b[Y].bytes);
      call_free(&mine);
      call_free(&theirs);
    }
  }
  rgt__families_free(s.families);
  rgt__sources_free(s.sources);
  s.device->ops->close(s.device);
  rgt__environment_free(&s.env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matrix),   cmocka_unit_test(test_many_outputs), cmocka_unit_test(test_wrong_indices),
      cmocka_unit_test(test_no_rows),  cmocka_unit_test(test_nan),          cmocka_unit_test(test_split_is_free),
      cmocka_unit_test(test_supports), cmocka_unit_test(test_default_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
