/* test_cuda_front.c -- ragtune.h on a CUDA device: the fake driver runs a plain C loop where a GPU would run the kernel. NVRTC
 * compiles; without it only what comes before a compile is seen. */
#include "tests/support/front.h"

#include "runtime/context.h"
#include "runtime/nvrtc.h"
#include "tests/support/fake_device.h"
#include "tests/support/fake_driver.h"

static front f;
static int has_nvrtc;
static fake_kernel kernel; /* what the fake GPU computes */

/* The op's last entry computes all of it; the ones before, a plan's among them, do nothing that shows. */
static int run_kernel(void *user, const fake_work *w) {
  fake_kernel *loop = user;
  if (strstr(w->kernel, "row_gather_hidden") || strstr(w->kernel, "plan_")) return 0;
  return fake_run(loop, NULL, &w->args, NULL) == RGT_OK ? 0 : 719;
}

static int setup(void **state) {
  static int said;
  rgt__environment env;
  rgt__nvrtc *nvrtc = NULL;
  rgt__error why = {""};
  (void)state;
  front_begin(&f);
  unsetenv("RAGTUNE_CC");
  if (rgt__environment_read(&env, NULL) != RGT_OK) return -1;
  has_nvrtc = rgt__nvrtc_open(&env, &nvrtc, &why) == RGT_OK;
  if (has_nvrtc)
    rgt__nvrtc_close(nvrtc);
  else if (!said++)
    print_message("no NVRTC: what compiles is skipped (%s)\n", why.text);
  rgt__environment_free(&env);
  fake_open(FAKE_DRIVER);
  fake->kernel = run_kernel;
  fake->user = &kernel;
  memset(&kernel, 0, sizeof kernel);
  setenv("RAGTUNE_LIBCUDA", FAKE_DRIVER, 1);
  setenv("RAGTUNE_WORKER", "inside", 1); /* the fake lives in this process only */
  return 0;
}

static int teardown(void **state) {
  (void)state;
  front_end(&f);
  unsetenv("RAGTUNE_LIBCUDA");
  unsetenv("RAGTUNE_WORKER");
  fake_is_clean("closed");
  return 0;
}

static void open_cuda(void) {
  rgt_options o = front_options(&f);
  o.device = "cuda";
  front_ok(&f, front_open_with(&f, &o));
}

static rgt_op *make_op(const char *text, rgt_weight_form form) {
  rgt_op_options o = {.struct_size = sizeof o, .weight_form = form};
  rgt_op *op = front_op_with(&f, text, &o);
  kernel = (fake_kernel){.op = op->desc, .form = form};
  return op;
}

/* ---- a problem's arrays on the device ---- */

typedef struct placed {
  void *x, *index, *y, *w[2], *b[2];
  size_t y_bytes;
  rgt_args args;
} placed;

static void *send(const void *from, size_t bytes) {
  void *p = NULL;
  if (!from) return NULL;
  front_ok(&f, rgt_mem_alloc(f.ctx, bytes, &p));
  front_ok(&f, rgt_mem_write(f.ctx, p, from, bytes));
  return p;
}

static void place(const problem *p, placed *out) {
  int64_t groups = p->d.groups;
  memset(out, 0, sizeof *out);
  out->args = p->args;
  out->y_bytes = (size_t)(p->rows * p->ld_y + 8) * sizeof(float);
  out->args.x = out->x = send(p->x, (size_t)(p->rows * p->ld_x) * sizeof(float));
  out->args.index = out->index = send(p->index, (size_t)p->rows * (p->d.index_type == RGT_I64 ? 8 : 4));
  out->args.y = out->y = send(p->y, out->y_bytes);
  rgt_layer *layers[2] = {&out->args.layer1, &out->args.layer2};
  for (int l = 0; l < (p->d.kind == RGT_MLP ? 2 : 1); l++) {
    layers[l]->w = out->w[l] = send(p->w[l], (size_t)(groups * p->stride_w[l]) * sizeof(float));
    layers[l]->b = out->b[l] = send(p->b[l], (size_t)(groups * p->stride_b[l]) * sizeof(float));
  }
}

static void check_y(problem *p, const placed *on) {
  front_ok(&f, rgt_mem_read(f.ctx, p->y, on->y, on->y_bytes));
  problem_check(p);
}

static void unplace(placed *on) {
  void *all[] = {on->x, on->index, on->y, on->w[0], on->w[1], on->b[0], on->b[1]};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) rgt_mem_free(f.ctx, all[i]);
}

/* ---- before a compile ---- */

static void test_before_prepare(void **state) {
  problem p;
  placed on;
  (void)state;
  open_cuda();
  rgt_op *op = make_op(FRONT_MLP, RGT_STACKED);
  problem_make(&p, FRONT_MLP, 8, 0);
  place(&p, &on);
  front_fails(&f, rgt_op_run(op, &on.args, NULL), RGT_ENOTREADY, "not prepared");
  front_fails(&f, rgt_op_prepare_variant(op, "builtin", 8), RGT_EINVAL, "is the CPU's");
  unplace(&on);
  problem_free(&p);
}

static void test_without_nvrtc(void **state) {
  (void)state;
  setenv("RAGTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
  rgt_options o = front_options(&f);
  o.device = NULL; /* auto */
  front_ok(&f, front_open_with(&f, &o));
  assert_string_equal(f.ctx->device->ops->kind, "cpu");
  open_cuda(); /* by name it opens, and says at prepare what is missing */
  rgt_op *op = make_op(FRONT_MLP, RGT_STACKED);
  front_fails(&f, rgt_op_prepare(op, 8, 0), RGT_ENOCOMPILER, "/nowhere/libnvrtc.so");
}

static void test_memory_calls(void **state) {
  void *p = NULL;
  char back[4];
  (void)state;
  open_cuda();
  front_ok(&f, rgt_mem_alloc(f.ctx, 4, &p));
  front_ok(&f, rgt_mem_write(f.ctx, p, "abc", 4));
  front_ok(&f, rgt_mem_read(f.ctx, back, p, 4));
  assert_string_equal(back, "abc");
  front_fails(&f, rgt_mem_read(f.ctx, back, "not on the device", 4), RGT_EINVAL,
              "cuMemcpyDtoH_v2 of 4 bytes: CUDA_ERROR_INVALID_VALUE");
  fake->misuse[0] = 0;
  rgt_mem_free(f.ctx, p);
  rgt_mem_free(f.ctx, NULL);
}

/* ---- runs ---- */

static void test_runs(void **state) {
  static const char *const ops[] = {FRONT_MLP, FRONT_LINEAR};
  (void)state;
  if (!has_nvrtc) skip();
  open_cuda();
  for (size_t i = 0; i < 2; i++) {
    problem p;
    placed on;
    rgt_op *op = make_op(ops[i], RGT_STACKED);
    front_ok(&f, rgt_op_prepare(op, 100, 0));
    problem_make(&p, ops[i], 37, 1);
    place(&p, &on);
    int allocs = fake->n_calls[FAKE_cuMemAlloc_v2], waits = fake->n_calls[FAKE_cuStreamSynchronize];
    scratch_fail_after(0); /* a run allocates nothing, here or there, and waits for nothing */
    rgt_status status = rgt_op_run(op, &on.args, NULL);
    scratch_fail_never();
    front_ok(&f, status);
    assert_int_equal(fake->n_calls[FAKE_cuMemAlloc_v2], allocs);
    assert_int_equal(fake->n_calls[FAKE_cuStreamSynchronize], waits);
    front_ok(&f, rgt_sync(op, NULL));
    check_y(&p, &on);
    on.args.rows = 101;
    front_fails(&f, rgt_op_run(op, &on.args, NULL), RGT_ESIZE, "at most 100");
    unplace(&on);
    problem_free(&p);
  }
}

/* Arrays of the host's are refused by name, before a kernel goes wrong with them; where kernels may touch them, they are not.
 */
static void test_arrays_of_the_host(void **state) {
  problem p;
  placed on;
  (void)state;
  if (!has_nvrtc) skip();
  open_cuda();
  rgt_op *op = make_op(FRONT_MLP, RGT_STACKED);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  problem_make(&p, FRONT_MLP, 8, 0);
  place(&p, &on);
  fake->n_work = 0;
  front_fails(&f, rgt_op_run(op, &p.args, NULL), RGT_EINVAL, "x (0x");
  rgt_args mixed = on.args;
  mixed.layer2.b = p.b[1];
  front_fails(&f, rgt_op_run(op, &mixed, NULL), RGT_EINVAL, "layer2's b (0x");
  assert_int_equal(fake->n_work, 0);
  front_ok(&f, rgt_op_run(op, &on.args, NULL));
  int asked = fake->n_calls[FAKE_cuPointerGetAttribute];
  front_ok(&f, rgt_op_run(op, &on.args, NULL));
  assert_int_equal(fake->n_calls[FAKE_cuPointerGetAttribute], asked); /* the first call only */
  front_ok(&f, rgt_sync(op, NULL));
  check_y(&p, &on);
  unplace(&on);
  fake->pageable = 1;
  open_cuda();
  op = make_op(FRONT_MLP, RGT_STACKED);
  front_ok(&f, rgt_op_prepare(op, 64, RGT_PREPARE_WAIT));
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  front_ok(&f, rgt_sync(op, NULL));
  problem_check(&p);
  problem_free(&p);
}

/* Errors add up over calls, and are told, with the first row, by the next sync; then the count starts anew. */
static void test_index_errors(void **state) {
  problem p;
  placed on;
  (void)state;
  if (!has_nvrtc) skip();
  open_cuda();
  rgt_op *op = make_op(FRONT_MLP, RGT_STACKED);
  front_ok(&f, rgt_op_prepare(op, 64, 0));
  problem_make(&p, FRONT_MLP, 40, 0);
  problem_set_group(&p, 30, 4);
  problem_set_group(&p, 35, -2);
  problem_expect(&p);
  place(&p, &on);
  front_ok(&f, rgt_op_run(op, &on.args, NULL));
  front_ok(&f, rgt_op_run(op, &on.args, NULL));
  front_fails(&f, rgt_sync(op, NULL), RGT_EINDEX,
              "index[30] lies outside [-1, groups), and is the first of 4 such rows of the calls since the last rgt_sync");
  check_y(&p, &on); /* y is complete, those rows are 0 */
  front_ok(&f, rgt_sync(op, NULL));
  front_ok(&f, rgt_op_run(op, &on.args, NULL));
  front_fails(&f, rgt_sync(op, NULL), RGT_EINDEX, "first of 2 such rows");
  unplace(&on);
  problem_free(&p);
}

/* Nobody looks at offsets before the kernel does: a row that none of them takes is 0, and told as index errors are. */
static void test_offset_errors(void **state) {
  static const int64_t wrong[5] = {5, 10, 20, 30, 30}, less_wrong[5] = {1, 10, 20, 30, 30}, right[5] = {0, 10, 20, 30, 30};
  static const int64_t *const lists[3] = {wrong, less_wrong, right};
  problem p;
  placed on;
  (void)state;
  if (!has_nvrtc) skip();
  open_cuda();
  rgt_op_options o = {.struct_size = sizeof o, .order = RGT_ORDER_OFFSETS};
  rgt_op *op = front_op_with(&f, FRONT_MLP, &o);
  kernel = (fake_kernel){.op = op->desc};
  front_ok(&f, rgt_op_prepare(op, 64, 0));
  problem_make(&p, FRONT_MLP, 40, 0);
  for (int64_t i = 0; i < 40 * p.ld_x; i++) p.x[i] = problem_value(i);
  for (int turn = 0; turn < 3; turn++) {
    for (int64_t row = 0; row < 40; row++)
      problem_set_group(&p, row, row < lists[turn][0] || row >= 30 ? -1 : row < 10 ? 0 : row < 20 ? 1 : 2);
    problem_expect(&p);
    problem_reset_y(&p);
    place(&p, &on);
    void *offsets = send(lists[turn], sizeof wrong);
    on.args.index = NULL;
    on.args.offsets = offsets;
    on.args.order = RGT_ORDER_OFFSETS;
    front_ok(&f, rgt_op_run(op, &on.args, NULL));
    if (turn == 0)
      front_fails(&f, rgt_sync(op, NULL), RGT_EINDEX,
                  "row 0 is before the offset of the group that ends past it, and is the first of 5 such rows of the calls "
                  "since the last rgt_sync; offsets can be 0 first, each no less than the one before");
    if (turn == 1) front_fails(&f, rgt_sync(op, NULL), RGT_EINDEX, "the first of 1 such row of");
    front_ok(&f, rgt_sync(op, NULL)); /* the count starts anew */
    check_y(&p, &on);
    rgt_mem_free(f.ctx, offsets);
    unplace(&on);
  }
  problem_free(&p);
}

/* Lists of pointers: the handle's are uploaded once, and given back with it. */
static void test_weight_handles(void **state) {
  problem p;
  placed on;
  const void *lists[4][4];
  (void)state;
  if (!has_nvrtc) skip();
  open_cuda();
  rgt_op *op = make_op(FRONT_MLP, RGT_POINTERS);
  front_ok(&f, rgt_op_prepare(op, 64, 0));
  problem_make(&p, FRONT_MLP, 40, 0);
  place(&p, &on);
  rgt_layer layers[2] = {on.args.layer1, on.args.layer2};
  for (int l = 0; l < 2; l++) {
    for (int g = 0; g < 4; g++) {
      lists[l][g] = (const float *)on.w[l] + g * p.stride_w[l];
      lists[2 + l][g] = (const float *)on.b[l] + g * p.stride_b[l];
    }
    layers[l].w = layers[l].b = NULL;
    layers[l].w_ptrs = lists[l];
    layers[l].b_ptrs = lists[2 + l];
  }
  int blocks = fake->blocks;
  rgt_weights *weights = NULL;
  front_ok(&f, rgt_weights_new(op, 4, &layers[0], &layers[1], &weights));
  assert_int_equal(fake->blocks, blocks + 4);
  memset(lists, 0x55, sizeof lists); /* the handle has its own */
  on.args.weights = weights;
  for (int turn = 0; turn < 2; turn++) {
    int copies = fake->n_calls[FAKE_cuMemcpyHtoD_v2];
    front_ok(&f, rgt_op_run(op, &on.args, NULL));
    front_ok(&f, rgt_sync(op, NULL));
    assert_int_equal(fake->n_calls[FAKE_cuMemcpyHtoD_v2], copies);
    check_y(&p, &on);
  }
  rgt_weights_free(weights);
  assert_int_equal(fake->blocks, blocks);
  for (int n = 1; n <= 4; n++) { /* the n-th list finds no memory */
    rgt_weights *none = NULL;
    for (int l = 0; l < 2; l++) layers[l].w_ptrs = lists[l], layers[l].b_ptrs = lists[2 + l];
    fake->fail = FAKE_cuMemAlloc_v2;
    fake->fail_at = n;
    fake->fail_code = 2;
    front_fails(&f, rgt_weights_new(op, 4, &layers[0], &layers[1], &none), RGT_ENOMEM, "CUDA_ERROR_OUT_OF_MEMORY");
    assert_null(none);
    assert_int_equal(fake->blocks, blocks);
  }
  unplace(&on);
  problem_free(&p);
}

/* In a stream of the caller's, and captured there: the graph is the caller's to run, as often as it likes. */
static void test_streams_and_captures(void **state) {
  problem p;
  placed on;
  void *graph = NULL, *exec = NULL;
  (void)state;
  if (!has_nvrtc) skip();
  open_cuda();
  rgt_op *op = make_op(FRONT_MLP, RGT_STACKED);
  front_ok(&f, rgt_op_prepare(op, 64, 0));
  problem_make(&p, FRONT_MLP, 40, 0);
  place(&p, &on);
  void *context = fake_hold(0);
  fake_push(context);
  void *stream = fake_stream(1);
  front_ok(&f, rgt_op_run(op, &on.args, stream));
  front_ok(&f, rgt_sync(op, stream));
  check_y(&p, &on);
  problem_reset_y(&p);
  front_ok(&f, rgt_mem_write(f.ctx, on.y, p.y, on.y_bytes));
  assert_int_equal(fake_begin_capture(stream, 0), 0);
  fake->n_work = 0;
  front_ok(&f, rgt_op_run(op, &on.args, stream));
  assert_int_equal(fake->n_work, 0);
  front_fails(&f, rgt_sync(op, stream), RGT_EINVAL, "the stream is being captured");
  assert_int_equal(fake_end_capture(stream, &graph), 0);
  assert_string_equal(fake->misuse, "");
  int (*instantiate)(void **, void *, unsigned long long);
  void *symbol = fake_symbol("cuGraphInstantiateWithFlags");
  memcpy(&instantiate, &symbol, sizeof instantiate);
  assert_int_equal(instantiate(&exec, graph, 0), 0);
  int (*replay)(void *, void *);
  symbol = fake_symbol("cuGraphLaunch");
  memcpy(&replay, &symbol, sizeof replay);
  assert_int_equal(replay(exec, stream), 0);
  front_ok(&f, rgt_sync(op, stream));
  check_y(&p, &on);
  assert_int_equal(fake_pointer_call("cuGraphExecDestroy", exec), 0);
  assert_int_equal(fake_pointer_call("cuGraphDestroy", graph), 0);
  fake_stream_free(stream);
  assert_ptr_equal(fake_pop(), context);
  fake_give_back(0);
  unplace(&on);
  problem_free(&p);
}

static int crash(void *user, const fake_work *w) {
  (void)user, (void)w;
  return 700;
}

static void test_a_crash(void **state) {
  problem p;
  placed on;
  (void)state;
  if (!has_nvrtc) skip();
  open_cuda();
  rgt_op *op = make_op(FRONT_MLP, RGT_STACKED);
  front_ok(&f, rgt_op_prepare(op, 64, 0));
  problem_make(&p, FRONT_MLP, 40, 0);
  place(&p, &on);
  fake->kernel = crash;
  rgt_op_run(op, &on.args, NULL);
  front_fails(&f, rgt_sync(op, NULL), RGT_ECRASH, "CUDA_ERROR_ILLEGAL_ADDRESS");
  front_fails(&f, rgt_op_run(op, &on.args, NULL), RGT_ECRASH, "this process can do nothing more with the device");
  unplace(&on);
  problem_free(&p);
}

/* ---- loaded from the cache, and where the driver refuses the cubin ---- */

static void test_cached_code(void **state) {
  (void)state;
  if (!has_nvrtc) skip();
  for (int ptx = 0; ptx < 2; ptx++) {
    fake->refuse_cubin = ptx ? 209 : 0;
    for (int turn = 0; turn < 2; turn++) { /* compiled and verified; from the cache, without a launch */
      open_cuda();
      rgt_op *op = make_op(FRONT_LINEAR, RGT_STACKED);
      int launches = fake->n_calls[FAKE_cuLaunchKernel];
      front_ok(&f, rgt_op_prepare(op, 8, 0));
      assert_int_equal(fake->n_calls[FAKE_cuLaunchKernel] > launches, ptx == 0 && turn == 0);
    }
  }
  assert_true(fake->n_loaded_ptx >= 2);
  /* no cache folder: what was just compiled is loaded from memory, the PTX too */
  rgt_options o = front_options(&f);
  o.device = "cuda";
  o.cache_dir = "/dev/null/nowhere";
  front_ok(&f, front_open_with(&f, &o));
  rgt_op *op = make_op(FRONT_LINEAR, RGT_STACKED);
  int before = fake->n_loaded_ptx;
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  assert_true(fake->n_loaded_ptx > before);
}

/* ---- verify, tune, why ---- */

static int n_right, n_wrong;

static int count_verdict(void *user, const rgt_verdict *v) {
  (void)user;
  n_right += v->outcome == RGT_TRIAL_OK;
  n_wrong += v->outcome == RGT_TRIAL_WRONG;
  return 0;
}

static void test_verify(void **state) {
  rgt_verify_options o = {.struct_size = sizeof o, .sample = 2, .seed = 1};
  (void)state;
  if (!has_nvrtc) skip();
  open_cuda();
  rgt_op *op = make_op(FRONT_MLP, RGT_STACKED);
  n_right = n_wrong = 0;
  front_ok(&f, rgt_verify(op, &o, count_verdict, NULL));
  int n = n_right;
  assert_true(n >= 2); /* the default of every family stays */
  assert_int_equal(n_wrong, 0);
  kernel.fault = FAKE_DROP_LAST_K;
  front_fails(&f, rgt_verify(op, &o, count_verdict, NULL), RGT_EWRONG, "variants are wrong");
  assert_int_equal(n_wrong, n);
  kernel.fault = FAKE_NO_ERROR_COUNT; /* the counters are on the device, and are looked at */
  n_wrong = 0;
  front_fails(&f, rgt_verify(op, &o, count_verdict, NULL), RGT_EWRONG, "variants are wrong");
  assert_int_equal(n_wrong, n);
}

static void tune_with(rgt_policy policy) {
  int64_t rows = 8;
  rgt_tune_result r;
  rgt_why_info why = {.struct_size = sizeof why};
  const char *space = scratch_write(
      &f.s, "cuda.lua", "return { row_gather = { threads = 128, lanes = { 1, 8 }, chunk = 1, outputs = 1 } }\n", 0644);
  rgt_tune_options o = {.struct_size = sizeof o, .rows = &rows, .n_rows = 1, .budget_s = 600, .space = space, .policy = policy};
  open_cuda();
  rgt_op *op = make_op(FRONT_LINEAR, RGT_STACKED);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_int_equal(r.status, RGT_OK);
  assert_true(r.n_ok >= 2);
  assert_int_equal(r.time_ps, 250 * 1000 * 1000); /* a launch takes a quarter of a millisecond, and a clock that is modelled */
  assert_int_equal(r.loop_ps, 0);
  assert_string_equal(
      r.winner, "row_gather:chunk=1,fused_rows=0,in_registers=0,lanes=8,outputs=1,threads=128"); /* ties go to the default */
  front_ok(&f, rgt_why(op, 8, &why));
  assert_non_null(strstr(why.device_class, "cuda:Fake--TM--H200:sm_90"));
  if (policy == RGT_POLICY_WARM) assert_string_equal(why.variant, r.winner);
}

static void test_tune(void **state) {
  (void)state;
  if (!has_nvrtc) skip();
  tune_with(RGT_POLICY_WARM);
}

static void test_tune_graph(void **state) {
  (void)state;
  if (!has_nvrtc) skip();
  tune_with(RGT_POLICY_GRAPH);
  assert_true(fake->n_calls[FAKE_cuGraphLaunch] > 0);
}

static void test_tune_cold(void **state) {
  (void)state;
  if (!has_nvrtc) skip();
  tune_with(RGT_POLICY_COLD);
}

/* ---- a winner that is not valid for every call ---- */

static const char spec[] = "return family {\n  about = \"a loop of the fake's\", source = \"tests\", revision = 1, rank = %d,\n"
                           "  device = \"cuda\", ops = { \"linear\", \"mlp\" }, dtypes = { \"f32\" },\n"
                           "  params = { { \"turn\", { 1 }, default = 1, about = \"there is one\" } },\n"
                           "  numeric = { p1 = 0, p2 = 0, hidden = \"f32\", class = \"seq\" },\n"
                           "  work = { flops = \"2 * rows\", bytes = \"4 * rows\" },\n"
                           "  valid = \"%s\",\n  steps = { { kernel = \"%s\", grid = \"rows\", block = 32 } },\n}\n";
static const char loop[] = "//%% include(\"lib/kargs.h\")\n"
                           "extern \"C\" __global__ void KERNEL(%s)(const rgt_kargs k, void *w) { (void)k, (void)w; }\n";

static void put_family(const char *name, int rank, const char *valid) {
  char path[100], text[1500];
  snprintf(path, sizeof path, "t/cuda/%s.lua", name);
  snprintf(text, sizeof text, spec, rank, valid, name);
  scratch_write(&f.s, path, text, 0644);
  snprintf(path, sizeof path, "t/cuda/%s.cu", name);
  snprintf(text, sizeof text, loop, name);
  scratch_write(&f.s, path, text, 0644);
}

static void put_templates(void) {
  char text[20000] = "";
  FILE *kargs = fopen(RGT_SOURCE_DIR "/templates/lib/kargs.h", "re");
  assert_non_null(kargs);
  size_t n = fread(text, 1, sizeof text - 1, kargs);
  fclose(kargs);
  assert_in_range(n, 1, sizeof text - 2);
  static const char *const folders[] = {"t", "t/cuda", "t/lib"};
  for (size_t i = 0; i < 3; i++) assert_int_equal(mkdir(scratch_path(&f.s, folders[i]), 0755), 0);
  scratch_write(&f.s, "t/lib/kargs.h", text, 0644);
  put_family("few", 5, "groups <= 8");
  put_family("many", 0, "1");
}

static int few_is_faster(void *user, const fake_work *w) {
  fake->launch_ms = strncmp(w->kernel, "few", 3) == 0 ? 0.125f : 0.25f;
  return fake_run(user, NULL, &w->args, NULL) == RGT_OK ? 0 : 719;
}

static void open_templates(void) {
  rgt_options o = front_options(&f);
  char folder[100];
  snprintf(folder, sizeof folder, "%s/t", f.s.folder);
  o.device = "cuda";
  o.template_dir = folder;
  front_ok(&f, front_open_with(&f, &o));
}

static const char *last_kernel(void) {
  for (int i = (fake->n_work < FAKE_WORK_MAX ? fake->n_work : FAKE_WORK_MAX) - 1; i >= 0; i--)
    if (fake->work[i].kind == FAKE_KERNEL) return fake->work[i].kernel;
  return "";
}

/* The code is the old driver's, unverified anew: its key has no driver in it. What was timed is to be timed again, and is. */
static void test_another_driver(void **state) {
  int64_t rows = 8;
  rgt_tune_result first, r;
  rgt_tune_options o = {.struct_size = sizeof o, .rows = &rows, .n_rows = 1, .budget_s = 600};
  rgt_why_info why = {.struct_size = sizeof why};
  (void)state;
  if (!has_nvrtc) skip();
  put_templates();
  put_family("third", 6, "1");
  put_family("fourth", 7, "1");
  fake->kernel = few_is_faster;
  open_templates();
  rgt_op *op = make_op(FRONT_LINEAR, RGT_STACKED);
  front_ok(&f, rgt_tune(op, &o, &first));
  assert_string_equal(first.winner, "few:turn=1");
  assert_int_equal(first.n_tried, 4);
  front_ok(&f, rgt_why(op, 8, &why));
  assert_string_equal(why.outdated, "");
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT)); /* and what stands by is verified too */
  fake->version += 20;
  open_templates();
  op = make_op(FRONT_LINEAR, RGT_STACKED);
  int launches = fake->n_calls[FAKE_cuLaunchKernel];
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_int_equal(fake->n_calls[FAKE_cuLaunchKernel], launches);
  front_ok(&f, rgt_why(op, 8, &why));
  assert_string_equal(why.outdated, "driver");
  assert_has(why.note, "to be validated again: other driver since");
  assert_string_equal(why.variant, first.winner);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_int_equal(r.status, RGT_OK);
  assert_false(r.hit);
  assert_int_equal(r.n_tried, 3); /* winner, runner-up, default */
  assert_string_equal(r.winner, first.winner);
  front_ok(&f, rgt_why(op, 8, &why));
  assert_string_equal(why.outdated, "");
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_true(r.hit);
}

/* The default stands by for calls that the winner is not valid for: nothing is built in that could take them. */
static void test_standby(void **state) {
  int64_t rows = 8;
  rgt_tune_result r;
  rgt_tune_options o = {.struct_size = sizeof o, .rows = &rows, .n_rows = 1, .budget_s = 600};
  problem p;
  placed on;
  (void)state;
  if (!has_nvrtc) skip();
  put_templates();
  fake->kernel = few_is_faster;
  open_templates();
  rgt_op *op = make_op(FRONT_LINEAR, RGT_STACKED);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_string_equal(r.winner, "few:turn=1");
  for (int cold = 0; cold < 2; cold++) {
    char line[300];
    snprintf(line, sizeof line, "rm -rf '%s'", f.cache);
    if (cold) assert_int_equal(system(line), 0); /* then the winner is not there yet */
    open_templates();
    op = make_op(FRONT_LINEAR, RGT_STACKED);
    front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
    problem_make(&p, FRONT_LINEAR, 8, 0);
    place(&p, &on);
    fake->n_work = 0;
    front_ok(&f, rgt_op_run(op, &on.args, NULL));
    assert_int_equal(strncmp(last_kernel(), "few", 3), 0);
    on.args.groups = 9; /* its weights reach past the problem's, and no row asks for them */
    fake->n_work = 0;
    front_ok(&f, rgt_op_run(op, &on.args, NULL));
    assert_int_equal(strncmp(last_kernel(), "many", 4), 0);
    front_ok(&f, rgt_sync(op, NULL));
    check_y(&p, &on);
    on.args.groups = 0;
    fake->n_work = 0;
    front_ok(&f, rgt_op_run(op, &on.args, NULL));
    assert_int_equal(strncmp(last_kernel(), "few", 3), 0);
    unplace(&on);
    problem_free(&p);
  }
  front_ok(&f, rgt_op_prepare_variant(op, "few:turn=1", 8)); /* alone, by name */
  problem_make(&p, FRONT_LINEAR, 8, 0);
  place(&p, &on);
  on.args.groups = 9;
  front_fails(&f, rgt_op_run(op, &on.args, NULL), RGT_EUNSUPPORTED,
              "no variant that was prepared is valid for 8 rows and 9 groups");
  unplace(&on);
  problem_free(&p);
}

/* What is valid for none of the problems that would verify it is infeasible, and ends nothing. */
static void test_never_verified(void **state) {
  int64_t rows = 8;
  rgt_tune_result r;
  rgt_tune_options o = {.struct_size = sizeof o, .rows = &rows, .n_rows = 1, .budget_s = 600};
  (void)state;
  if (!has_nvrtc) skip();
  put_templates();
  put_family("few", 5, "rows <= 8");
  fake->kernel = few_is_faster;
  open_templates();
  rgt_op *op = make_op(FRONT_LINEAR, RGT_STACKED);
  front_ok(&f, rgt_tune(op, &o, &r));
  assert_string_equal(r.winner, "many:turn=1");
  assert_int_equal(r.n_infeasible, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_before_prepare),
      TEST(test_without_nvrtc),
      TEST(test_memory_calls),
      TEST(test_runs),
      TEST(test_arrays_of_the_host),
      TEST(test_index_errors),
      TEST(test_offset_errors),
      TEST(test_weight_handles),
      TEST(test_streams_and_captures),
      TEST(test_a_crash),
      TEST(test_cached_code),
      TEST(test_verify),
      TEST(test_tune),
      TEST(test_tune_graph),
      TEST(test_tune_cold),
      TEST(test_another_driver),
      TEST(test_standby),
      TEST(test_never_verified),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
