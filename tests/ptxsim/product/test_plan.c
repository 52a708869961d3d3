/* test_plan.c -- the plan of the CUDA families (templates/cuda/lib/plan.cuh) against a sort on the host, on ptxsim.
 *
 * plan_probe is a family whose kernel writes what the plan says. Every tile, every position and every y is compared, so the
 * same bits are asked for whatever the order of blocks: CMake runs this with several seeds, and as every device. */
#include "../tests/support/device.h"
#include "../tests/support/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generator/render.h"
#include "runtime/base/alloc.h"
#include "runtime/device.h"

enum { N_OUT = 3, CHUNK = 2048 };

static struct {
  char folder[64];
  rgt__environment env;
  rgt__sources *sources;
  rgt__families *families;
  rgt__device *device;
} t;

static rgt__error err;

#define OK(call)                                               \
  do {                                                         \
    err.text[0] = '\0';                                        \
    if ((call) != RGT_OK) fail_msg("%s: %s", #call, err.text); \
  } while (0)

/* ---- a compiled probe -------------------------------------------------------------------------------------- */

typedef struct probe {
  rgt_op_desc op;
  rgt_order order;
  int tile;
  rgt__rendered rendered;
  rgt__module *module;
} probe;

static void probe_open(probe *p, const char *op, rgt_order order, int tile) {
  char variant[64];
  rgt__variant v;
  rgt__compiled code;
  rgt__render_facts facts = {RGT_STACKED, 2, order};
  *p = (probe){.order = order, .tile = tile};
  snprintf(variant, sizeof variant, "plan_probe:tile=%d", tile);
  OK(rgt__op_parse(op, &p->op, &err));
  if (p->op.dtype == RGT_F32) facts.align_bytes = 4;
  OK(rgt__variant_parse(t.families, "cuda", variant, &v, &err));
  OK(rgt__render(t.families, &v, &p->op, &t.device->info.target, &facts, &p->rendered, &err));
  OK(t.device->ops->compile(t.device, p->rendered.text, p->rendered.size, &t.device->info.target, 0, &code, &err));
  if (code.spill_bytes > 0 || code.stack_bytes > 0) fail_msg("%s spills %d bytes", op, code.spill_bytes);
  OK(t.device->ops->load(t.device, NULL, code.ptx, code.ptx_bytes, &p->rendered.program, &p->module, &err));
  rgt__compiled_free(&code);
}

static void probe_close(probe *p) {
  t.device->ops->unload(t.device, p->module);
  rgt__rendered_free(&p->rendered);
}

/* ---- a call's rows ----------------------------------------------------------------------------------------- */

typedef struct call {
  int64_t rows, groups;
  int64_t *group; /* of each row, -1: none */
  int64_t *index; /* of each row; with offsets, groups + 1 of them */
  int64_t n_wrong, first_wrong;
  int add;
} call;

static uint64_t random_state = 1;
static uint64_t random_below(uint64_t n) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (random_state >> 33) % n;
}

enum shape { EVEN, SKEWED, ONE, NONE, FEW };

static int64_t random_group(const call *c, enum shape shape) {
  if (shape == ONE) return c->groups - 1;
  if (shape == NONE) return -1;
  if (shape == FEW) return (int64_t)random_below(3) * (c->groups - 1) / 2;
  uint64_t g = random_below((uint64_t)c->groups);
  return shape == SKEWED && random_below(4) > 0 ? (int64_t)(g % 3) % c->groups : (int64_t)g;
}

static int by_group(const void *a, const void *b) { /* -1 last */
  uint64_t x = (uint64_t) * (const int64_t *)a, y = (uint64_t) * (const int64_t *)b;
  return (x > y) - (x < y);
}

static void as_offsets(call *c, const int64_t *group) {
  free(c->index);
  c->index = calloc((size_t)c->groups + 1, sizeof *c->index);
  assert_non_null(c->index);
  for (int64_t r = 0; r < c->rows; r++)
    if (group[r] >= 0) c->index[group[r] + 1]++;
  for (int64_t g = 0; g < c->groups; g++) c->index[g + 1] += c->index[g];
}

static call call_make(const probe *p, int64_t rows, int64_t groups, enum shape shape, int wrong) {
  static const int64_t out_of_range[] = {-2, INT32_MIN, INT32_MAX, INT64_C(1) << 32, INT64_MIN};
  call c = {.rows = rows, .groups = groups, .first_wrong = INT64_MAX};
  c.group = calloc((size_t)rows + 1, sizeof *c.group);
  c.index = calloc((size_t)rows + 1, sizeof *c.index);
  assert_true(c.group && c.index);
  for (int64_t r = 0; r < rows; r++) c.group[r] = random_below(8) == 0 && shape != ONE ? -1 : random_group(&c, shape);
  if (p->order != RGT_ORDER_RAW) qsort(c.group, (size_t)rows, sizeof *c.group, by_group);
  for (int64_t r = 0; r < rows; r++) {
    c.index[r] = c.group[r];
    if (c.group[r] >= 0 || !wrong || random_below(2)) continue;
    c.index[r] = out_of_range[random_below(p->op.index_type == RGT_I64 ? 5 : 3)];
    c.n_wrong++;
    if (r < c.first_wrong) c.first_wrong = r;
  }
  if (p->order == RGT_ORDER_OFFSETS) {
    as_offsets(&c, c.group);
    c.n_wrong = 0;
    c.first_wrong = INT64_MAX;
  }
  return c;
}

static void call_free(call *c) {
  free(c->group);
  free(c->index);
}

/* ---- what it should be ------------------------------------------------------------------------------------- */

typedef struct expected {
  uint32_t *list, *tiles, n_tiles;
} expected;

static expected expect(const call *c, int tile) {
  expected e = {.list = calloc((size_t)c->rows + 1, 4), .tiles = calloc((size_t)c->rows + 1, 12)};
  int64_t *at = calloc((size_t)c->groups + 2, sizeof *at), live = 0;
  assert_true(e.list && e.tiles && at);
  for (int64_t r = 0; r < c->rows; r++) at[(c->group[r] < 0 ? c->groups : c->group[r]) + 1]++;
  for (int64_t g = 0; g <= c->groups; g++) at[g + 1] += at[g];
  live = at[c->groups];
  for (int64_t r = 0; r < c->rows; r++) e.list[at[c->group[r] < 0 ? c->groups : c->group[r]]++] = (uint32_t)r;
  for (int64_t p = 0; p < live; p++) {
    int64_t g = c->group[e.list[p]];
    uint32_t *last = e.n_tiles ? e.tiles + 3 * (e.n_tiles - 1) : NULL;
    if (last && last[0] == (uint32_t)g && last[2] < (uint32_t)tile && p % CHUNK != 0) {
      last[2]++;
      continue;
    }
    uint32_t *next = e.tiles + 3 * e.n_tiles++;
    next[0] = (uint32_t)g, next[1] = (uint32_t)p, next[2] = 1;
  }
  free(at);
  return e;
}

/* ---- a run ------------------------------------------------------------------------------------------------- */

static void *on_device(const void *data, size_t bytes) {
  void *p = NULL;
  OK(t.device->ops->mem_alloc(t.device, bytes, &p, &err));
  OK(t.device->ops->mem_write(t.device, p, data, bytes, &err));
  return p;
}

static void *index_on_device(const probe *p, const call *c) {
  int64_t n = p->order == RGT_ORDER_OFFSETS ? c->groups + 1 : c->rows;
  int32_t *narrow = calloc((size_t)n, sizeof *narrow);
  assert_non_null(narrow);
  for (int64_t i = 0; i < n; i++) narrow[i] = (int32_t)c->index[i];
  void *index = p->op.index_type == RGT_I64 ? on_device(c->index, (size_t)n * 8) : on_device(narrow, (size_t)n * 4);
  free(narrow);
  return index;
}

static void check_y(const call *c, const unsigned char *y, size_t elem) {
  static const unsigned char zero[4 * N_OUT],
      untouched[4 * N_OUT] = {0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA};
  for (int64_t r = 0; r < c->rows; r++)
    if (memcmp(y + (size_t)r * elem * N_OUT, c->group[r] < 0 && !c->add ? zero : untouched, elem * N_OUT) != 0)
      fail_msg("y of row %lld (group %lld) is wrong", (long long)r, (long long)c->group[r]);
}

static void check_plan(const call *c, const expected *e, const uint32_t *got) {
  if (got[0] != e->n_tiles) fail_msg("%u tiles; there should be %u", got[0], e->n_tiles);
  for (uint32_t i = 0; i < e->n_tiles; i++) {
    const uint32_t *a = got + 1 + 3 * i, *b = e->tiles + 3 * i;
    if (memcmp(a, b, 12) != 0)
      fail_msg("tile %u is {%u, %u, %u}; it should be {%u, %u, %u}", i, a[0], a[1], a[2], b[0], b[1], b[2]);
  }
  for (int64_t p = 0; p < c->rows; p++)
    if (got[1 + 3 * e->n_tiles + p] != e->list[p])
      fail_msg("position %lld has row %u; it should have row %u", (long long)p, got[1 + 3 * e->n_tiles + p], e->list[p]);
}

static void run(const probe *p, const call *c) {
  static const rgt_int64 none[2] = {0, INT64_MAX};
  size_t elem = p->op.dtype == RGT_F32 ? 4 : 2, y_bytes = (size_t)c->rows * elem * N_OUT;
  expected e = expect(c, p->tile);
  size_t out_bytes = 4 * (1 + 3 * (size_t)e.n_tiles + (size_t)c->rows);
  rgt__plan plan;
  rgt__plan_make(&p->rendered.program, &t.device->info, c->rows, c->groups, &plan);
  assert_int_equal(plan.valid, 1);
  unsigned char *y = malloc(y_bytes);
  uint32_t *out = malloc(out_bytes);
  void *workspace = NULL;
  assert_true(y && out);
  memset(y, 0xAA, y_bytes);
  memset(out, 0xAA, out_bytes);
  OK(t.device->ops->mem_alloc(t.device, (size_t)plan.workspace_bytes, &workspace, &err));
  rgt_kargs k = {.rows = c->rows, .groups = c->groups, .ld_y = N_OUT, .x_div = 1, .y_mode = c->add, .order = p->order};
  k.index = index_on_device(p, c);
  k.y = on_device(y, y_bytes);
  k.w3 = on_device(out, out_bytes);
  k.n_index_errors = on_device(none, sizeof none);
  k.first_index_error = k.n_index_errors + 1;
  OK(t.device->ops->launch(t.device, p->module, &p->rendered.program, &plan, &k, workspace, t.device->stream, &err));
  rgt_int64 counters[2];
  OK(t.device->ops->sync(t.device, t.device->stream, &err));
  OK(t.device->ops->mem_read(t.device, counters, k.n_index_errors, sizeof counters, &err));
  OK(t.device->ops->mem_read(t.device, y, k.y, y_bytes, &err));
  OK(t.device->ops->mem_read(t.device, out, k.w3, out_bytes, &err));
  assert_int_equal(counters[0], c->n_wrong);
  assert_int_equal(counters[1], c->first_wrong);
  check_y(c, y, elem);
  check_plan(c, &e, out);
  void *const used[] = {workspace, (void *)(uintptr_t)k.index, k.y, (void *)(uintptr_t)k.w3, k.n_index_errors};
  for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) t.device->ops->mem_free(t.device, used[i]);
  free(e.list);
  free(e.tiles);
  free(out);
  free(y);
}

static void run_random(const probe *p, int64_t rows, int64_t groups, enum shape shape, int wrong, int add) {
  call c = call_make(p, rows, groups, shape, wrong);
  ptxsim_reports reports;
  c.add = add;
  print_message("  %lld rows, %lld groups, shape %d, order %d, tile %d\n", (long long)rows, (long long)groups, (int)shape,
                (int)p->order, p->tile);
  run(p, &c);
  cu.ptxsim_report(&reports);
  if (reports.misuses + reports.findings + reports.faults > 0) fail_msg("ptxsim reports: %s", reports.last);
  call_free(&c);
}

/* ---- the tests --------------------------------------------------------------------------------------------- */

static void test_one_block(void **state) {
  static const int64_t rows[] = {1, 2, 31, 32, 33, 255, 257, 511, 1000, 2047, 2048};
  static const int64_t groups[] = {1, 2, 64, 255, 256, 65536, 100000};
  probe p;
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  probe_open(&p, "linear:5-3:g1:f32:none:b0:nk:i64", RGT_ORDER_RAW, 8);
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
    for (size_t g = r % 3; g < sizeof groups / sizeof groups[0]; g += 3)
      run_random(&p, rows[r], groups[g], (enum shape)(r % 5), 1, 0);
  probe_close(&p);
}

static void test_many_blocks(void **state) {
  static const struct {
    int64_t rows, groups;
    enum shape shape;
    int tile;
  } calls[] = {{2049, 1, EVEN, 8},       {4096, 64, SKEWED, 8},    {4097, 255, EVEN, 8},     {9000, 256, EVEN, 8},
               {12289, 3, FEW, 48},      {30000, 20000, EVEN, 48}, {20000, 65535, EVEN, 48}, {20000, 65536, SKEWED, 48},
               {50000, 100000, EVEN, 1}, {9000, 7, ONE, 1},        {9000, 7, NONE, 1},       {9000, 16777215, FEW, 1}};
  probe p;
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    if (i % 4 == 0)
      probe_open(&p, i == 4 ? "linear:5-3:g1:f16:none:b0:nk:i32" : "linear:5-3:g1:bf16:none:b0:nk:i64", RGT_ORDER_RAW,
                 calls[i].tile);
    run_random(&p, calls[i].rows, calls[i].groups, calls[i].shape, 1, (int)i % 2);
    if (i % 4 == 3) probe_close(&p);
  }
}

/* Where the call is in order there is no list; a masked or wrong row stands at the end. */
static void test_calls_in_order(void **state) {
  static const int64_t rows[] = {1, 33, 2048, 4096, 4097, 20000}, groups[] = {1, 300, 3, 100000, 64, 20000};
  (void)state;
  if (sim_nvrtc_missing() != NULL) skip();
  for (int order = RGT_ORDER_SORTED; order <= RGT_ORDER_OFFSETS; order++) {
    probe p;
    probe_open(&p, order == RGT_ORDER_SORTED ? "linear:5-3:g1:f16:none:b0:nk:i32" : "linear:5-3:g1:f32:none:b0:nk:i64",
               (rgt_order)order, order == RGT_ORDER_SORTED ? 256 : 8);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      run_random(&p, rows[i], groups[i], (enum shape)(i % 4), 1, i == 1);
    probe_close(&p);
  }
}

/* No rows, no launch; sizes at the limits; sizes past them are not valid. */
static void test_formulas(void **state) {
  rgt__plan plan;
  rgt__variant v;
  rgt__rendered r;
  rgt_op_desc op;
  rgt__render_facts facts = {RGT_STACKED, 4, RGT_ORDER_RAW};
  rgt__device_info info = {.sm_count = 100};
  rgt__target target = {.device = "cuda", .name = "sm_90", .n_facts = 1, .facts = {{"shared_optin_max", 232448}}};
  (void)state;
  info.target = target;
  OK(rgt__op_parse("linear:5-3:g1:f32:none:b0:nk:i64", &op, &err));
  OK(rgt__variant_parse(t.families, "cuda", "plan_probe:tile=8", &v, &err));
  OK(rgt__render(t.families, &v, &op, &target, &facts, &r, &err));
  rgt__plan_make(&r.program, &info, 0, 3, &plan);
  for (int i = 0; i + 1 < r.program.n_steps; i++) assert_int_equal(plan.steps[i].grid + plan.steps[i].bytes, 0);
  rgt__plan_make(&r.program, &info, CHUNK, 255, &plan);
  static const int64_t small[] = {0, 0, 1, 0, 0, 0};
  for (int i = 0; i < 6; i++) assert_int_equal(plan.steps[i].grid + plan.steps[i].bytes, small[i]);
  const int64_t chunks = 1048576, tiles = INT32_MAX / 8 + 16777215 + chunks;
  rgt__plan_make(&r.program, &info, INT32_MAX, 16777215, &plan);
  assert_int_equal(plan.valid, 1);
  for (int i = 0; i < 6; i++) assert_int_equal(plan.steps[i].grid, i == 0 ? 0 : chunks);
  assert_int_equal(plan.steps[0].bytes, 3136 + 16 * chunks);
  assert_int_equal(plan.workspace_bytes, 3136 + 16 * chunks + 2048 * chunks + 16 * (INT64_C(2147483647) + 3) + 16 * tiles);
  rgt__plan_make(&r.program, &info, 100, 16777216, &plan);
  assert_int_equal(plan.valid, 0);
  rgt__rendered_free(&r);
}

/* ---- setup ------------------------------------------------------------------------------------------------- */

static int setup(void **state) {
  char command[512];
  (void)state;
  if (sim_nvrtc_missing() != NULL) print_message("skipped: %s\n", sim_nvrtc_missing());
  strcpy(t.folder, "/tmp/ptxsim-plan-XXXXXX");
  if (mkdtemp(t.folder) == NULL || sim_calls_load(SIM_LIBCUDA) != NULL) return -1;
  snprintf(command, sizeof command, "cp -r '%s/templates/.' '%s' && cp '%s'/tests/ptxsim/product/plan_probe/* '%s/cuda'",
           SIM_SOURCE_DIR, t.folder, SIM_SOURCE_DIR, t.folder);
  if (system(command) != 0) return -1;
  setenv("RAGTUNE_LIBCUDA", SIM_LIBCUDA, 1);
  OK(rgt__environment_read(&t.env, &err));
  OK(rgt__sources_open(t.folder, &t.sources, &err));
  OK(rgt__families_open(t.sources, &t.families, &err));
  if (rgt__families_fault(t.families, 0) != NULL) fail_msg("%s", rgt__families_fault(t.families, 0));
  rgt__device_options options = {.env = &t.env};
  OK(rgt__device_cuda_open(&options, &t.device, &err));
  return 0;
}

static int teardown(void **state) {
  char command[128];
  (void)state;
  t.device->ops->close(t.device);
  rgt__families_free(t.families);
  rgt__sources_free(t.sources);
  rgt__environment_free(&t.env);
  snprintf(command, sizeof command, "rm -r '%s'", t.folder);
  return system(command) == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_formulas), cmocka_unit_test(test_one_block),
                                     cmocka_unit_test(test_calls_in_order), cmocka_unit_test(test_many_blocks)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
