/* test_cuda_templates.c -- the CUDA families: their own text, run on the host, against the float64 reference.
 *
 * The rendered text is compiled as C++ after tests/runtime/cuda_on_host/machine.hpp, with the one template file
 * that holds PTX replaced. Reads are checked there: live rows of x, used groups of w and b, nothing else. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "generator/render.h"
#include "runtime/base/number.h"
#include "runtime/device.h"
#include "runtime/reference.h"
#include "runtime/verify_data.h"

enum { ROWS = 61 }; /* of a bound pass; the exact pass takes all that its problem needs */

static struct {
  char folder[64]; /* scratch */
  rgt__environment env;
  rgt__sources *sources; /* of the scratch copy */
  rgt__families *families;
  rgt__device *cpu;
  int has_cxx;
} t;

static rgt__error err;

#define OK(call)                                               \
  do {                                                         \
    err.text[0] = '\0';                                        \
    if ((call) != RGT_OK) fail_msg("%s: %s", #call, err.text); \
  } while (0)

static int sh(const char *format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  return system(line);
}

static int setup(void **state) {
  char path[128];
  (void)state;
  strcpy(t.folder, "/tmp/rgt-cuda-XXXXXX");
  if (mkdtemp(t.folder) == NULL) return -1;
  if (sh("cp -r '%s/templates' '%s/templates' && cp '%s/runtime/cuda_on_host/ptx.cuh' '%s/templates/cuda/lib/ptx.cuh'",
         RGT_SOURCE_DIR, t.folder, RGT_TESTS_DIR, t.folder) != 0)
    return -1;
  snprintf(path, sizeof path, "%s/templates", t.folder);
  OK(rgt__environment_read(&t.env, &err));
  OK(rgt__sources_open(path, &t.sources, &err));
  OK(rgt__families_open(t.sources, &t.families, &err));
  rgt__device_options options = {.env = &t.env};
  OK(rgt__device_cpu_open(&options, &t.cpu, &err));
  t.has_cxx = sh("c++ --version >/dev/null 2>&1") == 0;
  return 0;
}

static int teardown(void **state) {
  (void)state;
  t.cpu->ops->close(t.cpu);
  rgt__families_free(t.families);
  rgt__sources_free(t.sources);
  rgt__environment_free(&t.env);
  return sh("rm -rf '%s'", t.folder) == 0 ? 0 : -1;
}

/* ---- a variant on the host --------------------------------------------------------------------------------- */

typedef struct host_code {
  rgt_op_desc op;
  rgt_weight_form form;
  rgt__rendered rendered;
  rgt__numeric numeric;
  int64_t grid_max; /* 0: the plan's grid; else no more blocks than this */
  void *lib;
  void (*run)(int step, long long grid, int block, const rgt_kargs *k, void *workspace);
  void (*forget)(void);
  void (*allow)(const void *begin, size_t bytes);
  const char *(*fault)(void);
} host_code;

static void target_for(int sm, rgt__target *target) {
  *target = (rgt__target){.device = "cuda", .n_facts = 3};
  snprintf(target->name, sizeof target->name, "sm_%d", sm);
  strcpy(target->facts[0].name, "sm");
  target->facts[0].value = sm;
  strcpy(target->facts[1].name, "shared_static_max");
  target->facts[1].value = 49152;
  strcpy(target->facts[2].name, "shared_optin_max");
  target->facts[2].value = 101376;
}

static void *symbol(void *lib, const char *name) {
  void *p = dlsym(lib, name);
  if (p == NULL) fail_msg("%s", dlerror());
  return p;
}

/* The rendered text, then one C entry that launches a step's kernel. */
static void write_source(const host_code *c, const char *path) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fwrite(c->rendered.text, 1, c->rendered.size, f);
  fputs("\nextern \"C\" void host_run(int step, long long grid, int block, const rgt_kargs *k, void *workspace) {\n", f);
  for (int i = 0; i < c->rendered.program.n_steps; i++)
    fprintf(f, "  if (step == %d) host::launch(%s, grid, block, k, workspace);\n", i, c->rendered.program.steps[i].kernel);
  fputs("}\n", f);
  assert_int_equal(fclose(f), 0);
}

static void host_build(host_code *c, const char *op, rgt_weight_form form, int align, const char *variant) {
  static int number;
  char source[128], library[128];
  rgt__target target;
  rgt__variant v;
  rgt__render_facts facts = {form, align, RGT_ORDER_RAW};
  memset(c, 0, sizeof *c);
  c->form = form;
  target_for(90, &target);
  OK(rgt__op_parse(op, &c->op, &err));
  OK(rgt__variant_parse(t.families, "cuda", variant, &v, &err));
  OK(rgt__variant_check(t.families, &v, &c->op, &target, &err));
  OK(rgt__variant_numeric(t.families, &v, &c->op, &c->numeric, &err));
  OK(rgt__render(t.families, &v, &c->op, &target, &facts, &c->rendered, &err));
  snprintf(source, sizeof source, "%s/%d.cc", t.folder, number);
  snprintf(library, sizeof library, "%s/%d.so", t.folder, number++);
  write_source(c, source);
  if (sh("c++ -std=c++17 -O1 -w -fno-strict-aliasing -ffp-contract=off -shared -fPIC -include "
         "'%s/runtime/cuda_on_host/machine.hpp' "
         "'%s' -o '%s'",
         RGT_TESTS_DIR, source, library) != 0)
    fail_msg("%s of %s does not compile as C++", variant, op);
  c->lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (c->lib == NULL) fail_msg("%s", dlerror());
  *(void **)&c->run = symbol(c->lib, "host_run");
  *(void **)&c->forget = symbol(c->lib, "host_forget");
  *(void **)&c->allow = symbol(c->lib, "host_allow");
  *(void **)&c->fault = symbol(c->lib, "host_fault");
}

static void host_free(host_code *c) {
  rgt__rendered_free(&c->rendered);
  dlclose(c->lib);
}

static int64_t index_at(const rgt_op_desc *op, const rgt_kargs *k, int64_t row) {
  return op->index_type == RGT_I64 ? ((const int64_t *)k->index)[row] : ((const int32_t *)k->index)[row];
}

/* What one layer may read of group g. */
static void allow_layer(const host_code *c, const rgt_kargs *k, int layer, int64_t g) {
  size_t size = rgt__number_bytes(c->op.dtype);
  int64_t n_k = layer == 1 ? c->op.n_in : c->op.n_hidden,
          n_n = layer == 1 && c->op.kind == RGT_MLP ? c->op.n_hidden : c->op.n_out;
  int64_t lines = c->op.layout == RGT_NK ? n_n : n_k, line = c->op.layout == RGT_NK ? n_k : n_n;
  int64_t ld = layer == 1 ? k->ld_w1 : k->ld_w2, stride = layer == 1 ? k->stride_w1 : k->stride_w2;
  const char *w = layer == 1 ? k->w1 : k->w2, *b = layer == 1 ? k->b1 : k->b2;
  if (c->form == RGT_POINTERS) {
    c->allow((const void *const *)(const void *)w + g, sizeof(void *));
    w = ((const char *const *)(const void *)w)[g];
  } else {
    w += (size_t)(g * stride) * size;
  }
  for (int64_t i = 0; i < lines; i++) c->allow(w + (size_t)(i * ld) * size, (size_t)line * size);
  if (!(c->op.bias & (layer == 1 ? RGT_BIAS_1 : RGT_BIAS_2))) return;
  if (k->flags & (layer == 1 ? RGT_KARGS_B1_POINTERS : RGT_KARGS_B2_POINTERS)) {
    c->allow((const void *const *)(const void *)b + g, sizeof(void *));
    b = ((const char *const *)(const void *)b)[g];
  } else {
    b += (size_t)(g * (layer == 1 ? k->stride_b1 : k->stride_b2)) * size;
  }
  c->allow(b, (size_t)n_n * size);
}

static void allow_inputs(const host_code *c, const rgt_kargs *k) {
  size_t size = rgt__number_bytes(c->op.dtype);
  unsigned char *used = calloc((size_t)k->groups, 1);
  assert_non_null(used);
  c->forget();
  c->allow(k->index, (size_t)k->rows * (c->op.index_type == RGT_I64 ? 8 : 4));
  for (int64_t row = 0; row < k->rows; row++) {
    int64_t g = index_at(&c->op, k, row);
    if (g < 0 || g >= k->groups) continue;
    c->allow((const char *)k->x + (size_t)(row * k->ld_x) * size, (size_t)c->op.n_in * size);
    if (!used[g]) {
      allow_layer(c, k, 1, g);
      if (c->op.kind == RGT_MLP) allow_layer(c, k, 2, g);
    }
    used[g] = 1;
  }
  free(used);
}

static rgt_status host_run(void *self, rgt__device *device, const rgt_kargs *k, rgt__error *e) {
  const host_code *c = self;
  rgt__plan plan;
  void *workspace = NULL;
  rgt__plan_make(&c->rendered.program, &device->info, k->rows, k->groups, &plan);
  assert_int_equal(plan.valid, 1);
  size_t bytes = (size_t)plan.workspace_bytes;
  OK(device->ops->mem_alloc(device, bytes + 16, &workspace, e));
  memset(workspace, 0xFF, bytes + 16);
  allow_inputs(c, k);
  c->allow(workspace, bytes);
  for (int i = 0; i < c->rendered.program.n_steps && c->fault()[0] == '\0'; i++) {
    int64_t grid = plan.steps[i].grid;
    assert_int_equal(plan.steps[i].shared, 0);
    c->run(i, c->grid_max > 0 && grid > c->grid_max ? c->grid_max : grid, (int)plan.steps[i].block, k, workspace);
  }
  rgt_status status = c->fault()[0] == '\0' ? RGT_OK : rgt__error_set(e, RGT_EINTERNAL, "%s", c->fault());
  for (int i = 0; i < 16; i++) assert_int_equal(((unsigned char *)workspace)[bytes + (size_t)i], 0xFF);
  device->ops->mem_free(device, workspace);
  return status;
}

/* ---- against the reference --------------------------------------------------------------------------------- */

static void make_problem(const rgt_op_desc *op, rgt_weight_form form, rgt__problem_kind kind, rgt__problem *p) {
  rgt__problem_options o = {
      .kind = kind, .rows = ROWS, .skew = RGT_SKEW_UNIFORM, .masked = 0.2, .nan_unused = 1, .form = form, .seed = 7};
  OK(rgt__problem_make(op, &o, p, &err));
}

/* Every element: within its bound; bit for bit in the exact pass. */
static void check_y(const host_code *c, const rgt__problem *p, int64_t rows, const void *y, int exact, const char *what) {
  const rgt_op_desc *op = &p->op;
  size_t n = (size_t)op->n_out;
  double *y64 = calloc(n, sizeof *y64), *bound = calloc(n, sizeof *bound);
  double *scratch = calloc((size_t)rgt__reference_scratch(op), sizeof *scratch);
  assert_true(y64 && bound && scratch);
  for (int64_t row = 0; row < rows; row++) {
    int64_t g = rgt__problem_index_at(p, row);
    rgt__reference_row(p, &c->numeric, row, y64, bound, NULL, scratch);
    for (int64_t o = 0; o < op->n_out; o++) {
      double got = rgt__number_load(op->dtype, y, row * op->n_out + o), want = y64[o];
      int right = exact ? got == rgt__number_round(op->dtype, want) : fabs(got - want) <= bound[o];
      if (g < 0 || g >= op->groups) right = got == 0 && !signbit(got);
      if (!right)
        fail_msg("%s: row %lld column %lld is %.9g, want %.9g +- %.3g", what, (long long)row, (long long)o, got, want,
                 bound[o]);
    }
  }
  free(y64);
  free(bound);
  free(scratch);
}

static void run_once(host_code *c, const rgt__problem *p, const rgt__verify_layout *layout, const rgt__verify_call *call,
                     rgt__verify_output *out) {
  rgt__verify_data data;
  rgt__callable callable = {t.cpu, c, host_run};
  OK(rgt__verify_data_open(t.cpu, p, layout, &data, &err));
  out->y = malloc((size_t)(call->rows + 1) * (size_t)p->op.n_out * 4);
  assert_non_null(out->y);
  OK(rgt__verify_data_run(&data, &callable, call, out, &err));
  if (out->damaged) fail_msg("%s", out->what);
  rgt__verify_data_close(&data);
}

/* One pass of one variant; the bound pass in both layouts of memory, with biases by stride and by pointer. */
static void pass(host_code *c, int align, int exact, const char *what) {
  rgt__problem p;
  make_problem(&c->op, c->form, exact ? RGT_PROBLEM_EXACT : RGT_PROBLEM_BOUND, &p);
  for (int i = exact; i < 2; i++) {
    rgt__verify_layout layout = {.padded = i, .bias_pointers = i, .align_bytes = align, .fill = i};
    rgt__verify_call call = {.rows = exact ? p.rows : ROWS, .nan_row = -1};
    rgt__verify_output out;
    run_once(c, &p, &layout, &call, &out);
    assert_int_equal(out.n_errors, 0);
    assert_int_equal(out.first_error, INT64_MAX);
    check_y(c, &p, call.rows, out.y, exact, what);
    free(out.y);
  }
  rgt__problem_free(&p);
}

static const struct {
  const char *op, *variant;
  rgt_weight_form form;
  int align;
} variants[] = {
    {"mlp:10-20-5:g5:f32:relu:b12:nk:i64", "row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=8,outputs=1,threads=128",
     RGT_STACKED, 4},
    {"mlp:10-20-5:g5:f16:relu:b12:kn:i32", "row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=8,outputs=1,threads=128",
     RGT_POINTERS, 2},
    {"mlp:1-1-1:g5:bf16:none:b2:nk:i32", "row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=8,outputs=1,threads=128",
     RGT_STACKED, 2},
    {"mlp:12-40-8:g5:bf16:relu:b1:nk:i64", "row_gather:chunk=4,fused_rows=8,in_registers=0,lanes=8,outputs=1,threads=256",
     RGT_STACKED, 8},
    {"mlp:5-66-7:g5:f32:relu:b2:kn:i32", "row_gather:chunk=4,fused_rows=1,in_registers=0,lanes=32,outputs=4,threads=256",
     RGT_POINTERS, 4},
    {"mlp:9-40-6:g5:f16:none:b0:nk:i64", "row_gather:chunk=1,fused_rows=8,in_registers=0,lanes=1,outputs=4,threads=128",
     RGT_STACKED, 4},
    {"mlp:10-20-5:g5:bf16:relu:b12:nk:i64", "row_gather:chunk=1,fused_rows=0,in_registers=1,lanes=8,outputs=4,threads=64",
     RGT_STACKED, 8},
    {"mlp:11-21-17:g5:f32:none:b1:kn:i32", "row_gather:chunk=1,fused_rows=0,in_registers=1,lanes=32,outputs=16,threads=128",
     RGT_POINTERS, 4},
    {"mlp:3-9-16:g5:f16:relu:b2:nk:i32", "row_gather:chunk=1,fused_rows=0,in_registers=1,lanes=1,outputs=16,threads=64",
     RGT_STACKED, 16},
    {"linear:33-17:g5:f32:none:b0:kn:i32", "row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=1,outputs=4,threads=64",
     RGT_POINTERS, 4},
    {"linear:35-16:g5:f16:relu:b1:kn:i64", "row_gather:chunk=4,fused_rows=0,in_registers=0,lanes=8,outputs=4,threads=256",
     RGT_STACKED, 16},
    {"linear:40-9:g5:bf16:relu:b1:nk:i64", "row_gather:chunk=4,fused_rows=0,in_registers=0,lanes=1,outputs=1,threads=64",
     RGT_STACKED, 8},
    {"linear:150-3:g5:f32:relu:b1:nk:i32", "row_gather:chunk=4,fused_rows=0,in_registers=0,lanes=32,outputs=1,threads=128",
     RGT_STACKED, 16},
};
enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

static void test_variants_are_right(void **state) {
  (void)state;
  if (!t.has_cxx) skip();
  for (int i = 0; i < N_VARIANTS; i++) {
    host_code c;
    host_build(&c, variants[i].op, variants[i].form, variants[i].align, variants[i].variant);
    pass(&c, variants[i].align, 0, variants[i].op);
    pass(&c, variants[i].align, 1, variants[i].op);
    host_free(&c);
  }
}

static void test_every_activation_is_right(void **state) {
  static const char *const ops[] = {"linear:10-5:g5:f32:gelu:b1:nk:i64", "linear:10-5:g5:f32:gelu_tanh:b1:nk:i64",
                                    "linear:10-5:g5:f32:silu:b1:nk:i64", "linear:10-5:g5:f32:tanh:b1:nk:i64"};
  (void)state;
  if (!t.has_cxx) skip();
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    host_code c;
    host_build(&c, ops[i], RGT_STACKED, 4, "row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=8,outputs=1,threads=128");
    pass(&c, 4, 0, ops[i]);
    host_free(&c);
  }
}

/* Rows past the grid are reached by the loop: same bits with one block as with all. */
static void test_a_short_grid_covers_every_row(void **state) {
  static const char *const texts[] = {"row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=8,outputs=1,threads=128",
                                      "row_gather:chunk=1,fused_rows=8,in_registers=0,lanes=8,outputs=4,threads=128"};
  (void)state;
  if (!t.has_cxx) skip();
  for (int i = 0; i < 2; i++) {
    host_code c;
    rgt__problem p;
    rgt__verify_layout layout = {.padded = 1, .align_bytes = 4};
    rgt__verify_output all, few;
    host_build(&c, "mlp:10-20-5:g5:f32:relu:b12:nk:i64", RGT_STACKED, 4, texts[i]);
    make_problem(&c.op, RGT_STACKED, RGT_PROBLEM_BOUND, &p);
    rgt__verify_call call = {.rows = ROWS, .nan_row = -1};
    run_once(&c, &p, &layout, &call, &all);
    c.grid_max = 2;
    run_once(&c, &p, &layout, &call, &few);
    assert_memory_equal(all.y, few.y, (size_t)(ROWS * p.op.n_out) * sizeof(float));
    check_y(&c, &p, ROWS, few.y, 0, texts[i]);
    free(all.y);
    free(few.y);
    rgt__problem_free(&p);
    host_free(&c);
  }
}

/* Wrong indices are counted once a row, compared at their own width, and give zeros; a NaN stays in its row. */
static void check_index_errors(const char *op, const char *variant, int64_t wrong_a, int64_t wrong_b) {
  host_code c;
  rgt__problem p;
  rgt__verify_layout layout = {.align_bytes = 4};
  rgt__verify_output right, got;
  int64_t index[ROWS];
  host_build(&c, op, RGT_STACKED, 4, variant);
  make_problem(&c.op, RGT_STACKED, RGT_PROBLEM_BOUND, &p);
  int64_t n = p.op.n_out;
  for (int64_t r = 0; r < ROWS; r++) index[r] = rgt__problem_index_at(&p, r);
  for (int64_t r = 0; index[20] < 0; r++) index[20] = index[r]; /* a live row for the NaN */
  rgt__verify_call call = {.rows = ROWS, .index = index, .nan_row = -1};
  run_once(&c, &p, &layout, &call, &right);
  assert_int_equal(right.n_errors, 0);
  index[11] = wrong_a, index[5] = wrong_b, index[30] = p.op.groups;
  call.nan_row = 20;
  run_once(&c, &p, &layout, &call, &got);
  assert_int_equal(got.n_errors, 3);
  assert_int_equal(got.first_error, 5);
  for (int64_t r = 0; r < ROWS; r++) {
    const float *a = (const float *)(const void *)right.y + r * n, *b = (const float *)(const void *)got.y + r * n;
    for (int64_t o = 0; o < n; o++) {
      if (r == 5 || r == 11 || r == 30)
        assert_true(b[o] == 0 && !signbit(b[o]));
      else if (r == 20)
        assert_true(isnan(b[o]));
      else
        assert_memory_equal(a + o, b + o, sizeof *a);
    }
  }
  free(right.y);
  free(got.y);
  rgt__problem_free(&p);
  host_free(&c);
}

static void test_wrong_indices_are_counted(void **state) {
  (void)state;
  if (!t.has_cxx) skip();
  check_index_errors("mlp:10-20-5:g5:f32:relu:b12:nk:i64",
                     "row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=8,outputs=1,threads=128", (int64_t)1 << 32,
                     INT64_MIN);
  check_index_errors("mlp:10-20-5:g5:f32:none:b12:nk:i32",
                     "row_gather:chunk=1,fused_rows=8,in_registers=0,lanes=8,outputs=4,threads=128", INT32_MAX, -2);
  check_index_errors("linear:10-5:g5:f32:relu:b1:kn:i64",
                     "row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=1,outputs=1,threads=128", -((int64_t)1 << 32) - 1,
                     ((int64_t)1 << 32) - 1);
}

/* Variants of one numeric class agree bit for bit, whatever their blocks, tiles, fusing and load widths. */
static void test_a_class_has_one_result(void **state) {
  static const char *const texts[] = {"row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=1,outputs=1,threads=128",
                                      "row_gather:chunk=4,fused_rows=8,in_registers=0,lanes=1,outputs=1,threads=256",
                                      "row_gather:chunk=1,fused_rows=0,in_registers=1,lanes=1,outputs=4,threads=64",
                                      "row_gather:chunk=4,fused_rows=0,in_registers=0,lanes=1,outputs=4,threads=128"};
  rgt__verify_output first = {0};
  (void)state;
  if (!t.has_cxx) skip();
  for (int i = 0; i < 4; i++) {
    host_code c;
    rgt__problem p;
    int align = i >= 2 ? 16 : 4;
    rgt__verify_layout layout = {.padded = i == 1, .align_bytes = align};
    rgt__verify_output out;
    host_build(&c, "mlp:12-20-8:g5:f32:gelu:b12:nk:i64", RGT_STACKED, align, texts[i]);
    assert_string_equal(c.numeric.class_name, "seq");
    make_problem(&c.op, RGT_STACKED, RGT_PROBLEM_BOUND, &p);
    rgt__verify_call call = {.rows = ROWS, .nan_row = -1};
    run_once(&c, &p, &layout, &call, &out);
    if (i == 0)
      first = out;
    else
      assert_memory_equal(first.y, out.y, (size_t)(ROWS * p.op.n_out) * sizeof(float));
    if (i > 0) free(out.y);
    rgt__problem_free(&p);
    host_free(&c);
  }
  free(first.y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_variants_are_right),
      cmocka_unit_test(test_every_activation_is_right),
      cmocka_unit_test(test_a_short_grid_covers_every_row),
      cmocka_unit_test(test_wrong_indices_are_counted),
      cmocka_unit_test(test_a_class_has_one_result),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
