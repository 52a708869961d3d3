/* test_candidate.c -- rendering, the outcomes of compiling, the cache in between, loading, and the pool of compiles. */
#include "runtime/candidate.h"

#include "tests/support/paced_device.h"

enum { N_MAX = 40 };

static scratch s;
static paced_device device;
static rgt__code_cache *cache;
static rgt__candidate_maker maker;
static rgt__candidate *all; /* [N_MAX] */
static rgt__error err;

static int setup(void **state) {
  (void)state;
  scratch_open(&s);
  paced_open(&device, "cpu");
  if (rgt__code_cache_open(scratch_path(&s, "cache"), &cache, NULL) != RGT_OK) return 1;
  maker = (rgt__candidate_maker){.device = &device.base,
                                 .target = device.base.info.target,
                                 .cache = cache,
                                 .toolchain = "fake 1",
                                 .facts = {RGT_STACKED, 4, RGT_ORDER_RAW}};
  all = calloc(N_MAX, sizeof *all);
  err.text[0] = 0;
  return 0;
}

static int teardown(void **state) {
  (void)state;
  for (int i = 0; i < N_MAX; i++) rgt__candidate_free(&device.base, &all[i]);
  rgt__candidate_free(&device.base, NULL);
  free(all);
  rgt__code_cache_free(cache);
  scratch_close(&s);
  return device.n_loads - device.n_unloads < 0;
}

/* A candidate as rendering leaves it, of this source. */
static rgt__candidate *make(int i, const char *source) {
  rgt__candidate *c = &all[i];
  rgt__candidate_free(&device.base, c);
  c->source = rgt__strdup(source);
  c->source_bytes = strlen(source);
  rgt__digest_of(source, strlen(source), &c->source_digest);
  rgt__code_cache_key(&c->source_digest, maker.toolchain, maker.target.name, &c->code);
  paced_program(&c->program, "valid 1\nworkspace 16\n");
  snprintf(c->text, sizeof c->text, "fake:%d", i);
  return c;
}

static int n_compiles(void) {
  return atomic_load(&device.n_compiles);
}

/* ---- rendering ---- */

static void test_render(void **state) {
  (void)state;
  rgt__sources *sources = NULL;
  rgt_op_desc op;
  rgt__variant v;
  rgt__digest key;
  rgt__candidate *c = &all[0];
  assert_int_equal(rgt__sources_open(NULL, &sources, &err), RGT_OK);
  if (rgt__families_open(sources, &maker.families, &err) != RGT_OK) fail_msg("%s", err.text);
  maker.target.n_facts = 2;
  snprintf(maker.target.facts[0].name, sizeof maker.target.facts[0].name, "lanes_max");
  maker.target.facts[0].value = 8;
  snprintf(maker.target.facts[1].name, sizeof maker.target.facts[1].name, "has_fma");
  assert_int_equal(rgt__op_parse("linear:4-8:g4:f32:relu:b1:nk:i32", &op, &err), RGT_OK);

  assert_int_equal(rgt__variant_parse(maker.families, "cpu", "row_gather", &v, &err), RGT_OK);
  if (rgt__candidate_render(&maker, &v, &op, c, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_string_equal(c->text, "row_gather:fused=0,lanes=8,vectors=4");
  assert_int_equal(c->outcome, RGT_TRIAL_OK);
  assert_string_equal(c->reason, "");
  assert_int_equal(strlen(c->source), c->source_bytes);
  assert_true(c->program.n_steps > 0);
  assert_int_equal(c->program.kargs_version, RGT_KARGS_VERSION);
  assert_true(c->numeric.class_name[0]);
  rgt__code_cache_key(&c->source_digest, "fake 1", "plain", &key);
  assert_true(rgt__digest_equal(&key, &c->code));

  /* a named constraint: an outcome, and nothing to compile */
  c = &all[1];
  assert_int_equal(rgt__variant_parse(maker.families, "cpu", "row_gather:fused=1,lanes=8,vectors=4", &v, &err), RGT_OK);
  assert_int_equal(rgt__candidate_render(&maker, &v, &op, c, &err), RGT_OK);
  assert_int_equal(c->outcome, RGT_TRIAL_INFEASIBLE);
  assert_non_null(strstr(c->reason, "a linear layer has nothing to fuse"));
  assert_null(c->source);
  assert_int_equal(rgt__candidate_compile(&maker, c, 1, &err), RGT_OK);
  assert_int_equal(n_compiles(), 0);

  /* a real failure is returned */
  maker.facts.align_bytes = 3;
  assert_int_equal(rgt__variant_parse(maker.families, "cpu", "row_gather", &v, &err), RGT_OK);
  assert_int_equal(rgt__candidate_render(&maker, &v, &op, &all[2], &err), RGT_EINVAL);
  assert_null(all[2].source);
  rgt__families_free(maker.families);
  rgt__sources_free(sources);
}

/* ---- compiling ---- */

static void test_outcomes(void **state) {
  (void)state;
  static const struct {
    const char *source;
    rgt_status status;
    rgt_outcome outcome;
    const char *reason;
  } cases[] = {{"good", RGT_OK, RGT_TRIAL_OK, ""},
               {"bad one", RGT_OK, RGT_TRIAL_COMPILE_ERROR, "x.c:1: error: bad one"},
               {"slow", RGT_OK, RGT_TRIAL_TIMED_OUT, "still compiling"},
               {"io", RGT_EIO, RGT_TRIAL_OK, ""},
               {"none", RGT_ENOCOMPILER, RGT_TRIAL_OK, ""}};
  for (int i = 0; i < 5; i++) {
    rgt__candidate *c = make(i, cases[i].source);
    assert_int_equal(rgt__candidate_compile(&maker, c, 0, &err), cases[i].status);
    assert_int_equal(c->outcome, cases[i].outcome);
    assert_string_equal(c->reason, cases[i].reason);
    assert_int_equal(c->entry.code != NULL, i == 0);
  }
  assert_int_equal(all[0].registers, 32);
  assert_int_equal(all[0].shared_bytes, 64);
  assert_int_equal(all[0].code_bytes, 4);
  assert_true(all[0].milliseconds == 1.5);
  int n = n_compiles();
  assert_int_equal(rgt__candidate_compile(&maker, &all[1], 1, &err), RGT_OK); /* it has its outcome: nothing is tried again */
  assert_int_equal(n_compiles(), n);
}

static void test_long_reason(void **state) {
  (void)state;
  char source[600];
  memset(source, 'x', sizeof source);
  memcpy(source, "bad", 3);
  source[sizeof source - 1] = 0;
  assert_int_equal(rgt__candidate_compile(&maker, make(0, source), 0, &err), RGT_OK);
  assert_int_equal(strlen(all[0].reason), RGT_REASON_MAX - 1);
}

/* Registers spilled: infeasible on CUDA, the same when the code comes out of the cache; no matter on the CPU. */
static void test_spills(void **state) {
  (void)state;
  assert_int_equal(rgt__candidate_compile(&maker, make(0, "spill"), 0, &err), RGT_OK);
  assert_int_equal(all[0].outcome, RGT_TRIAL_OK);
  snprintf(maker.target.device, sizeof maker.target.device, "cuda");
  for (int force = 1; force >= 0; force--) {
    assert_int_equal(rgt__candidate_compile(&maker, make(0, "spill"), force, &err), RGT_OK);
    assert_int_equal(all[0].outcome, RGT_TRIAL_INFEASIBLE);
    assert_string_equal(all[0].reason, "8 bytes spilled, stack frame of 16 bytes");
  }
  assert_int_equal(n_compiles(), 2);
}

static void test_cache(void **state) {
  (void)state;
  assert_int_equal(rgt__candidate_compile(&maker, make(0, "good"), 0, &err), RGT_OK);
  assert_int_equal(n_compiles(), 1);
  assert_string_equal(all[0].entry.path, ""); /* just compiled: in memory */
  assert_int_equal(rgt__candidate_compile(&maker, make(1, "good"), 0, &err), RGT_OK);
  assert_int_equal(n_compiles(), 1);
  assert_true(all[1].entry.path[0]);
  assert_null(all[1].entry.code);
  assert_int_equal(all[1].registers, 32);
  assert_int_equal(all[1].code_bytes, 4);
  assert_true(all[1].milliseconds == 0);
  assert_int_equal(rgt__candidate_compile(&maker, make(2, "good"), 1, &err), RGT_OK);
  assert_int_equal(n_compiles(), 2);
  maker.toolchain = "fake 2"; /* another compiler, another entry */
  assert_int_equal(rgt__candidate_compile(&maker, make(3, "good"), 0, &err), RGT_OK);
  assert_int_equal(n_compiles(), 3);
}

/* A cache that cannot be written costs a compile next time, nothing else. */
static void test_cache_not_writable(void **state) {
  (void)state;
  scratch_write(&s, "cache/code", "in the way", 0600);
  assert_int_equal(rgt__candidate_compile(&maker, make(0, "good"), 0, &err), RGT_OK);
  assert_int_equal(rgt__candidate_load(&maker, &all[0], &err), RGT_OK);
  assert_string_equal(device.loaded, "good");
}

/* ---- loading ---- */

static void test_load(void **state) {
  (void)state;
  assert_int_equal(rgt__candidate_compile(&maker, make(0, "good"), 0, &err), RGT_OK);
  assert_int_equal(rgt__candidate_load(&maker, &all[0], &err), RGT_OK);
  assert_string_equal(device.loaded, "good"); /* from bytes */
  rgt__module *module = all[0].module;
  assert_int_equal(rgt__candidate_load(&maker, &all[0], &err), RGT_OK);
  assert_ptr_equal(all[0].module, module);
  assert_int_equal(device.n_loads, 1);
  rgt__candidate_unload(&device.base, &all[0]);
  rgt__candidate_unload(&device.base, &all[0]);
  assert_null(all[0].module);
  assert_int_equal(device.n_unloads, 1);
  assert_int_equal(rgt__candidate_compile(&maker, make(1, "good"), 0, &err), RGT_OK);
  assert_int_equal(rgt__candidate_load(&maker, &all[1], &err), RGT_OK);
  assert_memory_equal(device.loaded, s.folder, strlen(s.folder)); /* from its file */
}

/* The file went away after it was found: compiled again, and loaded from memory. */
static void test_load_vanished(void **state) {
  (void)state;
  assert_int_equal(rgt__candidate_compile(&maker, make(0, "good"), 0, &err), RGT_OK);
  assert_int_equal(rgt__candidate_compile(&maker, make(1, "good"), 0, &err), RGT_OK);
  assert_int_equal(n_compiles(), 1);
  assert_int_equal(unlink(all[1].entry.path), 0);
  assert_int_equal(rgt__candidate_load(&maker, &all[1], &err), RGT_OK);
  assert_non_null(all[1].module);
  assert_int_equal(n_compiles(), 2);
  assert_string_equal(device.loaded, "good");
  assert_int_equal(rgt__candidate_compile(&maker, make(2, "good"), 0, &err), RGT_OK); /* and the entry is whole again */
  assert_int_equal(n_compiles(), 2);
}

static void test_load_fails(void **state) {
  (void)state;
  assert_int_equal(rgt__candidate_compile(&maker, make(0, "unloadable"), 0, &err), RGT_OK);
  assert_int_equal(rgt__candidate_load(&maker, &all[0], &err), RGT_EIO);
  assert_string_equal(err.text, "unloadable");
  assert_null(all[0].module);
}

/* ---- the pool ---- */

typedef struct progress {
  pthread_t thread;
  int seen[N_MAX], n, stop_at, n_after;
} progress;

static int count_done(void *user, int i) {
  progress *p = user;
  assert_true(pthread_equal(p->thread, pthread_self()));
  assert_true(i >= 0 && i < N_MAX);
  if (p->stop_at && p->n >= p->stop_at) p->n_after++;
  p->seen[i]++;
  p->n++;
  return p->stop_at && p->n >= p->stop_at;
}

static void make_many(int n) {
  char source[40];
  for (int i = 0; i < n; i++) {
    snprintf(source, sizeof source, "%s %d", i % 5 == 3 ? "bad" : "good", i);
    make(i, source);
  }
}

static void test_pool(void **state) {
  (void)state;
  static const int threads[] = {-1, 0, 1, 2, 7, 64, 1000};
  for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
    progress p = {.thread = pthread_self()};
    make_many(N_MAX);
    int before = n_compiles();
    assert_int_equal(rgt__candidate_compile_all(&maker, all, N_MAX, threads[t], 1, count_done, &p, &err), RGT_OK);
    assert_int_equal(n_compiles() - before, N_MAX);
    for (int i = 0; i < N_MAX; i++) {
      assert_int_equal(p.seen[i], 1);
      assert_int_equal(all[i].outcome, i % 5 == 3 ? RGT_TRIAL_COMPILE_ERROR : RGT_TRIAL_OK);
      if (i % 5 != 3) assert_memory_equal(all[i].entry.code, all[i].source, all[i].source_bytes);
    }
  }
  int before = n_compiles(); /* and out of the cache, all but those that did not compile; nobody asks */
  make_many(N_MAX);
  assert_int_equal(rgt__candidate_compile_all(&maker, all, N_MAX, 3, 0, NULL, NULL, &err), RGT_OK);
  assert_int_equal(n_compiles() - before, N_MAX / 5);
}

static void test_pool_of_nobody(void **state) {
  (void)state;
  progress p = {.thread = pthread_self()};
  assert_int_equal(rgt__candidate_compile_all(&maker, NULL, 0, 4, 0, count_done, &p, &err), RGT_OK);
  assert_int_equal(p.n, 0);
}

static void test_pool_stopped(void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads += 3) {
    progress p = {.thread = pthread_self(), .stop_at = 5};
    make_many(N_MAX);
    assert_int_equal(rgt__candidate_compile_all(&maker, all, N_MAX, threads, 1, count_done, &p, &err), RGT_EINTERRUPTED);
    assert_int_equal(p.n, 5);
    assert_int_equal(p.n_after, 0);
  }
}

/* Disk full: the first such error is returned, and that candidate is not handed on as if it had an outcome. */
static void test_pool_fails(void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads += 3) {
    progress p = {.thread = pthread_self()};
    make_many(N_MAX);
    make(11, "io");
    err.text[0] = 0;
    assert_int_equal(rgt__candidate_compile_all(&maker, all, N_MAX, threads, 1, count_done, &p, &err), RGT_EIO);
    assert_string_equal(err.text, "disk full");
    assert_int_equal(p.seen[11], 0);
    if (threads == 1) assert_int_equal(p.n, 11);
  }
}

static void test_pool_no_memory(void **state) {
  (void)state;
  make_many(3);
  scratch_fail_after(0);
  assert_int_equal(rgt__candidate_compile_all(&maker, all, 3, 2, 1, NULL, NULL, &err), RGT_ENOMEM);
  scratch_fail_never();
  assert_int_equal(n_compiles(), 0);
}

/* ---- the local key ---- */

static void test_local_key(void **state) {
  (void)state;
  rgt_op_desc op, groups, act;
  rgt__render_facts facts = {RGT_STACKED, 4, RGT_ORDER_RAW}, pointers = {RGT_POINTERS, 4, RGT_ORDER_RAW},
                    aligned = {RGT_STACKED, 16, RGT_ORDER_RAW}, sorted = {RGT_STACKED, 4, RGT_ORDER_SORTED};
  rgt__digest t1, t2, k[12], same;
  assert_int_equal(rgt__op_parse("mlp:10-20-5:g3:f32:relu:b12:nk:i64", &op, NULL), RGT_OK);
  assert_int_equal(rgt__op_parse("mlp:10-20-5:g4000:f32:relu:b12:nk:i64", &groups, NULL), RGT_OK);
  assert_int_equal(rgt__op_parse("mlp:10-20-5:g3:f32:tanh:b12:nk:i64", &act, NULL), RGT_OK);
  rgt__digest_of("1", 1, &t1);
  rgt__digest_of("2", 1, &t2);
  rgt__candidate_local_key("f", 1, "a=1", &op, &facts, &t1, "cc|1|2", "plain", &k[0]);
  rgt__candidate_local_key("g", 1, "a=1", &op, &facts, &t1, "cc|1|2", "plain", &k[1]);
  rgt__candidate_local_key("f", 2, "a=1", &op, &facts, &t1, "cc|1|2", "plain", &k[2]);
  rgt__candidate_local_key("f", 1, "a=2", &op, &facts, &t1, "cc|1|2", "plain", &k[3]);
  rgt__candidate_local_key("f", 1, "a=1", &act, &facts, &t1, "cc|1|2", "plain", &k[4]);
  rgt__candidate_local_key("f", 1, "a=1", &op, &pointers, &t1, "cc|1|2", "plain", &k[5]);
  rgt__candidate_local_key("f", 1, "a=1", &op, &aligned, &t1, "cc|1|2", "plain", &k[6]);
  rgt__candidate_local_key("f", 1, "a=1", &op, &facts, &t2, "cc|1|2", "plain", &k[7]);
  rgt__candidate_local_key("f", 1, "a=1", &op, &facts, &t1, "cc|1|3", "plain", &k[8]);
  rgt__candidate_local_key("f", 1, "a=1", &op, &facts, &t1, "cc|1|2", "x86-64-avx2", &k[9]);
  rgt__candidate_local_key("fa", 1, "=1", &op, &facts, &t1, "cc|1|2", "plain", &k[10]);
  rgt__candidate_local_key("f", 1, "a=1", &op, &sorted, &t1, "cc|1|2", "plain", &k[11]);
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < i; j++) assert_false(rgt__digest_equal(&k[i], &k[j]));
  rgt__candidate_local_key("f", 1, "a=1", &groups, &facts, &t1, "cc|1|2", "plain", &same);
  assert_true(rgt__digest_equal(&same, &k[0])); /* groups never reach the source */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_render),     TEST(test_outcomes),       TEST(test_long_reason),
                                     TEST(test_spills),     TEST(test_cache),          TEST(test_cache_not_writable),
                                     TEST(test_load),       TEST(test_load_vanished),  TEST(test_load_fails),
                                     TEST(test_pool),       TEST(test_pool_of_nobody), TEST(test_pool_stopped),
                                     TEST(test_pool_fails), TEST(test_pool_no_memory), TEST(test_local_key)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
