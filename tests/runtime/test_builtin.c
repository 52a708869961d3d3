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
#include "runtime/builtin.h"
#include "runtime/cpu_features.h"
#include "runtime/reference.h"

static const char *const cpus[] = {"plain", "x86-64-avx2", "x86-64-avx512"};

static int cpu_here(const char *cpu) {
#ifdef __x86_64__
  if (strcmp(cpu, "x86-64-avx2") == 0) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
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
static const float canary = 12345.0f;

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

static block quarters(int64_t n) {
  block b = block_new((size_t)n * 4);
  for (int64_t i = 0; i < n; i++) ((float *)b.p)[i] = (float)((int)draw(9) - 4) * 0.25f;
  return b;
}

static block list_of(const block *base, int64_t stride, int64_t groups) {
  block b = block_new((size_t)groups * sizeof(void *));
  for (int64_t g = 0; g < groups; g++) ((const float **)b.p)[g] = (const float *)base->p + g * stride;
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
  c->b[which] = quarters((c->k.groups - 1) * stride + one);
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
    c->b[all[i].list] = list_of(&c->b[all[i].base], all[i].stride, k->groups);
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
  c->b[X] = quarters(rows ? (rows - 1) * k->ld_x + op->n_in : 0);
  c->b[Y] = quarters(rows ? (rows - 1) * k->ld_y + op->n_out : 0);
  for (size_t i = 0; i < c->b[Y].bytes / 4; i++) ((float *)c->b[Y].p)[i] = canary;
  c->b[INDEX] = block_new((size_t)rows * (op->index_type == RGT_I64 ? 8 : 4));
  for (int64_t r = 0; r < rows; r++) index_set(c, r, draw(5) == 0 ? -1 : (int64_t)draw((uint32_t)op->groups));
  k->stride_w1 = matrix(c, W1, op->n_in, first_out, pad, &k->ld_w1);
  if (mlp) k->stride_w2 = matrix(c, W2, op->n_hidden, op->n_out, pad, &k->ld_w2);
  k->stride_b1 = first_out + pad;
  k->stride_b2 = op->n_out + pad;
  if (op->bias & RGT_BIAS_1) c->b[B1] = quarters((k->groups - 1) * k->stride_b1 + first_out);
  if (op->bias & RGT_BIAS_2) c->b[B2] = quarters((k->groups - 1) * k->stride_b2 + op->n_out);
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

static float y_at(const call *c, int64_t r, int64_t o) {
  return ((const float *)c->b[Y].p)[r * c->k.ld_y + o];
}

static double weight(const call *c, int which, int64_t g, int64_t n, int64_t k) {
  const int64_t ld = which == W1 ? c->k.ld_w1 : c->k.ld_w2, stride = which == W1 ? c->k.stride_w1 : c->k.stride_w2;
  return ((const float *)c->b[which].p)[g * stride + (c->op.layout == RGT_KN ? k * ld + n : n * ld + k)];
}

static double bias(const call *c, int which, int64_t g, int64_t n) {
  const int64_t stride = which == B1 ? c->k.stride_b1 : c->k.stride_b2;
  return c->b[which].map ? ((const float *)c->b[which].p)[g * stride + n] : 0;
}

/* Checks one live row. Sums are exact; an activation other than relu may err by 2^-21 of its value and of its argument, and
 * what that does to an MLP's sum is bounded by verify.md's formula. */
static void check_live(const call *c, int64_t r, int64_t g) {
  double h[128], h_error[128];
  const int mlp = c->op.kind == RGT_MLP, exact = c->op.act <= RGT_ACT_RELU;
  const int64_t n1 = mlp ? c->op.n_hidden : c->op.n_out;
  for (int64_t n = 0; n < n1; n++) {
    double z = bias(c, B1, g, n);
    for (int64_t i = 0; i < c->op.n_in; i++) z += weight(c, W1, g, n, i) * ((const float *)c->b[X].p)[r * c->k.ld_x + i];
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
    if (!exact) bound += 0x1p-24 * fabs(y);
    if (!(fabs(y_at(c, r, o) - y) <= bound))
      fail_msg("row %d column %d: %.9g, not %.9g", (int)r, (int)o, (double)y_at(c, r, o), y);
  }
}

static void check(const call *c) {
  for (int64_t r = 0; r < c->k.rows; r++) {
    const int64_t g = index_at(c, r);
    if (g >= 0 && g < c->k.groups) {
      check_live(c, r, g);
    } else {
      for (int64_t o = 0; o < c->op.n_out; o++) {
        uint32_t bits;
        float y = y_at(c, r, o);
        memcpy(&bits, &y, 4);
        assert_int_equal(bits, 0); /* +0, not -0 */
      }
    }
    for (int64_t o = c->op.n_out; o < c->k.ld_y && r + 1 < c->k.rows; o++) assert_true(y_at(c, r, o) == canary);
  }
}

/* ---- tests ---- */

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
      for (size_t p = 0; p < 3; p++) {
        if (!cpu_here(cpus[p])) continue;
        call c;
        call_new(&c, text, n % 2 ? RGT_POINTERS : RGT_STACKED, 23, n % 3);
        run(&c, cpus[p], 0, 23);
        check(&c);
        assert_int_equal(c.n_errors, 0);
        call_free(&c);
        n++;
      }
    }
  }
  assert_true(n >= 6 * 2 * 2 * 28);
}

/* More outputs than the widest block of registers or of sums: 600 and 1100 take several blocks and a tail. */
static void test_many_outputs(void **state) {
  (void)state;
  static const char *const texts[] = {"linear:11-1100:g2:f32:relu:b1:kn:i64", "linear:11-600:g2:f32:relu:b1:nk:i64",
                                      "linear:3-129:g2:f32:none:b0:kn:i32", "linear:70-128:g2:f32:none:b1:kn:i32"};
  for (size_t i = 0; i < 4; i++) {
    for (size_t p = 0; p < 3; p++) {
      if (!cpu_here(cpus[p])) continue;
      call c;
      call_new(&c, texts[i], RGT_STACKED, 5, 1);
      for (int64_t r = 0; r < 5; r++) index_set(&c, r, r == 3 ? -1 : r % 2);
      run(&c, cpus[p], 0, 5);
      for (int64_t r = 0; r < 5; r++) {
        for (int64_t o = 0; o < c.op.n_out; o++) {
          double y = r == 3 ? 0 : bias(&c, B1, r % 2, o);
          for (int64_t k = 0; r != 3 && k < c.op.n_in; k++)
            y += weight(&c, W1, r % 2, o, k) * ((const float *)c.b[X].p)[r * c.k.ld_x + k];
          if (c.op.act == RGT_ACT_RELU && y < 0) y = 0;
          assert_true(y_at(&c, r, o) == (float)y);
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
  for (size_t p = 0; p < 3; p++) {
    if (!cpu_here(cpus[p])) continue;
    call c;
    call_new(&c, "mlp:9-13-6:g3:f32:relu:b12:nk:i32", RGT_POINTERS, 6, 2);
    const int64_t indices[] = {0, -1, 2, 0, 2, -1};
    for (int64_t r = 0; r < 6; r++) index_set(&c, r, indices[r]);
    float *x = c.b[X].p;
    for (int i = 0; i < 9; i++) x[c.k.ld_x + i] = i % 2 ? NAN : INFINITY;
    x[3 * c.k.ld_x + 4] = NAN;
    ((void **)c.b[W1_LIST].p)[1] = NULL; /* group 1 has no row */
    ((void **)c.b[W2_LIST].p)[1] = NULL;
    run(&c, cpus[p], 0, 6);
    for (int64_t o = 0; o < 6; o++) assert_true(isnan(y_at(&c, 3, o)));
    index_set(&c, 3, -1);
    for (int64_t o = 0; o < 6; o++) ((float *)c.b[Y].p)[3 * c.k.ld_y + o] = 0;
    check(&c);
    call_free(&c);
  }
}

static void test_split_is_free(void **state) {
  (void)state;
  for (size_t p = 0; p < 3; p++) {
    if (!cpu_here(cpus[p])) continue;
    call whole, parts;
    call_new(&whole, "mlp:33-70-31:g3:f32:tanh:b12:nk:i64", RGT_STACKED, 23, 1);
    call_new(&parts, "mlp:33-70-31:g3:f32:tanh:b12:nk:i64", RGT_STACKED, 23, 1);
    for (size_t i = 0; i < whole.b[X].bytes / 4; i++) /* inexact sums, so that another order would show */
      ((float *)whole.b[X].p)[i] = ((float *)parts.b[X].p)[i] = 1.0f / (float)(1 + draw(1000));
    run(&whole, cpus[p], 0, 23);
    run(&parts, cpus[p], 11, 12);
    run(&parts, cpus[p], 0, 1);
    run(&parts, cpus[p], 1, 10);
    assert_memory_equal(whole.b[Y].p, parts.b[Y].p, whole.b[Y].bytes);
    call_free(&whole);
    call_free(&parts);
  }
}

static void test_supports(void **state) {
  (void)state;
  rgt_op_desc op = {.dtype = RGT_F32};
  assert_true(rgt__builtin_supports(&op));
  op.dtype = RGT_F16;
  assert_false(rgt__builtin_supports(&op));
  op.dtype = RGT_BF16;
  assert_false(rgt__builtin_supports(&op));
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
  const rgt__render_facts facts = {.form = c->form, .align_bytes = 4};
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
  for (size_t i = 0; i < c->b[which].bytes / 4; i++) ((float *)c->b[which].p)[i] = ((float)draw(2001) - 1000.0f) / 777.0f;
}

static void test_default_bits(void **state) {
  (void)state;
  static const char *const texts[] = {"mlp:10-20-5:g3:f32:gelu:b12:nk:i64",  "mlp:10-20-5:g3:f32:relu:b12:kn:i64",
                                      "mlp:33-70-31:g4:f32:silu:b2:nk:i32",  "linear:70-600:g2:f32:tanh:b1:nk:i64",
                                      "linear:70-600:g2:f32:tanh:b1:kn:i64", "mlp:1-131-1:g2:f32:gelu_tanh:b0:kn:i32"};
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
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
      call mine, theirs;
      call *both[] = {&mine, &theirs};
      for (int j = 0; j < 2; j++) {
        call_new(both[j], texts[i], i % 2 ? RGT_STACKED : RGT_POINTERS, 19, 1);
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
