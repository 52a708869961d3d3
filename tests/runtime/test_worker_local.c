/* test_worker_local.c -- batches against clocks of every kind, what cannot run, and the checks that stand before. */
#include "runtime/worker.h"

#include "tests/support/paced_device.h"

#define US ((int64_t)1000 * 1000) /* in picoseconds */
#define MS ((int64_t)1000 * 1000 * 1000)

static paced_device device;
static rgt__code_cache *cache;
static rgt__candidate_maker maker;
static rgt__candidate *all; /* [4] */
static rgt__candidate *list[4];
static rgt__worker *worker;
static rgt__worker_task task;
static rgt__worker_sample samples[4];
static rgt__error err;

static int setup(void **state) {
  (void)state;
  paced_open(&device, "cpu");
  if (rgt__code_cache_open(NULL, &cache, NULL) != RGT_OK) return 1;
  maker = (rgt__candidate_maker){.device = &device.base,
                                 .target = device.base.info.target,
                                 .cache = cache,
                                 .toolchain = "fake",
                                 .facts = {RGT_STACKED, 4, RGT_ORDER_RAW}};
  all = calloc(4, sizeof *all);
  worker = NULL;
  err.text[0] = 0;
  memset(samples, 0x55, sizeof samples);
  task = (rgt__worker_task){.rows = 8, .skew = RGT_SKEW_UNIFORM, .seed = 5};
  return rgt__op_parse("linear:3-2:g2:f32:relu:b1:nk:i64", &task.op, NULL) != RGT_OK;
}

static int teardown(void **state) {
  (void)state;
  if (worker) worker->ops->close(worker);
  for (int i = 0; i < 4; i++) rgt__candidate_free(&device.base, &all[i]);
  free(all);
  rgt__code_cache_free(cache);
  return device.n_blocks; /* everything taken from the device is given back */
}

static void open_worker(int64_t tick_ps) {
  device.tick_ps = tick_ps;
  if (rgt__worker_open_local(&maker, &task.op, NULL, 1, 256, &worker, &err) != RGT_OK) fail_msg("%s", err.text);
}

static void begin(void) {
  if (worker->ops->begin(worker, &task, &err) != RGT_OK) fail_msg("%s", err.text);
}

/* A loaded candidate of this cost. */
static rgt__candidate *make(int i, int64_t cost_ps, const char *program) {
  rgt__candidate *c = list[i] = &all[i];
  rgt__candidate_free(&device.base, c);
  paced_program(&c->program, program);
  c->module = calloc(1, sizeof *c->module);
  c->module->cost_ps = cost_ps;
  return c;
}

static const char plain_program[] = "valid 1\nworkspace 0\n";

static void time_round(int n) {
  if (worker->ops->round(worker, list, n, samples, &err) != RGT_OK) fail_msg("%s", err.text);
}

/* ---- clocks ---- */

/* A clock that stands still between calls: opening does not wait for it, batches are of one, and a time is what it says. */
static void test_modelled_clock(void **state) {
  (void)state;
  open_worker(0);
  begin();
  make(0, 1234567, plain_program);
  make(1, 7, plain_program);
  make(2, 0, plain_program);
  time_round(3);
  assert_int_equal(samples[0].call_ps, 1234567);
  assert_int_equal(samples[0].n_calls, 1);
  assert_int_equal(samples[1].call_ps, 7);
  assert_int_equal(samples[1].n_calls, 1);
  assert_int_equal(samples[2].call_ps, 0);
  assert_int_equal(samples[2].n_calls, 1);
  device.n_launches = 0;
  time_round(3);
  assert_int_equal(device.n_launches, 3);
}

/* 25 ns of a clock, 10 ns of a call: a batch is 200 us at least, and not much more than its double. */
static void test_short_calls(void **state) {
  (void)state;
  open_worker(25000);
  begin();
  make(0, 10000, plain_program);
  time_round(1);
  int64_t total = samples[0].n_calls * 10000;
  assert_true(total >= 200 * US - 25000 && total < 440 * US);
  assert_int_equal(samples[0].call_ps, (total + 25000) / samples[0].n_calls); /* the one reading at the end is in it */
  int64_t n_calls = samples[0].n_calls;
  device.n_launches = 0;
  time_round(1);
  assert_int_equal(samples[0].n_calls, n_calls);                  /* found once */
  assert_int_equal(device.n_launches, n_calls + n_calls / 3 + 1); /* a third of the batch before it, unmeasured */
}

/* A coarse clock wants a thousand of its steps. */
static void test_coarse_clock(void **state) {
  (void)state;
  open_worker(US);
  begin();
  make(0, 10 * US, plain_program);
  time_round(1);
  assert_true(samples[0].n_calls >= 100 && samples[0].n_calls <= 220);
  assert_true(samples[0].call_ps >= 10 * US && samples[0].call_ps < 10 * US + US / 50);
}

static void test_long_calls(void **state) {
  (void)state;
  open_worker(25000);
  begin();
  make(0, 2 * MS, plain_program);
  time_round(1);
  assert_int_equal(samples[0].n_calls, 1);
  assert_int_equal(samples[0].call_ps, 2 * MS + 25000);
  assert_int_equal(device.n_launches, 2); /* once to find the size, once timed */
  time_round(1);
  assert_int_equal(device.n_launches, 3);
  make(1, 300 * US, plain_program); /* long enough for a batch of one, too short not to be tried twice */
  list[0] = list[1];
  device.n_launches = 0;
  time_round(1);
  assert_int_equal(samples[0].n_calls, 1);
  assert_int_equal(device.n_launches, 3);
}

static void test_cold(void **state) {
  (void)state;
  task.policy = RGT_POLICY_COLD;
  open_worker(25000);
  begin();
  make(0, 10000, plain_program);
  make(1, 20000, plain_program);
  time_round(2);
  assert_int_equal(samples[0].n_calls, 1);
  assert_int_equal(samples[0].call_ps, 35000);
  assert_int_equal(samples[1].call_ps, 45000);
  assert_int_equal(device.n_flushes, 2); /* one for each timed call */
  device.n_launches = 0;
  time_round(2);
  assert_int_equal(device.n_flushes, 4);
  assert_int_equal(device.n_launches, 2); /* nothing warms the caches in between */
}

/* Sizes belong to a task: the next one finds its own. */
static void test_sizes_end_with_the_task(void **state) {
  (void)state;
  open_worker(25000);
  begin();
  rgt__candidate *c = make(0, 10000, plain_program);
  time_round(1);
  c->module->cost_ps = 100 * US;
  begin(); /* ends the one before */
  time_round(1);
  assert_true(samples[0].n_calls >= 2 && samples[0].n_calls <= 5);
  worker->ops->end(worker);
  worker->ops->end(worker); /* once is enough, twice no harm */
  assert_int_equal(device.n_blocks, 0);
}

static void test_many_candidates(void **state) {
  (void)state;
  open_worker(0);
  begin();
  rgt__candidate *many = calloc(150, sizeof *many); /* more than the first table of sizes */
  for (int turn = 0; turn < 2; turn++)
    for (int i = 0; i < 150; i++) {
      list[0] = &many[i];
      if (turn == 0) {
        paced_program(&many[i].program, plain_program);
        many[i].module = calloc(1, sizeof *many[i].module);
        many[i].module->cost_ps = 1000 + i;
      }
      device.n_launches = 0;
      time_round(1);
      assert_int_equal(samples[0].call_ps, 1000 + i);
      assert_int_equal(device.n_launches, turn == 0 ? 3 : 1);
    }
  for (int i = 0; i < 150; i++) rgt__candidate_free(&device.base, &many[i]);
  free(many);
}

/* ---- what cannot run ---- */

static void test_invalid_among_others(void **state) {
  (void)state;
  open_worker(0);
  begin();
  make(0, 100, plain_program);
  make(1, 200, "valid rows > 8\nworkspace 0\n");
  make(2, 300, "valid 1\nworkspace 4294967296\n"); /* more than there is */
  make(3, 400, "valid rows == 8 and groups == 2\nworkspace 1000\n");
  time_round(4);
  assert_int_equal(samples[0].call_ps, 100);
  assert_int_equal(samples[1].call_ps, -1);
  assert_int_equal(samples[1].n_calls, 0);
  assert_int_equal(samples[2].call_ps, -1);
  assert_int_equal(samples[3].call_ps, 400);
  time_round(0);
}

static void *seen_workspace;
static int64_t seen_bytes;

static void see_workspace(paced_device *d, const rgt__plan *plan, const rgt_kargs *k, void *workspace) {
  (void)d, (void)k;
  seen_workspace = workspace;
  seen_bytes = plan->workspace_bytes;
  if (plan->workspace_bytes > 0) memset(workspace, 0xAB, (size_t)plan->workspace_bytes); /* all of it is there */
}

static void test_workspace(void **state) {
  (void)state;
  open_worker(0);
  begin();
  device.kernel = see_workspace;
  make(0, 100, "valid 1\nworkspace 64 * rows\n");
  make(1, 100, "valid 1\nworkspace 640 * rows\n");
  time_round(1);
  assert_non_null(seen_workspace);
  assert_int_equal(seen_bytes, 512);
  int blocks = device.n_blocks;
  time_round(2);
  assert_int_equal(seen_bytes, 5120);
  assert_int_equal(device.n_blocks, blocks); /* one workspace, grown */
}

static void test_launch_fails(void **state) {
  (void)state;
  open_worker(0);
  begin();
  make(0, 100, plain_program);
  for (int left = 0; left < 3; left++) {
    device.launches_left = left;
    begin();
    assert_int_equal(worker->ops->round(worker, list, 1, samples, &err), RGT_EIO);
    assert_string_equal(err.text, "the launch failed");
  }
}

/* A candidate that nobody loaded yet is loaded, outside the timed batch. */
static void test_loads(void **state) {
  (void)state;
  open_worker(0);
  begin();
  rgt__candidate *c = make(0, 0, plain_program);
  rgt__candidate_unload(&device.base, c);
  c->entry.code = rgt__strdup("good");
  c->entry.code_bytes = 4;
  time_round(1);
  assert_non_null(c->module);
  assert_int_equal(samples[0].call_ps, 0);
}

static void test_no_memory(void **state) {
  (void)state;
  open_worker(0);
  device.memory_left = 0;
  assert_int_equal(worker->ops->begin(worker, &task, &err), RGT_ENOMEM);
  assert_int_equal(device.n_blocks, 0);
  device.memory_left = 1 << 20;
  for (int n = 0; n < 200; n++) {
    scratch_fail_after(n);
    rgt_status status = worker->ops->begin(worker, &task, &err);
    scratch_fail_never();
    if (status == RGT_OK) return;
    assert_int_equal(status, RGT_ENOMEM);
    assert_int_equal(device.n_blocks, 0);
  }
  fail_msg("begin never succeeded");
}

/* ---- the plain loop ---- */

static void test_loop(void **state) {
  (void)state;
  rgt__worker_sample sample;
  open_worker(0);
  begin();
  assert_int_equal(worker->ops->loop(worker, &sample, &err), RGT_OK);
  assert_int_equal(sample.call_ps, 0);
  assert_int_equal(sample.n_calls, 1);
  assert_int_equal(device.n_launches, 0);
  worker->ops->close(worker);
  worker = NULL;
  paced_open(&device, "cuda"); /* none there */
  open_worker(0);
  begin();
  assert_int_equal(worker->ops->loop(worker, &sample, &err), RGT_OK);
  assert_int_equal(sample.call_ps, -1);
}

static void test_no_loop_for_pointers(void **state) {
  (void)state;
  rgt__worker_sample sample;
  maker.facts.form = task.form = RGT_POINTERS;
  open_worker(0);
  begin();
  assert_int_equal(worker->ops->loop(worker, &sample, &err), RGT_OK);
  assert_int_equal(sample.call_ps, -1);
}

/* ---- checking ---- */

static int n_odd, n_calls_seen;

static void see_alignment(paced_device *d, const rgt__plan *plan, const rgt_kargs *k, void *workspace) {
  (void)plan, (void)workspace;
  int64_t align = d->tick_ps; /* the test's own number */
  n_calls_seen++;
  if (k->rows == 0) return;
  n_odd += (uintptr_t)k->x % (uintptr_t)align || (uintptr_t)k->w1 % (uintptr_t)align || (uintptr_t)k->y % (uintptr_t)align ||
           k->ld_x * 4 % align || k->ld_w1 * 4 % align || k->ld_y * 4 % align || k->stride_w1 * 4 % align;
}

/* A variant compiled for a promise of 16 bytes is checked with data that keeps the promise; one without, with data that does
 * not. */
static void test_alignment_of_checks(void **state) {
  (void)state;
  rgt__verify_result result;
  for (int promised = 4; promised <= 16; promised += 12) {
    maker.facts.align_bytes = promised;
    open_worker(0);
    make(0, 0, plain_program);
    n_odd = n_calls_seen = 0;
    device.kernel = see_alignment;
    device.tick_ps = 16;
    assert_int_equal(worker->ops->check(worker, &all[0], &all[0], &result, &err), RGT_OK);
    assert_int_equal(result.status, RGT_EWRONG); /* it computes nothing */
    assert_true(n_calls_seen > 0);
    if (promised == 16)
      assert_int_equal(n_odd, 0);
    else
      assert_true(n_odd > 0);
    worker->ops->close(worker);
    worker = NULL;
  }
}

/* Where the program is never valid the built-in kernel answers, rightly: that says nothing of the candidate. */
static void test_check_of_what_never_runs(void **state) {
  (void)state;
  rgt__verify_result result;
  open_worker(0);
  make(0, 0, "valid 0\nworkspace 0\n")->op = task.op;
  assert_int_equal(worker->ops->check(worker, &all[0], NULL, &result, &err), RGT_EINFEASIBLE);
  assert_string_equal(err.text, "its program is not valid for any problem that would verify it");
  assert_int_equal(device.n_launches, 0);
}

/* ---- for real: the default variant on this processor ---- */

static void test_check_for_real(void **state) {
  (void)state;
  rgt__environment env;
  rgt__device *cpu = NULL;
  rgt__sources *sources = NULL;
  rgt__variant v;
  rgt__verify_result result = {.status = RGT_EINTERNAL};
  char toolchain[256];
  assert_int_equal(rgt__environment_read(&env, NULL), RGT_OK);
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &cpu, NULL), RGT_OK);
  rgt_status compiler = cpu->ops->toolchain(cpu, toolchain, sizeof toolchain, NULL);
  rgt__sources_open(NULL, &sources, NULL);
  maker = (rgt__candidate_maker){.device = cpu,
                                 .target = cpu->info.target,
                                 .cache = cache,
                                 .toolchain = toolchain,
                                 .facts = {RGT_STACKED, 4, RGT_ORDER_RAW}};
  if (rgt__families_open(sources, &maker.families, &err) != RGT_OK) fail_msg("%s", err.text);
  if (compiler == RGT_OK) {
    assert_int_equal(rgt__variant_parse(maker.families, "cpu", "row_gather", &v, &err), RGT_OK);
    rgt__candidate *right = list[0] = &all[0], *other = &all[1];
    rgt_op_desc without_bias = task.op;
    without_bias.bias = 0;
    if (rgt__candidate_render(&maker, &v, &task.op, right, &err) != RGT_OK) fail_msg("%s", err.text);
    if (rgt__candidate_render(&maker, &v, &without_bias, other, &err) != RGT_OK) fail_msg("%s", err.text);
    assert_int_equal(rgt__candidate_compile(&maker, right, 0, &err), RGT_OK);
    assert_int_equal(rgt__candidate_compile(&maker, other, 0, &err), RGT_OK);
    assert_int_equal(right->outcome, RGT_TRIAL_OK);
    assert_int_equal(rgt__worker_open_local(&maker, &task.op, NULL, 1, 256, &worker, &err), RGT_OK);
    if (worker->ops->check(worker, right, right, &result, &err) != RGT_OK) fail_msg("%s", err.text);
    if (result.status != RGT_OK) fail_msg("%s", result.reason);
    assert_true(result.error_share > 0 && result.error_share <= 1); /* the bound pass's, not the exact pass's 0 */
    assert_int_equal(worker->ops->check(worker, right, NULL, &result, &err), RGT_OK); /* bound pass only */
    assert_int_equal(result.status, RGT_OK);
    assert_int_equal(worker->ops->check(worker, other, other, &result, &err), RGT_OK);
    assert_int_equal(result.status, RGT_EWRONG);
    assert_true(result.reason[0]);
    assert_int_equal(worker->ops->check(worker, right, other, &result, &err), RGT_OK); /* right itself, its twin wrong */
    assert_int_equal(result.status, RGT_EWRONG);
    begin();
    time_round(1);
    assert_true(samples[0].call_ps > 0 && samples[0].n_calls > 1);
    worker->ops->close(worker);
    worker = NULL;
    for (int i = 0; i < 2; i++) rgt__candidate_free(cpu, &all[i]);
  }
  rgt__families_free(maker.families);
  rgt__sources_free(sources);
  cpu->ops->close(cpu);
  rgt__environment_free(&env);
  if (compiler != RGT_OK) skip();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_modelled_clock),
                                     TEST(test_short_calls),
                                     TEST(test_coarse_clock),
                                     TEST(test_long_calls),
                                     TEST(test_cold),
                                     TEST(test_sizes_end_with_the_task),
                                     TEST(test_many_candidates),
                                     TEST(test_invalid_among_others),
                                     TEST(test_workspace),
                                     TEST(test_launch_fails),
                                     TEST(test_loads),
                                     TEST(test_no_memory),
                                     TEST(test_loop),
                                     TEST(test_no_loop_for_pointers),
                                     TEST(test_alignment_of_checks),
                                     TEST(test_check_of_what_never_runs),
                                     TEST(test_check_for_real)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
